#!/usr/bin/env bash
# Builds the engine under the scheduler, and the scenarios with it.
#
#   build.sh --output DIR [--sanitize address|thread] [--mutants]
#
# --mutants builds an engine from which one thing at a time can be taken away, for
# `model score`; see mutants/mutants.py.
set -euo pipefail
# shellcheck source=bindings/c/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../bindings/c/lib.sh"

output='' sanitizer='' has_mutants=false
while (($#)); do
  case $1 in
    --output) output=$(argument "$@"); shift 2 ;;
    --sanitize) sanitizer=$(argument "$@"); shift 2 ;;
    --mutants) has_mutants=true; shift ;;
    --help) usage; exit ;;
    *) fail "unknown option $1; see --help" ;;
  esac
done
[[ -n $output ]] || fail "--output is needed; see --help"
mkdir -p "$output/CInturn"
output=$(realpath "$output")
cd "$inturn_root"
model=Tests/Model
clang=$(swift_tool clang)

printf 'module CInturn { header "%s" export * }\n' \
  "$inturn_root/Sources/CInturn/include/CInturn.h" \
  >"$output/CInturn/module.modulemap"

swift_flags=(
  -Osize -wmo -parse-as-library -package-name inturn -swift-version 6
  -enforce-exclusivity=unchecked -gline-tables-only -static-stdlib
  -I "$model/seam" -I "$output/CInturn" -I "$output"
  -Xcc -fmodule-map-file="$model/seam/module.modulemap"
)
c_flags=(-O1 -g -fno-omit-frame-pointer -Wall -Wextra -Werror -Iinclude)
instrumented=("${c_flags[@]}")
cxx=$(dirname "$output")/scenarios
if [[ -n $sanitizer ]]; then
  swift_flags+=(-sanitize="$sanitizer")
  instrumented+=(-fsanitize="$sanitizer")
  # The scheduler switches between threads that ThreadSanitizer watches; its own
  # accesses are not instrumented.
  [[ $sanitizer == thread ]] ||
    c_flags=("${instrumented[@]}") cxx+=-$sanitizer
fi

engine=(Sources/InturnCore "$model/seam")
if $has_mutants; then
  python3 "$model/mutants/mutants.py" Sources/InturnCore "$output/engine"
  engine=("$output/engine" "$model"/{seam,mutants})
fi
mapfile -t core < <(find "${engine[@]}" -name '*.swift' | sort)
mapfile -t exports < <(find Sources/InturnC "$model/hosted" -name '*.swift' | sort)
# The engine is only recompiled if its sources have changed.
stamp=$(cat "${core[@]}" "${exports[@]}" "$model"/{seam,mutants}/*.h include/inturn.h \
  "$inturn_script" Sources/CInturnSystem/include/*.h | sha256sum)
if [[ $stamp != "$(cat "$output/stamp" 2>/dev/null)" ]]; then
  rm -f "$output/stamp"
  swiftc "${swift_flags[@]}" -module-name InturnCore -emit-module \
    -emit-module-path "$output/InturnCore.swiftmodule" \
    -c "${core[@]}" -o "$output/core.o"
  swiftc "${swift_flags[@]}" -module-name InturnC \
    -c "${exports[@]}" -o "$output/exports.o"
  echo "$stamp" >"$output/stamp"
fi
objects=("$output"/{core,exports,atomic,system,shipped-{Page,Text,Trace,TraceOrder,TraceEvents,TraceSteps}}.o)
"$clang" -std=c11 "${instrumented[@]}" -c "$model/seam/atomic.c" \
  -o "$output/atomic.o"
"$clang" -std=c11 "${c_flags[@]}" ${sanitizer:+-DSANITIZED} \
  -c "$model/seam/system.c" -o "$output/system.o"
# What shares nothing is the shipping files'.
for file in Page Text Trace TraceOrder TraceEvents TraceSteps; do
  "$clang" -std=c11 "${c_flags[@]}" -ISources/CInturnSystem/include \
    -c "Sources/CInturnSystem/$file.c" -o "$output/shipped-$file.o"
done
# Files that have not changed, with unchanged headers, have been compiled before,
# here or for another build.
headers=$(cat "$model"/{*/*.hpp,*/*.h,build.sh} include/inturn.h | sha256sum)
stale=()
mkdir -p "$cxx"
for file in "$model"/main.cpp "$model"/*/*.cpp; do
  object=$cxx/$(basename "$(dirname "$file")")-$(basename "$file" .cpp).o
  objects+=("$object")
  [[ -f $object && $object -nt $file &&
    $headers == "$(cat "$cxx/headers" 2>/dev/null)" ]] ||
    stale+=(-c "$file" -o "$object")
done
if ((${#stale[@]})); then
  printf '%s\0' "${stale[@]}" | xargs -0 -n 4 -P 2 \
    "$clang++" -std=c++20 "${c_flags[@]}"
  echo "$headers" >"$cxx/headers"
fi
link=(swiftc -use-ld=lld "${objects[@]}" -o "$output/model" -lstdc++ -ldl -lpthread)
if [[ -z $sanitizer ]]; then
  link+=(-static-stdlib)
  for name in malloc calloc realloc posix_memalign strdup free; do
    link+=(-Xlinker "--wrap=$name")
  done
else
  # The C library has to call the sanitizer's allocator, as in strdup. With the run
  # time linked in, that would be hidden from it.
  link+=(-sanitize="$sanitizer")
fi
"${link[@]}"
