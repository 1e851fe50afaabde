# shellcheck shell=bash
# How Tests/run runs its parts. It only defines: source it.

# shellcheck source=bindings/c/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../bindings/c/lib.sh"

# What a part returns when it cannot run.
readonly skipped=77

# How long a part may take, and how long it may say nothing, in seconds, before it
# counts as hanging. A Swift test that hangs says so before that: see Watched.swift.
part_limit=${INTURN_TEST_LIMIT:-900}
readonly silence_limit=${INTURN_TEST_SILENCE:-120}

logs=$inturn_root/.build/logs
# Where each part that is to run stands: waiting, running, or over.
declare -A state=()
# Of those that run, the session that all of their processes belong to.
declare -A session=()
# In seconds: when each part began, and how long it took.
declare -A began=() took=()
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
# A test that has passed complains of nothing, whatever its name is; of a stack of
# Python's, what is in the tests. Where nothing is found, the last lines have to do.
complaints() {
  local said
  said=$(grep -avE ' PASSED( |$)' "$1" |
    grep -aE -m 20 'FAILED|✘|[Ee]rror: |Sanitizer: |tests/[^"]*", line [0-9]+ in ' || true)
  echo "${said:-$(tail -n 10 "$1")}"
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

# The caller has three tables: what each part is about, what it needs, and what may
# not run beside it.
declare -A about needs apart

# run_parts JOBS PART...: at most so many side by side, and each after those that
# it needs; those that come first in the list begin first.
run_parts() {
  local jobs=$1 part
  shift
  mkdir -p "$logs"
  trap 'end_sessions "${session[@]}"' EXIT
  trap 'exit 130' INT TERM HUP
  for part; do state[$part]=waiting; done
  while [[ ${state[*]} =~ waiting|running ]]; do
    for part; do
      case ${state[$part]} in
        waiting) ! may_start "$part" "$jobs" || start "$part" ;;
        running) look_at "$part" ;;
      esac
    done
    sleep 0.2
  done
}

# may_start NAME JOBS: there is room, what it needs is over, and nothing runs that
# may not run beside it.
may_start() {
  local other
  for other in ${needs[$1]-}; do
    [[ ${state[$other]-over} == over ]] || return 1
  done
  for other in ${apart[$1]-}; do
    [[ ${state[$other]-over} != running ]] || return 1
  done
  ((${#session[@]} < $2))
}

# start NAME: in a session of its own, with a log, if it can run.
start() {
  local name=$1 why
  echo "== $name: ${about[$name]}"
  why=$(hindrance "$name")
  if [[ -z $why ]]; then
    state[$name]=running began[$name]=$SECONDS
    # What it and what look_at write go to the log's end. In the background the
    # shell ignores interrupts, and tests send some. Python's processes say what
    # they do when they are aborted.
    : >"$logs/$name.log"
    env --default-signal=INT,QUIT PYTHONUNBUFFERED=1 PYTHONFAULTHANDLER=1 \
      setsid "$inturn_script" --inside "$name" </dev/null >>"$logs/$name.log" 2>&1 &
    session[$name]=$!
    return
  fi
  state[$name]=over
  case $why in
    failed*) failed_parts+=("$name") ;;
    skipped*) skipped_parts+=("$name") ;;
  esac
  local said=${why%% *}
  echo "$name … ${said^^}: ${why#* }"
}

# run_inside NAME: runs one part here and now. What it has used of the processor
# is written down, however it ends.
run_inside() {
  # shellcheck disable=SC2064
  trap "times >'$logs/$1.times'" EXIT
  "part_$1"
}

# look_at NAME: a running part. Ends it when it hangs, and judges it when it has
# ended.
look_at() {
  local name=$1 status=0 why='' before='' id=${session[$1]} log=$logs/$1.log shown=60
  if kill -0 "$id" 2>/dev/null; then
    why=$(overdue "$name")
    [[ -n $why ]] || return 0
    # All of the stacks, and what came before them: what it was at is said in the
    # last lines.
    shown=$(wc -l <"$log")
    shown=+$((shown > 60 ? shown - 60 : 1))
    before=$(tail -n 3 "$log")$'\n'
    {
      echo
      echo "$why"
      show_stacks "$id"
    } >>"$log" 2>&1
  fi
  # What a part leaves behind does not run beside others.
  end_sessions "$id"
  # What the shell says of one that was killed is no news.
  { wait "$id" || status=$?; } 2>/dev/null
  unset "session[$name]"
  state[$name]=over
  took[$name]=$((SECONDS - began[$name]))
  judge "$name" "$status" "$shown" "$before$why"
}

# overdue NAME: why a running part counts as hanging; nothing when it does not.
# Compilers are silent for long: they have as long as the part has.
overdue() {
  local silent
  silent=$((EPOCHSECONDS - $(stat --format=%Y "$logs/$1.log")))
  if ((SECONDS - began[$1] > part_limit)); then
    echo "stopped after $part_limit seconds"
  elif ((silent > silence_limit / 4)) && compiles "${session[$1]}"; then
    # What it has compiled has as long as anything else.
    touch "$logs/$1.log"
  elif ((silent > silence_limit)); then
    echo "stopped after $silence_limit seconds without a line"
  fi
}

# compiles SESSION: one of its programs is a compiler or linker.
compiles() {
  local name
  for name in swift-frontend clang cc1 ld lld; do
    ! pgrep --session "$1" "^$name" >/dev/null || return 0
  done
  return 1
}

# show_stacks SESSION: what each thread of each of its programs does. Python's
# say so themselves, when they are aborted, in words of Python.
show_stacks() {
  local id
  for id in $(pgrep --session "$1"); do
    case $(cat "/proc/$id/comm" 2>/dev/null) in
      '' | *sh | timeout | sleep | tee | sed) continue ;;
    esac
    echo "-- $id: $(tr '\0' ' ' <"/proc/$id/cmdline")"
    timeout --kill-after=5 60 gdb -nx -batch -iex 'set complaints 0' -p "$id" \
      -ex 'thread apply all backtrace' || true
  done
  if pkill -ABRT --session "$1" python; then
    sleep 1
  fi
}

