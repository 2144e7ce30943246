//! An SSD, or anything that serves several requests at a time: how many, and how long they take.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write;

use iosonar_trace::Op;
use iosonar_units::{Nanos, SECTOR_BYTES};

use super::observed::Served;
use super::{CalibrateError, Observed, Quality, Trial};

/// How requests are served.
#[derive(Clone, Debug)]
pub struct Service {
    /// How many at a time.
    pub channels: u32,
    /// What a KiB costs, for a read and for a write, in microseconds.
    pub us_per_kib: [f64; 2],
    /// The quantiles of service times without that, in microseconds.
    pub quantiles: [Vec<(f64, f64)>; 2],
    /// Whether all requests had the same size, so that nothing is known of what a KiB costs.
    pub has_one_size: [bool; 2],
}

/// What was found.
#[derive(Clone, Debug)]
pub struct SsdFit {
    /// How requests are served.
    pub service: Service,
    /// How many reads and writes these rest on. A kind without any takes the times of the other.
    pub learned_from: [u64; 2],
    /// The demerit by kind, in milliseconds, of each number of channels that was tried.
    pub tried: Vec<(u32, f64)>,
    /// On the training half.
    pub training: Quality,
    /// On the held-out half.
    pub held_out: Quality,
    /// How much it holds, in bytes.
    pub capacity: u64,
    /// How many requests of the training half shared the device with at most half as many as are served at a time.
    pub at_low_depth: u64,
    /// Whether requests of the training half took longer where as many others were at the device as are served at a time.
    pub waiting_is_seen: bool,
}

/// What the records say of the number of requests that are served at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parallelism {
    /// It is as the fit says: requests beyond it waited.
    Known,
    /// It is as the fit says, or larger: there hardly were more requests, or they took no longer than others.
    AtLeast,
    /// The queue depth hardly varied, so requests that are served together look like requests that wait.
    Unknown,
}

/// Fits the service times of reads and writes, and how many are served at a time; `capacity` in bytes, if it
/// is more than the records show.
///
/// # Errors
/// If the records are too few, or a candidate cannot be simulated.
pub fn calibrate_ssd(observed: &Observed, capacity: Option<u64>) -> Result<SsdFit, CalibrateError> {
    const UNIT: u64 = 1 << 20;
    /// What a profile can hold.
    const LARGEST: u64 = 512 << 40;
    const LONGEST: Nanos = Nanos::from_secs(10);
    let shown = observed.end().saturating_mul(SECTOR_BYTES);
    if shown >= LARGEST {
        return Err(CalibrateError::Records(format!(
            "a request ends at sector {}, beyond the limit of 512 TiB",
            observed.end()
        )));
    }
    let shown = shown.div_ceil(UNIT) * UNIT;
    if let Some(given) = capacity
        && !(shown..LARGEST).contains(&given)
    {
        return Err(CalibrateError::Profile(format!(
            "--capacity must be at least {shown} bytes, the extent of the records, and below 512 TiB (got {given} \
             bytes)"
        )));
    }
    if let Some(long) = observed.longest().filter(|long| *long > LONGEST) {
        return Err(CalibrateError::Records(format!(
            "a request took {long}, but times in a profile are limited to {LONGEST}: remove such requests from the \
             records, or find out why they took that long"
        )));
    }
    let capacity = capacity.unwrap_or(shown);
    let (learned, held_out) = observed.halves();
    let learn = Trial::new(&learned)?;
    let mut tried = Vec::new();
    let mut best: Option<(Service, Quality)> = None;
    let learned_from = [Op::Read, Op::Write].map(|op| learned.count(op));
    let text_of = |service: &Service| service.text(capacity, learned_from, "", "");
    let most = most_at_once(&learned);
    let mut channels = 1;
    loop {
        let candidate = Service::new(&learned, channels);
        let quality = learn.quality(&text_of(&candidate), DEVICE)?;
        tried.push((channels, quality.by_kind_ms));
        // Where more channels are hardly better, fewer explain as much.
        if best
            .as_ref()
            .is_none_or(|(_, b)| quality.by_kind_ms < 0.95 * b.by_kind_ms)
        {
            best = Some((candidate, quality));
        }
        if channels >= most.min(MOST_CHANNELS) {
            break;
        }
        // Few values are distinguished exactly, many by their order.
        let next = match channels {
            ..8 => channels + 1,
            _ => channels + channels / 4,
        };
        channels = next.min(most);
    }
    let Some((service, training)) = best else {
        return Err(CalibrateError::Records(
            "the records contain no requests to fit a model to".to_owned(),
        ));
    };
    let at_low_depth = learned.never_beyond((service.channels / 2).max(1));
    let waiting_is_seen = service.waiting_is_seen(&learned);
    let held_out = Trial::new(&held_out)?.quality(&text_of(&service), DEVICE)?;
    Ok(SsdFit {
        service,
        learned_from,
        tried,
        training,
        held_out,
        capacity,
        at_low_depth,
        waiting_is_seen,
    })
}

