/* The Python module contactsolve._cuda, or contactsolve._cuda_emulated: it hands the table of the device to
 * contactsolve._core in a capsule. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "cuda/device.h"
#include "cuda/s2_dense.h"

extern PyMethodDef cs_array_functions[]; /* arrays.cu */

/* missing() -> None, or why the device cannot be used. */
static PyObject *module_missing(PyObject *, PyObject *)
{
    const char *why = cs_device_table()->missing();
    if (!why) Py_RETURN_NONE;
    return PyUnicode_FromString(why);
}

/* moved() -> bytes moved since the process began: to devices, from devices, and within them. */
static PyObject *module_moved(PyObject *, PyObject *)
{
    long long moved[3];
    cs_device_moved(moved);
    return Py_BuildValue("LLL", moved[0], moved[1], moved[2]);
}

/* asked() -> what has been asked of devices since the process began: launches, copies to devices and from them, and how often
 * the host has waited. */
static PyObject *module_asked(PyObject *, PyObject *)
{
    long long asked[4];
    cs_device_asked(asked);
    return Py_BuildValue("LLLL", asked[0], asked[1], asked[2], asked[3]);
}

/* memory_times(bytes) -> seconds of what is done with memory, by name. */
static PyObject *module_memory_times(PyObject *, PyObject *args)
{
    Py_ssize_t bytes;
    cs_memory_times times;
    cs_error error = {};
    if (!PyArg_ParseTuple(args, "n:memory_times", &bytes)) return NULL;
    if (bytes <= 0)
        return PyErr_Format(PyExc_ValueError, "bytes=%zd; a positive number is needed", bytes);
    cs_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = cs_device_memory_times((size_t)bytes, &times, &error);
    Py_END_ALLOW_THREADS;
    if (status == CS_NO_MEMORY) return PyErr_Format(PyExc_MemoryError, "%s", error.message);
    if (status) return PyErr_Format(PyExc_RuntimeError, "%s", error.message);
    return Py_BuildValue("{s:d,s:d,s:d,s:d,s:d}", "take", times.take, "to_device", times.to_device,
                         "within", times.within, "from_device", times.from_device, "give_back",
                         times.give_back);
}

/* buffers() -> how many pairs of buffers for copies have been made. */
static PyObject *module_buffers(PyObject *, PyObject *)
{
    return PyLong_FromLongLong(cs_device_buffers());
}

#if !defined(__CUDACC__)
/* set_order(order, seed): the order in which emulated threads run, for queues made from now on. */
static PyObject *module_set_order(PyObject *, PyObject *args)
{
    const char *name;
    unsigned long long seed;
    if (!PyArg_ParseTuple(args, "sK:set_order", &name, &seed)) return NULL;
    static const char *const names[] = {"forward", "reverse", "random"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(name, names[i]) != 0) continue;
        emulation::settings().turn = static_cast<emulation::order>(i);
        emulation::settings().seed = seed;
        Py_RETURN_NONE;
    }
    return PyErr_Format(PyExc_ValueError, "order='%s'; forward, reverse and random are known",
                        name);
}

/* set_resident(blocks): the most blocks that run together, for queues made from now on. */
static PyObject *module_set_resident(PyObject *, PyObject *args)
{
    unsigned blocks;
    if (!PyArg_ParseTuple(args, "I:set_resident", &blocks)) return NULL;
    if (!blocks) return PyErr_Format(PyExc_ValueError, "blocks=0; at least one is needed");
    emulation::settings().resident = blocks;
    Py_RETURN_NONE;
}

/* set_threads(threads): the most threads of a block, for queues made from now on. */
static PyObject *module_set_threads(PyObject *, PyObject *args)
{
    unsigned threads;
    if (!PyArg_ParseTuple(args, "I:set_threads", &threads)) return NULL;
    if (threads < 32) return PyErr_Format(PyExc_ValueError, "threads=%u; a warp has 32", threads);
    emulation::settings().threads = threads;
    Py_RETURN_NONE;
}

/* set_shared(bytes): what a block may share, for queues made from now on. */
static PyObject *module_set_shared(PyObject *, PyObject *args)
{
    long long bytes;
    if (!PyArg_ParseTuple(args, "L:set_shared", &bytes)) return NULL;
    emulation::settings().shared = bytes;
    Py_RETURN_NONE;
}

/* lose_write(number): which versioned piece or count written from now on is lost, for queues made from now on; 0: none. */
static PyObject *module_lose_write(PyObject *, PyObject *args)
{
    unsigned long long number;
    if (!PyArg_ParseTuple(args, "K:lose_write", &number)) return NULL;
    emulation::settings().lost_write = number;
    Py_RETURN_NONE;
}

