/* order="panels": consecutive contacts are updated at once, panel by panel. S2's relaxed SOR (section 5.3): a panel of
 * one contact is Gauss-Seidel, a panel of all contacts is Jacobi. */
#include "order/schedule.h"

enum { CONTACTS, OPTIONS };

static const cs_option options_of_panels[OPTIONS] = {
    [CONTACTS] = CS_COUNT_OPTION("contacts", 32, 1,
                                 "number of contacts of a panel. S2's panels have 6 to 384 rows: 2 "
                                 "to 128 contacts in space"),
};

static cs_status plan_panels(const cs_problem *problem, const cs_order_options *options,
                             cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    (void)scratch, (void)error;
    int64_t panel = (int64_t)cs_order_value(options, CONTACTS);
    for (int64_t i = 0; i < problem->blocks; i++) {
        plan->block[i] = i;
        if ((i + 1) % panel == 0) cs_plan_close(plan, CS_SIMULTANEOUS, i + 1);
    }
    cs_plan_close(plan, CS_SIMULTANEOUS, problem->blocks);
    return CS_OK;
}

const cs_order cs_order_panels = {
    .name = "panels",
    .summary = "panels of consecutive contacts, which do not see each other (S2 section 5.3)",
    .about =
        "S2's relaxed SOR: the contacts of a panel are updated at once, from the values before "
        "the panel, and panels follow one another. Larger panels have more parallel work, and "
        "their sweeps are nearer to those of Jacobi.",
    .option = options_of_panels,
    .options = OPTIONS,
    .plan = plan_panels,
};
