/* _core.Collider: a cs_collider that searches with the GIL released. */
#include "collide/collide.h"
#include "core/memory.h"
#include "python/shape_arguments.h"

#include <string.h>

typedef struct collider_object {
    PyObject_HEAD
    cs_collider *collider;
    int dimension;
    atomic_flag busy; /* set during a call */
} collider_object;

/* Takes the collider for one call. Returns -1 with an error set if another thread has it. */
static int begin(collider_object *self)
{
    if (!atomic_flag_test_and_set(&self->busy)) return 0;
    PyErr_SetString(PyExc_RuntimeError, "this collider is in use in another thread");
    return -1;
}

static void end(collider_object *self) { atomic_flag_clear(&self->busy); }

/* ---- life ---------------------------------------------------------------------------------------- */

/* Collider(dimension) */
static PyObject *collider_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"dimension", NULL};
    int dimension;
    cs_error error = {0};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "i:Collider", names, &dimension)) return NULL;
    collider_object *self = (collider_object *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    atomic_flag_clear(&self->busy);
    self->dimension = dimension;
    if (cs_collider_create(&self->collider, dimension, &error)) {
        raise_error(&error);
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static void collider_dealloc(collider_object *self)
{
    PyTypeObject *type = Py_TYPE(self);
    cs_collider_destroy(self->collider);
    type->tp_free(self);
    Py_DECREF(type);
}

/* ---- shapes -------------------------------------------------------------------------------------- */

/* add(kind, numbers, vertices, body, position, orientation) -> the id of the first shape */
static PyObject *collider_add(collider_object *self, PyObject *args)
{
    shape_arguments shapes = {0};
    PyObject *first = NULL;
    if (read_shape_arguments(&shapes, args, self->dimension) < 0 || begin(self) < 0) goto out;
    int64_t id = 0;
    cs_error error = {0};
    cs_status status = cs_collider_add(self->collider, shapes.shape, shapes.count, &id, &error);
    end(self);
    if (status) raise_error(&error);
    else first = PyLong_FromLongLong(id);
out:
    shape_arguments_clear(&shapes);
    return first;
}

/* remove(shape) */
static PyObject *collider_remove(collider_object *self, PyObject *value)
{
    cs_error error = {0};
    int64_t shape = PyLong_AsLongLong(value);
    if ((shape == -1 && PyErr_Occurred()) || begin(self) < 0) return NULL;
    cs_status status = cs_collider_remove(self->collider, shape, &error);
    end(self);
    if (!status) Py_RETURN_NONE;
    raise_error(&error);
    return NULL;
}

/* ---- steps --------------------------------------------------------------------------------------- */

/* The arguments of one search. */
typedef struct query {
    PyArrayObject *position, *orientation, *movable;
    cs_poses poses;
    double margin;
    int threads;
} query;

static void query_clear(query *q)
{
    Py_CLEAR(q->position);
    Py_CLEAR(q->orientation);
    Py_CLEAR(q->movable);
}

/* Reads (position, orientation, movable or None, margin, threads); the caller clears the query in either case. Returns
 * -1 with an error set. */
static int read_query(query *q, PyObject *args, int dimension)
{
    PyObject *position, *orientation, *movable;
    if (!PyArg_ParseTuple(args, "OOOdi", &position, &orientation, &movable, &q->margin,
                          &q->threads))
        return -1;
    if (!(q->position = double_array(position, "position"))) return -1;
    if (!(q->orientation = double_array(orientation, "orientation"))) return -1;
    int64_t bodies = PyArray_NDIM(q->position) > 0 ? PyArray_DIM(q->position, 0) : 0;
    if (check_columns(q->position, "position", bodies, dimension) < 0 ||
        check_columns(q->orientation, "orientation", bodies, dimension == 3 ? 4 : 1) < 0)
        return -1;
    if (movable != Py_None) {
        q->movable = (PyArrayObject *)PyArray_FROM_OTF(movable, NPY_BOOL, NPY_ARRAY_IN_ARRAY);
        if (!q->movable) return -1;
        if (PyArray_SIZE(q->movable) != bodies) {
            PyErr_Format(PyExc_ValueError, "movable has %zd entries; there are %lld bodies",
                         (Py_ssize_t)PyArray_SIZE(q->movable), (long long)bodies);
            return -1;
        }
    }
    q->poses = (cs_poses){bodies, PyArray_DATA(q->position), PyArray_DATA(q->orientation),
                          q->movable ? PyArray_DATA(q->movable) : NULL};
    return 0;
}

static PyObject *dictionary_of_contacts(const cs_contacts *c, int dimension)
{
    return Py_BuildValue("{s:N,s:N,s:N,s:N,s:N,s:N}", "shape",
                         copied_array(c->shape, NPY_INT64, c->count, 2, sizeof(int64_t)), "feature",
                         copied_array(c->feature, NPY_INT32, c->count, 0, sizeof(int32_t)), "body",
                         copied_array(c->body, NPY_INT64, c->count, 2, sizeof(int64_t)), "point",
                         copied_array(c->point, NPY_DOUBLE, c->count, dimension, sizeof(double)),
                         "normal",
                         copied_array(c->normal, NPY_DOUBLE, c->count, dimension, sizeof(double)),
                         "gap", copied_array(c->gap, NPY_DOUBLE, c->count, 0, sizeof(double)));
}

/* find(position, orientation, movable, margin, threads) -> the contacts, as a dict of arrays */
static PyObject *collider_find(collider_object *self, PyObject *args)
{
    query q = {0};
    cs_contacts contacts;
    cs_error error = {0};
    cs_status status;
    PyObject *answer = NULL;
    if (read_query(&q, args, self->dimension) < 0 || begin(self) < 0) goto out;
    Py_BEGIN_ALLOW_THREADS
    status = cs_collider_find(self->collider, &q.poses, q.margin, q.threads, &contacts, &error);
    Py_END_ALLOW_THREADS
    if (status) raise_error(&error);
    else answer = dictionary_of_contacts(&contacts, self->dimension);
    end(self);
out:
    query_clear(&q);
    return answer;
}

/* find_pairs(position, orientation, movable, margin, threads) -> ids (pairs, 2) */
static PyObject *collider_find_pairs(collider_object *self, PyObject *args)
{
    query q = {0};
    cs_shape_pairs pairs;
    cs_error error = {0};
    cs_status status;
    PyObject *answer = NULL;
    if (read_query(&q, args, self->dimension) < 0 || begin(self) < 0) goto out;
    Py_BEGIN_ALLOW_THREADS
    status = cs_collider_find_pairs(self->collider, &q.poses, q.margin, q.threads, &pairs, &error);
    Py_END_ALLOW_THREADS
    if (status) raise_error(&error);
    else answer = copied_array(pairs.shape, NPY_INT64, pairs.count, 2, sizeof(int64_t));
    end(self);
out:
    query_clear(&q);
    return answer;
}

static PyObject *collider_shapes(collider_object *self, void *closure)
{
    (void)closure;
    return PyLong_FromLongLong(cs_collider_shapes(self->collider));
}

static PyGetSetDef collider_attributes[] = {
    {"shapes", (getter)collider_shapes, NULL, "How many shapes there are.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef collider_methods[] = {
    {"add", (PyCFunction)collider_add, METH_VARARGS,
     "add(kind, numbers, vertices, body, position, orientation)\n--\n\nAdds shapes of one kind; "
     "returns the id of the first."},
    {"remove", (PyCFunction)collider_remove, METH_O, "remove(shape)\n--\n\nRemoves a shape."},
    {"find", (PyCFunction)collider_find, METH_VARARGS,
     "find(position, orientation, movable, margin, threads)\n--\n\nThe contacts, as a dict of "
     "arrays."},
    {"find_pairs", (PyCFunction)collider_find_pairs, METH_VARARGS,
     "find_pairs(position, orientation, movable, margin, threads)\n--\n\nThe pairs of shapes that "
     "may touch."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot collider_slots[] = {
    {Py_tp_new, (void *)collider_new},
    {Py_tp_dealloc, (void *)collider_dealloc},
    {Py_tp_methods, collider_methods},
    {Py_tp_getset, collider_attributes},
    {Py_tp_doc, "Collider(dimension)\n--\n\nFinds contacts between shapes on bodies."},
    {0, NULL},
};

PyType_Spec collider_spec = {
    .name = "contactsolve._core.Collider",
    .basicsize = sizeof(collider_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = collider_slots,
};

/* ---- mass ---------------------------------------------------------------------------------------- */

PyObject *core_shape_mass(PyObject *module, PyObject *args)
{
    (void)module;
    const char *kind;
    int dimension;
    PyObject *numbers, *vertices, *answer = NULL;
    shape_description described = {0};
    if (!PyArg_ParseTuple(args, "sOOi:shape_mass", &kind, &numbers, &vertices, &dimension))
        return NULL;
    if (read_shape_description(&described, kind, numbers, vertices, dimension) < 0) goto out;
    if (PyArray_DIM(described.numbers, 0) != 1) {
        PyErr_SetString(PyExc_ValueError, "numbers has to be those of one shape");
        goto out;
    }

    cs_shape_mass mass;
    cs_error error = {0};
    cs_shape shape = described_shape(&described, 0);
    if (cs_shape_measure(&shape, dimension, &mass, &error)) raise_error(&error);
    else
        answer = Py_BuildValue("dNNd", mass.volume,
                               copied_array(mass.center, NPY_DOUBLE, dimension, 0, sizeof(double)),
                               copied_array(mass.inertia, NPY_DOUBLE, 3, 3, sizeof(double)),
                               mass.bounding_radius);
out:
    shape_description_clear(&described);
    return answer;
}