/* lose_device(launch): with which launch the device is lost, for queues made from now on; 0: never. */
static PyObject *module_lose_device(PyObject *, PyObject *args)
{
    unsigned long long number;
    if (!PyArg_ParseTuple(args, "K:lose_device", &number)) return NULL;
    emulation::settings().lost_launch = number;
    Py_RETURN_NONE;
}

/* lose_capture(number): which capture from now on another thread ends, for queues made from now on; 0: none. */
static PyObject *module_lose_capture(PyObject *, PyObject *args)
{
    unsigned long long number;
    if (!PyArg_ParseTuple(args, "K:lose_capture", &number)) return NULL;
    emulation::settings().lost_capture = number;
    Py_RETURN_NONE;
}

/* kernels_run() -> how many emulated kernels have run since the process began. */
static PyObject *module_kernels_run(PyObject *, PyObject *)
{
    return PyLong_FromUnsignedLongLong(emulation::kernels_run());
}

/* set_memory(bytes): the memory of the device, for queues made from now on. */
static PyObject *module_set_memory(PyObject *, PyObject *args)
{
    unsigned long long bytes;
    if (!PyArg_ParseTuple(args, "K:set_memory", &bytes)) return NULL;
    emulation::settings().memory = static_cast<size_t>(bytes);
    Py_RETURN_NONE;
}
#else
/* devices() -> a list of (name, bytes of memory, major, minor) of each GPU. */
static PyObject *module_devices(PyObject *, PyObject *)
{
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < count; i++) {
        cudaDeviceProp about;
        if (cudaGetDeviceProperties(&about, i) != cudaSuccess) continue;
        PyObject *entry = Py_BuildValue(
            "sKii", about.name, (unsigned long long)about.totalGlobalMem, about.major, about.minor);
        if (!entry || PyList_Append(list, entry) < 0) Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    return list;
}
#endif

/* ---- S2's iterations ------------------------------------------------------------------------------ */

/* s2_kernels() -> their names. */
static PyObject *module_s2_kernels(PyObject *, PyObject *)
{
    PyObject *names = PyTuple_New(CS_S2_KERNELS);
    for (int i = 0; names && i < CS_S2_KERNELS; i++) {
        PyObject *name = PyUnicode_FromString(cs_s2_kernel_name(i));
        if (!name) Py_CLEAR(names);
        else PyTuple_SET_ITEM(names, i, name);
    }
    return names;
}

/* Whether a buffer has so many numbers; else raises. */
static int has_numbers(const Py_buffer *buffer, const char *name, int64_t count, int64_t size)
{
    if (buffer->len == count * size) return 1;
    PyErr_Format(PyExc_ValueError, "%s has %zd bytes: %lld are needed", name, buffer->len,
                 (long long)(count * size));
    return 0;
}

/* Whether every row of a contact is one of the arrays, and every size is at least the least; else raises. */
static int has_sizes(const cs_s2_request *request)
{
    const cs_s2_problem *p = &request->shape;
    int known = request->kernel >= 0 && request->kernel < CS_S2_KERNELS && request->left_out >= 0 &&
                request->left_out < CS_S2_PARTS &&
                (!request->left_out || request->kernel == CS_S2_FULL_SOR_96);
    int64_t last = (p->contacts - 1) * p->contact_step + 2 * p->direction_step;
    if (known && p->contacts > 0 && p->contact_step > 0 && p->direction_step > 0 &&
        last < p->rows && p->pitch >= p->rows && p->rows < INT32_MAX && request->panel > 0 &&
        request->panel % 3 == 0 && request->iterations >= 0 && request->check_every > 0)
        return 1;
    PyErr_SetString(PyExc_ValueError, "sizes that do not fit each other");
    return 0;
}

/* (iterations, converged, seconds of allocation, to the device, of the iterations, from the device, of the release), or
 * an exception. */
static PyObject *run_s2(const cs_s2_request *request)
{
    cs_s2_outcome outcome;
    cs_error error = {};
    cs_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = cs_s2_run(request, &outcome, &error);
    Py_END_ALLOW_THREADS;
    if (!status)
        return Py_BuildValue("Liddddd", (long long)outcome.iterations, outcome.converged,
                             outcome.allocation, outcome.to_device, outcome.iteration,
                             outcome.from_device, outcome.release);
    PyErr_SetString(status == CS_NO_MEMORY ? PyExc_MemoryError : PyExc_RuntimeError, error.message);
    return NULL;
}

