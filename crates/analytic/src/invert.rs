//! Distribution functions from their Laplace-Stieltjes transforms.

use std::f64::consts::PI;

use num_complex::Complex64;

/// Terms that are summed as they are, and terms that Euler's summation averages. Service times are bounded,
/// so that their distributions have corners; with the 38 terms that smooth ones need, those 1e-4 away are seen.
const TERMS: usize = 120;
const AVERAGED: usize = 11;
/// The discretisation error is about exp(-A).
const A: f64 = 18.4;

/// The distribution function at `t` > 0 of the time with this transform.
///
/// The Fourier-series method with Euler summation (Abate and Whitt, "Numerical inversion of Laplace
/// transforms of probability distributions", ORSA Journal on Computing 7, 1995, algorithm EULER). Off by
/// some 1e-8 where the function is smooth; near a corner by some 1e-5; where it has a step inversion rings, so keep
/// atoms out of the transform.
pub fn distribution_function(lst: impl Fn(Complex64) -> Complex64, t: f64) -> f64 {
    let at = |k: usize| {
        let s = Complex64::new(A / (2.0 * t), PI * k as f64 / t);
        (lst(s) / s).re
    };
    let scale = libm::exp(A / 2.0) / t;
    let mut sum = at(0) / 2.0;
    let mut partial = Vec::with_capacity(AVERAGED + 1);
    for k in 1..=TERMS + AVERAGED {
        sum += if k % 2 == 1 { -at(k) } else { at(k) };
        if k >= TERMS {
            partial.push(sum);
        }
    }
    // The binomial average of the last partial sums.
    let (mut weight, mut average) = (libm::pow(0.5, AVERAGED as f64), 0.0);
    for (k, sum) in partial.iter().enumerate() {
        average += weight * sum;
        weight *= (AVERAGED - k) as f64 / (k + 1) as f64;
    }
    (scale * average).clamp(0.0, 1.0)
}

/// The quantile of the probability `p`, 0 < p < 1, of a time with this transform and about this mean, by
/// bisection. It is off by the error of the distribution function over its density there; where the distribution has a
/// step it may be anywhere near.
pub fn quantile(lst: impl Fn(Complex64) -> Complex64, p: f64, mean: f64) -> f64 {
    quantile_of(|t| distribution_function(&lst, t), p, mean)
}

/// The same of a distribution function.
pub(crate) fn quantile_of(below: impl Fn(f64) -> f64, p: f64, mean: f64) -> f64 {
    let mut high = mean;
    // Far beyond any quantile that doubles can represent.
    for _ in 0..60 {
        if below(high) >= p {
            break;
        }
        high *= 2.0;
    }
    let mut low = 0.0;
    while high - low > 1e-9 * high {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if below(middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ServiceLaw;

    #[test]
    fn known_distributions_come_back() {
        let exponential = ServiceLaw::Exponential(2.0);
        let erlang = ServiceLaw::erlang(4, 4.0);
        for t in [0.1, 1.0, 3.0, 10.0, 40.0] {
            let seen = distribution_function(|s| exponential.lst(s), t);
            assert!((seen - (1.0 - libm::exp(-t / 2.0))).abs() < 3e-8, "{t}");
            let seen = distribution_function(|s| erlang.lst(s), t);
            let tail = libm::exp(-t) * (1.0 + t + t * t / 2.0 + t * t * t / 6.0);
            assert!((seen - (1.0 - tail)).abs() < 3e-8, "{t}");
        }
        for p in [0.01, 0.5, 0.99, 0.999] {
            let seen = quantile(|s| exponential.lst(s), p, 2.0);
            let exact = -2.0 * libm::log1p(-p);
            assert!((seen / exact - 1.0).abs() < 1e-5, "{p}: {seen}");
        }
    }
}
