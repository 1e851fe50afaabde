// The program's entry point for C libraries from glibc 2.17 on, if the one that
// it is linked with has a newer __libc_start_main. The linker redirects calls
// of that here: see build-library.sh.
#ifdef __x86_64__
#define OLDEST "2.2.5"
#else
#define OLDEST "2.17"
#endif

int oldest_start(int (*main)(int, char **, char **), int count,
                 char **arguments, void (*begin)(void), void (*end)(void),
                 void (*loader_end)(void), void *stack_end);
__asm__(".symver oldest_start,__libc_start_main@GLIBC_" OLDEST);

int __wrap___libc_start_main(int (*main)(int, char **, char **), int count,
                             char **arguments, void (*begin)(void),
                             void (*end)(void), void (*loader_end)(void),
                             void *stack_end);

int __wrap___libc_start_main(int (*main)(int, char **, char **), int count,
                             char **arguments, void (*begin)(void),
                             void (*end)(void), void (*loader_end)(void),
                             void *stack_end) {
  return oldest_start(main, count, arguments, begin, end, loader_end,
                      stack_end);
}
