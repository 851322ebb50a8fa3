/* Materials, and the laws between two of them. */
#include "core/error.h"
#include "dynamics/world.h"
#include "prox/prox.h"

#include <math.h>
#include <string.h>

/* A law as the caller gives it, copied into the world's memory. */
static cs_status copy_law(cs_world *world, const cs_material *material, cs_law *law,
                          cs_error *error)
{
    int wanted = cs_set_parameters(material->set, material->rows);
    int least = world->space.dimension == 3 ? 3 : 2, most = world->space.dimension == 3 ? 5 : 2;

    /* The set and its rows. */
    if (material->rows != 1 && (material->rows < least || material->rows > most))
        return cs_fail(error, CS_INVALID,
                       "a material has %d rows: 1 (without friction) or %d to %d are needed",
                       material->rows, least, most);
    if (wanted < 0)
        return cs_fail(error, CS_INVALID, "a material has the set %s, which does not take %d rows",
                       cs_word(material->set).text, material->rows);
    if (cs_set_is_variable(material->set) ? material->parameters < wanted
                                          : material->parameters != wanted)
        return cs_fail(error, CS_INVALID, "a material of the set %s has %d parameters, not %d",
                       cs_word(material->set).text, material->parameters, wanted);
    cs_status status = cs_check_parameters(cs_set_find(material->set), 1, material->rows,
                                           material->parameters, material->parameter, 0, error);
    if (status) return status;
    for (int k = 0; k < 2; k++)
        if (!(material->restitution[k] >= 0 && material->restitution[k] <= 1))
            return cs_fail(error, CS_INVALID, "restitution[%d] is %s: 0 to 1 is needed", k,
                           cs_number(material->restitution[k]).text);

    /* The copy. */
    size_t size = strlen(material->set) + 1;
    char *name = cs_arena_take(&world->arena, (int64_t)size, 1);
    double *parameter = cs_arena_take(&world->arena, material->parameters, sizeof *parameter);
    if (!name || !parameter) return cs_no_memory(error, "a material");
    memcpy(name, material->set, size);
    if (material->parameters)
        memcpy(parameter, material->parameter, sizeof(double) * (size_t)material->parameters);
    *law = (cs_law){
        .set = name,
        .rows = material->rows,
        .parameters = material->parameters,
        .parameter = parameter,
        .restitution = {material->restitution[0], material->restitution[1]},
    };
    return CS_OK;
}

cs_status cs_world_add_material(cs_world *world, const cs_material *material, int *index,
                                cs_error *error)
{
    cs_materials *all = &world->materials;
    cs_law **laws = cs_buffer_grown(&all->laws, all->count + 1, all->count, sizeof *laws);
    cs_law *law = cs_arena_take(&world->arena, 1, sizeof *law);
    if (!laws || !law) return cs_no_memory(error, "%d materials", all->count + 1);
    cs_status status = copy_law(world, material, law, error);
    if (status) return status;
    laws[all->count] = law;
    *index = all->count++;
    return CS_OK;
}

/* The pair of two materials, or NULL. */
static cs_law_pair *find_pair(const cs_materials *all, int first, int second)
{
    cs_law_pair *const *pair = all->pairs.data;
    for (int i = 0; i < all->pair_count; i++)
        if (pair[i]->first == first && pair[i]->second == second) return pair[i];
    return NULL;
}

/* A copy of a law that lasts as long as the world: contacts refer to laws, also to those that were replaced. */
static const cs_law *keep_law(cs_world *world, const cs_law *law)
{
    cs_law *kept = cs_arena_take(&world->arena, 1, sizeof *kept);
    if (kept) *kept = *law;
    return kept;
}

