// Answers questions about a process: from its memory, or else by asking it.
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"
#include "program.h"

static struct memory memory = {.requests = -1, .answers = -1};

/// The address of the mark, and whether a debugger has found it.
static uint64_t mark;
static bool has_debugger;

/// Which copy of the library is read, of those in a process. 0: the first, and
/// it is said that there are others.
static unsigned copy;

void read_copy(unsigned number) { copy = number; }

static void choose_copy(pid_t process, unsigned copies) {
  int number = (int)process;
  if (copy > 1 && copy > copies)
    fail("process %d uses %u %s of the library", number, copies,
         copies == 1 ? "copy" : "copies");
  if (copy == 0 && copies > 1)
    fprintf(stderr,
            "inturn: process %d uses %u copies of the library; this is of the "
            "first: %d.2 is the second\n",
            number, copies, number);
  copy = copy ? copy : 1;
}

/// The last picture.
static struct picture picture;
static bool has_picture;

void read_first_ones(bool only_these) { picture.most = only_these ? 1000 : 0; }

pid_t use_debugger(const char *how) {
  char kind[8];
  if (sscanf(how, "%d,%d,%" SCNx64 ",%7s", &memory.answers, &memory.requests,
             &mark, kind) != 4)
    fail("@%s is not how a debugger calls this", how);
  has_debugger = true;
  has_no_now = strcmp(kind, "core") == 0;
  return 0;
}

/// Reads the whole engine. False if it cannot be read: `fault` says why.
static bool take_picture(pid_t process, char fault[256]) {
  memory.process = memory.thread = process;
  unsigned copies = 1;
  enum finding finding =
      has_debugger ? FOUND
                   : find_mark(&memory, copy ? copy : 1, &mark, &copies);
  if (finding != FORBIDDEN)
    choose_copy(process, copies);
  if (finding == FORBIDDEN)
    snprintf(
        fault, 256,
        "the system forbids it (%s). Its user and root may, who may also "
        "set kernel.yama.ptrace_scope to 0 for all; and it answers by "
        "itself when INTURN_SOCKET=PATH is in its environment as it starts",
        strerror(errno));
  else if (finding == NO_LIBRARY)
    snprintf(fault, 256, "its library is too old for that");
  if (finding != FOUND)
    return false;
  free_picture(&picture);
  picture.now_ns = now_ns();
  has_picture = read_picture(&memory, mark, &picture, fault);
  return has_picture;
}

struct picture *read_process(pid_t process, struct memory **out_memory) {
  char fault[256];
  if (!take_picture(process, fault)) {
    fail_without_library(process);
    fail("process %d cannot be read: %s", (int)process, fault);
  }
  *out_memory = &memory;
  return &picture;
}

/// Whether what was written of the picture misses an operation, which is there
/// now.
static bool takes_missing(void) {
  uint64_t id = picture.missing;
  picture.missing = 0;
  if (picture.most == 0 || !is_of_operation(id))
    return false;
  read_operation(&picture, id);
  return true;
}

/// Answers a request from the last picture.
static char *answer_of_picture(const char *request, char why[256]) {
  char *text;
  size_t length;
  bool has;
  do {
    text = NULL;
    FILE *file = open_memstream(&text, &length);
    if (!file)
      fail("out of memory");
    if (strncmp(request, "dump ", 5) == 0) {
      has = write_picture(&picture, request + 5, file);
      snprintf(why, 256, "a dump is text, json, dot or html");
    } else {
      uint64_t id = strtoull(request + 4, NULL, 16);
      has = write_reason(&picture, id, file);
      snprintf(why, 256, "%s",
               is_of_operation(id) || !find_thing(&picture, id)
                   ? "there is no such operation"
                   : "nothing is pending or running");
    }
    if (fclose(file) != 0)
      fail("out of memory");
    if (!takes_missing())
      break;
    free(text);
  } while (true);
  if (has)
    return text;
  free(text);
  return NULL;
}

char *answer_to(pid_t process, const char *request, char why[256]) {
  char fault[256];
  // Questions about operations are answered from the last picture.
  bool is_dump = strncmp(request, "dump ", 5) == 0;
  if ((has_picture && !is_dump) || take_picture(process, fault))
    return answer_of_picture(request, why);
  if (has_debugger)
    fail("%s", fault);
  return answer_by_socket(process, request, fault, why);
}
