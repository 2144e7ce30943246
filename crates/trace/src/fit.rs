//! Requests that do not fit a target (a device, a file, a simulated array): beyond its end, or not aligned to its
//! blocks. A replay and a simulation of the same load change them in the same way.

use iosonar_units::{Sector, Sectors};

use crate::{Op, Request};

/// What happens to requests beyond the target's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(into = "BeyondFlags", try_from = "BeyondFlags")
)]
pub enum Beyond {
    /// The load is refused.
    #[default]
    Refuse,
    /// Sector modulo size; what would span the end then is moved back to the end.
    Wrap,
    /// They are cut off at the end, or left out.
    Clip,
    /// All positions are scaled so that the load fills the target.
    Scale,
}

/// The same as it is written: a key for each.
#[derive(Clone, Copy, Default)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
struct BeyondFlags {
    wrap: bool,
    clip: bool,
    fit: bool,
}

impl From<Beyond> for BeyondFlags {
    fn from(beyond: Beyond) -> Self {
        Self {
            wrap: beyond == Beyond::Wrap,
            clip: beyond == Beyond::Clip,
            fit: beyond == Beyond::Scale,
        }
    }
}

impl TryFrom<BeyondFlags> for Beyond {
    type Error = &'static str;

    fn try_from(flags: BeyondFlags) -> Result<Self, Self::Error> {
        match (flags.wrap, flags.clip, flags.fit) {
            (false, false, false) => Ok(Self::Refuse),
            (true, false, false) => Ok(Self::Wrap),
            (false, true, false) => Ok(Self::Clip),
            (false, false, true) => Ok(Self::Scale),
            _ => Err("'wrap', 'clip' and 'fit' cannot be combined"),
        }
    }
}

/// What happens to requests that do not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct Fit {
    /// Those beyond the target's end.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub beyond: Beyond,
    /// Whether requests that are not aligned to the target's blocks are widened to whole blocks;
    /// otherwise the load is refused.
    pub align: bool,
}

/// How often something was changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fitted {
    /// Requests moved by the target's size, or a multiple.
    pub wrapped: u64,
    /// Of those, requests that spanned the end and were moved back.
    pub moved_back: u64,
    /// Requests cut off at the end.
    pub clipped: u64,
    /// Requests left out because they lie beyond the end.
    pub left_out: u64,
    /// Requests widened to whole blocks.
    pub aligned: u64,
    /// Requests whose position was scaled.
    pub scaled: u64,
}

impl Fitted {
    /// Whether no request was changed.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Makes requests fit a target.
#[derive(Clone, Copy, Debug)]
pub struct Fitter {
    fit: Fit,
    /// The target's, in whole blocks.
    sectors: u64,
    /// A power of two.
    block: u64,
    /// Where the load ends.
    load_end: u64,
    fitted: Fitted,
}

impl Fitter {
    /// For a target of `sectors` sectors, in blocks of `block` sectors (a power of two), and a load that ends at
    /// `load_end`, which [`Beyond::Scale`] scales by.
    pub fn new(fit: Fit, sectors: u64, block: u64, load_end: u64) -> Self {
        Self {
            fit,
            sectors: sectors & !(block - 1),
            block,
            load_end,
            fitted: Fitted::default(),
        }
    }

    /// The target's sectors, in whole blocks.
    pub fn target_sectors(&self) -> u64 {
        self.sectors
    }

    /// What happens to requests beyond the end.
    pub fn beyond(&self) -> Beyond {
        self.fit.beyond
    }

    /// Where the load ends.
    pub fn load_end(&self) -> u64 {
        self.load_end
    }

    /// Whether it changes nothing.
    pub fn is_idle(&self) -> bool {
        !self.fit.align && (self.fit.beyond == Beyond::Refuse || self.load_end <= self.sectors)
    }

    /// What it has changed.
    pub fn fitted(&self) -> Fitted {
        self.fitted
    }

    /// The longest that a request of `longest` can become, at most `most`.
    pub fn longest(&self, longest: Sectors, most: Sectors) -> Sectors {
        match self.fit.align {
            // One block more at either side, as far as they are not covered.
            true => Sectors::new(longest.get().saturating_add(2 * self.block as u32 - 2)).min(most),
            false => longest,
        }
    }

