//! From the parameters of a drive to its profile.

mod bus;
mod drive;
mod layout;
mod mechanics;
mod model;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{DiskSimError, Warning};
use super::files::Files;
use super::syntax::parse;
use super::tree::{Block, Tree};
use crate::DiskProfile;
use drive::whole_drive;
use model::modelled;

/// How long a sector of 512 bytes takes on the bus, instead of what a `.parv` says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BusTimes {
    /// Of a read.
    pub read_ms: Option<f64>,
    /// Of a write.
    pub write_ms: Option<f64>,
}

/// A drive from parameter files.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The drive.
    pub profile: DiskProfile,
    /// What deserves attention.
    pub warnings: Vec<Warning>,
    /// The files that were read.
    pub files: Vec<PathBuf>,
}

/// Makes a profile of the drive in these files: a `.parv`, or a `.diskspecs`, or a `.model`; files that they name may be
/// beside them or be given too. With more than one drive in them, `drive` is the name of one.
///
/// # Errors
/// If a file cannot be read, is not of the syntax, or has values that make no drive.
pub fn import(
    files: &[PathBuf],
    drive: Option<&str>,
    bus: BusTimes,
) -> Result<Imported, DiskSimError> {
    let mut tree = Tree::default();
    let known = Files { given: files };
    let is_seek = |path: &Path| path.extension().is_some_and(|e| e == "seek");
    let mut read: Vec<PathBuf> = Vec::new();
    // A file that others include is read where they do; the widest come first.
    let mut order: Vec<&PathBuf> = files.iter().filter(|path| !is_seek(path)).collect();
    order.sort_by_key(|path| match path.extension().and_then(|e| e.to_str()) {
        Some("parv") => 0,
        Some("diskspecs") => 1,
        _ => 2,
    });
    for path in order {
        // A file that is not there is among neither, and will be refused.
        let full = path.canonicalize().ok();
        let same = |other: &PathBuf| other.canonicalize().ok() == full;
        if !read.iter().any(same) && !tree.included.iter().any(same) {
            parse(path, &known, &mut tree)?;
            read.push(path.clone());
        }
    }
    read.extend(tree.included.iter().cloned());
    let first = files.first().cloned().unwrap_or_default();
    let disk = chosen(&tree, drive, &first)?;
    let mut warnings = std::mem::take(&mut tree.warnings);
    let profile = match disk.kind.as_str() {
        "dm_disk" => {
            let mut profile = modelled(&disk, &tree, &known, &mut warnings)?;
            profile.description = described(&disk.name);
            profile
        }
        _ => whole_drive(&disk, &tree, &known, bus, &mut warnings)?,
    };
    // It is read again as the file that it becomes.
    let origin = first.display().to_string();
    let mut profile = DiskProfile::read(&profile.to_toml(), &origin)?;
    profile.name.clone_from(&disk.name);
    Ok(Imported {
        profile,
        warnings,
        files: read,
    })
}

fn described(name: &str) -> String {
    format!("{name}, from DiskSim parameters")
}

/// The drive that is meant: the one of this name, or the only one that is used, or the only one.
fn chosen(tree: &Tree, name: Option<&str>, first: &Path) -> Result<Arc<Block>, DiskSimError> {
    let of = |kind: &str| -> Vec<&Arc<Block>> {
        tree.blocks
            .iter()
            .filter(|block| block.kind == kind)
            .collect()
    };
    let mut drives = of("disksim_disk");
    if drives.is_empty() {
        drives = of("dm_disk");
    }
    let used: Vec<&Arc<Block>> = drives
        .iter()
        .copied()
        .filter(|block| tree.objects.values().any(|used| *used == block.name))
        .collect();
    let named = name.map(|name| drives.iter().copied().filter(|b| b.name == name).collect());
    let candidates: Vec<&Arc<Block>> = match named {
        Some(named) => named,
        None if used.is_empty() => drives.clone(),
        None => used,
    };
    if let [drive] = candidates[..] {
        return Ok(Arc::clone(drive));
    }
    let path = first.to_owned();
    if drives.is_empty() {
        return Err(DiskSimError::NoDrive { path });
    }
    Err(DiskSimError::WhichDrive {
        path,
        name: name.map(str::to_owned),
        known: drives.iter().map(|block| block.name.clone()).collect(),
    })
}
