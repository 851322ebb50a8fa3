/* The pivoting rules as methods for contact problems, and their options. */
#include "methods/pivoting/contact.h"

#include <math.h>

static const char *const engines[] = {
    "auto",
#define CS_ENGINE(name) #name,
#include "mlcp/engines.def"
#undef CS_ENGINE
    NULL,
};

/* Those that every rule takes come first, then those of all with an engine. */
enum {
    TOLERANCE,
    MAX_PIVOTS,
    ENGINE,
    REFINEMENTS,
    CACHE_BYTES,
    REUSE,
    BLOCK_STEPS,
    STALL_STEPS,
    INTERIOR,
    OPTIONS
};

#define TOLERANCE_OPTION                                                                    \
    {                                                                                       \
        .name = "tolerance", .summary = "scaled residual at which one solve has converged", \
        .kind = CS_NUMBER, .usual = 1e-9, .above = 1, .most = HUGE_VAL                      \
    }
#define MAX_PIVOTS_OPTION                                                                    \
    {                                                                                        \
        .name = "max_pivots", .summary = "maximum pivots per island; None: 100 + 20 × rows", \
        .kind = CS_COUNT, .optional = 1, .least = 1, .most = 2e9                             \
    }

static const cs_method_option option[OPTIONS] = {
    [TOLERANCE] = TOLERANCE_OPTION,
    [MAX_PIVOTS] = MAX_PIVOTS_OPTION,
    [ENGINE] = CS_WORD_OPTION("engine", engines,
                              "how A_FF is factored; auto: the engine with the fewest operations"),
    [REFINEMENTS] = CS_COUNT_OPTION("refinements", 2, 0,
                                    "maximum steps of iterative refinement per linear system"),
    [CACHE_BYTES] =
        CS_COUNT_OPTION("cache_bytes", 64 << 20, 0, "memory limit of the engine cached [bytes]"),
    [REUSE] = CS_COUNT_OPTION(
        "reuse", 0, 0,
        "maximum steps of conjugate gradients per linear system, preconditioned by a factor from "
        "before an update; after them a new factor is made. 0: factors are not reused"),
    [BLOCK_STEPS] = CS_COUNT_OPTION(
        "block_steps", 35, 0,
        "maximum block steps, which change many rows at once, before single pivots"),
    [STALL_STEPS] = CS_COUNT_OPTION(
        "stall_steps", 10, 0, "block steps without improvement before switching to single pivots"),
    [INTERIOR] = {.name = "interior",
                  .summary =
                      "predict the index set by interior-point steps where block steps are slow",
                  .kind = CS_FLAG,
                  .usual = 1,
                  .most = 1},
};

/* Lemke's have no engine; the last two are its own. */
enum { DIRECTIONS = MAX_PIVOTS + 1, DICTIONARY_BYTES, LEMKE_OPTIONS, SINGLE = BLOCK_STEPS };

static const cs_method_option lemke_option[LEMKE_OPTIONS] = {
    [TOLERANCE] = TOLERANCE_OPTION,
    [MAX_PIVOTS] = MAX_PIVOTS_OPTION,
    [DIRECTIONS] = {.name = "directions",
                    .summary =
                        "corners of the polygon inside the disc or ellipse that bounds friction, "
                        "the first on the first tangent; polygons and box friction keep their own. "
                        "None: box friction in an outer loop, and discs are refused",
                    .kind = CS_COUNT,
                    .optional = 1,
                    .least = 3,
                    .most = 2e9},
    [DICTIONARY_BYTES] = CS_NUMBER_OPTION("dictionary_bytes", 4e9, 0, HUGE_VAL,
                                          "memory limit of the dictionary [bytes]"),
};

static void adopt_common(const cs_method *method, const double *setting, cs_mlcp_options *pivoting)
{
    *pivoting = cs_mlcp_options_default();
    pivoting->rule = method->name;
    pivoting->tolerance = setting[TOLERANCE];
    pivoting->max_pivots = (int64_t)setting[MAX_PIVOTS];
}

static void adopt_lemke(const cs_method *method, const double *setting, cs_options *options)
{
    adopt_common(method, setting, &options->pivoting);
    options->pivoting.directions = (int)setting[DIRECTIONS];
    options->pivoting.dictionary_bytes = setting[DICTIONARY_BYTES];
}

