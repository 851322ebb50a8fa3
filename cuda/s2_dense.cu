/* S2's iterations from arrays of the host to arrays of the host, with the time of each part. */
#include "cuda/s2_dense.h"
#include "cuda/device.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

const char *cs_s2_kernel_name(int kernel)
{
    static const char *const names[CS_S2_KERNELS] = {
        "gemv+add+prox", "gemv+prox",   "all_in_one_128", "all_in_one_192",
        "own_gemv+prox", "full_sor_96", "full_sor_192",   "relaxed_sor",
    };
    return kernel >= 0 && kernel < CS_S2_KERNELS ? names[kernel] : NULL;
}

/* Seconds since the last call. */
struct stopwatch {
    std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
    double lap()
    {
        auto now = std::chrono::steady_clock::now(), before = std::exchange(last, now);
        return std::chrono::duration<double>(now - before).count();
    }
};

/* What a run has on the device. */
struct run {
    const cs_s2_request *request;
    const cs_device *device;
    cs_queue *queue;
    cs_blas *blas;
    cs_s2_problem problem;
    int *converged;
};

static int64_t size_of_number(const cs_s2_request *request)
{
    return request->single ? (int64_t)sizeof(float) : (int64_t)sizeof(double);
}

static int is_sor(const cs_s2_request *request) { return request->kernel >= CS_S2_FULL_SOR_96; }

/* Memory for T, for five vectors and for the verdict; none of it if there is too little for all. */
static cs_status take_memory(run *r, cs_error *error)
{
    const cs_s2_problem *shape = &r->request->shape;
    size_t number = (size_t)size_of_number(r->request);
    size_t vector = (size_t)shape->rows * number;
    void *memory[7];
    const size_t bytes[7] = {vector * (size_t)shape->pitch,    vector,     vector, vector, vector,
                             (size_t)shape->contacts * number, sizeof(int)};
    size_t all = 0, room = r->device->room(r->queue);
    for (size_t each : bytes) all += cs_device_units(each);
    if (all > room) {
        error->status = CS_NO_MEMORY;
        std::snprintf(error->message, sizeof error->message,
                      "out of memory on the device: %zu bytes are needed, and %zu are free", all,
                      room);
        return CS_NO_MEMORY;
    }
    for (int i = 0; i < 7; i++) {
        cs_status status = r->device->take(r->queue, &memory[i], bytes[i], error);
        if (status) return status;
    }
    r->problem.matrix = memory[0], r->problem.d = memory[1], r->problem.x = memory[2];
    r->problem.y = memory[3], r->problem.sum = memory[4], r->problem.mu = memory[5];
    r->converged = (int *)memory[6];
    return r->device->wait(r->queue, error);
}

static cs_status upload(run *r, cs_error *error)
{
    const cs_s2_request *request = r->request;
    const cs_s2_problem *p = &r->problem;
    size_t number = (size_t)size_of_number(request), vector = (size_t)p->rows * number;
    auto put = [r](const void *to, const void *from, size_t bytes) {
        r->device->upload(r->queue, const_cast<void *>(to), from, bytes);
    };
    put(p->matrix, request->matrix, vector * (size_t)p->pitch);
    put(p->d, request->d, vector);
    put(p->mu, request->mu, (size_t)p->contacts * number);
    put(p->x, request->impulses, vector);
    /* What kernel B multiplies by where no kernel writes it. */
    if (request->left_out == CS_S2_STEP_A) put(p->y, request->impulses, vector);
    return r->device->wait(r->queue, error);
}

/* Whether the criterion holds, which is read from the device only when it is due. */
static int has_converged(run *r, const cs_s2_kernels *kernels, int64_t iteration)
{
    static const int yes = 1;
    const cs_s2_request *request = r->request;
    if (request->criterion == CS_S2_NEVER || iteration % request->check_every != 0) return 0;
    int converged = 0;
    r->device->upload(r->queue, r->converged, &yes, sizeof yes);
    kernels->judge(r->queue, &r->problem, request->criterion, request->rtol, request->atol,
                   r->converged);
    r->device->download(r->queue, &converged, r->converged, sizeof converged);
    return converged;
}

/* S2 algorithms 5.2.1 and 5.3.1 */
static cs_status iterate(run *r, cs_s2_outcome *outcome, cs_error *error)
{
    const cs_s2_request *request = r->request;
    const cs_s2_kernels *kernels = request->single ? &cs_s2_kernels_f32 : &cs_s2_kernels_f64;
    if (is_sor(request)) kernels->begin(r->queue, &r->problem, request->kernel, request->panel);
    while (outcome->iterations < request->iterations && !outcome->converged) {
        kernels->iterate(r->queue, &r->problem, request->kernel, request->panel, request->left_out,
                         r->blas);
        outcome->converged = has_converged(r, kernels, ++outcome->iterations);
        std::swap(r->problem.x, r->problem.y);
    }
    return r->device->wait(r->queue, error);
}

static cs_status run_parts(run *r, cs_s2_outcome *outcome, cs_error *error)
{
    const cs_s2_request *request = r->request;
    stopwatch watch;
    cs_status status = take_memory(r, error);
    outcome->allocation = watch.lap();
    if (!status) status = upload(r, error);
    outcome->to_device = watch.lap();
    if (!status && request->kernel <= CS_S2_BLAS_PROX)
        status = cs_blas_open(r->queue, &r->blas, error);
    watch.lap();
    if (!status) status = iterate(r, outcome, error);
    outcome->iteration = watch.lap();
    if (status) return status;
    size_t bytes = (size_t)(r->problem.rows * size_of_number(request));
    r->device->download(r->queue, request->impulses, r->problem.x, bytes);
    outcome->from_device = watch.lap();
    return r->device->wait(r->queue, error);
}

cs_status cs_s2_run(const cs_s2_request *request, cs_s2_outcome *outcome, cs_error *error)
{
    const cs_device *device = cs_device_table();
    run r = {request, device, NULL, NULL, request->shape, NULL};
    std::memset(outcome, 0, sizeof *outcome);
    cs_status status = device->open(&r.queue, error);
    if (status) return status;
    status = run_parts(&r, outcome, error);
    stopwatch watch;
    cs_blas_close(r.blas);
    watch.lap();
    device->close(r.queue);
    outcome->release = watch.lap();
    return status;
}
