//! The names of devices, so that each means one number.

use std::collections::{HashMap, HashSet};

/// Names, made distinct where others have them already.
#[derive(Default)]
struct Labels {
    all: Vec<String>,
    taken: HashSet<String>,
}

impl Labels {
    fn push(&mut self, mut label: String) {
        while !self.taken.insert(label.clone()) {
            label.push('#');
        }
        self.all.push(label);
    }
}

/// The names of the first `count` devices, or of all if that is more: those without a name get their numbers.
pub(crate) fn labels(devices: &[String], count: usize) -> Vec<String> {
    let mut labels = Labels::default();
    devices.iter().for_each(|name| labels.push(name.clone()));
    (devices.len()..count).for_each(|number| labels.push(number.to_string()));
    labels.all
}

/// The numbers behind names.
pub(crate) struct Numbers {
    named: HashMap<String, u16>,
}

impl Numbers {
    pub(crate) fn of(devices: &[String]) -> Self {
        let labels = labels(devices, 0).into_iter();
        let named = labels.zip(0..=u16::MAX);
        Self {
            named: named.collect(),
        }
    }

    /// The number of the device called `label`; `None` if it is not a name in the trace and not a number.
    pub(crate) fn number(&self, label: &str) -> Option<u16> {
        let named = self.named.get(label).copied();
        named.or_else(|| label.trim_end_matches('#').parse().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_label_means_its_device(devices in prop::collection::vec("[ab#01]{0,2}", 0..12), more in 0..5_usize) {
            let numbers = Numbers::of(&devices);
            let all = labels(&devices, devices.len() + more);
            for (number, label) in all.iter().enumerate() {
                prop_assert_eq!(numbers.number(label), Some(number as u16), "{}", label);
            }
        }
    }

    #[test]
    fn a_name_stays_as_it_is_where_it_can() {
        let names = ["sda", "sdb", "sda"].map(str::to_owned);
        assert_eq!(labels(&names, 4), ["sda", "sdb", "sda#", "3"]);
    }
}
