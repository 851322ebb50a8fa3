/* _core.Tree: a cs_tree whose refits and queries run with the GIL released; on thread 0 queries look for Ctrl-C. */
#include "bvh/query.h"
#include "bvh/tree_kernels.h"
#include "core/parallel.h"
#include "core/pool.h"
#include "python/block_objects.h"
#include "python/tree_objects.h"

typedef struct tree_object {
    PyObject_HEAD
    cs_tree tree;
    cs_query query;
    int64_t preemptions; /* cs_threads_for_now */
    atomic_flag busy;    /* set while the tree is in use */
} tree_object;

/* Returns -1 with an error set if another thread uses the tree. */
static int begin(tree_object *self)
{
    if (!atomic_flag_test_and_set(&self->busy)) return 0;
    PyErr_SetString(PyExc_RuntimeError, "this Tree is in use in another thread");
    return -1;
}

static void end(tree_object *self) { atomic_flag_clear(&self->busy); }

/* Threads of a call; `most`: 0 for all that are available, as far as other processes leave them. */
static int threads_for(tree_object *self, long long most)
{
    int threads =
        cs_threads_for(most, self->tree.vertices, CS_WORTH_THREADS_REFIT, CS_POOL_MOST_THREADS);
    return most ? threads : cs_threads_for_now(threads, &self->preemptions);
}

/* ---- life ----------------------------------------------------------------------------------------- */

