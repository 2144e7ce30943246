//! Where in a picture the data are.

use super::clip::Clip;

/// The rectangle of pixels where the data are.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlotArea {
    pub(super) left: i32,
    pub(super) top: i32,
    pub(super) right: i32,
    pub(super) bottom: i32,
    /// The height or width of the bands within the rectangle, zero without bands.
    pub(super) band_bottom: i32,
    pub(super) band_left: i32,
    pub(super) band_top: i32,
}

impl PlotArea {
    pub(super) fn width(&self) -> i32 {
        self.right - self.left
    }

    pub(super) fn height(&self) -> i32 {
        self.bottom - self.top
    }

    /// The pixels that data may have: those of the axes' lines too.
    pub(super) fn clip(&self) -> Clip {
        Clip {
            left: self.left,
            top: self.top,
            right: self.right,
            bottom: self.bottom,
        }
    }

    /// The pixel at a share of the axis, as a fraction of pixels.
    pub(super) fn x(&self, share: f64) -> f64 {
        let from = f64::from(self.left + self.band_left);
        from + share * (f64::from(self.right) - from)
    }

    /// The same for the vertical axis.
    pub(super) fn y(&self, share: f64) -> f64 {
        let from = f64::from(self.bottom - self.band_bottom);
        from - share * (from - f64::from(self.top + self.band_top))
    }
}
