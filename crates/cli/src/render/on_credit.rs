//! Times that a load has only as long as credits of a limit last.

use iosonar_scenario::OnCredit;
use iosonar_units::Nanos;

/// What follows `ON CREDIT`.
pub(crate) fn why(of: OnCredit) -> String {
    format!(
        "the load used {:.2} times the credits that it earned: at this rate all of them last {}, and then requests wait for \
         the baseline of the limit",
        of.used,
        Nanos::from_secs(of.lasts_s.ceil().min(1e9) as u64)
    )
}
