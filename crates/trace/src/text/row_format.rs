//! A format of one request a line, as a table of what is special about it.

use super::{Axis, Rebased, RowReader, Rows};
use crate::{Format, ReadOptions, Source, TraceError, TraceReader};

/// A format of one request a line that can be read.
pub(crate) struct RowFormat<R> {
    pub(crate) name: &'static str,
    pub(crate) extensions: &'static [&'static str],
    pub(crate) description: &'static str,
    pub(crate) columns: &'static str,
    /// What a row looks like, for messages.
    pub(crate) shape: &'static str,
    /// What times count from; `None` where they count from the trace's beginning.
    pub(crate) axis: Option<Axis>,
    /// Whether a line is a row or the header of this format.
    pub(crate) fits: fn(&[u8]) -> bool,
    /// What reads the rows.
    pub(crate) rows: fn() -> R,
}

/// A row or header must be among this number of first non-blank lines.
const LOOKED_AT: usize = 8;

impl<R: Rows + 'static> Format for RowFormat<R> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn extensions(&self) -> &'static [&'static str] {
        self.extensions
    }

    fn description(&self) -> &'static str {
        self.description
    }

    fn columns(&self) -> &'static str {
        self.columns
    }

    fn recognises(&self, head: &[u8]) -> bool {
        first_lines(head).any(self.fits)
    }

    fn reader(
        &self,
        source: Source,
        options: &ReadOptions,
    ) -> Result<Box<dyn TraceReader>, TraceError> {
        let path = source.path.clone();
        let rows = RowReader::new(source, options, (self.rows)(), self.shape);
        Ok(match self.axis {
            None => Box::new(rows),
            Some(axis) => Box::new(Rebased::new(rows, path, axis, options.lenient)),
        })
    }
}

/// The first lines of a text that are not blank.
pub(crate) fn first_lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let head = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head);
    head.split(|&b| b == b'\n')
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty())
        .take(LOOKED_AT)
}

/// Whether the fields of `line` between `delimiter`s are of these kinds: `n` a whole number, `d` a decimal
/// number, `o` an operation, `w` any word.
pub(crate) fn has_fields(line: &[u8], delimiter: u8, kinds: &str) -> bool {
    let fits = |(field, kind): (&[u8], u8)| match kind {
        b'n' => super::whole(field).is_some(),
        b'd' => super::decimal(field, 1).is_some(),
        b'o' => super::direction(field).is_some(),
        _ => !field.is_empty(),
    };
    let kinds = kinds.bytes();
    if delimiter == b' ' {
        let mut fields = super::words(line);
        kinds
            .into_iter()
            .all(|kind| fields.next().is_some_and(|f| fits((f, kind))))
            && fields.next().is_none()
    } else {
        let mut fields = line.split(|&b| b == delimiter).map(<[u8]>::trim_ascii);
        kinds
            .into_iter()
            .all(|kind| fields.next().is_some_and(|f| fits((f, kind))))
            && fields.next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_fields_of_these_kinds_and_no_others() {
        for (line, kinds, fits) in [
            ("1,2.5,R,x", "ndow", true),
            ("1, 2.5 ,write,any text", "ndow", true),
            ("1,2.5,R", "ndow", false),
            ("1,2.5,R,x,more", "ndow", false),
            ("1,2.5,R,", "ndow", false),
            ("1.5,2.5,R,x", "ndow", false),
            ("1,2.5,y,x", "ndow", false),
            ("1,y,R,x", "ndow", false),
        ] {
            assert_eq!(has_fields(line.as_bytes(), b',', kinds), fits, "{line}");
            // Between blanks, a word has none itself, and none is empty.
            let words = line.replace(", ", ",").replace("any text", "text");
            let words = words.replace([',', ' '], "  ");
            assert_eq!(has_fields(words.as_bytes(), b' ', kinds), fits, "{words}");
        }
    }
}
