// Lets a process answer questions from outside: a signal asks for a dump
// (INTURN_DUMP), and a line sent to a socket asks for a dump or a reason
// (INTURN_SOCKET). A separate thread answers, so that it works while all others
// are blocked. When neither is set, there is no thread, and nothing is opened.
// A trace (INTURN_TRACE) is written as the process exits, by who lets it exit.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "CInturnSystem.h"
#include "Internal.h"

/// How long a client may take to send its request, or to read the answer.
enum { CLIENT_SECONDS = 5 };
/// How what is no file is opened: not to wait for its reader for longer.
enum { IN_PLACE = O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC };
/// How often the rest of what was no request is read.
enum { MOST_READS = 64 };

/// Signals that a program may handle and that no thread raises itself: not by a
/// fault, nor by writing, as the answering thread does.
static const struct {
  char name[10];
  unsigned char number;
} signals[] = {
    {"SIGUSR1", SIGUSR1}, {"SIGUSR2", SIGUSR2},     {"SIGQUIT", SIGQUIT},
    {"SIGHUP", SIGHUP},   {"SIGINT", SIGINT},       {"SIGTERM", SIGTERM},
    {"SIGALRM", SIGALRM}, {"SIGVTALRM", SIGVTALRM}, {"SIGCHLD", SIGCHLD},
    {"SIGCONT", SIGCONT}, {"SIGTSTP", SIGTSTP},     {"SIGTTIN", SIGTTIN},
    {"SIGURG", SIGURG},   {"SIGWINCH", SIGWINCH},   {"SIGIO", SIGIO},
};

static const char *const formats[] = {"text", "json", "dot", "html"};
enum { FORMATS = sizeof formats / sizeof *formats };

struct text {
  uintptr_t length;
  bool is_cut; // the text was too long for its room
  char bytes[512];
};

static void add(struct text *text, const char *more) {
  while (*more && text->length < sizeof text->bytes - 1)
    text->bytes[text->length++] = *more++;
  text->bytes[text->length] = '\0';
  text->is_cut |= *more != '\0';
}

static void add_number(struct text *text, unsigned number) {
  char digits[11];
  char *first = digits + sizeof digits - 1;
  *first = '\0';
  do
    *--first = (char)('0' + number % 10);
  while (number /= 10);
  add(text, first);
}

/// What the environment said when the library was loaded; the program may
/// change it later. The paths still contain their %p.
static int signal_of_dump;
static struct text dump_path;   // empty: the standard error
static struct text socket_path; // empty: no socket
static struct text trace_path;  // empty: nothing is recorded
/// What is wrong with INTURN_DUMP, until it is reported.
static const char *dump_fault;

/// Called by the thread; set before it starts.
static inturn_system_dump_fn write_dump;
static inturn_system_why_fn write_why;

/// Whether this process writes a trace as it exits, perhaps on another thread
/// than the one that began: stored with releasing order, after `write_dump`.
static bool is_traced;

/// The process whose thread answers, or 0: a child does not share its parent's.
/// Stored with releasing order once the descriptors and the socket's file are
/// known.
static pid_t answering;
static int event = -1; // the end to poll
static int event_write_end = -1;
static int listener = -1;
static struct inturn_system_file socket_file;
/// The signal has come and has not been answered. The handler sets this and
/// then reads `answering`; the thread sets `answering` and then reads this.
/// Both are sequentially consistent, so at least one of them sees the other.
static bool is_asked;

static void say(const char *name, const char *first, const char *second) {
  struct text line = {0};
  add(&line, "inturn: ");
  add(&line, name);
  add(&line, ": ");
  add(&line, first);
  add(&line, second);
  add(&line, "\n");
  inturn_system_write_error(line.bytes, line.length);
}

/// A path with the process's number for each %p.
static struct text this_process(const struct text *path) {
  struct text result = {.is_cut = path->is_cut};
  for (const char *next = path->bytes; *next; next++) {
    if (next[0] == '%' && next[1] == 'p') {
      add_number(&result, (unsigned)getpid());
      next++;
    } else {
      char one[2] = {*next, '\0'};
      add(&result, one);
    }
  }
  return result;
}

// Being asked

