/* SPDX-License-Identifier: MIT */
#include "trace/jsonl.h"

#include <stdio.h>
#include <string.h>

/* Places in a record of the fields that all operations have. */
struct op_fields {
    int id, start, duration, device, stream, tid, host, host_end, timing, bound, graph;
};

#define OP_FIELDS(R)                                                                         \
    {                                                                                        \
        R##_id, R##_start_us, R##_duration_us, R##_device, R##_stream, R##_tid, R##_host_us, \
            R##_host_end_us, R##_timing, R##_bound, R##_graph                                \
    }

static const struct op_fields nccl_op = OP_FIELDS(NCCL);
static const struct op_fields cublas_op = OP_FIELDS(CUBLAS);
static const struct op_fields copy_op = OP_FIELDS(COPY);
static const struct op_fields graph_op = OP_FIELDS(GRAPH);

/* ---- values ---- */

static struct memo_slot *word(struct jsonl *r, enum word_role role, struct json_text text)
{
    return memo_find(&r->words[role], r->run, text);
}

static uint8_t dtype(struct jsonl *r, struct json_text text)
{
    struct memo_slot *slot = word(r, WORD_DTYPE, text);
    if (slot->value < 0)
        slot->value = (int32_t)specter_dtype_parse(slot->text, slot->len);
    return (uint8_t)slot->value;
}

static uint8_t redop(struct jsonl *r, struct json_text text)
{
    struct memo_slot *slot = word(r, WORD_REDOP, text);
    if (slot->value < 0)
        slot->value = (int32_t)specter_redop_parse(slot->text, slot->len);
    return (uint8_t)slot->value;
}

static uint8_t comm_op(struct jsonl *r, struct json_text text, const char **name)
{
    struct memo_slot *slot = word(r, WORD_OP, text);
    if (slot->value < 0)
        slot->value = (int32_t)specter_comm_op_parse(slot->text, slot->len);
    *name = slot->text;
    return (uint8_t)slot->value;
}

static uint8_t timing(struct jsonl *r, const struct line *l, int field)
{
    struct memo_slot *slot;
    if (!line_has(l, field)) {
        if (!r->legacy)
            return SPECTER_TIMING_UNKNOWN;
        return r->synchronised ? SPECTER_TIMING_SYNC : SPECTER_TIMING_HOST;
    }
    slot = word(r, WORD_TIMING, line_text(l, field));
    if (slot->value < 0)
        slot->value = (int32_t)specter_timing_parse(slot->text, slot->len);
    return slot->value < SPECTER_TIMING_COUNT ? (uint8_t)slot->value : SPECTER_TIMING_UNKNOWN;
}

/* A number that must fit 32 bits; false when it does not. */
static bool take_i32(const struct line *l, int field, int32_t none, int32_t *out)
{
    int64_t value = line_i64(l, field, none);
    *out = (int32_t)value;
    return value >= INT32_MIN && value <= INT32_MAX;
}

static bool take_u32(const struct line *l, int field, uint32_t none, uint32_t *out)
{
    uint64_t value = line_u64(l, field, none);
    *out = (uint32_t)value;
    return value <= UINT32_MAX;
}

/* A time that is believable, or unknown. */
static bool take_time(const struct line *l, int field, int64_t *out)
{
    *out = line_i64(l, field, UNKNOWN_NS);
    return *out == UNKNOWN_NS || (-RUN_TIME_MAX < *out && *out < RUN_TIME_MAX);
}

static uint32_t thread(struct jsonl *r, const struct line *l, int field)
{
    return idmap_add(&r->threads, (int64_t)line_u64(l, field, 0));
}

static void saw_host_time(struct jsonl *r, int64_t t_ns)
{
    if (!r->has_shutdown && t_ns != UNKNOWN_NS && t_ns > r->end_ns)
        r->end_ns = t_ns;
}

/* ---- records: each handler returns NULL, or what is wrong with the line ---- */

/* Returns the index of that membership of the rank, which is added where it is new. device -1: not
 * told here. UINT32_MAX: none, because the communicator, as the first trace that names it has it,
 * is too small for such a rank. */
