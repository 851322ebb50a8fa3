/* What sanitizers must know of fibers (sanitizer/common_interface_defs.h, sanitizer/tsan_interface.h).
 *
 * AddressSanitizer: which stack is in use. ThreadSanitizer: each fiber is a thread, and a switch from one to another orders
 * nothing, so that the threads of a kernel race unless a barrier is between their uses of memory. emulation.cc itself is
 * compiled without ThreadSanitizer, which must not see its own fields; CS_THREAD_SANITIZER tells it of that of the kernels.
 */
#ifndef CS_EMULATION_SANITIZERS_H
#define CS_EMULATION_SANITIZERS_H

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define CS_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CS_ADDRESS_SANITIZER
#endif
#endif

#if defined(CS_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(CS_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
extern "C" void AnnotateIgnoreWritesBegin(const char *file, int line);
extern "C" void AnnotateIgnoreWritesEnd(const char *file, int line);
#endif

namespace emulation
{
/* All that this thread has done before happens before what others do after happens_after(mark). */
inline void happens_before([[maybe_unused]] char *mark)
{
#if defined(CS_THREAD_SANITIZER)
    __tsan_release(mark);
#endif
}

inline void happens_after([[maybe_unused]] char *mark)
{
#if defined(CS_THREAD_SANITIZER)
    __tsan_acquire(mark);
#endif
}

/* What is allocated and written while it exists is written by nobody. */
struct unseen {
#if defined(CS_THREAD_SANITIZER)
    unseen() { AnnotateIgnoreWritesBegin(__FILE__, __LINE__); }
    ~unseen() { AnnotateIgnoreWritesEnd(__FILE__, __LINE__); }
#else
    unseen() {}
    ~unseen() {}
#endif
};

/* ThreadSanitizer would remember what other fibers did to a stack that is used again. */
#if defined(CS_THREAD_SANITIZER)
constexpr bool NEW_STACKS = true;
#else
constexpr bool NEW_STACKS = false;
#endif

/* Fibers that did not end left marks around their variables. */
inline void forget_stacks([[maybe_unused]] char *memory, [[maybe_unused]] size_t bytes)
{
#if defined(CS_ADDRESS_SANITIZER)
    __asan_unpoison_memory_region(memory, bytes);
#endif
}

/* The stack of a fiber or of the thread that runs them. */
class sanitized_stack
{
  public:
    /* A new fiber. */
    void make([[maybe_unused]] char *memory, [[maybe_unused]] size_t length)
    {
#if defined(CS_ADDRESS_SANITIZER)
        bottom = memory;
        bytes = length;
#endif
#if defined(CS_THREAD_SANITIZER)
        thread = __tsan_create_fiber(0);
#endif
    }

    /* The stack in use. */
    void take()
    {
#if defined(CS_THREAD_SANITIZER)
        thread = __tsan_get_current_fiber();
#endif
    }

    void destroy()
    {
#if defined(CS_THREAD_SANITIZER)
        __tsan_destroy_fiber(thread);
#endif
    }

    /* Before and after a switch; `last`: nobody returns. */
    void leave([[maybe_unused]] const sanitized_stack &to, [[maybe_unused]] bool last)
    {
#if defined(CS_ADDRESS_SANITIZER)
        __sanitizer_start_switch_fiber(last ? nullptr : &fake, to.bottom, to.bytes);
#endif
#if defined(CS_THREAD_SANITIZER)
        __tsan_switch_to_fiber(to.thread, __tsan_switch_to_fiber_no_sync);
#endif
    }

    void arrive()
    {
#if defined(CS_ADDRESS_SANITIZER)
        __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
    }

    /* A fiber runs for the first time; it learns the stack that it came from. */
    void begin([[maybe_unused]] sanitized_stack &from)
    {
#if defined(CS_ADDRESS_SANITIZER)
        __sanitizer_finish_switch_fiber(nullptr, &from.bottom, &from.bytes);
#endif
    }

  private:
#if defined(CS_ADDRESS_SANITIZER)
    void *fake = nullptr;
    const void *bottom = nullptr;
    size_t bytes = 0;
#endif
#if defined(CS_THREAD_SANITIZER)
    void *thread = nullptr;
#endif
};
} // namespace emulation

#endif
