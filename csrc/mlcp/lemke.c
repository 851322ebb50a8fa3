#include "mlcp/lemke.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Entries of a column below this fraction of its largest count as zero; ratios that differ relatively by
 * less than EQUAL_RATIO count as equal. */
#define SMALL_ENTRY 1e-15
#define EQUAL_RATIO 1e-11
/* Constants up to this fraction of the largest one count as zero. A free row whose pivot is at most
 * REDUNDANT_PIVOT times its diagonal entry depends linearly on the others: z of that row does not enter. */
#define ZERO_CONSTANT 1e-14
#define REDUNDANT_PIVOT 1e-12

/* Cost of writing a number into new memory, in multiplications. */
enum { WRITE_WORK = 8 };

int cs_lemke_take(cs_lemke *lemke, int64_t rows, cs_arena *arena)
{
    lemke->rows = rows;
    lemke->matrix = cs_arena_take_unset(arena, rows * rows, sizeof(double));
    lemke->dictionary = cs_arena_take_unset(arena, rows * (rows + 2), sizeof(double));
    lemke->work = cs_arena_take_unset(arena, rows * (rows + 1), sizeof(double));
    lemke->q = cs_arena_take(arena, rows, sizeof(double));
    lemke->z = cs_arena_take(arena, rows, sizeof(double));
    lemke->basic = cs_arena_take(arena, rows, sizeof(int64_t));
    lemke->other = cs_arena_take(arena, rows + 1, sizeof(int64_t));
    lemke->list = cs_arena_take(arena, rows, sizeof(int64_t));
    lemke->wanted = cs_arena_take(arena, 2 * rows + 1, 1);
    if (cs_arena_failed(arena)) return -1;

    /* Clear the matrix row by row, so that this can be cancelled. */
    for (int64_t i = 0; i < rows; i++) {
        memset(lemke->matrix + i * rows, 0, sizeof(double) * (size_t)rows);
        if (cs_is_cancelled(lemke->cancellation, WRITE_WORK * (double)rows)) return -1;
    }
    return 0;
}

/* Row i of the dictionary: the coefficients of the nonbasic variables, and the constant. */
static double *row_of(const cs_lemke *lemke, int64_t i)
{
    return lemke->dictionary + i * (lemke->rows + 2);
}

/* Exchanges the basic variable of `row` with the nonbasic one of `column`: one pivot. */
static void exchange(cs_lemke *lemke, int64_t row, int64_t column)
{
    int64_t width = lemke->rows + 2, leaving = lemke->basic[row];
    double *pivot_row = row_of(lemke, row), pivot = pivot_row[column];

    /* Solve the row for the entering variable. */
    for (int64_t j = 0; j < width; j++) pivot_row[j] /= -pivot;
    pivot_row[column] = 1 / pivot;

    /* Substitute it into the other rows. */
    for (int64_t i = 0; i < lemke->rows; i++) {
        double *own = row_of(lemke, i), factor = own[column];
        if (i == row || factor == 0) continue;
        own[column] = 0;
        for (int64_t j = 0; j < width; j++) own[j] += factor * pivot_row[j];
    }

    /* Exchange the variables, and count the pivot. */
    lemke->basic[row] = lemke->other[column];
    lemke->other[column] = leaving;
    lemke->pivots++;
    lemke->cancelled |= cs_is_cancelled(lemke->cancellation, (double)(lemke->rows * width));
}

/* Whether a variable belongs to a free row. */
static int is_free(const cs_lemke *lemke, int64_t variable)
{
    return lemke->free && variable < 2 * lemke->rows && lemke->free[variable % lemke->rows];
}

/* Makes z_i of each free row basic for good; the free row with the largest pivot comes first. */
static void enter_free_rows(cs_lemke *lemke)
{
    int64_t n = lemke->rows;
    while (!lemke->cancelled) {
        /* The free row with the largest pivot that has not entered. */
        int64_t best = -1;
        for (int64_t i = 0; i < n; i++) {
            if (!is_free(lemke, i) || lemke->basic[i] >= n) continue;
            if (best < 0 || fabs(row_of(lemke, i)[i]) > fabs(row_of(lemke, best)[best])) best = i;
        }
        if (best < 0) return;

        /* It enters unless it depends on the others. */
        double pivot = fabs(row_of(lemke, best)[best]);
        if (!(pivot > REDUNDANT_PIVOT * fabs(lemke->matrix[best * n + best]))) return;
        exchange(lemke, best, best);
    }
}

