/* SPDX-License-Identifier: MIT
 *
 * Reads the Chrome JSON of XLA's profiler (JAX, TensorFlow: <host>.trace.json.gz), one file a host:
 *
 *     {"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":[
 *     {"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:GPU:0"}},
 *     {"ph":"M","pid":1,"tid":14,"name":"thread_name","args":{"name":"Stream #14(Compute)"}},
 *     {"ph":"X","pid":1,"tid":14,"ts":10.5,"dur":3.25,"name":"gemm_fusion_dot_4","args":{
 *      "correlation_id":"77","hlo_op":"gemm_fusion_dot.4","kernel_details":"regs:32 ..."}},
 *     {"ph":"X","pid":701,"tid":9,"ts":9,"dur":1,"name":"cuLaunchKernel","args":{
 *      "correlation_id":"77"}}, {}]}
 *
 * Each device is a process, and a rank here; its streams are threads. Other threads of a device
 * (XLA Modules, XLA Ops) say the same again, but for "Steps". Times have a zero of their own.
 */
#include "base/err.h"
#include "base/idmap.h"
#include "trace/api_calls.h"
#include "trace/comm_order.h"
#include "trace/kernel_names.h"
#include "trace/kineto.h"
#include "trace/reader.h"
#include "trace/window.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DEVICES_MAX 1024  /* of a host; more is damage */
#define THREADS_MAX 65536 /* likewise */

/* The content of a thread of the trace. */
enum lane { LANE_OTHER, LANE_STREAM, LANE_STEPS };

struct xla_launch {
    int64_t start_ns, end_ns;
    uint32_t tid;
    enum api_call call;
};

struct xla {
    struct run *run;
    const char *label;
    const char *host;     /* by the file's name; "" */
    size_t first;         /* rank of the file */
    struct idmap devices; /* processes that are a device: the n-th is the n-th rank of the file */
    struct idmap lanes;   /* threads, by process and thread */
    uint8_t *lane;        /* owned; enum lane */
    size_t cap_lane;
    struct idmap threads; /* of hosts that launch */
    struct idmap launch_ids;
    struct xla_launch *launches; /* owned */
    size_t cap_launches;
    struct memo names;
    uint64_t bad, first_bad;
    uint64_t lost, first_lost; /* work whose device or thread is not known */
    bool full;                 /* as there are too many of them */
    bool launched;
};

struct xla_event {
    int64_t pid, tid, ts_ns, dur_ns, correlation;
    struct json_text name, phase, arg_name, hlo_op;
    struct json_text copy; /* memcpy_details or memset_details */
    bool kernel;           /* kernel_details */
};

/* ---- one event ---- */

static void read_args(struct xla_event *ev, struct json *j)
{
    struct json_text key;
    if (json_peek(j) != '{') {
        json_skip(j);
        return;
    }
    json_enter(j, '{');
    while (json_next_key(j, &key)) {
        const bool text = json_peek(j) == '"';
        if (json_text_is(key, "correlation_id"))
            ev->correlation = event_number(j);
        else if (json_text_is(key, "name") && text)
            ev->arg_name = json_string(j);
        else if (json_text_is(key, "hlo_op") && text)
            ev->hlo_op = json_string(j);
        else if ((json_text_is(key, "memcpy_details") || json_text_is(key, "memset_details")) &&
                 text)
            ev->copy = json_string(j);
        else {
            ev->kernel |= json_text_is(key, "kernel_details");
            json_skip(j);
        }
    }
}

static void read_event(struct xla_event *ev, struct json *j)
{
    struct json_text key;
    *ev = (struct xla_event){.pid = ARG_NONE,
                             .tid = ARG_NONE,
                             .ts_ns = UNKNOWN_NS,
                             .dur_ns = UNKNOWN_NS,
                             .correlation = ARG_NONE};
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key)) {
        if (json_text_is(key, "ts"))
            ev->ts_ns = event_time_ns(j);
        else if (json_text_is(key, "dur"))
            ev->dur_ns = event_time_ns(j);
        else if (json_text_is(key, "pid"))
            ev->pid = event_number(j);
        else if (json_text_is(key, "tid"))
            ev->tid = event_number(j);
        else if (json_text_is(key, "name"))
            ev->name = json_string(j);
        else if (json_text_is(key, "ph"))
            ev->phase = json_string(j);
        else if (json_text_is(key, "args"))
            read_args(ev, j);
        else
            json_skip(j);
    }
}

