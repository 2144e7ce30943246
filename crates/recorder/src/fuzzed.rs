//! Arbitrary bytes in place of what the kernel says, for the fuzzer and for a test of what it found.

#[cfg(test)]
#[path = "../../trace/tests/common/corpus.rs"]
mod corpus;

use std::collections::VecDeque;

use iosonar_trace::{
    Batch, LiveAction, LiveBegin, LiveEvent, LiveEvents, LiveRequests, LiveStep, live_reader,
};

use crate::decoder::Decoder;
use crate::layout::Layout;
use crate::pages::PageLayout;

const PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
    \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
    \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

/// The fields of all events that are recorded, with short ones first: an event of 40 bytes holds all.
const EVENT: &str = "\tfield:dev_t dev;\toffset:4;\tsize:4;\tsigned:0;\n\
    \tfield:sector_t sector;\toffset:8;\tsize:8;\tsigned:0;\n\
    \tfield:unsigned int nr_sector;\toffset:16;\tsize:4;\tsigned:0;\n\
    \tfield:int error;\toffset:20;\tsize:4;\tsigned:1;\n\
    \tfield:char rwbs[8];\toffset:24;\tsize:8;\tsigned:0;\n";

/// What an event does, by its number from 1 on.
const ACTIONS: [LiveAction; 4] = [
    LiveAction::Issue,
    LiveAction::Requeue,
    LiveAction::Complete,
    LiveAction::Queue,
];

struct Given(VecDeque<LiveEvent>);

impl LiveEvents for Given {
    fn next(&mut self) -> Option<LiveEvent> {
        self.0.pop_front()
    }

    fn would_wait(&self) -> bool {
        false
    }
}

/// Reads a page of events, and makes requests of them, as they are recorded and as they are watched.
///
/// # Panics
/// If requests that were given up, withdrawn or completed had not begun.
pub fn read_page(page: &[u8]) {
    let layout = PageLayout::parse(PAGE).expect("it has all fields");
    let mut decoder = Decoder::new(layout);
    for (id, action) in (1..).zip(ACTIONS) {
        let format = format!("ID: {id}\n{EVENT}");
        let layout = Layout::parse(&format, action).expect("it has all fields");
        decoder.layouts.push(layout);
    }
    let mut events = Vec::new();
    decoder.events(page, |event| events.push(event));
    // As they are merged from the pages of several processors.
    events.sort_by_key(|event| event.time);

    let begins = |device: (u32, u32)| match device.0 % 2 {
        0 => LiveBegin::Issue,
        _ => LiveBegin::Queue,
    };
    let mut requests = LiveRequests::new(0);
    let mut begun = 0_usize;
    for event in &events {
        let begin = begins(event.device);
        requests.take(event, 0, begin, |step| match step {
            LiveStep::Begun(_) => begun += 1,
            LiveStep::Completed(_) | LiveStep::Withdrawn(_) | LiveStep::GivenUp(_) => begun -= 1,
            LiveStep::Unmatched => {}
        });
        assert_eq!(requests.in_flight(), begun);
    }
    requests.give_up(|_| begun -= 1);
    assert_eq!((requests.in_flight(), begun), (0, 0));

    let mut reader = live_reader(Given(events.into()), begins, (0, 0));
    let mut batch = Batch::default();
    while reader.next_batch(&mut batch).is_ok_and(|rows| rows > 0) {}
}

/// Reads a text as a description of pages, and as one of events, and a page as it says.
pub fn read_formats(text: &str) {
    let page = [1_u8; 128];
    if let Some(layout) = PageLayout::parse(text) {
        layout.events(&page, |_, _| {});
    }
    for action in ACTIONS {
        if let Ok(layout) = Layout::parse(text, action) {
            let _ = layout.event(1, &page);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fuzzing_has_found_does_no_harm() {
        for page in corpus::inputs("kernel_page") {
            read_page(&page);
        }
        for text in corpus::inputs("kernel_formats") {
            read_formats(&String::from_utf8_lossy(&text));
        }
    }
}
