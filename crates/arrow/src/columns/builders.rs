//! Columns of one kind each, to which values are appended.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, DurationNanosecondArray, StringArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer, ToByteSlice};
use iosonar_trace::Status;
use iosonar_trace::fields::status_text;
use iosonar_units::Nanos;

use super::Held;

/// Bits, 64 to a word.
#[derive(Default)]
pub(super) struct Bits {
    words: Vec<u64>,
    len: usize,
    ones: usize,
}

impl Bits {
    /// Appends `count` bits, as `bit` says of each.
    #[inline]
    pub(super) fn extend(&mut self, count: usize, bit: impl Fn(usize) -> bool) {
        let mut done = 0;
        while done < count {
            let offset = self.len % 64;
            let taken = (64 - offset).min(count - done);
            let word = (0..taken).fold(0, |word, i| word | u64::from(bit(done + i)) << i);
            self.append(word, (offset, taken));
            done += taken;
        }
    }

    /// Appends the same bit `count` times.
    pub(super) fn extend_same(&mut self, count: usize, bit: bool) {
        let mut left = count;
        while left > 0 {
            let offset = self.len % 64;
            let taken = (64 - offset).min(left);
            let word = if bit { u64::MAX >> (64 - taken) } else { 0 };
            self.append(word, (offset, taken));
            left -= taken;
        }
    }

    fn append(&mut self, word: u64, (offset, taken): (usize, usize)) {
        if offset == 0 {
            self.words.push(0);
        }
        let last = self.words.last_mut().expect("a word was begun");
        // On a machine that has the least significant byte first, as all have that this runs on.
        *last |= (word << offset).to_le();
        self.ones += word.count_ones() as usize;
        self.len += taken;
    }

    pub(super) fn zeros(&self) -> usize {
        self.len - self.ones
    }

    pub(super) fn clear(&mut self) {
        self.words.clear();
        (self.len, self.ones) = (0, 0);
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.words.to_byte_slice()[..self.len.div_ceil(8)]
    }

    pub(super) fn take(&mut self) -> BooleanBuffer {
        let Self { words, len, .. } = std::mem::take(self);
        BooleanBuffer::new(Buffer::from_vec(words), 0, len)
    }
}

/// Values of which the first `rows` count. Those that are all the usual one, zero, are written once and stay.
#[derive(Default)]
pub(super) struct Plain<T> {
    values: Vec<T>,
    rows: usize,
    /// Whether a value may be another than zero.
    is_varied: bool,
}

impl<T: Copy + Default> Plain<T> {
    /// Appends `count` values: `into` of what is known, zero of the rest.
    #[inline]
    pub(super) fn extend<S: Copy>(&mut self, known: &[S], count: usize, into: impl Fn(S) -> T) {
        if !known.is_empty() {
            self.is_varied = true;
            self.values.truncate(self.rows);
            self.values.extend(known.iter().map(|value| into(*value)));
        }
        self.rows += count;
        if self.values.len() < self.rows {
            self.values.resize(self.rows, T::default());
        }
    }

    pub(super) fn all(&self) -> &[T] {
        &self.values[..self.rows]
    }

    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.is_varied) {
            self.values.clear();
        }
        self.rows = 0;
    }

    pub(super) fn take(&mut self) -> Vec<T> {
        let mut values = std::mem::take(&mut self.values);
        values.truncate(self.rows);
        self.clear();
        values
    }
}

/// A column of times, some of which are not known.
#[derive(Default)]
pub(super) struct Times {
    values: Plain<i64>,
    known: Bits,
}

impl Times {
    pub(super) fn extend(&mut self, times: &[Option<Nanos>], count: usize) {
        let ns = |time: Option<Nanos>| time.map_or(0, |t| t.get() as i64);
        self.values.extend(times, count, ns);
        match times.iter().all(Option::is_some) {
            true => self.known.extend_same(times.len(), true),
            false => self.known.extend(times.len(), |row| times[row].is_some()),
        }
        self.known.extend_same(count - times.len(), false);
    }

    pub(super) fn held(&self) -> Held<'_> {
        Held::Times {
            values: self.values.all(),
            known: self.known.bytes(),
            nulls: self.known.zeros(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.known.clear();
    }

    pub(super) fn take(&mut self) -> ArrayRef {
        let values = ScalarBuffer::from(self.values.take());
        let known = NullBuffer::new(self.known.take());
        let nulls = (known.null_count() > 0).then_some(known);
        Arc::new(DurationNanosecondArray::new(values, nulls))
    }
}

/// The words for how requests ended: the numbers of errors join them as they turn up.
pub(super) struct Statuses {
    words: Vec<String>,
    errors: HashMap<u16, i32>,
    array: Option<ArrayRef>,
}

impl Statuses {
    const WITHOUT_NUMBER: [Status; 7] = [
        Status::Done,
        Status::Short,
        Status::Dropped,
        Status::Skipped,
        Status::Missed,
        Status::Cancelled,
        Status::VerifyFailed,
    ];

    pub(super) fn new() -> Self {
        Self {
            words: Self::WITHOUT_NUMBER.map(status_text).to_vec(),
            errors: HashMap::new(),
            array: None,
        }
    }

    #[inline]
    pub(super) fn key(&mut self, status: Status) -> i32 {
        match status {
            Status::Done => 0,
            Status::Short => 1,
            Status::Dropped => 2,
            Status::Skipped => 3,
            Status::Missed => 4,
            Status::Cancelled => 5,
            Status::VerifyFailed => 6,
            Status::Error(errno) => *self.errors.entry(errno).or_insert_with(|| {
                self.array = None;
                self.words.push(status_text(status));
                self.words.len() as i32 - 1
            }),
        }
    }

    pub(super) fn array(&mut self) -> ArrayRef {
        let words = &self.words;
        let array = self.array.get_or_insert_with(|| strings(words));
        Arc::clone(array)
    }
}

pub(super) fn strings(words: &[String]) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(words))
}
