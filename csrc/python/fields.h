/* Reads C structs from Python dictionaries and writes them, by the names of their members. */
#ifndef CS_PYTHON_FIELDS_H
#define CS_PYTHON_FIELDS_H

#include "python/core.h"

#include <stddef.h>

typedef enum field_kind {
    FIELD_INT,
    FIELD_FLAG, /* an int that is 0 or 1 */
    FIELD_INT64,
    FIELD_UINT64,
    FIELD_DOUBLE,
    FIELD_TEXT, /* borrowed from the dictionary; None is NULL */
} field_kind;

/* A member of a struct: its name, kind and offset. */
typedef struct field {
    const char *name;
    field_kind kind;
    size_t at;
} field;

/* The field for a member of a struct type. */
#define FIELD(type, member, kind)                     \
    {                                                 \
#member, FIELD_##kind, offsetof(type, member) \
    }

/* Sets the members that a dictionary names; others stay as they are. `others` <- the number of names that
 * are no fields; if it is NULL, such a name is an error. Returns -1 with an error set. */
int read_fields(PyObject *dictionary, const field *fields, int count, void *target, int *others);

/* Adds the members to a dictionary. Returns -1 with an error set. */
int write_fields(PyObject *dictionary, const field *fields, int count, const void *source);

/* A new dictionary of the members; NULL with an error set. */
PyObject *dictionary_of(const field *fields, int count, const void *source);

/* Adds one item. `value` is a new reference, which is released, or NULL. Returns -1 with an error set. */
int add_item(PyObject *dictionary, const char *name, PyObject *value);

#endif
