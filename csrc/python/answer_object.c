/* _core.Answer: the result of a solve, by the names of cs_result. Python objects are made when an attribute is
 * read. */
#include "python/answer.h"

#include <structmember.h>

#include <math.h>
#include <string.h>

typedef struct answer_object {
    PyObject_HEAD
    cs_result result;
    int64_t version; /* of the problem, whose values the solve had */
    cs_link *link;   /* a copy: the solver's own lasts until its next solve */
    _Atomic(PyObject *) impulses;
    PyObject *xi, *velocity, *history, *certificate;
    deferred *
        later; /* evaluates what the result has not, and has xi and velocity then; NULL: all is here */
} answer_object;

/* The history as a new array (rows, columns). */
static PyObject *history_of(const cs_result *result)
{
    return copied_array(result->history, NPY_DOUBLE, result->history_rows, result->columns,
                        sizeof(double));
}

/* The direction that proves a problem to have no solution, or None. */
static PyObject *certificate_of(const cs_result *result, int64_t rows)
{
    if (!result->certificate) Py_RETURN_NONE;
    return new_doubles(result->certificate, rows);
}

PyObject *new_answer(PyTypeObject *type, const answer_parts *parts)
{
    const cs_result *result = parts->result;
    answer_object *self = (answer_object *)type->tp_alloc(type, 0);
    if (!self) return NULL;

    /* Copy the numbers, and what the solver may overwrite. */
    self->result = *result;
    self->version = parts->version;
    atomic_init(&self->impulses, parts->later ? NULL : Py_NewRef(parts->impulses));
    self->xi = Py_XNewRef(parts->xi);
    self->velocity = Py_XNewRef(parts->velocity);
    self->history = history_of(result);
    self->certificate = certificate_of(result, parts->rows);
    if (!self->history || !self->certificate) goto fail;

    /* Copy the links of a chain. */
    if (result->links) {
        self->link = PyMem_Malloc(sizeof(cs_link) * (size_t)result->links);
        if (!self->link) {
            PyErr_NoMemory();
            goto fail;
        }
        memcpy(self->link, result->link, sizeof(cs_link) * (size_t)result->links);
    }
    self->later = parts->later;
    return (PyObject *)self;
fail:
    Py_DECREF(self);
    return NULL;
}

static void answer_dealloc(answer_object *self)
{
    PyTypeObject *type = Py_TYPE(self);
    deferred_release(self->later);
    Py_XDECREF(atomic_load(&self->impulses));
    Py_XDECREF(self->xi);
    Py_XDECREF(self->velocity);
    Py_XDECREF(self->history);
    Py_XDECREF(self->certificate);
    PyMem_Free(self->link);
    type->tp_free(self);
    Py_DECREF(type);
}

/* ---- attributes ------------------------------------------------------------------------------ */

static const field link_fields[] = {
    FIELD(cs_link, method, TEXT),      FIELD(cs_link, first, INT64),
    FIELD(cs_link, iterations, INT64), FIELD(cs_link, seconds, DOUBLE),
    FIELD(cs_link, reached, DOUBLE),   FIELD(cs_link, why, TEXT),
    FIELD(cs_link, islands, INT64),
};
/* The number of entries of an array. */
#define COUNT(fields) ((int)(sizeof fields / sizeof *fields))

static PyObject *get_status(answer_object *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(cs_outcome_name(self->result.outcome));
}

static PyObject *get_pivoting(answer_object *self, void *unused)
{
    (void)unused;
    if (!self->result.pivoting) Py_RETURN_NONE;
    return PyUnicode_FromString(self->result.pivoting);
}

/* The dictionary of a group, which is added to `all` if it is new. Borrowed; NULL with an error set. */
static PyObject *group_in(PyObject *all, const char *name)
{
    PyObject *group = PyDict_GetItemString(all, name);
    if (group) return group;
    return add_item(all, name, PyDict_New()) < 0 ? NULL : PyDict_GetItemString(all, name);
}

/* The figures of the method by name, as a dict; those of a group are a dict in it. */
static PyObject *get_figures(answer_object *self, void *unused)
{
    (void)unused;
    const cs_result *result = &self->result;
    PyObject *figures = PyDict_New();
    for (int i = 0; figures && i < result->figures; i++) {
        const cs_figure *figure = &result->figure[i];
        double value = result->figure_value[i];
        if (isnan(value)) continue;
        PyObject *place = figure->group ? group_in(figures, figure->group) : figures;
        PyObject *number =
            figure->kind == CS_COUNT ? PyLong_FromDouble(value) : PyFloat_FromDouble(value);
        if (!place) Py_XDECREF(number);
        if (!place || add_item(place, figure->name, number) < 0) Py_CLEAR(figures);
    }
    return figures;
}

static PyObject *get_band(answer_object *self, void *unused)
{
    (void)unused;
    const double *band = self->result.band;
    return Py_BuildValue("(ddd)", band[0], band[1], band[2]);
}

/* One link of a chain, as a new dict. */
static PyObject *link_of(const cs_link *link)
{
    PyObject *described = dictionary_of(link_fields, COUNT(link_fields), link);
    PyObject *status = described ? PyUnicode_FromString(cs_outcome_name(link->outcome)) : NULL;
    if (described && add_item(described, "status", status) < 0) Py_CLEAR(described);
    return described;
}

