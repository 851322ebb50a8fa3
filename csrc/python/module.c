/* contactsolve._core: the C library for Python. The module uses multi-phase initialisation and heap types.
 * It is safe without a GIL: objects are independent, and a solver has a busy flag. */
#define CS_PYTHON_MODULE
#include "backend/device.h"
#include "core/parallel.h"
#include "core/stream.h"
#include "python/block_objects.h"
#include "python/core.h"
#include "python/transport_objects.h"
#include "python/tree_objects.h"

/* [(name, summary), ...] of one of the C library's lists. */
static PyObject *list_names(const char *(*list)(int, const char **))
{
    PyObject *names = PyList_New(0);
    const char *summary, *name;
    for (int i = 0; names && (name = list(i, &summary)); i++) {
        PyObject *pair = Py_BuildValue("(ss)", name, summary);
        if (!pair || PyList_Append(names, pair) < 0) Py_CLEAR(names);
        Py_XDECREF(pair);
    }
    return names;
}

static PyObject *core_needs_list(PyObject *m, PyObject *unused)
{
    (void)m, (void)unused;
    return list_names(cs_need_name);
}

static PyObject *core_classes_list(PyObject *m, PyObject *unused)
{
    (void)m, (void)unused;
    return list_names(cs_class_name);
}

static PyObject *core_measures_list(PyObject *m, PyObject *unused)
{
    (void)m, (void)unused;
    return list_names(cs_measure_name);
}

static PyObject *core_rules_list(PyObject *m, PyObject *unused)
{
    (void)m, (void)unused;
    return list_names(cs_rule_name);
}

static PyObject *core_engines_list(PyObject *m, PyObject *unused)
{
    (void)m, (void)unused;
    return list_names(cs_engine_name);
}

/* set_parameters(name, rows) -> parameters per block, or -1 */
static PyObject *core_set_parameters(PyObject *m, PyObject *args)
{
    (void)m;
    const char *name;
    int rows;
    if (!PyArg_ParseTuple(args, "si:set_parameters", &name, &rows)) return NULL;
    return PyLong_FromLong(cs_set_parameters(name, rows));
}

static PyObject *core_memory_live(PyObject *m, PyObject *unused)
{
    (void)m, (void)unused;
    return PyLong_FromLongLong(cs_memory_live());
}

/* memory_fail_after(successes): a later allocation fails, for tests */
static PyObject *core_memory_fail_after(PyObject *m, PyObject *successes)
{
    (void)m;
    long long count = PyLong_AsLongLong(successes);
    if (count == -1 && PyErr_Occurred()) return NULL;
    cs_memory_fail_after(count);
    return Py_NewRef(Py_None);
}

static PyObject *core_release_threads(PyObject *m, PyObject *unused)
{
    (void)m, (void)unused;
    cs_release_threads();
    return Py_NewRef(Py_None);
}

/* {name: whether this machine supports these instructions} */
static PyObject *instructions_list(void)
{
    PyObject *dictionary = PyDict_New();
    const char *name;
    for (int i = 0; dictionary && (name = cs_instructions_name(i, NULL)); i++) {
        PyObject *runs = cs_instructions_run(i) ? Py_True : Py_False;
        if (PyDict_SetItemString(dictionary, name, runs) < 0) Py_CLEAR(dictionary);
    }
    return dictionary;
}

/* build() -> a dict about the compiler, threads and instructions of this library */
static PyObject *core_build(PyObject *m, PyObject *unused)
{
    (void)m, (void)unused;
#ifdef _OPENMP
    long openmp = _OPENMP;
#else
    long openmp = 0;
#endif
#ifdef __VERSION__
    const char *compiler = __VERSION__;
#else
    const char *compiler = "unknown";
#endif
#ifdef __clang__
    const char *family = "clang";
#else
    const char *family = "gcc";
#endif
    return Py_BuildValue("{s:s,s:l,s:s,s:i,s:s,s:s,s:N}", "version", CONTACTSOLVE_VERSION, "openmp",
                         openmp, "threading", cs_threads_kind(), "threads", cs_threads_available(),
                         "compiler", compiler, "compiler_family", family, "instructions",
                         instructions_list());
}

