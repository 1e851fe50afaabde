// A table of a process's queues, sorted by keys of the terminal.
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "program.h"

struct row {
  char label[128];
  char id[24];
  char cause[16];   // why it is blocked, or its running work does not end
  char holder[256]; // of running work: which, and since when
  uint64_t pending, running, ended;
  double rate;       // ends a second; below 0 if unknown
  int64_t oldest_ns; // the age of its oldest operation
};

struct table {
  int64_t at_ns;
  size_t count;
  struct row *rows;
};

static char sorted_by = 'p';

// The rows

static const char *const causes[] = {"after",     "name", "turn",  "token",
                                     "call",      "task", "place", "callback",
                                     "suspended", "view", "clock", "delay",
                                     "executor",  "pool", NULL};

static void take_cause(struct row *row, const struct entry *entry) {
  row->cause[0] = '\0';
  for (const char *const *cause = causes; *cause; cause++)
    if (has_word(entry, *cause))
      copy_text(*cause, row->cause, sizeof row->cause);
}

static void take_queue(struct row *row, const struct entry *entry) {
  memset(row, 0, sizeof *row);
  strcpy(row->label, entry->label);
  strcpy(row->id, entry->id);
  take_cause(row, entry);
  row->pending = entry->pending;
  row->running = entry->running;
  row->ended = entry->ended;
  row->rate = -1;
}

static void take_operation(struct row *row, const struct entry *entry,
                           int64_t now) {
  int64_t age = entry->enqueued_ns ? now - entry->enqueued_ns : 0;
  if (age > row->oldest_ns)
    row->oldest_ns = age;
  if (!has_word(entry, "running"))
    return;
  // The operation that has been running longest comes last.
  take_cause(row, entry);
  char since[24] = "";
  if (entry->started_ns && now)
    write_time(now - entry->started_ns, since, sizeof since);
  bool is_labelled = entry->label[0], has_site = entry->site[0];
  snprintf(row->holder, sizeof row->holder, "%s%s%s%s%s%s", entry->label,
           is_labelled && has_site ? " (" : "", entry->site,
           is_labelled && has_site ? ")" : "",
           *since && (is_labelled || has_site) ? ", " : "", since);
}

static struct table take_table(pid_t process) {
  char fault[256];
  char *dump = answer_to(process, "dump text", fault);
  if (!dump)
    fail("%s", fault);
  struct table table = {.at_ns = now_ns()};
  size_t room = 0;
  struct entry entry;
  for (const char *rest = dump; next_entry(&rest, &entry);) {
    if (strcmp(entry.kind, "queue") == 0) {
      table.rows =
          with_room(table.rows, table.count, &room, sizeof *table.rows);
      take_queue(&table.rows[table.count++], &entry);
    } else if (strcmp(entry.kind, "operation") == 0 && table.count > 0) {
      take_operation(&table.rows[table.count - 1], &entry, table.at_ns);
    }
  }
  free(dump);
  return table;
}

static int by_id(const void *left, const void *right) {
  return strcmp(((const struct row *)left)->id,
                ((const struct row *)right)->id);
}

/// Each queue's rate, from an earlier table of the same process.
static void take_rates(struct table *table, struct table *before) {
  double seconds = (double)(table->at_ns - before->at_ns) / 1e9;
  if (before->count == 0)
    return;
  qsort(before->rows, before->count, sizeof *before->rows, by_id);
  for (size_t i = 0; i < table->count && seconds > 0; i++) {
    const struct row *was = bsearch(&table->rows[i], before->rows,
                                    before->count, sizeof *before->rows, by_id);
    if (was)
      table->rows[i].rate =
          (double)(table->rows[i].ended - was->ended) / seconds;
  }
}

static double weight(const struct row *row) {
  switch (sorted_by) {
  case 'r':
    return (double)row->running;
  case 'e':
    return row->rate;
  case 'o':
    return (double)row->oldest_ns;
  default:
    return (double)row->pending;
  }
}

static int by_key(const void *left, const void *right) {
  const struct row *one = left, *other = right;
  if (sorted_by != 'n' && weight(one) != weight(other))
    return weight(one) < weight(other) ? 1 : -1;
  int order = strcmp(one->label, other->label);
  return order ? order : strcmp(one->id, other->id);
}

// The screen

/// The id of the selected queue; empty until one is selected.
static char selected[24];

/// The number of rows if it is none of them.
static size_t place_of_selected(const struct table *table) {
  size_t place = 0;
  while (place < table->count && strcmp(table->rows[place].id, selected) != 0)
    place++;
  return place;
}

