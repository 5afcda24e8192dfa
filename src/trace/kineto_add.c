/* SPDX-License-Identifier: MIT
 *
 * The events of a Kineto file that matter, into the lists of struct kineto.
 */
#include "trace/kineto.h"

#include "base/hash.h"
#include "trace/api_calls.h"

#include <stdlib.h>
#include <string.h>

#define DEVICES_MAX 64 /* of a node: eight GPUs in eight partitions each */

static int64_t or_none(int64_t arg, int64_t none)
{
    return arg == ARG_NONE ? none : arg;
}

static uint32_t thread(struct kineto *k, const struct kineto_event *ev)
{
    return idmap_add(&k->threads, ev->tid);
}

static bool has_process(const struct kineto_event *ev)
{
    return ev->pid != -1 && ev->pid != ARG_NONE;
}

/* Ids are small; a larger one is none of the profiler's. */
static uint32_t external_id(int64_t id)
{
    return id > 0 && id <= UINT32_MAX ? (uint32_t)id : 0;
}

/* Texts are interned: equal ones have one address. The struct has no holes. */
static struct kineto_kept keep_meta(struct kineto *k, struct kineto_meta meta)
{
    struct kineto_kept kept = {.seq = meta.seq};
    uint64_t words[sizeof meta / sizeof(uint64_t)], hash = 0;
    uint32_t *known;
    meta.seq = 0;
    memcpy(words, &meta, sizeof meta);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = hash_mix(hash, words[i]);
    known = &k->known_metas[hash % KINETO_METAS];
    if (*known == 0 || memcmp(&k->metas.list[*known - 1], &meta, sizeof meta) != 0) {
        ARRAY_ROOM(k->metas.list, k->metas.cap, k->metas.count + 1);
        k->metas.list[k->metas.count++] = meta;
        *known = (uint32_t)k->metas.count;
    }
    kept.at = *known - 1;
    return kept;
}

/* The profiler puts device work under the number of the device, which ROCm's then tells alone. */
static int64_t device_of(const struct kineto_event *ev)
{
    return or_none(ev->args.device, ev->pid >= 0 && ev->pid < DEVICES_MAX ? ev->pid : 0);
}

/* Device work. Its id is the correlation until kineto_link() has used it. */
static struct op *add_op(struct kineto *k, const struct kineto_event *ev, enum op_class class)
{
    int64_t device = device_of(ev);
    struct op *op = rank_add_op(k->rank);
    op->start_ns = ev->ts_ns;
    op->dur_ns = ev->dur_ns;
    op->name = ev->name;
    op->id = (uint64_t)or_none(ev->args.correlation, -1);
    op->device = device >= 0 && device <= INT32_MAX ? (int32_t)device : 0;
    op->stream = (int32_t)ev->args.stream;
    op->class = (uint8_t) class;
    op->timing = SPECTER_TIMING_DEVICE;
    ARRAY_ROOM(k->externals.list, k->externals.cap, k->rank->nops);
    k->externals.list[k->externals.count++] = external_id(ev->args.external);
    if (has_process(ev)) {
        idmap_add(&k->gpu_processes, ev->pid);
        idmap_add(&k->gpus, op->device);
        k->strange_process |= ev->pid != op->device;
    }
    k->other_device_ops += op->device != k->rank->ops[0].device;
    return op;
}

static void add_kernel(struct kineto *k, const struct kineto_event *ev)
{
    size_t at = k->rank->nops;
    if (ev->detail == KERNEL_COMM) {
        struct op *op = add_op(k, ev, OP_COLL);
        op->coll.comm = op->coll.group = op->coll.peer = -1;
        op->coll.seq = op->coll.p2p_seq = -1;
        ARRAY_ROOM(k->comm.list, k->comm.cap, k->comm.count + 1);
        k->comm.list[k->comm.count].op = at;
        k->comm.list[k->comm.count++].meta = keep_meta(k, kineto_args_meta(k, &ev->args));
        return;
    }
    add_op(k, ev, OP_KERNEL);
    if (ev->detail == KERNEL_COMPUTES) {
        ARRAY_ROOM(k->computing.list, k->computing.cap, k->computing.count + 1);
        k->computing.list[k->computing.count++] = at;
    }
}

static void add_memory(struct kineto *k, const struct kineto_event *ev)
{
    struct op *op = add_op(k, ev, OP_MEMORY);
    op->copy.host = (uint8_t)copy_host_memory(ev->name);
    if (ev->args.bytes >= 0)
        op->bytes = (uint64_t)ev->args.bytes;
    else
        op->flags |= OP_BYTES_UNKNOWN;
}

/* Two calls of one correlation (a runtime call and the driver call inside it): the outer counts.
 * On ROCm neither calls nor work may have one: their external id is that number then. */
static void add_launch(struct kineto *k, const struct kineto_event *ev)
{
    struct kineto_launch launch = {ev->ts_ns, ev->ts_ns + ev->dur_ns, thread(k, ev),
                                   (enum api_call)ev->detail};
    const uint32_t external = external_id(ev->args.external);
    uint32_t at;
    if (ev->args.correlation == ARG_NONE && external == 0)
        return;
    at = idmap_add(&k->launch_ids, ev->args.correlation != ARG_NONE ? ev->args.correlation
                                                                    : KINETO_EXTERNAL(external));
    if (at < k->launches.count && k->launches.list[at].start_ns <= launch.start_ns)
        return;
    ARRAY_ROOM(k->launches.list, k->launches.cap, (size_t)at + 1);
    k->launches.list[at] = launch;
    if (at == k->launches.count)
        k->launches.count++;
}

