# shellcheck shell=bash
# How Tests/run runs its parts. It only defines: source it.

# shellcheck source=bindings/c/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../bindings/c/lib.sh"

# What a part returns when it cannot run.
readonly skipped=77

# How long a part may take before it counts as hanging.
readonly part_limit=${INTURN_TEST_LIMIT:-900}

logs=$inturn_root/.build/logs
passed=0
failed_parts=()
skipped_parts=()
# What those that failed have said, for the end.
what_failed=''

# skip REASON: ends the part that calls it. It counts as not run.
skip() {
  echo "$*"
  exit "$skipped"
}

# run_elsewhere FILE ARGUMENT...: a test suite's own script.
run_elsewhere() {
  [[ -e $1 ]] || skip "$1 is missing"
  "$@"
}

# log_counts FILE: "12 passed, 0 failed", the last such line of the log.
log_counts() {
  sed -nE '/^[0-9]+ passed, [0-9]+ failed$/p' "$1" | tail -n 1
}

# complaints FILE: the lines of a log that say what went wrong, the first of them.
complaints() {
  grep -aE -m 20 'FAILED|✘|[Ee]rror: |Sanitizer: ' "$1" || true
}

# hindrance NAME: why a part cannot run: "failed WHY" or "skipped WHY", in one
# line; nothing when it can. What setup could not install hinders those that need
# it, and no others.
hindrance() {
  local need missing
  for need in ${needs[$1]-}; do
    if [[ " ${failed_parts[*]-} " == *" $need "* ]]; then
      echo "failed it needs $need"
      return
    fi
  done
  missing=$(lacks "$1")
  if [[ -n $missing ]]; then
    echo "skipped not installed: $missing"
    return
  fi
  for need in ${needs[$1]-}; do
    if [[ $need != setup && " ${skipped_parts[*]-} " == *" $need "* ]]; then
      echo "skipped it needs $need"
      return
    fi
  done
}

# run_part NAME: in a process of its own, with a log and a time limit. The caller
# has two tables: what each part is about, and what it needs.
declare -A about needs
run_part() {
  local name=$1 log=$logs/$1.log start=$SECONDS status=0 why
  echo "== $name: ${about[$name]}"
  why=$(hindrance "$name")
  case $why in
    failed*)
      failed_parts+=("$name")
      echo "$name … FAILED: ${why#* }"
      return
      ;;
    skipped*)
      skipped_parts+=("$name")
      echo "$name … SKIPPED: ${why#* }"
      return
      ;;
  esac
  timeout --kill-after=10 "$part_limit" "$inturn_script" --inside "$name" \
    </dev/null >"$log" 2>&1 || status=$?
  local took=$((SECONDS - start))s counts
  counts=$(log_counts "$log")
  [[ -z $counts ]] || took+=" ($counts)"
  # A suite that counts failures has failed, whatever it returns.
  if [[ $status == 0 && -n $counts && $counts != *", 0 failed" ]]; then
    status=1
  fi
  case $status in
    0)
      passed=$((passed + 1))
      echo "$name … ok $took"
      ;;
    "$skipped")
      skipped_parts+=("$name")
      echo "$name … SKIPPED: $(tail -n 1 "$log")"
      ;;
    *)
      failed_parts+=("$name")
      tail -n 60 "$log" | sed 's/^/    /'
      ((status != 124 && status != 137)) ||
        echo "    stopped after $part_limit seconds"
      echo "$name … FAILED $took; all of it: $log"
      what_failed+="$name"$'\n'$(complaints "$log" | sed 's/^/    /')$'\n'
      ;;
  esac
}

# with_needs NAME...: the names and what they need, in any order and number.
with_needs() {
  local name need
  for name; do
    echo "$name"
    for need in ${needs[$name]-}; do
      with_needs "$need"
    done
  done
}

# report ALLOW_SKIPS: the last lines; fails when the run has.
report() {
  local failed=${#failed_parts[@]} skips=${#skipped_parts[@]} allowed=$1
  echo
  printf '%s' "$what_failed"
  ((failed == 0)) || echo "FAILED: ${failed_parts[*]}"
  if ((skips > 0)); then
    echo "SKIPPED: ${skipped_parts[*]}"
    $allowed || echo "What is skipped fails the run (see --allow-skips)."
  fi
  echo "$passed passed, $failed failed, $skips skipped"
  ((failed == 0)) && { ((skips == 0)) || $allowed; }
}
