//! Queueing networks.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use iosonar::sim_core::network::{
    Arrivals, Builder, Class, Discipline, Network as Simulated, NodeId, Queue, Route,
    StationStatistics, Stopped, Until,
};
use iosonar::sim_core::{Law, Seed};
use iosonar::stats::{Distribution, Estimate, mean_of, quantile_interval, quantile_of};
use iosonar::units::Nanos;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

use crate::error::refused;
use crate::estimates::{estimate, times};
use crate::interruptible::{interruptible, threads};
use crate::value::of_json;

/// After as many events a run looks whether it is to stop: some milliseconds. Events happen even where no job departs.
const EVENTS: u64 = 100_000;

/// The longest time of a law, in seconds: some thirty years.
const LONGEST: f64 = 1e9;

/// A law as Python writes it: a number of seconds, or its name and its parameters.
struct AnyLaw(Law);

fn time(of: &Bound<'_, PyAny>, what: &str) -> PyResult<Nanos> {
    let seconds: f64 = of.extract()?;
    match (0.0..=LONGEST).contains(&seconds) {
        true => Ok(Nanos::from_secs_f64(seconds)),
        false => Err(refused(format!(
            "{what} must be from 0 to 1e9 seconds (got {seconds})"
        ))),
    }
}

impl<'py> FromPyObject<'_, 'py> for AnyLaw {
    type Error = PyErr;

    fn extract(of: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if of.extract::<f64>().is_ok() {
            return Ok(Self(Law::Constant(time(&of, "a constant time")?)));
        }
        let kind = of.getattr("kind").and_then(|kind| kind.extract::<String>());
        let Ok(kind) = kind else {
            return Err(refused(format!(
                "a law is a number of seconds or one of iosonar.queueing, such as exponential(mean=2.0); this is {}",
                of.get_type().name()?
            )));
        };
        let parameters = of.getattr("parameters")?;
        let value = |name: &str| parameters.get_item(name);
        let seconds = |name: &str| time(&value(name)?, name);
        let number = |name: &str| -> PyResult<f64> { value(name)?.extract() };
        Ok(Self(match kind.as_str() {
            "constant" => Law::Constant(seconds("time")?),
            "exponential" => Law::Exponential(seconds("mean")?),
            "uniform" => Law::Uniform(seconds("low")?, seconds("high")?),
            "erlang" => Law::Erlang {
                phases: value("phases")?.extract()?,
                mean: seconds("mean")?,
            },
            "hyperexponential" | "discrete" => {
                let table = value("table")?.try_iter()?.map(|row| {
                    let (p, t): (f64, Bound<'_, PyAny>) = row?.extract()?;
                    Ok((p, time(&t, "a time")?))
                });
                let table = table.collect::<PyResult<Vec<_>>>()?;
                match kind.as_str() {
                    "discrete" => Law::Table(table),
                    _ => Law::HyperExponential(table),
                }
            }
            "pareto" => Law::Pareto {
                least: seconds("least")?,
                shape: number("shape")?,
            },
            "lognormal" => Law::log_normal(seconds("mean")?, number("cv")?),
            "gamma" => Law::Gamma {
                shape: number("shape")?,
                mean: seconds("mean")?,
            },
            "weibull" => Law::Weibull {
                shape: number("shape")?,
                scale: seconds("scale")?,
            },
            "empirical" => {
                let all = value("times")?.try_iter()?;
                let all = all.map(|t| time(&t?, "a time"));
                Law::empirical(all.collect::<PyResult<Vec<_>>>()?)
            }
            other => return Err(refused(format!("'{other}' is not a law"))),
        }))
    }
}

/// A node before its network is built.
#[derive(Clone)]
enum Kind {
    Source { every: Law, class: u8 },
    Station(Queue),
    Delay { law: Law, think: bool },
    Router(Route),
    Fork,
    Join,
    Lap,
    Sink,
}

/// What a network is built of, once for each replication.
#[derive(Clone, Default)]
struct Plan {
    nodes: Vec<(String, Kind)>,
    chains: Vec<Vec<usize>>,
    populations: Vec<(usize, u8, u32)>,
}

