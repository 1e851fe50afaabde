/*
 * refuse.c - refuses a program the memory of other processes, as a system may.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <sys/uio.h>

ssize_t process_vm_readv(pid_t process, const struct iovec *local,
                         unsigned long local_count, const struct iovec *remote,
                         unsigned long remote_count, unsigned long flags) {
  (void)process, (void)local, (void)local_count;
  (void)remote, (void)remote_count, (void)flags;
  errno = EPERM;
  return -1;
}
