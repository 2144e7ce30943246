//! Parameters with types: what a drive takes from the blocks, and what it leaves.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use super::error::{DiskSimError, Warning, WarningAbout};
use super::tree::{At, Block, Item, Value};

/// Parameters that are read and have no effect on a drive.
#[derive(Clone, Copy, Debug)]
pub struct Irrelevant {
    /// The type of block; empty: any block of a type that is not listed with parameters of its own.
    pub block: &'static str,
    /// The parameters.
    pub keys: &'static [&'static str],
    /// Why they have none.
    pub why: &'static str,
}

/// Parameters of blocks of a drive that have no effect here, and why. Blocks of other types (`disksim_global`,
/// `disksim_stats`, `disksim_logorg`, `disksim_pf`, `disksim_synthio`, `disksim_iosim`, `disksim_syncset` and the
/// caches of controllers) are about the rest of a system: their syntax is checked, and nothing is used.
pub const IRRELEVANT: &[Irrelevant] = &[
    Irrelevant {
        block: "disksim_disk",
        keys: &["Print stats"],
        why: "it only selects what DiskSim prints",
    },
    Irrelevant {
        block: "disksim_disk",
        keys: &["Avg sectors per cylinder"],
        why: "an estimate for schedulers outside the drive",
    },
    Irrelevant {
        block: "disksim_disk",
        keys: &["Calc sector by sector"],
        why: "sectors are always simulated one by one",
    },
    Irrelevant {
        block: "disksim_disk",
        keys: &["Scheduler", "Max queue length"],
        why: "queued requests follow the scheduler and queue depth of the scenario",
    },
    Irrelevant {
        block: "disksim_disk",
        keys: &[
            "Allow sneaky full read hits",
            "Allow sneaky partial read hits",
            "Allow sneaky intermediate read hits",
            "Allow write prebuffering",
            "Preseeking level",
        ],
        why: "iosonar uses different rules for concurrent requests",
    },
    Irrelevant {
        block: "disksim_disk",
        keys: &["Write hit stop prefetch"],
        why: "a write always ends read-ahead: it needs the arm",
    },
    Irrelevant {
        block: "disksim_disk",
        keys: &["Immediate buffer write"],
        why: "sectors of a write go to the medium in order",
    },
    Irrelevant {
        block: "dm_disk",
        keys: &["Block count"],
        why: "the capacity follows from the zones",
    },
    Irrelevant {
        block: "dm_mech_g1",
        keys: &["Percent error in rpms"],
        why: "DiskSim does not use it",
    },
    Irrelevant {
        block: "dm_mech_g1",
        keys: &["Constant access time"],
        why: "applies to the access time type 'constant', which is not supported",
    },
    Irrelevant {
        block: "disksim_bus",
        keys: &[
            "type",
            "Arbitration type",
            "Arbitration time",
            "Print stats",
        ],
        why: "the drive does not share its bus with other devices",
    },
    Irrelevant {
        block: "disksim_ctlr",
        keys: &[
            "type",
            "Scale for delays",
            "Maximum queue length",
            "Print stats",
            "Scheduler",
            "Cache",
            "Max per-disk pending count",
        ],
        why: "a profile describes a drive, not a controller",
    },
];

