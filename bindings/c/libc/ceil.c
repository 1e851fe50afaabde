// Swift's dictionaries round their sizes up. For that alone, the library would
// need the file of the C library that has the mathematics.
#include <stdint.h>

double inturn_library_ceil(double size);

// Of what fits into 64 bits.
double inturn_library_ceil(double size) {
  double whole = (double)(int64_t)size;
  return whole < size ? whole + 1 : whole;
}
