#!/usr/bin/env bash
# Checks that a built libinturn.so is what programs may rely on: its SONAME, its size
# and its exports, and that it needs only the C library: what libc/uses.txt names, in
# no version after 2.17.
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
    libc.so.6 | libpthread.so.0 | ld-linux*.so.*) ;;
    *) problem "needs $needed" ;;
  esac
done < <(entries NEEDED)

search=$(entries RUNPATH)$(entries RPATH)
[[ -z $search ]] || problem "searches $search"

for flag in NODELETE NOW; do
  grep -Eq "\(FLAGS_1\).*\b$flag\b" <<<"$dynamic" || problem "is not linked $flag"
done
[[ $dynamic != *"(TEXTREL)"* ]] || problem "has text relocations"

check_size 485000

newest=$(readelf --version-info --wide "$library" |
  grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
[[ $(printf '%s\n' "$newest" GLIBC_2.17 | sort -V | tail -n 1) == GLIBC_2.17 ]] ||
  problem "needs $newest"

# uses: the names in uses.txt for the library's processor.
uses() {
  local processor
  case $(readelf --file-header "$library") in
    *X86-64*) processor=x86_64 ;;
    *AArch64*) processor=aarch64 ;;
  esac
  sed -nE "/^#/d; /^(x86_64|aarch64),/{/^$processor,/!d}; s/^[^:]*: *//p" \
    "$inturn_root/bindings/c/libc/uses.txt" | tr ' ' '\n' | LC_ALL=C sort
}
# The linker adds the weak ones.
mapfile -t differing < <(LC_ALL=C comm -3 <(uses) \
  <(nm --dynamic --undefined-only --format=posix "$library" |
    sed -nE 's/^([^ @]*)(@[^ ]*)? U .*/\1/p' | LC_ALL=C sort -u))
for name in "${differing[@]}"; do
  if [[ $name == $'\t'* ]]; then
    problem "uses ${name:1}, which is not in uses.txt"
  else
    problem "does not use $name, which is in uses.txt"
  fi
done

symbols=$(nm --dynamic --defined-only --format=posix "$library")
mapfile -t foreign < <(awk 'NF && $1 !~ /^inturn_/ { print $1 }' <<<"$symbols")
((${#foreign[@]} == 0)) ||
  problem "exports ${#foreign[@]} symbols that are not the C API's:" \
    "${foreign[@]:0:5}"
[[ -n $symbols ]] || problem "exports nothing"

((problems == 0)) || exit 1
printf '%s: %s, %d bytes, %d functions, %s\n' \
  "$library" "$soname" "$size" "$(wc -l <<<"$symbols")" "$newest"
