//! The smallest value of a function of a few variables, without its slope.

/// The simplex method of Nelder and Mead ("A simplex method for function minimization", 1965): from `start`, with
/// steps of these shares of it, at most `most` values. Returns the position of the minimum, and its value.
///
/// # Errors
/// The first of the function's.
pub(super) fn minimum<E>(
    start: &[f64],
    share: f64,
    most: usize,
    mut value: impl FnMut(&[f64]) -> Result<f64, E>,
) -> Result<(Vec<f64>, f64), E> {
    let n = start.len();
    let mut corners = vec![(start.to_vec(), value(start)?)];
    for i in 0..n {
        let mut corner = start.to_vec();
        corner[i] *= 1.0 + share;
        let there = value(&corner)?;
        corners.push((corner, there));
    }
    let mut used = n + 1;
    while used < most {
        corners.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (best, worst) = (corners[0].1, corners[n].1);
        if worst - best <= 1e-6 * best.abs() {
            break;
        }
        let centre: Vec<f64> = (0..n)
            .map(|i| corners[..n].iter().map(|c| c.0[i]).sum::<f64>() / n as f64)
            .collect();
        let at = |t: f64| -> Vec<f64> {
            let worst = &corners[n].0;
            centre
                .iter()
                .zip(worst)
                .map(|(c, w)| c + t * (w - c))
                .collect()
        };
        let reflected = at(-1.0);
        let there = value(&reflected)?;
        used += 1;
        let mut new = (reflected, there);
        if there < best {
            let expanded = at(-2.0);
            let further = value(&expanded)?;
            used += 1;
            if further < there {
                new = (expanded, further);
            }
        } else if there >= corners[n - 1].1 {
            let contracted = at(if there < worst { -0.5 } else { 0.5 });
            let nearer = value(&contracted)?;
            used += 1;
            if nearer >= there.min(worst) {
                // Nothing on this line: everything comes nearer to the best.
                let best = corners[0].0.clone();
                for corner in &mut corners[1..] {
                    for (x, b) in corner.0.iter_mut().zip(&best) {
                        *x = f64::midpoint(*x, *b);
                    }
                    corner.1 = value(&corner.0)?;
                    used += 1;
                }
                continue;
            }
            new = (contracted, nearer);
        }
        corners[n] = new;
    }
    corners.sort_by(|a, b| a.1.total_cmp(&b.1));
    Ok(corners.swap_remove(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bottom_of_a_bent_valley_is_found() {
        let rosenbrock = |x: &[f64]| -> Result<f64, ()> {
            Ok((1.0 - x[0]).powi(2) + 100.0 * (x[1] - x[0] * x[0]).powi(2))
        };
        let (at, value) = minimum(&[-1.2, 1.5], 0.2, 2000, rosenbrock).unwrap();
        assert!(value < 1e-6 && (at[0] - 1.0).abs() < 1e-2, "{at:?} {value}");
    }
}
