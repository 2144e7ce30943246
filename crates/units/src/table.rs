//! Tables of results: columns of one type each, in a unit, for CSV and for formats with types.

use std::borrow::Cow;
use std::fmt::Write;

use crate::{Kind, Nanos, csv_field, magnitude};

/// What the numbers of a column count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnUnit {
    /// No unit.
    None,
    /// Time, in nanoseconds, milliseconds or seconds.
    Time(TimeScale),
    /// Bytes.
    Bytes,
    /// Sectors of 512 bytes.
    Sectors,
    /// A share, from 0 to 1.
    Share,
    /// Per second.
    PerSecond,
    /// Bytes per second.
    BytesPerSecond,
    /// Millions of bytes per second.
    MegabytesPerSecond,
}

/// In which unit CSV has times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeScale {
    /// Nanoseconds.
    Nanoseconds,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
}

impl TimeScale {
    /// The nanoseconds of one.
    pub fn nanoseconds(self) -> f64 {
        match self {
            Self::Nanoseconds => 1.0,
            Self::Milliseconds => 1e6,
            Self::Seconds => 1e9,
        }
    }

    /// As names end.
    fn ending(self) -> &'static str {
        match self {
            Self::Nanoseconds => "_ns",
            Self::Milliseconds => "_ms",
            Self::Seconds => "_s",
        }
    }
}

/// What a name may end in behind its unit: half the width of the 95 % interval.
const HALF_WIDTH: &str = "_ci95";

impl ColumnUnit {
    /// The unit that a column's name ends in.
    ///
    /// ```
    /// use iosonar_units::{ColumnUnit, TimeScale};
    ///
    /// assert_eq!(ColumnUnit::of_name("p99_ms"), ColumnUnit::Time(TimeScale::Milliseconds));
    /// assert_eq!(ColumnUnit::of_name("throughput_per_s"), ColumnUnit::PerSecond);
    /// assert_eq!(ColumnUnit::of_name("requests"), ColumnUnit::None);
    /// ```
    pub fn of_name(name: &str) -> Self {
        let name = name.strip_suffix(HALF_WIDTH).unwrap_or(name);
        let ends = |ending| name.ends_with(ending);
        match () {
            () if ends("megabytes_per_s") => Self::MegabytesPerSecond,
            () if ends("_bytes_per_s") => Self::BytesPerSecond,
            () if ends("_per_s") => Self::PerSecond,
            () if ends("_ns") => Self::Time(TimeScale::Nanoseconds),
            () if ends("_ms") => Self::Time(TimeScale::Milliseconds),
            () if ends("_s") => Self::Time(TimeScale::Seconds),
            () if ends("_bytes") => Self::Bytes,
            () if ends("_share") || name == "share" || name.starts_with("share_") => Self::Share,
            () if ends("sectors") || ends("sector") || name.starts_with("sectors_") => {
                Self::Sectors
            }
            () => Self::None,
        }
    }

    /// The unit as it is written, such as `1/s`; `None` of numbers without one.
    pub fn symbol(self) -> Option<&'static str> {
        Some(match self {
            Self::None => return None,
            Self::Time(TimeScale::Nanoseconds) => "ns",
            Self::Time(TimeScale::Milliseconds) => "ms",
            Self::Time(TimeScale::Seconds) => "s",
            Self::Bytes => "bytes",
            Self::Sectors => "sectors",
            Self::Share => "share",
            Self::PerSecond => "1/s",
            Self::BytesPerSecond => "bytes/s",
            Self::MegabytesPerSecond => "MB/s",
        })
    }
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValues {
    /// Whole numbers.
    Counts(Vec<Option<u64>>),
    /// Numbers; what is not finite is not known.
    Numbers(Vec<f64>),
    /// Exact times.
    Times(Vec<Option<Nanos>>),
    /// Words.
    Texts(Vec<Option<String>>),
    /// The values of a parameter, as they were written: `8`, `8KiB`, `cfq`.
    Written(Vec<String>),
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    name: String,
    unit: ColumnUnit,
    values: ColumnValues,
}

