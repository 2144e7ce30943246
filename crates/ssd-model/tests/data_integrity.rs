//! Every logical page is where its last write went, whatever was cleaned meanwhile.

use std::collections::VecDeque;

use iosonar_ssd_model::ftl::{Cleaning, Filling, Medium, Nowhere, Plane, PlaneShape, Writer};
use proptest::prelude::*;

/// Flash that holds numbers: what was written to each slot since its block was erased.
struct Shadow {
    slots: Vec<Option<u64>>,
    slots_per_block: u32,
    slots_per_page: u32,
    /// What the host writes next.
    version: u64,
    taken: VecDeque<u64>,
    programmed: Vec<bool>,
    erases: u64,
}

impl Shadow {
    fn fill(&mut self, slot: u32, version: u64) {
        let place = &mut self.slots[slot as usize];
        assert!(place.is_none(), "slot {slot} is written without an erase");
        *place = Some(version);
        let first = slot / self.slots_per_block * self.slots_per_block;
        for before in first..slot {
            assert!(
                self.slots[before as usize].is_some(),
                "slots of a block are written in order: {before} before {slot}"
            );
        }
    }
}

impl Medium for Shadow {
    fn write(&mut self, slot: u32) {
        self.fill(slot, self.version);
    }

    fn program(&mut self, last_slot: u32, writer: Writer) {
        assert_eq!(
            (last_slot + 1) % self.slots_per_page,
            0,
            "whole pages are programmed"
        );
        let page = (last_slot / self.slots_per_page) as usize;
        assert!(!self.programmed[page], "a page is programmed once");
        self.programmed[page] = true;
        let (first, last) = (page * self.slots_per_page as usize, last_slot as usize);
        let slots = &mut self.slots[first..=last];
        assert!(slots[0].is_some(), "what is programmed holds something");
        let is_full = slots.iter().all(Option::is_some);
        assert!(is_full || writer == Writer::Host, "cleaning fills pages");
        for slot in slots {
            slot.get_or_insert(u64::MAX);
        }
    }

    fn take(&mut self, slot: u32) {
        self.taken
            .push_back(self.slots[slot as usize].expect("what is copied was written"));
    }

    fn put(&mut self, slot: u32) {
        let version = self.taken.pop_front().expect("what is put was taken");
        self.fill(slot, version);
    }

    fn erase(&mut self, block: u32) {
        self.erases += 1;
        let first = (block * self.slots_per_block) as usize;
        self.slots[first..first + self.slots_per_block as usize].fill(None);
        let pages = self.slots_per_block / self.slots_per_page;
        let first = (block * pages) as usize;
        self.programmed[first..first + pages as usize].fill(false);
    }

