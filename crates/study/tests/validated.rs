//! A profile that says it is validated keeps what it promises: the demerit against the recording of the drive.
//!
//! Needs the recordings beside the project (`../shared`); without them it says that it skipped.

use std::path::{Path, PathBuf};

use iosonar_device::Provenance;
use iosonar_disk_model::{BUILT_IN, DiskProfile};
use iosonar_study::validate::validate;
use iosonar_trace::{Reading, input};

/// The recordings by profile.
const RECORDINGS: [(&str, &str); 5] = [
    ("seagate-st32171w", "barracuda"),
    ("seagate-st39102lw", "cheetah9LP"),
    ("ibm-18es", "ibm18es"),
    ("quantum-atlas-10k", "atlas10k"),
    ("hp-c2247a", "hp_c2247a"),
];

#[test]
fn a_validated_profile_is_as_near_to_its_recording_as_it_says() {
    let mut validated = 0;
    for (name, _) in BUILT_IN {
        let profile = DiskProfile::load(name, Path::new(".")).unwrap();
        let Some(Provenance::Validated { demerit_ms, .. }) = profile.provenance else {
            continue;
        };
        validated += 1;
        let (_, recording) = RECORDINGS
            .iter()
            .find(|(known, _)| known == name)
            .unwrap_or_else(|| panic!("{name}: claims to be validated, but against what?"));
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("../../../shared/traces/disksim")
            .join(format!("{recording}.trace.gz"));
        if !path.exists() {
            eprintln!("SKIPPED: {} is not there", path.display());
            continue;
        }
        let mut reader = input::open_changed(&path, &Reading::default()).unwrap();
        let found = validate(&profile, &mut *reader).unwrap();
        // The last digit that is stated.
        assert!(
            (found.demerit_ms - demerit_ms).abs() < 1e-3,
            "{name}: states {demerit_ms} ms, has {} ms",
            found.demerit_ms
        );
    }
    assert_eq!(validated, RECORDINGS.len());
}