static uint32_t join_comm(struct jsonl *r, int comm, int comm_rank, int32_t device)
{
    int size = r->run->comms[comm].size; /* 0: not known yet */
    uint32_t at;
    if (size > 0 && comm_rank >= size)
        return UINT32_MAX;
    at = idmap_add(&r->members, (int64_t)comm * RUN_RANKS_MAX + comm_rank);
    if (at == r->rank->nin)
        rank_add_member(r->rank, comm, comm_rank, device);
    else if (r->rank->in[at].device < 0)
        r->rank->in[at].device = device;
    return at;
}

static const char *on_comm(struct jsonl *r, const struct line *l)
{
    struct json_text id = line_text(l, COMM_comm), parent = line_text(l, COMM_parent);
    struct json_text name = line_text(l, COMM_name);
    int64_t size = line_i64(l, COMM_comm_size, 0), at = line_i64(l, COMM_comm_rank, -1);
    int64_t nodes = line_i64(l, COMM_nodes, -1);
    struct memo_slot *slot;
    int32_t device;
    int comm;
    if (id.len == 0)
        return "a communicator without a name";
    if (!take_i32(l, COMM_device, -1, &device))
        return "impossible device";
    if (size < 1 || at < 0 || at >= size)
        return "impossible communicator size or rank";
    slot = word(r, WORD_COMM, id);
    comm = run_comm(r->run, slot->text, slot->len, size);
    if (comm < 0)
        return "impossible communicator size";
    slot->value = comm;
    join_comm(r, comm, (int)at, device);
    if (name.len > 0)
        r->run->comms[comm].name = word(r, WORD_OTHER, name)->text;
    if (nodes > 0 && nodes <= size)
        r->run->comms[comm].nodes = (int)nodes;
    if (parent.len > 0) {
        slot = word(r, WORD_COMM, parent);
        slot->value = run_comm(r->run, slot->text, slot->len, 0);
        if (slot->value != comm)
            r->run->comms[comm].parent = slot->value;
    }
    return NULL;
}

static const char *take_op(struct jsonl *r, const struct line *l, const struct op_fields *f,
                           struct op *op)
{
    op->id = line_u64(l, f->id, r->line_no);
    op->timing = timing(r, l, f->timing);
    if (!take_time(l, f->start, &op->start_ns) || !take_time(l, f->host, &op->host_ns) ||
        !take_time(l, f->host_end, &op->host_end_ns))
        return "impossible time";
    op->dur_ns = line_i64(l, f->duration, UNKNOWN_NS);
    if (op->dur_ns != UNKNOWN_NS && (op->dur_ns < 0 || op->dur_ns > RUN_DUR_MAX))
        return "impossible duration";
    if (!take_i32(l, f->device, 0, &op->device) || !take_i32(l, f->stream, -1, &op->stream))
        return "impossible device or stream";
    if (!take_i32(l, f->graph, -1, &op->graph))
        return "impossible graph";
    if (op->timing == SPECTER_TIMING_NONE)
        op->dur_ns = UNKNOWN_NS;
    op->tid = thread(r, l, f->tid);
    if (line_has(l, f->bound) && json_text_is(l->v[f->bound].s, "upper"))
        op->flags |= OP_UPPER_BOUND;
    saw_host_time(r, op->host_end_ns != UNKNOWN_NS ? op->host_end_ns : op->host_ns);
    return NULL;
}

/* Room for one more, blank. It is filled where it will stand, and one of the rank only once
 * keep_op() says so: what a line without sense has left there is written over. */
static inline struct op *next_op(struct jsonl *r)
{
    struct op *op;
    ARRAY_ROOM(r->rank->ops, r->rank->cap_ops, r->rank->nops + 1);
    op = &r->rank->ops[r->rank->nops];
    memset(op, 0, sizeof *op);
    op->stream = op->graph = -1;
    op->name = op->caller = "";
    op->dtype = SPECTER_DTYPE_UNKNOWN;
    return op;
}

static inline void keep_op(struct jsonl *r)
{
    uint64_t id = r->rank->ops[r->rank->nops].id;
    if (r->rank->nops > 0 && id <= r->last_id)
        r->ids_repeat = true;
    r->last_id = id;
    r->rank->nops++;
}

/* The original tool names no communicator. One over all ranks is known by its size, and its
 * collectives by their order; of a smaller one only the size is known. */
