#include "cuda/emulation/emulation.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <vector>

#include <sys/mman.h>

#include "cuda/emulation/sanitizers.h"

/* From one stack to another. x86-64 saves the registers that a function must keep; other machines call the system, which
 * takes ten times as long. */
#if defined(__x86_64__)
extern "C" void cs_emulation_switch(void **from, void *to);
__asm__(".text\n"
        ".local cs_emulation_switch\n"
        ".type cs_emulation_switch, @function\n"
        "cs_emulation_switch:\n"
        "push %rbp\n"
        "push %rbx\n"
        "push %r12\n"
        "push %r13\n"
        "push %r14\n"
        "push %r15\n"
        "mov %rsp, (%rdi)\n"
        "mov %rsi, %rsp\n"
        "pop %r15\n"
        "pop %r14\n"
        "pop %r13\n"
        "pop %r12\n"
        "pop %rbx\n"
        "pop %rbp\n"
        "ret\n"
        ".size cs_emulation_switch, . - cs_emulation_switch\n");
#else
#include <ucontext.h>
#endif

/* Launches since the process began, and captures of them. */
static std::atomic<long long> launches_so_far{0};
void cs_count_launch(void) { launches_so_far++; }
long long cs_launches(void) { return launches_so_far; }

namespace emulation
{
thread_local indices now;

namespace
{
constexpr size_t STACK = 256 << 10; /* bytes; pages that no fiber touches are never there */
constexpr unsigned LANES = 32;
constexpr size_t MOST_ENDED = 2048; /* fibers that ThreadSanitizer still knows */
constexpr int PATIENCE = 1 << 16;   /* rounds in which fibers pause and none goes on */

/* Where a stack was left. */
struct place {
#if defined(__x86_64__)
    void *top = nullptr;
#else
    ucontext_t context = {};
#endif
    sanitized_stack checks;
};

/* `last`: nobody returns to `from`. */
void go(place &from, place &to, bool last = false)
{
    from.checks.leave(to.checks, last);
#if defined(__x86_64__)
    cs_emulation_switch(&from.top, to.top);
#else
    swapcontext(&from.context, &to.context);
#endif
    from.checks.arrive();
}

/* Lanes that exchange values: all 32, or a half of them. Two rounds are stored: a slow lane reads one while fast lanes
 * fill the next. */
struct warp {
    unsigned arrived = 0, round = 0;
    int line = 0;
    char order[2] = {}; /* of __syncwarp, for ThreadSanitizer: two rounds */
    uint64_t value[2][LANES] = {};
};

/* A block's barrier and shared memory. */
struct block {
    uint3 index = {};
    unsigned threads = 0, left = 0, arrived = 0, round = 0;
    int line = 0;
    char order[2] = {};      /* of barriers, for ThreadSanitizer: two rounds */
    std::vector<warp> warps; /* three for each warp: the whole, its first half, its second half */
    std::vector<std::pair<const void *, std::unique_ptr<char[]>>> arrays;
};

struct fiber {
    block *of = nullptr;
    unsigned thread = 0;
    bool done = false;
    int line = 0;                    /* where it met others last */
    const unsigned *round = nullptr; /* waits while *round is `until` */
    unsigned until = 0;
    std::vector<copy> copies; /* begun, and not yet made */
    place left;
};

/* What ThreadSanitizer knows of a launch: all before it happens before its threads, and they before all after it. */
struct bounds {
    char start = 0, end = 0;
    std::vector<sanitized_stack> ended; /* kept, so that other fibers do not get their numbers */
    void destroy()
    {
        for (sanitized_stack &each : ended) each.destroy();
        ended.clear();
    }
};

/* A launch, or as much of it as runs at once. */
struct run {
    machine *on;
    bounds *launch;
    const std::function<void()> *kernel;
    std::vector<fiber> fibers;
    fiber *present = nullptr;
    place scheduler;
    bool moved = false; /* whether a fiber did more than pause in this round */
};

thread_local run *running;
std::atomic<uint64_t> kernels{0};

/* Memory for the stacks of fibers, kept from launch to launch. */
struct stacks {
    char *memory = nullptr;
    size_t bytes = 0;
    ~stacks()
    {
        if (memory) munmap(memory, bytes);
    }
    char *take(size_t count)
    {
        if (count * STACK <= bytes && !NEW_STACKS) {
            forget_stacks(memory, bytes);
            return memory;
        }
        if (memory) munmap(memory, bytes);
        bytes = count * STACK;
        void *taken = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        memory = taken == MAP_FAILED ? nullptr : static_cast<char *>(taken);
        if (!memory) bytes = 0;
        return memory;
    }
};
thread_local stacks memory;

std::string where(const fiber &f)
{
    return "block " + std::to_string(f.of->index.x) + ", thread " + std::to_string(f.thread);
}

/* Back to the scheduler, until it resumes this fiber, which it does not after a failure. */
void yield()
{
    fiber *own = running->present;
    happens_before(&running->launch->end);
    go(own->left, running->scheduler);
}

void wait(const unsigned *round)
{
    fiber *own = running->present;
    own->round = round;
    own->until = *round;
    yield();
    own->round = nullptr;
}

/* What a fiber runs. */
void begin()
{
    run *all = running;
    fiber *own = all->present;
    own->left.checks.begin(all->scheduler.checks);
    happens_after(&all->launch->start);
    (*all->kernel)();
    happens_before(&all->launch->end);
    own->done = true;
    own->of->left++;
    if (own->of->arrived && all->on->failure.empty())
        all->on->failure = where(*own) + " ended while others wait at the barrier in line " +
                           std::to_string(own->of->line);
    go(own->left, all->scheduler, true);
}

/* Gives a fiber its stack, on which `begin` starts. */
__attribute__((noinline)) void prepare(fiber &f, char *stack)
{
    f.left.checks.make(stack, STACK);
#if defined(__x86_64__)
    /* Six registers, the address to return to, and one that `begin` never returns to. */
    void **top = reinterpret_cast<void **>(stack + STACK) - 8;
    std::fill(top, top + 8, nullptr);
    top[6] = reinterpret_cast<void *>(begin);
    f.left.top = top;
#else
    getcontext(&f.left.context);
    f.left.context.uc_stack.ss_sp = stack;
    f.left.context.uc_stack.ss_size = STACK;
    f.left.context.uc_link = nullptr;
    makecontext(&f.left.context, begin, 0);
#endif
}

/* Lets a fiber run until it yields. */
void resume(run &all, fiber &f)
{
    all.present = &f;
    now.thread = {f.thread, 0, 0};
    now.block = f.of->index;
    go(all.scheduler, f.left);
}

/* A round over all fibers that can run. Returns how many did. */
size_t give_turns(run &all, const std::vector<size_t> &turns)
{
    size_t ran = 0;
    for (size_t i : turns) {
        fiber &f = all.fibers[i];
        if (f.done || (f.round && *f.round == f.until)) continue;
        ran++;
        resume(all, f);
        if (f.done) all.moved = true;
        if (!all.on->failure.empty()) return ran;
    }
    return ran;
}

void shuffle_turns(std::vector<size_t> &turns, uint64_t &seed)
{
    for (size_t i = turns.size(); i > 1; i--) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        std::swap(turns[i - 1], turns[(seed >> 33) % i]);
    }
}

/* Runs all fibers to their ends, or to a failure. */
void schedule(run &all)
{
    std::vector<size_t> turns(all.fibers.size());
    std::iota(turns.begin(), turns.end(), size_t{0});
    if (all.on->turn == order::reverse) std::reverse(turns.begin(), turns.end());
    auto is_done = [](const fiber &f) { return f.done; };
    for (int idle = 0; !std::all_of(all.fibers.begin(), all.fibers.end(), is_done);) {
        if (all.on->turn == order::random) shuffle_turns(turns, all.on->seed);
        all.moved = false;
        size_t ran = give_turns(all, turns);
        if (!all.on->failure.empty()) return;
        idle = all.moved ? 0 : idle + 1;
        if (ran && idle < PATIENCE) continue;
        auto left = std::find_if_not(all.fibers.begin(), all.fibers.end(), is_done);
        all.on->failure =
            where(*left) + " waits without end, in or after line " + std::to_string(left->of->line);
        return;
    }
}

/* Runs `count` blocks from `first` on, at the same time. */
void run_blocks(machine &on, unsigned first, unsigned count, unsigned threads,
                const std::function<void()> &kernel, bounds &launch)
{
    /* This thread uses no memory of the kernel; it makes and frees shared memory. */
    unseen guard;
    char *stack = memory.take(static_cast<size_t>(count) * threads);
    if (!stack) {
        on.failure = "out of memory for the stacks of emulated threads";
        return;
    }
    std::vector<block> blocks(count);
    run all;
    all.on = &on;
    all.launch = &launch;
    all.kernel = &kernel;
    all.scheduler.checks.take();
    all.fibers.resize(static_cast<size_t>(count) * threads);
    for (unsigned b = 0; b < count; b++) {
        blocks[b].index = {first + b, 0, 0};
        blocks[b].threads = threads;
        blocks[b].warps.resize(3 * (threads / LANES));
        for (unsigned t = 0; t < threads; t++) {
            size_t i = static_cast<size_t>(b) * threads + t;
            fiber &f = all.fibers[i];
            f.of = &blocks[b];
            f.thread = t;
            prepare(f, stack + i * STACK);
        }
    }
    run *outer = running;
    running = &all;
    happens_before(&launch.start);
    schedule(all);
    running = outer;
    if (launch.ended.size() > MOST_ENDED) launch.destroy();
    for (fiber &f : all.fibers) launch.ended.push_back(f.left.checks);
}
} // namespace

