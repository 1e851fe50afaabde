/*
 * refuse.c - refuses a program the memory of other processes, as a system may;
 * with REFUSE_FILES, what is in their environment and their maps, too, as if
 * that was another user.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

uid_t geteuid(void) { return getenv("REFUSE_FILES") ? 65534 : getuid(); }

/* Only for reading. */
int open(const char *path, int flags, ...) {
  const char *name = strrchr(path, '/');
  if (getenv("REFUSE_FILES") && name &&
      (strcmp(name, "/maps") == 0 || strcmp(name, "/environ") == 0)) {
    errno = EACCES;
    return -1;
  }
  return openat(AT_FDCWD, path, flags);
}

ssize_t process_vm_readv(pid_t process, const struct iovec *local,
                         unsigned long local_count, const struct iovec *remote,
                         unsigned long remote_count, unsigned long flags) {
  (void)process, (void)local, (void)local_count;
  (void)remote, (void)remote_count, (void)flags;
  errno = EPERM;
  return -1;
}