impl Column {
    fn of(name: impl Into<String>, values: ColumnValues) -> Self {
        let name = name.into();
        Self {
            unit: ColumnUnit::of_name(&name),
            name,
            values,
        }
    }

    /// A column of whole numbers. Here as below, the unit is the one that the name ends in.
    pub fn counts(name: impl Into<String>) -> Self {
        Self::of(name, ColumnValues::Counts(Vec::new()))
    }

    /// A column of numbers.
    pub fn numbers(name: impl Into<String>) -> Self {
        Self::of(name, ColumnValues::Numbers(Vec::new()))
    }

    /// A column of exact times.
    pub fn times(name: impl Into<String>) -> Self {
        Self::of(name, ColumnValues::Times(Vec::new()))
    }

    /// A column of words, which has no unit.
    pub fn texts(name: impl Into<String>) -> Self {
        Self {
            unit: ColumnUnit::None,
            ..Self::of(name, ColumnValues::Texts(Vec::new()))
        }
    }

    /// A column of the values of a parameter, which has no unit.
    pub fn written(name: impl Into<String>) -> Self {
        Self {
            unit: ColumnUnit::None,
            ..Self::of(name, ColumnValues::Written(Vec::new()))
        }
    }

    /// The name in CSV.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name where times are in nanoseconds: `p99_ns` of `p99_ms`.
    pub fn name_in_ns(&self) -> Cow<'_, str> {
        let ColumnUnit::Time(scale) = self.unit else {
            return Cow::Borrowed(&self.name);
        };
        let (name, behind) = match self.name.strip_suffix(HALF_WIDTH) {
            Some(name) => (name, HALF_WIDTH),
            None => (self.name.as_str(), ""),
        };
        let stem = name.strip_suffix(scale.ending()).unwrap_or(name);
        Cow::Owned(format!("{stem}_ns{behind}"))
    }

    /// What its numbers count.
    pub fn unit(&self) -> ColumnUnit {
        self.unit
    }

    /// Its values.
    pub fn values(&self) -> &ColumnValues {
        &self.values
    }

    /// How many values it has.
    pub fn len(&self) -> usize {
        match &self.values {
            ColumnValues::Counts(values) => values.len(),
            ColumnValues::Numbers(values) => values.len(),
            ColumnValues::Times(values) => values.len(),
            ColumnValues::Texts(values) => values.len(),
            ColumnValues::Written(values) => values.len(),
        }
    }

    /// Whether it has no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The numbers of a parameter all of whose values are plain numbers.
    pub fn plain_numbers(&self) -> Option<Vec<f64>> {
        let ColumnValues::Written(values) = &self.values else {
            return None;
        };
        let number = |value: &String| match magnitude(value) {
            Some((number, Kind::Number)) => Some(number),
            _ => None,
        };
        values.iter().map(number).collect()
    }

    fn clear(&mut self) {
        match &mut self.values {
            ColumnValues::Counts(values) => values.clear(),
            ColumnValues::Numbers(values) => values.clear(),
            ColumnValues::Times(values) => values.clear(),
            ColumnValues::Texts(values) => values.clear(),
            ColumnValues::Written(values) => values.clear(),
        }
    }

    /// # Panics
    /// If the column has values of another type.
    fn push(&mut self, cell: Cell<'_>) {
        match (&mut self.values, cell) {
            (ColumnValues::Counts(values), Cell::Unknown) => values.push(None),
            (ColumnValues::Counts(values), Cell::Count(count)) => values.push(Some(count)),
            (ColumnValues::Numbers(values), Cell::Unknown) => values.push(f64::NAN),
            (ColumnValues::Numbers(values), Cell::Number(number)) => values.push(number),
            (ColumnValues::Numbers(values), Cell::Count(count)) => values.push(count as f64),
            (ColumnValues::Times(values), Cell::Unknown) => values.push(None),
            (ColumnValues::Times(values), Cell::Time(time)) => values.push(Some(time)),
            (ColumnValues::Texts(values), Cell::Unknown) => values.push(None),
            (ColumnValues::Texts(values), Cell::Text(text)) => values.push(Some(text.into_owned())),
            (ColumnValues::Written(values), Cell::Text(text)) => values.push(text.into_owned()),
            (_, cell) => panic!("the column {} does not hold {cell:?}", self.name),
        }
    }

    /// Writes the value of a row as CSV; nothing where it is not known.
    fn write_csv(&self, row: usize, text: &mut String) {
        let written = match &self.values {
            ColumnValues::Counts(values) => match values[row] {
                Some(count) => write!(text, "{count}"),
                None => Ok(()),
            },
            ColumnValues::Numbers(values) => match values[row] {
                number if number.is_finite() => write!(text, "{number}"),
                _ => Ok(()),
            },
            ColumnValues::Times(values) => match (values[row], self.unit) {
                (None, _) => Ok(()),
                (Some(t), ColumnUnit::Time(TimeScale::Seconds)) => {
                    write!(text, "{}", t.as_secs_f64())
                }
                (Some(t), ColumnUnit::Time(TimeScale::Milliseconds)) => {
                    write!(text, "{}", t.as_millis_f64())
                }
                (Some(t), _) => write!(text, "{}", t.get()),
            },
            ColumnValues::Texts(values) => {
                text.push_str(&csv_field(values[row].as_deref().unwrap_or_default()));
                Ok(())
            }
            ColumnValues::Written(values) => {
                text.push_str(&csv_field(&values[row]));
                Ok(())
            }
        };
        written.expect("a string takes all that is written to it");
    }
}

