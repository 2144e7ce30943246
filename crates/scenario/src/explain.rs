//! A simulation as a scenario file: every value that was filled in, with its unit.

use std::fmt::Write;

use iosonar_disk_model::Scheduler;
use iosonar_raid::Placement;
use iosonar_units::Nanos;
use iosonar_workload::{Addresses, ArrivalLaw, Batch, Shape, Size};

use crate::array_model::LevelOptions;
use crate::words::Word;
use crate::{Assumption, Devices, DiskModel, DiskSet, LoadModel, Prepared, SsdSet, Warmup};

impl Prepared {
    /// The scenario with all defaults filled in, as TOML with comments. It means the same simulation, but
    /// for which part of a trace is taken, which the command line says; paths are as they are from here.
    pub fn explain(&self) -> String {
        let mut text = String::new();
        line(
            &mut text,
            "seed",
            self.seed,
            "all randomness follows from it",
        );
        let runs = self.replications;
        line(&mut text, "replications", runs, "independent runs");
        match self.warmup {
            Warmup::Requests(n) => {
                line(&mut text, "warmup_requests", n, "of each run, not measured");
            }
            Warmup::Auto => {
                line(
                    &mut text,
                    "warmup_requests",
                    "\"auto\"",
                    "by MSER-5 of a pilot run",
                );
            }
        }
        self.explain_load(&mut text);
        self.explain_array(&mut text);
        self.explain_controller(&mut text);
        for Assumption::Geometry { profile } in self.assumptions() {
            let _ = writeln!(
                text,
                "\n# Assumed: profile \"{profile}\" has no [geometry], so each disk of it has one surface, no skews, and\n\
                 # zones that follow from its transfer times."
            );
        }
        match &self.array.devices {
            Devices::Disks(disks) => explain_disks(disks, &mut text),
            Devices::Ssds(ssds) => explain_ssds(ssds, &mut text),
        }
        text
    }

    fn explain_load(&self, text: &mut String) {
        text.push_str("\n[load]\n");
        match &self.load {
            LoadModel::Trace { path, .. } => {
                let path = toml::Value::from(path.display().to_string());
                line(text, "trace", path, "its requests at their times");
            }
            LoadModel::Alone { shape, requests } => {
                line(text, "requests", requests, "measured in each run");
                let about = "each starts when the one before is complete and the system is idle";
                line(text, "arrivals", "\"alone\"", about);
                self.explain_block(text, shape);
                explain_shape(text, shape);
            }
            LoadModel::Closed {
                shape,
                outstanding,
                think,
                requests,
            } => {
                line(text, "requests", requests, "measured in each run");
                let think_ms = float(think.as_millis_f64());
                let closed = format!("{{ outstanding = {outstanding}, think_ms = {think_ms} }}");
                line(text, "closed", closed, "users who wait for their requests");
                self.explain_block(text, shape);
                explain_shape(text, shape);
            }
            LoadModel::Synthetic { classes, requests } => {
                line(text, "requests", requests, "measured in each run");
                if let Some(first) = classes.first() {
                    self.explain_block(text, &first.shape);
                }
                for class in classes {
                    if classes.len() > 1 {
                        text.push_str("\n[[load.class]]\n");
                    }
                    let rate = format!("{:.6} requests/s on average", class.requests_per_s());
                    line(text, "arrivals", arrivals(&class.arrivals), &rate);
                    match &class.batch {
                        Batch::One => line(text, "batch", "{ requests = 1 }", "at each arrival"),
                        Batch::Requests(n) => {
                            line(
                                text,
                                "batch",
                                format!("{{ requests = {n} }}"),
                                "at each arrival",
                            );
                        }
                        Batch::Geometric { mean } => {
                            let law = format!("{{ geometric_mean = {} }}", float(*mean));
                            line(text, "batch", law, "at each arrival");
                        }
                        Batch::Table(table) => {
                            let row = |(share, n): &(f64, u32)| {
                                format!("{{ requests = {n}, share = {} }}", float(*share))
                            };
                            let rows: Vec<String> = table.iter().map(row).collect();
                            let law = format!("{{ table = [{}] }}", rows.join(", "));
                            line(text, "batch", law, "at each arrival");
                        }
                    }
                    explain_shape(text, &class.shape);
                }
            }
        }
    }

    /// What sizes are counted in, where that can be said.
    fn explain_block(&self, text: &mut String, shape: &Shape) {
        if self.array.placement == Placement::Addressed {
            let bytes = format!("\"{}\"", shape.block.bytes().get());
            line(text, "block", bytes, "bytes; what sizes are counted in");
        }
    }

