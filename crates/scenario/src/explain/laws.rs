//! The laws of a synthetic load as a scenario writes them: batches, shapes and arrivals.

use iosonar_workload::{
    Addresses, ArrivalLaw, Batch, Intervals, LoadPhase, Renewal, Shape, Size, TimeLaw,
};

use super::{Page, float};
use crate::file::LoadFile;

pub(super) fn batch(law: &Batch) -> String {
    match law {
        Batch::One => "{ requests = 1 }".to_owned(),
        Batch::Requests(n) => format!("{{ requests = {n} }}"),
        Batch::Geometric { mean } => format!("{{ geometric_mean = {} }}", float(*mean)),
        Batch::Table(table) => {
            let row = |(share, n): &(f64, u32)| {
                format!("{{ requests = {n}, share = {} }}", float(*share))
            };
            let rows: Vec<String> = table.iter().map(row).collect();
            format!("{{ table = [{}] }}", rows.join(", "))
        }
    }
}

fn size_law(law: &Size) -> String {
    match law {
        Size::Blocks(blocks) => format!("{{ blocks = {blocks} }}"),
        Size::GeometricBlocks { mean } => format!("{{ geometric_mean_blocks = {} }}", float(*mean)),
        Size::Table(table) => {
            let row = |(share, blocks): &(f64, u32)| {
                format!("{{ blocks = {blocks}, share = {} }}", float(*share))
            };
            let rows: Vec<String> = table.iter().map(row).collect();
            format!("{{ table = [{}] }}", rows.join(", "))
        }
        Size::Drawn(_) => unreachable!("a scenario names its laws of sizes"),
        Size::Rounded(sizes) => {
            let mean = match sizes.law() {
                Intervals::Empirical { .. } => String::new(),
                _ => format!("mean = {}, ", sizes.asked_mean().round()),
            };
            let bounds = sizes.bounds().map_or(String::new(), |(least, most)| {
                format!(", at_least = {}, at_most = {}", least.get(), most.get())
            });
            let (name, law) = (sizes.law().name(), parameters(sizes.law()));
            format!("{{ {name} = {{ {mean}{law}{bounds} }} }}")
        }
    }
}

pub(super) fn shape(page: &mut Page, shape: &Shape) {
    let size = match &shape.write_size {
        None => size_law(&shape.size),
        Some(writes) => format!(
            "{{ read = {}, write = {} }}",
            size_law(&shape.size),
            size_law(writes)
        ),
    };
    let mean = format!(
        "{:.6} blocks of {} on average",
        shape.mean_blocks(),
        shape.block.bytes()
    );
    page.noted(LoadFile::size, size, &mean);
    page.key(LoadFile::read_share, float(shape.read_share));
    let addresses = match shape.addresses {
        Addresses::Uniform => {
            page.text.push_str("# addresses: uniform over the array\n");
            return;
        }
        Addresses::Sequential { run } => format!("{{ sequential_run = {} }}", float(run)),
        Addresses::Zipf { theta } => format!("{{ zipf = {} }}", float(theta)),
        Addresses::Mixed {
            follow,
            theta,
            used,
        } => format!(
            "{{ mixed = {{ follow = {}, zipf = {}, used = {} }} }}",
            float(follow),
            float(theta),
            float(used)
        ),
        Addresses::Hot { space, requests } => format!(
            "{{ hot = {{ space = {}, requests = {} }} }}",
            float(space),
            float(requests)
        ),
    };
    page.key(LoadFile::addresses, addresses);
}

pub(super) fn arrivals(law: &ArrivalLaw) -> String {
    match law {
        ArrivalLaw::Poisson { per_s } => format!("{{ poisson_per_s = {} }}", float(*per_s)),
        ArrivalLaw::Constant { per_s } => format!("{{ constant_per_s = {} }}", float(*per_s)),
        ArrivalLaw::Modulated(phases) => {
            let phase = |p: &LoadPhase| {
                format!(
                    "{{ per_s = {}, mean_s = {} }}",
                    float(p.per_s),
                    float(p.mean_s)
                )
            };
            let phases: Vec<String> = phases.iter().map(phase).collect();
            format!("{{ phases = [{}] }}", phases.join(", "))
        }
        ArrivalLaw::OnOff {
            per_s,
            on_s,
            off_s,
            shape,
        } => {
            let shape = shape.map_or(String::new(), |s| format!(", pareto_shape = {}", float(s)));
            format!(
                "{{ on_off = {{ per_s = {}, on_s = {}, off_s = {}{shape} }} }}",
                float(*per_s),
                float(*on_s),
                float(*off_s)
            )
        }
        ArrivalLaw::BModel {
            per_s,
            bias,
            window_s,
            levels,
        } => format!(
            "{{ b_model = {{ per_s = {}, bias = {}, window_s = {}, levels = {levels} }} }}",
            float(*per_s),
            float(*bias),
            float(*window_s)
        ),
        ArrivalLaw::Noise {
            per_s,
            hurst,
            variation,
            bin_s,
        } => format!(
            "{{ noise = {{ per_s = {}, hurst = {}, variation = {}, bin_s = {} }} }}",
            float(*per_s),
            float(*hurst),
            float(*variation),
            float(*bin_s)
        ),
        ArrivalLaw::Renewal(law) => renewal(law, &format!("per_s = {}", float(law.asked_per_s()))),
    }
}

/// The think times of a closed load, with their key.
pub(super) fn think(think: &TimeLaw) -> String {
    match think {
        TimeLaw::Exponential(mean) => format!("think_ms = {}", float(mean.as_millis_f64())),
        law => format!("think = {}", time_law(law)),
    }
}

/// A law of times.
pub(super) fn time_law(law: &TimeLaw) -> String {
    match law {
        TimeLaw::Exponential(mean) => {
            format!("{{ exponential_ms = {} }}", float(mean.as_millis_f64()))
        }
        TimeLaw::Constant(time) => format!("{{ constant_ms = {} }}", float(time.as_millis_f64())),
        TimeLaw::Other { mean_ms, times } => {
            renewal(times, &format!("mean_ms = {}", float(*mean_ms)))
        }
    }
}

/// What a law has besides its mean.
fn parameters(law: &Intervals) -> String {
    match law {
        Intervals::Gamma { cv } | Intervals::LogNormal { cv } => format!("cv = {}", float(*cv)),
        Intervals::Weibull { shape } | Intervals::Pareto { shape } => {
            format!("shape = {}", float(*shape))
        }
        Intervals::Empirical { trace, .. } => {
            let trace = toml::Value::from(trace.display().to_string());
            format!("trace = {trace}")
        }
    }
}

fn renewal(law: &Renewal, mean: &str) -> String {
    let name = law.intervals().name();
    let shape = parameters(law.intervals());
    let bounds = law.bounds().map_or(String::new(), |(least, most)| {
        format!(
            ", at_least_ms = {}, at_most_ms = {}",
            float(least.as_millis_f64()),
            float(most.as_millis_f64())
        )
    });
    format!("{{ {name} = {{ {mean}, {shape}{bounds} }} }}")
}