static void adopt(const cs_method *method, const double *setting, cs_options *options)
{
    cs_mlcp_options *pivoting = &options->pivoting;
    adopt_common(method, setting, pivoting);
    pivoting->engine = engines[(int)setting[ENGINE]];
    pivoting->refinements = (int)setting[REFINEMENTS];
    pivoting->cache_bytes = (int64_t)setting[CACHE_BYTES];
    pivoting->reuse = (int64_t)setting[REUSE];
    if (method->options <= SINGLE) return;
    pivoting->block_steps = (int64_t)setting[BLOCK_STEPS];
    pivoting->stall_steps = (int64_t)setting[STALL_STEPS];
    pivoting->interior = setting[INTERIOR] != 0;
}

#define SOLVES                                                                           \
    (CS_BIT(CS_SOLVES_FRICTIONLESS) | CS_BIT(CS_SOLVES_JOINTS) | CS_BIT(CS_SOLVES_BOX) | \
     CS_BIT(CS_SOLVES_MASS_RATIO))

#define REGULAR \
    (CS_BIT(CS_NEEDS_BOX_FRICTION) | CS_BIT(CS_NEEDS_FLOAT64) | CS_BIT(CS_NEEDS_REGULAR))
#define ANY (CS_BIT(CS_NEEDS_BOX_FRICTION) | CS_BIT(CS_NEEDS_FLOAT64))

#define PIVOTING(rule, list, count, takes, asked, line, text, source) \
    const cs_method cs_method_##rule = {                              \
        .name = #rule,                                                \
        .summary = line,                                              \
        .about = text,                                                \
        .paper = source,                                              \
        .needs = asked,                                               \
        .solves = SOLVES,                                             \
        .option = list,                                               \
        .options = count,                                             \
        .stage = CS_SEQUENTIAL,                                       \
        .takes_zero_diagonals = !((asked)&CS_BIT(CS_NEEDS_REGULAR)),  \
        .adopt = takes,                                               \
        .without_sweeps = 1,                                          \
        .takes_index_sets = (asked) == REGULAR,                       \
        .check = cs_pivoting_check,                                   \
        .own = sizeof(cs_pivoting),                                   \
        .release = cs_pivoting_release,                               \
        .describe = cs_pivoting_describe,                             \
        .prepare = cs_pivoting_prepare,                               \
        .solve = cs_pivoting_solve,                                   \
    }

PIVOTING(bpp, option, OPTIONS, adopt, REGULAR,
         "direct: block principal pivoting on box friction (S3)",
         "Each iteration solves the mixed LCP of the current friction bounds directly; the next "
         "one takes its bounds from the new normal impulses and starts from the new index set. "
         "`max_iterations` limits these solves. `averaging` is a constant weight that averages the "
         "normal impulses that bound friction; without it they are used as computed until three "
         "solves have not halved the natural map, and are then combined by Anderson's method and "
         "damped. The stopping rule measures the whole problem. In the first solve friction has no "
         "bounds, unless `initial` is given. A must be positive definite: contacts whose impulses "
         "are not unique need a `compliance`.",
         "S3 (Lefebvre 2020); Júdice and Pires 1994");
PIVOTING(
    murty, option, SINGLE, adopt, REGULAR, "direct: Murty's single pivots on box friction",
    "Each pivot changes one row, the infeasible row with the highest number; otherwise as `bpp`.",
    "Murty 1974");
PIVOTING(lemke, lemke_option, LEMKE_OPTIONS, adopt_lemke, ANY,
         "direct: Lemke's pivots on box friction",
         "Lemke's method on a full dictionary, otherwise as `bpp`; A may be semidefinite. The "
         "method takes no index set, so that every solve starts anew. With `directions`, and for "
         "polygons, the whole problem is one linear complementarity problem whose unknowns include "
         "the normal impulses that bound friction (S1 eq. 2.42), and one solve is the answer.",
         "Lemke 1965");
PIVOTING(keller, option, SINGLE, adopt, REGULAR, "direct: Keller's pivots on box friction",
         "Impulses stay within their bounds while one row after another becomes feasible; "
         "otherwise as `bpp`.",
         "Keller 1973");
PIVOTING(dantzig, option, SINGLE, adopt, REGULAR,
         "direct: Cottle and Dantzig's pivots on box friction",
         "Feasible rows stay feasible while the next row is brought to its solution; otherwise as "
         "`bpp`.",
         "Cottle and Dantzig 1968; Baraff 1994");