impl Plan {
    fn built(&self, seed: Seed) -> Result<(Simulated, Vec<NodeId>), String> {
        let mut b = Builder::new(seed);
        let nodes: Vec<NodeId> = self
            .nodes
            .iter()
            .map(|(name, kind)| match kind.clone() {
                Kind::Source { every, class } => {
                    b.source(name, Arrivals::every(every).of_class(Class(class)))
                }
                Kind::Station(queue) => b.station(name, queue),
                Kind::Delay { law, think: false } => b.delay(name, law),
                Kind::Delay { law, think: true } => b.think(name, law),
                Kind::Router(route) => b.router(name, route),
                Kind::Fork => b.fork(name),
                Kind::Join => b.join(name),
                Kind::Lap => b.lap(name),
                Kind::Sink => b.sink(name),
            })
            .collect();
        for chain in &self.chains {
            let chain: Vec<NodeId> = chain.iter().map(|&node| nodes[node]).collect();
            b.chain(&chain);
        }
        for &(node, class, jobs) in &self.populations {
            b.population_of(nodes[node], Class(class), jobs);
        }
        let network = b.build().map_err(|error| error.to_string())?;
        Ok((network, nodes))
    }

    /// One replication.
    fn run(&self, number: u32, runs: &Runs, stop: &AtomicBool) -> Result<Vec<Measured>, String> {
        let seed = Seed::new(runs.seed).replication(u64::from(number));
        let (mut network, nodes) = self.built(seed)?;
        go(&mut network, runs.warmup, stop)?;
        network.measure_from_now();
        go(&mut network, runs.departures, stop)?;
        let measured = nodes
            .iter()
            .zip(&self.nodes)
            .map(|(id, (_, kind))| match kind {
                Kind::Station(_) => Measured::Station(Box::new(network.station(*id))),
                Kind::Lap | Kind::Sink => {
                    Measured::Times(Box::new(network.response_time(*id).clone()))
                }
                _ => Measured::Nothing,
            });
        Ok(measured.collect())
    }
}

/// Runs a network for a number of departures.
fn go(network: &mut Simulated, departures: u64, stop: &AtomicBool) -> Result<(), String> {
    let goal = network.departures().saturating_add(departures);
    while !stop.load(Relaxed) {
        for _ in 0..EVENTS {
            if network.departures() >= goal {
                return Ok(());
            }
            if network.step() {
                continue;
            }
            return Err(match network.run(Until::End) {
                Stopped::Stuck { jobs } => format!(
                    "deadlock: {jobs} jobs are left at {}, and no event is pending",
                    network.now()
                ),
                _ => "no job is left in the network, and none arrives".to_owned(),
            });
        }
    }
    Ok(())
}

/// What a replication found at a node.
enum Measured {
    Station(Box<StationStatistics>),
    Times(Box<Distribution>),
    Nothing,
}

/// As many as a scenario may have.
const MOST_REPLICATIONS: u32 = 1_000_000;

/// How a network is run.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Runs {
    seed: u64,
    departures: u64,
    warmup: u64,
    replications: u32,
    threads: Option<usize>,
}

/// A queueing network.
#[pyclass(module = "iosonar._iosonar")]
#[derive(Default)]
pub(crate) struct Network {
    plan: Plan,
}

impl Network {
    fn add(&mut self, name: String, kind: Kind) -> usize {
        self.plan.nodes.push((name, kind));
        self.plan.nodes.len() - 1
    }

    fn check(&self, node: usize) -> PyResult<usize> {
        match node < self.plan.nodes.len() {
            true => Ok(node),
            false => Err(refused("the node is one of another network")),
        }
    }
}

#[pymethods]
impl Network {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn source(&mut self, name: String, every: AnyLaw, class: u8) -> usize {
        let every = every.0;
        self.add(name, Kind::Source { every, class })
    }

    fn station(
        &mut self,
        name: String,
        service: AnyLaw,
        servers: u32,
        discipline: &str,
        room: Option<u32>,
    ) -> PyResult<usize> {
        let discipline = match discipline {
            "fcfs" => Discipline::Fcfs,
            "lifo" => Discipline::Lifo,
            "random" => Discipline::Random,
            "priority" => Discipline::Priority,
            "preemptive" => Discipline::PreemptiveResume,
            "sharing" => Discipline::ProcessorSharing,
            other => {
                return Err(refused(format!(
                    "'{other}' is not a discipline, expected fcfs, lifo, random, priority, preemptive or sharing"
                )));
            }
        };
        let mut queue = Queue::fcfs(servers, service.0).with(discipline);
        if let Some(jobs) = room {
            queue = queue.room_for(jobs);
        }
        Ok(self.add(name, Kind::Station(queue)))
    }

    fn delay(&mut self, name: String, law: AnyLaw, think: bool) -> usize {
        let law = law.0;
        self.add(name, Kind::Delay { law, think })
    }

    fn router(&mut self, name: String, probabilities: Option<Vec<f64>>) -> usize {
        let route = probabilities.map_or(Route::RoundRobin, Route::Probabilities);
        self.add(name, Kind::Router(route))
    }

    fn fork(&mut self, name: String) -> usize {
        self.add(name, Kind::Fork)
    }

