//! What happens around the runs of a sweep.

mod scratch;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use scratch::{Scratch, err, iosonar, out};

const SCENARIO: &str = "[load]\nrequests = 100\narrivals = { poisson_per_s = 20.0 }\nsize = { blocks = 1 }\n\
    [array]\nlevel = \"raid0\"\ndisks = 2\n[disk]\nprofile = \"seagate-st3500630ns\"\n";

fn executable(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn place(experiment: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch.file("base.toml", SCENARIO);
    scratch.file("study.toml", experiment);
    scratch
}

/// A sweep of one job at a time, with a folder of fakes before everything else on `PATH`.
fn sweep(scratch: &Scratch, options: &[&str]) -> Output {
    let path = format!(
        "{}:{}",
        scratch.path("bin").display(),
        std::env::var("PATH").unwrap()
    );
    let run = iosonar()
        .env("PATH", path)
        .arg("sweep")
        .arg(scratch.path("study.toml"))
        .args(["--jobs", "1"])
        .args(options)
        .output();
    run.unwrap()
}

fn lines(path: PathBuf) -> Vec<String> {
    fs::read_to_string(path)
        .unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn hooks_go_through_all_phases_in_order_and_back() {
    let scratch = place(
        "scenario = \"base.toml\"\n[vary]\narray.disks = [2, 3]\n\
         [[hook]]\nrun = \"./one\"\nargs = [\"first\"]\nprepare = \"once\"\n\
         [[hook]]\nrun = \"./one\"\nargs = [\"second\"]\nphases = [\"setup\", \"cleanup\"]\n",
    );
    let log = scratch.path("calls");
    executable(
        &scratch.path("one"),
        &format!(
            "echo \"$1 $2 $IOSONAR_PARAM_DISKS $IOSONAR_RUN $IOSONAR_OK\" >> '{}'; cat > \"$IOSONAR_RUN_DIR/told-$2.json\"",
            log.display()
        ),
    );
    let run = sweep(&scratch, &[]);
    assert!(run.status.success(), "{}", err(&run));
    assert_eq!(
        lines(log),
        [
            "first prepare 2 disks=2 1",
            "first setup 2 disks=2 1",
            "second setup 2 disks=2 1",
            "first run 2 disks=2 1",
            "second cleanup 2 disks=2 1",
            "first cleanup 2 disks=2 1",
            "first finish 2 disks=2 1",
            // Prepared once.
            "first setup 3 disks=3 1",
            "second setup 3 disks=3 1",
            "first run 3 disks=3 1",
            "second cleanup 3 disks=3 1",
            "first cleanup 3 disks=3 1",
            "first finish 3 disks=3 1",
        ]
    );
    let told = fs::read(scratch.path("study/disks=3/told-setup.json")).unwrap();
    let told: serde_json::Value = serde_json::from_slice(&told).unwrap();
    assert_eq!(
        (&told["phase"], &told["parameters"]["disks"]),
        (&"setup".into(), &"3".into())
    );
}

#[test]
fn what_was_begun_is_put_back_after_a_failure() {
    let scratch = place(
        "scenario = \"base.toml\"\n[vary]\narray.disks = [2, 3]\n\
         [[hook]]\nrun = \"./one\"\nargs = [\"first\"]\n[[hook]]\nrun = \"./two\"\n[[hook]]\nrun = \"./one\"\nargs = [\"third\"]\n",
    );
    let log = scratch.path("calls");
    executable(
        &scratch.path("one"),
        &format!("echo \"$1 $2\" >> '{}'", log.display()),
    );
    executable(
        &scratch.path("two"),
        &format!(
            "echo \"second $1\" >> '{}'; if [ $1 = setup ] && [ $IOSONAR_PARAM_DISKS = 2 ]; then echo no luck >&2; exit 7; fi",
            log.display()
        ),
    );
    let run = sweep(&scratch, &[]);
    assert_eq!(run.status.code(), Some(1));
    assert!(
        err(&run).contains("disks=2: failed: setup: ./two: exit code 7: no luck"),
        "{}",
        err(&run)
    );
    let calls = lines(log);
    // The third was prepared, but not set up: it has nothing to clean up, but to finish.
    assert_eq!(
        calls[..10],
        [
            "first prepare",
            "second prepare",
            "third prepare",
            "first setup",
            "second setup",
            "second cleanup",
            "first cleanup",
            "third finish",
            "second finish",
            "first finish",
        ]
    );
    assert!(scratch.path("study/disks=3/result.json").is_file());
    assert!(!scratch.path("study/disks=2/result.json").is_file());
}

#[test]
fn an_interrupt_ends_a_hook_and_puts_back_what_was_begun() {
    let scratch = place("scenario = \"base.toml\"\n[[hook]]\nrun = \"./slow\"\n");
    let log = scratch.path("calls");
    executable(
        &scratch.path("slow"),
        &format!(
            "echo \"$1\" >> '{0}'; if [ $1 = setup ]; then exec sleep 60; fi",
            log.display()
        ),
    );
    let begin = Instant::now();
    let mut child = Command::new(iosonar().get_program())
        .arg("sweep")
        .arg(scratch.path("study.toml"))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while lines(log.clone()).len() < 2 && begin.elapsed() < Duration::from_secs(20) {
        sleep(Duration::from_millis(10));
    }
    Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    assert!(
        begin.elapsed() < Duration::from_secs(40),
        "the hook was ended, not waited for"
    );
    assert_eq!(lines(log), ["prepare", "setup", "cleanup", "finish"]);
    assert!(!scratch.path("study/base/result.json").exists());
}

#[test]
fn hooks_change_targets_and_environment_and_leave_runs_out() {
    let scratch = place(
        "scenario = \"base.toml\"\n[vary]\narray.disks = [2, 3]\n[[hook]]\nrun = \"./changes\"\nphases = [\"setup\"]\n\
         [[hook]]\nrun = \"./sees\"\nphases = [\"setup\"]\n",
    );
    executable(
        &scratch.path("changes"),
        "if [ $IOSONAR_PARAM_DISKS = 2 ]; then echo '{\"skip\": \"two are too few\"}' > \"$IOSONAR_HOOK_OUT\"; \
         else echo '{\"targets\": [\"/dev/new\"], \"env\": {\"COLOUR\": \"red\"}}' > \"$IOSONAR_HOOK_OUT\"; fi",
    );
    executable(&scratch.path("sees"), "echo \"$IOSONAR_TARGETS $COLOUR\"");
    let run = sweep(&scratch, &[]);
    assert!(run.status.success(), "{}", err(&run));
    assert!(
        err(&run).contains("disks=2: left out: two are too few"),
        "{}",
        err(&run)
    );
    let log = fs::read_to_string(scratch.path("study/disks=3/log.txt")).unwrap();
    assert!(log.contains("/dev/new red"), "{log}");
    executable(
        &scratch.path("changes"),
        "echo 'targets?' > \"$IOSONAR_HOOK_OUT\"",
    );
    let run = sweep(&scratch, &["--only", "disks=2"]);
    assert!(
        err(&run).contains("./changes: the file $IOSONAR_HOOK_OUT is not JSON"),
        "{}",
        err(&run)
    );
}

/// A load and a target for replays that take no time.
fn replay(scratch: &Scratch, hooks: &str) -> PathBuf {
    scratch.file(
        "x.load",
        "0.0 ; 0 ; 8 ; R ; 0 ; 0\n0.001 ; 64 ; 8 ; R ; 0 ; 0\n",
    );
    let target = scratch.file("target", vec![7_u8; 1 << 20]);
    scratch.file(
        "study.toml",
        format!(
            "[replay]\nload = \"x.load\"\ntarget = \"{}\"\nno_direct = true\nstart_grace = \"10ms\"\n{hooks}",
            target.display()
        ),
    );
    target
}

/// A tool of the system that only takes note of how it is called.
fn fake(scratch: &Scratch, name: &str, more: &str) {
    fs::create_dir_all(scratch.path("bin")).unwrap();
    let log = scratch.path("calls");
    executable(
        &scratch.path("bin").join(name),
        &format!("echo \"{name} $*\" >> '{}'\n{more}", log.display()),
    );
}

#[test]
fn built_in_hooks_call_the_systems_tools_as_they_must_be() {
    let scratch = Scratch::new();
    let target = replay(
        &scratch,
        "[[hook]]\nuse = \"smart\"\n[[hook]]\nuse = \"discard\"\n[[hook]]\nuse = \"secure-erase\"\n\
         [[hook]]\nuse = \"slurp\"\n[[hook]]\nuse = \"command\"\nsetup = \"echo cache off\"\ncleanup = \"echo cache on\"\n",
    );
    let t = target.display();
    fake(&scratch, "smartctl", "echo '{\"temperature\": 31}'");
    fake(&scratch, "blkdiscard", "");
    let run = sweep(&scratch, &[]);
    assert_eq!(run.status.code(), Some(1));
    assert!(
        err(&run).contains(&format!(
            "discard: refused: all data on {t} would be lost; use --destroy {t}"
        )),
        "{}",
        err(&run)
    );
    fs::remove_file(scratch.path("calls")).unwrap_or_default();
    let run = sweep(&scratch, &["--destroy", target.to_str().unwrap()]);
    assert!(run.status.success(), "{}", err(&run));
    assert_eq!(
        lines(scratch.path("calls")),
        [
            format!("blkdiscard {t}"),
            format!("blkdiscard --secure {t}"),
            format!("smartctl --json --attributes --health {t}"),
            format!("smartctl --json --attributes --health {t}"),
        ]
    );
    let folder = scratch.path("study/base");
    for name in ["smart-before.json", "smart-after.json"] {
        assert!(
            fs::read_to_string(folder.join(name))
                .unwrap()
                .contains("31"),
            "{name}"
        );
    }
    let log = fs::read_to_string(folder.join("log.txt")).unwrap();
    let at = |text: &str| log.find(text).unwrap_or_else(|| panic!("{text}: {log}"));
    assert!(
        at("prepare slurp") < at("\ncache off") && at("\ncache off") < at("\ncache on"),
        "{log}"
    );
}

#[test]
fn volumes_and_iscsi_devices_become_the_target() {
    let scratch = Scratch::new();
    let target = replay(
        &scratch,
        "[[hook]]\nuse = \"iscsi-target\"\niqn = \"iqn.2026-01.x:y\"\n\
         [[hook]]\nuse = \"iscsi-initiator\"\niqn = \"iqn.2026-01.x:y\"\ndevice = \"DEVICE\"\n",
    );
    let device = scratch.path("appears");
    let experiment = fs::read_to_string(scratch.path("study.toml")).unwrap();
    scratch.file(
        "study.toml",
        experiment.replace("DEVICE", device.to_str().unwrap()),
    );
    fake(&scratch, "targetcli", "");
    fake(
        &scratch,
        "iscsiadm",
        &format!(
            "case \"$*\" in *--login) cp '{}' '{}';; *--logout) rm '{1}';; esac",
            target.display(),
            device.display()
        ),
    );
    let run = sweep(&scratch, &[]);
    assert!(run.status.success(), "{}", err(&run));
    let about = fs::read_to_string(scratch.path("study/base/run.json")).unwrap();
    assert!(about.contains(device.to_str().unwrap()), "{about}");
    let node = "iscsiadm -m node -T iqn.2026-01.x:y -p 127.0.0.1";
    assert_eq!(
        lines(scratch.path("calls")),
        [
            format!("targetcli /backstores/block create name=iosonar dev={}", target.display()),
            "targetcli /iscsi create iqn.2026-01.x:y".to_owned(),
            "targetcli /iscsi/iqn.2026-01.x:y/tpg1/portals delete 0.0.0.0 3260".to_owned(),
            "targetcli /iscsi/iqn.2026-01.x:y/tpg1/portals create 127.0.0.1 3260".to_owned(),
            "targetcli /iscsi/iqn.2026-01.x:y/tpg1/luns create /backstores/block/iosonar".to_owned(),
            "targetcli /iscsi/iqn.2026-01.x:y/tpg1 set attribute authentication=0 generate_node_acls=1 \
             demo_mode_write_protect=0"
                .to_owned(),
            "iscsiadm -m discovery -t sendtargets -p 127.0.0.1".to_owned(),
            format!("{node} --login"),
            format!("{node} --logout"),
            format!("{node} -o delete"),
            "targetcli /iscsi delete iqn.2026-01.x:y".to_owned(),
            "targetcli /backstores/block delete iosonar".to_owned(),
        ]
    );
    // A volume is created; one that is there is deleted only if that is allowed.
    let scratch = Scratch::new();
    replay(
        &scratch,
        "[[hook]]\nuse = \"logical-volume\"\ngroup = \"vg\"\nname = \"x\"\nsize = \"1G\"\noptions = [\"--type\", \"striped\"]\n",
    );
    fake(&scratch, "lvs", "exit 0");
    fake(&scratch, "lvremove", "");
    fake(&scratch, "lvcreate", "");
    let run = sweep(&scratch, &[]);
    assert!(
        err(&run).contains("logical-volume: refused: all data on /dev/vg/x would be lost"),
        "{}",
        err(&run)
    );
    let run = sweep(&scratch, &["--destroy", "/dev/vg/x"]);
    // There is no such volume, so the replay fails on it.
    assert!(err(&run).contains("/dev/vg/x"), "{}", err(&run));
    let calls = lines(scratch.path("calls"));
    assert!(
        calls.contains(&"lvremove --force --yes vg/x".to_owned()),
        "{calls:?}"
    );
    assert!(
        calls.contains(&"lvcreate --yes --name x --size 1G --type striped vg".to_owned()),
        "{calls:?}"
    );
}

#[test]
fn a_tool_that_is_missing_is_named_with_its_package() {
    let scratch = Scratch::new();
    replay(
        &scratch,
        "[[hook]]\nuse = \"iscsi-target\"\niqn = \"iqn.2026-01.x:y\"\n",
    );
    let run = iosonar()
        .env("PATH", scratch.path("bin"))
        .arg("sweep")
        .arg(scratch.path("study.toml"))
        .output()
        .unwrap();
    assert!(
        err(&run).contains("targetcli is not installed; install the package targetcli-fb"),
        "{}",
        err(&run)
    );
}

#[test]
fn what_was_there_before_is_not_taken_away() {
    let scratch = Scratch::new();
    replay(
        &scratch,
        "[[hook]]\nuse = \"iscsi-target\"\niqn = \"iqn.2026-01.x:y\"\n",
    );
    // The backstore can be made, but somebody has such a target.
    fake(
        &scratch,
        "targetcli",
        "case \"$*\" in '/iscsi create'*) echo it exists >&2; exit 1;; esac",
    );
    let run = sweep(&scratch, &[]);
    assert!(
        err(&run).contains("setup: targetcli: exit code 1: it exists"),
        "{}",
        err(&run)
    );
    let calls = lines(scratch.path("calls"));
    assert!(
        calls.contains(&"targetcli /backstores/block delete iosonar".to_owned()),
        "{calls:?}"
    );
    assert!(
        !calls
            .iter()
            .any(|call| call.starts_with("targetcli /iscsi delete")),
        "{calls:?}"
    );
}

#[test]
fn what_a_hook_leaves_running_is_not_waited_for() {
    let scratch = place(
        "scenario = \"base.toml\"\n[[hook]]\nuse = \"command\"\nsetup = \"sleep 30 & echo $! > pid\"\n\
         cleanup = \"kill $(cat pid)\"\n",
    );
    let begin = Instant::now();
    let run = iosonar()
        .current_dir(scratch.path("."))
        .args(["sweep", "study.toml"])
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", err(&run));
    assert!(begin.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_failure_at_the_end_is_told_and_keeps_what_was_measured() {
    let scratch = place(
        "scenario = \"base.toml\"\n[[hook]]\nuse = \"command\"\nfinish = \"test -s \\\"$IOSONAR_RUN_DIR/result.pending.json\\\" && echo no more >&2; exit 4\"\n",
    );
    let run = sweep(&scratch, &[]);
    assert_eq!(run.status.code(), Some(1));
    assert!(
        err(&run).contains("finish: sh: exit code 4: no more"),
        "{}",
        err(&run)
    );
    let folder = scratch.path("study/base");
    assert!(folder.join("result.pending.json").is_file() && !folder.join("result.json").exists());
}

#[test]
fn an_experiment_cannot_allow_itself_to_destroy() {
    let scratch = Scratch::new();
    let target = replay(&scratch, "");
    let text = fs::read_to_string(scratch.path("study.toml")).unwrap();
    scratch.file(
        "study.toml",
        format!("{text}write = true\ndestroy = \"{}\"\n", target.display()),
    );
    let run = sweep(&scratch, &[]);
    assert_eq!(run.status.code(), Some(2));
    assert!(
        err(&run)
            .contains("'destroy' cannot be used in a sweep: use --destroy when starting the sweep"),
        "{}",
        err(&run)
    );
}

/// A study that writes to a target that holds data, through a load that a command changes.
fn commanded(scratch: &Scratch) -> PathBuf {
    let command = format!("touch '{}'; cat", scratch.path("executed").display());
    let target = replay(scratch, &format!("write = true\ncmd = \"{command}\"\n"));
    scratch.file(
        "x.load",
        "0.0 ; 0 ; 8 ; W ; 0 ; 0\n0.001 ; 64 ; 8 ; W ; 0 ; 0\n",
    );
    target
}

#[test]
fn a_dry_run_executes_no_command_of_a_study() {
    let scratch = Scratch::new();
    let target = commanded(&scratch);
    let listed = sweep(&scratch, &["--dry-run"]);
    assert!(listed.status.success(), "{}", err(&listed));
    assert!(
        err(&listed).contains("1 of 1 runs remain"),
        "{}",
        err(&listed)
    );
    assert!(out(&listed).contains("open"), "{}", out(&listed));
    assert!(!scratch.path("executed").exists());
    // A sweep does execute it.
    let run = sweep(&scratch, &["--destroy", target.to_str().unwrap()]);
    assert!(run.status.success(), "{}", err(&run));
    assert!(scratch.path("executed").exists());
}

#[test]
fn a_spec_cannot_allow_itself_to_destroy() {
    let scratch = Scratch::new();
    let target = commanded(&scratch);
    let consent = ["--destroy", target.to_str().unwrap()];
    let run = sweep(&scratch, &consent);
    assert!(run.status.success(), "{}", err(&run));
    let spec = scratch.path("study/base/spec.json");
    let again = |options: &[&str]| {
        let spec = ["replay", "-q", "--spec", spec.to_str().unwrap()];
        iosonar().args(spec).args(options).output().unwrap()
    };
    fs::write(&target, vec![7_u8; 1 << 20]).unwrap();
    for options in [&[][..], &["--destroy", "elsewhere"]] {
        let refused = again(options);
        let (shown, message) = (target.display(), err(&refused));
        assert_eq!(refused.status.code(), Some(2), "{message}");
        assert!(
            message.contains(&format!(
                "spec.json: 'destroy' is {shown}, expected only targets that are named"
            )) && message.contains(&format!("use --destroy {shown} to confirm")),
            "{message}"
        );
        assert!(fs::read(&target).unwrap().iter().all(|&byte| byte == 7));
    }
    let run = again(&consent);
    assert!(run.status.success(), "{}", err(&run));
    assert!(
        fs::read(&target).unwrap()[..4096]
            .iter()
            .any(|&byte| byte != 7)
    );
}
