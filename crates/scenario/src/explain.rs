//! A simulation as a scenario file: every value that was filled in, with its unit.

mod laws;

use std::fmt::{Display, Write};

use iosonar_device::Derived;
use iosonar_disk_model::{DataSheet, Scheduler};
use iosonar_raid::{CopyLayout, DeviceEventKind, Placement};
use iosonar_trace::fit::Beyond;
use iosonar_units::{Bytes, Nanos, Sectors, one_line};
use iosonar_workload::Shape;

use crate::array_model::{LevelOptions, MdOptions};
use crate::file::{
    ArrayFile, ControllerDefaults, ControllerFile, ControllerLike, CopiesLie, DeviceFile, DiskFile,
    EventFile, Key, LoadFile, MdFile, OtherDisksFile, RebuildFile, ScenarioFile,
};
use crate::resolve::ns_per_sector;
use crate::words::Word;
use crate::{
    Assumption, Devices, DiskModel, DiskSet, LoadModel, Prepared, RegisteredDevices, Servers,
    SsdSet, Warmup,
};

impl Prepared {
    /// The scenario with all defaults filled in, as TOML with comments. It means the same simulation, but
    /// for which part of a trace is taken, which the command line says; paths are as they are from here.
    pub fn explain(&self) -> String {
        let mut page = Page::default();
        page.key(ScenarioFile::seed, self.seed);
        page.key(ScenarioFile::replications, self.replications);
        let warmup = ScenarioFile::warmup_requests;
        match self.warmup {
            Warmup::Requests(n) => page.key(warmup, n),
            Warmup::Auto => page.noted(warmup, "\"auto\"", "by MSER-5 in a pilot run"),
        }
        self.explain_load(&mut page);
        self.explain_array(&mut page);
        self.explain_controller(&mut page);
        for Assumption::Geometry { profile } in self.assumptions() {
            let _ = writeln!(
                page.text,
                "\n# Assumed: profile \"{profile}\" has no [geometry], so its disks have one surface, no skews,\n\
                 # and zones derived from the transfer times of the profile."
            );
        }
        match &self.array.devices {
            Devices::Disks(disks) => explain_disks(disks, &mut page),
            Devices::Ssds(ssds) => explain_ssds(ssds, &mut page),
            Devices::Servers(servers) => explain_servers(servers, &mut page),
            Devices::Registered(devices) => explain_devices(devices, &mut page),
        }
        page.text
    }

    fn explain_load(&self, page: &mut Page) {
        page.table(ScenarioFile::load);
        match &self.load {
            LoadModel::Trace {
                path,
                growth,
                fitter,
                ..
            } => {
                let path = toml::Value::from(path.display().to_string());
                page.key(LoadFile::trace, path);
                if let Some(speed) = growth.speed {
                    page.key(LoadFile::speed, speed);
                }
                if let Some(copies) = growth.copies {
                    page.key(LoadFile::copies, copies.get());
                }
                if fitter.beyond() != Beyond::Refuse {
                    page.key(LoadFile::beyond, fitter.beyond().quoted());
                }
            }
            LoadModel::Alone { shape, requests } => {
                page.key(LoadFile::requests, requests);
                let about = "each starts once the previous one is complete and the system is idle";
                page.noted(LoadFile::arrivals, "\"alone\"", about);
                self.explain_block(page, shape);
                laws::shape(page, shape);
            }
            LoadModel::Closed {
                shape,
                outstanding,
                think,
                requests,
            } => {
                page.key(LoadFile::requests, requests);
                let think = laws::think(think);
                let closed = format!("{{ outstanding = {outstanding}, {think} }}");
                page.key(LoadFile::closed, closed);
                self.explain_block(page, shape);
                laws::shape(page, shape);
            }
            LoadModel::Synthetic { classes, requests } => {
                page.key(LoadFile::requests, requests);
                if let Some(first) = classes.first() {
                    self.explain_block(page, &first.shape);
                }
                for class in classes {
                    if classes.len() > 1 {
                        page.table(LoadFile::class);
                    }
                    let rate = format!("{:.6} requests/s on average", class.requests_per_s());
                    page.noted(LoadFile::arrivals, laws::arrivals(&class.arrivals), &rate);
                    page.key(LoadFile::batch, laws::batch(&class.batch));
                    laws::shape(page, &class.shape);
                }
            }
        }
    }

    /// What sizes are counted in, where that can be said.
    fn explain_block(&self, page: &mut Page, shape: &Shape) {
        if self.array.placement == Placement::Addressed {
            let bytes = format!("\"{}\"", shape.block.bytes().get());
            page.key(LoadFile::block, bytes);
        }
    }

