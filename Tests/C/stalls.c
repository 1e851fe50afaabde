/* See stuck.h. */
#include "stuck.h"

#include <dirent.h>
#include <sched.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t told = PTHREAD_COND_INITIALIZER;
static stall all[MOST_STALLS];
static int count;

void (*stalls_told)(const inturn_report *report);

static const char *const causes[] = {
    "none",  "after",    "name",     "turn",      "token",   "call",
    "task",  "place",    "callback", "suspended", "view",    "clock",
    "delay", "executor", "pool",     "wait",      "observer"};

/* The link's size is the distance to the next one. */
static const inturn_stall_link *link_of(const inturn_report *report, size_t i) {
  const inturn_stall_link *link =
      (const inturn_stall_link *)(const void *)((const char *)report->chain +
                                                i * report->chain->size);
  CHECK(link->size >= sizeof *link);
  CHECK((int)link->cause >= 0 && link->cause <= INTURN_STALL_OBSERVER);
  return link;
}

static void describe(const inturn_report *report, stall *stall) {
  int chain = 0, sites = 0;
  for (size_t i = 0; i < report->chain_count; i++) {
    const inturn_stall_link *link = link_of(report, i);
    const char *joint = i > 0 ? " > " : "";
    const char *operation = link->operation_label ? link->operation_label : "?";
    const char *slash = link->file ? strrchr(link->file, '/') : NULL;
    chain += snprintf(stall->chain + chain, sizeof stall->chain - (size_t)chain,
                      "%s%s %s@%s", joint, causes[link->cause],
                      link->is_operation ? operation : "",
                      link->queue_label ? link->queue_label : "?");
    CHECK((size_t)chain < sizeof stall->chain);
    sites += snprintf(stall->sites + sites, sizeof stall->sites - (size_t)sites,
                      "%s%s:%u", joint,
                      slash        ? slash + 1
                      : link->file ? link->file
                                   : "?",
                      link->line);
    CHECK((size_t)sites < sizeof stall->sites);
    stall->last = link->token;
  }
  CHECK(report->chain_count > 0);
  stall->first = report->chain->token;
}

/* Removes the sites, which are in brackets, from a message. */
static void remove_sites(const inturn_report *report, char *message) {
  for (size_t i = 0; i < report->chain_count; i++) {
    const inturn_stall_link *link = link_of(report, i);
    char site[512];
    if (link->file == NULL)
      continue;
    int length =
        snprintf(site, sizeof site, " (%s:%u)", link->file, link->line);
    char *found = strstr(message, site);
    CHECK(found != NULL);
    memmove(found, found + length, strlen(found + length) + 1);
  }
}

static stall copy(const inturn_report *report) {
  stall result;
  CHECK_INT(report->kind, INTURN_REPORT_STALL);
  CHECK(report->size >= sizeof *report);
  CHECK(strchr(report->message, '\n') == NULL);
  describe(report, &result);
  CHECK(strlen(report->message) < sizeof result.message);
  strcpy(result.message, report->message);
  remove_sites(report, result.message);
  snprintf(result.queue_label, sizeof result.queue_label, "%s",
           report->queue_label ? report->queue_label : "(none)");
  snprintf(result.token_copy, sizeof result.token_copy, "%s",
           report->token_copy ? report->token_copy : "(unknown)");
  result.stalled_ns = report->stalled_ns;
  result.waiting = report->waiting;
  result.thread = link_of(report, report->chain_count - 1)->thread;
  return result;
}

static void take_stall(void *context, const inturn_report *report) {
  CHECK(context == &all);
  if (report->kind != INTURN_REPORT_STALL)
    return;
  CHECK(strstr(report->message, "nothing keeps it") == NULL);
  pthread_mutex_lock(&mutex);
  void (*call)(const inturn_report *) = stalls_told;
  pthread_mutex_unlock(&mutex);
  /* Where the system has no threads, that is told first. */
  if (call &&
      link_of(report, report->chain_count - 1)->cause != INTURN_STALL_POOL)
    call(report);
  pthread_mutex_lock(&mutex);
  if (count < MOST_STALLS)
    all[count++] = copy(report);
  pthread_cond_broadcast(&told);
  pthread_mutex_unlock(&mutex);
}

static void take_reason(void *reason, const inturn_report *report) {
  CHECK(((stall *)reason)->message[0] == '\0');
  *(stall *)reason = copy(report);
}

stall reason_of(inturn_operation operation) {
  stall reason = {.chain = ""};
  CHECK_OK(inturn_why(operation, take_reason, &reason));
  CHECK(reason.message[0] != '\0');
  CHECK_INT(reason.stalled_ns, 0);
  return reason;
}

