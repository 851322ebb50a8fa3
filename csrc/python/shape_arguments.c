/* Shapes of bodies, from Python. */
#include "python/shape_arguments.h"

#include "core/memory.h"

#include <string.h>

/* The kind of a name, or -1 with an error set that lists the names. */
static int kind_of(const char *name)
{
    int kind = cs_shape_find(name);
    char list[256] = "";
    const char *known;
    if (kind >= 0) return kind;
    for (int i = 0; (known = cs_shape_name(i)); i++) {
        if (i) strncat(list, ", ", sizeof list - strlen(list) - 1);
        strncat(list, known, sizeof list - strlen(list) - 1);
    }
    PyErr_Format(PyExc_ValueError, "kind is '%s': the kinds are %s", name, list);
    return -1;
}

/* Checks that an array is (count, columns). Returns -1 with an error set. */
int check_columns(PyArrayObject *array, const char *name, int64_t count, int64_t columns)
{
    int fits = PyArray_NDIM(array) == 2 && (int64_t)PyArray_DIM(array, 0) == count &&
               (int64_t)PyArray_DIM(array, 1) == columns;
    if (fits) return 0;
    PyErr_Format(PyExc_ValueError, "%s has to be an array of shape (%lld, %lld)", name,
                 (long long)count, (long long)columns);
    return -1;
}

void shape_description_clear(shape_description *d)
{
    Py_CLEAR(d->numbers);
    Py_CLEAR(d->vertices);
}

/* Reads a description; the caller clears it in either case. Returns -1 with an error set. */
int read_shape_description(shape_description *d, const char *kind, PyObject *numbers,
                           PyObject *vertices, int dimension)
{
    d->kind = kind_of(kind);
    if (d->kind < 0 || !(d->numbers = double_array(numbers, "numbers"))) return -1;
    if (PyArray_NDIM(d->numbers) != 2 || PyArray_DIM(d->numbers, 1) > CS_SHAPE_NUMBERS) {
        PyErr_Format(PyExc_ValueError, "numbers has to be an array of shape (count, at most %d)",
                     CS_SHAPE_NUMBERS);
        return -1;
    }
    if (vertices == Py_None) return 0;
    if (!(d->vertices = double_array(vertices, "vertices"))) return -1;
    int64_t points = PyArray_NDIM(d->vertices) > 0 ? PyArray_DIM(d->vertices, 0) : 0;
    return check_columns(d->vertices, "vertices", points, dimension);
}

/* The i-th shape that is described, without a place. */
cs_shape described_shape(const shape_description *d, int64_t i)
{
    cs_shape shape = {.kind = (cs_shape_kind)d->kind, .body = -1};
    size_t numbers = (size_t)PyArray_DIM(d->numbers, 1);
    if (numbers)
        memcpy(shape.number, (const double *)PyArray_DATA(d->numbers) + i * (int64_t)numbers,
               sizeof(double) * numbers);
    if (d->vertices) {
        shape.vertices = PyArray_DATA(d->vertices);
        shape.vertex_count = PyArray_DIM(d->vertices, 0);
    }
    return shape;
}

/* All shapes that are described, at these places: NULL with an error set. */
static cs_shape *shapes_of(const shape_description *d, PyArrayObject *const *place, int dimension)
{
    int64_t count = PyArray_DIM(d->numbers, 0), parts = dimension == 3 ? 4 : 1;
    if (PyArray_SIZE(place[0]) != count) {
        PyErr_Format(PyExc_ValueError, "body has %zd entries; there are %lld shapes",
                     (Py_ssize_t)PyArray_SIZE(place[0]), (long long)count);
        return NULL;
    }
    if (check_columns(place[1], "position", count, dimension) < 0 ||
        check_columns(place[2], "orientation", count, parts) < 0)
        return NULL;
    cs_shape *shapes = cs_allocate(count, sizeof *shapes);
    if (!shapes) return (cs_shape *)PyErr_NoMemory();
    const int64_t *body = PyArray_DATA(place[0]);
    const double *position = PyArray_DATA(place[1]), *orientation = PyArray_DATA(place[2]);
    for (int64_t i = 0; i < count; i++) {
        shapes[i] = described_shape(d, i);
        shapes[i].body = body[i];
        memcpy(shapes[i].position, position + i * dimension, sizeof(double) * (size_t)dimension);
        memcpy(shapes[i].orientation, orientation + i * parts, sizeof(double) * (size_t)parts);
    }
    return shapes;
}

int read_shape_arguments(shape_arguments *s, PyObject *args, int dimension)
{
    const char *kind;
    PyObject *numbers, *vertices, *given[3];
    if (!PyArg_ParseTuple(args, "sOOOOO", &kind, &numbers, &vertices, &given[0], &given[1],
                          &given[2]))
        return -1;
    if (read_shape_description(&s->described, kind, numbers, vertices, dimension) < 0) return -1;
    if (!(s->place[0] = int64_array(given[0], "body"))) return -1;
    if (!(s->place[1] = double_array(given[1], "position"))) return -1;
    if (!(s->place[2] = double_array(given[2], "orientation"))) return -1;
    s->count = PyArray_DIM(s->described.numbers, 0);
    s->shape = shapes_of(&s->described, s->place, dimension);
    return s->shape ? 0 : -1;
}

void shape_arguments_clear(shape_arguments *s)
{
    cs_release(s->shape);
    shape_description_clear(&s->described);
    for (int i = 0; i < 3; i++) Py_CLEAR(s->place[i]);
}
