//! Requests that fork into parts and are complete when all have joined.
//!
//! E\[max\] of exponentials of mean 1 is the harmonic number `H_n`. What is exact and what is not:
//!
//! | | |
//! |---|---|
//! | [`split_merge`] | exact: one request at a time, M/G/1 with the service of the slowest part |
//! | [`exponential_pair`] | exact for two exponential stations |
//! | [`nelson_tantawi`] | exponential stations, n > 2: an approximation |
//! | [`varma_makowski`] | exponential stations: an approximation, exact for light traffic and for n = 2 |
//! | [`independent_exponential`], [`regular_exponential`] | exponential stations: upper and lower bound |
//! | products of [`Table`](crate::Table)s | any stations: the maximum of their responses as if these were independent; an upper bound |

use crate::error::{positive, stable};
use crate::open::Mg1;
use crate::{AnalyticError, ServiceLaw};

/// The harmonic number `H_n = 1 + 1/2 + ... + 1/n`.
pub fn harmonic(n: u32) -> f64 {
    (1..=n).map(|k| 1.0 / f64::from(k)).sum()
}

/// Split-merge: the next request begins when the last has joined, so it is M/G/1 with the service of the
/// slowest part. Exact.
///
/// # Errors
/// As [`Mg1::new`].
pub fn split_merge(rate: f64, slowest: ServiceLaw) -> Result<Mg1, AnalyticError> {
    Mg1::new(rate, slowest)
}

fn mm1_response(rate: f64, mean_service: f64) -> Result<(f64, f64), AnalyticError> {
    positive("the arrival rate", rate)?;
    positive("the mean service time", mean_service)?;
    let rho = stable(rate * mean_service)?;
    Ok((rho, mean_service / (1.0 - rho)))
}

fn branches(n: u32) -> Result<(), AnalyticError> {
    positive("the number of parts", f64::from(n)).map(|_| ())
}

/// The mean response time of requests with a part for each of two exponential stations:
/// (12 - rho) / 8 of that of M/M/1. Exact (Flatto and Hahn 1984; Nelson and Tantawi 1988).
///
/// # Errors
/// If a number is not above zero, or the queues only grow.
pub fn exponential_pair(rate: f64, mean_service: f64) -> Result<f64, AnalyticError> {
    let (rho, alone) = mm1_response(rate, mean_service)?;
    Ok((12.0 - rho) / 8.0 * alone)
}

/// The mean response time with a part for each of `n` exponential stations (Nelson and Tantawi,
/// "Approximate analysis of fork/join synchronization in parallel queues", IEEE Transactions on
/// Computers 37, 1988): `[H_n / H_2 + (1 - H_n / H_2) 4 rho / 11] R_2`. Exact for n up to 2; fitted to
/// simulations for n up to 32, where it is within 4 % of ours up to a load of 0.9.
///
/// # Errors
/// If a number is not above zero, or the queues only grow.
pub fn nelson_tantawi(n: u32, rate: f64, mean_service: f64) -> Result<f64, AnalyticError> {
    branches(n)?;
    let (rho, alone) = mm1_response(rate, mean_service)?;
    if n == 1 {
        return Ok(alone);
    }
    let ratio = harmonic(n) / 1.5;
    let pair = exponential_pair(rate, mean_service)?;
    Ok((ratio + (1.0 - ratio) * 4.0 * rho / 11.0) * pair)
}

/// The same by interpolation in the load (Varma and Makowski, "Interpolation
/// approximations for symmetric fork-join queues", Performance Evaluation 20, 1994):
/// `[H_n + (V_n - H_n) rho] / (mu - lambda)`, where
/// `V_n = sum over r = 1..n of C(n, r) (-1)^(r-1) sum over m = 1..r of C(r, m) (m - 1)! / r^(m+1)`.
///
/// Value and derivative are exact at no load. For n = 2 `V_n` is the limit of heavy traffic, too, and the whole
/// exact; for more it is carried over, and too short at high loads: by 7 % at a load of 0.9 with n = 32.
///
/// The alternating sum is evaluated as an integral of positive terms, so that any `n` will do: with
/// (m - 1)! / r^m = integral of x^(m-1) exp(-r x) over x > 0, the inner sum is
/// integral ((1 + x)^r - 1) exp(-r x) / (r x) dx; and sum C(n, r) (-1)^(r-1) y^r / r = integral of
/// (1 - (1 - z)^n) / z from 0 to y.
///
/// # Errors
/// If a number is not above zero, or the queues only grow.
pub fn varma_makowski(n: u32, rate: f64, mean_service: f64) -> Result<f64, AnalyticError> {
    branches(n)?;
    let (rho, alone) = mm1_response(rate, mean_service)?;
    let light = harmonic(n);
    Ok((light + (light_traffic_slope(n) - light) * rho) * alone)
}

/// `V_n` of Varma and Makowski: the derivative of the response time at no load, in mean services.
fn light_traffic_slope(n: u32) -> f64 {
    // sum over r of C(n, r) (-1)^(r-1) y^r / r = sum over j = 1..n of (1 - (1 - y)^j) / j.
    let sum = |y: f64| -> f64 {
        let (mut left, mut total) = (1.0, 0.0);
        for j in 1..=n {
            left *= 1.0 - y;
            total += (1.0 - left) / f64::from(j);
        }
        total
    };
    let integrand = |x: f64| (sum((1.0 + x) * libm::exp(-x)) - sum(libm::exp(-x))) / x;
    let rule = crate::quadrature::GaussLegendre::new(40);
    // The integrand decays like n exp(-x); panels of one unit are smooth.
    let end = 45.0 + libm::log(f64::from(n));
    let panels = end.ceil() as u32;
    (0..panels)
        .map(|i| rule.integral(f64::from(i), f64::from(i + 1), integrand))
        .sum()
}

