#include "order/schedule.h"

#include "core/costs.h"
#include "core/error.h"

#include <string.h>

#define CS_ORDER(name) extern const cs_order cs_order_##name;
#include "order/orders.def"
#undef CS_ORDER

static const cs_order *const orders[] = {
#define CS_ORDER(name) &cs_order_##name,
#include "order/orders.def"
#undef CS_ORDER
};
enum { ORDERS = sizeof orders / sizeof *orders };

const cs_order *cs_order_find(const char *name)
{
    for (int i = 0; i < ORDERS; i++)
        if (strcmp(orders[i]->name, name) == 0) return orders[i];
    return NULL;
}

const char *cs_order_name(int i, const char **summary)
{
    if (i < 0 || i >= ORDERS) return NULL;
    if (summary) *summary = orders[i]->summary;
    return orders[i]->name;
}

int cs_order_describe(int i, cs_order_info *info)
{
    if (i < 0 || i >= ORDERS) return 0;
    *info = (cs_order_info){
        .name = orders[i]->name,
        .summary = orders[i]->summary,
        .about = orders[i]->about,
        .option = orders[i]->option,
        .options = orders[i]->options,
        .draws = orders[i]->draws,
    };
    return 1;
}

cs_status cs_order_settle(const cs_order *order, cs_order_options *options, cs_setting *own,
                          cs_error *error)
{
    cs_option_table table = {"order", order->name, order->option, order->options};
    cs_status status =
        cs_option_settle(&table, options->settings, options->setting_count, own, error);
    if (status) return status;
    options->settings = own;
    options->setting_count = order->options;
    return CS_OK;
}

int cs_order_is_by_islands(const cs_order_options *options)
{
    (void)options;
    return 1;
}

const char *cs_stage_kind_name(int i)
{
    static const char *const names[] = {
        [CS_SEQUENTIAL] = "sequential",   [CS_SIMULTANEOUS] = "simultaneous",
        [CS_INDEPENDENT] = "independent", [CS_CONCURRENT] = "concurrent",
        [CS_DISJOINT] = "disjoint",
    };
    return i >= 0 && i < (int)(sizeof names / sizeof *names) ? names[i] : NULL;
}

/* ---- plans ----------------------------------------------------------------------------------- */

cs_plan *cs_plan_new(const cs_problem *problem, cs_arena *arena)
{
    cs_plan *plan = cs_arena_take(arena, 1, sizeof *plan);
    if (!plan) return NULL;
    plan->block = cs_arena_take_unset(arena, problem->blocks, sizeof(int64_t));
    plan->start = cs_arena_take_unset(arena, problem->blocks + 1, sizeof(int64_t));
    plan->kind = cs_arena_take_unset(arena, problem->blocks, sizeof(cs_stage_kind));
    plan->cut = cs_arena_take(arena, problem->blocks, 1);
    plan->color_size = cs_arena_take_unset(arena, problem->blocks, sizeof(int64_t));
    if (cs_arena_failed(arena)) return NULL;
    plan->start[0] = 0;
    plan->weight = 1;
    return plan;
}

void cs_plan_close(cs_plan *plan, cs_stage_kind kind, int64_t end)
{
    if (plan->start[plan->stages] == end) return;
    plan->kind[plan->stages++] = kind;
    plan->start[plan->stages] = end;
}

void cs_plan_add_to_color(cs_plan *plan, int64_t color, int64_t blocks)
{
    for (; plan->colors <= color; plan->colors++) plan->color_size[plan->colors] = 0;
    plan->color_size[color] += blocks;
}

void cs_plan_clear(cs_plan *plan, int64_t blocks)
{
    memset(plan->cut, 0, (size_t)blocks);
    plan->divided = 0;
    plan->region = plan->visitor = NULL;
    plan->inner_stages = 0;
    plan->stages = 0;
    plan->colors = 0;
    plan->rounds = 0;
    plan->divided_into = 0;
    plan->weight = 1;
    plan->splits_masses = 0;
}

void cs_plan_flatten(cs_plan *plan, int64_t blocks)
{
    cs_plan_clear(plan, blocks);
    cs_plan_close(plan, CS_SIMULTANEOUS, blocks);
}

void cs_plan_cut(cs_plan *plan, int64_t first, int64_t end, int64_t parts)
{
    if (parts > end - first) parts = end - first;
    for (int64_t p = 0; p < parts; p++) {
        int64_t at = first + (end - first) * p / parts;
        if (at < end) plan->cut[at] = 1;
    }
}

/* Whether subtasks make sense for a plan: it has a stage other than sequential and concurrent ones, or no
 * stage at all. Disjoint stages count, although they are never cut: the same order makes independent stages
 * for other problems. */
static int can_be_divided(const cs_plan *plan)
{
    for (int64_t s = 0; s < plan->stages; s++)
        if (plan->kind[s] != CS_SEQUENTIAL && plan->kind[s] != CS_CONCURRENT) return 1;
    return plan->stages == 0;
}

