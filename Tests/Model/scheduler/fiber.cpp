#include "fiber.hpp"

#include <cstdint>
#include <cstdlib>
#include <sys/mman.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MODEL_ADDRESS_SANITIZER 1
#include <sanitizer/asan_interface.h>
// Frames stay on stacks that are switched. Leaks are not looked for: a process
// ends while its threads are running.
extern "C" const char *__asan_default_options() {
  return "detect_stack_use_after_return=0:detect_leaks=0:exitcode=67";
}
#endif
#endif
// Defined if ThreadSanitizer is linked in. The compiler does not know, as this
// file is not instrumented.
extern "C" const char *__tsan_default_options() {
  return "halt_on_error=1:exitcode=66:atexit_sleep_ms=0";
}
extern "C" [[gnu::weak]] void *__tsan_get_current_fiber(void);
extern "C" [[gnu::weak]] void *__tsan_create_fiber(unsigned flags);
extern "C" [[gnu::weak]] void __tsan_switch_to_fiber(void *, unsigned flags);

// Saves the registers that a call preserves on the stack and the stack pointer
// in *from, and loads those of the other stack.
#if defined(__x86_64__)
__asm__(".text\n.globl model_switch\n.type model_switch, @function\n"
        "model_switch:\n"
        "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\n"
        "pushq %r15\nmovq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
        "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\n"
        "ret\n");
enum { entryWord = 6, words = 8 };
#elif defined(__aarch64__)
__asm__(".text\n.globl model_switch\n.type model_switch, %function\n"
        "model_switch:\n"
        "stp x29, x30, [sp, #-160]!\nstp x19, x20, [sp, #16]\n"
        "stp x21, x22, [sp, #32]\nstp x23, x24, [sp, #48]\n"
        "stp x25, x26, [sp, #64]\nstp x27, x28, [sp, #80]\n"
        "stp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\n"
        "stp d12, d13, [sp, #128]\nstp d14, d15, [sp, #144]\n"
        "mov x9, sp\nstr x9, [x0]\nmov sp, x1\n"
        "ldp x19, x20, [sp, #16]\nldp x21, x22, [sp, #32]\n"
        "ldp x23, x24, [sp, #48]\nldp x25, x26, [sp, #64]\n"
        "ldp x27, x28, [sp, #80]\nldp d8, d9, [sp, #96]\n"
        "ldp d10, d11, [sp, #112]\nldp d12, d13, [sp, #128]\n"
        "ldp d14, d15, [sp, #144]\nldp x29, x30, [sp], #160\nret\n");
enum { entryWord = 1, words = 20 };
#endif
extern "C" void model_switch(void **from, void *to);

namespace model {

static constexpr size_t stackSize = 512 * 1024;

// The fiber left by the last switch, whose stack the sanitizer must learn.
static Fiber *left;
static void (*firstEntry)();

void Fiber::arrived() {
#ifdef MODEL_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(nullptr, &left->bottom, &left->size);
#endif
}

static void begin() {
  Fiber::arrived();
  firstEntry();
  abort();
}

void Fiber::prepare(void (*entry)()) {
  firstEntry = entry; // the same for all
  if (!stack) {
    stack = static_cast<char *>(mmap(nullptr, stackSize, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (stack == MAP_FAILED)
      abort();
    bottom = stack;
    size = stackSize;
    if (__tsan_create_fiber)
      sanitizers = __tsan_create_fiber(0);
  }
#ifdef MODEL_ADDRESS_SANITIZER
  // The previous thread has left the stack in the middle of its calls.
  __asan_unpoison_memory_region(stack, stackSize);
#endif
  auto top = reinterpret_cast<uintptr_t *>(stack + stackSize - 64) - words;
  for (int i = 0; i < words; i++)
    top[i] = 0;
  top[entryWord] = reinterpret_cast<uintptr_t>(begin);
  stackPointer = top;
}

// The next fiber gets a new stack, which no other thread has written to.
void Fiber::discard() {
  if (stack)
    munmap(stack, stackSize);
  *this = Fiber();
}

void Fiber::switchTo(Fiber &other) {
  left = this;
#ifdef MODEL_ADDRESS_SANITIZER
  // Without the detection of uses after return, there is no fake stack to keep.
  __sanitizer_start_switch_fiber(nullptr, other.bottom, other.size);
#endif
  if (__tsan_switch_to_fiber) {
    if (!sanitizers)
      sanitizers = __tsan_get_current_fiber();
    // The switch does not order anything: only what the engine does.
    __tsan_switch_to_fiber(other.sanitizers, 1);
  }
  model_switch(&stackPointer, other.stackPointer);
  arrived();
}

} // namespace model
