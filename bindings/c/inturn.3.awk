# Makes the manual page inturn(3) of inturn.h: the header's manual, and each
# function with the first sentence of its comment.
#
#   awk -v version=0.1.0 -f inturn.3.awk inturn.h

# roff TEXT: without what roff would take for a request or an escape.
function roff(text) {
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  return text ~ /^[.']/ ? "\\&" text : text
}

# mode NEXT: what is printed next is "prose", a "program" (or a table), or neither.
function mode(next_mode) {
  if (next_mode == current) return
  if (current == "program") print ".fi\n.RE"
  if (next_mode == "program") print ".PP\n.RS\n.nf"
  if (next_mode == "prose") print ".PP"
  current = next_mode
}

# The manual: a line is known for a heading when the next one underlines it.
function manual(line) {
  if (line ~ /^-+$/ || line == "Where to start") {
    mode("")
    print ".SH " toupper(line ~ /^-/ ? held : line)
    line = ""
  } else if (held ~ /^  /) {
    mode("program")
    print roff(substr(held, 3))
  } else if (held != "") {
    mode("prose")
    print roff(held)
  } else if (current == "prose" || line !~ /^  /) {
    mode("")
  } else {
    print ""
  }
  held = line
}

NR == 1 {
  print ".TH INTURN 3 \"\" \"Inturn " version "\" \"\"\n.nh"
  print ".SH NAME\ninturn \\- asynchronous work, in turn"
  print ".SH SYNOPSIS\n.nf\n#include <inturn.h>\n.PP\ncc program.c \\-linturn \\-lpthread\n.fi"
}

!declarations && / Where to start/ { begun = 1 }
!declarations && / \*\/$/ {
  manual("")
  mode("")
  declarations = 1
  print ".SH FUNCTIONS"
  next
}
!declarations {
  sub(/^ \* ?/, "")
  if (begun) manual($0)
  next
}

/^\/\* [A-Z][a-z]+ -+ \*\/$/ { section = $2; next }
/^\/\*/ { comment = ""; inside = 1 }
inside {
  line = $0
  if (line ~ /\*\//) inside = 0
  gsub(/^\/\* *|^ +| *\*\/.*$/, "", line)
  comment = comment (comment == "" ? "" : " ") line
  next
}
/^ *[a-z].*[ *]inturn_[a-z_]+\(|^inturn_[a-z_]+\(/ {
  match($0, /inturn_[a-z_]+\(/)
  name = substr($0, RSTART, RLENGTH - 1)
  if (section != printed) print ".SS " section
  printed = section
  sub(/\. [A-Z].*/, ".", comment)
  print ".TP\n.B " name "\n" roff(comment)
}

END {
  print ".SH SEE ALSO"
  print "inturn.h has what each function guarantees and each status that it gives;"
  print "inturn.hpp is the same for C++."
}