/* Entry (row, j) of the inverse of the basis: the coefficient of the initial w_j in the row. */
static double inverse_entry(const cs_lemke *lemke, int64_t row, int64_t j, const int64_t *place)
{
    return place[j] >= 0 ? -row_of(lemke, row)[place[j]] : lemke->basic[row] == j;
}

/* Lexicographic tie-breaking: whether row a leaves before row b if `column` enters. */
static int comes_before(const cs_lemke *lemke, int64_t a, int64_t b, int64_t column,
                        const int64_t *place)
{
    double x = fabs(row_of(lemke, a)[column]), y = fabs(row_of(lemke, b)[column]);
    for (int64_t j = 0; j < lemke->rows; j++) {
        double left = inverse_entry(lemke, a, j, place) / x;
        double right = inverse_entry(lemke, b, j, place) / y;
        if (fabs(left - right) > EQUAL_RATIO * (fabs(left) + fabs(right))) return left < right;
    }
    return a < b;
}

/* The columns of the initial w_j, in lemke->list; -1: basic. */
static const int64_t *find_places(cs_lemke *lemke)
{
    int64_t n = lemke->rows, *place = lemke->list;
    for (int64_t j = 0; j < n; j++) place[j] = -1;
    for (int64_t j = 0; j <= n; j++)
        if (lemke->other[j] < n) place[lemke->other[j]] = j;
    return place;
}

/* The value of a basic variable; rounding counts as zero. */
static double constant_of(const cs_lemke *lemke, int64_t row)
{
    double constant = row_of(lemke, row)[lemke->rows + 1];
    return constant > ZERO_CONSTANT * lemke->size ? constant : 0;
}

/* Ratio test: the row that leaves if the variable of `column` grows; -1: it may grow without bound. */
static int64_t leaving_row(cs_lemke *lemke, int64_t column)
{
    int64_t n = lemke->rows, chosen = -1;
    const int64_t *place = find_places(lemke);
    double largest = 0, least = INFINITY;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(row_of(lemke, i)[column]));

    /* The least ratio. */
    for (int64_t i = 0; i < n; i++) {
        const double *own = row_of(lemke, i);
        if (is_free(lemke, lemke->basic[i]) || !(own[column] < -SMALL_ENTRY * largest)) continue;
        least = fmin(least, constant_of(lemke, i) / -own[column]);
    }

    /* Among the rows with that ratio: z0 if it is one of them, otherwise the lexicographic first. */
    for (int64_t i = 0; i < n; i++) {
        const double *own = row_of(lemke, i);
        if (is_free(lemke, lemke->basic[i]) || !(own[column] < -SMALL_ENTRY * largest)) continue;
        if (constant_of(lemke, i) / -own[column] > least * (1 + EQUAL_RATIO)) continue;
        if (lemke->basic[i] == 2 * n) return i;
        if (chosen < 0 || comes_before(lemke, i, chosen, column, place)) chosen = i;
    }
    return chosen;
}

/* The row in which z0 enters: the most negative one, lexicographically. */
static int64_t first_row(cs_lemke *lemke)
{
    int64_t n = lemke->rows, chosen = -1;
    const int64_t *place = find_places(lemke);
    double least = 0;

    /* The most negative ratio. */
    for (int64_t i = 0; i < n; i++)
        if (!is_free(lemke, lemke->basic[i]))
            least = fmin(least, row_of(lemke, i)[n + 1] / row_of(lemke, i)[n]);

    /* Among the rows with that ratio, the lexicographic first. */
    for (int64_t i = 0; i < n && least < 0; i++) {
        if (is_free(lemke, lemke->basic[i])) continue;
        if (row_of(lemke, i)[n + 1] / row_of(lemke, i)[n] > least * (1 - EQUAL_RATIO)) continue;
        if (chosen < 0 || comes_before(lemke, i, chosen, n, place)) chosen = i;
    }
    return chosen;
}

/* The column of a nonbasic variable; -1: it is basic. */
static int64_t column_of(const cs_lemke *lemke, int64_t variable)
{
    for (int64_t j = 0; j <= lemke->rows; j++)
        if (lemke->other[j] == variable) return j;
    return -1;
}

/* The coefficient of z0 in row i: 1 in the first attempt, a pseudo-random number from 1 to 2 in later
 * ones. In the attempt that starts with all z basic, it becomes 1 once they are. */
