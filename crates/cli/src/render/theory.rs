//! What theory found, in words.

use std::borrow::Cow;

use iosonar_scenario::theory::{Family, How, Remark, SsdRemark};

pub(crate) fn how(of: How) -> &'static str {
    match of {
        How::SlowestPart => "the slowest part of a request that meets nobody",
        How::Mg1 => "M/G/1",
        How::Mg1Inverted => "M/G/1, by transform inversion",
        How::BatchMg1 => "M^X/G/1",
        How::PriorityQueues => "priority queues: the slowest pre-read, then the slowest write",
        How::IndependentMg1 => "the slowest of independent M/G/1 queues",
        How::SharedWaits => "waits that all disks share, and waits of each disk's own",
        How::SplitMerge => "split-merge: M/G/1 with the service of the slowest part",
        How::MeanValueAnalysis => "mean value analysis, as if services were exponential",
        How::RpoChain => "the embedded Markov chain of a disk with RPO",
        How::RpoJoin => {
            "the wait of a disk with RPO, shared by all, and the slowest of independent services"
        }
        How::BulkService => "bulk service M/M^[a,b]/1",
        How::ForkJoin => "fork-join of exponential stations (Nelson and Tantawi)",
    }
}

pub(crate) fn family(of: Family) -> &'static str {
    match of {
        Family::ForkJoin => "requests to several disks",
        Family::Batches => "batches of requests to several disks",
        Family::StripeWrites => "partial-stripe writes of one size",
        Family::UnevenStripeWrites => "partial-stripe writes of one size, disks loaded unevenly",
        Family::MixedStripeWrites => "partial-stripe writes of several sizes or among reads",
        Family::RpoJoin => "requests to several disks with RPO",
    }
}

pub(crate) fn remark(of: &Remark) -> Cow<'static, str> {
    let text = match of {
        Remark::Drawn(times) => {
            return format!(
                "which disks requests go to was drawn {times} times rather than gone through"
            )
            .into();
        }
        Remark::Failed(error) => return error.to_string().into(),
        Remark::NoEstimate(error) => {
            return format!("no estimate of what disks share: {error}").into();
        }
        Remark::VarmaMakowski(ms) => {
            return format!("by the interpolation of Varma and Makowski the mean is {ms:.4} ms")
                .into();
        }
        Remark::Trace => {
            "no theory for a trace: it asks for laws of arrivals; fit them with 'generate like', or \
             simulate"
        }
        Remark::Positional => {
            "no theory for positional disks: where the arm is depends on what came before; with \
             disk.model = \"sampled\" there is"
        }
        Remark::Controller => {
            "no theory for the controller's times, its link, its bus and its cache: they are left out"
        }
        Remark::UnlikeDisks => "no theory for arrays of unlike disks: simulate them",
        Remark::TooManyKinds => {
            "no theory for response times of so many kinds of long requests: only loads are told"
        }
        Remark::Rebuild => "no theory under the load while a rebuild works, too",
        Remark::MirrorsByState => {
            "no theory for mirrors that are chosen by their state: they are taken as random"
        }
        Remark::UnknownSteps => "no theory for what becomes of these requests",
        Remark::DependentArrivals => {
            "no theory for waits unless arrivals are Poisson at every disk: only loads and the response \
             without waiting are told"
        }
        Remark::BatchesOfStripeWrites => "no theory for partial-stripe writes that come in batches",
        Remark::StripeWrites => {
            "partial-stripe writes: pre-reads and writes are taken as independent, and how the writes find \
             their disks is estimated from loads; factors from simulations make up for most of that"
        }
        Remark::SplitMergeArrivals => {
            "no theory for waits unless single requests come in a Poisson stream"
        }
        Remark::ClosedRpo => {
            "no theory for closed loops with RPO, whose services depend on the queue"
        }
        Remark::ClosedStripeWrites => {
            "no theory for closed loops with partial-stripe writes, whose service depends on the state"
        }
        Remark::ClosedIdle => "requests need nothing of any disk",
        Remark::LessVariable => {
            "disks are less variable than exponential services, so that real response times are shorter"
        }
        Remark::ClosedJoin => {
            "no theory but bounds for closed loops of requests that go to several disks at once"
        }
        Remark::RpoSeveralAccesses => {
            "no theory for RPO where requests bring several accesses, or of several kinds, to a disk"
        }
        Remark::RpoArrivals => "no theory for RPO unless arrivals are Poisson",
        Remark::RpoMeanOnly => {
            "no theory for the distribution of responses with RPO, only for their mean"
        }
        Remark::Ssd(of) => ssd_remark(*of),
    };
    text.into()
}

fn ssd_remark(of: SsdRemark) -> &'static str {
    match of {
        SsdRemark::Stages => {
            "no theory for this SSD: its stages overlap, and flash depends on what it holds; the profile \
             \"abstract\" has theory (bulk service)"
        }
        SsdRemark::SplitMerge => "no theory for SSDs that take one request at a time",
        SsdRemark::Load => {
            "no theory for this load of SSDs with exponential services: there is one for Poisson arrivals of \
             requests that go to one SSD, and of requests with a part for each SSD, all parts of 4 KiB"
        }
        SsdRemark::BulkJoin => "no theory for the join of SSDs with bulk service",
        SsdRemark::Times => {
            "no theory for the times of the driver, the bus and the controller, nor for how blocks go through the \
             ring: they are left out"
        }
        SsdRemark::BulkMeanOnly => {
            "no theory for the distribution of responses of bulk service, only for their mean"
        }
        SsdRemark::JoinMeanOnly => {
            "no theory for the distribution of the join of exponential stations, only for its mean"
        }
    }
}