/// No larger numbers of requests at a time are tried.
const MOST_CHANNELS: u32 = 1 << 12;

const DEVICE: &str = "[ssd]\nprofile = \"profile.toml\"";

/// The largest number of requests at the device at once.
fn most_at_once(observed: &Observed) -> u32 {
    let mut ends: BinaryHeap<Reverse<Nanos>> = BinaryHeap::new();
    let mut most = 0;
    for served in observed.served() {
        while ends.peek().is_some_and(|Reverse(end)| *end <= served.came) {
            ends.pop();
        }
        ends.push(Reverse(served.done));
        most = most.max(ends.len());
    }
    most as u32
}

impl Service {
    /// The service times if this number is served at a time, first come, first served.
    fn new(observed: &Observed, channels: u32) -> Self {
        let least = least_services(observed, channels);
        // Kibibytes and microseconds.
        let mut services: [Vec<(f64, f64)>; 2] = [Vec::new(), Vec::new()];
        for_each_service(observed, channels, least, |served, _, time| {
            let kib = f64::from(served.sectors) * SECTOR_BYTES as f64 / 1024.0;
            services[usize::from(served.op == Op::Write)].push((kib, time.get() as f64 / 1e3));
        });
        for kind in 0..2 {
            if services[kind].is_empty() {
                let other = services[1 - kind].clone();
                services[kind] = other;
            }
        }
        let has_one_size = [0, 1].map(|kind| is_one_size(&services[kind]));
        let us_per_kib = [slope(&services[0]), slope(&services[1])];
        let quantiles = [0, 1].map(|kind| quantiles(&services[kind], us_per_kib[kind]));
        Self {
            channels,
            us_per_kib,
            quantiles,
            has_one_size,
        }
    }

    /// Whether requests took longer, by more than chance, where as many others were at the device as are served at a time. If
    /// they did not, the device may serve more.
    fn waiting_is_seen(&self, observed: &Observed) -> bool {
        const FEWEST: usize = 20;
        /// In standard errors of the sum of the ranks.
        const BEYOND_CHANCE: f64 = 4.0;
        let found = observed.found();
        let with_found = || observed.served().iter().zip(&found);
        let must_wait = |at_device: usize| at_device > self.channels as usize;
        // What the size does not explain, in microseconds.
        let rest_us = |served: &Served| {
            let kib = f64::from(served.sectors) * SECTOR_BYTES as f64 / 1024.0;
            let kind = usize::from(served.op == Op::Write);
            (served.done - served.came).get() as f64 / 1e3 - self.us_per_kib[kind] * kib
        };
        // Mann and Whitney, Ann. Math. Stat. 18, 1947: the ranks among those that cannot have waited, as shares. Without
        // waiting, they are uniform.
        let (mut waited, mut excess, mut variance) = (0, 0.0, 0.0);
        for op in [Op::Read, Op::Write] {
            let of_kind = || with_found().filter(move |(served, _)| served.op == op);
            let served_at_once = of_kind().filter(|(_, (at_device, _))| !must_wait(*at_device));
            let mut times: Vec<f64> = served_at_once.map(|(served, _)| rest_us(served)).collect();
            if times.len() < FEWEST {
                continue;
            }
            times.sort_unstable_by(f64::total_cmp);
            let mut of_this_kind = 0;
            for (served, _) in of_kind().filter(|(_, (at_device, _))| must_wait(*at_device)) {
                let time = rest_us(served);
                let shorter = times.partition_point(|&of| of < time);
                let not_longer = times.partition_point(|&of| of <= time);
                excess += (shorter + not_longer) as f64 / (2 * times.len()) as f64 - 0.5;
                of_this_kind += 1;
            }
            let (n, m) = (f64::from(of_this_kind), times.len() as f64);
            variance += (n + n * n / m) / 12.0;
            waited += of_this_kind;
        }
        waited >= FEWEST as u32 && excess > BEYOND_CHANCE * variance.sqrt()
    }

