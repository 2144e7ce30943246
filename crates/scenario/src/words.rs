//! The words that a scenario has for what the models can do.

use std::fmt;
use std::marker::PhantomData;

use iosonar_disk_model::{ArmScheduler, RpoCount, Zoning};
use iosonar_raid::rules::{FullTurn, JoinOrder, PrereadSeek, TransferMemory};
use iosonar_raid::{MirrorRead, ParityLayout, Placement, ReadLayout, RmwLevel, WriteStart};
use iosonar_trace::fit::Beyond;
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

use crate::file::{
    ControllerLike, CopiesLie, DiskModelName, GivenLevel, LevelName, LikeName, ModeName,
    SchedulerName,
};

/// Something with a word for each of its values: what a scenario may say, and what `--explain` prints.
pub trait Word: Copy + PartialEq + 'static {
    /// The words.
    const WORDS: &'static [&'static str];
    /// What they mean, in the same order.
    const VALUES: &'static [Self];

    /// The word of this value.
    fn word(self) -> &'static str {
        let mut all = Self::VALUES.iter().zip(Self::WORDS);
        let this = all.find(|(value, _)| **value == self);
        this.expect("every value has a word").1
    }

    /// The word of this value, in quotes.
    fn quoted(self) -> String {
        format!("\"{}\"", self.word())
    }
}

macro_rules! words {
    ($type:ident: $($word:literal = $value:ident),* $(,)?) => {
        impl Word for $type {
            const WORDS: &'static [&'static str] = &[$($word),*];
            const VALUES: &'static [Self] = &[$(Self::$value),*];
        }
    };
}

words!(Placement: "random" = Random, "addressed" = Addressed);
words!(ParityLayout:
    "left-symmetric" = LeftSymmetric, "left-asymmetric" = LeftAsymmetric,
    "right-symmetric" = RightSymmetric, "right-asymmetric" = RightAsymmetric);
words!(ReadLayout: "continue" = Continue, "restart" = Restart, "wrap" = Wrap);
words!(WriteStart: "after-parity" = AfterParity, "array-first" = ArrayFirst, "random" = Random);
words!(MirrorRead:
    "halves" = Halves, "round-robin" = RoundRobin, "alternating-rows" = AlternatingRows,
    "random-per-block" = RandomPerBlock, "random" = Random, "turns" = Turns,
    "shorter-queue" = ShorterQueue, "nearer-arm" = NearerArm);
words!(RmwLevel: "never" = Never, "allowed" = Allowed, "preferred" = Preferred);
words!(Beyond: "refuse" = Refuse, "fit" = Scale, "wrap" = Wrap, "clip" = Clip);
words!(ControllerLike: "none" = Nothing, "hba" = Hba, "raid-card-1GiB-bbu" = RaidCard);
words!(CopiesLie: "near" = Near, "far" = Far, "offset" = Offset);
words!(JoinOrder: "writes-first" = WritesFirst, "disk-first" = DiskFirst);
words!(PrereadSeek: "read" = Read, "write" = Write);
words!(FullTurn: "revolution" = Revolution, "less-transfer" = LessTransfer);
words!(TransferMemory: "last-access" = LastAccess, "one-per-request" = OnePerRequest);
words!(RpoCount: "including" = Including, "excluding" = Excluding);
words!(ArmScheduler:
    "fcfs" = Fcfs, "sstf" = Sstf, "look" = Look, "c-look" = CLook, "sptf" = Sptf);
words!(Zoning:
    "sectors-per-track-linear" = SectorsPerTrackLinear,
    "time-per-sector-linear" = TimePerSectorLinear);

words!(DiskModelName: "sampled" = Sampled, "positional" = Positional);
words!(LevelName:
    "raid0" = Raid0, "raid1" = Raid1, "raid10" = Raid10, "raid01" = Raid01, "raid5" = Raid5, "raid6" = Raid6,
    "raid50" = Raid50, "raid60" = Raid60, "jbod" = Jbod, "concat" = Concat);
words!(LikeName: "linux-md" = LinuxMd);
words!(ModeName: "fork-join" = ForkJoin, "split-merge" = SplitMerge);
words!(SchedulerName:
    "fcfs" = Fcfs, "rpo" = Rpo, "sstf" = Sstf, "look" = Look, "c-look" = CLook, "sptf" = Sptf);

/// One of the words of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Given<T>(pub T);

/// What is given, or else the default.
pub(crate) fn value_or_default<T: Default>(given: Option<Given<T>>) -> T {
    given.map_or_else(T::default, |Given(value)| value)
}

impl<'de, T: Word> Deserialize<'de> for Given<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Not as an enum: then what is not a text would be refused before the words are known.
        deserializer.deserialize_any(Reader(PhantomData))
    }
}

struct Reader<T>(PhantomData<T>);

impl<T: Word> Visitor<'_> for Reader<T> {
    type Value = Given<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match T::WORDS {
            [word] => write!(f, "\"{word}\""),
            words => write!(f, "one of \"{}\"", words.join("\", \"")),
        }
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Given<T>, E> {
        let at = T::WORDS.iter().position(|known| *known == word);
        at.map(|at| Given(T::VALUES[at]))
            .ok_or_else(|| E::unknown_variant(word, T::WORDS))
    }
}

impl<'de> Deserialize<'de> for GivenLevel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Level;

        impl Visitor<'_> for Level {
            type Value = GivenLevel;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Reader::<LevelName>(PhantomData).expecting(f)
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<GivenLevel, E> {
                let built_in = Reader::<LevelName>(PhantomData).visit_str::<E>(word);
                Ok(built_in.map_or_else(
                    |_| GivenLevel::Other(word.to_owned()),
                    |Given(level)| GivenLevel::BuiltIn(level),
                ))
            }
        }
        deserializer.deserialize_any(Level)
    }
}

/// Types that are read as one of their words without [`Given`].
macro_rules! read_as_words {
    ($($type:ident),*) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Given::deserialize(deserializer).map(|Given(value)| value)
            }
        }
    )*};
}

read_as_words!(DiskModelName, LikeName, ModeName, SchedulerName);
