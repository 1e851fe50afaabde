#!/usr/bin/env bash
# Checks that a built libinturn.a is what programs may rely on: it defines the C API
# and nothing else, needs nothing beyond the C library, and is small enough.
#
#   check-archive.sh FILE
set -euo pipefail
# shellcheck source=bindings/c/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

check_begins "$@"

# symbols OPTION: the names, one a line, sorted.
symbols() {
  nm --extern-only "$1" --format=posix "$library" |
    awk 'NF > 1 { print $1 }' | LC_ALL=C sort -u
}

defined=$(symbols --defined-only)
[[ -n $defined ]] || problem "defines nothing"
mapfile -t foreign < <(grep -v '^inturn_' <<<"$defined")
((${#foreign[@]} == 0)) ||
  problem "defines ${#foreign[@]} symbols that are not the C API's:" \
    "${foreign[@]:0:5}"

# What is still undefined with the libraries that inturn.pc names.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo 'int main(void) { return 0; }' >"$work/main.c"
"${CC:-cc}" "$work/main.c" -o "$work/main" -Wl,--whole-archive "$library" \
  -Wl,--no-whole-archive "${library_needs[@]}" 2>"$work/log" ||
  problem "does not link: $(grep -m 3 undefined "$work/log")"

groups=$(readelf --section-groups "$library" 2>/dev/null | grep -c COMDAT || true)
((groups == 0)) || problem "has $groups groups that a linker may drop"

check_size 2000000

((problems == 0)) || exit 1
printf '%s: %d bytes, %d functions\n' \
  "$library" "$size" "$(wc -l <<<"$defined")"
