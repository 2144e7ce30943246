//! The thread that serves.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bytes::Bytes;
use rustix::process::setpriority_process;
use rustix::system::uname;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
use tokio::runtime::Builder;
use tokio::sync::{Semaphore, oneshot};

use crate::connection::serve;
use crate::request::Gate;
use crate::state::{Content, State};
use crate::token::Token;

/// The lowest priority: of a thread that computes beside it, hardly anything is taken.
const NICE: i32 = 19;
const NO_CAPABILITIES: CapabilitySets = CapabilitySets {
    effective: CapabilitySet::empty(),
    permitted: CapabilitySet::empty(),
    inheritable: CapabilitySet::empty(),
};
/// More connections at once are closed at once.
const CONNECTIONS: usize = 512;
/// Where no connection can be accepted, the next attempt is made after this time.
const PAUSE: Duration = Duration::from_millis(50);

/// Asks a run to stop; whether there is one.
pub type Stop = Box<dyn Fn() -> bool + Send + Sync>;

/// How to serve.
pub struct Settings {
    /// The address; with port 0 the kernel chooses one.
    pub address: SocketAddr,
    /// What is called when a viewer asks the run to stop, and says whether there is one to stop; not again after it
    /// has said so. With `None`, no viewer may ask.
    pub stop: Option<Stop>,
}

impl Default for Settings {
    /// Only for viewers on this machine, who may not stop anything.
    fn default() -> Self {
        Self {
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            stop: None,
        }
    }
}

/// A server; it ends when this is dropped.
pub struct Server {
    address: SocketAddr,
    token: Token,
    state: Arc<State>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts to serve; there is nothing to be seen yet.
    ///
    /// # Errors
    /// If the address is not this machine's or in use, or there are no more threads or descriptors.
    pub fn start(settings: Settings) -> io::Result<Self> {
        let listener = TcpListener::bind(settings.address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let token = Token::random()?;
        let may_stop = settings.stop.is_some();
        let state = Arc::new(State::new(settings.stop));
        let gate = Gate {
            token: token.clone(),
            names: vec![uname().nodename().to_string_lossy().into_owned()],
            state: Arc::clone(&state),
        };
        let (end, ended) = oneshot::channel();
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let work = move || {
            // Of this thread only. The server works without it, too.
            let _ = setpriority_process(None, NICE);
            // What it serves is in memory, so it needs nothing that root may do, unless it stops another process.
            if !may_stop {
                let _ = set_capabilities(None, NO_CAPABILITIES);
            }
            runtime.block_on(async {
                tokio::spawn(accept(listener, Arc::new(gate)));
                let _ = ended.await;
            });
        };
        let thread = thread::Builder::new()
            .name("serve".to_owned())
            .spawn(work)?;
        Ok(Self {
            address,
            token,
            state,
            end: Some(end),
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of the page, with the token. A server for all addresses is named as this machine is.
    pub fn url(&self) -> String {
        let (address, token) = (self.address, self.token.text());
        if address.ip().is_unspecified() {
            let name = uname().nodename().to_string_lossy().into_owned();
            return format!("http://{name}:{}/{token}/", address.port());
        }
        format!("http://{address}/{token}/")
    }

    /// Publishes a file, of this media type, in place of the one of this name; `index.html` is the page.
    pub fn put(&self, name: &'static str, kind: &'static str, bytes: impl Into<Bytes>) {
        let bytes = bytes.into();
        self.state.put(name, Content { kind, bytes });
    }

    /// Lets viewers know that there is something new.
    pub fn announce(&self) {
        self.state.announce(false);
    }

    /// How many viewers wait for news.
    pub fn viewers(&self) -> usize {
        self.state.viewers()
    }

    /// Lets viewers know that this is the last state, and ends once they have fetched it, or after `patience`.
    pub fn finish(self, patience: Duration) {
        self.state.announce(true);
        let begin = Instant::now();
        while !self.state.is_settled() && begin.elapsed() < patience {
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Accepts connections, a task for each.
async fn accept(listener: TcpListener, gate: Arc<Gate>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            continue;
        };
        let gate = Arc::clone(&gate);
        tokio::spawn(async move {
            serve(stream, gate).await;
            drop(place);
        });
    }
}
