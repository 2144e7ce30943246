//! Jobs that nodes with a behaviour send round for ever without time passing.

use std::error::Error;
use std::fmt;

use iosonar_units::Nanos;

/// A job that nodes with a [`Behaviour`](super::Behaviour) send to each other for ever without time passing, which ends a
/// [run](super::Network::endless_loop).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndlessLoop {
    /// The number of the job in the order of creation.
    pub job: u64,
    /// When it went round.
    pub at: Nanos,
    /// The names of the nodes with a behaviour that it comes to, in the order of the builder.
    pub nodes: Vec<String>,
}

/// How many nodes an error names.
const NAMED: usize = 8;

impl fmt::Display for EndlessLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.nodes.iter().take(NAMED);
        let names: Vec<String> = names.map(|name| format!("'{name}'")).collect();
        let others = match self.nodes.len() > NAMED {
            true => " and others",
            false => "",
        };
        write!(
            f,
            "at {}, job {} is caught in a loop that takes no time: {}{others}. Make one of these nodes delay the job, \
             or route it differently",
            self.at,
            self.job,
            names.join(", ")
        )
    }
}

impl Error for EndlessLoop {}
