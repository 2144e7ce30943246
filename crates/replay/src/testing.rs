//! What the tests of several modules need.

use iosonar_trace::{Op, Request};
use iosonar_units::{Sector, Sectors};

/// A request to these sectors, at time zero.
pub(crate) fn request(op: Op, sector: u64, sectors: u32) -> Request {
    Request {
        op,
        sector: Sector::new(sector),
        sectors: Sectors::new(sectors),
        ..Request::default()
    }
}
