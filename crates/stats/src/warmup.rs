//! How long a simulation takes to warm up.

/// MSER-5 (White 1997): of a run's samples in their order, how many to leave out at the beginning.
///
/// The samples are averaged in fives; the cut is put where the standard error of what remains, taken as
/// if it were independent, is least. A minimum in the second half means that the run is too short to
/// detect it: `None`.
pub fn mser_5(samples: &[f64]) -> Option<usize> {
    let means: Vec<f64> = samples
        .chunks_exact(5)
        .map(|five| five.iter().sum::<f64>() / 5.0)
        .collect();
    // From the end, so that each cut costs one addition. About the overall mean, so that nothing cancels.
    let centre = means.iter().sum::<f64>() / means.len() as f64;
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (cut, mean) in means.iter().enumerate().rev() {
        sum += mean - centre;
        squares += (mean - centre).powi(2);
        let left = (means.len() - cut) as f64;
        if left < 5.0 {
            continue;
        }
        let statistic = (squares - sum * sum / left) / (left * left);
        if statistic <= best.0 {
            best = (statistic, cut);
        }
    }
    let (statistic, cut) = best;
    (statistic.is_finite() && cut <= means.len() / 2).then_some(5 * cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uniform on [-0.5, 0.5).
    fn noise(i: usize) -> f64 {
        let mixed = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    }

    #[test]
    fn a_ramp_at_the_beginning_is_cut_off() {
        let run: Vec<f64> = (0..5000)
            .map(|i| 10.0_f64.min(i as f64 / 50.0) + noise(i))
            .collect();
        // The ramp ends at 500; its last part is no worse than the noise.
        let cut = mser_5(&run).unwrap();
        assert!((450..600).contains(&cut), "{cut}");
    }

    #[test]
    fn a_steady_run_loses_little_and_a_rising_one_is_too_short() {
        let steady: Vec<f64> = (0..5000).map(noise).collect();
        assert!(mser_5(&steady).unwrap() < 500);
        let rising: Vec<f64> = (0..5000).map(f64::from).collect();
        assert_eq!(mser_5(&rising), None);
        assert_eq!(mser_5(&[1.0; 3]), None);
    }
}
