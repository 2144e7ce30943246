//! The accuracy that approximations state holds for scenarios that it was not measured with.

mod random;

use std::sync::LazyLock;

use iosonar_scenario::theory::{Accuracy, Answer, Family, Standing, Theory};
use iosonar_sim_core::{Seed, Stream};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use random::{at_utilisation, chance, pick, resolved};

const FAMILIES: [Family; 6] = [
    Family::StripeWrites,
    Family::MixedStripeWrites,
    Family::UnevenStripeWrites,
    Family::RpoJoin,
    Family::ForkJoin,
    Family::Batches,
];

/// How many scenarios of a family are drawn in each band; of some there is no estimate.
fn scenarios(family: Family) -> u64 {
    match family {
        // The quickest, and of the most kinds.
        Family::ForkJoin => 200,
        _ => 40,
    }
}

/// The upper ends of the bands of utilisation.
const BANDS: [f64; 4] = [0.2, 0.4, 0.6, 0.75];

/// The path of a disk of 15,000 rpm whose seeks are shorter, beside its revolution, than those of the other.
fn fast_disk() -> String {
    const PROFILE: &str = "description = '15000 rpm'\ncylinders = 50_000\nrevolution_ms = 4.0\n\
        capacity_sectors = 300_000_000\n[transfer]\noutermost_ms_per_sector = 0.0035\n\
        innermost_ms_per_sector = 0.0055\n[seek.read]\ntrack_to_track_ms = 0.2\nfull_stroke_ms = 6.6\n\
        [seek.write]\ntrack_to_track_ms = 0.4\nfull_stroke_ms = 7.4\n";
    static PATH: LazyLock<String> = LazyLock::new(|| {
        let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/fast-disk.toml");
        std::fs::write(path, PROFILE).unwrap();
        path.to_owned()
    });
    PATH.clone()
}

/// A random array and the shape of requests, of a family.
#[allow(clippy::too_many_lines)] // A key a draw.
fn of(family: Family, stream: &mut Stream) -> (String, String) {
    let option = |stream: &mut Stream, key: &str, values: &[&str]| match chance(stream, 0.3) {
        true => format!("{key} = '{}'\n", pick(stream, values)),
        false => String::new(),
    };
    let raid6 = chance(stream, 0.4);
    let (level, least, parities) = if raid6 {
        ("raid6", 4, 2)
    } else {
        ("raid5", 3, 1)
    };
    let parity_disks = least + stream.below(9);
    let data = parity_disks - parities;
    // Some whole stripes, and a part of one.
    let partial = |stream: &mut Stream| 1 + stream.below(data - 1) + data * stream.below(3);
    let mut array = match family {
        Family::ForkJoin | Family::Batches | Family::RpoJoin => {
            let level = *pick(stream, &["raid0", "raid01", "raid10", "raid5", "raid6"]);
            let disks = match level {
                "raid01" | "raid10" => 2 * (2 + stream.below(5)),
                "raid6" => 4 + stream.below(9),
                _ => 3 + stream.below(10),
            };
            format!("[array]\nlevel = '{level}'\ndisks = {disks}\n")
        }
        _ => format!("[array]\nlevel = '{level}'\ndisks = {parity_disks}\n"),
    };
    array += &format!(
        "stripe_unit = '{}'\n",
        pick(stream, &["64KiB", "128KiB", "256KiB"])
    );
    let mut shape = match family {
        Family::RpoJoin => format!("size = {{ blocks = {} }}\n", 2 + stream.below(5)),
        Family::ForkJoin | Family::Batches => match stream.below(4) {
            1 => {
                let (large, share) = (
                    2 + stream.below(11),
                    pick(stream, &[0.25, 0.5, 0.75, 0.875]),
                );
                let rest = 1.0 - share;
                format!(
                    "size = {{ table = [{{ blocks = 1, share = {share} }}, {{ blocks = {large}, share = {rest} }}] }}\n"
                )
            }
            0 => format!(
                "size = {{ geometric_mean_blocks = {:.1} }}\n",
                1.5 + 3.0 * stream.uniform()
            ),
            _ => format!("size = {{ blocks = {} }}\n", 2 + stream.below(11)),
        },
        Family::StripeWrites | Family::UnevenStripeWrites => {
            format!(
                "size = {{ blocks = {} }}\nread_share = 0.0\n",
                partial(stream)
            )
        }
        Family::MixedStripeWrites => match stream.below(3) {
            0 => format!(
                "size = {{ geometric_mean_blocks = {:.1} }}\nread_share = 0.0\n",
                1.2 + 3.0 * stream.uniform()
            ),
            1 => format!(
                "size = {{ table = [{{ blocks = {}, share = 0.6 }}, {{ blocks = {}, share = 0.4 }}] }}\nread_share = 0.3\n",
                partial(stream),
                1 + stream.below(6)
            ),
            _ => format!(
                "size = {{ blocks = {} }}\nread_share = {}\n",
                partial(stream),
                pick(stream, &[0.2, 0.5, 0.8])
            ),
        },
    };
    match family {
        Family::Batches => {
            shape += match stream.below(2) {
                0 => "batch = { geometric_mean = 2.0 }\n",
                _ => "batch = { requests = 3 }\n",
            };
        }
        Family::UnevenStripeWrites => array += "write_start = 'array-first'\n",
        Family::StripeWrites | Family::MixedStripeWrites => {
            array += &option(stream, "preread_seek", &["write"]);
            array += &option(stream, "full_turn", &["less-transfer"]);
            array += &option(stream, "transfer_memory", &["one-per-request"]);
        }
        Family::ForkJoin | Family::RpoJoin => {}
    }
    // Reads among writes, where no write is of a partial stripe.
    let has_no_parity = !array.contains("raid5") && !array.contains("raid6");
    if matches!(family, Family::ForkJoin | Family::Batches) && has_no_parity {
        shape += &format!("read_share = {:?}\n", pick(stream, &[0.0, 0.2, 0.5, 1.0]));
    }
    let disk = match chance(stream, 0.5) {
        true => "seagate-st3500630ns".to_owned(),
        false => fast_disk(),
    };
    array += &format!("[disk]\nprofile = '{disk}'\n");
    if family == Family::RpoJoin {
        array += "scheduler = 'rpo'\n";
    }
    (array, shape)
}