static void add_sync_call(struct kineto *k, const struct kineto_event *ev)
{
    struct sync_call sync = {
        .host_ns = ev->ts_ns,
        .host_end_ns = ev->ts_ns + ev->dur_ns,
        .kind = (uint8_t)ev->detail,
        .tid = thread(k, ev),
        .device = k->rank->nops > 0 ? k->rank->ops[0].device : 0,
        .stream = -1,
        .event = -1,
    };
    /* Correlations are not negative: an act without one gets a number of its own. */
    int64_t id = or_none(ev->args.correlation, -1 - (int64_t)k->rank->nsync_calls);
    if (idmap_add(&k->sync_call_ids, id) ==
        k->rank->nsync_calls) /* else the driver's call inside this one */
        *rank_add_sync_call(k->rank) = sync;
}

static void add_sync(struct kineto *k, const struct kineto_event *ev)
{
    ARRAY_ROOM(k->syncs.list, k->syncs.cap, k->syncs.count + 1);
    k->syncs.list[k->syncs.count++] = (struct kineto_sync){
        .correlation = ev->args.correlation,
        .record_correlation = ev->args.record_correlation,
        .stream = or_none(ev->args.stream, -1),
        .event = or_none(ev->args.event_id, -1),
        .event_stream = or_none(ev->args.event_stream, -1),
    };
}

static void add_host_op(struct kineto *k, const struct kineto_event *ev)
{
    struct kineto_host_op host = {.start_ns = ev->ts_ns, .end_ns = ev->ts_ns + ev->dur_ns};
    host.tid = thread(k, ev);
    host.parent = -1;
    host.work = WORK_NONE;
    host.name = ev->name;
    host.record_id = ev->args.record_id > 0 ? (uint64_t)ev->args.record_id : 0;
    if (ev->kind == EVENT_PRODUCT) {
        host.kind = HOST_PRODUCT;
        host.product = product_of(
            ev->name, &(struct product_inputs){ev->args.dims, ev->args.types, ev->args.values});
    } else if (ev->kind == EVENT_PARAMS) {
        host.kind = HOST_PARAMS;
        host.meta = keep_meta(k, kineto_args_meta(k, &ev->args));
    } else {
        host.kind = HOST_COLLECTIVE;
        host.meta = keep_meta(k, kineto_annotation_meta(ev->name, &ev->args));
    }
    ARRAY_ROOM(k->host.list, k->host.cap, k->host.count + 1);
    k->host.list[k->host.count++] = host;
}

static void add_step(struct kineto *k, const struct kineto_event *ev)
{
    struct step *step = rank_add_step(k->rank);
    step->start_ns = ev->ts_ns;
    step->end_ns = ev->ts_ns + ev->dur_ns;
    step->name = ev->name;
    step->tid = thread(k, ev);
}

/* The stream that the profiler's tid is; 0 without one. Texts are numbered from 1 on. */
static int64_t stream_of_thread(struct kineto *k, int64_t tid)
{
    if (tid >= -1 || tid == ARG_NONE)
        return tid >= 0 ? tid : 0;
    return 1 + (int64_t)idmap_add(&k->text_streams, tid);
}

/* Device work tells its stream, or the profiler's tid is it; files that tools write may have
 * neither. A stream that is no stream is counted, and the work left out. */
static bool on_stream(struct kineto *k, struct kineto_event *ev)
{
    bool on;
    if (ev->args.stream == ARG_NONE)
        ev->args.stream = stream_of_thread(k, ev->tid);
    on = ev->args.stream >= 0 && ev->args.stream <= INT32_MAX;
    k->streamless += !on;
    return on;
}

void kineto_add_event(struct kineto *k, struct kineto_event *ev)
{
    if (ev->is_operator) {
        ARRAY_ROOM(k->callers.list, k->callers.cap, k->callers.count + 1);
        k->callers.list[k->callers.count++] =
            (struct kineto_caller){ev->ts_ns, ev->ts_ns + ev->dur_ns, ev->name, thread(k, ev),
                                   external_id(ev->args.external)};
    }
    switch (ev->kind) {
    case EVENT_KERNEL:
        if (on_stream(k, ev))
            add_kernel(k, ev);
        break;
    case EVENT_MEMCPY:
    case EVENT_MEMSET:
        if (on_stream(k, ev))
            add_memory(k, ev);
        break;
    case EVENT_LAUNCH:
        if (k->rank->pid < 0)
            k->rank->pid = ev->pid;
        if (has_process(ev))
            idmap_add(&k->processes, ev->pid);
        add_launch(k, ev);
        break;
    case EVENT_SYNC_CALL:
        add_sync_call(k, ev);
        break;
    case EVENT_SYNC:
        add_sync(k, ev);
        break;
    case EVENT_PARAMS:
    case EVENT_COLLECTIVE:
    case EVENT_PRODUCT:
        add_host_op(k, ev);
        break;
    case EVENT_STEP:
        add_step(k, ev);
        break;
    case EVENT_MARK:
        *rank_add_mark(k->rank) =
            (struct mark){ev->ts_ns, ev->ts_ns + ev->dur_ns, ev->name, thread(k, ev)};
        break;
    case EVENT_GPU_MARK:
        ARRAY_ROOM(k->gpu_marks.list, k->gpu_marks.cap, k->gpu_marks.count + 1);
        k->gpu_marks.list[k->gpu_marks.count++] =
            (struct mark){ev->ts_ns, ev->ts_ns + ev->dur_ns, ev->name, 0};
        break;
    case EVENT_OP:
    case EVENT_OTHER:
        break;
    }
}