    fn explain_array(&self, page: &mut Page) {
        let array = &self.array;
        let (level, _) = array.level_names();
        let bytes = u64::from(array.stripe_unit.get()) * 512;
        page.table(ScenarioFile::array);
        page.key(ArrayFile::level, quoted(level));
        page.key(ArrayFile::disks, array.disks);
        if self.arrays > 1 {
            page.key(ArrayFile::count, self.arrays);
        }
        page.key(ArrayFile::stripe_unit, format!("\"{bytes}\""));
        page.key(ArrayFile::placement, array.placement.quoted());
        if array.md.is_some() {
            page.key(ArrayFile::like, quoted("linux-md"));
        }
        match &array.level {
            LevelOptions::Striped | LevelOptions::Linear { .. } | LevelOptions::Registered(_) => {}
            LevelOptions::Mirrored { copies, read, .. } => {
                if level != "raid1" {
                    page.key(ArrayFile::copies, copies);
                }
                if array.md.is_none() {
                    page.key(ArrayFile::mirror_read, read.quoted());
                }
            }
            LevelOptions::Parity {
                groups,
                layout,
                random,
                ..
            } => {
                if *groups > 1 {
                    page.key(ArrayFile::groups, groups);
                }
                if array.placement == Placement::Random {
                    page.key(ArrayFile::read_layout, random.read.quoted());
                    page.key(ArrayFile::write_start, random.write_start.quoted());
                } else {
                    page.key(ArrayFile::layout, layout.quoted());
                }
                self.explain_rules(page);
            }
        }
        if !array.failed.is_empty() {
            page.key(ArrayFile::failed, format!("{:?}", array.failed));
        }
        let mode = if array.controller.one_at_a_time {
            "split-merge"
        } else {
            "fork-join"
        };
        page.key(ArrayFile::mode, quoted(mode));
        if let LevelOptions::Registered(level) = &array.level {
            page.options("array", &level.options);
        }
        if let Some(md) = &array.md {
            self.explain_md(page, md);
        }
    }

    fn explain_md(&self, page: &mut Page, md: &MdOptions) {
        page.table(ArrayFile::md);
        let offset = format!("\"{}\"", md.data_offset.bytes().get());
        page.key(MdFile::data_offset, offset);
        if let Some(chunk) = md.bitmap {
            let chunk = format!("\"{}\"", chunk.bytes().get());
            page.key(MdFile::bitmap, chunk);
        }
        if let Some(copies) = md.copies {
            let lie = match copies {
                CopyLayout { offset: true, .. } => CopiesLie::Offset,
                CopyLayout { far: 2.., .. } => CopiesLie::Far,
                CopyLayout { .. } => CopiesLie::Near,
            };
            page.key(MdFile::copies_lie, lie.quoted());
        }
        if matches!(self.array.level, LevelOptions::Parity { .. }) {
            page.key(MdFile::rmw, md.handling.rmw_level.quoted());
            page.key(MdFile::stripe_cache_size, md.handling.cache_rows);
        }
    }

    fn explain_rules(&self, page: &mut Page) {
        let rules = self.array.rules;
        page.key(ArrayFile::join, rules.join.quoted());
        page.key(ArrayFile::preread_seek, rules.preread_seek.quoted());
        if !self.array.devices.are_positional() {
            page.key(ArrayFile::full_turn, rules.full_turn.quoted());
            page.key(ArrayFile::transfer_memory, rules.transfer.quoted());
        }
    }

    fn explain_controller(&self, page: &mut Page) {
        let controller = &self.array.controller;
        page.table(ScenarioFile::controller);
        let like = self.array.controller_like;
        if let Some(like) = like {
            page.key(ControllerFile::like, like.quoted());
        }
        let defaults = ControllerDefaults::of(like, controller.cache.is_some());
        let kind = like.filter(|like| *like != ControllerLike::Nothing);
        let mut key = |key: Key, value: String, is_default: bool| match kind {
            Some(like) if is_default => {
                let comment = format!("{}; default of like = {}", key.comment, like.quoted());
                page.noted(key, value, &comment);
            }
            None if is_default => {
                page.noted(
                    key,
                    value,
                    &format!("{}; default with a cache", key.comment),
                );
            }
            _ => page.key(key, value),
        };
        let command_us = controller.command.as_micros_f64();
        let is_usual = defaults.command_us > 0.0 && command_us == defaults.command_us;
        key(ControllerFile::command_us, float(command_us), is_usual);
        let mut rate = |of: Key, sector_ns: f64, usual: Option<f64>| {
            if sector_ns > 0.0 {
                let is_usual = usual.is_some_and(|usual| ns_per_sector(usual) == sector_ns);
                key(of, float(mb_per_s(sector_ns)), is_usual);
            }
        };
        let (host, bus) = (controller.host_ns_per_sector, controller.bus_ns_per_sector);
        rate(ControllerFile::host_mb_per_s, host, defaults.host_mb_per_s);
        rate(ControllerFile::bus_mb_per_s, bus, defaults.bus_mb_per_s);
        let xor = float(controller.xor_ns_per_sector / 512.0);
        key(ControllerFile::xor_ns_per_byte, xor, false);
        let usual = defaults.cache.and_then(|size| size.parse::<Bytes>().ok());
        if let Some(cache) = controller.cache {
            let share = |sectors: Sectors| {
                float(f64::from(sectors.get()) / f64::from(cache.capacity.get()))
            };
            let sectors = format!("\"{}s\"", cache.capacity.get());
            let is_usual = kind.is_some() && usual == Some(cache.capacity.bytes());
            key(ControllerFile::cache, sectors, is_usual);
            key(ControllerFile::destage_above, share(cache.high), false);
            key(ControllerFile::destage_below, share(cache.low), false);
        } else if usual.is_some() {
            key(ControllerFile::cache, "\"0\"".to_owned(), false);
        }
        self.explain_rebuild(page);
        self.explain_events(page);
    }