/* ---- what processes and threads are ---- */

static bool has(struct json_text text, const char *word)
{
    return text.len > 0 && memmem(text.p, text.len, word, strlen(word)) != NULL;
}

static bool begins(struct json_text text, const char *with)
{
    return text.len >= strlen(with) && strncasecmp(text.p, with, strlen(with)) == 0;
}

static int64_t lane_id(const struct xla_event *ev)
{
    return idmap_pair((int32_t)ev->pid, (int32_t)ev->tid);
}

static void read_name(struct xla *x, const struct xla_event *ev)
{
    if (json_text_is(ev->name, "process_name") && has(ev->arg_name, XLA_DEVICE) &&
        idmap_find(&x->devices, ev->pid) == IDMAP_NONE) {
        struct rank *rank;
        x->full |= x->devices.count == DEVICES_MAX;
        if (x->devices.count == DEVICES_MAX)
            return;
        rank = run_add_rank(x->run);
        rank->rank = -1;
        rank->process = (int)x->first;
        rank->device = (int32_t)idmap_add(&x->devices, ev->pid);
        rank->file = arena_strdup(&x->run->arena, x->label);
        rank->host = x->host;
    } else if (json_text_is(ev->name, "thread_name")) {
        uint32_t at = idmap_find(&x->lanes, lane_id(ev));
        x->full |= at == IDMAP_NONE && x->lanes.count == THREADS_MAX;
        if (at == IDMAP_NONE && x->lanes.count == THREADS_MAX)
            return;
        at = idmap_add(&x->lanes, lane_id(ev));
        ARRAY_GROW(x->lane, x->cap_lane, (size_t)at + 1);
        x->lane[at] = begins(ev->arg_name, "stream")        ? LANE_STREAM
                      : json_text_is(ev->arg_name, "Steps") ? LANE_STEPS
                                                            : LANE_OTHER;
    }
}

static enum lane lane_of(const struct xla *x, const struct xla_event *ev)
{
    const uint32_t at = idmap_find(&x->lanes, lane_id(ev));
    return ev->kernel || ev->copy.len > 0 ? LANE_STREAM
           : at != IDMAP_NONE             ? (enum lane)x->lane[at]
                                          : LANE_OTHER;
}

/* ---- work ---- */

/* "kind_src:pinned kind_dst:device size:4096 dest:0 async:1" */
static void read_bytes(struct op *op, struct json_text details)
{
    static const char mark[] = "size:";
    const char *at = details.len > 0 ? memmem(details.p, details.len, mark, sizeof mark - 1) : NULL;
    const char *const end = details.p + details.len;
    op->flags = OP_BYTES_UNKNOWN;
    for (at = at != NULL ? at + sizeof mark - 1 : end; at < end && *at >= '0' && *at <= '9'; at++) {
        const uint64_t digit = (uint64_t)(*at - '0');
        if (op->bytes > ((uint64_t)INT64_MAX - digit) / 10) {
            op->bytes = 0;
            op->flags = OP_BYTES_UNKNOWN;
            return;
        }
        op->bytes = 10 * op->bytes + digit;
        op->flags = 0;
    }
}

