//! Footers are kept on this machine, where the store lists tags; Azure's emulator does, where npm could install it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::lake::{self, Bench, skip, succeed};
use crate::proxy::{Proxy, Request};
use crate::requests::{QUERY, bytes, gets};
use crate::server::{Server, free_port, tools};
use crate::team::{add_session, answer_on_disk, six_months};

/// Account and key that the emulator is documented with.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

struct Azure {
    _server: Server,
    proxy: Proxy,
    bench: Bench,
    folder: tempfile::TempDir,
}

impl Azure {
    /// A container to which a machine has uploaded; none where the emulator is not there.
    fn start(bench: Bench) -> Option<Self> {
        let program = tools().join("azurite/node_modules/.bin/azurite-blob");
        if !program.exists() {
            skip("no Azurite, since there is no npm");
            return None;
        }
        let (folder, port) = (lake::folder(), free_port());
        let mut command = Command::new(program);
        command.args(["--silent", "--skipApiVersionCheck", "--disableTelemetry", "--blobHost", "127.0.0.1"]);
        command.args(["--blobPort", &port.to_string(), "--location"]).arg(folder.path().join("server"));
        fs::create_dir(folder.path().join("server")).unwrap();
        let server = Server::start(&mut command, port);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools/make_container.mjs");
        succeed(Command::new("node").arg(script).args([&format!("http://127.0.0.1:{port}"), ACCOUNT, KEY, "lakes"]));
        let azure = Self { _server: server, proxy: Proxy::start(port), bench, folder };
        azure.upload();
        azure.proxy.take_log();
        Some(azure)
    }

    fn set_environment(&self, command: &mut Command) {
        let url = format!("http://127.0.0.1:{}/{ACCOUNT}", self.proxy.port);
        command.env("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT).env("AZURE_STORAGE_ACCOUNT_KEY", KEY);
        command.env("AZURE_ALLOW_HTTP", "true").env("AZURE_STORAGE_ENDPOINT", url);
    }

    fn upload(&self) {
        let mut command = self.bench.llrem(&["upload", "az://lakes/team", "--profile", "full"]);
        self.set_environment(&mut command);
        succeed(&mut command);
    }

    /// The query's answer, which is that of the lake on the disk, and what was asked for it.
    fn requests(&self) -> Vec<Request> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_llrem"));
        command.env_clear().env("HOME", self.folder.path()).env("TZ", "UTC");
        command.args(["--lake", "az://lakes/team"]).args(QUERY);
        self.set_environment(&mut command);
        self.proxy.take_log();
        let answer = succeed(&mut command).stdout;
        assert_eq!(String::from_utf8(answer).unwrap(), answer_on_disk(&self.bench.lake(), &QUERY));
        self.proxy.take_log()
    }

    fn footers(&self) -> PathBuf {
        self.folder.path().join(".cache/llrem/footers")
    }
}

/// Files of other months that were read.
fn others(requests: &[Request]) -> usize {
    gets(requests, "usage").iter().filter(|request| !request.target.contains("2025-06")).count()
}

#[test]
fn footers_are_read_once() {
    let Some(azure) = Azure::start(six_months(40, 1000)) else { return };
    let first = azure.requests();
    let second = azure.requests();
    println!(
        "first: {} bytes in {} requests; then: {} in {}",
        bytes(&first),
        first.len(),
        bytes(&second),
        second.len()
    );
    assert_eq!((others(&first), others(&second)), (5, 0));
    assert!(gets(&first, "usage").iter().all(|request| request.headers.contains_key("if-match")), "{first:#?}");
    assert!(bytes(&second) < bytes(&first));
    assert_eq!(lake::files(&azure.footers()).len(), 12, "the files of two tables");

    // A file that was replaced has another footer; the others are still known.
    add_session(&azure.bench, "1c", "2025-01-22", 41, 1000);
    azure.bench.extract();
    azure.upload();
    assert_eq!(others(&azure.requests()), 1);
}

#[test]
fn kept_footers_may_be_damaged_or_gone() {
    let Some(azure) = Azure::start(six_months(2, 100)) else { return };
    azure.requests();
    for path in lake::files(&azure.footers()) {
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, bytes).unwrap();
    }
    assert_eq!(others(&azure.requests()), 5);
    assert_eq!(others(&azure.requests()), 0, "they were written anew");
    fs::remove_dir_all(azure.footers()).unwrap();
    fs::write(azure.footers(), "no folder").unwrap();
    assert_eq!(others(&azure.requests()), 5);
}
