//! Decoders that panic.
//!
//! The decoders of Parquet and Arrow check what they read, but not everything: some damage has them index beyond a
//! buffer. Such a panic says that the file is damaged, and is made an error that says so.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::Path;
use std::sync::Once;

use iosonar_trace::{Place, TraceError};

thread_local! {
    /// Whether this thread is in a decoder, so that a panic is not printed.
    static DECODES: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// The outcome of `decode`, part of the reading of the file `path`; an error if it panics.
pub(crate) fn guarded<T>(
    path: &Path,
    decode: impl FnOnce() -> Result<T, TraceError>,
) -> Result<T, TraceError> {
    HOOK.call_once(|| {
        let print = take_hook();
        set_hook(Box::new(move |panic| {
            if !DECODES.get() {
                print(panic);
            }
        }));
    });
    let outer = DECODES.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(decode));
    DECODES.set(outer);
    outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(TraceError::Damaged {
            place: Place::of(path, 0),
            problem: format!(
                "the decoder failed ({}): the file may be damaged",
                text.unwrap_or("without a reason")
            ),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_reason() {
        let path = Path::new("x.parquet");
        for (error, reason) in [
            (guarded::<()>(path, || panic!("at {}", 7)), "(at 7)"),
            (guarded(path, || panic!("beyond")), "(beyond)"),
        ] {
            let text = error.unwrap_err().to_string();
            assert!(
                text.starts_with("x.parquet: ") && text.contains(reason),
                "{text}"
            );
        }
        assert!(guarded(path, || Ok(1)).is_ok() && !DECODES.get());
    }
}
