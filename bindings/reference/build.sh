#!/usr/bin/env bash
# Builds the site: the guide in examples/guide, and the reference of C, Python
# and Swift. It needs no server: open index.html from disk.
#
#   build.sh [--output DIR] [--scratch-path DIR] [-- FLAG...]
#
#   --output DIR         where the site goes (.build/reference)
#   --scratch-path DIR   where the Swift modules are compiled
#                        (.build/reference-build)
#   FLAG...              what the compiled modules there have been built with
#
# A warning of Doxygen, DocC or Sphinx is an error, as is a public name without
# documentation, and a link that leads nowhere. PYTHON names an interpreter that
# has what Tests/requirements.txt lists for this, INTURN_LIBRARY the library that
# the Python package loads; without it one is built.
set -euo pipefail
# shellcheck source=bindings/c/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../c/lib.sh"

here=$inturn_root/bindings/reference
output=$inturn_root/.build/reference
scratch=$inturn_root/.build/reference-build
python=${PYTHON:-python3}
flags=()
while (($#)); do
  case $1 in
    --output) output=$(argument "$@"); shift 2 ;;
    --scratch-path) scratch=$(argument "$@"); shift 2 ;;
    --) flags=("${@:2}"); break ;;
    --help) usage; exit ;;
    *) fail "unknown option $1; see --help" ;;
  esac
done
command -v doxygen >/dev/null || fail "doxygen is not in PATH"
"$python" -c 'import breathe, furo, myst_parser, sphinx_inline_tabs' ||
  fail "Sphinx and its extensions are missing: see Tests/requirements.txt"
build=(--scratch-path "$scratch" "${flags[@]}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$inturn_root"

# read_headers NAME INPUT FILTER LINE...: what Doxygen reads in headers, for
# Sphinx. Each line is one more of its configuration.
read_headers() {
  (
    cat "$here/Doxyfile"
    printf 'XML_OUTPUT = %s\nINPUT = %s\nINPUT_FILTER = "%s"\n' "$1" "$2" "$3"
    printf '%s\n' "OUTPUT_DIRECTORY = \"$work\"" "${@:4}"
  ) | doxygen -
  [[ -f $work/$1/index.xml ]] || fail "doxygen has written nothing of $2"
}

read_c() {
  "$python" "$here/test_header_comments.py"
  read_headers c include/inturn.h "$python $here/header_comments.py" \
    OPTIMIZE_OUTPUT_FOR_C=YES
}

# The comments before what is declared, and behind it, become documentation.
# Doxygen does not know what is specialized for std.
read_cpp() {
  read_headers cxx include/inturn/cxx \
    "sed -E '/is_error_code_enum/d; s@^( *)/\\* @\\1/** @; s@([;,{}] +)/\\* @\\1/**< @'" \
    PREDEFINED+=__cpp_impl_coroutine=1 EXCLUDE_SYMBOLS+=inturn::detail \
    EXCLUDE_SYMBOLS+='inturn::detail::*' AUTOLINK_SUPPORT=NO
}

# The Markdown of each Swift module that has a catalogue, as pages of the guide.
# Sphinx searches them, and they need no server, as DocC's own pages do.
read_swift() {
  local catalogue docc module symbols status=0
  docc=$(swift_tool docc)
  symbols=$(dirname "$(swift build "${build[@]}" --show-bin-path)")/symbolgraph
  rm -rf "$symbols"
  # It fails where the tests have not been compiled; those have no catalogue.
  swift package "${build[@]}" dump-symbol-graph --minimum-access-level public || true
  for catalogue in Sources/*/*.docc; do
    module=$(basename "$catalogue" .docc)
    echo "$module"
    mkdir -p "$work/symbols/$module" "$work/archives"
    cp "$symbols/$module".symbols.json "$work/symbols/$module/"
    cp "$symbols/$module"@*.json "$work/symbols/$module/" 2>/dev/null || true
    "$docc" convert "$catalogue" --warnings-as-errors \
      --additional-symbol-graph-dir "$work/symbols/$module" \
      --fallback-display-name "$module" \
      --fallback-bundle-identifier "inturn.$module" \
      --enable-experimental-markdown-output --no-transform-for-static-hosting \
      --output-path "$work/archives/$module" || status=1
  done
  "$python" "$here/swift_pages.py" "$work/archives" \
    "$work/examples/guide/reference/swift"
  return $status
}

# The library that the Python package is read with.
find_library() {
  if [[ -z ${INTURN_LIBRARY-} ]]; then
    swift build "${build[@]}" --product inturn
    INTURN_LIBRARY=$(swift build "${build[@]}" --show-bin-path)/libinturn.so
  fi
  export INTURN_LIBRARY
}

# The pages quote the examples, so these are there, too.
cp -R examples "$work/examples"
rm -rf "$work"/examples/*/.build "$output"
# What the guide links to in the repository are pages of the reference here.
sed -i -E 's@\.\./\.\./\.\./Sources/(\w+)/\1\.docc/\1\.md@../reference/swift/\1.md@g
  s@\.\./\.\./\.\./Sources/(\w+)/\1\.docc/@../reference/swift/\1/@g' "$work"/examples/guide/*/*.md
read_c
read_cpp
read_swift
find_library
"$python" "$here/check_docstrings.py"
INTURN_REFERENCE_WORK=$work "$python" -m sphinx --fail-on-warning --keep-going \
  --quiet --jobs auto -c "$here" -d "$work/doctrees" \
  "$work/examples/guide" "$output"
rm -f "$output/.buildinfo" "$output/objects.inv"
echo "the site is $output/index.html"
