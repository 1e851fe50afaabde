/*
 * answers_socket.c - how a process answers by itself over the socket that
 * INTURN_SOCKET in its environment names.
 *
 * SPDX-License-Identifier: MIT
 *
 * Each test runs again in a process of its own, which is its own client, in a
 * folder where nothing may be left.
 */
#include "answers.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* A connection to a path, or -1. */
static int client_of(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  int client = socket(AF_UNIX, SOCK_STREAM, 0);
  CHECK(client >= 0);
  if (connect(client, (struct sockaddr *)&address, sizeof address) == 0)
    return client;
  CHECK_INT(close(client), 0);
  return -1;
}

/* The path of a process's socket, valid until the next call. */
static const char *socket_of(pid_t process) {
  static char path[128];
  path_of_answers("INTURN_SOCKET", process, path, sizeof path);
  return path;
}

static int connect_to_self(void) {
  int client = client_of(socket_of(getpid()));
  if (client < 0)
    refused_at(__FILE__, __LINE__, "the thread that answers");
  CHECK(client >= 0);
  return client;
}

/* The answer to a request, as a string that is valid until the next call. */
static const char *answer(const char *request) {
  static char text[65536];
  int client = connect_to_self();
  CHECK_INT(write(client, request, strlen(request)), (long)strlen(request));
  size_t length = 0;
  ssize_t got;
  do {
    struct pollfd readable = {.fd = client, .events = POLLIN};
    CHECK_INT(poll(&readable, 1, LIMIT_SECONDS * 1000), 1);
    got = read(client, text + length, sizeof text - 1 - length);
    CHECK(got >= 0);
    length += (size_t)got;
  } while (got > 0);
  text[length] = '\0';
  CHECK_INT(close(client), 0);
  return text;
}

#define CHECK_HAS(text, part) CHECK(strstr(text, part) != NULL)

static void a_request_for_a_dump_is_answered_in_each_format(void) {
  if (!is_alone_in_folder(__func__, "INTURN_SOCKET", "", "socket"))
    return;
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  CHECK_HAS(answer("dump text\n"), "\nqueue \"network\" fifo id=0x");
  CHECK_HAS(answer("dump text\r\n"), "\nqueue \"network\" fifo id=0x");
  const char *json = answer("dump json\n");
  CHECK_INT(strncmp(json, "{\"now_ns\":", 10), 0);
  CHECK_TEXT(json + strlen(json) - 4, "\n]}\n");
  CHECK_INT(strncmp(answer("dump dot\n"), "digraph inturn {", 16), 0);
  CHECK_INT(strncmp(answer("dump html\n"), "<!DOCTYPE html>", 15), 0);
  drain_and_destroy(queue);
}

static void why_is_answered_with_the_chain(void) {
  if (!is_alone_in_folder(__func__, "INTURN_SOCKET", "", "socket"))
    return;
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_token load;
  hold(queue, "load", &load);
  inturn_operation_options options = labelled("save");
  inturn_operation save;
  CHECK_OK(inturn_queue_enqueue_with(queue, &options, just_finish, NULL, NULL,
                                     &save));
  stall reason;
  do {
    reason = reason_of(save);
  } while (!stall_says(&reason, "its token has not been finished"));
  char request[64];
  snprintf(request, sizeof request, "why 0x%llx\n",
           (unsigned long long)save.bits);
  const char *why = answer(request);
  CHECK_HAS(why, "answers_socket.c:");
  CHECK_HAS(why, "its token has not been finished");
  CHECK_INT(strcspn(why, "\n"), strlen(why) - 1);
  CHECK_OK(inturn_token_finish(load));
  CHECK_OK(inturn_operation_wait(save, LIMIT_NS, NULL));
  CHECK_TEXT(answer(request), "error: it has ended\n");
  CHECK_OK(inturn_operation_release(save));
  /* The thread that has ended it may not have let go of it yet. */
  do
    why = answer(request);
  while (strcmp(why, "error: it has ended\n") == 0);
  CHECK_TEXT(why, "error: there is no such operation\n");
  drain_and_destroy(queue);
}

