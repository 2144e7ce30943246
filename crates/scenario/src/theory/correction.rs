//! What long simulations add to the theory of partial-stripe writes under a load.
//!
//! The estimate takes pre-reads and writes as independent of each other and of the writes of other requests, which
//! they are not: a stripe's writes find several disks busy at once, and a disk's writes come no faster than other
//! disks read. What requests lose by that to others, the *excess* over their response alone, is too long or too
//! short by a factor that hardly depends on the drive. The factors at the mean, p95 and p99 were fitted by least
//! squares to simulations of 118 systems (RAID 5 and 6 of 3 to 12 disks, writes of one size, up to five full
//! stripes before the partial one) at six utilisations each up to 0.78; the response's distribution is that of the
//! estimate with its excess stretched by them, quantile by quantile.
//!
//! How far the result is off for other systems is measured apart: see [`accuracy`](super::accuracy).

use iosonar_analytic::Table;

/// A partial-stripe write among others, as far as the factors depend on it.
pub(super) struct StripeWrite {
    /// Whether it is a read-modify-write, rather than a reconstruct-write.
    pub(super) modifies: bool,
    /// The disks of a stripe.
    pub(super) disks: usize,
    /// The pre-reads.
    pub(super) reads: usize,
    /// The writes after them.
    pub(super) writes: usize,
    /// Accesses of the same request that each of its disks has served before, on average.
    pub(super) before: f64,
    /// The utilisation of its busiest disk.
    pub(super) utilisation: f64,
}

/// The factors for 1, u, u^2, w, w u, r, r u, 1 / (n - 1), 1 / b, u / b: u the utilisation, w and r the shares of the
/// other disks that a write and a pre-read has company on, n the disks, b the accesses before (none without any).
type Factors = [f64; 10];

/// The factors at the mean, p95 and p99.
struct Fit {
    mean: Factors,
    p95: Factors,
    p99: Factors,
}

/// Of a read-modify-write.
const MODIFY: Fit = Fit {
    mean: [
        1.1056, -0.2115, -0.0933, -0.5646, 1.0683, 0.0, 0.0, 0.3887, 0.0, 0.0,
    ],
    p95: [
        1.3172, -0.4182, -0.0023, -0.0790, 0.3920, 0.0, 0.0, 0.0295, 0.0, 0.0,
    ],
    p99: [
        1.3132, -0.3466, -0.1340, 0.1020, 0.2256, 0.0, 0.0, -0.1409, 0.0, 0.0,
    ],
};
/// ... behind full stripes.
const MODIFY_AFTER_STRIPES: Fit = Fit {
    mean: [
        0.6716, 0.3814, -0.2770, -0.9097, 1.1904, 0.0, 0.0, 0.4170, 0.4715, -0.3363,
    ],
    p95: [
        0.5770, 1.0257, -0.8349, -0.1556, 0.4057, 0.0, 0.0, 0.1685, 0.4396, -0.3755,
    ],
    p99: [
        0.8151, 0.3963, -0.2637, 0.0670, 0.0113, 0.0, 0.0, 0.0454, 0.2853, -0.2161,
    ],
};
/// Of a reconstruct-write.
const RECONSTRUCT: Fit = Fit {
    mean: [
        0.6112, -0.0809, -0.2000, -0.1826, 0.1553, 0.1107, 1.2046, 0.6831, 0.0, 0.0,
    ],
    p95: [
        0.6702, 0.7721, -0.5870, -0.0204, -0.5548, 0.4211, 0.1037, 0.2695, 0.0, 0.0,
    ],
    p99: [
        0.7934, 0.5390, -0.2307, 0.0557, -0.6159, 0.4814, -0.4650, 0.2563, 0.0, 0.0,
    ],
};
/// ... behind full stripes.
const RECONSTRUCT_AFTER_STRIPES: Fit = Fit {
    mean: [
        0.2219, -0.0244, -0.3750, -0.2240, 1.1618, -0.2551, 1.2980, 0.7011, 0.4538, -0.1915,
    ],
    p95: [
        0.2125, 1.3564, -1.1522, 0.1489, 0.0501, -0.1663, 0.4242, 0.2299, 0.5781, -0.3823,
    ],
    p99: [
        0.4537, 0.5068, -0.5404, 0.2718, 0.0202, -0.0702, 0.3508, 0.2521, 0.3910, -0.0439,
    ],
};

/// Up to this utilisation the factors were fitted.
const HIGHEST: f64 = 0.78;

impl StripeWrite {
    /// The factors at the mean, p95 and p99.
    fn factors(&self) -> [f64; 3] {
        let others = (self.disks as f64 - 1.0).max(1.0);
        let u = self.utilisation.min(HIGHEST);
        let company = |accesses: usize| (accesses.max(1) as f64 - 1.0) / others;
        let (w, r) = (company(self.writes), company(self.reads));
        let rarer = if self.before > 0.0 {
            1.0 / self.before.max(1.0)
        } else {
            0.0
        };
        let of = [
            1.0,
            u,
            u * u,
            w,
            w * u,
            r,
            r * u,
            1.0 / others,
            rarer,
            u * rarer,
        ];
        let fit = match (self.modifies, self.before > 0.0) {
            (true, false) => &MODIFY,
            (true, true) => &MODIFY_AFTER_STRIPES,
            (false, false) => &RECONSTRUCT,
            (false, true) => &RECONSTRUCT_AFTER_STRIPES,
        };
        [&fit.mean, &fit.p95, &fit.p99].map(|factors| {
            let factor: f64 = factors.iter().zip(of).map(|(f, x)| f * x).sum();
            factor.clamp(0.3, 2.0)
        })
    }

    /// The response under the load, from that of the request alone and the estimate.
    pub(super) fn corrected(&self, alone: &Table, estimate: &Table) -> Table {
        let [mean, p95, p99] = self.factors();
        let excess = estimate.mean() - alone.mean();
        if excess <= 0.0 {
            return estimate.clone();
        }
        // The factor at p is `body` up to the median, then straight in -ln(1 - p) to those of p95 and p99. `body` is
        // such that the mean is as it should be.
        let weight_of_body = |p: f64| (1.0 - between(p, 0.5, 0.95)).clamp(0.0, 1.0);
        let tail = |p: f64| {
            let far = between(p, 0.95, 0.99).clamp(0.0, 1.0);
            p95 + (p99 - p95) * far
        };
        let (mut of_body, mut of_tail) = (0.0, 0.0);
        for (p, mass, t) in estimate.pieces() {
            let more = mass * (t - alone.quantile(p.min(LARGEST)));
            let body = weight_of_body(p);
            of_body += body * more;
            of_tail += (1.0 - body) * tail(p) * more;
        }
        let body = if of_body > 0.0 {
            ((mean * excess - of_tail) / of_body).clamp(0.0, 3.0)
        } else {
            1.0
        };
        estimate.moved(p99, |p, t| {
            let of_alone = alone.quantile(p.clamp(SMALLEST, LARGEST));
            let share = weight_of_body(p);
            let factor = share * body + (1.0 - share) * tail(p);
            of_alone + factor * (t - of_alone)
        })
    }
}

const SMALLEST: f64 = 1e-9;
const LARGEST: f64 = 1.0 - 1e-9;

/// Where -ln(1 - p) lies between those of two probabilities: 0 at the first, 1 at the second.
fn between(p: f64, first: f64, second: f64) -> f64 {
    let depth = |p: f64| -libm::log1p(-p.min(LARGEST));
    (depth(p) - depth(first)) / (depth(second) - depth(first))
}
