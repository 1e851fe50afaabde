#!/usr/bin/env bash
# Builds the self-contained C library, shared and static, in Swift's embedded mode:
# it contains no Swift run time and needs only the C library. Builds are kept in
# .build/embedded, and repeated when their sources change. Also builds the program
# `inturn`, which looks into processes that have the library.
#
#   build-library.sh --output DIR [--configuration release|debug]
#                    [--processor x86_64|aarch64] [--run-time]
#
#   --output DIR        where libinturn.so, its links, libinturn.a, the program
#                       and its files for gdb go
#   --configuration C   release (default), or debug: unoptimised, with symbols
#   --processor P       for another processor than this machine's, with Debian's
#                       crossbuild packages for it
#   --run-time          an ordinary build with the Swift run time linked in, for
#                       toolchains without the embedded modules; libinturn.a
#                       then also needs the C++ library
set -euo pipefail
# shellcheck source=bindings/c/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

output=
configuration=release
processor=$(uname -m)
has_run_time=false
while (($#)); do
  case $1 in
    --output) output=$(argument "$@"); shift 2 ;;
    --configuration) configuration=$(argument "$@"); shift 2 ;;
    --processor) processor=$(argument "$@"); shift 2 ;;
    --run-time) has_run_time=true; shift ;;
    --help) usage; exit ;;
    *) fail "unknown option $1; see --help" ;;
  esac
done
[[ -n $output ]] || fail "--output is needed; see --help"
[[ $configuration == release || $configuration == debug ]] ||
  fail "the configuration is release or debug, not $configuration"
[[ $processor == x86_64 || $processor == aarch64 ]] ||
  fail "the processor is x86_64 or aarch64, not $processor"
[[ $(uname -s) == Linux ]] || fail "only Linux is known to this script"
command -v swiftc >/dev/null || fail "swiftc is not in PATH"
mkdir -p "$output"
output=$(realpath "$output")
triple=$processor-linux-gnu
# The prefix of the binary tools' names.
tools=
[[ $processor == "$(uname -m)" ]] || tools=$triple-

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$inturn_root"
# What the embedded build produced last, and from what. Two builds exclude each
# other.
kept=.build/embedded/$processor-$configuration

# shellcheck disable=SC2054
link_flags=(
  # Exports only the C API.
  -Wl,--version-script=bindings/c/inturn.map
  # What programs that link it look for at run time.
  "-Wl,-soname=$(library_soname)"
  # An undefined symbol fails here, not in a program that loads the library.
  -Wl,-z,defs
  # dlclose leaves it in place: the library's threads and exit handlers refer to its
  # code for the rest of the process.
  -Wl,-z,nodelete
  # All symbols are bound when it is loaded, so that the first call of a function
  # costs no more than others, and the tables are read-only afterwards.
  -Wl,-z,now -Wl,-z,relro
  # Drops unreferenced sections, and strings that are the ends of others.
  -Wl,--gc-sections -Wl,-O2
)
# No symbol table and no debug information.
[[ $configuration == debug ]] || link_flags+=(-s)

