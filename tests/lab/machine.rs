//! The machine of the lab, as `tests/lab/lab` runs it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The exit code of a scenario that cannot run here.
const UNAVAILABLE: i32 = 77;
/// The exit code when the power was cut.
const CUT: i32 = 97;

/// A machine that is switched on for one or more scenarios.
pub(crate) struct Machine {
    arguments: Vec<String>,
    /// Where programs are looked for before the system's.
    programs: Option<PathBuf>,
}

impl Machine {
    /// A machine without disks; `None`, with the reason on standard error, if there is no lab here.
    pub(crate) fn new() -> Option<Self> {
        let prepared = lab(&["prepare"]).output().unwrap();
        if prepared.status.code() == Some(UNAVAILABLE) {
            let reason = String::from_utf8_lossy(&prepared.stderr);
            eprintln!("skipped: {}", reason.trim());
            return None;
        }
        assert!(
            prepared.status.success(),
            "{}",
            String::from_utf8_lossy(&prepared.stderr)
        );
        let iosonar = env!("CARGO_BIN_EXE_iosonar").to_owned();
        Some(Self {
            arguments: vec!["run".to_owned(), "--iosonar".to_owned(), iosonar],
            programs: None,
        })
    }

    /// With the programs of a folder in place of the system's of the same names.
    pub(crate) fn with_programs(mut self, folder: &Path) -> Self {
        self.programs = Some(folder.to_owned());
        self
    }

    /// With a further NVMe disk, whose contents are those of `image`.
    pub(crate) fn nvme(self, image: &Path, mib: u32) -> Self {
        self.option("--nvme", format!("{}:{mib}M", image.display()))
    }

    /// With a further virtio disk.
    pub(crate) fn disk(self, image: &Path, mib: u32) -> Self {
        self.option("--disk", format!("{}:{mib}M", image.display()))
    }

    /// With a further virtio disk, behind all others, whose writes and flushes are logged.
    pub(crate) fn logged(self, image: &Path, mib: u32, log: &Path) -> Self {
        let value = format!("{}:{mib}M:{}", image.display(), log.display());
        self.option("--logged", value)
    }

    /// With further arguments for QEMU, separated by blanks.
    pub(crate) fn qemu(self, arguments: impl Into<String>) -> Self {
        self.option("--qemu", arguments.into())
    }

    /// With a further NVMe controller, and a namespace for each of these images with these options of QEMU's `nvme-ns`.
    pub(crate) fn controller(self, namespaces: &[(&Path, &str)]) -> Self {
        let machine = self.qemu("-device nvme,id=controller,serial=controller");
        let numbered = namespaces.iter().zip(1..);
        numbered.fold(machine, |machine, ((image, options), number)| {
            let image = image.display();
            machine.qemu(format!(
                "-drive file={image},if=none,id=namespace{number},format=raw -device \
                 nvme-ns,drive=namespace{number},bus=controller,nsid={number}{options}"
            ))
        })
    }

    /// With a further parameter for the kernel.
    pub(crate) fn kernel(self, parameter: &str) -> Self {
        self.option("--kernel", parameter.to_owned())
    }

    /// With a variable for the scenarios.
    pub(crate) fn set(self, name: &str, value: impl std::fmt::Display) -> Self {
        self.option("--set", format!("{name}={value}"))
    }

    fn option(mut self, name: &str, value: String) -> Self {
        self.arguments.extend([name.to_owned(), value]);
        self
    }

    /// Runs scenarios, all of whose claims must hold.
    pub(crate) fn run(self, scenarios: &[&str]) {
        let (code, said) = self.switch_on(scenarios);
        assert_eq!(code, Some(0), "{said}");
    }

    /// Runs a scenario until its power is cut, this long after it may be. All claims up to then must hold.
    pub(crate) fn run_and_cut(self, scenario: &str, after_s: f64) {
        let machine = self.option("--cut-after", format!("{after_s:.3}"));
        let (code, said) = machine.switch_on(&[scenario]);
        assert_eq!(code, Some(CUT), "{said}");
        assert!(!said.contains("FAILED"), "{said}");
    }

    /// Runs a scenario whose power would be cut, and returns the exit code.
    pub(crate) fn ends_before_the_cut(self, scenario: &str, after_s: f64) -> Option<i32> {
        let machine = self.option("--cut-after", format!("{after_s:.3}"));
        machine.switch_on(&[scenario]).0
    }

    fn switch_on(mut self, scenarios: &[&str]) -> (Option<i32>, String) {
        self.arguments.extend(
            scenarios
                .iter()
                .map(|name| folder().join(name).display().to_string() + ".sh"),
        );
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let mut command = lab(&arguments);
        if let Some(folder) = &self.programs {
            let path = std::env::var("PATH").unwrap_or_default();
            command.env("PATH", format!("{}:{path}", folder.display()));
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let noise = String::from_utf8_lossy(&output.stderr);
        println!("{said}");
        (output.status.code(), format!("{said}{noise}"))
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lab")
}

fn lab(arguments: &[&str]) -> Command {
    let mut command = Command::new(folder().join("lab"));
    if std::env::var_os("IOSONAR_LAB_CACHE").is_none() {
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../lab");
        command.env("IOSONAR_LAB_CACHE", cache);
    }
    command.args(arguments);
    command
}
