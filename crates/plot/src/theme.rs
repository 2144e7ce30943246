//! Colours, light and dark.
//!
//! Reads are blue and writes red, as in blkreplay's diagrams, in shades that colour-blind people can distinguish: they differ
//! in lightness too. Curves without a meaning of their own take the colours of Okabe and Ito ("Color universal design", 2008),
//! moved apart until all pairs of them are noticeably different without any one of the three kinds of cones.

/// Red, green, blue.
pub type Rgb = [u8; 3];

/// On what a picture is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Theme {
    /// On white, for paper.
    #[default]
    Light,
    /// On near-black, for screens and projectors in the dark.
    Dark,
}

impl Colour {
    /// The colours of `of` curves. More than differ as colours go from dark to bright in their order.
    pub fn of_curves(of: usize) -> impl Iterator<Item = Self> {
        (0..of).map(move |turn| match of <= CURVES {
            true => Self::Curve(turn),
            false => Self::Ordered { turn, of },
        })
    }

    /// All but those of curves.
    pub const NAMED: [Self; 11] = [
        Self::Read,
        Self::Write,
        Self::HeldRead,
        Self::HeldWrite,
        Self::Sum,
        Self::Demanded,
        Self::Actual,
        Self::Failed,
        Self::Muted,
        Self::Met,
        Self::Missed,
    ];

    /// What it is called in a page's data.
    pub fn name(self) -> String {
        match self {
            Self::Read => "read".to_owned(),
            Self::Write => "write".to_owned(),
            Self::HeldRead => "held-read".to_owned(),
            Self::HeldWrite => "held-write".to_owned(),
            Self::Sum => "sum".to_owned(),
            Self::Demanded => "demanded".to_owned(),
            Self::Actual => "actual".to_owned(),
            Self::Failed => "failed".to_owned(),
            Self::Muted => "muted".to_owned(),
            Self::Met => "met".to_owned(),
            Self::Missed => "missed".to_owned(),
            Self::Curve(n) => format!("curve-{}", n % CURVES),
            Self::Ordered { turn, of } => format!("ordered-{turn}-of-{of}"),
        }
    }
}

/// The number of curves with different colours.
pub(crate) const CURVES: usize = 7;

/// What a colour means; the theme says which it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Colour {
    /// Reads: blue.
    Read,
    /// Writes: red.
    Write,
    /// Reads that waited for others that overlap them: dark blue.
    HeldRead,
    /// Writes that waited for others that overlap them: dark red.
    HeldWrite,
    /// Reads and writes together: yellow.
    Sum,
    /// What was asked: green.
    Demanded,
    /// What was done: orange.
    Actual,
    /// What failed or never submitted.
    Failed,
    /// What stands in the background.
    Muted,
    /// A target that is met.
    Met,
    /// A target that is missed.
    Missed,
    /// The n-th of several curves.
    Curve(usize),
    /// The n-th of several curves in an order, counted from 0, such as loads from low to high: from dark to bright.
    Ordered {
        /// Which it is.
        turn: usize,
        /// How many there are.
        of: usize,
    },
}

/// From few to many.
pub(crate) type Ramp = [Rgb; 4];

/// All colours of a theme.
pub(crate) struct Palette {
    pub(crate) background: Rgb,
    pub(crate) text: Rgb,
    pub(crate) muted: Rgb,
    pub(crate) axis: Rgb,
    pub(crate) grid: Rgb,
    pub(crate) minor_grid: Rgb,
    pub(crate) warning: Rgb,
    pub(crate) good: Rgb,
    /// From few to many, for heat maps: perceptually even.
    pub(crate) heat: Ramp,
    read: Rgb,
    write: Rgb,
    held_read: Rgb,
    held_write: Rgb,
    sum: Rgb,
    demanded: Rgb,
    actual: Rgb,
    failed: Rgb,
    curves: [Rgb; CURVES],
    /// Of curves in an order: they differ in lightness as in colour.
    order: Ramp,
    read_ramp: Ramp,
    write_ramp: Ramp,
}

const LIGHT: Palette = Palette {
    background: [255, 255, 255],
    text: [32, 36, 42],
    muted: [110, 117, 127],
    axis: [60, 66, 74],
    grid: [222, 226, 231],
    minor_grid: [241, 243, 245],
    warning: [176, 64, 0],
    good: [0, 94, 70],
    heat: [
        [222, 226, 240],
        [126, 168, 206],
        [48, 92, 156],
        [28, 20, 72],
    ],
    read: [0, 104, 178],
    write: [212, 52, 32],
    held_read: [0, 46, 92],
    held_write: [110, 14, 8],
    sum: [214, 164, 0],
    demanded: [0, 138, 92],
    actual: [230, 126, 0],
    failed: [78, 78, 78],
    curves: [
        [2, 107, 172],
        [207, 90, 0],
        [38, 162, 111],
        [198, 130, 183],
        [72, 186, 248],
        [233, 161, 4],
        [60, 60, 60],
    ],
    order: [[58, 12, 96], [38, 92, 168], [20, 156, 110], [236, 160, 0]],
    read_ramp: [[120, 180, 226], [38, 128, 196], [0, 84, 150], [0, 36, 76]],
    write_ramp: [[246, 158, 140], [228, 88, 62], [176, 30, 18], [86, 8, 8]],
};

