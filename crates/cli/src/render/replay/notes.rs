//! What the user should know of a replay, in words.

use std::path::Path;

use iosonar_guard::named;
use iosonar_replay::{
    EngineNote, Left, Note, QueueNote, QueueSetting, Restoring, TargetNote, ThreadNote,
    ThreadPriority, VerificationNote,
};
use iosonar_report::grouped;

pub(crate) fn of_replay(note: &Note) -> String {
    match note {
        Note::Engine(note) => of_engine(note),
        Note::Thread(note) => of_thread(note),
        Note::Target(note) => of_target(note),
        Note::Queue(note) => of_queue(note),
        Note::Verification(note) => of_verification(note),
    }
}

fn of_engine(note: &EngineNote) -> String {
    match note {
        EngineNote::SynchronousSuits => {
            "this driver completes requests during submission and does not support NOWAIT, so io_uring would hand each to \
             a kernel worker: synchronous calls are used instead (--engine io_uring overrides that)"
                .to_owned()
        }
        EngineNote::NoRing { error } => format!(
            "io_uring is not available here ({error}); threads are used instead, which costs more CPU time per request"
        ),
        EngineNote::OneEngineForAll { engine, suited } => format!(
            "engine {} is for all targets, although sync suits {} better: replay on each kind separately to use both",
            engine.name(),
            suited.join(", ")
        ),
        EngineNote::OptionsUnused { options, engine } => format!(
            "{} had no effect, as engine auto is {} here: --engine io_uring has a use for it",
            options.join(", "),
            engine.name()
        ),
        EngineNote::FewerInFlight {
            in_flight,
            wanted,
            longest,
            memory,
        } => format!(
            "at most {in_flight} requests are in flight instead of {wanted}: the longest takes {longest} bytes, \
             and --buffer-memory is {memory}"
        ),
        EngineNote::BuffersNotLocked { bytes, error } => format!(
            "the kernel does not lock {bytes} bytes of buffers for us ({error}; ulimit -l), which costs \
             some CPU time per request"
        ),
        EngineNote::NvmeFailed {
            count,
            status,
            meaning,
        } => format!("{count} NVMe commands failed with status {status:#05x} ({meaning})"),
        EngineNote::KernelWorkers => {
            "the driver would have blocked on submission, so requests went through kernel workers: latencies \
             include that detour (see --engine sync)"
                .to_owned()
        }
    }
}

fn of_thread(note: &ThreadNote) -> String {
    match note {
        ThreadNote::BeganLate { by } => format!(
            "the replay started {by} after the time zero that was asked for"
        ),
        ThreadNote::NotPinned { processors, error } => {
            format!("the thread cannot be pinned to processors {processors:?}: {error}")
        }
        ThreadNote::RealTimeLimited { limit } => format!(
            "SCHED_FIFO was not taken: the kernel kills a real-time thread that computes for {limit} without \
             sleeping (RLIMIT_RTTIME), as one that is behind does; 'ulimit -R unlimited' permits it"
        ),
        ThreadNote::PriorityRefused { wanted, error } => {
            let what = match wanted {
                ThreadPriority::Fifo => "SCHED_FIFO is refused",
                ThreadPriority::Nice => "nice -20 is refused",
                _ => "a slice of its own is refused",
            };
            format!("{what}: {error} (it needs root, CAP_SYS_NICE, or a higher ulimit -r or -e)")
        }
        ThreadNote::ProcessorsContended => {
            "other programs wanted the processors: latencies may include the time for which threads of the kernel \
             that serve the device waited for one"
                .to_owned()
        }
    }
}

pub(crate) fn of_target(note: &TargetNote) -> String {
    match note {
        TargetNote::WrittenByOthers { target, openers } => format!(
            "{} is open for writing in another process, and what that does is measured too: {}",
            target.display(),
            named(openers)
        ),
        TargetNote::SeenByOthers { target, openers } => format!(
            "{} is open in another process, which will see what is written: {}",
            target.display(),
            named(openers)
        ),
        TargetNote::OpenElsewhere { target } => format!(
            "{} is open elsewhere: in a process of another user, or in the kernel (a file server)",
            target.display()
        ),
        TargetNote::OpenedByAnother { target } => format!(
            "another process wanted to open {} during the replay, and had to wait: it may hold it now",
            target.display()
        ),
    }
}

fn of_queue(note: &QueueNote) -> String {
    match note {
        QueueNote::SettingLost {
            setting,
            target,
            wanted,
            now,
        } => format!(
            "{} of {} was '{wanted}' for a part of the replay only, and is '{now}' now: another process changed it, such as \
             a replay on the same disk that ended{}",
            setting.name(),
            target.display(),
            match setting {
                QueueSetting::NoMerges => "; since then the kernel could merge requests",
                QueueSetting::Scheduler => "",
            }
        ),
        QueueNote::Merged { requests } => format!(
            "the kernel merged {} requests into others: the device saw fewer and longer ones \
             (--merges forbid)",
            grouped(*requests)
        ),
        QueueNote::Surplus {
            done,
            completed,
            failed,
        } => format!(
            "the device did {} requests, and {} were submitted to it ({} completed, {} failed): the kernel split \
             long ones or repeated failed ones, or another process used the device",
            grouped(*done),
            grouped(completed + failed),
            grouped(*completed),
            grouped(*failed)
        ),
    }
}

fn of_verification(note: &VerificationNote) -> String {
    match note {
        VerificationNote::TablesLost { error } => {
            format!("the log of tables is not complete: {error}")
        }
        VerificationNote::FinalPassLeftOut => {
            "the final pass of the verification was left out, as the replay was interrupted"
                .to_owned()
        }
        VerificationNote::FinalPassInterrupted => {
            "the final pass of the verification was interrupted".to_owned()
        }
    }
}

/// What happened to the original of a setting of a queue.
pub(crate) fn of_restoring(event: &Restoring) -> String {
    match event {
        Restoring::OfEarlier {
            setting,
            target,
            path,
            left,
        } => format!(
            "note: {}",
            of_earlier(
                &format!("{} of {}", setting.name(), target.display()),
                path,
                left
            )
        ),
        Restoring::NotKept {
            setting,
            target,
            before,
            error,
        } => format!(
            "note: the original {} of {} ('{before}') cannot be kept in a file: {error}; if this replay is killed, it is \
             not restored",
            setting.name(),
            target.display()
        ),
        Restoring::Failed {
            path,
            before,
            error,
        } => format!(
            "{} could not be restored to '{before}': {error}",
            path.display()
        ),
    }
}

/// What a replay that was killed has left, and what was done about it.
fn of_earlier(shown: &str, path: &Path, left: &Left) -> String {
    match left {
        Left::Restored { to, from } => format!(
            "{shown} was restored to '{to}': an earlier replay had set it to '{from}' and was killed"
        ),
        Left::OfAnother { value, before } => format!(
            "{shown} is '{value}', perhaps because an earlier replay was killed: on another device of \
             this name it was '{before}' before. To restore it: echo {before} > {}",
            path.display()
        ),
        Left::Stuck { before, why } => format!(
            "{shown} cannot be restored to '{before}', as before an earlier replay that was killed: {why}. \
             To restore it, as root: echo {before} > {}",
            path.display()
        ),
        Left::Damaged { file, value } => format!(
            "{shown} is '{value}', perhaps because an earlier replay was killed: {}, which should hold \
             what it was before, is empty, damaged or unreadable. Set it as it should be, then remove that file",
            file.display()
        ),
    }
}
