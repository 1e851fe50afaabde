// Random numbers that Swift's standard library asks for and older C libraries
// lack: for the seed of hashing, and to spread retries. No secrets.
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>

void arc4random_buf(void *buffer, size_t count);

// The next output of SplitMix64 (Steele, Lea and Flood 2014). It begins at the
// system's random bytes for this process and the time, so that children of a
// fork get other numbers.
static uint64_t next_random(void) {
  static uint64_t steps;
  uint64_t random;
  struct timespec now;
  memcpy(&random, (const void *)getauxval(AT_RANDOM), sizeof random);
  clock_gettime(CLOCK_MONOTONIC, &now);
  random += (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec;
  random += __atomic_add_fetch(&steps, 0x9e3779b97f4a7c15, __ATOMIC_RELAXED);
  random = (random ^ random >> 30) * 0xbf58476d1ce4e5b9;
  random = (random ^ random >> 27) * 0x94d049bb133111eb;
  return random ^ random >> 31;
}

void arc4random_buf(void *buffer, size_t count) {
  for (size_t done = 0; done < count;) {
    uint64_t random = next_random();
    size_t part = count - done < sizeof random ? count - done : sizeof random;
    memcpy((char *)buffer + done, &random, part);
    done += part;
  }
}
