/* Messages between ranks, which are threads here, by both kinds of transport: that of threads, and that of MPI with
 * requests of tests/c/plain_mpi.h. Compiled with ThreadSanitizer it also shows that what a rank receives has been
 * written before. */
#include "core/back_off.h"
#include "core/clock.h"
#include "core/parallel.h"
#include "plain_mpi.h"
#include "testing.h"
#include "transport/exchange_cost.h"
#include "transport/threads.h"

#include <stdatomic.h>
#include <string.h>

enum { MOST_RANKS = 8, THREADS = 0, MPI = 1, KINDS = 2 };
static const int RANKS[] = {1, 2, 3, 5, 8};
enum { RANK_COUNTS = sizeof RANKS / sizeof *RANKS };

/* One job: what each rank does, and what it has found to be wrong. */
typedef struct job {
    void (*work)(struct job *job, cs_transport *transport);
    int ranks;
    cs_transport *transport[MOST_RANKS];
    int wrong[MOST_RANKS];
    cs_status status[MOST_RANKS];
    cs_error error[MOST_RANKS];
    cs_traffic traffic[MOST_RANKS];
    double seconds[MOST_RANKS];
} job;

static void run_rank(void *context, int rank)
{
    job *j = context;
    double start = cs_clock();
    j->work(j, j->transport[rank]);
    j->seconds[rank] = cs_clock() - start;
    if (!j->transport[rank]) return;
    j->traffic[rank] = cs_transport_traffic(j->transport[rank]);
    cs_transport_destroy(j->transport[rank]);
}

/* Runs a job on ranks that are threads. */
static job run(int kind, int ranks, double timeout, void (*work)(job *j, cs_transport *transport))
{
    job j = {.work = work, .ranks = ranks};
    cs_error error = {0};
    if (kind == THREADS) {
        CHECK_STATUS(cs_threads_make(NULL, j.transport, ranks, timeout, &error), CS_OK, &error);
    } else {
        plain_mpi_begin(ranks);
        for (int r = 0; r < ranks; r++)
            CHECK_STATUS(plain_mpi_make(&j.transport[r], r, timeout, &error), CS_OK, &error);
    }
    cs_parallel(ranks, run_rank, &j);
    if (kind == MPI) plain_mpi_end();
    for (int r = 0; r < ranks; r++) CHECK(j.wrong[r] == 0);
    CHECK(cs_memory_live() == 0);
    return j;
}

/* Keeps the end of a rank. */
static void end(job *j, int rank, cs_status status, const cs_error *error)
{
    j->status[rank] = status;
    j->error[rank] = *error;
}

/* ---- exchanges ------------------------------------------------------------------------------------------ */

enum { ROUNDS = 60, MOST_BYTES = 400, EXCHANGES = 3 };

/* Bytes from rank a to rank b in an exchange; often none. */
static int64_t size_of(int exchange, int a, int b)
{
    int mixed = (7 * a + 11 * b + 5 * exchange) % 9;
    return mixed < 3 ? 0 : 37 * mixed + exchange;
}

static unsigned char byte_of(int exchange, int a, int b, int round, int64_t i)
{
    return (unsigned char)(31 * exchange + 7 * a + 13 * b + 17 * round + i);
}

/* The buffers of one exchange of a rank. */
typedef struct buffers {
    unsigned char send[MOST_RANKS][MOST_BYTES], receive[MOST_RANKS][MOST_BYTES];
    cs_exchange *exchange;
    int number;
} buffers;

static cs_status make(buffers *b, cs_transport *transport, int number, cs_error *error)
{
    int rank = cs_transport_rank(transport), ranks = cs_transport_ranks(transport), count = 0;
    cs_neighbour neighbour[MOST_RANKS];
    b->number = number;
    for (int r = 0; r < ranks; r++)
        if (r != rank)
            neighbour[count++] = (cs_neighbour){r, b->send[r], size_of(number, rank, r),
                                                b->receive[r], size_of(number, r, rank)};
    return cs_exchange_make(&b->exchange, transport, "numbers", neighbour, count, error);
}

