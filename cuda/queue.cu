/* Memory and order of work, and the table of functions that the library is given. */
#include "cuda/device.h"
#include "cuda/queue_members.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <string>

#include <unistd.h>

/* Bytes moved since the process began, to devices, from devices and within them; pairs of buffers made; and what has been
 * asked of devices (cs_device_asked). */
static struct {
    std::atomic<long long> uploaded{0}, downloaded{0}, copied{0}, buffers{0};
    std::atomic<long long> uploads{0}, downloads{0}, waits{0};
} counts;

/* Launches since then: of the emulation, which counts its own (emulation/emulation.cc), or of GPUs. */
long long cs_launches(void);

#if defined(__CUDACC__)
static std::atomic<long long> launches{0};
void cs_count_launch(void) { launches++; }
long long cs_launches(void) { return launches; }
#endif

void cs_device_moved(long long moved[3])
{
    moved[0] = counts.uploaded;
    moved[1] = counts.downloaded;
    moved[2] = counts.copied;
}

void cs_device_asked(long long asked[4])
{
    asked[0] = cs_launches();
    asked[1] = counts.uploads;
    asked[2] = counts.downloads;
    asked[3] = counts.waits;
}

long long cs_device_buffers(void) { return counts.buffers; }

static cs_status report(cs_error *error, cs_status status, const char *what, const char *why)
{
    if (error) {
        error->status = status;
        std::snprintf(error->message, sizeof error->message, "%s: %s", what, why);
    }
    return status;
}

/* Bytes of a buffer: the emulation has small ones, so that tests make copies in several pieces. */
#if defined(__CUDACC__)
static const size_t PIECE = 1 << 20;
#else
static const size_t PIECE = 1 << 12;
#endif

/* Held while launches are captured: whoever waits for the whole device then ends the capture. */
static std::mutex capture_lock;

static size_t room(cs_queue *queue);

/* How much is needed, and how much is free. */
static cs_status no_room(cs_queue *queue, size_t bytes, cs_error *error)
{
    char text[96];
    std::snprintf(text, sizeof text, "%zu bytes are needed, and %zu are free", bytes, room(queue));
    return report(error, CS_NO_MEMORY, "out of memory on the device", text);
}

#if defined(__CUDACC__)

/* code <- the compute capability of the current device, as __CUDA_ARCH_LIST__ has it: 900 is 9.0. */
static cudaError_t capability(int *code)
{
    int device = 0, major = 0, minor = 0;
    cudaError_t result = cudaGetDevice(&device);
    if (result == cudaSuccess)
        result = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (result == cudaSuccess)
        result = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
    *code = 100 * major + 10 * minor;
    return result;
}

/* Whether a GPU runs the kernels of this module: machine code of its own generation and not after it, or the code that is
 * compiled when it is loaded, that of the last architecture. */
static bool has_kernels(int code)
{
    static const int built[] = {__CUDA_ARCH_LIST__}; /* ascending */
    int last = 0;
    for (int each : built) {
        if (each / 100 == code / 100 && each <= code) return true;
        last = each;
    }
    return last <= code;
}

static const char *missing(void)
{
    /* CUDA begins here. Children of the process cannot use it. */
    static const pid_t first = getpid();
    if (getpid() != first)
        return "this process was forked from one that has used CUDA: start processes by \"spawn\"";
    int devices = 0, driver = 0;
    if (cudaDriverGetVersion(&driver) == cudaSuccess && !driver)
        return "no driver for GPUs by NVIDIA is installed";
    cudaError_t result = cudaGetDeviceCount(&devices);
    if (result == cudaSuccess && !devices) return "there is no GPU";
    int code = 0;
    if (result == cudaSuccess) result = capability(&code);
    cudaGetLastError(); /* the next call must not find this failure */
    if (result != cudaSuccess) return cudaGetErrorString(result);
    return has_kernels(code) ? NULL
                             : "this installation has no kernels for the compute capability of the "
                               "GPU: build it with CONTACTSOLVE_CUDA_ARCHS";
}

/* The pool keeps what is given back, for the next packing.  S2 section 6.1: a memory pool */
static cudaError_t keep_memory(void)
{
    int device = 0;
    cudaMemPool_t pool;
    uint64_t all = UINT64_MAX;
    cudaError_t result = cudaGetDevice(&device);
    if (result == cudaSuccess) result = cudaDeviceGetDefaultMemPool(&pool, device);
    if (result != cudaSuccess) return result;
    return cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all);
}

