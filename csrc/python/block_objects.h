/* _core.BlockSystem and _core.BlockPreconditioner, for the files of their methods. */
#ifndef CS_PYTHON_BLOCK_OBJECTS_H
#define CS_PYTHON_BLOCK_OBJECTS_H

#include "python/core.h"
#include "sparse/conjugate.h"

typedef struct block_system_object {
    PyObject_HEAD
    cs_arena arena;
    cs_block_system system;
    cs_block_product product; /* of one product at a time; others take their own */
    int64_t blocks;           /* that are given */
    int64_t preemptions;      /* cs_threads_for_now */
    atomic_int reading; /* number of calls that read values; -1 while they are being replaced */
    atomic_flag busy;   /* set while the vectors of a product are in use */
} block_system_object;

typedef struct block_preconditioner_object {
    PyObject_HEAD
    block_system_object *system; /* of its vectors */
    block_system_object *exact;  /* whose values it reads, with the same parts */
    PyObject *positions;         /* an array, or NULL */
    cs_preconditioner M;
    atomic_flag busy;
} block_preconditioner_object;

/* What a cancellation asks, and whom: the saved thread state, and a function of the caller or NULL. */
typedef struct block_asking {
    PyThreadState *thread;
    PyObject *callback, *iterate;
} block_asking;

/* The is_cancelled of a cs_cancellation whose context is a block_asking. */
int block_ask_signals(void *context);

/* Any number of calls read values at a time, while none replaces them. Returns -1 with an error set. */
int block_read(block_system_object *self);
void block_read_end(block_system_object *self);

/* Takes a preconditioner for one call, and reads both of its matrices. Returns -1 with an error set. */
int block_begin_both(block_preconditioner_object *self);
void block_end_both(block_preconditioner_object *self);

/* Threads of work on the system; `most`: 0 for all that are available, as far as other processes leave them. */
int block_threads(block_system_object *self, long long most);

/* The word for how a solve ended. */
const char *block_verdict(cs_cg_verdict verdict);

/* preconditioners() -> {name: summary} */
PyObject *preconditioner_kinds(PyObject *module, PyObject *unused);

/* choose_preconditioner(system, factor) -> the name of the kind that "auto" takes. */
PyObject *choose_preconditioner(PyObject *module, PyObject *args);

/* block_cg(A, iterated, M, b, x, rtol, atol, max_iterations, single, threads, callback) -> a dict; x is overwritten. */
PyObject *block_cg(PyObject *module, PyObject *args);

#endif