uint64_t kernels_run() { return kernels; }

machine &settings()
{
    static machine given;
    return given;
}

void fail(const std::string &why)
{
    fiber *own = running->present;
    if (running->on->failure.empty()) running->on->failure = why + " (" + where(*own) + ")";
    for (;;) yield();
}

void launch(machine &on, unsigned blocks, unsigned threads, bool together,
            const std::function<void()> &kernel)
{
    if (!on.failure.empty() || !blocks) return;
    if (on.capture) {
        on.capture->push_back(
            [=](machine &again) { launch(again, blocks, threads, together, kernel); });
        return;
    }
    if (on.lost_launch && --on.lost_launch == 0) {
        on.failure = "the device was lost";
        return;
    }
    if (threads % LANES || threads > 1024) {
        on.failure = "a launch of " + std::to_string(threads) + " threads a block";
        return;
    }
    kernels++;
    now.block_size = {threads, 1, 1};
    now.grid_size = {blocks, 1, 1};
    bounds own;
    if (together) run_blocks(on, 0, blocks, threads, kernel, own);
    for (unsigned i = 0; i < blocks && !together && on.failure.empty(); i++)
        run_blocks(on, on.turn == order::reverse ? blocks - 1 - i : i, 1, threads, kernel, own);
    happens_after(&own.end);
    own.destroy();
}

