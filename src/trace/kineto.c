/* SPDX-License-Identifier: MIT
 *
 * Reads PyTorch profiler (Kineto) JSON by streaming, never the whole file at once. What stands
 * beside the events (device names, ranks, the time base) may come before or after them.
 */
#include "trace/kineto.h"

#include "base/buf.h"
#include "trace/comm_order.h"
#include "trace/reader.h"
#include "trace/window.h"

#include <stdlib.h>
#include <string.h>

#define WALL_CLOCK_MIN ((int64_t)1000000000 * 1000000000) /* the year 2001 */

/* ---- beside the events: devices, the rank and its process groups, the time base ---- */

static void take_devices(void *ctx, struct json *j)
{
    struct kineto *k = ctx;
    struct json_text key;
    k->ndevices = 0;
    if (!json_enter(j, '['))
        return;
    while (json_next_item(j)) {
        int64_t id = -1;
        const char *name = "";
        if (!json_enter(j, '{'))
            continue;
        while (json_next_key(j, &key)) {
            if (json_text_is(key, "id"))
                id = event_number(j);
            else if (json_text_is(key, "name") && json_peek(j) == '"')
                name = memo_find(&k->texts, k->run, json_string(j))->text;
            else
                json_skip(j);
        }
        if (id >= 0 && id < (int64_t)(sizeof k->device_names / sizeof *k->device_names))
            k->device_names[id] = name;
        k->ndevices++;
    }
}

/* The ranks of a group: a list, or a text that holds one. */
static void take_group_ranks(struct kineto *k, struct json *j, struct kineto_group *group)
{
    struct json inner;
    struct json_text text;
    int *list = NULL;
    size_t cap = 0, n = 0;
    if (json_peek(j) == '"') {
        text = json_string(j);
        json_init(&inner, text.p, text.len);
        j = &inner;
    }
    if (!json_enter(j, '['))
        return;
    while (json_next_item(j)) {
        int64_t rank = json_i64(j, -1);
        ARRAY_GROW(list, cap, n + 1);
        list[n++] = rank >= 0 && rank < RUN_RANKS_MAX ? (int)rank : -1;
    }
    if (j->error == NULL && n > 0 && n <= RUN_RANKS_MAX) {
        group->ranks = arena_alloc(&k->run->arena, n * sizeof *list);
        memcpy(group->ranks, list, n * sizeof *list);
        group->size = (int)n;
    }
    free(list);
}

void kineto_take_groups(struct kineto *k, struct json *j)
{
    struct json_text key;
    k->groups.count = 0;
    if (!json_enter(j, '['))
        return;
    while (json_next_item(j)) {
        struct kineto_group group = {"", "", NULL, 0};
        int64_t size = 0;
        if (!json_enter(j, '{'))
            continue; /* null */
        while (json_next_key(j, &key)) {
            if (json_text_is(key, "pg_name") && json_peek(j) == '"')
                group.name = memo_find(&k->texts, k->run, json_string(j))->text;
            else if (json_text_is(key, "pg_desc") && json_peek(j) == '"')
                group.text = memo_find(&k->texts, k->run, json_string(j))->text;
            else if (json_text_is(key, "pg_size") || json_text_is(key, "group_size"))
                size = event_number(j);
            else if (json_text_is(key, "ranks"))
                take_group_ranks(k, j, &group);
            else
                json_skip(j);
        }
        if (group.ranks == NULL && size > 0 && size <= RUN_RANKS_MAX && size == k->world_size) {
            /* An empty list of a group that is as large as the job stands for all ranks. */
            group.size = (int)k->world_size;
            group.ranks = arena_alloc(&k->run->arena, (size_t)group.size * sizeof *group.ranks);
            for (int i = 0; i < group.size; i++)
                group.ranks[i] = i;
        }
        ARRAY_GROW(k->groups.list, k->groups.cap, k->groups.count + 1);
        k->groups.list[k->groups.count++] = group;
    }
}

