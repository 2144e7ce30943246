//! A viewer's connection.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::body::Answer;
use crate::request::Gate;
use crate::state::Answering;

/// A request must be there within this time: who sends none takes a place from others.
const REQUEST_PATIENCE: Duration = Duration::from_secs(4);
/// Its answer must be taken within this time.
const PATIENCE: Duration = Duration::from_secs(20);
/// What is buffered for a viewer.
const BUFFER: usize = 16 << 10;

/// Answers one request; of events, until the viewer leaves.
pub(crate) async fn serve(stream: TcpStream, gate: Arc<Gate>) {
    let is_stream = AtomicBool::new(false);
    let on_its_way = OnceLock::new();
    let answer = service_fn(|request| {
        on_its_way.get_or_init(|| Answering::of(&gate.state));
        let answer = gate.answer(&request);
        is_stream.store(matches!(answer.body(), Answer::Events { .. }), Relaxed);
        async move { Ok::<_, Infallible>(answer) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_PATIENCE)
        .keep_alive(false)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), answer);
    let mut connection = pin!(connection);
    // An error is a viewer that has left.
    let answered = timeout(PATIENCE, connection.as_mut()).await;
    if answered.is_err() && is_stream.load(Relaxed) {
        let _ = connection.await;
    }
}