/* What launches ask of the device. */
static cudaError_t look_at_device(cs_queue *queue)
{
    const struct {
        int *number;
        cudaDeviceAttr which;
    } each[] = {
        {&queue->processors, cudaDevAttrMultiProcessorCount},
        {&queue->most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin},
        {&queue->generation, cudaDevAttrComputeCapabilityMajor},
    };
    int device = 0;
    cudaError_t result = cudaGetDevice(&device);
    for (const auto &one : each)
        if (result == cudaSuccess) result = cudaDeviceGetAttribute(one.number, one.which, device);
    return result;
}

static cs_status open_queue(cs_queue *queue, cs_error *error)
{
    cudaError_t result = keep_memory();
    if (result == cudaSuccess) result = look_at_device(queue);
    if (result == cudaSuccess)
        result = cudaStreamCreateWithFlags(&queue->stream, cudaStreamNonBlocking);
    if (result == cudaSuccess) return CS_OK;
    cs_status status = result == cudaErrorMemoryAllocation ? CS_NO_MEMORY : CS_DEVICE_FAILED;
    return report(error, status, "the device has no stream", cudaGetErrorString(result));
}

static void forget(cs_graph graph)
{
    if (graph) cudaGraphExecDestroy(graph);
}

static void close_queue(cs_queue *queue)
{
    cudaStreamSynchronize(queue->stream);
    for (const cs_captured_sweep &each : queue->captured) forget(each.graph);
    for (const cs_captured_flow &each : queue->flows) forget(each.graph);
    for (void *memory : queue->memory) cudaFreeAsync(memory, queue->stream);
    cudaStreamSynchronize(queue->stream);
    cudaStreamDestroy(queue->stream);
    cudaGetLastError(); /* of a device that has failed */
}

/* What the device has left, with what the pool keeps and nobody uses. */
static size_t room(cs_queue *queue)
{
    int device = 0;
    size_t left = 0, all = 0;
    uint64_t kept = 0, used = 0;
    cudaMemPool_t pool;
    cs_check(queue, cudaMemGetInfo(&left, &all));
    cudaError_t result = cudaGetDevice(&device);
    if (result == cudaSuccess) result = cudaDeviceGetDefaultMemPool(&pool, device);
    if (result == cudaSuccess)
        result = cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &kept);
    if (result == cudaSuccess)
        result = cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used);
    cs_check(queue, result);
    return left + (size_t)(kept - used);
}

/* What a failure to take memory means. */
static cs_status no_memory(cs_queue *queue, cudaError_t result, size_t bytes, cs_error *error)
{
    cudaGetLastError(); /* the next call must not find this failure */
    if (result == cudaErrorMemoryAllocation) return no_room(queue, bytes, error);
    return report(error, CS_DEVICE_FAILED, "the device has failed", cudaGetErrorString(result));
}

static cs_status take_bytes(cs_queue *queue, void **memory, size_t bytes, cs_error *error)
{
    cudaError_t result = cudaMallocAsync(memory, bytes, queue->stream);
    if (result == cudaSuccess) result = cudaMemsetAsync(*memory, 0, bytes, queue->stream);
    return result == cudaSuccess ? CS_OK : no_memory(queue, result, bytes, error);
}

static cudaError_t make_buffer(cs_buffer *buffer)
{
    cudaError_t result = cudaMallocHost(reinterpret_cast<void **>(&buffer->memory), PIECE);
    if (result == cudaSuccess)
        result = cudaEventCreateWithFlags(&buffer->done, cudaEventDisableTiming);
    return result;
}

static void free_buffer(cs_buffer *buffer)
{
    if (buffer->done) cudaEventDestroy(buffer->done);
    if (buffer->memory) cudaFreeHost(buffer->memory);
    cudaGetLastError(); /* of a device that has failed */
}

/* Waits until the last copy from or into a buffer is over. */
static void wait_for(cs_queue *queue, const cs_buffer &buffer)
{
    cs_check(queue, cudaEventSynchronize(buffer.done));
}

