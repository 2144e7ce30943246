//! Which message a finding of a library is. The matches have no default: a new finding needs a code.

use iosonar_disk_model::disksim::WarningAbout;
use iosonar_guard::GuardError;
use iosonar_hosts::HostsError;
use iosonar_recorder::RecordError;
use iosonar_replay::{
    EngineNote, Note, QueueNote, ReplayError, Restoring, TargetNote, ThreadNote, VerificationNote,
};
use iosonar_scenario::{NotSteady, ScenarioError};
use iosonar_study::calibrate::CalibrateError;
use iosonar_study::choose::ChooseError;
use iosonar_study::plan::PlanError;
use iosonar_study::replay::ReplayPlanError;
use iosonar_study::sweep::SweepError;
use iosonar_trace::{RemarkKind, TraceError};

use super::{Error, Warning};

pub(crate) fn of_remark(kind: RemarkKind) -> Warning {
    match kind {
        RemarkKind::Skipped => Warning::RowsSkipped,
        RemarkKind::LastRowCut => Warning::LastRowCut,
        RemarkKind::CutOff => Warning::FileCutOff,
        RemarkKind::NotRenamed => Warning::FileNotRenamed,
        RemarkKind::DamagedBlocks => Warning::BlocksDamaged,
        RemarkKind::Widened => Warning::RangesWidened,
        RemarkKind::NotSubmitted => Warning::NotSubmitted,
        RemarkKind::Unanswered => Warning::RowsUnanswered,
        RemarkKind::LostEvents => Warning::EventsLost,
        RemarkKind::Identical => Warning::IdenticalInFlight,
        RemarkKind::NoStart => Warning::NoStartEvent,
        RemarkKind::NoCompletion => Warning::NoCompletionEvent,
        RemarkKind::TooEarly => Warning::EventsTooEarly,
        RemarkKind::NoData => Warning::CommandsWithoutData,
        RemarkKind::TextAboveHeader => Warning::TextAboveHeader,
        RemarkKind::Shifted => Warning::LoadShifted,
        RemarkKind::Emptied => Warning::RequestsEmptied,
        RemarkKind::SeveralDevices => Warning::DevicesAsOne,
    }
}

pub(crate) fn of_note(note: &Note) -> Warning {
    match note {
        Note::Engine(note) => of_engine(note),
        Note::Thread(note) => match note {
            ThreadNote::BeganLate { .. } => Warning::BeganLate,
            ThreadNote::NotPinned { .. } => Warning::NotPinned,
            ThreadNote::RealTimeLimited { .. } => Warning::RealTimeLimited,
            ThreadNote::PriorityRefused { .. } => Warning::PriorityRefused,
            ThreadNote::ProcessorsContended => Warning::ProcessorsContended,
        },
        Note::Target(note) => of_target(note),
        Note::Queue(note) => match note {
            QueueNote::SettingLost { .. } => Warning::SettingLost,
            QueueNote::Merged { .. } => Warning::RequestsMerged,
            QueueNote::Surplus { .. } => Warning::DeviceDidMore,
        },
        Note::Verification(note) => match note {
            VerificationNote::TablesLost { .. } => Warning::TablesLost,
            VerificationNote::FinalPassLeftOut => Warning::FinalPassLeftOut,
            VerificationNote::FinalPassInterrupted => Warning::FinalPassInterrupted,
        },
    }
}

fn of_engine(note: &EngineNote) -> Warning {
    match note {
        EngineNote::SynchronousSuits => Warning::SyncSuits,
        EngineNote::NoRing { .. } => Warning::NoRing,
        EngineNote::OneEngineForAll { .. } => Warning::OneEngineForAll,
        EngineNote::OptionsUnused { .. } => Warning::OptionsUnused,
        EngineNote::FewerInFlight { .. } => Warning::FewerInFlight,
        EngineNote::BuffersNotLocked { .. } => Warning::BuffersNotLocked,
        EngineNote::NvmeFailed { .. } => Warning::NvmeFailed,
        EngineNote::KernelWorkers => Warning::KernelWorkers,
    }
}

