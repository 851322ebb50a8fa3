/* Compiles CS_TEMPLATE, a file of bodies over `real`, for float and then for double:
 *
 *     #define CS_TEMPLATE "scheme/matrix.inc"
 *     #include "core/both.h"
 *
 * Inside, T(name) becomes name_f32 or name_f64. Deliberately without an include guard. */
#include "core/compiler.h"

#define real float
#define CS_REAL_IS_DOUBLE 0
#define T(name) CS_CAT(name, _f32)
#include CS_TEMPLATE
#undef real
#undef CS_REAL_IS_DOUBLE
#undef T

#define real double
#define CS_REAL_IS_DOUBLE 1
#define T(name) CS_CAT(name, _f64)
#include CS_TEMPLATE
#undef real
#undef CS_REAL_IS_DOUBLE
#undef T

#undef CS_TEMPLATE
