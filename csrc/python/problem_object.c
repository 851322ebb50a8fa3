/* _core.Problem: a cs_problem, filled at its creation; later only its values can be replaced.
 * contactsolve/problem.py decides on shapes; values are checked in C. */
#include "python/deferred.h"
#include "python/fields.h"

#include <limits.h>
#include <string.h>

/* The number of entries; 0 for NULL. */
static int64_t length(PyArrayObject *array) { return array ? (int64_t)PyArray_SIZE(array) : 0; }

/* Non-zero with an error set if a length differs from the `wanted` one. */
static int wrong_length(const char *name, int64_t found, int64_t wanted)
{
    if (found == wanted) return 0;
    PyErr_Format(PyExc_ValueError, "%s has %lld entries; %lld are needed", name, (long long)found,
                 (long long)wanted);
    return 1;
}

/* Returns an entry of a dictionary, borrowed; NULL with an error set. */
static PyObject *item(PyObject *dictionary, const char *name)
{
    PyObject *value = PyDict_GetItemString(dictionary, name);
    if (!value) PyErr_Format(PyExc_TypeError, "%s is missing", name);
    return value;
}

static const field body_fields[] = {
    FIELD(cs_bodies, count, INT64),
    FIELD(cs_bodies, dof, INT),
    FIELD(cs_bodies, diagonal, FLAG),
};
enum { BODY_FIELDS = sizeof body_fields / sizeof *body_fields };

/* Adds a group of bodies from a dict by the names of cs_bodies. Returns -1 with an error set. */
static int add_bodies(cs_problem *problem, PyObject *group)
{
    cs_bodies bodies = {0};
    int others, result = -1;
    PyObject *value = item(group, "inverse_mass");
    if (!value || read_fields(group, body_fields, BODY_FIELDS, &bodies, &others) < 0) return -1;

    /* Check the length: the library takes a pointer. */
    PyArrayObject *inverse = double_array(value, "Minv");
    if (!inverse) return -1;
    int64_t each = (int64_t)bodies.dof * (bodies.diagonal ? 1 : bodies.dof);
    if (wrong_length("Minv", length(inverse), bodies.count * each)) goto out;

    /* Add the group. */
    bodies.inverse_mass = PyArray_DATA(inverse);
    cs_error error = {0};
    cs_status status;
    Py_BEGIN_ALLOW_THREADS
    status = cs_problem_add_bodies(problem, &bodies, &error);
    Py_END_ALLOW_THREADS
    if (status) raise_error(&error);
    else result = 0;
out:
    Py_DECREF(inverse);
    return result;
}

static const field block_fields[] = {
    FIELD(cs_blocks, count, INT64),
    FIELD(cs_blocks, rows, INT),
    FIELD(cs_blocks, set, TEXT),
};
enum { BLOCK_FIELDS = sizeof block_fields / sizeof *block_fields };

/* given->partners, given->dof <- a tuple with the degrees of freedom of each partner. Returns -1 with an error set. */
static int read_partners(PyObject *dofs, cs_blocks *given)
{
    enum { MOST = sizeof given->dof / sizeof *given->dof };
    if (!PyTuple_Check(dofs) || PyTuple_GET_SIZE(dofs) < 1 || PyTuple_GET_SIZE(dofs) > MOST) {
        PyErr_Format(PyExc_ValueError, "dofs is %R: a tuple with from 1 to %d numbers is needed",
                     dofs, (int)MOST);
        return -1;
    }
    given->partners = (int)PyTuple_GET_SIZE(dofs);
    for (int s = 0; s < given->partners; s++) {
        long dof = PyLong_AsLong(PyTuple_GET_ITEM(dofs, s));
        if (dof == -1 && PyErr_Occurred()) return -1;
        given->dof[s] = dof < 0 || dof > INT_MAX ? INT_MAX : (int)dof;
    }
    return 0;
}

/* The columns of J of all partners. */
static int64_t columns_of(const cs_blocks *given)
{
    int64_t columns = 0;
    for (int s = 0; s < given->partners; s++) columns += given->dof[s];
    return columns;
}

/* Adds a group of blocks from a dict by the names of cs_blocks. The compliance is added to A; without
 * `jacobian` it is part of the given A. `jacobian`, `bodies` and `compliance` may be None. Returns -1 with
 * an error set. */
