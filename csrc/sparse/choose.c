/* M="auto": block SSOR or multigrid, by the iterations that block SSOR is expected to need.
 *
 * A step of cloth has the matrix M + h D + h^2 K. Translations are multiplied by the masses alone, which are the sums of the
 * rows: their part rho of the diagonal tells how far the smallest eigenvalues are from zero. Where K alone would be better
 * conditioned than that, as in a small or a fixed sheet, the number of vertices along the sheet counts. */
#include "sparse/preconditioner.h"

#include "core/costs.h"

#include <math.h>
#include <stdlib.h>

/* The conditioning of a sheet without masses: so much over the number of vertices. Fitted, as is the constant below, to
 * iterations of cloth_solves.csv. */
#define SHEET 0.46
#define PER_ROOT 0.8

enum { MOST_SAMPLES = 1001 };

/* sum (vertices) <- the traces of the sums of rows of blocks. */
static void sum_rows(const cs_block_system *A, double *sum)
{
    for (int64_t i = 0; i < A->vertices; i++) {
        for (int64_t e = A->local.start[i]; e < A->local.start[i + 1]; e++) {
            double trace = cs_block_system_trace(A, &A->local, e);
            sum[i] += trace;
            if (A->local.column[e] != i) sum[A->local.column[e]] += trace;
        }
        for (int64_t e = A->outer.start[i]; e < A->outer.start[i + 1]; e++)
            sum[i] += cs_block_system_trace(A, &A->outer, e);
    }
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The median of sum / diagonal, of a sample of the rows that are coupled with others; 1 if there are none. */
static double median_share(const cs_block_system *A, const double *sum)
{
    double sample[MOST_SAMPLES];
    int64_t count = 0, stride = A->vertices / MOST_SAMPLES + 1;
    for (int64_t i = 0; i < A->vertices; i += stride) {
        double own = cs_block_system_trace(A, &A->local, A->local.start[i]);
        if (own > 0 && sum[i] < (1 - 1e-9) * own) sample[count++] = fmax(sum[i], 0) / own;
    }
    qsort(sample, (size_t)count, sizeof *sample, compare);
    return count ? sample[count / 2] : 1;
}

/* Expected iterations of block SSOR until the residual is smaller by this factor.  Saad 2003, eq. 6.128 */
static double expected_iterations(const cs_block_system *A, double factor, const double *sum)
{
    double share = median_share(A, sum) + SHEET / (double)A->vertices;
    double digits = log(2 / fmin(fmax(factor, 1e-16), 1));
    return share < 1 ? PER_ROOT * digits / 2 / sqrt(share) : 1;
}

cs_status cs_preconditioner_choose(const cs_block_system *A, double factor, int keeps,
                                   const cs_preconditioner_kind **kind, cs_error *error)
{
    cs_arena scratch = {0};
    double *sum = cs_arena_take(&scratch, A->vertices, sizeof *sum);
    cs_status status = cs_arena_status(&scratch, error, "sums of rows");
    if (!status) {
        sum_rows(A, sum);
        double limit = keeps ? CS_COST_MULTIGRID_KEPT : CS_COST_MULTIGRID_NEW;
        int slow = A->vertices && expected_iterations(A, factor, sum) > limit;
        *kind = cs_preconditioner_find(slow ? "multigrid" : "block_ssor");
    }
    cs_arena_clear(&scratch);
    return status;
}