/* The id of the operation with this label, from a dump. */
static void find_id(const char *label, char *id, size_t room) {
  char before[64];
  snprintf(before, sizeof before, "operation \"%s\" ", label);
  const char *found = strstr(answer("dump text\n"), before);
  CHECK(found != NULL);
  found = strstr(found, " id=");
  CHECK(found != NULL);
  snprintf(id, room, "%.*s", (int)strcspn(found + 4, " "), found + 4);
}

static void why_is_answered_where_nobody_holds_the_handle(void) {
  if (!is_alone_in_folder(__func__, "INTURN_SOCKET", "", "socket"))
    return;
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  inturn_token load;
  hold(queue, "load", &load);
  enqueue_one(queue, "save");
  char id[32], request[64];
  find_id("save", id, sizeof id);
  snprintf(request, sizeof request, "why %s\n", id);
  CHECK_HAS(answer(request), "\"save\" (");
  CHECK_HAS(answer(request), "\"load\" (");
  CHECK_OK(inturn_token_finish(load));
  CHECK_OK(inturn_queue_drain(queue, LIMIT_NS));
  CHECK_INT(strncmp(answer(request), "error: ", 7), 0);
  drain_and_destroy(queue);
}

static void what_is_no_request_is_told_so(void) {
  if (!is_alone_in_folder(__func__, "INTURN_SOCKET", "", "socket"))
    return;
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  const char *usage = "error: a request is 'dump FORMAT' or 'why ID'\n";
  CHECK_TEXT(answer("\n"), usage);
  CHECK_TEXT(answer("dump\n"), usage);
  CHECK_TEXT(answer("dumps text\n"), usage);
  CHECK_TEXT(answer("012345678901234567890123456789012345678901234567890123456"
                    "789012345678901234567890123456789\n"),
             usage);
  char lines[5000];
  memset(lines, 'x', sizeof lines);
  lines[sizeof lines - 1] = '\0';
  CHECK_TEXT(answer(lines), usage);
  lines[10] = '\n';
  CHECK_TEXT(answer(lines), usage);
  CHECK_TEXT(answer("dump xml\n"),
             "error: a dump is text, json, dot or html\n");
  const char *none = "error: there is no such operation\n";
  CHECK_TEXT(answer("why \n"), none);
  CHECK_TEXT(answer("why save\n"), none);
  CHECK_TEXT(answer("why 0x10000000000000000\n"), none);
  char request[64];
  snprintf(request, sizeof request, "why %llx\n",
           (unsigned long long)queue.bits);
  CHECK_TEXT(answer(request), "error: nothing is pending or running\n");
  drain_and_destroy(queue);
  CHECK_TEXT(answer(request), none);
}

/* Plain operations have no ids. */
static void a_queue_answers_for_what_is_plain(void) {
  if (!is_alone_in_folder(__func__, "INTURN_SOCKET", "", "socket"))
    return;
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  CHECK_OK(inturn_queue_suspend(queue));
  for (int i = 0; i < 3; i++)
    CHECK_OK(inturn_queue_enqueue(queue, just_finish, NULL, NULL, NULL));
  char request[64];
  snprintf(request, sizeof request, "why 0x%llx\n",
           (unsigned long long)queue.bits);
  const char *why = answer(request);
  CHECK_HAS(why, "queue \"network\": it is suspended (");
  CHECK_HAS(why, "), and has been for ");
  CHECK_HAS(why, "s. 3 wait in it.\n");
  CHECK_OK(inturn_queue_resume(queue));
  drain_and_destroy(queue);
}

static void clients_that_leave_keep_nobody_from_an_answer(void) {
  if (!is_alone_in_folder(__func__, "INTURN_SOCKET", "", "socket"))
    return;
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  for (int i = 0; i < 100; i++) {
    int client = connect_to_self();
    const char *request = i % 3 == 0 ? "" : i % 3 == 1 ? "du" : "dump html\n";
    CHECK_INT(write(client, request, strlen(request)), (long)strlen(request));
    CHECK_INT(close(client), 0);
  }
  CHECK_HAS(answer("dump text\n"), "queue \"network\"");
  drain_and_destroy(queue);
}

