//! What a load does to the zones of its target, found out before anything is written.

use iosonar_linux::calls;
use iosonar_trace::fit::Fitter;
use iosonar_trace::{Batch, Place, Request, TraceReader, input};

use crate::load::fitter;
use crate::zones::{ZonePlan, Zones, is_write};
use crate::{Conflicts, Load, Options, ReplayError, Target, Writes, ZoneOptions};

impl Target {
    /// Finds out whether a load's writes can be done where zones must be written in order. Reads the load once more.
    ///
    /// # Errors
    /// [`ReplayError::Refused`] with the first write that cannot, and what to do about it.
    pub fn plan_zones(&mut self, load: &Load, options: &Options) -> Result<(), ReplayError> {
        self.zone_plan = match &self.zones {
            Some(zones) if zones.is_sequential() && writes(load, options) => {
                let fitter = fitter(load, self, options);
                Some(ZonePlan::of(zones, load, self, fitter, options)?)
            }
            _ if options.zones == ZoneOptions::default() || !writes(load, options) => None,
            _ => {
                return Err(ReplayError::Refused(format!(
                    "{} has no zones that must be written sequentially: remove --zone-append and --reset-zones",
                    self.path().display()
                )));
            }
        };
        Ok(())
    }

    /// Refuses to write to zones in order where nothing says that the load does.
    pub(crate) fn check_zone_plan(
        &self,
        load: &Load,
        options: &Options,
    ) -> Result<(), ReplayError> {
        if self.has_sequential_zones() && self.zone_plan.is_none() && writes(load, options) {
            return Err(ReplayError::Refused(format!(
                "{} has zones that must be written sequentially, but the load was not checked for this",
                self.path().display()
            )));
        }
        Ok(())
    }

    /// Does to the zones what is to be done before a replay.
    pub(crate) fn begin_zones(&self) -> Result<(), ReplayError> {
        self.zone_plan
            .as_ref()
            .map_or(Ok(()), |plan| plan.begin(self))
    }
}

/// Whether a replay of a load changes its target.
pub(crate) fn writes(load: &Load, options: &Options) -> bool {
    options.writes == Writes::Do && (load.scan.harmless < load.scan.requests || !load.scan.is_known)
}

impl ZonePlan {
    /// Reads the load once more, as it will be replayed.
    ///
    /// # Errors
    /// [`ReplayError::Refused`] if a write would not be at the write pointer of its zone.
    pub(crate) fn of(
        zones: &Zones,
        load: &Load,
        target: &Target,
        fitter: Fitter,
        options: &Options,
    ) -> Result<Self, ReplayError> {
        let shown = target.path().display();
        let refused = |reason: String| ReplayError::Refused(reason);
        if !load.scan.is_known || load.arriving.is_some() {
            return Err(refused(format!(
                "{shown} has zones that must be written sequentially, and only a load in a file can be \
                 checked for this before the replay: give the load as a file on the target's host, or use --skip-writes"
            )));
        }
        if !matches!(options.conflicts, Conflicts::Partial | Conflicts::Order) {
            return Err(refused(format!(
                "{shown} has zones that must be written sequentially, which --conflicts {} does not ensure: \
                 use --conflicts partial or order",
                options.conflicts.name()
            )));
        }
        let mut plan = Self {
            zones: zones.clone(),
            reset: Vec::new(),
            append: options.zones.append,
        };
        if options.zones.reset {
            for_each_write(load, fitter, |_, request| {
                plan.reset.extend(plan.zones.reset(request));
                Ok(())
            })?;
            plan.reset.sort_unstable();
        }
        let mut model = plan.zones.clone();
        for_each_write(load, fitter, |place, request| {
            let written = model.write(request, plan.append).map(|_| ());
            written.map_err(|misplaced| {
                refused(format!(
                    "{place}: the write of {} sectors at sector {} is not possible on {shown}: {misplaced}",
                    request.sectors, request.sector
                ))
            })
        })?;
        Ok(plan)
    }

    /// Resets what is to be reset.
    ///
    /// # Errors
    /// If the device does not.
    pub(crate) fn begin(&self, target: &Target) -> Result<(), ReplayError> {
        let Some(file) = target.data() else {
            return Ok(());
        };
        for &(start, sectors) in &self.reset {
            calls::reset_zones(file, start, sectors).map_err(|source| ReplayError::Io {
                path: target.path().to_owned(),
                action: "reset a zone",
                source,
            })?;
        }
        Ok(())
    }
}

