/* Stencils in motion: contacts at known times, the same bits on any number of threads, the largest free step, and numbers
 * at the ends of the range. */
#include "bvh/ccd.h"
#include "bvh/narrow.h"
#include "testing.h"

#include <string.h>

enum { COUNT = 6000, NUMBERS = 12 * COUNT };

static double start[NUMBERS], end[NUMBERS], known[COUNT];

/* Whole numbers from -16 to 15. */
static double whole(uint64_t *state) { return floor(16 * test_random(state)); }

/* Vertices and faces, or edges, whose points with the weights 1/4, 1/4, 1/2, or 1/2 each, meet at t = k / 16: positions at
 * that time and velocities are whole numbers, and so are the positions at t = 0 and 1 times 16. */
static void make_contacts(cs_stencil_kind kind, uint64_t seed)
{
    static const double of_face[] = {4, -1, -1, -2}, of_edges[] = {2, 2, -2, -2};
    const double *weight = kind == CS_VERTEX_FACE ? of_face : of_edges;
    int first = kind == CS_VERTEX_FACE ? 1 : 2;
    uint64_t state = seed;
    for (int64_t i = 0; i < COUNT; i++) {
        double x[4][3], step = floor(8 * test_random(&state)) + 8;
        for (int c = 0; c < 3; c++) {
            double sum = 0;
            for (int k = 0; k < 4; k++) sum += weight[k] * (x[k][c] = 4 * whole(&state));
            for (int k = 0; k < first; k++) x[k][c] -= sum / 4;
        }
        for (int k = 0; k < 4; k++)
            for (int c = 0; c < 3; c++) {
                double velocity = whole(&state);
                start[12 * i + 3 * k + c] = 16 * x[k][c] - step * velocity;
                end[12 * i + 3 * k + c] = 16 * x[k][c] + (16 - step) * velocity;
            }
        known[i] = step / 16;
    }
}

static cs_stencils stencils_of(cs_stencil_kind kind)
{
    return (cs_stencils){.kind = kind, .count = COUNT, .start = start, .end = end};
}

typedef struct results {
    uint8_t hit[COUNT], doubtful[COUNT];
    double time[COUNT], weight[4 * COUNT], separation[3 * COUNT];
} results;

static void find(const cs_stencils *stencils, double margin, int threads, results *to)
{
    cs_impacts impacts = {to->hit, to->doubtful, to->time, to->weight, to->separation};
    memset(to, 0, sizeof *to);
    CHECK(cs_stencil_impacts(stencils, margin, &impacts, threads, NULL) == CS_OK);
}

static void no_contact_is_missed(cs_stencil_kind kind)
{
    static results found;
    cs_stencils stencils = stencils_of(kind);
    make_contacts(kind, 3);
    find(&stencils, 0, 1, &found);
    int64_t missed = 0, late = 0;
    for (int64_t i = 0; i < COUNT; i++) {
        missed += !found.hit[i];
        late += !(found.time[i] <= known[i]);
    }
    CHECK(missed == 0 && late == 0);
}

/* Primitives that are drawn apart have hits and misses. */
static void threads_change_no_bit(cs_stencil_kind kind, double margin)
{
    static results alone, shared;
    cs_stencils stencils = stencils_of(kind);
    uint64_t state = 7;
    double least = 1;
    for (int64_t i = 0; i < NUMBERS; i++) {
        start[i] = test_random(&state);
        end[i] = test_random(&state);
    }
    find(&stencils, margin, 1, &alone);
    int64_t hits = 0;
    for (int64_t i = 0; i < COUNT; i++) {
        hits += alone.hit[i];
        least = fmin(least, alone.time[i]);
    }
    CHECK(hits > COUNT / 100 && hits < COUNT / 2);

    for (int threads = 2; threads <= 4; threads++) {
        double step;
        find(&stencils, margin, threads, &shared);
        CHECK(!memcmp(&alone, &shared, sizeof alone));
        CHECK(cs_stencil_free_step(&stencils, margin, threads, NULL, &step) == CS_OK);
        CHECK(step == least);
    }
}

/* A contact stays one in every unit of length that holds the positions. */
static void units_do_not_matter(cs_stencil_kind kind)
{
    static const int power[] = {-1074, -1000, -500, -100, 100, 500, 1000, 1012};
    double x0[12], x1[12];
    cs_stencils one = {.kind = kind, .count = 1, .start = x0, .end = x1};
    make_contacts(kind, 11);
    for (size_t p = 0; p < sizeof power / sizeof *power; p++)
        for (int64_t i = 0; i < 200; i++) {
            cs_path path;
            cs_impact impact;
            for (int c = 0; c < 12; c++) {
                x0[c] = ldexp(start[12 * i + c], power[p]);
                x1[c] = ldexp(end[12 * i + c], power[p]);
            }
            cs_path_load(&one, 0, 0, &path);
            cs_ccd_find(&path, INFINITY, &impact);
            CHECK(impact.is_hit && impact.time <= known[i]);
        }
}

static int cancel(void *context)
{
    (void)context;
    return 1;
}

static void calls_can_be_cancelled(void)
{
    static const double x[12] = {0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0};
    static int64_t index[4 * 100000];
    double step;
    for (int64_t i = 0; i < 4 * 100000; i++) index[i] = i % 4;
    cs_stencils stencils = {CS_VERTEX_FACE, 100000, x, x, index};
    cs_cancellation cancellation = {.is_cancelled = cancel};
    CHECK(cs_stencil_free_step(&stencils, 0, 1, NULL, &step) == CS_OK && step == 1);
    CHECK(cs_stencil_free_step(&stencils, 0, 1, &cancellation, &step) == CS_INTERRUPTED);
}

int main(void)
{
    for (int kind = 0; kind < CS_STENCIL_KINDS; kind++) {
        no_contact_is_missed((cs_stencil_kind)kind);
        units_do_not_matter((cs_stencil_kind)kind);
        threads_change_no_bit((cs_stencil_kind)kind, 0);
        threads_change_no_bit((cs_stencil_kind)kind, 0.01);
    }
    calls_can_be_cancelled();
    return test_result();
}