/// A value on its way into a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    /// It is not known.
    Unknown,
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// A time.
    Time(Nanos),
    /// A word.
    Text(Cow<'a, str>),
}

macro_rules! counts {
    ($($of:ty),*) => {$(
        impl From<$of> for Cell<'_> {
            fn from(count: $of) -> Self {
                Self::Count(u64::from(count))
            }
        }
    )*};
}

counts!(u16, u32, u64);

impl From<usize> for Cell<'_> {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

impl From<f64> for Cell<'_> {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<Nanos> for Cell<'_> {
    fn from(time: Nanos) -> Self {
        Self::Time(time)
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Unknown, Into::into)
    }
}

/// A table: columns of equal length, and what is known of it as a whole.
///
/// ```
/// use iosonar_units::{Column, Nanos, Table};
///
/// let mut table = Table::new([Column::texts("scenario"), Column::times("p99_ms"), Column::counts("requests")]);
/// table.row().put("raid5").put(Nanos::from_micros(1500)).put(7_u64);
/// table.row().put("a,b").put(None::<Nanos>).put(0_u64);
/// assert_eq!(table.csv(), "scenario,p99_ms,requests\nraid5,1.5,7\n\"a,b\",,0\n");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: Vec<Column>,
    about: Vec<(String, String)>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self {
            columns: columns.into_iter().collect(),
            about: Vec::new(),
        }
    }

    /// The same, with something that is known of it as a whole. Formats with types keep it; CSV has no place for it.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<String>) -> Self {
        self.about.push((key.to_owned(), value.into()));
        self
    }

    /// What is known of it as a whole: keys and values.
    pub fn about(&self) -> &[(String, String)] {
        &self.about
    }

    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Appends a column, which has as many values as the others.
    ///
    /// # Panics
    /// If it has not.
    pub fn push_column(&mut self, column: Column) {
        assert!(
            self.columns.is_empty() || column.len() == self.len(),
            "the column {} has another length",
            column.name
        );
        self.columns.push(column);
    }

    /// How many rows there are.
    ///
    /// # Panics
    /// If a row is not complete.
    pub fn len(&self) -> usize {
        let len = self.columns.first().map_or(0, Column::len);
        let other = self.columns.iter().find(|column| column.len() != len);
        assert!(
            other.is_none(),
            "a row of the table is incomplete: {:?}",
            other.map(Column::name)
        );
        len
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Begins a row: a value must follow for each column.
    pub fn row(&mut self) -> Row<'_> {
        let columns = self.columns.iter_mut();
        Row { columns }
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.columns.iter_mut().for_each(Column::clear);
    }

    /// The names of the columns as a line of CSV.
    pub fn csv_header(&self) -> String {
        let names: Vec<_> = self.columns.iter().map(|of| csv_field(&of.name)).collect();
        names.join(",") + "\n"
    }

    /// The rows as lines of CSV. What is not known is an empty field.
    pub fn csv_rows(&self) -> String {
        let mut text = String::new();
        for row in 0..self.len() {
            for (i, column) in self.columns.iter().enumerate() {
                if i > 0 {
                    text.push(',');
                }
                column.write_csv(row, &mut text);
            }
            text.push('\n');
        }
        text
    }

    /// All of it as CSV.
    pub fn csv(&self) -> String {
        self.csv_header() + &self.csv_rows()
    }
}

