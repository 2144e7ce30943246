//! Devices and levels of other crates, by the names that scenario files give them.
//!
//! ```text
//!  [device]                     ┌── Registry ──┐
//!  model = "flash"    ────────► │ "flash"   ───┼─► a Mechanism or a Device for each place of the array
//!  [array]                      │              │
//!  level = "chained"  ────────► │ "chained" ───┼─► a Planner
//!                               └──────────────┘
//! ```
//!
//! A model is registered with the function that makes it, so that the simulation of an array of such devices is
//! compiled for them like that of the built-in ones.

mod devices;
mod levels;

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::{Arc, OnceLock};

use iosonar_device::{Device, Mechanism};
use iosonar_raid::Planner;
use iosonar_units::plain_complaint;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Table;

use crate::words::Word;
pub(crate) use devices::{DeviceModel, Devices, Mechanisms};
pub use devices::{DevicePlace, RegisteredDevices};
pub(crate) use levels::{LevelModel, Levels};
pub use levels::{LevelShape, RegisteredLevel};

/// Why a device or a level cannot be made.
pub type BuildError = Box<dyn Error + Send + Sync>;

/// The devices and levels that scenario files may name beside the built-in ones.
///
/// ```
/// use iosonar_device::{Job, Mechanism, Pace, ServiceTime, Waiting};
/// use iosonar_scenario::{Overrides, Prepared, Registry};
/// use iosonar_units::Nanos;
///
/// /// Every access takes the same time.
/// struct Constant(Nanos);
///
/// impl Mechanism for Constant {
///     type Place = ();
///     fn place(&self, _: &Job) {}
///     fn serve(&mut self, _: &Waiting<()>, _: Nanos, _: usize) -> ServiceTime {
///         ServiceTime { positioning: self.0, transfer: Nanos::ZERO, pace: Pace(0.0) }
///     }
/// }
///
/// #[derive(serde::Deserialize)]
/// #[serde(deny_unknown_fields)]
/// struct Options {
///     us: u64,
/// }
///
/// let registry = Registry::new().with_mechanism("constant", |options: &Options, _| {
///     Ok(Constant(Nanos::from_micros(options.us)))
/// });
/// let text = r#"
///     [load]
///     requests = 1_000
///     rate_per_s = 100.0
///     size = { blocks = 1 }
///     [array]
///     level = "raid0"
///     disks = 4
///     [device]
///     model = "constant"
///     capacity = "1GiB"
///     options = { us = 80 }
/// "#;
/// let overrides = Overrides { registry, ..Overrides::default() };
/// let prepared = Prepared::from_toml(text, "example.toml".as_ref(), &overrides).unwrap();
/// let result = prepared.run(1, None).unwrap();
/// let median = result.response_time.histogram.quantile(0.5).unwrap();
/// assert!((median.as_micros_f64() - 80.0).abs() < 1.0);
/// ```
#[derive(Clone, Default)]
pub struct Registry {
    devices: BTreeMap<String, Arc<dyn DeviceModel>>,
    levels: BTreeMap<String, Arc<dyn LevelModel>>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("devices", &self.devices.keys())
            .field("levels", &self.levels.keys())
            .finish()
    }
}

static INSTALLED: OnceLock<Registry> = OnceLock::new();

impl Registry {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// That of the program: what was [installed](Self::install), or an empty one.
    pub fn of_program() -> Self {
        INSTALLED.get().cloned().unwrap_or_default()
    }

    /// Makes this the registry of the program, which all scenarios use that are not given another: a `main` of one's
    /// own installs it and then runs the command line.
    ///
    /// # Panics
    /// If one is installed already.
    pub fn install(self) {
        assert!(
            INSTALLED.set(self).is_ok(),
            "a registry is installed already: a program has one, so install it once, in 'main'"
        );
    }

    /// Devices that serve one job at a time: `model = NAME` in `[device]`. `build` makes the device at one place of
    /// the array from the options of the scenario.
    ///
    /// # Panics
    /// If there is a device of this name already.
    #[must_use]
    pub fn with_mechanism<O, M>(
        self,
        name: &str,
        build: impl Fn(&O, &DevicePlace<'_>) -> Result<M, BuildError> + Send + Sync + 'static,
    ) -> Self
    where
        O: DeserializeOwned + 'static,
        M: Mechanism + 'static,
    {
        self.with_device_model(name, Arc::new(Mechanisms::new(build)))
    }

    /// Devices that work on several jobs at a time, or have a queue of their own.
    ///
    /// # Panics
    /// If there is a device of this name already.
    #[must_use]
    pub fn with_device<O, D>(
        self,
        name: &str,
        build: impl Fn(&O, &DevicePlace<'_>) -> Result<D, BuildError> + Send + Sync + 'static,
    ) -> Self
    where
        O: DeserializeOwned + 'static,
        D: Device + 'static,
    {
        self.with_device_model(name, Arc::new(Devices::new(build)))
    }

    fn with_device_model(mut self, name: &str, model: Arc<dyn DeviceModel>) -> Self {
        let before = self.devices.insert(name.to_owned(), model);
        assert!(before.is_none(), "device {name:?} is registered twice");
        self
    }

    /// A level: `level = NAME` in `[array]`. `build` makes its planner from the options of the scenario.
    ///
    /// # Panics
    /// If there is a level of this name already, built in or registered.
    #[must_use]
    pub fn with_level<O, P>(
        mut self,
        name: &str,
        build: impl Fn(&O, &LevelShape<'_>) -> Result<P, BuildError> + Send + Sync + 'static,
    ) -> Self
    where
        O: DeserializeOwned + 'static,
        P: Planner + Send + 'static,
    {
        let built_in = crate::file::LevelName::WORDS.contains(&name);
        assert!(!built_in, "level {name:?} is built in");
        let before = self
            .levels
            .insert(name.to_owned(), Arc::new(Levels::new(build)));
        assert!(before.is_none(), "level {name:?} is registered twice");
        self
    }

    pub(crate) fn device(&self, name: &str) -> Option<&Arc<dyn DeviceModel>> {
        self.devices.get(name)
    }

    pub(crate) fn level(&self, name: &str) -> Option<&Arc<dyn LevelModel>> {
        self.levels.get(name)
    }

    /// The names of the devices, in alphabetical order.
    pub fn device_names(&self) -> impl Iterator<Item = &str> {
        self.devices.keys().map(String::as_str)
    }

    /// The names of the levels, in alphabetical order.
    pub fn level_names(&self) -> impl Iterator<Item = &str> {
        self.levels.keys().map(String::as_str)
    }
}

/// The options of a model that has none.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoOptions {}

/// The options of a scenario as a type.
fn options<O: DeserializeOwned>(options: &Table) -> Result<O, BuildError> {
    let read: Result<O, toml::de::Error> = options.clone().try_into();
    read.map_err(|error| plain_complaint(error.message()).into())
}
