/* SPDX-License-Identifier: MIT */
#include "bench/p2p.h"

#include "base/arena.h"
#include "base/hash.h"
#include "bench/gpu.h"
#include "bench/state.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AHEAD_BYTES ((size_t)256 << 20) /* written on the device so that the host gets ahead */
#define AHEAD_TIMES 8
#define SPARE_BYTES ((size_t)512 << 20)      /* of a device's memory that is left to the library */
#define RANDOM_BYTES ((size_t)1 << 20)       /* made on the host, and repeated on the device */
#define SMALL_BYTES 4096                     /* ping-pongs go up to here */
#define CONCURRENT_BYTES ((uint64_t)1 << 20) /* both and all: from here on, */
#define CONCURRENT_STEP 4                    /* each so many times the one before */

const char *bench_p2p_mode_name(enum bench_p2p_mode mode)
{
    static const char *const names[BENCH_P2P_MODES] = {"ping_pong", "one_way", "both", "all"};
    return names[mode];
}

/* ---- the plan ---- */

static uint64_t splitmix64(uint64_t *state)
{
    return hash_finalize(*state += UINT64_C(0x9E3779B97F4A7C15));
}

size_t bench_p2p_configs(int ranks, const uint64_t *sizes, size_t nsizes, uint64_t seed,
                         struct bench_p2p_config **out)
{
    size_t most = (size_t)ranks * (size_t)(ranks - 1) * nsizes, n = 0;
    struct bench_p2p_config *list = array_new(most + 1, sizeof *list);
    for (int src = 0; src < ranks; src++) {
        for (int dst = 0; dst < ranks; dst++) {
            for (size_t i = 0; i < nsizes && src != dst; i++, n++)
                list[n] = (struct bench_p2p_config){BENCH_P2P_ONE_WAY, (int)n, src, dst, sizes[i]};
        }
    }
    for (size_t i = n; i-- > 1;) {
        size_t with = (size_t)(splitmix64(&seed) % (i + 1));
        struct bench_p2p_config config = list[i];
        list[i] = list[with];
        list[with] = config;
    }
    *out = list;
    return n;
}

/* ---- the log ---- */

void bench_p2p_log_release(struct bench_p2p_log *log)
{
    for (size_t i = 0; i < log->n; i++)
        free(log->list[i].repeats);
    free(log->list);
    *log = (struct bench_p2p_log){0};
}

struct bench_p2p_done *bench_p2p_log_add(struct bench_p2p_log *log,
                                         const struct bench_p2p_config *config, size_t nrepeats)
{
    struct bench_p2p_done *done;
    ARRAY_GROW(log->list, log->cap, log->n + 1);
    done = &log->list[log->n++];
    *done = (struct bench_p2p_done){*config, array_new(nrepeats + 1, sizeof *done->repeats),
                                    nrepeats, (double)NAN};
    return done;
}

struct bench_stats bench_p2p_stats(const struct bench_p2p_done *done)
{
    double *us = array_new(done->nrepeats, sizeof *us);
    struct bench_stats stats;
    for (size_t i = 0; i < done->nrepeats; i++)
        us[i] = done->repeats[i].time;
    bench_stats_of(us, done->nrepeats, &stats);
    free(us);
    return stats;
}

const char *bench_p2p_name(const struct bench_p2p_config *c, size_t repetition,
                           char name[BENCH_P2P_NAME])
{
    snprintf(name, BENCH_P2P_NAME, "%s_cfg%04d_s%dd%d_sz%llu_r%zu",
             c->mode == BENCH_P2P_ONE_WAY ? "p2p" : bench_p2p_mode_name(c->mode), c->id, c->src,
             c->dst, (unsigned long long)c->bytes, repetition);
    return name;
}

double bench_p2p_us(double ns)
{
    return rint(ns * 10) / 1e4;
}

/* ---- ranges ----
 *
 * Ranges of NVTX, as nsys, ncu and `specter capture` take them. NVTX has no library of its own: a
 * tool names one in NVTX_INJECTION64_PATH, and the first range opens it. Without a tool, ranges
 * cost nothing and need nothing. */

/* The interface of NVTX 3 to a tool, by nvtx3/nvtxDetail/nvtxInit.h and nvtxTypes.h of the CUDA
 * toolkit: the tool is given a function that gives tables by number; in the table of callbacks is a
 * function that gives, of a module, the places of function pointers, where the tool puts its own.
 */

