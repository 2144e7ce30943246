//! Columns that cost nothing while all their values are the usual one.

use std::ops::Range;

/// A column whose storage comes into being with the first value that is not the default.
#[derive(Clone, Debug, Default)]
pub(crate) struct OptionalColumn<T> {
    values: Vec<T>,
}

impl<T: Copy + Default + PartialEq> OptionalColumn<T> {
    /// Appends `value` as row number `row`; all rows before have been pushed.
    #[inline]
    pub(crate) fn push(&mut self, row: usize, value: T) {
        if !self.values.is_empty() || value != T::default() {
            if self.values.len() < row {
                self.values.resize(row, T::default());
            }
            self.values.push(value);
        }
    }

    /// Appends values to a column that has one for every row so far, or none at all.
    pub(crate) fn extend(&mut self, values: impl Iterator<Item = T>) {
        self.values.extend(values);
    }

    /// Appends the values of some rows of another column to one of `len` rows.
    pub(crate) fn extend_from(
        &mut self,
        len: usize,
        other: &Self,
        rows: impl Iterator<Item = usize>,
    ) {
        if other.values.is_empty() {
            return;
        }
        self.values.resize(len, T::default());
        self.values.extend(rows.map(|row| other.get(row)));
    }

    #[inline]
    pub(crate) fn get(&self, row: usize) -> T {
        self.values.get(row).copied().unwrap_or_default()
    }

    /// The values of these rows; rows beyond the end have the default.
    pub(crate) fn slice(&self, rows: Range<usize>) -> &[T] {
        let end = rows.end.min(self.values.len());
        self.values.get(rows.start..end).unwrap_or_default()
    }

    pub(crate) fn set(&mut self, row: usize, value: T) {
        if row >= self.values.len() {
            if value == T::default() {
                return;
            }
            self.values.resize(row + 1, T::default());
        }
        self.values[row] = value;
    }

    /// The values up to the last that is not the default, or some more.
    pub(crate) fn values(&self) -> &[T] {
        &self.values
    }

    /// Whether all values are the default; may be false although they are.
    pub(crate) fn is_plain(&self) -> bool {
        self.values.is_empty()
    }

    pub(crate) fn truncate(&mut self, rows: usize) {
        self.values.truncate(rows);
    }

    pub(crate) fn clear(&mut self) {
        self.values.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::OptionalColumn;

    #[test]
    fn a_column_of_defaults_takes_no_memory() {
        let mut column = OptionalColumn::<u16>::default();
        (0..1000).for_each(|row| column.push(row, 0));
        assert_eq!(column.values.capacity(), 0);
        column.push(1000, 7);
        assert_eq!((column.get(999), column.get(1000)), (0, 7));
    }

    #[test]
    fn rows_behind_the_last_value_have_the_default() {
        let mut column = OptionalColumn::<u16>::default();
        assert!(column.is_plain() && column.values().is_empty());
        column.set(3, 0);
        assert!(column.is_plain(), "a default is set to what it is");
        column.set(2, 7);
        assert!(!column.is_plain());
        assert_eq!(column.values(), [0, 0, 7]);
        assert_eq!(
            (column.slice(1..9), column.slice(4..9)),
            (&[0, 7][..], &[][..])
        );
        column.clear();
        assert!(column.is_plain());
    }
}