int64_t cs_parts_of(const cs_order *order, const cs_order_options *options,
                    const cs_problem *problem)
{
    if (options->parts) return options->parts;
    return order->parts_by_size && problem->blocks >= CS_WORTH_MORE_PARTS ? CS_MORE_PARTS
                                                                          : CS_USUAL_PARTS;
}

/* Refuses options of a concurrent border for a plan that is to become one simultaneous stage. */
static cs_status check_flat(const cs_plan *plan, cs_error *error)
{
    if (plan->weight == 1 && !plan->splits_masses) return CS_OK;
    return cs_fail(error, CS_UNSUPPORTED,
                   "%s of order='%s' is for methods whose contacts see each other's changes within "
                   "a sweep, such as 'gauss_seidel': it has no effect here",
                   plan->splits_masses ? "split_masses" : "weight", plan->order);
}

cs_status cs_plan_make(const cs_problem *problem, const cs_order *order, int flat,
                       const cs_order_options *options, cs_arena *scratch, cs_plan **plan,
                       cs_error *error)
{
    *plan = cs_plan_new(problem, scratch);
    if (!*plan) return cs_no_memory(error, "the order");

    /* In a single simultaneous stage the sequence has no effect, and "auto" need not look for one. */
    if (flat && order == &cs_order_auto) {
        order = cs_order_find("natural");
        (*plan)->why = "the contacts of a sweep do not see each other";
    }
    (*plan)->order = order->name;

    /* Let the order fill the plan. */
    cs_setting own[CS_MAX_OWN_OPTIONS];
    cs_order_options settled = *options;
    cs_status status = cs_order_settle(order, &settled, own, error);
    settled.parts = (int)cs_parts_of(order, options, problem);
    if (!status) status = order->plan(problem, &settled, scratch, *plan, error);
    if (!status && flat) status = check_flat(*plan, error);
    if (status) return status;
    if (flat) cs_plan_flatten(*plan, problem->blocks);

    /* Cut stages into subtasks. The order "auto" may have nothing to cut for one problem and something for
     * another, which is no error of the user. */
    if (options->subtasks && order != &cs_order_auto && !can_be_divided(*plan))
        return cs_fail(
            error, CS_UNSUPPORTED,
            "subtasks have no effect: order='%s' makes no simultaneous or independent "
            "stages here that could be cut; use an order in colours, or a method such as "
            "'jacobi'",
            order->name);
    const int64_t *labels = options->labels ? options->labels : (*plan)->labels;
    int owned = labels && order->sums_by_labels && !options->subtasks;
    if (owned) return cs_plan_own(problem, labels, scratch, *plan, error);
    return cs_plan_divide(problem, options, scratch, *plan, error);
}

/* ---- laying out ------------------------------------------------------------------------------ */

/* The state of a walk through the visits of one stage, which cuts them into parts and ranges. */
typedef struct cut_state {
    const cs_plan *plan;
    const cs_problem *problem;
    int64_t stage, in_part; /* in_part: visits of the current part so far */
    int last_group;         /* group of the visit before; -1 at the beginning */
} cut_state;

/* Returns 2 if a part begins with this visit, 1 if only a range does, otherwise 0. */
static int what_begins(cut_state *c, int64_t visit, int group)
{
    /* A part begins where the plan has a cut, or, without subtasks, after CS_CHUNK visits. */
    cs_stage_kind kind = c->plan->kind[c->stage];
    int chunked = kind == CS_SIMULTANEOUS || kind == CS_INDEPENDENT;
    int by_cuts = chunked ? c->plan->divided : kind == CS_CONCURRENT || kind == CS_DISJOINT;
    int part = visit == c->plan->start[c->stage] || (by_cuts && c->plan->cut[visit]) ||
               (chunked && !by_cuts && c->in_part == CS_CHUNK);

    /* A range begins with every part and wherever the group changes. */
    int range = part || group != c->last_group;
    c->in_part = part ? 1 : c->in_part + 1;
    c->last_group = group;
    return part ? 2 : range;
}

/* How many visits from `visit` on, one at least, are before the next one of stage s with a cut, a full part or, at
 * most, `most`: none of them begins a part, except for the first. */
static int64_t run_length(const cs_plan *plan, int64_t s, int64_t visit, int64_t most)
{
    cs_stage_kind kind = plan->kind[s];
    int64_t length = plan->start[s + 1] - visit;
    int chunked = kind == CS_SIMULTANEOUS || kind == CS_INDEPENDENT;
    if (kind == CS_SEQUENTIAL) return length;
    if (chunked && !plan->divided) return length < most ? length : most;
    const unsigned char *cut = plan->cut + visit;
    const unsigned char *next = memchr(cut + 1, 1, (size_t)(length - 1));
    return next ? next - cut : length;
}