static void add_work(struct xla *x, struct rank *rank, const struct xla_event *ev)
{
    struct op *op = rank_add_op(rank);
    op->start_ns = ev->ts_ns;
    op->dur_ns = ev->dur_ns;
    op->name = memo_find(&x->names, x->run, ev->name)->text;
    op->caller = ev->hlo_op.len > 0 ? run_intern(x->run, ev->hlo_op) : "";
    op->id = (uint64_t)(ev->correlation != ARG_NONE ? ev->correlation : -1);
    op->device = rank->device;
    op->stream = ev->tid >= 0 && ev->tid <= INT32_MAX ? (int32_t)ev->tid : 0;
    op->timing = SPECTER_TIMING_DEVICE;
    op->class = OP_KERNEL;
    if (ev->copy.len > 0 || begins(ev->name, "memcpy") || begins(ev->name, "memset")) {
        op->class = OP_MEMORY;
        op->copy.host = (uint8_t)copy_host_memory(op->name);
        read_bytes(op, ev->copy);
    } else if (kernel_is_comm(op->name)) {
        const int code = kernel_comm_op(op->name);
        op->coll.op = (uint8_t)code;
        op->coll.comm = op->coll.group = op->coll.peer = -1;
        op->coll.seq = op->coll.p2p_seq = -1;
        op->coll.redop = SPECTER_REDOP_NONE;
        op->class = specter_comm_op_is_p2p(code) ||
                            (code == SPECTER_COMM_OP_COUNT && kernel_is_sendrecv(op->name))
                        ? OP_P2P
                        : OP_COLL;
        op->flags = OP_BYTES_UNKNOWN;
        if (specter_comm_op_reduces(code)) {
            op->coll.redop = kernel_redop(op->name);
            op->dtype = (uint8_t)kernel_dtype(op->name);
        }
    }
}

static void add_step(struct xla *x, struct rank *rank, const struct xla_event *ev, uint32_t tid)
{
    *rank_add_step(rank) = (struct step){.start_ns = ev->ts_ns,
                                         .end_ns = ev->ts_ns + ev->dur_ns,
                                         .name = memo_find(&x->names, x->run, ev->name)->text,
                                         .tid = tid};
}

/* A call of the driver; two of one correlation: the outer counts. */
static void add_call(struct xla *x, const struct xla_event *ev)
{
    const enum api_call call = api_call_named(ev->name.p, ev->name.len);
    struct xla_launch launch = {ev->ts_ns, ev->ts_ns + ev->dur_ns, 0, call};
    const uint32_t before = x->launch_ids.count;
    uint32_t at;
    if (ev->correlation == ARG_NONE || call == API_OTHER || api_call_sync_kind(call) >= 0)
        return;
    launch.tid = idmap_add(&x->threads, lane_id(ev));
    at = idmap_add(&x->launch_ids, ev->correlation);
    ARRAY_GROW(x->launches, x->cap_launches, (size_t)at + 1);
    if (x->launch_ids.count == before && x->launches[at].start_ns <= launch.start_ns)
        return;
    x->launches[at] = launch;
}

static bool is_believable(const struct xla_event *ev)
{
    return ev->ts_ns != UNKNOWN_NS && ev->ts_ns < RUN_TIME_MAX && ev->ts_ns > -RUN_TIME_MAX &&
           ev->dur_ns >= 0 && ev->dur_ns <= RUN_DUR_MAX;
}

/* Returns whether it may be device work of which the device, or what its thread shows, was not told
 * before it. Without details the work of an unknown process looks like a host's. */
static bool is_lost(const struct xla *x, const struct xla_event *ev, bool on_device)
{
    return on_device
               ? x->lanes.count == THREADS_MAX && idmap_find(&x->lanes, lane_id(ev)) == IDMAP_NONE
               : ev->kernel || ev->copy.len > 0;
}