pub(crate) fn of_target(note: &TargetNote) -> Warning {
    match note {
        TargetNote::WrittenByOthers { .. } => Warning::WrittenByOthers,
        TargetNote::SeenByOthers { .. } => Warning::SeenByOthers,
        TargetNote::OpenElsewhere { .. } => Warning::OpenElsewhere,
        TargetNote::OpenedByAnother { .. } => Warning::OpenedByAnother,
    }
}

pub(crate) fn of_restoring(event: &Restoring) -> Warning {
    match event {
        Restoring::OfEarlier { .. } => Warning::SettingOfEarlier,
        Restoring::NotKept { .. } => Warning::SettingNotSaved,
        Restoring::Failed { .. } => Warning::SettingNotRestored,
    }
}

pub(crate) fn of_not_steady(of: &NotSteady) -> Warning {
    match of {
        NotSteady::QueueGrows { .. } => Warning::QueueGrows,
        NotSteady::FirstOfUsers { .. } => Warning::FirstOfUsers,
        NotSteady::CacheFills { .. } => Warning::CacheFills,
        NotSteady::NearSaturation { .. } => Warning::NearSaturation,
        NotSteady::CreditsFall { .. } => Warning::CreditsFall,
        NotSteady::Unstable { .. } => Warning::Overloaded,
    }
}

pub(crate) fn of_disksim(about: WarningAbout) -> Warning {
    match about {
        WarningAbout::Unknown => Warning::ParameterUnknown,
        WarningAbout::DefinedBefore => Warning::DefinedTwice,
        WarningAbout::OtherSeekType => Warning::OtherSeekType,
        WarningAbout::OwnRules => Warning::SchedulerOfScenario,
        WarningAbout::NoBus => Warning::NoBus,
    }
}

/// The code of an error, or of the first of its causes that has one.
pub(crate) fn of_error(error: &anyhow::Error) -> Option<Error> {
    error.chain().find_map(of_cause)
}