#define TABLE_CALLBACKS 1
#define TABLE_VERSION 3
#define VERSION 3
#define MODULE_CORE 1
#define CORE_FUNCTIONS 16
#define CORE_PUSH 9 /* nvtxRangePushA */
#define CORE_POP 11 /* nvtxRangePop */

typedef void (*function)(void);

static int (*push)(const char *name);
static int (*pop)(void);
static function core[CORE_FUNCTIONS], *places[CORE_FUNCTIONS + 1];

static int places_of(int module, function ***table, unsigned *size)
{
    if (module != MODULE_CORE)
        return 0;
    for (size_t i = 1; i < CORE_FUNCTIONS; i++)
        places[i] = &core[i];
    *table = places;
    *size = CORE_FUNCTIONS;
    return 1;
}

static void ignore_version(uint32_t version)
{
    (void)version;
}

static const void *table_of(uint32_t table)
{
    static const struct {
        size_t struct_size;
        int (*places)(int module, function ***table, unsigned *size);
    } callbacks = {sizeof callbacks, places_of};
    static const struct {
        size_t struct_size;
        uint32_t version, reserved;
        void (*set_version)(uint32_t version); /* of the tool */
    } version = {sizeof version, VERSION, 0, ignore_version};
    switch (table) {
    case TABLE_CALLBACKS:
        return &callbacks;
    case TABLE_VERSION:
        return &version;
    default:
        return NULL;
    }
}

static void push_range(const char *name)
{
    static int asked;
    const char *path = asked++ == 0 ? getenv("NVTX_INJECTION64_PATH") : NULL;
    int (*start)(const void *(*)(uint32_t)) = NULL;
    if (path != NULL && path[0] != '\0') {
        void *library = dlopen(path, RTLD_LAZY);
        void *symbol = library != NULL ? dlsym(library, "InitializeInjectionNvtx2") : NULL;
        memcpy(&start, &symbol, sizeof start);
    }
    if (start != NULL && start(table_of) != 0) {
        memcpy(&push, &core[CORE_PUSH], sizeof push);
        memcpy(&pop, &core[CORE_POP], sizeof pop);
    }
    if (push != NULL)
        push(name);
}

static void pop_range(void)
{
    if (pop != NULL)
        pop();
}

/* ---- one configuration ---- */

/* A rank's report to the others after each configuration. */
struct p2p_report {
    int64_t end_ns;
    double stop;
    double celsius; /* NAN: not known */
    struct p2p_report_repeat {
        double first_us, us;  /* from the last one's end to the first message's end, to its own */
        int64_t called_ns[2]; /* when the host began and ended the call of the first message */
    } repeats[];
};

/* Of one rank, while it measures. */
struct p2p_bench {
    const struct bench_p2p_plan *plan;
    const struct bench_communicator *on;
    struct bench_p2p_log *log;
    char *send, *receive; /* the backend's; of room bytes each */
    char *ahead;          /* of AHEAD_BYTES; NULL: the library does not enqueue */
    size_t room;          /* the least of all ranks */
    double *ack_us;       /* owned; of a pair, src * ranks + dst: half of its ping-pong of 1 byte */
    struct p2p_report *mine; /* owned */
    char *all;               /* owned: what all ranks told */
    size_t report_bytes;
    struct bench_message *messages; /* owned; of all to all */
};

static const struct p2p_report *report_of(const struct p2p_bench *b, int rank)
{
    return (const struct p2p_report *)(const void *)(b->all + (size_t)rank * b->report_bytes);
}

static bool takes_part(const struct bench_p2p_config *c, int rank)
{
    return c->mode == BENCH_P2P_ALL || rank == c->src || rank == c->dst;
}

/* A message to the peer, then one from it; or the other way round on the side that is sent to. */
static int to_and_from(struct p2p_bench *b, const struct bench_p2p_config *c, uint64_t answer,
                       size_t mark, struct err *e)
{
    int64_t *called_ns = b->mine->repeats[mark / 2].called_ns;
    const struct bench_backend *backend = b->on->backend;
    bool source = b->on->member == c->src;
    int peer = source ? c->dst : c->src;
    const struct bench_message first = {source, peer, source ? b->send : b->receive, c->bytes},
                               second = {!source, peer, source ? b->receive : b->send, answer};
    called_ns[0] = backend->host_ns(b->on->comm);
    if (backend->messages(b->on->comm, &first, 1, e) < 0)
        return -1;
    called_ns[1] = backend->host_ns(b->on->comm);
    if (backend->mark(b->on->comm, mark + 1, e) < 0 ||
        backend->messages(b->on->comm, &second, 1, e) < 0)
        return -1;
    return backend->mark(b->on->comm, mark + 2, e);
}

