//! The sparse grid.
//!
//! A cell's key has 34 bits for its column, 4 for the kind of its points and 26 for its row. On a linear
//! axis a column is `floor(x / 2^step)`, shifted so that negative ones fit; on a logarithmic axis it is the
//! highest bits of the floating-point number, so that its exponent and some bits of its fraction count: a
//! grid of equal ratios, nearly, that costs a shift. Either way, joining two neighbours is halving the
//! number.

use std::sync::Arc;

use super::{Cell, CellGrid, Cloud, Resolution};

/// How an axis is divided into cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GridKind {
    /// Equal widths.
    Linear,
    /// Equal ratios; zeros have a cell of their own.
    Log,
}

/// How the numbers of an axis' cells become values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellEdges {
    /// Which kind of axis.
    pub kind: GridKind,
    /// Linear: where cell zero begins.
    pub origin: f64,
    /// Linear: cells are 2^step wide. Logarithmic: 2^(8 - step) cells for each doubling.
    pub step: i32,
}

const COLUMN_BITS: u32 = 34;
const ROW_BITS: u32 = 26;
const KIND_BITS: u32 = 4;
/// What is added to columns of a linear axis.
const COLUMN_ORIGIN: i64 = 1 << (COLUMN_BITS - 1);
/// The same for rows.
const ROW_ORIGIN: i64 = 1 << (ROW_BITS - 1);
/// The bits of a floating-point number below those that count on a logarithmic axis at its finest.
const FINEST_SHIFT: i32 = 44;
/// Points are sorted in portions of this size.
const PORTION: usize = 1 << 17;

impl CellEdges {
    /// The number of the cell of a value on a logarithmic axis.
    #[inline]
    fn index(self, value: f64) -> i64 {
        if value == 0.0 {
            return 0;
        }
        (value.to_bits() >> (FINEST_SHIFT + self.step)) as i64
    }

    /// The same on a linear axis.
    #[inline]
    fn linear(self, value: f64, scale: f64, shift: i64) -> i64 {
        (((value - self.origin) * scale).floor() as i64).saturating_add(shift)
    }

    fn halved(index: u64, shift: i64, kind: GridKind) -> u64 {
        match kind {
            GridKind::Linear => (((index as i64 - shift) >> 1) + shift) as u64,
            GridKind::Log => index >> 1,
        }
    }

    /// The lower edge of the cell with this number.
    pub fn edge(self, index: i64) -> f64 {
        match self.kind {
            GridKind::Linear => self.origin + index as f64 * 2_f64.powi(self.step),
            GridKind::Log => f64::from_bits((index as u64) << (FINEST_SHIFT + self.step)),
        }
    }

    /// Both edges of a cell; equal for that of zeros.
    fn edges(self, index: u64, shift: i64) -> (f64, f64) {
        match self.kind {
            GridKind::Linear => {
                let index = index as i64 - shift;
                (self.edge(index), self.edge(index + 1))
            }
            GridKind::Log if index == 0 => (0.0, 0.0),
            GridKind::Log => (self.edge(index as i64), self.edge(index as i64 + 1)),
        }
    }
}

/// Counted points.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    x: CellEdges,
    y: CellEdges,
    /// `2^-step` of linear axes.
    scale: [f64; 2],
    pending: Vec<u64>,
    /// Shared by copies: there may be a million.
    counted: Arc<Vec<(u64, u32)>>,
    most: usize,
    /// No fewer columns and rows over the range of the points.
    least: (f64, f64),
}

/// The row of what has no value.
const NO_VALUE: u64 = (1 << ROW_BITS) - 1;

/// Columns first, then kinds, then rows: so both ways of joining neighbours leave cells sorted, or nearly.
fn key(column: u64, row: u64, kind: u8) -> u64 {
    column << (ROW_BITS + KIND_BITS) | u64::from(kind) << ROW_BITS | row
}

