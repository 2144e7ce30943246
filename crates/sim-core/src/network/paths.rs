//! The ways that jobs of one origin and class can take, followed before the first of them sets out.
//!
//! Jobs that were forked are on a *level* of their own until they are joined: the nodes that they reach on it are
//! followed separately, and their parent goes on behind each join where they can end. On each level,
//!
//! - every node that can be reached must lead to an end with a probability above 0: a sink for jobs from a source, a
//!   join for the parts of a forked job. Otherwise jobs would pile up there, or their join would wait for ever. Jobs of
//!   a population need no end.
//! - every node must lead to an end, or to a node where time passes. A loop without time that is left with some
//!   probability, or in turn, is fine. A queue that sends jobs elsewhere when it is full is taken to be in the worst
//!   state: full if its service takes time, and else in turn full and not.
//!
//! A part of a forked job never comes to the same fork again: as ways do not depend on the level, its parent would come
//! to the same joins, and in the end a job to a join that was not forked at all, which is refused.

use super::builder::{Kind, UncheckedNode};
use super::{BuildError, Class};

/// Where jobs begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Source(u32),
    Population(u32),
}

/// Checks the ways of the jobs of `class` that begin at `origin`.
pub(super) fn check(
    plans: &[UncheckedNode],
    origin: Origin,
    class: Class,
) -> Result<(), BuildError> {
    let paths = Paths::explored(plans, origin, class)?;
    paths.check_ends()?;
    paths.check_time()
}

/// Checks only whether jobs of `class` could go round for ever without time passing.
pub(super) fn check_loops(
    plans: &[UncheckedNode],
    origin: Origin,
    class: Class,
) -> Result<(), BuildError> {
    match Paths::explored(plans, origin, class) {
        Ok(paths) => paths.check_time(),
        Err(_) => Ok(()),
    }
}

struct Paths<'a> {
    plans: &'a [UncheckedNode],
    class: Class,
    origin: Origin,
    /// The first is that of jobs that have not been forked.
    levels: Vec<Level>,
}

struct Level {
    fork: Option<u32>,
    to_visit: Vec<u32>,
    /// By node.
    reached: Vec<bool>,
    /// The forks that were reached, with the levels of their parts.
    forks: Vec<(u32, usize)>,
    /// The joins that were reached by parts of jobs.
    joins: Vec<u32>,
}

/// For each level and node, whether it has a property.
type Marks = Vec<Vec<bool>>;

impl<'a> Paths<'a> {
    fn explored(
        plans: &'a [UncheckedNode],
        origin: Origin,
        class: Class,
    ) -> Result<Self, BuildError> {
        let mut paths = Self {
            plans,
            class,
            origin,
            levels: Vec::new(),
        };
        let (Origin::Source(start) | Origin::Population(start)) = origin;
        paths.open_level(None, vec![start]);
        paths.explore()?;
        Ok(paths)
    }

    fn open_level(&mut self, fork: Option<u32>, to_visit: Vec<u32>) -> usize {
        self.levels.push(Level {
            fork,
            to_visit,
            reached: vec![false; self.plans.len()],
            forks: Vec::new(),
            joins: Vec::new(),
        });
        self.levels.len() - 1
    }

    fn kind(&self, node: u32) -> &Kind {
        &self.plans[node as usize].kind
    }

    fn name(&self, node: u32) -> String {
        self.plans[node as usize].name.clone()
    }

    fn fork_name(&self, level: usize) -> String {
        let fork = self.levels[level].fork;
        self.name(fork.expect("a level below the first belongs to a fork"))
    }

    /// The nodes that are reached on a level.
    fn nodes(&self, level: usize) -> impl DoubleEndedIterator<Item = u32> {
        let reached = &self.levels[level].reached;
        (0..reached.len() as u32).filter(|&node| reached[node as usize])
    }

