//! Where the verifiers of targets keep their tables.

use std::path::{Path, PathBuf};

use iosonar_units::SECTOR_BYTES;

use crate::verify::{TableLog, Verifier};
use crate::{Options, ReplayError, Target};

/// Where the log of tables of the target with this number is kept: several targets have one each.
pub(super) fn log_path(path: &Path, number: usize) -> PathBuf {
    match number {
        0 => path.to_owned(),
        n => PathBuf::from(format!("{}.{n}", path.display())),
    }
}

pub(super) fn log_exists(path: &Path) -> ReplayError {
    ReplayError::Refused(format!(
        "{} already exists, but the log of --keep-tables must be a new file: choose a different name",
        path.display()
    ))
}

/// Refuses a replay one of whose logs of tables cannot be a new file, before any of them is created.
pub(super) fn refuse_existing_logs(targets: usize, options: &Options) -> Result<(), ReplayError> {
    let Some(path) = &options.verification.keep_tables else {
        return Ok(());
    };
    let mut paths = (0..targets).map(|number| log_path(path, number));
    match paths.find(|path| path.symlink_metadata().is_ok()) {
        Some(path) => Err(log_exists(&path)),
        None => Ok(()),
    }
}

pub(super) fn verifier(
    target: &Target,
    options: &Options,
    run: u64,
    number: usize,
) -> Result<Option<Verifier>, ReplayError> {
    let verification = &options.verification;
    if !verification.is_tagging() {
        return Ok(None);
    }
    let log = match &verification.keep_tables {
        None => None,
        Some(path) => {
            let path = log_path(path, number);
            let sectors = target.size().get() / SECTOR_BYTES;
            let log = TableLog::create(&path, run, sectors, verification.durable_tables);
            Some(log.map_err(|source| match source.kind() {
                std::io::ErrorKind::AlreadyExists => log_exists(&path),
                _ => ReplayError::Io {
                    path,
                    action: "create the log of --keep-tables",
                    source,
                },
            })?)
        }
    };
    let write_through = target.is_write_through();
    Ok(Some(Verifier::new(verification, run, log, write_through)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::Verification;
    use iosonar_units::Bytes;

    fn options(path: &Path) -> Options {
        Options {
            verification: Verification {
                keep_tables: Some(path.to_owned()),
                ..Verification::default()
            },
            ..Options::default()
        }
    }

    #[test]
    fn the_first_target_has_the_log_of_the_name_and_others_have_their_number_in_it() {
        for (number, path) in [
            (0, "a/x.tables"),
            (1, "a/x.tables.1"),
            (12, "a/x.tables.12"),
        ] {
            assert_eq!(log_path(Path::new("a/x.tables"), number), Path::new(path));
        }
    }

    #[test]
    fn a_log_that_exists_is_refused_before_any_is_created() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.tables");
        std::fs::write(folder.path().join("x.tables.2"), "of another").unwrap();
        for (targets, is_refused) in [(1, false), (2, false), (3, true)] {
            let checked = refuse_existing_logs(targets, &options(&path));
            assert_eq!(checked.is_err(), is_refused, "{targets}");
        }
        assert!(refuse_existing_logs(3, &Options::default()).is_ok());
        // A link to nowhere is in the way, too.
        std::os::unix::fs::symlink("nowhere", &path).unwrap();
        assert!(refuse_existing_logs(1, &options(&path)).is_err());
    }

    #[test]
    fn a_log_that_cannot_be_created_is_refused_only_if_it_exists() {
        let folder = tempfile::tempdir().unwrap();
        let target = Target::imaginary(Bytes::new(1 << 20), Bytes::new(512));
        let existing = folder.path().join("x.tables");
        std::fs::write(&existing, "of another").unwrap();
        let refused = verifier(&target, &options(&existing), 1, 0).err().unwrap();
        assert!(matches!(refused, ReplayError::Refused(_)), "{refused:?}");
        let missing = folder.path().join("nowhere/x.tables");
        let failed = verifier(&target, &options(&missing), 1, 0).err().unwrap();
        assert!(matches!(failed, ReplayError::Io { .. }), "{failed:?}");
        // The second target's log is another file.
        let second = verifier(&target, &options(&existing), 1, 1).unwrap();
        assert!(second.is_some());
        assert!(
            verifier(&target, &Options::default(), 1, 0)
                .unwrap()
                .is_none()
        );
    }
}