fn parts(key: u64) -> (u64, u64, u8) {
    (
        key >> (ROW_BITS + KIND_BITS),
        key & ((1 << ROW_BITS) - 1),
        ((key >> ROW_BITS) & ((1 << KIND_BITS) - 1)) as u8,
    )
}

impl Cells {
    /// A grid that resolves these ranges well.
    pub(super) fn new(
        axes: [GridKind; 2],
        ranges: [(f64, f64); 2],
        resolution: Resolution,
        least_x_step: i32,
    ) -> Self {
        // Far from zero the numbers of narrow cells would not fit: they are counted from the first.
        let edges = |kind, (from, to): (f64, f64), cells: f64| CellEdges {
            kind,
            origin: match kind {
                GridKind::Linear if from.is_finite() => from.floor(),
                _ => 0.0,
            },
            step: match kind {
                GridKind::Log => 0,
                GridKind::Linear if to > from => {
                    ((to - from) / cells).log2().ceil().clamp(-60.0, 80.0) as i32
                }
                GridKind::Linear => -20,
            },
        };
        let mut grid = Self {
            x: edges(axes[0], ranges[0], resolution.columns as f64),
            y: edges(axes[1], ranges[1], 8192.0),
            scale: [1.0; 2],
            pending: Vec::with_capacity(PORTION),
            counted: Arc::default(),
            most: resolution.cells,
            least: resolution.least,
        };
        grid.x.step = grid.x.step.max(least_x_step);
        // A grid that begins with a fraction of the range keeps its numbers small enough in any case; one of
        // very narrow cells may not.
        let width = |(from, to): (f64, f64)| (to - from.floor()).abs().max(1.0);
        while grid.x.kind == GridKind::Linear
            && width(ranges[0]) * 2_f64.powi(-grid.x.step) > COLUMN_ORIGIN as f64 / 4.0
        {
            grid.x.step += 1;
        }
        while grid.y.kind == GridKind::Linear
            && width(ranges[1]) * 2_f64.powi(-grid.y.step) > ROW_ORIGIN as f64 / 4.0
        {
            grid.y.step += 1;
        }
        grid.rescale();
        grid
    }

    fn rescale(&mut self) {
        self.scale = [self.x.step, self.y.step].map(|step| 2_f64.powi(-step));
    }

    #[inline]
    pub(super) fn push(&mut self, kind: u8, x: f64, y: f64) {
        loop {
            let column = match self.x.kind {
                GridKind::Linear => self.x.linear(x, self.scale[0], COLUMN_ORIGIN),
                GridKind::Log => self.x.index(x),
            };
            if !(0..1 << COLUMN_BITS).contains(&column) {
                self.settle();
                self.halve_columns();
                continue;
            }
            let row = match self.y.kind {
                _ if y == f64::INFINITY => NO_VALUE as i64,
                GridKind::Linear => self.y.linear(y, self.scale[1], ROW_ORIGIN),
                GridKind::Log => self.y.index(y),
            };
            if !(0..NO_VALUE as i64).contains(&row) && y != f64::INFINITY {
                // That may change the columns, too.
                self.settle();
                self.halve_rows();
                continue;
            }
            self.pending.push(key(column as u64, row as u64, kind));
            break;
        }
        if self.pending.len() == PORTION {
            self.settle();
        }
    }

    /// Counts what is pending, and joins cells if there are too many.
    pub(super) fn settle(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        self.pending.sort_unstable();
        let mut merged = Vec::with_capacity(self.counted.len() + self.pending.len());
        let (mut old, mut new) = (
            self.counted.iter().copied().peekable(),
            self.pending.iter().peekable(),
        );
        loop {
            let next = match (old.peek(), new.peek()) {
                (Some(&(a, n)), Some(&&b)) if a <= b => {
                    old.next();
                    (a, n)
                }
                (_, Some(&&b)) => {
                    new.next();
                    (b, 1)
                }
                (Some(&(a, n)), None) => {
                    old.next();
                    (a, n)
                }
                (None, None) => break,
            };
            add(&mut merged, next);
        }
        self.hold(merged);
        self.pending.clear();
        self.shrink(self.most, self.least);
    }

