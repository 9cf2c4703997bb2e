# Sourced by the other scripts. `setup core`, `setup simulation` or `setup test` installs requirements/<name>.txt and
# this package into .venv. Does nothing if they are installed already.

cd "$(dirname "${BASH_SOURCE[0]}")/.."

find_python() {
    local candidate
    for candidate in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
        if [ -n "$candidate" ] && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "feemodel needs Python 3.11 or newer: none found on PATH (set PYTHON to name one)" >&2
    return 1
}

setup() {
    local python stamp installed install
    python=$(find_python)
    stamp="$1 $(cat requirements/*.txt pyproject.toml | cksum)"
    installed=$(cat .venv/installed 2>/dev/null || true)
    if [ ! -x .venv/bin/python ]; then
        "$python" -m venv .venv || { echo "could not make .venv: is Python's venv module installed?" >&2; return 1; }
    fi
    # requirements/test.txt contains the other requirements.
    if [ "$installed" != "$stamp" ] && { [ "${installed%% *}" != test ] || [ "$1" = test ]; }; then
        echo "Installing the pinned requirements into .venv ..." >&2
        install=(.venv/bin/python -m pip install --quiet --disable-pip-version-check)
        "${install[@]}" --require-hashes -r "requirements/$1.txt" >&2
        [ "$1" != test ] || "${install[@]}" --no-deps --require-hashes -r requirements/execution.txt >&2
        "${install[@]}" --no-deps --editable . >&2
        echo "$stamp" >.venv/installed
    fi
    PATH="$PWD/.venv/bin:$PATH"
}

# Installs the native engine of this checkout into .venv (`pip install ./native`), and rebuilds it when native/ changed.
# If Rust is not installed or its registry cannot be reached, it prints a line, and the tests use the reference engine.
# `setup_native required` fails instead.
setup_native() {
    local stamp reason=
    stamp="$(cat native/Cargo.toml native/versions.txt native/.cargo/config.toml native/pyproject.toml native/src/*.rs | cksum) $(.venv/bin/python -V)"
    if [ "$stamp" = "$(cat .venv/native-installed 2>/dev/null || true)" ]; then
        return
    fi
    reason=$(native_obstacle)
    if [ -n "$reason" ]; then
        echo "The native engine is not built: $reason" >&2
        [ "${1:-optional}" != required ]
        return
    fi
    echo "Building the native engine into .venv, which takes minutes the first time ..." >&2
    .venv/bin/python scripts/native-crates lock
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps ./native >&2
    echo "$stamp" >.venv/native-installed
}

# Checks whether cargo can reach its registry within eight seconds. Does not change native/Cargo.lock.
cargo_answers() {
    local folder
    folder=$(mktemp -d)
    cp -r native/Cargo.toml native/src "$folder"
    CARGO_NET_RETRY=0 timeout 8 cargo generate-lockfile --quiet --manifest-path "$folder/Cargo.toml" 2>/dev/null
    local code=$?
    rm -rf "$folder"
    return $code
}

# Prints the reason why the native engine cannot be built here, or nothing. Takes up to ten seconds.
native_obstacle() {
    local wanted found
    if ! command -v cargo >/dev/null; then
        echo "cargo is not installed"
        return
    fi
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' native/Cargo.toml)
    found=$(cargo --version 2>/dev/null | cut -d ' ' -f 2)
    if [ -z "$found" ]; then
        echo "cargo does not run: $(cargo --version 2>&1 | head -n 1)"
    elif [ "$(printf '%s\n' "$wanted" "$found" | sort -V | head -n 1)" != "$wanted" ]; then
        echo "cargo $found is older than $wanted"
    elif ! cargo_answers; then
        echo "cargo does not reach its registry"
    fi
}
