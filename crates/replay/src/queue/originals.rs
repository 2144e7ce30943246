//! The original of a setting of a queue, in a file while a replay has changed it.
//!
//! A replay that is killed cannot restore what it changed, and the next one would take the changed value for the
//! original. So the original is written to a file under `/run` before the change, which is removed after the restore. A
//! file whose process is gone is restored by the next replay on that device, whatever its options.
//!
//! Files are of one boot: `/run` is empty after a restart, and where it cannot be written, the folder for temporary files
//! takes its place, which may not be. A device of the same name may also be another one: the kernel numbers disks in the
//! order of their appearance (`diskseq`).

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The folders of such files, in the order in which they are tried.
pub(super) struct Originals(Vec<PathBuf>);

/// A file of ours, to be removed when the setting is restored.
pub(super) struct Kept(PathBuf);

impl Kept {
    pub(super) fn remove(self) {
        // One that is left behind is of a process that is gone, and of the value that is there: harmless.
        let _ = fs::remove_file(self.0);
    }
}

/// What was found of a replay that was killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Left {
    /// Its change was undone.
    Restored {
        /// The original.
        to: String,
        /// What the replay had set.
        from: String,
    },
    /// The value is still what it had set, but on another device of this name.
    OfAnother {
        /// What it had set.
        value: String,
        /// The original on the other device.
        before: String,
    },
    /// Its change could not be undone.
    Stuck {
        /// The original.
        before: String,
        /// Why.
        why: String,
    },
    /// The file that should hold the original does not: it stays for the user to look at.
    Damaged {
        /// The file.
        file: PathBuf,
        /// What the setting is now.
        value: String,
    },
}

/// What a file holds.
#[derive(Debug, PartialEq, Eq)]
struct Content {
    before: String,
    set: String,
    boot: String,
    disk: String,
    process: u32,
    /// When the process began, in clock ticks since the boot: numbers of processes are used again.
    began: u64,
}

impl Originals {
    /// Where this machine keeps them.
    pub(super) fn of_system() -> Self {
        let user = fs::metadata("/proc/self").map_or(0, |m| m.uid());
        Self(vec![
            PathBuf::from("/run/iosonar"),
            std::env::temp_dir().join(format!("iosonar-{user}")),
        ])
    }

    /// Another place for them.
    #[cfg(test)]
    pub(super) fn in_folder(folder: PathBuf) -> Self {
        Self(vec![folder])
    }

    /// Keeps the original of the setting at `path` (`.../zram0/queue/nomerges`) before it is changed to `set`.
    ///
    /// # Errors
    /// If it cannot be written in any of the folders, or another replay has changed the setting.
    pub(super) fn keep(&self, path: &Path, before: &str, set: &str) -> io::Result<Kept> {
        let process = std::process::id();
        let content = Content {
            before: before.to_owned(),
            set: set.to_owned(),
            boot: boot(),
            disk: disk_of(path),
            process,
            began: began(process).unwrap_or_default(),
        };
        let mut outcome = Err(io::ErrorKind::NotFound.into());
        for folder in &self.0 {
            let file = folder.join(name_of(path));
            let made = DirBuilder::new().recursive(true).mode(0o755).create(folder);
            let opened = made.and_then(|()| match File::create_new(&file) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(None),
                opened => opened.map(Some),
            });
            outcome = match opened {
                // In another folder there would be two originals, one of which is the value of the other replay.
                Ok(None) => {
                    let problem = format!(
                        "{} already exists and belongs to another replay",
                        file.display()
                    );
                    return Err(io::Error::new(io::ErrorKind::AlreadyExists, problem));
                }
                Ok(Some(mut open)) => match open.write_all(content.text().as_bytes()) {
                    Ok(()) => return Ok(Kept(file)),
                    Err(e) => {
                        Kept(file).remove();
                        Err(e)
                    }
                },
                Err(e) => Err(e),
            };
        }
        outcome
    }

    /// Restores the setting at `path` if a replay that is gone has left it changed.
    pub(super) fn restore(&self, path: &Path) -> Option<Left> {
        let (mut kept, damaged) = self.kept(path);
        let is_running = |content: &Content| {
            content.boot == boot() && began(content.process) == Some(content.began)
        };
        if kept.iter().any(|(_, content)| is_running(content)) {
            return None;
        }
        let found = active(fs::read_to_string(path).ok()?.trim());
        let mut value = found.clone();
        let mut left = None;
        // A replay may have changed what one before it had left: the last change is undone first.
        while let Some(last) = kept
            .iter()
            .position(|(_, content)| content.boot == boot() && content.set == value)
        {
            let (file, Content { before, disk, .. }) = kept.swap_remove(last);
            if disk != disk_of(path) {
                file.remove();
                left = left.or(Some(Left::OfAnother {
                    value: value.clone(),
                    before,
                }));
                continue;
            }
            if let Err(e) = fs::write(path, &before) {
                let why = e.to_string();
                return Some(Left::Stuck { before, why });
            }
            file.remove();
            value.clone_from(&before);
            left = Some(Left::Restored {
                to: before,
                from: found.clone(),
            });
        }
        // The setting has been changed since, or the machine restarted.
        kept.into_iter().for_each(|(file, _)| file.remove());
        match (left, damaged) {
            (None, Some(file)) => Some(Left::Damaged { file, value }),
            (left, damaged) => {
                // What it would say is known from another.
                damaged.map(Kept).into_iter().for_each(Kept::remove);
                left
            }
        }
    }

    /// The files on the setting at `path` in all folders, and one that cannot be read.
    fn kept(&self, path: &Path) -> (Vec<(Kept, Content)>, Option<PathBuf>) {
        let (mut kept, mut damaged) = (Vec::new(), None);
        let files = self.0.iter().map(|folder| folder.join(name_of(path)));
        for file in files.filter(|file| is_trusted(file)) {
            let content = match fs::read(&file) {
                // Its replay has ended meanwhile.
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                read => read.unwrap_or_default(),
            };
            match Content::of(&String::from_utf8_lossy(&content)) {
                Some(content) => kept.push((Kept(file), content)),
                None => damaged = Some(file),
            }
        }
        (kept, damaged)
    }
}

