/*
 * stuck.c - lists the programs in C that are stuck, or runs one of them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stuck.h"

scenario *scenarios;

int main(int count, char **arguments) {
  for (scenario *it = scenarios; it != NULL; it = it->next) {
    if (count == 2 && strcmp(arguments[1], "--list") == 0) {
      printf("%s\t%s%s\n", it->name, it->expected, it->age);
    } else if (count == 2 && strcmp(arguments[1], it->name) == 0) {
      puts("ready");
      fflush(stdout);
      it->run();
      for (;;)
        pause();
    }
  }
  return 0;
}
