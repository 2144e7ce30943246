//! Zoned block devices: where writes may go.
//!
//! A sequential zone is written from its beginning on, each write at the *write pointer*, where the one before it
//! ended (host-managed disks, ZBC and ZAC; NVMe zoned namespaces). A reset moves the pointer back to the beginning, and
//! what the zone held is lost.
//!
//! ```text
//!  zone   |=== written ===|--- free ---|  no capacity |
//!         start     pointer            end            start of the next
//! ```
//!
//! Whether a load's writes may go to such zones depends on nothing but the load and the pointers, so it is found out
//! before anything is written ([`zone_plan`](crate::zone_plan)). The device must then see the writes of a zone in their order. Only one of them is
//! in flight at a time ([`Gate`](crate::conflicts::Gate)): a ring may pass a request to a worker of the kernel, which takes
//! it out of its order even where the kernel itself delays the writes of a zone (zone write plugging, Linux 6.10).

mod report;

use std::fmt;

use iosonar_trace::{Op, Request};
use iosonar_units::SECTOR_BYTES;
use serde::{Deserialize, Serialize};

pub(crate) use report::report;

/// The zones of a target, and what is done to them before a replay.
#[derive(Clone, Debug)]
pub(crate) struct ZonePlan {
    /// As they are when the replay begins.
    pub(crate) zones: Zones,
    /// Those that are reset before it: first sectors, and lengths.
    pub(crate) reset: Vec<(u64, u64)>,
    /// Whether writes go to the write pointers.
    pub(crate) append: bool,
}

/// How writes to the sequential zones of a zoned block device are done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ZoneOptions {
    /// They go to the write pointer of their zone, wherever in the zone the load has them.
    #[serde(rename = "zone_append")]
    pub append: bool,
    /// The zones that the load writes to are reset before the replay.
    #[serde(rename = "reset_zones")]
    pub reset: bool,
}

/// Where in a zone can be written. Places are in sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writable {
    /// Anywhere, in any order.
    Anywhere,
    /// At this sector only.
    At(u64),
    /// Nowhere.
    Never(Condition),
}

/// Why a zone takes no writes at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    ReadOnly,
    Offline,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Zone {
    pub(crate) start: u64,
    /// Where the next one starts.
    pub(crate) next: u64,
    /// Where its capacity ends, which is not after `next`.
    pub(crate) end: u64,
    pub(crate) writable: Writable,
    /// Whether it takes one of the device's resources for zones that are written to.
    pub(crate) is_active: bool,
}

/// All zones of a device.
#[derive(Clone, Debug)]
pub(crate) struct Zones {
    /// In the order of their places, without gaps.
    all: Vec<Zone>,
    active: u64,
    /// The most zones that may be partly written at a time; `None` if there is no limit.
    most_active: Option<u64>,
    /// What the place and length of a write to a sequential zone must be a multiple of.
    granularity: u64,
}

/// Why a write must not go where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misplaced {
    /// It is not at the write pointer.
    NotAtPointer {
        start: u64,
        pointer: u64,
    },
    /// It begins in a sequential zone and goes on in the next zone, or begins before one and reaches into it.
    CrossesZones {
        boundary: u64,
    },
    /// The zone has no room for it.
    Full {
        start: u64,
        pointer: u64,
        end: u64,
    },
    Never {
        start: u64,
        condition: Condition,
    },
    TooManyActive {
        most: u64,
    },
    NotGranular {
        granularity: u64,
    },
}

impl Zones {
    pub(crate) fn new(all: Vec<Zone>, most_active: Option<u64>, granularity: u64) -> Self {
        debug_assert!(all.is_sorted_by(|a, b| a.next == b.start));
        Self {
            active: all.iter().filter(|zone| zone.is_active).count() as u64,
            all,
            most_active,
            granularity: granularity.max(1),
        }
    }

    /// Whether there is a zone that must be written in order.
    pub(crate) fn is_sequential(&self) -> bool {
        let mut zones = self.all.iter();
        zones.any(|zone| zone.writable != Writable::Anywhere)
    }

