/* What a caller may get wrong: bad options, calls out of order, arrays that lie about their
 * lengths. Each is refused, or does no harm; none may read or write where nothing is. */
#include "scene.h"

#include "core/error.h"

static scene s;

/* ---- options --------------------------------------------------------------------------------- */

/* Making a solver must fail with this status, and the message must begin like this. */
static void refuse(const cs_problem *problem, const cs_options *options, cs_status wanted,
                   const char *beginning)
{
    int64_t live = cs_memory_live();
    cs_solver *solver = NULL;
    cs_error error = {0};
    CHECK_STATUS(cs_solver_create(&solver, problem, options, NULL, &error), wanted, &error);
    CHECK(solver == NULL && error.status == wanted && cs_memory_live() == live);
    CHECK(strncmp(error.message, beginning, strlen(beginning)) == 0);
    if (strncmp(error.message, beginning, strlen(beginning)))
        fprintf(stderr, "    '%s' does not begin '%s'\n", error.message, beginning);
    CHECK(cs_solver_create(&solver, problem, options, NULL, NULL) == wanted); /* no message asked */
    cs_solver_destroy(solver);
}

#define REFUSE(option, value, wanted, beginning)      \
    do {                                              \
        cs_options options = cs_options_default();    \
        options.option = value;                       \
        refuse(problem, &options, wanted, beginning); \
    } while (0)

/* Options that every solver has, by their names. */
static void options_are_set_by_name(void)
{
    cs_options options = cs_options_default();
    cs_option option;
    cs_error error = {0};
    for (int i = 0; cs_options_describe(i, &option); i++) {
        cs_setting wrong = {.name = option.name, .number = option.least - 2};
        cs_setting word = {.name = option.name, .word = "steam"};
        int named = option.kind == CS_WORD;
        CHECK(option.summary && (!named || cs_options_word(i, 0)));
        if (named) CHECK(cs_options_set(&options, &wrong, &error) == CS_INVALID || option.words);
        else CHECK(cs_options_set(&options, &wrong, &error) == CS_INVALID);
        if (option.words || !named)
            CHECK(cs_options_set(&options, &word, &error) ==
                  (option.words ? CS_UNKNOWN_NAME : CS_INVALID));
    }
    static const cs_setting good[] = {
        {"method", 0, "jacobi"}, {"r_factor", 0.25, NULL}, {"averaging", 0, "adjacent"},
        {"parts", 3, NULL},      {"compressed", 0, NULL},  {"max_iterations", 1e300, NULL},
        {"threads", 2, NULL},    {"check_every", 4, NULL}, {"rtol", 1e-3, NULL},
    };
    cs_status status = CS_OK;
    for (int i = 0; i < 9; i++) {
        status = cs_options_set(&options, &good[i], &error);
        CHECK_STATUS(status, i == 5 ? CS_INVALID : CS_OK, &error);
    }
    CHECK(!strcmp(options.method, "jacobi") && !options.r_factor && options.r_value == 0.25);
    CHECK(options.averaging_adjacent && options.order_options.parts == 3 && options.general);
    CHECK(options.threads == 2 && options.check_every == 4 && options.rtol == 1e-3);
    CHECK(options.max_iterations == 1000);
    CHECK(cs_options_set(&options, &(cs_setting){.name = "steam"}, &error) == CS_UNKNOWN_NAME);
    CHECK(!strcmp(error.message, "there is no option 'steam'"));
}