const DARK: Palette = Palette {
    background: [19, 22, 27],
    text: [230, 233, 237],
    muted: [150, 158, 168],
    axis: [176, 183, 192],
    grid: [52, 58, 66],
    minor_grid: [33, 37, 43],
    warning: [255, 170, 92],
    good: [100, 230, 180],
    heat: [[38, 44, 66], [44, 96, 148], [72, 176, 186], [244, 246, 188]],
    read: [84, 170, 244],
    write: [255, 106, 82],
    held_read: [40, 98, 168],
    held_write: [176, 52, 38],
    sum: [244, 208, 74],
    demanded: [70, 200, 150],
    actual: [255, 166, 60],
    failed: [208, 208, 208],
    curves: [
        [84, 192, 254],
        [244, 134, 31],
        [12, 167, 115],
        [202, 135, 188],
        [239, 228, 65],
        [145, 117, 228],
        [195, 202, 200],
    ],
    order: [
        [110, 44, 210],
        [52, 132, 214],
        [90, 204, 140],
        [255, 244, 150],
    ],
    read_ramp: [
        [26, 66, 108],
        [40, 116, 184],
        [92, 178, 248],
        [206, 234, 255],
    ],
    write_ramp: [
        [112, 34, 26],
        [186, 60, 42],
        [255, 118, 92],
        [255, 220, 206],
    ],
};

impl Theme {
    pub(crate) fn palette(self) -> &'static Palette {
        match self {
            Self::Light => &LIGHT,
            Self::Dark => &DARK,
        }
    }

    /// What `colour` is in this theme.
    pub fn rgb(self, colour: Colour) -> Rgb {
        self.palette().rgb(colour)
    }

    /// The colours of a density of this colour, from few to many.
    pub fn ramp(self, colour: Colour) -> [Rgb; 4] {
        self.palette().ramp(colour)
    }

    /// The colours of a heat map, from few to many: perceptually even.
    pub fn heat(self) -> [Rgb; 4] {
        self.palette().heat
    }

    /// The colours of everything that is not data, by name.
    pub fn surfaces(self) -> [(&'static str, Rgb); 8] {
        let palette = self.palette();
        [
            ("background", palette.background),
            ("text", palette.text),
            ("muted", palette.muted),
            ("axis", palette.axis),
            ("grid", palette.grid),
            ("minor", palette.minor_grid),
            ("warning", palette.warning),
            ("good", palette.good),
        ]
    }
}

impl Palette {
    pub(crate) fn rgb(&self, colour: Colour) -> Rgb {
        match colour {
            Colour::Read => self.read,
            Colour::Write => self.write,
            Colour::HeldRead => self.held_read,
            Colour::HeldWrite => self.held_write,
            Colour::Sum => self.sum,
            Colour::Demanded => self.demanded,
            Colour::Actual => self.actual,
            Colour::Failed => self.failed,
            Colour::Muted => self.muted,
            Colour::Met => self.good,
            Colour::Missed => self.warning,
            Colour::Curve(n) => self.curves[n % CURVES],
            Colour::Ordered { turn, of } => on_ramp(
                &self.order,
                turn as f64 / of.saturating_sub(1).max(1) as f64,
            ),
        }
    }

    /// The colours of a density of this colour, from few to many.
    pub(crate) fn ramp(&self, colour: Colour) -> Ramp {
        match colour {
            Colour::Read => self.read_ramp,
            Colour::Write => self.write_ramp,
            other => {
                // From half way to the background to the text's colour, through the colour itself.
                let of = self.rgb(other);
                [
                    mixed(of, self.background, 0.5),
                    of,
                    mixed(of, self.text, 0.4),
                    mixed(of, self.text, 0.7),
                ]
            }
        }
    }
}

/// The colour of a cell with these counts of each kind: each kind's own ramp, mixed where several are.
/// Logarithmic in the count, as the eye is; `scale` brings the largest to the end of the ramp.
pub(crate) fn blend(counts: &[f32], ramps: &[Ramp], scale: f64) -> Rgb {
    let share = f64::from(1.0 + counts.iter().sum::<f32>()).ln() * scale;
    let weight = |n: f32| f64::from(n).ln_1p();
    let all: f64 = counts.iter().map(|n| weight(*n)).sum();
    let mut sum = [0.0; 3];
    for (n, ramp) in counts.iter().zip(ramps).filter(|(n, _)| **n > 0.0) {
        let colour = on_ramp(ramp, share);
        for (sum, part) in sum.iter_mut().zip(colour) {
            *sum += f64::from(part) * weight(*n) / all;
        }
    }
    sum.map(|part: f64| part.round() as u8)
}

/// A share of the way from `from` to `to`.
pub(crate) fn mixed(from: Rgb, to: Rgb, share: f64) -> Rgb {
    std::array::from_fn(|i| {
        let (a, b) = (f64::from(from[i]), f64::from(to[i]));
        (a + (b - a) * share).round() as u8
    })
}

/// The colour at `share` (0 to 1) of a ramp.
pub(crate) fn on_ramp(ramp: &Ramp, share: f64) -> Rgb {
    let at = share.clamp(0.0, 1.0) * (ramp.len() - 1) as f64;
    let step = (at as usize).min(ramp.len() - 2);
    mixed(ramp[step], ramp[step + 1], at - step as f64)
}