static const char *legacy_comm(struct jsonl *r, const struct line *l, struct op *op)
{
    int64_t size = line_i64(l, NCCL_comm_size, 0), at = line_i64(l, NCCL_comm_rank, -1);
    char id[48];
    int n = snprintf(id, sizeof id, JSONL_UNNAMED "%lld ranks", (long long)size);
    op->coll.seq = op->coll.p2p_seq = op->coll.comm = -1;
    if (size == 0)
        return NULL;
    op->coll.comm = run_comm(r->run, id, (size_t)n, size);
    if (op->coll.comm < 0 || at >= size)
        return "impossible communicator size or rank";
    if (size == r->run->world_size && at >= 0)
        join_comm(r, op->coll.comm, (int)at, -1);
    if (size == r->run->world_size && op->class == OP_COLL)
        op->coll.seq = r->world_seq++;
    return NULL;
}

static const char *take_comm(struct jsonl *r, const struct line *l, struct op *op)
{
    struct json_text id = line_text(l, NCCL_comm);
    int64_t size = line_i64(l, NCCL_comm_size, 0), at = line_i64(l, NCCL_comm_rank, -1);
    uint64_t p2p_seq = line_u64(l, NCCL_p2p_seq, UINT64_MAX);
    struct memo_slot *slot;
    if (r->legacy)
        return legacy_comm(r, l, op);
    op->coll.comm = -1;
    op->coll.seq = line_i64(l, NCCL_seq, -1);
    op->coll.p2p_seq = p2p_seq <= INT64_MAX ? (int64_t)p2p_seq : -1;
    if (id.len == 0)
        return NULL;
    slot = word(r, WORD_COMM, id);
    if (slot->value < 0)
        slot->value = run_comm(r->run, slot->text, slot->len, size);
    if (slot->value < 0 || at < -1 || at >= RUN_RANKS_MAX || (size > 0 && at >= size))
        return "impossible communicator size or rank";
    op->coll.comm = slot->value;
    if (at >= 0)
        join_comm(r, slot->value, (int)at, line_has(l, NCCL_device) ? op->device : -1);
    return NULL;
}

/* bytes is the full buffer; the original tool wrote count times size of element for every call, in
 * its README without the count. */
static void take_bytes(struct jsonl *r, const struct line *l, struct op *op)
{
    uint64_t size = (uint64_t)line_i64(l, NCCL_comm_size, 0), full;
    unsigned bits = specter_dtype_bits((enum specter_dtype)op->dtype);
    op->coll.count = line_u64(l, NCCL_count, 0);
    op->bytes = line_u64(l, NCCL_bytes, 0);
    if (op->coll.op >= SPECTER_COMM_OP_COUNT || (line_has(l, NCCL_bytes) && !r->legacy)) {
        if (!line_has(l, NCCL_bytes))
            op->flags |= OP_BYTES_UNKNOWN;
        return;
    }
    if (!line_has(l, NCCL_count) && bits > 0)
        op->coll.count = op->bytes / bits * 8 + op->bytes % bits * 8 / bits;
    full = specter_comm_op_bytes(op->coll.op, op->coll.count, op->dtype, size);
    if (full == 0 && (op->coll.count != 0 || !line_has(l, NCCL_count)))
        /* a type that neither tool knew: bytes as they stand */
        full = specter_comm_op_bytes(op->coll.op, op->bytes, SPECTER_INT8, size);
    op->bytes = full;
    if (!line_has(l, NCCL_bytes) && !line_has(l, NCCL_count))
        op->flags |= OP_BYTES_UNKNOWN;
}

static const char *on_nccl(struct jsonl *r, const struct line *l)
{
    struct op *op = next_op(r);
    const char *wrong = take_op(r, l, &nccl_op, op);
    int peer;
    if (wrong != NULL)
        return wrong;
    if (!line_has(l, NCCL_op))
        return "an operation without a name";
    op->coll.op = comm_op(r, line_text(l, NCCL_op), &op->name);
    op->class = specter_comm_op_is_p2p(op->coll.op) ? OP_P2P : OP_COLL;
    op->dtype = dtype(r, line_text(l, NCCL_dtype));
    op->coll.redop = redop(r, line_text(l, NCCL_redop));
    peer = op->class == OP_P2P || !line_has(l, NCCL_root) ? NCCL_peer : NCCL_root;
    if (!take_i32(l, peer, -1, &op->coll.peer) || !take_i32(l, NCCL_group, -1, &op->coll.group))
        return "impossible peer or group";
    if (r->legacy)
        op->coll.group = r->group_depth > 0 ? r->group : -1;
    wrong = take_comm(r, l, op);
    if (wrong != NULL)
        return wrong;
    take_bytes(r, l, op);
    if (line_u64(l, NCCL_inplace, 0) != 0)
        op->flags |= OP_INPLACE;
    r->typed |= line_has(l, NCCL_type);
    r->saw_nccl = true;
    keep_op(r);
    return NULL;
}

