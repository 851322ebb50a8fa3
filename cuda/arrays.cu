/* Memory of the device that Python objects own, and what the protocols of arrays need of it: DLPack, whose structs of
 * versions 0 and 1 are written out here (dmlc/dlpack, include/dlpack/dlpack.h), and __cuda_array_interface__, whose
 * pointers contactsolve/_device_arrays.py reads. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "cuda/device.h"

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

/* ---- DLPack ---------------------------------------------------------------------------------------- */

namespace dlpack
{
struct device {
    int32_t type, number;
};

struct kind {
    uint8_t code, bits;
    uint16_t lanes;
};

struct tensor {
    void *data;
    device where;
    int32_t dimensions;
    kind of;
    int64_t *shape, *strides;
    uint64_t first_byte;
};

struct managed {
    tensor t;
    void *context;
    void (*deleter)(managed *);
};

struct versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(versioned *);
    uint64_t flags;
    tensor t;
};

enum { FLOAT = 2, READ_ONLY = 1 };
} // namespace dlpack

/* What a tensor that is handed out keeps: its shape, and the Python object whose memory it is. */
template <class tensor_type> struct handed_out {
    tensor_type tensor;
    PyObject *owner;
    std::vector<int64_t> shape;
};

/* The deleter of a tensor, which any thread may call. Once Python has ended, nobody can give the memory back. */
template <class tensor_type> static void delete_tensor(tensor_type *tensor)
{
    if (!Py_IsInitialized()) return;
    auto *own = static_cast<handed_out<tensor_type> *>(tensor->context);
    PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(own->owner);
    PyGILState_Release(state);
    delete own;
}

/* The destructor of a capsule that nobody has taken over. */
template <class tensor_type> static void drop_capsule(PyObject *capsule)
{
    const char *name = PyCapsule_GetName(capsule);
    if (!name || strncmp(name, "used", 4) == 0) return;
    auto *tensor = static_cast<tensor_type *>(PyCapsule_GetPointer(capsule, name));
    if (tensor && tensor->deleter) tensor->deleter(tensor);
}

/* A capsule with the tensor of float64 at `data`; it holds a reference to the owner. */
template <class tensor_type>
static PyObject *new_capsule(PyObject *owner, void *data, const std::vector<int64_t> &shape,
                             const dlpack::device &where, const char *name)
{
    auto *own = new handed_out<tensor_type>{{}, owner, shape};
    dlpack::tensor *t = &own->tensor.t;
    t->data = data;
    t->where = where;
    t->dimensions = static_cast<int32_t>(shape.size());
    t->of = {dlpack::FLOAT, 64, 1};
    t->shape = own->shape.data();
    own->tensor.context = own;
    own->tensor.deleter = delete_tensor<tensor_type>;
    if constexpr (std::is_same<tensor_type, dlpack::versioned>::value) own->tensor.major = 1;
    PyObject *capsule = PyCapsule_New(&own->tensor, name, drop_capsule<tensor_type>);
    if (!capsule) {
        delete own;
        return NULL;
    }
    Py_INCREF(owner);
    return capsule;
}

/* ---- memory ---------------------------------------------------------------------------------------- */

/* Memory with a queue of its own, which frees it. */
struct owned_memory {
    cs_queue *queue;
    void *data;
};

#define MEMORY "contactsolve.memory"

static void free_memory(PyObject *capsule)
{
    auto *memory = static_cast<owned_memory *>(PyCapsule_GetPointer(capsule, MEMORY));
    if (!memory) return;
    Py_BEGIN_ALLOW_THREADS
    cs_device_settle(); /* kernels of other packages may still read the memory, in streams of theirs */
    cs_device_table()->close(memory->queue);
    Py_END_ALLOW_THREADS
    delete memory;
}

static PyObject *raise(const cs_error &error)
{
    PyErr_SetString(error.status == CS_NO_MEMORY ? PyExc_MemoryError : PyExc_RuntimeError,
                    error.message);
    return NULL;
}

