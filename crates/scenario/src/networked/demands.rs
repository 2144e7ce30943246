//! Seconds of service that a job needs at each station.

use serde::Deserialize;

use super::{Job, NetworkedLevel, NetworkedRaid, Operation};

/// How the work at the storage servers is divided among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Division {
    /// As the paper's formulas are printed: the bytes of a storage server are S / STP, and its demand is
    /// divided by STP once more.
    #[default]
    Printed,
    /// Once: each storage server handles its S / STP bytes.
    Once,
}

/// A station, and what a job needs of it.
#[derive(Clone, Debug, PartialEq)]
pub struct StationDemand {
    /// Its name: `central/cpu`, `central/nic`, `network`, `storage/0/cpu`, ...
    pub station: String,
    /// Seconds of service, above zero.
    pub seconds: f64,
}

/// Whether packets are whole, or as many as the bytes fill, for slopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packets {
    Whole,
    Smooth,
}

/// Demands by kind of station, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seconds {
    pub(super) central_cpu: f64,
    pub(super) central_nic: f64,
    pub(super) network: f64,
    pub(super) storage_cpu: f64,
    pub(super) storage_nic: f64,
    pub(super) disk: f64,
    /// How often a job needs a storage server's disk.
    pub(super) disk_accesses: f64,
}

impl NetworkedRaid {
    /// The service demand of each station that a job needs: those of the central server, the network, and
    /// CPU, NIC and disk of each storage server.
    ///
    /// With S the bytes of a job, S' those that are handled (of writes with their parity or copies), STP the
    /// stripe units of a stripe, STU the stripe unit, IP = ceil(S' / MSS) packets, P and P' the hit
    /// probabilities of the central and of a storage server's cache (P' = 0 for writes):
    ///
    /// - central CPU: `T_mpro` S / STU + (1 - P) `T_mp` IP
    /// - central NIC: (1 - P) IP frame / rate; network: (1 - P) S' / rate
    /// - storage CPU: (1 - P) / STP (`T_snpro` S' / STP / STU + `T_snp` IP / STP)
    /// - storage NIC: (1 - P) / STP IP / STP frame / rate
    /// - disk: (1 - P) / STP (1 - P') (seek + latency + STU / rate) S' / STP / STU
    ///
    /// as printed; [`Division::Once`] leaves out the first 1 / STP of the last three.
    pub fn demands(&self, job: &Job) -> Vec<StationDemand> {
        let seconds = self.seconds(job, Packets::Whole);
        let mut all = vec![
            ("central/cpu".to_owned(), seconds.central_cpu),
            ("central/nic".to_owned(), seconds.central_nic),
            ("network".to_owned(), seconds.network),
        ];
        for server in 0..self.stations_of {
            all.push((format!("storage/{server}/cpu"), seconds.storage_cpu));
            all.push((format!("storage/{server}/nic"), seconds.storage_nic));
            all.push((format!("storage/{server}/disk"), seconds.disk));
        }
        all.into_iter()
            .filter(|(_, seconds)| *seconds > 0.0)
            .map(|(station, seconds)| StationDemand { station, seconds })
            .collect()
    }

    pub(super) fn seconds(&self, job: &Job, packets: Packets) -> Seconds {
        let stripe = f64::from(self.storage_servers);
        let handled = job.bytes
            * match (job.operation, self.level) {
                (Operation::Read, _) | (_, NetworkedLevel::Raid0) => 1.0,
                (_, NetworkedLevel::Raid1 | NetworkedLevel::Raid10) => 2.0,
                (_, NetworkedLevel::Raid5) => stripe / (stripe - 1.0),
                (_, NetworkedLevel::Raid6) => stripe / (stripe - 2.0),
            };
        let packets = match packets {
            Packets::Whole => (handled / self.link.segment_bytes).ceil(),
            Packets::Smooth => handled / self.link.segment_bytes,
        };
        let (central, storage, unit) = (&self.central, &self.storage, self.stripe_unit_bytes);
        let miss = 1.0 - central.cache_hit;
        let disk_miss = match job.operation {
            Operation::Read => 1.0 - storage.cache_hit,
            Operation::Write => 1.0,
        };
        let (network, nic) = (
            self.link.mbit_per_s * 125e3,
            self.link.nic_mbit_per_s * 125e3,
        );
        let (own, own_packets) = (handled / stripe, packets / stripe);
        let share = match self.division {
            Division::Printed => miss / stripe,
            Division::Once => miss,
        };
        let central_ms = central.cpu_ms_per_stripe_unit * job.bytes / unit
            + miss * central.cpu_ms_per_packet * packets;
        let storage_ms =
            storage.cpu_ms_per_stripe_unit * own / unit + storage.cpu_ms_per_packet * own_packets;
        let disk_accesses = share * disk_miss * own / unit;
        let access_ms =
            self.disk.seek_ms + self.disk.latency_ms + unit / (self.disk.mb_per_s * 1e3);
        Seconds {
            central_cpu: central_ms / central.cpu_speed / 1e3,
            central_nic: miss * packets * self.link.frame_bytes / nic,
            network: miss * handled / network,
            storage_cpu: share * storage_ms / storage.cpu_speed / 1e3,
            storage_nic: share * own_packets * self.link.frame_bytes / nic,
            disk: disk_accesses * access_ms / 1e3,
            disk_accesses,
        }
    }
}
