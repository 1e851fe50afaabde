#!/usr/bin/env bash
# Checks that a built libinturn.so is what programs may rely on: its SONAME, that
# it needs nothing beyond the C and C++ run time, its size and its exports.
#
#   check-library.sh FILE
set -euo pipefail
# shellcheck source=bindings/c/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

check_begins "$@"

# entries TAG: the values of the dynamic section's entries of that tag.
dynamic=$(LC_ALL=C readelf --dynamic --wide "$library")
entries() {
  sed -n "s/^ *0x[0-9a-f]* *($1) *[^[]*\[\(.*\)\]\$/\1/p" <<<"$dynamic"
}

soname=$(entries SONAME)
[[ $soname == "$(library_soname)" ]] || problem "its SONAME is '$soname'"

while read -r needed; do
  case $needed in
    libc.so.6 | libm.so.6 | libstdc++.so.6 | libgcc_s.so.1 | ld-linux*.so.*) ;;
    *) problem "needs $needed" ;;
  esac
done < <(entries NEEDED)

search=$(entries RUNPATH)$(entries RPATH)
[[ -z $search ]] || problem "searches $search"

for flag in NODELETE NOW; do
  grep -Eq "\(FLAGS_1\).*\b$flag\b" <<<"$dynamic" || problem "is not linked $flag"
done
[[ $dynamic != *"(TEXTREL)"* ]] || problem "has text relocations"

check_size $((8 * 1024 * 1024))

symbols=$(nm --dynamic --defined-only --format=posix "$library")
mapfile -t foreign < <(awk 'NF && $1 !~ /^inturn_/ { print $1 }' <<<"$symbols")
((${#foreign[@]} == 0)) ||
  problem "exports ${#foreign[@]} symbols that are not the C API's:" \
    "${foreign[@]:0:5}"
[[ -n $symbols ]] || problem "exports nothing"

((problems == 0)) || exit 1
printf '%s: %s, %d bytes, %d functions\n' \
  "$library" "$soname" "$size" "$(wc -l <<<"$symbols")"