/// Handles the signal, on any thread: it only wakes the answering thread.
static void ask(int number) {
  (void)number;
  int error = errno;
  __atomic_store_n(&is_asked, true, __ATOMIC_SEQ_CST);
  // A child without its own thread must not wake its parent's.
  if (__atomic_load_n(&answering, __ATOMIC_SEQ_CST) == getpid())
    inturn_system_event_signal(event_write_end);
  errno = error;
}

/// Whether the program handles the signal itself.
static bool is_taken(int number) {
  struct sigaction action;
  return sigaction(number, NULL, &action) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

void inturn_system_answers_load(void) {
  const char *path = inturn_system_setting("INTURN_SOCKET");
  if (path)
    add(&socket_path, path);
  path = inturn_system_setting("INTURN_TRACE");
  if (path)
    add(&trace_path, path);
  const char *value = inturn_system_setting("INTURN_DUMP");
  if (!value || !*value)
    return;
  uintptr_t length = strcspn(value, ":");
  int number = 0;
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
    if (strlen(signals[i].name) == length &&
        memcmp(signals[i].name, value, length) == 0)
      number = signals[i].number;
  if (value[length] == ':')
    add(&dump_path, value + length + 1);
  struct sigaction action = {.sa_flags = SA_RESTART | SA_ONSTACK};
  action.sa_handler = ask;
  sigfillset(&action.sa_mask);
  if (number == 0)
    dump_fault = "it begins with no signal that can ask, such as SIGUSR2";
  else if (is_taken(number))
    dump_fault = "the program handles that signal itself";
  else if (sigaction(number, &action, NULL) != 0)
    dump_fault = "that signal cannot be handled";
  else
    signal_of_dump = number;
}

// Answering

/// The number of the format with this name, or 0.
static int format_of(const char *name) {
  for (int i = 0; i < FORMATS; i++)
    if (strcmp(name, formats[i]) == 0)
      return i + 1;
  return 0;
}

static bool write_and_close(int file, int format) {
  bool is_written = file >= 0 && write_dump(file, format);
  return file >= 0 && close(file) == 0 && is_written;
}

/// Whether a path is that of what the process writes its output to.
static bool is_output(const char *resolved) {
  static const char *const outputs[] = {"/dev/stdout", "/dev/stderr"};
  char output[PATH_MAX];
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
    if (realpath(outputs[i], output) && strcmp(output, resolved) == 0)
      return true;
  return false;
}

/// Opens what is at a path if it is no file, such as a pipe or a device, and
/// follows a link to a file, of which the path is then; but what the process
/// writes its output to is not replaced. What another user has made is left
/// alone. False if the path is a file's or free.
static bool open_in_place(struct text *path, int *out_file) {
  struct inturn_system_file made, target;
  char resolved[PATH_MAX];
  *out_file = -1;
  if (!inturn_system_find_file(path->bytes, &made) || made.is_regular)
    return false;
  if (made.owner != geteuid() && made.owner != 0)
    return true;
  if (strncmp(path->bytes, "/dev/", 5) != 0 &&
      realpath(path->bytes, resolved) && !is_output(resolved) &&
      inturn_system_find_file(resolved, &target) && target.is_regular) {
    *path = (struct text){0};
    add(path, resolved);
    return false;
  }
  // A link may lead to a file that is not there yet.
  *out_file = open(path->bytes, IN_PLACE | O_CREAT, 0600);
  return true;
}

/// Writes to a new file next to the target and renames it, so that whoever
/// opens the target finds a complete file, whichever process wrote it last. In
/// a folder of everybody's, nobody else can have made that file. `name` is the
/// setting's.
static void write_file(const char *name, const struct text *to, int format) {
  struct text path = this_process(to);
  int file;
  if (!path.is_cut && open_in_place(&path, &file)) {
    if (!write_and_close(file, format))
      say(name, "cannot write ", path.bytes);
    return;
  }
  struct text part = path;
  add(&part, ".");
  add_number(&part, (unsigned)getpid());
  add(&part, ".part");
  if (part.is_cut) {
    say(name, "its path is too long", "");
    return;
  }
  unlink(part.bytes); // of an earlier process with this number
  file = open(part.bytes, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
              0600);
  if (write_and_close(file, format) && rename(part.bytes, path.bytes) == 0)
    return;
  if (file >= 0)
    unlink(part.bytes);
  say(name, "cannot write ", path.bytes);
}

static void dump(void) {
  if (dump_path.length == 0) {
    // A file is written to where it is.
    bool is_file = lseek(STDERR_FILENO, 0, SEEK_CUR) >= 0;
    int file = is_file ? -1 : open("/dev/stderr", IN_PLACE);
    if (file >= 0)
      (void)write_and_close(file, 1);
    else
      (void)write_dump(STDERR_FILENO, 1);
    return;
  }
  const char *dot = strrchr(dump_path.bytes, '.');
  int format = dot ? format_of(dot + 1) : 0;
  write_file("INTURN_DUMP", &dump_path, format ? format : 1);
}

static void refuse(int client, const char *why) {
  struct text line = {0};
  add(&line, "error: ");
  add(&line, why);
  add(&line, "\n");
  (void)inturn_system_write(client, line.bytes, line.length);
}

/// The id that a dump shows as, for example, 0x21000000001; 0 if it is invalid.
static uint64_t number_of(const char *text) {
  static const char digits[] = "0123456789abcdef";
  if (text[0] == '0' && text[1] == 'x')
    text += 2;
  uint64_t number = 0;
  for (int count = 0; text[count]; count++) {
    const char *digit = strchr(digits, text[count]);
    if (!digit || count == 16)
      return 0;
    number = number << 4 | (uint64_t)(digit - digits);
  }
  return number;
}

static void answer_request(int client, const char *request) {
  if (strncmp(request, "dump ", 5) == 0) {
    int format = format_of(request + 5);
    if (format)
      (void)write_dump(client, format);
    else
      refuse(client, "a dump is text, json, dot or html");
  } else if (strncmp(request, "why ", 4) == 0) {
    const char *fault = write_why(client, number_of(request + 4));
    if (fault)
      refuse(client, fault);
  } else {
    refuse(client, "a request is 'dump FORMAT' or 'why ID'");
  }
}

/// Answers one client. False when none can be accepted at this moment.
static bool serve(void) {
  int client = inturn_system_accept(listener);
  if (client < 0)
    return errno == EINTR || errno == EAGAIN || errno == ECONNABORTED;
  struct timeval limit = {.tv_sec = CLIENT_SECONDS};
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  char request[64];
  uintptr_t length = 0;
  for (;;) {
    ssize_t got = read(client, request + length, sizeof request - 1 - length);
    if (got <= 0)
      break;
    length += (uintptr_t)got;
    request[length] = '\0';
    if (strchr(request, '\n') || length == sizeof request - 1)
      break;
  }
  request[length] = '\0';
  bool has_more = length > 0 && request[length - 1] != '\n';
  request[strcspn(request, "\r\n")] = '\0';
  if (length > 0)
    answer_request(client, request);
  // What stays unread would reset the connection, and its client might lose the
  // answer.
  char rest[4096];
  if (has_more && shutdown(client, SHUT_WR) == 0)
    for (int i = 0; i < MOST_READS && read(client, rest, sizeof rest) > 0; i++)
      ;
  close(client);
  return true;
}

static void answer(void *unused) {
  (void)unused;
  inturn_system_most_wait_ms = CLIENT_SECONDS * 1000;
  // This thread takes the signal if all of the program's threads block it.
  sigset_t set;
  sigemptyset(&set);
  if (signal_of_dump)
    sigaddset(&set, signal_of_dump);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  // A client that has gone, or a file without room, does not end the process.
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  sigaddset(&set, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  struct pollfd polled[2] = {{event, POLLIN, 0}, {listener, POLLIN, 0}};
  int pause = -1;
  for (;;) {
    if (__atomic_exchange_n(&is_asked, false, __ATOMIC_SEQ_CST))
      dump();
    // After a failed accept, the listener would end each poll at once.
    polled[1].fd = pause < 0 ? listener : -1;
    polled[0].revents = polled[1].revents = 0;
    if (poll(polled, 2, pause) < 0 && errno != EINTR)
      break;
    if ((polled[0].revents | polled[1].revents) & ~POLLIN)
      break; // The program has closed the descriptors.
    if (polled[0].revents)
      inturn_system_event_clear(event);
    pause = polled[1].revents && !serve() ? 100 : -1;
  }
  __atomic_store_n(&answering, 0, __ATOMIC_RELAXED);
}

// The life of both

/// Whether nobody listens on the socket because its process is gone.
static bool is_left_over(const struct sockaddr_un *address) {
  struct inturn_system_file file;
  if (!inturn_system_find_file(address->sun_path, &file) || !file.is_socket)
    return false;
  // Non-blocking: whoever listens may have other clients waiting.
  int probe = inturn_system_socket();
  if (probe < 0)
    return false;
  bool is_refused =
      connect(probe, (const struct sockaddr *)address, sizeof *address) != 0 &&
      errno == ECONNREFUSED;
  close(probe);
  return is_refused;
}

static void listen_for_clients(void) {
  struct text path = this_process(&socket_path);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (path.length >= sizeof address.sun_path) {
    say("INTURN_SOCKET", "its path is too long: ", path.bytes);
    return;
  }
  memcpy(address.sun_path, path.bytes, path.length);
  if (is_left_over(&address))
    unlink(address.sun_path);
  listener = inturn_system_listen(&address);
  if (listener < 0) {
    bool is_there = errno == EADDRINUSE;
    say("INTURN_SOCKET",
        is_there ? "something is there, or listens (%p in it stands for the"
                   " process's number): "
                 : "cannot listen at ",
        path.bytes);
  } else {
    (void)inturn_system_find_file(address.sun_path, &socket_file);
  }
}

/// Removes the socket's file, unless something else has taken its place.
static void remove_socket(void) {
  struct text path = this_process(&socket_path);
  struct inturn_system_file file;
  if (listener >= 0 && inturn_system_find_file(path.bytes, &file) &&
      file.device == socket_file.device && file.number == socket_file.number)
    unlink(path.bytes);
}

/// In a child, a path without %p belongs to the parent.
static bool is_asked_for(const struct text *path, bool was_forked) {
  return path->length > 0 && (!was_forked || strstr(path->bytes, "%p"));
}

void inturn_system_answers_begin(bool was_forked, inturn_system_dump_fn dump,
                                 inturn_system_why_fn why) {
  if (dump_fault)
    say("INTURN_DUMP", dump_fault, "");
  dump_fault = NULL;
  write_dump = dump;
  write_why = why;
  if (is_asked_for(&socket_path, was_forked))
    listen_for_clients();
  if (!signal_of_dump && listener < 0)
    return;
  event = inturn_system_event_open(&event_write_end);
  if (event >= 0) {
    __atomic_store_n(&answering, getpid(), __ATOMIC_SEQ_CST);
    if (inturn_system_start_thread("inturn-answers", answer, NULL))
      return;
  }
  say("INTURN_DUMP, INTURN_SOCKET", "no thread can be had that answers", "");
  remove_socket();
  inturn_system_answers_forked();
}

bool inturn_system_is_trace_asked(bool was_forked) {
  bool is_asked_for_it = is_asked_for(&trace_path, was_forked);
  __atomic_store_n(&is_traced, is_asked_for_it, __ATOMIC_RELEASE);
  return is_asked_for_it;
}

void inturn_system_answers_forked(void) {
  __atomic_store_n(&is_traced, false, __ATOMIC_RELAXED);
  if (event >= 0)
    inturn_system_event_close(event, event_write_end);
  if (listener >= 0)
    close(listener);
  event = listener = -1;
  is_asked = false;
  __atomic_store_n(&answering, 0, __ATOMIC_RELAXED);
}

static void write_trace(void *unused) {
  (void)unused;
  int before = inturn_system_most_wait_ms;
  inturn_system_most_wait_ms = CLIENT_SECONDS * 1000;
  write_file("INTURN_TRACE", &trace_path, 0);
  inturn_system_most_wait_ms = before;
}

bool inturn_system_write_asked_trace(void) {
  if (!__atomic_load_n(&is_traced, __ATOMIC_ACQUIRE))
    return false;
  inturn_system_write_without_signals(write_trace, NULL);
  return true;
}

void inturn_system_answers_end(void) {
  (void)inturn_system_write_asked_trace();
  if (__atomic_load_n(&answering, __ATOMIC_ACQUIRE) == getpid())
    remove_socket();
}
