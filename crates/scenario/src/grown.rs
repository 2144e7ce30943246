//! A load that has grown: in time, as a faster trace or more arrivals, or in time and space, as copies of a trace.

use iosonar_trace::fit::{Beyond, Fit, Fitter};
use iosonar_trace::transform::{Change, Copies, Ratio};

use crate::resolve::end_of;
use crate::{LoadModel, Prepared, ScenarioError};

impl Prepared {
    /// With a load that has grown by this factor: of a trace the speed, of arrivals their rate.
    /// `None` of a closed loop, whose users set the pace themselves, and of a trace at a speed outside of 0.000001 to
    /// 1000000.
    #[must_use]
    pub fn grown(mut self, factor: f64) -> Option<Self> {
        match &mut self.load {
            LoadModel::Synthetic { classes, .. } => {
                for class in classes {
                    class.arrivals = class.arrivals.scaled(factor);
                }
            }
            LoadModel::Trace { reading, .. } => {
                reading.changes.push(Change::Speed(Ratio::nearest(factor)?));
            }
            LoadModel::Alone { .. } | LoadModel::Closed { .. } => return None,
        }
        Some(self)
    }

    /// With this many independent copies of its trace, each on data of its own, as `--scale-load` makes them; `None` unless
    /// the load is a trace.
    #[must_use]
    pub fn copied(mut self, copies: Copies) -> Option<Self> {
        let LoadModel::Trace {
            reading, fitter, ..
        } = &mut self.load
        else {
            return None;
        };
        reading.changes.push(Change::ScaleLoad(copies));
        // What is scaled to fit the array is scaled by where all copies end.
        let fit = Fit {
            beyond: fitter.beyond(),
            align: false,
        };
        let end = copies.end_of(fitter.load_end());
        *fitter = Fitter::new(fit, fitter.target_sectors(), 1, end);
        Some(self)
    }

    /// How many copies of its trace lie within the array; 0 if the trace itself does not. `None` if requests beyond the end
    /// are moved into the array, and for other loads. Of copies that are clipped, those beyond the end would add nothing.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn copies_within(&self) -> Result<Option<u32>, ScenarioError> {
        match &self.load {
            LoadModel::Trace {
                path,
                reading,
                fitter,
                ..
            } if matches!(fitter.beyond(), Beyond::Refuse | Beyond::Clip) => {
                let end = end_of(path, reading)?;
                Ok(Some(Copies::within(end, fitter.target_sectors())))
            }
            _ => Ok(None),
        }
    }
}
