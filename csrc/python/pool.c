/* _core.pool_overhead: empty tasks, forked and joined with the GIL released. */
#include "core/pool_overhead.h"
#include "python/block_objects.h"

/* The number of a word in a list, or -1 with an error set. */
static int word_of(const char *name, const char *word, const char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(word, words[i]) == 0) return i;
    PyErr_Format(PyExc_ValueError, "unknown %s '%.40s'", name, word);
    return -1;
}

PyObject *core_pool_overhead(PyObject *module, PyObject *args)
{
    (void)module;
    static const char *const kinds[] = {
        [CS_POOL_LOCK_FREE] = "lock_free", [CS_POOL_MUTEX] = "mutex"};
    static const char *const patterns[] = {
        [CS_POOL_LATENCY] = "latency", [CS_POOL_THROUGHPUT] = "throughput"};
    const char *kind_name, *pattern_name;
    long long count;
    int threads;
    if (!PyArg_ParseTuple(args, "ssLi:pool_overhead", &kind_name, &pattern_name, &count, &threads))
        return NULL;
    int kind = word_of("kind", kind_name, kinds, 2);
    if (kind < 0) return NULL;
    int pattern = word_of("pattern", pattern_name, patterns, 2);
    if (pattern < 0) return NULL;

    double seconds = 0;
    cs_error error = {0};
    block_asking asking = {.thread = PyEval_SaveThread()};
    cs_status status = cs_pool_overhead((cs_pool_kind)kind, (cs_pool_pattern)pattern, count,
                                        threads, block_ask_signals, &asking, &seconds, &error);
    PyEval_RestoreThread(asking.thread);
    if (!status) return PyFloat_FromDouble(seconds);
    raise_error(&error);
    return NULL;
}