/* Adds the law of a pair. */
static cs_status add_pair(cs_world *world, int first, int second, const cs_law *law,
                          cs_error *error)
{
    cs_materials *all = &world->materials;
    cs_law_pair **pairs =
        cs_buffer_grown(&all->pairs, all->pair_count + 1, all->pair_count, sizeof *pairs);
    cs_law_pair *pair = cs_arena_take(&world->arena, 1, sizeof *pair);
    const cs_law *kept = keep_law(world, law);
    if (!pairs || !pair || !kept)
        return cs_no_memory(error, "%d pairs of materials", all->pair_count + 1);
    *pair = (cs_law_pair){first, second, kept};
    pairs[all->pair_count++] = pair;
    return CS_OK;
}

cs_status cs_world_set_pair(cs_world *world, int first, int second, const cs_material *material,
                            cs_error *error)
{
    int material_of[2] = {first < second ? first : second, first < second ? second : first};
    for (int k = 0; k < 2; k++)
        if (material_of[k] < 0 || material_of[k] >= world->materials.count)
            return cs_fail(error, CS_INVALID, "material %d is unknown: there are %d",
                           material_of[k], world->materials.count);
    cs_law law;
    cs_status status = copy_law(world, material, &law, error);
    if (status) return status;
    world->changed = 1;
    cs_law_pair *pair = find_pair(&world->materials, material_of[0], material_of[1]);
    if (!pair) return add_pair(world, material_of[0], material_of[1], &law, error);
    const cs_law *kept = keep_law(world, &law);
    if (!kept) return cs_no_memory(error, "a pair of materials");
    pair->law = kept;
    return CS_OK;
}

/* Whether every parameter of a set is a number for each block or row, so that a mean of two makes sense. */
static int has_means(const char *set)
{
    cs_set_info info;
    for (int i = 0; cs_set_describe(i, &info); i++) {
        if (strcmp(info.name, set) != 0) continue;
        for (int p = 0; p < info.parameters; p++)
            if (info.parameter[p].kind == CS_OF_SHAPE || info.parameter[p].least < 0) return 0;
        return strcmp(set, "support_function") != 0;
    }
    return 0;
}

static const cs_law *law_of(const cs_world *world, int material)
{
    return ((cs_law *const *)world->materials.laws.data)[material];
}

/* law <- that of two materials with the same set: geometric means of the parameters, the larger restitution. */
static cs_status combine(cs_world *world, int first, int second, cs_law *law, cs_error *error)
{
    const cs_law *a = law_of(world, first), *b = law_of(world, second);
    int alike = strcmp(a->set, b->set) == 0 && a->rows == b->rows && a->parameters == b->parameters;
    int equal =
        alike && memcmp(a->parameter, b->parameter, sizeof(double) * (size_t)a->parameters) == 0;
    if (!equal && !(alike && has_means(a->set)))
        return cs_fail(error, CS_INVALID,
                       "materials %d (%s, %d rows) and %d (%s, %d rows) touch: give the material "
                       "of this pair by set_pair",
                       first, a->set, a->rows, second, b->set, b->rows);
    *law = *a;
    law->parameter = cs_arena_take(&world->arena, a->parameters, sizeof(double));
    if (!law->parameter) return cs_no_memory(error, "a pair of materials");
    for (int p = 0; p < a->parameters; p++)
        law->parameter[p] = a->parameter[p] == b->parameter[p]
                                ? a->parameter[p]
                                : sqrt(a->parameter[p] * b->parameter[p]);
    for (int k = 0; k < 2; k++) law->restitution[k] = fmax(a->restitution[k], b->restitution[k]);
    return CS_OK;
}

const cs_law *cs_law_between(cs_world *world, int first, int second, cs_error *error)
{
    if (first > second) return cs_law_between(world, second, first, error);
    const cs_law_pair *pair = find_pair(&world->materials, first, second);
    if (pair) return pair->law;
    if (first == second) return law_of(world, first);

    /* The law of two materials is combined when they first meet. */
    cs_law law;
    if (combine(world, first, second, &law, error)) return NULL;
    if (add_pair(world, first, second, &law, error)) return NULL;
    return find_pair(&world->materials, first, second)->law;
}
