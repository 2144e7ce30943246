//! Values with their units, as legends have them.

use iosonar_plot::Unit;
use iosonar_units::{Kind, magnitude};

/// Endings of keys, with the unit that their numbers have; the first that fits counts.
const UNITS: [(&str, &str); 9] = [
    ("mbit_per_s", " Mbit/s"),
    ("mb_per_s", " MB/s"),
    ("per_s", "/s"),
    ("ms", " ms"),
    ("us", " µs"),
    ("s", " s"),
    ("bytes", " B"),
    ("blocks", " blocks"),
    ("rpm", " rpm"),
];

/// A key with a value and its unit, such as `stripe_unit = 64 KiB` or `poisson = 75/s`; a key that is a unit is one.
pub(super) fn label(key: &str, value: &str) -> String {
    let key = key.rsplit('.').next().unwrap_or(key);
    let text = match magnitude(value) {
        Some((bytes, Kind::Bytes)) => Unit::Bytes.text(bytes),
        Some((seconds, Kind::Time)) => Unit::Seconds.text(seconds),
        Some((percent, Kind::Percent)) => format!("{percent} %"),
        Some((_, Kind::Number)) if key == "rate" => format!("{value}/s"),
        Some((_, Kind::Number)) => {
            for (ending, unit) in UNITS {
                if key == ending {
                    return format!("{value}{unit}");
                }
                let name = key.strip_suffix(ending);
                if let Some(name) = name.and_then(|name| name.strip_suffix('_')) {
                    return format!("{name} = {value}{unit}");
                }
            }
            value.to_owned()
        }
        None => value.trim_matches(['"', '\'']).to_owned(),
    };
    format!("{key} = {text}")
}

#[cfg(test)]
mod tests {
    use super::label;

    #[test]
    fn values_have_their_units() {
        for (key, value, text) in [
            ("array.disks", "4", "disks = 4"),
            ("array.stripe_unit", "64KiB", "stripe_unit = 64 KiB"),
            ("array.stripe_unit", "\"1MiB\"", "stripe_unit = 1 MiB"),
            ("load.arrivals.poisson_per_s", "75.5", "poisson = 75.5/s"),
            ("load.rate", "20", "rate = 20/s"),
            ("load.rate_per_s", "20", "rate = 20/s"),
            ("load.closed.think_ms", "5.0", "think = 5.0 ms"),
            ("network.mbit_per_s", "100", "100 Mbit/s"),
            ("load.size.blocks", "4", "4 blocks"),
            ("load.read_share", "70%", "read_share = 70 %"),
            ("array.level", "raid5", "level = raid5"),
            ("disk.rpm", "7200", "7200 rpm"),
        ] {
            assert_eq!(label(key, value), text);
        }
    }
}
