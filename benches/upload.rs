//! Measures how fast a lake gets to an S3 server for the first time, by profile, next to plain copying of the same files
//! by `object_store`.
//!
//! The lake is `LLREM_BENCH_LAKE`, else one of a generated corpus of `LLREM_BENCH_BYTES` (64 MB). The server is the one of
//! the tests (`tests/run` installs it; in another folder: `LLREM_TEST_TOOLS`).
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "what fails here ends the bench; files are its own")]

mod corpus;
mod lake;

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use futures::{StreamExt, TryStreamExt, stream};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::{ObjectStoreExt, path};
use tempfile::TempDir;
use walkdir::WalkDir;

const KEY: &str = "bench";
const BUCKET: &str = "bucket";
/// Files on their way at a time, as llrem's own.
const AT_A_TIME: usize = 16;

/// An S3 server that keeps objects as files of a folder that goes with it.
struct Server {
    child: Child,
    address: String,
    folder: TempDir,
}

impl Server {
    fn start() -> Self {
        let tools = std::env::var_os("LLREM_TEST_TOOLS").map_or_else(|| "target/test-tools".into(), PathBuf::from);
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(BUCKET)).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new(tools.join("bin/s3s-fs"));
        command.args(["--host", "127.0.0.1", "--port", &port.to_string(), "--access-key", KEY, "--secret-key", KEY]);
        command.arg(folder.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { child, address: format!("http://127.0.0.1:{port}"), folder }
    }

    fn store(&self) -> AmazonS3 {
        let builder =
            AmazonS3Builder::new().with_endpoint(&self.address).with_allow_http(true).with_region("us-east-1");
        builder.with_bucket_name(BUCKET).with_access_key_id(KEY).with_secret_access_key(KEY).build().unwrap()
    }

    /// Removes every object, so that the next upload is a first one again.
    fn clear(&self) {
        let bucket = self.folder.path().join(BUCKET);
        std::fs::remove_dir_all(&bucket).unwrap();
        std::fs::create_dir(bucket).unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn files(lake: &Path) -> Vec<PathBuf> {
    let files = WalkDir::new(lake).into_iter().map(|entry| entry.unwrap().into_path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "parquet")).collect()
}

fn first_upload(criterion: &mut Criterion) {
    let (lake, _folder) = lake::lake();
    let files = files(&lake);
    let server = Server::start();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut group = criterion.benchmark_group("first_upload");
    group.throughput(Throughput::Bytes(files.iter().map(|file| file.metadata().unwrap().len()).sum())).sample_size(10);

    group.bench_function("object_store", |bencher| {
        bencher.iter_with_setup(
            || server.clear(),
            |()| {
                let store = server.store();
                let puts = stream::iter(&files).map(async |file| {
                    let key = path::Path::from(file.strip_prefix(&lake).unwrap().to_str().unwrap());
                    store.put(&key, std::fs::read(file).unwrap().into()).await
                });
                runtime.block_on(puts.buffer_unordered(AT_A_TIME).try_collect::<Vec<_>>()).unwrap();
            },
        );
    });
    for profile in ["full", "redacted", "metrics"] {
        group.bench_function(profile, |bencher| {
            bencher.iter_with_setup(
                || server.clear(),
                |()| {
                    let mut llrem = Command::new(env!("CARGO_BIN_EXE_llrem"));
                    llrem.arg("--lake").arg(&lake).args(["--quiet", "upload", &format!("s3://{BUCKET}/team")]);
                    llrem.args(["--profile", profile]).env("AWS_ENDPOINT_URL", &server.address);
                    llrem.env("AWS_ALLOW_HTTP", "true").env("AWS_REGION", "us-east-1");
                    llrem.env("AWS_ACCESS_KEY_ID", KEY).env("AWS_SECRET_ACCESS_KEY", KEY);
                    assert!(llrem.status().unwrap().success());
                },
            );
        });
    }
    group.finish();
}

criterion_group!(benches, first_upload);
criterion_main!(benches);