/// Calls `see` with every write of a load, as the target gets it.
fn for_each_write(
    load: &Load,
    mut fitter: Fitter,
    mut see: impl FnMut(Place, &Request) -> Result<(), ReplayError>,
) -> Result<(), ReplayError> {
    let mut reader = input::open_load(&load.path, &load.reading)?;
    let mut batch = Batch::default();
    while reader.next_batch(&mut batch)? > 0 {
        for row in 0..batch.len() {
            let mut request = batch.request(row);
            if is_write(&request) && fitter.apply(&mut request) {
                see(Place::of(&load.path, batch.place(row)), &request)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Writes;
    use crate::zones::{Writable, Zone, ZoneOptions};
    use iosonar_trace::Reading;
    use iosonar_units::Bytes;

    /// What is planned for a load, in blkreplay's format, on two zones of 100 sectors. The write pointer of the second one
    /// is at sector 108.
    fn plan(load: &str, options: &Options) -> Result<ZonePlan, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.load");
        std::fs::write(&path, load).unwrap();
        let zone = |start, pointer| Zone {
            start,
            next: start + 100,
            end: start + 100,
            writable: Writable::At(pointer),
            is_active: pointer > start,
        };
        let zones = Zones::new(vec![zone(0, 0), zone(100, 108)], None, 1);
        let load = Load::scanned(&path, &Reading::default(), options.writes).unwrap();
        let target = Target::imaginary(Bytes::new(200 * 512), Bytes::new(512));
        let fitter = fitter(&load, &target, options);
        let plan = ZonePlan::of(&zones, &load, &target, fitter, options);
        plan.map_err(|e| {
            e.to_string()
                .replace(&format!("{}/", folder.path().display()), "")
        })
    }

    fn options(append: bool, reset: bool) -> Options {
        Options {
            writes: Writes::Do,
            zones: ZoneOptions { append, reset },
            ..Options::default()
        }
    }

    #[test]
    fn a_load_in_order_needs_nothing() {
        let load = "0 ; 0 ; 8 ; W\n1 ; 50 ; 8 ; R\n2 ; 108 ; 8 ; W\n3 ; 8 ; 8 ; W\n";
        assert_eq!(plan(load, &options(false, false)).unwrap().reset, []);
    }

    #[test]
    fn the_first_write_out_of_order_is_named_with_its_line() {
        let load = "0 ; 0 ; 8 ; W\n1 ; 50 ; 8 ; R\n2 ; 16 ; 8 ; W\n3 ; 40 ; 8 ; W\n";
        let refused = plan(load, &options(false, false)).unwrap_err();
        for part in [
            "refused: x.load:3: the write of 8 sectors at sector 16 is not possible on (none)",
            "the zone at sector 0 must be written sequentially",
            "write pointer will be at sector 8",
            "--zone-append",
        ] {
            assert!(refused.contains(part), "{part}: {refused}");
        }
    }

    #[test]
    fn only_zones_that_are_written_to_and_hold_something_are_reset() {
        let load = "0 ; 0 ; 8 ; W\n1 ; 100 ; 8 ; W\n2 ; 108 ; 8 ; W\n";
        assert!(plan(load, &options(false, false)).is_err());
        let planned = plan(load, &options(false, true)).unwrap();
        assert_eq!(planned.reset, [(100, 100)]);
        assert_eq!(
            plan("0 ; 0 ; 8 ; W\n", &options(false, true))
                .unwrap()
                .reset,
            []
        );
    }

    #[test]
    fn what_is_appended_may_be_in_any_order_until_the_zone_is_full() {
        let load = "0 ; 60 ; 40 ; W\n1 ; 0 ; 40 ; W\n2 ; 30 ; 20 ; W\n3 ; 90 ; 1 ; W\n";
        let refused = plan(load, &options(true, false)).unwrap_err();
        assert!(refused.contains("x.load:4: "), "{refused}");
        assert!(refused.contains("has no room for it"), "{refused}");
        let all_but_the_last = load.rsplit_once("3 ;").unwrap().0;
        assert!(plan(all_but_the_last, &options(true, false)).is_ok());
    }

    #[test]
    fn conflicts_that_keep_no_order_are_refused() {
        for (conflicts, keeps_order) in [
            (Conflicts::Allow, false),
            (Conflicts::Drop, false),
            (Conflicts::PartialLoose, false),
            (Conflicts::Partial, true),
            (Conflicts::Order, true),
        ] {
            let options = Options {
                conflicts,
                ..options(false, false)
            };
            let planned = plan("0 ; 0 ; 8 ; W\n", &options);
            assert_eq!(planned.is_ok(), keeps_order, "{conflicts:?}");
        }
    }

    /// A target of two zones of 100 sectors, the second of which is sequential or conventional like the first; or of none.
    fn target(second: Option<Writable>) -> Target {
        let mut target = Target::imaginary(Bytes::new(200 * 512), Bytes::new(512));
        let zone = |start, writable| Zone {
            start,
            next: start + 100,
            end: start + 100,
            writable,
            is_active: false,
        };
        target.zones = second.map(|second| {
            let zones = vec![zone(0, Writable::Anywhere), zone(100, second)];
            Zones::new(zones, None, 1)
        });
        target
    }

    fn load_of(text: &str, writes: Writes) -> (tempfile::TempDir, Load) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.load");
        std::fs::write(&path, text).unwrap();
        let load = Load::scanned(&path, &Reading::default(), writes).unwrap();
        (folder, load)
    }

    const WRITES: &str = "0 ; 100 ; 8 ; W\n1 ; 8 ; 8 ; R\n";
    const READS: &str = "0 ; 100 ; 8 ; R\n";

    #[test]
    fn there_is_a_plan_where_sequential_zones_are_written_to() {
        let (sequential, conventional) = (Some(Writable::At(100)), Some(Writable::Anywhere));
        let skips = Options {
            writes: Writes::Skip,
            ..options(false, false)
        };
        for (zones, load, options, has_plan) in [
            (sequential, WRITES, &options(false, false), true),
            (sequential, WRITES, &options(true, true), true),
            (sequential, WRITES, &skips, false),
            (sequential, READS, &options(false, false), false),
            (sequential, READS, &options(true, true), false),
            (conventional, WRITES, &options(false, false), false),
            (conventional, READS, &options(true, false), false),
            (None, WRITES, &options(false, false), false),
            (None, READS, &options(false, true), false),
        ] {
            let (_folder, load) = load_of(load, options.writes);
            let mut target = target(zones);
            target.plan_zones(&load, options).unwrap();
            assert_eq!(target.zone_plan().is_some(), has_plan, "{zones:?} {load:?}");
            assert!(target.check_zone_plan(&load, options).is_ok());
        }
    }

    #[test]
    fn options_for_zones_are_refused_where_none_is_written_in_order() {
        let (_folder, load) = load_of(WRITES, Writes::Do);
        for zones in [None, Some(Writable::Anywhere)] {
            for options in [options(true, false), options(false, true)] {
                let refused = target(zones).plan_zones(&load, &options).unwrap_err();
                let refused = refused.to_string();
                assert!(refused.contains("remove --zone-append"), "{refused}");
            }
        }
    }

    #[test]
    fn a_load_that_cannot_be_read_in_advance_may_write() {
        let (_folder, mut load) = load_of(READS, Writes::Do);
        load.scan.is_known = false;
        let mut target = target(Some(Writable::At(100)));
        let refused = target.plan_zones(&load, &options(false, false));
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("only a load in a file"), "{refused}");
    }

    #[test]
    fn writes_to_sequential_zones_need_a_plan() {
        let target = target(Some(Writable::At(100)));
        let options = options(false, false);
        for (load, needs_a_plan) in [(WRITES, true), (READS, false)] {
            let (_folder, load) = load_of(load, Writes::Do);
            let checked = target.check_zone_plan(&load, &options);
            assert_eq!(checked.is_err(), needs_a_plan);
        }
    }

    #[test]
    fn a_zone_that_cannot_be_reset_ends_the_replay() {
        // A file has no zones.
        let file = tempfile::tempfile().unwrap();
        let (size, block) = (Bytes::new(200 * 512), Bytes::new(512));
        let mut target = Target::simulated(file, size, block, false);
        assert!(target.begin_zones().is_ok(), "there is nothing to do");
        let plan = plan("0 ; 100 ; 8 ; W\n", &options(false, true)).unwrap();
        assert_eq!(plan.reset, [(100, 100)]);
        target.zone_plan = Some(plan);
        let failed = target.begin_zones().unwrap_err().to_string();
        assert!(failed.contains("reset a zone"), "{failed}");
    }
}
