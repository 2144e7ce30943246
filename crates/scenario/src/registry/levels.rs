//! Registered levels.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use iosonar_raid::{ArrayShape, Planner, Registered};
use iosonar_sim_core::{Seed, Stream};
use serde::de::DeserializeOwned;
use toml::Table;

use super::{BuildError, options};

/// The array that a level is made for.
#[derive(Clone, Copy, Debug)]
pub struct LevelShape<'a> {
    /// Its devices and its stripe unit.
    pub array: ArrayShape,
    seed: &'a Seed,
}

impl<'a> LevelShape<'a> {
    pub(crate) fn new(array: ArrayShape, seed: &'a Seed) -> Self {
        Self { array, seed }
    }

    /// Random numbers of the level, the same in every run with the same seed.
    pub fn stream(&self, purpose: &str) -> Stream {
        self.seed.stream("array", purpose)
    }
}

/// A level by the name that it was registered with.
#[derive(Clone)]
pub struct RegisteredLevel {
    /// The name.
    pub name: String,
    /// What the scenario says of it.
    pub options: Table,
    pub(crate) model: Arc<dyn LevelModel>,
}

impl fmt::Debug for RegisteredLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegisteredLevel")
            .field("name", &self.name)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl PartialEq for RegisteredLevel {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.model, &other.model) && self.options == other.options
    }
}

/// How the planners of a level are made.
pub(crate) trait LevelModel: Send + Sync {
    fn build(&self, options: &Table, shape: &LevelShape<'_>) -> Result<Registered, BuildError>;
}

/// Levels that a function makes from options.
pub(crate) struct Levels<O, P, F>(F, PhantomData<fn(O) -> P>);

impl<O, P, F: Fn(&O, &LevelShape<'_>) -> Result<P, BuildError>> Levels<O, P, F> {
    pub(super) fn new(build: F) -> Self {
        Self(build, PhantomData)
    }
}

impl<O, P, F> LevelModel for Levels<O, P, F>
where
    O: DeserializeOwned,
    P: Planner + Send + 'static,
    F: Fn(&O, &LevelShape<'_>) -> Result<P, BuildError> + Send + Sync,
{
    fn build(&self, given: &Table, shape: &LevelShape<'_>) -> Result<Registered, BuildError> {
        let planner = (self.0)(&options(given)?, shape)?;
        let (disks, expected) = (planner.disks(), shape.array.disks);
        if disks != expected {
            return Err(format!("the level plans for {disks} devices, expected {expected}").into());
        }
        if planner.data_sectors() == 0 {
            return Err("the level leaves no room for data".into());
        }
        Ok(Registered::new(planner))
    }
}
