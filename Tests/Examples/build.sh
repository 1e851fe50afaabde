# shellcheck shell=bash
# How Tests/Examples/run builds the examples. It only defines: source it. Its
# functions are called in the repository's root.

# What is larger than an example should be: those with windows, and those that
# are several in one.
readonly larger_examples='examples/(c/gtk_onboarding|python/tk_(onboarding|look)|swift/moving|guide/programs/tutorial)'

# Each file is one idea, and has less than 120 lines. timeline/ is no example.
check_sizes() {
  local file lines status=0
  while read -r file; do
    lines=$(wc -l <"$file")
    if ((lines >= 120)) && [[ ! $file =~ ^$larger_examples ]]; then
      echo "$file has $lines lines"
      status=1
    fi
  done < <(find examples \( -name .build -o -path examples/timeline \) -prune \
    -o \( -name '*.[ch]' -o -name '*.py' -o -name '*.swift' -o -name '*.lua' \) \
    -print)
  return $status
}

# build_c PREFIX DIR: the C examples against the library that is installed in
# PREFIX, as their CMakeLists.txt says; the programs are in DIR.
build_c() {
  cmake -S examples/c -B "$2" -DCMAKE_PREFIX_PATH="$1" \
    -DINTURN_EXAMPLES_ALL=ON \
    -DCMAKE_C_FLAGS='-Wall -Wextra -pedantic -Werror'
  cmake --build "$2"
}

# What the root package has: `swift run onboarding`, `swift run values`, and the
# library that Python finds there.
build_root() {
  local product
  for product in onboarding values inturn; do
    swift build --product "$product"
  done
}

# swift_examples OPTION...: `swift build` of the Swift examples. What is cached would
# not know of files of the library that are new or gone.
swift_examples() {
  swift build --package-path examples/swift --disable-build-manifest-caching "$@"
}
