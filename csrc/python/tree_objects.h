/* _core.Tree, and the list of its rules. */
#ifndef CS_PYTHON_TREE_OBJECTS_H
#define CS_PYTHON_TREE_OBJECTS_H

#include "python/core.h"

extern PyType_Spec tree_spec;

/* split_rules() -> {name: summary} */
PyObject *core_split_rules(PyObject *module, PyObject *unused);

#endif
