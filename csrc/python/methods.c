/* Descriptions of methods, orders, schemes and sets, with their options and parameters, for Python. */
#include "python/fields.h"

/* Reads one option: a name, and a number or a word, both borrowed. */
static int read_setting(PyObject *name, PyObject *value, cs_setting *setting)
{
    *setting = (cs_setting){.name = text_of(name)};
    if (!setting->name) return -1;
    if (PyUnicode_Check(value)) setting->word = text_of(value);
    else setting->number = PyFloat_AsDouble(value);
    return PyErr_Occurred() ? -1 : 0;
}

int read_settings(PyObject *dictionary, cs_setting *settings)
{
    PyObject *name, *value;
    Py_ssize_t at = 0, count = PyDict_GET_SIZE(dictionary);
    if (count > CS_MAX_OWN_OPTIONS) {
        PyErr_Format(PyExc_ValueError, "%zd options are given; at most %d are allowed", count,
                     CS_MAX_OWN_OPTIONS);
        return -1;
    }
    for (int i = 0; PyDict_Next(dictionary, &at, &name, &value); i++)
        if (read_setting(name, value, &settings[i]) < 0) return -1;
    return (int)count;
}

int set_options(PyObject *dictionary, option_setter set, void *options)
{
    PyObject *name, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(dictionary, &at, &name, &value)) {
        cs_setting setting;
        cs_error error = {0};
        if (read_setting(name, value, &setting) < 0) return -1;
        if (!set(options, &setting, &error)) continue;
        raise_error(&error);
        return -1;
    }
    return 0;
}

/* Checks the own options of a method, an order or a scheme: None, or NULL with an error set. */
static PyObject *check(PyObject *args, const char *format,
                       cs_status (*takes)(const char *, const cs_setting *, int, cs_error *))
{
    const char *name;
    PyObject *dictionary;
    cs_setting settings[CS_MAX_OWN_OPTIONS];
    cs_error error = {0};
    if (!PyArg_ParseTuple(args, format, &name, &PyDict_Type, &dictionary)) return NULL;
    int count = read_settings(dictionary, settings);
    if (count < 0) return NULL;
    if (!takes(name, settings, count, &error)) return Py_NewRef(Py_None);
    raise_error(&error);
    return NULL;
}

PyObject *core_check_method(PyObject *module, PyObject *args)
{
    (void)module;
    return check(args, "sO!:check_method", cs_method_check);
}

PyObject *core_check_order(PyObject *module, PyObject *args)
{
    (void)module;
    return check(args, "sO!:check_order", cs_order_check);
}

PyObject *core_check_scheme(PyObject *module, PyObject *args)
{
    (void)module;
    return check(args, "sO!:check_scheme", cs_scheme_check);
}

PyObject *core_check_network(PyObject *module, PyObject *args)
{
    (void)module;
    return check(args, "sO!:check_network", cs_network_check);
}