static void write_piece(cs_queue *queue, void *to, const cs_buffer &buffer, size_t bytes)
{
    cs_check(queue,
             cudaMemcpyAsync(to, buffer.memory, bytes, cudaMemcpyHostToDevice, queue->stream));
    cs_check(queue, cudaEventRecord(buffer.done, queue->stream));
}

static void read_piece(cs_queue *queue, const cs_buffer &buffer, const void *from, size_t bytes)
{
    cs_check(queue,
             cudaMemcpyAsync(buffer.memory, from, bytes, cudaMemcpyDeviceToHost, queue->stream));
    cs_check(queue, cudaEventRecord(buffer.done, queue->stream));
}

int cs_device_number(void)
{
    int device = 0;
    return cudaGetDevice(&device) == cudaSuccess ? device : 0;
}

int cs_device_is_foreign(const void *data, char *what, size_t size)
{
    int device = 0;
    cudaPointerAttributes about = {};
    cudaError_t result = cudaPointerGetAttributes(&about, data);
    if (result == cudaSuccess) result = cudaGetDevice(&device);
    cudaGetLastError(); /* the next call must not find a failure of this one */
    if (result != cudaSuccess) std::snprintf(what, size, "%s", cudaGetErrorString(result));
    else if (about.type != cudaMemoryTypeDevice && about.type != cudaMemoryTypeManaged)
        std::snprintf(what, size, "memory of the processor");
    else if (about.device != device && about.type == cudaMemoryTypeDevice)
        std::snprintf(what, size, "memory of GPU %d, while GPU %d is in use", about.device, device);
    else return 0;
    return 1;
}

void cs_device_settle(void)
{
    std::lock_guard<std::mutex> hold(capture_lock);
    cudaDeviceSynchronize();
    cudaGetLastError(); /* the next call must not find a failure of this one */
}

void cs_device_after(cs_queue *queue, unsigned long long stream)
{
    if (!stream) return;
    cudaStream_t before = stream == 1   ? cudaStreamLegacy
                          : stream == 2 ? cudaStreamPerThread
                                        : reinterpret_cast<cudaStream_t>(stream);
    cudaEvent_t done = NULL;
    cs_check(queue, cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    if (!done) return;
    cs_check(queue, cudaEventRecord(done, before));
    cs_check(queue, cudaStreamWaitEvent(queue->stream, done, 0));
    cs_check(queue, cudaEventDestroy(done));
}

static bool has_failed(const cs_queue *queue) { return queue->failure != cudaSuccess; }

static void fail(cs_queue *queue, cudaError_t result) { cs_check(queue, result); }

static void zero(cs_queue *queue, void *to, size_t bytes)
{
    cs_check(queue, cudaMemsetAsync(to, 0, bytes, queue->stream));
}

static void copy(cs_queue *queue, void *to, const void *from, size_t bytes)
{
    counts.copied += (long long)bytes;
    cs_check(queue, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, queue->stream));
}

static cs_status failed(cs_queue *queue, cs_error *error)
{
    if (queue->failure == cudaSuccess) return CS_OK;
    return report(error, CS_DEVICE_FAILED, "the device has failed",
                  cudaGetErrorString(queue->failure));
}

static cs_status wait(cs_queue *queue, cs_error *error)
{
    counts.waits++;
    cs_check(queue, cudaStreamSynchronize(queue->stream));
    return failed(queue, error);
}

static void begin_capture(cs_queue *queue)
{
    cs_check(queue, cudaStreamBeginCapture(queue->stream, cudaStreamCaptureModeThreadLocal));
}

/* graph <- what has been captured. Returns whether there is nothing, because another thread has waited for the whole device
 * in between: that ends all captures (cudaErrorStreamCaptureInvalidated), and is no failure of the device. */
static bool end_capture(cs_queue *queue, cs_graph *ready)
{
    const cudaError_t lost = cudaErrorStreamCaptureInvalidated;
    cudaGraph_t graph = NULL;
    cudaError_t result = cudaStreamEndCapture(queue->stream, &graph);
    if (result == lost && (queue->failure == cudaSuccess || queue->failure == lost)) {
        cudaGetLastError();
        queue->failure = cudaSuccess;
        return true;
    }
    cs_check(queue, result);
    if (graph) cs_check(queue, cudaGraphInstantiate(ready, graph, 0));
    if (graph) cs_check(queue, cudaGraphDestroy(graph));
    return false;
}

