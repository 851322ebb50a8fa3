#include "cuda/blas.h"
#include "cuda/queue_members.h"

#include <cstdio>
#include <new>

#if defined(__CUDACC__)

#include <dlfcn.h>

/* The functions of cuBLAS that are called, by the names in its library. */
typedef int blas_create(void **handle);
typedef int blas_destroy(void *handle);
typedef int blas_set_stream(void *handle, cudaStream_t stream);
template <class number>
using blas_multiply = int(void *handle, int transposed, int rows, int columns, const number *alpha,
                          const number *matrix, int pitch, const number *x, int x_step,
                          const number *beta, number *y, int y_step);

struct cs_blas {
    cs_queue *queue;
    void *library, *handle;
    blas_destroy *destroy;
    blas_multiply<float> *multiply_f32;
    blas_multiply<double> *multiply_f64;
};

static cs_status fail(cs_error *error, cs_status status, const char *what, const char *why)
{
    error->status = status;
    std::snprintf(error->message, sizeof error->message, "%s: %s", what, why);
    return status;
}

/* The library, by the names of its versions. */
static void *load_library(void)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
                                        "libcublas.so"};
    for (const char *name : names)
        if (void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    return NULL;
}

template <class function> static void find(void *library, const char *name, function **address)
{
    *address = reinterpret_cast<function *>(dlsym(library, name));
}

/* Makes a handle for the stream of the queue. */
static cs_status connect(cs_blas *blas, cs_error *error)
{
    blas_create *create;
    blas_set_stream *set_stream;
    find(blas->library, "cublasCreate_v2", &create);
    find(blas->library, "cublasSetStream_v2", &set_stream);
    find(blas->library, "cublasDestroy_v2", &blas->destroy);
    find(blas->library, "cublasSgemv_v2", &blas->multiply_f32);
    find(blas->library, "cublasDgemv_v2", &blas->multiply_f64);
    if (!create || !set_stream || !blas->destroy || !blas->multiply_f32 || !blas->multiply_f64)
        return fail(error, CS_UNSUPPORTED, "cuBLAS", "the library lacks a function that is needed");
    if (create(&blas->handle) == 0 && set_stream(blas->handle, blas->queue->stream) == 0)
        return CS_OK;
    return fail(error, CS_DEVICE_FAILED, "cuBLAS", "it cannot be started");
}

cs_status cs_blas_open(cs_queue *queue, cs_blas **blas, cs_error *error)
{
    *blas = new (std::nothrow) cs_blas{queue, load_library(), NULL, NULL, NULL, NULL};
    if (!*blas) return fail(error, CS_NO_MEMORY, "out of memory", "a handle of cuBLAS");
    cs_status status = (*blas)->library
                           ? connect(*blas, error)
                           : fail(error, CS_UNSUPPORTED, "cuBLAS",
                                  "libcublas.so was not found: add its folder to LD_LIBRARY_PATH");
    if (!status) return CS_OK;
    cs_blas_close(*blas);
    *blas = NULL;
    return status;
}

void cs_blas_close(cs_blas *blas)
{
    if (!blas) return;
    if (blas->handle && blas->destroy) blas->destroy(blas->handle);
    if (blas->library) dlclose(blas->library);
    delete blas;
}

template <class number>
static void multiply(cs_blas *blas, blas_multiply<number> *function, int64_t rows,
                     const number *matrix, int64_t pitch, const number *x, number *y)
{
    const number one = 1, zero = 0;
    int failed = function(blas->handle, 0, (int)rows, (int)rows, &one, matrix, (int)pitch, x, 1,
                          &zero, y, 1);
    if (failed && blas->queue->failure == cudaSuccess) blas->queue->failure = cudaErrorUnknown;
}

void cs_blas_multiply(cs_blas *blas, int64_t rows, const float *matrix, int64_t pitch,
                      const float *x, float *y)
{
    multiply(blas, blas->multiply_f32, rows, matrix, pitch, x, y);
}

void cs_blas_multiply(cs_blas *blas, int64_t rows, const double *matrix, int64_t pitch,
                      const double *x, double *y)
{
    multiply(blas, blas->multiply_f64, rows, matrix, pitch, x, y);
}

#else

struct cs_blas {
    cs_queue *queue;
};

cs_status cs_blas_open(cs_queue *queue, cs_blas **blas, cs_error *error)
{
    *blas = new (std::nothrow) cs_blas{queue};
    if (*blas) return CS_OK;
    error->status = CS_NO_MEMORY;
    std::snprintf(error->message, sizeof error->message, "out of memory for a handle of cuBLAS");
    return CS_NO_MEMORY;
}

void cs_blas_close(cs_blas *blas) { delete blas; }

template <class number>
static void multiply_row(int64_t rows, const number *matrix, int64_t pitch, const number *x,
                         number *y)
{
    int64_t row = cs_thread();
    if (row >= rows) return;
    number sum = 0;
    for (int64_t j = 0; j < rows; j++) sum = fma(matrix[j * pitch + row], x[j], sum);
    y[row] = sum;
}

template <class number>
static void multiply(cs_blas *blas, int64_t rows, const number *matrix, int64_t pitch,
                     const number *x, number *y)
{
    enum { THREADS = 128 };
    cs_queue *queue = blas->queue;
    CS_LAUNCH(queue, cs_blocks_of(rows, THREADS), THREADS, multiply_row<number>, rows, matrix,
              pitch, x, y);
}

void cs_blas_multiply(cs_blas *blas, int64_t rows, const float *matrix, int64_t pitch,
                      const float *x, float *y)
{
    multiply(blas, rows, matrix, pitch, x, y);
}

void cs_blas_multiply(cs_blas *blas, int64_t rows, const double *matrix, int64_t pitch,
                      const double *x, double *y)
{
    multiply(blas, rows, matrix, pitch, x, y);
}

#endif
