//! Curves.

use crate::theme::Colour;

/// The shape of the markers on a curve: readers who cannot distinguish its colour can distinguish its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // Their names say it.
pub enum Marker {
    Disc,
    Square,
    Up,
    Diamond,
    Down,
    Plus,
}

impl Marker {
    /// The marker of the n-th of several curves. Together with the colours of curves, of which there are seven, the first
    /// 42 differ.
    pub fn nth(n: usize) -> Self {
        [
            Self::Disc,
            Self::Square,
            Self::Up,
            Self::Diamond,
            Self::Down,
            Self::Plus,
        ][n % 6]
    }

    /// What it is called in a page's data.
    pub fn name(self) -> &'static str {
        match self {
            Self::Disc => "disc",
            Self::Square => "square",
            Self::Up => "up",
            Self::Diamond => "diamond",
            Self::Down => "down",
            Self::Plus => "plus",
        }
    }

    /// A letter of its shape.
    pub fn letter(self) -> char {
        match self {
            Self::Disc => '●',
            Self::Square => '■',
            Self::Up => '▲',
            Self::Diamond => '◆',
            Self::Down => '▼',
            Self::Plus => '✚',
        }
    }
}

/// A curve. A value that is not finite interrupts it.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// What it is called; without a name, as the legend says.
    pub name: String,
    /// What the legend says; without text it does not appear there.
    pub label: String,
    /// Its colour.
    pub colour: Option<Colour>,
    /// Where it goes, from left to right.
    pub points: Vec<(f64, f64)>,
    /// How it goes from point to point.
    pub shape: Shape,
    /// Whether, and how, it is broken.
    pub dash: Option<Dash>,
    /// Which of how many lines that may coincide it is, counted from 0; `(0, 0)` if it is alone.
    pub turn: (usize, usize),
    /// What is drawn on it now and then.
    pub marker: Option<Marker>,
    /// Whether it is half as thick as others, for what stands in the background.
    pub is_thin: bool,
}

/// How a line is broken, in pixels of a picture of the usual size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dash {
    /// The length of a dash.
    pub on: f64,
    /// The gap between two dashes.
    pub off: f64,
    /// Where the first dash begins.
    pub phase: f64,
}

impl Dash {
    /// The usual one.
    pub const USUAL: Self = Self {
        on: 9.0,
        off: 6.0,
        phase: 0.0,
    };

    /// How one of several lines that may coincide is broken: at least two thirds of each are drawn, and each is seen in
    /// the gaps of those above it, which are nested. A line that is not broken is the ground of the others where it is
    /// the first.
    fn in_turn(dash: Option<Self>, turn: usize, of: usize) -> Option<Self> {
        if of < 2 {
            return dash;
        }
        let (length, gaps, most) = match dash {
            None if turn == 0 => return None,
            // As long as short pieces of several lines allow.
            None => ([8.0, 4.0, 3.0][(of - 2).min(2)], turn, of - 1),
            Some(_) => (2.0, turn + 1, of),
        };
        let off = length * gaps as f64;
        Some(Self {
            on: 3.0 * length * most as f64 - off,
            off,
            phase: off,
        })
    }

    /// The same in a legend, of this width: two dashes with a gap between them.
    #[must_use]
    pub fn in_legend(self, width: f64) -> Self {
        let off = (width * self.off / (2.0 * self.on + self.off)).max(2.0);
        Self {
            on: 0.5 * (width - off),
            off,
            phase: 0.0,
        }
    }

    /// The same in a picture of another size, in whole pixels.
    #[must_use]
    pub(crate) fn zoomed(self, zoom: f64) -> Self {
        Self {
            on: (self.on * zoom).round().max(1.0),
            off: (self.off * zoom).round().max(1.0),
            phase: (self.phase * zoom).round(),
        }
    }

    /// The same behind a way of this length that it has gone along already.
    #[must_use]
    pub(crate) fn behind(self, way: f64) -> Self {
        Self {
            phase: (self.phase - way).rem_euclid(self.on + self.off),
            ..self
        }
    }

    /// How much of a way of this length is drawn.
    pub(crate) fn covered(self, length: f64) -> f64 {
        let pieces = self.pieces(length).into_iter();
        pieces.map(|(from, to)| to - from).sum()
    }

    /// The dashes on a way of this length: from, to.
    pub(crate) fn pieces(self, length: f64) -> Vec<(f64, f64)> {
        let period = self.on + self.off;
        let before = (self.phase / period).ceil() * period;
        let begins = (0..).map(|i| self.phase - before + f64::from(i) * period);
        let within = |from: f64| (from.max(0.0), (from + self.on).min(length));
        begins
            .take_while(|from| *from < length)
            .map(within)
            .filter(|(from, to)| to > from)
            .collect()
    }
}

/// How a curve goes from point to point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// Straight.
    #[default]
    Straight,
    /// It stays until the next point: windows that begin there.
    Steps,
}

impl Line {
    /// A straight line through these points.
    pub fn new(label: &str, colour: Colour, points: Vec<(f64, f64)>) -> Self {
        Self {
            label: label.to_owned(),
            colour: Some(colour),
            points,
            ..Self::default()
        }
    }

    /// Windows that begin at these points.
    pub fn steps(label: &str, colour: Colour, points: Vec<(f64, f64)>) -> Self {
        Self {
            shape: Shape::Steps,
            ..Self::new(label, colour, points)
        }
    }

    /// The same, broken.
    #[must_use]
    pub fn dashed(mut self) -> Self {
        self.dash = Some(Dash::USUAL);
        self
    }

    /// The same as one of several lines that may coincide, `turn` of `of`: each stays visible through the gaps
    /// of the others.
    #[must_use]
    pub fn in_turn(mut self, turn: usize, of: usize) -> Self {
        self.dash = Dash::in_turn(self.dash, turn, of);
        self.turn = (turn, of);
        self
    }

    /// The radius of its dots, in pixels of a picture of the usual size: of several lines that may coincide, each
    /// has smaller dots than those below it, so that all of them stay visible.
    pub fn dot(&self) -> f64 {
        const RADIUS: f64 = 2.5;
        let (turn, of) = self.turn;
        let above = of.saturating_sub(turn + 1) as f64;
        // Not more than so large, however many there are.
        let border = if of > 5 { 6.0 / (of - 1) as f64 } else { 1.5 };
        RADIUS + border * above
    }

    /// Which of several lines its markers begin as, so that those of different lines are at different places.
    pub fn turn_of_markers(&self) -> usize {
        match (self.turn, self.marker) {
            ((turn, 2..), _) => turn,
            (_, Some(marker)) => marker as usize,
            _ => 0,
        }
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        if self.name.is_empty() {
            &self.label
        } else {
            &self.name
        }
    }

    /// The same with a name of its own.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// Its colour.
    pub fn colour(&self) -> Colour {
        self.colour.unwrap_or(Colour::Muted)
    }
}
