//! What happens around a run: phases, and the hooks that act in them.
//!
//! Each run goes through [`Phase::Prepare`], [`Phase::Setup`], [`Phase::Run`], [`Phase::Cleanup`] and
//! [`Phase::Finish`], each for all hooks in their order, the last two in reverse order and also after a failure
//! or an interrupt. A hook is built in or any executable.

mod around;
mod built_in;
mod check;
mod child;
mod file;
mod phases;
mod stop;

pub use around::{Around, HookError, Log};
pub use built_in::may_be_destroyed;
pub use child::{Ended, run_child};
pub use file::{HookFile, Phase};
pub use stop::Stop;
