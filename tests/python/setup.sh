#!/bin/sh
# Makes the virtual environments of the tests, each once: one with readers of lakes, and one with engines for a team's lake,
# which need older versions of what both have.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv=${LLREM_TEST_VENV:-$here/../../target/test-venv}

make() {
    if cmp -s "$here/$2" "$1/requirements.txt"; then
        return
    fi
    "${PYTHON:-python3}" -m venv "$1"
    # Of the client of Spark there is no wheel; it is Python alone.
    "$1/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: --no-binary pyspark-client -r "$here/$2"
    cp "$here/$2" "$1/requirements.txt"
}

make "$venv" requirements.txt
make "$venv/team" team.txt