/* A message to each peer and one from it, all at once. */
static int at_once(struct p2p_bench *b, const struct bench_p2p_config *c, size_t mark,
                   struct err *e)
{
    const struct bench_backend *backend = b->on->backend;
    int me = b->on->member;
    size_t n = 0, peers = 0;
    for (int i = 0; i < b->log->ranks; i++) {
        if (i == me || (c->mode == BENCH_P2P_BOTH && i != c->src && i != c->dst))
            continue;
        b->messages[n++] = (struct bench_message){true, i, b->send, c->bytes};
        b->messages[n++] =
            (struct bench_message){false, i, b->receive + peers++ * c->bytes, c->bytes};
    }
    if (backend->messages(b->on->comm, b->messages, n, e) < 0 ||
        backend->mark(b->on->comm, mark + 1, e) < 0)
        return -1;
    return backend->mark(b->on->comm, mark + 2, e);
}

/* One repetition after mark `mark`, which takes the next two. */
static int exchange(struct p2p_bench *b, const struct bench_p2p_config *c, size_t mark,
                    struct err *e)
{
    if (c->mode == BENCH_P2P_BOTH || c->mode == BENCH_P2P_ALL)
        return at_once(b, c, mark, e);
    return to_and_from(b, c, c->mode == BENCH_P2P_ONE_WAY ? 1 : c->bytes, mark, e);
}

/* This rank's part. The small exchange in front is not timed: what follows begins when all that
 * take part have come. */
static int work(struct p2p_bench *b, const struct bench_p2p_config *c, struct err *e)
{
    const struct bench_backend *backend = b->on->backend;
    struct bench_comm *comm = b->on->comm;
    struct bench_p2p_config small = *c;
    size_t repeat = (size_t)b->plan->repeat;
    small.bytes = 1;
    for (int i = 0; b->ahead != NULL && i < AHEAD_TIMES; i++) {
        if (backend->set(comm, b->ahead, i, AHEAD_BYTES, e) < 0)
            return -1;
    }
    if (exchange(b, &small, 0, e) < 0)
        return -1;
    for (int i = 0; i < b->plan->warmup; i++) {
        /* A mark of its own, by which wait() sees that it has ended. */
        if (exchange(b, c, 0, e) < 0 || backend->mark(comm, 2 * repeat + 1 + (size_t)i, e) < 0)
            return -1;
    }
    if (backend->mark(comm, 0, e) < 0)
        return -1;
    for (size_t i = 0; i < repeat; i++) {
        char name[BENCH_P2P_NAME];
        int status;
        push_range(bench_p2p_name(c, i, name));
        status = exchange(b, c, 2 * i, e);
        pop_range();
        if (status < 0)
            return -1;
    }
    if (backend->wait(comm, e) < 0)
        return -1;
    b->mine->end_ns = backend->host_ns(comm);
    b->mine->celsius = bench_nvml_celsius(backend->gpu(comm)->bus_id);
    for (size_t i = 0; i < repeat; i++) {
        b->mine->repeats[i].first_us = backend->us(comm, 2 * i, 2 * i + 1);
        b->mine->repeats[i].us = backend->us(comm, 2 * i, 2 * i + 2);
    }
    return 0;
}

static void add_repeats(struct p2p_bench *b, const struct bench_p2p_config *c,
                        struct bench_p2p_done *done)
{
    bool at_once = c->mode == BENCH_P2P_BOTH || c->mode == BENCH_P2P_ALL;
    const struct p2p_report *src = report_of(b, c->src < 0 ? 0 : c->src);
    const struct p2p_report *dst = report_of(b, c->dst < 0 ? 0 : c->dst);
    double src_us = 0, dst_us = 0; /* until the end */
    for (size_t i = done->nrepeats; i-- > 0;) {
        struct bench_p2p_repeat *r = &done->repeats[i];
        const struct p2p_report_repeat *sent = &src->repeats[i], *received = &dst->repeats[i];
        double slowest_us = 0; /* of the ranks that took part */
        for (int rank = 0; rank < b->log->ranks && at_once; rank++) {
            if (takes_part(c, rank))
                slowest_us = fmax(slowest_us, report_of(b, rank)->repeats[i].us);
        }
        src_us += sent->us;
        dst_us += received->us;
        r->start_ns = src->end_ns - llround(src_us * 1e3);
        r->exchange = bench_p2p_us((at_once ? slowest_us : sent->us) * 1e3);
        r->send = r->receive = (double)NAN;
        r->time = c->mode == BENCH_P2P_PING_PONG ? r->exchange / 2 : r->exchange;
        if (at_once)
            continue;
        r->receive_start_ns = dst->end_ns - llround(dst_us * 1e3);
        memcpy(r->calls_ns[0], sent->called_ns, sizeof r->calls_ns[0]);
        memcpy(r->calls_ns[1], received->called_ns, sizeof r->calls_ns[1]);
        r->send = bench_p2p_us(sent->first_us * 1e3);
        r->receive = bench_p2p_us(received->first_us * 1e3);
        if (c->mode == BENCH_P2P_ONE_WAY)
            r->time = bench_p2p_us((sent->us - b->ack_us[c->src * b->log->ranks + c->dst]) * 1e3);
    }
}