/// An upper bound of the mean response time with a part for each of `n` exponential stations: as if their
/// responses were independent, `H_n / (mu - lambda)`. They are associated, so their maximum is smaller
/// (Baccelli, Makowski and Shwartz, "The fork-join queue and related systems with synchronization
/// constraints", Advances in Applied Probability 21, 1989; Nelson and Tantawi 1988).
///
/// # Errors
/// If a number is not above zero, or the queues only grow.
pub fn independent_exponential(n: u32, rate: f64, mean_service: f64) -> Result<f64, AnalyticError> {
    branches(n)?;
    let (_, alone) = mm1_response(rate, mean_service)?;
    Ok(harmonic(n) * alone)
}

/// A lower bound of the same: as if requests came at equal distances (the response is convex in the
/// times between arrivals, so by Jensen's inequality a regular stream is served sooner; with it the
/// stations are independent, each D/M/1): `H_n / (mu (1 - sigma))`, sigma in (0, 1) with
/// sigma = exp(-mu (1 - sigma) / lambda). Source: as for the upper bound.
///
/// # Errors
/// If a number is not above zero, or the queues only grow.
pub fn regular_exponential(n: u32, rate: f64, mean_service: f64) -> Result<f64, AnalyticError> {
    branches(n)?;
    let (rho, _) = mm1_response(rate, mean_service)?;
    let mut sigma = 0.0;
    for _ in 0..100_000 {
        let next = libm::exp(-(1.0 - sigma) / rho);
        let done = (next - sigma) < 1e-15;
        sigma = next;
        if done {
            break;
        }
    }
    Ok(harmonic(n) * mean_service / (1.0 - sigma))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_references_come_out() {
        // Reference, part 1e: fork_join_exponential_mean, _NT_approx, _zero_load_mean.
        for (rate, mean) in [(0.3, 2.089_285_714_285_714_4), (0.5, 2.875), (0.8, 7.0)] {
            assert!((exponential_pair(rate, 1.0).unwrap() / mean - 1.0).abs() < 1e-12);
            assert!((nelson_tantawi(2, rate, 1.0).unwrap() / mean - 1.0).abs() < 1e-12);
        }
        for (n, rate, mean) in [
            (4, 0.3, 2.813_149_350_649_35),
            (4, 0.5, 3.789_772_727_272_726_6),
            (4, 0.8, 8.930_303_030_303_032),
            (8, 0.5, 4.784_821_428_571_428),
        ] {
            assert!((nelson_tantawi(n, rate, 1.0).unwrap() / mean - 1.0).abs() < 1e-12);
        }
        assert!((harmonic(4) - 2.083_333_333_333_333).abs() < 1e-15);
        assert!((harmonic(8) - 2.717_857_142_857_142_5).abs() < 1e-15);
    }

    #[test]
    fn the_slope_is_the_alternating_sum() {
        let choose = |n: u32, k: u32| -> f64 {
            (0..k)
                .map(|i| f64::from(n - i) / f64::from(i + 1))
                .product()
        };
        let alternating = |n: u32| -> f64 {
            let inner = |r: u32| -> f64 {
                let term = |m: u32| {
                    let factorial: f64 = (1..m).map(f64::from).product();
                    choose(r, m) * factorial / f64::from(r).powi(m as i32 + 1)
                };
                (1..=r).map(term).sum()
            };
            let sign = |r: u32| if r % 2 == 1 { 1.0 } else { -1.0 };
            (1..=n).map(|r| choose(n, r) * sign(r) * inner(r)).sum()
        };
        for n in [1, 2, 3, 4, 8, 12] {
            let (seen, exact) = (light_traffic_slope(n), alternating(n));
            assert!((seen / exact - 1.0).abs() < 1e-9, "{n}: {seen} {exact}");
        }
        // One station, and two: 1 and 11/8.
        assert!((light_traffic_slope(1) - 1.0).abs() < 1e-12);
        assert!((light_traffic_slope(2) - 1.375).abs() < 1e-12);
    }

    #[test]
    fn approximations_lie_within_the_bounds() {
        for n in [1, 2, 3, 8, 32] {
            for rho in [0.01, 0.3, 0.6, 0.9, 0.99] {
                let low = regular_exponential(n, rho, 1.0).unwrap();
                let high = independent_exponential(n, rho, 1.0).unwrap();
                for seen in [nelson_tantawi(n, rho, 1.0), varma_makowski(n, rho, 1.0)] {
                    let seen = seen.unwrap();
                    assert!(low <= seen * (1.0 + 1e-12), "{n} {rho}: {low} {seen}");
                    assert!(seen <= high * (1.0 + 1e-12), "{n} {rho}: {seen} {high}");
                }
            }
        }
    }

    #[test]
    fn what_has_no_answer_says_so() {
        assert!(nelson_tantawi(0, 0.5, 1.0).is_err());
        assert!(varma_makowski(3, 1.0, 1.0).is_err());
        assert!(exponential_pair(-1.0, 1.0).is_err());
    }
}