    /// The profile as a file, in which nothing takes time but what was measured; `provenance` in lines.
    fn text(
        &self,
        capacity: u64,
        learned_from: [u64; 2],
        provenance: &str,
        description: &str,
    ) -> String {
        let mut text = String::new();
        for line in provenance.lines() {
            let _ = writeln!(text, "# {line}");
        }
        let description = toml::Value::String(description.to_owned());
        let _ = write!(
            text,
            "description = {description}\ninterface = \"nvme\"\nstorage = \"measured\"\n\n\
             # The measured times below include the driver, the bus and the controller.\n\
             [driver]\nsubmit_us = 0.0\ncomplete_us = 0.0\ninterrupt_us = 0.0\nselect_us = 0.0\ndoorbell_us = 0.0\n\n\
             [nvme]\nqueues = 1\ndepth = 65535\nmost_commands = 65535\nmost_transfer = \"64MiB\"\n\n\
             [pcie]\ndescriptor_setup_us = 0.0\nto_host_setup_us = 0.0\nfrom_host_setup_us = 0.0\n\
             to_host_mb_per_s = inf\nfrom_host_mb_per_s = inf\n\n\
             [controller]\ncommand_us = 0.0\n\n\
             [measured]\ncapacity = \"{capacity}\"\nchannels = {}\n\
             read_us_per_kib = {:?}\nwrite_us_per_kib = {:?}\n",
            self.channels,
            rounded(self.us_per_kib[0]),
            rounded(self.us_per_kib[1]),
        );
        let kinds = [
            ("read", "write", &self.quantiles[0], learned_from[0]),
            ("write", "read", &self.quantiles[1], learned_from[1]),
        ];
        for ((name, other, quantiles, n), one_size) in kinds.into_iter().zip(self.has_one_size) {
            if one_size && n > 0 {
                let _ = writeln!(
                    text,
                    "# All {name}s of the training half have the same size: {name}_us_per_kib is unknown, and 0 is used."
                );
            }
            if n == 0 {
                let _ = writeln!(
                    text,
                    "# The training half has no {name}s: these are the times of {other}s."
                );
            }
            let _ = writeln!(
                text,
                "# Pairs: a share of the requests, and the time in microseconds within which this share completes."
            );
            let _ = writeln!(text, "{name}_quantiles = [");
            for (p, us) in quantiles {
                let _ = writeln!(text, "  [{p:?}, {:?}],", rounded(*us));
            }
            text += "]\n";
        }
        text
    }
}

/// Goes through the requests as channels serve them, first come, first served: each with whether it began at once,
/// and how long its service took.
///
/// Where a device serves more at a time than there are channels, a request may be complete before a channel could
/// have begun it, or so soon after that no service is that short (`least`, of reads and writes). Such a request did
/// not wait for those before it: it was served beside them, within its latency.
fn for_each_service(
    observed: &Observed,
    channels: u32,
    least: [Nanos; 2],
    mut each: impl FnMut(&Served, bool, Nanos),
) {
    let mut free: BinaryHeap<Reverse<Nanos>> =
        (0..channels).map(|_| Reverse(Nanos::ZERO)).collect();
    for served in observed.served() {
        let Some(Reverse(since)) = free.pop() else {
            continue;
        };
        let begun = served.came.max(since);
        let time = served.done.saturating_sub(begun);
        if time == Nanos::ZERO || time < least[usize::from(served.op == Op::Write)] {
            free.push(Reverse(since));
            each(served, false, served.done - served.came);
        } else {
            free.push(Reverse(served.done));
            each(served, since <= served.came, time);
        }
    }
}

/// The shortest services of reads and writes: of requests that began at once, so that their latency is their service.
/// Zero where few did.
fn least_services(observed: &Observed, channels: u32) -> [Nanos; 2] {
    /// Of fewer the shortest says little.
    const ENOUGH: u64 = 20;
    let (mut counts, mut least) = ([0_u64; 2], [Nanos::MAX; 2]);
    for_each_service(
        observed,
        channels,
        [Nanos::ZERO; 2],
        |served, at_once, time| {
            let kind = usize::from(served.op == Op::Write);
            if at_once {
                counts[kind] += 1;
                least[kind] = least[kind].min(time);
            }
        },
    );
    [0, 1].map(|kind| {
        if counts[kind] < ENOUGH {
            Nanos::ZERO
        } else {
            least[kind]
        }
    })
}

/// Whether all have the same size, which does not determine what a KiB costs.
fn is_one_size(services: &[(f64, f64)]) -> bool {
    services.iter().all(|(kib, _)| *kib == services[0].0)
}

