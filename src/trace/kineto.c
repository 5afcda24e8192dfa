/* SPDX-License-Identifier: MIT
 *
 * Reads PyTorch profiler (Kineto) JSON by streaming: a window over the file holds one value at a
 * time, grows for a large one up to a bound, and never the whole file. What stands beside the
 * events (device names, ranks, the time base) may come before or after them.
 */
#include "trace/kineto.h"

#include "base/buf.h"
#include "trace/reader.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW_SIZE ((size_t)1 << 20)
#define WALL_CLOCK_MIN ((int64_t)1000000000 * 1000000000) /* the year 2001 */
#define WINDOW_MAX ((size_t)64 << 20)                     /* largest single value */

struct window {
    struct stream *stream;
    char *text; /* owned */
    size_t at, have, cap;
    uint64_t before; /* bytes of the file in front of text */
    bool ended;
    struct err err; /* of the stream; code ERR_NONE: none */
};

/* ---- the window ---- */

static uint64_t offset(const struct window *w)
{
    return w->before + w->at;
}

/* Brings more text behind what is not consumed yet. False when there is no more. */
static bool more(struct window *w)
{
    ssize_t n;
    if (w->ended)
        return false;
    w->before += w->at;
    w->have -= w->at;
    memmove(w->text, w->text + w->at, w->have);
    w->at = 0;
    if (w->have == w->cap && w->cap >= WINDOW_MAX)
        return false;
    if (w->have == w->cap)
        ARRAY_GROW(w->text, w->cap, w->cap + 1);
    n = stream_read(w->stream, w->text + w->have, w->cap - w->have, &w->err);
    w->ended = n <= 0;
    w->have += n > 0 ? (size_t)n : 0;
    return n > 0;
}

/* The next byte that is not white space, not consumed; '\0' at the end of the file. */
static char next_char(struct window *w)
{
    for (;;) {
        for (; w->at < w->have; w->at++) {
            char c = w->text[w->at];
            if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
                return c;
        }
        if (!more(w))
            return '\0';
    }
}

/* ---- the file ---- */

static int broken(const struct kineto *k, const struct window *w, uint64_t at, const char *reason,
                  struct err *e)
{
    if (w->err.code != ERR_NONE)
        return err_set(e, ERR_INPUT, "%s", w->err.msg);
    if (w->have == WINDOW_MAX)
        reason = "a single value of more than 64 MiB";
    return err_set(e, ERR_INPUT, "%s: byte %llu: %s", k->label, (unsigned long long)at, reason);
}

/* Consumes the value at w->at by `take`, which is called again when the text was cut. A number is
 * whole only when something follows. */
static int take_value(struct kineto *k, struct window *w, kineto_take *take, struct err *e)
{
    struct json j;
    for (;;) {
        json_init(&j, w->text + w->at, w->have - w->at);
        take(k, &j);
        if (j.error == NULL && j.p < j.end) {
            w->at += json_offset(&j);
            return 0;
        }
        if ((j.error == NULL || json_is_cut(&j)) && more(w))
            continue;
        if (j.error == NULL) {
            w->at += json_offset(&j);
            return 0;
        }
        return broken(k, w, offset(w) + json_offset(&j), j.error, e);
    }
}

/* An element that is wrong inside its brackets is passed over and counted. */
static int take_bad_element(struct kineto *k, struct window *w, const struct json *wrong,
                            struct err *e)
{
    kineto_bad_event(k, offset(w) + json_offset(wrong), wrong->error);
    return take_value(k, w, kineto_skip_value, e);
}

static int take_element(struct kineto *k, struct window *w, struct err *e)
{
    struct event ev;
    struct json j;
    for (;;) {
        json_init(&j, w->text + w->at, w->have - w->at);
        if (event_parse(&ev, &j, &k->words, k->run)) {
            if (ev.kind != EVENT_OTHER && kineto_believable(&ev))
                kineto_add_event(k, &ev);
            else if (ev.kind != EVENT_OTHER && !kineto_is_label(&ev))
                kineto_bad_event(k, offset(w), "an event without a usable time");
            w->at += json_offset(&j);
            return 0;
        }
        if (!json_is_cut(&j))
            return take_bad_element(k, w, &j, e);
        if (!more(w))
            return broken(k, w, offset(w) + json_offset(&j), j.error, e);
    }
}

