//! How different two colours look to people with normal vision, and to those who lack one kind of cones.

use iosonar_plot::Rgb;

/// A matrix on linear red, green, blue.
type Matrix = [[f64; 3]; 3];

/// The kinds of vision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vision {
    Normal,
    /// Without cones for long wavelengths: red is dark, and like green.
    Protanopia,
    /// Without cones for medium wavelengths, the most common: red is like green.
    Deuteranopia,
    /// Without cones for short wavelengths, rare: blue is like green.
    Tritanopia,
}

impl Vision {
    pub(crate) const ALL: [Self; 4] = [
        Self::Normal,
        Self::Protanopia,
        Self::Deuteranopia,
        Self::Tritanopia,
    ];

    /// Machado, Oliveira and Fernandes, "A physiologically-based model for simulation of color vision deficiency" (2009),
    /// severity 1.0.
    pub(crate) fn matrix(self) -> Matrix {
        match self {
            Self::Normal => [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            Self::Protanopia => [
                [0.152_286, 1.052_583, -0.204_868],
                [0.114_503, 0.786_281, 0.099_216],
                [-0.003_882, -0.048_116, 1.051_998],
            ],
            Self::Deuteranopia => [
                [0.367_322, 0.860_646, -0.227_968],
                [0.280_085, 0.672_501, 0.047_413],
                [-0.011_820, 0.042_940, 0.968_881],
            ],
            Self::Tritanopia => [
                [1.255_528, -0.076_749, -0.178_779],
                [-0.078_411, 0.930_809, 0.147_602],
                [0.004_733, 0.691_367, 0.303_900],
            ],
        }
    }

    /// A colour as it is seen, in CIELAB (D65).
    pub(crate) fn lab(self, colour: Rgb) -> [f64; 3] {
        /// From linear sRGB to CIE XYZ, relative to white.
        const XYZ: Matrix = [
            [
                0.412_456_4 / 0.950_47,
                0.357_576_1 / 0.950_47,
                0.180_437_5 / 0.950_47,
            ],
            [0.212_672_9, 0.715_152_2, 0.072_175_0],
            [
                0.019_333_9 / 1.088_83,
                0.119_192_0 / 1.088_83,
                0.950_304_1 / 1.088_83,
            ],
        ];
        let seen = times(self.matrix(), colour.map(linear));
        let seen = seen.map(|part| part.clamp(0.0, 1.0));
        let [x, y, z] = times(XYZ, seen).map(|part| {
            let knee: f64 = 6.0 / 29.0;
            match part > knee.powi(3) {
                true => part.cbrt(),
                false => part / (3.0 * knee * knee) + 4.0 / 29.0,
            }
        });
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// How different two colours look: 1 is the least difference that all viewers notice between marks of a third of a degree,
    /// which is a marker or the swatch of a legend at arm's length.
    ///
    /// After Stone, Szafir and Setlur, "An engineering model for color difference as a function of size" (2014): a share p of
    /// viewers notices p (A + B / s) along an axis of CIELAB between marks of s degrees. A third of a degree is the smallest
    /// that they measured.
    pub(crate) fn difference(self, a: Rgb, b: Rgb) -> f64 {
        const SIZE: f64 = 1.0 / 3.0;
        const NOTICED: [(f64, f64); 3] = [(10.16, 1.50), (10.68, 3.08), (10.70, 5.74)];
        let (a, b) = (self.lab(a), self.lab(b));
        let parts = (0..3).map(|i| (a[i] - b[i]) / (NOTICED[i].0 + NOTICED[i].1 / SIZE));
        parts.map(|part| part * part).sum::<f64>().sqrt()
    }
}

fn linear(part: u8) -> f64 {
    let part = f64::from(part) / 255.0;
    match part <= 0.040_45 {
        true => part / 12.92,
        false => ((part + 0.055) / 1.055).powf(2.4),
    }
}

fn times(matrix: Matrix, of: [f64; 3]) -> [f64; 3] {
    matrix.map(|row| row.iter().zip(of).map(|(a, b)| a * b).sum())
}
