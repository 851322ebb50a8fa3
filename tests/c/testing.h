/* Macros of the C tests. A failed check is printed and counted, and the program goes on; `main`
 * returns test_result(), which is zero when every check has passed. */
#ifndef TESTING_H
#define TESTING_H

#include "contactsolve.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

static int test_failures, test_checks;

static inline void test_record(int passed, const char *file, int line, const char *text)
{
    test_checks++;
    if (passed) return;
    test_failures++;
    fprintf(stderr, "%s:%d: %s\n", file, line, text);
}

static inline void test_near(double value, double expected, double tolerance, const char *file,
                             int line, const char *text)
{
    test_record(fabs(value - expected) <= tolerance, file, line, text); /* false for a NaN */
    if (!(fabs(value - expected) <= tolerance))
        fprintf(stderr, "    is %.17g, not %.17g to within %g\n", value, expected, tolerance);
}

/* The largest of |values - expected| must be within `tolerance`. */
static inline void test_all_near(int64_t count, const double *values, const double *expected,
                                 double tolerance, const char *file, int line, const char *text)
{
    int64_t worst = 0;
    for (int64_t i = 0; i < count; i++)
        if (!(fabs(values[i] - expected[i]) <= fabs(values[worst] - expected[worst]))) worst = i;
    if (count == 0) return;
    test_near(values[worst], expected[worst], tolerance, file, line, text);
    if (!(fabs(values[worst] - expected[worst]) <= tolerance))
        fprintf(stderr, "    at place %lld\n", (long long)worst);
}

static inline void test_status(cs_status status, cs_status wanted, const cs_error *error,
                               const char *file, int line, const char *text)
{
    test_record(status == wanted, file, line, text);
    if (status != wanted)
        fprintf(stderr, "    gives '%s' (%s), not '%s'\n", cs_status_text(status),
                status && error ? error->message : "", cs_status_text(wanted));
}

#define CHECK(condition) test_record((condition) != 0, __FILE__, __LINE__, #condition)
#define CHECK_NEAR(value, expected, tolerance) \
    test_near(value, expected, tolerance, __FILE__, __LINE__, #value)
#define CHECK_ALL_NEAR(count, values, expected, tolerance) \
    test_all_near(count, values, expected, tolerance, __FILE__, __LINE__, #values)
#define CHECK_STATUS(call, wanted, error) \
    test_status(call, wanted, error, __FILE__, __LINE__, #call)

/* Numbers in [-1, 1) that are the same on every machine. */
static inline double test_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(*state >> 11) / (double)(INT64_C(1) << 52) - 1;
}

static inline int test_result(void)
{
    printf("%d checks, %d failed\n", test_checks, test_failures);
    return test_failures != 0 || test_checks == 0;
}

#endif
