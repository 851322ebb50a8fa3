/* Declarations that the files of the CPython module share. */
#ifndef CS_PYTHON_CORE_H
#define CS_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL contactsolve_numpy
#ifndef CS_PYTHON_MODULE
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <stdatomic.h>

#include "contactsolve.h"
#include "core/denormals.h"
#include "problem/problem.h"

/* The types of the module. */
typedef struct core_state {
    PyTypeObject *problem_type, *solver_type, *support_type, *mlcp_type, *answer_type,
        *description_type, *collider_type, *world_type, *block_system_type,
        *block_preconditioner_type, *cloth_type, *tree_type, *transport_type, *exchange_type,
        *team_type, *channels_type;
} core_state;

extern PyType_Spec problem_spec, solver_spec, support_spec, mlcp_spec, answer_spec,
    description_spec, collider_spec, world_spec, block_system_spec, block_preconditioner_spec,
    cloth_spec, channels_spec;

/* _core.Problem. */
typedef struct problem_object {
    PyObject_HEAD
    cs_problem *problem;
    atomic_int running; /* number of calls that read it; -1 while its values are being replaced */
    struct deferred *deferred; /* the first evaluation that needs its values (python/deferred.h) */
} problem_object;

/* Code that reads a problem with the GIL released, such as a solver, calls problem_begin before and
 * problem_end after it; the values are not replaced in between. problem_begin returns -1 with an error set
 * if they are being replaced at that moment. */
int problem_begin(problem_object *self);
int problem_try_begin(problem_object *self); /* 0 instead of an error, and 1 */
void problem_end(problem_object *self);

/* A call of Python code by the C library: with the GIL, and denormals as Python code expects them. */
typedef struct python_call {
    PyGILState_STATE state;
    cs_float_mode mode;
} python_call;

static inline python_call python_call_begin(void)
{
    python_call call = {.state = PyGILState_Ensure()};
    call.mode = cs_keep_denormals();
    return call;
}

static inline void python_call_end(python_call call)
{
    cs_restore_denormals(call.mode);
    PyGILState_Release(call.state);
}

/* Raises the Python exception of a failed call, unless an interruption has raised its own. */
void raise_error(const cs_error *error);

/* `value` as a contiguous array of doubles, or of int64: a new reference; NULL with an error set that names
 * the argument. */
PyArrayObject *double_array(PyObject *value, const char *name);
PyArrayObject *int64_array(PyObject *value, const char *name);

/* The arrays to which the options of an order point (NULL for none), and its own options. */
typedef struct order_lists {
    PyArrayObject *permutation, *begins, *labels;
    cs_setting setting[CS_MAX_OWN_OPTIONS];
} order_lists;

/* Reads the options of an order from the dict of contactsolve.orders.Order.options, which has the names
 * of cs_order_options. Returns -1 with an error set on failure. The caller clears the lists in either
 * case. */
int read_order_options(PyObject *dictionary, const cs_problem *problem, cs_order_options *options,
                       order_lists *lists);
void order_lists_clear(order_lists *lists);

/* Sets members of `options` from {name: number or word}, one by one with `set`. Returns -1 with an error set on
 * failure. */
typedef cs_status (*option_setter)(void *options, const cs_setting *setting, cs_error *error);
int set_options(PyObject *dictionary, option_setter set, void *options);

/* Reads at most CS_MAX_OWN_OPTIONS options of a method, an order or a scheme from {name: number or word}; words
 * are borrowed from it. Returns their number, or -1 with an error set. */
int read_settings(PyObject *dictionary, cs_setting *settings);

/* Functions of the module:
 *
 *     options()        a list of the options that every solver has
 *     mlcp_options()   a list of the options of MLCP solvers
 *     methods(), orders(), schemes(), sets()
 *                      a list of their descriptions, with options or parameters
 *     check_method(name, settings), check_order(name, settings), check_scheme(name, settings)
 *                      None, or an error */
PyObject *core_methods(PyObject *module, PyObject *unused);
PyObject *core_options(PyObject *module, PyObject *unused);
PyObject *core_mlcp_options(PyObject *module, PyObject *unused);
PyObject *core_orders(PyObject *module, PyObject *unused);
PyObject *core_schemes(PyObject *module, PyObject *unused);
PyObject *core_networks(PyObject *module, PyObject *unused);
PyObject *core_sets(PyObject *module, PyObject *unused);
PyObject *core_check_method(PyObject *module, PyObject *args);
PyObject *core_check_order(PyObject *module, PyObject *args);
PyObject *core_check_scheme(PyObject *module, PyObject *args);
PyObject *core_check_network(PyObject *module, PyObject *args);

