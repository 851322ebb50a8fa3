/* Methods and their own options for Python. */
#include "python/core.h"

/* ((name, number or word), ...) */
int read_settings(PyObject *tuple, cs_setting *settings)
{
    Py_ssize_t count = PyTuple_GET_SIZE(tuple);
    if (count > CS_MAX_METHOD_OPTIONS) {
        PyErr_Format(PyExc_ValueError,
                     "%zd options of a method's own are given; at most %d are taken", count,
                     CS_MAX_METHOD_OPTIONS);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *value;
        settings[i] = (cs_setting){0};
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(tuple, i), "sO:setting", &settings[i].name, &value))
            return -1;
        if (PyUnicode_Check(value)) settings[i].word = PyUnicode_AsUTF8(value);
        else settings[i].number = PyFloat_AsDouble(value);
        if (PyErr_Occurred()) return -1;
    }
    return (int)count;
}

PyObject *core_check_method(PyObject *module, PyObject *args)
{
    (void)module;
    const char *name;
    PyObject *tuple;
    cs_setting settings[CS_MAX_METHOD_OPTIONS];
    cs_error error = {0};
    if (!PyArg_ParseTuple(args, "sO!:check_method", &name, &PyTuple_Type, &tuple)) return NULL;
    int count = read_settings(tuple, settings);
    if (count < 0) return NULL;
    if (!cs_method_check(name, settings, count, &error)) return Py_NewRef(Py_None);
    raise_error(&error);
    return NULL;
}

static PyObject *tuple_of(PyObject *list)
{
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

/* Appends a new reference, which may be NULL, and lets go of it; clears the list on failure. */
static void append(PyObject **list, PyObject *item)
{
    if (*list && (!item || PyList_Append(*list, item) < 0)) Py_CLEAR(*list);
    Py_XDECREF(item);
}

/* The names of the bits that are set. */
static PyObject *names_of_bits(unsigned bits, const char *(*list)(int, const char **))
{
    PyObject *names = PyList_New(0);
    const char *name;
    for (int i = 0; names && (name = list(i, NULL)); i++)
        if (bits & (1u << i)) append(&names, PyUnicode_FromString(name));
    return tuple_of(names);
}

/* (name, kind, default, least, most, above, optional, words, summary) */
static PyObject *option_of(const cs_method_option *option)
{
    PyObject *words = PyList_New(0);
    for (int i = 0; words && option->words && option->words[i]; i++)
        append(&words, PyUnicode_FromString(option->words[i]));
    if (!(words = tuple_of(words))) return NULL;
    return Py_BuildValue("(ssdddiiNs)", option->name, cs_option_kind_name(option->kind),
                         option->usual, option->least, option->most, option->above,
                         option->optional, words, option->summary);
}

static PyObject *method_of(const cs_method_info *info)
{
    PyObject *options = PyList_New(0);
    for (int i = 0; options && i < info->options; i++)
        append(&options, option_of(&info->option[i]));
    if (!(options = tuple_of(options))) return NULL;
    PyObject *needs = names_of_bits(info->needs, cs_need_name);
    PyObject *solves = names_of_bits(info->solves, cs_class_name);
    if (needs && solves)
        return Py_BuildValue("{s:s,s:s,s:z,s:z,s:N,s:N,s:i,s:N}", "name", info->name, "summary",
                             info->summary, "about", info->about, "paper", info->paper, "needs",
                             needs, "solves", solves, "direct", info->direct, "options", options);
    Py_DECREF(options);
    Py_XDECREF(needs);
    Py_XDECREF(solves);
    return NULL;
}

PyObject *core_methods(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    PyObject *list = PyList_New(0);
    cs_method_info info;
    for (int i = 0; list && cs_method_describe(i, &info); i++) append(&list, method_of(&info));
    return list;
}
