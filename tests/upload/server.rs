//! Servers that start and stop with a test, on loopback.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::lake;
use crate::proxy::Proxy;

pub(crate) const KEY: &str = "AKIAQCANARYCANARY234";
pub(crate) const SECRET: &str = "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";
const BUCKET: &str = "team-lake";

/// The folder of the servers' programs, which are installed when they are not there.
pub(crate) fn tools() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let usual = || root.join("target/test-tools");
    let tools = std::env::var_os("LLREM_TEST_TOOLS").map_or_else(usual, PathBuf::from);
    if !tools.join("bin/s3s-fs").exists() {
        // Tests run beside each other, each in a process of its own.
        fs::create_dir_all(&tools).unwrap();
        let lock = fs::File::create(tools.join("lock")).unwrap();
        lock.lock().unwrap();
        let status = Command::new("sh").arg(root.join("tests/tools/setup.sh")).env("LLREM_TEST_TOOLS", &tools).status();
        assert!(status.unwrap().success(), "tests/tools/setup.sh failed");
    }
    tools
}

/// A port that nobody listens on.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A process that ends with the test.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
}

impl Server {
    /// Starts a program, and waits until it listens.
    pub(crate) fn start(command: &mut Command, port: u16) -> Self {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut server = Self { child, port };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(server.child.try_wait().unwrap().is_none(), "{command:?} ended");
            assert!(begun.elapsed() < Duration::from_mins(1), "{command:?} does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An S3 server that keeps objects as files, behind a proxy that sees and disturbs the requests.
pub(crate) struct S3 {
    _server: Server,
    pub(crate) proxy: Proxy,
    folder: TempDir,
    bucket: &'static str,
}

impl S3 {
    pub(crate) fn start() -> Self {
        let folder = lake::folder();
        fs::create_dir(folder.path().join(BUCKET)).unwrap();
        let port = free_port();
        let mut command = Command::new(tools().join("bin/s3s-fs"));
        command.args(["--host", "127.0.0.1", "--port", &port.to_string(), "--access-key", KEY, "--secret-key", SECRET]);
        let server = Server::start(command.arg(folder.path()), port);
        let proxy = Proxy::start(server.port);
        Self { _server: server, proxy, folder, bucket: BUCKET }
    }

    pub(crate) fn url(&self) -> String {
        format!("s3://{}/team", self.bucket)
    }

    /// The folder in which the objects below the URL are files of their keys.
    pub(crate) fn objects(&self) -> PathBuf {
        self.folder.path().join(self.bucket).join("team")
    }

    /// Brings a lake there.
    pub(crate) fn upload(&self, lake: &Path, arguments: &[&str]) -> Command {
        let mut command = lake::llrem(lake);
        command.args(["upload", &self.url()]).args(arguments);
        self.set_environment(&mut command);
        command
    }

    pub(crate) fn set_environment(&self, command: &mut Command) {
        command
            .env("AWS_ACCESS_KEY_ID", KEY)
            .env("AWS_SECRET_ACCESS_KEY", SECRET)
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.proxy.port));
    }

    /// Copies everything that is stored.
    pub(crate) fn backup(&self, to: &Path) {
        lake::copy_folder(self.folder.path(), to);
    }

    /// Brings back what was stored when the copy was made.
    pub(crate) fn restore(&self, from: &Path) {
        for entry in fs::read_dir(self.folder.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { fs::remove_dir_all(&path).unwrap() } else { fs::remove_file(&path).unwrap() }
        }
        lake::copy_folder(from, self.folder.path());
    }
}
