//! The legend: which entry stands where, in at most a share of the picture's height.
//!
//! Entries stand side by side as long as they fit into the lines that there are. More of them become smaller, then stand in
//! columns, in which long names lose their middle.

use super::fit;
use super::labels::Rectangle;
use super::text;
use crate::chart::{LegendEntry, Limit};

/// The share of a chart's height that its legend has at most.
pub(super) const MOST: f64 = 0.12;
/// The size of letters in a legend, and in a table.
pub(super) const LETTERS: f64 = 16.0;
/// The same where there are many entries.
const SMALL_LETTERS: f64 = 13.5;
/// What a line has beside its letters.
const LEADING: f64 = 7.0;
/// The width of a swatch.
pub(super) const SWATCH: f64 = 32.0;
/// Between a swatch and its words.
const GAP: f64 = 10.0;
/// Between an entry and the next one.
const BETWEEN: f64 = 26.0;

/// What an entry of a legend stands for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Of {
    /// A series of the data.
    Series(LegendEntry),
    /// The verdict on a limit, and whether it was kept.
    Verdict(bool),
    /// How many entries have no room.
    More,
}

/// An entry with its place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Placed {
    pub(super) of: Of,
    pub(super) text: String,
    /// The corner of the swatch, or of the words of an entry without one, relative to the legend's.
    pub(super) corner: (f64, f64),
    /// The words.
    pub(super) area: Rectangle,
}

/// A legend, relative to its upper left corner.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Legend {
    pub(super) entries: Vec<Placed>,
    pub(super) height: f64,
    /// The size of its letters in pixels.
    pub(super) letters: f64,
}

/// An entry before it has a place.
struct Item {
    of: Of,
    text: String,
}

impl Item {
    /// How wide its swatch is.
    fn swatch(&self, zoom: f64) -> f64 {
        match self.of {
            Of::Series(_) => (SWATCH + GAP) * zoom,
            Of::Verdict(_) | Of::More => 0.0,
        }
    }

    fn is_bold(&self) -> bool {
        matches!(self.of, Of::Verdict(_))
    }
}

impl Legend {
    /// Of these series and this limit, at most this wide and high.
    pub(super) fn new(
        series: Vec<LegendEntry>,
        limit: Option<&Limit>,
        (width, most): (f64, f64),
        zoom: f64,
    ) -> Self {
        let series = series.into_iter().map(|entry| Item {
            text: entry.text.clone(),
            of: Of::Series(entry),
        });
        let verdict = limit.map(|limit| Item {
            of: Of::Verdict(limit.is_kept),
            text: limit.text.clone(),
        });
        let items: Vec<Item> = series.chain(verdict).collect();
        for letters in [LETTERS, SMALL_LETTERS] {
            let room = Room {
                width,
                lines: Room::lines(most, letters * zoom, zoom),
                letters: letters * zoom,
                zoom,
            };
            if let Some(legend) = room.side_by_side(&items) {
                return legend;
            }
            if letters == SMALL_LETTERS {
                return room.in_columns(items);
            }
        }
        unreachable!("the last size of letters returns")
    }
}

/// Where entries may stand.
#[derive(Clone, Copy)]
struct Room {
    width: f64,
    lines: usize,
    letters: f64,
    zoom: f64,
}

impl Room {
    /// How many lines of these letters have room.
    fn lines(most: f64, letters: f64, zoom: f64) -> usize {
        ((most / (letters + LEADING * zoom)) as usize).max(1)
    }

    fn line(&self) -> f64 {
        self.letters + LEADING * self.zoom
    }

    fn place(&self, item: &Item, text: String, (x, row): (f64, usize)) -> Placed {
        let top = row as f64 * self.line();
        let left = x + item.swatch(self.zoom);
        let width = text::width(&text, self.letters, item.is_bold());
        let middle = top + self.letters / 2.0;
        let half = text::height(self.letters) / 2.0;
        Placed {
            of: item.of.clone(),
            text,
            corner: (x, top),
            area: Rectangle {
                left,
                top: middle - half,
                right: left + width,
                bottom: middle + half,
            },
        }
    }

