//! The queues of this comparison with NeXosim: a source, servers and a sink are models that send each other jobs.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use nexosim::model::{Context, Model, schedulable};
use nexosim::ports::Output;
use nexosim::simulation::{Mailbox, SimInit};
use nexosim::time::MonotonicTime;
use rand::{Rng, SeedableRng, rngs::SmallRng};
use rand_distr::Exp1;
use serde::{Deserialize, Serialize};

/// A job: its number, and when it came, in nanoseconds.
type Job = (u64, u64);

fn exponential(generator: &mut SmallRng, mean_ns: f64) -> Duration {
    let draw: f64 = generator.sample(Exp1);
    Duration::from_nanos(((draw * mean_ns) as u64).max(1))
}

fn now(cx: &Context<impl Model>) -> u64 {
    let since = cx.time().duration_since(MonotonicTime::EPOCH);
    since.as_nanos() as u64
}

/// What a model needs to draw times: its state is made again from the seed where a simulation is restored.
#[derive(Serialize, Deserialize)]
struct Draws {
    seed: u64,
    mean_ns: f64,
    #[serde(skip)]
    generator: Option<SmallRng>,
}

impl Draws {
    fn new(seed: u64, mean_ns: f64) -> Self {
        Self { seed, mean_ns, generator: None }
    }

    fn next(&mut self) -> Duration {
        let seed = self.seed;
        let generator = self.generator.get_or_insert_with(|| SmallRng::seed_from_u64(seed));
        exponential(generator, self.mean_ns)
    }
}

#[derive(Serialize, Deserialize)]
struct Source {
    job: Output<Job>,
    draws: Draws,
    next: u64,
}

#[Model]
impl Source {
    #[nexosim(init)]
    async fn init(&mut self, cx: &Context<Self>) {
        cx.schedule_event(self.draws.next(), schedulable!(Self::emit), ()).unwrap();
    }

    #[nexosim(schedulable)]
    async fn emit(&mut self, _: (), cx: &Context<Self>) {
        self.job.send((self.next, now(cx))).await;
        self.next += 1;
        cx.schedule_event(self.draws.next(), schedulable!(Self::emit), ()).unwrap();
    }
}

#[derive(Serialize, Deserialize)]
struct Server {
    done: Output<Job>,
    draws: Draws,
    queue: VecDeque<Job>,
}

#[Model]
impl Server {
    async fn job(&mut self, job: Job, cx: &Context<Self>) {
        self.queue.push_back(job);
        if self.queue.len() == 1 {
            cx.schedule_event(self.draws.next(), schedulable!(Self::complete), ()).unwrap();
        }
    }

    #[nexosim(schedulable)]
    async fn complete(&mut self, _: (), cx: &Context<Self>) {
        let job = self.queue.pop_front().expect("a job is in service");
        self.done.send(job).await;
        if !self.queue.is_empty() {
            cx.schedule_event(self.draws.next(), schedulable!(Self::complete), ()).unwrap();
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Join {
    parts: u32,
    /// Parts left of the open jobs, from the oldest on.
    open: VecDeque<u32>,
    first: u64,
    total: Output<u64>,
}

#[Model]
impl Join {
    async fn part(&mut self, job: Job, cx: &Context<Self>) {
        let (number, came) = job;
        let place = (number - self.first) as usize;
        while self.open.len() <= place {
            self.open.push_back(self.parts);
        }
        self.open[place] -= 1;
        if self.open[place] == 0 {
            self.total.send(now(cx) - came).await;
        }
        while self.open.front() == Some(&0) {
            self.open.pop_front();
            self.first += 1;
        }
    }
}

/// Counts what leaves.
#[derive(Default, Serialize, Deserialize)]
struct Sink {
    jobs: u64,
    sum_ns: u64,
    most: u64,
    began: f64,
    name: String,
}

#[Model]
impl Sink {
    fn take(&mut self, time_ns: u64) {
        self.jobs += 1;
        self.sum_ns += time_ns;
        if self.jobs == self.most {
            let seconds = since_start() - self.began;
            let mean_ms = self.sum_ns as f64 / self.jobs as f64 / 1e6;
            println!("{} {:.4} {mean_ms:.4}", self.name, self.jobs as f64 / seconds / 1e6);
        }
    }
}

fn since_start() -> f64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

fn run(name: &str, servers: u32, mean_service_ns: f64, jobs: u64) {
    let mut source = Source { job: Output::default(), draws: Draws::new(1, 1e6), next: 0 };
    let sink = Sink { most: jobs, began: since_start(), name: name.to_owned(), ..Sink::default() };
    let mut join = Join { parts: servers, open: VecDeque::new(), first: 0, total: Output::default() };
    let (join_box, sink_box) = (Mailbox::new(), Mailbox::new());
    join.total.connect(Sink::take, &sink_box);
    let mut bench = SimInit::with_num_threads(1);
    for i in 0..servers {
        let mut server = Server {
            done: Output::default(),
            draws: Draws::new(2 + u64::from(i), mean_service_ns),
            queue: VecDeque::new(),
        };
        let server_box = Mailbox::new();
        source.job.connect(Server::job, &server_box);
        server.done.connect(Join::part, &join_box);
        bench = bench.add_model(server, server_box, &format!("server {i}"));
    }
    let bench = bench
        .add_model(source, Mailbox::new(), "source")
        .add_model(join, join_box, "join")
        .add_model(sink, sink_box, "sink");
    let mut simulation = bench.init(MonotonicTime::EPOCH).expect("the model is complete");
    // A little longer than the jobs take to come, so that the last of them leaves.
    let span = Duration::from_secs_f64(jobs as f64 * 1e-3 * 1.02 + 1.0);
    simulation.step_until(span).expect("nothing blocks");
}

fn main() {
    run("mm1", 1, 9e5, 500_000);
    run("fork-join", 4, 5e5, 100_000);
}
