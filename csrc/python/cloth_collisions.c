/* Collisions of _core.Cloth. */
#include "core/error.h"
#include "python/cloth_objects.h"

#include <string.h>

/* ---- what collides ----------------------------------------------------------------------------------- */

/* collide(numbers (thickness, mu, push), counts (stop_after, iterations, zones, has_self, is_allowed, is_problem, k), rule) */
PyObject *cloth_collide(cloth_object *self, PyObject *args)
{
    PyObject *numbers, *counts;
    const char *rule;
    cs_error error = {0};
    if (!PyArg_ParseTuple(args, "OOs:collide", &numbers, &counts, &rule)) return NULL;
    PyArrayObject *number = double_array(numbers, "numbers"), *count = NULL;
    if (number && (count = int64_array(counts, "counts")) && cloth_begin(self) == 0) {
        const double *x = PyArray_DATA(number);
        const int64_t *n = PyArray_DATA(count);
        const cs_collision_options options = {.thickness = x[0],
                                              .mu = x[1],
                                              .push = x[2],
                                              .stop_after = n[0],
                                              .iterations = n[1],
                                              .zones = n[2],
                                              .has_self = n[3] != 0,
                                              .is_allowed = n[4] != 0,
                                              .is_problem = n[5] != 0,
                                              .k = (int)n[6],
                                              .rule = cs_split_rule_find(rule)};
        if (cs_cloth_collide(&self->cloth, &options, &error)) raise_error(&error);
        cloth_end(self);
    }
    Py_XDECREF(number);
    Py_XDECREF(count);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* add_obstacle(vertices, faces) */
PyObject *cloth_add_obstacle(cloth_object *self, PyObject *args)
{
    PyObject *vertices, *faces;
    cs_error error = {0};
    if (!PyArg_ParseTuple(args, "OO:add_obstacle", &vertices, &faces)) return NULL;
    PyArrayObject *x = double_array(vertices, "vertices"), *face = NULL;
    if (x && (face = int64_array(faces, "faces")) && cloth_begin(self) == 0) {
        if (cs_collisions_add(&self->cloth.collisions, PyArray_SIZE(x) / 3, PyArray_DATA(x),
                              PyArray_DATA(face), PyArray_SIZE(face) / 3, &error))
            raise_error(&error);
        cloth_end(self);
    }
    Py_XDECREF(x);
    Py_XDECREF(face);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* move_obstacle(number, vertices, at_once): the caller has checked the number and the shape. */
PyObject *cloth_move_obstacle(cloth_object *self, PyObject *args)
{
    long long number;
    int at_once;
    PyObject *vertices;
    if (!PyArg_ParseTuple(args, "LOp:move_obstacle", &number, &vertices, &at_once)) return NULL;
    PyArrayObject *x = double_array(vertices, "vertices");
    if (x && cloth_begin(self) == 0) {
        cs_collisions *c = &self->cloth.collisions;
        if (at_once) cs_collisions_place(c, number, PyArray_DATA(x));
        else cs_collisions_move(c, number, PyArray_DATA(x));
        cloth_end(self);
    }
    Py_XDECREF(x);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* obstacle(number) -> its positions */
PyObject *cloth_obstacle(cloth_object *self, PyObject *number)
{
    long long n = PyLong_AsLongLong(number);
    if (PyErr_Occurred() || cloth_begin(self) < 0) return NULL;
    const cs_collisions *c = &self->cloth.collisions;
    const cs_obstacle *o = &c->obstacle[n];
    PyObject *answer =
        copied_array(c->start + 3 * o->first, NPY_DOUBLE, o->vertices, 3, sizeof(double));
    cloth_end(self);
    return answer;
}

/* check(positions, threads): raises for intersections. */
PyObject *cloth_check(cloth_object *self, PyObject *args)
{
    PyObject *positions;
    long long threads;
    cs_error error = {0};
    if (!PyArg_ParseTuple(args, "OL:check", &positions, &threads)) return NULL;
    PyArrayObject *x = double_array(positions, "positions");
    if (x && cloth_begin(self) == 0) {
        int count = cloth_threads(self, threads);
        cs_status status;
        Py_BEGIN_ALLOW_THREADS
        status = cs_collisions_check(&self->cloth.collisions, PyArray_DATA(x), count, &error);
        Py_END_ALLOW_THREADS
        if (status) raise_error(&error);
        cloth_end(self);
    }
    Py_XDECREF(x);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* ---- contacts ------------------------------------------------------------------------------------------ */

/* Arrays of all contacts. */
enum { VERTICES, WEIGHTS, NORMALS, GAPS, BOUNDS, IMPULSES, RATES, IS_IMPACT, ARRAYS };

static void copy_contact(PyObject *const *array, int64_t i, const cs_contact *contact)
{
    char *to[ARRAYS];
    for (int k = 0; k < ARRAYS; k++) to[k] = PyArray_DATA((PyArrayObject *)array[k]);
    memcpy((int64_t *)(void *)to[VERTICES] + 4 * i, contact->vertex, sizeof contact->vertex);
    memcpy((double *)(void *)to[WEIGHTS] + 4 * i, contact->weight, sizeof contact->weight);
    memcpy((double *)(void *)to[NORMALS] + 3 * i, contact->normal, sizeof contact->normal);
    memcpy((double *)(void *)to[IMPULSES] + 3 * i, contact->impulse, sizeof contact->impulse);
    memcpy((double *)(void *)to[RATES] + 3 * i, contact->rate, sizeof contact->rate);
    ((double *)(void *)to[GAPS])[i] = contact->gap;
    ((double *)(void *)to[BOUNDS])[i] = contact->bound;
    ((npy_bool *)to[IS_IMPACT])[i] = contact->is_impact != 0;
}

/* contacts(is_present) -> those of the last step that was made, or of the one that was predicted: (vertices (K, 4), weights (K, 4), normals (K, 3), gaps (K), bounds (K), impulses (K, 3), rates (K, 3), is_impact
 * (K)); rates: relative velocities. */
PyObject *cloth_contacts(cloth_object *self, PyObject *is_present)
{
    static const int columns[ARRAYS] = {4, 4, 3, 0, 0, 3, 3, 0};
    static const int types[ARRAYS] = {NPY_INT64,  NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE,
                                      NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE, NPY_BOOL};
    int present = PyObject_IsTrue(is_present);
    if (present < 0 || cloth_begin(self) < 0) return NULL;
    const cs_collisions *c = &self->cloth.collisions;
    const int64_t count = present ? c->contacts : c->last;
    cs_contact *contact = present ? c->contact.data : c->last_contact.data;
    for (int64_t i = 0; present && i < count; i++) cs_contact_rate(c, &contact[i], contact[i].rate);
    PyObject *answer = PyTuple_New(ARRAYS), *array[ARRAYS];
    for (int k = 0; answer && k < ARRAYS; k++) {
        npy_intp shape[2] = {(npy_intp)count, columns[k]};
        array[k] = PyArray_SimpleNew(columns[k] ? 2 : 1, shape, types[k]);
        if (!array[k]) Py_CLEAR(answer);
        else PyTuple_SET_ITEM(answer, k, array[k]);
    }
    for (int64_t i = 0; answer && i < count; i++) copy_contact(array, i, &contact[i]);
    cloth_end(self);
    return answer;
}

/* set_impulses(impulses (K, 3)): of the contacts that `predict` has found. */
PyObject *cloth_set_impulses(cloth_object *self, PyObject *impulses)
{
    PyArrayObject *impulse = double_array(impulses, "impulses");
    if (impulse && cloth_begin(self) == 0) {
        cs_collisions *c = &self->cloth.collisions;
        if (PyArray_SIZE(impulse) == 3 * c->contacts) {
            cs_give_impulses(c, PyArray_DATA(impulse));
            c->is_solved = 1;
        } else PyErr_SetString(PyExc_ValueError, "impulses: one for each contact is needed");
        cloth_end(self);
    }
    Py_XDECREF(impulse);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* former_contacts() -> (keys (N), forces (N, 3), counts (2)): what the next step begins from, of vertices with faces and of edges. */
PyObject *cloth_former_contacts(cloth_object *self, PyObject *unused)
{
    (void)unused;
    if (cloth_begin(self) < 0) return NULL;
    const cs_collisions *c = &self->cloth.collisions;
    int64_t count = c->formers[0] + c->formers[1], n = 0;
    npy_intp size = (npy_intp)count;
    PyObject *keys = PyArray_SimpleNew(1, &size, NPY_UINT64);
    PyObject *forces = copied_array(NULL, NPY_DOUBLE, count, 3, sizeof(double));
    for (int kind = 0; keys && forces && kind < CS_STENCIL_KINDS; kind++) {
        const cs_former *former = c->former[kind].data;
        for (int64_t i = 0; i < c->formers[kind]; i++, n++) {
            double *to = (double *)PyArray_DATA((PyArrayObject *)forces) + 3 * n;
            ((uint64_t *)PyArray_DATA((PyArrayObject *)keys))[n] = former[i].key;
            memcpy(to, former[i].force, sizeof former[i].force);
        }
    }
    PyObject *counts = new_integers(c->formers, CS_STENCIL_KINDS);
    cloth_end(self);
    if (keys && forces && counts) return Py_BuildValue("(NNN)", keys, forces, counts);
    Py_XDECREF(keys);
    Py_XDECREF(forces);
    Py_XDECREF(counts);
    return NULL;
}

/* Takes them back; counts[0] + counts[1] = keys. */
static int take_formers(cs_collisions *c, const uint64_t *key, const double *force,
                        const int64_t *counts)
{
    for (int kind = 0; kind < CS_STENCIL_KINDS; kind++) {
        cs_former *to = cs_buffer_room(&c->former[kind], counts[kind], sizeof *to);
        if (!to) return -1;
        for (int64_t i = 0; i < counts[kind]; i++, key++, force += 3)
            to[i] = (cs_former){*key, {force[0], force[1], force[2]}};
        c->formers[kind] = counts[kind];
    }
    return 0;
}

/* set_former_contacts(keys, forces, counts): as former_contacts has told them. */
PyObject *cloth_set_former_contacts(cloth_object *self, PyObject *args)
{
    PyObject *keys, *forces, *counts;
    if (!PyArg_ParseTuple(args, "OOO:set_former_contacts", &keys, &forces, &counts)) return NULL;
    PyArrayObject *force = double_array(forces, "forces"), *count = NULL, *key = NULL;
    if (!force || !(count = int64_array(counts, "counts"))) goto out;
    key = (PyArrayObject *)PyArray_FROM_OTF(keys, NPY_UINT64, NPY_ARRAY_IN_ARRAY);
    if (!key) goto out;
    const int64_t *n = PyArray_DATA(count);
    int fits = PyArray_SIZE(count) == 2 && n[0] >= 0 && n[1] >= 0 &&
               n[0] + n[1] == PyArray_SIZE(key) && PyArray_SIZE(force) == 3 * PyArray_SIZE(key);
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "forces of contacts: their numbers do not fit");
    } else if (cloth_begin(self) == 0) {
        if (take_formers(&self->cloth.collisions, PyArray_DATA(key), PyArray_DATA(force), n) < 0)
            PyErr_NoMemory();
        cloth_end(self);
    }
out:
    Py_XDECREF(force);
    Py_XDECREF(count);
    Py_XDECREF(key);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* ---- the report ------------------------------------------------------------------------------------------ */

static PyObject *obstacle_impulses(const cs_collisions *c)
{
    PyObject *answer = copied_array(NULL, NPY_DOUBLE, c->obstacles, 3, sizeof(double));
    for (int64_t n = 0; answer && n < c->obstacles; n++)
        memcpy((double *)PyArray_DATA((PyArrayObject *)answer) + 3 * n, c->obstacle[n].given,
               sizeof c->obstacle[n].given);
    return answer;
}

PyObject *cloth_collision_report(const cs_cloth *cloth)
{
    const cs_collision_report *r = &cloth->collisions.report;
    PyObject *impulses = obstacle_impulses(&cloth->collisions);
    if (!impulses) return NULL;
    return Py_BuildValue(
        "{s:O,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:d,s:d,s:d,s:d,s:d,s:d,s:N}", "free",
        r->is_free ? Py_True : Py_False, "steps_refused", (long long)cloth->refused, "candidates",
        (long long)r->candidates, "contacts", (long long)r->contacts, "impacts",
        (long long)r->impacts, "sweeps", (long long)r->sweeps, "passes", (long long)r->passes,
        "queries", (long long)r->queries, "zones", (long long)r->zones, "zone_vertices",
        (long long)r->zone_vertices, "touching", (long long)r->touching, "obstacle_moved", r->moved,
        "numerics_seconds", cloth->report.seconds, "candidate_seconds", r->candidate_seconds,
        "narrow_seconds", r->narrow_seconds, "response_seconds", r->response_seconds,
        "certificate_seconds", r->certificate_seconds, "obstacle_impulses", impulses);
}
