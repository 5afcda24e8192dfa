/* SPDX-License-Identifier: MIT */
#include "sim/program/program.h"

#include "base/buf.h"
#include "base/idmap.h"
#include "sim/program/process.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- transfers ---- */

static uint32_t root_of(const struct program *p, uint32_t match)
{
    while (p->tied[match] != match) {
        p->tied[match] = p->tied[p->tied[match]];
        match = p->tied[match];
    }
    return match;
}

void program_tie(struct program *p, uint32_t match_a, uint32_t match_b)
{
    uint32_t a = root_of(p, match_a), b = root_of(p, match_b);
    if (a < b)
        p->tied[b] = a;
    else
        p->tied[a] = b;
}

/* A transfer for every match, with the same index; and which operation belongs to which. */
static void add_transfers(struct program *p)
{
    if (p->matches.count >= PROGRAM_NONE)
        die("too many collectives to replay");
    p->lag_ns = arena_alloc(&p->arena, p->matches.nmembers * sizeof *p->lag_ns);
    p->absent_ns = arena_alloc(&p->arena, p->matches.count * sizeof *p->absent_ns);
    p->doubt_ns = arena_alloc(&p->arena, p->matches.count * sizeof *p->doubt_ns);
    p->wait_ns = arena_alloc(&p->arena, p->matches.count * sizeof *p->wait_ns);
    p->one_ways = arena_alloc(&p->arena, p->matches.count * sizeof *p->one_ways);
    p->tied = arena_alloc(&p->arena, p->matches.count * sizeof *p->tied);
    for (uint32_t i = 0; i < p->matches.count; i++) {
        const struct match *match = &p->matches.list[i];
        p->tied[i] = i;
        sim_add_transfer(p->sim, 0);
        for (uint32_t k = 0; k < match->nmembers; k++) {
            struct match_member m = p->matches.members[match->first + k];
            p->ranks[m.rank].match[m.op] = i;
        }
    }
}

/* Sets each transfer time: the shortest recorded time of the members. Members of a group share
 * one time, which includes their waits for third parties; so the shortest time of all transfers
 * that are tied together by groups counts. */
static void cost_transfers(struct program *p)
{
    int64_t *least = arena_alloc(&p->arena, p->matches.count * sizeof *least);
    for (uint32_t i = 0; i < p->matches.count; i++)
        least[i] = UNKNOWN_NS;
    for (uint32_t i = 0; i < p->matches.count; i++) {
        int64_t ns = p->matches.list[i].transfer_ns;
        uint32_t root = root_of(p, i);
        if (ns != UNKNOWN_NS && (least[root] == UNKNOWN_NS || ns < least[root]))
            least[root] = ns;
    }
    ARRAY_GROW(p->costs, p->cap_costs, p->ncosts + p->matches.count);
    for (uint32_t i = 0; i < p->matches.count; i++) {
        struct match_member first = p->matches.members[p->matches.list[i].first];
        if (p->run->ranks[first.rank].ops[first.op].timing == SPECTER_TIMING_CAPTURED)
            continue; /* it did not run then */
        p->costs[p->ncosts++] = (struct program_cost){.rank = first.rank,
                                                      .op = first.op,
                                                      .target = i,
                                                      .match = i,
                                                      .measured_ns = least[root_of(p, i)]};
    }
}

/* ---- ranks ---- */

/* The ranks that one process drives, and what it did. */
struct program_process {
    uint32_t *ranks; /* [n] */
    uint32_t n;
    struct host_calls calls;
};

/* list has room for all ranks; how many processes they are. */
static size_t find_processes(struct program *p, struct program_process *list)
{
    const struct run *run = p->run;
    struct idmap seen = {0};
    uint32_t *of = arena_alloc(&p->arena, run->nranks * sizeof *of);
    uint32_t *ranks = arena_alloc(&p->arena, run->nranks * sizeof *ranks);
    size_t n;
    for (size_t r = 0; r < run->nranks; r++) {
        int process = run->ranks[r].process;
        of[r] = idmap_add(&seen, process >= 0 ? process : -1 - (int64_t)r);
        list[of[r]].n++;
    }
    n = seen.count;
    idmap_release(&seen);
    for (size_t i = 0; i < n; i++) {
        list[i].ranks = ranks;
        ranks += list[i].n;
        list[i].n = 0;
    }
    for (uint32_t r = 0; r < run->nranks; r++)
        list[of[r]].ranks[list[of[r]].n++] = r;
    return n;
}

