#include "python/checkpoint_arguments.h"

#include "python/fields.h"

static const field number_fields[] = {
    FIELD(cs_saved_numbers, iteration, INT64),
    FIELD(cs_saved_numbers, seconds, DOUBLE),
    FIELD(cs_saved_numbers, sweep_seconds, DOUBLE),
    FIELD(cs_saved_numbers, products, INT64),
    FIELD(cs_saved_numbers, best, DOUBLE),
    FIELD(cs_saved_numbers, best_impulse, DOUBLE),
    FIELD(cs_saved_numbers, start, DOUBLE),
    FIELD(cs_saved_numbers, patience, DOUBLE),
    FIELD(cs_saved_numbers, first, INT64),
    FIELD(cs_saved_numbers, best_number, INT64),
    FIELD(cs_saved_numbers, rollbacks, INT),
    FIELD(cs_saved_numbers, scale, DOUBLE),
    FIELD(cs_saved_numbers, reference, DOUBLE),
    FIELD(cs_saved_numbers, since, INT64),
    FIELD(cs_saved_numbers, seen, INT64),
    FIELD(cs_saved_numbers, stride, INT64),
    FIELD(cs_saved_numbers, least, DOUBLE),
    FIELD(cs_saved_numbers, best_is_current, FLAG),
    FIELD(cs_saved_numbers, best_backwards, FLAG),
    FIELD(cs_saved_numbers, backwards, FLAG),
    FIELD(cs_saved_numbers, best_sweep, INT64),
    FIELD(cs_saved_numbers, refreshed, DOUBLE),
    FIELD(cs_saved_numbers, change, DOUBLE),
    FIELD(cs_saved_numbers, risen, INT),
    FIELD(cs_saved_numbers, half, FLAG),
    FIELD(cs_saved_numbers, ray_next, INT64),
    FIELD(cs_saved_numbers, ray_kept, FLAG),
};
enum { NUMBER_FIELDS = sizeof number_fields / sizeof *number_fields };

/* The arrays of a checkpoint; history and band have any number of rows. */
enum { IMPULSES, U, B, BALANCE, EARLIER, FIGURES, BAND, HISTORY, ARRAYS };
static const char *const names[ARRAYS] = {"impulses", "u",       "b",    "balance",
                                          "earlier",  "figures", "band", "history"};

/* length (ARRAYS) <- that of each array: -1 for any, -n for any number of rows of n. */
static void lengths_of(const cs_saved_sizes *size, int64_t *length)
{
    length[IMPULSES] = (size->points + 2) * size->rows;
    length[U] = 2 * (size->points + 1) * size->velocities;
    length[B] = size->rows;
    length[BALANCE] = CS_SAVED_BALANCE * size->rows;
    length[EARLIER] = size->rows;
    length[FIGURES] = CS_MAX_FIGURES;
    length[BAND] = -1;
    length[HISTORY] = -size->columns;
}

/* ---- out --------------------------------------------------------------------------------------- */

/* A dict of new arrays. */
static PyObject *dictionary_of_saved(const cs_solver *solver, const cs_saved *saved)
{
    cs_saved_sizes size = cs_saved_sizes_of(solver);
    const double *array[ARRAYS] = {saved->impulses, saved->u,       saved->b,    saved->balance,
                                   saved->earlier,  saved->figures, saved->band, saved->history};
    int64_t length[ARRAYS];
    lengths_of(&size, length);
    length[BAND] = saved->bands;
    length[HISTORY] = saved->history_rows * size.columns;
    PyObject *dictionary = dictionary_of(number_fields, NUMBER_FIELDS, &saved->number);
    if (!dictionary) return NULL;
    for (int i = 0; i < ARRAYS; i++)
        if (array[i] && add_item(dictionary, names[i], new_doubles(array[i], length[i])) < 0)
            goto fail;
    if (add_item(dictionary, "points", PyLong_FromLong(size.points)) < 0) goto fail;
    PyObject *scalars =
        PyBytes_FromStringAndSize((const char *)saved->scalars, (Py_ssize_t)saved->bytes);
    if (add_item(dictionary, "scalars", scalars) < 0) goto fail;
    return dictionary;
fail:
    Py_DECREF(dictionary);
    return NULL;
}

int call_write(const checkpoint_arguments *arguments, const cs_solver *solver,
               const cs_saved *saved)
{
    PyObject *dictionary = dictionary_of_saved(solver, saved);
    if (!dictionary) return -1;
    PyObject *answer = PyObject_CallOneArg(arguments->write, dictionary);
    Py_DECREF(dictionary);
    int stops = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return stops;
}

/* ---- in ---------------------------------------------------------------------------------------- */

