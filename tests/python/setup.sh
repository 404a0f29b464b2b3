#!/bin/sh
# Makes the virtual environment that tests/lake/interop.rs reads lakes with. Does nothing when it is there already.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv=${LLREM_TEST_VENV:-$here/../../target/test-venv}
if cmp -s "$here/requirements.txt" "$venv/requirements.txt"; then
    exit 0
fi
"${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: -r "$here/requirements.txt"
cp "$here/requirements.txt" "$venv/requirements.txt"