/* Lets blocks of a kernel share as much as the device allows, beside what the kernel itself declares. The limit belongs to the
 * kernel, not to a launch: it is always the same, so that threads of the caller cannot lower it for each other. `fills`:
 * as many blocks as possible are wanted, rather than a larger first-level cache. */
static cudaError_t allow_shared(cs_queue *queue, const void *kernel, bool fills)
{
    for (const void *known : queue->allowed)
        if (known == kernel) return cudaSuccess;
    cudaFuncAttributes about = {};
    cudaError_t result = cudaFuncGetAttributes(&about, kernel);
    if (result == cudaSuccess && fills)
        result = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                      cudaSharedmemCarveoutMaxShared);
    if (result == cudaSuccess)
        result = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      queue->most_shared - (int)about.sharedSizeBytes);
    if (result == cudaSuccess) queue->allowed.push_back(kernel);
    return result;
}

int64_t cs_processors(const cs_queue *queue) { return queue->processors; }

int64_t cs_most_shared(const cs_queue *queue) { return queue->most_shared; }

int64_t cs_resident_blocks_of(cs_queue *queue, const void *kernel, int threads, int64_t bytes)
{
    int each = 0;
    cudaError_t result = bytes ? allow_shared(queue, kernel, false) : cudaSuccess;
    if (result == cudaSuccess)
        result =
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, (size_t)bytes);
    cs_check(queue, result);
    return each * cs_processors(queue);
}

int64_t cs_most_threads_of(cs_queue *queue, const void *kernel)
{
    cudaFuncAttributes about = {};
    cs_check(queue, cudaFuncGetAttributes(&about, kernel));
    return about.maxThreadsPerBlock;
}

void cs_launch_kernel(cs_queue *queue, cs_launch_way way, int64_t blocks, int threads,
                      int64_t bytes, const void *kernel, void **arguments)
{
    if (!blocks && way != CS_BLOCKS_TOGETHER) return;
    cs_count_launch();
    cudaError_t result =
        bytes ? allow_shared(queue, kernel, way != CS_BLOCKS_TOGETHER) : cudaSuccess;
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)blocks);
    config.blockDim = dim3((unsigned)threads);
    config.dynamicSmemBytes = (size_t)bytes;
    config.stream = queue->stream;
    config.attrs = &attribute;
    if (way == CS_BLOCKS_TOGETHER) {
        attribute.id = cudaLaunchAttributeCooperative;
        attribute.val.cooperative = 1;
        config.numAttrs = 1;
    } else if (way == CS_BLOCKS_EARLY) {
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
        cudaFuncAttributes about = {};
        if (result == cudaSuccess) result = cudaFuncGetAttributes(&about, kernel);
        config.numAttrs = queue->generation >= 9 && about.ptxVersion >= 90;
    }
    if (result == cudaSuccess) result = cudaLaunchKernelExC(&config, kernel, arguments);
    cs_check(queue, result);
}

static void replay(cs_queue *queue, cs_graph graph)
{
    cs_count_launch();
    if (graph) cs_check(queue, cudaGraphLaunch(graph, queue->stream));
}

#else

static const char *missing(void) { return NULL; }

static cs_status open_queue(cs_queue *queue, cs_error *error)
{
    (void)error;
    queue->machine = emulation::settings();
    return CS_OK;
}

/* Bytes that all queues together have taken. */
static std::atomic<size_t> used{0};

/* What queues have taken: beginning and end. */
static std::mutex taken_lock;
static std::map<const char *, const char *> taken_ranges;

int cs_device_number(void) { return 0; }

int cs_device_is_foreign(const void *data, char *what, size_t size)
{
    std::lock_guard<std::mutex> hold(taken_lock);
    const char *at = static_cast<const char *>(data);
    auto next = taken_ranges.upper_bound(at);
    if (next != taken_ranges.begin() && at < std::prev(next)->second) return 0;
    std::snprintf(what, size, "memory of another device");
    return 1;
}

void cs_device_settle(void) {}

