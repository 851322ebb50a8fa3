/* _core.ordering: the schedule of an order for a problem, without a solver. */
#include "problem/problem.h"
#include "python/fields.h"

#include <string.h>

/* Reads a list with one integer for each of the `wanted` items, which `of` names. *entries points into
 * *array; None leaves both NULL. Returns -1 with an error set. */
static int read_list(PyObject *value, const char *name, int64_t wanted, const char *of,
                     PyArrayObject **array, const int64_t **entries)
{
    if (value == Py_None) return 0;
    *array = int64_array(value, name);
    if (!*array) return -1;
    *entries = PyArray_DATA(*array);
    if (PyArray_SIZE(*array) == wanted) return 0;
    PyErr_Format(PyExc_ValueError, "%s has %zd entries; the problem has %lld %s", name,
                 (Py_ssize_t)PyArray_SIZE(*array), (long long)wanted, of);
    return -1;
}

/* Reads the lists of an order given by the caller. Returns -1 with an error set. */
static int read_lists(PyObject *permutation, PyObject *begins, PyObject *labels,
                      const cs_problem *problem, cs_order_options *options, order_lists *lists)
{
    if (!problem && permutation == Py_None && begins == Py_None && labels == Py_None) return 0;
    if (!problem) {
        PyErr_SetString(PyExc_ValueError, "order: lists of contacts are for one problem");
        return -1;
    }
    int64_t blocks = cs_problem_blocks(problem), vertices = cs_problem_vertices(problem);
    const char *of = problem->matrix ? "contacts and no bodies" : "bodies";
    const char *name = begins == Py_None ? "order" : "stages";
    if (read_list(permutation, name, blocks, "contacts", &lists->permutation,
                  &options->permutation) < 0)
        return -1;
    if (read_list(begins, "begins", blocks, "contacts", &lists->begins, &options->begins) < 0)
        return -1;
    return read_list(labels, "labels", vertices, of, &lists->labels, &options->labels);
}

static const field order_fields[] = {
    FIELD(cs_order_options, seed, UINT64),    FIELD(cs_order_options, parts, INT),
    FIELD(cs_order_options, subtasks, INT64), FIELD(cs_order_options, weighted_subtasks, FLAG),
    FIELD(cs_order_options, threads, INT),    FIELD(cs_order_options, exact_threads, FLAG),
};
enum { ORDER_FIELDS = sizeof order_fields / sizeof *order_fields };

int read_order_options(PyObject *dictionary, const cs_problem *problem, cs_order_options *options,
                       order_lists *lists)
{
    /* Numbers are read by their names; these entries need code of their own. */
    enum { PERMUTATION, BEGINS, LABELS, SETTINGS, OTHERS };
    static const char *const names[] = {"permutation", "begins", "labels", "settings"};

    /* Read the numbers, and find the other entries. */
    PyObject *value[OTHERS];
    int others;
    if (read_fields(dictionary, order_fields, ORDER_FIELDS, options, &others) < 0) return -1;
    for (int i = 0; i < OTHERS; i++) value[i] = PyDict_GetItemString(dictionary, names[i]);
    if (others != OTHERS || !value[0] || !value[1] || !value[2] || !value[3] ||
        !PyDict_Check(value[SETTINGS])) {
        PyErr_SetString(PyExc_TypeError, "the options of an order are incomplete, or some are "
                                         "unknown");
        return -1;
    }

    /* Read the settings and the lists. */
    options->settings = lists->setting;
    options->setting_count = read_settings(value[SETTINGS], lists->setting);
    if (options->setting_count < 0) return -1;
    return read_lists(value[PERMUTATION], value[BEGINS], value[LABELS], problem, options, lists);
}

void order_lists_clear(order_lists *lists)
{
    Py_CLEAR(lists->permutation);
    Py_CLEAR(lists->begins);
    Py_CLEAR(lists->labels);
}

/* Describes an ordering. "N" takes ownership of the new arrays, and fails if one is NULL. */
static PyObject *answer(const cs_ordering_info *info)
{
    return Py_BuildValue("{s:s,s:s,s:N,s:N,s:N,s:N,s:N,s:N,s:L,s:d}", "method", info->method,
                         "order", info->order, "visit", new_integers(info->visit, info->blocks),
                         "part_start", new_integers(info->part_start, info->parts + 1),
                         "stage_start", new_integers(info->stage_start, info->stages + 1), "kind",
                         copied_array(info->kind, NPY_UINT8, info->stages, 0, 1), "row_blocks",
                         new_integers(info->row_blocks, info->blocks), "color_size",
                         new_integers(info->color_size, info->colors), "rounds",
                         (long long)info->rounds, "seconds", info->seconds);
}

/* Computes the ordering with the GIL released, and describes it. */
static PyObject *describe(problem_object *owner, const char *method, const char *order,
                          const cs_order_options *options)
{
    cs_ordering *ordering = NULL;
    cs_ordering_info info;
    cs_error error = {0};
    cs_status status;
    if (problem_begin(owner) < 0) return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = cs_ordering_create(&ordering, owner->problem, method, order, options, &error);
    Py_END_ALLOW_THREADS
    problem_end(owner);
    if (status) {
        raise_error(&error);
        return NULL;
    }

    /* Copy the description before the ordering is destroyed. */
    cs_ordering_describe(ordering, &info);
    PyObject *dictionary = answer(&info);
    cs_ordering_destroy(ordering);
    return dictionary;
}

PyObject *core_ordering(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    PyObject *owner, *given, *dictionary = NULL;
    order_lists lists = {0};
    const char *method, *order;
    cs_order_options options = {0};
    if (!PyArg_ParseTuple(args, "O!ssO!:ordering", state->problem_type, &owner, &method, &order,
                          &PyDict_Type, &given))
        return NULL;
    const cs_problem *problem = ((problem_object *)owner)->problem;
    if (read_order_options(given, problem, &options, &lists) == 0)
        dictionary = describe((problem_object *)owner, method, order, &options);
    order_lists_clear(&lists);
    return dictionary;
}

PyObject *core_stage_kinds(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    PyObject *list = PyList_New(0);
    const char *name;
    for (int i = 0; list && (name = cs_stage_kind_name(i)); i++) {
        PyObject *text = PyUnicode_FromString(name);
        if (!text || PyList_Append(list, text) < 0) Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}
