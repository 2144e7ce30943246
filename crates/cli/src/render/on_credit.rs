//! Times that a load has only as long as credits of a limit last.

use iosonar_scenario::OnCredit;
use iosonar_units::Nanos;

/// What follows `ON CREDIT`.
pub(crate) fn why(of: OnCredit) -> String {
    let used = of.used;
    if of.is_used_up {
        return format!(
            "the load used {used:.2} times the credits that it earned, and used them up: the times are those of a burst and of \
             the baseline of the limit together"
        );
    }
    let lasts = match of.lasts_s {
        ..10.0 => Nanos::nearest(of.lasts_s * 1e9),
        _ => Nanos::from_secs(of.lasts_s.round().min(1e9) as u64),
    };
    format!(
        "the load used {used:.2} times the credits that it earned: at this rate all of them last {lasts}, and then requests \
         wait for the baseline of the limit"
    )
}