void cs_device_after(cs_queue *queue, unsigned long long stream)
{
    /* Emulated work is over when its call returns. */
    if (stream > 2)
        queue->machine.failure = "stream " + std::to_string(stream) + " is none of this device";
}

/* In front of what is taken: its size. */
struct alignas(CS_DEVICE_UNIT) taken_bytes {
    size_t bytes;
};

static void close_queue(cs_queue *queue)
{
    for (void *memory : queue->memory) {
        taken_bytes *taken = static_cast<taken_bytes *>(memory) - 1;
        used -= taken->bytes;
        std::lock_guard<std::mutex> hold(taken_lock);
        taken_ranges.erase(static_cast<char *>(memory));
        std::free(taken);
    }
}

static size_t room(cs_queue *queue)
{
    size_t all = queue->machine.memory;
    return all > used ? all - used : 0;
}

static cs_status take_bytes(cs_queue *queue, void **memory, size_t bytes, cs_error *error)
{
    bytes = cs_device_units(bytes);
    void *found = NULL;
    if (bytes <= room(queue))
        found = std::aligned_alloc(CS_DEVICE_UNIT, bytes + sizeof(taken_bytes));
    if (!found) return no_room(queue, bytes, error);
    taken_bytes *taken = static_cast<taken_bytes *>(found);
    taken->bytes = bytes;
    used += bytes;
    *memory = taken + 1;
    std::memset(*memory, 0, bytes);
    char *first = static_cast<char *>(*memory);
    std::lock_guard<std::mutex> hold(taken_lock);
    taken_ranges[first] = first + bytes;
    return CS_OK;
}

static bool make_buffer(cs_buffer *buffer)
{
    buffer->memory = static_cast<char *>(std::malloc(PIECE));
    return !buffer->memory;
}

static void free_buffer(cs_buffer *buffer) { std::free(buffer->memory); }

static void wait_for(cs_queue *queue, const cs_buffer &buffer)
{
    (void)queue;
    (void)buffer;
}

/* A device that is lost copies nothing. */
static bool has_failed(const cs_queue *queue) { return !queue->machine.failure.empty(); }

static void copy_bytes(const cs_queue *queue, void *to, const void *from, size_t bytes)
{
    if (!has_failed(queue) && bytes) std::memcpy(to, from, bytes);
}

static void write_piece(cs_queue *queue, void *to, const cs_buffer &buffer, size_t bytes)
{
    copy_bytes(queue, to, buffer.memory, bytes);
}

static void read_piece(cs_queue *queue, const cs_buffer &buffer, const void *from, size_t bytes)
{
    copy_bytes(queue, buffer.memory, from, bytes);
}

static void fail(cs_queue *queue, bool failed)
{
    if (failed) queue->machine.failure = "no memory for copies";
}

static void copy(cs_queue *queue, void *to, const void *from, size_t bytes)
{
    counts.copied += (long long)bytes;
    copy_bytes(queue, to, from, bytes);
}

static void zero(cs_queue *queue, void *to, size_t bytes)
{
    if (!has_failed(queue)) std::memset(to, 0, bytes);
}

static cs_status failed(cs_queue *queue, cs_error *error)
{
    if (queue->machine.failure.empty()) return CS_OK;
    return report(error, CS_DEVICE_FAILED, "the device has failed", queue->machine.failure.c_str());
}

static cs_status wait(cs_queue *queue, cs_error *error)
{
    counts.waits++;
    return failed(queue, error);
}

static void begin_capture(cs_queue *queue) { queue->machine.capture.emplace(); }

static bool end_capture(cs_queue *queue, cs_graph *graph)
{
    emulation::machine *machine = &queue->machine;
    *graph = std::move(*machine->capture);
    machine->capture.reset();
    return machine->lost_capture && --machine->lost_capture == 0;
}

static void replay(cs_queue *queue, const cs_graph &graph)
{
    cs_count_launch();
    for (const auto &again : graph) again(queue->machine);
}

static void forget(const cs_graph &) {}

#endif

/* ---- copies between the host and the device, in pieces ------------------------------------------- */

/* Buffers that no copy uses: pinning memory takes longer than most solves. They are never freed, not even when the
 * process ends, since a queue may be closed after this file's other objects are destroyed. */
static std::mutex idle_lock;
static std::vector<cs_buffers *> &idle = *new std::vector<cs_buffers *>;

