/* SPDX-License-Identifier: MIT */
#include "report/timeline.h"

#include "base/buf.h"
#include "base/sink.h"
#include "report/timeline_internal.h"
#include "trace/own_export.h"

#include <stdlib.h>
#include <string.h>

#define FLUSH ((size_t)1 << 16)

int timeline_file_open(struct timeline_file **out, const char *path, struct err *e)
{
    struct timeline_file *t = calloc(1, sizeof *t);
    if (t == NULL)
        die("out of memory");
    buf_init(&t->text);
    if (sink_open(&t->sink, path, e) < 0) {
        free(t);
        return -1;
    }
    buf_puts(&t->text, OWN_EXPORT_HEAD);
    *out = t;
    return 0;
}

static void flush(struct timeline_file *t)
{
    sink_put(t->sink, t->text.data, t->text.len);
    buf_reset(&t->text);
}

struct buf *timeline_event(struct timeline_file *t)
{
    if (t->text.len > FLUSH)
        flush(t);
    buf_puts(&t->text, t->events++ > 0 ? ",\n" : "\n");
    return &t->text;
}

/* ---- how much of it ---- */

static uint64_t ops_of(const struct replay_job *job, size_t ranks, uint32_t keep)
{
    const struct run *run = job->program.run;
    uint64_t n = 0;
    for (size_t r = 0; r < ranks; r++) {
        const struct rank_steps *it = &job->steps.ranks[r];
        for (size_t i = 0; i < run->ranks[r].nops; i++)
            n += keep == 0 || (it->of[i] != STEP_NONE && it->of[i] + (uint64_t)keep >= it->count);
    }
    return n;
}

/* Sets keep (iterations; 0: everything) and ranks. */
static void choose(struct timeline_file *t, const struct replay_job *job)
{
    uint32_t keep = job->rep->iterations;
    t->ranks = job->program.run->nranks;
    t->keep = 0;
    if (ops_of(job, t->ranks, 0) <= TIMELINE_OPS_MAX)
        return;
    while (keep > 1 && ops_of(job, t->ranks, keep) > TIMELINE_OPS_MAX)
        keep = (keep + 1) / 2;
    t->keep = keep;
    while (t->ranks > 1 && ops_of(job, t->ranks, keep) > TIMELINE_OPS_MAX)
        t->ranks = (t->ranks + 1) / 2;
}

bool timeline_takes(const struct timeline_file *t, const struct rank_steps *it, size_t op)
{
    return t->keep == 0 || (it->of[op] != STEP_NONE && it->of[op] + (uint64_t)t->keep >= it->count);
}

/* ---- what is called ---- */

static void observe(void *context, const struct replay_job *job, const struct replay_scale *scale)
{
    struct timeline_file *t = context;
    if (scale != NULL && (t->predicted || scale->scale != job->rep->first_scale))
        return;
    choose(t, job); /* a longer pipeline has more ranks than the recording */
    t->predicted = t->predicted || scale != NULL;
    for (size_t r = 0; r < t->ranks; r++) {
        if (!steps_blank(job->program.run, r))
            timeline_rank(t, job, r, scale != NULL);
    }
    if (scale != NULL)
        t->gpus = scale->gpus;
}

struct replay_watch timeline_file_watch(struct timeline_file *t)
{
    return (struct replay_watch){observe, t};
}

int timeline_file_close(struct timeline_file *t, struct err *e)
{
    int rc;
    buf_puts(&t->text, "\n],\"otherData\":{\"by\":\"specter replay\"");
    buf_printf(&t->text, ",\"gpus\":%lld,\"ranks\":%zu", (long long)t->gpus, t->ranks);
    if (t->keep > 0)
        buf_printf(&t->text, ",\"last_iterations\":%u", t->keep);
    buf_puts(&t->text, "}}\n");
    flush(t);
    rc = sink_close(t->sink, e);
    buf_release(&t->text);
    free(t);
    return rc;
}