static double cover(const cs_lemke *lemke, int64_t i)
{
    const double *own = lemke->matrix + i * lemke->rows;
    uint64_t mixed = (uint64_t)(i + 1) * 0x9e3779b97f4a7c15u * (uint64_t)lemke->attempt;
    double sum = 0;
    if (lemke->attempt != CS_LEMKE_FROM_ALL)
        return is_free(lemke, i) ? 0 : 1 + (double)(mixed >> 11) * 0x1p-53;

    /* Minus the sum of the row, which becomes 1 once all z are basic. */
    for (int64_t j = 0; j < lemke->rows; j++)
        if (!is_free(lemke, j)) sum -= own[j];
    return sum;
}

/* The initial dictionary, with all w basic. z0 enters the rows that are not free. */
static void write_first(cs_lemke *lemke)
{
    int64_t n = lemke->rows;
    for (int64_t i = 0; i < n; i++) {
        double *own = row_of(lemke, i);
        memcpy(own, lemke->matrix + i * n, sizeof(double) * (size_t)n);
        own[n] = cover(lemke, i);
        own[n + 1] = lemke->q[i];
        lemke->basic[i] = i;
        lemke->other[i] = n + i;
        lemke->cancelled |= cs_is_cancelled(lemke->cancellation, WRITE_WORK * (double)n);
    }
    lemke->other[n] = 2 * n;
}

/* The row with the largest entry in a column, among those whose variable shall leave; -1: none. */
static int64_t best_row(const cs_lemke *lemke, int64_t column)
{
    double largest = 0;
    int64_t best = -1;
    for (int64_t i = 0; i < lemke->rows; i++) {
        double entry = fabs(row_of(lemke, i)[column]);
        if (lemke->wanted[lemke->basic[i]] || !(entry > largest)) continue;
        largest = entry;
        best = i;
    }
    return best;
}

/* Computes the dictionary of the basis in lemke->wanted from the initial one. Returns 0 if a variable
 * finds no pivot: the basis is singular to rounding. */
static int take_basis(cs_lemke *lemke)
{
    int64_t pivots = lemke->pivots;
    int complete = 1;

    /* Exchange the wanted variables into the initial basis. */
    write_first(lemke);
    for (int64_t j = 0; j <= lemke->rows && !lemke->cancelled; j++) {
        if (!lemke->wanted[lemke->other[j]]) continue;
        int64_t row = best_row(lemke, j);
        if (row >= 0) exchange(lemke, row, j);
        else complete = 0;
    }

    /* These exchanges do not count as pivots. */
    lemke->pivots = pivots;
    lemke->age = 0;
    return complete;
}

/* Recomputes the dictionary of the current basis, which removes the errors of many pivots. */
static int rebuild(cs_lemke *lemke)
{
    memset(lemke->wanted, 0, (size_t)(2 * lemke->rows + 1));
    for (int64_t i = 0; i < lemke->rows; i++) lemke->wanted[lemke->basic[i]] = 1;
    return take_basis(lemke);
}

void cs_lemke_begin(cs_lemke *lemke, int attempt)
{
    lemke->attempt = attempt;
    lemke->pivots = lemke->age = 0;
    lemke->left = -1;
    lemke->cancelled = 0;
    lemke->size = 0;
    for (int64_t i = 0; i < lemke->rows; i++) lemke->size = fmax(lemke->size, fabs(lemke->q[i]));
    lemke->lost = 0;

    /* Start with all z basic, or with all w basic and the free rows entered. */
    if (attempt == CS_LEMKE_FROM_ALL) {
        memset(lemke->wanted, 0, (size_t)(2 * lemke->rows + 1));
        for (int64_t i = 0; i < lemke->rows; i++) lemke->wanted[lemke->rows + i] = 1;
        lemke->lost = !take_basis(lemke);
        return;
    }
    write_first(lemke);
    enter_free_rows(lemke);
}

/* Rebuilds the dictionary before a pivot; returns 0 if that fails, and `end` <- why. */
static int is_rebuilt(cs_lemke *lemke, cs_lemke_end *end)
{
    int complete = rebuild(lemke);
    *end = lemke->cancelled ? CS_LEMKE_CANCELLED : CS_LEMKE_LOST;
    return complete && !lemke->cancelled;
}

