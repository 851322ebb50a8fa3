/* _core.project: the prox of a set by itself, block by block; _core.describe_set: its properties. */
#include "core/error.h"
#include "prox/prox.h"
#include "python/fields.h"

/* The blocks that are projected: `each` parameters per block; `narrow`: in single precision. */
typedef struct projection {
    const cs_set *set;
    int64_t count;
    int rows, each, narrow;
    const double *parameters; /* (count, each) */
    const double *previous;   /* (count): the normal impulse that bounds friction, or NULL */
} projection;

/* z (rows) <- the nearest point of block k's set, in double precision. */
static void project_block(const projection *p, int64_t k, double *z)
{
    const double *parameters = p->parameters + k * p->each;
    const double *previous = p->previous ? p->previous + k : NULL;
    p->set->prox_f64(p->rows, z, parameters, previous);
}

/* The same in single precision; `scratch` (each) holds the rounded parameters. */
static void project_narrow(const projection *p, int64_t k, float *scratch, double *z)
{
    float impulse[CS_MAX_ROWS] = {0}, previous = p->previous ? (float)p->previous[k] : 0;
    for (int i = 0; i < p->each; i++) scratch[i] = (float)p->parameters[k * p->each + i];
    for (int i = 0; i < p->rows; i++) impulse[i] = (float)z[i];
    p->set->prox_f32(p->rows, impulse, scratch, p->previous ? &previous : NULL);
    for (int i = 0; i < p->rows; i++) z[i] = (double)impulse[i];
}

/* z (count, rows) <- the nearest points, after a check of the parameters. */
static cs_status project_all(const projection *p, double *z, cs_error *error)
{
    cs_arena scratch = {0};
    float *narrow = p->narrow ? cs_arena_take(&scratch, p->each, sizeof(float)) : NULL;
    cs_status status =
        cs_check_parameters(p->set, p->count, p->rows, p->each, p->parameters, 0, error);
    if (!status && p->narrow && !narrow) status = cs_no_memory(error, "projecting");

    /* Project block by block. */
    for (int64_t k = 0; k < p->count && !status; k++) {
        if (narrow) project_narrow(p, k, narrow, z + k * p->rows);
        else project_block(p, k, z + k * p->rows);
    }
    cs_arena_clear(&scratch);
    return status;
}

/* Non-zero with an error set if the arrays do not fit the set. */
static int wrong_sizes(const projection *p, PyArrayObject *z, PyArrayObject *parameters,
                       PyArrayObject *previous)
{
    int least = p->rows >= 1 && p->rows <= CS_MAX_ROWS ? p->set->parameters(p->rows) : -1;
    if (least >= 0 && (p->set->variable ? p->each >= least : p->each == least) &&
        PyArray_SIZE(z) == p->count * p->rows && PyArray_SIZE(parameters) == p->count * p->each &&
        (!previous || PyArray_SIZE(previous) == p->count))
        return 0;
    PyErr_Format(PyExc_ValueError, "the set '%s' takes no blocks of %d rows and %d parameters",
                 p->set->name, p->rows, p->each);
    return 1;
}

/* project(set, narrow, z, parameters, previous): z (count, rows), parameters (count, each). */
PyObject *core_project(PyObject *module, PyObject *args)
{
    (void)module;
    const char *name;
    PyObject *z_value, *parameters_value, *previous_value, *answer = NULL;
    PyArrayObject *parameters = NULL, *previous = NULL, *z = NULL;
    projection p = {0};
    if (!PyArg_ParseTuple(args, "spOOO:project", &name, &p.narrow, &z_value, &parameters_value,
                          &previous_value))
        return NULL;

    /* Convert the arguments. */
    p.set = cs_set_find(name);
    if (!p.set) return PyErr_Format(PyExc_ValueError, "there is no set '%s'", name);
    z = double_array(z_value, "impulses");
    parameters = double_array(parameters_value, "sets");
    if (!z || !parameters) goto out;
    if (previous_value != Py_None) {
        previous = double_array(previous_value, "previous");
        if (!previous) goto out;
    }
    if (PyArray_NDIM(z) != 2 || PyArray_NDIM(parameters) != 2) {
        PyErr_SetString(PyExc_ValueError, "impulses (K, m) and parameters (K, p) are needed");
        goto out;
    }

    /* Check the shapes. */
    p.count = PyArray_DIM(z, 0);
    p.rows = (int)PyArray_DIM(z, 1);
    p.each = (int)PyArray_DIM(parameters, 1);
    if (wrong_sizes(&p, z, parameters, previous)) goto out;

    /* Project a copy. */
    p.parameters = PyArray_DATA(parameters);
    p.previous = previous ? PyArray_DATA(previous) : NULL;
    answer = PyArray_NewCopy(z, NPY_CORDER);
    if (!answer) goto out;
    cs_error error = {0};
    if (project_all(&p, PyArray_DATA((PyArrayObject *)answer), &error)) {
        raise_error(&error);
        Py_CLEAR(answer);
    } else if (PyErr_Occurred()) { /* in a support function */
        Py_CLEAR(answer);
    }
out:
    Py_XDECREF(z);
    Py_XDECREF(parameters);
    Py_XDECREF(previous);
    return answer;
}

PyObject *core_describe_set(PyObject *module, PyObject *args)
{
    (void)module;
    static const field flags[] = {
        FIELD(cs_set_properties, contact, FLAG),
        FIELD(cs_set_properties, frictional, FLAG),
        FIELD(cs_set_properties, balls, FLAG),
        FIELD(cs_set_properties, circular, FLAG),
    };
    const char *name;
    int rows;
    cs_set_properties info;
    if (!PyArg_ParseTuple(args, "si:describe_set", &name, &rows)) return NULL;
    if (!cs_set_properties_of(name, rows, &info))
        return PyErr_Format(PyExc_ValueError, "the set '%s' takes no blocks of %d rows", name,
                            rows);

    /* The coupled set of each row is a tuple. */
    PyObject *coupling = PyTuple_New(rows);
    for (int i = 0; coupling && i < rows; i++) {
        PyObject *number = PyLong_FromLong(info.coupled_set[i]);
        if (!number) Py_CLEAR(coupling);
        else PyTuple_SET_ITEM(coupling, i, number);
    }
    PyObject *described = dictionary_of(flags, (int)(sizeof flags / sizeof *flags), &info);
    if (!described) Py_XDECREF(coupling);
    else if (add_item(described, "coupling", coupling) < 0) Py_CLEAR(described);
    return described;
}
