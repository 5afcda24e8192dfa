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
#define WINDOW_MAX ((size_t)64 << 20) /* largest single value */

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

/* ---- beside the events ---- */

typedef void take_fn(struct kineto *k, struct json *j);

static void take_devices(struct kineto *k, struct json *j)
{
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
                id = json_i64(j, -1);
            else if (json_text_is(key, "name"))
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

static void take_groups(struct kineto *k, struct json *j)
{
    struct json_text key;
    k->groups.count = 0;
    if (!json_enter(j, '['))
        return;
    while (json_next_item(j)) {
        struct kineto_group group = {"", NULL, 0};
        if (!json_enter(j, '{'))
            continue;
        while (json_next_key(j, &key)) {
            if (json_text_is(key, "pg_name") && json_peek(j) == '"')
                group.name = memo_find(&k->texts, k->run, json_string(j))->text;
            else if (json_text_is(key, "ranks"))
                take_group_ranks(k, j, &group);
            else
                json_skip(j);
        }
        ARRAY_GROW(k->groups.list, k->groups.cap, k->groups.count + 1);
        k->groups.list[k->groups.count++] = group;
    }
}

static void take_distributed(struct kineto *k, struct json *j)
{
    struct json_text key;
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key)) {
        if (json_text_is(key, "rank"))
            k->recorded_rank = json_i64(j, -1);
        else if (json_text_is(key, "world_size"))
            k->world_size = json_i64(j, 0);
        else if (json_text_is(key, "pg_config") && json_peek(j) == '[')
            take_groups(k, j);
        else
            json_skip(j);
    }
    if (k->world_size < 0 || k->world_size > RUN_RANKS_MAX)
        k->world_size = 0;
    k->has_distributed = true;
}

static void take_base(struct kineto *k, struct json *j)
{
    k->base_ns = json_i64(j, 0);
}

static void take_nothing(struct kineto *k, struct json *j)
{
    (void)k;
    json_skip(j);
}

static const struct {
    const char *key;
    take_fn *take;
} sections[] = {
    {"deviceProperties", take_devices},
    {"distributedInfo", take_distributed},
    {"baseTimeNanoseconds", take_base},
};

static take_fn *section(struct json_text key)
{
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        if (json_text_is(key, sections[i].key))
            return sections[i].take;
    }
    return take_nothing;
}

/* ---- events ---- */

static int64_t or_none(int64_t arg, int64_t none)
{
    return arg == ARG_NONE ? none : arg;
}

static uint32_t thread(struct kineto *k, const struct event *ev)
{
    return idmap_add(&k->threads, ev->tid);
}

/* Device work. Its id is the correlation until kineto_link() has used it. */
static struct op *add_op(struct kineto *k, const struct event *ev, enum op_class class)
{
    int64_t device = or_none(ev->args.device, 0);
    struct op *op = rank_add_op(k->rank);
    op->start_ns = ev->ts_ns;
    op->dur_ns = ev->dur_ns;
    op->name = ev->name;
    op->id = (uint64_t)or_none(ev->args.correlation, -1);
    op->device = device >= 0 && device <= INT32_MAX ? (int32_t)device : 0;
    op->stream = (int32_t)ev->args.stream;
    op->class = (uint8_t) class;
    op->timing = SPECTER_TIMING_DEVICE;
    k->other_device_ops += op->device != k->rank->ops[0].device;
    return op;
}

static void add_kernel(struct kineto *k, const struct event *ev)
{
    size_t at = k->rank->nops;
    if (kineto_is_comm(ev->name)) {
        struct op *op = add_op(k, ev, OP_COLL);
        op->coll.comm = op->coll.group = op->coll.peer = -1;
        op->coll.seq = op->coll.p2p_seq = -1;
        ARRAY_GROW(k->comm.list, k->comm.cap, k->comm.count + 1);
        k->comm.list[k->comm.count].op = at;
        k->comm.list[k->comm.count++].meta = kineto_args_meta(k, &ev->args);
        return;
    }
    add_op(k, ev, OP_KERNEL);
    if (kineto_is_gemm(ev->name)) {
        ARRAY_GROW(k->gemms.list, k->gemms.cap, k->gemms.count + 1);
        k->gemms.list[k->gemms.count++] = at;
    }
}

static void add_memory(struct kineto *k, const struct event *ev)
{
    struct op *op = add_op(k, ev, OP_MEMORY);
    if (ev->args.bytes >= 0)
        op->bytes = (uint64_t)ev->args.bytes;
    else
        op->flags |= OP_BYTES_UNKNOWN;
}