/* ordering(problem, method, order, order_options) -> the schedule of an order for a problem, as a dict;
 * stage_kinds() -> the names of the kinds of stages */
PyObject *core_ordering(PyObject *module, PyObject *args);
PyObject *core_stage_kinds(PyObject *module, PyObject *unused);

/* inspect(problem, impulses, xi, b, parameters, tolerance) -> a dict of arrays by the names of
 * cs_inspection */
PyObject *core_inspect(PyObject *module, PyObject *args);

/* partition_labels(problem, strategy, parts) -> labels (bodies, or blocks of a given A) */
PyObject *core_partition_labels(PyObject *module, PyObject *args);

/* islands(problem) -> labels (blocks); -1 for blocks whose impulses move nothing */
PyObject *core_islands(PyObject *module, PyObject *args);

/* hash_sequence(numbers) -> the indices of the numbers by ascending hash
 * color_shared(sequence, bodies, bodies_count, own, colors, by_palette) -> how many own colours have changed; colors is
 * changed: cs_color_shared */
PyObject *core_hash_sequence(PyObject *module, PyObject *numbers);
PyObject *core_color_shared(PyObject *module, PyObject *args);

/* project(set, narrow, z, parameters, previous or None) -> the nearest points, (count, rows) */
PyObject *core_project(PyObject *module, PyObject *args);

/* describe_set(name, rows) -> a dict by the names of cs_set_properties */
PyObject *core_describe_set(PyObject *module, PyObject *args);

/* fill_order(name, indices, indptr) -> order, and elimination_tree(indices, indptr) -> parents */
PyObject *core_fill_order(PyObject *module, PyObject *args);
PyObject *core_elimination_tree(PyObject *module, PyObject *args);

/* shape_mass(kind, numbers, vertices or None, dimension) -> (volume, center, inertia, bounding_radius) of density 1 */
PyObject *core_shape_mass(PyObject *module, PyObject *args);

/* polar(matrices) -> (rotations (count, 6), stretches (count, 4)) of (count, 3, 2): cs_polar_find */
PyObject *core_polar(PyObject *module, PyObject *matrices);

/* Of stencils of a kind (0: vertex and face, 1: edges), whose positions and indices the caller has checked:
 * stencil_distances(kind, x, indices or None, threads) -> (distance, weights, separation)
 * stencil_impacts(kind, x0, x1, margin, indices or None, threads) -> (hit, time, weights, separation, doubtful)
 * stencil_free_step(kind, x0, x1, margin, indices or None, threads) -> the least time of a hit, or 1 */
PyObject *core_stencil_distances(PyObject *module, PyObject *args);
PyObject *core_stencil_impacts(PyObject *module, PyObject *args);
PyObject *core_stencil_free_step(PyObject *module, PyObject *args);
/* pool_overhead(kind, pattern, count, threads) -> mean seconds of an empty task */
PyObject *core_pool_overhead(PyObject *module, PyObject *args);

/* side_by_side(problems) -> (one Problem of all, (problems, 64) the group in it of each group): cs_concatenate.
 * solve_batch(problem, options, order, initial or None, recorded, parts, histories, per, there, progress or None), with the
 * address cs_batch_call.there or 0 -> a dict of the arrays of cs_batch_result. outcomes() -> the names of its outcomes */
PyObject *core_side_by_side(PyObject *module, PyObject *args);
PyObject *core_solve_batch(PyObject *module, PyObject *args);
PyObject *core_outcomes(PyObject *module, PyObject *unused);

/* The UTF-8 text of a name, borrowed from it; NULL with an error set, also if it contains a zero. */
const char *text_of(PyObject *value);

/* A new array (count, columns), or (count) if `columns` is 0, copied from `data` (NULL: not set); `size` is that of one
 * number. */
PyObject *copied_array(const void *data, int type, int64_t count, int columns, size_t size);

/* A new 1-D array of int64, copied from `values`. */
PyObject *new_integers(const int64_t *values, int64_t count);

/* A new 1-D array of doubles, copied from `values` unless that is NULL. */
PyObject *new_doubles(const double *values, int64_t count);

#endif
