/* SPDX-License-Identifier: MIT
 *
 * For tests of what analyze says of a run (made_device.h): the analysis, and its findings, text and
 * JSON.
 */
#ifndef SPECTER_TEST_MADE_ANALYSIS_H
#define SPECTER_TEST_MADE_ANALYSIS_H

#include "analysis/analysis.h"
#include "made_device.h"
#include "report/analyze_report.h"
#include "report/findings.h"
#include "test.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Finishes the run and analyzes it; a rank that is missing is the test's own mistake. */
static inline void device_analyze(struct analysis *a, struct run *run)
{
    struct err e = {0};
    run_finish(run);
    CHECK_INT(analysis_init(a, run, ANALYSIS_ALL_RANKS, &e), 0);
    CHECK_STR(e.msg, "");
}

static inline void device_done(struct analysis *a, struct run *run)
{
    analysis_release(a);
    run_release(run);
}

/* Ranks with one communicator of all of them, 0. */
static inline void device_world(struct run *run, int ranks)
{
    device_run(run, ranks);
    device_comm(run, "world", 0, 1, ranks);
}

/* Called for when it starts. */
static inline struct op *device_work(struct run *run, int rank, enum op_class class, int64_t start,
                                     int64_t dur)
{
    struct op *op = device_at(run, rank, start, start);
    op->dur_ns = dur; /* damage included: start + dur may be no number */
    op->class = (uint8_t) class;
    op->name = class == OP_MEMORY ? "copy" : "kernel";
    return op;
}

/* An fp32 AllReduce of `bytes` in the communicator of all ranks. */
static inline struct op *device_reduce(struct run *run, int rank, int64_t seq, int64_t start,
                                       int64_t dur, uint64_t bytes)
{
    return device_coll(device_at(run, rank, start, start + dur), SPECTER_ALLREDUCE, 0, seq, bytes);
}

static inline struct op *device_product(struct run *run, int rank, int64_t start, int64_t dur,
                                        uint32_t size)
{
    return device_gemm(device_at(run, rank, start, start + dur), SPECTER_FP16, size, size, size);
}

/* The identity that every split obeys. */
static inline void check_identity(const struct analysis *a)
{
    for (size_t i = 0; i < a->nranks; i++) {
        const struct time_breakdown *s = &a->ranks[i].breakdown;
        CHECK_INT(s->compute_ns + s->exposed_comm_ns + s->exposed_memory_ns + s->idle_ns,
                  s->span_ns);
        CHECK_INT(s->overlap_ns + s->exposed_comm_ns, s->comm_ns);
        CHECK(s->exposed_wait_ns <= s->exposed_comm_ns);
        CHECK(s->idle_ns >= 0);
    }
}

/* Returns the sentence of a rule; "" where there is no such finding. */
static inline const char *finding_text(const struct findings *f, const char *rule)
{
    for (size_t i = 0; i < f->count; i++) {
        if (strcmp(f->list[i].rule, rule) == 0)
            return f->list[i].text;
    }
    return "";
}

/* Returns the output of analyze. The caller frees it. */
static inline char *analysis_text(const struct analysis *a)
{
    struct findings f;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    findings_init(&f, a);
    analyze_text(a, &f, out);
    findings_release(&f);
    fclose(out);
    return text;
}

/* The same as JSON, read again. The caller deletes it. */
static inline cJSON *analysis_json(const struct analysis *a)
{
    struct findings f;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    cJSON *doc;
    findings_init(&f, a);
    analyze_json(a, &f, out);
    findings_release(&f);
    fclose(out);
    doc = cJSON_Parse(text);
    free(text);
    return doc;
}

#endif
