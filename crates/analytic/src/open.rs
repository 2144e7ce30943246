//! Stations with arrivals from outside.

mod batches;
mod bulk;
mod priority;
mod several;
mod single;
mod varying;

pub use batches::{BatchLaw, BatchQueue};
pub use bulk::BulkService;
pub use priority::{Discipline, PriorityClass, PriorityQueue};
pub use several::MMc;
pub use single::Mg1;
pub use varying::{VaryingService, VaryingServiceQueue};