    fn explain_events(&self, page: &mut Page) {
        for event in &self.array.events {
            page.table(ScenarioFile::event);
            page.key(EventFile::at, quoted(&event.at.exact()));
            let device = event.device;
            match event.kind {
                DeviceEventKind::Failure { noticed } => {
                    page.key(EventFile::fail, device);
                    page.key(EventFile::noticed_after, quoted(&noticed.exact()));
                }
                DeviceEventKind::Slowness { factor, lasts } => {
                    let (factor, lasts) = (float(factor), quoted(&lasts.exact()));
                    let slow = format!("{{ disk = {device}, factor = {factor}, for = {lasts} }}");
                    page.key(EventFile::slow, slow);
                }
            }
        }
    }

    fn explain_rebuild(&self, page: &mut Page) {
        if let Some(rebuild) = self.array.rebuild {
            page.table(ScenarioFile::rebuild);
            if rebuild.distance > Nanos::ZERO {
                let rate = float(1.0 / rebuild.distance.as_secs_f64());
                page.key(RebuildFile::stripes_per_s, rate);
            }
            if rebuild.most < u64::MAX {
                page.key(RebuildFile::stripes, rebuild.most);
            }
        }
    }
}

fn explain_servers(servers: &Servers, page: &mut Page) {
    page.table(ScenarioFile::device);
    page.key(DeviceFile::service, laws::time_law(&servers.service));
    page.key(DeviceFile::capacity, format!("\"{}s\"", servers.sectors));
}

/// Devices of a registered model.
fn explain_devices(devices: &RegisteredDevices, page: &mut Page) {
    page.table(ScenarioFile::device);
    page.key(DeviceFile::model, quoted(&devices.name));
    page.key(DeviceFile::capacity, format!("\"{}s\"", devices.sectors));
    page.options("device", &devices.options);
}

/// All that the profile says, with what the scenario changes of it.
fn explain_ssds(ssds: &SsdSet, page: &mut Page) {
    page.described_table(ScenarioFile::ssd, &ssds.profile.description);
    if !ssds.profile.name.is_empty() {
        let name = quoted(&ssds.profile.name);
        page.line("profile", name, "times in microseconds");
    }
    let sectors = ssds.parameters.capacity_sectors;
    let _ = writeln!(page.text, "# capacity: {sectors} sectors of 512 B");
    // It was read from TOML, so it can be written.
    let all = toml::Table::try_from(&*ssds.profile).unwrap_or_default();
    let all = toml::Table::from_iter([("ssd".to_owned(), toml::Value::Table(all))]);
    let all = toml::to_string(&all).unwrap_or_default();
    page.text
        .push_str(all.strip_prefix("[ssd]\n").unwrap_or(&all));
    let Some(sheet) = &ssds.profile.data_sheet else {
        return;
    };
    if ssds.profile.name.is_empty() {
        let sheet = toml::Table::try_from(sheet).unwrap_or_default();
        let sheet = toml::Table::from_iter([("from_data_sheet".to_owned(), sheet.into())]);
        let sheet = toml::Table::from_iter([("ssd".to_owned(), toml::Value::Table(sheet))]);
        page.text += "\n";
        page.text += &toml::to_string(&sheet).unwrap_or_default();
    }
    explain_derivation(sheet.derivation(), page);
}

