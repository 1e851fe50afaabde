#!/usr/bin/env bash
# Builds the self-contained C library, shared and static: the Swift runtime is
# linked in.
#
#   build-library.sh --output DIR [--configuration release|debug]
#                    [--scratch-path DIR]
#
#   --output DIR         where libinturn.so, its links and libinturn.a go
#   --configuration C    release (default), or debug: unoptimised, with symbols
#   --scratch-path DIR   where the package manager works (.build/library)
set -euo pipefail
# shellcheck source=bindings/c/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

output=
configuration=release
scratch=$inturn_root/.build/library
while (($#)); do
  case $1 in
    --output) output=$(argument "$@"); shift 2 ;;
    --configuration) configuration=$(argument "$@"); shift 2 ;;
    --scratch-path) scratch=$(argument "$@"); shift 2 ;;
    --help) usage; exit ;;
    *) fail "unknown option $1; see --help" ;;
  esac
done
[[ -n $output ]] || fail "--output is needed; see --help"
[[ $configuration == release || $configuration == debug ]] ||
  fail "the configuration is release or debug, not $configuration"
[[ $(uname -s) == Linux ]] || fail "only Linux is known to this script"
command -v swift >/dev/null || fail "swift is not in PATH"
scratch=$(realpath --canonicalize-missing "$scratch")

flags=(
  # The Swift runtime becomes part of the library.
  -Xswiftc -static-stdlib
  # No RUNPATH: nothing that the library needs lies beside it.
  --disable-local-rpath
  # Exports the C API and nothing else.
  -Xlinker "--version-script=$inturn_root/bindings/c/inturn.map"
  # What programs that link it look for at run time.
  -Xlinker "-soname=$(library_soname)"
  # An undefined symbol fails here, not in a program that loads the library.
  -Xlinker -z -Xlinker defs
  # dlclose leaves it in place: the runtime, the library's threads and what it
  # registers at exit refer to its code for the rest of the process.
  -Xlinker -z -Xlinker nodelete
  # All symbols are bound when it is loaded, so that the first call of a
  # function costs what the others do, and the tables are read-only afterwards.
  -Xlinker -z -Xlinker now -Xlinker -z -Xlinker relro
  # Drops what of the runtime nothing refers to.
  -Xlinker --gc-sections
)
# No symbol table and no debug information: more than a quarter of the size.
if [[ $configuration == release ]]; then
  flags+=(-Xlinker -s)
fi
# The toolchain's own linker, where it has one, rather than the machine's, which
# may be gold, bfd or lld: the same library everywhere, and read-only data in
# read-only pages, which gold does not manage for the runtime.
if [[ -x $(swift_tool ld.lld) ]]; then
  flags+=(-Xswiftc -use-ld=lld)
fi

build=(
  swift build --package-path "$inturn_root" --scratch-path "$scratch"
  --configuration "$configuration" --product inturn "${flags[@]}"
)
built=$("${build[@]}" --show-bin-path)/libinturn.so
# The package manager does not notice that the flags or the version script have
# changed: it shall plan and link again, and compile what it must.
rm -f "$scratch/$configuration.yaml" "$built"
"${build[@]}" >&2

mkdir -p "$output"
install -m 755 "$built" "$output/$(library_file)"
link_library "$output"

# The static library is one object, made of the same compiled files and of what
# they need of the Swift runtime. Only the C API's names are global in it: the
# runtime can meet no other in a program, and none of its names a name of the
# program's. Groups are resolved, so that no linker drops a part of the object in
# favour of a part of the program, or the other way round.
objects=${built%/*}/inturn.product/Objects.LinkFileList
[[ -f $objects ]] || fail "the package manager has left no list of objects"
mapfile -t objects <"$objects"
runtime=$(swift_resources)/../swift_static/linux
mapfile -t api < <(nm --dynamic --defined-only --format=posix "$built" |
  awk 'NF { print $1 }')
mapfile -t needed < <("$(swift_tool swift-autolink-extract)" "${objects[@]}" \
  -o - | grep '^-lswift')
((${#api[@]} > 0 && ${#needed[@]} > 0)) || fail "what is to be in libinturn.a?"
archive=$(mktemp -d)
trap 'rm -rf "$archive"' EXIT
ld -r --gc-sections --force-group-allocation "${api[@]/#/--undefined=}" \
  -o "$archive/whole.o" "${objects[@]}" "$runtime/$(uname -m)/swiftrt.o" \
  -L"$runtime" --start-group "${needed[@]}" -ldispatch -lBlocksRuntime \
  --end-group
strip=()
[[ $configuration == debug ]] || strip=(--strip-unneeded)
printf '%s\n' "${api[@]}" >"$archive/api"
objcopy "${strip[@]}" --keep-global-symbols="$archive/api" \
  "$archive/whole.o" "$archive/inturn.o"
rm -f "$output/libinturn.a"
ar rcsD "$output/libinturn.a" "$archive/inturn.o"

if [[ $configuration == release ]]; then
  "$inturn_root/bindings/c/check-library.sh" "$output/$(library_file)"
  "$inturn_root/bindings/c/check-archive.sh" "$output/libinturn.a"
fi