static cs_status begin(buffers *b, cs_transport *transport, int round, cs_error *error)
{
    int rank = cs_transport_rank(transport);
    for (int r = 0; r < cs_transport_ranks(transport); r++)
        for (int64_t i = 0; i < size_of(b->number, rank, r); i++)
            b->send[r][i] = byte_of(b->number, rank, r, round, i);
    return cs_exchange_begin(b->exchange, error);
}

/* Ends it; returns the number of bytes that are wrong. */
static int end_and_count(buffers *b, cs_transport *transport, int round, cs_error *error)
{
    int rank = cs_transport_rank(transport), wrong = 0;
    if (cs_exchange_end(b->exchange, error)) return 1;
    for (int r = 0; r < cs_transport_ranks(transport); r++)
        for (int64_t i = 0; r != rank && i < size_of(b->number, r, rank); i++)
            wrong += b->receive[r][i] != byte_of(b->number, r, rank, round, i);
    return wrong;
}

/* Three exchanges that overlap, again and again. */
static void exchange_numbers(job *j, cs_transport *transport)
{
    int rank = cs_transport_rank(transport), *wrong = &j->wrong[rank];
    static buffers all[MOST_RANKS][EXCHANGES];
    buffers *own = all[rank];
    cs_error error = {0};
    for (int e = 0; e < EXCHANGES; e++) *wrong += make(&own[e], transport, e, &error) != CS_OK;
    *wrong += cs_transport_agree(transport, CS_OK, &error) != CS_OK;
    for (int round = 0; round < ROUNDS && !*wrong; round++) {
        for (int e = 0; e < EXCHANGES; e++)
            *wrong += begin(&own[e], transport, round, &error) != CS_OK;
        for (int e = EXCHANGES - 1; e >= 0; e--)
            *wrong += end_and_count(&own[e], transport, round, &error);
    }
    for (int e = 0; e < EXCHANGES; e++) cs_exchange_free(own[e].exchange);
}

static void test_exchanges(int kind)
{
    for (int k = 0; k < RANK_COUNTS; k++) {
        job j = run(kind, RANKS[k], 30, exchange_numbers);

        /* What was sent is what the sizes say, exactly. */
        for (int r = 0; r < j.ranks; r++) {
            int64_t messages = 0, bytes = 0;
            for (int e = 0; e < EXCHANGES; e++)
                for (int to = 0; to < j.ranks; to++)
                    if (to != r) {
                        messages += size_of(e, r, to) > 0;
                        bytes += size_of(e, r, to);
                    }
            CHECK(j.traffic[r].exchanges == ROUNDS * EXCHANGES);
            CHECK(j.traffic[r].messages == ROUNDS * messages);
            CHECK(j.traffic[r].bytes == ROUNDS * bytes);
            CHECK(j.traffic[r].waiting >= 0);
        }
    }
}

/* Numbers go from rank 0 to rank 1 twice, and then one comes back. Rank 1 reads the first when the second has been begun
 * already, so that there was no place for it: rank 0 has to send it while it waits for another exchange. */
static atomic_int begun_twice;

static void overtake(job *j, cs_transport *transport)
{
    int rank = cs_transport_rank(transport), *wrong = &j->wrong[rank], looks = 0;
    int64_t out[2] = {0}, in[2] = {0}; /* of either exchange */
    cs_exchange *there, *back;
    cs_error error = {0};
    cs_neighbour to = {1 - rank, &out[0], rank ? 0 : sizeof *out, &in[0], rank ? sizeof *in : 0};
    cs_neighbour from = {1 - rank, &out[1], rank ? sizeof *out : 0, &in[1], rank ? 0 : sizeof *in};
    *wrong += cs_exchange_make(&there, transport, "first and second", &to, 1, &error) != CS_OK;
    *wrong += cs_exchange_make(&back, transport, "an answer", &from, 1, &error) != CS_OK;
    *wrong += cs_transport_agree(transport, CS_OK, &error) != CS_OK;

    for (int round = 1; round <= 2; round++) {
        out[0] = round;
        *wrong += cs_exchange_begin(there, &error) != CS_OK;
        if (rank == 0 && round == 2) break;
        while (rank == 1 && round == 1 && !atomic_load(&begun_twice)) cs_back_off(&looks);
        *wrong += cs_exchange_end(there, &error) != CS_OK;
        *wrong += rank && in[0] != round;
    }
    atomic_store(&begun_twice, 1);
    out[1] = 3;
    *wrong += cs_exchange_begin(back, &error) != CS_OK || cs_exchange_end(back, &error) != CS_OK;
    *wrong += !rank && in[1] != 3;
    if (!rank) *wrong += cs_exchange_end(there, &error) != CS_OK;
    cs_exchange_free(there);
    cs_exchange_free(back);
}