/* take(bytes) -> a capsule that owns zeroed memory of the device */
static PyObject *take(PyObject *, PyObject *args)
{
    Py_ssize_t bytes;
    cs_error error = {};
    if (!PyArg_ParseTuple(args, "n:take", &bytes)) return NULL;
    if (bytes < 0) return PyErr_Format(PyExc_ValueError, "bytes=%zd is negative", bytes);
    const cs_device *device = cs_device_table();
    owned_memory memory = {};
    cs_status status;
    Py_BEGIN_ALLOW_THREADS
    status = device->open(&memory.queue, &error);
    if (!status)
        status = device->take(memory.queue, &memory.data, (size_t)(bytes ? bytes : 1), &error);
    if (!status) status = device->wait(memory.queue, &error);
    if (status && memory.queue) device->close(memory.queue);
    Py_END_ALLOW_THREADS
    if (status) return raise(error);
    PyObject *capsule = PyCapsule_New(new owned_memory(memory), MEMORY, free_memory);
    if (!capsule) device->close(memory.queue);
    return capsule;
}

/* pointer(memory) -> its address */
static PyObject *pointer(PyObject *, PyObject *capsule)
{
    auto *memory = static_cast<owned_memory *>(PyCapsule_GetPointer(capsule, MEMORY));
    return memory ? PyLong_FromVoidPtr(memory->data) : NULL;
}

/* number() -> the number of the device that `take` uses */
static PyObject *number(PyObject *, PyObject *) { return PyLong_FromLong(cs_device_number()); }

/* foreign(pointer) -> None if it is memory of the device that solvers use, or what it is */
static PyObject *foreign(PyObject *, PyObject *number)
{
    void *data = PyLong_AsVoidPtr(number);
    if (PyErr_Occurred()) return NULL;
    char what[96];
    if (!cs_device_is_foreign(data, what, sizeof what)) Py_RETURN_NONE;
    return PyUnicode_FromString(what);
}

/* Work on a queue of its own, after what is in a stream so far (0: after nothing). */
template <class work> static PyObject *on_queue(unsigned long long stream, const work &what)
{
    const cs_device *device = cs_device_table();
    cs_queue *queue = NULL;
    cs_error error = {};
    cs_status status;
    Py_BEGIN_ALLOW_THREADS
    status = device->open(&queue, &error);
    if (!status) {
        cs_device_after(queue, stream);
        what(device, queue);
        status = device->wait(queue, &error);
        device->close(queue);
    }
    Py_END_ALLOW_THREADS
    if (status) return raise(error);
    Py_RETURN_NONE;
}

/* Copies between a buffer of Python and the address `number` of the device, and releases the buffer. */
template <class work>
static PyObject *copy(PyObject *number, unsigned long long stream, Py_buffer *buffer,
                      const work &what)
{
    void *there = PyLong_AsVoidPtr(number);
    PyObject *done = NULL;
    if (!PyErr_Occurred())
        done = on_queue(stream, [&](const cs_device *device, cs_queue *queue) {
            what(device, queue, there, (size_t)buffer->len);
        });
    PyBuffer_Release(buffer);
    return done;
}

/* read(pointer, stream, to): fills a writable buffer from the device, after what is in the stream */
static PyObject *read(PyObject *, PyObject *args)
{
    PyObject *number;
    unsigned long long stream;
    Py_buffer to;
    if (!PyArg_ParseTuple(args, "OKw*:read", &number, &stream, &to)) return NULL;
    return copy(number, stream, &to,
                [&](const cs_device *device, cs_queue *queue, const void *from, size_t bytes) {
                    device->download(queue, to.buf, from, bytes);
                });
}

/* write(pointer, stream, from): writes a buffer to the device, after what is in the stream */
static PyObject *write(PyObject *, PyObject *args)
{
    PyObject *number;
    unsigned long long stream;
    Py_buffer from;
    if (!PyArg_ParseTuple(args, "OKy*:write", &number, &stream, &from)) return NULL;
    return copy(number, stream, &from,
                [&](const cs_device *device, cs_queue *queue, void *to, size_t bytes) {
                    device->upload(queue, to, from.buf, bytes);
                });
}

/* copy(to, from, stream, bytes): copies within the device, after what is in the stream */
static PyObject *copy_within(PyObject *, PyObject *args)
{
    PyObject *first, *second;
    unsigned long long stream;
    Py_ssize_t bytes;
    if (!PyArg_ParseTuple(args, "OOKn:copy", &first, &second, &stream, &bytes)) return NULL;
    void *to = PyLong_AsVoidPtr(first), *from = PyLong_AsVoidPtr(second);
    if (PyErr_Occurred()) return NULL;
    return on_queue(stream, [&](const cs_device *device, cs_queue *queue) {
        if (bytes > 0) device->copy(queue, to, from, (size_t)bytes);
    });
}

/* ---- out and in ------------------------------------------------------------------------------------ */

