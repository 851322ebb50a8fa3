/* Compiles CS_TEMPLATE, a file of bodies over `real`, for float and then for double:
 *
 *     #define CS_TEMPLATE "scheme/matrix.inc"
 *     #include "core/both.h"
 *
 * Inside, T(name) becomes name_f32 or name_f64. With CS_MIXED_TOO defined before, a third time for
 * sweeps that keep their bulk in float and compute in double:
 *
 *     T(name)    name_f32   name_f64   name_mixed
 *     real       float      double     double      impulses, velocities, b
 *     stored     float      double     float       factors, rows of A, steps: what is only read
 *     N(name)    name_f32   name_f64   name_f64    functions of `real` alone, compiled elsewhere
 *     CS_DTYPE   CS_F32     CS_F64     CS_MIXED
 *
 * Deliberately without an include guard. */
#include "core/compiler.h"

#define real float
#define stored float
#define CS_REAL_IS_DOUBLE 0
#define CS_STORED_IS_DOUBLE 0
#define CS_DTYPE CS_F32
#define T(name) CS_CAT(name, _f32)
#define N(name) CS_CAT(name, _f32)
#include CS_TEMPLATE
#undef real
#undef stored
#undef CS_REAL_IS_DOUBLE
#undef CS_STORED_IS_DOUBLE
#undef CS_DTYPE
#undef T
#undef N

#define real double
#define stored double
#define CS_REAL_IS_DOUBLE 1
#define CS_STORED_IS_DOUBLE 1
#define CS_DTYPE CS_F64
#define T(name) CS_CAT(name, _f64)
#define N(name) CS_CAT(name, _f64)
#include CS_TEMPLATE
#undef stored
#undef CS_STORED_IS_DOUBLE
#undef CS_DTYPE
#undef T

#if defined(CS_MIXED_TOO)
#define stored float
#define CS_STORED_IS_DOUBLE 0
#define CS_DTYPE CS_MIXED
#define T(name) CS_CAT(name, _mixed)
#include CS_TEMPLATE
#undef stored
#undef CS_STORED_IS_DOUBLE
#undef CS_DTYPE
#undef T
#undef CS_MIXED_TOO
#endif

#undef real
#undef CS_REAL_IS_DOUBLE
#undef N
#undef CS_TEMPLATE