    fn join(&mut self, name: String) -> usize {
        self.add(name, Kind::Join)
    }

    fn lap(&mut self, name: String) -> usize {
        self.add(name, Kind::Lap)
    }

    fn sink(&mut self, name: String) -> usize {
        self.add(name, Kind::Sink)
    }

    fn chain(&mut self, nodes: Vec<usize>) -> PyResult<()> {
        for &node in &nodes {
            self.check(node)?;
        }
        self.plan.chains.push(nodes);
        Ok(())
    }

    fn population(&mut self, node: usize, jobs: u32, class: u8) -> PyResult<()> {
        self.check(node)?;
        self.plan.populations.push((node, class, jobs));
        Ok(())
    }

    /// Runs replications; returns what was found at each node.
    fn run<'py>(&self, py: Python<'py>, runs: Runs) -> PyResult<Bound<'py, PyAny>> {
        if !(1..=MOST_REPLICATIONS).contains(&runs.replications) {
            return Err(refused(format!(
                "replications must be 1 to {MOST_REPLICATIONS} (got {})",
                runs.replications
            )));
        }
        let ends = |(_, kind): &(String, Kind)| matches!(kind, Kind::Lap | Kind::Sink);
        if !self.plan.nodes.iter().any(ends) {
            return Err(refused(
                "the network has neither a sink nor a lap, so no job ever departs: add one",
            ));
        }
        let (stop, plan) = (Arc::default(), self.plan.clone());
        let watched = Arc::clone(&stop);
        let found = interruptible(py, &stop, move || replicated(&plan, &runs, &watched))?;
        let found = found.map_err(refused)?;
        let figures = self.plan.nodes.iter().enumerate();
        let figures = figures.filter_map(|(i, (name, _))| Some((name.clone(), node(&found, i)?)));
        of_json(py, &Value::Object(figures.collect::<Map<_, _>>()))
    }
}

/// All replications in their order, on several threads.
fn replicated(plan: &Plan, runs: &Runs, stop: &AtomicBool) -> Result<Vec<Vec<Measured>>, String> {
    let mut results: Vec<Option<Result<Vec<Measured>, String>>> = Vec::new();
    results.resize_with(runs.replications as usize, || None);
    let next = Mutex::new(results.iter_mut().enumerate());
    let work = || {
        loop {
            let mine = next.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((number, result)) = mine else { break };
            *result = Some(plan.run(number as u32, runs, stop));
        }
    };
    let threads = threads(runs.threads).clamp(1, runs.replications as usize);
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    results.into_iter().flatten().collect()
}

/// The figures of a node over all replications; times are in seconds.
fn node(found: &[Vec<Measured>], i: usize) -> Option<Value> {
    let stations = found.iter().filter_map(|run| match &run[i] {
        Measured::Station(of) => Some(&**of),
        _ => None,
    });
    let stations: Vec<&StationStatistics> = stations.collect();
    if !stations.is_empty() {
        let over = |value: &dyn Fn(&StationStatistics) -> f64, factor, unit: &str| {
            let values: Vec<f64> = stations.iter().map(|of| value(of)).collect();
            estimate(&Estimate::from_independent(&values), factor, unit)
        };
        return Some(json!({
            "kind": "station",
            "utilisation": over(&StationStatistics::utilisation, 1.0, "1"),
            "number": over(&|of| of.number.mean(), 1.0, "1"),
            "throughput": over(&StationStatistics::throughput_per_s, 1.0, "1/s"),
            "wait": over(&|of| of.wait.mean(), 1e-9, "s"),
            "response_time": over(&|of| of.response_time.mean(), 1e-9, "s"),
            "lost": stations.iter().map(|of| of.lost).sum::<u64>(),
        }));
    }
    let parts = found.iter().filter_map(|run| match &run[i] {
        Measured::Times(of) => Some((**of).clone()),
        _ => None,
    });
    let parts: Vec<Distribution> = parts.collect();
    let mut whole = Distribution::default();
    parts.iter().for_each(|of| whole.merge(of));
    if whole.count() == 0 {
        return None;
    }
    // A replication in which no customer came here does not show how replications differ.
    let parts: Vec<Distribution> = parts.into_iter().filter(|of| of.count() > 0).collect();
    let times = times(&whole, &mean_of(&whole, &parts), (1e-9, "s"), |p| {
        let ends = quantile_interval(&whole, &parts, p);
        let ends = ends.map(|(low, high)| (low.get() as f64, high.get() as f64));
        (quantile_of(&whole, &parts, p), ends)
    });
    Some(json!({ "kind": "times", "response_time": times }))
}