static void bad_stages_are_refused(const cs_problem *problem)
{
    static int64_t in_turn[SCENE_BLOCKS];
    static const struct {
        int64_t first, fourth;
        const char *beginning;
    } wrong[] = {
        {0, 0, "begins[0] is 0: a stage begins with the first visit"},
        {1, 0, "begins[0] is 1: a stage begins with the first visit"},
        {2, -1, "begins[3] is -1: 0, 1, or 2 and the number of a kind"},
        {2, 7, "begins[3] is 7: 0, 1, or 2 and the number of a kind"},
        {2, 4, "stage 1 is independent, and its contacts "},
    };
    for (int k = 0; k < SCENE_BLOCKS; k++) in_turn[k] = k;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int64_t begins[SCENE_BLOCKS] = {wrong[i].first, 0, 0, wrong[i].fourth};
        cs_options options = cs_options_default();
        options.order_options.permutation = in_turn;
        options.order_options.begins = begins;
        refuse(problem, &options, CS_INVALID, wrong[i].beginning);
    }
}

static void bad_options_are_refused(const cs_problem *problem)
{
    static const char *const unknown[] = {"residual", "speed"};
    static int64_t repeated[SCENE_BLOCKS], outside[SCENE_BLOCKS];
    for (int k = 0; k < SCENE_BLOCKS; k++) repeated[k] = outside[k] = k;
    repeated[5] = 2;
    outside[7] = SCENE_BLOCKS;
    REFUSE(method, "descent", CS_UNKNOWN_NAME, "method: 'descent' is unknown; known: auto, ");
    REFUSE(scheme, "whole", CS_UNKNOWN_NAME, "scheme: 'whole' is unknown; known: auto, ");
    REFUSE(order, "sorted", CS_UNKNOWN_NAME, "order: 'sorted' is unknown; known: auto, ");
    REFUSE(stop, "speed", CS_UNKNOWN_NAME, "stop: 'speed' is unknown; known: residual, ");
    REFUSE(record, unknown, CS_UNKNOWN_NAME, "record: 'speed' is unknown; known: residual, ");
    REFUSE(local, "both", CS_UNKNOWN_NAME, "local: 'both' is unknown; known: auto, ");
    REFUSE(r_factor, "word", CS_UNKNOWN_NAME, "r_factor: 'word' is unknown; known: local, ");
    REFUSE(bound, "next", CS_UNKNOWN_NAME, "bound: 'next' is unknown; known: current, ");
    REFUSE(dtype, "int", CS_UNKNOWN_NAME, "dtype: 'int' is unknown; known: float64, ");
    REFUSE(local, "exact", CS_UNSUPPORTED, "local='exact' solves free blocks only");
    REFUSE(stop, "fclib_error", CS_UNSUPPORTED, "stop: 'fclib_error' does not fit this problem: ");
    REFUSE(order_options.permutation, repeated, CS_INVALID, "order[5] is 2, as order[2] is: ");
    REFUSE(order_options.permutation, outside, CS_INVALID, "order[7] is 14: ");
    REFUSE(relaxation, 0, CS_INVALID, "relaxation is 0: ");
    REFUSE(relaxation, INFINITY, CS_INVALID, "relaxation is inf: ");
    REFUSE(averaging, 1.5, CS_INVALID, "averaging is 1.5: ");
    REFUSE(quality_r, -1, CS_INVALID, "quality_r is -1: ");
    REFUSE(rollback, -1, CS_INVALID, "rollback is -1: ");
    REFUSE(rollback_growth, NAN, CS_INVALID, "rollback_growth is nan: ");
    REFUSE(rtol, -1, CS_INVALID, "rtol is -1: ");
    REFUSE(atol, -1, CS_INVALID, "atol is -1: ");
    REFUSE(check_every, 0, CS_INVALID, "check_every is 0: ");
    REFUSE(record_every, 0, CS_INVALID, "record_every is 0: ");
    REFUSE(max_iterations, -1, CS_INVALID, "max_iterations is -1: ");
    REFUSE(threads, -1, CS_INVALID, "threads is -1: ");
    REFUSE(exact_threads, 1, CS_INVALID, "exact_threads is 1: no number of threads is given");
    REFUSE(exact_threads, 2, CS_INVALID, "exact_threads is 2: ");
    REFUSE(order_options.parts, -1, CS_INVALID, "parts is -1: ");
    REFUSE(records, CS_MAX_COLUMNS + 1, CS_INVALID, "record names 33 measures; ");
    cs_options options = cs_options_default();
    options.r_factor = NULL;
    options.r_value = NAN;
    refuse(problem, &options, CS_INVALID, "r_factor is nan: ");

    /* Options of the scheme. */
    cs_setting sum = {"velocities", 0, "sum"};
    options = cs_options_default();
    options.scheme = "factorized";
    options.scheme_settings = &sum;
    options.scheme_setting_count = 1;
    refuse(problem, &options, CS_UNKNOWN_NAME, "velocities: 'sum' is unknown; known: auto, ");
    options.scheme = "auto";
    refuse(problem, &options, CS_UNKNOWN_NAME, "velocities: scheme='auto' has no options");
}