static void write_table(pid_t process, struct table *table, size_t width,
                        size_t height) {
  char line[1024], name[64], about[96] = "";
  uint64_t pending = 0, running = 0;
  for (size_t i = 0; i < table->count; i++) {
    pending += table->rows[i].pending;
    running += table->rows[i].running;
  }
  if (table->count > 0)
    qsort(table->rows, table->count, sizeof *table->rows, by_key);
  // The cursor is in the last line, and what is selected stays in sight.
  size_t rows = height == 0 ? table->count : height > 3 ? height - 3 : 0;
  size_t begin = place_of_selected(table);
  begin = begin < table->count && begin >= rows ? begin + 1 - rows : 0;
  if (process) {
    name_process(process, name, sizeof name);
    snprintf(about, sizeof about, "%s, process %d: ", name, (int)process);
  }
  snprintf(line, sizeof line, "%squeues %zu, pending %llu, running %llu%s",
           about, table->count, (unsigned long long)pending,
           (unsigned long long)running,
           width ? "   keys: p r e o n, arrows, enter, q" : "");
  if (height != 1)
    write_line(line, width);
  char queues[32] = "QUEUE";
  if (table->count > rows)
    snprintf(queues, sizeof queues, "QUEUE (%zu more)", table->count - rows);
  snprintf(line, sizeof line, "%-20s %7s %7s %7s %7s  %-9s %s", queues,
           "PENDING", "RUNNING", "ENDS/S", "OLDEST", "WHY",
           "RUNNING OPERATION");
  if (height == 0 || height > 2)
    write_line(line, width);
  for (size_t i = begin; i < table->count && i < begin + rows; i++) {
    const struct row *row = &table->rows[i];
    char oldest[24] = "-", rate[24] = "-";
    if (row->oldest_ns > 0)
      write_time(row->oldest_ns, oldest, sizeof oldest);
    if (row->rate >= 0)
      snprintf(rate, sizeof rate, "%.0f", row->rate);
    const char *label = row->label[0] ? row->label : row->id;
    size_t left = 20;
    int bytes = (int)fitting(label, &left);
    snprintf(line, sizeof line, "%.*s%*s %7llu %7llu %7s %7s  %-9s %s", bytes,
             label, (int)left, "", (unsigned long long)row->pending,
             (unsigned long long)row->running, rate, oldest,
             row->cause[0] ? row->cause : "-", row->holder);
    bool is_selected = strcmp(row->id, selected) == 0;
    if (is_selected)
      fputs("\033[7m", stdout);
    write_line(line, width);
    if (is_selected)
      fputs("\033[m", stdout);
  }
}

static struct termios before;

static void leave_terminal(void) {
  before_failure = NULL;
  tcsetattr(STDIN_FILENO, TCSANOW, &before);
  // Back to the previous screen, with its cursor.
  fputs("\033[?25h\033[?1049l", stdout);
  fflush(stdout);
}

static volatile sig_atomic_t is_ended;

static void end(int number) { is_ended = number; }

static volatile sig_atomic_t is_paused;

static void pause_later(int number) { is_paused = number; }

static void enter_terminal(void) {
  tcgetattr(STDIN_FILENO, &before);
  struct termios keys = before;
  keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
  // An interrupt must not discard what restores the terminal.
  keys.c_lflag |= NOFLSH;
  tcsetattr(STDIN_FILENO, TCSANOW, &keys);
  fputs("\033[?1049h\033[?25l", stdout);
  before_failure = leave_terminal;
  struct sigaction action = {.sa_handler = end, .sa_flags = SA_RESTART};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGHUP, &action, NULL);
  sigaction(SIGQUIT, &action, NULL);
  action.sa_handler = pause_later;
  sigaction(SIGTSTP, &action, NULL);
}

/// Stops, as Ctrl-Z asks, with the terminal as it was before.
static void pause_now(void) {
  is_paused = false;
  leave_terminal();
  raise(SIGSTOP);
  enter_terminal();
}

/// Waits for a byte from the terminal. 0 if the time runs out.
static char next_byte(double seconds) {
  struct pollfd readable = {.fd = STDIN_FILENO, .events = POLLIN};
  char byte;
  if (poll(&readable, 1, (int)(seconds * 1000)) <= 0)
    return 0;
  return read(STDIN_FILENO, &byte, 1) == 1 ? byte : 'q';
}

/// The same for a key.
static char next_key(double seconds) {
  char key = next_byte(seconds);
  if (key != '\033')
    return key;
  // The bytes of a key such as an arrow arrive together. The last is a letter
  // or a tilde.
  char byte = next_byte(0.02);
  if (byte == '[' || byte == 'O')
    do
      byte = next_byte(0.02);
    while (byte && (byte < '@' || byte > '~'));
  return byte == 'A' ? 'k' : byte == 'B' ? 'j' : key;
}

/// Selects the next queue of the table, or the one before; at first, the first.
static void select_next(const struct table *table, bool is_down) {
  size_t place = place_of_selected(table);
  if (place == table->count)
    place = 0;
  else if (is_down)
    place += place + 1 < table->count;
  else
    place -= place > 0;
  if (place < table->count)
    copy_text(table->rows[place].id, selected, sizeof selected);
}

int show_top(pid_t process, double interval) {
  read_first_ones(true);
  struct table table = take_table(process);
  if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
    write_table(process, &table, 0, 0);
    free(table.rows);
    return 0;
  }
  enter_terminal();
  char key = 0;
  bool looks = false;
  while (!is_ended && key != 'q') {
    struct winsize size = {0};
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    size_t width = size.ws_col ? size.ws_col : 80;
    size_t height = size.ws_row ? size.ws_row : 24;
    fputs("\033[H\033[J", stdout);
    if (looks)
      write_queue(process, selected, width, height);
    else
      write_table(process, &table, width, height);
    fflush(stdout);
    key = next_key(interval);
    if (is_paused)
      pause_now();
    if (key == 0 && !is_ended) {
      struct table old = table;
      table = take_table(process);
      take_rates(&table, &old);
      free(old.rows);
    } else if (looks) {
      looks = false;
    } else if (strchr("preon", key)) {
      sorted_by = key;
    } else if (key == 'j' || key == 'k') {
      select_next(&table, key == 'j');
    } else if (key == '\n') {
      looks = selected[0] != '\0';
    }
  }
  leave_terminal();
  free(table.rows);
  return 0;
}
