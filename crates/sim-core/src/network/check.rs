//! Whether nodes make a network.

use super::builder::{Kind, UncheckedNode};
use super::paths::{self, Origin};
use super::{BuildError, Class, Route};
use crate::law::check_probabilities;

/// Checks the nodes one by one, then the [ways](paths) that jobs take through them.
pub(super) fn check(
    plans: &[UncheckedNode],
    populations: &[(u32, Class, u32)],
) -> Result<(), BuildError> {
    for (i, plan) in plans.iter().enumerate() {
        plan.check()?;
        // Streams follow from names: two nodes of one name would draw the same numbers.
        if plans[..i].iter().any(|other| other.name == plan.name) {
            return Err(BuildError::Name {
                node: plan.name.clone(),
            });
        }
        let into_source = |&&to: &&u32| matches!(plans[to as usize].kind, Kind::Source(_));
        let mut next = plan.outputs.iter().chain(&plan.unserved);
        if let Some(&to) = next.find(into_source) {
            return Err(BuildError::IntoSource {
                node: plans[to as usize].name.clone(),
            });
        }
    }
    check_populations(plans, populations)?;
    check_chance(plans, populations)?;
    for plan in plans {
        check_waiting(plans, plan)?;
    }
    for (i, plan) in plans.iter().enumerate() {
        if let Kind::Source(arrivals) = &plan.kind {
            let origin = Origin::Source(i as u32);
            match arrivals.class() {
                Some(class) => paths::check(plans, origin, class)?,
                None => check_any_class(plans, origin)?,
            }
        }
    }
    for &(node, class, jobs) in populations {
        if jobs > 0 {
            paths::check(plans, Origin::Population(node), class)?;
        }
    }
    Ok(())
}

/// The classes of a process of one's own are not known: it is refused only if jobs of no class could pass, or if jobs of
/// some class could go round for ever without time passing.
fn check_any_class(plans: &[UncheckedNode], origin: Origin) -> Result<(), BuildError> {
    let distinct = plans.iter().map(UncheckedNode::classes).max().unwrap_or(0);
    let mut others = 1..=u8::try_from(distinct).unwrap_or(u8::MAX);
    for class in std::iter::once(0).chain(others.clone()) {
        paths::check_loops(plans, origin, Class(class))?;
    }
    let first = paths::check(plans, origin, Class(0));
    if first.is_ok() || others.any(|class| paths::check(plans, origin, Class(class)).is_ok()) {
        return Ok(());
    }
    first
}

