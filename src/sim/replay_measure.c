/* SPDX-License-Identifier: MIT
 *
 * What an iteration takes, as recorded and as simulated.
 */
#include "sim/job.h"

#include "base/err.h"

#include <stdlib.h>

static struct sim_span recorded_span(const struct op *op)
{
    if (!op_timed(op) || op->start_ns == UNKNOWN_NS)
        return (struct sim_span){UNKNOWN_NS, UNKNOWN_NS};
    return (struct sim_span){op->start_ns, op->start_ns + op->dur_ns};
}

/* Kernels that were counted have no times in a recording, and get none here. */
static struct sim_span simulated_span(const struct program *p, size_t rank, size_t op)
{
    struct sim_span span = program_span(p, rank, op);
    bool counted = p->run->ranks[rank].ops[op].flags & OP_COUNTED;
    return span.end_ns < 0 || counted ? (struct sim_span){UNKNOWN_NS, UNKNOWN_NS} : span;
}

static int64_t host_end(const struct program *p, const struct program_rank *rank)
{
    int64_t end_ns = 0;
    for (uint32_t h = 0; h < rank->nhosts; h++) {
        if (sim_host_end(p->sim, rank->first_host + h) > end_ns)
            end_ns = sim_host_end(p->sim, rank->first_host + h);
    }
    return end_ns;
}

static void measure_rank(struct iteration_time *out, const struct program *p, size_t r,
                         const struct iterations *it, bool simulated)
{
    const struct rank *rank = &p->run->ranks[r];
    const struct program_rank *place = &p->ranks[r];
    struct sim_span *spans = malloc((rank->nops > 0 ? rank->nops : 1) * sizeof *spans);
    struct timeline when = {spans, place->origin_ns, place->end_ns};
    if (spans == NULL)
        die("out of memory");
    for (size_t i = 0; i < rank->nops; i++)
        spans[i] = simulated ? simulated_span(p, r, i) : recorded_span(&rank->ops[i]);
    if (simulated)
        when = (struct timeline){spans, place->begin_ns, host_end(p, place)};
    iteration_measure(out, it, rank, &when);
    free(spans);
}

bool job_blank(const struct run *run, size_t rank)
{
    if (run->ranks[rank].nops > 0)
        return false;
    for (size_t r = 0; r < run->nranks; r++) {
        if (run->ranks[r].nops > 0)
            return true;
    }
    return false;
}

struct iteration_time job_measure(const struct job *job, bool simulated)
{
    const struct program *p = &job->program;
    struct iteration_time longest = {0}, one;
    bool first = true;
    for (size_t r = 0; r < p->run->nranks; r++) {
        measure_rank(&one, p, r, &job->iterations[r], simulated);
        job->spans[r] = one.span_ns;
        if (job_blank(p->run, r))
            continue;
        if (first || one.span_ns > longest.span_ns)
            longest = one;
        first = false;
    }
    return longest;
}
