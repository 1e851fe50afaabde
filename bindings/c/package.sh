#!/usr/bin/env bash
# Makes the files of a release from what is committed and built here:
#
#   package.sh --output DIR [--processor x86_64|aarch64]
#
#   --output DIR   where they go:
#                    inturn-VERSION-linux-PROCESSOR.tar.gz
#                    libinturn0_VERSION_ARCHITECTURE.deb
#                    libinturn-dev_VERSION_ARCHITECTURE.deb
#                    inturn_VERSION_ARCHITECTURE.deb
#                    SHA256SUMS
#   --processor P  only for this processor
#
# The same sources give the same bytes, wherever and whenever they are built: times
# are the last commit's, or SOURCE_DATE_EPOCH from the environment.
set -euo pipefail
# shellcheck source=bindings/c/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

output=
processors=(x86_64 aarch64)
while (($#)); do
  case $1 in
    --output) output=$(argument "$@"); shift 2 ;;
    --processor) processors=("$(argument "$@")"); shift 2 ;;
    --help) usage; exit ;;
    *) fail "unknown option $1; see --help" ;;
  esac
done
[[ -n $output ]] || fail "--output is needed; see --help"
command -v dpkg-deb >/dev/null || fail "dpkg-deb is not in PATH"
mkdir -p "$output"
output=$(realpath "$output")
cd "$inturn_root"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH LC_ALL=C
umask 022
version=$(header_version)
name=libinturn$(cut -d. -f1 <<<"$version")
maintainer="The Inturn authors <inturn@packages.invalid>"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# install_library DESTDIR PREFIX LIBDIR: without the files for uninstalling.
install_library() {
  DESTDIR=$1 bindings/c/install.sh --prefix "$2" --libdir "$3" --library "$library"
  rm "$1$2/share/inturn/manifest"
}

make_archive() {
  local folder=inturn-$version-linux-$processor
  install_library "$work" "/$folder" lib
  install -m 644 LICENSE CHANGELOG.md "$work/$folder"
  python3 bindings/c/sbom.py "$work/$folder" "$version" >"$work/inturn.cdx.json"
  mv "$work/inturn.cdx.json" "$work/$folder"
  tar --create --directory "$work" --format=gnu --sort=name --owner=0 --group=0 \
    --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" "$folder" |
    gzip -9n >"$output/$folder.tar.gz"
}

# make_deb PACKAGE SECTION DEPENDS SUMMARY DESCRIPTION: from the tree $work/PACKAGE,
# which has the files and may have control files in DEBIAN.
make_deb() {
  local tree=$work/$1 about=$work/$1/usr/share/doc/$1 together=same
  # A program is as good from one architecture as from another.
  [[ $2 != utils ]] || together=foreign
  mkdir -p "$about" "$tree/DEBIAN"
  cat >"$about/copyright" <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: inturn

Files: *
$(sed -n 's/^Copyright (c)/Copyright:/p' LICENSE)
License: MIT
$(sed '1,/^Copyright/d' LICENSE | sed '1{/^$/d}; s/^$/./; s/^/ /')
END
  gzip -9n >"$about/changelog.gz" <<END
inturn ($version) unstable; urgency=medium

  * Version $version.

 -- $maintainer  $(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")
END
  cat >"$tree/DEBIAN/control" <<END
Package: $1
Source: inturn
Version: $version
Architecture: $architecture
Multi-Arch: $together
Maintainer: $maintainer
Section: $2
Priority: optional
Depends: $3
Installed-Size: $(find "$tree/usr" -type f -printf '%s\n' |
    awk '{ size += int(($1 + 1023) / 1024) } END { print size }')
Description: $4
$5
END
  (cd "$tree" && find usr -type f -print0 | sort -z | xargs -0 md5sum) \
    >"$tree/DEBIAN/md5sums"
  find "$tree" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
  dpkg-deb --root-owner-group -Zxz --build "$tree" \
    "$output/$1_${version}_$architecture.deb"
}

make_debs() {
  local libdir=usr/lib/$processor-linux-gnu tree=$work/$name glibc
  install_library "$work/libinturn-dev" /usr "lib/$processor-linux-gnu"
  gzip -9n "$work"/libinturn-dev/usr/share/man/man*/*
  mkdir -p "$tree/$libdir" "$tree/DEBIAN" "$work/inturn/usr/share/man"
  mv "$work/libinturn-dev/usr/share/inturn" "$work/inturn/usr/share"
  mv "$work/libinturn-dev/usr/bin" "$work/inturn/usr"
  mv "$work/libinturn-dev/usr/share/man/man1" "$work/inturn/usr/share/man"
  mv "$work/libinturn-dev/$libdir"/libinturn.so.* "$tree/$libdir"
  chmod 644 "$tree/$libdir/$(library_file)"
  echo "libinturn ${version%%.*} $name (>= ${version%.*})" >"$tree/DEBIAN/shlibs"
  echo 'activate-noawait ldconfig' >"$tree/DEBIAN/triggers"
  glibc=$(readelf --version-info --wide "$library/$(library_file)" |
    sed -n 's/.*GLIBC_\([0-9.]*\).*/\1/p' | sort -Vu | tail -n 1)
  make_deb "$name" libs "libc6 (>= $glibc)" "asynchronous work, in turn" "\
 Queues whose operations are over when they say so: each gets a finish token,
 which may be finished later and from any thread, and the next one starts then.
 FIFO, actor, interaction and concurrent queues, for C and C++."
  make_deb libinturn-dev libdevel "$name (= $version), libc6-dev" \
    "asynchronous work, in turn (development files)" "\
 Queues whose operations are over when they say so: each gets a finish token,
 which may be finished later and from any thread, and the next one starts then.
 .
 The headers for C and C++, the static library and the manual page."
  make_deb inturn utils "libc6 (>= $glibc)" "what queues of running processes wait for" "\
 Lists the processes that have libinturn, and says what there is in their queues
 and what keeps an operation from ending. That is read from their memory, also
 while they are stopped, and by gdb's commands from core files."
}

for processor in "${processors[@]}"; do
  library=$work/library
  bindings/c/build-library.sh --processor "$processor" --output "$library"
  case $processor in
    x86_64) architecture=amd64 ;;
    aarch64) architecture=arm64 ;;
  esac
  make_archive
  make_debs
  rm -rf "${work:?}"/*
done
cd "$output"
sha256sum ./*.tar.gz ./*.deb | sed 's/  \.\//  /' >SHA256SUMS