/* Tree(vertices, faces, k, arity, single): the caller has checked the shapes of arrays, and that vertices are finite. */
static PyObject *tree_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *vertices, *triangles;
    int k, arity, single;
    if (keywords && PyDict_GET_SIZE(keywords)) {
        PyErr_SetString(PyExc_TypeError, "Tree takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "OOiip:Tree", &vertices, &triangles, &k, &arity, &single))
        return NULL;
    tree_object *self = NULL;
    PyArrayObject *x = double_array(vertices, "vertices"), *face = NULL;
    if (!x || !(face = int64_array(triangles, "faces"))) goto out;
    self = (tree_object *)type->tp_alloc(type, 0);
    if (!self) goto out;
    atomic_flag_clear(&self->busy);
    self->preemptions = -1;
    cs_error error = {0};
    cs_status status;
    Py_BEGIN_ALLOW_THREADS
    status = cs_tree_make(&self->tree, k, arity, single, PyArray_SIZE(x) / 3, PyArray_DATA(x),
                          PyArray_DATA(face), PyArray_SIZE(face) / 3, &error);
    Py_END_ALLOW_THREADS
    if (status) {
        raise_error(&error);
        Py_CLEAR(self);
    }
out:
    Py_XDECREF(x);
    Py_XDECREF(face);
    return (PyObject *)self;
}

static void tree_dealloc(tree_object *self)
{
    PyTypeObject *type = Py_TYPE(self);
    cs_query_clear(&self->query);
    cs_tree_clear(&self->tree);
    type->tp_free(self);
    Py_DECREF(type);
}

/* ---- boxes ---------------------------------------------------------------------------------------- */

/* refit(x0, x1, margin, threads): finite arrays of the right size; x1 may be None. */
static PyObject *tree_refit(tree_object *self, PyObject *args)
{
    PyObject *before, *after;
    double margin;
    long long threads;
    if (!PyArg_ParseTuple(args, "OOdL:refit", &before, &after, &margin, &threads)) return NULL;
    PyArrayObject *x0 = double_array(before, "x0"), *x1 = NULL;
    if (!x0) return NULL;
    if (after == Py_None || (x1 = double_array(after, "x1"))) {
        cs_error error = {0};
        cs_status status = CS_OK;
        if (begin(self) == 0) {
            int most = threads_for(self, threads);
            Py_BEGIN_ALLOW_THREADS
            status = cs_tree_refit(&self->tree, PyArray_DATA(x0), x1 ? PyArray_DATA(x1) : NULL,
                                   margin, most, &error);
            Py_END_ALLOW_THREADS
            end(self);
        }
        if (status) raise_error(&error);
    }
    Py_DECREF(x0);
    Py_XDECREF(x1);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* rebuild(threads) */
static PyObject *tree_rebuild(tree_object *self, PyObject *number)
{
    long long threads = PyLong_AsLongLong(number);
    if ((threads == -1 && PyErr_Occurred()) || begin(self) < 0) return NULL;
    cs_error error = {0};
    cs_status status;
    int most = threads_for(self, threads);
    Py_BEGIN_ALLOW_THREADS
    status = cs_tree_rebuild(&self->tree, most, &error);
    Py_END_ALLOW_THREADS
    end(self);
    if (status) raise_error(&error);
    return status ? NULL : Py_NewRef(Py_None);
}

/* boxes(kind) -> (lower, upper) of vertices (0), edges (1) or faces (2) */
static PyObject *tree_boxes(tree_object *self, PyObject *number)
{
    long kind = PyLong_AsLong(number);
    if (kind == -1 && PyErr_Occurred()) return NULL;
    int type = self->tree.single ? NPY_FLOAT : NPY_DOUBLE;
    npy_intp shape[2] = {(npy_intp)cs_tree_count(&self->tree, (cs_primitive)kind),
                         self->tree.k / 2};
    PyObject *lower = PyArray_SimpleNew(2, shape, type);
    PyObject *upper = lower ? PyArray_SimpleNew(2, shape, type) : NULL;
    if (upper && begin(self) == 0) {
        cs_tree_boxes(&self->tree, (cs_primitive)kind, PyArray_DATA((PyArrayObject *)lower),
                      PyArray_DATA((PyArrayObject *)upper));
        end(self);
        return Py_BuildValue("(NN)", lower, upper);
    }
    Py_XDECREF(lower);
    Py_XDECREF(upper);
    return NULL;
}

/* edges() -> (m, 2) */
static PyObject *tree_edges(tree_object *self, PyObject *unused)
{
    (void)unused;
    npy_intp shape[2] = {(npy_intp)self->tree.edges, 2};
    PyObject *array = PyArray_SimpleNew(2, shape, NPY_INT64);
    int64_t *edge = array ? PyArray_DATA((PyArrayObject *)array) : NULL;
    for (int64_t i = 0; edge && i < 2 * self->tree.edges; i++) edge[i] = self->tree.edge[i];
    return array;
}

/* directions() -> (k / 2, 3) */
static PyObject *tree_directions(tree_object *self, PyObject *unused)
{
    (void)unused;
    npy_intp shape[2] = {self->tree.k / 2, 3};
    PyObject *array = PyArray_SimpleNew(2, shape, NPY_INT64);
    int64_t *direction = array ? PyArray_DATA((PyArrayObject *)array) : NULL;
    for (int d = 0; direction && d < self->tree.k / 2; d++)
        for (int a = 0; a < 3; a++) direction[3 * d + a] = cs_dop_direction(self->tree.k, d)[a];
    return array;
}

/* ---- queries -------------------------------------------------------------------------------------- */

/* Runs the query and sorts its pairs with the GIL released. NULL with an error set. */
static PyObject *ask(tree_object *self, tree_object *other, cs_query_options *options)
{
    cs_error error = {0};
    PyObject *pairs = NULL;
    block_asking asking = {.thread = PyEval_SaveThread()};
    cs_cancellation cancellation = {.is_cancelled = block_ask_signals, .context = &asking};
    options->cancellation = &cancellation;
    cs_status status =
        cs_query_run(&self->query, &self->tree, other ? &other->tree : NULL, options, &error);
    PyEval_RestoreThread(asking.thread);
    if (!status && !PyErr_Occurred()) {
        npy_intp shape[2] = {(npy_intp)self->query.report.pairs, 2};
        pairs = PyArray_SimpleNew(2, shape, NPY_INT64);
    }
    if (pairs) {
        int64_t *data = PyArray_DATA((PyArrayObject *)pairs);
        Py_BEGIN_ALLOW_THREADS
        status = cs_query_write(&self->query, data, &error);
        Py_END_ALLOW_THREADS
    }
    if (status) {
        raise_error(&error);
        Py_CLEAR(pairs);
    }
    return pairs;
}

/* pairs(other, kind, max_pairs, rule, seed, threads, record) -> (n, 2); other: a Tree or None; kind: 0 faces, 1 vertices and
 * faces, 2 edges; max_pairs: -1 for no limit. */
static PyObject *tree_pairs(tree_object *self, PyObject *args)
{
    PyObject *given, *answer = NULL;
    const char *rule;
    int kind, record;
    long long most, seed, threads;
    if (!PyArg_ParseTuple(args, "OiLsLLp:pairs", &given, &kind, &most, &rule, &seed, &threads,
                          &record))
        return NULL;
    tree_object *other =
        given == Py_None || given == (PyObject *)self ? NULL : (tree_object *)given;
    if (other && !PyObject_TypeCheck(given, Py_TYPE(self)))
        return PyErr_Format(PyExc_TypeError, "other is no Tree");
    cs_query_options options = {.kind = (cs_pairs_kind)kind,
                                .rule = cs_split_rule_find(rule),
                                .seed = (uint64_t)seed,
                                .max_pairs = most,
                                .threads = (int)threads,
                                .record = record};
    if (!options.rule) return PyErr_Format(PyExc_ValueError, "rule: '%s' is unknown", rule);

    /* Both trees are in use, and the hierarchies that they lack are built. */
    if (begin(self) < 0) return NULL;
    if (!other || begin(other) == 0) {
        if (!threads) options.threads = threads_for(self, 0);
        answer = ask(self, other, &options);
        if (other) end(other);
    }
    end(self);
    return answer;
}

/* tasks() -> {pair: (n, 2), work, tests, seconds: (n,)} of the last query, if it was recorded */
static PyObject *tree_tasks(tree_object *self, PyObject *unused)
{
    (void)unused;
    if (begin(self) < 0) return NULL;
    npy_intp count = (npy_intp)self->query.tasks_kept, shape[2] = {count, 2};
    PyObject *pair = PyArray_SimpleNew(2, shape, NPY_INT64);
    PyObject *work = PyArray_SimpleNew(1, &count, NPY_INT64);
    PyObject *tests = PyArray_SimpleNew(1, &count, NPY_INT64);
    PyObject *seconds = PyArray_SimpleNew(1, &count, NPY_DOUBLE);
    if (!pair || !work || !tests || !seconds) {
        end(self);
        Py_XDECREF(pair);
        Py_XDECREF(work);
        Py_XDECREF(tests);
        Py_XDECREF(seconds);
        return NULL;
    }
    const cs_task_record *task = self->query.task.data;
    for (npy_intp n = 0; n < count; n++) {
        ((int64_t *)PyArray_DATA((PyArrayObject *)pair))[2 * n] = (int64_t)(task[n].pair >> 32);
        ((int64_t *)PyArray_DATA((PyArrayObject *)pair))[2 * n + 1] =
            (int64_t)(task[n].pair & UINT32_MAX);
        ((int64_t *)PyArray_DATA((PyArrayObject *)work))[n] = task[n].work;
        ((int64_t *)PyArray_DATA((PyArrayObject *)tests))[n] = task[n].tests;
        ((double *)PyArray_DATA((PyArrayObject *)seconds))[n] = task[n].seconds;
    }
    end(self);
    return Py_BuildValue("{s:N,s:N,s:N,s:N}", "pair", pair, "work", work, "tests", tests, "seconds",
                         seconds);
}

/* describe() -> a dict about the tree and the last query */
static PyObject *tree_describe(tree_object *self, PyObject *unused)
{
    (void)unused;
    if (begin(self) < 0) return NULL;
    const cs_tree *tree = &self->tree;
    const cs_query_report *report = &self->query.report;
    long long nodes = 0;
    int depth = 0;
    double quality = 1;
    for (int kind = 0; kind < CS_TREE_KINDS; kind++) {
        const cs_hierarchy *h = &tree->of[kind];
        nodes += h->nodes;
        if (!h->nodes) continue;
        if (h->levels + 1 > depth) depth = h->levels + 1;
        if (h->quality < quality) quality = h->quality;
    }
    PyObject *answer =
        Py_BuildValue("{s:L,s:i,s:d,s:L,s:L,s:s,s:L,s:L,s:L,s:i,s:d,s:d}", "nodes", nodes, "depth",
                      depth, "quality", quality, "rebuilds", (long long)tree->rebuilds, "bytes",
                      (long long)cs_tree_bytes(tree), "kernel", cs_tree_kernels_here()->name,
                      "pairs", (long long)report->pairs, "tests", (long long)report->tests, "tasks",
                      (long long)report->tasks, "threads", report->threads, "estimate_error",
                      report->estimate_error, "first_pass_seconds", report->first_pass);
    end(self);
    return answer;
}

static PyMethodDef tree_methods[] = {
    {"refit", (PyCFunction)(void (*)(void))tree_refit, METH_VARARGS,
     "refit(x0, x1, margin, threads)\n--\n\nBoxes of the motion from x0 to x1."},
    {"rebuild", (PyCFunction)(void (*)(void))tree_rebuild, METH_O,
     "rebuild(threads)\n--\n\nBuilds the trees anew."},
    {"boxes", (PyCFunction)(void (*)(void))tree_boxes, METH_O,
     "boxes(kind)\n--\n\n(lower, upper) of vertices (0), edges (1) or faces (2)."},
    {"edges", (PyCFunction)(void (*)(void))tree_edges, METH_NOARGS,
     "edges()\n--\n\nThe ends of all edges, sorted."},
    {"directions", (PyCFunction)(void (*)(void))tree_directions, METH_NOARGS,
     "directions()\n--\n\nThe directions in which boxes have ends."},
    {"pairs", (PyCFunction)(void (*)(void))tree_pairs, METH_VARARGS,
     "pairs(other, kind, max_pairs, rule, seed, threads, record)\n--\n\nPairs that overlap."},
    {"tasks", (PyCFunction)(void (*)(void))tree_tasks, METH_NOARGS,
     "tasks()\n--\n\nThe tasks of the last query, if it was recorded."},
    {"describe", (PyCFunction)(void (*)(void))tree_describe, METH_NOARGS,
     "describe()\n--\n\nThe nodes, and the last query, as a dict."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot tree_slots[] = {
    {Py_tp_new, (void *)tree_new},
    {Py_tp_dealloc, (void *)tree_dealloc},
    {Py_tp_methods, tree_methods},
    {Py_tp_doc, "Tree(...)\n--\n\nTrees of k-DOPs. See contactsolve.bvh.Tree."},
    {0, NULL},
};

PyType_Spec tree_spec = {
    .name = "contactsolve._core.Tree",
    .basicsize = sizeof(tree_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = tree_slots,
};

PyObject *core_split_rules(PyObject *m, PyObject *unused)
{
    (void)m, (void)unused;
    PyObject *answer = PyDict_New();
    const cs_split_rule *rule;
    for (int n = 0; answer && (rule = cs_split_rule_at(n)); n++) {
        PyObject *summary = PyUnicode_FromString(rule->summary);
        if (!summary || PyDict_SetItemString(answer, rule->name, summary) < 0) Py_CLEAR(answer);
        Py_XDECREF(summary);
    }
    return answer;
}
