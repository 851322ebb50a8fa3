/* Compiles CS_TEMPLATE, a file of functions over `real`, once for float and once for double:
 *
 *     #define CS_TEMPLATE "scheme/matrix.inc"
 *     #include "core/each_precision.h"
 *
 * In the template, T(name) becomes name_f32 or name_f64. If CS_MIXED_TOO is defined before the #include, the
 * template is also compiled a third time, for sweeps that store large read-only arrays in float and compute in
 * double:
 *
 *     T(name)    name_f32   name_f64   name_mixed
 *     real       float      double     double      impulses, velocities, b
 *     stored     float      double     float       large arrays that sweeps only read: factors, rows of A, R
 *     N(name)    name_f32   name_f64   name_f64    functions over `real` alone, which other files compile
 *     CS_DTYPE   CS_F32     CS_F64     CS_MIXED
 *
 * To compile one precision only, define CS_ONLY_F32, CS_ONLY_F64 or CS_ONLY_MIXED before.
 *
 * This header has no include guard, because a file may include it several times. */
#include "core/compiler.h"

#if !defined(CS_ONLY_F32) && !defined(CS_ONLY_F64) && !defined(CS_ONLY_MIXED)
#define CS_EVERY_PRECISION
#endif
#if defined(CS_ONLY_MIXED)
#define CS_MIXED_TOO
#endif

/* float */
#if defined(CS_EVERY_PRECISION) || defined(CS_ONLY_F32)
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
#endif

/* double */
#define real double
#define CS_REAL_IS_DOUBLE 1
#define N(name) CS_CAT(name, _f64)
#if defined(CS_EVERY_PRECISION) || defined(CS_ONLY_F64)
#define stored double
#define CS_STORED_IS_DOUBLE 1
#define CS_DTYPE CS_F64
#define T(name) CS_CAT(name, _f64)
#include CS_TEMPLATE
#undef stored
#undef CS_STORED_IS_DOUBLE
#undef CS_DTYPE
#undef T
#endif

/* Mixed precision: `real`, CS_REAL_IS_DOUBLE and N are still those of double. */
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
#undef CS_EVERY_PRECISION
#undef CS_ONLY_F32
#undef CS_ONLY_F64
#undef CS_ONLY_MIXED