/// What a KiB costs: by least squares, and nothing where larger requests are not slower.
fn slope(services: &[(f64, f64)]) -> f64 {
    if is_one_size(services) {
        return 0.0;
    }
    let n = services.len() as f64;
    let (x, y) = services
        .iter()
        .fold((0.0, 0.0), |s, v| (s.0 + v.0 / n, s.1 + v.1 / n));
    let mut squares = (0.0, 0.0);
    for (kib, us) in services {
        squares.0 += (kib - x).powi(2);
        squares.1 += (kib - x) * (us - y);
    }
    let slope = if squares.0 > 0.0 {
        (squares.1 / squares.0).max(0.0)
    } else {
        0.0
    };
    // No more than would leave the quickest ones nothing.
    let mut most: Vec<f64> = services.iter().map(|(kib, us)| us / kib).collect();
    most.sort_by(f64::total_cmp);
    slope.min(quantile(&most, 0.05))
}

/// A quantile of values in their order, between neighbours in proportion.
fn quantile(sorted: &[f64], p: f64) -> f64 {
    let at = p * (sorted.len() - 1) as f64;
    let (below, share) = (at.floor() as usize, at.fract());
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * share
}

/// The quantiles of what is left without the cost of the size; more of them at the ends.
fn quantiles(services: &[(f64, f64)], us_per_kib: f64) -> Vec<(f64, f64)> {
    let mut rest: Vec<f64> = services
        .iter()
        .map(|(kib, us)| (us - us_per_kib * kib).max(0.0))
        .collect();
    let mut shares: Vec<f64> = vec![0.0, 0.001, 0.002, 0.005];
    shares.extend((1..=98).map(|i| f64::from(i) / 100.0));
    shares.extend([
        0.985, 0.99, 0.992, 0.994, 0.996, 0.998, 0.999, 0.9995, 0.9998, 0.9999, 1.0,
    ]);
    rest.sort_by(f64::total_cmp);
    shares
        .into_iter()
        .map(|p| (p, quantile(&rest, p)))
        .collect()
}

impl SsdFit {
    /// Fewer requests at a low depth do not show how long the device takes when it is hardly used.
    pub const FEWEST_AT_LOW_DEPTH: u64 = 20;

    /// Whether the records distinguish requests that are served together from requests that wait for each other. At a
    /// constant queue depth, both take the same time.
    pub fn parallelism(&self) -> Parallelism {
        let channels = self.service.channels;
        if channels > 1 && self.at_low_depth < Self::FEWEST_AT_LOW_DEPTH {
            return Parallelism::Unknown;
        }
        match self.waiting_is_seen {
            true => Parallelism::Known,
            false => Parallelism::AtLeast,
        }
    }

    /// The profile as a file; `provenance` says where it comes from, in lines.
    pub fn text(&self, provenance: &str, description: &str) -> String {
        let (service, capacity) = (&self.service, self.capacity);
        service.text(capacity, self.learned_from, provenance, description)
    }
}

/// To nanoseconds.
fn rounded(us: f64) -> f64 {
    (us * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_trace::{ReadOptions, input};

    /// One read a millisecond of 200 us and more; each tenth comes with a slow one that it overtakes.
    fn overtaking() -> Observed {
        let mut rows = String::new();
        for i in 0..400_u32 {
            let start = f64::from(i) * 1e-3;
            if i % 10 == 0 {
                rows += &format!("{start:.9} ; {} ; 8 ; R ; 0 ; 0.000900000\n", i * 16);
            }
            let start = start + 1e-6;
            let latency = 200e-6 + f64::from(i % 7) * 1e-5;
            rows += &format!("{start:.9} ; {} ; 8 ; R ; 0 ; {latency:.9}\n", i * 16 + 8);
        }
        let bytes = std::io::Cursor::new(rows.into_bytes());
        let options = ReadOptions::default();
        let mut reader =
            input::read_from(Box::new(bytes), "overtaking.replay".as_ref(), &options).unwrap();
        Observed::read(&mut *reader).unwrap()
    }

    #[test]
    fn no_service_is_shorter_than_any_that_was_seen() {
        let observed = overtaking();
        for channels in 1..4 {
            let candidate = Service::new(&observed, channels);
            let (_, least) = candidate.quantiles[0][0];
            assert!(least >= 200.0, "{channels} channels: {least} us");
        }
    }

    #[test]
    fn a_latency_of_zero_is_no_measurement() {
        let mut rows = "time_ns,sector,sectors,op,delay_ns,latency_ns\n".to_owned();
        for i in 0..300_u32 {
            let latency = if i % 3 == 0 { 0 } else { 100_000 };
            rows += &format!("{},{},8,read,0,{latency}\n", i * 1_000_000, i * 8);
        }
        let bytes = std::io::Cursor::new(rows.into_bytes());
        let mut reader = input::read_from(
            Box::new(bytes),
            "zeros.csv".as_ref(),
            &ReadOptions::default(),
        )
        .unwrap();
        let observed = Observed::read(&mut *reader).unwrap();
        assert_eq!((observed.len(), observed.without_time()), (200, 100));
    }
}
