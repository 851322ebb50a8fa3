/* Memory and order of work, and the table of functions that the library is given. */
#include "cuda/device.h"

#include <cstdio>
#include <cstring>
#include <new>

static cs_status report(cs_error *error, cs_status status, const char *what, const char *why)
{
    if (error) {
        error->status = status;
        std::snprintf(error->message, sizeof error->message, "%s: %s", what, why);
    }
    return status;
}

#if defined(__CUDACC__)

/* Keeps the first failure. */
static void check(cs_queue *queue, cudaError_t result)
{
    if (queue->failure == cudaSuccess) queue->failure = result;
}

static const char *missing(void)
{
    int devices = 0, driver = 0;
    if (cudaDriverGetVersion(&driver) == cudaSuccess && !driver)
        return "no driver for GPUs by NVIDIA is installed";
    cudaError_t result = cudaGetDeviceCount(&devices);
    if (result != cudaSuccess) return cudaGetErrorString(result);
    return devices ? NULL : "there is no GPU";
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

static cs_status open_queue(cs_queue *queue, cs_error *error)
{
    cudaError_t result = keep_memory();
    if (result == cudaSuccess)
        result = cudaStreamCreateWithFlags(&queue->stream, cudaStreamNonBlocking);
    return result == cudaSuccess
               ? CS_OK
               : report(error, CS_NO_MEMORY, "a stream", cudaGetErrorString(result));
}

static void close_queue(cs_queue *queue)
{
    cudaStreamSynchronize(queue->stream);
    for (const cs_captured_sweep &each : queue->captured)
        if (each.graph) cudaGraphExecDestroy(each.graph);
    for (void *memory : queue->memory) cudaFreeAsync(memory, queue->stream);
    cudaStreamSynchronize(queue->stream);
    cudaStreamDestroy(queue->stream);
}

/* What a failure to take memory means: how much is needed, and how much is free. */
static cs_status no_memory(cudaError_t result, size_t bytes, cs_error *error)
{
    size_t left = 0, all = 0;
    char text[96];
    cudaGetLastError(); /* the next call must not find this failure */
    if (result != cudaErrorMemoryAllocation || cudaMemGetInfo(&left, &all) != cudaSuccess)
        return report(error, CS_NO_MEMORY, "memory on the device", cudaGetErrorString(result));
    std::snprintf(text, sizeof text, "%zu bytes are needed, and %zu are free", bytes, left);
    return report(error, CS_NO_MEMORY, "out of memory on the device", text);
}

static cs_status take_bytes(cs_queue *queue, void **memory, size_t bytes, cs_error *error)
{
    cudaError_t result = cudaMallocAsync(memory, bytes, queue->stream);
    if (result == cudaSuccess) result = cudaMemsetAsync(*memory, 0, bytes, queue->stream);
    return result == cudaSuccess ? CS_OK : no_memory(result, bytes, error);
}

static void upload(cs_queue *queue, void *to, const void *from, size_t bytes)
{
    check(queue, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, queue->stream));
}

static void download(cs_queue *queue, void *to, const void *from, size_t bytes)
{
    check(queue, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, queue->stream));
    check(queue, cudaStreamSynchronize(queue->stream));
}

static void copy(cs_queue *queue, void *to, const void *from, size_t bytes)
{
    check(queue, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, queue->stream));
}

static cs_status wait(cs_queue *queue, cs_error *error)
{
    check(queue, cudaGetLastError());
    check(queue, cudaStreamSynchronize(queue->stream));
    if (queue->failure == cudaSuccess) return CS_OK;
    return report(error, CS_DEVICE_FAILED, "the device has failed",
                  cudaGetErrorString(queue->failure));
}

static void begin_capture(cs_queue *queue)
{
    check(queue, cudaStreamBeginCapture(queue->stream, cudaStreamCaptureModeThreadLocal));
}

