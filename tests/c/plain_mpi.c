#include "plain_mpi.h"

#include "core/mutex.h"

#include <stdlib.h>
#include <string.h>

enum { ANY = -1, ALARM = -1, MOST_RANKS = 16 };

typedef struct message {
    int from, to;
    int64_t number, bytes;
    void *data;
    struct message *next;
} message;

typedef struct request {
    int is_send, active;
    int from, to; /* from ANY: any rank */
    int64_t number, bytes;
    void *data;
} request;

static struct {
    int ranks, calls_to_failure;
    cs_mutex mutex;
    message *first;
    int rank[MOST_RANKS]; /* the contexts of ranks */
} job;

void plain_mpi_begin(int ranks)
{
    job.ranks = ranks;
    job.calls_to_failure = -1;
    cs_mutex_init(&job.mutex);
    for (int r = 0; r < ranks; r++) job.rank[r] = r;
}

void plain_mpi_end(void)
{
    while (job.first) {
        message *next = job.first->next;
        free(job.first->data);
        free(job.first);
        job.first = next;
    }
    cs_mutex_destroy(&job.mutex);
}

void plain_mpi_fail_after(int calls) { job.calls_to_failure = calls; }

/* A handle as large as those of Open MPI. */
static request *request_at(void *requests, int i) { return ((request **)requests)[i]; }

static void append(const request *r)
{
    message *made = malloc(sizeof *made), **end = &job.first;
    *made = (message){r->from, r->to, r->number, r->bytes, malloc((size_t)r->bytes), NULL};
    memcpy(made->data, r->data, (size_t)r->bytes);
    while (*end) end = &(*end)->next;
    *end = made;
}

static int startall(int count, void *requests)
{
    cs_mutex_lock(&job.mutex);
    int fails = job.calls_to_failure == 0;
    if (job.calls_to_failure >= 0) job.calls_to_failure--;
    for (int i = 0; i < count && !fails; i++) {
        request *r = request_at(requests, i);
        if (r->is_send) append(r);
        r->active = 1;
    }
    cs_mutex_unlock(&job.mutex);
    return fails ? 15 : 0;
}

/* The link to the message that a request waits for, or to NULL. */
static message **find(const request *r)
{
    message **m = &job.first;
    while (*m && ((*m)->to != r->to || (*m)->number != r->number ||
                  (r->from != ANY && (*m)->from != r->from)))
        m = &(*m)->next;
    return m;
}

/* As MPI_Testall: all or none of the requests complete. Two of one call never wait for the same message. */
static int testall(int count, void *requests, int *flag, void *statuses)
{
    (void)statuses;
    cs_mutex_lock(&job.mutex);
    *flag = 1;
    for (int i = 0; i < count; i++) {
        const request *r = request_at(requests, i);
        if (r->active && !r->is_send && !*find(r)) *flag = 0;
    }
    for (int i = 0; i < count && *flag; i++) {
        request *r = request_at(requests, i);
        if (r->active && !r->is_send) {
            message **link = find(r), *m = *link;
            memcpy(r->data, m->data, (size_t)m->bytes);
            *link = m->next;
            free(m->data);
            free(m);
        }
        r->active = 0;
    }
    cs_mutex_unlock(&job.mutex);
    return 0;
}

static void add(cs_mpi_requests *requests, request value)
{
    request *made = malloc(sizeof *made);
    *made = value;
    ((request **)requests->request)[requests->count++] = made;
}

static cs_status connect_exchange(void *context, int64_t number, const cs_neighbour *neighbour,
                                  int64_t count, cs_mpi_requests *requests, cs_error *error)
{
    (void)error;
    int rank = *(int *)context;
    *requests = (cs_mpi_requests){.request = malloc(sizeof(request *) * (size_t)(2 * count + 1))};
    for (int64_t i = 0; i < count; i++)
        if (neighbour[i].receive_bytes)
            add(requests, (request){0, 0, neighbour[i].rank, rank, number,
                                    neighbour[i].receive_bytes, neighbour[i].receive});
    for (int64_t i = 0; i < count; i++)
        if (neighbour[i].send_bytes)
            add(requests, (request){1, 0, rank, neighbour[i].rank, number, neighbour[i].send_bytes,
                                    (void *)(uintptr_t)neighbour[i].send});
    return CS_OK;
}

static cs_status connect_alarm(void *context, const void *send, void *receive, int64_t bytes,
                               cs_mpi_requests *requests, cs_error *error)
{
    (void)error;
    int rank = *(int *)context;
    *requests = (cs_mpi_requests){.request = malloc(sizeof(request *) * (size_t)job.ranks)};
    add(requests, (request){0, 0, ANY, rank, ALARM, bytes, receive});
    for (int r = 0; r < job.ranks; r++)
        if (r != rank)
            add(requests, (request){1, 0, rank, r, ALARM, bytes, (void *)(uintptr_t)send});
    return CS_OK;
}

static void disconnect(void *context, cs_mpi_requests *requests, int running)
{
    (void)context, (void)running;
    for (int i = 0; i < requests->count; i++) free(request_at(requests->request, i));
    free(requests->request);
    *requests = (cs_mpi_requests){0};
}

cs_status plain_mpi_make(cs_transport **transport, int rank, double timeout, cs_error *error)
{
    cs_mpi mpi = {startall,         testall,       sizeof(request *), 24,
                  connect_exchange, connect_alarm, disconnect,        &job.rank[rank]};
    return cs_mpi_make(transport, &mpi, rank, job.ranks, timeout, error);
}