static void place_process(struct program *p, struct program_process *process)
{
    const struct rank **ranks = arena_alloc(&p->arena, process->n * sizeof *ranks);
    for (uint32_t i = 0; i < process->n; i++)
        ranks[i] = &p->run->ranks[process->ranks[i]];
    host_calls_init(&process->calls, ranks, process->n);
    for (uint32_t i = 0; i < process->n; i++) {
        struct program_rank *rank = &p->ranks[process->ranks[i]];
        rank->origin_ns = process->calls.first_ns;
        rank->end_ns = process->calls.last_ns;
        rank->match = arena_alloc(&p->arena, ranks[i]->nops * sizeof *rank->match);
        for (size_t op = 0; op < ranks[i]->nops; op++)
            rank->match[op] = PROGRAM_NONE;
    }
}

/* Ranks whose times can be compared have a zero in common. */
static size_t domain_of(const struct run *run, const struct rank *rank)
{
    return rank->domain > 0 && !run->clock_aligned ? (size_t)rank->domain : 0;
}

/* Processes of one clock, or of clocks that are aligned, keep their offsets; the first of each
 * domain begins at 0, as does one of which no time is known. */
static void place_origins(struct program *p, const struct program_process *list, size_t n)
{
    const struct run *run = p->run;
    size_t ndomains = 1;
    int64_t *zero_ns;
    for (size_t r = 0; r < run->nranks; r++) {
        if (domain_of(run, &run->ranks[r]) >= ndomains)
            ndomains = domain_of(run, &run->ranks[r]) + 1;
    }
    zero_ns = arena_alloc(&p->arena, ndomains * sizeof *zero_ns);
    for (size_t d = 0; d < ndomains; d++)
        zero_ns[d] = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        int64_t *zero = &zero_ns[domain_of(run, &run->ranks[list[i].ranks[0]])];
        if (list[i].calls.timed && list[i].calls.first_ns < *zero)
            *zero = list[i].calls.first_ns;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t zero = zero_ns[domain_of(run, &run->ranks[list[i].ranks[0]])];
        for (uint32_t k = 0; k < list[i].n && list[i].calls.timed; k++)
            p->ranks[list[i].ranks[k]].begin_ns = list[i].calls.first_ns - zero;
    }
}

static void add_processes(struct program *p, const struct program_process *list, size_t n,
                          int64_t latency_ns)
{
    uint32_t streams = 0, hosts = 0;
    for (size_t i = 0; i < n; i++) {
        const struct program_process *process = &list[i];
        for (uint32_t k = 0; k < process->n; k++) {
            p->ranks[process->ranks[k]].first_host = hosts;
            p->ranks[process->ranks[k]].nhosts = process->calls.nhosts;
        }
        build_process(p, process->ranks, process->n, &process->calls, latency_ns);
        hosts += process->calls.nhosts;
        for (uint32_t k = 0; k < process->n; k++) {
            p->ranks[process->ranks[k]].first_stream = streams;
            streams += (uint32_t)p->ranks[process->ranks[k]].nstreams;
        }
    }
    p->nhosts = hosts;
}

void program_init(struct program *p, const struct run *run, int64_t latency_ns, bool isolated)
{
    program_init_filled(p, run, latency_ns, isolated, NULL, false);
}