    fn explain_array(&self, text: &mut String) {
        let array = &self.array;
        let one_at_a_time = array.controller.one_at_a_time;
        let (level, _) = array.level_names();
        text.push_str("\n[array]\n");
        let bytes = u64::from(array.stripe_unit.get()) * 512;
        line(text, "level", quoted(level), "");
        line(text, "disks", array.disks, "spares not counted");
        line(text, "stripe_unit", format!("\"{bytes}\""), "bytes");
        line(text, "placement", array.placement.quoted(), "of requests");
        match array.level {
            LevelOptions::Striped | LevelOptions::Linear { .. } => {}
            LevelOptions::Mirrored { copies, read, .. } => {
                if level != "raid1" {
                    line(text, "copies", copies, "of each block");
                }
                line(text, "mirror_read", read.quoted(), "the copy that is read");
            }
            LevelOptions::Parity {
                groups,
                layout,
                random,
                ..
            } => {
                if groups > 1 {
                    line(text, "groups", groups, "each with parity of its own");
                }
                if array.placement == Placement::Random {
                    line(
                        text,
                        "read_layout",
                        random.read.quoted(),
                        "from stripe to stripe",
                    );
                    let start = random.write_start.quoted();
                    line(text, "write_start", start, "first disk of a write");
                } else {
                    line(text, "layout", layout.quoted(), "of parity and data");
                }
                self.explain_rules(text);
            }
        }
        if !array.failed.is_empty() {
            line(text, "failed", format!("{:?}", array.failed), "disks");
        }
        let mode = if one_at_a_time {
            "split-merge"
        } else {
            "fork-join"
        };
        line(text, "mode", quoted(mode), "whether requests overlap");
    }

    fn explain_rules(&self, text: &mut String) {
        let rules = self.array.rules;
        line(
            text,
            "join",
            rules.join.quoted(),
            "when the last pre-read ends",
        );
        line(
            text,
            "preread_seek",
            rules.preread_seek.quoted(),
            "curve of pre-reads",
        );
        if !self.array.devices.are_positional() {
            line(
                text,
                "full_turn",
                rules.full_turn.quoted(),
                "of a read-modify-write",
            );
            line(
                text,
                "transfer_memory",
                rules.transfer.quoted(),
                "of a disk",
            );
        }
    }

    fn explain_controller(&self, text: &mut String) {
        let controller = &self.array.controller;
        text.push_str("\n[controller]\n");
        let command_us = float(controller.command.as_micros_f64());
        line(text, "command_us", command_us, "from arrival to issue");
        let xor = float(controller.xor_ns_per_sector / 512.0);
        line(text, "xor_ns_per_byte", xor, "of parity");
        if controller.bus_ns_per_sector > 0.0 {
            let rate = float(512.0 * 1e3 / controller.bus_ns_per_sector);
            line(text, "bus_mb_per_s", rate, "one bus for all disks");
        }
        if let Some(cache) = controller.cache {
            let size = format!("\"{}s\"", cache.capacity.get());
            line(text, "cache", size, "sectors of 512 B, for writes");
            let share = |sectors: iosonar_units::Sectors| {
                float(f64::from(sectors.get()) / f64::from(cache.capacity.get()))
            };
            line(
                text,
                "destage_above",
                share(cache.high),
                "share that is dirty",
            );
            line(
                text,
                "destage_below",
                share(cache.low),
                "share that is dirty",
            );
        }
        if let Some(rebuild) = self.array.rebuild {
            text.push_str("\n[rebuild]\n");
            if rebuild.distance > Nanos::ZERO {
                let rate = float(1.0 / rebuild.distance.as_secs_f64());
                line(text, "stripes_per_s", rate, "at most");
            }
            if rebuild.most < u64::MAX {
                line(text, "stripes", rebuild.most, "of the failed disks");
            }
        }
    }
}

/// All that the profile says, with what the scenario changes of it.
fn explain_ssds(ssds: &SsdSet, text: &mut String) {
    let description = ssds
        .profile
        .description
        .replace(|c: char| c.is_control(), " ");
    let _ = writeln!(text, "\n[ssd]   # {description}");
    line(
        text,
        "profile",
        quoted(&ssds.profile.name),
        "times in microseconds",
    );
    let sectors = ssds.parameters.capacity_sectors;
    let _ = writeln!(text, "# it holds {sectors} sectors of 512 B");
    // It was read from TOML, so it can be written.
    let all = toml::Table::try_from(&*ssds.profile).unwrap_or_default();
    let all = toml::Table::from_iter([("ssd".to_owned(), toml::Value::Table(all))]);
    let all = toml::to_string(&all).unwrap_or_default();
    text.push_str(all.strip_prefix("[ssd]\n").unwrap_or(&all));
}