    fn hold(&mut self, mut counted: Vec<(u64, u32)>) {
        // Most of what is merged was there before.
        if counted.len() < counted.capacity() / 2 {
            counted.shrink_to_fit();
        }
        self.counted = Arc::new(counted);
    }

    /// Joins cells until there are at most `most`, or the grid has at most this number of columns and rows.
    pub(super) fn shrink(&mut self, most: usize, (columns, rows): (f64, f64)) {
        while self.counted.len() > most {
            let (used_columns, used_rows) = self.used();
            let span = |(from, to): (u64, u64)| to.saturating_sub(from) as f64 + 1.0;
            // How many times finer than needed.
            let x = span(used_columns) / columns;
            let y = span(used_rows) / rows;
            if x < 2.0 && y < 2.0 {
                break;
            }
            if x >= y {
                self.halve_columns();
            } else {
                self.halve_rows();
            }
        }
    }

    /// The numbers between which columns and rows lie.
    fn used(&self) -> ((u64, u64), (u64, u64)) {
        let (mut columns, mut rows) = ((u64::MAX, 0), (u64::MAX, 0));
        for &(key, _) in self.counted.iter() {
            let (column, row, _) = parts(key);
            // Zeros of a logarithmic axis are not on it.
            if column > 0 || self.x.kind == GridKind::Linear {
                columns = (columns.0.min(column), columns.1.max(column));
            }
            if row != NO_VALUE && (row > 0 || self.y.kind == GridKind::Linear) {
                rows = (rows.0.min(row), rows.1.max(row));
            }
        }
        (columns, rows)
    }

    /// Two columns that become one are two sorted runs: they are merged.
    fn halve_columns(&mut self) {
        let kind = self.x.kind;
        self.x.step += 1;
        self.rescale();
        let column_of = |&(key, _): &(u64, u32)| parts(key).0;
        let mut joined = Vec::with_capacity(self.counted.len());
        let mut rest = &self.counted[..];
        let mut before: &[(u64, u32)] = &[];
        let mut before_column = u64::MAX;
        // Columns one by one, each held back until the next is known.
        loop {
            let next = rest.first().map(column_of);
            // A column is short: a search in all that is left would take longer.
            let run = rest.iter().take_while(|cell| Some(column_of(cell)) == next);
            let run = run.count();
            let halved = next.map(|c| CellEdges::halved(c, COLUMN_ORIGIN, kind));
            if halved == Some(before_column) {
                merge(&mut joined, before_column, before, &rest[..run]);
                (before, before_column) = (&[], u64::MAX);
            } else {
                merge(&mut joined, before_column, before, &[]);
                (before, before_column) = (&rest[..run], halved.unwrap_or(u64::MAX));
            }
            if run == 0 {
                break;
            }
            rest = &rest[run..];
        }
        self.hold(joined);
    }

    /// Two rows that become one are neighbours.
    fn halve_rows(&mut self) {
        let axis = self.y.kind;
        self.y.step += 1;
        self.rescale();
        let mut joined = Vec::with_capacity(self.counted.len());
        for &(cell, count) in self.counted.iter() {
            let (column, row, kind) = parts(cell);
            let row = match row {
                NO_VALUE => NO_VALUE,
                row => CellEdges::halved(row, ROW_ORIGIN, axis),
            };
            add(&mut joined, (key(column, row, kind), count));
        }
        self.hold(joined);
    }

