# shellcheck shell=bash
# What Tests/Examples/run runs: a function for each example. It only defines:
# source it.

# What the caller says: the interpreter, where the C programs are (out/c), those
# of the root package, and the Swift examples.
declare python out root swift

# How many seconds a program may take.
readonly limit=60

passed=0 failed=0

# check_from ANSWERS EXPECTED COMMAND...: runs a command with answers from a file,
# and compares what it prints with another one.
check_from() {
  local answers=$1 expected=$2 status=0
  shift 2
  timeout "$limit" "$@" <"$answers" >"$out/printed" || status=$?
  if ((status == 0)) && diff -u "$expected" "$out/printed"; then
    passed=$((passed + 1))
    return
  fi
  echo "FAILED with status $status: $* <$answers"
  ((status == 0)) || cat "$out/printed"
  failed=$((failed + 1))
}

# check EXAMPLE COMMAND...: runs a command that asks nothing.
check() {
  local example=$1
  shift
  check_from /dev/null "examples/expected/$example.out" "$@"
}

# check_all EXAMPLE: in each language.
check_all() {
  check "$1" "$out/c/$1"
  check "$1" "$python" "examples/python/$1.py"
  check "$1" "$swift/$1"
}

# check_refusal PATTERN COMMAND...: a command has to end with a status, not with a
# signal, and to say in one line why.
check_refusal() {
  local pattern=$1 status=0
  shift
  timeout "$limit" "$@" </dev/null 2>"$out/said" >"$out/printed" || status=$?
  if ((status == 1)) && tail -n 1 "$out/said" | grep -Eq "$pattern" &&
    ! grep -Eq 'Traceback|Fatal error' "$out/said"; then
    passed=$((passed + 1))
    return
  fi
  echo "FAILED with status $status, and does not say '$pattern': $*"
  cat "$out/said"
  failed=$((failed + 1))
}

# check_refusals EXAMPLE PATTERN ARGUMENT...: in each language.
check_refusals() {
  local example=$1 pattern=$2
  shift 2
  check_refusal "$pattern" "$out/c/$example" "$@"
  check_refusal "$pattern" "$python" "examples/python/$example.py" "$@"
  check_refusal "$pattern" "$swift/$example" "$@"
}

# check_script COMMAND...: a test of its own.
check_script() {
  if "$@"; then
    passed=$((passed + 1))
  else
    echo "FAILED: $*"
    failed=$((failed + 1))
  fi
}

# The answers are examples/expected/onboarding/CASE.in, the options CASE.args
# (none without the file), and what is printed CASE.out.
example_onboarding() {
  local answers case options
  for answers in examples/expected/onboarding/*.in; do
    case=${answers%.in} options=(--fast)
    if [[ -f $case.args ]]; then
      read -ra options <<<"--fast $(<"$case.args")"
    fi
    check_from "$answers" "$case.out" "$root/onboarding" "${options[@]}"
    check_from "$answers" "$case.out" "$out/c/onboarding" "${options[@]}"
    check_from "$answers" "$case.out" "$python" examples/python/onboarding.py \
      "${options[@]}"
    check_from "$answers" "$case.out" "$swift/onboarding" "${options[@]}"
  done
  # With its pauses it prints the same; Python with the library that the root
  # package has built, which it finds by itself.
  case=examples/expected/onboarding/all
  check_from "$case.in" "$case.out" "$root/onboarding"
  check_from "$case.in" "$case.out" env -u INTURN_LIBRARY "$python" \
    examples/python/onboarding.py
  check_from "$case.in" "$case.out" "$swift/onboarding"

  # What the page of the examples shows.
  case=examples/expected/onboarding/end-in-sign-in
  check_script diff -u "$case.out" \
    <(sed -n '/^\$ printf/,/^```$/p' examples/README.md | sed '1d;$d')

  # On a terminal there is a picture.
  check_script "$python" Tests/Examples/onboarding_terminal.py "$root/onboarding"
  check_script "$python" Tests/Examples/onboarding_terminal.py "$python" \
    examples/python/onboarding.py

  check_refusal '^usage: ' "$out/c/onboarding" --quick
  check_refusal '^usage: ' "$swift/onboarding" --quick
}

example_values() {
  check values "$root/values"
  check_all values
}

example_keyed_queues() { check_all keyed_queues; }

example_database_writer() { check_all database_writer; }

example_finish_elsewhere() {
  check finish_elsewhere "$python" examples/python/finish_elsewhere.py \
    "$out/c/libfinish_elsewhere.so"
  check finish_elsewhere "$swift/finish_elsewhere"
  check_refusal '^usage: ' "$python" examples/python/finish_elsewhere.py
  # Not the library that the half in C is linked with, which says so.
  check_refusal 'set INTURN_LIBRARY' env -u INTURN_LIBRARY "$python" \
    examples/python/finish_elsewhere.py "$out/c/libfinish_elsewhere.so"
}

example_ordered_uploads() {
  check_script "$python" Tests/Examples/uploads_test.py \
    "$out/c/ordered_uploads" "$python examples/python/ordered_uploads.py" \
    "$swift/ordered_uploads"
  check_refusals ordered_uploads '^usage: '
  # Nobody listens at port 1.
  check_refusals ordered_uploads '^http://127.0.0.1:1: ' http://127.0.0.1:1
}

example_redis_streams() {
  check_script "$python" Tests/Examples/redis_test.py \
    "c=$out/c/redis_streams" \
    "python=$python examples/python/redis_streams.py" \
    "swift=$swift/redis_streams"
  check_refusals redis_streams '^usage: '
  check_refusals redis_streams reached\|refused 1 somebody
}

example_swift() {
  local expected
  for expected in examples/expected/swift/*.out; do
    check_from /dev/null "$expected" "$swift/$(basename "$expected" .out)"
  done
}
