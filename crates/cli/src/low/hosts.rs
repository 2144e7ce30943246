//! Targets on other hosts.

use std::path::PathBuf;

use clap::Args;
use iosonar_hosts::is_host_name;
use iosonar_units::Nanos;

use crate::exit::Usage;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Hosts")]
pub(crate) struct HostArgs {
    /// Replay on these targets on other hosts, over ssh
    ///
    /// An example of a target is 'node1:/dev/sdb'. Each target replays the whole load, and all targets share one clock.
    /// With NAME=HOST:DEV, a target replays only the requests to the trace's device NAME, as with --map. --destroy also
    /// accepts HOST:DEV.
    #[arg(
        long,
        value_name = "HOST:DEV,...",
        value_delimiter = ',',
        conflicts_with_all = [
            "target", "map", "at", "self_check", "find_rate", "verify", "tag", "keep_tables", "table_dir", "watch"
        ]
    )]
    pub(crate) hosts: Vec<HostTarget>,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
}

/// How hosts are reached.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Hosts")]
pub(crate) struct ConnectionArgs {
    /// Use this ssh client, with its options
    ///
    /// The client is run as 'COMMAND OPTIONS HOST LINE', where LINE is the shell command that starts iosonar on the
    /// host.
    #[arg(
        long,
        alias = "remote-shell",
        value_name = "COMMAND",
        default_value = "ssh",
        requires = "hosts"
    )]
    pub(crate) ssh: String,
    /// Start iosonar on the hosts with this command
    ///
    /// For example, /opt/bin/iosonar or 'sudo -n iosonar'. The host's shell runs it.
    #[arg(
        long,
        value_name = "COMMAND",
        default_value = "iosonar",
        requires = "hosts"
    )]
    pub(crate) host_program: String,
    /// Give up on a host that does not answer for TIME
    #[arg(long, value_name = "TIME", default_value = "10s", requires = "hosts", value_parser = patience)]
    pub(crate) host_timeout: Nanos,
}

/// A target on a host, and the device of the trace whose requests it replays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostTarget {
    pub(crate) device: Option<String>,
    pub(crate) host: String,
    pub(crate) path: PathBuf,
}

impl HostTarget {
    /// `HOST:DEV`.
    pub(crate) fn name(&self) -> PathBuf {
        format!("{}:{}", self.host, self.path.display()).into()
    }
}

impl std::str::FromStr for HostTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected HOST:/dev/NAME or NAME=HOST:/dev/NAME, such as node1:/dev/sdb";
        let (before, path) = text.split_once(":/").ok_or(expected)?;
        let (device, host) = match before.rsplit_once('=') {
            Some((device, host)) if !device.is_empty() => (Some(device.to_owned()), host),
            Some(_) => return Err(expected.to_owned()),
            None => (None, before),
        };
        if !is_host_name(host) {
            return Err(format!(
                "'{host}' is not a valid host name (as ssh accepts it, with or without USER@); {expected}"
            ));
        }
        Ok(Self {
            device,
            host: host.to_owned(),
            path: format!("/{path}").into(),
        })
    }
}

impl HostArgs {
    /// No hosts.
    pub(super) fn none() -> Self {
        Self {
            hosts: Vec::new(),
            connection: ConnectionArgs {
                ssh: "ssh".to_owned(),
                host_program: "iosonar".to_owned(),
                host_timeout: Nanos::from_secs(10),
            },
        }
    }

    /// The targets of all requests, or a target for each device of the load. One of the two lists is empty.
    #[allow(clippy::type_complexity)]
    pub(super) fn targets(&self) -> Result<(Vec<PathBuf>, Vec<(String, PathBuf)>), Usage> {
        let mapped = |of: &HostTarget| Some((of.device.clone()?, of.name()));
        let map: Vec<(String, PathBuf)> = self.hosts.iter().filter_map(mapped).collect();
        match map.len() {
            0 => Ok((self.hosts.iter().map(HostTarget::name).collect(), map)),
            n if n == self.hosts.len() => Ok((Vec::new(), map)),
            _ => Err(Usage(
                "--hosts: some targets name a device of the trace (NAME=HOST:DEV) and others do not: name a device for \
                 every target or for none"
                    .to_owned(),
            )),
        }
    }
}

fn patience(text: &str) -> Result<Nanos, String> {
    let time: Nanos = text.parse().map_err(|e| format!("{e}"))?;
    let range = Nanos::from_secs(1)..=Nanos::from_secs(3600);
    match range.contains(&time) {
        true => Ok(time),
        false => Err("expected a time from 1s to 1h".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_on_a_host_has_a_host_a_path_and_perhaps_a_device() {
        let of = |text: &str| text.parse::<HostTarget>();
        let plain = of("admin@node-1.lab:/dev/disk/by-id/a=b:c").unwrap();
        assert_eq!(plain.device, None);
        assert_eq!(
            plain.name(),
            PathBuf::from("admin@node-1.lab:/dev/disk/by-id/a=b:c")
        );
        let mapped = of("sda=node1:/dev/sdb").unwrap();
        assert_eq!(mapped.device.as_deref(), Some("sda"));
        assert_eq!(
            (mapped.host.as_str(), mapped.path),
            ("node1", "/dev/sdb".into())
        );
        for wrong in [
            "",
            "node1",
            "/dev/sdb",
            ":/dev/sdb",
            "node1:dev",
            "=a:/x",
            "a b:/x",
            "-oX:/x",
            "s=-oX:/x",
            "a;b:/x",
        ] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn devices_are_named_for_all_targets_or_for_none() {
        let targets = |texts: &[&str]| {
            let hosts = texts.iter().map(|text| text.parse().unwrap()).collect();
            let args = HostArgs {
                hosts,
                ..HostArgs::none()
            };
            args.targets()
                .map(|(targets, map)| (targets.len(), map.len()))
        };
        assert_eq!(targets(&["a:/x", "b:/x"]).ok(), Some((2, 0)));
        assert_eq!(targets(&["0=a:/x", "1=b:/x"]).ok(), Some((0, 2)));
        assert!(targets(&["0=a:/x", "b:/x"]).is_err());
    }
}
