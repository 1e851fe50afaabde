#!/usr/bin/env bash
# Installs the C library, shared and static, the C++ header, the program `inturn` and
# the manual pages, or removes them again.
#
#   install.sh [--prefix DIR] [--libdir DIR] [--library DIR]
#   install.sh [--prefix DIR] --uninstall
#
#   --prefix DIR    where to install (/usr/local)
#   --libdir DIR    for libraries, inside the prefix (lib)
#   --library DIR   the output of build-library.sh; without it, the library is built
#   --uninstall     removes what an install to this prefix has put there
#   DESTDIR         in the environment, goes before each path, for packagers
#
# The install can be moved as a whole: its pkg-config file and its CMake package find
# the prefix from where they are. Installing again replaces the previous version. If
# the loader keeps a list of the libraries in the libdir, as it does for
# /usr/local/lib, ldconfig renews it.
set -euo pipefail
# shellcheck source=bindings/c/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

prefix=/usr/local
libdir=lib
library=
uninstall=false
while (($#)); do
  case $1 in
    --prefix) prefix=$(argument "$@"); shift 2 ;;
    --libdir) libdir=$(argument "$@"); shift 2 ;;
    --library) library=$(argument "$@"); shift 2 ;;
    --uninstall) uninstall=true; shift ;;
    --help) usage; exit ;;
    *) fail "unknown option $1; see --help" ;;
  esac
done

# absolute PATH [BASE]: without dots and doubled slashes; links stay.
absolute() {
  local path=$1
  [[ $path == /* ]] || path=${2:-$PWD}/$path
  realpath --canonicalize-missing --no-symlinks -- "$path"
}
prefix=$(absolute "$prefix")
libdir=$(absolute "$libdir" "$prefix")
[[ $libdir == "${prefix%/}"/?* ]] || fail "$libdir is not inside $prefix"

# From here on, paths are relative to $root.
root=${DESTDIR-}${prefix%/}
libdir=${libdir#"${prefix%/}"/}
# What an install has put there: files, and the directories that it had to create,
# which end in a slash.
manifest=share/inturn/manifest

# take_away PATH...: in reverse order, so directories after their contents. A
# directory that holds something else by now stays.
take_away() {
  local path i
  for ((i = $#; i > 0; i--)); do
    path=${!i}
    case /$path/ in
      *//?* | */../*) fail "$root/$manifest: '$path' cannot be right" ;;
    esac
    case $path in
      */) rmdir --ignore-fail-on-non-empty -- "$root/$path" ;;
      *) rm -f -- "$root/$path" ;;
    esac
  done
}

take_away_installed() {
  local paths
  mapfile -t paths <"$root/$manifest"
  take_away "${paths[@]}"
}

# is_listed DIR: whether the loader's list covers this directory. A staged one is not
# used here.
is_listed() {
  [[ -z ${DESTDIR-} ]] && command -v ldconfig >/dev/null || return 1
  # The directories are the lines "DIR: ..."; -N and -X change nothing.
  ldconfig -v -N -X 2>/dev/null | sed -n 's/^\(\/[^:]*\):.*/\1/p' |
    grep -Fx -- "$1" >/dev/null
}

renew_list() {
  # -X leaves links alone: the library's own are there, and others must not change.
  ldconfig -X ||
    echo "$(basename "$inturn_script"): run ldconfig as root, so that the" \
      "loader knows what is, or is no longer, in $root/$libdir" >&2
}
PATH=$PATH:/usr/sbin:/sbin

if $uninstall; then
  [[ -f $root/$manifest ]] || fail "nothing is installed in $root"
  libdir=$(sed -n 's/\/libinturn\.so$//p' "$root/$manifest")
  listed=false
  # Checked first, as the directory may be removed, too.
  ! is_listed "$root/$libdir" || listed=true
  take_away_installed
  ! $listed || renew_list
  exit
fi

if [[ -z $library ]]; then
  library=$inturn_root/.build/inturn-library
  "$inturn_root/bindings/c/build-library.sh" --output "$library"
fi
for file in "$(library_file)" libinturn.a inturn; do
  [[ -f $library/$file ]] ||
    fail "$library has no $file, of the header's version"
done
if [[ -f $root/$manifest ]]; then
  take_away_installed
fi

# An install that fails half-way is undone.
done_so_far=()
trap 'take_away "${done_so_far[@]}"' EXIT

# make_directory PATH: with its parents.
make_directory() {
  [[ ! -d $root/$1 ]] || return 0
  if [[ $1 == */* ]]; then
    make_directory "${1%/*}"
  fi
  mkdir -- "$root/$1"
  done_so_far+=("$1/")
}

# put SOURCE PATH [MODE]
put() {
  make_directory "${2%/*}"
  done_so_far+=("$2")
  install -m "${3:-644}" -- "$1" "$root/$2"
}

# put_filled TEMPLATE PATH NAME=VALUE...: with each @NAME@ filled in.
put_filled() {
  local text path=$2 pair
  text=$(<"$inturn_root/bindings/c/$1")
  shift 2
  for pair; do
    text=${text//"@${pair%%=*}@"/"${pair#*=}"}
  done
  put <(printf '%s\n' "$text") "$path"
}

# way_back PATH: "../.." for "a/b".
shopt -s extglob
way_back() { printf '%s\n' "${1//+([^\/])/..}"; }

version=$(header_version)
mkdir -p -- "$root"

while read -r header; do
  put "$inturn_root/$header" "$header"
done < <(cd "$inturn_root" && find include -type f | LC_ALL=C sort)
put "$library/inturn" bin/inturn 755
put "$inturn_root/bindings/c/program/inturn-gdb.py" share/inturn/inturn-gdb.py
put "$library/libinturn.a" "$libdir/libinturn.a"
put "$library/$(library_file)" "$libdir/$(library_file)" 755
done_so_far+=("$libdir/$(library_soname)" "$libdir/libinturn.so")
link_library "$root/$libdir"

for file in inturn inturn-static; do
  put_filled "$file.pc.in" "$libdir/pkgconfig/$file.pc" \
    "PREFIX=\${pcfiledir}/$(way_back "$libdir/pkgconfig")" \
    "LIBDIR=\${prefix}/$libdir" "VERSION=$version" \
    "NEEDS=${library_needs[*]}"
done

cmake=$libdir/cmake/Inturn
put_filled InturnConfig.cmake.in "$cmake/InturnConfig.cmake" \
  "PREFIX=$(way_back "$cmake")" \
  "FILE=$(library_file)" "SONAME=$(library_soname)" \
  "NEEDS=$(printf '%s;' "${library_needs[@]/#-l/}")"
# The fifth byte of an ELF file is 1 for 32 bits and 2 for 64.
put_filled InturnConfigVersion.cmake.in "$cmake/InturnConfigVersion.cmake" \
  "VERSION=$version" "MAJOR=${version%%.*}" \
  "POINTER_SIZE=$((4 * $(od -An -tu1 -j4 -N1 "$library/$(library_file)")))"

put <(awk -v version="$version" -f "$inturn_root/bindings/c/inturn.3.awk" \
  "$inturn_root/include/inturn.h") share/man/man3/inturn.3

put "$inturn_root/bindings/c/program/inturn.1" share/man/man1/inturn.1

make_directory "${manifest%/*}"
done_so_far+=("$manifest")
printf '%s\n' "${done_so_far[@]}" >"$root/$manifest"
trap - EXIT
! is_listed "$root/$libdir" || renew_list
echo "installed Inturn $version in $root"