/// A row that is being filled.
pub struct Row<'t> {
    columns: std::slice::IterMut<'t, Column>,
}

impl Row<'_> {
    /// Puts the value of the next column.
    ///
    /// # Panics
    /// If there is no further column, or it has values of another type.
    pub fn put<'a>(&mut self, cell: impl Into<Cell<'a>>) -> &mut Self {
        let column = self.columns.next().expect("a column for each value");
        column.push(cell.into());
        self
    }

    /// Puts the values of the next columns.
    pub fn put_all<'a, C: Into<Cell<'a>>>(
        &mut self,
        cells: impl IntoIterator<Item = C>,
    ) -> &mut Self {
        for cell in cells {
            self.put(cell);
        }
        self
    }

    /// Leaves the values of this many columns unknown.
    pub fn put_unknown(&mut self, columns: usize) -> &mut Self {
        self.put_all((0..columns).map(|_| Cell::Unknown))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_unit_that_the_values_are_in() {
        for (name, unit, in_ns) in [
            (
                "mean_ms_ci95",
                ColumnUnit::Time(TimeScale::Milliseconds),
                "mean_ns_ci95",
            ),
            (
                "window_end_s",
                ColumnUnit::Time(TimeScale::Seconds),
                "window_end_ns",
            ),
            (
                "wait_ns",
                ColumnUnit::Time(TimeScale::Nanoseconds),
                "wait_ns",
            ),
            (
                "megabytes_per_s",
                ColumnUnit::MegabytesPerSecond,
                "megabytes_per_s",
            ),
            ("capacity_per_s", ColumnUnit::PerSecond, "capacity_per_s"),
            ("sectors_read", ColumnUnit::Sectors, "sectors_read"),
            ("share_low_95", ColumnUnit::Share, "share_low_95"),
            ("working_set_1s", ColumnUnit::None, "working_set_1s"),
        ] {
            let column = Column::numbers(name);
            assert_eq!(column.unit(), unit, "{name}");
            assert_eq!(column.name_in_ns(), in_ns);
        }
    }

    #[test]
    fn what_is_not_known_is_an_empty_field() {
        let mut table = Table::new([
            Column::counts("n"),
            Column::numbers("x"),
            Column::times("t_s"),
            Column::texts("why"),
        ]);
        table
            .row()
            .put(1_u64)
            .put(f64::INFINITY)
            .put(Nanos::from_millis(1500))
            .put("=1");
        table.row().put_unknown(4);
        assert_eq!(table.csv(), "n,x,t_s,why\n1,,1.5,'=1\n,,,\n");
    }

    #[test]
    fn parameters_are_numbers_where_all_their_values_are() {
        let of = |values: [&str; 2]| {
            let mut column = Column::written("disks");
            for value in values {
                column.push(value.into());
            }
            column.plain_numbers()
        };
        assert_eq!(of(["4", "8.5"]), Some(vec![4.0, 8.5]));
        assert_eq!(of(["4KiB", "8KiB"]), None);
        assert_eq!(of(["4", "all"]), None);
    }

    #[test]
    #[should_panic(expected = "a row of the table is incomplete: Some(\"b\")")]
    fn a_row_has_a_value_for_each_column() {
        let mut table = Table::new([Column::counts("a"), Column::counts("b")]);
        table.row().put(1_u64);
        table.csv();
    }
}
