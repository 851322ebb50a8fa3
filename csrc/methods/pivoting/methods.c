/* The pivoting rules as methods for contact problems, and their options. */
#include "methods/pivoting/contact.h"
#include "mlcp/options.h"

#include <math.h>

static const char *const engines[] = {
    "auto",
#define CS_ENGINE(name) #name,
#include "mlcp/engines.def"
#undef CS_ENGINE
    NULL,
};

/* The options of all rules come first, then those of rules with an engine, then those of bpp alone. */
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

static const cs_method_option option[OPTIONS] = {
    [TOLERANCE] = CS_MLCP_TOLERANCE_OPTION,
    [MAX_PIVOTS] = CS_MLCP_MAX_PIVOTS_OPTION,
    [ENGINE] = CS_WORD_OPTION("engine", engines, CS_MLCP_ENGINE_LINE),
    [REFINEMENTS] = CS_MLCP_REFINEMENTS_OPTION,
    [CACHE_BYTES] = CS_MLCP_CACHE_BYTES_OPTION,
    [REUSE] = CS_MLCP_REUSE_OPTION,
    [BLOCK_STEPS] = CS_MLCP_BLOCK_STEPS_OPTION,
    [STALL_STEPS] = CS_MLCP_STALL_STEPS_OPTION,
    [INTERIOR] = CS_MLCP_INTERIOR_OPTION,
};

/* Lemke's rule has no engine; its last two options are its own. Rules with single pivots have the options
 * up to SINGLE. */
enum { DIRECTIONS = MAX_PIVOTS + 1, DICTIONARY_BYTES, LEMKE_OPTIONS, SINGLE = BLOCK_STEPS };

static const cs_method_option lemke_option[LEMKE_OPTIONS] = {
    [TOLERANCE] = CS_MLCP_TOLERANCE_OPTION,
    [MAX_PIVOTS] = CS_MLCP_MAX_PIVOTS_OPTION,
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

/* Takes the options that all rules share. */
static void adopt_common(const cs_method *method, const double *setting, cs_mlcp_options *pivoting)
{
    *pivoting = cs_mlcp_options_default();
    pivoting->rule = method->name;
    pivoting->tolerance = setting[TOLERANCE];
    pivoting->max_pivots = (int64_t)setting[MAX_PIVOTS];
}

/* The `adopt` of Lemke's rule: options->pivoting <- its settings. */
static void adopt_lemke(const cs_method *method, const double *setting, cs_options *options)
{
    adopt_common(method, setting, &options->pivoting);
    options->pivoting.directions = (int)setting[DIRECTIONS];
    options->pivoting.dictionary_bytes = setting[DICTIONARY_BYTES];
}

/* The `adopt` of rules with an engine: options->pivoting <- their settings. */
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

/* What all rules solve well; what a rule needs, if A must be positive definite and if not. */
#define SOLVES                                                                           \
    (CS_BIT(CS_SOLVES_FRICTIONLESS) | CS_BIT(CS_SOLVES_JOINTS) | CS_BIT(CS_SOLVES_BOX) | \
     CS_BIT(CS_SOLVES_MASS_RATIO))

#define REGULAR \
    (CS_BIT(CS_NEEDS_BOX_FRICTION) | CS_BIT(CS_NEEDS_FLOAT64) | CS_BIT(CS_NEEDS_REGULAR))
#define ANY (CS_BIT(CS_NEEDS_BOX_FRICTION) | CS_BIT(CS_NEEDS_FLOAT64))

/* A method for a rule: its option table and their number, its `adopt`, its needs, and its texts. A rule for ANY
 * matrix may end on a ray, which is one of the whole problem. */
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
        .figure = cs_pivoting_figure,                                 \
        .figures = CS_PIVOTING_FIGURES,                               \
        .stage = CS_SEQUENTIAL,                                       \
        .takes_zero_diagonals = !((asked)&CS_BIT(CS_NEEDS_REGULAR)),  \
        .adopt = takes,                                               \
        .without_sweeps = 1,                                          \
        .takes_index_sets = (asked) == REGULAR,                       \
        .as_a_whole = (asked) == ANY,                                 \
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
