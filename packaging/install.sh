#!/bin/sh
# Installs a release of hookwire, after its checksum was compared. Nothing is installed if it isn't the one of SHA256SUMS.
#
#   HOOKWIRE_FROM=https://github.com/hookwire/hookwire/releases/download/v0.1.0 packaging/install.sh [DIR]
#
# HOOKWIRE_FROM is where the release's files are: an https URL or a directory. DIR is ~/.local/bin, if it isn't given.
set -eu
version=0.1.0
from=${HOOKWIRE_FROM:?"names where the release is, an https URL or a directory"}
to=${1:-$HOME/.local/bin}

stop() {
    echo "hookwire isn't installed: $*" >&2
    exit 1
}

case $(uname -s)-$(uname -m) in
    Linux-x86_64) platform=linux-x64-static ;;
    Linux-aarch64 | Linux-arm64) platform=linux-arm64-static ;;
    Darwin-arm64) platform=darwin-arm64 ;;
    Darwin-x86_64) platform=darwin-x64 ;;
    *) stop "there is no release for $(uname -s) on $(uname -m); \`cargo install --locked --path .\` builds it" ;;
esac
archive=hookwire-$version-$platform.tar.gz
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fetch() {
    case $from in
        https://*) curl --proto '=https' --fail --location --silent --show-error --output "$scratch/$1" "$from/$1" ;;
        *) [ -d "$from" ] && cp "$from/$1" "$scratch/$1" ;;
    esac || stop "$from/$1 can't be had"
}

fetch SHA256SUMS
fetch "$archive"
expected=$(awk -v name="$archive" '$2 == name || $2 == "*" name { print $1 }' "$scratch/SHA256SUMS")
[ -n "$expected" ] || stop "SHA256SUMS doesn't name $archive"
found=$(cd "$scratch" && { sha256sum "$archive" 2>/dev/null || shasum -a 256 "$archive"; } | cut -d ' ' -f 1)
[ "$found" = "$expected" ] || stop "the checksum of $archive is $found, and SHA256SUMS says $expected"
tar -xzf "$scratch/$archive" -C "$scratch" || stop "$archive can't be unpacked"
mkdir -p "$to"
for program in "$scratch/${archive%.tar.gz}/bin"/*; do
    # A program that runs can't be written over, but its name can be given to another.
    cp "$program" "$to/.${program##*/}.new" && chmod 755 "$to/.${program##*/}.new" && mv "$to/.${program##*/}.new" "$to/${program##*/}"
done
echo "hookwire $version is in $to"
