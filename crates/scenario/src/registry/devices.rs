//! Registered devices.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use iosonar_device::{Device, Mechanism, Station};
use iosonar_sim_core::{Seed, Stream};
use serde::de::DeserializeOwned;
use toml::Table;

use super::{BuildError, options};
use crate::run::{LocalStations, Queues, RegisteredRun};
use crate::{Replication, ScenarioError};

/// The place of a device in the array that it is made for.
#[derive(Clone, Copy, Debug)]
pub struct DevicePlace<'a> {
    /// Its number among the devices of the array, from 0; spares follow.
    pub number: usize,
    /// How many sectors of 512 B it holds.
    pub sectors: u64,
    name: &'a str,
    seed: &'a Seed,
}

impl<'a> DevicePlace<'a> {
    pub(crate) fn new(number: usize, sectors: u64, name: &'a str, seed: &'a Seed) -> Self {
        Self {
            number,
            sectors,
            name,
            seed,
        }
    }

    /// Random numbers of this device alone, the same in every run with the same seed.
    pub fn stream(&self, purpose: &str) -> Stream {
        self.seed.stream(self.name, purpose)
    }
}

/// The devices of an array, all of one registered model.
#[derive(Clone)]
pub struct RegisteredDevices {
    /// The name of the model.
    pub name: String,
    /// How many sectors of 512 B each holds.
    pub sectors: u64,
    /// What the scenario says of them.
    pub options: Table,
    pub(crate) model: Arc<dyn DeviceModel>,
}

impl fmt::Debug for RegisteredDevices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegisteredDevices")
            .field("name", &self.name)
            .field("sectors", &self.sectors)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// How the devices of one model are made, and arrays of them run.
pub(crate) trait DeviceModel: Send + Sync {
    /// Whether a device can be made with these options.
    fn check(&self, options: &Table, place: &DevicePlace<'_>) -> Result<(), BuildError>;

    /// Carries out a replication.
    fn run(
        &self,
        devices: &RegisteredDevices,
        run: RegisteredRun<'_, '_>,
    ) -> Result<Replication, ScenarioError>;
}

/// Models that serve one job at a time.
pub(crate) struct Mechanisms<O, M, F>(F, PhantomData<fn(O) -> M>);

/// Models with queues of their own.
pub(crate) struct Devices<O, D, F>(F, PhantomData<fn(O) -> D>);

impl<O, M, F: Fn(&O, &DevicePlace<'_>) -> Result<M, BuildError>> Mechanisms<O, M, F> {
    pub(super) fn new(build: F) -> Self {
        Self(build, PhantomData)
    }
}

impl<O, D, F: Fn(&O, &DevicePlace<'_>) -> Result<D, BuildError>> Devices<O, D, F> {
    pub(super) fn new(build: F) -> Self {
        Self(build, PhantomData)
    }
}

impl<O, M, F> DeviceModel for Mechanisms<O, M, F>
where
    O: DeserializeOwned,
    M: Mechanism,
    F: Fn(&O, &DevicePlace<'_>) -> Result<M, BuildError> + Send + Sync,
{
    fn check(&self, given: &Table, place: &DevicePlace<'_>) -> Result<(), BuildError> {
        (self.0)(&options(given)?, place).map(drop)
    }

    fn run(
        &self,
        devices: &RegisteredDevices,
        run: RegisteredRun<'_, '_>,
    ) -> Result<Replication, ScenarioError> {
        let options = options(&devices.options).map_err(|error| cannot_be_made(devices, &error))?;
        let build = |place: &DevicePlace<'_>| (self.0)(&options, place).map(Station::new);
        let stations = all(devices, &run, build)?;
        run.carry_out::<LocalStations<M>>(stations)
    }
}

impl<O, D, F> DeviceModel for Devices<O, D, F>
where
    O: DeserializeOwned,
    D: Device,
    F: Fn(&O, &DevicePlace<'_>) -> Result<D, BuildError> + Send + Sync,
{
    fn check(&self, given: &Table, place: &DevicePlace<'_>) -> Result<(), BuildError> {
        (self.0)(&options(given)?, place).map(drop)
    }

    fn run(
        &self,
        devices: &RegisteredDevices,
        run: RegisteredRun<'_, '_>,
    ) -> Result<Replication, ScenarioError> {
        let options = options(&devices.options).map_err(|error| cannot_be_made(devices, &error))?;
        let build = |place: &DevicePlace<'_>| (self.0)(&options, place);
        let all = all(devices, &run, build)?;
        run.carry_out::<Queues<D>>(all)
    }
}

/// The devices of all places.
fn all<D>(
    devices: &RegisteredDevices,
    run: &RegisteredRun<'_, '_>,
    build: impl Fn(&DevicePlace<'_>) -> Result<D, BuildError>,
) -> Result<Vec<D>, ScenarioError> {
    let one = |number| {
        let name = run.station(number);
        let place = DevicePlace::new(number, devices.sectors, &name, run.seed());
        build(&place).map_err(|error| cannot_be_made(devices, &error))
    };
    run.places().map(one).collect()
}

fn cannot_be_made(devices: &RegisteredDevices, error: &BuildError) -> ScenarioError {
    ScenarioError::Registered {
        model: devices.name.clone(),
        problem: error.to_string(),
    }
}
