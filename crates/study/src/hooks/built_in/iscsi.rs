//! Targets over iSCSI: exported, logged in to, and taken down again.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use toml::Value;

use super::super::around::{Around, HookError};
use super::super::file::Phase;
use super::{BuiltIn, take_made, targets, tool};

impl BuiltIn {
    pub(super) fn backstore(&self) -> String {
        self.option("name").unwrap_or("iosonar").to_owned()
    }

    /// Makes a device a LIO target. What was made is remembered: a target that was there before is not ours to take
    /// away.
    pub(super) fn export(&self, around: &mut Around<'_>, phase: Phase) -> Result<(), HookError> {
        let (name, iqn) = (
            self.backstore(),
            self.option("iqn").unwrap_or_default().to_owned(),
        );
        let device = match self.option("device") {
            Some(device) => device.to_owned(),
            None => targets(around, "iscsi-target")?.swap_remove(0),
        };
        let (backstore, group) = (
            format!("/backstores/block/{name}"),
            format!("/iscsi/{iqn}/tpg1"),
        );
        let (named, of) = (format!("name={name}"), format!("dev={device}"));
        tool(
            around,
            "targetcli",
            &["/backstores/block", "create", &named, &of],
            phase,
        )?;
        around.made.push(backstore.clone());
        tool(around, "targetcli", &["/iscsi", "create", &iqn], phase)?;
        around.made.push(group.clone());
        let portals = format!("{group}/portals");
        tool(
            around,
            "targetcli",
            &[&portals, "delete", "0.0.0.0", "3260"],
            phase,
        )?;
        tool(
            around,
            "targetcli",
            &[&portals, "create", &self.portal(), "3260"],
            phase,
        )?;
        tool(
            around,
            "targetcli",
            &[&format!("{group}/luns"), "create", &backstore],
            phase,
        )?;
        // Any host that reaches the portal may write, so by default it listens on this machine only.
        let open = [
            "authentication=0",
            "generate_node_acls=1",
            "demo_mode_write_protect=0",
        ];
        let words = [&[group.as_str(), "set", "attribute"][..], &open[..]].concat();
        tool(around, "targetcli", &words, phase)?;
        Ok(())
    }

    pub(super) fn withdraw(&self, around: &mut Around<'_>, phase: Phase) -> Result<(), HookError> {
        let (name, iqn) = (
            self.backstore(),
            self.option("iqn").unwrap_or_default().to_owned(),
        );
        let mut outcome = Ok(());
        if take_made(around, &format!("/iscsi/{iqn}/tpg1")) {
            outcome = tool(around, "targetcli", &["/iscsi", "delete", &iqn], phase).map(|_| ());
        }
        // This is tried although the other may have failed.
        if take_made(around, &format!("/backstores/block/{name}")) {
            tool(
                around,
                "targetcli",
                &["/backstores/block", "delete", &name],
                phase,
            )?;
        }
        outcome
    }

    pub(super) fn portal(&self) -> String {
        self.option("portal").unwrap_or("127.0.0.1").to_owned()
    }

    /// Logs in; the new device becomes the target.
    pub(super) fn log_in(&self, around: &mut Around<'_>, phase: Phase) -> Result<(), HookError> {
        let (portal, iqn) = (
            self.portal(),
            self.option("iqn").unwrap_or_default().to_owned(),
        );
        tool(
            around,
            "iscsiadm",
            &["-m", "discovery", "-t", "sendtargets", "-p", &portal],
            phase,
        )?;
        tool(
            around,
            "iscsiadm",
            &["-m", "node", "-T", &iqn, "-p", &portal, "--login"],
            phase,
        )?;
        around.made.push(format!("session {iqn}"));
        let address = if portal.contains(':') {
            portal.clone()
        } else {
            format!("{portal}:3260")
        };
        let device = match self.option("device") {
            Some(device) => PathBuf::from(device),
            None => PathBuf::from(format!("/dev/disk/by-path/ip-{address}-iscsi-{iqn}-lun-0")),
        };
        let limit = self
            .options
            .get("timeout_s")
            .and_then(Value::as_integer)
            .unwrap_or(30);
        let begin = Instant::now();
        while !device.exists() {
            if begin.elapsed() > Duration::from_secs(limit as u64) {
                return Err(HookError::Failed(format!(
                    "{phase}: iscsi-initiator: {} did not appear within {limit} s",
                    device.display()
                )));
            }
            if around.stop.is_asked() {
                return Err(HookError::Interrupted);
            }
            thread::sleep(Duration::from_millis(50));
        }
        around.targets = vec![device.display().to_string()];
        Ok(())
    }

    pub(super) fn log_out(&self, around: &mut Around<'_>, phase: Phase) -> Result<(), HookError> {
        let (portal, iqn) = (
            self.portal(),
            self.option("iqn").unwrap_or_default().to_owned(),
        );
        // A session that was there before is not ours to end.
        if !take_made(around, &format!("session {iqn}")) {
            return Ok(());
        }
        let node = ["-m", "node", "-T", &iqn, "-p", &portal];
        let out = tool(
            around,
            "iscsiadm",
            &[&node[..], &["--logout"]].concat(),
            phase,
        );
        tool(
            around,
            "iscsiadm",
            &[&node[..], &["-o", "delete"]].concat(),
            phase,
        )?;
        out.map(|_| ())
    }
}
