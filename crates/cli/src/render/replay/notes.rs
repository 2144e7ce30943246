//! What the user should know of a replay, in words.

use std::path::Path;

use iosonar_guard::named;
use iosonar_replay::{
    Advice, EngineNote, Left, Note, QueueNote, QueueSetting, RUN_PER_WARMUP, Restoring, TargetNote,
    ThreadNote, ThreadPriority, VerificationNote,
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

pub(crate) fn of_advice(advice: &Advice) -> String {
    match advice {
        Advice::SmallPart { end, sectors } => format!(
            "the load extends to sector {end} of {sectors} ({:.1} % of the target): a disk seeks over shorter \
             distances than if all of it were used, and a thin or cached volume serves requests from its fast part",
            100.0 * end.get() as f64 / *sectors as f64
        ),
        Advice::WrapsOften { factor } => format!(
            "the load's span is {factor:.1} times the size of the target: wrapped requests access the same sectors \
             repeatedly, so caches are warm and requests conflict"
        ),
        Advice::Scheduler(name) => format!(
            "the I/O scheduler is {name}, which reorders and delays requests (--scheduler none avoids this)"
        ),
        Advice::SchedulerUnknown => "the I/O scheduler is unknown".to_owned(),
        Advice::VolatileCache => {
            "the device has a volatile write cache: writes complete before they reach the medium (--sync dsync waits \
             for it)"
                .to_owned()
        }
        Advice::CacheUnknown => {
            "it is not known whether the device has a volatile write cache".to_owned()
        }
        Advice::Governor(name) => format!(
            "the CPU frequency governor is {name}: wake-up times and short latencies vary with it"
        ),
        Advice::ShortRun { warmup } => format!(
            "the run is shorter than {RUN_PER_WARMUP} times the warm-up of {warmup}: its statistics are based on \
             little data"
        ),
    }
}

fn of_engine(note: &EngineNote) -> String {
    match note {
        EngineNote::SynchronousSuits => {
            "this driver completes requests during submission and does not support NOWAIT, so io_uring would pass each \
             request to a kernel worker: using synchronous calls instead (--engine io_uring overrides this)"
                .to_owned()
        }
        EngineNote::NoRing { error } => format!(
            "io_uring is not available ({error}): using threads instead, which costs more CPU time per request"
        ),
        EngineNote::OneEngineForAll { engine, suited } => format!(
            "engine {} is used for all targets, although sync suits {} better: to use the best engine for each, replay \
             on each kind of target separately",
            engine.name(),
            suited.join(", ")
        ),
        EngineNote::OptionsUnused { options, engine } => format!(
            "{} had no effect: engine auto chose {}, but such options apply only to engine io_uring",
            options.join(", "),
            engine.name()
        ),
        EngineNote::FewerInFlight {
            in_flight,
            wanted,
            longest,
            memory,
        } => format!(
            "at most {in_flight} requests are in flight instead of {wanted}: the longest request needs {longest} \
             bytes, and --buffer-memory is {memory}"
        ),
        EngineNote::BuffersNotLocked { bytes, error } => format!(
            "the kernel refused to lock {bytes} bytes of buffers ({error}; see ulimit -l), \
             which costs some CPU time per request"
        ),
        EngineNote::NvmeFailed {
            count,
            status,
            meaning,
        } => format!("{count} NVMe commands failed with status {status:#05x} ({meaning})"),
        EngineNote::KernelWorkers => {
            "the driver would have blocked on submission, so requests went through kernel workers, \
             and latencies include that detour (see --engine sync)"
                .to_owned()
        }
    }
}

fn of_thread(note: &ThreadNote) -> String {
    match note {
        ThreadNote::BeganLate { by } => {
            format!("the replay started {by} after the requested start time")
        }
        ThreadNote::NotPinned { processors, error } => {
            format!("the thread cannot be pinned to CPUs {processors:?}: {error}")
        }
        ThreadNote::RealTimeLimited { limit } => format!(
            "SCHED_FIFO was not used: the kernel kills a real-time thread that runs for {limit} without \
             sleeping (RLIMIT_RTTIME), which can happen when a replay falls behind; 'ulimit -R unlimited' permits it"
        ),
        ThreadNote::PriorityRefused { wanted, error } => {
            let what = match wanted {
                ThreadPriority::Fifo => "SCHED_FIFO is not permitted",
                ThreadPriority::Nice => "nice -20 is not permitted",
                _ => "a custom time slice is not permitted",
            };
            format!("{what}: {error} (it needs root, CAP_SYS_NICE, or a higher ulimit -r or -e)")
        }
        ThreadNote::ProcessorsContended => {
            "other programs competed for the CPUs: latencies may include the time that kernel threads serving the \
             device waited for a CPU"
                .to_owned()
        }
    }
}

pub(crate) fn of_target(note: &TargetNote) -> String {
    match note {
        TargetNote::WrittenByOthers { target, openers } => format!(
            "{} is open for writing in another process, whose I/O affects the measurement: {}",
            target.display(),
            named(openers)
        ),
        TargetNote::SeenByOthers { target, openers } => format!(
            "{} is open in another process, which will see the data that the replay writes: {}",
            target.display(),
            named(openers)
        ),
        TargetNote::OpenElsewhere { target } => format!(
            "{} is open elsewhere: in a process of another user, or in the kernel (a file server)",
            target.display()
        ),
        TargetNote::OpenedByAnother { target } => format!(
            "another process tried to open {} during the replay and had to wait: it may use the target from now on",
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
            "{} of {} was '{wanted}' for only part of the replay, and is now '{now}': another process changed it, for \
             example another replay on the same disk{}",
            setting.name(),
            target.display(),
            match setting {
                QueueSetting::NoMerges => "; since then the kernel may have merged requests",
                QueueSetting::Scheduler => "",
            }
        ),
        QueueNote::Merged { requests } => format!(
            "the kernel merged {} requests into others: the device received fewer but longer \
             ones (--merges forbid prevents this)",
            grouped(*requests)
        ),
        QueueNote::Surplus {
            done,
            completed,
            failed,
        } => format!(
            "the device performed {} requests, although {} were submitted ({} completed, {} failed): the kernel \
             split long requests or repeated failed ones, or another process used the device",
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
            format!("the log for the verification is incomplete: {error}")
        }
        VerificationNote::FinalPassLeftOut => {
            "the final verification pass was skipped, as the replay was interrupted".to_owned()
        }
        VerificationNote::FinalPassInterrupted => {
            "the final verification pass was interrupted".to_owned()
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
        } => of_earlier(
            &format!("{} of {}", setting.name(), target.display()),
            path,
            left,
        ),
        Restoring::NotKept {
            setting,
            target,
            before,
            error,
        } => format!(
            "the original {} of {} ('{before}') cannot be saved: {error}; it will not be restored \
             if this replay is killed",
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
            "{shown} was restored to '{to}': an earlier replay that was killed had set it to '{from}'"
        ),
        Left::OfAnother { value, before } => format!(
            "{shown} is '{value}', perhaps because a replay on another device with this name was killed; before \
             that replay, the value was '{before}'. To restore it, run: echo {before} > {}",
            path.display()
        ),
        Left::Stuck { before, why } => format!(
            "{shown} cannot be restored to '{before}', its value before an earlier replay that was killed: \
             {why}. To restore it, run as root: echo {before} > {}",
            path.display()
        ),
        Left::Damaged { file, value } => format!(
            "{shown} is '{value}', perhaps because an earlier replay was killed: {}, which should \
             contain its previous value, is empty, damaged or unreadable. Set the correct value, then remove that file",
            file.display()
        ),
    }
}
