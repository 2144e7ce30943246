//! Quantiles of Student's t distribution.

use std::f64::consts::FRAC_PI_2;

/// The number that the absolute value of a t variable with these degrees of freedom, at least 1, stays below with
/// probability `confidence`.
///
/// The distribution function of t = sqrt(degrees) tan(angle) is a finite sum (Abramowitz and Stegun, "Handbook of
/// Mathematical Functions", 26.7.3 and 26.7.4), which is inverted by bisection. Functions of `libm` make it the same on
/// every machine.
pub(crate) fn two_sided_quantile(confidence: f64, degrees: u64) -> f64 {
    let (mut below, mut above) = (0.0, FRAC_PI_2);
    for _ in 0..60 {
        let angle = f64::midpoint(below, above);
        if probability(angle, degrees) < confidence {
            below = angle;
        } else {
            above = angle;
        }
    }
    (degrees as f64).sqrt() * libm::tan(below)
}

/// The probability that |t| < sqrt(degrees) tan(angle).
fn probability(angle: f64, degrees: u64) -> f64 {
    let (sin, cos) = (libm::sin(angle), libm::cos(angle));
    let odd = degrees % 2 == 1;
    let (mut term, mut k) = if odd { (cos, 3) } else { (1.0, 2) };
    let mut sum = if degrees == 1 { 0.0 } else { term };
    while k < degrees {
        term *= cos * cos * (k - 1) as f64 / k as f64;
        sum += term;
        k += 2;
    }
    if odd {
        (angle + sin * sum) / FRAC_PI_2
    } else {
        sin * sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        // Abramowitz and Stegun, table 26.10; the last row is nearly normal.
        for (confidence, degrees, expected) in [
            (0.9, 1, 6.314),
            (0.95, 1, 12.706),
            (0.99, 1, 63.657),
            (0.95, 2, 4.303),
            (0.99, 3, 5.841),
            (0.95, 9, 2.262),
            (0.99, 9, 3.250),
            (0.9, 20, 1.725),
            (0.95, 60, 2.000),
            (0.99, 120, 2.617),
            (0.95, 100_000, 1.960),
        ] {
            let ours = two_sided_quantile(confidence, degrees);
            assert!((ours - expected).abs() < 6e-4, "{degrees}: {ours}");
        }
    }
}