/* stream(bytes, threads=1) -> seconds in which the threads together read this much memory */
static PyObject *core_stream(PyObject *m, PyObject *args)
{
    (void)m;
    long long bytes;
    int threads = 1;
    if (!PyArg_ParseTuple(args, "L|i:stream", &bytes, &threads)) return NULL;
    if (bytes <= 0) return PyErr_Format(PyExc_ValueError, "size is %lld: nothing to read", bytes);
    if (threads <= 0)
        return PyErr_Format(PyExc_ValueError, "threads is %d, but at least one has to read",
                            threads);
    double seconds;
    Py_BEGIN_ALLOW_THREADS
    seconds = cs_stream_read(bytes, threads);
    Py_END_ALLOW_THREADS
    return seconds < 0 ? PyErr_NoMemory() : PyFloat_FromDouble(seconds);
}

/* multiply() -> operations per second of one thread */
static PyObject *core_multiply(PyObject *m, PyObject *Py_UNUSED(none))
{
    (void)m;
    double rate;
    Py_BEGIN_ALLOW_THREADS
    rate = cs_stream_multiply();
    Py_END_ALLOW_THREADS
    return PyFloat_FromDouble(rate);
}

/* register_device(capsule): makes the device of a module known. */
static PyObject *core_register_device(PyObject *module, PyObject *capsule)
{
    (void)module;
    cs_error error = {0};
    const cs_device *device = PyCapsule_GetPointer(capsule, "contactsolve.device");
    if (!device) return NULL;
    if (cs_device_register(device, &error)) {
        raise_error(&error);
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef core_functions[] = {
    {"methods", core_methods, METH_NOARGS,
     "methods()\n--\n\nA list of the descriptions of the methods."},
    {"check_method", core_check_method, METH_VARARGS,
     "check_method(name, settings)\n--\n\nWhether a method takes these options of its own."},
    {"register_device", core_register_device, METH_O,
     "register_device(capsule)\n--\n\nMakes the device of a module known."},
    {"needs", core_needs_list, METH_NOARGS, "needs()\n--\n\n[(name, summary), ...]"},
    {"classes", core_classes_list, METH_NOARGS, "classes()\n--\n\n[(name, summary), ...]"},
    {"schemes", core_schemes, METH_NOARGS,
     "schemes()\n--\n\nA list of the descriptions of the schemes."},
    {"check_scheme", core_check_scheme, METH_VARARGS,
     "check_scheme(name, settings)\n--\n\nWhether a scheme takes these options of its own."},
    {"networks", core_networks, METH_NOARGS,
     "networks()\n--\n\nA list of the descriptions of the networks of processes."},
    {"check_network", core_check_network, METH_VARARGS,
     "check_network(name, settings)\n--\n\nWhether a network takes these options of its own."},
    {"options", core_options, METH_NOARGS,
     "options()\n--\n\nA list of the options that every solver has."},
    {"mlcp_options", core_mlcp_options, METH_NOARGS,
     "mlcp_options()\n--\n\nA list of the options of MLCP solvers."},
    {"orders", core_orders, METH_NOARGS,
     "orders()\n--\n\nA list of the descriptions of the orders."},
    {"check_order", core_check_order, METH_VARARGS,
     "check_order(name, settings)\n--\n\nWhether an order takes these options of its own."},
    {"measures", core_measures_list, METH_NOARGS, "measures()\n--\n\n[(name, summary), ...]"},
    {"sets", core_sets, METH_NOARGS, "sets()\n--\n\nA list of the descriptions of the sets."},
    {"preconditioners", preconditioner_kinds, METH_NOARGS,
     "preconditioners()\n--\n\nThe kinds of preconditioners, {name: summary}."},
    {"choose_preconditioner", choose_preconditioner, METH_VARARGS,
     "choose_preconditioner(system, factor)\n--\n\nThe kind for a solve of a BlockSystem."},
    {"block_cg", block_cg, METH_VARARGS,
     "block_cg(A, iterated, M, b, x, rtol, atol, max_iterations, single, threads, callback)\n--\n\n"
     "Conjugate gradients. Overwrites x; returns a dict."},
    {"split_rules", core_split_rules, METH_NOARGS,
     "split_rules()\n--\n\nRules of splitting queries of trees, {name: summary}."},
    {"rules", core_rules_list, METH_NOARGS, "rules()\n--\n\n[(name, summary), ...]"},
    {"engines", core_engines_list, METH_NOARGS, "engines()\n--\n\n[(name, summary), ...]"},
    {"describe_set", core_describe_set, METH_VARARGS,
     "describe_set(name, rows)\n--\n\nThe properties of a set on blocks of that many rows, as a "
     "dict."},
    {"set_parameters", core_set_parameters, METH_VARARGS,
     "set_parameters(name, rows)\n--\n\nParameters per block, or -1."},
    {"inspect", core_inspect, METH_VARARGS,
     "inspect(problem, impulses, xi, b, parameters, tolerance)\n--\n\nThe state of each "
     "block."},
    {"islands", core_islands, METH_VARARGS,
     "islands(problem)\n--\n\nThe island of each block; -1 where impulses move nothing."},
    {"side_by_side", core_side_by_side, METH_VARARGS,
     "side_by_side(problems)\n--\n\nOne problem of many, and the group in it of each group."},
    {"solve_batch", core_solve_batch, METH_VARARGS,
     "solve_batch(problem, options, order, initial, recorded, parts, histories, per, there, "
     "progress)\n--"
     "\n\nSolves each part of a disjoint order by itself."},
    {"outcomes", core_outcomes, METH_NOARGS,
     "outcomes()\n--\n\nThe names of the outcomes of solve_batch, by number."},
    {"partition_labels", core_partition_labels, METH_VARARGS,
     "partition_labels(problem, strategy, parts)\n--\n\nThe part of each body."},
    {"hash_sequence", core_hash_sequence, METH_O,
     "hash_sequence(numbers)\n--\n\nThe indices of contacts by the hash of their numbers."},
    {"color_shared", core_color_shared, METH_VARARGS,
     "color_shared(sequence, bodies, bodies_count, own, colors, by_palette)\n--\n\nOne round of a "
     "colouring that ranks find together; changes colors, returns how many changed."},
    {"ordering", core_ordering, METH_VARARGS,
     "ordering(problem, method, order, order_options)\n--\n\nThe schedule of an order, as a "
     "dict."},
    {"stage_kinds", core_stage_kinds, METH_NOARGS,
     "stage_kinds()\n--\n\nNames of the kinds of stages, by number."},
    {"project", core_project, METH_VARARGS,
     "project(set, narrow, z, parameters, previous)\n--\n\nThe prox of a set, block by block."},
    {"fill_order", core_fill_order, METH_VARARGS,
     "fill_order(name, indices, indptr)\n--\n\nA fill-reducing order of a matrix."},
    {"elimination_tree", core_elimination_tree, METH_VARARGS,
     "elimination_tree(indices, indptr)\n--\n\nThe parents of all rows, or -1."},
    {"shape_mass", core_shape_mass, METH_VARARGS,
     "shape_mass(kind, numbers, vertices, dimension)\n--\n\n(volume, center, inertia, "
     "bounding_radius) of a shape with density 1."},
    {"polar", core_polar, METH_O,
     "polar(matrices)\n--\n\nRotations and stretches of deformation gradients (tests)."},
    {"stencil_distances", core_stencil_distances, METH_VARARGS,
     "stencil_distances(kind, x, indices, threads)\n--\n\n(distance, weights, separation) of "
     "stencils."},
    {"stencil_impacts", core_stencil_impacts, METH_VARARGS,
     "stencil_impacts(kind, x0, x1, margin, indices, threads)\n--\n\n(hit, time, weights, "
     "separation, doubtful) of stencils in motion."},
    {"stencil_free_step", core_stencil_free_step, METH_VARARGS,
     "stencil_free_step(kind, x0, x1, margin, indices, threads)\n--\n\nThe least time of a hit, "
     "or 1."},
    {"memory_live", core_memory_live, METH_NOARGS,
     "memory_live()\n--\n\nBlocks of C memory allocated and not released (tests)."},
    {"memory_fail_after", core_memory_fail_after, METH_O,
     "memory_fail_after(successes)\n--\n\nLets one later allocation fail; -1 for none (tests)."},
    {"release_threads", core_release_threads, METH_NOARGS,
     "release_threads()\n--\n\nEnds the worker threads, before a fork."},
    {"stream", core_stream, METH_VARARGS,
     "stream(bytes, threads=1)\n--\n\nSeconds in which so many threads together read this much "
     "memory (benchmarks)."},
    {"multiply", core_multiply, METH_NOARGS,
     "multiply()\n--\n\nOperations per second of one thread, in double (benchmarks)."},
    {"pool_overhead", core_pool_overhead, METH_VARARGS,
     "pool_overhead(kind, pattern, count, threads)\n--\n\nSeconds of an empty task of a pool "
     "(benchmarks)."},
    {"transport_team", core_transport_team, METH_VARARGS,
     "transport_team(ranks, timeout)\n--\n\n(Team, [Transport, ...]): ranks that are threads."},
    {"transport_mpi", core_transport_mpi, METH_VARARGS,
     "transport_mpi(bridge, rank, ranks, startall, testall, request_bytes, status_bytes, timeout)\n"
     "--\n\nThe Transport of this process."},
    {"exchange_cost", core_exchange_cost, METH_VARARGS,
     "exchange_cost(transport, bytes, count, pause=0)\n--\n\nMean seconds of an exchange of each "
     "rank with its partner, without its pause."},
    {"exchange_work", core_exchange_work, METH_VARARGS,
     "exchange_work(bytes, count)\n--\n\nMean seconds that a rank works for an exchange between "
     "threads (benchmarks)."},
    {"build", core_build, METH_NOARGS, "build()\n--\n\nHow this library was built."},
    {NULL, NULL, 0, NULL},
};

/* Creates a type and adds it to the module. Returns -1 with an error set. */
static int add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type)
{
    *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    return *type ? PyModule_AddType(module, *type) : -1;
}

/* Initialises a module: numpy, and the types. */
static int core_exec(PyObject *module)
{
    core_state *state = PyModule_GetState(module);
    import_array1(-1);
    if (add_type(module, &problem_spec, &state->problem_type) < 0) return -1;
    if (add_type(module, &answer_spec, &state->answer_type) < 0) return -1;
    if (add_type(module, &description_spec, &state->description_type) < 0) return -1;
    if (add_type(module, &mlcp_spec, &state->mlcp_type) < 0) return -1;
    if (add_type(module, &block_system_spec, &state->block_system_type) < 0) return -1;
    if (add_type(module, &tree_spec, &state->tree_type) < 0) return -1;
    if (add_type(module, &cloth_spec, &state->cloth_type) < 0) return -1;
    if (add_type(module, &block_preconditioner_spec, &state->block_preconditioner_type) < 0)
        return -1;
    if (add_type(module, &collider_spec, &state->collider_type) < 0) return -1;
    if (add_type(module, &world_spec, &state->world_type) < 0) return -1;
    if (add_type(module, &solver_spec, &state->solver_type) < 0) return -1;
    if (add_type(module, &transport_spec, &state->transport_type) < 0) return -1;
    if (add_type(module, &exchange_spec, &state->exchange_type) < 0) return -1;
    if (add_type(module, &team_spec, &state->team_type) < 0) return -1;
    if (add_type(module, &channels_spec, &state->channels_type) < 0) return -1;
    return add_type(module, &support_spec, &state->support_type);
}

/* For the garbage collector. */
static int core_traverse(PyObject *module, visitproc visit, void *arg)
{
    core_state *state = PyModule_GetState(module);
    Py_VISIT(state->problem_type);
    Py_VISIT(state->solver_type);
    Py_VISIT(state->support_type);
    Py_VISIT(state->mlcp_type);
    Py_VISIT(state->block_system_type);
    Py_VISIT(state->cloth_type);
    Py_VISIT(state->tree_type);
    Py_VISIT(state->block_preconditioner_type);
    Py_VISIT(state->answer_type);
    Py_VISIT(state->description_type);
    Py_VISIT(state->collider_type);
    Py_VISIT(state->world_type);
    Py_VISIT(state->transport_type);
    Py_VISIT(state->exchange_type);
    Py_VISIT(state->team_type);
    Py_VISIT(state->channels_type);
    return 0;
}

static int core_clear(PyObject *module)
{
    core_state *state = PyModule_GetState(module);
    Py_CLEAR(state->problem_type);
    Py_CLEAR(state->solver_type);
    Py_CLEAR(state->support_type);
    Py_CLEAR(state->mlcp_type);
    Py_CLEAR(state->block_system_type);
    Py_CLEAR(state->cloth_type);
    Py_CLEAR(state->tree_type);
    Py_CLEAR(state->block_preconditioner_type);
    Py_CLEAR(state->answer_type);
    Py_CLEAR(state->description_type);
    Py_CLEAR(state->collider_type);
    Py_CLEAR(state->world_type);
    Py_CLEAR(state->transport_type);
    Py_CLEAR(state->exchange_type);
    Py_CLEAR(state->team_type);
    Py_CLEAR(state->channels_type);
    return 0;
}

static PyModuleDef_Slot core_slots[] = {
    {Py_mod_exec, (void *)core_exec},
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef core_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "contactsolve._core",
    .m_doc = "The C library under contactsolve.",
    .m_size = sizeof(core_state),
    .m_methods = core_functions,
    .m_slots = core_slots,
    .m_traverse = core_traverse,
    .m_clear = core_clear,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&core_definition); }