fn explain_disks(disks: &DiskSet, text: &mut String) {
    let profile = &disks.profile;
    let description = profile.description.replace(|c: char| c.is_control(), " ");
    let _ = writeln!(text, "\n[disk]   # {description}");
    line(text, "profile", quoted(&profile.name), "");
    let zoning = profile.transfer.zoning.quoted();
    line(text, "zoning", zoning, "from the outermost cylinder in");
    match disks.model {
        DiskModel::Sampled(Scheduler::Fcfs) => {
            line(text, "model", quoted("sampled"), "every place is random");
            line(text, "scheduler", quoted("fcfs"), "");
        }
        DiskModel::Sampled(Scheduler::Rpo { count, most }) => {
            line(text, "model", quoted("sampled"), "every place is random");
            line(
                text,
                "scheduler",
                quoted("rpo"),
                "the best of q positionings",
            );
            line(text, "rpo_count", count.quoted(), "the job that starts");
            if most < usize::MAX {
                line(text, "rpo_most", most, "draws");
            }
        }
        DiskModel::Positional(queueing) => {
            line(
                text,
                "model",
                quoted("positional"),
                "with an arm and an angle",
            );
            line(text, "scheduler", queueing.scheduler.quoted(), "");
            if queueing.depth < usize::MAX {
                line(text, "queue_depth", queueing.depth, "jobs to choose from");
            }
            if queueing.most_wait < Nanos::MAX {
                let ms = float(queueing.most_wait.as_millis_f64());
                line(text, "most_wait_ms", ms, "then a job is served at once");
            }
        }
    }
    for (disks, profile) in &disks.others {
        text.push_str("\n[[disk.other]]\n");
        line(text, "disks", format!("{disks:?}"), "of another kind");
        line(text, "profile", quoted(&profile.name), "");
    }
}

/// A key with its value, and what it means.
fn line(text: &mut String, key: &str, value: impl std::fmt::Display, comment: &str) {
    let assignment = format!("{key} = {value}");
    let _ = match comment {
        "" => writeln!(text, "{assignment}"),
        _ => writeln!(text, "{assignment:<44} # {comment}"),
    };
}

fn quoted(word: &str) -> String {
    toml::Value::from(word).to_string()
}

/// A number that TOML reads as one with a fraction.
fn float(value: f64) -> String {
    if value.is_infinite() {
        return "inf".to_owned();
    }
    format!("{value:?}")
}

fn explain_shape(text: &mut String, shape: &Shape) {
    let size = match &shape.size {
        Size::Blocks(blocks) => format!("{{ blocks = {blocks} }}"),
        Size::GeometricBlocks { mean } => format!("{{ geometric_mean_blocks = {} }}", float(*mean)),
        Size::Table(table) => {
            let row = |(share, blocks): &(f64, u32)| {
                format!("{{ blocks = {blocks}, share = {} }}", float(*share))
            };
            let rows: Vec<String> = table.iter().map(row).collect();
            format!("{{ table = [{}] }}", rows.join(", "))
        }
    };
    let mean = format!("{:.6} blocks on average", shape.size.mean());
    line(text, "size", size, &mean);
    line(
        text,
        "read_share",
        float(shape.read_share),
        "the others are writes",
    );
    let addresses = match shape.addresses {
        Addresses::Uniform => {
            text.push_str("# addresses: uniform over the array\n");
            return;
        }
        Addresses::Sequential { run } => format!("{{ sequential_run = {} }}", float(run)),
        Addresses::Zipf { theta } => format!("{{ zipf = {} }}", float(theta)),
        Addresses::Mixed {
            follow,
            theta,
            used,
        } => format!(
            "{{ mixed = {{ follow = {}, zipf = {}, used = {} }} }}",
            float(follow),
            float(theta),
            float(used)
        ),
        Addresses::Hot { space, requests } => format!(
            "{{ hot = {{ space = {}, requests = {} }} }}",
            float(space),
            float(requests)
        ),
    };
    line(text, "addresses", addresses, "");
}

fn arrivals(law: &ArrivalLaw) -> String {
    match law {
        ArrivalLaw::Poisson { per_s } => format!("{{ poisson_per_s = {} }}", float(*per_s)),
        ArrivalLaw::Constant { per_s } => format!("{{ constant_per_s = {} }}", float(*per_s)),
        ArrivalLaw::Modulated(phases) => {
            let phase = |p: &iosonar_workload::LoadPhase| {
                format!(
                    "{{ per_s = {}, mean_s = {} }}",
                    float(p.per_s),
                    float(p.mean_s)
                )
            };
            let phases: Vec<String> = phases.iter().map(phase).collect();
            format!("{{ phases = [{}] }}", phases.join(", "))
        }
        ArrivalLaw::OnOff {
            per_s,
            on_s,
            off_s,
            shape,
        } => {
            let shape = shape.map_or(String::new(), |s| format!(", pareto_shape = {}", float(s)));
            format!(
                "{{ on_off = {{ per_s = {}, on_s = {}, off_s = {}{shape} }} }}",
                float(*per_s),
                float(*on_s),
                float(*off_s)
            )
        }
        ArrivalLaw::BModel {
            per_s,
            bias,
            window_s,
            levels,
        } => format!(
            "{{ b_model = {{ per_s = {}, bias = {}, window_s = {}, levels = {levels} }} }}",
            float(*per_s),
            float(*bias),
            float(*window_s)
        ),
        ArrivalLaw::Noise {
            per_s,
            hurst,
            variation,
            bin_s,
        } => format!(
            "{{ noise = {{ per_s = {}, hurst = {}, variation = {}, bin_s = {} }} }}",
            float(*per_s),
            float(*hurst),
            float(*variation),
            float(*bin_s)
        ),
    }
}
