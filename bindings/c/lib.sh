# shellcheck shell=bash
# Shared by the scripts of bindings/c and Tests. It only defines: source it.

# The repository, and the script that is running.
inturn_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
inturn_script=$(realpath "$0")

# fail MESSAGE...: ends the script with one line that says why.
fail() {
  echo "$(basename "$inturn_script"): $*" >&2
  exit 1
}

# usage: prints the comment at the head of the calling script.
usage() {
  sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$inturn_script"
}

# argument OPTION [VALUE]: prints the value, or fails if there is none.
argument() {
  [[ $# -ge 2 && -n $2 ]] || fail "$1 needs a value; see --help"
  printf '%s\n' "$2"
}

# "0.1.0". The header is the only place that states it.
header_version() {
  local header=$inturn_root/include/inturn.h part number version=
  for part in MAJOR MINOR PATCH; do
    number=$(sed -n "s/^#define INTURN_VERSION_$part \([0-9][0-9]*\)\$/\1/p" \
      "$header")
    [[ $number =~ ^[0-9]+$ ]] || fail "$header: no INTURN_VERSION_$part"
    version+=.$number
  done
  printf '%s\n' "${version#.}"
}

# The library's names. Programs of one major version are compatible (section 13
# of the header's manual), so the SONAME carries the major version.
library_soname() { printf 'libinturn.so.%s\n' "$(header_version | cut -d. -f1)"; }
library_file() { printf 'libinturn.so.%s\n' "$(header_version)"; }

# What a program that links libinturn.a needs besides, for a C linker. (The
# shared library states its own needs.)
# shellcheck disable=SC2034
library_needs=(-lpthread -ldl)

# What the checks of a built library share. check_begins ARGUMENT...: sets
# `library` to the only argument; problem MESSAGE...: counts it in `problems`;
# check_size LIMIT: sets `size`, in bytes.
check_begins() {
  case ${1-} in
    --help) usage; exit ;;
    '') fail "which library? see --help" ;;
  esac
  library=$1
  problems=0
  [[ -f $library ]] || fail "$library: no such file"
}

problem() {
  echo "$library: $*" >&2
  problems=$((problems + 1))
}

check_size() {
  size=$(stat --dereference --format=%s "$library")
  ((size <= $1)) || problem "has $size bytes, over $1"
}

# link_library DIR: the two links beside the versioned file.
link_library() {
  ln -sfn "$(library_file)" "$1/$(library_soname)"
  ln -sfn "$(library_soname)" "$1/libinturn.so"
}

# swift_resources: the toolchain's lib/swift; swift_tool NAME: one of its tools.
# Both ask the compiler, as `swift` may be a proxy that lives elsewhere.
swift_resources() {
  local path
  command -v swiftc >/dev/null || fail "swiftc is not in PATH"
  path=$(swiftc -print-target-info |
    sed -n 's/^ *"runtimeResourcePath": *"\(.*\)",\{0,1\}$/\1/p')
  [[ -d $path ]] || fail "swiftc does not say where its runtime is"
  printf '%s\n' "$path"
}
swift_tool() { printf '%s/%s\n' "$(cd "$(swift_resources)/../../bin" && pwd)" "$1"; }