    fn legend(&self, entries: Vec<Placed>, rows: usize) -> Legend {
        Legend {
            entries,
            height: rows as f64 * self.line(),
            letters: self.letters,
        }
    }

    /// As words in lines, if none is too long and they have room.
    fn side_by_side(&self, items: &[Item]) -> Option<Legend> {
        let (mut x, mut row) = (0.0, 0);
        let mut entries = Vec::new();
        for item in items {
            let wide =
                item.swatch(self.zoom) + text::width(&item.text, self.letters, item.is_bold());
            if wide > self.width {
                return None;
            }
            if x > 0.0 && x + wide > self.width {
                (x, row) = (0.0, row + 1);
            }
            entries.push(self.place(item, item.text.clone(), (x, row)));
            x += wide + BETWEEN * self.zoom;
        }
        let rows = if items.is_empty() { 0 } else { row + 1 };
        (rows <= self.lines).then(|| self.legend(entries, rows))
    }

    /// In columns of equal width, shortened; entries without any room are counted.
    fn in_columns(&self, mut items: Vec<Item>) -> Legend {
        // Less than a swatch and a few letters says nothing.
        let least = (SWATCH + GAP + BETWEEN + 60.0) * self.zoom;
        let most_columns = ((self.width / least) as usize).max(1);
        let most = most_columns * self.lines;
        if items.len() > most {
            let more = items.len() - (most - 1);
            items.truncate(most - 1);
            items.push(Item {
                of: Of::More,
                text: format!("and {more} more"),
            });
        }
        let columns = items.len().div_ceil(self.lines).max(1);
        let rows = items.len().div_ceil(columns);
        let each = self.width / columns as f64;
        let swatch = (SWATCH + GAP) * self.zoom;
        let texts: Vec<String> = items.iter().map(|item| item.text.clone()).collect();
        let room = each
            - swatch
            - if columns > 1 {
                BETWEEN * self.zoom
            } else {
                0.0
            };
        let short = fit::all_shortened(&texts, self.letters, room);
        let placed = items
            .iter()
            .zip(short)
            .enumerate()
            .map(|(i, (item, short))| {
                let text = if item.is_bold() {
                    fit::shortened(&item.text, self.letters, true, room + swatch)
                } else {
                    short
                };
                self.place(item, text, ((i / rows) as f64 * each, i % rows))
            });
        self.legend(placed.collect(), rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theme::Colour;

    fn entries(n: usize, name: impl Fn(usize) -> String) -> Vec<LegendEntry> {
        let entry = |i: usize| LegendEntry {
            colour: Some(Colour::Curve(i)),
            text: name(i),
            dash: None,
            marker: None,
        };
        (0..n).map(entry).collect()
    }

    #[test]
    fn a_few_entries_stand_in_one_line_and_many_in_columns_within_the_height() {
        let short = Legend::new(
            entries(3, |i| format!("disk {i}")),
            None,
            (1150.0, 86.0),
            1.0,
        );
        assert!(short.height <= 24.0, "{}", short.height);
        for n in [1, 6, 12, 40, 400] {
            let long =
                |i| format!("array number {i} of the long evaluation, with disks of 7200 rpm");
            for (width, most) in [(1150.0, 86.0), (500.0, 30.0)] {
                let legend = Legend::new(entries(n, long), None, (width, most), 1.0);
                assert!(legend.height <= most, "{n}: {}", legend.height);
                for (i, a) in legend.entries.iter().enumerate() {
                    assert!(a.area.right <= width, "{n}: {a:?}");
                    for b in &legend.entries[..i] {
                        assert!(!a.area.overlaps(&b.area), "{n}: {a:?} {b:?}");
                        assert!(n > 12 || width < 600.0 || a.text != b.text, "{a:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let legend = Legend::new(
            entries(400, |i| format!("a long name {i}")),
            None,
            (500.0, 30.0),
            1.0,
        );
        let shown = legend.entries.len() - 1;
        let last = legend.entries.last().unwrap();
        assert_eq!(last.text, format!("and {} more", 400 - shown));
    }
}