/* Counts the parts and ranges of the schedule. */
static void count(const cs_problem *problem, const cs_plan *plan, int64_t *parts, int64_t *ranges)
{
    *parts = *ranges = 0;
    for (int64_t s = 0; s < plan->stages; s++) {
        cut_state c = {plan, problem, s, 0, -1};
        for (int64_t i = plan->start[s]; i < plan->start[s + 1];) {
            int cut = what_begins(&c, i, cs_group_number(problem, plan->block[i]));
            *parts += cut == 2;
            *ranges += cut > 0;

            /* With a single group, nothing begins before the next part. */
            int64_t more = problem->block_groups == 1 ? run_length(plan, s, i, CS_CHUNK) : 1;
            c.in_part += more - 1;
            i += more;
        }
    }
}

/* Appends `count` visits from `visit` on, all of group `group`, to the list of the group and to the last range. */
static void append_visits(const cs_problem *problem, const cs_plan *plan, int64_t visit, int group,
                          int64_t count, int64_t *visited, cs_schedule *schedule)
{
    const int64_t *block = plan->block + visit, first = problem->block_group[group].first_block;
    int64_t *to = schedule->visit[group] + *visited, moved = 0;
    for (int64_t i = 0; i < count; i++) {
        to[i] = block[i] - first;
        moved |= to[i] ^ (*visited + i);
    }
    schedule->natural &= moved == 0;
    schedule->range[schedule->ranges - 1].count += count;
    *visited += count;
}

/* Appends stage s to the schedule. `visited` (groups): number of visits to each group so far. */
static void lay_stage(const cs_problem *problem, const cs_plan *plan, int64_t s, int64_t *visited,
                      cs_schedule *schedule)
{
    cs_stage *stage = &schedule->stage[s];
    cut_state c = {plan, problem, s, 0, -1};

    /* Append the visits, and open a part or a range where one begins. */
    *stage = (cs_stage){plan->kind[s], schedule->parts, 0, plan->start[s + 1] - plan->start[s]};
    for (int64_t i = plan->start[s]; i < plan->start[s + 1];) {
        int group = cs_group_number(problem, plan->block[i]), cut = what_begins(&c, i, group);
        if (cut == 2 && schedule->region)
            schedule->region[schedule->parts] =
                s < schedule->inner_stages ? plan->region[plan->block[i]] : -1;
        if (cut == 2 && schedule->owner)
            schedule->owner[schedule->parts] = plan->owner[plan->block[i]];
        if (cut == 2) schedule->part[schedule->parts++] = schedule->ranges;
        if (cut) schedule->range[schedule->ranges++] = (cs_range){group, visited[group], 0};

        /* Append the visit to the list of its group; with a single group, all that belong to this part. */
        int64_t more = problem->block_groups == 1 ? run_length(plan, s, i, CS_CHUNK) : 1;
        append_visits(problem, plan, i, group, more, &visited[group], schedule);
        c.in_part += more - 1;
        i += more;
    }

    /* The stage now has all of its parts. */
    stage->parts = schedule->parts - stage->first_part;
    if (stage->parts > schedule->most_parts) schedule->most_parts = stage->parts;
}

cs_status cs_schedule_lay(const cs_problem *problem, const cs_plan *plan, cs_arena *arena,
                          cs_schedule *schedule, cs_error *error)
{
    int64_t visited[CS_MAX_GROUPS] = {0};
    *schedule = (cs_schedule){
        .stages = plan->stages,
        .natural = 1,
        .colors = plan->colors,
        .divided_into = plan->divided_into,
        .rounds = plan->rounds,
        .inner_stages = plan->inner_stages,
        .owners = plan->owner ? plan->owners : 0,
        .weight = plan->weight,
        .splits_masses = plan->splits_masses,
        .order = plan->order,
        .why = plan->why,
    };

    /* Count the parts and ranges, and allocate. */
    int64_t parts, ranges;
    count(problem, plan, &parts, &ranges);
    schedule->stage = cs_arena_take(arena, plan->stages, sizeof(cs_stage));
    schedule->part = cs_arena_take(arena, parts + 1, sizeof(int64_t));
    schedule->range = cs_arena_take(arena, ranges, sizeof(cs_range));
    if (plan->region) schedule->region = cs_arena_take(arena, parts, sizeof(int64_t));
    if (plan->owner) schedule->owner = cs_arena_take(arena, parts, sizeof(int64_t));
    for (int g = 0; g < problem->block_groups; g++)
        schedule->visit[g] =
            cs_arena_take_unset(arena, problem->block_group[g].count, sizeof(int64_t));
    if (cs_arena_failed(arena)) return cs_no_memory(error, "the schedule");

    /* Fill stage by stage. */
    for (int64_t s = 0; s < plan->stages; s++) lay_stage(problem, plan, s, visited, schedule);
    schedule->part[parts] = ranges;
    return CS_OK;
}
