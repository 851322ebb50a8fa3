/* The Python module contactsolve._cuda, or contactsolve._cuda_emulated: it hands the table of the device to
 * contactsolve._core in a capsule. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "cuda/device.h"

/* missing() -> None, or why the device cannot be used. */
static PyObject *module_missing(PyObject *, PyObject *)
{
    const char *why = cs_device_table()->missing();
    if (!why) Py_RETURN_NONE;
    return PyUnicode_FromString(why);
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

/* lose_write(number): which versioned piece or count written from now on is lost, for queues made from now on; 0: none. */
static PyObject *module_lose_write(PyObject *, PyObject *args)
{
    unsigned long long number;
    if (!PyArg_ParseTuple(args, "K:lose_write", &number)) return NULL;
    emulation::settings().lost_write = number;
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

static PyMethodDef methods[] = {
    {"missing", module_missing, METH_NOARGS, "None, or why the device cannot be used."},
    {"memory_times", module_memory_times, METH_VARARGS, "Seconds of what is done with memory."},
#if !defined(__CUDACC__)
    {"set_order", module_set_order, METH_VARARGS, "The order in which emulated threads run."},
    {"set_resident", module_set_resident, METH_VARARGS, "The most blocks that run together."},
    {"lose_write", module_lose_write, METH_VARARGS,
     "Lose one write that others wait for, for tests."},
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
