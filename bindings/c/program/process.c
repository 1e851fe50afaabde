// Finds processes that have the library, and asks them.
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "CInturnSystem.h"
#include "picture.h"
#include "program.h"

/// How long a process may take to answer.
enum { ANSWER_SECONDS = 10 };

char *read_file(pid_t process, const char *name, size_t *out_length) {
  char path[96];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)process, name);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return NULL;
  size_t length = 0, room = 4096;
  char *bytes = NULL;
  for (;;) {
    char *more = realloc(bytes, room + 1);
    if (!more)
      fail("out of memory");
    bytes = more;
    ssize_t got = read(file, bytes + length, room - length);
    if (got < 0) {
      int error = errno;
      free(bytes);
      close(file);
      errno = error;
      return NULL;
    }
    length += (size_t)got;
    if (got == 0)
      break;
    if (length == room)
      room *= 2;
  }
  close(file);
  bytes[length] = '\0';
  if (out_length)
    *out_length = length;
  return bytes;
}

// Finding processes

/// Replaces what a terminal might obey, as others choose the names that are
/// shown.
static void clean(char *text) {
  for (int length; *text; text += length ? length : 1) {
    length = inturn_system_character(text);
    if (length == 0)
      *text = '?';
    else if (inturn_system_is_control(text))
      memset(text, ' ', (size_t)length);
  }
}

/// The next file of the library in a process's maps, cut to the room, of which
/// each has several lines one after the other. False if none.
static bool find_library(const char **maps, char *path, size_t room) {
  const char *name = strstr(*maps, "/libinturn.so");
  if (!name)
    return false;
  const char *begin = name;
  while (begin > *maps && begin[-1] != '\n')
    begin--;
  begin = strchr(begin, '/');
  int length = (int)strcspn(begin, "\n");
  snprintf(path, room, "%.*s", length, begin);
  *maps = begin + length;
  return true;
}

/// How many files more of the library are in a process's maps.
static int count_libraries(const char *maps, const char *first) {
  char before[512], path[512];
  int count = 0;
  snprintf(before, sizeof before, "%s", first);
  for (; find_library(&maps, path, sizeof path); strcpy(before, path))
    count += strcmp(before, path) != 0;
  return count;
}

/// Whether the library is linked into a program: one of its threads has a name
/// of the library's.
static bool has_threads_of_library(pid_t process) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task", (int)process);
  DIR *tasks = opendir(path);
  bool has = false;
  for (struct dirent *task; tasks && !has && (task = readdir(tasks));) {
    if (!isdigit((unsigned char)task->d_name[0]))
      continue;
    snprintf(path, sizeof path, "task/%.20s/comm", task->d_name);
    char *name = read_file(process, path, NULL);
    has = name && strncmp(name, "inturn-", 7) == 0;
    free(name);
  }
  if (tasks)
    closedir(tasks);
  return has;
}

/// The process's command in one line.
static void write_command(pid_t process, char *text, size_t room) {
  size_t length;
  char *bytes = read_living(process, "cmdline", &length);
  if (!bytes || length == 0) {
    name_process(process, text, room);
  } else {
    for (size_t i = 0; i + 1 < length; i++)
      if (bytes[i] == '\0')
        bytes[i] = ' ';
    clean(bytes);
    snprintf(text, room, "%s", bytes);
  }
  free(bytes);
}

void name_process(pid_t process, char *name, size_t room) {
  char *bytes = read_file(process, "comm", NULL);
  snprintf(name, room, "%.*s", (int)strcspn(bytes ? bytes : "?", "\n"),
           bytes ? bytes : "?");
  clean(name);
  free(bytes);
}

// Asking

/// The process's number in its own namespace.
static long own_number(pid_t process) {
  long number = process;
  char *status = read_file(process, "status", NULL);
  const char *line = status ? strstr(status, "\nNSpid:") : NULL;
  if (line) {
    line += strlen("\nNSpid:");
    const char *last = line + strcspn(line, "\n");
    while (last > line && isdigit((unsigned char)last[-1]))
      last--;
    number = strtol(last, NULL, 10);
  }
  free(status);
  return number;
}

/// The path of its socket, as the process sees it. False if it has none.
/// `environment` is NULL if it cannot be read: `errno` says why.
static bool find_socket(pid_t process, const char *environment, size_t length,
                        char *path, size_t room) {
  static const char name[] = "INTURN_SOCKET=";
  const char *value = NULL;
  for (const char *next = environment; next < environment + length;
       next += strlen(next) + 1)
    if (!value && strncmp(next, name, strlen(name)) == 0)
      value = next + strlen(name);
  if (!value || !*value)
    return false;
  size_t used = 0;
  for (; *value && used + 1 < room; value++) {
    if (value[0] == '%' && value[1] == 'p') {
      int added =
          snprintf(path + used, room - used, "%ld", own_number(process));
      used = used + (size_t)added < room ? used + (size_t)added : room - 1;
      value++;
    } else {
      path[used++] = *value;
    }
  }
  path[used] = '\0';
  return true;
}

