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

/// The rest of the line of its status that begins so. Empty if there is none.
static void read_status(pid_t process, const char *begin, char rest[128]) {
  char *status = read_file(process, "status", NULL);
  const char *line = status ? strstr(status, begin) : NULL;
  line = line ? line + strlen(begin) : "";
  snprintf(rest, 128, "%.*s", (int)strcspn(line, "\n"), line);
  free(status);
}

/// The process's number in its own namespace.
static long own_number(pid_t process) {
  char numbers[128];
  read_status(process, "\nNSpid:", numbers);
  const char *last = strrchr(numbers, '\t');
  return last ? strtol(last, NULL, 10) : process;
}

/// The path of its socket, as the process sees it. False if it has none.
/// `environment` is NULL if it cannot be read: then this program's says it.
static bool find_socket(pid_t process, const char *environment, size_t length,
                        char *path, size_t room) {
  static const char name[] = "INTURN_SOCKET=";
  const char *value = environment ? NULL : getenv("INTURN_SOCKET");
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

/// A process that the system has stopped, for example by SIGSTOP or a debugger,
/// does not answer, and the caller would wait in vain.
static void fail_if_stopped(pid_t process) {
  char state[128];
  read_status(process, "\nState:\t", state);
  if (state[0] == 'T' || state[0] == 't')
    fail("process %d is stopped, so it does not answer", (int)process);
}

/// Connects to a path in the process's own file system, or in this program's.
/// -1 on failure: `errno` says why.
static int connect_to(pid_t process, const char *path, bool is_own) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  char folder[64];
  bool is_absolute = path[0] == '/';
  snprintf(folder, sizeof folder, "/proc/%d/%s", (int)process,
           is_absolute ? "root" : "cwd");
  if (is_own)
    strcpy(folder, is_absolute ? "/" : ".");
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

void fail_without_library(pid_t process) {
  int number = (int)process;
  char *maps = read_living(process, "maps", NULL);
  if (!maps && errno == ENOENT)
    fail("there is no process %d", number);
  char path[256], state[128], user[128];
  int error = errno;
  read_status(process, "\nUid:\t", user);
  if (!maps && geteuid() != 0 && strtoul(user, NULL, 10) != geteuid())
    fail("process %d belongs to another user: run this as that user or as root",
         number);
  if (!maps)
    fail("process %d cannot be looked into: %s. If it has a socket, "
         "INTURN_SOCKET=PATH in the environment of this program says where",
         number, strerror(error));
  const char *rest = maps;
  bool has_library =
      find_library(&rest, path, sizeof path) || has_threads_of_library(process);
  read_status(process, "\nState:\t", state);
  if (!has_library && state[0] == 'Z')
    fail("process %d has ended; its parent has not waited for it", number);
  if (!has_library)
    fail("process %d has not loaded libinturn", number);
  free(maps);
}

/// Connects to a process and sends it a request, such as "dump text". Returns
/// the descriptor from which the answer is read. Fails if the process does not
/// answer; `fault` is why its memory cannot be read either.
static int ask(pid_t process, const char *request, const char *fault) {
  int number = (int)process;
  size_t length;
  char path[256];
  char *environment = read_living(process, "environ", &length);
  bool is_own = !environment && errno == EACCES;
  bool has_socket =
      (environment || is_own) &&
      find_socket(process, environment, length, path, sizeof path);
  if (!is_own || !has_socket)
    fail_without_library(process);
  if (!has_socket)
    fail("process %d cannot be read: %s", number, fault);
  free(environment);
  fail_if_stopped(process);
  int connection = connect_to(process, path, is_own);
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

char *answer_by_socket(pid_t process, const char *request, const char *fault,
                       char why[256]) {
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
