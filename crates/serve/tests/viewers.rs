//! Viewers of all kinds, and a publisher that none of them holds up.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use iosonar_serve::{Server, Settings};

const BYTES: &str = "application/octet-stream";

fn server() -> Server {
    Server::start(Settings::default()).unwrap()
}

/// The path of a file, with the token.
fn path(server: &Server, name: &str) -> String {
    let url = server.url();
    let (_, path) = url.split_once("//").unwrap().1.split_once('/').unwrap();
    format!("/{path}{name}")
}

fn ask(server: &Server, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let limit = Some(Duration::from_secs(20));
    stream.set_read_timeout(limit).unwrap();
    let host = server.address();
    write!(stream, "{request} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    stream
}

/// The head and the body of an answer.
fn answer(mut stream: TcpStream) -> (String, Vec<u8>) {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    let end = all.windows(4).position(|at| at == b"\r\n\r\n").unwrap();
    let body = all.split_off(end + 4);
    (String::from_utf8(all).unwrap(), body)
}

#[test]
fn a_viewer_gets_the_latest_state_and_nothing_without_the_token() {
    let server = server();
    server.put("index.html", "text/html; charset=utf-8", "first");
    server.put("index.html", "text/html; charset=utf-8", "second");
    let (head, body) = answer(ask(&server, &format!("GET {}", path(&server, ""))));
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(head.contains("content-security-policy: default-src 'none'; script-src 'self'"));
    assert_eq!(body, b"second");
    for asked in ["GET /", "GET /index.html", "GET /events", "POST /stop"] {
        let (head, body) = answer(ask(&server, asked));
        assert!(head.starts_with("HTTP/1.1 403"), "{asked}: {head}");
        assert!(body.starts_with(b"403: "), "{asked}");
    }
    let post = format!("POST {}", path(&server, ""));
    assert!(answer(ask(&server, &post)).0.starts_with("HTTP/1.1 405"));
    // Only this machine is told where it listens.
    assert!(server.address().ip().is_loopback());
}

/// The effective capabilities of the threads that serve. Those of other tests are among them.
fn capabilities_of_servers() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let of =
        |task: &std::path::Path, file| std::fs::read_to_string(task.join(file)).unwrap_or_default();
    let status = tasks
        .map(|task| task.path())
        .filter(|task| of(task, "comm") == "serve\n")
        .map(|task| of(&task, "status"));
    let effective = |status: String| {
        let mut lines = status.lines();
        lines.find_map(|line| Some(line.strip_prefix("CapEff:")?.trim().to_owned()))
    };
    status.filter_map(effective).collect()
}

#[test]
fn the_thread_that_serves_has_none_of_the_capabilities_of_root() {
    let server = server();
    server.put("index.html", "text/html; charset=utf-8", "page");
    assert_eq!(
        answer(ask(&server, &format!("GET {}", path(&server, "")))).1,
        b"page"
    );
    let begin = Instant::now();
    // Threads of other tests may only be beginning.
    while capabilities_of_servers()
        .iter()
        .any(|of| !of.trim_matches('0').is_empty())
    {
        assert!(
            begin.elapsed() < Duration::from_secs(10),
            "{:?}",
            capabilities_of_servers()
        );
        thread::sleep(Duration::from_millis(5));
    }
    assert!(!capabilities_of_servers().is_empty());
}

