//! Scenario files, and the simulations that they mean.
//!
//! A scenario is a TOML file that says what is simulated: a load, an array, the disks under it.
//! [`ScenarioFile`] is what may be written, [`Prepared`] what it means after every value has
//! been checked, and [`Prepared::run`] carries it out, replications in parallel, with a result
//! that is the same for any number of threads.
//!
//! ```
//! use iosonar_scenario::{Overrides, Prepared};
//!
//! let text = r#"
//!     seed = 1
//!     [load]
//!     requests = 1_000
//!     arrivals = { poisson_per_s = 10.0 }
//!     size = { blocks = 4 }
//!     [array]
//!     level = "raid5"
//!     disks = 4
//!     [disk]
//!     profile = "seagate-st3500630ns"
//! "#;
//! let simulation = Prepared::from_toml(text, "example.toml".as_ref(), &Overrides::default()).unwrap();
//! let result = simulation.run(1, None).unwrap();
//! assert_eq!(result.response_time.count(), 1_000);
//! ```

mod array_model;
mod error;
mod explain;
mod file;
mod grown;
mod headline;
mod load_model;
mod metrics;
pub mod networked;
mod offered;
mod prepared;
mod registry;
mod resolve;
mod result;
mod run;
pub mod sensitivity;
mod source;
mod steady;
mod system;
pub mod theory;
mod words;

pub use array_model::{
    ArrayModel, Devices, DiskModel, DiskSet, LevelOptions, MdOptions, Servers, SsdSet,
};
pub use error::{ScenarioError, read_text};
pub use file::{ControllerLike, ScenarioFile};
pub use load_model::{Growth, LoadModel};
pub use metrics::Rebuilt;
pub use offered::{Offered, Stability};
pub use prepared::{Assumption, Fleet, GiveUp, Method, NoSteadyState, Prepared, Warmup};
pub use registry::{
    BuildError, DevicePlace, LevelShape, NoOptions, RegisteredDevices, RegisteredLevel, Registry,
};
pub use resolve::{
    DEFAULT_MEMORY, Overrides, ProfileOf, REQUESTS_PER_USER, holds, moved, with_load_of,
    with_values,
};
pub use result::{ArrayFigures, FleetResult, NoInterval, Replication, SimulationResult, Unserved};
pub use run::{
    OutputFiles, Outputs, REPLICATION, RecordFiles, Records, StageSink, Watch, records_go_to,
    records_path_of, replaced_by_records,
};
pub use source::Span;
pub use steady::{NotCleaned, NotSteady, OnCredit};
pub use system::{SHORT_FORM, System, SystemName, SystemProblem, built_in_profile};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