static char transposed(struct json_text text, size_t at)
{
    char c = at < text.len ? text.p[at] : '\0';
    return c == 'N' || c == 'T' || c == 'C' ? c : '\0';
}

/* Returns whether the call takes 2mnk operations a matrix, as its shape suggests. Complex ones take
 * more, and the trace says so. */
static bool is_plain(const struct op *op, const struct line *l)
{
    const uint32_t factors[] = {op->gemm.m, op->gemm.n, op->gemm.k, op->gemm.batch};
    uint64_t flop = 2;
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        if (__builtin_mul_overflow(flop, (uint64_t)factors[i], &flop))
            return !line_has(l, CUBLAS_flop);
    }
    return line_u64(l, CUBLAS_flop, flop) == flop;
}

static const char *on_cublas(struct jsonl *r, const struct line *l)
{
    struct op *op = next_op(r);
    const char *wrong = take_op(r, l, &cublas_op, op);
    if (wrong != NULL)
        return wrong;
    if (!line_has(l, CUBLAS_op))
        return "an operation without a name";
    op->name = word(r, WORD_OTHER, line_text(l, CUBLAS_op))->text;
    /* No product are groups of different shapes, complex elements, and sizes that the models are
     * not made for. */
    op->class = (line_has(l, CUBLAS_m) && line_has(l, CUBLAS_n) && line_has(l, CUBLAS_k) &&
                 take_u32(l, CUBLAS_m, 0, &op->gemm.m) && take_u32(l, CUBLAS_n, 0, &op->gemm.n) &&
                 take_u32(l, CUBLAS_k, 0, &op->gemm.k) &&
                 take_u32(l, CUBLAS_batch, 1, &op->gemm.batch) && is_plain(op, l))
                    ? OP_GEMM
                    : OP_KERNEL;
    if (op->class == OP_KERNEL)
        memset(&op->kernel, 0, sizeof op->kernel); /* what was read of a shape */
    op->dtype = dtype(r, line_text(l, line_has(l, CUBLAS_dtype) ? CUBLAS_dtype : CUBLAS_dtype_a));
    if (op->class == OP_GEMM) {
        op->gemm.dtype_b = dtype(r, line_text(l, CUBLAS_dtype_b));
        op->gemm.dtype_c = dtype(r, line_text(l, CUBLAS_dtype_c));
        op->gemm.compute = dtype(r, line_text(l, CUBLAS_compute));
        /* "NT", or the original tool's two fields. */
        bool one = line_has(l, CUBLAS_trans);
        op->gemm.trans[0] = transposed(line_text(l, one ? CUBLAS_trans : CUBLAS_trans_a), 0);
        op->gemm.trans[1] =
            transposed(line_text(l, one ? CUBLAS_trans : CUBLAS_trans_b), one ? 1 : 0);
        if (op->gemm.trans[0] == '\0' || op->gemm.trans[1] == '\0')
            memset(op->gemm.trans, 0, 3);
    }
    r->typed |= line_has(l, CUBLAS_type);
    r->saw_gemm = true;
    keep_op(r);
    return NULL;
}

static const char *on_copy(struct jsonl *r, const struct line *l)
{
    struct op *op = next_op(r);
    const char *wrong = take_op(r, l, &copy_op, op);
    if (wrong != NULL)
        return wrong;
    if (!line_has(l, COPY_kind))
        return "a copy without a kind";
    op->class = OP_MEMORY;
    /* One of those that the format knows, or "unknown". */
    struct json_text text = line_text(l, COPY_kind);
    if (specter_copy_parse(text.p, text.len) == SPECTER_COPY_COUNT)
        text = (struct json_text){"unknown", 7, false};
    op->name = word(r, WORD_OTHER, text)->text;
    op->bytes = line_u64(l, COPY_bytes, 0);
    if (!line_has(l, COPY_bytes))
        op->flags |= OP_BYTES_UNKNOWN;
    r->typed = true;
    keep_op(r);
    return NULL;
}

/* The contents of a graph are the operations that were captured, which name it. Of a graph whose
 * capture was not seen only its launches are known. */
