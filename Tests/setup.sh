# shellcheck shell=bash
# What Tests/run needs of Debian and PyPI: says what is missing, and installs it
# where it may. It only defines: source it.

# shellcheck source=bindings/c/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../bindings/c/lib.sh"

readonly packages=$inturn_root/Tests/packages.txt
readonly requirements=$inturn_root/Tests/requirements.txt
readonly venv=$inturn_root/.build/venv
# One line for each thing that is missing and could not be installed: what it
# is, and the parts that need it.
readonly lacking=$inturn_root/.build/lacking
# The parts that use what comes from PyPI.
readonly python_parts=format,docs,python,readme,examples,windows,arm,outside,trace

# is_there KIND NAME: see packages.txt.
is_there() {
  case $1 in
    command) "$2" --version >/dev/null 2>&1 ;;
    header) echo "#include <$2>" | g++ -E -x c++ - >/dev/null 2>&1 ;;
    pkg-config) pkg-config --exists "$2" 2>/dev/null ;;
    module) python3 -c "import $2" 2>/dev/null ;;
    debian) /usr/bin/python3 -c "import $2" 2>/dev/null ;;
    path) command -v "$2" >/dev/null ;;
    file) [[ -e $2 ]] ;;
    *) fail "packages.txt: unknown kind $1" ;;
  esac
}

# missing_packages: each package that is not there, and the parts that need it.
missing_packages() {
  local package kind name users
  while read -r package kind name users; do
    [[ -z $package || $package == \#* ]] || is_there "$kind" "$name" ||
      echo "$package ${users:-all}"
  done <"$packages"
}

# installer: how to run apt-get here; fails when that is not allowed.
installer() {
  command -v apt-get >/dev/null || return 1
  if [[ $(id -u) == 0 ]]; then
    echo apt-get
  elif sudo -n true 2>/dev/null; then
    echo sudo -n apt-get
  else
    return 1
  fi
}

# install_packages PACKAGE...: fails when it may not or cannot.
install_packages() {
  local apt
  apt=$(installer) || return 1
  export DEBIAN_FRONTEND=noninteractive
  # An old index may do: what is not installed is seen afterwards.
  # shellcheck disable=SC2086
  $apt update || true
  # shellcheck disable=SC2086
  $apt install --yes --no-install-recommends "$@"
}

# set_up_packages: lists in $lacking what is still missing afterwards.
set_up_packages() {
  local missing
  mapfile -t missing < <(missing_packages)
  if ((${#missing[@]} > 0)); then
    echo "missing Debian packages: ${missing[*]%% *}"
    install_packages "${missing[@]%% *}" || echo "they are not installed"
    missing_packages >>"$lacking"
  fi
}

# set_up_python: the pinned packages of PyPI, in an environment of their own.
set_up_python() {
  cmp --silent "$requirements" "$venv/requirements.txt" && return
  rm -rf "$venv"
  if python3 -m venv "$venv" && "$venv/bin/pip" install \
    --disable-pip-version-check --progress-bar off \
    --requirement "$requirements"; then
    cp "$requirements" "$venv/"
  else
    rm -rf "$venv"
    echo "Tests/requirements.txt $python_parts" >>"$lacking"
  fi
}

# set_up: skips, and says what to do, when something is missing that it may not
# or cannot install. The parts that need it are skipped, too: see lacks.
set_up() {
  mkdir -p "$(dirname "$lacking")"
  : >"$lacking"
  set_up_packages
  set_up_python
  [[ -s $lacking ]] || return 0
  local what debian=() how=
  while read -r what _; do
    [[ $what == Tests/requirements.txt ]] || debian+=("$what")
  done <"$lacking"
  ((${#debian[@]} == 0)) || how=" (as root: apt-get install ${debian[*]})"
  skip "not installed: $(cut -d' ' -f1 "$lacking" | paste -sd' ')$how"
}

# lacks PART: what of the lacking things a part needs, in one line.
lacks() {
  local what users found=()
  [[ -f $lacking ]] || return 0
  while read -r what users; do
    if [[ $users == all || ,$users, == *,$1,* ]]; then
      found+=("$what")
    fi
  done <"$lacking"
  echo "${found[*]-}"
}
