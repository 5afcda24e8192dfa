/* SPDX-License-Identifier: MIT
 *
 * The kinds of lines. Each record has its values as macros <RECORD>_<key>, in terms of the
 * formatting function's parameters; the table in trace.h puts them in order and a key without a
 * value does not compile. Keys that are only sometimes there have a condition <RECORD>_HAS_<key>
 * besides. Every key is written with a comma in front, and the first comma becomes the opening
 * bracket.
 */
#include "format.h"

#include <stdio.h>
#include <string.h>

#define PUT_ALWAYS(_record, _key, _kind) \
    PUT_LITERAL(o, ",\"" #_key "\":");   \
    put_##_kind(o, _record##_##_key);
#define PUT_SOME(_record, _key, _kind)   \
    if (_record##_HAS_##_key) {          \
        PUT_ALWAYS(_record, _key, _kind) \
    }

#define PUT_LINE(_record)                            \
    do {                                             \
        char *start_ = o->p;                         \
        SPECTER_##_record##_FIELDS(X) *start_ = '{'; \
        *o->p++ = '}';                               \
        *o->p++ = '\n';                              \
    } while (0)

static int64_t known(int64_t value)
{
    return value >= 0 ? value : INT64_MIN;
}

static int64_t known_id(uint32_t id)
{
    return id != NO_ID ? (int64_t)id : INT64_MIN;
}

static const char *known_name(const char *name, bool is_known)
{
    return is_known ? name : NULL;
}

/* Writes the identity's 16 digits into text; NULL for 0. */
static const char *identity(char text[17], uint64_t id)
{
    for (int i = 15; i >= 0; i--, id >>= 4)
        text[i] = "0123456789abcdef"[id & 15];
    text[16] = '\0';
    return strspn(text, "0") < 16 ? text : NULL;
}

#define IDENTITY(_id) identity((char[17]){0}, _id)
#define DTYPE(_type) known_name(specter_dtype_name(_type), (_type) < SPECTER_DTYPE_COUNT)

static uint64_t nccl_bytes(const struct record *r)
{
    uint64_t n = r->nccl.comm_size > 0 ? (uint64_t)r->nccl.comm_size : 0;
    uint64_t one = specter_comm_op_bytes(r->op, r->nccl.count, r->dtype, 1);
    uint64_t all = specter_comm_op_bytes(r->op, r->nccl.count, r->dtype, n);
    bool fails = r->nccl.count != 0 && (one == 0 || all == 0);
    return fails ? UINT64_MAX : all;
}

static bool is_upper(const struct record *r)
{
    return (r->flags & RECORD_UPPER) != 0;
}

static bool is_p2p(const struct record *r)
{
    return specter_comm_op_is_p2p(r->op) != 0;
}

#define NCCL_id id
#define NCCL_type "nccl"
#define NCCL_op specter_comm_op_name(r->op)
#define NCCL_start_us r->start_ns
#define NCCL_duration_us r->dur_ns
#define NCCL_bytes nccl_bytes(r)
#define NCCL_count r->nccl.count
#define NCCL_dtype DTYPE(r->dtype)
#define NCCL_redop \
    known_name(specter_redop_name(r->nccl.redop), r->nccl.redop < SPECTER_REDOP_COUNT)
#define NCCL_comm IDENTITY(r->nccl.comm)
#define NCCL_comm_rank known(r->nccl.comm_rank)
#define NCCL_comm_size known(r->nccl.comm_size)
#define NCCL_seq (is_p2p(r) ? INT64_MIN : known(r->nccl.seq))
#define NCCL_peer known(r->nccl.peer)
#define NCCL_HAS_peer is_p2p(r)
#define NCCL_p2p_seq (r->nccl.seq >= 0 ? (uint64_t)r->nccl.seq : UINT64_MAX)
#define NCCL_HAS_p2p_seq is_p2p(r)
#define NCCL_root known(r->nccl.peer)
#define NCCL_HAS_root (!is_p2p(r) && r->nccl.peer >= 0)
#define NCCL_inplace 1
#define NCCL_HAS_inplace ((r->flags & RECORD_INPLACE) != 0)
#define NCCL_device known(r->device)
#define NCCL_stream known_id(r->stream)
#define NCCL_tid r->tid
#define NCCL_group known_id(r->nccl.group)
#define NCCL_host_us r->host_ns
#define NCCL_host_end_us r->host_end_ns
#define NCCL_timing specter_timing_name(r->timing)
#define NCCL_bound "upper"
#define NCCL_HAS_bound is_upper(r)
#define NCCL_graph r->graph
#define NCCL_HAS_graph (r->graph != NO_ID)

static void put_nccl(struct out *o, const struct record *r, uint64_t id)
{
#define X(_key, _kind, _when) PUT_##_when(NCCL, _key, _kind)
    PUT_LINE(NCCL);
#undef X
}

/* A whole number as such, another with nine decimals; NULL when unknown or out of that range. */
static const char *beta_text(char text[48], const struct record *r)
{
    struct out o = {text};
    double size = r->gemm.beta < 0 ? -r->gemm.beta : r->gemm.beta;
    if (!(size < 1e9) || (size > 0 && size < 1e-9))
        return NULL;
    if (r->gemm.beta < 0)
        *o.p++ = '-';
    if (size == (double)(uint64_t)size)
        put_U64(&o, (uint64_t)size);
    else
        put_fixed(&o, (uint64_t)(size * 1e9 + 0.5), 9);
    *o.p = '\0';
    return text;
}

/* Operations of the call; UINT64_MAX unknown. */
static uint64_t gemm_flop(const struct record *r)
{
    if (r->gemm.n < 0)
        return r->gemm.flop;
    return record_flop(r->gemm.unit, r->gemm.m, r->gemm.n, r->gemm.k,
                       r->gemm.batch != NO_ID ? (int64_t)r->gemm.batch : -1);
}

/* Returns whether m, n, k and batch do not give the number of operations of the call. */
static bool tells_flop(const struct record *r)
{
    return r->gemm.unit != 2 || (r->gemm.epilogue == 0 && r->gemm.groups > 0);
}

/* A time of the device itself is needed. */
static double tflops(const struct record *r)
{
    uint64_t flop = gemm_flop(r);
    if (r->timing != SPECTER_TIMING_DEVICE || r->dur_ns <= 0 || flop == UINT64_MAX)
        return -1;
    return (double)flop / ((double)r->dur_ns * 1e3);
}

static const char *compute_name(unsigned compute)
{
    if (compute == COMPUTE_BF16X9)
        return "bf16x9";
    return compute == COMPUTE_FIXED_POINT ? "fixedpoint" : DTYPE(compute);
}

static const char *trans_text(char text[3], const struct record *r)
{
    memcpy(text, r->gemm.trans, 2);
    return text[0] != '\0' && text[1] != '\0' ? text : NULL;
}

/* Letters of A, B and the result; NULL when all are column-major or it is no Lt call. */
static const char *order_text(char text[4], const struct record *r)
{
    const uint8_t *order = r->gemm.order;
    if (r->gemm.epilogue == 0 || (order[0] | order[1] | order[2]) == 0)
        return NULL;
    for (int i = 0; i < 3; i++)
        text[i] = order[i] == 0 ? 'C' : order[i] == 1 ? 'R' : 'O';
    return text;
}

/* A dimension of the GEMM; UINT64_MAX unknown. Groups that differ have none. */
static uint64_t gemm_side(const struct record *r, int64_t side)
{
    return r->gemm.n >= 0 && side >= 0 ? (uint64_t)side : UINT64_MAX;
}

#define CUBLAS_id id
#define CUBLAS_type "cublas"
#define CUBLAS_op extras->gemm_name
#define CUBLAS_start_us r->start_ns
#define CUBLAS_duration_us r->dur_ns
#define CUBLAS_m gemm_side(r, r->gemm.m)
#define CUBLAS_n gemm_side(r, r->gemm.n)
#define CUBLAS_k gemm_side(r, r->gemm.k)
#define CUBLAS_batch (r->gemm.batch != NO_ID ? r->gemm.batch : UINT64_MAX)
#define CUBLAS_dtype DTYPE(r->dtype)
#define CUBLAS_dtype_b DTYPE(r->gemm.dtype_b)
#define CUBLAS_dtype_c DTYPE(r->gemm.dtype_c)
#define CUBLAS_compute compute_name(r->gemm.compute)
#define CUBLAS_trans trans_text((char[3]){0}, r)
#define CUBLAS_lda known(r->gemm.lda)
#define CUBLAS_ldb known(r->gemm.ldb)
#define CUBLAS_ldc known(r->gemm.ldc)
#define CUBLAS_beta beta_text((char[48]){0}, r)
#define CUBLAS_epilogue format_epilogue(r->gemm.epilogue)
#define CUBLAS_order order_text((char[4]){0}, r)
#define CUBLAS_HAS_order (CUBLAS_order != NULL)
#define CUBLAS_groups r->gemm.groups
#define CUBLAS_HAS_groups (r->gemm.epilogue == 0 && r->gemm.groups > 0)
#define CUBLAS_flop gemm_flop(r)
#define CUBLAS_HAS_flop tells_flop(r)
#define CUBLAS_tflops tflops(r)
#define CUBLAS_device known(r->device)
#define CUBLAS_stream known_id(r->stream)
#define CUBLAS_tid r->tid
#define CUBLAS_host_us r->host_ns
#define CUBLAS_host_end_us r->host_end_ns
#define CUBLAS_timing specter_timing_name(r->timing)
#define CUBLAS_bound "upper"
#define CUBLAS_HAS_bound is_upper(r)
#define CUBLAS_graph r->graph
#define CUBLAS_HAS_graph (r->graph != NO_ID)

static void put_gemm(struct out *o, const struct record *r, uint64_t id,
                     const struct line_extras *extras)
{
#define X(_key, _kind, _when) PUT_##_when(CUBLAS, _key, _kind)
    PUT_LINE(CUBLAS);
#undef X
}

static uint64_t event_id(const struct record *r)
{
    return r->dep.event != NO_ID ? r->dep.event : UINT64_MAX;
}

#define DEP_type "dep"
#define DEP_kind (r->kind == RECORD_EVENT ? "record" : "wait")
#define DEP_cuda_event event_id(r)
#define DEP_device known(r->device)
#define DEP_stream known_id(r->stream)
#define DEP_tid r->tid
#define DEP_host_us r->host_ns
#define DEP_host_end_us r->host_end_ns

static void put_dep(struct out *o, const struct record *r)
{
#define X(_key, _kind, _when) PUT_##_when(DEP, _key, _kind)
    PUT_LINE(DEP);
#undef X
}

#define SYNC_type "sync"
#define SYNC_kind (r->op == SYNC_STREAM ? "stream" : r->op == SYNC_EVENT ? "event" : "device")
#define SYNC_cuda_event event_id(r)
#define SYNC_HAS_cuda_event (r->op == SYNC_EVENT)
#define SYNC_device known(r->device)
#define SYNC_stream known_id(r->stream)
#define SYNC_HAS_stream (r->op == SYNC_STREAM)
#define SYNC_tid r->tid
#define SYNC_host_us r->host_ns
#define SYNC_host_end_us r->host_end_ns

static void put_sync(struct out *o, const struct record *r)
{
#define X(_key, _kind, _when) PUT_##_when(SYNC, _key, _kind)
    PUT_LINE(SYNC);
#undef X
}

#define COPY_id id
#define COPY_type "copy"
#define COPY_kind specter_copy_name(r->op)
#define COPY_start_us r->start_ns
#define COPY_duration_us r->dur_ns
#define COPY_bytes r->copy.bytes
#define COPY_device known(r->device)
#define COPY_stream known_id(r->stream)
#define COPY_tid r->tid
#define COPY_host_us r->host_ns
#define COPY_host_end_us r->host_end_ns
#define COPY_timing specter_timing_name(r->timing)
#define COPY_bound "upper"
#define COPY_HAS_bound is_upper(r)
#define COPY_graph r->graph
#define COPY_HAS_graph (r->graph != NO_ID)

static void put_copy(struct out *o, const struct record *r, uint64_t id)
{
#define X(_key, _kind, _when) PUT_##_when(COPY, _key, _kind)
    PUT_LINE(COPY);
#undef X
}

#define CLASSES_BYTES (SPECTER_KERNEL_CLASS_COUNT * 32 + 3)

/* {"elementwise":30,"gemm":2}: the classes that were launched. */
static const char *classes_text(char text[CLASSES_BYTES], const struct record *r)
{
    struct out o = {text};
    PUT_LITERAL(&o, "{");
    for (int i = 0; i < SPECTER_KERNEL_CLASS_COUNT; i++) {
        if (r->untraced.classes[i] == 0)
            continue;
        if (o.p[-1] != '{')
            PUT_LITERAL(&o, ",");
        put_STR(&o, specter_kernel_class_name(i));
        PUT_LITERAL(&o, ":");
        put_U64(&o, r->untraced.classes[i]);
    }
    PUT_LITERAL(&o, "}");
    *o.p = '\0';
    return text;
}

#define UNTRACED_type "untraced"
#define UNTRACED_launches r->untraced.launches
#define UNTRACED_classes classes_text((char[CLASSES_BYTES]){0}, r)
#define UNTRACED_device known(r->device)
#define UNTRACED_stream known_id(r->stream)
#define UNTRACED_tid r->tid
#define UNTRACED_host_us r->host_ns
#define UNTRACED_host_end_us r->host_end_ns
#define UNTRACED_max_gap_us r->untraced.max_gap_ns
#define UNTRACED_graph r->graph
#define UNTRACED_HAS_graph (r->graph != NO_ID)

static void put_untraced(struct out *o, const struct record *r)
{
#define X(_key, _kind, _when) PUT_##_when(UNTRACED, _key, _kind)
    PUT_LINE(UNTRACED);
#undef X
}

#define GRAPH_id id
#define GRAPH_type "graph"
#define GRAPH_graph (r->graph != NO_ID ? r->graph : UINT64_MAX)
#define GRAPH_launch (r->graph != NO_ID ? r->launch.number : UINT64_MAX)
#define GRAPH_op_count extras->op_count
#define GRAPH_ops extras->ops
#define GRAPH_HAS_ops (extras->ops != NULL)
#define GRAPH_start_us r->start_ns
#define GRAPH_duration_us r->dur_ns
#define GRAPH_device known(r->device)
#define GRAPH_stream known_id(r->stream)
#define GRAPH_tid r->tid
#define GRAPH_host_us r->host_ns
#define GRAPH_host_end_us r->host_end_ns
#define GRAPH_timing specter_timing_name(r->timing)
#define GRAPH_bound "upper"
#define GRAPH_HAS_bound is_upper(r)

static void put_graph(struct out *o, const struct record *r, uint64_t id,
                      const struct line_extras *extras)
{
#define X(_key, _kind, _when) PUT_##_when(GRAPH, _key, _kind)
    PUT_LINE(GRAPH);
#undef X
}

#define MARK_event "mark"
#define MARK_name known_name(r->mark.name, r->mark.name[0] != '\0')
#define MARK_time_us r->host_ns
#define MARK_kind specter_mark_name(r->op)
#define MARK_tid r->tid
#define MARK_end_us r->host_end_ns
#define MARK_HAS_end_us (r->op == SPECTER_MARK_RANGE)

static void put_mark(struct out *o, const struct record *r)
{
#define X(_key, _kind, _when) PUT_##_when(MARK, _key, _kind)
    PUT_LINE(MARK);
#undef X
}

void format_record(struct out *o, const struct record *r, uint64_t id,
                   const struct line_extras *extras)
{
    switch ((enum record_kind)r->kind) {
    case RECORD_NCCL:
        put_nccl(o, r, id);
        break;
    case RECORD_GEMM:
        put_gemm(o, r, id, extras);
        break;
    case RECORD_EVENT:
    case RECORD_WAIT:
        put_dep(o, r);
        break;
    case RECORD_SYNC:
        put_sync(o, r);
        break;
    case RECORD_COPY:
        put_copy(o, r, id);
        break;
    case RECORD_LAUNCH:
        put_untraced(o, r);
        break;
    case RECORD_GRAPH:
        put_graph(o, r, id, extras);
        break;
    case RECORD_MARK:
        put_mark(o, r);
        break;
    case RECORD_KIND_COUNT:
        break;
    }
}

#define SAMPLE_event "sample"
#define SAMPLE_time_us l->time_ns
#define SAMPLE_of l->of
#define SAMPLE_rate l->rate
#define SAMPLE_why l->why

void format_sample(struct out *o, const struct sample_line *l)
{
#define X(_key, _kind, _when) PUT_##_when(SAMPLE, _key, _kind)
    PUT_LINE(SAMPLE);
#undef X
}

#define DUMP_event "dump"
#define DUMP_time_us time_ns

void format_dump(struct out *o, int64_t time_ns)
{
#define X(_key, _kind, _when) PUT_##_when(DUMP, _key, _kind)
    PUT_LINE(DUMP);
#undef X
}

#define PLUGIN_type "plugin"
#define PLUGIN_op specter_comm_op_name(l->op)
#define PLUGIN_comm IDENTITY(l->comm)
#define PLUGIN_comm_rank known(l->comm_rank)
#define PLUGIN_seq known(l->seq)
#define PLUGIN_peer l->peer
#define PLUGIN_HAS_peer (specter_comm_op_is_p2p(l->op) != 0)
#define PLUGIN_algo l->algo
#define PLUGIN_proto l->proto
#define PLUGIN_channels l->channels
#define PLUGIN_kernel_us l->kernel_ns

void format_plugin(struct out *o, const struct plugin_line *l)
{
#define X(_key, _kind, _when) PUT_##_when(PLUGIN, _key, _kind)
    PUT_LINE(PLUGIN);
#undef X
}

#define INIT_event "init"
#define INIT_version SPECTER_TRACE_VERSION
#define INIT_run l->run
#define INIT_rank l->rank
#define INIT_world_size l->world_size
#define INIT_local_rank l->local_rank
#define INIT_sync_mode l->sync_mode
#define INIT_pid l->pid
#define INIT_host l->host
#define INIT_mono_ns l->mono_ns
#define INIT_real_ns l->real_ns
#define INIT_coverage l->coverage
#define INIT_sample l->sample
#define INIT_nccl l->nccl
#define INIT_cuda l->cuda
#define INIT_nccl_file l->nccl_file
#define INIT_HAS_nccl_file (l->nccl_file != NULL)
#define INIT_nccl_build l->nccl_build
#define INIT_HAS_nccl_build (l->nccl_build != NULL)
#define INIT_gpus l->gpus
#define INIT_env l->env
#define INIT_window l->window
#define INIT_HAS_window (l->window != NULL)
#define INIT_ring l->ring
#define INIT_HAS_ring (l->ring != 0)

void format_init(struct out *o, const struct init_line *l)
{
#define X(_key, _kind, _when) PUT_##_when(INIT, _key, _kind)
    PUT_LINE(INIT);
#undef X
}

#define COMM_event "comm"
#define COMM_time_us l->time_ns
#define COMM_comm IDENTITY(l->comm)
#define COMM_comm_rank l->comm_rank
#define COMM_comm_size l->comm_size
#define COMM_device l->device
#define COMM_parent IDENTITY(l->parent)
#define COMM_split_seq l->split_seq
#define COMM_color l->color
#define COMM_key l->key
#define COMM_name l->name
#define COMM_nodes l->nodes

void format_comm(struct out *o, const struct comm_line *l)
{
#define X(_key, _kind, _when) PUT_##_when(COMM, _key, _kind)
    PUT_LINE(COMM);
#undef X
}

#define CLOCK_event "clock"
#define CLOCK_device l->device
#define CLOCK_dev_us l->dev_ns
#define CLOCK_mono_ns l->mono_ns
#define CLOCK_real_ns l->real_ns
#define CLOCK_err_ns l->err_ns

void format_clock(struct out *o, const struct clock_record *l)
{
#define X(_key, _kind, _when) PUT_##_when(CLOCK, _key, _kind)
    PUT_LINE(CLOCK);
#undef X
}

#define SHUTDOWN_event "shutdown"
#define SHUTDOWN_time_us l->time_ns
#define SHUTDOWN_total_ops l->total_ops
#define SHUTDOWN_dropped l->dropped
#define SHUTDOWN_summary l->summary

void format_shutdown(struct out *o, const struct shutdown_line *l)
{
#define X(_key, _kind, _when) PUT_##_when(SHUTDOWN, _key, _kind)
    PUT_LINE(SHUTDOWN);
#undef X
}

void format_gemm_name(char name[64], const char *function)
{
    const char *from = strncmp(function, "cublas", 6) == 0 ? function + 6 : function;
    const char *version = strstr(from, "_v2"); /* also within cublasSgemm_v2_64 */
    size_t head = version != NULL ? (size_t)(version - from) : strlen(from);
    snprintf(name, 64, "%.*s%s", (int)head, from, version != NULL ? version + 3 : "");
}

/* Values of cublasLtEpilogue_t (cublasLt.h). */
const char *format_epilogue(unsigned epilogue)
{
    static const struct {
        unsigned value;
        const char *name;
    } rows[] = {
        {0, "none"},
        {1, "none"},
        {2, "relu"},
        {4, "bias"},
        {6, "relu_bias"},
        {32, "gelu"},
        {36, "gelu_bias"},
        {130, "relu_aux"},
        {134, "relu_aux_bias"},
        {136, "drelu"},
        {152, "drelu_bgrad"},
        {160, "gelu_aux"},
        {164, "gelu_aux_bias"},
        {192, "dgelu"},
        {208, "dgelu_bgrad"},
        {256, "bgrada"},
        {512, "bgradb"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].value == epilogue)
            return rows[i].name;
    }
    return "other";
}