/* The socket is removed at the exit, as the folder must be empty. */
static void the_socket_is_for_its_user_alone(void) {
  if (!is_alone_in_folder(__func__, "INTURN_SOCKET", "", "%p.socket"))
    return;
  umask(0);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  CHECK_INT(close(connect_to_self()), 0);
  struct stat stat;
  CHECK_INT(lstat(socket_of(getpid()), &stat), 0);
  CHECK(S_ISSOCK(stat.st_mode));
  CHECK_INT(stat.st_mode & 07777, 0600);
  drain_and_destroy(queue);
}

/* An existing file at the path --------------------------------------------- */

static void a_file_at_its_path_stays(void) {
  if (!is_alone_in_folder(__func__, "INTURN_SOCKET", "", "socket"))
    return;
  const char *path = socket_of(getpid());
  char line[256];
  CHECK_INT(close(open(path, O_CREAT | O_EXCL, 0600)), 0);
  int other_end = read_standard_error();
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  snprintf(line, sizeof line,
           "inturn: INTURN_SOCKET: something is there, or listens (%%p in it "
           "stands for the process's number): %s\n",
           path);
  await_text(other_end, line);
  await_threads("inturn-answers", 0);
  CHECK_INT(unlink(path), 0);
  drain_and_destroy(queue);
}

/* Binds a socket to the path first, and may listen on it. */
static int take_path(bool listens) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strcpy(address.sun_path, socket_of(getpid()));
  int taken = socket(AF_UNIX, SOCK_STREAM, 0);
  CHECK(taken >= 0);
  CHECK_INT(bind(taken, (struct sockaddr *)&address, sizeof address), 0);
  CHECK_INT(listens ? listen(taken, 4) : 0, 0);
  return taken;
}

static void somebody_who_listens_at_its_path_stays(void) {
  if (!is_alone_in_folder(__func__, "INTURN_SOCKET", "", "socket"))
    return;
  int taken = take_path(true), other_end = read_standard_error();
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  await_text(other_end, "INTURN_SOCKET: something is there, or listens");
  int client = client_of(socket_of(getpid()));
  CHECK(client >= 0);
  CHECK(close(client) == 0 && close(taken) == 0);
  CHECK_INT(unlink(socket_of(getpid())), 0);
  drain_and_destroy(queue);
}

static void a_socket_that_was_left_over_is_replaced(void) {
  if (!is_alone_in_folder(__func__, "INTURN_SOCKET", "", "socket"))
    return;
  CHECK_INT(close(take_path(false)), 0);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  CHECK_HAS(answer("dump text\n"), "queue \"network\"");
  drain_and_destroy(queue);
}

static void what_has_taken_its_place_stays_at_the_exit(void) {
  if (!is_alone_in_folder(__func__, "INTURN_SOCKET", "", "socket.%p"))
    return;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    labelled_queue(INTURN_QUEUE_FIFO, "child's");
    CHECK_INT(close(connect_to_self()), 0);
    CHECK_INT(unlink(socket_of(getpid())), 0);
    int file = open(socket_of(getpid()), O_CREAT | O_EXCL, 0600);
    CHECK_INT(close(file), 0);
    exit(0);
  }
  CHECK_INT(wait_for_child(child), 0);
  CHECK_INT(unlink(socket_of(child)), 0);
}

static void a_folder_that_is_not_there_is_said_in_a_line(void) {
  if (!is_alone(__func__, "INTURN_SOCKET", "/nowhere/at/all"))
    return;
  int other_end = read_standard_error();
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  await_text(other_end,
             "inturn: INTURN_SOCKET: cannot listen at /nowhere/at/all\n");
  await_threads("inturn-answers", 0);
  drain_and_destroy(queue);
}