    fn index(&self, sector: u64) -> Option<usize> {
        let after = self.all.partition_point(|zone| zone.start <= sector);
        let index = after.checked_sub(1)?;
        (sector < self.all[index].next).then_some(index)
    }

    /// The range of the sequential zone that this request writes to; `None` if order does not matter to it.
    #[inline]
    pub(crate) fn ordered(&self, request: &Request) -> Option<(u64, u64)> {
        if !is_write(request) {
            return None;
        }
        let zone = self.all[self.index(request.sector.get())?];
        (zone.writable != Writable::Anywhere).then_some((zone.start, zone.next))
    }

    /// The byte at which the sequential zone that holds this byte starts.
    #[inline]
    pub(crate) fn start_of_sequential(&self, byte: u64) -> Option<u64> {
        let zone = self.all[self.index(byte / SECTOR_BYTES)?];
        (zone.writable != Writable::Anywhere).then_some(zone.start * SECTOR_BYTES)
    }

    /// The zone that a write is to is as after a reset. Returns where it starts and its length if it was not before.
    pub(crate) fn reset(&mut self, request: &Request) -> Option<(u64, u64)> {
        let index = self.index(request.sector.get())?;
        let zone = &mut self.all[index];
        match zone.writable {
            Writable::At(pointer) if pointer > zone.start || zone.is_active => {
                zone.writable = Writable::At(zone.start);
                self.active -= u64::from(std::mem::take(&mut zone.is_active));
                Some((zone.start, zone.next - zone.start))
            }
            _ => None,
        }
    }

    /// Does a write, where it is, or with `append` at the write pointer of the zone where it begins. Returns where.
    pub(crate) fn write(&mut self, request: &Request, append: bool) -> Result<u64, Misplaced> {
        let (sector, length) = (request.sector.get(), u64::from(request.sectors.get()));
        // Beyond the last zone the device itself refuses.
        let Some(index) = self.index(sector) else {
            return Ok(sector);
        };
        let zone = self.all[index];
        let start = zone.start;
        let pointer = match zone.writable {
            Writable::At(pointer) => pointer,
            Writable::Never(condition) => return Err(Misplaced::Never { start, condition }),
            Writable::Anywhere => {
                let crosses = |zone: &&Zone| {
                    zone.writable != Writable::Anywhere && zone.start < sector + length
                };
                return match self.all[index..].iter().find(crosses) {
                    Some(zone) => Err(Misplaced::CrossesZones {
                        boundary: zone.start,
                    }),
                    None => Ok(sector),
                };
            }
        };
        let at = if append { pointer } else { sector };
        if !append && sector + length > zone.next {
            return Err(Misplaced::CrossesZones {
                boundary: zone.next,
            });
        }
        if pointer >= zone.end || at == pointer && pointer + length > zone.end {
            let end = zone.end;
            return Err(Misplaced::Full {
                start,
                pointer,
                end,
            });
        }
        if at != pointer {
            return Err(Misplaced::NotAtPointer { start, pointer });
        }
        if (at | length) % self.granularity != 0 {
            return Err(Misplaced::NotGranular {
                granularity: self.granularity,
            });
        }
        if !zone.is_active {
            if let Some(most) = self.most_active.filter(|most| self.active >= *most) {
                return Err(Misplaced::TooManyActive { most });
            }
            self.active += 1;
        }
        let zone = &mut self.all[index];
        zone.writable = Writable::At(at + length);
        zone.is_active = at + length < zone.end;
        self.active -= u64::from(!zone.is_active);
        Ok(at)
    }
}

/// Whether a request moves the write pointer of a sequential zone. A discard does not.
pub(crate) fn is_write(request: &Request) -> bool {
    matches!(request.op, Op::Write | Op::WriteZeroes) && request.sectors.get() > 0
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadOnly => "read-only",
            Self::Offline => "offline",
        })
    }
}