static int add_blocks(cs_problem *problem, PyObject *group)
{
    int others, result = -1;
    cs_blocks given = {0};
    PyArrayObject *jacobian = NULL, *bodies = NULL, *b = NULL, *parameters = NULL;
    PyArrayObject *compliance = NULL;
    PyObject *jacobian_value = item(group, "jacobian"), *bodies_value = item(group, "bodies");
    PyObject *b_value = item(group, "b"), *parameters_value = item(group, "parameters");
    PyObject *compliance_value = item(group, "compliance"), *dofs = item(group, "dofs");

    /* Read the numbers and the set. */
    if (PyErr_Occurred()) return -1;
    if (read_fields(group, block_fields, BLOCK_FIELDS, &given, &others) < 0) return -1;
    if (!given.set) {
        PyErr_SetString(PyExc_TypeError, "set is missing");
        return -1;
    }
    const char *set = given.set;
    int rows = given.rows;
    int64_t count = given.count;
    int per_block = cs_set_parameters(set, rows);

    /* The library takes pointers without lengths: check every length here. */
    b = double_array(b_value, "b");
    parameters = double_array(parameters_value, "sets");
    if (!b || !parameters) goto out;
    if (jacobian_value != Py_None) {
        jacobian = double_array(jacobian_value, "J");
        bodies = int64_array(bodies_value, "bodies");
        if (!jacobian || !bodies || read_partners(dofs, &given) < 0) goto out;
        if (wrong_length("J", length(jacobian), count * rows * columns_of(&given))) goto out;
        if (wrong_length("bodies", length(bodies), count * given.partners)) goto out;
    }
    if (compliance_value != Py_None) {
        compliance = double_array(compliance_value, "compliance");
        if (!compliance) goto out;
        if (wrong_length("compliance", length(compliance), count * rows)) goto out;
    }
    if (wrong_length("b", length(b), count * rows)) goto out;

    /* Sets with a variable number of parameters have one row of the array for each block. */
    int variable = cs_set_is_variable(set);
    if (variable) per_block = PyArray_NDIM(parameters) == 2 ? (int)PyArray_DIM(parameters, 1) : 0;
    if (per_block >= 0 && wrong_length("sets", length(parameters), count * per_block)) goto out;

    /* Without J, A is given: the compliance is then already part of its diagonal. */
    cs_blocks blocks = {
        .count = count,
        .rows = rows,
        .partners = given.partners,
        .jacobian = jacobian ? PyArray_DATA(jacobian) : NULL,
        .bodies = bodies ? PyArray_DATA(bodies) : NULL,
        .b = PyArray_DATA(b),
        .set = set,
        .parameters = PyArray_DATA(parameters),
        .compliance = compliance && jacobian ? PyArray_DATA(compliance) : NULL,
        .included = compliance && !jacobian ? PyArray_DATA(compliance) : NULL,
        .parameters_each = variable ? per_block : 0,
    };
    memcpy(blocks.dof, given.dof, sizeof blocks.dof);
    cs_error error = {0};
    cs_status status;
    Py_BEGIN_ALLOW_THREADS
    status = cs_problem_add_blocks(problem, &blocks, &error);
    Py_END_ALLOW_THREADS
    if (status) raise_error(&error);
    else result = 0;
out:
    Py_XDECREF(jacobian);
    Py_XDECREF(bodies);
    Py_XDECREF(b);
    Py_XDECREF(parameters);
    Py_XDECREF(compliance);
    return result;
}

