# shellcheck shell=bash
# It only defines: source it.

# make_emulated FILE ROOT PROGRAM: makes FILE a script that runs the program in
# the emulator, under the script's own name: so it can also start itself. ROOT has
# the libraries that the program looks for.
make_emulated() {
  cat >"$1" <<END
#!/bin/sh
exec qemu-aarch64 -L '$2' -0 "\$0" '$3' "\$@"
END
  chmod +x "$1"
}