static void take_event(struct xla *x, const struct xla_event *ev, uint64_t at)
{
    const uint32_t device = idmap_find(&x->devices, ev->pid);
    struct rank *rank = device != IDMAP_NONE ? &x->run->ranks[x->first + device] : NULL;
    const enum lane lane = rank != NULL ? lane_of(x, ev) : LANE_OTHER;
    if (json_text_is(ev->phase, "M")) {
        read_name(x, ev);
        return;
    }
    if (!json_text_is(ev->phase, "X") || ev->name.p == NULL)
        return;
    if (lane == LANE_OTHER && is_lost(x, ev, rank != NULL))
        x->first_lost = x->lost++ == 0 ? at : x->first_lost;
    if (rank != NULL && lane == LANE_OTHER)
        return;
    if (!is_believable(ev)) {
        x->first_bad = x->bad++ == 0 ? at : x->first_bad;
        return;
    }
    if (lane == LANE_STREAM)
        add_work(x, rank, ev);
    else if (lane == LANE_STEPS)
        add_step(x, rank, ev, UINT32_MAX);
    else
        add_call(x, ev);
}

/* ---- the file ---- */

static int take_element(void *ctx, struct window *w, struct err *e)
{
    struct xla *x = ctx;
    struct xla_event ev;
    struct json j;
    for (;;) {
        json_init(&j, w->text + w->at, w->have - w->at);
        read_event(&ev, &j);
        if (j.error == NULL) {
            take_event(x, &ev, window_offset(w));
            w->at += json_offset(&j);
            return 0;
        }
        if (!json_is_cut(&j)) {
            x->first_bad = x->bad++ == 0 ? window_offset(w) + json_offset(&j) : x->first_bad;
            return window_take(w, window_skip, x, e);
        }
        if (!window_more(w))
            return window_broken(w, window_offset(w) + json_offset(&j), j.error, e);
    }
}

static int take_section(void *ctx, struct window *w, const char *key, struct err *e)
{
    if (strcmp(key, "traceEvents") == 0 && window_next(w) == '[')
        return window_list(w, take_element, ctx, e);
    return window_take(w, window_skip, ctx, e);
}

static void link_calls(struct xla *x, struct rank *rank)
{
    for (size_t i = 0; i < rank->nops; i++) {
        struct op *op = &rank->ops[i];
        const uint32_t at = idmap_find(&x->launch_ids, (int64_t)op->id);
        if (at == IDMAP_NONE || (int64_t)op->id == -1)
            continue;
        op->host_ns = x->launches[at].start_ns;
        op->host_end_ns = x->launches[at].end_ns;
        op->tid = x->launches[at].tid;
        x->launched = true;
        if (op->class == OP_MEMORY)
            op->copy.by = (uint8_t)x->launches[at].call;
        if (x->launches[at].call == API_GRAPH)
            op->flags |= OP_IN_GRAPH;
    }
}

static void end_rank(struct xla *x, struct rank *rank)
{
    link_calls(x, rank);
    rank->complete = true;
    rank->mono_ns = 0; /* of an unknown date; xla_finish() */
    rank->coverage = COVER_NCCL | COVER_KERNELS | COVER_MEMORY | COVER_LAUNCHES;
    rank->host_gpus = (int)x->devices.count;
    rank->nthreads = x->threads.count;
    rank->thread_ids = idmap_ids(&x->threads);
    if (x->devices.count == 1) {
        rank->process = -1;
        rank->device = -1;
        rank->rank = rank_in_name(x->label);
    }
    rank_sort(rank);
    rank_fit(rank);
}

static void note_lost(const struct xla *x)
{
    char why[96] = "no name of their device stands before them";
    if (x->full)
        snprintf(why, sizeof why, "more than %d devices or %d threads, or no name before them",
                 DEVICES_MAX, THREADS_MAX);
    if (x->lost > 0)
        run_note(x->run, true, "%s: byte %llu: %llu kernel%s or cop%s left out: %s", x->label,
                 (unsigned long long)x->first_lost, (unsigned long long)x->lost,
                 x->lost > 1 ? "s" : "", x->lost > 1 ? "ies" : "y", why);
}