/* Gives A to a problem without Jacobians, from a dict. Returns -1 with an error set. */
static int set_matrix(cs_problem *problem, PyObject *matrix)
{
    int result = -1;
    PyObject *start_value = item(matrix, "indptr"), *column_value = item(matrix, "indices");
    PyObject *data_value = item(matrix, "data");
    if (PyErr_Occurred()) return -1;
    PyArrayObject *start = int64_array(start_value, "A.indptr");
    PyArrayObject *column = start ? int64_array(column_value, "A.indices") : NULL;
    PyArrayObject *data = column ? double_array(data_value, "A.data") : NULL;
    if (!data) goto out;

    /* The library cannot know the lengths of the arrays: check that the last row ends with them. */
    int64_t rows = length(start) - 1;
    const int64_t *starts = PyArray_DATA(start);
    if (rows < 0 || starts[rows] != length(column) || starts[rows] != length(data)) {
        PyErr_Format(PyExc_ValueError,
                     "A.indptr ends at %lld, but A.indices has %lld entries and A.data %lld",
                     rows < 0 ? 0LL : (long long)starts[rows], (long long)length(column),
                     (long long)length(data));
        goto out;
    }

    cs_csr csr = {rows, starts, PyArray_DATA(column), PyArray_DATA(data)};
    cs_error error = {0};
    cs_status status;
    Py_BEGIN_ALLOW_THREADS
    status = cs_problem_set_matrix(problem, &csr, &error);
    Py_END_ALLOW_THREADS
    if (status) raise_error(&error);
    else result = 0;
out:
    Py_XDECREF(start);
    Py_XDECREF(column);
    Py_XDECREF(data);
    return result;
}

/* Adds each dict of a tuple by `add`. Returns -1 with an error set. */
static int add_each(cs_problem *problem, PyObject *groups, int (*add)(cs_problem *, PyObject *))
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(groups); i++) {
        PyObject *group = PyTuple_GET_ITEM(groups, i);
        if (!PyDict_Check(group)) {
            PyErr_SetString(PyExc_TypeError, "a group must be a dict");
            return -1;
        }
        if (add(problem, group) < 0) return -1;
    }
    return 0;
}

/* Problem(bodies, blocks, matrix): tuples of dicts; a dict or None */
static PyObject *problem_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *bodies, *blocks, *matrix;
    if (keywords && PyDict_GET_SIZE(keywords)) {
        PyErr_SetString(PyExc_TypeError, "Problem takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "O!O!O:Problem", &PyTuple_Type, &bodies, &PyTuple_Type, &blocks,
                          &matrix))
        return NULL;
    problem_object *self = (problem_object *)type->tp_alloc(type, 0);
    if (!self) return NULL;

    /* Create the problem, and fill it. */
    cs_error error = {0};
    if (cs_problem_create(&self->problem, &error)) {
        raise_error(&error);
        goto fail;
    }
    if (add_each(self->problem, bodies, add_bodies) < 0) goto fail;
    if (add_each(self->problem, blocks, add_blocks) < 0) goto fail;
    if (matrix != Py_None && !PyDict_Check(matrix)) {
        PyErr_SetString(PyExc_TypeError, "a matrix must be a dict");
        goto fail;
    }
    if (matrix != Py_None && set_matrix(self->problem, matrix) < 0) goto fail;
    return (PyObject *)self;
fail:
    Py_DECREF(self);
    return NULL;
}

static void problem_dealloc(problem_object *self)
{
    PyTypeObject *type = Py_TYPE(self);
    cs_problem_destroy(self->problem);
    type->tp_free(self);
    Py_DECREF(type);
}

/* ---- new values ------------------------------------------------------------------------------ */

int problem_try_begin(problem_object *self)
{
    int running = atomic_load(&self->running);
    do {
        if (running < 0) return 0;
    } while (!atomic_compare_exchange_weak(&self->running, &running, running + 1));
    return 1;
}

int problem_begin(problem_object *self)
{
    if (problem_try_begin(self)) return 0;
    PyErr_SetString(PyExc_RuntimeError, "the problem is being updated in another thread");
    return -1;
}

void problem_end(problem_object *self) { atomic_fetch_sub(&self->running, 1); }

static void problem_unlock(problem_object *self) { atomic_store(&self->running, 0); }

/* Refuses readers until problem_unlock, once the evaluations that need the present values are done. Returns -1 with an
 * error set if the values are being read. */
static int problem_lock(problem_object *self)
{
    int idle = 0;
    if (!atomic_compare_exchange_strong(&self->running, &idle, -1)) {
        PyErr_SetString(PyExc_RuntimeError, "a Solver is using this problem, or A is being "
                                            "assembled: update it after that");
        return -1;
    }
    if (deferred_finish_all(self, NULL) == 0) return 0;
    problem_unlock(self);
    return -1;
}

