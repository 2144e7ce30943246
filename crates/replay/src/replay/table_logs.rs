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
