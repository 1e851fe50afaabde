#!/usr/bin/env bash
# Checks that a built libinturn.so is what programs may rely on: its SONAME, that
# it needs nothing beyond the C library, and of that no version after 2.17, its
# size and its exports.
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
    libc.so.6 | libm.so.6 | libpthread.so.0 | libdl.so.2 | ld-linux*.so.*) ;;
    *) problem "needs $needed" ;;
  esac
done < <(entries NEEDED)

search=$(entries RUNPATH)$(entries RPATH)
[[ -z $search ]] || problem "searches $search"

for flag in NODELETE NOW; do
  grep -Eq "\(FLAGS_1\).*\b$flag\b" <<<"$dynamic" || problem "is not linked $flag"
done
[[ $dynamic != *"(TEXTREL)"* ]] || problem "has text relocations"

check_size 600000

newest=$(readelf --version-info --wide "$library" |
  grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
[[ $(printf '%s\n' "$newest" GLIBC_2.17 | sort -V | tail -n 1) == GLIBC_2.17 ]] ||
  problem "needs $newest"

symbols=$(nm --dynamic --defined-only --format=posix "$library")
mapfile -t foreign < <(awk 'NF && $1 !~ /^inturn_/ { print $1 }' <<<"$symbols")
((${#foreign[@]} == 0)) ||
  problem "exports ${#foreign[@]} symbols that are not the C API's:" \
    "${foreign[@]:0:5}"
[[ -n $symbols ]] || problem "exports nothing"

((problems == 0)) || exit 1
printf '%s: %s, %d bytes, %d functions, %s\n' \
  "$library" "$soname" "$size" "$(wc -l <<<"$symbols")" "$newest"