/* replace(other): takes the values of a Problem with the same structure */
static PyObject *problem_replace(problem_object *self, PyObject *other)
{
    if (Py_TYPE(other) != Py_TYPE(self) || other == (PyObject *)self) {
        PyErr_SetString(PyExc_TypeError, "replace takes another Problem");
        return NULL;
    }
    if (problem_lock(self) < 0) return NULL;
    cs_error error = {0};
    cs_status status =
        cs_problem_replace(self->problem, ((problem_object *)other)->problem, &error);
    problem_unlock(self);
    if (status) raise_error(&error);
    return status ? NULL : Py_NewRef(Py_None);
}

/* The arrays of one argument of an update, and pointers to their numbers; NULL for groups that keep theirs. */
typedef struct group_arrays {
    PyArrayObject *array[CS_MAX_GROUPS];
    const double *values[CS_MAX_GROUPS];
} group_arrays;

static void group_arrays_clear(group_arrays *arrays)
{
    for (int g = 0; g < CS_MAX_GROUPS; g++) Py_CLEAR(arrays->array[g]);
}

/* Reads a tuple with an array or None for each group; `size` tells how many numbers group g has. Returns -1 with an
 * error set. */
static int read_arrays(PyObject *tuple, const char *name, const cs_problem *problem, int groups,
                       int64_t (*size)(const cs_problem *problem, int g), group_arrays *arrays)
{
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != groups) {
        PyErr_Format(PyExc_TypeError, "%s: a tuple with an entry for each of %d groups is needed",
                     name, groups);
        return -1;
    }
    for (int g = 0; g < groups; g++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, g);
        if (item == Py_None) continue;
        arrays->array[g] = double_array(item, name);
        if (!arrays->array[g]) return -1;
        if (length(arrays->array[g]) != size(problem, g)) {
            PyErr_SetString(PyExc_ValueError, "the new values have another structure (contacts, "
                                              "rows, bodies, sets)");
            return -1;
        }
        arrays->values[g] = PyArray_DATA(arrays->array[g]);
    }
    return 0;
}

static int64_t inverse_mass_size(const cs_problem *problem, int g)
{
    return problem->body_group[g].count * cs_inverse_mass_size(&problem->body_group[g]);
}

static int64_t jacobian_size(const cs_problem *problem, int g)
{
    return problem->block_group[g].count * cs_jacobian_size(&problem->block_group[g]);
}

static int64_t b_size(const cs_problem *problem, int g)
{
    return problem->block_group[g].count * problem->block_group[g].rows;
}

static int64_t parameters_size(const cs_problem *problem, int g)
{
    return problem->block_group[g].count * problem->block_group[g].parameters;
}

/* update(inverse_mass, jacobian, b, parameters): replaces values, all of them or none */
static PyObject *problem_update(problem_object *self, PyObject *const *args, Py_ssize_t count)
{
    enum { INVERSE_MASS, JACOBIAN, B, PARAMETERS, ARRAYS };
    static const char *const names[ARRAYS] = {"Minv", "J", "b", "sets"};
    static int64_t (*const size[ARRAYS])(const cs_problem *problem, int g) = {
        inverse_mass_size, jacobian_size, b_size, parameters_size};
    if (count != ARRAYS) {
        PyErr_SetString(PyExc_TypeError, "update takes inverse_mass, jacobian, b and parameters");
        return NULL;
    }

    /* The arrays. Their conversion may run Python code, so that the problem is locked after it; its structure never
     * changes. */
    group_arrays arrays[ARRAYS] = {{{NULL}, {NULL}}};
    cs_problem *problem = self->problem;
    cs_status status = CS_INVALID;
    cs_error error = {0};
    for (int i = 0; i < ARRAYS; i++) {
        int groups = i == INVERSE_MASS ? problem->body_groups : problem->block_groups;
        if (read_arrays(args[i], names[i], problem, groups, size[i], &arrays[i]) < 0) goto out;
    }
    if (problem_lock(self) < 0) goto out;

    /* The new values. The GIL stays: a reader in another thread waits for it, and is not refused. */
    cs_values values = {
        .inverse_mass = arrays[INVERSE_MASS].values,
        .jacobian = arrays[JACOBIAN].values,
        .b = arrays[B].values,
        .parameters = arrays[PARAMETERS].values,
    };
    status = cs_problem_update(problem, &values, &error);
    problem_unlock(self);
    if (status) raise_error(&error);
out:
    for (int i = 0; i < ARRAYS; i++) group_arrays_clear(&arrays[i]);
    return status ? NULL : Py_NewRef(Py_None);
}