/* 0; 1: some rank wants to stop; -1 with e filled, which the other ranks have been told, too. */
static int measure(struct p2p_bench *b, const struct bench_p2p_config *c, struct err *e)
{
    const struct bench_communicator *on = b->on;
    struct bench_p2p_done *done;
    int status;
    if (b->plan->before != NULL && b->plan->before(b->log->n, b->plan->arg, e) < 0)
        return -1;
    status = takes_part(c, on->member) ? work(b, c, e) : 0;
    b->mine->stop = b->plan->stop != NULL && b->plan->stop();
    if (status < 0)
        bench_ranks_fail(on->ranks, e);
    if (bench_ranks_gather(on->ranks, b->mine, b->report_bytes, b->all, e) < 0)
        return -1;
    done = bench_p2p_log_add(b->log, c, (size_t)b->plan->repeat);
    add_repeats(b, c, done);
    for (int rank = 0; rank < b->log->ranks; rank++) {
        const struct p2p_report *r = report_of(b, rank);
        if (takes_part(c, rank))
            done->celsius = fmax(done->celsius, r->celsius);
        status |= r->stop > 0;
    }
    if (on->member == 0 && b->plan->done != NULL && b->plan->done(done, b->plan->arg, e) < 0) {
        bench_ranks_fail(on->ranks, e);
        return -1;
    }
    return status;
}

/* ---- modes ---- */

/* Small sizes there and back, of each pair; of 1 byte first, which tells what an acknowledgement
 * takes. */
static int ping_pongs(struct p2p_bench *b, struct err *e)
{
    const struct bench_p2p_plan *p = b->plan;
    int id = 0, ranks = b->log->ranks, status = 0;
    for (int pair = 0; pair < ranks * ranks && status == 0; pair++) {
        struct bench_p2p_config c = {BENCH_P2P_PING_PONG, id, pair / ranks, pair % ranks, 1};
        if (c.dst <= c.src)
            continue;
        id++;
        status = measure(b, &c, e);
        if (status < 0)
            return -1;
        b->ack_us[c.src * ranks + c.dst] = b->ack_us[c.dst * ranks + c.src] =
            bench_p2p_stats(&b->log->list[b->log->n - 1]).median;
        for (size_t i = 0; i < p->nsizes && status == 0; i++) {
            c.bytes = p->sizes[i];
            if (c.bytes <= 1 || c.bytes > SMALL_BYTES || c.bytes > b->room)
                continue;
            c.id = id++;
            status = measure(b, &c, e);
        }
    }
    return status;
}

static int one_way(struct p2p_bench *b, struct err *e)
{
    const struct bench_p2p_plan *p = b->plan;
    struct bench_p2p_config *list;
    size_t n = bench_p2p_configs(b->log->ranks, p->sizes, p->nsizes, p->seed, &list);
    int status = 0;
    for (size_t i = 0; i < n && status == 0; i++) {
        if (list[i].bytes <= b->room)
            status = measure(b, &list[i], e);
    }
    free(list);
    return status;
}

/* Large sizes, from the largest for which there is room for `parts` down. */
static int concurrent(struct p2p_bench *b, struct bench_p2p_config *c, uint64_t parts,
                      struct err *e)
{
    const struct bench_p2p_plan *p = b->plan;
    uint64_t last = UINT64_MAX;
    int status = 0;
    for (size_t i = p->nsizes; i-- > 0 && status == 0;) {
        bool first = last == UINT64_MAX;
        c->bytes = p->sizes[i];
        if (c->bytes > b->room / parts || (!first && c->bytes > last / CONCURRENT_STEP) ||
            (!first && c->bytes < CONCURRENT_BYTES))
            continue;
        last = c->bytes;
        status = measure(b, c, e);
        c->id++;
    }
    return status;
}