    /// From left to right, but for what is not settled.
    pub(super) fn iter(&self) -> impl Iterator<Item = Cell> + '_ {
        let pending = self.pending.iter().map(|&key| (key, 1));
        self.counted
            .iter()
            .copied()
            .chain(pending)
            .map(|(key, count)| {
                let (column, row, kind) = parts(key);
                Cell {
                    x: self.x.edges(column, COLUMN_ORIGIN),
                    y: if row == NO_VALUE {
                        (f64::INFINITY, f64::INFINITY)
                    } else {
                        self.y.edges(row, ROW_ORIGIN)
                    },
                    kind,
                    count,
                }
            })
    }

    /// As whole numbers: on linear axes counted from the first cell that holds points, which may lie before
    /// the point that came first.
    pub(super) fn grid(&self) -> CellGrid {
        let (columns, rows) = self.used();
        let base = |edges: CellEdges, used: (u64, u64)| match edges.kind {
            GridKind::Linear if used.0 <= used.1 => used.0,
            _ => 0,
        };
        let (first_column, first_row) = (base(self.x, columns), base(self.y, rows));
        let from = |edges: CellEdges, first: u64, shift: i64| match edges.kind {
            GridKind::Linear => CellEdges {
                origin: edges.edge(first as i64 - shift),
                ..edges
            },
            GridKind::Log => edges,
        };
        let cells = self.counted.iter().map(|&(key, count)| {
            let (column, row, kind) = parts(key);
            let row = match row {
                NO_VALUE => u32::MAX,
                row => (row - first_row) as u32,
            };
            (column - first_column, row, kind, count)
        });
        CellGrid {
            x: from(self.x, first_column, COLUMN_ORIGIN),
            y: from(self.y, first_row, ROW_ORIGIN),
            cells: cells.collect(),
        }
    }
}

/// Appends the cells of one or two columns as those of `column`.
fn merge(joined: &mut Vec<(u64, u32)>, column: u64, mut a: &[(u64, u32)], mut b: &[(u64, u32)]) {
    let moved = |&(cell, count): &(u64, u32)| {
        let (_, row, kind) = parts(cell);
        (key(column, row, kind), count)
    };
    while let ([x, of_a @ ..], [y, of_b @ ..]) = (a, b) {
        let (x, y) = (moved(x), moved(y));
        if x.0 <= y.0 {
            add(joined, x);
            a = of_a;
        } else {
            add(joined, y);
            b = of_b;
        }
    }
    let rest = a.iter().chain(b).map(moved);
    rest.for_each(|cell| add(joined, cell));
}

/// Appends to sorted cells.
fn add(cells: &mut Vec<(u64, u32)>, (key, count): (u64, u32)) {
    match cells.last_mut() {
        Some((last, sum)) if *last == key => *sum = sum.saturating_add(count),
        _ => cells.push((key, count)),
    }
}