int cs_lemke_pivot(cs_lemke *lemke, cs_lemke_end *end)
{
    int64_t n = lemke->rows, row, column = n;
    *end = CS_LEMKE_LOST;
    if (lemke->lost && !lemke->cancelled) return 1;

    /* Rebuild a dictionary that has accumulated rounding errors. */
    *end = CS_LEMKE_CANCELLED;
    int old = lemke->age++ == CS_LEMKE_REBUILD + n / CS_LEMKE_REBUILD_ROWS;
    if (lemke->cancelled || (old && !is_rebuilt(lemke, end))) return 1;

    /* z0 enters first; afterwards the complement of the variable that left. */
    if (lemke->left < 0) {
        row = first_row(lemke);
        *end = CS_LEMKE_SOLVED;
    } else {
        int64_t enters = lemke->left < n ? lemke->left + n : lemke->left - n;
        column = column_of(lemke, enters);
        row = column < 0 ? -1 : leaving_row(lemke, column);
        if (row < 0 && lemke->age > 1) { /* a ray, or rounding errors that look like one */
            if (!is_rebuilt(lemke, end)) return 1;
            column = column_of(lemke, enters);
            row = column < 0 ? -1 : leaving_row(lemke, column);
        }
        lemke->ray = column;
        *end = column < 0 ? CS_LEMKE_LOST : CS_LEMKE_RAY;
    }
    if (row < 0) return 1;

    lemke->left = lemke->basic[row];
    exchange(lemke, row, column);
    *end = CS_LEMKE_SOLVED;
    return lemke->left == 2 * n;
}

void cs_lemke_ray(cs_lemke *lemke)
{
    int64_t n = lemke->rows, grows = lemke->other[lemke->ray];
    for (int64_t i = 0; i < n; i++) lemke->z[i] = 0;
    for (int64_t i = 0; i < n; i++)
        if (lemke->basic[i] >= n && lemke->basic[i] < 2 * n)
            lemke->z[lemke->basic[i] - n] = row_of(lemke, i)[lemke->ray];
    if (grows >= n && grows < 2 * n) lemke->z[grows - n] = 1;
}

/* Gauss elimination with row exchanges: work (count, count + 1) <- its solution in the last column.
 * -1: singular, or cancelled. */
static int eliminate(int64_t count, double *work, cs_cancellation *cancellation)
{
    int64_t width = count + 1;

    /* Forward elimination with partial pivoting. */
    for (int64_t k = 0; k < count; k++) {
        int64_t best = k;
        if (cs_is_cancelled(cancellation, (double)((count - k) * (count - k)))) return -1;
        for (int64_t i = k + 1; i < count; i++)
            if (fabs(work[i * width + k]) > fabs(work[best * width + k])) best = i;
        if (!(fabs(work[best * width + k]) > 0)) return -1;
        for (int64_t j = k; j < width && best != k; j++) {
            double value = work[k * width + j];
            work[k * width + j] = work[best * width + j];
            work[best * width + j] = value;
        }
        for (int64_t i = k + 1; i < count; i++) {
            double factor = work[i * width + k] / work[k * width + k];
            if (factor == 0) continue;
            for (int64_t j = k; j < width; j++) work[i * width + j] -= factor * work[k * width + j];
        }
    }

    /* Back substitution. */
    for (int64_t k = count - 1; k >= 0; k--) {
        double sum = work[k * width + count];
        for (int64_t j = k + 1; j < count; j++)
            sum -= work[k * width + j] * work[j * width + count];
        work[k * width + count] = sum / work[k * width + k];
    }
    return 0;
}

/* work <- M restricted to the rows of the list, and the right-hand side -(q + M z) as its last column. */
static void load_system(cs_lemke *lemke, int64_t count)
{
    int64_t n = lemke->rows, width = count + 1;
    for (int64_t a = 0; a < count; a++) {
        const double *own = lemke->matrix + lemke->list[a] * n;
        double sum = -lemke->q[lemke->list[a]];
        for (int64_t b = 0; b < count; b++) {
            lemke->work[a * width + b] = own[lemke->list[b]];
            sum -= own[lemke->list[b]] * lemke->z[lemke->list[b]];
        }
        lemke->work[a * width + count] = sum;
    }
}

void cs_lemke_solve(cs_lemke *lemke, int64_t count)
{
    enum { SOLVES = 2 }; /* the second is a refinement */
    for (int64_t i = 0; i < lemke->rows; i++) lemke->z[i] = 0;
    for (int k = 0; k < SOLVES; k++) {
        if (cs_is_cancelled(lemke->cancellation, WRITE_WORK * (double)count * (double)count)) break;
        load_system(lemke, count);
        if (eliminate(count, lemke->work, lemke->cancellation)) break;
        for (int64_t a = 0; a < count; a++)
            lemke->z[lemke->list[a]] += lemke->work[a * (count + 1) + count];
    }
}

void cs_lemke_finish(cs_lemke *lemke)
{
    int64_t n = lemke->rows, count = 0;
    for (int64_t i = 0; i < n; i++)
        if (lemke->basic[i] >= n && lemke->basic[i] < 2 * n)
            lemke->list[count++] = lemke->basic[i] - n;
    cs_lemke_solve(lemke, count);
}