# end_sessions SESSION...
end_sessions() {
  local id
  for id; do
    pkill -KILL --session "$id" || true
  done
}

# judge NAME STATUS SHOWN HANGS: counts a part that has ended, and says how, with
# its line "figures: ..."; of its log what `tail -n SHOWN` does.
judge() {
  local name=$1 status=$2 shown=$3 hangs=$4 log=$logs/$1.log counts figures said
  counts=$(log_counts "$log")
  figures=$(sed -n 's/^figures: //p' "$log")
  said="${took[$name]}s${counts:+ ($counts)}${figures:+: $figures}"
  # A suite that counts failures has failed, whatever it returns.
  if [[ $status == 0 && -n $counts && $counts != *", 0 failed" ]]; then
    status=1
  fi
  case $status in
    0)
      passed=$((passed + 1))
      echo "$name … ok $said"
      ;;
    "$skipped")
      skipped_parts+=("$name")
      echo "$name … SKIPPED: $(tail -n 1 "$log")"
      ;;
    *)
      failed_parts+=("$name")
      tail -n "$shown" "$log" | sed 's/^/    /'
      echo "$name … FAILED $said; all of it: $log"
      what_failed+="$name"$'\n'$( (complaints "$log"; echo "$hangs") |
        sed '/./s/^/    /')$'\n'
      ;;
  esac
}

# processor_seconds NAME: what a part has used of the processor; nothing when that
# is not known.
processor_seconds() {
  [[ ! -f $logs/$1.times ]] || awk '{
    for (i = 1; i <= NF; i++) { split($i, t, /[ms]/); all += t[1] * 60 + t[2] }
  } END { printf "%.0f", all }' "$logs/$1.times"
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
  local failed=${#failed_parts[@]} skips=${#skipped_parts[@]} allowed=$1 part
  echo
  printf '%8s %8s  %s\n' seconds CPU part
  for part in "${!took[@]}"; do
    printf '%8s %8s  %s\n' "${took[$part]}" "$(processor_seconds "$part")" "$part"
  done | sort --key=1,1nr --key=3
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
