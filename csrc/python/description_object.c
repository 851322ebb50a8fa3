/* _core.Description: what a solver tells of itself, by the names of cs_solver_info. It stays as it is when the solver
 * changes. Few results are asked for it: Python objects are made when it is read. */
#include "python/description.h"

#include <structmember.h>

typedef struct description_object {
    PyObject_HEAD
    cs_solver_info info; /* its texts are constants of the library */
} description_object;

PyObject *new_description(PyTypeObject *type, const cs_solver *solver)
{
    description_object *self = (description_object *)type->tp_alloc(type, 0);
    if (self) cs_solver_describe(solver, &self->info);
    return (PyObject *)self;
}

static void description_dealloc(description_object *self)
{
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* The names of the columns of the history, as a tuple. */
static PyObject *get_columns(description_object *self, void *unused)
{
    (void)unused;
    const cs_solver_info *info = &self->info;
    PyObject *names = PyTuple_New(info->columns);
    for (int c = 0; names && c < info->columns; c++) {
        PyObject *name = PyUnicode_FromString(info->column[c]);
        if (!name) Py_CLEAR(names);
        else PyTuple_SET_ITEM(names, c, name);
    }
    return names;
}

static const field info_fields[] = {
    FIELD(cs_solver_info, method, TEXT),
    FIELD(cs_solver_info, scheme, TEXT),
    FIELD(cs_solver_info, order, TEXT),
    FIELD(cs_solver_info, local, TEXT),
    FIELD(cs_solver_info, dtype, TEXT),
    FIELD(cs_solver_info, threads, INT),
    FIELD(cs_solver_info, matrix_blocks, INT64),
    FIELD(cs_solver_info, immovable_blocks, INT64),
    FIELD(cs_solver_info, singular_blocks, INT64),
    FIELD(cs_solver_info, bytes, INT64),
    {"setup_seconds", FIELD_DOUBLE, offsetof(cs_solver_info, seconds)},
    FIELD(cs_solver_info, r_value, DOUBLE),
    FIELD(cs_solver_info, stages, INT64),
    FIELD(cs_solver_info, colors, INT64),
    FIELD(cs_solver_info, rounds, INT64),
    FIELD(cs_solver_info, parts, INT64),
    FIELD(cs_solver_info, engine, TEXT),
    FIELD(cs_solver_info, islands, INT64),
    FIELD(cs_solver_info, why_order, TEXT),
    FIELD(cs_solver_info, step_bound, DOUBLE),
    FIELD(cs_solver_info, clusters, INT64),
};
enum { INFO_FIELDS = sizeof info_fields / sizeof *info_fields };

/* figures() -> a new dict of the solver's choices and figures */
static PyObject *description_figures(description_object *self, PyObject *unused)
{
    (void)unused;
    const cs_solver_info *info = &self->info;
    const double *ends = info->eigenvalues;
    PyObject *figures = dictionary_of(info_fields, INFO_FIELDS, info);
    if (figures && (add_item(figures, "kernel", PyUnicode_FromString(info->kernel)) < 0 ||
                    add_item(figures, "eigenvalues", Py_BuildValue("(dd)", ends[0], ends[1])) < 0))
        Py_CLEAR(figures);
    return figures;
}

#define INFO(member, type)                                                       \
    {                                                                            \
#member, type, offsetof(description_object, info.member), READONLY, NULL \
    }
static PyMemberDef description_members[] = {
    INFO(immovable_blocks, T_LONGLONG),
    INFO(stop_is_ratio, T_INT),
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef description_getters[] = {
    {"columns", (getter)get_columns, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef description_methods[] = {
    {"figures", (PyCFunction)(void (*)(void))description_figures, METH_NOARGS,
     "figures()\n--\n\nThe choices and figures of the solver, as a new dict."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot description_slots[] = {
    {Py_tp_dealloc, (void *)description_dealloc},
    {Py_tp_members, description_members},
    {Py_tp_getset, description_getters},
    {Py_tp_methods, description_methods},
    {Py_tp_doc, "What a solver tells of itself, by the names of cs_solver_info."},
    {0, NULL},
};

PyType_Spec description_spec = {
    .name = "contactsolve._core.Description",
    .basicsize = sizeof(description_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = description_slots,
};