static cs_graph end_capture(cs_queue *queue)
{
    cudaGraph_t graph = NULL;
    cs_graph ready = NULL;
    check(queue, cudaStreamEndCapture(queue->stream, &graph));
    if (graph) check(queue, cudaGraphInstantiate(&ready, graph, 0));
    if (graph) check(queue, cudaGraphDestroy(graph));
    return ready;
}

static void replay(cs_queue *queue, cs_graph graph)
{
    if (graph) check(queue, cudaGraphLaunch(graph, queue->stream));
}

#else

static const char *missing(void) { return NULL; }

static cs_status open_queue(cs_queue *queue, cs_error *error)
{
    (void)error;
    queue->machine = emulation::settings();
    return CS_OK;
}

static void close_queue(cs_queue *queue)
{
    for (void *memory : queue->memory) std::free(memory);
}

static cs_status take_bytes(cs_queue *queue, void **memory, size_t bytes, cs_error *error)
{
    (void)queue;
    size_t whole = (bytes + 63) / 64 * 64;
    *memory = std::aligned_alloc(64, whole);
    if (!*memory) return report(error, CS_NO_MEMORY, "out of memory on the device", "emulated");
    std::memset(*memory, 0, whole);
    return CS_OK;
}

static void upload(cs_queue *queue, void *to, const void *from, size_t bytes)
{
    (void)queue;
    std::memcpy(to, from, bytes);
}

static void download(cs_queue *queue, void *to, const void *from, size_t bytes)
{
    upload(queue, to, from, bytes);
}

static void copy(cs_queue *queue, void *to, const void *from, size_t bytes)
{
    upload(queue, to, from, bytes);
}

static cs_status wait(cs_queue *queue, cs_error *error)
{
    if (queue->machine.failure.empty()) return CS_OK;
    return report(error, CS_DEVICE_FAILED, "the device has failed", queue->machine.failure.c_str());
}

static void begin_capture(cs_queue *queue) { queue->machine.capture.emplace(); }

static cs_graph end_capture(cs_queue *queue)
{
    cs_graph graph = std::move(*queue->machine.capture);
    queue->machine.capture.reset();
    return graph;
}

static void replay(cs_queue *queue, const cs_graph &graph)
{
    for (const auto &again : graph) again(queue->machine);
}

#endif

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

static void sweep(cs_queue *queue, const cs_device_program *program, const cs_device_step *step,
                  int64_t steps, int captured)
{
    /* A graph of the same steps and the same arguments. Damping is the only one that changes. */
    for (const cs_captured_sweep &known : queue->captured)
        if (captured && known.step == step && known.damping == program->packed.damping) {
            replay(queue, known.graph);
            return;
        }

    /* Launch, or capture and replay. */
    if (captured) begin_capture(queue);
    run(queue, program, step, steps);
    cs_device_end_sweep(queue, program);
    if (!captured) return;
    queue->captured.push_back({step, program->packed.damping, end_capture(queue)});
    replay(queue, queue->captured.back().graph);
}

static void chip(cs_queue *queue, int64_t *processors, int64_t *shared)
{
    *processors = cs_processors(queue);
    *shared = cs_most_shared(queue);
}

static void flow(cs_queue *queue, const cs_device_program *program, const cs_device_flow *sweeps)
{
    static cs_flow_launch *const launch[][CS_DTYPES] = {
        {NULL, NULL, NULL},
        {cs_flow_f32, cs_flow_f64, cs_flow_mixed},
        {cs_counter_f32, cs_counter_f64, cs_counter_mixed},
        {cs_on_chip_f32, cs_on_chip_f64, NULL},
    };
    launch[sweeps->way][program->packed.dtype](queue, program, sweeps);
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
    table.take = take;
    table.upload = upload;
    table.download = download;
    table.copy = copy;
    table.run = run;
    table.sweep = sweep;
    table.chip = chip;
    table.flow = flow;
    table.solve_parts = cs_device_sweep_parts;
    table.pass = cs_device_run_pass;
    table.measure = measure;
    table.wait = wait;
    return &table;
}
