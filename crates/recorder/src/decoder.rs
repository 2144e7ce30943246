//! The block layer's events in pages of the kernel's ring buffer.

use iosonar_trace::LiveEvent;

use super::layout::{Layout, id_of};
use super::pages::PageLayout;

/// Where things are in pages, and in the events that they hold.
pub(super) struct Decoder {
    page: PageLayout,
    pub(super) layouts: Vec<Layout>,
}

impl Decoder {
    /// Knows no events yet.
    pub(super) fn new(page: PageLayout) -> Self {
        Self {
            page,
            layouts: Vec::new(),
        }
    }

    /// Reports the events of a page that are known here. Returns how many are missing, as [`PageLayout::events`] does.
    pub(super) fn events(&self, page: &[u8], mut report: impl FnMut(LiveEvent)) -> u64 {
        self.page.events(page, |time, data| {
            let layout = id_of(data).and_then(|id| self.layouts.iter().find(|l| l.id == id));
            if let Some(event) = layout.and_then(|layout| layout.event(time, data)) {
                report(event);
            }
        })
    }
}
