//! Clouds: any number of points in bounded memory.
//!
//! Up to [`Cloud::MOST_POINTS`] points are kept as they are. Beyond, they are counted on a grid that is
//! stored sparsely: only cells with points take memory. When there are too many of them, the grid's cells
//! are joined in pairs, first in the direction in which they are finer than a picture needs; so memory is
//! bounded, and the grid stays as fine as a screen: by default at least 1 024 columns and 512 rows over the range
//! of the points. Joining is exact: each point lies in the cell that says so.

mod cells;

use cells::Cells;
pub use cells::{CellEdges, GridKind};

use crate::theme::{Colour, Palette, Ramp};

/// A kind of points within a cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// What it is called.
    pub name: String,
    /// What the legend says; a kind without text does not appear there.
    pub label: String,
    /// Its colour.
    pub colour: Colour,
}

/// One point: where, and of which kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// The y value; infinite if unknown, which is drawn at the top.
    pub y: f64,
    /// The index of its kind.
    pub kind: u8,
}

/// A cell of a cloud's grid, and how many points of a kind lie in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// From and to, to the right; equal for zeros on a logarithmic axis.
    pub x: (f64, f64),
    /// The range on the y axis; equal for zeros on a logarithmic axis, infinite if unknown.
    pub y: (f64, f64),
    /// The index of the kind.
    pub kind: u8,
    /// How many.
    pub count: u32,
}

/// How finely a cloud is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resolution {
    /// Columns at first: more than a screen has pixels only serves who zooms.
    pub columns: usize,
    /// Cells that may be in use before they are joined (16 bytes each).
    pub cells: usize,
    /// Columns and rows over the range of the points that are left in any case.
    pub least: (f64, f64),
}

impl Default for Resolution {
    /// That of a picture.
    fn default() -> Self {
        Self {
            columns: 1 << 13,
            cells: 1 << 17,
            least: (1024.0, 512.0),
        }
    }
}

/// Points of several kinds.
#[derive(Clone, Debug)]
pub struct Cloud {
    kinds: Vec<Kind>,
    axes: [GridKind; 2],
    points: Vec<Point>,
    cells: Option<Cells>,
    resolution: Resolution,
    least_x_step: i32,
    counts: Vec<u64>,
    zeros: u64,
    without_value: u64,
    has_x_zeros: bool,
    x_range: (f64, f64),
    y_range: (f64, f64),
}

impl Cloud {
    /// The number of points drawn individually.
    pub const MOST_POINTS: usize = 20_000;

    /// No points yet, on axes of these kinds.
    ///
    /// # Panics
    /// If there are more than 16 kinds of points.
    pub fn new(x: GridKind, y: GridKind, kinds: Vec<Kind>) -> Self {
        assert!(kinds.len() <= 16, "a cloud has at most 16 kinds of points");
        Self {
            counts: vec![0; kinds.len()],
            kinds,
            axes: [x, y],
            points: Vec::new(),
            cells: None,
            resolution: Resolution::default(),
            least_x_step: i32::MIN,
            zeros: 0,
            without_value: 0,
            has_x_zeros: false,
            x_range: (f64::INFINITY, f64::NEG_INFINITY),
            y_range: (f64::INFINITY, f64::NEG_INFINITY),
        }
    }

    /// With another resolution.
    #[must_use]
    pub fn with_resolution(self, resolution: Resolution) -> Self {
        Self { resolution, ..self }
    }

    /// With columns that are not narrower than this, for places that are whole numbers or powers of two: see
    /// [`CellEdges::step`].
    #[must_use]
    pub fn with_least_x_step(mut self, step: i32) -> Self {
        self.least_x_step = step;
        self
    }

