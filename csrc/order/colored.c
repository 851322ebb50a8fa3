/* Coloured Gauss-Seidel (S1 section 4.3.1): one independent stage per colour. The relaxed form (section 7.2) merges
 * colours that are too small for several threads into one unsafe stage, whose contacts may conflict. */
#include "core/error.h"
#include "order/coloring.h"
#include "order/components.h"

#include <math.h>

enum {
    STRATEGY,
    COLORS,
    MULTIPLE_OF_PARTS,
    FIXED_AS_BODY,
    PARALLEL,
    UNSAFE_BELOW,
    UNSAFE,
    FIRST,
    WEIGHTED,
    PRIORITY,
    OPTIONS
};

enum { GREEDY, BALANCED };
enum { SIMULTANEOUS, RANGES, GROUPS };
static const char *const strategies[] = {"greedy", "balanced", NULL};
static const char *const aims[] = {"degree", "tentative", NULL};
static const char *const unsafe_stages[] = {"simultaneous", "ranges", "groups", NULL};

static const cs_option options_of_colored[OPTIONS] = {
    [STRATEGY] = CS_WORD_OPTION(
        "strategy", strategies,
        "\"greedy\", the lowest free colour, or \"balanced\", the least used free one"),
    [COLORS] = {.name = "colors",
                .summary = "number of colours at which a balanced colouring aims: \"degree\", the "
                           "highest number of contacts in conflict with one contact (S1 eq. 4.1), "
                           "\"tentative\", as many as a greedy colouring finds, or a number",
                .kind = CS_COUNT,
                .words = aims,
                .least = 1,
                .most = 2e9,
                .of = "strategy",
                .of_value = BALANCED},
    [MULTIPLE_OF_PARTS] = {.name = "multiple_of_parts",
                           .summary = "round that number up to a multiple of the solver's parts",
                           .kind = CS_FLAG,
                           .most = 1,
                           .of = "strategy",
                           .of_value = BALANCED},
    [FIXED_AS_BODY] =
        CS_FLAG_OPTION("fixed_as_body", 0,
                       "let contacts with the same immovable body of the problem conflict, as with "
                       "S1's ground. The fixed world, -1, never causes a conflict"),
    [PARALLEL] =
        {.name = "parallel",
         .summary =
             "find the colours in parallel, for large problems: the contacts are divided into "
             "contiguous ranges, as many as the solver's parts, which are coloured concurrently. "
             "Each range knows its own colours and the others' of the last round; contacts in "
             "conflict with an earlier range are recoloured, in at most parts rounds (S1 section "
             "4.3). The colours depend on parts, never on threads",
         .kind = CS_FLAG,
         .most = 1,
         .of = "priority",
         .of_value = CS_PRIORITY_NATURAL},
    [UNSAFE_BELOW] = CS_COUNT_OPTION("unsafe_below", 0, 0,
                                     "colours with fewer contacts are merged into one unsafe stage "
                                     "(S1 section 4.3.1); S1 takes a "
                                     "multiple n p of the processors"),
    [UNSAFE] =
        {.name = "unsafe",
         .summary =
             "how the unsafe stage runs: \"simultaneous\", its contacts do not see each other, as "
             "in Jacobi (S1 section 7.2.3); \"ranges\", divided into the solver's parts, which do "
             "not see each other (section 7.2.2); or \"groups\", contacts that depend on each "
             "other in the same part (section 7.4): whole connected components over moving bodies, "
             "packed into parts of about equal size, which is Gauss-Seidel again",
         .kind = CS_WORD,
         .words = unsafe_stages,
         .of = "unsafe_below",
         .of_value = NAN},
    [FIRST] = {.name = "first",
               .summary = "run the unsafe stage first; by default it runs last, which S1 found to "
                          "converge faster (section 7.4)",
               .kind = CS_FLAG,
               .most = 1,
               .of = "unsafe_below",
               .of_value = NAN},
    [WEIGHTED] = {.name = "weighted",
                  .summary = "balance the ranges by blocks of A, as in the order ranges",
                  .kind = CS_FLAG,
                  .most = 1,
                  .of = "unsafe",
                  .of_value = RANGES},
    [PRIORITY] = CS_WORD_OPTION(
        "priority", cs_priority_words,
        "the sequence in which contacts choose their colours: \"natural\", that of their numbers, "
        "or \"hash\", that of a hash of their numbers, which ranks that share a problem find in "
        "few rounds"),
};

/* Adds a stage for each colour with at least `unsafe_below` contacts. */
static int64_t add_safe(const cs_order_options *options, const cs_coloring *coloring,
                        const int64_t *sorted, const int64_t *start, cs_plan *plan, int64_t at)
{
    int64_t unsafe_below = (int64_t)cs_order_value(options, UNSAFE_BELOW);
    for (int64_t c = 0; c < coloring->colors; c++) {
        if (coloring->size[c] < unsafe_below) continue;
        at = cs_plan_color(coloring, c, sorted, start, plan, at);
        cs_plan_close(plan, CS_INDEPENDENT, at);
    }
    return at;
}