    /// Makes `request` fit; `false` if it is left out.
    pub fn apply(&mut self, request: &mut Request) -> bool {
        if request.op == Op::Flush {
            // Wherever it is said to be, it means the whole device.
            request.sector = Sector::new(0);
            request.sectors = Sectors::new(0);
            return true;
        }
        let (mut sector, mut sectors) = (request.sector.get(), u64::from(request.sectors.get()));
        if self.fit.beyond == Beyond::Scale && self.load_end > self.sectors {
            let scaled = u128::from(sector) * u128::from(self.sectors) / u128::from(self.load_end);
            // The unit of the load's own alignment is kept where the target needs it.
            sector = scaled as u64 & !(self.block - 1) | sector & (self.block - 1);
            self.fitted.scaled += 1;
        }
        let mask = self.block - 1;
        if self.fit.align && (sector | sectors) & mask != 0 {
            let end = (sector + sectors + mask) & !mask;
            sector &= !mask;
            sectors = end - sector;
            self.fitted.aligned += 1;
        }
        match self.fit.beyond {
            _ if sector + sectors <= self.sectors => {}
            Beyond::Refuse => {}
            Beyond::Clip => {
                if sector >= self.sectors {
                    self.fitted.left_out += 1;
                    return false;
                }
                sectors = self.sectors - sector;
                self.fitted.clipped += 1;
            }
            Beyond::Wrap | Beyond::Scale => {
                // A target may be smaller than one of its blocks.
                if sectors > self.sectors || self.sectors == 0 {
                    self.fitted.left_out += 1;
                    return false;
                }
                if sector >= self.sectors {
                    self.fitted.wrapped += 1;
                }
                sector %= self.sectors;
                if sector + sectors > self.sectors {
                    sector = self.sectors - sectors;
                    self.fitted.moved_back += 1;
                }
            }
        }
        request.sector = Sector::new(sector);
        request.sectors = Sectors::new(sectors as u32);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(fit: Fit, sector: u64, sectors: u32) -> Option<(u64, u32)> {
        let mut fitter = Fitter::new(fit, 1003, 8, 4000);
        let mut request = Request {
            sector: Sector::new(sector),
            sectors: Sectors::new(sectors),
            ..Request::default()
        };
        fitter
            .apply(&mut request)
            .then(|| (request.sector.get(), request.sectors.get()))
    }

    #[test]
    fn what_wraps_comes_back_from_the_beginning_and_never_spans_the_end() {
        let fit = Fit {
            beyond: Beyond::Wrap,
            align: false,
        };
        assert_eq!(fitted(fit, 992, 8), Some((992, 8)));
        assert_eq!(fitted(fit, 1000, 8), Some((0, 8)), "1000 whole sectors");
        assert_eq!(fitted(fit, 2008, 8), Some((8, 8)));
        assert_eq!(fitted(fit, 1992, 16), Some((984, 16)), "moved back");
        assert_eq!(fitted(fit, 0, 1001), None);
        let mut of_nothing = Fitter::new(fit, 7, 8, 4000);
        for sectors in [0, 8] {
            let mut request = Request {
                sectors: Sectors::new(sectors),
                sector: Sector::new(8),
                ..Request::default()
            };
            assert!(!of_nothing.apply(&mut request), "{sectors}");
        }
    }

    #[test]
    fn what_is_clipped_ends_at_the_end() {
        let fit = Fit {
            beyond: Beyond::Clip,
            align: false,
        };
        assert_eq!(fitted(fit, 992, 24), Some((992, 8)));
        assert_eq!(fitted(fit, 1000, 8), None);
    }

    #[test]
    fn what_is_scaled_keeps_its_order_and_lies_within() {
        let fit = Fit {
            beyond: Beyond::Scale,
            align: false,
        };
        assert_eq!(fitted(fit, 0, 8), Some((0, 8)));
        assert_eq!(fitted(fit, 2000, 8), Some((496, 8)));
        assert_eq!(fitted(fit, 3992, 8), Some((992, 8)));
    }

    #[test]
    fn what_is_aligned_covers_what_was_asked_for() {
        let fit = Fit {
            beyond: Beyond::Refuse,
            align: true,
        };
        assert_eq!(fitted(fit, 9, 1), Some((8, 8)));
        assert_eq!(fitted(fit, 7, 2), Some((0, 16)));
        assert_eq!(fitted(fit, 8, 8), Some((8, 8)));
    }

    #[test]
    fn what_happens_beyond_the_end_is_written_as_at_most_one_word() {
        for (beyond, words) in [
            (Beyond::Refuse, (false, false, false)),
            (Beyond::Wrap, (true, false, false)),
            (Beyond::Clip, (false, true, false)),
            (Beyond::Scale, (false, false, true)),
        ] {
            let flags = BeyondFlags::from(beyond);
            assert_eq!((flags.wrap, flags.clip, flags.fit), words);
            assert_eq!(Beyond::try_from(flags), Ok(beyond));
        }
        for (wrap, clip, fit) in [(true, true, false), (true, false, true), (true, true, true)] {
            assert!(Beyond::try_from(BeyondFlags { wrap, clip, fit }).is_err());
        }
    }

    #[test]
    fn a_fitter_says_what_it_was_made_for() {
        let fit = Fit {
            beyond: Beyond::Clip,
            align: false,
        };
        let fitter = Fitter::new(fit, 1003, 8, 4000);
        // 125 whole blocks.
        assert_eq!(fitter.target_sectors(), 1000);
        assert_eq!((fitter.beyond(), fitter.load_end()), (Beyond::Clip, 4000));
    }

    #[test]
    fn only_a_load_that_is_aligned_and_ends_beyond_the_end_is_changed() {
        for (beyond, align, load_end, is_idle) in [
            (Beyond::Refuse, false, 4000, true),
            (Beyond::Wrap, false, 1000, true),
            (Beyond::Wrap, false, 1001, false),
            (Beyond::Scale, false, 999, true),
            (Beyond::Refuse, true, 10, false),
            (Beyond::Clip, true, 4000, false),
        ] {
            let fitter = Fitter::new(Fit { beyond, align }, 1000, 8, load_end);
            assert_eq!(fitter.is_idle(), is_idle, "{beyond:?} {align} {load_end}");
        }
    }

    #[test]
    fn what_was_changed_is_counted() {
        let nothing = Fitted::default();
        assert!(nothing.is_nothing());
        for (beyond, align, requests, expected) in [
            // Within: 992 + 8 = 1000; wrapped: 1000, 1992; spans the end after it: 1992 + 16.
            (
                Beyond::Wrap,
                false,
                &[(992, 8), (1000, 8), (1992, 16), (0, 1001)][..],
                Fitted {
                    wrapped: 2,
                    moved_back: 1,
                    left_out: 1,
                    ..nothing
                },
            ),
            (
                Beyond::Clip,
                false,
                &[(0, 8), (992, 16), (999, 2), (1000, 1)],
                Fitted {
                    clipped: 2,
                    left_out: 1,
                    ..nothing
                },
            ),
            (
                Beyond::Refuse,
                true,
                &[(8, 8), (9, 1), (7, 2), (0, 3)],
                Fitted {
                    aligned: 3,
                    ..nothing
                },
            ),
            (
                Beyond::Scale,
                false,
                &[(0, 8), (2000, 8)],
                Fitted {
                    scaled: 2,
                    ..nothing
                },
            ),
        ] {
            let mut fitter = Fitter::new(Fit { beyond, align }, 1003, 8, 4000);
            for &(sector, sectors) in requests {
                fitter.apply(&mut Request {
                    sector: Sector::new(sector),
                    sectors: Sectors::new(sectors),
                    ..Request::default()
                });
            }
            assert_eq!(fitter.fitted(), expected);
            assert!(!fitter.fitted().is_nothing());
        }
    }

    #[test]
    fn an_aligned_request_grows_by_less_than_a_block_at_either_side() {
        let longest = |align, longest, most| {
            let fit = Fit {
                align,
                ..Fit::default()
            };
            let fitter = Fitter::new(fit, 1000, 8, 1000);
            let longest = fitter.longest(Sectors::new(longest), Sectors::new(most));
            longest.get()
        };
        assert_eq!(longest(false, 100, 1000), 100);
        // Two sectors may lie in two blocks: 7 + 2 + 7.
        assert_eq!(longest(true, 2, 1000), 16);
        assert_eq!(longest(true, 100, 1000), 114);
        assert_eq!(longest(true, 100, 105), 105);
        assert_eq!(longest(true, u32::MAX, u32::MAX), u32::MAX);
    }

    #[test]
    fn a_load_of_the_size_of_its_target_is_not_scaled_and_ranges_grow_to_whole_blocks() {
        let scale = Fit {
            beyond: Beyond::Scale,
            align: false,
        };
        for (load_end, sector, scaled) in [(1000, 500, 0), (1008, 500, 1), (2000, 252, 1)] {
            let mut fitter = Fitter::new(scale, 1000, 8, load_end);
            let mut request = Request {
                sector: Sector::new(500),
                sectors: Sectors::new(8),
                ..Request::default()
            };
            // 500 is 4 sectors beyond a block, and stays so: half of it is 250, of the block at 248.
            assert!(fitter.apply(&mut request));
            assert_eq!(request.sector.get(), sector, "{load_end}");
            assert_eq!(fitter.fitted().scaled, scaled, "{load_end}");
        }
        let align = Fit {
            beyond: Beyond::Refuse,
            align: true,
        };
        for (sector, sectors, aligned) in [
            (5, 4, (0, 16)),
            (3, 2, (0, 8)),
            (8, 8, (8, 8)),
            (8, 9, (8, 16)),
            (7, 1, (0, 8)),
            (7, 2, (0, 16)),
        ] {
            assert_eq!(
                fitted(align, sector, sectors),
                Some(aligned),
                "{sector} {sectors}"
            );
        }
    }

    #[test]
    fn what_ends_at_the_end_of_the_target_fits() {
        let wrap = Fit {
            beyond: Beyond::Wrap,
            align: false,
        };
        for (sector, sectors, place, wrapped, moved_back) in [
            (992, 8, 992, 0, 0),
            (993, 8, 992, 0, 1),
            (999, 1, 999, 0, 0),
            (1000, 8, 0, 1, 0),
            (1999, 2, 998, 1, 1),
            (0, 1000, 0, 0, 0),
            (500, 1000, 0, 0, 1),
        ] {
            let mut fitter = Fitter::new(wrap, 1000, 8, 4000);
            let mut request = Request {
                sector: Sector::new(sector),
                sectors: Sectors::new(sectors),
                ..Request::default()
            };
            assert!(fitter.apply(&mut request), "{sector} {sectors}");
            let fitted = fitter.fitted();
            assert_eq!(
                (request.sector.get(), fitted.wrapped, fitted.moved_back),
                (place, wrapped, moved_back),
                "{sector} {sectors}"
            );
        }
    }
}
