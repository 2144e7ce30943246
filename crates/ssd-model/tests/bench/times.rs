//! Random profiles of the block queue.

use std::sync::Arc;

use iosonar_device::Access;
use iosonar_ssd_model::Parameters;
use proptest::prelude::*;

use super::{Load, Outcome, job, parameters};

/// Reads or writes of 4 KiB, one place after the other.
pub(crate) fn sequential(
    p: &Arc<Parameters>,
    access: Access,
    threads: usize,
    requests: u64,
) -> Outcome {
    Load {
        threads,
        requests,
        warmup: 0,
        job: &mut |n| job(n, access, n * 8 % (1 << 20), 8),
        arrivals: None,
    }
    .run(p)
}

/// Durations in nanoseconds that make a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) submit: u64,
    pub(crate) complete: u64,
    pub(crate) interrupt: u64,
    pub(crate) select: u64,
    pub(crate) doorbell: u64,
    pub(crate) command: u64,
    pub(crate) post: u64,
    pub(crate) setup: u64,
    pub(crate) data_setup: u64,
    pub(crate) storage: u64,
    pub(crate) channels: u64,
}

impl Times {
    pub(crate) fn profile(&self, more: &str) -> Arc<Parameters> {
        parameters("block-queue-gen2x4", &format!("{more}\n{}", self.text()))
    }

    /// The same with other values for keys that it has.
    pub(crate) fn profile_with(&self, more: &str, other: &str) -> Arc<Parameters> {
        let mut changes: toml::Table = toml::from_str(&format!("{more}\n{}", self.text())).unwrap();
        let other: toml::Table = toml::from_str(&format!("[x]\n{other}")).unwrap();
        for (table, values) in other {
            if let (Some(toml::Value::Table(mine)), toml::Value::Table(values)) =
                (changes.get_mut(&table), values)
            {
                mine.extend(values);
            }
        }
        crate::bench::parameters_of("block-queue-gen2x4", &changes)
    }

    fn text(&self) -> String {
        let us = |ns: u64| ns as f64 / 1e3;
        format!(
            "[driver]\nsubmit_us = {:?}\ncomplete_us = {:?}\ninterrupt_us = {:?}\nselect_us = {:?}\n\
             doorbell_us = {:?}\n[controller]\ncommand_us = {:?}\nreturn_us = {:?}\n\
             [pcie]\ndescriptor_setup_us = {:?}\nto_host_setup_us = {:?}\nfrom_host_setup_us = {:?}\n\
             to_host_mb_per_s = 2000.0\nfrom_host_mb_per_s = 2000.0\n\
             [dram]\nchannels = {}\nread_us = {:?}\nwrite_us = {:?}\n",
            us(self.submit),
            us(self.complete),
            us(self.interrupt),
            us(self.select),
            us(self.doorbell),
            us(self.command),
            us(self.post),
            us(self.setup),
            us(self.data_setup),
            us(self.data_setup),
            self.channels,
            us(self.storage),
            us(self.storage),
        )
    }

    /// A transfer of 4 KiB at 2 000 MB/s.
    pub(crate) fn dma(&self) -> u64 {
        self.data_setup + 2048
    }

    /// The cycle of a full block of `b`, as in the manual (docs/src/models.md, "SSDs").
    pub(crate) fn cycle(&self, b: u64) -> u64 {
        let turnaround = self.interrupt + self.select + self.doorbell;
        let moves = |n: u64| self.setup + 16 * n;
        let device = turnaround
            + moves(b)
            + b * self.command.max(self.dma())
            + self.command.min(self.dma())
            + self.storage
            + self.post
            + moves(b);
        device.max(b * (self.submit + self.complete))
    }

    /// Whether driver and device are nearly as fast: then it takes many blocks until the slower one is found out.
    pub(crate) fn is_close(&self, b: u64) -> bool {
        let driver = b * (self.submit + self.complete);
        let others = Self {
            submit: 0,
            complete: 0,
            ..*self
        };
        driver.abs_diff(others.cycle(b)) * 8 < driver
    }
}

/// Any durations, zero among them.
pub(crate) fn times() -> impl Strategy<Value = Times> {
    times_from(0)
}

/// Durations of devices that there might be: whatever is done takes its time, and a bio costs the driver a tenth of
/// what its data take.
pub(crate) fn likely_times() -> impl Strategy<Value = Times> {
    times_from(1)
}

fn times_from(least: u64) -> impl Strategy<Value = Times> {
    let ns = move |from: u64, most: u64| least * from..most;
    let driver = if least > 0 { 10..200_u64 } else { 0..1_500 };
    (
        (
            // A driver that keeps up, or any.
            driver.clone(),
            driver,
            ns(500, 6_000),
            ns(50, 500),
            ns(50, 800),
        ),
        (
            ns(100, 4_000),
            16 + least * 84..1_000_u64,
            ns(100, 2_000),
            ns(100, 3_000),
            // Memory as behind the paper's device, or whatever there is.
            0..if least > 0 { 500 } else { 20_000_u64 },
        ),
    )
        .prop_map(
            |(
                (submit, complete, interrupt, select, doorbell),
                (command, post, setup, data_setup, storage),
            )| {
                let slowest = command.max(data_setup + 2048);
                Times {
                    submit,
                    complete,
                    interrupt,
                    select,
                    doorbell,
                    command,
                    post,
                    setup,
                    data_setup,
                    storage,
                    // So that no channel is waited for.
                    channels: storage.div_ceil(slowest).max(1),
                }
            },
        )
}