    fn cleaned(&mut self) {
        assert!(self.taken.is_empty(), "nothing stays in the buffer");
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Write(u32),
    /// Overwrites a few pages all the time.
    Hot(u32),
    /// From a page on, as many as these.
    Discard(u32, u32),
    /// Programs the last page although it may not be full.
    Close,
}

fn shapes() -> impl Strategy<Value = PlaneShape> {
    let cleaning = prop_oneof![
        Just(Cleaning::Greedy),
        Just(Cleaning::Fifo),
        Just(Cleaning::CostBenefit)
    ];
    let reserve = prop_oneof![Just(0_u32), 2..5_u32];
    let wear = prop_oneof![Just(None), (1..6_u32).prop_map(Some)];
    (
        8..24_u32,
        1..17_u32,
        prop_oneof![Just(1_u32), Just(2), Just(4)],
        0.05..0.98_f64,
        reserve,
        cleaning,
        wear,
    )
        .prop_map(
            |(blocks, pages, slots_per_page, share, reserve, cleaning, wear_levelling)| {
                let slots_per_block = pages * slots_per_page;
                let kept = if reserve == 0 { 0 } else { reserve + 2 };
                let room = (blocks - kept) * slots_per_block - 1;
                PlaneShape {
                    blocks,
                    slots_per_block,
                    slots_per_page,
                    logical_pages: ((f64::from(room) * share) as u32).max(1),
                    reserve,
                    cleaning,
                    wear_levelling,
                }
            },
        )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => any::<u32>().prop_map(Step::Write),
        4 => (0..4_u32).prop_map(Step::Hot),
        1 => any::<u32>().prop_map(|page| Step::Discard(page, 1)),
        1 => (any::<u32>(), 0..1000_u32).prop_map(|(page, count)| Step::Discard(page, count)),
        1 => Just(Step::Close),
    ];
    prop::collection::vec(step, 1..3_000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_page_is_where_its_last_write_went(
        shape in shapes(), steps in steps(),
        filling in prop_oneof![Just(Filling::Empty), Just(Filling::Sequential), Just(Filling::SteadyState)],
    ) {
        let mut plane = Plane::new(shape, filling).unwrap();
        let mut one_by_one = plane.clone();
        let slots = (shape.blocks * shape.slots_per_block) as usize;
        let mut shadow = Shadow {
            slots: vec![None; slots],
            slots_per_block: shape.slots_per_block,
            slots_per_page: shape.slots_per_page,
            version: 0,
            taken: VecDeque::new(),
            programmed: vec![false; slots],
            erases: 0,
        };
        // What the host knows: the version of each page. The filling's is the page's own number.
        let mut written: Vec<Option<u64>> = vec![None; shape.logical_pages as usize];
        if filling != Filling::Empty {
            // Blocks that were filled are full, with what is valid in front.
            for page in 0..shape.logical_pages {
                let slot = plane.locate(page).expect("all pages were written");
                shadow.slots[slot as usize] = Some(u64::from(page));
                written[page as usize] = Some(u64::from(page));
            }
            for block in shadow.slots.chunks_mut(shape.slots_per_block as usize) {
                if block.iter().any(Option::is_some) || filling == Filling::SteadyState {
                    for slot in block {
                        slot.get_or_insert(u64::MAX);
                    }
                }
            }
            // In the steady state the last blocks are the reserve.
            let reserve = (shape.reserve * shape.slots_per_block) as usize;
            if filling == Filling::SteadyState {
                shadow.slots[slots - reserve..].fill(None);
            }
        }
        let pages = shadow.slots.chunks(shape.slots_per_page as usize);
        shadow.programmed = pages.map(|page| page.iter().all(Option::is_some)).collect();
        let mut version = 1 << 40;
        for step in steps {
            version += 1;
            let page = match step {
                Step::Write(page) | Step::Discard(page, _) => page % shape.logical_pages,
                Step::Hot(page) => page % shape.logical_pages,
                // What goes back into a block would share pages with what the host writes.
                Step::Close if shape.reserve == 0 => continue,
                Step::Close => {
                    plane.close_page(&mut shadow);
                    one_by_one.close_page(&mut Nowhere);
                    continue;
                }
            };
            if let Step::Discard(_, count) = step {
                let pages = page..page.saturating_add(count).min(shape.logical_pages);
                plane.discard(pages.clone());
                for page in pages {
                    one_by_one.discard(page..page + 1);
                    written[page as usize] = None;
                    prop_assert_eq!(plane.locate(page), None);
                }
                continue;
            }
            one_by_one.write(page, &mut Nowhere);
            shadow.version = version;
            let slot = plane.write(page, &mut shadow);
            written[page as usize] = Some(version);
            prop_assert_eq!(plane.locate(page), Some(slot));
        }
        for page in 0..shape.logical_pages {
            let found = plane.locate(page).map(|slot| shadow.slots[slot as usize]);
            prop_assert_eq!(found, written[page as usize].map(Some), "page {}", page);
            if let Some(slot) = plane.locate(page) {
                let on_flash = shadow.programmed[(slot / shape.slots_per_page) as usize];
                prop_assert_eq!(plane.is_open(slot), !on_flash, "page {}", page);
            }
        }
        // No two pages share a slot.
        let mut all: Vec<u32> = (0..shape.logical_pages).filter_map(|page| plane.locate(page)).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        prop_assert_eq!(all.len(), count);
        prop_assert_eq!(shadow.erases, plane.counts().erases);
        // Many pages at once are discarded as they are one by one.
        prop_assert_eq!(one_by_one.counts(), plane.counts());
        prop_assert_eq!(one_by_one.erases(), plane.erases());
        for page in 0..shape.logical_pages {
            prop_assert_eq!(one_by_one.locate(page), plane.locate(page), "page {}", page);
        }
    }
}

#[test]
fn wear_levelling_keeps_blocks_together() {
    let shape = PlaneShape {
        blocks: 64,
        slots_per_block: 32,
        slots_per_page: 1,
        logical_pages: 64 * 32 * 4 / 5,
        reserve: 2,
        cleaning: Cleaning::Greedy,
        wear_levelling: None,
    };
    let spread = |wear_levelling| {
        let shape = PlaneShape {
            wear_levelling,
            ..shape
        };
        let mut plane = Plane::new(shape, Filling::Sequential).unwrap();
        // Nine tenths of the data are never written again.
        for n in 0..400_000_u32 {
            plane.write(n * 7919 % (shape.logical_pages / 10), &mut Nowhere);
        }
        let erases = plane.erases();
        erases.iter().max().unwrap() - erases.iter().min().unwrap()
    };
    let (without, with) = (spread(None), spread(Some(20)));
    assert!(without > 200, "cold blocks are never erased: {without}");
    assert!(with <= 60, "{with}");
}
