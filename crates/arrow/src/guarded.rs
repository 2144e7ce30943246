//! Decoders that panic.
//!
//! The decoders of Parquet and Arrow check what they read, but not everything: some damage has them index beyond a
//! buffer. Such a panic says that the file is damaged, and is made an error that says so. The panic hook belongs to the
//! program: it may ask whether a panic is one of these ([`is_decoding`]), so as not to print it.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use iosonar_trace::{Place, TraceError};

thread_local! {
    static IS_DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread reads a file, so that a panic becomes an error.
pub fn is_decoding() -> bool {
    IS_DECODING.get()
}

/// The outcome of `decode`, part of the reading of the file `path`; an error if it panics. What `decode` works on must not
/// be used after that.
pub(crate) fn guarded<T>(
    path: &Path,
    decode: impl FnOnce() -> Result<T, TraceError>,
) -> Result<T, TraceError> {
    let before = IS_DECODING.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(decode));
    IS_DECODING.set(before);
    outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(TraceError::Damaged {
            place: Place::of(path, 0),
            problem: format!(
                "the decoder failed ({}): the file may be damaged",
                text.unwrap_or("no reason given")
            ),
        })
    })
}

#[cfg(test)]
mod tests {
    use std::panic::{set_hook, take_hook};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_reason_and_the_hook_is_that_of_the_program() {
        let called = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&called);
        let before = take_hook();
        set_hook(Box::new(move |_| {
            counter.fetch_add(u32::from(is_decoding()), Relaxed);
        }));
        let path = Path::new("x.parquet");
        let cases = [
            (guarded::<()>(path, || panic!("at {}", 7)), "(at 7)"),
            (guarded(path, || panic!("beyond")), "(beyond)"),
        ];
        set_hook(before);
        for (error, reason) in cases {
            let text = error.unwrap_err().to_string();
            assert!(
                text.starts_with("x.parquet: ") && text.contains(reason),
                "{text}"
            );
        }
        assert!(called.load(Relaxed) >= 2);
        assert!(guarded(path, || Ok(is_decoding())).unwrap() && !is_decoding());
    }
}
