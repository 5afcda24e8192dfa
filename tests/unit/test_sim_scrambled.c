/* SPDX-License-Identifier: MIT
 *
 * Once the waits between streams are inferred, no recorded start of device work is looked at again:
 * on a profile made by others (../shared), with nonsense in their place, every operation runs when
 * it ran before.
 */
#include "made_run.h"
#include "sim/program/program.h"
#include "test.h"
#include "trace_load.h"

#define LATENCY_NS 5000

/* Nonsense for every start of device work; operations keep their places. */
static void forget_starts(struct run *run, uint64_t seed)
{
    for (size_t r = 0; r < run->nranks; r++) {
        for (size_t i = 0; i < run->ranks[r].nops; i++)
            run->ranks[r].ops[i].start_ns = (int64_t)(made_random(&seed) % 1000000000u);
    }
}

/* When each operation of the run runs, of all ranks in a row; starts are lost where a seed is
 * given, after the inference. */
static struct sim_span *spans_of(const char *path, uint64_t seed, size_t *count)
{
    struct sim_span *spans;
    struct program p, isolated;
    struct run run;
    struct err e;
    load_path(&run, path);
    program_init(&isolated, &run, LATENCY_NS, true);
    program_init(&p, &run, LATENCY_NS, false);
    CHECK(p.facts.inferred[INFER_BY_GAP] + p.facts.inferred[INFER_BY_ISSUE] > 0);
    if (seed != 0)
        forget_starts(&run, seed);
    sim_set_launch_latency(p.sim, program_fit_latency(&isolated, LATENCY_NS));
    program_learn(&p, &isolated);
    program_measured(&p);
    CHECK_INT(program_run(&p, &e), 0);
    *count = 0;
    for (size_t r = 0; r < run.nranks; r++)
        *count += run.ranks[r].nops;
    spans = calloc(*count + 1, sizeof *spans);
    for (size_t r = 0, n = 0; r < run.nranks; r++) {
        for (size_t i = 0; i < run.ranks[r].nops; i++)
            spans[n++] = program_span(&p, r, i);
    }
    program_release(&p);
    program_release(&isolated);
    run_release(&run);
    return spans;
}

TEST(program_of_dlrm_looks_at_no_start)
{
    const char *path = test_shared("data/traces/param/dlrm_kineto.tar.gz");
    struct sim_span *before, *after;
    size_t n, m;
    if (path == NULL)
        SKIP("no ../shared data");
    before = spans_of(path, 0, &n);
    CHECK(n > 1000);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        after = spans_of(path, seed, &m);
        CHECK_INT((int64_t)m, (int64_t)n);
        CHECK(m == n && memcmp(before, after, n * sizeof *before) == 0);
        free(after);
    }
    free(before);
}
