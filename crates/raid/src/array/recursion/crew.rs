//! Threads that carry out the tasks of one round after the other.
//!
//! A task owns what it works on, so that nothing is shared but the two lists. It is some hundred microseconds of work,
//! so that taking it from a list costs nothing beside it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Something that can be carried out on any thread.
pub(super) trait Task: Send {
    fn carry_out(&mut self);
}

/// The tasks of a round.
struct Round<T> {
    /// Those that no thread has taken, the next one last.
    waiting: Vec<T>,
    /// How many are being carried out.
    running: usize,
    finished: Vec<T>,
    /// No more rounds follow.
    is_over: bool,
    /// A task has panicked on another thread.
    has_failed: bool,
}

/// The threads' common list of tasks.
pub(super) struct Crew<T> {
    round: Mutex<Round<T>>,
    /// Tasks have come, or all is over.
    work: Condvar,
    /// The last running task has finished.
    rest: Condvar,
}

impl<T: Task> Crew<T> {
    pub(super) fn new() -> Self {
        Self {
            round: Mutex::new(Round {
                waiting: Vec::new(),
                running: 0,
                finished: Vec::new(),
                is_over: false,
                has_failed: false,
            }),
            work: Condvar::new(),
            rest: Condvar::new(),
        }
    }

    fn round(&self) -> MutexGuard<'_, Round<T>> {
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts out the tasks of a round; the last one is taken first.
    pub(super) fn begin(&self, tasks: impl Iterator<Item = T>) {
        let mut round = self.round();
        round.waiting.extend(tasks);
        drop(round);
        self.work.notify_all();
    }

    /// Carries out tasks on this thread until all are finished, and moves them to `finished`, in no order.
    ///
    /// # Panics
    /// If a task has panicked.
    pub(super) fn finish(&self, finished: &mut Vec<T>) {
        while self.carry_out_next(self.round()) {}
        let mut round = self.round();
        while round.running > 0 {
            round = self
                .rest
                .wait(round)
                .unwrap_or_else(PoisonError::into_inner);
        }
        assert!(!round.has_failed, "a task panicked on another thread");
        finished.append(&mut round.finished);
    }

    /// Carries out tasks of all rounds on this thread, until it is [over](Self::end).
    pub(super) fn help(&self) {
        loop {
            let mut round = self.round();
            while round.waiting.is_empty() {
                if round.is_over {
                    return;
                }
                round = self
                    .work
                    .wait(round)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            self.carry_out_next(round);
        }
    }

    /// Carries out a task that waits, if there is one.
    fn carry_out_next(&self, mut round: MutexGuard<'_, Round<T>>) -> bool {
        let Some(task) = round.waiting.pop() else {
            return false;
        };
        round.running += 1;
        drop(round);
        let mut run = Running {
            crew: self,
            task: Some(task),
        };
        if let Some(task) = &mut run.task {
            task.carry_out();
        }
        if let Some(task) = run.task.take() {
            self.round().finished.push(task);
        }
        true
    }

    /// No more rounds follow: threads that help return.
    pub(super) fn end(&self) {
        let mut round = self.round();
        round.is_over = true;
        round.waiting.clear();
        drop(round);
        self.work.notify_all();
    }
}

/// A task that is being carried out; one that panics is counted as such, so that no thread waits for it.
struct Running<'a, T: Task> {
    crew: &'a Crew<T>,
    task: Option<T>,
}

impl<T: Task> Drop for Running<'_, T> {
    fn drop(&mut self) {
        let mut round = self.crew.round();
        round.has_failed |= self.task.is_some();
        round.running -= 1;
        if round.running == 0 {
            self.crew.rest.notify_all();
        }
    }
}

/// Ends the rounds of a crew wherever its user is left, by a panic too.
pub(super) struct EndOf<'a, T: Task>(pub(super) &'a Crew<T>);

impl<T: Task> Drop for EndOf<'_, T> {
    fn drop(&mut self) {
        self.0.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread;

    /// Doubles a number; panics at zero.
    struct Double(u64);

    impl Task for Double {
        fn carry_out(&mut self) {
            assert!(self.0 > 0, "nothing to double");
            self.0 *= 2;
        }
    }

    #[test]
    fn every_task_of_every_round_is_carried_out_once() {
        let crew = Crew::new();
        let mut finished = Vec::new();
        thread::scope(|scope| {
            let _end = EndOf(&crew);
            for _ in 0..3 {
                scope.spawn(|| crew.help());
            }
            for round in 1..200 {
                crew.begin((1..round).map(Double));
                crew.finish(&mut finished);
                let sum: u64 = finished.drain(..).map(|double| double.0).sum();
                assert_eq!(sum, round * (round - 1));
            }
        });
    }

    #[test]
    fn a_task_that_panics_ends_the_round() {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let crew = Crew::new();
            thread::scope(|scope| {
                let _end = EndOf(&crew);
                scope.spawn(|| crew.help());
                crew.begin((0..100).map(Double));
                crew.finish(&mut Vec::new());
            });
        }));
        assert!(outcome.is_err());
    }

    /// Says that it has begun, then panics.
    struct Falls(std::sync::mpsc::Sender<()>);

    impl Task for Falls {
        fn carry_out(&mut self) {
            self.0.send(()).unwrap();
            panic!("it falls");
        }
    }

    #[test]
    fn a_round_does_not_end_well_if_a_task_panicked_on_another_thread() {
        let crew = Crew::new();
        let (begins, has_begun) = std::sync::mpsc::channel();
        thread::scope(|scope| {
            let _end = EndOf(&crew);
            scope.spawn(|| {
                let outcome = catch_unwind(AssertUnwindSafe(|| crew.help()));
                assert!(outcome.is_err());
            });
            crew.begin(std::iter::once(Falls(begins)));
            has_begun.recv().unwrap();
            let finish = AssertUnwindSafe(|| crew.finish(&mut Vec::new()));
            let panic = catch_unwind(finish).unwrap_err();
            let what = panic.downcast_ref::<&str>();
            assert_eq!(what, Some(&"a task panicked on another thread"));
        });
    }
}