/* Closes the unsafe stage, which holds the visits from `first` to `end`. Its contacts do not see each other, or it
 * consists of ranges that do not, or of groups of dependent contacts (S1 section 7.4), which is Gauss-Seidel. */
static cs_status plan_unsafe(const cs_problem *problem, const cs_order_options *options,
                             int64_t first, int64_t end, cs_arena *scratch, cs_plan *plan,
                             cs_error *error)
{
    /* Groups: sort the visits by connected component. */
    int unsafe = (int)cs_order_value(options, UNSAFE);
    cs_stage_kind kind = unsafe == SIMULTANEOUS ? CS_SIMULTANEOUS : CS_CONCURRENT;
    if (unsafe == GROUPS && first < end) {
        cs_graph graph;
        cs_status status = cs_graph_build(problem, scratch, &graph, error);
        if (!status)
            status = cs_plan_components(&graph, options->parts, first, end, scratch, plan, error);
        plan->divided_into = options->parts;
        if (status) return status;
        kind = CS_DISJOINT;
    }

    /* Close the stage, and cut it into ranges if it is concurrent. */
    cs_plan_close(plan, kind, end);
    if (kind != CS_CONCURRENT) return CS_OK;
    int weighted = cs_order_value(options, WEIGHTED) != 0;
    return cs_plan_cut_parts(problem, options->parts, weighted, scratch, plan, first, end, error);
}

/* Adds the unsafe stage: all colours with fewer than `unsafe_below` contacts. */
static cs_status add_unsafe(const cs_problem *problem, const cs_order_options *options,
                            const cs_coloring *coloring, const int64_t *sorted,
                            const int64_t *start, cs_arena *scratch, cs_plan *plan, int64_t *at,
                            cs_error *error)
{
    int64_t first = *at, unsafe_below = (int64_t)cs_order_value(options, UNSAFE_BELOW);
    for (int64_t c = 0; c < coloring->colors; c++)
        if (coloring->size[c] < unsafe_below)
            *at = cs_plan_color(coloring, c, sorted, start, plan, *at);
    return plan_unsafe(problem, options, first, *at, scratch, plan, error);
}

static cs_coloring_options coloring_options_of(const cs_order_options *options)
{
    return (cs_coloring_options){
        .fixed_as_body = cs_order_value(options, FIXED_AS_BODY) != 0,
        .balanced = cs_order_value(options, STRATEGY) == BALANCED,
        .colors = (int64_t)cs_order_value(options, COLORS),
        .multiple_of_parts = cs_order_value(options, MULTIPLE_OF_PARTS) != 0,
        .priority = (cs_priority)cs_order_value(options, PRIORITY),
        .parallel = cs_order_value(options, PARALLEL) != 0,
        .parts = options->parts,
        .threads = options->threads,
        .exact_threads = options->exact_threads,
    };
}

/* The lowest free colour of a block depends on its island alone; but its hash is that of its number in the problem. */
static int is_by_islands(const cs_order_options *options)
{
    cs_coloring_options how = coloring_options_of(options);
    return !options->labels && !how.balanced && !how.parallel && !how.fixed_as_body &&
           how.priority == CS_PRIORITY_NATURAL && cs_order_value(options, UNSAFE_BELOW) == 0;
}

static cs_status plan_colored(const cs_problem *problem, const cs_order_options *options,
                              cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    /* Colour the contacts, and sort them by colour. */
    cs_coloring coloring;
    cs_coloring_options how = coloring_options_of(options);
    int first = cs_order_value(options, FIRST) != 0;
    int64_t *sorted, *start, at = 0;
    cs_status status = cs_color(problem, &how, scratch, &coloring, error);
    if (status) return status;
    if (cs_sort_colors(problem, &coloring, scratch, &sorted, &start))
        return cs_no_memory(error, "the colours");
    for (int64_t c = 0; c < coloring.colors; c++) cs_plan_add_to_color(plan, c, coloring.size[c]);
    plan->rounds = coloring.rounds;

    /* Add the stages: the unsafe one first or last. */
    if (first)
        status = add_unsafe(problem, options, &coloring, sorted, start, scratch, plan, &at, error);
    if (status) return status;
    at = add_safe(options, &coloring, sorted, start, plan, at);
    if (first) return CS_OK;
    return add_unsafe(problem, options, &coloring, sorted, start, scratch, plan, &at, error);
}

const cs_order cs_order_colored = {
    .name = "colored",
    .summary = "colour by colour; no two contacts of a colour share a moving body (S1 section 4.3)",
    .option = options_of_colored,
    .options = OPTIONS,
    .fills_lanes = 1,
    .sums_by_labels = 1,
    .by_islands = is_by_islands,
    .plan = plan_colored,
};
