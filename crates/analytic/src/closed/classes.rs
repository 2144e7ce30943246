//! Closed networks with several classes of jobs.

use crate::AnalyticError;
use crate::error::{not_negative, positive};

/// A class of jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct JobClass {
    /// How many there are.
    pub jobs: u32,
    /// Their think time.
    pub think: f64,
    /// Their demand at each station; 0 where they do not go.
    pub demands: Vec<f64>,
}

/// What is known of a class.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassPoint {
    /// The response time of its jobs.
    pub response: f64,
    /// Its jobs that are complete per time.
    pub throughput: f64,
    /// The mean number of its jobs at each station.
    pub queues: Vec<f64>,
}

/// The most queues, of all vectors of populations, that exact analysis goes through.
const MOST_STATES: f64 = 2e7;

fn check(classes: &[JobClass]) -> Result<usize, AnalyticError> {
    positive("the number of classes", classes.len() as f64)?;
    let stations = classes[0].demands.len();
    for class in classes {
        if class.demands.len() != stations {
            return Err(AnalyticError::Parameter {
                name: "the number of demands of a class",
                seen: class.demands.len() as f64,
                expected: "one per station, as for the other classes",
            });
        }
        for &demand in &class.demands {
            not_negative("a service demand", demand)?;
        }
        positive("the sum of a class's demands", class.demands.iter().sum())?;
        not_negative("the think time", class.think)?;
    }
    positive(
        "the number of jobs",
        classes.iter().map(|c| f64::from(c.jobs)).sum(),
    )?;
    Ok(stations)
}

/// Exact mean value analysis of several classes: `R_ck(n) = D_ck (1 + Q_k(n - e_c))` for every vector n of
/// populations up to the given one. Product form asks that at an FCFS station all classes have the
/// same mean service time (their visits may differ); at processor sharing stations anything will do.
///
/// # Errors
/// If a number makes no sense, or the vectors of populations times the stations are more than twenty million.
pub fn exact(classes: &[JobClass]) -> Result<Vec<ClassPoint>, AnalyticError> {
    let stations = check(classes)?;
    let states: f64 = classes.iter().map(|c| f64::from(c.jobs) + 1.0).product();
    let states = states * stations as f64;
    if states > MOST_STATES {
        return Err(AnalyticError::TooLarge {
            what: "exact mean value analysis with several classes",
            states,
            most: MOST_STATES,
            instead: "use Schweitzer's approximation",
        });
    }
    // Vectors in mixed radix, the first class fastest: each comes after all that it needs.
    let mut strides = vec![1_usize];
    for class in classes {
        strides.push(strides[strides.len() - 1] * (class.jobs as usize + 1));
    }
    let count = strides[classes.len()];
    let mut queues = vec![0.0; count * stations];
    let mut last = Vec::new();
    for state in 1..count {
        let mut total = vec![0.0; stations];
        last.clear();
        for (c, class) in classes.iter().enumerate() {
            let jobs = state / strides[c] % (class.jobs as usize + 1);
            if jobs == 0 {
                last.push(ClassPoint {
                    response: f64::NAN,
                    throughput: 0.0,
                    queues: vec![0.0; stations],
                });
                continue;
            }
            let without = (state - strides[c]) * stations;
            let times: Vec<f64> = (0..stations)
                .map(|k| class.demands[k] * (1.0 + queues[without + k]))
                .collect();
            let response: f64 = times.iter().sum();
            let throughput = jobs as f64 / (class.think + response);
            let own: Vec<f64> = times.iter().map(|time| throughput * time).collect();
            for (sum, queue) in total.iter_mut().zip(&own) {
                *sum += queue;
            }
            last.push(ClassPoint {
                response,
                throughput,
                queues: own,
            });
        }
        queues[state * stations..(state + 1) * stations].copy_from_slice(&total);
    }
    Ok(last)
}