/* The links of a chain, as a tuple of dicts. */
static PyObject *get_links(answer_object *self, void *unused)
{
    (void)unused;
    PyObject *links = PyTuple_New(self->result.links);
    for (int i = 0; links && i < self->result.links; i++) {
        PyObject *described = link_of(&self->link[i]);
        if (!described) Py_CLEAR(links);
        else PyTuple_SET_ITEM(links, i, described);
    }
    return links;
}

/* ---- what an evaluation gives ---------------------------------------------------------------- */

/* The impulses that are handed out: a copy before they are evaluated, because the caller may change it. */
static PyObject *new_impulses(const answer_object *self)
{
    if (deferred_is_done(self->later)) return Py_NewRef(self->later->impulses);
    return PyArray_NewCopy((PyArrayObject *)self->later->impulses, NPY_CORDER);
}

/* The impulses, the same array each time; of several threads that read them first, one decides which. */
static PyObject *get_impulses(answer_object *self, void *unused)
{
    (void)unused;
    PyObject *impulses = atomic_load(&self->impulses);
    if (impulses) return Py_NewRef(impulses);
    PyObject *made = new_impulses(self);
    if (made && atomic_compare_exchange_strong(&self->impulses, &impulses, made)) impulses = made;
    else Py_XDECREF(made);
    return Py_XNewRef(impulses);
}

/* The figures of the evaluated impulses, which the solve may know while it leaves the arrays for later; NULL with an error
 * set. */
static const cs_result *evaluated(answer_object *self)
{
    if (!self->later || self->result.evaluated) return &self->result;
    return deferred_finish(self->later) < 0 ? NULL : &self->later->result;
}

static PyObject *get_residual_velocities(answer_object *self, void *unused)
{
    (void)unused;
    if (self->later && deferred_finish(self->later) < 0) return NULL;
    PyObject *xi = self->later ? self->later->xi : self->xi;
    return Py_NewRef(xi ? xi : Py_None);
}

static PyObject *get_velocity_change(answer_object *self, void *unused)
{
    (void)unused;
    if (self->later && deferred_find_velocity(self->later) < 0) return NULL;
    PyObject *velocity = self->later ? self->later->velocity : self->velocity;
    return Py_NewRef(velocity ? velocity : Py_None);
}

/* The member of cs_result that is a double, an int64 or an int at this offset. */
static PyObject *get_double(answer_object *self, void *offset)
{
    const cs_result *result = evaluated(self);
    const char *at = (const char *)result + (size_t)offset;
    return result ? PyFloat_FromDouble(*(const double *)(const void *)at) : NULL;
}

static PyObject *get_int64(answer_object *self, void *offset)
{
    const cs_result *result = evaluated(self);
    const char *at = (const char *)result + (size_t)offset;
    return result ? PyLong_FromLongLong(*(const int64_t *)(const void *)at) : NULL;
}

static PyObject *get_int(answer_object *self, void *offset)
{
    const cs_result *result = evaluated(self);
    const char *at = (const char *)result + (size_t)offset;
    return result ? PyLong_FromLong(*(const int *)(const void *)at) : NULL;
}

#define EVALUATED(member, get)                                                \
    {                                                                         \
#member, (getter)get, NULL, NULL, (void *)offsetof(cs_result, member) \
    }

/* A member of cs_result, and an array, as a read-only attribute. */
#define RESULT(member, type)                                                  \
    {                                                                         \
#member, type, offsetof(answer_object, result.member), READONLY, NULL \
    }
#define ARRAY(member)                                                         \
    {                                                                         \
#member, T_OBJECT_EX, offsetof(answer_object, member), READONLY, NULL \
    }

static PyMemberDef answer_members[] = {
    ARRAY(history),
    ARRAY(certificate),
    RESULT(iterations, T_LONGLONG),
    RESULT(best_iteration, T_LONGLONG),
    RESULT(rollbacks, T_INT),
    RESULT(block_products, T_LONGLONG),
    RESULT(unfinished_blocks, T_LONGLONG),
    RESULT(seconds, T_DOUBLE),
    RESULT(sweep_seconds, T_DOUBLE),
    RESULT(floor, T_DOUBLE),
    RESULT(floor_block, T_LONGLONG),
    RESULT(certified, T_DOUBLE),
    {"version", T_LONGLONG, offsetof(answer_object, version), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef answer_getters[] = {
    {"impulses", (getter)get_impulses, NULL, NULL, NULL},
    {"residual_velocities", (getter)get_residual_velocities, NULL, NULL, NULL},
    {"velocity_change", (getter)get_velocity_change, NULL, NULL, NULL},
    EVALUATED(natural_map, get_double),
    EVALUATED(natural_map_scaled, get_double),
    EVALUATED(worst_block, get_int64),
    EVALUATED(worst_row, get_int),
    EVALUATED(worst_velocity, get_double),
    {"status", (getter)get_status, NULL, NULL, NULL},
    {"pivoting", (getter)get_pivoting, NULL, NULL, NULL},
    {"figures", (getter)get_figures, NULL, NULL, NULL},
    {"band", (getter)get_band, NULL, NULL, NULL},
    {"links", (getter)get_links, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot answer_slots[] = {
    {Py_tp_dealloc, (void *)answer_dealloc},
    {Py_tp_members, answer_members},
    {Py_tp_getset, answer_getters},
    {Py_tp_doc, "The result of a solve, by the names of cs_result."},
    {0, NULL},
};

PyType_Spec answer_spec = {
    .name = "contactsolve._core.Answer",
    .basicsize = sizeof(answer_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = answer_slots,
};