void kineto_groups_release(struct kineto *k)
{
    free(k->groups.list);
    free(k->known.list);
    free(k->known_more.list);
    idmap_release(&k->group_ids);
}

static void take_distributed(void *ctx, struct json *j)
{
    struct kineto *k = ctx;
    struct json_text key;
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key)) {
        if (json_text_is(key, "rank")) {
            k->recorded_rank = event_number(j);
        } else if (json_text_is(key, "nccl_version") && json_peek(j) == '"') {
            rank_add_setting(k->rank, intern_add(&k->run->names, "NCCL", strlen("NCCL")),
                             memo_find(&k->texts, k->run, json_string(j))->text);
        } else if (json_text_is(key, "world_size")) {
            k->world_size = event_number(j);
        } else if (json_text_is(key, "pg_config") && json_peek(j) == '[') {
            kineto_take_groups(k, j);
        } else if (json_text_is(key, "pg_config") && json_peek(j) == '"') {
            /* The same as a text; one that makes no sense is left. */
            struct buf plain = BUF_INIT;
            struct json inner;
            json_decode(json_string(j), &plain);
            json_init(&inner, plain.data, plain.len);
            if (json_peek(&inner) == '[')
                kineto_take_groups(k, &inner);
            buf_release(&plain);
        } else {
            json_skip(j);
        }
    }
    if (k->world_size < 0 || k->world_size > RUN_RANKS_MAX)
        k->world_size = 0;
}

static void take_base(void *ctx, struct json *j)
{
    struct kineto *k = ctx;
    k->base_ns = event_number(j);
    k->has_base = k->base_ns != ARG_NONE;
    if (!k->has_base)
        k->base_ns = 0;
}

static const struct {
    const char *key;
    window_value *take;
} sections[] = {
    {"deviceProperties", take_devices},
    {"computeProperties", take_devices}, /* before PyTorch 1.9 */
    {"distributedInfo", take_distributed},
    {"baseTimeNanoseconds", take_base},
};

/* Returns the function that takes the value of a key beside the events; its ctx is the struct
 * kineto. */
static window_value *kineto_section(const char *key)
{
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        if (strcmp(key, sections[i].key) == 0)
            return sections[i].take;
    }
    return window_skip;
}

/* Returns whether the event's times and args are of use. */
static bool is_believable(const struct kineto_event *ev)
{
    return !ev->damaged && ev->ts_ns != UNKNOWN_NS && ev->ts_ns < RUN_TIME_MAX &&
           ev->ts_ns > -RUN_TIME_MAX && ev->dur_ns >= 0 && ev->dur_ns <= RUN_DUR_MAX;
}

/* Returns whether it only names other work. Then nothing is lost where it is of no use. */
static bool is_label(const struct kineto_event *ev)
{
    return ev->kind == EVENT_OP || ev->kind == EVENT_MARK || ev->kind == EVENT_GPU_MARK;
}

/* Counts what cannot be used; the first is described. */
static void bad_event(struct kineto *k, uint64_t at, const char *reason)
{
    if (k->bad++ > 0)
        return;
    k->bad_offset = at;
    k->bad_reason = reason;
}

/* ---- the file ---- */

static int take_element(void *ctx, struct window *w, struct err *e)
{
    struct kineto *k = ctx;
    struct kineto_event ev;
    struct json j;
    for (;;) {
        json_init(&j, w->text + w->at, w->have - w->at);
        if (event_parse(&ev, &j, &k->words, k->run)) {
            if (ev.kind != EVENT_OTHER && is_believable(&ev))
                kineto_add_event(k, &ev);
            else if (ev.kind != EVENT_OTHER && !is_label(&ev))
                bad_event(k, window_offset(w), "an event without a usable time");
            w->at += json_offset(&j);
            return 0;
        }
        if (!json_is_cut(&j)) { /* wrong inside its brackets: passed over and counted */
            bad_event(k, window_offset(w) + json_offset(&j), j.error);
            return window_take(w, window_skip, k, e);
        }
        if (!window_more(w))
            return window_broken(w, window_offset(w) + json_offset(&j), j.error, e);
    }
}