fn check_populations(
    plans: &[UncheckedNode],
    populations: &[(u32, Class, u32)],
) -> Result<(), BuildError> {
    for &(node, _, _) in populations {
        let plan = &plans[node as usize];
        let of_node = populations.iter().filter(|(other, _, _)| *other == node);
        let jobs = of_node.fold(0_u32, |sum, (_, _, jobs)| sum.saturating_add(*jobs));
        match &plan.kind {
            Kind::Source(_) => {
                return Err(BuildError::IntoSource {
                    node: plan.name.clone(),
                });
            }
            Kind::Station(queue) if !queue.has_room_for(jobs) => {
                return Err(BuildError::Station {
                    node: plan.name.clone(),
                    complaint: "its population does not fit in the queue",
                });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Populations of routers and laps go on at once. Whether they fit is seen when they do, unless it is left to chance: then
/// every queue must have room for all that may come.
fn check_chance(
    plans: &[UncheckedNode],
    populations: &[(u32, Class, u32)],
) -> Result<(), BuildError> {
    let mut most = vec![(0_u32, false); plans.len()];
    for &(node, class, jobs) in populations {
        let (queues, chance) = first_queues(plans, node, class);
        for queue in queues {
            let (sum, by_chance) = &mut most[queue as usize];
            *sum = sum.saturating_add(jobs);
            *by_chance |= chance;
        }
    }
    for (plan, (jobs, by_chance)) in plans.iter().zip(most) {
        if let Kind::Station(queue) = &plan.kind
            && by_chance
            && !queue.has_room_for(jobs)
        {
            return Err(BuildError::Population {
                node: plan.name.clone(),
            });
        }
    }
    Ok(())
}

/// The finite queues without a way for unserved jobs that jobs of a population may come to before time passes, and
/// whether it is left to chance to which.
fn first_queues(plans: &[UncheckedNode], node: u32, class: Class) -> (Vec<u32>, bool) {
    let (mut queues, mut chance) = (Vec::new(), false);
    let mut seen = vec![false; plans.len()];
    let mut reached = vec![node];
    while let Some(node) = reached.pop() {
        if std::mem::replace(&mut seen[node as usize], true) {
            continue;
        }
        let plan = &plans[node as usize];
        match &plan.kind {
            Kind::Router(route) => {
                let outputs = plan.outputs_of(class);
                chance |= matches!(route, Route::Probabilities(_)) && outputs.len() > 1;
                reached.extend(outputs);
            }
            Kind::Lap => reached.extend(&plan.outputs),
            Kind::Station(queue) if queue.is_finite() => match plan.unserved {
                Some(elsewhere) => reached.push(elsewhere),
                None => queues.push(node),
            },
            _ => {}
        }
    }
    (queues, chance)
}

/// Whether jobs that cannot wait where they are can come to a queue without room.
fn check_waiting(plans: &[UncheckedNode], plan: &UncheckedNode) -> Result<(), BuildError> {
    let (kind, mut reached) = match &plan.kind {
        Kind::Fork | Kind::Join | Kind::Delay { .. } | Kind::Custom(_) => {
            (plan.kind.name(), plan.possible_outputs())
        }
        Kind::Station(queue) if queue.patience_law().is_some() => (
            "the path of jobs that lose patience at",
            plan.unserved.into_iter().collect(),
        ),
        _ => return Ok(()),
    };
    let mut seen = vec![false; plans.len()];
    while let Some(next) = reached.pop() {
        let to = &plans[next as usize];
        if std::mem::replace(&mut seen[next as usize], true) {
            continue;
        }
        match &to.kind {
            Kind::Router(_) | Kind::Fork | Kind::Join | Kind::Lap => {
                reached.extend(to.possible_outputs());
            }
            Kind::Station(queue) if queue.is_finite() => match to.unserved {
                Some(elsewhere) => reached.push(elsewhere),
                None => {
                    return Err(BuildError::CannotWait {
                        node: plan.name.clone(),
                        kind,
                        queue: to.name.clone(),
                    });
                }
            },
            _ => {}
        }
    }
    Ok(())
}

impl UncheckedNode {
    /// How many classes from 0 on may be treated differently from each other and from all beyond.
    fn classes(&self) -> usize {
        match &self.kind {
            Kind::Router(Route::Classes(outputs)) => outputs.len(),
            Kind::Station(queue) => queue.classes(),
            _ => 0,
        }
    }

    /// The outputs that jobs of some class may take.
    fn possible_outputs(&self) -> Vec<u32> {
        match &self.kind {
            Kind::Router(Route::Classes(outputs)) => {
                outputs.iter().map(|&i| self.outputs[i]).collect()
            }
            _ => self.outputs_of(Class(0)),
        }
    }

    /// The outputs that jobs of `class` may take.
    pub(super) fn outputs_of(&self, class: Class) -> Vec<u32> {
        match &self.kind {
            Kind::Router(Route::Probabilities(p)) => {
                let outputs = self.outputs.iter().zip(p);
                let possible = outputs.filter(|(_, p)| **p > 0.0);
                possible.map(|(to, _)| *to).collect()
            }
            Kind::Router(Route::Classes(outputs)) => {
                let class = usize::from(class.0).min(outputs.len() - 1);
                vec![self.outputs[outputs[class]]]
            }
            _ => self.outputs.clone(),
        }
    }

    fn check(&self) -> Result<(), BuildError> {
        self.check_number_of_outputs()?;
        let of_law = |source| BuildError::Law {
            node: self.name.clone(),
            source,
        };
        match &self.kind {
            Kind::Source(arrivals) => arrivals.check().map_err(of_law),
            Kind::Delay { law, .. } => law.check().map_err(of_law),
            Kind::Station(queue) => {
                queue
                    .laws()
                    .try_for_each(|law| law.check().map_err(of_law))?;
                queue.check().map_err(|complaint| BuildError::Station {
                    node: self.name.clone(),
                    complaint,
                })
            }
            Kind::Router(Route::Probabilities(p)) => {
                check_probabilities(p.iter().copied()).map_err(of_law)?;
                self.check_output(p.len().saturating_sub(1))
            }
            Kind::Router(Route::Classes(outputs)) if outputs.is_empty() => self.check_output(0),
            Kind::Router(Route::Classes(outputs)) => outputs
                .iter()
                .try_for_each(|&output| self.check_output(output)),
            _ => Ok(()),
        }
    }

    fn check_number_of_outputs(&self) -> Result<(), BuildError> {
        let seen = self.outputs.len();
        let (right, expected) = match self.kind {
            Kind::Custom(_) => (true, "any number"),
            Kind::Sink => (seen == 0, "none"),
            Kind::Fork | Kind::Router(_) => (seen > 0, "at least one"),
            _ => (seen == 1, "one"),
        };
        if !right {
            return Err(BuildError::Outputs {
                node: self.name.clone(),
                kind: self.kind.name(),
                seen,
                expected,
            });
        }
        let leaves_unserved = matches!(
            &self.kind,
            Kind::Station(queue) if queue.is_finite() || queue.patience_law().is_some()
        );
        if self.unserved.is_some() && !leaves_unserved {
            return Err(BuildError::ServesAll {
                node: self.name.clone(),
                kind: self.kind.name(),
            });
        }
        Ok(())
    }

    fn check_output(&self, output: usize) -> Result<(), BuildError> {
        let named = !matches!(&self.kind, Kind::Router(Route::Classes(of)) if of.is_empty());
        if named && output < self.outputs.len() {
            return Ok(());
        }
        Err(BuildError::Output {
            node: self.name.clone(),
            seen: output,
            outputs: self.outputs.len(),
        })
    }
}
