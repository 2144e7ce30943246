//! Why nodes do not make a network.

use std::error::Error;
use std::fmt;

use crate::LawError;

/// Why nodes do not make a network. Each error names the [node](BuildError::node) to mend.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum BuildError {
    /// A node has no output, or too many.
    Outputs {
        /// The node's name.
        node: String,
        /// What it is.
        kind: &'static str,
        /// How many outputs it has.
        seen: usize,
        /// How many it needs.
        expected: &'static str,
    },
    /// An invalid distribution.
    Law {
        /// The node's name.
        node: String,
        /// What is wrong.
        source: LawError,
    },
    /// A station that cannot be.
    Station {
        /// The node's name.
        node: String,
        /// What is wrong.
        complaint: &'static str,
    },
    /// A router that sends jobs to an output that it does not have.
    Output {
        /// The node's name.
        node: String,
        /// The output.
        seen: usize,
        /// How many there are.
        outputs: usize,
    },
    /// Two nodes have one name.
    Name {
        /// The name.
        node: String,
    },
    /// Jobs cannot go to where they come from outside.
    IntoSource {
        /// The source's name.
        node: String,
    },
    /// Jobs would go round for ever without time passing.
    Loop {
        /// The name of a node on it.
        node: String,
    },
    /// Populations of routers and laps exceed, or may exceed, the room of a finite queue that they come to at time zero.
    Population {
        /// The station's name.
        node: String,
    },
    /// Something that cannot wait leads straight to a finite queue.
    CannotWait {
        /// The node's name.
        node: String,
        /// What it is.
        kind: &'static str,
        /// The station's name.
        queue: String,
    },
    /// A node that serves all its jobs has a way for unserved ones.
    ServesAll {
        /// The node's name.
        node: String,
        /// What it is.
        kind: &'static str,
    },
    /// Jobs from a source come to a node from which no path leads to a sink, so they would pile up.
    NoSink {
        /// The source's name.
        source: String,
        /// The name of the first such node: the source itself if none of its jobs can reach a sink.
        node: String,
    },
    /// Jobs come to a join without having been forked.
    NotForked {
        /// The join's name.
        node: String,
        /// The name of the node that the jobs begin at.
        origin: String,
    },
    /// A part of a forked job can leave the network, so its join would wait for ever.
    LeavesFork {
        /// The name of the sink, or of the station that drops jobs.
        node: String,
        /// The fork's name.
        fork: String,
    },
    /// A part of a forked job comes to a node from which no path leads to a join.
    NoJoin {
        /// The node's name.
        node: String,
        /// The fork's name.
        fork: String,
    },
}

impl BuildError {
    /// The name of the node to mend.
    pub fn node(&self) -> &str {
        match self {
            Self::Outputs { node, .. }
            | Self::Law { node, .. }
            | Self::Station { node, .. }
            | Self::Output { node, .. }
            | Self::Name { node }
            | Self::IntoSource { node }
            | Self::Loop { node }
            | Self::Population { node }
            | Self::CannotWait { node, .. }
            | Self::ServesAll { node, .. }
            | Self::NoSink { node, .. }
            | Self::NotForked { node, .. }
            | Self::LeavesFork { node, .. }
            | Self::NoJoin { node, .. } => node,
        }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Outputs {
                node,
                kind,
                seen,
                expected,
            } => write!(f, "{kind} '{node}' has {seen} outputs, expected {expected}"),
            Self::Law { node, source } => write!(f, "'{node}': {source}"),
            Self::Station { node, complaint } => write!(f, "station '{node}': {complaint}"),
            Self::Output {
                node,
                seen,
                outputs,
            } => write!(
                f,
                "router '{node}' selects output {seen} (counted from 0), but its number of outputs is {outputs}"
            ),
            Self::Name { node } => write!(
                f,
                "two nodes have the name '{node}': give them different names, as the random stream of a node depends \
                 on its name"
            ),
            Self::IntoSource { node } => {
                write!(f, "jobs cannot be routed to the source '{node}'")
            }
            Self::Loop { node } => write!(
                f,
                "'{node}' is on a loop that takes no time and that jobs cannot leave: add a station, a delay or an exit"
            ),
            Self::Population { node } => write!(
                f,
                "the finite queue '{node}' could overflow if all jobs of the populations upstream reach it at time \
                 zero: enlarge it, start with fewer jobs upstream, or use Builder::unserved to route the jobs that \
                 do not fit"
            ),
            Self::CannotWait { node, kind, queue } => write!(
                f,
                "{kind} '{node}' leads to the finite queue '{queue}', but jobs cannot wait there: put a station \
                 between them, or use Builder::unserved to route the jobs that do not fit"
            ),
            Self::ServesAll { node, kind } => write!(
                f,
                "{kind} '{node}' has an output for unserved jobs, but only a station with patience or a finite queue \
                 leaves jobs unserved"
            ),
            Self::NoSink { source, node } if source == node => write!(
                f,
                "no path leads from the source '{node}' to a sink: connect one, or use a population for jobs that \
                 stay"
            ),
            Self::NoSink { source, node } => write!(
                f,
                "jobs from the source '{source}' reach '{node}', but no path leads from there to a sink: connect one, \
                 or use a population for jobs that stay"
            ),
            Self::NotForked { node, origin } => write!(
                f,
                "jobs from '{origin}' reach the join '{node}' without having been forked"
            ),
            Self::LeavesFork { node, fork } => write!(
                f,
                "parts of jobs that were forked at '{fork}' leave the network at '{node}', but all must reach a join"
            ),
            Self::NoJoin { node, fork } => write!(
                f,
                "parts of jobs that were forked at '{fork}' reach '{node}', but no path leads from there to a join"
            ),
        }
    }
}

impl Error for BuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Law { source, .. } => Some(source),
            _ => None,
        }
    }
}