/* Values beside the events may be wrong without harm to these. */
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
               : window_broken(w, window_offset(w), "text after the trace", e);
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

static int read_file(struct kineto *k, struct stream *s, struct err *e)
{
    struct window w;
    int rc;
    window_init(&w, s, k->label);
    rc = take_file(k, &w, e);
    window_release(&w);
    if (k->rank->nops == 0)
        return rc < 0 ? -1 : err_set(e, ERR_INPUT, "%s: no GPU work in it", k->label);
    /* A profile is of one process, and the profiler puts device work under the number of the
     * device. Tools that merge ranks for a viewer shift or rename the processes. */
    if (k->processes.count > 1 || (k->gpu_processes.count > 1 && k->strange_process) ||
        k->gpu_processes.count > k->gpus.count)
        return err_set(e, ERR_INPUT,
                       "%s: the traces of several processes merged into one file: give the files "
                       "of the ranks themselves",
                       k->label);
    if (rc < 0)
        run_note(k->run, true, "%s; what stands before it is used", e->msg);
    /* Times are those of the wall clock. Small values without a time base have no known epoch. */
    int64_t first = k->rank->ops[0].start_ns;
    bool dated = k->has_base || first == UNKNOWN_NS || first >= WALL_CLOCK_MIN;
    k->rank->mono_ns = 0;
    k->rank->real_ns = dated ? 0 : UNKNOWN_NS; /* kineto_finish() looks at all */
    set_rank(k);
    kineto_link_comm(k);
    if (k->world_size > k->run->world_size) /* told by the default group */
        k->run->world_size = (int)k->world_size;
    number_rank(k);
    kineto_link(k);
    k->rank->nthreads = k->threads.count;
    k->rank->thread_ids = idmap_ids(&k->threads);
    rank_fit(k->rank);
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
    return 0;
}

static int kineto_read(struct run *run, struct stream *s, const char *label, struct err *e)
{
    struct kineto *k = array_new(1, sizeof *k);
    int rc;
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
    idmap_release(&k->threads);
    idmap_release(&k->text_streams);
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
    kineto_groups_release(k);
    free(k);
    return rc;
}

/* ---- after the last file ----
 *
 * The n-th collective of a communicator on each rank is the same one, unless every trace has
 * PyTorch's own sequence numbers, which also hold when the traces begin at different moments. */

/* A kernel without a record (launched before the profile began, say) has the number before that of
 * the next one of its communicator; after the last one, the number after it. */
static void fill_numbers(struct run *run, struct rank *rank, int64_t *known)
{
    for (size_t c = 0; c < run->ncomms; c++)
        known[c] = -1;
    for (size_t i = rank->nops; i-- > 0;) {
        struct op *op = &rank->ops[i];
        if (op->class != OP_COLL || op->coll.comm < 0)
            continue;
        if (op->coll.p2p_seq < 0 && known[op->coll.comm] > 0)
            op->coll.p2p_seq = known[op->coll.comm] - 1;
        known[op->coll.comm] = op->coll.p2p_seq;
    }
    for (size_t c = 0; c < run->ncomms; c++)
        known[c] = -1;
    for (size_t i = 0; i < rank->nops; i++) {
        struct op *op = &rank->ops[i];
        if (op->class != OP_COLL || op->coll.comm < 0)
            continue;
        if (op->coll.p2p_seq < 0 && known[op->coll.comm] >= 0)
            op->coll.p2p_seq = known[op->coll.comm] + 1;
        known[op->coll.comm] = op->coll.p2p_seq;
    }
}

/* Returns for each communicator whether its recorded numbers are usable: on every op of every rank,
 * and growing. To be freed. */