static void free_buffers(cs_buffers *buffers)
{
    for (cs_buffer &buffer : buffers->each) free_buffer(&buffer);
    delete buffers;
}

/* Buffers for a copy; NULL after a failure. */
static cs_buffers *take_buffers(cs_queue *queue)
{
    if (has_failed(queue)) return NULL;
    {
        std::lock_guard<std::mutex> hold(idle_lock);
        if (!idle.empty()) {
            cs_buffers *last = idle.back();
            idle.pop_back();
            return last;
        }
    }
    cs_buffers *fresh = new cs_buffers;
    for (cs_buffer &buffer : fresh->each) fail(queue, make_buffer(&buffer));
    if (!has_failed(queue)) {
        counts.buffers++;
        return fresh;
    }
    free_buffers(fresh);
    return NULL;
}

/* Gives buffers back. Whoever takes them next waits for what still uses one of them. After a failure nobody takes them: they
 * may have gone with the device. */
static void give_back(cs_queue *queue, cs_buffers *buffers)
{
    if (has_failed(queue)) {
        free_buffers(buffers);
        return;
    }
    std::lock_guard<std::mutex> hold(idle_lock);
    idle.push_back(buffers);
}

/* The next buffer, free to be used. */
static const cs_buffer &next_buffer(cs_queue *queue, cs_buffers *buffers)
{
    const cs_buffer &buffer = buffers->each[buffers->next];
    buffers->next = (buffers->next + 1) % CS_BUFFERS;
    wait_for(queue, buffer);
    return buffer;
}

static size_t piece_of(size_t bytes, size_t begin)
{
    return bytes - begin < PIECE ? bytes - begin : PIECE;
}

/* While one piece is on its way, the next one is copied into the other buffer. */
static void upload(cs_queue *queue, void *to, const void *from, size_t bytes)
{
    cs_buffers *buffers = bytes ? take_buffers(queue) : NULL;
    if (!buffers) return;
    for (size_t begin = 0; begin < bytes; begin += PIECE) {
        size_t piece = piece_of(bytes, begin);
        const cs_buffer &buffer = next_buffer(queue, buffers);
        if (has_failed(queue)) break;
        std::memcpy(buffer.memory, static_cast<const char *>(from) + begin, piece);
        write_piece(queue, static_cast<char *>(to) + begin, buffer, piece);
    }
    give_back(queue, buffers);
    counts.uploads++;
    counts.uploaded += (long long)bytes;
}

/* The same in the other direction: the next piece is sent while this one is copied to where it belongs. */
static void download_by(cs_queue *queue, cs_buffers *buffers, void *to, const void *from,
                        size_t bytes)
{
    const char *there = static_cast<const char *>(from);
    const cs_buffer *buffer = &next_buffer(queue, buffers);
    read_piece(queue, *buffer, there, piece_of(bytes, 0));
    for (size_t begin = 0; begin < bytes; begin += PIECE) {
        const cs_buffer *present = buffer;
        size_t next = begin + PIECE;
        if (next < bytes) {
            buffer = &next_buffer(queue, buffers);
            read_piece(queue, *buffer, there + next, piece_of(bytes, next));
        }
        counts.waits++;
        wait_for(queue, *present);
        if (has_failed(queue)) return; /* what is here is not what was asked for */
        std::memcpy(static_cast<char *>(to) + begin, present->memory, piece_of(bytes, begin));
    }
    counts.downloads++;
    counts.downloaded += (long long)bytes;
}

static void download(cs_queue *queue, void *to, const void *from, size_t bytes)
{
    cs_buffers *buffers = bytes ? take_buffers(queue) : NULL;
    if (!buffers) return;
    download_by(queue, buffers, to, from, bytes);
    give_back(queue, buffers);
}

/* ---- the table ----------------------------------------------------------------------------------- */

static cs_status open(cs_queue **queue, cs_error *error)
{
    *queue = new (std::nothrow) cs_queue;
    if (!*queue) return report(error, CS_NO_MEMORY, "out of memory", "a queue of the device");
    cs_status status = open_queue(*queue, error);
    if (!status) return CS_OK;
    delete *queue;
    *queue = NULL;
    return status;
}

static void close(cs_queue *queue)
{
    close_queue(queue);
    delete queue;
}

