//! The load that a host is sent.

use std::sync::atomic::Ordering::Relaxed;

use crossbeam_channel::Receiver;
use iosonar_trace::{Batch, TraceError, TraceReader, input};

use super::Link;
use crate::coordinator::{Member, zero_of};
use crate::message::ToAgent;

/// Sends the load of a member; `sent_first` is called when the host has as much as it takes in advance.
pub(super) fn send(
    link: &Link,
    member: &Member,
    room: &Receiver<()>,
    sent_first: &mut dyn FnMut(),
) -> Result<(), TraceError> {
    let zero = zero_of(member);
    let mut reader = input::open_load(&member.load.path, &member.load.reading)?;
    let mut batch = Batch::default();
    while !link.has_enough.load(Relaxed) && reader.next_batch(&mut batch)? > 0 {
        batch.clear_outcomes();
        for start in batch.starts_mut() {
            *start = start.saturating_sub(zero);
        }
        for rows in split(&batch) {
            if room.is_empty() {
                sent_first();
            }
            if room.recv().is_err() {
                // The host is lost.
                return Ok(());
            }
            link.send(|sender| sender.batch(&rows));
        }
    }
    link.message(&ToAgent::LoadEnds);
    sent_first();
    Ok(())
}

/// A batch in parts that are sent as one each.
fn split(batch: &Batch) -> Vec<Batch> {
    if batch.len() <= Batch::ROWS {
        return vec![batch.clone()];
    }
    let mut parts = vec![Batch::default()];
    for row in 0..batch.len() {
        if parts.last().is_some_and(|part| part.len() == Batch::ROWS) {
            parts.push(Batch::default());
        }
        if let Some(part) = parts.last_mut() {
            part.push_row(batch, row);
        }
    }
    parts
}
