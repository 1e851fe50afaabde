# shellcheck shell=bash
# A display that nobody sees, for tests of windows. It only defines: source it.

# begin_display GEOMETRY: starts an X server of the caller's own and says so in
# DISPLAY; the caller ends it with end_display.
begin_display() {
  local number
  display_number=$(mktemp)
  # -r: a key that is down for long, on a busy machine, is still pressed once.
  # -noreset: when the last client goes, the next one is not turned away.
  Xvfb -displayfd 3 -screen 0 "$1" -nolisten tcp -r -noreset \
    3>"$display_number" >/dev/null 2>&1 &
  display_server=$!
  # It writes its number when it takes connections.
  number=$(timeout 30 tail -n +1 --pid="$display_server" -f "$display_number" |
    head -n 1) || true
  rm -f "$display_number"
  if [[ -z $number ]]; then
    echo "Xvfb has not begun within 30 seconds" >&2
    return 1
  fi
  export DISPLAY=:$number
  unset WAYLAND_DISPLAY DBUS_SESSION_BUS_ADDRESS
  # Drawing without a graphics processor, and no services of a desktop.
  export GDK_BACKEND=x11 GSK_RENDERER=cairo SDL_VIDEODRIVER=x11
  export GSETTINGS_BACKEND=memory GTK_A11Y=none GIO_USE_VFS=local
  export NO_AT_BRIDGE=1
}

end_display() {
  [[ -n ${display_server-} ]] || return 0
  kill "$display_server" 2>/dev/null || true
  wait "$display_server" 2>/dev/null || true
}