/* Reads one array into the tuple; its length has to be `wanted`, or if that is negative, a multiple of -wanted. Returns -1
 * with an error set. */
static int read_array(checkpoint_arguments *a, PyObject *dictionary, int i, int64_t wanted,
                      double **data, int64_t *rows)
{
    PyObject *value = PyDict_GetItemString(dictionary, names[i]);
    if (!value) {
        PyErr_Format(PyExc_ValueError, "the checkpoint lacks %s", names[i]);
        return -1;
    }
    PyArrayObject *array = double_array(value, names[i]);
    if (!array) return -1;
    PyTuple_SET_ITEM(a->arrays, i, (PyObject *)array);
    int64_t length = (int64_t)PyArray_SIZE(array);
    *rows = wanted < 0 ? length / -wanted : length;
    *data = PyArray_DATA(array);
    if (wanted < 0 ? length % wanted == 0 : length == wanted) return 0;
    PyErr_Format(PyExc_ValueError,
                 "the checkpoint has %lld numbers of %s, which the method cannot take",
                 (long long)length, names[i]);
    return -1;
}

/* Reads the arrays. Returns -1 with an error set. */
static int read_arrays(checkpoint_arguments *a, const cs_solver *solver, PyObject *dictionary)
{
    cs_saved *saved = &a->resumed;
    cs_saved_sizes size = cs_saved_sizes_of(solver);
    int64_t wanted[ARRAYS];
    lengths_of(&size, wanted);
    double **to[ARRAYS] = {&saved->impulses, &saved->u,       &saved->b,    &saved->balance,
                           &saved->earlier,  &saved->figures, &saved->band, &saved->history};
    int64_t rows[ARRAYS];
    for (int i = 0; i < ARRAYS; i++) {
        if (i == B && !size.has_b) continue;
        if (i == BALANCE && !size.has_balance) continue;
        if (i == EARLIER && !size.has_earlier) continue;
        if (read_array(a, dictionary, i, wanted[i], to[i], &rows[i]) < 0) return -1;
    }
    saved->bands = rows[BAND];
    saved->history_rows = rows[HISTORY];
    if (saved->bands <= CS_STAGNATION_VALUES && saved->history_rows > 0) return 0;
    PyErr_SetString(PyExc_ValueError, "the history of the checkpoint is damaged");
    return -1;
}

/* Reads the method's own variables. Returns -1 with an error set. */
static int read_scalars(checkpoint_arguments *a, const cs_solver *solver, PyObject *dictionary)
{
    cs_saved *saved = &a->resumed;
    PyObject *value = PyDict_GetItemString(dictionary, "scalars");
    if (value && PyBytes_Check(value) &&
        PyBytes_GET_SIZE(value) == (Py_ssize_t)cs_saved_sizes_of(solver).scalars) {
        PyTuple_SET_ITEM(a->arrays, ARRAYS, Py_NewRef(value));
        saved->scalars = (unsigned char *)PyBytes_AS_STRING(value);
        saved->bytes = PyBytes_GET_SIZE(value);
        return 0;
    }
    PyErr_SetString(PyExc_ValueError, "the checkpoint has the variables of another method");
    return -1;
}

/* Reads the dict of a checkpoint. Returns -1 with an error set. */
static int read_resumed(checkpoint_arguments *a, const cs_solver *solver, PyObject *dictionary)
{
    int others;
    a->arrays = PyTuple_New(ARRAYS + 1);
    if (!a->arrays) return -1;
    if (read_fields(dictionary, number_fields, NUMBER_FIELDS, &a->resumed.number, &others) < 0)
        return -1;
    if (read_arrays(a, solver, dictionary) < 0) return -1;
    a->checkpoints.resumed = &a->resumed;
    return read_scalars(a, solver, dictionary);
}

int read_checkpoint_arguments(checkpoint_arguments *arguments, const cs_solver *solver,
                              PyObject *value)
{
    PyObject *resumed;
    long long every;
    if (value == Py_None) return 0;
    if (!solver->ranks) {
        PyErr_SetString(PyExc_ValueError, "checkpoints: the solver is not on ranks");
        return -1;
    }
    if (!PyArg_ParseTuple(value, "LdOO;checkpoints: every, seconds, write, resumed", &every,
                          &arguments->checkpoints.seconds, &arguments->write, &resumed))
        return -1;
    arguments->checkpoints.every = every;
    if (resumed == Py_None) return 0;
    if (PyDict_Check(resumed)) return read_resumed(arguments, solver, resumed);
    PyErr_SetString(PyExc_TypeError, "checkpoints: resumed has to be a dict");
    return -1;
}

void checkpoint_arguments_clear(checkpoint_arguments *arguments) { Py_CLEAR(arguments->arrays); }
