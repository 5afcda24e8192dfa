/* SPDX-License-Identifier: MIT
 *
 * Reads PyTorch profiler (Kineto) JSON by streaming, never the whole file at once. What stands
 * beside the events (device names, ranks, the time base) may come before or after them.
 */
#include "trace/kineto.h"

#include "trace/own_export.h"
#include "trace/reader.h"
#include "trace/window.h"

#include <stdlib.h>
#include <string.h>

#define WALL_CLOCK_MIN ((int64_t)1000000000 * 1000000000) /* the year 2001 */

/* ---- the file ---- */

static int take_element(void *ctx, struct window *w, struct err *e)
{
    struct kineto *k = ctx;
    struct kineto_event ev;
    struct json j;
    for (;;) {
        json_init(&j, w->text + w->at, w->have - w->at);
        if (event_parse(&ev, &j, &k->words, k->run)) {
            if (ev.kind != EVENT_OTHER && kineto_believable(&ev))
                kineto_add_event(k, &ev);
            else if (ev.kind != EVENT_OTHER && !kineto_is_label(&ev))
                kineto_bad_event(k, window_offset(w), "an event without a usable time");
            w->at += json_offset(&j);
            return 0;
        }
        if (!json_is_cut(&j)) { /* wrong inside its brackets: passed over and counted */
            kineto_bad_event(k, window_offset(w) + json_offset(&j), j.error);
            return window_take(w, window_skip, k, e);
        }
        if (!window_more(w))
            return window_broken(w, window_offset(w) + json_offset(&j), j.error, e);
    }
}

/* What stands beside the events may be wrong without harm to these. */
static int take_section(void *ctx, struct window *w, const char *key, struct err *e)
{
    struct kineto *k = ctx;
    struct err wrong = {0};
    if (strcmp(key, "traceEvents") == 0 && window_next(w) == '[')
        return window_list(w, take_element, k, e);
    if (window_take(w, kineto_section(key), k, &wrong) == 0)
        return 0;
    if (window_take(w, window_skip, k, e) < 0)
        return -1;
    run_note(k->run, true, "%s; this part of the file is not used", wrong.msg);
    return 0;
}

/* The whole file: an object of sections, or the bare list of events that other tools write. */
static int take_file(struct kineto *k, struct window *w, struct err *e)
{
    char c = window_next(w);
    if (c == '[')
        return window_list(w, take_element, k, e);
    if (c != '{')
        return window_broken(w, 0, "not a trace", e);
    if (window_object(w, take_section, k, e) < 0)
        return -1;
    return window_next(w) == '\0' && w->err.code == ERR_NONE
               ? 0
               : window_broken(w, window_offset(w), "text behind the trace", e);
}

/* ---- the rank ---- */

/* The rank as the trace says it, as its collectives do, or as the file is called. */
static void number_rank(struct kineto *k)
{
    struct rank *rank = k->rank;
    if (k->recorded_rank >= 0 && k->recorded_rank < RUN_RANKS_MAX)
        rank->rank = (int)k->recorded_rank;
    else if (k->reported_rank >= 0)
        rank->rank = (int)k->reported_rank;
    else
        rank->rank = rank_in_name(k->label);
    if (rank->rank < 0 || k->recorded_rank >= 0)
        return;
    run_note(k->run, false, "the traces do not say their rank: it is taken from %s",
             k->reported_rank >= 0 ? "their collectives" : "the file names");
}

/* Times are those of the wall clock. Small values without a time base have no known epoch. */
static void set_clock(struct kineto *k)
{
    int64_t first = k->rank->ops[0].start_ns;
    bool dated = k->has_base || first == UNKNOWN_NS || first >= WALL_CLOCK_MIN;
    k->rank->mono_ns = 0;
    k->rank->real_ns = dated ? 0 : UNKNOWN_NS; /* kineto_finish() looks at all */
}

static void set_rank(struct kineto *k)
{
    struct rank *rank = k->rank;
    int32_t device = rank->ops[0].device;
    if (k->world_size > k->run->world_size && k->world_size <= RUN_RANKS_MAX)
        k->run->world_size = (int)k->world_size;
    if (device < (int32_t)(sizeof k->device_names / sizeof *k->device_names) &&
        k->device_names[device] != NULL)
        rank->gpu = k->device_names[device];
    rank->host_gpus = k->ndevices;
    rank->bad_lines = k->bad;
    rank->complete = true;
    rank->coverage = COVER_NCCL | COVER_KERNELS | COVER_LAUNCHES | COVER_MEMORY;
    rank->coverage |= k->rank->nmarks > 0 || k->gpu_marks.count > 0 ? COVER_MARKS : 0u;
    rank->coverage |= k->syncs.count > 0 ? COVER_DEPS : 0u;
}