/* ---- reading back ---------------------------------------------------------------------------- */

/* Returns what `read` finds in group `index` of the bodies or of the blocks; None if there is no such
 * group. The problem keeps its values meanwhile. */
static PyObject *read_group(problem_object *self, PyObject *index, int bodies,
                            PyObject *(*read)(const cs_problem *problem, long group))
{
    long g = PyLong_AsLong(index);
    if (g == -1 && PyErr_Occurred()) return NULL;
    if (problem_begin(self) < 0) return NULL;
    int groups = bodies ? self->problem->body_groups : self->problem->block_groups;
    PyObject *found = g >= 0 && g < groups ? read(self->problem, g) : Py_NewRef(Py_None);
    problem_end(self);
    return found;
}

/* Copies of the arrays of one group; None if it has no such array. */
static PyObject *read_jacobian(const cs_problem *problem, long g)
{
    const cs_block_group *group = &problem->block_group[g];
    if (!group->jacobian) return Py_NewRef(Py_None); /* groups of Python have no frames */
    return new_doubles(group->jacobian, group->count * cs_jacobian_size(group));
}

static PyObject *read_bodies(const cs_problem *problem, long g)
{
    const cs_block_group *group = &problem->block_group[g];
    if (!group->bodies) return Py_NewRef(Py_None);
    return copied_array(group->bodies, NPY_INT64, group->count, group->partners,
                        sizeof(int64_t));
}

static PyObject *read_inverse_mass(const cs_problem *problem, long g)
{
    const cs_body_group *group = &problem->body_group[g];
    return new_doubles(group->inverse_mass,
                       group->count * group->dof * (group->diagonal ? 1 : group->dof));
}

static PyObject *read_b(const cs_problem *problem, long g)
{
    const cs_block_group *group = &problem->block_group[g];
    return new_doubles(group->b, group->count * group->rows);
}

static PyObject *read_compliance(const cs_problem *problem, long g)
{
    const cs_block_group *group = &problem->block_group[g];
    if (!group->compliance) return Py_NewRef(Py_None);
    return new_doubles(group->compliance, group->count * group->rows);
}

static PyObject *problem_jacobian(problem_object *self, PyObject *index)
{
    return read_group(self, index, 0, read_jacobian);
}

static PyObject *problem_bodies(problem_object *self, PyObject *index)
{
    return read_group(self, index, 0, read_bodies);
}

static PyObject *problem_inverse_mass(problem_object *self, PyObject *index)
{
    return read_group(self, index, 1, read_inverse_mass);
}

static PyObject *problem_b(problem_object *self, PyObject *index)
{
    return read_group(self, index, 0, read_b);
}

static PyObject *problem_compliance(problem_object *self, PyObject *index)
{
    return read_group(self, index, 0, read_compliance);
}

/* count_blocks(fixed_as_body) -> non-zero blocks of A */
static PyObject *problem_count_blocks(problem_object *self, PyObject *fixed_as_body)
{
    int as_body = PyObject_IsTrue(fixed_as_body);
    if (as_body < 0 || problem_begin(self) < 0) return NULL;
    int64_t count;
    Py_BEGIN_ALLOW_THREADS
    count = cs_count_blocks(self->problem, as_body);
    Py_END_ALLOW_THREADS
    problem_end(self);
    return count < 0 ? PyErr_NoMemory() : PyLong_FromLongLong(count);
}

/* The first block whose diagonal of A is zero, so that its impulses move nothing; -1 for none. */
static int64_t first_immovable(const cs_problem *problem)
{
    for (int g = 0; g < problem->block_groups; g++)
        for (int64_t k = 0; k < problem->block_group[g].count; k++) {
            double diagonal[CS_MAX_ROWS * CS_MAX_ROWS];
            int rows = problem->block_group[g].rows, zero = 1;
            cs_diagonal_block(problem, &problem->block_group[g], k, diagonal);
            for (int i = 0; i < rows; i++) zero = zero && diagonal[i * rows + i] == 0;
            if (zero) return problem->block_group[g].first_block + k;
        }
    return -1;
}

static PyObject *problem_first_immovable(problem_object *self, PyObject *unused)
{
    (void)unused;
    if (problem_begin(self) < 0) return NULL;
    int64_t first = first_immovable(self->problem);
    problem_end(self);
    return PyLong_FromLongLong(first);
}