    /// Reaches all that can be reached.
    fn explore(&mut self) -> Result<(), BuildError> {
        loop {
            let mut level = 0;
            while level < self.levels.len() {
                while let Some(node) = self.levels[level].to_visit.pop() {
                    let reached = &mut self.levels[level].reached[node as usize];
                    if !std::mem::replace(reached, true) {
                        self.visit(level, node)?;
                    }
                }
                level += 1;
            }
            // Behind joins that were reached meanwhile, the parents go on.
            for level in 0..self.levels.len() {
                let behind: Vec<u32> = self.levels[level]
                    .forks
                    .iter()
                    .flat_map(|&(_, parts)| self.behind_joins(parts))
                    .filter(|&next| !self.levels[level].reached[next as usize])
                    .collect();
                self.levels[level].to_visit.extend(behind);
            }
            if self.levels.iter().all(|level| level.to_visit.is_empty()) {
                return Ok(());
            }
        }
    }

    fn visit(&mut self, level: usize, node: u32) -> Result<(), BuildError> {
        let plans = self.plans;
        let plan = &plans[node as usize];
        match &plan.kind {
            Kind::Fork => {
                let levels = &self.levels;
                let known = (0..levels.len()).find(|&level| levels[level].fork == Some(node));
                let parts =
                    known.unwrap_or_else(|| self.open_level(Some(node), plan.outputs.clone()));
                self.levels[level].forks.push((node, parts));
            }
            Kind::Join if level == 0 => {
                let (Origin::Source(origin) | Origin::Population(origin)) = self.origin;
                return Err(BuildError::NotForked {
                    node: plan.name.clone(),
                    origin: self.name(origin),
                });
            }
            Kind::Join => self.levels[level].joins.push(node),
            Kind::Sink if level > 0 => return Err(self.leaves_fork(node, level)),
            Kind::Station(queue)
                if level > 0 && plan.unserved.is_none() && queue.patience_law().is_some() =>
            {
                return Err(self.leaves_fork(node, level));
            }
            _ => {
                let next = self.next(node);
                self.levels[level].to_visit.extend(next);
            }
        }
        Ok(())
    }

    fn leaves_fork(&self, node: u32, level: usize) -> BuildError {
        BuildError::LeavesFork {
            node: self.name(node),
            fork: self.fork_name(level),
        }
    }

    /// Where a job may go from a node that is neither a fork nor a join.
    fn next(&self, node: u32) -> Vec<u32> {
        let plan = &self.plans[node as usize];
        let mut next = plan.outputs_of(self.class);
        next.extend(plan.unserved);
        next
    }

    /// Where the parent may go on when its parts, which are on this level, have been joined.
    fn behind_joins(&self, parts: usize) -> impl Iterator<Item = u32> {
        let joins = self.levels[parts].joins.iter();
        joins
            .flat_map(|&join| &self.plans[join as usize].outputs)
            .copied()
    }

    /// The level of the parts of jobs that `node` forks, if it is a fork.
    fn parts(&self, level: usize, node: u32) -> Option<usize> {
        let forks = &self.levels[level].forks;
        let fork = forks.iter().find(|(fork, _)| *fork == node);
        fork.map(|&(_, parts)| parts)
    }

    /// Where a job may go from `node` and stay on its level.
    fn next_on(&self, level: usize, node: u32) -> Vec<u32> {
        match self.parts(level, node) {
            Some(parts) => self.behind_joins(parts).collect(),
            None if matches!(self.kind(node), Kind::Join) => Vec::new(),
            None => self.next(node),
        }
    }

    /// Whether a job's way on its level ends at `node`.
    fn is_end(&self, node: u32) -> bool {
        matches!(self.kind(node), Kind::Sink | Kind::Join)
    }

    /// Marks what has a property, and then what has it because of its marked successors.
    fn mark(&self, has: impl Fn(&Marks, usize, u32) -> bool) -> Marks {
        let mut marks = vec![vec![false; self.plans.len()]; self.levels.len()];
        loop {
            let mut changed = false;
            for level in (0..self.levels.len()).rev() {
                for node in self.nodes(level).rev() {
                    if !marks[level][node as usize] && has(&marks, level, node) {
                        marks[level][node as usize] = true;
                        changed = true;
                    }
                }
            }
            if !changed {
                return marks;
            }
        }
    }