/// Theory against simulation.
struct Compared {
    text: String,
    answer: Answer,
    utilisation: f64,
    /// Errors of the mean and of p99 as shares of them, and their standard errors.
    mean: (f64, f64),
    p99: (f64, f64),
}

/// A scenario of a family in a band of utilisation, if there is an answer.
fn compare(family: Family, band: usize, number: u64) -> Option<Compared> {
    let component = format!("{family:?}/{band}/{number}");
    let mut stream = Seed::new(21).stream(&component, "choice");
    let (array, shape) = of(family, &mut stream);
    let from = if band == 0 { 0.05 } else { BANDS[band - 1] };
    let wanted = from + (BANDS[band] - from) * stream.uniform();
    let (text, theory) = near_utilisation(&array, &shape, wanted)?;
    let answer = theory.response.clone()?;
    let stations = theory.stations.iter().map(|station| station.utilisation);
    let utilisation = stations.fold(0.0, f64::max);
    if answer.standing != Standing::Approximation {
        return None;
    }
    let run = format!(
        "seed = {}\nreplications = 30\nwarmup_requests = 500\n{}",
        number + 1,
        text.replace("REQUESTS", "3000")
    );
    let result = resolved(&run)?.run(1, None).ok()?;
    let p99 = result.quantile_ms(0.99);
    let share = |theory: f64, seen: f64, stderr: f64| (theory / seen - 1.0, stderr / seen);
    let mean = share(answer.mean_ms(), result.mean_ms.mean, result.mean_ms.stderr);
    let p99 = share(answer.quantile_ms(0.99), p99.mean, p99.stderr);
    Some(Compared {
        text,
        answer,
        utilisation,
        mean,
        p99,
    })
}

/// The busiest disk of a scenario has about this utilisation.
fn near_utilisation(array: &str, shape: &str, wanted: f64) -> Option<(String, Theory)> {
    let mut share = wanted;
    for _ in 0..4 {
        let (text, theory) = at_utilisation(array, shape, share)?;
        let stations = theory.stations.iter().map(|station| station.utilisation);
        let utilisation = stations.fold(0.0, f64::max);
        if (utilisation - wanted).abs() < 0.03 {
            return Some((text, theory));
        }
        share *= wanted / utilisation;
    }
    None
}

#[test]
fn stated_accuracies_hold() {
    let cases: Vec<(Family, usize, u64)> = FAMILIES
        .into_iter()
        .flat_map(|family| (0..4).map(move |band| (family, band, 1000)))
        .collect();
    let compared: Vec<Compared> = cases
        .into_par_iter()
        .filter_map(|(family, band, number)| compare(family, band, number))
        .collect();
    let mut stated = 0;
    for of in &compared {
        let Some(accuracy) = of.answer.accuracy else {
            continue;
        };
        stated += 1;
        let within = |(error, stderr): (f64, f64), most: f64| error.abs() <= most + 4.0 * stderr;
        assert!(
            within(of.mean, accuracy.mean),
            "{:?} {accuracy:?}\n{}",
            of.mean,
            of.text
        );
        if let Some(most) = accuracy.p99 {
            assert!(
                within(of.p99, most),
                "{:?} {accuracy:?}\n{}",
                of.p99,
                of.text
            );
        }
    }
    assert!(
        stated >= 12,
        "only {stated} of {} state one",
        compared.len()
    );
}

#[test]
fn nothing_is_stated_where_nothing_was_measured() {
    assert_eq!(Accuracy::of(Family::StripeWrites, 0.9), None);
    let (array, shape) = of(Family::StripeWrites, &mut Seed::new(1).stream("a", "b"));
    let (_, theory) = near_utilisation(&array, &shape, 0.85).unwrap();
    assert_eq!(theory.response.unwrap().accuracy, None);
}