static const char *on_graph(struct jsonl *r, const struct line *l)
{
    struct op *op = next_op(r);
    const char *wrong = take_op(r, l, &graph_op, op);
    if (wrong != NULL)
        return wrong;
    op->class = OP_GRAPH;
    op->name = word(r, WORD_OTHER, (struct json_text){"graph", 5, false})->text;
    op->graph_launch.launch = line_u64(l, GRAPH_launch, 0);
    op->graph_launch.op_count = line_u64(l, GRAPH_op_count, 0);
    r->typed = true;
    keep_op(r);
    return NULL;
}

/* {"elementwise":30,...}: counts by class; a class that we do not know is "other". False when they
 * are more than all launches. */
static bool take_classes(struct launches *launches, struct json_text raw)
{
    uint64_t all = 0, n;
    struct json_text key;
    struct json j;
    json_init(&j, raw.p, raw.len);
    if (raw.len == 0 || json_peek(&j) != '{' || !json_enter(&j, '{'))
        return true;
    while (json_next_key(&j, &key)) {
        enum specter_kernel_class class = specter_kernel_class_parse(key.p, key.len);
        n = json_u64(&j, 0);
        if (n > launches->count - all)
            return false;
        all += n;
        launches->classes[class < SPECTER_KERNEL_CLASS_COUNT ? class : SPECTER_KERNEL_OTHER] += n;
    }
    return true;
}

static const char *on_untraced(struct jsonl *r, const struct line *l)
{
    struct launches one = {.count = line_u64(l, UNTRACED_launches, 0)};
    if (one.count == 0 || one.count > UINT32_MAX)
        return "impossible number of launches";
    if (!take_time(l, UNTRACED_host_us, &one.host_ns) ||
        !take_time(l, UNTRACED_host_end_us, &one.host_end_ns) ||
        !take_time(l, UNTRACED_max_gap_us, &one.max_gap_ns))
        return "impossible time";
    if (!take_i32(l, UNTRACED_device, 0, &one.device) ||
        !take_i32(l, UNTRACED_stream, -1, &one.stream) ||
        !take_i32(l, UNTRACED_graph, -1, &one.graph))
        return "impossible device, stream or graph";
    if (!take_classes(&one, line_text(l, UNTRACED_classes)))
        return "more launches by class than launches";
    one.tid = thread(r, l, UNTRACED_tid);
    saw_host_time(r, one.host_end_ns != UNKNOWN_NS ? one.host_end_ns : one.host_ns);
    *rank_add_launches(r->rank) = one;
    return NULL;
}

static const char *on_plugin(struct jsonl *r, const struct line *l)
{
    struct json_text id = line_text(l, PLUGIN_comm);
    uint64_t channels = line_u64(l, PLUGIN_channels, 0);
    struct comm_detail *d;
    struct memo_slot *slot;
    const char *name;
    int32_t peer;
    uint8_t op = comm_op(r, line_text(l, PLUGIN_op), &name);
    int64_t seq = line_i64(l, PLUGIN_seq, -1), at = line_i64(l, PLUGIN_comm_rank, -1);
    int64_t kernel_ns = line_i64(l, PLUGIN_kernel_us, UNKNOWN_NS);
    if (kernel_ns != UNKNOWN_NS && (kernel_ns < 0 || kernel_ns > RUN_DUR_MAX))
        return "impossible duration";
    if (!take_i32(l, PLUGIN_peer, -1, &peer) || channels > UINT32_MAX)
        return "impossible peer or channels";
    if (id.len == 0 || seq < 0)
        return NULL; /* nothing that it could be joined by */
    slot = word(r, WORD_COMM, id);
    if (slot->value < 0)
        slot->value = run_comm(r->run, slot->text, slot->len, 0);
    if (slot->value < 0 || at < -1 || at >= RUN_RANKS_MAX)
        return "impossible communicator or rank in it";
    d = rank_add_detail(r->rank);
    if (at >= 0)
        d->member = join_comm(r, slot->value, (int)at, -1);
    d->comm = slot->value;
    d->seq = seq;
    d->peer = specter_comm_op_is_p2p(op) ? peer : -1;
    d->comm_op = specter_comm_op_is_p2p(op) ? op : (uint8_t)SPECTER_COMM_OP_COUNT;
    d->kernel_ns = kernel_ns;
    d->channels = (uint32_t)channels;
    d->algo = word(r, WORD_OTHER, line_text(l, PLUGIN_algo))->text;
    d->proto = word(r, WORD_OTHER, line_text(l, PLUGIN_proto))->text;
    return NULL;
}