/* Whatever the options pointed to may change once the solver is made. */
static void options_are_copied(const cs_problem *problem)
{
    char words[6][12] = {"jacobi", "matrix", "reverse", "projected", "float32", "natural_map"};
    const char *record[] = {words[5]};
    cs_options options = cs_options_default();
    cs_solver *solver = NULL;
    cs_solver_info info;
    cs_error error;
    options.method = words[0];
    options.scheme = words[1];
    options.order = words[2];
    options.local = words[3];
    options.dtype = words[4];
    options.stop = words[5];
    options.record = record;
    options.records = 1;
    CHECK_STATUS(cs_solver_create(&solver, problem, &options, NULL, &error), CS_OK, &error);
    memset(words, '?', sizeof words);
    record[0] = NULL;
    if (!solver) return;
    cs_result result = {0};
    CHECK_STATUS(cs_solver_solve(solver, NULL, NULL, NULL, NULL, &result, &error), CS_OK, &error);
    cs_solver_describe(solver, &info);
    CHECK(strcmp(info.method, "jacobi") == 0 && strcmp(info.scheme, "matrix") == 0);
    CHECK(strcmp(info.order, "reverse") == 0 && strcmp(info.dtype, "float32") == 0);
    CHECK(strcmp(info.column[2], "natural_map") == 0);
    CHECK(strncmp(info.local, "projected", 9) == 0);
    cs_solver_destroy(solver);
}

/* As many sweeps as the type can count, none of them needed. */
static void the_largest_number_of_iterations(const cs_problem *problem)
{
    cs_options options = cs_options_default();
    cs_solver *solver = NULL;
    cs_error error;
    options.max_iterations = INT64_MAX;
    CHECK_STATUS(cs_solver_create(&solver, problem, &options, NULL, &error), CS_OK, &error);
    cs_result result = {0};
    if (solver)
        CHECK_STATUS(cs_solver_solve(solver, NULL, NULL, NULL, NULL, &result, &error), CS_OK,
                     &error);
    CHECK(result.outcome == CS_CONVERGED);
    cs_solver_destroy(solver);
}