static cs_status take(cs_queue *queue, void **memory, size_t bytes, cs_error *error)
{
    *memory = NULL;
    cs_status status = take_bytes(queue, memory, bytes, error);
    if (!status) queue->memory.push_back(*memory);
    return status;
}

static void run(cs_queue *queue, const cs_device_program *program, const cs_device_step *step,
                int64_t steps)
{
    static const cs_batch_kernels *const batches[CS_DTYPES] = {
        &cs_batch_kernels_f32, &cs_batch_kernels_f64, &cs_batch_kernels_mixed};
    static const cs_visit_kernels *const visits[CS_DTYPES] = {
        &cs_visit_kernels_f32, &cs_visit_kernels_f64, &cs_visit_kernels_mixed};
    static const cs_dense_launches *const dense[CS_DTYPES] = {&cs_dense_launches_f32,
                                                              &cs_dense_launches_f64, NULL};
    const cs_dense_launches *d = dense[program->packed.dtype];
    const cs_batch_kernels *b = batches[program->packed.dtype];
    const cs_visit_kernels *v = visits[program->packed.dtype];
    for (int64_t i = 0; i < steps; i++) {
        if (step[i].count <= 0) continue;
        switch (step[i].task) {
        case CS_STEP_BATCHES: b->visit(queue, program, &step[i]); break;
        case CS_STEP_VISITS: v->visit(queue, program, &step[i]); break;
        case CS_STEP_PARTS: v->parts(queue, program, &step[i]); break;
        case CS_STEP_KEEP: v->keep(queue, program, &step[i]); break;
        case CS_STEP_GATHER: v->gather(queue, program, &step[i]); break;
        case CS_STEP_ADD: b->add(queue, program, &step[i]); break;
        case CS_STEP_SUBTRACT_BATCHES: b->subtract(queue, program, &step[i]); break;
        case CS_STEP_DENSE: d->visit(queue, program, &step[i]); break;
        case CS_STEP_DENSE_PARTS: d->part(queue, program, &step[i]); break;
        case CS_STEP_DENSE_TAKE: d->take(queue, program, &step[i]); break;
        case CS_STEP_SUBTRACT_VISITS: v->subtract(queue, program, &step[i]); break;
        }
    }
}

/* graph <- what `all` launches. Returns whether there is one: another thread may have ended the capture. */
template <class launches> static bool capture(cs_queue *queue, const launches &all, cs_graph *graph)
{
    std::lock_guard<std::mutex> hold(capture_lock);
    begin_capture(queue);
    all();
    return !end_capture(queue, graph);
}

static void sweep(cs_queue *queue, const cs_device_program *program, const cs_device_step *step,
                  int64_t steps, int captured)
{
    /* A graph of the same steps and the same arguments. Damping is the only one that changes. */
    for (const cs_captured_sweep &known : queue->captured)
        if (captured && known.step == step && known.damping == program->packed.damping &&
            known.changes == program->changes.asked) {
            replay(queue, known.graph);
            return;
        }

    /* Capture and replay, or launch. */
    const cs_device_changes *changes = &program->changes;
    const auto all = [&] {
        if (changes->asked) cs_device_keep_before(queue, program);
        run(queue, program, step, steps);
        if (changes->asked)
            cs_device_measure_changes(queue, program, changes->before, program->packed.lambda, 0,
                                      1);
        cs_device_end_sweep(queue, program);
    };
    cs_graph graph = {};
    if (captured && capture(queue, all, &graph)) {
        queue->captured.push_back({step, program->packed.damping, changes->asked, graph});
        replay(queue, graph);
    } else all();
}

static void chip(cs_queue *queue, cs_chip_limits *limits)
{
    limits->processors = cs_processors(queue);
    limits->shared = cs_most_shared(queue);
    limits->pieces = cs_chip_pieces(queue);
}

static const cs_region_kernels *const region_kernels[CS_DTYPES] = {&cs_regions_f32, &cs_regions_f64,
                                                                   &cs_regions_mixed};

static int64_t resident(cs_queue *queue, cs_dtype dtype, const cs_packed_group *group, int set,
                        int64_t shared)
{
    return region_kernels[dtype]->resident(queue, group, set, shared);
}

