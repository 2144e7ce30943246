//! What a comparison found, as metrics.

use iosonar_stats::metric::{MetricUnit, Times};
use iosonar_stats::{Labels, Metric};
use iosonar_trace::Quantity;

use super::{Difference, Paired, Sample};

/// The times of all samples by classes, how far those of the others are from the first sample's, and the differences of
/// pairs.
pub fn metrics(samples: &[Sample], quantity: Quantity, pairs: Option<&Paired>) -> Vec<Metric> {
    let mut metrics = Vec::new();
    for sample in samples {
        add_times(&mut metrics, sample, quantity);
        metrics.extend(sample.load.metrics(&sample.name));
    }
    let Some((reference, others)) = samples.split_first() else {
        return metrics;
    };
    for sample in others {
        add_differences(&mut metrics, reference, sample);
    }
    if let (Some(pairs), Some(second)) = (pairs, others.first()) {
        let labels = Labels::of("reference", &reference.name).with("input", &second.name);
        let d = pairs.difference_ns;
        let (mean, stderr) = (d.mean / 1e6, d.stderr / 1e6);
        let ms = MetricUnit::Milliseconds;
        let difference = Metric::figure("paired_difference", &labels, ms, mean).with_stderr(stderr);
        metrics.push(difference);
        let n = pairs.n as f64;
        metrics.push(Metric::figure("pairs", &labels, MetricUnit::One, n));
        for (name, n) in [
            ("pairs_slower", pairs.longer),
            ("pairs_faster", pairs.shorter),
        ] {
            metrics.push(Metric::figure(name, &labels, MetricUnit::One, n as f64));
        }
    }
    metrics
}

fn add_times(metrics: &mut Vec<Metric>, sample: &Sample, quantity: Quantity) {
    let name = quantity.name().replace(' ', "_");
    for class in sample.classes() {
        if class.times().count() == 0 {
            continue;
        }
        let labels = Labels::of("input", &sample.name).with("class", class.name);
        let stderr = class.mean().stderr / 1e6;
        let times = Times::of(class.times());
        let times = times.with_quantile_stderrs(|p| class.quantile(p).stderr / 1e6);
        metrics.push(times.metric(name.clone(), &labels).with_stderr(stderr));
    }
}

fn add_differences(metrics: &mut Vec<Metric>, reference: &Sample, sample: &Sample) {
    for (a, b) in reference.classes().iter().zip(sample.classes()) {
        let Some(d) = Difference::between(a, b) else {
            continue;
        };
        let labels = Labels::of("reference", &reference.name)
            .with("input", &sample.name)
            .with("class", a.name);
        let (one, ms) = (MetricUnit::One, MetricUnit::Milliseconds);
        metrics.push(Metric::figure("ks_distance", &labels, one.clone(), d.ks));
        if d.ks_p.is_finite() {
            metrics.push(Metric::figure("ks_p_value", &labels, one.clone(), d.ks_p));
        }
        let demerit = d.demerit_ns / 1e6;
        metrics.push(Metric::figure("demerit", &labels, ms.clone(), demerit));
        let relative = d.demerit_relative;
        metrics.push(Metric::figure(
            "demerit_relative",
            &labels,
            one.clone(),
            relative,
        ));
        let (mean, stderr) = (d.mean_ns.mean / 1e6, d.mean_ns.stderr / 1e6);
        let mean = Metric::figure("mean_difference", &labels, ms.clone(), mean);
        metrics.push(mean.with_stderr(stderr));
        for (name, value) in [
            ("mean_difference_relative", d.mean_relative),
            ("mean_ratio", d.mean_ratio),
        ] {
            metrics.push(Metric::figure(name, &labels, one.clone(), value));
        }
        for (i, (_, quantile)) in Difference::QUANTILES.into_iter().enumerate() {
            let labels = labels.with("quantile", quantile);
            let (difference, ratio) = (d.quantiles_ns[i] / 1e6, d.quantile_ratios[i]);
            metrics.extend([
                Metric::figure("quantile_difference", &labels, ms.clone(), difference),
                Metric::figure("quantile_ratio", &labels, one.clone(), ratio),
            ]);
        }
    }
}
