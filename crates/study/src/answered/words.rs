//! What theory found, in words.

use std::borrow::Cow;

use iosonar_scenario::theory::{Family, How, ServerRemark, SsdRemark, TheoryRemark};

/// How an answer was found.
pub fn how(of: How) -> &'static str {
    match of {
        How::SlowestPart => "the slowest part of a request, without waiting",
        How::Mg1 => "M/G/1",
        How::Mg1Inverted => "M/G/1, by transform inversion",
        How::BatchMg1 => "M^X/G/1",
        How::PriorityQueues => "priority queues: the slowest pre-read, then the slowest write",
        How::IndependentMg1 => "the slowest of independent M/G/1 queues",
        How::SharedWaits => "waits common to all disks plus independent waits of each disk",
        How::SplitMerge => "split-merge: M/G/1 with the service time of the slowest part",
        How::MeanValueAnalysis => "mean value analysis, assuming exponential service times",
        How::RpoChain => "the embedded Markov chain of a disk with RPO",
        How::RpoJoin => {
            "the wait at one disk with rotational position ordering (RPO), taken as the same for all disks, plus the \
             longest of their independent service times"
        }
        How::BulkService => "bulk service M/M^[a,b]/1",
        How::ForkJoin => "fork-join of exponential stations (Nelson and Tantawi)",
    }
}

/// The scenarios that an approximation was compared with simulations on.
pub fn family(of: Family) -> &'static str {
    match of {
        Family::ForkJoin => "requests to several disks",
        Family::Batches => "batches of requests to several disks",
        Family::StripeWrites => "partial-stripe writes of one size",
        Family::UnevenStripeWrites => "partial-stripe writes of one size, disks loaded unevenly",
        Family::MixedStripeWrites => "partial-stripe writes of several sizes or mixed with reads",
        Family::RpoJoin => "requests to several disks with RPO",
    }
}

/// What theory does not cover, or leaves out.
pub fn remark(of: &TheoryRemark) -> Cow<'static, str> {
    let text = match of {
        TheoryRemark::Drawn(times) => {
            return format!(
                "the possible sets of disks of a request were sampled {times} times instead of being enumerated"
            )
            .into();
        }
        TheoryRemark::Failed(error) => return error.to_string().into(),
        TheoryRemark::NoEstimate(error) => {
            return format!("the wait common to all disks cannot be estimated: {error}").into();
        }
        TheoryRemark::VarmaMakowski(ms) => {
            return format!("the interpolation of Varma and Makowski gives a mean of {ms:.4} ms")
                .into();
        }
        TheoryRemark::Trace => {
            "no theory for a trace, as theory needs distributions: fit them with 'iosonar generate \
             like', or simulate"
        }
        TheoryRemark::Positional => {
            "no theory for positional disks, as seeks depend on earlier requests: use disk.model = \"sampled\", or simulate"
        }
        TheoryRemark::Server(of) => server_remark(*of),
        TheoryRemark::Registered => "no theory for registered devices and levels: simulate",
        TheoryRemark::Controller => {
            "theory ignores the times, link, bus and cache of the controller"
        }
        TheoryRemark::UnlikeDisks => "no theory for arrays of different disks: simulate them",
        TheoryRemark::TooManyKinds => {
            "no theory for response times with this many kinds of long requests: only the loads of the disks are shown"
        }
        TheoryRemark::Rebuild => "no theory for rebuilds, which the loads of disks leave out",
        TheoryRemark::Events => {
            "no theory for devices that fail or slow down during a run: simulate, or name a failed disk in 'array.failed'"
        }
        TheoryRemark::MirrorsByState => {
            "no theory for choosing a mirror by the state of the disks: a random choice is assumed"
        }
        TheoryRemark::UnknownSteps => "no theory for requests of this kind",
        TheoryRemark::DependentArrivals => {
            "no theory for waits unless arrivals at every disk are Poisson: only the loads of the disks and response \
             times without waiting are shown"
        }
        TheoryRemark::BatchesOfStripeWrites => {
            "no theory for partial-stripe writes that arrive in batches"
        }
        TheoryRemark::StripeWrites => {
            "partial-stripe writes: pre-reads and writes are assumed to be independent, and the state of the disks \
             when the writes arrive is estimated from their loads; factors from simulations correct most of the error"
        }
        TheoryRemark::SplitMergeArrivals => {
            "no theory for waits unless single requests arrive as a Poisson process"
        }
        TheoryRemark::ClosedRpo => {
            "no theory for closed loops with RPO, whose service times depend on the queue"
        }
        TheoryRemark::ClosedStripeWrites => {
            "no theory for closed loops with partial-stripe writes, whose service times depend on the state of the \
             disks"
        }
        TheoryRemark::ClosedIdle => "the requests do not access any disk",
        TheoryRemark::LessVariable => {
            "service times vary less than exponential ones, so the real response times are shorter"
        }
        TheoryRemark::AnyThinkTimes => {
            "with exponential service times, only the mean of the think times matters, not their distribution"
        }
        TheoryRemark::ClosedJoin => {
            "theory gives only bounds for closed loops of requests to several disks at once"
        }
        TheoryRemark::RpoSeveralAccesses => {
            "no theory for RPO if a request accesses a disk several times, or if disks have accesses of several kinds"
        }
        TheoryRemark::RpoArrivals => "no theory for RPO unless arrivals are Poisson",
        TheoryRemark::RpoMeanOnly => {
            "no theory for the distribution of response times with RPO, only for their mean"
        }
        TheoryRemark::Ssd(of) => ssd_remark(*of),
    };
    text.into()
}

fn server_remark(of: ServerRemark) -> &'static str {
    match of {
        ServerRemark::Load => {
            "theory for servers needs a single class of Poisson arrivals or a closed load, uniform addresses, and \
             requests that go to one server or, in open loads, to all of them: simulate"
        }
        ServerRemark::Join => {
            "requests go to all servers at once: the waits are exact, but the distribution of the longest wait is \
             not known"
        }
        ServerRemark::MeanOnly => {
            "only the mean is computed: the longest service times, or the waits, are too long to compute a distribution"
        }
        ServerRemark::InfiniteVariance => {
            "the variance of the service times is infinite, and so is the mean wait: the longer the simulation, the \
             longer the simulated waits"
        }
    }
}

fn ssd_remark(of: SsdRemark) -> &'static str {
    match of {
        SsdRemark::Stages => {
            "no theory for this SSD, as its stages overlap and flash times depend on the contents; there is theory for \
             the profile \"abstract\" (bulk service)"
        }
        SsdRemark::SplitMerge => "no theory for SSDs that serve one request at a time",
        SsdRemark::Load => {
            "theory for SSDs with exponential service times needs a single class of Poisson arrivals, uniform \
             addresses, and requests that access at most 4 KiB on one SSD or on every SSD"
        }
        SsdRemark::BulkJoin => "no theory for requests to several SSDs with bulk service",
        SsdRemark::Times => {
            "theory ignores the times of the driver, the bus, the controller and the ring"
        }
        SsdRemark::BulkMeanOnly => {
            "no theory for the distribution of response times under bulk service, only for their mean"
        }
        SsdRemark::JoinMeanOnly => {
            "no theory for the distribution of response times at a join of exponential stations, only for their mean"
        }
    }
}