void barrier(int line)
{
    fiber *own = running->present;
    block *of = own->of;
    running->moved = true;
    own->line = line;
    if (of->left) fail("a barrier in line " + std::to_string(line) + " that other threads left");
    if (!of->arrived) of->line = line;
    else if (of->line != line)
        fail("threads of a block wait at barriers in lines " + std::to_string(of->line) + " and " +
             std::to_string(line));
    char *ordered = &of->order[of->round % 2];
    happens_before(ordered);
    if (++of->arrived < of->threads) wait(&of->round);
    else {
        of->arrived = 0;
        of->round++;
    }
    happens_after(ordered);
}

const uint64_t *exchange(uint64_t value, int line, unsigned lanes, bool orders)
{
    fiber *own = running->present;
    unsigned half = lanes == LANES ? 0 : 1 + own->thread % LANES / (LANES / 2);
    warp &w = own->of->warps[3 * (own->thread / LANES) + half];
    unsigned round = w.round;
    running->moved = true;
    own->line = line;
    if (!w.arrived) w.line = line;
    else if (w.line != line)
        fail("lanes of a warp meet in lines " + std::to_string(w.line) + " and " +
             std::to_string(line));
    w.value[round % 2][own->thread % LANES] = value;
    if (orders) happens_before(&w.order[round % 2]);
    if (++w.arrived < lanes) wait(&w.round);
    else {
        w.arrived = 0;
        w.round++;
    }
    if (orders) happens_after(&w.order[round % 2]);
    return w.value[round % 2];
}

void *shared(const void *key, size_t bytes)
{
    block *of = running->present->of;
    for (auto &array : of->arrays)
        if (array.first == key) return array.second.get();
    /* No thread of the kernel has written this. */
    unseen guard;
    of->arrays.emplace_back(key, std::unique_ptr<char[]>(new char[bytes]));
    char *array = of->arrays.back().second.get();
    std::memset(array, 0xff, bytes);
    return array;
}

void pause() { yield(); }

void leave_mark(void *mark) { happens_before(static_cast<char *>(mark)); }

void take_mark(void *mark) { happens_after(static_cast<char *>(mark)); }

std::vector<copy> &copies() { return running->present->copies; }

bool loses_write()
{
    machine *on = running->on;
    return on->lost_write && --on->lost_write == 0;
}
} // namespace emulation
