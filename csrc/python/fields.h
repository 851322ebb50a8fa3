/* C structs from dictionaries and back, by the names of their members. */
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

typedef struct field {
    const char *name;
    field_kind kind;
    size_t at;
} field;

#define FIELD(type, member, kind)                     \
    {                                                 \
#member, FIELD_##kind, offsetof(type, member) \
    }

/* Fills the members that a dictionary names; others stay. A name that is no field is left to the
 * caller where `others` is not NULL: it gets how many there are. -1 with an error set. */
int read_fields(PyObject *dictionary, const field *fields, int count, void *target, int *others);

/* Adds the members to a dictionary. -1 with an error set. */
int write_fields(PyObject *dictionary, const field *fields, int count, const void *source);

/* A new dictionary of the members. */
PyObject *dictionary_of(const field *fields, int count, const void *source);

/* Adds one item, a new reference that may be NULL and is let go of. -1 with an error set. */
int add_item(PyObject *dictionary, const char *name, PyObject *value);

#endif