static int read_file(struct xla *x, struct stream *s, struct err *e)
{
    struct window w;
    size_t ops = 0;
    int rc;
    window_init(&w, s, x->label);
    rc = window_next(&w) == '{' ? window_object(&w, take_section, x, e)
                                : window_broken(&w, 0, "not a trace", e);
    window_release(&w);
    for (size_t i = x->first; i < x->run->nranks; i++)
        ops += x->run->ranks[i].nops;
    if (ops == 0)
        return rc < 0 ? -1
                      : err_set(e, ERR_INPUT, "%s: no work of a GPU in this trace of XLA%s",
                                x->label, x->lost > 0 ? " after the name of its device" : "");
    if (rc < 0)
        run_note(x->run, true, "%s; what stands before it is used", e->msg);
    for (size_t i = x->first; i < x->run->nranks; i++)
        end_rank(x, &x->run->ranks[i]);
    x->run->ranks[x->first].bad_lines = x->bad + x->lost;
    note_lost(x);
    if (x->bad > 0)
        run_note(x->run, true, "%s: byte %llu: %llu event%s without a usable time", x->label,
                 (unsigned long long)x->first_bad, (unsigned long long)x->bad,
                 x->bad > 1 ? "s" : "");
    return 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* "/traces/plugins/profile/2026_01_01/node7.trace.json.gz" -> "node7" */
static const char *host_in_name(struct run *run, const char *label)
{
    const char *name = base_name(label), *end = strstr(name, ".trace.json");
    return end != NULL ? intern_add(&run->names, name, (size_t)(end - name)) : "";
}

static int xla_read(struct run *run, struct stream *s, const char *label, struct err *e)
{
    struct xla *x = array_new(1, sizeof *x);
    int rc;
    x->run = run;
    x->label = label;
    x->host = host_in_name(run, label);
    x->first = run->nranks;
    memo_init(&x->names);
    run->format = "xla";
    rc = read_file(x, s, e);
    while (rc < 0 && run->nranks > x->first)
        rank_clear(&run->ranks[--run->nranks]);
    idmap_release(&x->devices);
    idmap_release(&x->lanes);
    idmap_release(&x->threads);
    idmap_release(&x->launch_ids);
    free(x->lane);
    free(x->launches);
    free(x);
    return rc;
}

/* After the last file: communicators are not in these traces, and follow from streams and order. */
static void xla_finish(struct run *run)
{
    bool *by_order;
    size_t steps = 0;
    for (size_t r = 0; r < run->nranks; r++) {
        run->ranks[r].real_ns = 0;
        run->ranks[r].host_zero = true; /* the devices of a host have one clock */
        order_name_lanes(run, &run->ranks[r], (int64_t)run->nranks, "communicators");
        steps += run->ranks[r].nsteps;
    }
    for (size_t r = 0; r < run->nranks; r++)
        order_number(&run->ranks[r]);
    by_order = array_new(run->ncomms + 1, sizeof *by_order);
    memset(by_order, true, run->ncomms);
    order_resync(run, by_order);
    free(by_order);
    order_note_gaps(run);
    if (steps == 0)
        run_note(run, false, "the traces mark no steps (jax.profiler.StepTraceAnnotation)");
}

/* Returns the length of the folder of a trace that JAX writes a second time, without the name of
 * its host (create_perfetto_link); 0: it is no such trace. */
static size_t xla_from_stem(const char *from)
{
    static const char twice[] = "perfetto_trace.json";
    const char *name = base_name(from);
    return strncmp(name, twice, sizeof twice - 1) == 0 ? (size_t)(name - from) : 0;
}

static bool xla_made(const char *path, const char *from)
{
    const size_t folder = xla_from_stem(from);
    return folder > 0 && strncmp(path, from, folder) == 0 && strchr(path + folder, '/') == NULL &&
           strstr(path + folder, ".trace.json") != NULL;
}

static bool xla_sniff(const char *head, size_t len)
{
    return !is_own_export(head, len) && head_has(head, len, "\"traceEvents\"") && is_xla(head, len);
}

const struct reader reader_xla = {.name = "xla",
                                  .made_from = xla_made,
                                  .from_stem = xla_from_stem,
                                  .sniff = xla_sniff,
                                  .read = xla_read,
                                  .apart = true,
                                  .grouped = true,
                                  .finish = xla_finish};