/// Of `none [mq-deadline] kyber`, the one in brackets; of anything else, all of it.
pub(super) fn active(text: &str) -> String {
    match (text.find('['), text.find(']')) {
        (Some(from), Some(to)) if from < to => text[from + 1..to].to_owned(),
        _ => text.to_owned(),
    }
}

impl Content {
    fn text(&self) -> String {
        format!(
            "before={}\nset={}\nboot={}\ndisk={}\nprocess={}\nbegan={}\n",
            self.before, self.set, self.boot, self.disk, self.process, self.began
        )
    }

    fn of(text: &str) -> Option<Self> {
        let value = |name: &str| {
            let mut fields = text.lines().filter_map(|line| line.split_once('='));
            fields.find(|(n, _)| *n == name).map(|(_, v)| v.to_owned())
        };
        Some(Self {
            before: value("before")?,
            set: value("set")?,
            boot: value("boot")?,
            disk: value("disk")?,
            process: value("process")?.parse().ok()?,
            began: value("began")?.parse().ok()?,
        })
    }
}

/// `nomerges-zram0` of `.../zram0/queue/nomerges`.
fn name_of(path: &Path) -> String {
    let setting = path.file_name().unwrap_or_default().to_string_lossy();
    let disk = disk_folder(path).and_then(Path::file_name);
    format!("{setting}-{}", disk.unwrap_or_default().to_string_lossy())
}

fn disk_folder(path: &Path) -> Option<&Path> {
    path.parent()?.parent()
}

/// The number of the disk in the order of appearance; empty before Linux 5.15.
fn disk_of(path: &Path) -> String {
    let number = disk_folder(path).map(|folder| fs::read_to_string(folder.join("diskseq")));
    let number = number.and_then(Result::ok).unwrap_or_default();
    number.trim().to_owned()
}

fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

/// When a process began, in clock ticks since the boot; `None` if it is gone.
fn began(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name stands in brackets, and may hold any character.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let is_gone = matches!(fields.first(), Some(&("Z" | "X")));
    fields.get(19)?.parse().ok().filter(|_| !is_gone)
}

