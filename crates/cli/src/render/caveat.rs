//! Why a longer run may find longer times than those of an answer.

use iosonar_scenario::NotCleaned;
use iosonar_study::plan::Caveat;

use super::{not_cleaned, on_credit};

/// The label of [`Caveat::NotCleaned`].
pub(crate) const NOT_CLEANED: &str = "NOT CLEANED";
/// The label of [`Caveat::OnCredit`].
pub(crate) const ON_CREDIT: &str = "ON CREDIT";

/// The label that is printed before the reason.
pub(crate) fn label(of: Caveat) -> &'static str {
    match of {
        Caveat::NotCleaned(_) => NOT_CLEANED,
        Caveat::OnCredit(_) => ON_CREDIT,
    }
}

/// The reason, and what to do about it.
pub(crate) fn why(of: Caveat) -> String {
    match of {
        Caveat::NotCleaned(of @ NotCleaned::Fresh) => {
            let why = not_cleaned::why(of);
            format!("{why}; set a precondition (ssd.flash.precondition=steady-state)")
        }
        Caveat::NotCleaned(of) => not_cleaned::why(of),
        Caveat::OnCredit(of) => on_credit::why(of),
    }
}