int list_processes(void) {
  DIR *processes = opendir("/proc");
  if (!processes)
    fail("there is no /proc");
  printf("%8s  %-20s  %-24s  %s\n", "PID", "LIBRARY", "SOCKET", "COMMAND");
  for (struct dirent *entry; (entry = readdir(processes));) {
    if (!isdigit((unsigned char)entry->d_name[0]))
      continue;
    pid_t process = (pid_t)strtol(entry->d_name, NULL, 10);
    char library[512] = "in the program", path[256] = "-", command[512];
    // Maps of other users' processes cannot be read.
    char *maps = read_living(process, "maps", NULL);
    const char *rest = maps;
    if (maps && (find_library(&rest, library, sizeof library) ||
                 has_threads_of_library(process))) {
      size_t length;
      char *environment = read_living(process, "environ", &length);
      if (environment)
        find_socket(process, environment, length, path, sizeof path);
      free(environment);
      write_command(process, command, sizeof command);
      clean(library);
      clean(path);
      const char *name = strrchr(library, '/');
      char more[32] = "";
      int others = count_libraries(rest, library);
      if (others > 0)
        snprintf(more, sizeof more, " (and %d more)", others);
      printf("%8d  %-20s%s  %-24s  %s\n", (int)process,
             name ? name + 1 : library, more, path, command);
    }
    free(maps);
  }
  closedir(processes);
  return 0;
}

/// Whether the system has stopped it, for example by SIGSTOP or a debugger.
static bool is_stopped(pid_t process) {
  char *status = read_file(process, "status", NULL);
  const char *line = status ? strstr(status, "\nState:\t") : NULL;
  bool is = line && (line[8] == 'T' || line[8] == 't');
  free(status);
  return is;
}

/// A stopped process does not answer, and the caller would wait in vain.
static void fail_if_stopped(pid_t process) {
  if (is_stopped(process))
    fail("process %d is stopped, so it does not answer", (int)process);
}

/// Connects to a path in the process's own file system. -1 on failure: `errno`
/// says why.
static int connect_to(pid_t process, const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  char folder[64];
  bool is_absolute = path[0] == '/';
  snprintf(folder, sizeof folder, "/proc/%d/%s", (int)process,
           is_absolute ? "root" : "cwd");
  path += strspn(path, "/");
  if (strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(address.sun_path, path);
  // By way of the folder, as an address only has room for the path itself.
  int back = open(".", O_PATH | O_CLOEXEC);
  int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0 || chdir(folder) != 0 ||
      connect(connection, (struct sockaddr *)&address, sizeof address) != 0) {
    int error = errno;
    if (connection >= 0)
      close(connection);
    connection = -1;
    errno = error;
  }
  int error = errno;
  if (back >= 0) {
    if (fchdir(back) != 0)
      fail("the folder that this was started in is gone");
    close(back);
  }
  errno = error;
  return connection;
}

/// Fails if the process is gone, or has not loaded the library.
static void fail_without_library(pid_t process) {
  int number = (int)process;
  char *maps = read_living(process, "maps", NULL);
  if (!maps && errno == ENOENT)
    fail("there is no process %d", number);
  if (!maps)
    fail("process %d cannot be looked into: %s", number, strerror(errno));
  char path[256];
  const char *rest = maps;
  if (!find_library(&rest, path, sizeof path) &&
      !has_threads_of_library(process))
    fail("process %d has not loaded libinturn", number);
  free(maps);
}

/// Connects to a process and sends it a request, such as "dump text". Returns
/// the descriptor from which the answer is read. Fails if the process does not
/// answer; `fault` is why its memory cannot be read either.
static int ask(pid_t process, const char *request, const char *fault) {
  int number = (int)process;
  size_t length;
  fail_without_library(process);
  char *environment = read_living(process, "environ", &length);
  if (!environment)
    fail("process %d cannot be looked into: %s", number, strerror(errno));
  char path[256];
  if (!find_socket(process, environment, length, path, sizeof path))
    fail("process %d cannot be read: %s", number, fault);
  free(environment);
  fail_if_stopped(process);
  int connection = connect_to(process, path);
  if (connection < 0)
    fail("process %d does not listen at %s: %s", number, path, strerror(errno));
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
      peer.pid != process)
    fail("at %s, process %d listens, not process %d", path, (int)peer.pid,
         number);
  char line[80];
  int count = snprintf(line, sizeof line, "%s\n", request);
  if (send(connection, line, (size_t)count, MSG_NOSIGNAL) != count)
    fail("process %d has hung up", number);
  return connection;
}

/// Reads more of an answer. 0 at its end. Fails if nothing arrives.
static size_t read_answer(pid_t process, int descriptor, char *bytes,
                          size_t room) {
  struct pollfd readable = {.fd = descriptor, .events = POLLIN};
  int ready;
  do
    ready = poll(&readable, 1, ANSWER_SECONDS * 1000);
  while (ready < 0 && errno == EINTR);
  if (ready == 0) {
    fail_if_stopped(process);
    fail("process %d has not answered in %d seconds", (int)process,
         ANSWER_SECONDS);
  }
  ssize_t got = read(descriptor, bytes, room);
  if (got < 0)
    fail("process %d has hung up: %s", (int)process, strerror(errno));
  return (size_t)got;
}

/// The whole answer. NULL if the process refuses: `why` is what it has said.
static char *answer_by_socket(pid_t process, const char *request,
                              const char *fault, char why[256]) {
  static const char error[] = "error: ";
  int connection = ask(process, request, fault);
  size_t length = 0, room = 65536, got;
  char *text = NULL;
  do {
    char *more = length + 1 < room && text ? text : realloc(text, room *= 2);
    if (!more)
      fail("out of memory");
    text = more;
    got = read_answer(process, connection, text + length, room - 1 - length);
    length += got;
  } while (got > 0);
  close(connection);
  text[length] = '\0';
  if (strncmp(text, error, strlen(error)) != 0)
    return text;
  snprintf(why, 256, "%.*s", (int)strcspn(text + strlen(error), "\n"),
           text + strlen(error));
  free(text);
  return NULL;
}

// Reading

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

void read_first_ones(void) { picture.most = 1000; }

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
