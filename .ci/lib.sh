# shellcheck shell=bash
# Sourced by the scripts here that test the built binary with programs that others wrote.
# They define `run NAME COMMAND...`, which calls `passed` or `failure` at its end.

cd "$(dirname "${BASH_SOURCE[0]}")/.."
. .ci/install.sh

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
n_passed=0
n_failed=0

if [ -z "${HOOKWIRE:-}" ]; then
    cargo build --quiet --locked
    HOOKWIRE=${CARGO_TARGET_DIR:-target}/debug/hookwire
fi
HOOKWIRE=$(realpath "$HOOKWIRE")
export HOOKWIRE
# Vim and Emacs take the encoding of what they read from the locale.
export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1

#   python_environment REQUIREMENTS DIR
# A copy of the installed list is kept with the installation; if the list has changed, all is installed again.
python_environment() {
    local list=$1 dir=$2
    cmp -s "$list" "$dir/requirements.txt" && return
    need python3 python3 && rm -rf "$dir" &&
        { python3 -m venv "$dir" || { need no-venv python3-venv && python3 -m venv "$dir"; }; } &&
        "$dir/bin/pip" install --disable-pip-version-check -r "$list" &&
        cp "$list" "$dir"
}

passed() {
    n_passed=$((n_passed + 1))
}

failure() {
    n_failed=$((n_failed + 1))
    echo "FAILED $1"
    sed 's/^/    /' "$scratch/log"
}

# Installs once, then runs each.
#   group INSTALL NAME... -- COMMAND...     % in the command is the name
group() {
    local install=$1 names=() name
    shift
    while [ "$1" != -- ]; do
        names+=("$1")
        shift
    done
    shift
    local ready=yes
    "$install" >"$scratch/install" 2>&1 </dev/null || ready=no
    for name in "${names[@]}"; do
        cp "$scratch/install" "$scratch/log"
        if [ $ready = yes ]; then
            # Other output than `ok` lines is shown only if the program fails.
            : >"$scratch/log"
            run "$name" "${@//%/$name}"
        elif [ -n "${CI:-}" ]; then
            failure "$name: it could not be installed"
        else
            echo "SKIPPED $name: $(tail -n 1 "$scratch/install")"
        fi
    done
}

# Prints the program's `ok` lines; fails if there is none.
tell_ok() {
    grep '^ok ' "$scratch/out"
}

finish() {
    echo "$n_passed passed, $n_failed failed"
    [ "$n_failed" = 0 ]
}