/* Two calls of one correlation (a runtime call and the driver call inside it): the outer counts. */
static void add_launch(struct kineto *k, const struct event *ev)
{
    struct kineto_launch launch = {ev->ts_ns, ev->ts_ns + ev->dur_ns, thread(k, ev)};
    uint32_t at;
    if (ev->args.correlation == ARG_NONE)
        return;
    at = idmap_add(&k->launch_ids, ev->args.correlation);
    if (at < k->launches.count && k->launches.list[at].start_ns <= launch.start_ns)
        return;
    ARRAY_GROW(k->launches.list, k->launches.cap, (size_t)at + 1);
    k->launches.list[at] = launch;
    if (at == k->launches.count)
        k->launches.count++;
}

static void add_act(struct kineto *k, const struct event *ev)
{
    struct act act = {
        .host_ns = ev->ts_ns,
        .host_end_ns = ev->ts_ns + ev->dur_ns,
        .kind = (uint8_t)ev->detail,
        .tid = thread(k, ev),
        .device = k->rank->nops > 0 ? k->rank->ops[0].device : 0,
        .stream = -1,
        .event = -1,
    };
    /* Correlations are not negative: an act without one gets a number of its own. */
    int64_t id = or_none(ev->args.correlation, -1 - (int64_t)k->rank->nacts);
    if (idmap_add(&k->act_ids, id) == k->rank->nacts) /* else the driver's call inside this one */
        *rank_add_act(k->rank) = act;
}

static void add_sync(struct kineto *k, const struct event *ev)
{
    ARRAY_GROW(k->syncs.list, k->syncs.cap, k->syncs.count + 1);
    k->syncs.list[k->syncs.count++] = (struct kineto_sync){
        .correlation = ev->args.correlation,
        .record_correlation = ev->args.record_correlation,
        .stream = or_none(ev->args.stream, -1),
        .event = or_none(ev->args.event_id, -1),
        .event_stream = or_none(ev->args.event_stream, -1),
    };
}

/* Row-major [m,k] x [k,n], or for linear [...,k] x [n,k]; with a batch in front where both have it.
 * m stays 0 when the trace holds no shapes, or shapes that do not fit. */
static void take_shape(struct kineto_host_op *host, const struct event *ev)
{
    bool linear = strcmp(ev->name, "aten::linear") == 0;
    int64_t a[8], b[8], batch = 1, m = 1;
    int na = kineto_shape_at(ev->args.dims, ev->detail, a, 8);
    int nb = kineto_shape_at(ev->args.dims, ev->detail + 1, b, 8);
    if (na < 2 || nb < 2 || (linear ? nb != 2 : na != nb || na > 3))
        return;
    for (int i = 0; i < na - 1 && m <= UINT32_MAX; i++)
        m *= linear || i == na - 2 ? a[i] : 1;
    if (!linear && na == 3 && (batch = a[0]) != b[0])
        return;
    if (a[na - 1] != b[linear ? 1 : nb - 2])
        return;
    if (m > UINT32_MAX || batch > UINT32_MAX || a[na - 1] > UINT32_MAX || b[nb - 1] > UINT32_MAX ||
        b[nb - 2] > UINT32_MAX)
        return;
    host->gemm.m = (uint32_t)m;
    host->gemm.n = (uint32_t)(linear ? b[0] : b[nb - 1]);
    host->gemm.k = (uint32_t)a[na - 1];
    host->gemm.batch = (uint32_t)batch;
    host->gemm.dtype = kineto_type_at(ev->args.types, ev->detail);
}

static void add_host_op(struct kineto *k, const struct event *ev)
{
    struct kineto_host_op host = {.start_ns = ev->ts_ns, .end_ns = ev->ts_ns + ev->dur_ns};
    host.tid = thread(k, ev);
    host.parent = -1;
    host.gemm.kernel = -1;
    if (ev->kind == EVENT_GEMM) {
        host.kind = HOST_GEMM;
        take_shape(&host, ev);
    } else if (ev->kind == EVENT_PARAMS) {
        host.kind = HOST_PARAMS;
        host.meta = kineto_args_meta(k, &ev->args);
    } else {
        host.kind = HOST_COLLECTIVE;
        host.meta = kineto_annotation_meta(ev->name, &ev->args);
    }
    ARRAY_GROW(k->host.list, k->host.cap, k->host.count + 1);
    k->host.list[k->host.count++] = host;
}

static void add_step(struct kineto *k, const struct event *ev)
{
    struct step *step = rank_add_step(k->rank);
    step->start_ns = ev->ts_ns;
    step->end_ns = ev->ts_ns + ev->dur_ns;
    step->name = ev->name;
}

