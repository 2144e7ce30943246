//! What stands below the axes: remarks, a table, the footer.

use super::fit;
use super::text;
use super::words::{Anchor, Ink, Part, Style, Written};
use crate::chart::{Chart, Table};

const NOTE: f64 = 14.0;
const NOTE_LINE: f64 = 19.0;
/// Lines that remarks may have.
const MOST_NOTES: usize = 4;
const CELL: f64 = 15.0;
const CELL_LINE: f64 = 21.0;
/// The same of a table with many rows.
const SMALL_CELL: f64 = 13.0;
const SMALL_CELL_LINE: f64 = 17.0;
const FOOTER: f64 = 13.0;
/// The share of a picture's height that a table may have.
const MOST_OF_TABLE: f64 = 0.34;
/// From the edge of the picture.
const MARGIN: f64 = 34.0;

/// What is below the axes, before it has a place.
pub(super) struct Foot<'a> {
    notes: Vec<String>,
    table: Option<&'a Table>,
    /// How many rows of the table are shown, with its header; and how high each is.
    rows: usize,
    row: f64,
    footer: &'a str,
    size: (f64, f64),
    zoom: f64,
}

impl<'a> Foot<'a> {
    /// Of a picture of this size.
    pub(super) fn new(
        notes: &[String],
        table: Option<&'a Table>,
        footer: &'a str,
        size: (f64, f64),
        zoom: f64,
    ) -> Self {
        let room = size.0 - 2.0 * MARGIN * zoom;
        let notes = fit::lines(&notes.join(" · "), NOTE * zoom, room, MOST_NOTES);
        let all = table.map_or(0, |table| table.rows.len() + 1);
        let most = MOST_OF_TABLE * size.1;
        let is_small = all as f64 * CELL_LINE * zoom > most;
        let row = if is_small { SMALL_CELL_LINE } else { CELL_LINE } * zoom;
        let rows = all.min(((most / row) as usize).max(2));
        Self {
            notes,
            table,
            rows,
            row,
            footer,
            size,
            zoom,
        }
    }

    /// The foot of a chart of its own.
    pub(super) fn of(chart: &'a Chart, size: (f64, f64), zoom: f64) -> Self {
        let table = chart.table.as_ref();
        Self::new(&chart.remarks(), table, &chart.footer, size, zoom)
    }

    /// How high the remarks and the table are.
    pub(super) fn height(&self) -> f64 {
        let before_table = if self.rows > 0 { 10.0 * self.zoom } else { 0.0 };
        self.notes.len() as f64 * NOTE_LINE * self.zoom + before_table + self.rows as f64 * self.row
    }

    /// Everything with its place, from `top` on.
    pub(super) fn written(&self, top: f64) -> Vec<Written> {
        let zoom = self.zoom;
        let muted = |size: f64| Style {
            size: size * zoom,
            is_bold: false,
            ink: Ink::Muted,
        };
        let left = MARGIN * zoom;
        let room = self.size.0 - 2.0 * left;
        let mut y = top;
        let mut written = Vec::new();
        for note in &self.notes {
            let of = |part| Written::below(part, note, (left, y), Anchor::Left, muted(NOTE), room);
            written.extend(of(Part::Note));
            y += NOTE_LINE * zoom;
        }
        if let Some(table) = self.table {
            self.write_table(table, y + 10.0 * zoom, &mut written);
        }
        let bottom = self.size.1 - 10.0 * zoom;
        let at = (self.size.0 - left, bottom - text::height(FOOTER * zoom));
        written.extend(Written::below(
            Part::Footer,
            self.footer,
            at,
            Anchor::Right,
            muted(FOOTER),
            room,
        ));
        written
    }

    fn write_table(&self, table: &Table, top: f64, written: &mut Vec<Written>) {
        let zoom = self.zoom;
        let left = MARGIN * zoom;
        let right = self.size.0 - left;
        let is_small = self.row < CELL_LINE * zoom;
        let size = if is_small { SMALL_CELL } else { CELL } * zoom;
        let columns = table.header.len().saturating_sub(1).max(1) as f64;
        let names = (right - left) * 0.34;
        let wide = (right - left - names) / columns;
        let shown = self.rows.saturating_sub(1);
        let is_whole = shown >= table.rows.len();
        let kept = if is_whole { shown } else { shown - 1 };
        let more = (!is_whole).then(|| vec![format!("and {} more", table.rows.len() - kept)]);
        let first: Vec<String> = table.rows[..kept]
            .iter()
            .chain(&more)
            .filter_map(|row| row.first().cloned())
            .collect();
        let first = fit::all_shortened(&first, size, names - 8.0 * zoom);
        let rows = table.rows[..kept].iter().chain(&more);
        let rows = rows.zip(first.iter().map(Some));
        let header = std::iter::once((&table.header, None));
        for (i, (row, name)) in header.chain(rows).enumerate() {
            let y = top + i as f64 * self.row;
            let style = Style {
                size,
                is_bold: false,
                ink: if i == 0 { Ink::Muted } else { Ink::Text },
            };
            for (column, cell) in row.iter().enumerate() {
                let cell = name.filter(|_| column == 0).unwrap_or(cell);
                let is_name = column == 0;
                let (anchor, room) = match is_name {
                    true => (Anchor::Left, names),
                    false => (Anchor::Right, wide - 8.0 * zoom),
                };
                let x = if is_name {
                    left
                } else {
                    left + names + wide * column as f64
                };
                let of = Written::below(Part::Cell, cell, (x, y), anchor, style, room);
                written.extend(of);
            }
        }
    }
}