    /// Adds a point. What has no place is ignored: a number that is not one, a negative value on a
    /// logarithmic axis, an `x` that is not finite.
    #[inline]
    pub fn push(&mut self, kind: u8, x: f64, y: f64) {
        let is_placed = |v: f64, axis| v >= 0.0 || axis == GridKind::Linear && !v.is_nan();
        if !x.is_finite() || !is_placed(x, self.axes[0]) || !is_placed(y, self.axes[1]) {
            return;
        }
        let extend = |range: &mut (f64, f64), v: f64, axis| {
            if v.is_finite() && (v > 0.0 || axis == GridKind::Linear) {
                *range = (range.0.min(v), range.1.max(v));
            }
        };
        extend(&mut self.x_range, x, self.axes[0]);
        extend(&mut self.y_range, y, self.axes[1]);
        self.counts[usize::from(kind)] += 1;
        self.zeros += u64::from(y == 0.0 && self.axes[1] == GridKind::Log);
        self.without_value += u64::from(y == f64::INFINITY);
        self.has_x_zeros |= x == 0.0 && self.axes[0] == GridKind::Log;
        if let Some(cells) = &mut self.cells {
            cells.push(kind, x, y);
            return;
        }
        self.points.push(Point { x, y, kind });
        if self.points.len() > Self::MOST_POINTS {
            self.become_dense();
        }
    }

    fn become_dense(&mut self) {
        let ranges = [self.x_range, self.y_range];
        let mut cells = Cells::new(self.axes, ranges, self.resolution, self.least_x_step);
        for point in std::mem::take(&mut self.points) {
            cells.push(point.kind, point.x, point.y);
        }
        self.cells = Some(cells);
    }

    /// Brings what was pushed last into order. To be called once, after the last point: what looks at the
    /// cloud then need not do it.
    pub fn settle(&mut self) {
        if let Some(cells) = &mut self.cells {
            cells.settle();
        }
    }

    /// The kinds of points.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// The colours of the densities of its kinds.
    pub(crate) fn ramps(&self, palette: &Palette) -> Vec<Ramp> {
        self.kinds.iter().map(|k| palette.ramp(k.colour)).collect()
    }

    /// Gives a kind another text in the legend.
    pub fn set_label(&mut self, kind: u8, label: &str) {
        label.clone_into(&mut self.kinds[usize::from(kind)].label);
    }

    /// Gives all kinds the same colour, and their texts in the legend a new form.
    pub fn recolour(&mut self, colour: Colour, label: impl Fn(&str) -> String) {
        for kind in &mut self.kinds {
            kind.colour = colour;
            kind.label = label(&kind.label);
            kind.name = label(&kind.name);
        }
    }

    /// How many points there are of each kind.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// How many points there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Points whose value is zero on a logarithmic axis.
    pub fn zeros(&self) -> u64 {
        self.zeros
    }

    /// Points without a value.
    pub fn without_value(&self) -> u64 {
        self.without_value
    }

    /// Whether a point lies at zero of a logarithmic axis to the right.
    pub fn has_x_zeros(&self) -> bool {
        self.has_x_zeros
    }

    /// The least and the largest place to the right, of those that are on the axis; `None` without any.
    pub fn x_range(&self) -> Option<(f64, f64)> {
        (self.x_range.0 <= self.x_range.1).then_some(self.x_range)
    }

    /// The least and the largest value that is on the axis; `None` without any.
    pub fn y_range(&self) -> Option<(f64, f64)> {
        (self.y_range.0 <= self.y_range.1).then_some(self.y_range)
    }

    /// How x and y are divided.
    pub fn axes(&self) -> [GridKind; 2] {
        self.axes
    }

    /// The points, if they are few enough to be kept.
    pub fn points(&self) -> Option<&[Point]> {
        self.cells.is_none().then_some(&self.points)
    }

    /// The cells that hold points, from left to right; of points that are kept none.
    pub fn cells(&self) -> impl Iterator<Item = Cell> + '_ {
        self.cells.iter().flat_map(Cells::iter)
    }

    /// The cells as numbers on a grid, for a page that zooms; `None` if points are kept. At most `most` of
    /// them, if that leaves the grid at least 256 columns and 128 rows.
    pub fn grid(&self, most: usize) -> Option<CellGrid> {
        let mut cells = self.cells.clone()?;
        cells.settle();
        cells.shrink(most, (256.0, 128.0));
        Some(cells.grid())
    }

    /// The same points without their kinds' difference and with cells of this size: what a heat map shows.
    pub fn merged(&self, columns: usize, rows: usize) -> Vec<Cell> {
        cells::rebinned(self, columns, rows)
    }
}

/// Cells as whole numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct CellGrid {
    /// How a column's number becomes its left edge.
    pub x: CellEdges,
    /// How a row's number becomes its lower edge.
    pub y: CellEdges,
    /// Column, row, kind, count; sorted.
    pub cells: Vec<(u64, u32, u8, u32)>,
}