static const char *add_sync_call(struct jsonl *r, struct sync_call *sync)
{
    saw_host_time(r, sync->host_end_ns != UNKNOWN_NS ? sync->host_end_ns : sync->host_ns);
    *rank_add_sync_call(r->rank) = *sync;
    return NULL;
}

static const char *on_dep(struct jsonl *r, const struct line *l)
{
    struct json_text kind = line_text(l, DEP_kind);
    struct sync_call sync = {.kind =
                                 json_text_is(kind, "wait") ? SYNC_CALL_WAIT : SYNC_CALL_RECORD};
    if (sync.kind == SYNC_CALL_RECORD && !json_text_is(kind, "record"))
        return "neither a record nor a wait";
    if (!take_time(l, DEP_host_us, &sync.host_ns) ||
        !take_time(l, DEP_host_end_us, &sync.host_end_ns))
        return "impossible time";
    if (!take_i32(l, DEP_device, 0, &sync.device) || !take_i32(l, DEP_stream, -1, &sync.stream))
        return "impossible device or stream";
    sync.event = (int64_t)line_u64(l, DEP_cuda_event, UINT64_MAX);
    sync.tid = thread(r, l, DEP_tid);
    return add_sync_call(r, &sync);
}

static const char *on_sync(struct jsonl *r, const struct line *l)
{
    struct json_text kind = line_text(l, SYNC_kind);
    struct sync_call sync = {.kind = json_text_is(kind, "stream")  ? SYNC_CALL_STREAM
                                     : json_text_is(kind, "event") ? SYNC_CALL_EVENT
                                                                   : SYNC_CALL_DEVICE};
    if (sync.kind == SYNC_CALL_DEVICE && !json_text_is(kind, "device"))
        return "an unknown kind of synchronisation";
    if (!take_time(l, SYNC_host_us, &sync.host_ns) ||
        !take_time(l, SYNC_host_end_us, &sync.host_end_ns))
        return "impossible time";
    if (!take_i32(l, SYNC_device, 0, &sync.device) || !take_i32(l, SYNC_stream, -1, &sync.stream))
        return "impossible device or stream";
    sync.event = (int64_t)line_u64(l, SYNC_cuda_event, UINT64_MAX);
    sync.tid = thread(r, l, SYNC_tid);
    return add_sync_call(r, &sync);
}

static const char *on_clock(struct jsonl *r, const struct line *l)
{
    int64_t dev_ns, mono_ns = line_clock(l, CLOCK_mono_ns);
    int32_t device;
    if (!take_time(l, CLOCK_dev_us, &dev_ns) || !take_i32(l, CLOCK_device, 0, &device))
        return "impossible time";
    if (dev_ns != UNKNOWN_NS && mono_ns != UNKNOWN_NS)
        clock_add(&r->clocks, device, dev_ns, mono_ns);
    if (mono_ns != UNKNOWN_NS && mono_ns > r->rank->end_ns)
        r->rank->end_ns = mono_ns;
    return NULL;
}

/* ---- what the program marked, and how much is recorded ---- */

/* A range that was open when its thread or the process ended gets its end from the trace (jsonl.c).
 */
static const char *on_mark(struct jsonl *r, const struct line *l)
{
    struct json_text kind = line_text(l, MARK_kind);
    const char *name = word(r, WORD_OTHER, line_text(l, MARK_name))->text;
    bool range = json_text_is(kind, "range");
    int64_t t_ns, end_ns;
    struct mark *mark;
    uint32_t tid;
    if (!take_time(l, MARK_time_us, &t_ns) || t_ns == UNKNOWN_NS ||
        !take_time(l, MARK_end_us, &end_ns))
        return "impossible time";
    if (range && end_ns != UNKNOWN_NS && end_ns < t_ns)
        return "a range that ends before its start";
    saw_host_time(r, range && end_ns != UNKNOWN_NS ? end_ns : t_ns);
    tid = line_has(l, MARK_tid) ? thread(r, l, MARK_tid) : UINT32_MAX;
    if (!line_has(l, MARK_kind) || json_text_is(kind, "iteration")) {
        /* A step ends where the next one begins (jsonl.c). */
        struct step *step = rank_add_step(r->rank);
        step->start_ns = t_ns;
        step->name = name;
        step->tid = tid;
        return NULL;
    }
    mark = rank_add_mark(r->rank);
    *mark = (struct mark){t_ns, range ? end_ns : t_ns, name, tid};
    return NULL;
}