static int concurrents(struct p2p_bench *b, struct err *e)
{
    struct bench_p2p_config both = {.mode = BENCH_P2P_BOTH},
                            all = {.mode = BENCH_P2P_ALL, .src = -1, .dst = -1};
    int status = 0;
    for (both.src = 0; both.src < b->log->ranks; both.src++) {
        for (both.dst = both.src + 1; both.dst < b->log->ranks && status == 0; both.dst++)
            status = concurrent(b, &both, 1, e);
    }
    return status == 0 && b->log->ranks > 2 ? concurrent(b, &all, (uint64_t)b->log->ranks - 1, e)
                                            : status;
}

/* ---- memory ---- */

/* Random bytes, none of them 0, in all of the buffer that is sent. */
static int fill(struct p2p_bench *b, struct err *e)
{
    const struct bench_backend *backend = b->on->backend;
    uint64_t state = BENCH_P2P_SEED + (uint64_t)b->on->member;
    size_t known = b->room < RANDOM_BYTES ? b->room : RANDOM_BYTES;
    unsigned char *bytes = array_new(known, 1);
    int status;
    for (size_t i = 0; i < known; i++)
        bytes[i] = (unsigned char)(1 + splitmix64(&state) % 255);
    status = backend->put(b->on->comm, b->send, bytes, known, e);
    free(bytes);
    while (status == 0 && known < b->room) {
        size_t n = known < b->room - known ? known : b->room - known;
        status = backend->copy(b->on->comm, b->send + known, b->send, n, e);
        known += n;
    }
    return status < 0 ? -1 : backend->wait(b->on->comm, e);
}

/* Buffers, made once, of the largest size for which all ranks have memory. */
static int prepare(struct p2p_bench *b, struct bench_result *result, struct err *e)
{
    const struct bench_p2p_plan *p = b->plan;
    const struct bench_backend *backend = b->on->backend;
    struct bench_ranks *ranks = b->on->ranks;
    struct bench_comm *comm = b->on->comm;
    size_t left = 0, most = (size_t)p->sizes[p->nsizes - 1];
    double less;
    int status = bench_ranks_agree(ranks, backend->free_bytes(comm, &left, e), e);
    if (status < 0)
        return -1;
    left = left > 2 * SPARE_BYTES ? left - SPARE_BYTES - AHEAD_BYTES : left / 4;
    less = -(double)(most < left / 2 ? most : left / 2);
    if (bench_ranks_max(ranks, &less, 1, e) < 0)
        return -1;
    b->room = (size_t)-less;
    for (size_t i = 0; i < p->nsizes; i++) {
        if (p->sizes[i] > b->room)
            bench_note(result, "", 0,
                       "messages of %llu bytes are not measured: too little memory for their "
                       "buffers",
                       (unsigned long long)p->sizes[i]);
    }
    if (backend->alloc(comm, b->room, (void **)&b->send, e) < 0 ||
        backend->alloc(comm, b->room, (void **)&b->receive, e) < 0 ||
        (backend->enqueues && backend->alloc(comm, AHEAD_BYTES, (void **)&b->ahead, e) < 0))
        status = -1;
    else
        status = fill(b, e);
    return bench_ranks_agree(ranks, status, e);
}

int bench_p2p(const struct bench_p2p_plan *plan, const struct bench_communicator *on,
              struct bench_p2p_log *log, struct bench_result *result, struct err *e)
{
    struct p2p_bench b = {.plan = plan, .on = on, .log = log};
    size_t ranks = (size_t)on->where.ranks;
    int status;
    log->ranks = on->where.ranks;
    b.report_bytes = sizeof *b.mine + (size_t)plan->repeat * sizeof *b.mine->repeats;
    b.mine = array_new(1, b.report_bytes);
    b.all = array_new(ranks, b.report_bytes);
    b.ack_us = array_new(ranks * ranks, sizeof *b.ack_us);
    b.messages = array_new(2 * ranks, sizeof *b.messages);
    status = prepare(&b, result, e);
    status = status == 0 ? ping_pongs(&b, e) : status;
    status = status == 0 ? one_way(&b, e) : status;
    status = status == 0 ? concurrents(&b, e) : status;
    on->backend->release(on->comm, b.ahead);
    on->backend->release(on->comm, b.receive);
    on->backend->release(on->comm, b.send);
    free(b.messages);
    free(b.ack_us);
    free(b.all);
    free(b.mine);
    return status;
}
