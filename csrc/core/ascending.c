#include "core/ascending.h"

#include <stdlib.h>

/* Rows of matrices and of meshes are mostly short, and for those insertion is faster than qsort. */
enum { FEW = 32 };

#define number int64_t
#define NAME(name) name##_64
#include "core/ascending.inc"
#undef number
#undef NAME

#define number int32_t
#define NAME(name) name##_32
#include "core/ascending.inc"