#[test]
fn a_hundred_viewers_learn_of_each_new_state_and_of_the_last() {
    let server = server();
    server.put("data", BYTES, "x");
    let events = format!("GET {}", path(&server, "events"));
    let last = format!("GET {}", path(&server, "data?last"));
    let viewers: Vec<_> = (0..100).map(|_| ask(&server, &events)).collect();
    let begin = Instant::now();
    while server.viewers() < 100 {
        assert!(
            begin.elapsed() < Duration::from_secs(10),
            "{}",
            server.viewers()
        );
        thread::sleep(Duration::from_millis(5));
    }
    let address = server.address();
    let threads: Vec<_> = viewers
        .into_iter()
        .map(|viewer| {
            let last = last.clone();
            thread::spawn(move || {
                let mut versions = Vec::new();
                for line in BufReader::new(viewer).lines() {
                    let line = line.unwrap();
                    let Some((_, event)) = line.split_once("data: ") else {
                        continue;
                    };
                    versions.push(event.to_owned());
                    if event.contains("\"last\":true") {
                        let mut fetch = TcpStream::connect(address).unwrap();
                        write!(fetch, "{last} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
                        return (versions, answer(fetch).1);
                    }
                }
                panic!("there was no last state: {versions:?}");
            })
        })
        .collect();
    for _ in 0..3 {
        thread::sleep(Duration::from_millis(100));
        server.announce();
    }
    server.put("data", BYTES, "the last");
    let begin = Instant::now();
    server.finish(Duration::from_secs(15));
    assert!(
        begin.elapsed() < Duration::from_secs(14),
        "it waited for nothing"
    );
    for thread in threads {
        let (versions, data) = thread.join().unwrap();
        assert!(versions.len() >= 2 && versions.is_sorted(), "{versions:?}");
        assert_eq!(data, b"the last");
    }
}

/// The memory of this process that is in use, in bytes.
fn resident() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = pages.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

#[test]
fn viewers_that_stop_reading_hold_up_neither_the_publisher_nor_others_nor_take_memory() {
    let server = Arc::new(server());
    let size = 1 << 20;
    server.put("data", BYTES, vec![0; size]);
    let data = format!("GET {}", path(&server, "data"));
    let events = format!("GET {}", path(&server, "events"));
    // They ask, and read nothing of the answer.
    let stalled: Vec<_> = (0..100)
        .map(|i| ask(&server, if i % 2 == 0 { &data } else { &events }))
        .collect();
    thread::sleep(Duration::from_millis(200));
    let before = resident();
    let mut longest = Duration::ZERO;
    for i in 0..2000_u32 {
        let begin = Instant::now();
        server.put("data", BYTES, vec![i as u8; size]);
        server.announce();
        longest = longest.max(begin.elapsed());
    }
    // Some of the fifty hold the one state that they asked for.
    let grown = resident().saturating_sub(before);
    assert!(grown < 32 << 20, "{} MB", grown >> 20);
    assert!(longest < Duration::from_millis(500), "{longest:?}");
    // A viewer that reads is served beside them.
    let begin = Instant::now();
    assert_eq!(
        answer(ask(&server, &data)).1,
        vec![(1999 % 256) as u8; size]
    );
    assert!(begin.elapsed() < Duration::from_secs(5));
    drop(stalled);
}

#[test]
fn a_viewer_that_has_left_is_forgotten() {
    let server = server();
    let viewer = ask(&server, &format!("GET {}", path(&server, "events")));
    let wait = |n| {
        let begin = Instant::now();
        while server.viewers() != n {
            assert!(
                begin.elapsed() < Duration::from_secs(10),
                "{}",
                server.viewers()
            );
            thread::sleep(Duration::from_millis(5));
        }
    };
    wait(1);
    drop(viewer);
    server.announce();
    wait(0);
}

#[test]
fn a_run_is_stopped_by_a_button_only_where_that_is_allowed() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    static IS_RUNNING: AtomicBool = AtomicBool::new(false);
    let server = Server::start(Settings {
        stop: Some(Box::new(|| {
            ASKED.fetch_add(1, Relaxed);
            IS_RUNNING.load(Relaxed)
        })),
        ..Settings::default()
    })
    .unwrap();
    let get = format!("GET {}", path(&server, "stop"));
    assert!(answer(ask(&server, &get)).0.starts_with("HTTP/1.1 405"));
    assert!(
        answer(ask(&server, "POST /stop"))
            .0
            .starts_with("HTTP/1.1 403")
    );
    assert_eq!(ASKED.load(Relaxed), 0);
    let post = format!("POST {}", path(&server, "stop"));
    // There is nothing to stop yet.
    assert!(answer(ask(&server, &post)).0.starts_with("HTTP/1.1 409"));
    IS_RUNNING.store(true, Relaxed);
    // A second signal would have the run give up what is in flight.
    for _ in 0..3 {
        assert!(answer(ask(&server, &post)).0.starts_with("HTTP/1.1 202"));
    }
    assert_eq!(ASKED.load(Relaxed), 2);
}