/* Behind '['. */
static int take_events(struct kineto *k, struct window *w, struct err *e)
{
    bool first = true;
    char c;
    while ((c = next_char(w)) != ']') {
        if (!first && c != ',')
            return broken(k, w, offset(w), c == '\0' ? "cut off" : "expected ',' or ']'", e);
        w->at += !first;
        first = false;
        next_char(w);
        if (take_element(k, w, e) < 0)
            return -1;
    }
    w->at++;
    return 0;
}

/* A key: what its value is to be taken by. */
static void take_key(struct kineto *k, struct json *j)
{
    struct json_text key = json_string(j);
    k->at_events = json_text_is(key, "traceEvents");
    k->section = kineto_section(key);
}

/* One key with its value. */
/* What stands beside the events may be wrong without harm to these. */
static int take_section(struct kineto *k, struct window *w, struct err *e)
{
    struct err wrong = {0};
    size_t at = w->at;
    uint64_t before = w->before;
    if (take_value(k, w, k->section, &wrong) == 0)
        return 0;
    w->at = at - (size_t)(w->before - before);
    if (take_value(k, w, kineto_skip_value, e) < 0)
        return -1;
    run_note(k->run, true, "%s; this part is not used", wrong.msg);
    return 0;
}

static int take_member(struct kineto *k, struct window *w, struct err *e)
{
    if (take_value(k, w, take_key, e) < 0)
        return -1;
    if (next_char(w) != ':')
        return broken(k, w, offset(w), "expected ':'", e);
    w->at++;
    if (next_char(w) != '[' || !k->at_events)
        return take_section(k, w, e);
    w->at++;
    return take_events(k, w, e);
}

/* The whole file: an object of sections, or the bare list of events that other tools write. */
static int take_file(struct kineto *k, struct window *w, struct err *e)
{
    char c = next_char(w);
    bool first = true;
    w->at++;
    if (c == '[')
        return take_events(k, w, e);
    if (c != '{')
        return broken(k, w, 0, "not a trace", e);
    while ((c = next_char(w)) != '}') {
        if (!first && c != ',')
            return broken(k, w, offset(w), c == '\0' ? "cut off" : "expected ',' or '}'", e);
        w->at += !first;
        first = false;
        if (take_member(k, w, e) < 0)
            return -1;
    }
    w->at++;
    return next_char(w) == '\0' && w->err.code == ERR_NONE
               ? 0
               : broken(k, w, offset(w), "text behind the trace", e);
}

/* ---- the rank ---- */

/* The rank as the trace says it, as its collectives do, or as the file is called. */
static void number_rank(struct kineto *k)
{
    struct rank *rank = k->rank;
    if (k->recorded_rank >= 0 && k->recorded_rank < RUN_RANKS_MAX)
        rank->rank = (int)k->recorded_rank;
    else if (k->told_rank >= 0)
        rank->rank = (int)k->told_rank;
    else
        rank->rank = rank_in_name(k->label);
    if (rank->rank < 0 || k->recorded_rank >= 0)
        return;
    run_note(k->run, false, "the traces do not say their rank: it is taken from %s",
             k->told_rank >= 0 ? "their collectives" : "the file names");
}

/* Times are those of the wall clock; small ones without a base are nobody knows whose. */
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
    rank->nthreads = k->threads.count;
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
    struct window w = {.stream = s};
    int rc;
    ARRAY_GROW(w.text, w.cap, WINDOW_SIZE);
    rc = take_file(k, &w, e);
    free(w.text);
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
    number_rank(k);
    kineto_link(k);
    note_file(k);
    return 0;
}

static void kineto_free(struct kineto *k)
{
    idmap_release(&k->threads);
    idmap_release(&k->launch_ids);
    idmap_release(&k->act_ids);
    free(k->launches.list);
    free(k->syncs.list);
    free(k->host.list);
    free(k->comm.list);
    free(k->gemms.list);
    free(k->callers.list);
    free(k->externals.list);
    free(k->gpu_marks.list);
    idmap_release(&k->processes);
    idmap_release(&k->gpu_processes);
    idmap_release(&k->gpus);
    free(k->groups.list);
    free(k->known.list);
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
    k->recorded_rank = k->told_rank = -1;
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
    while (i < len && (head[i] == ' ' || head[i] == '\n' || head[i] == '\r' || head[i] == '\t'))
        i++;
    if (i == len)
        return false;
    if (head[i] == '[')
        return has(head, len, "\"ph\"") && has(head, len, "\"ts\"");
    return head[i] == '{' &&
           (has(head, len, "\"traceEvents\"") || has(head, len, "\"schemaVersion\""));
}

const struct reader reader_kineto = {
    .name = "kineto", .sniff = kineto_sniff, .read = kineto_read, .finish = kineto_finish};