/// The approximation of Schweitzer and Bard for several classes: a job of class c sees the queues of the
/// others as they are, and `(N_c - 1) / N_c` of its own.
///
/// # Errors
/// If a number makes no sense.
pub fn schweitzer(classes: &[JobClass]) -> Result<Vec<ClassPoint>, AnalyticError> {
    let stations = check(classes)?;
    let jobs: f64 = classes.iter().map(|c| f64::from(c.jobs)).sum();
    let mut points: Vec<ClassPoint> = classes
        .iter()
        .map(|class| {
            let each = f64::from(class.jobs) / stations as f64;
            ClassPoint {
                response: f64::NAN,
                throughput: 0.0,
                queues: vec![each; stations],
            }
        })
        .collect();
    for _ in 0..100_000 {
        let totals: Vec<f64> = (0..stations)
            .map(|k| points.iter().map(|p| p.queues[k]).sum())
            .collect();
        let mut change = 0.0_f64;
        for (class, point) in classes.iter().zip(&mut points) {
            let n = f64::from(class.jobs);
            if class.jobs == 0 {
                continue;
            }
            let time = |k: usize| class.demands[k] * (1.0 + totals[k] - point.queues[k] / n);
            let times: Vec<f64> = (0..stations).map(time).collect();
            point.response = times.iter().sum();
            point.throughput = n / (class.think + point.response);
            for (queue, time) in point.queues.iter_mut().zip(&times) {
                let next = point.throughput * time;
                change = change.max((next - *queue).abs());
                *queue = next;
            }
        }
        if change < 1e-12 * jobs {
            break;
        }
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::closed::{Demands, exact_mva};

    fn class(jobs: u32, think: f64, demands: &[f64]) -> JobClass {
        JobClass {
            jobs,
            think,
            demands: demands.to_vec(),
        }
    }

    #[test]
    fn alike_classes_are_one() {
        let demands = [0.5, 1.0, 0.25];
        let two = exact(&[class(3, 2.0, &demands), class(4, 2.0, &demands)]).unwrap();
        let network = Demands::new(demands.to_vec(), 2.0).unwrap();
        let one = exact_mva(&network, 7).unwrap().pop().unwrap();
        for point in &two {
            assert!((point.response / one.response - 1.0).abs() < 1e-12);
        }
        let sum: f64 = two.iter().map(|p| p.throughput).sum();
        assert!((sum / one.throughput - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_textbook_example_comes_out() {
        // Two classes of one job each, two stations: by hand. Alone: R_a = 3, R_b = 5. Together class a sees
        // the queues of b alone, (1/5, 4/5): R_a = 1 (1.2) + 2 (1.8) = 4.8; b sees (1/3, 2/3):
        // R_b = 4/3 + 4 (5/3) = 8.
        let points = exact(&[class(1, 0.0, &[1.0, 2.0]), class(1, 0.0, &[1.0, 4.0])]).unwrap();
        assert!((points[0].response - 4.8).abs() < 1e-12);
        assert!((points[1].response - 8.0).abs() < 1e-12);
    }

    #[test]
    fn the_approximation_is_near_and_takes_any_number() {
        let classes = [class(20, 1.0, &[0.5, 1.0]), class(10, 5.0, &[1.0, 0.0])];
        let (exactly, nearly) = (exact(&classes).unwrap(), schweitzer(&classes).unwrap());
        for (a, b) in exactly.iter().zip(&nearly) {
            assert!((a.response / b.response - 1.0).abs() < 0.1, "{a:?} {b:?}");
        }
        let many = [
            class(200_000, 1.0, &[0.5, 1.0]),
            class(100_000, 5.0, &[1.0, 0.0]),
        ];
        assert!(matches!(exact(&many), Err(AnalyticError::TooLarge { .. })));
        let points = schweitzer(&many).unwrap();
        let use_of_first = 0.5 * points[0].throughput + points[1].throughput;
        assert!(use_of_first <= 1.0 + 1e-6);
    }

    #[test]
    fn classes_that_are_none_are_refused() {
        assert!(exact(&[]).is_err());
        assert!(exact(&[class(0, 0.0, &[1.0])]).is_err());
        assert!(exact(&[class(1, 0.0, &[0.0])]).is_err());
        assert!(exact(&[class(1, 0.0, &[1.0]), class(1, 0.0, &[1.0, 2.0])]).is_err());
    }
}
