//! A measured figure, and what it is compared with.

use iosonar_stats::metric::MetricUnit;

/// What a figure is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The event calendar under the hold model.
    Calendar,
    /// A queue with one server, at a utilisation of 0.9.
    SingleServer,
    /// A fork-join of four servers, at a utilisation of 0.5.
    ForkJoin,
    /// Simulated arrays of four disks.
    Arrays,
    /// Simulated SSDs.
    Ssds,
    /// Traces that are read, written and measured.
    Traces,
    /// Pictures of records in memory.
    Pictures,
    /// Replays that start requests as fast as they can.
    HighestRate,
}

impl Group {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Calendar => "Event calendar, hold model: pop and schedule",
            Self::SingleServer => "M/M/1 at 0.9, two events per job",
            Self::ForkJoin => "Fork-join of four servers at 0.5",
            Self::Arrays => "Arrays of four disks, 128 KiB blocks",
            Self::Ssds => "SSDs, requests of 4 KiB",
            Self::Traces => "Traces",
            Self::Pictures => "Pictures",
            Self::HighestRate => "highest rate",
        }
    }
}

/// What a figure is compared with, or how it came about.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// The standard library's binary heap needs this time for the same.
    BinaryHeap {
        /// Nanoseconds.
        ns: f64,
    },
    /// As a ratio of the event loop that was written for this one model, and of the one that keeps all statistics.
    OfEventLoop {
        /// Ratio of the plain loop's speed.
        plain: f64,
        /// Ratio of the speed of the loop with all statistics, where there is one.
        with_statistics: Option<f64>,
    },
    /// Simulated event by event.
    WithEvents,
    /// Simulated by a recursion over the requests.
    ByRecursion,
    /// As a ratio of the speed of one thread.
    OfOneThread(f64),
    /// What cleaning does to the writes of an SSD.
    Cleaning {
        /// Reads, programs and erases of flash, in millions per second.
        millions_of_pages_per_s: f64,
        /// Pages programmed by each page written.
        write_amplification: f64,
    },
    /// A set of charts.
    Charts {
        /// How many were drawn.
        drawn: usize,
        /// Seconds of the time that went into looking at the records.
        looking_s: f64,
    },
    /// Millions of requests drawn per second.
    MillionsPerSecond(f64),
    /// Processor time per request of a replay.
    ProcessorTime {
        /// The engine that did it.
        engine: &'static str,
        /// Microseconds of the session's own thread.
        own_us: f64,
        /// Microseconds of all threads and of the kernel's workers.
        all_us: f64,
    },
    /// Processor time per request of another tool, in microseconds.
    PeerProcessorTime(f64),
}

/// A measured figure.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What it is about.
    pub group: Group,
    /// The case of its group.
    pub case: String,
    /// Its unit.
    pub unit: &'static str,
    /// Its value.
    pub value: f64,
    /// What it is compared with.
    pub note: Option<Note>,
}

impl Figure {
    pub(crate) fn new(
        group: Group,
        case: impl Into<String>,
        unit: &'static str,
        value: f64,
    ) -> Self {
        Self {
            group,
            case: case.into(),
            unit,
            value,
            note: None,
        }
    }

    pub(crate) fn with(self, note: Note) -> Self {
        Self {
            note: Some(note),
            ..self
        }
    }

    /// Its unit as that of a metric.
    pub fn metric_unit(&self) -> MetricUnit {
        MetricUnit::Other(self.unit.into())
    }
}