/// Whether it is a regular file of this user, or of root: the folder for temporary files is open to all users.
fn is_trusted(file: &Path) -> bool {
    let me = fs::metadata("/proc/self").map_or(0, |m| m.uid());
    fs::symlink_metadata(file).is_ok_and(|m| m.is_file() && [0, me].contains(&m.uid()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A setting with the value 2 on disk 7, and a file that says 0 was there before, changed with `edit`.
    fn left_by(edit: impl Fn(&mut Content)) -> (tempfile::TempDir, PathBuf, Originals) {
        let folder = tempfile::tempdir().unwrap();
        let queue = folder.path().join("sys/zram7/queue");
        fs::create_dir_all(&queue).unwrap();
        fs::write(queue.join("../diskseq"), "7\n").unwrap();
        let setting = queue.join("nomerges");
        fs::write(&setting, "2\n").unwrap();
        let originals = Originals(vec![
            PathBuf::from("/proc/no-folder-here"),
            folder.path().join("run"),
        ]);
        let _ = originals.keep(&setting, "0", "2").unwrap();
        let file = folder.path().join("run/nomerges-zram7");
        let mut content = Content::of(&fs::read_to_string(&file).unwrap()).unwrap();
        edit(&mut content);
        fs::write(&file, content.text()).unwrap();
        (folder, setting, originals)
    }

    fn value(setting: &Path) -> String {
        fs::read_to_string(setting).unwrap().trim().to_owned()
    }

    fn is_kept(folder: &tempfile::TempDir) -> bool {
        folder.path().join("run/nomerges-zram7").exists()
    }

    #[test]
    fn a_setting_of_a_process_that_is_gone_is_restored_once() {
        // Another process has its number by now.
        let (folder, setting, originals) = left_by(|content| content.began += 1);
        let restored = Left::Restored {
            to: "0".to_owned(),
            from: "2".to_owned(),
        };
        assert_eq!(originals.restore(&setting), Some(restored));
        assert_eq!((value(&setting).as_str(), is_kept(&folder)), ("0", false));
        assert_eq!(originals.restore(&setting), None);
    }

    #[test]
    fn a_setting_of_a_process_that_runs_is_left_alone() {
        let (folder, setting, originals) = left_by(|_| ());
        assert_eq!(originals.restore(&setting), None);
        assert_eq!((value(&setting).as_str(), is_kept(&folder)), ("2", true));
        assert!(originals.keep(&setting, "2", "1").is_err());
    }

    #[test]
    fn a_file_of_an_earlier_boot_or_of_another_disk_restores_nothing() {
        let (folder, setting, originals) = left_by(|content| content.boot.push('x'));
        assert_eq!(originals.restore(&setting), None);
        assert_eq!((value(&setting).as_str(), is_kept(&folder)), ("2", false));

        let (folder, setting, originals) = left_by(|content| {
            content.began += 1;
            content.disk = "6".to_owned();
        });
        let left = originals.restore(&setting);
        assert!(matches!(left, Some(Left::OfAnother { .. })), "{left:?}");
        assert_eq!((value(&setting).as_str(), is_kept(&folder)), ("2", false));
    }

    #[test]
    fn a_file_that_cannot_be_understood_is_kept_and_reported() {
        for content in [&b""[..], b"before=0\nset=", b"\xff\xfe"] {
            let (folder, setting, originals) = left_by(|_| ());
            let file = folder.path().join("run/nomerges-zram7");
            fs::write(&file, content).unwrap();
            let damaged = Left::Damaged {
                file: file.clone(),
                value: "2".to_owned(),
            };
            assert_eq!(originals.restore(&setting), Some(damaged));
            assert_eq!(value(&setting), "2");
            assert_eq!(fs::read(&file).unwrap(), content);
        }
    }

    #[test]
    fn what_was_changed_again_since_stays_as_it_is() {
        let (folder, setting, originals) = left_by(|content| content.began += 1);
        fs::write(&setting, "1\n").unwrap();
        assert_eq!(originals.restore(&setting), None);
        assert_eq!((value(&setting).as_str(), is_kept(&folder)), ("1", false));
    }

    #[test]
    fn a_setting_that_another_replay_has_changed_is_not_kept_a_second_time() {
        let (folder, setting, Originals(mut folders)) = left_by(|_| ());
        folders.push(folder.path().join("second"));
        let error = Originals(folders).keep(&setting, "2", "1").err();
        let error = error.expect("an error").to_string();
        assert!(
            error.contains("run/nomerges-zram7 already exists and belongs to another"),
            "{error}"
        );
        assert!(!folder.path().join("second").exists() && is_kept(&folder));
    }

    #[test]
    fn the_file_in_any_folder_is_restored() {
        let (folder, setting, Originals(mut folders)) = left_by(|content| content.began += 1);
        // Cut off; of an earlier boot; of a replay before the last, which found what the one before it had left.
        let file = folder.path().join("run/nomerges-zram7");
        let good = fs::read_to_string(&file).unwrap();
        let (first, name) = (folder.path().join("first"), "nomerges-zram7");
        fs::create_dir(&first).unwrap();
        folders.insert(0, first.clone());
        let originals = Originals(folders);
        for (other, to) in [
            ("", "0"),
            ("before=0\nset", "0"),
            (&good.replace("boot=", "boot=x"), "0"),
            (&good.replace("before=0\nset=2", "before=1\nset=0"), "1"),
        ] {
            fs::write(first.join(name), other).unwrap();
            fs::write(&file, &good).unwrap();
            fs::write(&setting, "2\n").unwrap();
            let restored = Left::Restored {
                to: to.to_owned(),
                from: "2".to_owned(),
            };
            assert_eq!(originals.restore(&setting), Some(restored), "{other}");
            assert_eq!((value(&setting).as_str(), is_kept(&folder)), (to, false));
            assert!(!first.join(name).exists(), "{other}");
        }
    }

    /// A file system without room.
    struct Full(PathBuf);

    impl Full {
        fn at(folder: PathBuf) -> Option<Self> {
            fs::create_dir(&folder).unwrap();
            let mut mount = std::process::Command::new("mount");
            mount.args(["-t", "tmpfs", "-o", "size=4k", "tmpfs"]);
            let mounted = mount.arg(&folder).output().ok()?.status.success();
            mounted.then(|| {
                fs::write(folder.join("all"), [1; 4096]).unwrap();
                Self(folder)
            })
        }
    }

    impl Drop for Full {
        fn drop(&mut self) {
            let _ = std::process::Command::new("umount").arg(&self.0).status();
        }
    }

    #[test]
    fn a_file_that_cannot_be_completed_is_removed() {
        let (folder, setting, Originals(mut folders)) = left_by(|content| content.began += 1);
        let Some(full) = Full::at(folder.path().join("full")) else {
            eprintln!("skipped: no file system can be mounted here");
            return;
        };
        fs::remove_file(folder.path().join("run/nomerges-zram7")).unwrap();
        folders.insert(0, full.0.clone());
        let _ = Originals(folders).keep(&setting, "2", "1").unwrap();
        assert!(is_kept(&folder));
        assert!(!full.0.join("nomerges-zram7").exists());
    }

    #[test]
    fn the_active_scheduler_is_the_one_in_brackets() {
        assert_eq!(active("none [mq-deadline] kyber"), "mq-deadline");
        assert_eq!(active("0"), "0");
    }

    #[test]
    fn a_folder_that_takes_no_file_is_passed_over() {
        let (folder, setting, _) = left_by(|_| ());
        let good = folder.path().join("other");
        let folders = Originals(vec![PathBuf::from("/proc"), good.clone()]);
        let kept = folders.keep(&setting, "0", "2").unwrap();
        assert_eq!(kept.0, good.join("nomerges-zram7"));
        let refused = Originals(vec![PathBuf::from("/proc")]).keep(&setting, "0", "2");
        let refused = refused.err().unwrap();
        assert_ne!(refused.kind(), io::ErrorKind::AlreadyExists, "{refused}");
    }

    #[test]
    fn what_is_kept_is_of_this_boot_and_of_the_disk() {
        let (folder, setting, _) = left_by(|_| ());
        let file = folder.path().join("run/nomerges-zram7");
        let content = Content::of(&fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!(content.disk, "7");
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        assert_eq!(content.boot, id.trim());
        fs::remove_file(setting.with_file_name("../diskseq")).unwrap();
        assert_eq!(disk_of(&setting), "", "before Linux 5.15");
    }

    #[test]
    fn the_active_one_is_in_brackets() {
        for (text, expected) in [
            ("none [mq-deadline] kyber", "mq-deadline"),
            ("[none]", "none"),
            ("a [] b", ""),
            ("2", "2"),
            ("a ] b [ c", "a ] b [ c"),
            ("a [ b", "a [ b"),
            ("", ""),
        ] {
            assert_eq!(active(text), expected, "{text}");
        }
    }
}