fn explain_disks(disks: &DiskSet, page: &mut Page) {
    let (model, scheduler) = (DiskFile::model, DiskFile::scheduler);
    page.described_table(ScenarioFile::disk, &disks.profile.description);
    let sheet = disks.profile.data_sheet.as_ref();
    let is_in_the_scenario = disks.profile.name.is_empty();
    if !is_in_the_scenario {
        page.key(DiskFile::profile, quoted(&disks.profile.name));
    }
    page.key(DiskFile::zoning, disks.profile.transfer.zoning.quoted());
    match disks.model {
        DiskModel::Sampled(Scheduler::Fcfs) => {
            page.noted(model, quoted("sampled"), "every position is random");
            page.key(scheduler, quoted("fcfs"));
        }
        DiskModel::Sampled(Scheduler::Rpo { count, most }) => {
            page.noted(model, quoted("sampled"), "every position is random");
            page.noted(
                scheduler,
                quoted("rpo"),
                "the shortest of q positioning times",
            );
            page.key(DiskFile::rpo_count, count.quoted());
            if most < usize::MAX {
                page.key(DiskFile::rpo_most, most);
            }
        }
        DiskModel::Positional(queueing) => {
            page.noted(
                model,
                quoted("positional"),
                "simulates the arm and the rotation",
            );
            page.key(scheduler, queueing.scheduler.quoted());
            if queueing.depth < usize::MAX {
                page.key(DiskFile::queue_depth, queueing.depth);
            }
            if queueing.most_wait < Nanos::MAX {
                let ms = float(queueing.most_wait.as_millis_f64());
                page.key(DiskFile::most_wait_ms, ms);
            }
            if let Some(cache) = &disks.profile.cache {
                page.key(DiskFile::write_back, cache.fast_writes);
            } else if sheet.is_some_and(|sheet| sheet.cache_mib.is_some()) {
                page.key(DiskFile::buffer, false);
            }
        }
    }
    for (disks, profile) in &disks.others {
        page.table(DiskFile::other);
        page.key(OtherDisksFile::disks, format!("{disks:?}"));
        page.key(OtherDisksFile::profile, quoted(&profile.name));
    }
    if let Some(sheet) = sheet {
        explain_sheet(sheet, is_in_the_scenario, page);
    }
}

/// The figures of a data sheet, and what follows from them.
fn explain_sheet(sheet: &DataSheet, is_in_the_scenario: bool, page: &mut Page) {
    if is_in_the_scenario {
        page.table(DiskFile::from_data_sheet);
        page.text += &toml::to_string(sheet).unwrap_or_default();
    }
    explain_derivation(sheet.profile("", None).1, page);
}

/// Where the parameters come from that are not in the sheet.
fn explain_derivation(derivation: Vec<Derived>, page: &mut Page) {
    page.text += "# From the data sheet:\n";
    for Derived { key, value, from } in derivation {
        let _ = writeln!(page.text, "# {key} = {}: {from}", significant(value));
    }
}

/// Six digits, which is more than data sheets have.
fn significant(value: f64) -> String {
    let digits = (5.0 - value.abs().max(1e-9).log10().floor()).clamp(0.0, 12.0);
    let text = format!("{value:.*}", digits as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// The lines that are written so far.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    /// The header of a table.
    fn table(&mut self, key: Key) {
        let _ = writeln!(self.text, "\n{}", key.table);
    }

    /// The header of a table that says of itself what it is.
    fn described_table(&mut self, key: Key, description: &str) {
        let _ = writeln!(self.text, "\n{}   # {}", key.table, one_line(description));
    }

    /// What a registered model of the table `of` takes.
    fn options(&mut self, of: &str, options: &toml::Table) {
        if options.is_empty() {
            return;
        }
        let table = |name: &str, value| toml::Table::from_iter([(name.to_owned(), value)]);
        let all = table(of, table("options", options.clone().into()).into());
        // It was read from TOML, so it can be written.
        let text = toml::to_string(&all).expect("options are TOML");
        let _ = write!(self.text, "\n{text}");
    }

    /// A key with its value, and what it means.
    fn key(&mut self, key: Key, value: impl Display) {
        self.line(key.name, value, key.comment);
    }

    /// A key with its value, and what this value means.
    fn noted(&mut self, key: Key, value: impl Display, comment: &str) {
        self.line(key.name, value, comment);
    }

    fn line(&mut self, key: &str, value: impl Display, comment: &str) {
        let assignment = format!("{key} = {value}");
        let _ = match comment {
            "" => writeln!(self.text, "{assignment}"),
            _ => writeln!(self.text, "{assignment:<44} # {comment}"),
        };
    }
}

/// The rate at which a sector takes this time, without the last digits where it is a round one.
fn mb_per_s(sector_ns: f64) -> f64 {
    let rate = ns_per_sector(sector_ns);
    let round = (rate * 1e6).round() / 1e6;
    match ns_per_sector(round) == sector_ns {
        true => round,
        false => rate,
    }
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
