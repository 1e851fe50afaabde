#!/usr/bin/env bash
# Builds the reference: the C header's manual, the documentation of each Swift
# module, and the Python package's pages.
#
#   build.sh [--output DIR] [--only c,swift,python] [--scratch-path DIR] [-- FLAG...]
#
#   --output DIR         where the pages go (.build/reference); index.html leads
#                        to all
#   --only LANGUAGES     these, separated by commas
#   --scratch-path DIR   where the Swift modules are compiled
#                        (.build/reference-build)
#   FLAG...              what the compiled modules there have been built with
#
# A warning of Doxygen, DocC or pydoctor is an error, as is a public name
# without documentation. PYTHON names an interpreter that has pydoctor.
set -euo pipefail
# shellcheck source=bindings/c/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../c/lib.sh"

here=$inturn_root/bindings/reference
output=$inturn_root/.build/reference
scratch=$inturn_root/.build/reference-build
python=${PYTHON:-python3}
languages=(c swift python)
flags=()
while (($#)); do
  case $1 in
    --output) output=$(argument "$@"); shift 2 ;;
    --only) IFS=, read -ra languages <<<"$(argument "$@")"; shift 2 ;;
    --scratch-path) scratch=$(argument "$@"); shift 2 ;;
    --) flags=("${@:2}"); break ;;
    --help) usage; exit ;;
    *) fail "unknown option $1; see --help" ;;
  esac
done
for language in "${languages[@]}"; do
  [[ $language =~ ^(c|swift|python)$ ]] ||
    fail "the languages are c, swift and python, not $language"
done
mkdir -p "$output"
output=$(cd "$output" && pwd)
cd "$inturn_root"

# The manual, made of include/inturn.h alone.
build_c() {
  command -v doxygen >/dev/null || fail "doxygen is not in PATH"
  rm -rf "$output/c"
  "$python" "$here/test_header_comments.py"
  (
    cat "$here/Doxyfile"
    echo "INPUT = include/inturn.h"
    echo "INPUT_FILTER = \"$python $here/header_comments.py\""
    echo "PROJECT_NUMBER = $(header_version)"
    echo "OUTPUT_DIRECTORY = \"$output\""
    echo "HTML_OUTPUT = c"
  ) | doxygen -
  [[ -f $output/c/index.html ]] || fail "doxygen has written no pages"
}

# swift_modules: those that have a catalogue, Sources/MODULE/MODULE.docc.
swift_modules() {
  local catalogue
  for catalogue in Sources/*/*.docc; do
    [[ -d $catalogue ]] || fail "no module has a catalogue"
    basename "$catalogue" .docc
  done
}

build_swift() {
  local docc module symbols work status=0 modules
  local build=(--scratch-path "$scratch" "${flags[@]}")
  docc=$(swift_tool docc)
  rm -rf "$output/swift"
  mkdir -p "$output/swift"
  swift package "${build[@]}" dump-symbol-graph --minimum-access-level public
  symbols=$(dirname "$(swift build "${build[@]}" --show-bin-path)")/symbolgraph
  work=$(mktemp -d)
  trap 'rm -rf "$work"' RETURN
  mapfile -t modules < <(swift_modules)
  for module in "${modules[@]}"; do
    mkdir "$work/$module"
    cp "$symbols/$module".symbols.json "$work/$module/"
    cp "$symbols/$module"@*.json "$work/$module/" 2>/dev/null || true
    echo "$module"
    "$docc" convert "Sources/$module/$module.docc" --warnings-as-errors \
      --additional-symbol-graph-dir "$work/$module" \
      --fallback-display-name "$module" \
      --fallback-bundle-identifier "inturn.$module" \
      --transform-for-static-hosting --hosting-base-path "swift/$module" \
      --output-path "$output/swift/$module" || status=1
  done
  return $status
}

build_python() {
  "$python" -c 'import pydoctor' 2>/dev/null ||
    fail "pydoctor is missing: pip install it (see Tests/requirements.txt)"
  rm -rf "$output/python"
  "$python" "$here/check_docstrings.py"
  "$python" -m pydoctor --config "$here/pydoctor.ini" \
    --project-version "$(header_version)" \
    --project-base-dir "$inturn_root/bindings/python/src" \
    --html-output "$output/python" bindings/python/src/inturn
}

write_index() {
  local module
  {
    echo '<!DOCTYPE html><html lang="en"><meta charset="utf-8">'
    echo '<meta name="viewport" content="width=device-width">'
    echo '<title>Inturn: reference</title>'
    echo '<style>:root{color-scheme:light dark}body{max-width:40em;'
    echo 'margin:3em auto;padding:0 1em;font:1rem/1.6 sans-serif}</style>'
    echo '<h1>Inturn: reference</h1><ul>'
    [[ ! -d $output/c ]] ||
      echo '<li><a href="c/index.html">C: the manual of inturn.h</a>'
    for module in "$output"/swift/*/; do
      [[ -d $module ]] || continue
      module=$(basename "$module")
      echo "<li><a href=\"swift/$module/documentation/${module,,}/\">Swift:" \
        "$module</a>"
    done
    [[ ! -d $output/python ]] ||
      echo '<li><a href="python/inturn.html">Python: the package inturn</a>'
    echo '</ul><p>The Swift pages need a web server:'
    echo '<code>python3 -m http.server</code> in this folder, then'
    echo '<code>http://localhost:8000</code>.'
  } >"$output/index.html"
}

for language in "${languages[@]}"; do
  "build_$language"
done
write_index
echo "the reference is in $output"