static const cs_flow_kernels *const flow_kernels[CS_DTYPES] = {&cs_flow_f32, &cs_flow_f64,
                                                               &cs_flow_mixed};

static void plan(cs_queue *queue, cs_dtype dtype, const cs_packed_group *group, int set,
                 int several, cs_flow_plan *plan)
{
    flow_kernels[dtype]->plan(queue, group, set, several, plan);
}

/* Sweeps over whole rows of T: launched at first, and from a graph once as many of them have been asked for before. How many a
 * call makes depends on time, so that some numbers do not come again. */
static void flow_by_graph(cs_queue *queue, const cs_device_program *program,
                          const cs_device_flow *sweeps, cs_flow_launch *launch)
{
    enum { KEPT = 32 };
    cs_captured_flow own = {sweeps->sweeps,
                            sweeps->recorded,
                            sweeps->backwards,
                            sweeps->alternates,
                            program->packed.damping,
                            program->changes.asked,
                            false,
                            {}};
    for (cs_captured_flow &known : queue->flows) {
        if (known.sweeps != own.sweeps || known.recorded != own.recorded ||
            known.backwards != own.backwards || known.alternates != own.alternates ||
            known.damping != own.damping || known.changes != own.changes)
            continue;
        if (!known.captured)
            known.captured = capture(
                queue, [&] { launch(queue, program, sweeps); }, &known.graph);
        if (known.captured) replay(queue, known.graph);
        else launch(queue, program, sweeps);
        return;
    }
    if (queue->flows.size() == KEPT) {
        forget(queue->flows.front().graph);
        queue->flows.erase(queue->flows.begin());
    }
    queue->flows.push_back(own);
    launch(queue, program, sweeps);
}

static void flow(cs_queue *queue, const cs_device_program *program, const cs_device_flow *sweeps)
{
    static cs_flow_launch *const launch[][CS_DTYPES] = {
        {NULL, NULL, NULL},
        {cs_flow_f32.launch, cs_flow_f64.launch, cs_flow_mixed.launch},
        {cs_counter_f32, cs_counter_f64, cs_counter_mixed},
        {cs_on_chip_f32, cs_on_chip_f64, NULL},
        {cs_regions_f32.launch, cs_regions_f64.launch, cs_regions_mixed.launch},
        {cs_dense_launches_f32.sweeps, cs_dense_launches_f64.sweeps, NULL},
    };
    cs_flow_launch *own = launch[sweeps->way][program->packed.dtype];
    if (sweeps->dense.captured) flow_by_graph(queue, program, sweeps, own);
    else own(queue, program, sweeps);
    if (!program->changes.asked || cs_flow_keeps_all(sweeps->way)) return;
    cs_device_measure_changes(queue, program, program->changes.before, sweeps->iterates,
                              program->packed.impulses, sweeps->sweeps);
    cs_device_end_changes(queue, program);
}

static void measure(cs_queue *queue, const cs_device_program *program, int group,
                    const cs_device_map *bounds, cs_device_map *map)
{
    cs_batch_kernels_f64.measure(queue, program, group, bounds, map);
}

const cs_device *cs_device_table(void)
{
    static cs_device table;
    table.name = CS_DEVICE_NAME;
    table.layout = cs_device_layout();
    table.missing = missing;
    table.open = open;
    table.close = close;
    table.room = room;
    table.take = take;
    table.upload = upload;
    table.download = download;
    table.copy = copy;
    table.zero = zero;
    table.run = run;
    table.sweep = sweep;
    table.chip = chip;
    table.plan = plan;
    table.resident = resident;
    table.flow = flow;
    table.solve_parts = cs_device_sweep_parts;
    table.pass = cs_device_run_pass;
    table.unpack = cs_device_unpack;
    table.pack = cs_device_pack;
    table.look_for_infinite = cs_device_look_for_infinite;
    table.move = cs_device_move;
    table.judge = cs_device_judge;
    table.look_for_growth = cs_device_look_for_growth;
    table.find_speeds = cs_device_find_speeds;
    table.measure_ray = cs_device_measure_ray;
    table.measure_directions = cs_device_measure_directions;
    table.measure = measure;
    table.join_maps = cs_device_join_maps;
    table.wait = wait;
    table.failed = failed;
    return &table;
}
