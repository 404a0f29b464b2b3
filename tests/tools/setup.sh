#!/bin/sh
# Installs the servers that tests/upload.rs uploads to, once: S3 from crates.io and, where there is npm, Azure's from there.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tools=${LLREM_TEST_TOOLS:-$here/../../target/test-tools}
s3s=0.14.1
azurite=3.37.0
mkdir -p "$tools"
if [ ! -x "$tools/bin/s3s-fs" ]; then
    # A build folder of its own that is gone afterwards; unoptimised, because it is built more than it works.
    env -u CARGO_TARGET_DIR cargo install --quiet --locked --debug --features binary --root "$tools" --version "$s3s" s3s-fs
fi
if command -v npm >/dev/null && [ ! -e "$tools/azurite/node_modules/.bin/azurite-blob" ]; then
    npm install --silent --no-audit --no-fund --prefix "$tools/azurite" "azurite@$azurite"
fi
