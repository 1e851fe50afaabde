# shellcheck shell=bash
# What the tests of installs share. It only defines: source it, with a folder
# `work` for what they make.

# shellcheck source=bindings/c/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../bindings/c/lib.sh"

# contents DIR: files and links, one a line, links with their targets.
contents() {
  (cd "$1" && find . -type l -printf '%P -> %l\n' -o -type f -printf '%P\n' |
    LC_ALL=C sort)
}

expect_equal() {
  [[ $1 == "$2" ]] || {
    printf 'expected:\n%s\nfound:\n%s\n' "$2" "$1"
    return 1
  }
}

# expect_failure WORDS COMMAND...: it fails and says these words.
expect_failure() {
  local words=$1 output
  shift
  if output=$("$@" 2>&1); then
    echo "succeeded: $*"
    return 1
  fi
  [[ $output == *"$words"* ]] || {
    printf 'said, without "%s":\n%s\n' "$words" "$output"
    return 1
  }
}

# runs PROGRAM LIBDIR: it prints the right lines, with the library from there and
# no other library than the C and C++ run time.
runs() {
  local resolved
  resolved=$(env -i ldd "$1")
  [[ $resolved == *"$(library_soname) => $(realpath "$2")/"* ]] || {
    printf 'not the installed library:\n%s\n' "$resolved"
    return 1
  }
  ! grep -Ev 'libinturn|libc\.|libm\.|libpthread\.|libdl\.|libstdc\+\+|libgcc_s|ld-linux|linux-vdso' \
    <<<"$resolved" || return 1
  expect_equal "$(env -i "$1")" $'first\nsecond\nthird'
}

# runs_alone PROGRAM: the same with the library as a part of the program.
runs_alone() {
  local resolved
  resolved=$(env -i LC_ALL=C ldd "$1" 2>&1 || true)
  ! grep -Ev 'libc\.|libm\.|libpthread\.|libdl\.|libstdc\+\+|libgcc_s|ld-linux|linux-vdso|not a dynamic' \
    <<<"$resolved" || return 1
  expect_equal "$(env -i "$1")" $'first\nsecond\nthird'
}

# run_tests: each function test_* of the script in a process of its own, in their
# order, but for those whose names match `left_out`.
run_tests() {
  local passed=0 failed=0 tests test status
  mapfile -t tests < <(sed -n 's/^test_\(.*\)() {$/\1/p' "$inturn_script")
  for test in "${tests[@]}"; do
    if [[ -n ${left_out-} && $test =~ $left_out ]]; then
      echo "left out, as a process may not mount anything here: ${test//_/ }"
      continue
    fi
    # Not in a condition, where a failing command would not end the test.
    set +e
    (set -e && "test_$test") >"${work:?}/log" 2>&1
    status=$?
    set -e
    if ((status == 0)); then
      passed=$((passed + 1))
      echo "ok      ${test//_/ }"
    else
      failed=$((failed + 1))
      echo "FAILED  ${test//_/ }"
      sed 's/^/    /' "$work/log"
    fi
  done
  echo "$passed passed, $failed failed"
  ((failed == 0))
}