/// A transparent error hides the one that it wraps from the chain, so each is asked for its own.
fn of_cause(cause: &(dyn std::error::Error + 'static)) -> Option<Error> {
    let scenario = || cause.downcast_ref().and_then(of_scenario);
    let trace = || cause.downcast_ref().map(of_trace);
    let guard = || cause.downcast_ref().map(of_guard);
    let plan = || cause.downcast_ref().and_then(of_plan);
    let replay = || cause.downcast_ref().map(of_replay);
    let planned_replay = || match cause.downcast_ref()? {
        ReplayPlanError::Options(_) => None,
        ReplayPlanError::Replay(error) => Some(of_replay(error)),
        ReplayPlanError::Write { .. } => Some(Error::ResultsUnwritable),
        ReplayPlanError::Trace(error) => Some(of_trace(error)),
    };
    let hosts = || match cause.downcast_ref()? {
        HostsError::Shell { .. } | HostsError::NotReady(_) => Some(Error::HostNotReady),
        HostsError::Unfit(error) => Some(of_replay(error)),
        HostsError::Load(error) => Some(of_trace(error)),
        HostsError::Interrupted => None,
    };
    let choose = || match cause.downcast_ref()? {
        ChooseError::Load(error) => of_scenario(error),
        ChooseError::Target(error) => of_plan(error),
        _ => None,
    };
    let calibrate = || match cause.downcast_ref()? {
        CalibrateError::Trace(error) => Some(of_trace(error)),
        CalibrateError::Scenario(error) => of_scenario(error),
        CalibrateError::Records(_) | CalibrateError::Profile(_) => Some(Error::CalibrationRefused),
        CalibrateError::Io(_) => Some(Error::ResultsUnwritable),
    };
    let record = || match cause.downcast_ref()? {
        RecordError::Guard(GuardError::Refused(_)) => Some(Error::RecordingRefused),
        RecordError::Guard(GuardError::Io { .. }) => Some(Error::TargetIo),
        RecordError::Trace(error) => Some(of_trace(error)),
    };
    let sweep = || match cause.downcast_ref()? {
        SweepError::Io { .. } | SweepError::Plot(_) => Some(Error::ResultsUnwritable),
        SweepError::Scenario(error) => of_scenario(error),
        _ => Some(Error::SweepRefused),
    };
    scenario()
        .or_else(trace)
        .or_else(guard)
        .or_else(plan)
        .or_else(replay)
        .or_else(hosts)
        .or_else(planned_replay)
        .or_else(choose)
        .or_else(calibrate)
        .or_else(record)
        .or_else(sweep)
}

fn of_plan(error: &PlanError) -> Option<Error> {
    match error {
        PlanError::Scenario(error) => of_scenario(error),
        _ => Some(Error::NothingToPlan),
    }
}

fn of_replay(error: &ReplayError) -> Error {
    match error {
        ReplayError::Refused(_) | ReplayError::Busy { .. } => Error::TargetRefused,
        ReplayError::Trace(error) => of_trace(error),
        ReplayError::Io { .. } | ReplayError::Engine { .. } => Error::TargetIo,
    }
}

fn of_guard(error: &GuardError) -> Error {
    match error {
        GuardError::Refused(_) => Error::TargetRefused,
        GuardError::Io { .. } => Error::TargetIo,
    }
}

fn of_trace(error: &TraceError) -> Error {
    match error {
        TraceError::Io { .. } => Error::TraceIo,
        TraceError::CutOffStream { .. } => Error::StreamCutOff,
        TraceError::DamagedStream { .. } => Error::StreamDamaged,
        TraceError::Field { .. } => Error::FieldWrong,
        TraceError::MissingField { .. } => Error::FieldMissing,
        TraceError::Unsorted { .. } => Error::Unsorted,
        TraceError::UnknownFormat { .. } => Error::FormatUnknown,
        TraceError::OutputName { .. } | TraceError::NeedsFeature { .. } => Error::OutputNameUnknown,
        TraceError::NotWritable { .. } => Error::NotWritable,
        TraceError::OverwritesInput(_) => Error::OverwritesInput,
        TraceError::SameOutput { .. } => Error::SameOutput,
        TraceError::IsFolder(_)
        | TraceError::NoFolder { .. }
        | TraceError::NotInFolder { .. }
        | TraceError::NotCreatable { .. } => Error::OutputPlace,
        TraceError::Option(_) => Error::OptionUnfit,
        TraceError::Damaged { .. } => Error::TraceDamaged,
        TraceError::Request { .. } => Error::RequestUnfit,
    }
}

fn of_scenario(error: &ScenarioError) -> Option<Error> {
    Some(match error {
        ScenarioError::Io { .. } => Error::ScenarioIo,
        ScenarioError::Syntax { .. } => Error::ScenarioSyntax,
        ScenarioError::Refused { .. } | ScenarioError::Registered { .. } => Error::KeyRefused,
        ScenarioError::IsTrace(_) => Error::IsTrace,
        ScenarioError::IsProfile { .. } => Error::IsProfile,
        ScenarioError::IsNetworked(_) => Error::IsNetworked,
        ScenarioError::Set { .. } => Error::SetRefused,
        ScenarioError::Unstable { .. } => Error::Unstable,
        ScenarioError::Value { .. } => Error::ValueWrong,
        ScenarioError::Incomplete { .. } | ScenarioError::NoLoad { .. } => {
            Error::ScenarioIncomplete
        }
        ScenarioError::NotASystem { .. } => Error::NotASystem,
        ScenarioError::NoSteadyState { .. } => Error::NoWarmup,
        ScenarioError::NoRequests { .. } => Error::NoRequests,
        ScenarioError::NothingMeasured { .. } => Error::NothingMeasured,
        ScenarioError::NeedsMemory(_) => Error::OutOfMemory,
        ScenarioError::TooFewArrays { .. } => Error::RequestUnfit,
        ScenarioError::Geometry(_) | ScenarioError::Flash(_) => Error::GeometryWrong,
        ScenarioError::Profile(_) | ScenarioError::SsdProfile(_) => Error::ProfileWrong,
        ScenarioError::Write { .. } | ScenarioError::Stages { .. } => Error::ResultsUnwritable,
        ScenarioError::Trace(error) => of_trace(error),
        ScenarioError::Interrupted | ScenarioError::GivenUp { .. } | ScenarioError::Thread(_) => {
            return None;
        }
    })
}