static bool *recorded_numbers(struct run *run)
{
    bool *good = array_new(run->ncomms, sizeof *good);
    int64_t *last = array_new(run->ncomms, sizeof *last);
    memset(good, true, run->ncomms);
    for (size_t r = 0; r < run->nranks; r++) {
        fill_numbers(run, &run->ranks[r], last);
        for (size_t c = 0; c < run->ncomms; c++)
            last[c] = -1;
        for (size_t i = 0; i < run->ranks[r].nops; i++) {
            const struct op *op = &run->ranks[r].ops[i];
            if (op->class != OP_COLL || op->coll.comm < 0)
                continue;
            good[op->coll.comm] &= op->coll.p2p_seq > last[op->coll.comm];
            last[op->coll.comm] = op->coll.p2p_seq;
        }
    }
    free(last);
    return good;
}

/* After the last file: numbers collectives by what the traces of all ranks have, and notes what
 * they lack. */
static void kineto_finish(struct run *run)
{
    /* Small times without a base have no date. Where all ranks are so, the tool that made the files
     * cut the same off all of them; beside dated ones they cannot be placed. */
    size_t undated = 0;
    for (size_t r = 0; r < run->nranks; r++)
        undated += run->ranks[r].real_ns == UNKNOWN_NS;
    for (size_t r = 0; r < run->nranks; r++) {
        if (run->ranks[r].real_ns == UNKNOWN_NS)
            run->ranks[r].mono_ns = run->ranks[r].real_ns = undated < run->nranks ? UNKNOWN_NS : 0;
    }
    if (undated > 0 && undated < run->nranks)
        run_note(
            run, false,
            "%zu of %zu traces have no base for their times (baseTimeNanoseconds): they cannot "
            "be compared with the others",
            undated, run->nranks);
    for (size_t r = 0; r < run->nranks; r++)
        order_number(&run->ranks[r]);
    bool *good = recorded_numbers(run);
    for (size_t r = 0; r < run->nranks; r++) {
        for (size_t i = 0; i < run->ranks[r].nops; i++) {
            struct op *op = &run->ranks[r].ops[i];
            if (op->class != OP_COLL)
                continue;
            if (op->coll.comm >= 0 && good[op->coll.comm])
                op->coll.seq = op->coll.p2p_seq;
            op->coll.p2p_seq = -1;
        }
    }
    for (size_t c = 0; c < run->ncomms; c++)
        good[c] = !good[c];
    order_resync(run, good);
    free(good);
    order_note_gaps(run);
    /* Communication and steps may be in the traces of no rank. */
    size_t comm = 0, steps = 0;
    for (size_t r = 0; r < run->nranks; r++) {
        steps += run->ranks[r].nsteps;
        for (size_t i = 0; i < run->ranks[r].nops; i++)
            comm += op_is_comm(&run->ranks[r].ops[i]);
    }
    if (comm == 0 && (run->nranks > 1 || run->world_size > 1))
        run_note(run, false,
                 "no kernel of these traces is communication by its name, though there are several "
                 "ranks");
    if (steps == 0)
        run_note(run, false, "the traces mark no steps (ProfilerStep)");
}

/* ---- recognising ---- */

static bool kineto_sniff(const char *head, size_t len)
{
    size_t i = 0;
    if (is_own_export(head, len) || is_xla(head, len))
        return false;
    while (i < len && (head[i] == ' ' || head[i] == '\n' || head[i] == '\r' || head[i] == '\t'))
        i++;
    if (i == len)
        return false;
    if (head[i] == '[')
        return head_has(head, len, "\"ph\"") && head_has(head, len, "\"ts\"");
    return head[i] == '{' &&
           (head_has(head, len, "\"traceEvents\"") || head_has(head, len, "\"schemaVersion\""));
}

const struct reader reader_kineto = {.name = "kineto",
                                     .sniff = kineto_sniff,
                                     .read = kineto_read,
                                     .apart = true,
                                     .grouped = true,
                                     .finish = kineto_finish};
