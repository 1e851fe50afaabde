// Packages: inturn
// INCLUDES
#include <cstdio>
#include <utility>

static void start(inturn::token token) {
  std::puts("started");
  token.finish();
}

int main() {
  // SNIPPET
}
