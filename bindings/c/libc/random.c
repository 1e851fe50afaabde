// What the C library has of late and the engine's modules ask for: the seed of
// hashing. The system gives each process sixteen random bytes.
#include <stddef.h>
#include <sys/auxv.h>

void arc4random_buf(void *buffer, size_t count);

void arc4random_buf(void *buffer, size_t count) {
  const unsigned char *random = (const unsigned char *)getauxval(AT_RANDOM);
  unsigned char *bytes = buffer;
  for (size_t i = 0; i < count; i++)
    bytes[i] = random[i % 16];
}
