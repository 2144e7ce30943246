//! From a request to its answer.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};

use crate::body::Answer;
use crate::state::{State, Stopping};
use crate::token::Token;

/// The page at the root.
const INDEX: &str = "index.html";
/// The stream of events.
const EVENTS: &str = "events";
/// Where a viewer asks the run to stop.
const STOP: &str = "stop";
/// Fetched with this query by a viewer that has learnt that it is the last state.
const LAST: &str = "last";

/// Nothing but this server, no inline script: a name that were taken for markup could do nothing.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Who may ask, and what is answered.
pub(crate) struct Gate {
    pub(crate) token: Token,
    /// Names of this machine, beside `localhost` and addresses.
    pub(crate) names: Vec<String>,
    pub(crate) state: Arc<State>,
}

impl Gate {
    /// The answer to a request.
    pub(crate) fn answer<B>(&self, request: &Request<B>) -> Response<Answer> {
        let answer = match self.allowed(request) {
            Some(name) => self.routed(request, name),
            None => plain(
                StatusCode::FORBIDDEN,
                "403: open the URL that iosonar printed, with its token and this machine's name or address\n",
            ),
        };
        with_headers(answer)
    }

    /// The name of what is asked for; `None` without the token, or under a name that is not this machine's.
    fn allowed<'a, B>(&self, request: &'a Request<B>) -> Option<&'a str> {
        if !self.is_this_machine(request.headers()) {
            return None;
        }
        let path = request.uri().path().strip_prefix('/')?;
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        if self.token.is(first) {
            return Some(rest);
        }
        let query = request.uri().query().unwrap_or_default();
        let of_query = query.split('&').find_map(|of| of.strip_prefix("token="));
        let bearer = request.headers().get(header::AUTHORIZATION);
        let bearer = bearer.and_then(|of| of.to_str().ok()?.strip_prefix("Bearer "));
        let is_known = [of_query, bearer]
            .into_iter()
            .flatten()
            .any(|sent| self.token.is(sent));
        is_known.then_some(path)
    }

    fn is_this_machine(&self, headers: &HeaderMap) -> bool {
        let host = headers.get(header::HOST).and_then(|of| of.to_str().ok());
        host.is_some_and(|host| {
            let name = name_of(host);
            name.parse::<IpAddr>().is_ok()
                || name.eq_ignore_ascii_case("localhost")
                || self.names.iter().any(|own| own.eq_ignore_ascii_case(name))
        })
    }

    fn routed<B>(&self, request: &Request<B>, name: &str) -> Response<Answer> {
        if name == STOP {
            return self.stop(request);
        }
        if request.method() != Method::GET {
            return plain(
                StatusCode::METHOD_NOT_ALLOWED,
                "405: this page is read-only\n",
            );
        }
        if name == EVENTS {
            let mut response = Response::new(Answer::events(&self.state));
            let kind = HeaderValue::from_static("text/event-stream");
            response.headers_mut().insert(header::CONTENT_TYPE, kind);
            return response;
        }
        let name = if name.is_empty() { INDEX } else { name };
        let Some(content) = self.state.file(name) else {
            return plain(StatusCode::NOT_FOUND, "404: this page does not exist\n");
        };
        if request.uri().query() == Some(LAST) {
            self.state.settle();
        }
        let mut response = Response::new(Answer::Whole(content.bytes));
        let kind = HeaderValue::from_static(content.kind);
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response
    }

    fn stop<B>(&self, request: &Request<B>) -> Response<Answer> {
        if request.method() != Method::POST {
            return plain(StatusCode::METHOD_NOT_ALLOWED, "405: use POST\n");
        }
        match self.state.stop() {
            Stopping::Asked => plain(StatusCode::ACCEPTED, "stopping\n"),
            Stopping::NoRun => plain(StatusCode::CONFLICT, "409: there is no run to stop\n"),
            Stopping::NotAllowed => plain(
                StatusCode::FORBIDDEN,
                "403: iosonar was started without --control, so the run cannot be stopped \
                 from here\n",
            ),
        }
    }
}

/// The name in `Host`, without its port.
fn name_of(host: &str) -> &str {
    if let Some((address, _)) = host.strip_prefix('[').and_then(|of| of.split_once(']')) {
        return address;
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}

fn plain(status: StatusCode, text: &'static str) -> Response<Answer> {
    let mut response = Response::new(Answer::Whole(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

fn with_headers(mut response: Response<Answer>) -> Response<Answer> {
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Content;

    fn gate() -> Gate {
        let state = State::new(None);
        let bytes = Bytes::from_static(b"<h1>page</h1>");
        state.put(
            INDEX,
            Content {
                kind: "text/html",
                bytes,
            },
        );
        Gate {
            token: Token::random().unwrap(),
            names: vec!["lab-7".to_owned()],
            state: Arc::new(state),
        }
    }

    fn status(gate: &Gate, path: &str, host: &str) -> u16 {
        let request = Request::get(path).header(header::HOST, host).body(());
        gate.answer(&request.unwrap()).status().as_u16()
    }

    #[test]
    fn without_the_token_every_answer_is_403() {
        let gate = gate();
        let token = gate.token.text().to_owned();
        let right = [format!("/{token}/"), format!("/?token={token}")];
        for path in &right {
            assert_eq!(status(&gate, path, "127.0.0.1:1"), 200, "{path}");
        }
        let wrong = [
            "/".to_owned(),
            "//".to_owned(),
            format!("/{}/", &token[..31]),
            format!("/{token}0/"),
            "/?token=".to_owned(),
            "/events".to_owned(),
            "/metrics".to_owned(),
            "/nothing".to_owned(),
        ];
        for path in &wrong {
            assert_eq!(status(&gate, path, "127.0.0.1:1"), 403, "{path}");
        }
        let bearer = Request::get("/").header(header::HOST, "localhost");
        let bearer = bearer.header(header::AUTHORIZATION, format!("Bearer {token}"));
        assert_eq!(gate.answer(&bearer.body(()).unwrap()).status(), 200);
    }

    #[test]
    fn another_sites_name_for_this_address_is_refused() {
        let gate = gate();
        let path = format!("/{}/", gate.token.text());
        for host in [
            "127.0.0.1",
            "[::1]:80",
            "localhost:80",
            "LAB-7:9",
            "10.0.0.7:80",
        ] {
            assert_eq!(status(&gate, &path, host), 200, "{host}");
        }
        for host in ["evil.example:80", "localhost.evil.example", "", "lab-77"] {
            assert_eq!(status(&gate, &path, host), 403, "{host}");
        }
    }

    #[test]
    fn nothing_is_stopped_without_permission() {
        let gate = gate();
        let path = format!("/{}/stop", gate.token.text());
        assert_eq!(status(&gate, &path, "localhost"), 405);
        let post = Request::post(&path).header(header::HOST, "localhost");
        assert_eq!(gate.answer(&post.body(()).unwrap()).status(), 403);
    }
}
