/* Lemke's method where rounding has made the basis singular: the attempt ends, within its memory. */
#include "mlcp/lemke.h"

#include "testing.h"

enum { ROWS = 40, RANK = 9, TRIES = 40 };

/* A variable of the basis finds no pivot when the dictionary is written anew: here M = 0, z_0 basic,
 * and w_0 the next to enter. */
static void a_singular_basis_ends_the_attempt(void)
{
    cs_arena arena = {0};
    cs_lemke lemke = {0};
    cs_lemke_end end = CS_LEMKE_SOLVED;
    CHECK(cs_lemke_take(&lemke, 1, &arena) == 0);
    lemke.q[0] = -1;
    cs_lemke_begin(&lemke, 0);
    lemke.basic[0] = 1;
    lemke.other[0] = 0;
    lemke.left = 1;
    lemke.age = CS_LEMKE_REBUILD;
    CHECK(cs_lemke_pivot(&lemke, &end) == 1);
    CHECK(end == CS_LEMKE_LOST);
    cs_lemke_finish(&lemke);
    CHECK(isfinite(lemke.z[0]));
    cs_arena_clear(&arena);
}

/* matrix <- P P^T with P (ROWS, RANK), and q of any sign. */
static void load(cs_lemke *lemke, uint64_t *state)
{
    double p[ROWS][RANK];
    for (int i = 0; i < ROWS; i++) {
        lemke->q[i] = test_random(state);
        for (int k = 0; k < RANK; k++) p[i][k] = test_random(state);
    }
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++) {
            double sum = 0;
            for (int k = 0; k < RANK; k++) sum += p[i][k] * p[j][k];
            lemke->matrix[i * ROWS + j] = sum;
        }
}

/* Whether each variable is basic or not, and none both. */
static int is_complete(const cs_lemke *lemke)
{
    int seen[2 * ROWS + 1] = {0}, complete = 1;
    for (int i = 0; i < ROWS; i++) seen[lemke->basic[i]]++;
    for (int i = 0; i <= ROWS; i++) seen[lemke->other[i]]++;
    for (int v = 0; v <= 2 * ROWS; v++) complete &= seen[v] == 1;
    return complete;
}

/* Where every pivot begins with a new dictionary, an attempt loses a variable only as it ends. */
static void variables_are_lost_at_the_end_only(void)
{
    cs_arena arena = {0};
    cs_lemke lemke = {0};
    uint64_t state = 3;
    int ended = 0;
    CHECK(cs_lemke_take(&lemke, ROWS, &arena) == 0);
    for (int i = 0; i < TRIES; i++) {
        cs_lemke_end end;
        int over = 0;
        load(&lemke, &state);
        cs_lemke_begin(&lemke, i % CS_LEMKE_ATTEMPTS);
        for (int pivots = 0; pivots < 20 * ROWS && !over; pivots++) {
            lemke.age = CS_LEMKE_REBUILD + ROWS / CS_LEMKE_REBUILD_ROWS;
            over = cs_lemke_pivot(&lemke, &end);
            CHECK(over || end == CS_LEMKE_SOLVED);
            CHECK(is_complete(&lemke));
        }
        ended += over;
    }
    CHECK(ended > TRIES / 2);
    cs_arena_clear(&arena);
}

int main(void)
{
    a_singular_basis_ends_the_attempt();
    variables_are_lost_at_the_end_only();
    return test_result();
}
