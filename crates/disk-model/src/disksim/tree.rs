//! What parameter files say: blocks of parameters, objects made of them, and topologies of objects.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::Warning;

/// A file and a line of it, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) path: Arc<Path>,
    pub(crate) line: usize,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path.display(), self.line)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Int(i64),
    Float(f64),
    Word(String),
    List(Arc<[Item]>),
    Block(Arc<Block>),
    Topology(Arc<Topology>),
}

/// A value and where it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    pub(crate) value: Value,
    pub(crate) at: At,
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Value::Int(i) => write!(f, "{i}"),
            Value::Float(x) => write!(f, "{x}"),
            Value::Word(word) => write!(f, "'{word}'"),
            Value::List(items) => write!(f, "a list of {}", items.len()),
            Value::Block(block) => write!(f, "a block '{}'", block.kind),
            Value::Topology(topology) => write!(f, "a topology of '{}'", topology.name),
        }
    }
}

/// `TYPE NAME { key = value, ... }`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Block {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) parameters: Vec<(String, Item)>,
    pub(crate) at: At,
}

/// `TYPE NAME [ ... ]`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Topology {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) below: Vec<Topology>,
}

/// What is in a set of files.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) blocks: Vec<Arc<Block>>,
    /// Names of objects, and the blocks that they are made of.
    pub(crate) objects: HashMap<String, String>,
    pub(crate) topologies: Vec<Topology>,
    pub(crate) warnings: Vec<Warning>,
    /// Files that others included.
    pub(crate) included: Vec<PathBuf>,
    /// How many parameters blocks have taken over from those that are their types.
    pub(crate) inherited: usize,
}
