# shellcheck shell=bash
# What is said of a test program while it runs. It only defines: source it.

# logged FILE COMMAND...: what the command says is in the file and, indented, seen
# line by line; so that the log of a program that hangs ends with the test that it
# hangs in. In a group, so that what the shell says of a crash is there, too.
logged() {
  { "${@:2}"; } 2>&1 | tee "$1" | sed -u 's/^/    /'
  return "${PIPESTATUS[0]}"
}
