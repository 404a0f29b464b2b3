//! Stands between program and server: notes each request, and does to some what networks and servers do.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The treatment of a request.
#[derive(Debug, Clone)]
pub(crate) enum Fate {
    /// It passes.
    Pass,
    /// The server never sees it; it gets an answer of this status and body.
    Answer(u16, &'static str),
    /// The server never sees it; the connection breaks while it is sent.
    Reset,
    /// The server does it; the connection breaks before the answer.
    LoseAnswer,
    /// It passes when its sender is gone.
    Hold(Arc<Mutex<Receiver<()>>>),
    /// The server never sees it, and it gets no answer while the client lives.
    Stop,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Path with its query, decoded as far as the tests need it.
    pub(crate) target: String,
    pub(crate) headers: BTreeMap<String, String>,
}

impl Request {
    /// Method and the key below the prefix; of a listing or a bulk removal, only the query's first word.
    pub(crate) fn short(&self) -> String {
        let (path, query) = self.target.split_once('?').unwrap_or((&self.target, ""));
        let key = path.splitn(4, '/').nth(3).unwrap_or_default();
        let query = query.split(['=', '&']).next().unwrap_or_default();
        let copy = if self.headers.contains_key("x-amz-copy-source") { " copy" } else { "" };
        let what = if key.is_empty() { query } else { key };
        format!("{}{copy} {what}", self.method)
    }
}

type Policy = Box<dyn FnMut(&Request) -> Fate + Send>;

/// The proxy; its threads end with the test's process.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    upstream: u16,
    log: Mutex<Vec<Request>>,
    policy: Mutex<Policy>,
}

impl Proxy {
    pub(crate) fn start(upstream: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared { upstream, log: Mutex::default(), policy: Mutex::new(Box::new(|_| Fate::Pass)) });
        let served = Arc::clone(&shared);
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let served = Arc::clone(&served);
                std::thread::spawn(move || drop(served.serve(connection)));
            }
        });
        Self { port, shared }
    }

    /// Decides on each request from now on. One request is decided on after the other.
    pub(crate) fn decide(&self, policy: impl FnMut(&Request) -> Fate + Send + 'static) {
        *self.shared.policy.lock().unwrap() = Box::new(policy);
    }

    /// Requests since the last call.
    pub(crate) fn take_log(&self) -> Vec<Request> {
        std::mem::take(&mut self.shared.log.lock().unwrap())
    }

    /// The same in short, in order.
    pub(crate) fn take_short(&self) -> Vec<String> {
        self.take_log().iter().map(Request::short).collect()
    }
}

impl Shared {
    /// One request a connection.
    fn serve(&self, mut client: TcpStream) -> io::Result<()> {
        client.set_read_timeout(Some(Duration::from_secs(30)))?;
        let Some((head, rest)) = read_head(&mut client)? else { return Ok(()) };
        let request = parse(&head);
        self.log.lock().unwrap().push(request.clone());
        let fate = (self.policy.lock().unwrap())(&request);
        if let Fate::Hold(wait) = &fate {
            let _ = wait.lock().unwrap().recv();
        }
        if matches!(fate, Fate::Stop) {
            // Until the client is gone.
            return io::copy(&mut client, &mut io::sink()).map(drop);
        }
        if matches!(fate, Fate::Reset) {
            // Unread bytes turn the end into a reset.
            return Ok(());
        }
        let length = request.headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = rest;
        let missing = usize::saturating_sub(length, body.len());
        Read::by_ref(&mut client).take(missing as u64).read_to_end(&mut body)?;
        if let Fate::Answer(status, text) = fate {
            let answer =
                format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}", text.len());
            return client.write_all(answer.as_bytes());
        }
        let mut server = TcpStream::connect(("127.0.0.1", self.upstream))?;
        let head = head.replacen("\r\n", "\r\nconnection: close\r\n", 1);
        server.write_all(head.as_bytes())?;
        server.write_all(&body)?;
        let mut answer = Vec::new();
        server.read_to_end(&mut answer)?;
        if matches!(fate, Fate::LoseAnswer) {
            return client.shutdown(Shutdown::Both);
        }
        client.write_all(&answer)
    }
}

fn read_head(client: &mut TcpStream) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Ok(Some((String::from_utf8_lossy(&bytes).into_owned(), rest)));
        }
        match client.read(&mut buffer)? {
            0 => return Ok(None),
            read => bytes.extend_from_slice(&buffer[..read]),
        }
    }
}

fn parse(head: &str) -> Request {
    let mut lines = head.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    let headers = lines.filter_map(|line| line.split_once(": "));
    Request {
        method: method.to_owned(),
        target: target.replace("%3D", "="),
        headers: headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect(),
    }
}
