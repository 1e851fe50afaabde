// Copies of numbers in memory, and the memory that they may be in.
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "CInturnSystem.h"

void inturn_system_find_copies(const unsigned char *bytes, uintptr_t size,
                               uintptr_t count, uint64_t first, uint64_t last,
                               inturn_system_copy_fn take, void *context) {
  // Nearly no number is between these two, and all tokens of a process have the
  // same highest byte, which memchr finds faster than this could.
  uint64_t range = last - first, number;
  const unsigned char *next = bytes + 7, *end = bytes + size;
  if (end - next > (ptrdiff_t)count)
    end = next + count;
  for (; next < end && (next = memchr(next, (int)(first >> 56),
                                      (size_t)(end - next))) != NULL;
       next++) {
    memcpy(&number, next - 7, sizeof number);
    if (number - first <= range)
      take(context, number, (uintptr_t)(next - 7 - bytes), false);
  }
  // A number of Python's has 30 bits in each of its words. wmemchr finds the
  // third, as memchr does a byte.
  uint32_t words[3];
  if (size < sizeof words)
    return;
  const wchar_t *begin = (const wchar_t *)(const void *)(bytes + 8), *word;
  const wchar_t *beyond = begin + (size - sizeof words) / 4 + 1;
  if (beyond - begin > (ptrdiff_t)(count + 3) / 4)
    beyond = begin + (count + 3) / 4;
  for (word = begin;
       word < beyond && (word = wmemchr(word, (wchar_t)(first >> 60),
                                        (size_t)(beyond - word))) != NULL;
       word++) {
    uintptr_t at = (uintptr_t)(word - begin) * 4;
    memcpy(words, bytes + at, sizeof words);
    number = words[0] | (uint64_t)words[1] << 30 | (uint64_t)words[2] << 60;
    if (number - first <= range && (words[0] | words[1]) >> 30 == 0)
      take(context, number, at, true);
  }
}

bool inturn_system_take_region(const char *line,
                               struct inturn_system_region *region) {
  uint64_t end = region->end;
  bool was_forbidden = region->name[0] == '\0';
  char before[sizeof region->name];
  strcpy(before, region->name);
  bool was_file = strncmp(before, "the data of ", 12) == 0;
  char rights[5], path[256] = "";
  if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s%*[ ]%255[^\n]",
             &region->begin, &region->end, rights, path) < 3)
    return false;
  const char *file = strrchr(path, '/');
  region->is_guarded = was_forbidden && region->begin == end;
  region->is_main_stack = strcmp(path, "[stack]") == 0;
  if (strncmp(rights, "---", 3) == 0)
    region->name[0] = '\0';
  else if (rights[3] == 's')
    strcpy(region->name, "shared memory");
  else if (file)
    snprintf(region->name, sizeof region->name, "the data of %.50s", file + 1);
  else if (strcmp(path, "[heap]") == 0)
    strcpy(region->name, "the heap");
  else if (path[0] || region->begin != end || !was_file)
    strcpy(region->name, "memory");
  else // the zeros of its data, and maybe more
    snprintf(region->name, sizeof region->name, "memory after %.46s", before);
  return strncmp(rights, "rw", 2) == 0;
}