/* assemble() -> the values, the block columns and the row starts of A in blocks */
static PyObject *problem_assemble(problem_object *self, PyObject *unused)
{
    (void)unused;
    if (problem_begin(self) < 0) return NULL;
    cs_arena arena = {0};
    cs_block_matrix *matrix = self->problem->matrix;
    cs_error error = {0};
    cs_status status = CS_OK;
    PyObject *result = NULL;

    /* A given A is stored in blocks already; otherwise build it without the GIL. */
    Py_BEGIN_ALLOW_THREADS
    if (!matrix) status = cs_assemble(self->problem, 0, &arena, NULL, &matrix, &error);
    Py_END_ALLOW_THREADS

    if (status) {
        raise_error(&error);
    } else {
        int64_t blocks = matrix->blocks;
        result = Py_BuildValue("NNN", new_doubles(matrix->value, matrix->first[blocks]),
                               new_integers(matrix->column, matrix->start[blocks]),
                               new_integers(matrix->start, blocks + 1));
    }
    cs_arena_clear(&arena);
    problem_end(self);
    return result;
}

static PyObject *problem_asymmetry(problem_object *self, void *closure)
{
    (void)closure;
    if (problem_begin(self) < 0) return NULL;
    double asymmetry = self->problem->matrix ? self->problem->matrix->asymmetry : 0;
    problem_end(self);
    return PyFloat_FromDouble(asymmetry);
}

static PyObject *problem_parts(problem_object *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(cs_problem_parts(self->problem));
}

static PyMethodDef problem_methods[] = {
    {"jacobian", (PyCFunction)(void (*)(void))problem_jacobian, METH_O,
     "jacobian(group)\n--\n\nA flat copy of a group's Jacobian, or None."},
    {"bodies", (PyCFunction)(void (*)(void))problem_bodies, METH_O,
     "bodies(group)\n--\n\nA copy of the bodies of a group's blocks, or None."},
    {"inverse_mass", (PyCFunction)(void (*)(void))problem_inverse_mass, METH_O,
     "inverse_mass(group)\n--\n\nA flat copy of a body group's inverse mass, or None."},
    {"b", (PyCFunction)(void (*)(void))problem_b, METH_O,
     "b(group)\n--\n\nA flat copy of a group's b, or None."},
    {"compliance", (PyCFunction)(void (*)(void))problem_compliance, METH_O,
     "compliance(group)\n--\n\nA flat copy of a group's compliance, or None."},
    {"update", (PyCFunction)(void (*)(void))problem_update, METH_FASTCALL,
     "update(inverse_mass, jacobian, b, parameters)\n--\n\nReplaces values; each is a tuple with "
     "an array or None for each group."},
    {"replace", (PyCFunction)(void (*)(void))problem_replace, METH_O,
     "replace(other)\n--\n\nTakes the values of another Problem of the same structure."},
    {"count_blocks", (PyCFunction)(void (*)(void))problem_count_blocks, METH_O,
     "count_blocks(fixed_as_body)\n--\n\nNon-zero blocks of A, without building it."},
    {"first_immovable", (PyCFunction)(void (*)(void))problem_first_immovable, METH_NOARGS,
     "first_immovable()\n--\n\nThe first contact whose impulses move nothing, or -1."},
    {"assemble", (PyCFunction)(void (*)(void))problem_assemble, METH_NOARGS,
     "assemble()\n--\n\nA as (values, block columns, row starts)."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef problem_attributes[] = {
    {"asymmetry", (getter)problem_asymmetry, NULL, "max |A - A^T| / max |A| of a given A.", NULL},
    {"parts", (getter)problem_parts, NULL, "The number of parts that parts='auto' is.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot problem_slots[] = {
    {Py_tp_new, (void *)problem_new},
    {Py_tp_dealloc, (void *)problem_dealloc},
    {Py_tp_methods, problem_methods},
    {Py_tp_getset, problem_attributes},
    {Py_tp_doc, "Problem(bodies, blocks, matrix)\n--\n\nA contact problem in C. See Problem."},
    {0, NULL},
};

PyType_Spec problem_spec = {
    .name = "contactsolve._core.Problem",
    .basicsize = sizeof(problem_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = problem_slots,
};
