/* When sweeps are shared among threads: a machine of made-up times. */
#include "core/pace.h"
#include "testing.h"

static cs_pace pace;
static double now;

/* Makes sweeps that take so long on one thread, or shared; returns how many were shared. */
static int sweep(int count, double alone, double shared)
{
    int together = 0;
    for (int i = 0; i < count; i++) {
        int shares = cs_pace_shares(&pace);
        double seconds = shares ? shared : alone;
        now += seconds;
        cs_pace_learn(&pace, shares, seconds);
        together += shares;
    }
    return together;
}

static void begin(void)
{
    pace = (cs_pace){0};
    now = 0;
}

static void a_quiet_machine_shares_all_but_the_first(void)
{
    begin();
    CHECK(sweep(1000, 1, 0.6) == 1000 - CS_PACE_FIRST);
}

/* The first sweep may be slow: it is not what shared ones are measured by. */
static void a_cold_first_sweep_is_forgotten(void)
{
    begin();
    CHECK(sweep(1, 5, 0) == 0);
    CHECK(sweep(1, 1, 0) == 0);
    CHECK(sweep(20, 1, 2) < 10);
}

/* Shared sweeps that wait for a thread off its core, many times as long: little is lost. */
static void a_busy_machine_costs_little(void)
{
    for (double factor = 1.1; factor < 100; factor *= 1.7) {
        begin();
        int together = sweep(5000, 1, factor);
        CHECK(together > 0);
        CHECK(now <= 5000 * (1 + 1.0 / CS_PACE_PATIENCE) + 2 * factor);
    }
}

/* When the others have gone, sweeps are shared again, and soon. */
static void quiet_comes_back(void)
{
    begin();
    sweep(5000, 1, 20);
    sweep(20 * (CS_PACE_PATIENCE << CS_PACE_DOUBLED), 1, 0.6);
    CHECK(sweep(100, 1, 0.6) == 100);
    CHECK(pace.failures == 0);
}

/* A machine that has become slower for good: what one thread takes is learnt anew. */
static void slower_for_good(void)
{
    begin();
    sweep(100, 1, 0.6);
    sweep(500, 3, 1.8);
    CHECK(sweep(100, 3, 1.8) == 100);
}

/* One sweep that came late costs a pause in proportion. */
static void a_late_one(void)
{
    begin();
    sweep(100, 1, 0.6);
    sweep(1, 1, 5);
    int together = sweep(100, 1, 0.6);
    CHECK(together >= 100 - 4 * CS_PACE_PATIENCE - 1 && together < 100);
}

int main(void)
{
    a_quiet_machine_shares_all_but_the_first();
    a_cold_first_sweep_is_forgotten();
    a_busy_machine_costs_little();
    quiet_comes_back();
    slower_for_good();
    a_late_one();
    return test_result();
}
