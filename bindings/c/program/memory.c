// Reads the memory of another process, in which no code runs for it.
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "Layout.h"
#include "picture.h"
#include "program.h"

enum { PAGE = 4096, PAGES = 4096 };

/// A page as it was read at a moment. An unreadable one is empty.
struct page {
  uint64_t address;
  uint32_t moment; // 0: never
  bool is_there;
  unsigned char bytes[PAGE];
};

static void transfer(ssize_t (*call)(int, void *, size_t), int descriptor,
                     void *bytes, size_t size) {
  for (char *next = bytes; size > 0;) {
    ssize_t done = call(descriptor, next, size);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      fail("the debugger has hung up");
    next += done;
    size -= (size_t)done;
  }
}

static ssize_t write_some(int descriptor, void *bytes, size_t size) {
  return write(descriptor, bytes, size);
}

/// A request is two numbers, an address and a size; the answer is one byte that
/// says whether the memory can be read, and then the bytes.
static bool ask_debugger(struct memory *memory, uint64_t address, void *bytes,
                         size_t size) {
  uint64_t request[] = {address, size};
  char answer;
  transfer(write_some, memory->requests, request, sizeof request);
  transfer(read, memory->answers, &answer, 1);
  if (answer == 1)
    transfer(read, memory->answers, bytes, size);
  return answer == 1;
}

bool read_fresh(struct memory *memory, uint64_t address, void *bytes,
                size_t size) {
  if (memory->requests >= 0)
    return read_memory(memory, address, bytes, size);
  struct iovec local = {bytes, size}, remote = {(void *)address, size};
  for (pid_t last = 0; memory->thread != last;) {
    ssize_t done = process_vm_readv(memory->thread, &local, 1, &remote, 1, 0);
    if (done >= 0 || errno != ESRCH)
      return done == (ssize_t)size;
    last = memory->thread;
    memory->thread = living_thread(memory->process);
  }
  errno = ESRCH;
  return false;
}

static const struct page *page_at(struct memory *memory, uint64_t address) {
  if (!memory->copy && !(memory->copy = calloc(PAGES, sizeof *memory->copy)))
    fail("out of memory");
  struct page *page = &memory->copy[address / PAGE % PAGES];
  if (page->moment == memory->moment && page->address == address)
    return page;
  page->address = address;
  page->moment = memory->moment;
  page->is_there = memory->requests < 0
                       ? read_fresh(memory, address, page->bytes, PAGE)
                       : ask_debugger(memory, address, page->bytes, PAGE);
  return page;
}

bool read_memory(struct memory *memory, uint64_t address, void *bytes,
                 size_t size) {
  for (char *next = bytes; size > 0;) {
    size_t offset = address % PAGE;
    size_t part = size < PAGE - offset ? size : PAGE - offset;
    const struct page *page = page_at(memory, address - offset);
    if (!page->is_there)
      return false;
    memcpy(next, page->bytes + offset, part);
    next += part;
    address += part;
    size -= part;
  }
  return true;
}

void forget_pages(struct memory *memory) {
  // What is debugged stands still.
  if (memory->requests < 0 || memory->moment == 0)
    memory->moment++;
}

bool read_text(struct memory *memory, uint64_t address, char *text,
               size_t room) {
  size_t length = 0;
  // Not past the end of a page unless the text continues there.
  while (length < room && !memchr(text, 0, length)) {
    size_t part = PAGE - (address + length) % PAGE;
    if (part > room - length)
      part = room - length;
    if (!read_memory(memory, address + length, text + length, part)) {
      text[0] = '\0';
      return false;
    }
    length += part;
  }
  if (!memchr(text, 0, length)) {
    // Further bytes of a character begin with the bits 10.
    for (length--; length > 0 && (text[length] & 0xc0) == 0x80;)
      length--;
    text[length] = '\0';
  }
  return true;
}

/// Searches memory, which may be large, for the mark. 0 if it is not there.
static uint64_t find_in(struct memory *memory, uint64_t begin, uint64_t end) {
  static char bytes[1 << 16];
  static const char mark[16] = INTURN_LAYOUT_MARK;
  for (uint64_t at = begin; at < end; at += sizeof bytes) {
    size_t size = end - at < sizeof bytes ? end - at : sizeof bytes;
    if (!read_fresh(memory, at, bytes, size))
      return 0;
    for (size_t i = 0; i + sizeof mark <= size; i += sizeof mark)
      if (memcmp(bytes + i, mark, sizeof mark) == 0)
        return at + i;
  }
  return 0;
}

/// The mark is in data that was loaded from a file, the library's or the
/// program's. If several files have it, one with an engine is taken: the first
/// or a further one. They are counted.
static uint64_t find_in_files(struct memory *memory, const char *maps,
                              unsigned copy, unsigned *out_copies) {
  // More than the data of any program file; larger mappings are something else.
  static const uint64_t most = 64 << 20;
  uint64_t found = 0;
  *out_copies = 0;
  for (const char *line = maps; line && *line;) {
    uint64_t begin, end;
    char rights[5], path[2] = "";
    int fields = sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %1s",
                        &begin, &end, rights, path);
    if (fields == 4 && path[0] == '/' && strcmp(rights, "rw-p") == 0 &&
        end - begin <= most) {
      uint64_t mark = find_in(memory, begin, end);
      struct inturn_layout_process process;
      bool has_engine = mark &&
                        read_fresh(memory, mark, &process, sizeof process) &&
                        process.engine;
      if (has_engine && ++*out_copies == copy)
        found = mark;
      else if (copy == 1 && *out_copies == 0 && !found)
        found = mark;
    }
    line = strchr(line, '\n');
    line += line != NULL;
  }
  return found;
}

enum finding find_mark(struct memory *memory, unsigned copy,
                       uint64_t *out_address, unsigned *out_copies) {
  char *maps = read_living(memory->process, "maps", NULL);
  if (!maps)
    return FORBIDDEN;
  *out_address = find_in_files(memory, maps, copy, out_copies);
  // If nothing at all can be read, reading may be forbidden.
  uint64_t begin = strtoull(maps, NULL, 16);
  char byte;
  bool is_forbidden =
      !*out_address && !read_fresh(memory, begin, &byte, 1) && errno != EFAULT;
  int error = errno;
  free(maps);
  errno = error;
  return is_forbidden ? FORBIDDEN : *out_address ? FOUND : NO_LIBRARY;
}