/// What is wrong, and what to do about it.
impl fmt::Display for Misplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAtPointer { start, pointer } => write!(
                f,
                "the zone at sector {start} must be written sequentially, and its write pointer will be at sector \
                 {pointer}; use --zone-append to write there instead, --reset-zones to reset the zones that the load \
                 writes to (their data is lost), or --skip-writes to leave out the writes"
            ),
            Self::CrossesZones { boundary } => write!(
                f,
                "it crosses the boundary of a sequential zone at sector {boundary}; shorten the write, or \
                 choose a target with different zones"
            ),
            Self::Full {
                start,
                pointer,
                end,
            } => write!(
                f,
                "the zone at sector {start} has no room for it: its write pointer will be at sector {pointer}, \
                 and its capacity ends at sector {end}; use --reset-zones to reset the zones that the load \
                 writes to (their data is lost), or replay a shorter part of the load (--duration)"
            ),
            Self::Never { start, condition } => write!(
                f,
                "the zone at sector {start} is {condition}; choose another part of the device or another target"
            ),
            Self::TooManyActive { most } => write!(
                f,
                "more than {most} zones would be partly written, but this device allows only {most} \
                 (queue/max_active_zones); use --reset-zones to reset the zones that the load writes to (their data is \
                 lost), or reset other zones (blkzone reset)"
            ),
            Self::NotGranular { granularity } => write!(
                f,
                "writes to sequential zones of this device must be multiples of {granularity} sectors \
                 (queue/zone_write_granularity); change the lengths of the load's writes"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_units::{Sector, Sectors};

    pub(super) fn write(sector: u64, sectors: u32) -> Request {
        Request {
            op: Op::Write,
            sector: Sector::new(sector),
            sectors: Sectors::new(sectors),
            ..Request::default()
        }
    }

    /// A conventional zone and three sequential ones of 100 sectors, of which 80 can be written; the last is read-only.
    fn zones(most_active: Option<u64>) -> Zones {
        let zone = |number: u64, writable| Zone {
            start: number * 100,
            next: (number + 1) * 100,
            end: number * 100 + 80,
            writable,
            is_active: false,
        };
        let conventional = Zone {
            end: 100,
            ..zone(0, Writable::Anywhere)
        };
        let last = zone(3, Writable::Never(Condition::ReadOnly));
        let sequential = |number| zone(number, Writable::At(number * 100));
        Zones::new(
            vec![conventional, sequential(1), sequential(2), last],
            most_active,
            4,
        )
    }

    #[test]
    fn a_conventional_zone_is_written_anywhere() {
        let mut zones = zones(None);
        for sector in [50, 7, 50] {
            assert_eq!(zones.write(&write(sector, 3), false), Ok(sector));
        }
        let boundary = 100;
        let crossing = zones.write(&write(96, 8), false);
        assert_eq!(crossing, Err(Misplaced::CrossesZones { boundary }));
    }

    #[test]
    fn a_sequential_zone_is_written_at_its_pointer_only() {
        let mut zones = zones(None);
        assert_eq!(zones.write(&write(100, 8), false), Ok(100));
        assert_eq!(zones.write(&write(108, 8), false), Ok(108));
        for elsewhere in [100, 108, 120] {
            let (start, pointer) = (100, 116);
            assert_eq!(
                zones.write(&write(elsewhere, 8), false),
                Err(Misplaced::NotAtPointer { start, pointer })
            );
        }
        assert_eq!(zones.write(&write(200, 8), false), Ok(200), "another zone");
        assert_eq!(zones.write(&write(116, 8), false), Ok(116));
        let wrong = zones.write(&write(124, 2), false);
        assert_eq!(wrong, Err(Misplaced::NotGranular { granularity: 4 }));
    }

    #[test]
    fn a_zone_is_full_at_its_capacity_and_empty_after_a_reset() {
        let mut zones = zones(None);
        assert_eq!(zones.write(&write(100, 76), false), Ok(100));
        let full = |pointer| {
            Err(Misplaced::Full {
                start: 100,
                pointer,
                end: 180,
            })
        };
        assert_eq!(zones.write(&write(176, 8), false), full(176));
        assert_eq!(zones.write(&write(176, 4), false), Ok(176));
        assert_eq!(zones.write(&write(180, 4), false), full(180));
        assert_eq!(zones.write(&write(100, 4), true), full(180));
        assert_eq!(zones.reset(&write(150, 4)), Some((100, 100)));
        assert_eq!(zones.reset(&write(150, 4)), None, "it is empty");
        assert_eq!(zones.write(&write(100, 4), false), Ok(100));
    }

    #[test]
    fn what_is_appended_goes_to_the_pointer_of_its_zone() {
        let mut zones = zones(None);
        let mut places = Vec::new();
        for sector in [172, 200, 100, 196, 0] {
            places.push(zones.write(&write(sector, 8), true).unwrap());
        }
        assert_eq!(places, [100, 200, 108, 116, 0]);
    }

    #[test]
    fn a_device_has_so_many_active_zones_and_no_more() {
        let mut zones = zones(Some(1));
        assert_eq!(zones.write(&write(100, 40), false), Ok(100));
        let second = zones.write(&write(200, 8), false);
        assert_eq!(second, Err(Misplaced::TooManyActive { most: 1 }));
        assert_eq!(zones.write(&write(140, 40), false), Ok(140), "full now");
        assert_eq!(zones.write(&write(200, 8), false), Ok(200));
    }

    #[test]
    fn a_zone_that_takes_no_writes_says_so() {
        let refused = zones(None).write(&write(300, 8), true).unwrap_err();
        assert!(refused.to_string().contains("is read-only"), "{refused}");
    }

    #[test]
    fn only_writes_to_sequential_zones_are_ordered() {
        let zones = zones(None);
        assert_eq!(zones.ordered(&write(150, 8)), Some((100, 200)));
        assert_eq!(zones.ordered(&write(50, 8)), None);
        let read = Request {
            op: Op::Read,
            ..write(150, 8)
        };
        assert_eq!(zones.ordered(&read), None);
    }

    #[test]
    fn zones_are_sequential_if_one_of_them_is() {
        let conventional = |start| Zone {
            start,
            next: start + 100,
            end: start + 100,
            writable: Writable::Anywhere,
            is_active: false,
        };
        let offline = Zone {
            writable: Writable::Never(Condition::Offline),
            ..conventional(100)
        };
        for (second, is_sequential) in [(conventional(100), false), (offline, true)] {
            let zones = Zones::new(vec![conventional(0), second], None, 1);
            assert_eq!(zones.is_sequential(), is_sequential);
        }
        assert!(zones(None).is_sequential());
        assert!(!Zones::new(Vec::new(), None, 1).is_sequential());
    }

    #[test]
    fn a_byte_is_in_the_sequential_zone_that_starts_before_it() {
        let zones = zones(None);
        for (byte, start) in [
            (0, None),
            (100 * 512 - 1, None),
            (100 * 512, Some(100 * 512)),
            (199 * 512 + 511, Some(100 * 512)),
            (200 * 512, Some(200 * 512)),
            (399 * 512, Some(300 * 512)),
            (400 * 512, None),
        ] {
            assert_eq!(zones.start_of_sequential(byte), start, "{byte}");
        }
    }

    #[test]
    fn a_write_may_end_where_a_zone_does() {
        for (sector, sectors, at) in [
            (92, 8, Ok(92)),
            (92, 9, Err(Misplaced::CrossesZones { boundary: 100 })),
            (100, 80, Ok(100)),
            (
                100,
                84,
                Err(Misplaced::Full {
                    start: 100,
                    pointer: 100,
                    end: 180,
                }),
            ),
            (196, 8, Err(Misplaced::CrossesZones { boundary: 200 })),
            (
                192,
                8,
                Err(Misplaced::NotAtPointer {
                    start: 100,
                    pointer: 100,
                }),
            ),
            // The device itself refuses what is beyond its end.
            (400, 8, Ok(400)),
        ] {
            let written = zones(None).write(&write(sector, sectors), false);
            assert_eq!(written, at, "{sector} {sectors}");
        }
    }

    #[test]
    fn a_place_and_a_length_are_multiples_of_the_granularity() {
        let refused = Err(Misplaced::NotGranular { granularity: 4 });
        for (first, second, at) in [(4, 4, Ok(104)), (8, 6, refused), (8, 12, Ok(108))] {
            let mut zones = zones(None);
            zones.write(&write(100, first), false).unwrap();
            let at_pointer = write(100 + u64::from(first), second);
            assert_eq!(zones.write(&at_pointer, false), at);
        }
        let any = Zones::new(
            vec![Zone {
                start: 0,
                next: 10,
                end: 10,
                writable: Writable::At(0),
                is_active: false,
            }],
            None,
            0,
        );
        assert_eq!(any.clone().write(&write(0, 3), false), Ok(0));
    }

    #[test]
    fn zones_are_active_while_they_are_partly_written() {
        let mut zones = zones(Some(2));
        assert_eq!(zones.active, 0);
        for (sector, sectors, active) in [
            (0, 8, 0),
            (100, 8, 1),
            (108, 8, 1),
            (200, 8, 2),
            (116, 64, 1),
            (208, 72, 0),
        ] {
            zones.write(&write(sector, sectors), false).unwrap();
            assert_eq!(zones.active, active, "{sector}");
        }
        assert_eq!(zones.reset(&write(100, 4)), Some((100, 100)), "full");
        assert_eq!(zones.active, 0);
        // One that is written whole at once is not in the way of others.
        zones.write(&write(100, 80), false).unwrap();
        assert_eq!(zones.active, 0);
        zones.reset(&write(100, 4));
        zones.write(&write(100, 8), false).unwrap();
        assert_eq!(
            (zones.active, zones.reset(&write(199, 1))),
            (1, Some((100, 100)))
        );
        assert_eq!(zones.active, 0);
        // Neither conventional zones nor those that take no writes are reset, nor what is beyond the last.
        for sector in [0, 300, 400] {
            assert_eq!(zones.reset(&write(sector, 4)), None);
        }
    }

    #[test]
    fn a_zone_that_was_opened_and_not_written_is_reset() {
        let opened = Zone {
            start: 0,
            next: 10,
            end: 10,
            writable: Writable::At(0),
            is_active: true,
        };
        let mut zones = Zones::new(vec![opened], Some(1), 1);
        assert_eq!(zones.active, 1);
        // It has its place among the active ones already.
        assert_eq!(zones.clone().write(&write(0, 4), false), Ok(0));
        assert_eq!(zones.reset(&write(3, 4)), Some((0, 10)));
        assert_eq!((zones.active, zones.reset(&write(3, 4))), (0, None));
    }

    #[test]
    fn a_request_moves_a_pointer_if_it_writes_something() {
        for (op, sectors, writes) in [
            (Op::Write, 1, true),
            (Op::WriteZeroes, 1, true),
            (Op::Write, 0, false),
            (Op::Read, 1, false),
            (Op::Discard, 1, false),
            (Op::Flush, 1, false),
        ] {
            let request = Request {
                op,
                ..write(100, sectors)
            };
            assert_eq!(is_write(&request), writes, "{op:?}");
            let ordered = writes.then_some((100, 200));
            assert_eq!(zones(None).ordered(&request), ordered);
        }
        for (sector, ordered) in [(99, None), (100, Some((100, 200))), (399, Some((300, 400)))] {
            assert_eq!(zones(None).ordered(&write(sector, 1)), ordered);
        }
    }

    #[test]
    fn a_place_and_a_length_that_are_amiss_by_the_same_do_not_make_up_for_each_other() {
        let begun = Zone {
            start: 100,
            next: 200,
            end: 200,
            writable: Writable::At(102),
            is_active: true,
        };
        let mut zones = Zones::new(vec![begun], None, 4);
        for length in [2, 4, 6] {
            let refused = zones.write(&write(102, length), false);
            assert_eq!(refused, Err(Misplaced::NotGranular { granularity: 4 }));
        }
    }
}
