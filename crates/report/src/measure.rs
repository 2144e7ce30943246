//! One pass over records: everything that the wanted charts are made of, in bounded memory.
//!
//! [`Needs`] say which [`View`]s a [`Look`] has to keep beside what it keeps anyway; at the end it is [`Measured`].

mod clouds;
mod growing;
mod look;
mod measured;
mod needs;
pub(crate) mod seen;

pub use growing::Growing;
pub(crate) use iosonar_trace::Quantity;
pub use look::{Look, LookOptions, Origin, WorkingSets};
pub use measured::{Measured, NothingMeasured};
pub use needs::Needs;
pub(crate) use needs::View;
pub use seen::Failure;

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_trace::{Outcome, Record, Status};
    use iosonar_units::Nanos;

    fn look() -> Look {
        Look::new("a test", Needs::NONE, &LookOptions::default())
    }

    #[test]
    fn a_load_has_nothing_to_draw_and_says_so() {
        let mut look = look();
        look.add(&Record::default());
        let message = look.finish().check().unwrap_err().to_string();
        assert!(
            message.contains("its only request has no measured time"),
            "{message}"
        );
    }

    #[test]
    fn failed_requests_have_no_latency_and_are_counted_by_what_became_of_them() {
        let mut look = look();
        for status in [Status::Error(5), Status::Dropped, Status::Skipped] {
            look.add(&Record {
                outcome: Outcome {
                    status,
                    ..Outcome::done(Nanos::ZERO, Nanos::SECOND)
                },
                ..Record::default()
            });
        }
        let measured = look.finish();
        assert_eq!(
            measured.remarks(),
            ["1 left out on purpose", "1 dropped, 1 failed"]
        );
        assert_eq!(measured.reads(Quantity::Latency).count(), 0);
    }
}