static void test_a_wait_sends_what_had_no_place(int kind)
{
    atomic_store(&begun_twice, 0);
    run(kind, 2, 10, overtake);
}

/* An exchange goes on while its rank works: rank 0 works until rank 1, which reads late, has both messages. */
static atomic_int both_read;

static void work_meanwhile(job *j, cs_transport *transport)
{
    int rank = cs_transport_rank(transport), *wrong = &j->wrong[rank], looks = 0;
    int64_t number = 0;
    cs_exchange *exchange;
    cs_error error = {0};
    cs_neighbour to = {1 - rank, &number, rank ? 0 : sizeof number, &number,
                       rank ? sizeof number : 0};
    *wrong += cs_exchange_make(&exchange, transport, "late numbers", &to, 1, &error) != CS_OK;
    *wrong += cs_transport_agree(transport, CS_OK, &error) != CS_OK;
    cs_exchange_advance(exchange); /* not begun: nothing */
    for (int round = 1; round <= 2; round++) {
        if (!rank) number = round;
        *wrong += cs_exchange_begin(exchange, &error) != CS_OK;
        while (rank == 0 && round == 2 && !atomic_load(&both_read)) {
            cs_exchange_advance(exchange);
            cs_back_off(&looks);
        }
        while (rank == 1 && round == 1 && looks < CS_LOOKS_YIELDING) cs_back_off(&looks);
        *wrong += cs_exchange_end(exchange, &error) != CS_OK;
        *wrong += number != round;
    }
    if (rank) atomic_store(&both_read, 1);
    cs_exchange_free(exchange);
}

static void test_exchanges_go_on_during_work(int kind)
{
    atomic_store(&both_read, 0);
    run(kind, 2, 10, work_meanwhile);
}

/* ---- gathers -------------------------------------------------------------------------------------------- */

static void gather_numbers(job *j, cs_transport *transport)
{
    int rank = cs_transport_rank(transport), ranks = j->ranks, *wrong = &j->wrong[rank];
    cs_gather gather;
    cs_error error = {0};
    int64_t bytes[MOST_RANKS];
    for (int r = 0; r < ranks; r++) bytes[r] = (int64_t)sizeof(double) * ((3 * r + 1) % 4);
    *wrong += cs_gather_make(&gather, transport, "numbers", bytes, &error) != CS_OK;
    for (int round = 0; round < ROUNDS && !*wrong; round++) {
        double *own = gather.own;
        for (int i = 0; i < (3 * rank + 1) % 4; i++) own[i] = 100 * round + 10 * rank + i;
        *wrong += cs_gather_run(&gather, &error) != CS_OK;
        const double *all = gather.all;
        for (int r = 0; r < ranks && !*wrong; r++)
            for (int i = 0; i < (3 * r + 1) % 4; i++)
                *wrong += all[gather.start[r] / 8 + i] != 100 * round + 10 * r + i;
    }
    cs_gather_free(&gather);
    cs_gather_free(&gather); /* a second time does nothing */

    /* Once, with an odd number of bytes. */
    char text[MOST_RANKS] = {0};
    for (int r = 0; r < ranks; r++) bytes[r] = 1;
    char letter = (char)('a' + rank);
    *wrong += cs_gather_once(transport, "letters", bytes, &letter, text, &error) != CS_OK;
    *wrong += memcmp(text, "abcdefgh", (size_t)ranks) != 0;
}

