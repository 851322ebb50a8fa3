/* Anderson acceleration, type II, with the inner product weighted by 1 / rho.  Anderson 1965; Walker and Ni
 * 2011 */
#include "methods/pivoting/renewal.h"

#include "linalg/small.h"

#include <math.h>

/* The smallest weight of new impulses; its growth when the measure was halved. */
#define LEAST_WEIGHT 0.0625
#define WEIGHT_GROWTH 1.2

/* Solves without a halved measure before the mode changes: while impulses are taken as found, while they
 * are combined, and at the smallest weight. */
enum { PLAIN_PATIENCE = 3, PATIENCE = 10, DAMPED_PATIENCE = 40 };

cs_renewal *cs_renewal_take(int64_t count, cs_arena *arena)
{
    cs_renewal *own = cs_arena_take(arena, 1, sizeof *own);
    if (!own) return NULL;
    double **vectors[] = {&own->step, &own->image, &own->step_before, &own->image_before};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = cs_arena_take(arena, count, sizeof(double));
    for (int j = 0; j < CS_RENEWAL_DEPTH; j++) {
        own->step_change[j] = cs_arena_take(arena, count, sizeof(double));
        own->image_change[j] = cs_arena_take(arena, count, sizeof(double));
    }
    own->row = cs_arena_take(arena, count, sizeof(int64_t));
    own->count = count;
    return cs_arena_failed(arena) ? NULL : own;
}

/* Clears the history of differences. */
static void forget(cs_renewal *own) { own->seen = own->begun = 0; }

void cs_renewal_begin(cs_renewal *own)
{
    own->weight = 1;
    own->best = INFINITY;
    own->since = own->combines = 0;
    forget(own);
}

/* The inner product of x and y (count), weighted by 1 / rho; contacts with rho = 0 are left out. */
static double product(const cs_renewal *own, const double *rho, const double *x, const double *y)
{
    double sum = 0;
    for (int64_t i = 0; i < own->count; i++) {
        double scale = rho[own->row[i]];
        if (scale > 0) sum += x[i] * y[i] / scale;
    }
    return sum;
}

/* Adds the differences between the last two solves, replacing the oldest ones, and their row of the Gram
 * matrix. Returns how many differences there are. */
static int add_differences(cs_renewal *own, const double *rho)
{
    int newest = (int)(own->seen++ % CS_RENEWAL_DEPTH);
    int count = own->seen < CS_RENEWAL_DEPTH ? (int)own->seen : CS_RENEWAL_DEPTH;

    /* The differences. */
    double *change = own->step_change[newest];
    for (int64_t i = 0; i < own->count; i++) {
        change[i] = own->step[i] - own->step_before[i];
        own->image_change[newest][i] = own->image[i] - own->image_before[i];
    }

    /* Their inner products. */
    for (int j = 0; j < count; j++)
        own->gram[newest][j] = own->gram[j][newest] =
            product(own, rho, change, own->step_change[j]);
    return count;
}

/* Whether the weight is the smallest one. */
static int is_damped(const cs_renewal *own) { return own->weight <= LEAST_WEIGHT; }

/* Adapts the weight and the mode. If the measure was halved, the weight may grow. If it has not been halved
 * for too long, the weight is halved (from the smallest one it returns to 1), combination begins, and the
 * history of an earlier combination is cleared. */
static void judge(cs_renewal *own, double measure)
{
    int patience = !own->combines ? PLAIN_PATIENCE : is_damped(own) ? DAMPED_PATIENCE : PATIENCE;
    own->since++;

    /* If the measure was halved, go on; if not for too long, change the weight or the mode. */
    if (measure < own->best / 2) {
        own->best = measure;
        own->since = 0;
        if (own->combines) own->weight = fmin(1, own->weight * WEIGHT_GROWTH);
    } else if (own->since >= patience) {
        own->since = 0;
        own->weight = is_damped(own) ? 1 : fmax(own->weight / 2, LEAST_WEIGHT);
        if (own->combines) forget(own);
        own->combines = 1;
    }
}

void cs_renewal_next(cs_renewal *own, const double *rho, const double *lambda, double measure,
                     double *normal)
{
    double gamma[CS_RENEWAL_DEPTH];

    /* The impulses found, and the step to them. */
    for (int64_t i = 0; i < own->count; i++) {
        own->image[i] = fmax(lambda[own->row[i]], 0);
        own->step[i] = own->image[i] - normal[own->row[i]];
    }
    judge(own, measure);

    /* Minimize the norm of step - sum_j gamma_j step_change_j. */
    int count = own->begun ? add_differences(own, rho) : 0;
    for (int j = 0; j < count; j++) gamma[j] = product(own, rho, own->step, own->step_change[j]);
    if (count) cs_solve_gram(count, own->gram[0], CS_RENEWAL_DEPTH, gamma);

    /* Without combination, or at full damping, take the impulses just found. */
    if (!own->combines || is_damped(own)) count = 0;

    /* Combine, and damp: n <- image - (1 - weight) step. */
    for (int64_t i = 0; i < own->count; i++) {
        double image = own->image[i], step = own->step[i];
        for (int j = 0; j < count; j++) {
            image -= gamma[j] * own->image_change[j][i];
            step -= gamma[j] * own->step_change[j][i];
        }
        own->image_before[i] = own->image[i];
        own->step_before[i] = own->step[i];
        normal[own->row[i]] = fmax(image - (1 - own->weight) * step, 0);
    }
    own->begun = 1;
}
