/* _core.block_cg: conjugate gradients with the GIL released; on thread 0 they look for Ctrl-C. */
#include "core/error.h"
#include "python/block_objects.h"
#include "sparse/conjugate.h"

/* Calls the caller's function with a copy of the iterate. */
static int show_iterate(void *context)
{
    block_asking *c = context;
    PyEval_RestoreThread(c->thread);
    /* A signal may have raised its exception already. */
    PyObject *copy = NULL, *answer = NULL;
    if (!PyErr_Occurred()) copy = PyArray_NewCopy((PyArrayObject *)c->iterate, NPY_CORDER);
    answer = copy ? PyObject_CallOneArg(c->callback, copy) : NULL;
    int failed = !answer;
    Py_XDECREF(copy);
    Py_XDECREF(answer);
    c->thread = PyEval_SaveThread();
    return failed ? -1 : 0;
}

const char *block_verdict(cs_cg_verdict verdict)
{
    switch (verdict) {
    case CS_CG_CONVERGED: return "converged";
    case CS_CG_MAX_ITERATIONS: return "max_iterations";
    case CS_CG_FLOOR: return "floor";
    case CS_CG_INDEFINITE: return "indefinite";
    default: return "stopped";
    }
}

/* (records, 4): iteration, claim, norm in M's inner product, true residual. */
static PyObject *history_array(const cs_cg_result *result)
{
    npy_intp shape[] = {(npy_intp)result->records, 4};
    PyObject *array = PyArray_SimpleNew(2, shape, NPY_DOUBLE);
    double *row = array ? PyArray_DATA((PyArrayObject *)array) : NULL;
    for (int64_t n = 0; row && n < result->records; n++, row += 4) {
        const cs_cg_record *record = &result->history[n];
        row[0] = (double)record->iteration;
        row[1] = record->claim;
        row[2] = record->norm;
        row[3] = record->truth;
    }
    return array;
}

/* What a call has been given. */
typedef struct solving {
    block_system_object *A, *iterated;
    block_preconditioner_object *M;
    PyArrayObject *b, *x;
    cs_cg_options options;
    long long threads;
    int single;
} solving;

/* Takes the objects of a call, each once. */
static int begin_solve(const solving *c)
{
    if (block_begin_both(c->M) < 0) return -1;
    if (block_read(c->A) == 0) {
        if (block_read(c->iterated) == 0) return 0;
        block_read_end(c->A);
    }
    block_end_both(c->M);
    return -1;
}

static void end_solve(const solving *c)
{
    block_read_end(c->iterated);
    block_read_end(c->A);
    block_end_both(c->M);
}

/* Solves with the GIL released. Returns NULL with an error set, or a dict. */
static PyObject *solve(solving *c, block_asking *context)
{
    cs_error error = {0};
    cs_arena arena = {0};
    cs_block_cg *cg;
    cs_cg_result result = {0};
    cs_cancellation cancellation = {.is_cancelled = block_ask_signals, .context = context};
    c->options.cancellation = &cancellation;
    c->options.context = context;
    c->options.threads = c->options.look ? 1 : block_threads(c->A, c->threads);
    context->thread = PyEval_SaveThread();
    cs_status status = cs_block_cg_make(&cg, &c->A->system, &c->iterated->system, &c->M->M,
                                        c->single, c->options.max_iterations, &arena, &error);
    if (!status) cs_block_cg_run(cg, PyArray_DATA(c->b), PyArray_DATA(c->x), &c->options, &result);
    PyEval_RestoreThread(context->thread);

    /* The history is in the arena. */
    PyObject *answer = NULL;
    if (status) raise_error(&error);
    else if (!PyErr_Occurred())
        answer = Py_BuildValue(
            "{s:s,s:L,s:L,s:d,s:d,s:d,s:d,s:i,s:N}", "status", block_verdict(result.verdict),
            "iterations", (long long)result.iterations, "checks", (long long)result.checks,
            "residual", result.residual, "claim", result.claim, "right", result.right, "bytes",
            result.bytes, "threads", c->options.threads, "history", history_array(&result));
    cs_arena_clear(&arena);
    return answer;
}

PyObject *block_cg(PyObject *module, PyObject *args)
{
    (void)module;
    solving c = {0};
    PyObject *b, *callback, *answer = NULL;
    long long most;
    block_asking context = {0};
    if (!PyArg_ParseTuple(args, "OOOOOddLpLO:block_cg", &c.A, &c.iterated, &c.M, &b, &c.x,
                          &c.options.rtol, &c.options.atol, &most, &c.single, &c.threads,
                          &callback))
        return NULL;
    c.options.max_iterations = most;
    c.b = double_array(b, "b");
    if (!c.b) return NULL;
    if (callback != Py_None) {
        context.callback = callback;
        context.iterate = PyArray_NewCopy(c.x, NPY_CORDER);
        c.options.look = show_iterate;
        if (context.iterate) c.options.iterate = PyArray_DATA((PyArrayObject *)context.iterate);
    }
    if ((callback == Py_None || context.iterate) && begin_solve(&c) == 0) {
        answer = solve(&c, &context);
        end_solve(&c);
    }
    Py_DECREF(c.b);
    Py_XDECREF(context.iterate);
    return answer;
}