void program_init_filled(struct program *p, const struct run *run, int64_t latency_ns,
                         bool isolated, const struct match_standins *standins, bool keeps_all)
{
    struct program_process *list;
    size_t n;
    memset(p, 0, sizeof *p);
    p->run = run;
    p->isolated = isolated;
    p->keeps_all = keeps_all;
    p->sim = sim_new();
    arena_init(&p->arena);
    sim_set_launch_latency(p->sim, latency_ns);
    p->ranks = arena_alloc(&p->arena, run->nranks * sizeof *p->ranks);
    list = arena_alloc(&p->arena, run->nranks * sizeof *list);
    n = find_processes(p, list);
    for (size_t i = 0; i < n; i++)
        place_process(p, &list[i]);
    place_origins(p, list, n);
    matches_make_filled(&p->matches, run, standins);
    add_transfers(p);
    add_processes(p, list, n, latency_ns);
    if (!isolated) {
        cost_transfers(p);
        program_find_one_ways(p);
    }
    for (size_t i = 0; i < n; i++)
        host_calls_release(&list[i].calls);
}

void program_release(struct program *p)
{
    sim_free(p->sim);
    matches_release(&p->matches);
    free(p->costs);
    free(p->syncs);
    free(p->cpu);
    arena_release(&p->arena);
    memset(p, 0, sizeof *p);
}

void program_set_cost(struct program *p, size_t cost, int64_t ns)
{
    struct program_cost *c = &p->costs[cost];
    const struct match *match;
    double ratio;
    c->set_ns = ns;
    if (c->match == PROGRAM_NONE) {
        sim_set_work(p->sim, c->target, ns);
        return;
    }
    sim_set_transfer(p->sim, c->target, ns);
    match = &p->matches.list[c->match];
    ratio = c->measured_ns > 0 ? (double)ns / (double)c->measured_ns : 1;
    for (uint32_t k = 0; k < match->nmembers; k++) {
        struct match_member m = p->matches.members[match->first + k];
        uint32_t item = p->ranks[m.rank].item[m.op], lag_ns = p->lag_ns[match->first + k];
        if (p->set_lag_ns != NULL)
            sim_set_lag(p->sim, item, p->set_lag_ns[match->first + k]);
        else
            sim_set_lag(p->sim, item, ns == c->measured_ns ? lag_ns : llround(lag_ns * ratio));
    }
}

void program_set_cpu(struct program *p, const int64_t *cpu_ns)
{
    for (size_t i = 0; i < p->ncpu;) {
        const uint32_t action = p->cpu[i].action;
        int64_t ns = 0;
        for (; i < p->ncpu && p->cpu[i].action == action; i++)
            ns += cpu_ns != NULL ? cpu_ns[i] : p->cpu[i].ns;
        sim_set_cpu(p->sim, action, ns);
    }
}

void program_set_wait(struct program *p, uint32_t match, int64_t ns)
{
    p->wait_ns[match] = ns;
    sim_set_delay(p->sim, match, ns);
}

void program_set_fill(struct program *p, uint32_t match, int64_t ns)
{
    p->one_ways[match].set_ns = ns;
    sim_set_fill(p->sim, match, ns);
}

void program_measured(struct program *p)
{
    for (size_t i = 0; i < p->ncosts; i++) {
        int64_t ns = p->costs[i].measured_ns;
        program_set_cost(p, i, ns == UNKNOWN_NS ? 0 : ns);
    }
}

struct sim_span program_span(const struct program *p, size_t rank, size_t op)
{
    uint32_t item = p->ranks[rank].item[op];
    return item == PROGRAM_NONE ? (struct sim_span){-1, -1} : sim_span(p->sim, item);
}

/* A member's lag is part of its transfer; members of groups have none, and wait for each other. */
struct sim_span program_moved(const struct program *p, size_t rank, size_t op)
{
    struct sim_span span = program_span(p, rank, op), moved;
    uint32_t match = p->ranks[rank].match[op];
    if (match == PROGRAM_NONE || p->isolated || span.end_ns < 0)
        return (struct sim_span){-1, -1};
    moved = sim_transfer_span(p->sim, match);
    if (sim_moved_from(p->sim, p->ranks[rank].item[op]) >= 0)
        moved.start_ns = sim_moved_from(p->sim, p->ranks[rank].item[op]);
    if (p->run->ranks[rank].ops[op].coll.group < 0)
        moved.end_ns = span.end_ns;
    return moved;
}