static void test_gathers(int kind)
{
    for (int k = 0; k < RANK_COUNTS; k++) {
        job j = run(kind, RANKS[k], 30, gather_numbers);
        int rounds = 0;
        while (1 << rounds < j.ranks) rounds++;
        CHECK(j.traffic[0].gathers == ROUNDS + 1);
        CHECK(j.traffic[0].messages == 0);
        CHECK(j.traffic[0].gather_messages <= (ROUNDS + 1) * rounds);
    }
}

/* ---- agreements and failures ---------------------------------------------------------------------------- */

static void agree(job *j, cs_transport *transport)
{
    int rank = cs_transport_rank(transport), *wrong = &j->wrong[rank];
    cs_error error = {0};
    *wrong += cs_transport_agree(transport, CS_OK, &error) != CS_OK;

    /* Two ranks fail: the lower one counts, on all. */
    cs_status own = CS_OK;
    if (rank == 1) own = cs_fail(&error, CS_INVALID, "b[3] is nan");
    if (rank == 2) own = cs_fail(&error, CS_NO_MEMORY, "out of memory for R");
    *wrong += cs_transport_agree(transport, own, &error) != CS_INVALID;
    *wrong += strcmp(error.message, "rank 1: b[3] is nan") != 0;

    /* An interruption is one on its own rank only. The transport stays usable. */
    error = (cs_error){0};
    own = rank == 0 ? cs_fail(&error, CS_INTERRUPTED, "%s", "") : CS_OK;
    own = cs_transport_agree(transport, own, &error);
    *wrong += own != (rank == 0 ? CS_INTERRUPTED : CS_RANK_FAILED);
    *wrong += strcmp(error.message, "rank 0: interrupted by the caller") != 0;
    *wrong += cs_transport_agree(transport, CS_OK, &error) != CS_OK;
}

/* The last rank aborts while the others wait for it. */
static void abort_last(job *j, cs_transport *transport)
{
    int rank = cs_transport_rank(transport);
    cs_error error = {0};
    if (rank == j->ranks - 1) cs_transport_abort(transport, "mu[4] is -1");
    end(j, rank, cs_transport_agree(transport, CS_OK, &error), &error);

    /* And every later call fails in the same way. */
    cs_error again = {0};
    j->wrong[rank] += cs_transport_check(transport, &again) != CS_RANK_FAILED;
    j->wrong[rank] += strcmp(again.message, error.message) != 0;
    j->wrong[rank] += cs_transport_agree(transport, CS_OK, &again) != CS_RANK_FAILED;
}

static atomic_int ended;

/* The last rank does not come until the others have given up. */
static void stay_away(job *j, cs_transport *transport)
{
    int rank = cs_transport_rank(transport), looks = 0;
    cs_error error = {0};
    if (rank == j->ranks - 1) {
        while (atomic_load(&ended) < j->ranks - 1) cs_back_off(&looks);
        return;
    }
    end(j, rank, cs_transport_agree(transport, CS_OK, &error), &error);
    atomic_fetch_add(&ended, 1);
}

static int interrupts(void *context) { return ++*(int *)context > 2; }

static void interrupt_first(job *j, cs_transport *transport)
{
    int rank = cs_transport_rank(transport), asked = 0;
    cs_error error = {0};
    if (rank == 0) cs_transport_listen(transport, interrupts, &asked);
    double start = cs_clock();
    if (rank == j->ranks - 1)
        while (!cs_transport_check(transport, &error) && cs_clock() - start < 20) continue;
    end(j, rank, cs_transport_agree(transport, CS_OK, &error), &error);
}

