//! Why writes did not wait for cleaning as they will in a longer run.

use iosonar_scenario::NotCleaned;

/// What follows `NOT CLEANED`.
pub(crate) fn why(not_cleaned: NotCleaned) -> String {
    match not_cleaned {
        NotCleaned::Fresh => {
            "no block was erased, so these are the write times of a fresh drive".to_owned()
        }
        NotCleaned::TooShort => {
            "the load is too short for a block to be erased, so writes are slower in a longer run"
                .to_owned()
        }
        NotCleaned::MediaCache => {
            "no band was cleaned, so random writes are much slower once the media cache or its map is full"
                .to_owned()
        }
        NotCleaned::Fills { erased } => format!(
            "only {:.1} % of the programmed pages were erased again, so writes are slower in a longer run",
            100.0 * erased
        ),
    }
}