/// A block whose parameters are taken one by one.
pub(crate) struct Reader<'a> {
    pub(crate) block: &'a Block,
    seen: RefCell<Vec<&'static str>>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(block: &'a Block) -> Self {
        Self {
            block,
            seen: RefCell::default(),
        }
    }

    pub(crate) fn find(&self, key: &'static str) -> Option<&'a Item> {
        self.seen.borrow_mut().push(key);
        let found = self.block.parameters.iter().find(|(known, _)| known == key);
        found.map(|(_, item)| item)
    }

    fn need(&self, key: &'static str, expected: &'static str) -> Result<&'a Item, DiskSimError> {
        self.find(key).ok_or_else(|| DiskSimError::Missing {
            at: self.block.at.to_string(),
            block: match self.block.name.is_empty() {
                true => self.block.kind.clone(),
                false => format!("{} {}", self.block.kind, self.block.name),
            },
            key,
            expected,
        })
    }

    /// A number that may be written with or without a decimal point.
    pub(crate) fn number(
        &self,
        key: &'static str,
        least: f64,
        most: f64,
    ) -> Result<f64, DiskSimError> {
        let expected = "a number";
        as_number(key, self.need(key, expected)?, least, most)
    }

    /// A time in milliseconds, not negative.
    pub(crate) fn ms(&self, key: &'static str) -> Result<f64, DiskSimError> {
        self.number(key, 0.0, 1e6)
    }

    pub(crate) fn number_or(
        &self,
        key: &'static str,
        default: f64,
        least: f64,
        most: f64,
    ) -> Result<f64, DiskSimError> {
        match self.find(key) {
            Some(item) => as_number(key, item, least, most),
            None => Ok(default),
        }
    }

    /// A whole number.
    pub(crate) fn whole(
        &self,
        key: &'static str,
        least: i64,
        most: i64,
    ) -> Result<u64, DiskSimError> {
        let item = self.need(key, "a whole number")?;
        as_whole(key, item, least, most)
    }

    pub(crate) fn whole_or(
        &self,
        key: &'static str,
        default: u64,
        least: i64,
        most: i64,
    ) -> Result<u64, DiskSimError> {
        match self.find(key) {
            Some(item) => as_whole(key, item, least, most),
            None => Ok(default),
        }
    }

    /// 0 or 1.
    pub(crate) fn boolean(&self, key: &'static str) -> Result<bool, DiskSimError> {
        Ok(self.whole(key, 0, 1)? == 1)
    }

    pub(crate) fn word(
        &self,
        key: &'static str,
        expected: &'static str,
    ) -> Result<(&'a str, &'a At), DiskSimError> {
        let item = self.need(key, expected)?;
        match &item.value {
            Value::Word(word) => Ok((word, &item.at)),
            _ => Err(value(key, item, expected)),
        }
    }

    pub(crate) fn list(
        &self,
        key: &'static str,
        expected: &'static str,
    ) -> Result<&'a [Item], DiskSimError> {
        let item = self.need(key, expected)?;
        match &item.value {
            Value::List(items) => Ok(items),
            _ => Err(value(key, item, expected)),
        }
    }

    pub(crate) fn list_or_empty(&self, key: &'static str) -> Result<&'a [Item], DiskSimError> {
        match self.find(key) {
            None => Ok(&[]),
            Some(item) => match &item.value {
                Value::List(items) => Ok(items),
                _ => Err(value(key, item, "a list")),
            },
        }
    }

    /// A block, or the name of one that was defined before.
    pub(crate) fn block(
        &self,
        key: &'static str,
        expected: &'static str,
        blocks: &[Arc<Block>],
    ) -> Result<Arc<Block>, DiskSimError> {
        let item = self.need(key, expected)?;
        let found = match &item.value {
            Value::Block(block) => Some(Arc::clone(block)),
            Value::Word(name) => blocks.iter().find(|block| block.name == *name).cloned(),
            _ => None,
        };
        found.ok_or_else(|| value(key, item, expected))
    }

    /// The error of a parameter that was read and has a value that it cannot have.
    pub(crate) fn refused(&self, key: &'static str, expected: &str) -> DiskSimError {
        let item = self.find(key).expect("it was found before");
        value(key, item, expected)
    }

    /// Warns of parameters that were never asked for and that are not known to be irrelevant.
    pub(crate) fn finish(self, warnings: &mut Vec<Warning>) {
        let seen = self.seen.into_inner();
        for (key, item) in &self.block.parameters {
            let irrelevant = IRRELEVANT
                .iter()
                .any(|list| list.block == self.block.kind && list.keys.contains(&key.as_str()));
            if !irrelevant && !seen.contains(&key.as_str()) {
                warnings.push(warning(item, key, WarningAbout::Unknown));
            }
        }
    }
}

pub(crate) fn warning(item: &Item, key: &str, about: WarningAbout) -> Warning {
    Warning {
        at: item.at.to_string(),
        key: key.to_owned(),
        about,
    }
}

pub(crate) fn value(key: &str, item: &Item, expected: &str) -> DiskSimError {
    DiskSimError::Value {
        at: item.at.to_string(),
        key: key.to_owned(),
        seen: item.to_string(),
        expected: expected.to_owned(),
    }
}

/// The error of a value that is right, but not simulated; `instead` says what is.
pub(crate) fn unsupported(
    key: &str,
    at: &At,
    seen: impl fmt::Display,
    instead: &'static str,
) -> DiskSimError {
    DiskSimError::Unsupported {
        at: at.to_string(),
        key: key.to_owned(),
        seen: seen.to_string(),
        instead,
    }
}

pub(crate) fn as_number(
    key: &str,
    item: &Item,
    least: f64,
    most: f64,
) -> Result<f64, DiskSimError> {
    let number = match item.value {
        Value::Int(i) => i as f64,
        Value::Float(x) => x,
        _ => return Err(value(key, item, "a number")),
    };
    match (least..=most).contains(&number) {
        true => Ok(number),
        false => Err(value(key, item, &format!("{least} to {most}"))),
    }
}

pub(crate) fn as_whole(key: &str, item: &Item, least: i64, most: i64) -> Result<u64, DiskSimError> {
    let whole = match item.value {
        Value::Int(i) => i,
        // Model files of the older style write some of them so.
        Value::Float(x) if x.fract() == 0.0 && x.abs() < 1e15 => x as i64,
        _ => return Err(value(key, item, "a whole number")),
    };
    match (least..=most).contains(&whole) {
        true => Ok(whole as u64),
        false => Err(value(key, item, &format!("{least} to {most}"))),
    }
}