static void test_ends(int kind)
{
    for (int ranks = 3; ranks <= MOST_RANKS; ranks += 5) {
        run(kind, ranks, 30, agree);
        job j = run(kind, ranks, 30, abort_last);
        char cause[64];
        snprintf(cause, sizeof cause, "rank %d: mu[4] is -1", ranks - 1);
        for (int r = 0; r < ranks; r++) {
            CHECK(j.status[r] == CS_RANK_FAILED);
            CHECK(strcmp(j.error[r].message, cause) == 0);
            CHECK(j.seconds[r] < 10);
        }

        /* Some rank gives up, and says for whom it has waited; the others say so, too. */
        atomic_store(&ended, 0);
        j = run(kind, ranks, 0.1, stay_away);
        int late = 0;
        for (int r = 0; r < ranks - 1; r++) {
            CHECK(j.status[r] == CS_TIMED_OUT || j.status[r] == CS_RANK_FAILED);
            CHECK(strstr(j.error[r].message, "has waited 0.1 s for a message of rank") != NULL);
            CHECK(j.seconds[r] < 5);
            CHECK(j.status[r] == CS_RANK_FAILED || j.seconds[r] >= 0.1);
            late += j.status[r] == CS_TIMED_OUT;
        }
        CHECK(late >= 1);

        j = run(kind, ranks, 30, interrupt_first);
        CHECK(j.status[0] == CS_INTERRUPTED);
        for (int r = 0; r < ranks; r++) {
            CHECK(r == 0 || j.status[r] == CS_RANK_FAILED);
            CHECK(strcmp(j.error[r].message, r ? "rank 0: interrupted" : "interrupted") == 0);
            CHECK(j.seconds[r] < 10);
        }
    }
}

/* A rank that has ended is noticed before the time is over. */
static void leave_early(job *j, cs_transport *transport)
{
    int rank = cs_transport_rank(transport);
    cs_error error = {0};
    if (rank == 1) cs_transport_leave(transport);
    else end(j, rank, cs_transport_agree(transport, CS_OK, &error), &error);
}

/* Rank 0 expects another number of bytes than rank 1 sends. */
static void misunderstand(job *j, cs_transport *transport)
{
    int rank = cs_transport_rank(transport);
    char send[16] = {0}, receive[16];
    cs_neighbour other = {1 - rank, send, 16, receive, rank ? 16 : 8};
    cs_exchange *exchange;
    cs_error error = {0};
    cs_status status = cs_exchange_make(&exchange, transport, "u", &other, 1, &error);
    end(j, rank, cs_transport_agree(transport, status, &error), &error);
    cs_exchange_free(exchange);
}

static void test_threads_alone(void)
{
    job j = run(THREADS, 2, 30, leave_early);
    CHECK(j.status[0] == CS_RANK_FAILED);
    CHECK(strstr(j.error[0].message, "rank 1 has ended, but rank 0 waits") != NULL);
    CHECK(j.seconds[0] < 10);

    j = run(THREADS, 2, 30, misunderstand);
    for (int r = 0; r < 2; r++) {
        CHECK(j.status[r] == CS_INVALID);
        CHECK(strstr(j.error[r].message, "u: rank 1 sends 16 bytes to rank 0, which expects 8"));
    }
}

/* ---- arguments and memory ------------------------------------------------------------------------------- */

static void refuse(job *j, cs_transport *transport)
{
    static const struct {
        cs_neighbour neighbour[2];
        const char *message;
    } bad[] = {
        {{{.rank = 0}}, "u: neighbour 0 of rank 0 is rank 0, but another one of 2 is needed"},
        {{{.rank = 2}}, "u: neighbour 0 of rank 0 is rank 2, but another one of 2 is needed"},
        {{{.rank = 1, .send_bytes = -8}}, "u: rank 0 sends -8 bytes to rank 1 and receives 0"},
        {{{.rank = 1}, {.rank = 1}}, "u: rank 0 names rank 1 twice"},
    };
    if (cs_transport_rank(transport) != 0) return;
    cs_exchange *exchange;
    for (int i = 0; i < 4; i++) {
        cs_error error = {0};
        j->wrong[0] += cs_exchange_make(&exchange, transport, "u", bad[i].neighbour, 1 + (i == 3),
                                        &error) != CS_INVALID;
        j->wrong[0] += exchange != NULL || strcmp(error.message, bad[i].message) != 0;
    }

    /* Twice begun, ended without a begin. */
    cs_error error = {0};
    j->wrong[0] += cs_exchange_make(&exchange, transport, "u", NULL, 0, &error) != CS_OK;
    j->wrong[0] += cs_exchange_end(exchange, &error) != CS_INVALID;
    j->wrong[0] += cs_exchange_begin(exchange, &error) != CS_OK;
    j->wrong[0] += cs_exchange_begin(exchange, &error) != CS_INVALID;
    j->wrong[0] += cs_exchange_end(exchange, &error) != CS_OK;
    cs_exchange_free(exchange);
}

