//! Azure's own emulator, where npm could install it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use futures::TryStreamExt;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::{ObjectStore, ObjectStoreExt};

use crate::lake::{self, data_bytes, skip, stderr, succeed};
use crate::server::{Server, free_port, tools};
use crate::sync::{add_session, small_lake};

/// Account and key that the emulator is documented with.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// Every object below the prefix, by key.
fn objects(url: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let store = MicrosoftAzureBuilder::new().with_account(ACCOUNT).with_access_key(KEY).with_container_name("lakes");
    let store = store.with_endpoint(format!("{url}/{ACCOUNT}")).with_allow_http(true).build().unwrap();
    let read = async {
        let mut objects = BTreeMap::new();
        let prefix = object_store::path::Path::from("team");
        for found in store.list(Some(&prefix)).try_collect::<Vec<_>>().await.unwrap() {
            let bytes = store.get(&found.location).await.unwrap().bytes().await.unwrap();
            objects.insert(PathBuf::from(found.location.as_ref().strip_prefix("team/").unwrap()), bytes.to_vec());
        }
        objects
    };
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(read)
}

#[test]
fn azure() {
    let program = tools().join("azurite/node_modules/.bin/azurite-blob");
    if !program.exists() {
        return skip("no Azurite, since there is no npm");
    }
    let folder = lake::folder();
    let port = free_port();
    let mut command = Command::new(program);
    command.args(["--silent", "--skipApiVersionCheck", "--disableTelemetry", "--blobHost", "127.0.0.1"]);
    command.args(["--blobPort", &port.to_string(), "--location"]);
    let _server = Server::start(command.arg(folder.path()), port);
    let url = format!("http://127.0.0.1:{port}");
    let bench = small_lake(["a", "b", "c"]);
    let upload = || {
        let mut command = bench.llrem(&["upload", "az://lakes/team", "--profile", "full"]);
        command.env("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT).env("AZURE_STORAGE_ACCOUNT_KEY", KEY);
        command.env("AZURE_ALLOW_HTTP", "true").env("AZURE_STORAGE_ENDPOINT", format!("{url}/{ACCOUNT}"));
        command
    };
    let missing = upload().output().unwrap();
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr(&missing).contains("ContainerNotFound"), "{}", stderr(&missing));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools/make_container.mjs");
    succeed(Command::new("node").arg(script).args([&url, ACCOUNT, KEY, "lakes"]));
    let assert_copied = || {
        let mut objects = objects(&url);
        assert!(objects.remove(Path::new("_llrem/machines/bench/manifest")).is_some());
        assert!(objects == data_bytes(&bench.lake()), "other objects: {:#?}", objects.keys());
    };
    succeed(&mut upload());
    assert_copied();
    assert!(stderr(&succeed(&mut upload())).contains("has what the lake has"));
    add_session(&bench, "d", "2025-09-25");
    bench.extract();
    let folded = succeed(&mut upload());
    assert!(stderr(&folded).contains("and removed 4 files"), "{}", stderr(&folded));
    assert_copied();
}
