/* Partitioned Gauss-Seidel (S1 sections 4.2, 8.2): the insides of the parts at once, then the
 * contacts between them. Exactly Gauss-Seidel in that order, with few synchronisations. */
#include "core/error.h"
#include "order/parts.h"

static cs_status plan_partition(const cs_problem *problem, const cs_order_options *options,
                                cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    cs_graph graph;
    cs_parts parts;
    int border = (int)options->border;
    if (border < CS_BORDER_COLORED || border > CS_BORDER_CHECKERBOARD)
        return cs_fail(error, CS_INVALID, "border is %d: a cs_border is needed", border);
    cs_status status = cs_graph_build(problem, scratch, &graph, error);
    if (!status) status = cs_parts_label(&graph, options, scratch, &parts, error);
    if (status) return status;
    int64_t *sequence = cs_arena_take(scratch, problem->blocks, sizeof(int64_t));
    if (!sequence) return cs_no_memory(error, "the order");
    for (int64_t i = 0; i < problem->blocks; i++) sequence[i] = i;
    return cs_plan_parts(&graph, &parts, sequence, 0, options->border, scratch, plan, error);
}

const cs_order cs_order_partition = {
    .name = "partition",
    .summary = "the insides of parts at once, then what lies between them (S1 section 4.2)",
    .plan = plan_partition,
};

cs_status cs_partition_labels(const cs_problem *problem, const cs_order_options *options,
                              int64_t *labels, cs_error *error)
{
    cs_arena scratch = {0};
    cs_graph graph;
    cs_parts parts;
    if (cs_problem_is_open(problem))
        return cs_fail(error, CS_INVALID, "the problem has neither Jacobians nor a matrix");
    if (options->parts < 1)
        return cs_fail(error, CS_INVALID, "parts is %d: it must be at least 1", options->parts);
    cs_status status = cs_graph_build(problem, &scratch, &graph, error);
    if (!status) status = cs_parts_label(&graph, options, &scratch, &parts, error);
    for (int64_t v = 0; !status && v < graph.vertices; v++) labels[v] = parts.label[v];
    cs_arena_clear(&scratch);
    return status;
}