    fn check_ends(&self) -> Result<(), BuildError> {
        let any = |marks: &[bool], nodes: &[u32]| nodes.iter().any(|&next| marks[next as usize]);
        let all = |marks: &[bool], nodes: &[u32]| nodes.iter().all(|&next| marks[next as usize]);
        let ends = self.mark(|marks, level, node| {
            let joined = self.parts(level, node).is_none_or(|parts| {
                // All parts have to come to a join.
                all(&marks[parts], &self.plans[node as usize].outputs)
            });
            self.is_end(node) || joined && any(&marks[level], &self.next_on(level, node))
        });
        // Parts first: a fork whose parts do not end is the reason why its jobs do not.
        for level in (0..self.levels.len()).rev() {
            let node = self.nodes(level).find(|&node| !ends[level][node as usize]);
            let Some(node) = node else { continue };
            if level > 0 {
                return Err(BuildError::NoJoin {
                    node: self.name(node),
                    fork: self.fork_name(level),
                });
            }
            if let Origin::Source(source) = self.origin {
                let stuck = match ends[0][source as usize] {
                    true => node,
                    false => source,
                };
                return Err(BuildError::NoSink {
                    source: self.name(source),
                    node: self.name(stuck),
                });
            }
        }
        Ok(())
    }

    /// Whether time passes, or may pass, at a node that is not a fork, whatever its state.
    fn takes_time(&self, node: u32) -> bool {
        let plan = &self.plans[node as usize];
        match &plan.kind {
            Kind::Source(_) | Kind::Custom(_) => true,
            Kind::Station(queue) => !queue.law_of(self.class).is_zero() && !self.diverts(node),
            Kind::Delay { law, .. } => !law.is_zero(),
            Kind::Router(_) | Kind::Fork | Kind::Join | Kind::Lap | Kind::Sink => false,
        }
    }

    /// Whether jobs may be sent away from a station at the moment when they come.
    fn diverts(&self, node: u32) -> bool {
        let plan = &self.plans[node as usize];
        let Kind::Station(queue) = &plan.kind else {
            return false;
        };
        let at_once = queue.patience_law().is_some_and(crate::Law::is_zero);
        plan.unserved.is_some() && (queue.is_finite() || at_once)
    }

    /// Whether a job that takes no time at `node` may go on to a marked node of its level.
    fn leads_to(&self, marks: &Marks, level: usize, node: u32) -> bool {
        let plan = &self.plans[node as usize];
        let marked = |next: &u32| marks[level][*next as usize];
        match (&plan.kind, plan.unserved) {
            (Kind::Station(queue), Some(elsewhere)) if self.diverts(node) => {
                let serves_in_time = !queue.law_of(self.class).is_zero();
                marked(&elsewhere) && (serves_in_time || plan.outputs.iter().any(marked))
            }
            _ => self.next_on(level, node).iter().any(marked),
        }
    }

    /// Whether every node leads to an end or to one where time passes.
    fn check_time(&self) -> Result<(), BuildError> {
        // A fork takes time if one of its parts comes to a node where time passes.
        let fork_takes_time = |time: &Marks, parts: usize, fork: u32| {
            let outputs = &self.plans[fork as usize].outputs;
            outputs.iter().any(|&next| time[parts][next as usize])
        };
        let time = self.mark(|time, level, node| {
            let here = match self.parts(level, node) {
                Some(parts) => fork_takes_time(time, parts, node),
                None => self.takes_time(node),
            };
            here || self.leads_to(time, level, node)
        });
        let passes = self.mark(|passes, level, node| {
            let here = match self.parts(level, node) {
                Some(parts) => fork_takes_time(&time, parts, node),
                None => self.takes_time(node) || self.is_end(node),
            };
            here || self.leads_to(passes, level, node)
        });
        for (level, passes) in passes.iter().enumerate() {
            if let Some(node) = self.nodes(level).find(|&node| !passes[node as usize]) {
                return Err(BuildError::Loop {
                    node: self.name(node),
                });
            }
        }
        Ok(())
    }
}