/* Counts stay those of what is recorded; who prints them says so by the rate. */
static const char *on_sample(struct jsonl *r, const struct line *l)
{
    const char *of = word(r, WORD_OTHER, line_text(l, SAMPLE_of))->text;
    const char *why = word(r, WORD_OTHER, line_text(l, SAMPLE_why))->text;
    uint64_t rate = line_u64(l, SAMPLE_rate, 1);
    int64_t t_ns;
    if (!take_time(l, SAMPLE_time_us, &t_ns))
        return "impossible time";
    if (rate == 0)
        return "impossible rate";
    saw_host_time(r, t_ns);
    if (rate == 1)
        return NULL; /* from here on all are */
    if (strcmp(of, "cublas") == 0 && rate > r->rank->gemm_sample)
        r->rank->gemm_sample = rate;
    if (rate == r->sample)
        return NULL; /* init has said so */
    run_note(r->run, false, "sampled: at times one %s operation in %llu is recorded or timed%s%s%s",
             of, (unsigned long long)rate, why[0] ? " (" : "", why, why[0] ? ")" : "");
    return NULL;
}

static const char *on_dump(struct jsonl *r, const struct line *l)
{
    int64_t t_ns;
    if (!take_time(l, DUMP_time_us, &t_ns))
        return "impossible time";
    saw_host_time(r, t_ns);
    if (t_ns > r->rank->dump_ns)
        r->rank->dump_ns = t_ns;
    return NULL;
}

static const char *on_shutdown(struct jsonl *r, const struct line *l)
{
    int64_t t_ns;
    if (!take_time(l, SHUTDOWN_time_us, &t_ns))
        return "impossible time";
    saw_host_time(r, t_ns);
    r->has_shutdown = r->rank->complete = true;
    r->rank->dropped = line_u64(l, SHUTDOWN_dropped, 0);
    return NULL;
}

static void count_unread(struct jsonl_unread *unread, const char *kind)
{
    size_t i = 0;
    unread->total++;
    while (i < unread->nkinds && strcmp(unread->kinds[i].name, kind) != 0)
        i++;
    if (i == JSONL_UNREAD_MAX)
        return;
    if (i == unread->nkinds)
        unread->kinds[unread->nkinds++].name = kind;
    unread->kinds[i].count++;
}

const char *jsonl_record(struct jsonl *r, const struct line *l)
{
    switch ((enum specter_record)l->record) {
    case SPECTER_REC_INIT:
        return jsonl_init(r, l);
    case SPECTER_REC_COMM:
        return on_comm(r, l);
    case SPECTER_REC_NCCL:
        return on_nccl(r, l);
    case SPECTER_REC_CUBLAS:
        return on_cublas(r, l);
    case SPECTER_REC_DEP:
        return on_dep(r, l);
    case SPECTER_REC_SYNC:
        return on_sync(r, l);
    case SPECTER_REC_CLOCK:
        return on_clock(r, l);
    case SPECTER_REC_MARK:
        return on_mark(r, l);
    case SPECTER_REC_DUMP:
        return on_dump(r, l);
    case SPECTER_REC_SHUTDOWN:
        return on_shutdown(r, l);
    case SPECTER_REC_COPY:
        return on_copy(r, l);
    case SPECTER_REC_UNTRACED:
        return on_untraced(r, l);
    case SPECTER_REC_GRAPH:
        return on_graph(r, l);
    case SPECTER_REC_PLUGIN:
        return on_plugin(r, l);
    case SPECTER_REC_SAMPLE:
        return on_sample(r, l);
    case SPECTER_REC_COUNT:
        break;
    }
    /* The original tool's group brackets; anything else is from a newer specter. */
    if (json_text_is(l->kind, "group_start")) {
        r->group += r->group_depth++ == 0;
    } else if (json_text_is(l->kind, "group_end")) {
        r->group_depth -= r->group_depth > 0;
    } else if (l->kind.len > 0) {
        count_unread(l->timed ? &r->lost : &r->unknown, word(r, WORD_OTHER, l->kind)->text);
    } else {
        return "names no record";
    }
    return NULL;
}
