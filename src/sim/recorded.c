/* SPDX-License-Identifier: MIT */
#include "sim/recorded.h"

#include "sim/grid_survey.h"
#include "sim/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LATENCY_NS 2000 /* of launches; nothing that is asked here depends on it */

/* When the operations ran, and the host's window. */
static struct timeline times_of(const struct rank *rank, struct sim_span *spans)
{
    struct timeline when = {.spans = spans, .begin_ns = INT64_MAX, .end_ns = INT64_MIN};
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        bool timed = op_timed(op) && op->start_ns != UNKNOWN_NS;
        int64_t host_ns = op->host_ns != UNKNOWN_NS ? op->host_ns : op->start_ns;
        spans[i] = timed ? (struct sim_span){op->start_ns, op->start_ns + op->dur_ns}
                         : (struct sim_span){UNKNOWN_NS, UNKNOWN_NS};
        if (host_ns != UNKNOWN_NS && host_ns < when.begin_ns)
            when.begin_ns = host_ns;
        if (host_ns != UNKNOWN_NS && host_ns > when.end_ns)
            when.end_ns = host_ns;
    }
    return when;
}

/* NAN when nothing has a time. */
static double iteration_of(const struct rank *rank, const struct iterations *it)
{
    struct sim_span *spans = array_new(rank->nops + 1, sizeof *spans);
    struct timeline when = times_of(rank, spans);
    double ns = NAN;
    if (when.begin_ns <= when.end_ns) {
        struct window w = iteration_window(it, rank->nops, &when);
        if (w.iterations > 0 && w.end_ns > w.start_ns)
            ns = (double)(w.end_ns - w.start_ns) / w.iterations;
    }
    free(spans);
    return ns;
}

static void survey_iterations(struct recorded *rec, const struct run *run,
                              const struct iterations *list)
{
    rec->iterations = UINT32_MAX;
    for (size_t r = 0; r < run->nranks; r++) {
        double ns;
        if (run->ranks[r].nops == 0)
            continue;
        if (list[r].count < rec->iterations) {
            rec->iterations = list[r].count;
            rec->source = list[r].source;
        }
        ns = iteration_of(&run->ranks[r], &list[r]);
        if (!(ns <= rec->iteration_ns)) /* also when none was known */
            rec->iteration_ns = isnan(ns) ? rec->iteration_ns : ns;
    }
    if (rec->iterations == UINT32_MAX)
        rec->iterations = 0;
}

int recorded_make(struct recorded *rec, const struct run *run, const char *parallel, struct err *e)
{
    struct iterations *list = array_new(run->nranks + 1, sizeof *list);
    struct grid_input groups;
    struct program program;
    int rc = 0;
    memset(rec, 0, sizeof *rec);
    arena_init(&rec->arena);
    rec->iteration_ns = NAN;
    program_make(&program, run, LATENCY_NS, false);
    for (size_t r = 0; r < run->nranks; r++)
        iterations_find(&list[r], &run->ranks[r], &program.ranks[r]);
    survey_iterations(rec, run, list);
    grid_survey(&groups, run, program.ranks, list, &rec->arena);
    if (parallel == NULL)
        grid_find(&rec->grid, &groups);
    else
        rc = grid_tell(&rec->grid, &groups, parallel, e);
    for (size_t r = 0; r < run->nranks; r++)
        iterations_release(&list[r]);
    free(list);
    program_release(&program);
    return rc;
}

void recorded_release(struct recorded *rec)
{
    grid_release(&rec->grid);
    arena_release(&rec->arena);
}