static void a_path_that_is_too_long_is_said_in_a_line(void) {
  char path[160] = "/";
  memset(path + 1, 'a', sizeof path - 2);
  if (!is_alone(__func__, "INTURN_SOCKET", path))
    return;
  int other_end = read_standard_error();
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "network");
  await_text(other_end, "inturn: INTURN_SOCKET: its path is too long: /aaa");
  await_threads("inturn-answers", 0);
  drain_and_destroy(queue);
}

/* In a forked child ------------------------------------------------------- */

static void use_the_library(void *context) {
  CHECK(context == NULL);
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "child's");
  await_threads("inturn-answers", 0);
  drain_and_destroy(queue);
}

static void exit_at_once(void *context) {
  CHECK(context == NULL);
  exit(0);
}

static void a_child_leaves_its_parents_socket_alone(void) {
  if (!is_alone_in_folder(__func__, "INTURN_SOCKET", "", "socket"))
    return;
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "parent's");
  IN_CHILD(use_the_library, NULL);
  IN_CHILD(exit_at_once, NULL);
  CHECK_HAS(answer("dump text\n"), "queue \"parent's\"");
  drain_and_destroy(queue);
}

/* Once its parent is gone, nothing seems to listen. */
static void a_child_does_not_keep_its_parents_socket_open(void) {
  if (!is_alone_in_folder(__func__, "INTURN_SOCKET", "", "socket.%p"))
    return;
  /* A child says that it has begun, and stays until the test releases it. */
  int come[2], go[2];
  char byte = 0;
  CHECK(pipe(come) == 0 && pipe(go) == 0);
  pid_t parent = fork();
  CHECK(parent >= 0);
  if (parent == 0) {
    labelled_queue(INTURN_QUEUE_FIFO, "parent's");
    CHECK_INT(close(connect_to_self()), 0);
    if (fork() == 0) {
      CHECK_INT(close(go[1]), 0);
      CHECK_INT(write(come[1], &byte, 1), 1);
      CHECK_INT(read(go[0], &byte, 1), 0);
    } else {
      CHECK_INT(read(come[0], &byte, 1), 1);
    }
    _exit(0);
  }
  CHECK_INT(wait_for_child(parent), 0);
  CHECK_INT(client_of(socket_of(parent)), -1);
  CHECK_INT(unlink(socket_of(parent)), 0);
  for (int i = 0; i < 2; i++)
    CHECK(close(come[i]) == 0 && close(go[i]) == 0);
}

static void answer_and_exit(void *context) {
  CHECK(context == NULL);
  labelled_queue(INTURN_QUEUE_FIFO, "child's");
  CHECK_HAS(answer("dump text\n"), "queue \"child's\"");
  exit(0);
}

static void a_child_has_a_socket_where_its_path_has_the_processs_number(void) {
  if (!is_alone_in_folder(__func__, "INTURN_SOCKET", "", "socket.%p"))
    return;
  inturn_queue queue = labelled_queue(INTURN_QUEUE_FIFO, "parent's");
  IN_CHILD(answer_and_exit, NULL);
  CHECK_HAS(answer("dump text\n"), "queue \"parent's\"");
  drain_and_destroy(queue);
}

PROGRAM_OF_ANSWERS(
    answers_socket, TEST(a_request_for_a_dump_is_answered_in_each_format),
    TEST(why_is_answered_with_the_chain),
    TEST(why_is_answered_where_nobody_holds_the_handle),
    TEST(what_is_no_request_is_told_so),
    TEST(a_queue_answers_for_what_is_plain),
    TEST(clients_that_leave_keep_nobody_from_an_answer),
    TEST(the_socket_is_for_its_user_alone), TEST(a_file_at_its_path_stays),
    TEST(somebody_who_listens_at_its_path_stays),
    TEST(a_socket_that_was_left_over_is_replaced),
    TEST(what_has_taken_its_place_stays_at_the_exit),
    TEST(a_folder_that_is_not_there_is_said_in_a_line),
    TEST(a_path_that_is_too_long_is_said_in_a_line),
    TEST(a_child_leaves_its_parents_socket_alone),
    TEST(a_child_does_not_keep_its_parents_socket_open),
    TEST(a_child_has_a_socket_where_its_path_has_the_processs_number))