#[test]
fn nothing_is_stated_for_an_order_that_theory_leaves_out() {
    let (array, shape) = of(Family::StripeWrites, &mut Seed::new(1).stream("a", "b"));
    let array = array.replacen("[disk]", "join = 'disk-first'\n[disk]", 1);
    let (_, theory) = near_utilisation(&array, &shape, 0.3).unwrap();
    assert_eq!(theory.response.unwrap().accuracy, None);
}

#[test]
fn nothing_is_stated_for_several_sizes_on_disks_loaded_unevenly() {
    let array = "[array]\nlevel = 'raid5'\ndisks = 4\nwrite_start = 'array-first'\n\
                 [disk]\nprofile = 'seagate-st3500630ns'\n";
    let shape = "size = { geometric_mean_blocks = 4.0 }\nread_share = 0.0\n";
    let (_, theory) = near_utilisation(array, shape, 0.5).unwrap();
    assert_eq!(theory.response.unwrap().accuracy, None);
}

#[test]
fn nothing_is_stated_beyond_the_arrays_and_loads_that_were_measured() {
    let states = |array: &str, shape: &str| {
        let array = format!("[array]\n{array}\n[disk]\nprofile = 'seagate-st3500630ns'\n");
        let (_, theory) = near_utilisation(&array, shape, 0.3).unwrap();
        theory.response.unwrap().accuracy.is_some()
    };
    let two = "size = { blocks = 2 }\n";
    assert!(states("level = 'raid0'\ndisks = 4", two));
    assert!(!states("level = 'raid0'\ndisks = 16", two));
    assert!(!states("level = 'raid5'\ndisks = 4\nfailed = [0]", two));
    assert!(states(
        "level = 'raid10'\ndisks = 4\nmirror_read = 'random'",
        two
    ));
    assert!(!states(
        "level = 'raid10'\ndisks = 4\nmirror_read = 'shorter-queue'",
        two
    ));
    assert!(!states(
        "level = 'raid50'\ndisks = 6",
        "size = { blocks = 1 }\nread_share = 0.0\n"
    ));
    assert!(!states(
        "level = 'raid0'\ndisks = 4\nplacement = 'addressed'",
        two
    ));
    let batches = |n: u32| format!("{two}batch = {{ requests = {n} }}\n");
    assert!(states("level = 'raid0'\ndisks = 2", &batches(2)));
    assert!(!states("level = 'raid0'\ndisks = 2", &batches(8)));
}

#[test]
fn several_sizes_are_several_whatever_their_accesses() {
    // Each of these makes four accesses.
    let sizes = "size = { table = [{ blocks = 1, share = 0.5 }, { blocks = 3, share = 0.5 }] }\nread_share = 0.0\n";
    let array = |more: &str| {
        format!(
            "[array]\nlevel = 'raid5'\ndisks = 4\n{more}[disk]\nprofile = 'seagate-st3500630ns'\n"
        )
    };
    let accuracy = |more: &str| {
        let (_, theory) = near_utilisation(&array(more), sizes, 0.5).unwrap();
        theory.response.unwrap().accuracy
    };
    assert_eq!(accuracy("").unwrap().family, Family::MixedStripeWrites);
    assert_eq!(accuracy("write_start = 'array-first'\n"), None);
}

#[test]
#[ignore = "prints the table of accuracies, or those of the family IOSONAR_FAMILY; takes minutes"]
fn measure_accuracies() {
    let only = std::env::var("IOSONAR_FAMILY").ok();
    let is_wanted = |family: &Family| {
        only.as_ref()
            .is_none_or(|only| *only == format!("{family:?}"))
    };
    for family in FAMILIES.into_iter().filter(is_wanted) {
        for (band, utilisation) in BANDS.into_iter().enumerate() {
            let compared: Vec<Compared> = (0..scenarios(family))
                .into_par_iter()
                .filter_map(|number| compare(family, band, number))
                .collect();
            let worst = |of: &dyn Fn(&Compared) -> f64| {
                let all = compared.iter().map(|c| of(c).abs());
                (200.0 * all.fold(0.0, f64::max)).ceil() / 200.0
            };
            let mean = worst(&|c| c.mean.0);
            let p99 = match compared.iter().all(|c| c.p99.0.is_finite()) {
                true => format!("Some({:.3})", worst(&|c| c.p99.0)),
                false => "None".to_owned(),
            };
            let busiest = compared.iter().map(|c| c.utilisation).fold(0.0, f64::max);
            println!(
                "    row(Family::{family:?}, {utilisation:?}, {mean:.3}, {p99}, {}), // busiest {busiest:.3}",
                compared.len()
            );
            let mut by_mean: Vec<&Compared> = compared.iter().collect();
            by_mean.sort_by(|a, b| b.mean.0.abs().total_cmp(&a.mean.0.abs()));
            for of in by_mean.iter().take(2) {
                eprintln!("{:?} {:?}\n{}", of.mean, of.p99, of.text);
            }
        }
    }
}