static void a_control_without_a_poll(const cs_problem *problem)
{
    static const char *const schemes[] = {"factorized", "matrix"};
    for (int i = 0; i < 2; i++) {
        cs_options options = cs_options_default();
        cs_control control = {0};
        cs_solver *solver = NULL;
        cs_result result = {0};
        cs_error error;
        options.scheme = schemes[i];
        CHECK_STATUS(cs_solver_create(&solver, problem, &options, &control, &error), CS_OK, &error);
        if (!solver) return;
        CHECK_STATUS(cs_solver_solve(solver, NULL, NULL, NULL, &control, &result, &error), CS_OK,
                     &error);
        cs_solver_destroy(solver);
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

static void numbers_and_words_in_messages(void)
{
    CHECK(strcmp(cs_number(0.1).text, "0.1") == 0 && strcmp(cs_number(-3).text, "-3") == 0);
    CHECK(strcmp(cs_number(1.0000001).text, "1.0000001") == 0);
    CHECK(strcmp(cs_number(0.1 + 0.2).text, "0.30000000000000004") == 0);
    CHECK(strcmp(cs_number(INFINITY).text, "inf") == 0 && strstr(cs_number(NAN).text, "nan"));
    CHECK(strcmp(cs_word("a name").text, "a name") == 0);
    char word[801] = "";
    for (int i = 0; i < 400; i++) strcat(word, "\u00e9");
    for (int shift = 0; shift < 2; shift++) {
        cs_error error;
        CHECK(cs_fail(&error, CS_INVALID, "%s%s", shift ? "x" : "", word) == CS_INVALID);
        CHECK(strlen(error.message) >= sizeof error.message - 4);
        CHECK((strlen(error.message) - (size_t)shift) % 2 == 0); /* whole characters of two bytes */
    }
}

/* ---- a given matrix -------------------------------------------------------------------------- */

static void a_matrix_out_of_order(void)
{
    double b[] = {1, 2}, value[] = {1, 1};
    int64_t start[] = {0, 1, 2}, column[] = {0, 1};
    cs_csr matrix = {2, start, column, value};
    cs_blocks blocks = {.count = 2, .rows = 1, .b = b, .set = "half_line"};
    cs_options options = cs_options_default();
    cs_problem *problem;
    CHECK(cs_problem_create(&problem, NULL) == CS_OK);
    CHECK(cs_problem_set_matrix(problem, &matrix, NULL) == CS_INVALID); /* no blocks so far */
    CHECK(cs_problem_add_blocks(problem, &blocks, NULL) == CS_OK);
    refuse(problem, &options, CS_INVALID, "the problem has neither Jacobians nor a matrix");
    CHECK(cs_problem_set_matrix(problem, &matrix, NULL) == CS_OK);
    CHECK(cs_problem_add_blocks(problem, &blocks, NULL) == CS_INVALID); /* A would not cover it */
    cs_problem_destroy(problem);

    CHECK(scene_create(&s, &problem, NULL) == CS_OK);
    matrix.rows = SCENE_ROWS;
    static int64_t zeros[SCENE_ROWS + 1];
    matrix.start = zeros;
    CHECK(cs_problem_set_matrix(problem, &matrix, NULL) == CS_INVALID); /* there are Jacobians */
    cs_problem_destroy(problem);
}

/* Row starts that run past the entries and come back: nothing beyond the last start may be read. */
static void row_starts_that_overshoot(void)
{
    int64_t start[] = {0, 100, 2}, *column = calloc(2, sizeof *column);
    double b[] = {1, 2}, *value = calloc(2, sizeof *value);
    cs_csr matrix = {2, start, column, value};
    cs_blocks blocks = {.count = 2, .rows = 1, .b = b, .set = "half_line"};
    cs_problem *problem;
    cs_error error;
    CHECK(cs_problem_create(&problem, NULL) == CS_OK);
    CHECK(cs_problem_add_blocks(problem, &blocks, NULL) == CS_OK);
    CHECK_STATUS(cs_problem_set_matrix(problem, &matrix, &error), CS_INVALID, &error);
    CHECK(strncmp(error.message, "A.indptr[2] is 2, below A.indptr[1] = 100", 41) == 0);
    cs_problem_destroy(problem);
    free(column);
    free(value);
}

int main(void)
{
    cs_problem *problem;
    cs_error error;
    scene_make(&s);
    CHECK_STATUS(scene_create(&s, &problem, &error), CS_OK, &error);
    if (!problem) return test_result();
    bad_options_are_refused(problem);
    options_are_set_by_name();
    bad_stages_are_refused(problem);
    a_matrix_out_of_order();
    options_are_copied(problem);
    the_largest_number_of_iterations(problem);
    a_control_without_a_poll(problem);
    cs_problem_destroy(problem);
    row_starts_that_overshoot();
    numbers_and_words_in_messages();
    return test_result();
}