static void note_file(struct kineto *k)
{
    if (k->bad > 0)
        run_note(k->run, true, "%s: byte %llu: %s; %llu event%s of this file %s unusable", k->label,
                 (unsigned long long)k->bad_offset, k->bad_reason, (unsigned long long)k->bad,
                 k->bad > 1 ? "s" : "", k->bad > 1 ? "are" : "is");
    if (k->streamless > 0)
        run_note(k->run, false, "%s: %zu kernels or copies without a stream are left out", k->label,
                 k->streamless);
    if (k->other_device_ops > 0)
        run_note(k->run, false, "%s: work of several GPUs in one file is taken as one rank's",
                 k->label);
}

/* A profile is of one process, and the profiler puts device work under the number of the device.
 * Tools that merge ranks for a viewer shift or rename the processes. */
static bool is_merged(const struct kineto *k)
{
    return k->processes.count > 1 || (k->gpu_processes.count > 1 && k->strange_process) ||
           k->gpu_processes.count > k->gpus.count;
}

static int read_file(struct kineto *k, struct stream *s, struct err *e)
{
    struct window w;
    int rc;
    window_init(&w, s, k->label);
    rc = take_file(k, &w, e);
    window_release(&w);
    if (k->rank->nops == 0)
        return rc < 0 ? -1 : err_set(e, ERR_INPUT, "%s: no GPU work in it", k->label);
    if (is_merged(k))
        return err_set(e, ERR_INPUT,
                       "%s: the traces of several processes merged into one file: give the files "
                       "of the ranks themselves",
                       k->label);
    if (rc < 0)
        run_note(k->run, true, "%s; what stands before it is used", e->msg);
    set_clock(k);
    set_rank(k);
    kineto_link_comm(k);
    if (k->world_size > k->run->world_size) /* told by the default group */
        k->run->world_size = (int)k->world_size;
    number_rank(k);
    kineto_link(k);
    k->rank->nthreads = k->threads.count;
    k->rank->thread_ids = idmap_ids(&k->threads);
    rank_fit(k->rank);
    note_file(k);
    return 0;
}

static void kineto_free(struct kineto *k)
{
    idmap_release(&k->threads);
    idmap_release(&k->launch_ids);
    idmap_release(&k->sync_call_ids);
    free(k->launches.list);
    free(k->syncs.list);
    free(k->host.list);
    free(k->comm.list);
    free(k->metas.list);
    free(k->computing.list);
    free(k->callers.list);
    free(k->externals.list);
    free(k->gpu_marks.list);
    idmap_release(&k->processes);
    idmap_release(&k->gpu_processes);
    idmap_release(&k->gpus);
    free(k->groups.list);
    free(k->known.list);
    free(k->known_more.list);
    idmap_release(&k->group_ids);
    free(k);
}

static int kineto_read(struct run *run, struct stream *s, const char *label, struct err *e)
{
    struct kineto *k = calloc(1, sizeof *k);
    int rc;
    if (k == NULL)
        die("out of memory");
    k->run = run;
    k->label = label;
    k->recorded_rank = k->reported_rank = -1;
    k->rank = run_add_rank(run);
    k->rank->file = arena_strdup(&run->arena, label);
    run->format = "kineto";
    rc = read_file(k, s, e);
    if (rc < 0) {
        rank_clear(k->rank);
        run->nranks--;
    }
    kineto_free(k);
    return rc;
}

/* ---- recognising, and the end of all files ---- */

static bool has(const char *head, size_t len, const char *word)
{
    return memmem(head, len, word, strlen(word)) != NULL;
}

static bool kineto_sniff(const char *head, size_t len)
{
    size_t i = 0;
    if (is_own_export(head, len))
        return false;
    while (i < len && (head[i] == ' ' || head[i] == '\n' || head[i] == '\r' || head[i] == '\t'))
        i++;
    if (i == len)
        return false;
    if (head[i] == '[')
        return has(head, len, "\"ph\"") && has(head, len, "\"ts\"");
    return head[i] == '{' &&
           (has(head, len, "\"traceEvents\"") || has(head, len, "\"schemaVersion\""));
}

const struct reader reader_kineto = {.name = "kineto",
                                     .sniff = kineto_sniff,
                                     .read = kineto_read,
                                     .apart = true,
                                     .grouped = true,
                                     .finish = kineto_finish};