# compile_embedded: puts the objects in $work.
compile_embedded() {
  local module swift_flags embedded sources
  embedded=$(swift_resources)/embedded
  [[ -d $embedded ]] ||
    fail "this toolchain has no embedded modules; see --run-time"
  for module in CInturn CInturnSystem; do
    mkdir "$work/$module"
    printf 'module %s { header "%s" export * }\n' "$module" \
      "$inturn_root/Sources/$module/include/$module.h" \
      >"$work/$module/module.modulemap"
  done
  c_flags=(-fPIC -fvisibility=hidden -ffunction-sections -fdata-sections -fno-ident)
  swift_flags=(
    -enable-experimental-feature Embedded -wmo -parse-as-library
    -package-name inturn -swift-version 6 -Xfrontend -function-sections
    -I bindings/c/libc -I "$work" -I "$work/CInturn" -I "$work/CInturnSystem"
  )
  if [[ $configuration == release ]]; then
    c_flags+=(-O2)
    # For size, except for the path of each operation, which is marked for speed in
    # the sources. This costs at most 2 % of an operation's instructions.
    swift_flags+=(-Osize)
  else
    c_flags+=(-O0 -g)
    swift_flags+=(-Onone -g)
  fi
  if [[ $processor == x86_64 ]]; then
    embedded+=/x86_64-unknown-linux-gnu
  else
    # The toolchain supports that processor without a system; Debian has its C
    # library.
    embedded+=/aarch64-none-none-elf
    c_flags+=("--target=$triple")
    swift_flags+=(-target aarch64-none-none-elf)
    local flag
    for flag in -nostdinc -isystem "$(swift_resources)/clang/include" \
      -isystem "/usr/$triple/include" -D__linux__ -D__gnu_linux__ -D_GNU_SOURCE \
      -D__ELF__ -fPIC; do
      swift_flags+=(-Xcc "$flag")
    done
  fi
  mapfile -t sources < <(find Sources/InturnCore -name '*.swift' | sort)
  swiftc "${swift_flags[@]}" -module-name InturnCore -emit-module \
    -emit-module-path "$work/InturnCore.swiftmodule" -c "${sources[@]}" \
    -o "$work/core.o"
  mapfile -t sources < <(find Sources/InturnC -name '*.swift' | sort)
  swiftc "${swift_flags[@]}" -module-name InturnC -c "${sources[@]}" \
    -o "$work/api.o"
  # Swift's allocations go through functions that are not refused: see Memory.c. What
  # it calls besides is in libc/. A
  # hash of the compiler's arguments would differ from folder to folder. Nobody reads
  # the compiler's name.
  local file
  for file in core api; do
    "$(swift_tool llvm-objcopy)" \
      --redefine-sym posix_memalign=inturn_system_allocate \
      --redefine-sym free=inturn_system_free \
      --redefine-sym ceil=inturn_library_ceil \
      --remove-section=.swift_modhash --remove-section=.comment "$work/$file.o"
  done
  shared_objects=("$work/core.o" "$work/api.o")
  # Comparing strings needs Unicode's large tables. Only unoptimised code contains
  # such comparisons: see Bytes.swift.
  [[ $configuration == release ]] ||
    shared_objects+=("$embedded/libswiftUnicodeDataTables.a")
  static_objects=("${shared_objects[@]}")
  local flags
  for file in Sources/CInturnSystem/*.c bindings/c/libc/*.c; do
    flags=()
    # Those that are called seldom. Like Swift's functions, theirs have frame pointers
    # and no tables for debuggers.
    if [[ $configuration == release && $file =~ /(Answers|Copies|Linux|Page|Process|Search|System|Text|Trace.*|Watched)\.c$ ]]; then
      flags+=(-Oz -fno-asynchronous-unwind-tables -fno-omit-frame-pointer)
    fi
    compile_c static_objects "$file" "${flags[@]}"
    compile_c shared_objects "$file" "${flags[@]}" -DINTURN_IS_LINKED_TO_STAY \
      -include bindings/c/libc/versions.h
  done
}

# compile_c OBJECTS FILE FLAG...: adds the object to the array of that name.
compile_c() {
  local -n list=$1
  local object=$work/${#list[@]}-$1.o
  "$(swift_tool clang)" "${c_flags[@]}" -Wall -Wextra -Werror "${@:3}" \
    -ISources/CInturnSystem/include -c "$2" -o "$object"
  list+=("$object")
}

# Older C libraries have a separate file for threads.
link_embedded() {
  "$(swift_tool clang)" --target="$triple" -fuse-ld=lld -shared \
    -o "$output/$(library_file)" "${shared_objects[@]}" "${link_flags[@]}" \
    -Wl,--no-as-needed -l:libpthread.so.0
}

# The static library is one object, from the same compiled files. Only the names of
# the C API are global in it, so that no other name can clash with one of the
# program's. Groups are resolved, so that no linker drops a part of the object in
# favour of a part of the program, or the other way round.
archive() {
  local api strip=()
  mapfile -t api < <("$(swift_tool llvm-nm)" --dynamic --defined-only \
    --format=posix "$output/$(library_file)" | awk 'NF { print $1 }')
  ((${#api[@]} > 0)) || fail "what is to be in libinturn.a?"
  "${tools}ld" -r --gc-sections --force-group-allocation \
    "${api[@]/#/--undefined=}" -o "$work/whole.o" "$@"
  [[ $configuration == debug ]] || strip=(--strip-unneeded)
  printf '%s\n' "${api[@]}" >"$work/api"
  "${tools}objcopy" "${strip[@]}" --keep-global-symbols="$work/api" \
    "$work/whole.o" "$work/inturn.o"
  rm -f "$output/libinturn.a"
  "${tools}ar" rcsD "$output/libinturn.a" "$work/inturn.o"
}

# The ordinary build, with the Swift run time.
build_with_run_time() {
  local build flags=(--disable-local-rpath -Xswiftc -static-stdlib) flag
  for flag in "${link_flags[@]}"; do
    flags+=(-Xswiftc -Xclang-linker -Xswiftc "$flag")
  done
  # The toolchain's own linker if it has one, not the machine's, which may be gold,
  # bfd or lld: so the library is the same everywhere.
  [[ ! -x $(swift_tool ld.lld) ]] || flags+=(-Xswiftc -use-ld=lld)
  build=(
    swift build --scratch-path .build/library --configuration "$configuration"
    --product inturn "${flags[@]}"
  )
  local built runtime needed
  built=$("${build[@]}" --show-bin-path)/libinturn.so
  # The package manager does not notice changes of the flags or the version script:
  # this makes it plan and link again, and compile what it must.
  rm -f ".build/library/$configuration.yaml" "$built"
  "${build[@]}" >&2
  install -m 755 "$built" "$output/$(library_file)"
  mapfile -t static_objects <"${built%/*}/inturn.product/Objects.LinkFileList"
  runtime=$(swift_resources)/../swift_static/linux
  mapfile -t needed < <("$(swift_tool swift-autolink-extract)" \
    "${static_objects[@]}" -o - | grep '^-lswift')
  static_objects+=(
    "$runtime/$processor/swiftrt.o" -L"$runtime" --start-group "${needed[@]}"
    -ldispatch -lBlocksRuntime --end-group
  )
}

# The program is C, and so small that it is built each time. It runs with all C
# libraries that the library runs with: see program/start.c. Nothing is linked to it,
# so it has no section headers.
build_program() {
  "$(swift_tool clang)" --target="$triple" -fuse-ld=lld -std=c11 -Oz \
    -fno-asynchronous-unwind-tables -fno-ident -Wall -Wextra -Werror \
    -ISources/CInturnSystem/include bindings/c/program/*.c Sources/CInturnSystem/{Copies,Page,Text}.c \
    -fno-plt -Wl,--wrap=__libc_start_main -Wl,-O2 -Wl,--gc-sections -Wl,--icf=all \
    -Wl,-z,now -Wl,-z,nosectionheader -s \
    -o "$output/inturn"
  install -m 644 bindings/c/program/inturn-gdb.py "$output"
}

# sources: a line that changes with the inputs of the embedded build.
sources() {
  {
    swiftc --version 2>&1
    find Sources/{InturnCore,InturnC,CInturn,CInturnSystem} include \
      bindings/c/{build-library.sh,lib.sh,inturn.map,libc} -type f -print0 |
      sort -z | xargs -0 sha256sum
  } | sha256sum
}

if $has_run_time; then
  [[ -z $tools ]] || fail "--run-time is for this machine's processor"
  build_with_run_time
  archive "${static_objects[@]}"
else
  mkdir -p "$kept"
  exec {lock}>"$kept/lock"
  flock "$lock"
  made_of=$(sources)
  if [[ $made_of != "$(cat "$kept/sources" 2>/dev/null)" ]]; then
    rm -f "$kept/sources"
    compile_embedded
    link_embedded
    archive "${static_objects[@]}"
    cp "$output/$(library_file)" "$output/libinturn.a" "$kept"
    echo "$made_of" >"$kept/sources"
  fi
  install -m 755 "$kept/$(library_file)" "$output/$(library_file)"
  install -m 644 "$kept/libinturn.a" "$output/libinturn.a"
  flock --unlock "$lock"
fi
link_library "$output"
build_program
if [[ $configuration == release ]] && ! $has_run_time; then
  bindings/c/check-library.sh "$output/$(library_file)"
  CC=${tools}gcc bindings/c/check-archive.sh "$output/libinturn.a"
fi
