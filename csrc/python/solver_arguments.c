/* The options of solvers, from Python. */
#include "python/solver_arguments.h"

/* Reads the names of the measures to record, borrowed from the tuple. Returns -1 with an error set. */
static int read_record(PyObject *record, const char **names)
{
    Py_ssize_t count = PyTuple_GET_SIZE(record);
    if (count > CS_MAX_COLUMNS) {
        PyErr_Format(PyExc_ValueError, "record names %zd measures; at most %d are allowed", count,
                     CS_MAX_COLUMNS);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        names[i] = text_of(PyTuple_GET_ITEM(record, i));
        if (!names[i]) return -1;
    }
    return 0;
}

/* The option_setter of cs_options. */
static cs_status set_option(void *options, const cs_setting *setting, cs_error *error)
{
    return cs_options_set(options, setting, error);
}

int read_solver_arguments(solver_arguments *r, const cs_problem *problem, PyObject *options,
                          PyObject *settings, PyObject *order, PyObject *scheme, PyObject *record)
{
    r->options = cs_options_default();
    if (set_options(options, set_option, &r->options) < 0 || read_record(record, r->record) < 0)
        return -1;

    /* Measures to record. */
    r->options.record = r->record;
    r->options.records = (int)PyTuple_GET_SIZE(record);

    /* Options of the method, of the scheme and of the order. */
    r->options.settings = r->setting;
    r->options.setting_count = read_settings(settings, r->setting);
    if (r->options.setting_count < 0) return -1;
    r->options.scheme_settings = r->scheme_setting;
    r->options.scheme_setting_count = read_settings(scheme, r->scheme_setting);
    if (r->options.scheme_setting_count < 0) return -1;
    return read_order_options(order, problem, &r->options.order_options, &r->lists);
}