/// The points of a cloud on a grid of about this many cells, all kinds together.
pub(super) fn rebinned(cloud: &Cloud, columns: usize, rows: usize) -> Vec<Cell> {
    let (Some(x), Some(y)) = (cloud.x_range(), cloud.y_range()) else {
        return Vec::new();
    };
    let width = |kind, (from, to): (f64, f64), cells: usize| match kind {
        GridKind::Linear => ((to - from) / cells as f64).max(f64::MIN_POSITIVE),
        GridKind::Log => ((to / from).log2() / cells as f64).max(1e-9),
    };
    let [kind_x, kind_y] = cloud.axes();
    let (wide, high) = (width(kind_x, x, columns), width(kind_y, y, rows));
    let at = |kind, value: f64, (from, _): (f64, f64), width: f64, cells: usize| {
        let at = match kind {
            GridKind::Linear => (value - from) / width,
            GridKind::Log => (value / from).log2() / width,
        };
        (at.max(0.0) as usize).min(cells - 1)
    };
    let edges = |kind, index: usize, (from, _): (f64, f64), width: f64| {
        let edge = |i: usize| match kind {
            GridKind::Linear => from + i as f64 * width,
            GridKind::Log => from * (i as f64 * width).exp2(),
        };
        (edge(index), edge(index + 1))
    };
    let mut counts = vec![0_u32; columns * rows];
    let mut count = |px: f64, py: f64, n: u32| {
        let on_axis = |v: f64, kind| v.is_finite() && (v > 0.0 || kind == GridKind::Linear);
        if on_axis(px, kind_x) && on_axis(py, kind_y) {
            let (column, row) = (
                at(kind_x, px, x, wide, columns),
                at(kind_y, py, y, high, rows),
            );
            let cell = &mut counts[column * rows + row];
            *cell = cell.saturating_add(n);
        }
    };
    if let Some(points) = cloud.points() {
        points.iter().for_each(|p| count(p.x, p.y, 1));
    }
    for cell in cloud.cells() {
        let middle = |(from, to): (f64, f64)| f64::midpoint(from, to);
        count(middle(cell.x), middle(cell.y), cell.count);
    }
    counts
        .iter()
        .enumerate()
        .filter(|(_, n)| **n > 0)
        .map(|(i, &count)| Cell {
            x: edges(kind_x, i / rows, x, wide),
            y: edges(kind_y, i % rows, y, high),
            kind: 0,
            count,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloud::Kind;
    use crate::theme::Colour;

    fn cloud(x: GridKind, y: GridKind, most: usize) -> Cloud {
        let kind = |colour| Kind {
            name: String::new(),
            label: String::new(),
            colour,
        };
        let kinds = vec![kind(Colour::Read), kind(Colour::Write)];
        Cloud::new(x, y, kinds).with_resolution(Resolution {
            columns: 1 << 16,
            cells: most,
            ..Resolution::default()
        })
    }

    /// Points from a fixed recurrence, over many decades.
    fn points(n: u64) -> Vec<(u8, f64, f64)> {
        let mut state = 7_u64;
        let mut next = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..n)
            .map(|i| {
                let y = match i % 1000 {
                    0 => 0.0,
                    1 => f64::INFINITY,
                    _ => 10_f64.powf(-6.0 + 5.0 * next()),
                };
                ((i % 3 == 0).into(), next() * 1e4 - 300.0, y)
            })
            .collect()
    }

    #[test]
    fn each_point_is_counted_in_a_cell_that_holds_it() {
        for most in [1 << 20, 20_000, 500] {
            let mut cloud = cloud(GridKind::Linear, GridKind::Log, most);
            let points = points(60_000);
            points.iter().for_each(|&(k, x, y)| cloud.push(k, x, y));
            cloud.settle();
            let mut cells: Vec<Cell> = cloud.cells().collect();
            let total: u64 = cells.iter().map(|c| u64::from(c.count)).sum();
            assert_eq!(total, 60_000);
            for &(kind, x, y) in &points {
                let holds = |c: &&mut Cell| {
                    let within =
                        |(a, b): (f64, f64), v: f64| if a == b { v == a } else { a <= v && v < b };
                    c.kind == kind && c.count > 0 && within(c.x, x) && within(c.y, y)
                };
                // The cells are sorted by x; look only where x is.
                let from = cells.partition_point(|c| c.x.1 <= x);
                let cell = cells[from..].iter_mut().find(holds);
                cell.unwrap_or_else(|| panic!("{kind} {x} {y}")).count -= 1;
            }
            assert!(cells.iter().all(|c| c.count == 0));
        }
    }

    #[test]
    fn memory_is_bounded_and_the_grid_finer_than_a_screen() {
        let mut cloud = cloud(GridKind::Linear, GridKind::Log, 50_000);
        for (kind, x, y) in points(1_500_000) {
            cloud.push(kind, x, y);
        }
        cloud.settle();
        let columns: Vec<f64> = cloud.cells().map(|c| c.x.1 - c.x.0).collect();
        assert!(columns.len() <= 2 * 2048 * 1024, "{}", columns.len());
        let widest = columns.iter().copied().fold(0.0, f64::max);
        assert!(widest <= 1e4 / 1024.0, "{widest}");
        let ratio = cloud.cells().map(|c| c.y.1 / c.y.0);
        let coarsest = ratio.filter(|r| r.is_finite()).fold(1.0, f64::max);
        assert!(coarsest <= 1.033, "{coarsest}");
    }

    #[test]
    fn a_range_that_grows_a_billion_times_still_fits() {
        let mut cloud = cloud(GridKind::Linear, GridKind::Linear, 10_000);
        for i in 0..30_000 {
            cloud.push(0, f64::from(i) * 1e-9, f64::from(i));
        }
        cloud.push(0, 1e12, 1e12);
        cloud.settle();
        assert_eq!(cloud.count(), 30_001);
        let last = cloud.cells().last().unwrap();
        assert!(last.x.0 <= 1e12 && 1e12 < last.x.1 && last.y.0 <= 1e12 && 1e12 < last.y.1);
    }

    #[test]
    fn a_point_that_coarsens_rows_stands_in_its_own_column() {
        let mut cloud = cloud(GridKind::Linear, GridKind::Linear, 50_000);
        for i in 0..250_000_u32 {
            let at = f64::from(i.wrapping_mul(2_654_435_761) % (64 << 20));
            cloud.push(0, f64::from(i) * 1e-3, at);
        }
        cloud.push(1, 250.0, 2_f64.powi(40));
        cloud.settle();
        let last = cloud.cells().find(|cell| cell.kind == 1).unwrap();
        assert!(last.x.0 <= 250.0 && 250.0 < last.x.1, "{last:?}");
    }

    #[test]
    fn a_page_gets_every_cell_where_it_is_also_before_the_first_point() {
        let mut cloud = cloud(GridKind::Linear, GridKind::Linear, 50_000);
        for i in 0..30_000 {
            cloud.push(0, 100.0 + f64::from(i) * 1e-3, f64::from(i % 100));
        }
        cloud.push(1, 3.0, -40.0);
        cloud.settle();
        let grid = cloud.grid(50_000).unwrap();
        let total: u32 = grid.cells.iter().map(|cell| cell.3).sum();
        assert_eq!(total, 30_001);
        let early = grid.cells.iter().find(|cell| cell.2 == 1).unwrap();
        let within = |edges: CellEdges, index: i64, v: f64| {
            edges.edge(index) <= v && v < edges.edge(index + 1)
        };
        assert!(within(grid.x, early.0 as i64, 3.0), "{early:?}");
        assert!(within(grid.y, i64::from(early.1), -40.0), "{early:?}");
    }

    #[test]
    fn times_since_1970_are_resolved_as_well_as_others() {
        let mut cloud = cloud(GridKind::Linear, GridKind::Log, 1 << 17);
        for i in 0..60_000 {
            cloud.push(0, 1.7e9 + f64::from(i) * 1e-3, 1e-3);
        }
        cloud.settle();
        assert!(cloud.cells().count() > 1024);
    }

    #[test]
    fn what_has_no_place_is_ignored() {
        let mut cloud = cloud(GridKind::Linear, GridKind::Log, 10);
        for (x, y) in [
            (f64::NAN, 1.0),
            (1.0, f64::NAN),
            (1.0, -1.0),
            (f64::INFINITY, 1.0),
        ] {
            cloud.push(0, x, y);
        }
        assert_eq!(cloud.count(), 0);
        cloud.push(1, 1.0, f64::INFINITY);
        assert_eq!((cloud.count(), cloud.without_value()), (1, 1));
    }

    #[test]
    fn rebinning_loses_nothing_that_is_on_the_axes() {
        for n in [5_000, 50_000] {
            let mut cloud = cloud(GridKind::Linear, GridKind::Log, 1 << 20);
            let points = points(n);
            points.iter().for_each(|&(k, x, y)| cloud.push(k, x, y));
            cloud.settle();
            let on_axes = points
                .iter()
                .filter(|p| p.2 > 0.0 && p.2.is_finite())
                .count();
            let cells = cloud.merged(50, 20);
            assert_eq!(
                cells.iter().map(|c| c.count as usize).sum::<usize>(),
                on_axes
            );
            assert!(cells.len() <= 1000);
        }
    }
}
