//! Live pages: what a run has written so far, served while it goes on.
//!
//! A page reads the files that the run writes, whether the run serves it (`--serve`) or `iosonar serve` does:
//! nothing of this is on the path of the data. A thread at the lowest priority reads what was appended and renders it; the
//! thread of `iosonar-serve` sends it.

mod feed;
mod followed;
mod page;
mod tee;
mod tree;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use iosonar_report::LookOptions;
use iosonar_serve::Stop;

use crate::beside::{Working, beside};
use crate::low::ServeArgs;
pub(crate) use feed::Feed;
pub(crate) use page::{Live, yield_to_others};
pub(crate) use tee::Tee;

/// What is new is looked for this often.
pub(crate) const EVERY: Duration = Duration::from_millis(200);

/// Does `work`, with a live page of what it feeds where one is asked for.
pub(crate) fn during<T>(
    args: &ServeArgs,
    title: &str,
    feed: impl FnOnce() -> Feed + Send,
    work: impl FnOnce() -> T,
) -> anyhow::Result<T> {
    let Some(address) = args.serve else {
        return Ok(work());
    };
    let stop = args.control.then(|| Box::new(interrupt) as Stop);
    let mut live = Live::start(title, address, stop)?;
    let watcher = move |working: &Working| {
        page::yield_to_others();
        let mut feed = feed();
        while working.goes_on(EVERY) {
            live.follow(&mut feed);
        }
        live.end(&mut feed);
    };
    Ok(beside(watcher, work))
}

/// Does what Ctrl-C does.
fn interrupt() -> bool {
    signal_hook::low_level::raise(signal_hook::consts::SIGINT).is_ok()
}

/// A feed of the records that will be called `path`.
pub(crate) fn of_records(path: &Path) -> impl FnOnce() -> Feed + Send {
    let path = path.to_owned();
    move || Feed::of_records(&path, &LookOptions::default())
}

/// An address as it is typed: `IP:PORT`, `IP`, or `PORT` of this machine only.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    use std::net::{IpAddr, Ipv4Addr};
    let expected = "expected an address such as 127.0.0.1, 127.0.0.1:8080, 0.0.0.0:8080 or 8080";
    let of_port = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let of_ip = |ip: IpAddr| SocketAddr::new(ip, 0);
    None.or_else(|| text.parse().ok())
        .or_else(|| text.parse().ok().map(of_ip))
        .or_else(|| text.parse().ok().map(of_port))
        .ok_or_else(|| expected.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_this_machine_alone_unless_another_is_named() {
        let of = |text| address(text).unwrap().to_string();
        assert_eq!(of("8080"), "127.0.0.1:8080");
        assert_eq!(of("0.0.0.0"), "0.0.0.0:0");
        assert_eq!(of("[::1]:80"), "[::1]:80");
        assert_eq!(of("10.0.0.7:81"), "10.0.0.7:81");
        for wrong in ["", "host", "host:80", "127.0.0.1:99999", ":80", "-1"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