/* ---- what waits for what ---- */

#define BLOCKED_SHOWN 4 /* ranks in the message */

struct where {
    size_t rank, op;
};

static bool find_item(const struct program *p, uint32_t item, struct where *out)
{
    for (size_t r = 0; r < p->run->nranks; r++) {
        for (size_t i = 0; i < p->run->ranks[r].nops; i++) {
            *out = (struct where){r, i};
            if (p->ranks[r].item[i] == item)
                return true;
        }
    }
    return false;
}

/* The rank whose streams include `index`. */
static size_t rank_of_stream(const struct program *p, uint32_t index)
{
    size_t r = 0;
    while (r + 1 < p->run->nranks && index - p->ranks[r].first_stream >= p->ranks[r].nstreams)
        r++;
    return r;
}

/* The first rank of the process whose hosts include `index`. */
static size_t rank_of_host(const struct program *p, uint32_t index)
{
    size_t r = 0;
    while (r + 1 < p->run->nranks && index - p->ranks[r].first_host >= p->ranks[r].nhosts)
        r++;
    return r;
}

/* Stream number of the trace. */
static int stream_name(const struct program *p, uint32_t item)
{
    uint32_t stream = sim_item_stream(p->sim, item);
    const struct program_rank *rank = &p->ranks[rank_of_stream(p, stream)];
    return rank->streams[stream - rank->first_stream];
}

static void describe_transfer(const struct program *p, const struct sim_stuck *stuck,
                              struct buf *out)
{
    const struct match *match = &p->matches.list[stuck->on];
    const char *op = specter_comm_op_name((enum specter_comm_op)match->op);
    struct where missing;
    uint32_t n = 0, item;
    buf_printf(out, "%s (communicator '%s', seq %lld) on stream %d waits for", op,
               p->run->comms[match->comm].id, (long long)match->seq, stream_name(p, stuck->who));
    while ((item = sim_transfer_member(p->sim, stuck->on, n)) != SIM_NONE &&
           sim_arrived(p->sim, item))
        n++;
    if (item != SIM_NONE && find_item(p, item, &missing))
        buf_printf(out, " rank %d", p->run->ranks[missing.rank].rank);
    buf_printf(out, " (%u of %u arrived)", stuck->arrived, stuck->members);
}

int program_run(struct program *p, struct err *e)
{
    struct buf text = BUF_INIT, safe = BUF_INIT;
    struct sim_stuck stuck;
    size_t at = 0, shown = 0, last = SIZE_MAX;
    if (sim_run(p->sim) == 0)
        return 0;
    while (shown < BLOCKED_SHOWN && sim_stuck(p->sim, &at, &stuck)) {
        bool host = stuck.kind == SIM_HOST_WAITS_EVENT || stuck.kind == SIM_HOST_WAITS_ITEM;
        size_t r = host ? rank_of_host(p, stuck.who)
                        : rank_of_stream(p, sim_item_stream(p->sim, stuck.who));
        if (r == last)
            continue;
        buf_printf(&text, "%s rank %d: ", shown ? ";" : "", p->run->ranks[r].rank);
        switch (stuck.kind) {
        case SIM_ITEM_WAITS_TRANSFER:
            describe_transfer(p, &stuck, &text);
            break;
        case SIM_ITEM_WAITS_EVENT:
            buf_printf(&text, "stream %d waits for an event", stream_name(p, stuck.who));
            break;
        case SIM_HOST_WAITS_ITEM:
            buf_printf(&text, "the host waits for stream %d", stream_name(p, stuck.on));
            break;
        case SIM_HOST_WAITS_EVENT:
            buf_puts(&text, "the host waits for an event");
            break;
        }
        last = r;
        shown++;
    }
    buf_put_printable(&safe, text.data, text.len);
    err_set(e, ERR_INPUT, "the replay cannot proceed:%s", safe.data);
    buf_release(&text);
    buf_release(&safe);
    return -1;
}