/* export_tensor(memory, shape, device_type, device_number, versioned) -> a capsule of DLPack */
static PyObject *export_tensor(PyObject *, PyObject *args)
{
    PyObject *capsule, *lengths;
    dlpack::device where;
    int versioned;
    if (!PyArg_ParseTuple(args, "OO!iip:export_tensor", &capsule, &PyTuple_Type, &lengths,
                          &where.type, &where.number, &versioned))
        return NULL;
    auto *memory = static_cast<owned_memory *>(PyCapsule_GetPointer(capsule, MEMORY));
    if (!memory) return NULL;
    std::vector<int64_t> shape;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(lengths); i++)
        shape.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(lengths, i)));
    if (PyErr_Occurred()) return NULL;
    if (versioned)
        return new_capsule<dlpack::versioned>(capsule, memory->data, shape, where,
                                              "dltensor_versioned");
    return new_capsule<dlpack::managed>(capsule, memory->data, shape, where, "dltensor");
}

/* A tuple of int64; None for NULL. */
static PyObject *numbers(const int64_t *values, int32_t count)
{
    if (!values) Py_RETURN_NONE;
    PyObject *tuple = PyTuple_New(count);
    for (int32_t i = 0; tuple && i < count; i++) {
        PyObject *value = PyLong_FromLongLong(values[i]);
        if (!value) Py_CLEAR(tuple);
        else PyTuple_SET_ITEM(tuple, i, value);
    }
    return tuple;
}

/* Frees a tensor that was taken over. */
template <class tensor_type> static void free_imported(PyObject *capsule)
{
    auto *tensor = static_cast<tensor_type *>(PyCapsule_GetPointer(capsule, "contactsolve.tensor"));
    if (tensor && tensor->deleter) tensor->deleter(tensor);
}

/* Takes over the tensor of a capsule: (owner, pointer, code, bits, lanes, shape, strides, read-only). */
template <class tensor_type>
static PyObject *import_as(PyObject *capsule, const char *name, const char *used, int read_only)
{
    auto *tensor = static_cast<tensor_type *>(PyCapsule_GetPointer(capsule, name));
    if (PyCapsule_SetName(capsule, used) < 0) return NULL;
    PyObject *owner = PyCapsule_New(tensor, "contactsolve.tensor", free_imported<tensor_type>);
    if (!owner) {
        PyCapsule_SetName(capsule, name);
        return NULL;
    }
    const dlpack::tensor *t = &tensor->t;
    void *data = static_cast<char *>(t->data) + t->first_byte;
    PyObject *shape = numbers(t->shape, t->dimensions);
    if (t->dimensions == 0) Py_XSETREF(shape, PyTuple_New(0));
    return Py_BuildValue("NNiiiNNO", owner, PyLong_FromVoidPtr(data), t->of.code, t->of.bits,
                         t->of.lanes, shape, numbers(t->strides, t->dimensions),
                         read_only ? Py_True : Py_False);
}

/* import_tensor(capsule) -> what import_as says */
static PyObject *import_tensor(PyObject *, PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor"))
        return import_as<dlpack::managed>(capsule, "dltensor", "used_dltensor", 0);
    if (!PyCapsule_IsValid(capsule, "dltensor_versioned"))
        return PyErr_Format(PyExc_TypeError, "__dlpack__ returned no capsule of DLPack");
    auto *tensor =
        static_cast<dlpack::versioned *>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    if (tensor->major != 1)
        return PyErr_Format(PyExc_BufferError, "DLPack of version %u: version 1 is known",
                            tensor->major);
    return import_as<dlpack::versioned>(capsule, "dltensor_versioned", "used_dltensor_versioned",
                                        (tensor->flags & dlpack::READ_ONLY) != 0);
}

PyMethodDef cs_array_functions[] = {
    {"take", take, METH_VARARGS, "Memory of the device."},
    {"pointer", pointer, METH_O, "The address of memory."},
    {"number", number, METH_NOARGS, "The number of the device."},
    {"foreign", foreign, METH_O, "None for memory of the device, or what it is."},
    {"read", read, METH_VARARGS, "Fills a buffer from the device."},
    {"write", write, METH_VARARGS, "Writes a buffer to the device."},
    {"copy", copy_within, METH_VARARGS, "Copies within the device."},
    {"export_tensor", export_tensor, METH_VARARGS, "A capsule of DLPack."},
    {"import_tensor", import_tensor, METH_O, "What a capsule of DLPack holds."},
    {NULL, NULL, 0, NULL},
};