void stalls_begin(int64_t limit_ns) {
  pthread_mutex_lock(&mutex);
  count = 0;
  pthread_mutex_unlock(&mutex);
  CHECK_OK(inturn_report_set_handler(take_stall, &all, NULL));
  /* Forgets what was reported before: the reports in a minute are limited. */
  CHECK_OK(inturn_report_set_stall_limit(-1));
  await_threads("inturn-watchdog", 0);
  CHECK_OK(inturn_report_set_stall_limit(limit_ns));
}

void stalls_end(void) {
  /* A report may be under way. */
  pthread_mutex_lock(&mutex);
  stalls_told = NULL;
  pthread_mutex_unlock(&mutex);
  CHECK_OK(inturn_report_set_stall_limit(0));
  CHECK_OK(inturn_report_set_handler(NULL, NULL, NULL));
}

/* The mutex is held. */
static const stall *find(const char *chain) {
  for (int i = 0; i < count; i++)
    if (strcmp(all[i].chain, chain) == 0)
      return &all[i];
  return NULL;
}

stall stall_at(const char *file, int line, const char *chain) {
  struct timespec limit;
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec += LIMIT_SECONDS;
  pthread_mutex_lock(&mutex);
  const stall *found;
  while ((found = find(chain)) == NULL) {
    if (pthread_cond_timedwait(&told, &mutex, &limit) == 0)
      continue;
    for (int i = 0; i < count; i++)
      printf("told: %s: %.512s\n", all[i].chain, all[i].message);
    fail_at(file, line, "waited %d s for a report of %s", LIMIT_SECONDS, chain);
  }
  stall result = *found;
  pthread_mutex_unlock(&mutex);
  return result;
}

int stalls_of(const char *chain) {
  int result = 0;
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < count; i++)
    result += chain == NULL || strcmp(all[i].chain, chain) == 0;
  pthread_mutex_unlock(&mutex);
  return result;
}

inturn_queue labelled_queue(inturn_queue_kind kind, const char *label) {
  inturn_queue_options options = INTURN_QUEUE_OPTIONS_INIT;
  inturn_queue queue;
  options.label = label;
  CHECK_OK(inturn_queue_create(kind, &options, &queue));
  return queue;
}

inturn_operation_options labelled(const char *label) {
  inturn_operation_options options = INTURN_OPERATION_OPTIONS_INIT;
  options.label = label;
  return options;
}

/* Passed for the last one that was held. */
static gate held = GATE_INIT;

static void keep_and_tell(void *into, inturn_token token) {
  *(inturn_token *)into = token;
  gate_pass(&held);
}

inturn_operation enqueue_kept(inturn_queue queue, const char *label,
                              inturn_operation after) {
  inturn_operation_options options = labelled(label);
  inturn_operation operation;
  options.after = &after;
  options.after_count = after.bits != 0;
  CHECK_OK(inturn_queue_enqueue_with(queue, &options, just_finish, NULL, NULL,
                                     &operation));
  return operation;
}

void hold_kept(inturn_queue queue, const inturn_operation_options *options,
               inturn_token *token, inturn_operation *operation) {
  long before = gate_count(&held);
  CHECK_OK(inturn_queue_enqueue_with(queue, options, keep_and_tell, token, NULL,
                                     operation));
  GATE_WAIT(&held, before + 1);
}

void hold_with(inturn_queue queue, const inturn_operation_options *options,
               inturn_token *token) {
  hold_kept(queue, options, token, NULL);
}

void hold(inturn_queue queue, const char *label, inturn_token *token) {
  inturn_operation_options options = labelled(label);
  hold_with(queue, &options, token);
}

void enqueue_one(inturn_queue queue, const char *label) {
  inturn_operation_options options = labelled(label);
  CHECK_OK(inturn_queue_enqueue_with(queue, &options, just_finish, NULL, NULL,
                                     NULL));
}

static int threads_named(const char *name) {
  int result = 0;
  DIR *threads = opendir("/proc/self/task");
  CHECK(threads != NULL);
  for (struct dirent *entry; (entry = readdir(threads)) != NULL;) {
    char path[64], line[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", entry->d_name);
    FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
    if (file == NULL)
      continue;
    if (fgets(line, sizeof line, file) != NULL) {
      line[strcspn(line, "\n")] = '\0';
      result += strcmp(line, name) == 0;
    }
    fclose(file);
  }
  closedir(threads);
  return result;
}

void await_threads(const char *name, int wanted) {
  time_t limit = time(NULL) + LIMIT_SECONDS;
  while (threads_named(name) != wanted) {
    if (time(NULL) > limit)
      FAIL("waited %d s for %d threads %s, and there are %d", LIMIT_SECONDS,
           wanted, name, threads_named(name));
    sched_yield();
  }
}

bool stall_says(const stall *stall, const char *text) {
  return strstr(stall->message, text) != NULL;
}