static void test_memory(void)
{
    cs_transport *transport[3];
    cs_error error = {0};
    CHECK_STATUS(cs_threads_make(NULL, transport, 0, 1, &error), CS_INVALID, &error);

    /* Each allocation fails once. */
    cs_status status = CS_NO_MEMORY;
    int tries = 0;
    for (; status == CS_NO_MEMORY && tries < 1000; tries++) {
        cs_team *team;
        cs_memory_fail_after(tries);
        status = cs_threads_make(&team, transport, 3, 1, &error);
        cs_memory_fail_after(-1);
        if (status) CHECK(!transport[0] && !transport[2] && !team);
        else {
            for (int r = 0; r < 3; r++) cs_transport_destroy(transport[r]);
            cs_team_release(team);
        }
        CHECK(cs_memory_live() == 0);
    }
    CHECK_STATUS(status, CS_OK, &error);
    CHECK(tries > 20);
}

/* A function of MPI that fails breaks the job. */
static void start_in_vain(job *j, cs_transport *transport)
{
    cs_error error = {0};
    int rank = cs_transport_rank(transport);
    end(j, rank, cs_transport_agree(transport, CS_OK, &error), &error);
}

static void test_failing_function(void)
{
    job j = {.work = start_in_vain, .ranks = 2};
    cs_error error = {0};
    plain_mpi_begin(2);
    for (int r = 0; r < 2; r++)
        CHECK_STATUS(plain_mpi_make(&j.transport[r], r, 30, &error), CS_OK, &error);
    plain_mpi_fail_after(0);
    cs_parallel(2, run_rank, &j);
    plain_mpi_end();
    int failed = 0;
    for (int r = 0; r < 2; r++) {
        CHECK(j.status[r] == CS_RANK_FAILED);
        failed +=
            strcmp(j.error[r].message, "MPI_Startall has failed with code 15 (agreement)") == 0;
    }
    CHECK(failed == 1);
    CHECK(cs_memory_live() == 0);
}

/* ---- costs ---------------------------------------------------------------------------------------------- */

static void measure(job *j, cs_transport *transport)
{
    int rank = cs_transport_rank(transport);
    double seconds = -1;
    cs_error error = {0};
    j->wrong[rank] += cs_exchange_cost(transport, 64, 100, 0, &seconds, &error) != CS_OK;
    j->wrong[rank] += !(seconds > 0);
    double alone = -1;
    j->wrong[rank] += cs_exchange_cost(transport, 64, 100, 1e-4, &alone, &error) != CS_OK;
    j->wrong[rank] += !(alone >= 0 && alone < 1);
}

static void test_costs(int kind)
{
    run(kind, 3, 30, measure);
    double seconds = -1;
    cs_error error = {0};
    CHECK_STATUS(cs_exchange_work(64, 1000, &seconds, &error), CS_OK, &error);
    CHECK(seconds > 0 && seconds < 1e-3);
}

int main(void)
{
    if (strcmp(cs_threads_kind(), "serial") == 0) {
        cs_transport *transport[2];
        cs_error error = {0};
        CHECK_STATUS(cs_threads_make(NULL, transport, 2, 1, &error), CS_UNSUPPORTED, &error);
        return test_result();
    }
    for (int kind = 0; kind < KINDS; kind++) {
        test_exchanges(kind);
        test_a_wait_sends_what_had_no_place(kind);
        test_exchanges_go_on_during_work(kind);
        test_gathers(kind);
        test_ends(kind);
        run(kind, 2, 30, refuse);
        test_costs(kind);
    }
    test_threads_alone();
    test_memory();
    test_failing_function();
    return test_result();
}