static bool believable(const struct event *ev)
{
    return !ev->damaged && ev->ts_ns != UNKNOWN_NS && ev->ts_ns < RUN_TIME_MAX &&
           ev->ts_ns > -RUN_TIME_MAX && ev->dur_ns >= 0 && ev->dur_ns <= RUN_DUR_MAX;
}

static bool on_stream(const struct event *ev)
{
    return ev->args.stream >= 0 && ev->args.stream <= INT32_MAX;
}

static void add_event(struct kineto *k, const struct event *ev)
{
    switch (ev->kind) {
    case EVENT_KERNEL:
        if (on_stream(ev))
            add_kernel(k, ev);
        break;
    case EVENT_MEMCPY:
    case EVENT_MEMSET:
        if (on_stream(ev))
            add_memory(k, ev);
        break;
    case EVENT_LAUNCH:
        if (k->rank->pid < 0)
            k->rank->pid = ev->pid;
        add_launch(k, ev);
        break;
    case EVENT_ACT:
        add_act(k, ev);
        break;
    case EVENT_SYNC:
        add_sync(k, ev);
        break;
    case EVENT_PARAMS:
    case EVENT_COLLECTIVE:
    case EVENT_GEMM:
        add_host_op(k, ev);
        break;
    case EVENT_STEP:
        add_step(k, ev);
        break;
    case EVENT_OTHER:
        break;
    }
}

static void bad_event(struct kineto *k, uint64_t at, const char *reason)
{
    if (k->bad++ > 0)
        return;
    k->bad_offset = at;
    k->bad_reason = reason;
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
static int take_value(struct kineto *k, struct window *w, take_fn *take, struct err *e)
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
    bad_event(k, offset(w) + json_offset(wrong), wrong->error);
    return take_value(k, w, take_nothing, e);
}

static int take_element(struct kineto *k, struct window *w, struct err *e)
{
    struct event ev;
    struct json j;
    for (;;) {
        json_init(&j, w->text + w->at, w->have - w->at);
        if (event_parse(&ev, &j, &k->words, k->run)) {
            if (ev.kind != EVENT_OTHER && believable(&ev))
                add_event(k, &ev);
            else if (ev.kind != EVENT_OTHER)
                bad_event(k, offset(w), "an event without a usable time");
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
    k->section = section(key);
}

/* One key with its value. */
static int take_member(struct kineto *k, struct window *w, struct err *e)
{
    if (take_value(k, w, take_key, e) < 0)
        return -1;
    if (next_char(w) != ':')
        return broken(k, w, offset(w), "expected ':'", e);
    w->at++;
    if (next_char(w) != '[' || !k->at_events)
        return take_value(k, w, k->section, e);
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

static void set_rank(struct kineto *k)
{
    struct rank *rank = k->rank;
    int32_t device = rank->ops[0].device;
    bool recorded = k->has_distributed && k->recorded_rank >= 0 && k->recorded_rank < RUN_RANKS_MAX;
    rank->rank = recorded ? (int)k->recorded_rank : rank_in_name(k->label);
    if (!recorded && rank->rank >= 0)
        run_note(k->run, false,
                 "the traces do not say their rank: it is taken from the file names");
    if (k->world_size > k->run->world_size && k->world_size <= RUN_RANKS_MAX)
        k->run->world_size = (int)k->world_size;
    if (device < (int32_t)(sizeof k->device_names / sizeof *k->device_names) &&
        k->device_names[device] != NULL)
        rank->gpu = k->device_names[device];
    rank->host_gpus = k->ndevices;
    rank->nthreads = k->threads.count;
    rank->bad_lines = k->bad;
    rank->complete = true;
    rank->mono_ns = rank->real_ns = 0; /* times are those of the wall clock */
    rank->coverage = COVER_NCCL | COVER_KERNELS | COVER_LAUNCHES | COVER_MEMORY;
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

static int read_file(struct kineto *k, struct stream *s, struct err *e)
{
    struct window w = {.stream = s};
    int rc;
    ARRAY_GROW(w.text, w.cap, WINDOW_SIZE);
    rc = take_file(k, &w, e);
    free(w.text);
    if (k->rank->nops == 0)
        return rc < 0 ? -1 : err_set(e, ERR_INPUT, "%s: no GPU work in it", k->label);
    if (rc < 0)
        run_note(k->run, true, "%s; what stands before it is used", e->msg);
    set_rank(k);
    kineto_link(k);
    rank_fit(k->rank);
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
    k->recorded_rank = -1;
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

const struct reader reader_kineto = {.name = "kineto",
                                     .sniff = kineto_sniff,
                                     .read = kineto_read,
                                     .apart = true,
                                     .finish = kineto_finish};
