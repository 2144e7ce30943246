//! Averages over time.

use iosonar_units::Nanos;

/// A whole number that changes over time, such as a queue's length, and its integral, in exact
/// integers.
///
/// The integral up to `until` is the last value times `until`, less the sum of each change times its instant: so a change
/// by one costs an addition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeWeighted {
    value: u32,
    most: u32,
    from: Nanos,
    until: Nanos,
    /// The integral less `value` times `until`, modulo 2^128.
    balance: u128,
}

fn product(value: u32, at: Nanos) -> u128 {
    u128::from(value) * u128::from(at.get())
}

impl TimeWeighted {
    /// The value now.
    #[inline]
    pub fn value(&self) -> u32 {
        self.value
    }

    /// Lets time pass, with the value as it is.
    #[inline]
    pub fn advance(&mut self, now: Nanos) {
        debug_assert!(now >= self.until, "time does not go back");
        self.until = now;
    }

    /// Changes the value.
    #[inline]
    pub fn set(&mut self, value: u32, now: Nanos) {
        self.advance(now);
        let change = product(self.value, now).wrapping_sub(product(value, now));
        self.balance = self.balance.wrapping_add(change);
        self.value = value;
        self.most = self.most.max(value);
    }

    /// One more.
    #[inline]
    pub fn increase(&mut self, now: Nanos) {
        self.advance(now);
        self.balance = self.balance.wrapping_sub(u128::from(now.get()));
        self.value += 1;
        self.most = self.most.max(self.value);
    }

    /// One less.
    ///
    /// # Panics
    /// If the value is zero.
    #[inline]
    pub fn decrease(&mut self, now: Nanos) {
        self.advance(now);
        self.balance = self.balance.wrapping_add(u128::from(now.get()));
        self.value -= 1;
    }

    /// Forgets what was before `now`; the value stays.
    pub fn restart(&mut self, now: Nanos) {
        *self = Self {
            value: self.value,
            most: self.value,
            from: now,
            until: now,
            balance: product(self.value, now).wrapping_neg(),
        };
    }

    /// How long it has been watched.
    pub fn span(&self) -> Nanos {
        self.until - self.from
    }

    /// The integral over time: the value times nanoseconds.
    pub fn integral(&self) -> u128 {
        self.balance.wrapping_add(product(self.value, self.until))
    }

    /// The mean over time; NaN over no time.
    pub fn mean(&self) -> f64 {
        self.integral() as f64 / self.span().get() as f64
    }

    /// The largest value.
    pub fn most(&self) -> u32 {
        self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_weighs_each_value_by_its_time() {
        let mut queue = TimeWeighted::default();
        queue.increase(Nanos::new(10));
        queue.increase(Nanos::new(20));
        queue.decrease(Nanos::new(50));
        queue.advance(Nanos::new(60));
        // 0 for 10, 1 for 10, 2 for 30, 1 for 10.
        assert_eq!((queue.integral(), queue.most(), queue.value()), (80, 2, 1));
        assert!((queue.mean() - 80.0 / 60.0).abs() < 1e-12);
    }

    #[test]
    fn after_a_restart_the_value_is_kept_and_the_past_is_not() {
        let mut queue = TimeWeighted::default();
        queue.set(5, Nanos::new(10));
        queue.set(3, Nanos::new(20));
        queue.restart(Nanos::new(100));
        queue.advance(Nanos::new(110));
        assert_eq!(
            (queue.mean(), queue.most(), queue.span()),
            (3.0, 3, Nanos::new(10))
        );
    }
}
