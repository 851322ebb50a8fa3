/* Partitioned Gauss-Seidel (S1 sections 4.2, 8.2): sweeps the interiors of all parts in parallel, then the contacts
 * between them. It is exactly Gauss-Seidel in that order, and needs few synchronisations. */
#include "core/error.h"
#include "order/graph_partition.h"
#include "order/priority.h"

enum { STRATEGY, BORDER, PRIORITY, WEIGHT, SPLIT_MASSES, OPTIONS };

/* In the sequence of cs_labelling and of cs_border. */
static const char *const strategies[] = {"auto", "slices", "natural", NULL};
static const char *const borders[] = {"colored", "sequential", "checkerboard", "concurrent", NULL};

static const cs_option options_of_partition[OPTIONS] = {
    [STRATEGY] = CS_WORD_OPTION(
        "strategy", strategies,
        "\"slices\", breadth-first levels of bodies, so that a part touches at most two others (S1 "
        "Fig. 4.3 (b)); \"natural\", contiguous ranges of body numbers; \"auto\", the one of these "
        "two that leaves fewer contacts between parts"),
    [BORDER] =
        CS_WORD_OPTION("border", borders,
                       "how the contacts between parts are visited: \"colored\", \"sequential\", "
                       "or \"checkerboard\": each contact is assigned to one of its two parts, the "
                       "lower one or that of a body with very many contacts, and parts whose "
                       "shares do not meet are swept in parallel, colour by colour; or "
                       "\"concurrent\": all parts at once, each with the others' velocities from "
                       "before, and the changes are added (S1 section 7.1), which converges more "
                       "slowly and may diverge"),
    [PRIORITY] = {.name = "priority",
                  .summary = "the sequence in which the contacts of the border choose their "
                             "colours, as in the order colored: \"natural\" or \"hash\"",
                  .kind = CS_WORD,
                  .words = cs_priority_words,
                  .of = "border",
                  .of_value = CS_BORDER_COLORED},
    [WEIGHT] = {.name = "weight",
                .summary = "factor on the changes of concurrent parts before they are added, of "
                           "impulses and of velocities; if it is at most 1 / n, where no body is "
                           "visited by more than n parts, the energy falls in every sweep on fixed "
                           "convex sets",
                .kind = CS_NUMBER,
                .usual = 1,
                .least = 0,
                .most = 1,
                .above = 1,
                .of = "border",
                .of_value = CS_BORDER_CONCURRENT},
    [SPLIT_MASSES] = {.name = "split_masses",
                      .summary = "whether the mass of a body is divided equally among the "
                                 "concurrent parts that visit its contacts on the border, whose "
                                 "velocities are averaged afterwards (Tonge, Benevolenski and "
                                 "Voroshilov 2012): on fixed convex sets the energy falls in every "
                                 "sweep",
                      .kind = CS_FLAG,
                      .most = 1,
                      .of = "border",
                      .of_value = CS_BORDER_CONCURRENT},
};

static cs_labelling labelling_of(const cs_order_options *options)
{
    return (cs_labelling)cs_order_value(options, STRATEGY);
}

static cs_status plan_partition(const cs_problem *problem, const cs_order_options *options,
                                cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    /* Label the vertices. */
    cs_graph graph;
    cs_parts parts;
    cs_border border = (cs_border)cs_order_value(options, BORDER);
    int hashed = (cs_priority)cs_order_value(options, PRIORITY) == CS_PRIORITY_HASH;
    if (hashed && border == CS_BORDER_COLORED) border = CS_BORDER_HASHED;
    cs_status status = cs_graph_share(problem, options, scratch, &graph, error);
    if (!status)
        status = cs_parts_label(&graph, options, labelling_of(options), scratch, &parts, error);
    if (status) return status;

    /* Plan the interiors and the border, each in natural order. */
    int64_t *sequence = cs_arena_take(scratch, problem->blocks, sizeof(int64_t));
    if (!sequence) return cs_no_memory(error, "the order");
    for (int64_t i = 0; i < problem->blocks; i++) sequence[i] = i;
    plan->labels = parts.label;
    plan->weight = cs_order_value(options, WEIGHT);
    plan->splits_masses = cs_order_value(options, SPLIT_MASSES) != 0;
    return cs_plan_parts(&graph, &parts, sequence, 0, border, scratch, plan, error);
}

const cs_order cs_order_partition = {
    .name = "partition",
    .summary =
        "the interiors of parts in parallel, then the contacts between them (S1 section 4.2)",
    .about = "The contacts whose moving bodies all belong to one part are its interior. All "
             "interiors are swept in parallel, each sequentially. No two share a moving body, so "
             "that the sweep is exactly Gauss-Seidel: the interiors, then the border. The solver's "
             "option parts is the number of parts, and results depend on it.",
    .option = options_of_partition,
    .options = OPTIONS,
    .sums_by_labels = 1,
    .parts_by_size = 1,
    .plan = plan_partition,
};

int cs_problem_parts(const cs_problem *problem)
{
    cs_order_options open = {.parts = 0};
    return (int)cs_parts_of(&cs_order_partition, &open, problem);
}

cs_status cs_partition_labels(const cs_problem *problem, const cs_order_options *options,
                              int64_t *labels, cs_error *error)
{
    /* Check the arguments. */
    cs_arena scratch = {0};
    cs_graph graph;
    cs_parts parts;
    if (cs_problem_is_open(problem))
        return cs_fail(error, CS_INVALID, "the problem has neither Jacobians nor a matrix");
    if (options->parts < 0)
        return cs_fail(error, CS_INVALID, "parts is %d: it must be at least 0", options->parts);

    /* Label the vertices as the order does, and copy the labels. */
    cs_setting own[CS_MAX_OWN_OPTIONS];
    cs_order_options settled = *options;
    cs_status status = cs_order_settle(&cs_order_partition, &settled, own, error);
    settled.parts = (int)cs_parts_of(&cs_order_partition, options, problem);
    if (!status) status = cs_graph_build(problem, &scratch, &graph, error);
    if (!status)
        status = cs_parts_label(&graph, &settled, labelling_of(&settled), &scratch, &parts, error);
    for (int64_t v = 0; !status && v < graph.vertices; v++) labels[v] = parts.label[v];
    cs_arena_clear(&scratch);
    return status;
}