/* A tuple of the entries of a list, which is released and may be NULL. */
static PyObject *tuple_of(PyObject *list)
{
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

/* Appends a new reference, which may be NULL, and releases it; clears the list on failure. */
static void append(PyObject **list, PyObject *item)
{
    if (*list && (!item || PyList_Append(*list, item) < 0)) Py_CLEAR(*list);
    Py_XDECREF(item);
}

/* The names of the bits that are set, as a tuple. */
static PyObject *names_of_bits(unsigned bits, const char *(*list)(int, const char **))
{
    PyObject *names = PyList_New(0);
    const char *name;
    for (int i = 0; names && (name = list(i, NULL)); i++)
        if (bits & (1u << i)) append(&names, PyUnicode_FromString(name));
    return tuple_of(names);
}

static const field option_fields[] = {
    FIELD(cs_option, name, TEXT),    FIELD(cs_option, summary, TEXT),
    FIELD(cs_option, usual, DOUBLE), FIELD(cs_option, least, DOUBLE),
    FIELD(cs_option, most, DOUBLE),  FIELD(cs_option, above, FLAG),
    FIELD(cs_option, of, TEXT),      FIELD(cs_option, optional, FLAG),
};
enum { OPTION_FIELDS = sizeof option_fields / sizeof *option_fields };

/* A new dict that describes an option. Takes ownership of the list of words, which may be NULL. */
static PyObject *option_with(const cs_option *option, PyObject *words)
{
    PyObject *dictionary = PyDict_New();
    words = tuple_of(words);
    int failed = !dictionary || !words;
    if (!failed) failed = write_fields(dictionary, option_fields, OPTION_FIELDS, option);
    if (!failed) failed = PyDict_SetItemString(dictionary, "words", words);
    if (!failed)
        failed = add_item(dictionary, "kind",
                          PyUnicode_FromString(cs_option_kind_name((int)option->kind)));
    Py_XDECREF(words);
    if (failed) Py_CLEAR(dictionary);
    return dictionary;
}

/* Describes an option, with the words of its table. */
static PyObject *option_of(const cs_option *option)
{
    PyObject *words = PyList_New(0);
    for (int i = 0; words && option->words && option->words[i]; i++)
        append(&words, PyUnicode_FromString(option->words[i]));
    return option_with(option, words);
}

/* Describes the options of a method, an order or a scheme, as a list. */
static PyObject *options_of(const cs_option *option, int count)
{
    PyObject *options = PyList_New(0);
    for (int i = 0; options && i < count; i++) append(&options, option_of(&option[i]));
    return options;
}

/* Describes the figures of a method, as a list of (name, kind, summary); that of a figure in a group is
 * "group.name". */
static PyObject *figures_of(const cs_figure *figure, int count)
{
    PyObject *figures = PyList_New(0);
    for (int i = 0; figures && i < count; i++) {
        const char *group = figure[i].group;
        PyObject *name = group ? PyUnicode_FromFormat("%s.%s", group, figure[i].name)
                               : PyUnicode_FromString(figure[i].name);
        append(&figures, Py_BuildValue("(Nss)", name, cs_option_kind_name((int)figure[i].kind),
                                       figure[i].summary));
    }
    return figures;
}

/* Describes a method. "N" takes ownership of the new lists, and fails if one is NULL. */
static PyObject *method_of(const cs_method_info *info)
{
    return Py_BuildValue("{s:s,s:s,s:z,s:z,s:N,s:N,s:i,s:i,s:N,s:N}", "name", info->name, "summary",
                         info->summary, "about", info->about, "paper", info->paper, "needs",
                         names_of_bits(info->needs, cs_need_name), "solves",
                         names_of_bits(info->solves, cs_class_name), "direct", info->direct,
                         "experimental", info->experimental, "options",
                         options_of(info->option, info->options), "figures",
                         figures_of(info->figure, info->figures));
}

/* Describes an order. */
static PyObject *order_of(const cs_order_info *info)
{
    return Py_BuildValue("{s:s,s:s,s:z,s:N,s:N}", "name", info->name, "summary", info->summary,
                         "about", info->about, "draws", PyBool_FromLong(info->draws), "options",
                         options_of(info->option, info->options));
}

/* Describes a scheme. */
static PyObject *scheme_of(const cs_scheme_info *info)
{
    return Py_BuildValue("{s:s,s:s,s:z,s:N}", "name", info->name, "summary", info->summary, "about",
                         info->about, "options", options_of(info->option, info->options));
}

PyObject *core_methods(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    PyObject *list = PyList_New(0);
    cs_method_info info;
    for (int i = 0; list && cs_method_describe(i, &info); i++) append(&list, method_of(&info));
    return list;
}

/* A list of all options of a table. `word_of` gives their words, which may be those of a longer list. */
static PyObject *describe_table(int (*describe)(int, cs_option *), const char *(*word_of)(int, int))
{
    PyObject *list = PyList_New(0);
    cs_option option;
    for (int i = 0; list && describe(i, &option); i++) {
        PyObject *words = PyList_New(0);
        const char *word;
        for (int k = 0; words && (word = word_of(i, k)); k++)
            append(&words, PyUnicode_FromString(word));
        append(&list, option_with(&option, words));
    }
    return list;
}

PyObject *core_options(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return describe_table(cs_options_describe, cs_options_word);
}

PyObject *core_mlcp_options(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return describe_table(cs_mlcp_options_describe, cs_mlcp_options_word);
}

PyObject *core_orders(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    PyObject *list = PyList_New(0);
    cs_order_info info;
    for (int i = 0; list && cs_order_describe(i, &info); i++) append(&list, order_of(&info));
    return list;
}

PyObject *core_schemes(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    PyObject *list = PyList_New(0);
    cs_scheme_info info;
    for (int i = 0; list && cs_scheme_describe(i, &info); i++) append(&list, scheme_of(&info));
    return list;
}

PyObject *core_networks(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    PyObject *list = PyList_New(0);
    cs_network_info info;
    for (int i = 0; list && cs_network_describe(i, &info); i++) {
        cs_scheme_info same = {info.name, info.summary, info.about, info.option, info.options};
        append(&list, scheme_of(&same));
    }
    return list;
}

/* ---- sets ------------------------------------------------------------------------------------ */

static const field parameter_fields[] = {
    FIELD(cs_parameter, name, TEXT),     FIELD(cs_parameter, summary, TEXT),
    FIELD(cs_parameter, least, DOUBLE),  FIELD(cs_parameter, most, DOUBLE),
    FIELD(cs_parameter, optional, FLAG), FIELD(cs_parameter, usual, DOUBLE),
};
enum { PARAMETER_FIELDS = sizeof parameter_fields / sizeof *parameter_fields };

/* Describes a parameter of a set. */
static PyObject *parameter_of(const cs_parameter *parameter)
{
    PyObject *dictionary = dictionary_of(parameter_fields, PARAMETER_FIELDS, parameter);
    const char *kind = cs_parameter_kind_name((int)parameter->kind);
    if (dictionary && add_item(dictionary, "kind", PyUnicode_FromString(kind)) < 0)
        Py_CLEAR(dictionary);
    return dictionary;
}

/* Describes a set. */
static PyObject *set_of(const cs_set_info *info)
{
    PyObject *parameters = PyList_New(0);
    for (int i = 0; parameters && i < info->parameters; i++)
        append(&parameters, parameter_of(&info->parameter[i]));
    return Py_BuildValue("{s:s,s:s,s:z,s:N}", "name", info->name, "summary", info->summary, "about",
                         info->about, "parameters", parameters);
}

PyObject *core_sets(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    PyObject *list = PyList_New(0);
    cs_set_info info;
    for (int i = 0; list && cs_set_describe(i, &info); i++) append(&list, set_of(&info));
    return list;
}