/* s2_iterate(sizes, iterations, criterion, T, d, mu, impulses) with sizes = (kernel, left_out, single, panel, contacts, rows,
 * pitch, contact_step, direction_step), iterations = (most, check_every), criterion = (number, rtol, atol); `impulses` is
 * written. Arrays have the layout of cs_s2_request. -> what run_s2 returns */
static PyObject *module_s2_iterate(PyObject *, PyObject *args)
{
    cs_s2_request request = {};
    cs_s2_problem *p = &request.shape;
    long long panel, contacts, rows, pitch, contact_step, direction_step, most, every;
    int kernel, left_out, criterion;
    Py_buffer matrix, d, mu, impulses;
    if (!PyArg_ParseTuple(args, "(iiiLLLLLL)(LL)(idd)y*y*y*w*:s2_iterate", &kernel, &left_out,
                          &request.single, &panel, &contacts, &rows, &pitch, &contact_step,
                          &direction_step, &most, &every, &criterion, &request.rtol, &request.atol,
                          &matrix, &d, &mu, &impulses))
        return NULL;
    request.kernel = (cs_s2_kernel)kernel, request.left_out = (cs_s2_part)left_out;
    request.criterion = (cs_s2_criterion)criterion;
    request.panel = panel, request.iterations = most, request.check_every = every;
    p->contacts = contacts, p->rows = rows, p->pitch = pitch;
    p->contact_step = contact_step, p->direction_step = direction_step;
    request.matrix = matrix.buf, request.d = d.buf, request.mu = mu.buf;
    request.impulses = impulses.buf;

    int64_t size = request.single ? (int64_t)sizeof(float) : (int64_t)sizeof(double);
    PyObject *result = NULL;
    if (has_sizes(&request) && has_numbers(&matrix, "T", rows * pitch, size) &&
        has_numbers(&d, "d", rows, size) && has_numbers(&mu, "mu", contacts, size) &&
        has_numbers(&impulses, "impulses", rows, size))
        result = run_s2(&request);
    for (Py_buffer *each : {&matrix, &d, &mu, &impulses}) PyBuffer_Release(each);
    return result;
}

static PyMethodDef methods[] = {
    {"missing", module_missing, METH_NOARGS, "None, or why the device cannot be used."},
    {"moved", module_moved, METH_NOARGS, "Bytes moved to devices, from devices, and within."},
    {"asked", module_asked, METH_NOARGS, "Launches, copies to devices and from them, waits."},
    {"buffers", module_buffers, METH_NOARGS, "Pairs of buffers for copies made so far."},
    {"memory_times", module_memory_times, METH_VARARGS, "Seconds of what is done with memory."},
    {"s2_kernels", module_s2_kernels, METH_NOARGS, "The names of S2's kernels for a dense T."},
    {"s2_iterate", module_s2_iterate, METH_VARARGS, "Iterate by one of S2's kernels."},
#if !defined(__CUDACC__)
    {"set_order", module_set_order, METH_VARARGS, "The order in which emulated threads run."},
    {"set_resident", module_set_resident, METH_VARARGS, "The most blocks that run together."},
    {"set_threads", module_set_threads, METH_VARARGS, "The most threads of a block."},
    {"set_shared", module_set_shared, METH_VARARGS, "The bytes that a block may share."},
    {"lose_write", module_lose_write, METH_VARARGS,
     "Lose one write that others wait for, for tests."},
    {"lose_device", module_lose_device, METH_VARARGS, "Lose the device, for tests."},
    {"lose_capture", module_lose_capture, METH_VARARGS, "Lose a capture, for tests."},
    {"kernels_run", module_kernels_run, METH_NOARGS, "Emulated kernels that have run so far."},
    {"set_memory", module_set_memory, METH_VARARGS, "The memory of the device in bytes."},
#else
    {"devices", module_devices, METH_NOARGS, "Name, memory and compute capability of each GPU."},
#endif
    {NULL, NULL, 0, NULL},
};

static int fill(PyObject *module)
{
    PyObject *table =
        PyCapsule_New(const_cast<cs_device *>(cs_device_table()), "contactsolve.device", NULL);
    if (!table) return -1;
    if (PyModule_AddFunctions(module, cs_array_functions) < 0) {
        Py_DECREF(table);
        return -1;
    }
    int failed = PyModule_AddObjectRef(module, "device", table);
    Py_DECREF(table);
    return failed;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void *>(fill)},
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    CS_MODULE_TEXT,
    "Kernels of contactsolve on a device.",
    0,
    methods,
    slots,
    NULL,
    NULL,
    NULL,
};

PyMODINIT_FUNC CS_MODULE_INIT(void) { return PyModuleDef_Init(&definition); }
