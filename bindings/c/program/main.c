// inturn: asks running processes what their queues do, and what blocks them.
#include <ctype.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

static const char usage[] =
    "usage: inturn ps                     processes that have the library\n"
    "       inturn dump PID [FORMAT]      everything: text, json, dot or html\n"
    "       inturn why PID [ID | LABEL]   what is holding an operation or a\n"
    "                                     queue up, or each queue\n"
    "       inturn holders PID [ID | LABEL]\n"
    "                                     where copies are of the tokens that\n"
    "                                     operations wait for\n"
    "       inturn top PID [SECONDS]      a live table of queues, refreshed\n"
    "                                     every SECONDS (1)\n"
    "\n"
    "What a process does is read from its memory, also while it is stopped. "
    "Where\n"
    "the system forbids that, a process answers that was started with\n"
    "INTURN_SOCKET=PATH in its environment; %p in it is replaced by its ID. "
    "Of a\n"
    "process that uses several copies of the library, PID.2 is the second.\n";

void (*before_failure)(void);

void fail(const char *format, ...) {
  va_list arguments;
  if (before_failure)
    before_failure();
  va_start(arguments, format);
  fputs("inturn: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(1);
}

void *with_room(void *array, size_t count, size_t *room, size_t size) {
  if (count < *room)
    return array;
  *room = *room ? 2 * *room : 64;
  array = realloc(array, *room * size);
  if (!array)
    fail("out of memory");
  return array;
}

static void write_out(const char *bytes, size_t count) {
  if (fwrite(bytes, 1, count, stdout) != count)
    fail("cannot write to the standard output");
}

static int write_dump(pid_t process, const char *format) {
  char request[32], fault[256];
  if (strlen(format) > 8 || strpbrk(format, "\r\n"))
    fail("a dump is text, json, dot or html");
  snprintf(request, sizeof request, "dump %s", format);
  char *dump = answer_to(process, request, fault);
  if (!dump)
    fail("%s", fault);
  write_out(dump, strlen(dump));
  free(dump);
  return 0;
}

// Why

/// Writes what blocks an operation. False if it cannot: `fault` says why.
static bool write_why(pid_t process, const char *id, char fault[256]) {
  char request[64];
  snprintf(request, sizeof request, "why %s", id);
  char *text = answer_to(process, request, fault);
  if (text)
    write_out(text, strlen(text));
  free(text);
  return text != NULL;
}

bool is_id(const char *text) {
  return text[0] == '0' && text[1] == 'x' && strlen(text) <= 18 &&
         strspn(text + 2, "0123456789abcdef") == strlen(text + 2);
}

/// For each queue, the first pending operation that has an id, or else the
/// queue itself if anything is pending, or else the first running operation, or
/// else the queue again; with a label, all operations that have it or whose
/// queue has it. False if none has.
static bool write_whys(pid_t process, const char *label) {
  char fault[256];
  read_first_ones(!label);
  char *dump = answer_to(process, "dump text", fault);
  if (!dump)
    fail("%s", fault);
  struct entry entry;
  // What to ask about, of the queue whose entries are being read.
  char id[sizeof entry.id] = "";
  bool is_decided = false, is_of_label = false, has_found = false;
  int told = 0;
  for (const char *rest = dump;;) {
    bool is_there = next_entry(&rest, &entry);
    if (!is_there || strcmp(entry.kind, "queue") == 0) {
      // The operation may have ended meanwhile.
      if (id[0] && write_why(process, id, fault))
        told++;
      id[0] = '\0';
      is_decided = false;
      if (!is_there)
        break;
      is_of_label = label && is_label(label, entry.label);
      has_found |= is_of_label;
      if (is_of_label || !label)
        is_decided = ask_about(&entry, id);
    } else if (strcmp(entry.kind, "operation") == 0 && entry.id[0]) {
      bool is_named = label && is_label(label, entry.label);
      has_found |= is_named;
      if (is_named || is_of_label) {
        id[0] = '\0'; // its operations say why
        if (write_why(process, entry.id, fault))
          told++;
      } else if (!label && !is_decided) {
        is_decided = ask_about(&entry, id);
      }
    }
  }
  free(dump);
  if (label && !has_found)
    return false;
  if (told == 0)
    puts(label ? "nothing of that label is pending or running"
               : "nothing is pending or running");
  return true;
}

static int write_why_of(pid_t process, const char *what) {
  char fault[256] = "no queue and no operation has the label ";
  bool may_be_id = what && is_id(what);
  read_first_ones(true);
  if (may_be_id && write_why(process, what, fault))
    return 0;
  if (!write_whys(process, what))
    fail("%s%s", fault, may_be_id ? "" : what);
  return 0;
}

static pid_t process_of(const char *text) {
  char *end;
  if (text[0] == '@')
    return use_debugger(text + 1);
  long number = strtol(text, &end, 10);
  if (*end == '.' && isdigit((unsigned char)end[1])) {
    long copy = strtol(end + 1, &end, 10);
    read_copy(copy < 1 || copy > 1000 ? 1000 : (unsigned)copy);
  }
  if (*end || !isdigit((unsigned char)*text) || number < 1 ||
      number > INT32_MAX)
    fail("%s is not the number of a process", text);
  return (pid_t)number;
}

static double seconds_of(const char *text) {
  char *end;
  double seconds = strtod(text, &end);
  if (*end || !(seconds >= 0.05 && seconds <= 3600))
    fail("%s is not from 0.05 to 3600 seconds", text);
  return seconds;
}

int main(int count, char **arguments) {
  const char *command = count > 1 ? arguments[1] : "";
  const char *third = count > 3 ? arguments[3] : NULL;
  int status = 2;
  // All texts are UTF-8, wherever the user is.
  if (!setlocale(LC_CTYPE, "C.UTF-8"))
    setlocale(LC_CTYPE, "");
  if (strcmp(command, "--help") == 0) {
    fputs(usage, stdout);
    status = 0;
  } else if (strcmp(command, "ps") == 0 && count == 2) {
    status = list_processes();
  } else if (strcmp(command, "dump") == 0 && (count == 3 || count == 4)) {
    status = write_dump(process_of(arguments[2]), third ? third : "text");
  } else if (strcmp(command, "why") == 0 && (count == 3 || count == 4)) {
    status = write_why_of(process_of(arguments[2]), third);
  } else if (strcmp(command, "holders") == 0 && (count == 3 || count == 4)) {
    status = show_holders(process_of(arguments[2]), third);
  } else if (strcmp(command, "top") == 0 && (count == 3 || count == 4)) {
    status = show_top(process_of(arguments[2]), third ? seconds_of(third) : 1);
  } else {
    fputs(usage, stderr);
  }
  if (fflush(stdout) != 0)
    fail("cannot write to the standard output");
  return status;
}
