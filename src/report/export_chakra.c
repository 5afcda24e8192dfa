/* SPDX-License-Identifier: MIT
 *
 * Chakra execution traces (mlcommons/chakra, schema/protobuf/et_def.proto, version 0.0.4): a file
 * specter.<rank>.et for each rank, a GlobalMetadata message and then the nodes, each after its
 * length. comm_groups.json says which ranks are in the groups that nodes name (pg_name), as
 * ASTRA-sim's --comm-group-configuration wants it.
 *
 * Durations in this format are whole microseconds: each node's is the difference of rounded ends,
 * so that a chain of nodes does not drift; duration_ns has them exactly. comm_size is what goes in
 * at this rank, in bytes, as Chakra's own converter has it.
 */
#include "report/export.h"

#include "base/order.h"
#include "base/proto.h"
#include "base/whole_file.h"
#include "model/profile.h"
#include "report/chakra_graph.h"
#include "report/op_text.h"
#include "report/table.h"
#include "report/tracks.h"
#include "sim/program/program.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FLUSH ((size_t)1 << 18)
#define VERSION "0.0.4"
#define NAME_MAX_BYTES 512

enum { METADATA_VERSION = 1, METADATA_ATTR = 2 };

enum {
    NODE_ID = 1,
    NODE_NAME = 2,
    NODE_TYPE = 3,
    NODE_DATA_DEPS = 5,
    NODE_START = 6,
    NODE_DURATION = 7,
    NODE_ATTR = 10
};

enum { TYPE_COMP = 4, TYPE_SEND = 5, TYPE_RECV = 6, TYPE_COLL = 7 };
enum { ATTR_NAME = 1, ATTR_INT32 = 7, ATTR_INT64 = 9, ATTR_BOOL = 27, ATTR_TEXT = 29 };

/* CollectiveCommType by our operation; -1 none. */
static int comm_type(unsigned op)
{
    static const struct {
        unsigned op;
        int type;
    } types[] = {{SPECTER_ALLREDUCE, 0}, {SPECTER_REDUCE, 1},    {SPECTER_ALLGATHER, 2},
                 {SPECTER_GATHER, 3},    {SPECTER_SCATTER, 4},   {SPECTER_BROADCAST, 5},
                 {SPECTER_ALLTOALL, 6},  {SPECTER_ALLTOALLV, 6}, {SPECTER_REDUCESCATTER, 7}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].op == op)
            return types[i].type;
    }
    return -1;
}

/* The export while it is written. */
struct chakra {
    const struct run *run;
    const struct rank *rank; /* whose file is written */
    struct sink *sink;
    struct buf message; /* the node that is made */
    struct buf out;     /* not written yet */
    int64_t origin_ns;
    int64_t **untimed_ns; /* [nranks][nlaunches] what a replay takes for kernels that were counted
                             and not timed; owned */
};

/* ---- attributes ---- */

static void put_int(struct buf *b, uint32_t in, uint32_t field, const char *name, int64_t value)
{
    size_t at = proto_open(b, in);
    proto_text(b, ATTR_NAME, name);
    proto_int(b, field, value);
    proto_close(b, at);
}

/* The bytes that one rank puts in, of the full buffer (bytes in specter/trace.h); -1 not known. */
static int64_t input_bytes(const struct op *op, const struct comm *comm)
{
    bool share = op->coll.op == SPECTER_ALLGATHER || op->coll.op == SPECTER_GATHER;
    if (op->flags & OP_BYTES_UNKNOWN)
        return -1;
    if (!share)
        return (int64_t)op->bytes;
    return comm != NULL && comm->size > 0 ? (int64_t)(op->bytes / (uint64_t)comm->size) : -1;
}

static const struct comm *comm_of(const struct run *run, const struct op *op)
{
    return op->coll.comm >= 0 ? &run->comms[op->coll.comm] : NULL;
}

static int global_rank(const struct comm *comm, int comm_rank)
{
    return comm != NULL && comm_rank >= 0 && comm_rank < comm->size ? comm->ranks[comm_rank] : -1;
}

static void put_comm(const struct chakra *c, struct buf *b, const struct op *op)
{
    const struct comm *comm = comm_of(c->run, op);
    int64_t bytes = input_bytes(op, comm);
    if (bytes >= 0)
        put_int(b, NODE_ATTR, ATTR_INT64, "comm_size", bytes);
    if (op->class == OP_P2P) {
        bool send = op->coll.op == SPECTER_SEND;
        int peer = global_rank(comm_of(c->run, op), op->coll.peer);
        put_int(b, NODE_ATTR, ATTR_INT32, "comm_src", send ? c->rank->rank : peer);
        put_int(b, NODE_ATTR, ATTR_INT32, "comm_dst", send ? peer : c->rank->rank);
        put_int(b, NODE_ATTR, ATTR_INT32, "comm_tag", op->coll.comm);
        return;
    }
    put_int(b, NODE_ATTR, ATTR_INT64, "comm_type", comm_type(op->coll.op));
    if (comm != NULL) {
        char group[16];
        size_t at = proto_open(b, NODE_ATTR);
        snprintf(group, sizeof group, "%d", op->coll.comm + 1);
        proto_text(b, ATTR_NAME, "pg_name");
        proto_text(b, ATTR_TEXT, group);
        proto_close(b, at);
    }
}

static void put_gemm(struct buf *b, const struct op *op)
{
    double m = op->gemm.m, n = op->gemm.n, k = op->gemm.k, batch = op->gemm.batch;
    double elements = (m * k + k * n + m * n) * batch; /* of both inputs and the result */
    double bytes = op->dtype < SPECTER_DTYPE_COUNT
                       ? (double)specter_dtype_bits((enum specter_dtype)op->dtype) / 8
                       : 0;
    if (op->gemm.m == 0)
        return;
    put_int(b, NODE_ATTR, ATTR_INT64, "num_ops", (int64_t)(2 * m * n * k * batch));
    if (bytes > 0)
        put_int(b, NODE_ATTR, ATTR_INT64, "tensor_size", (int64_t)(elements * bytes));
}

/* ---- nodes ---- */

/* A collective of unknown kind is work with a time, and so is a message whose other end is not
 * known (a simulator would wait for it for ever) and what a rank communicates with itself. */
static int node_type(const struct chakra *c, const struct chakra_node *node)
{
    const struct op *op = node->op;
    if (node->kind != CHAKRA_DEVICE || op == NULL || chakra_alone(c->run, c->rank, op))
        return TYPE_COMP;
    if (op->class == OP_P2P && global_rank(comm_of(c->run, op), op->coll.peer) < 0)
        return TYPE_COMP;
    if (op->class == OP_P2P && op->coll.op == SPECTER_SEND)
        return TYPE_SEND;
    if (op->class == OP_P2P && op->coll.op == SPECTER_RECV)
        return TYPE_RECV;
    return op->class == OP_COLL && comm_type(op->coll.op) >= 0 ? TYPE_COLL : TYPE_COMP;
}

/* Of a node that stands for something of the trace; made in buf where need be. */
static const char *trace_title(const struct chakra_node *node, char buf[OP_TITLE_MAX])
{
    if (node->sync != NULL)
        return sync_call_title(node->sync);
    if (node->op != NULL)
        return op_title(node->op, buf);
    snprintf(buf, OP_TITLE_MAX, "%" PRIu64 " untimed kernel%s", node->launches->count,
             node->launches->count == 1 ? "" : "s");
    return buf;
}

static int64_t rounded_us(int64_t ns)
{
    return (ns + 500) / 1000;
}

static void write_out(struct chakra *c)
{
    sink_put(c->sink, c->out.data, c->out.len);
    buf_reset(&c->out);
}

/* Puts the message, after its length, into what is written. */
static void end_message(struct chakra *c)
{
    proto_length(&c->out, c->message.len);
    buf_put(&c->out, c->message.data, c->message.len);
    buf_reset(&c->message);
    if (c->out.len >= FLUSH)
        write_out(c);
}

static int32_t stream_of(const struct chakra_node *node)
{
    return node->op != NULL ? node->op->stream : node->launches->stream;
}

/* The step in which the host did or launched it, counted from 0; -1: in none, or not known. */
static int64_t step_of(const struct rank *rank, const struct chakra_node *node)
{
    int64_t at_ns = node->op != NULL         ? node->op->host_ns
                    : node->sync != NULL     ? node->sync->host_ns
                    : node->launches != NULL ? node->launches->host_ns
                                             : UNKNOWN_NS;
    struct bisect find = {.high = rank->nsteps};
    while (bisect_next(&find)) /* the first that begins after it */
        bisect_take(&find, rank->steps[find.mid].start_ns <= at_ns);
    if (at_ns == UNKNOWN_NS || find.low == 0 ||
        (rank->steps[find.low - 1].end_ns != UNKNOWN_NS &&
         rank->steps[find.low - 1].end_ns <= at_ns))
        return -1;
    return (int64_t)find.low - 1;
}

static void put_node(struct chakra *c, const struct chakra_node *node, uint64_t id)
{
    struct buf *b = &c->message;
    char name[NAME_MAX_BYTES];
    int64_t start_ns = node->start_ns - c->origin_ns;
    int type = node_type(c, node);
    char title[OP_TITLE_MAX], text[NAME_MAX_BYTES];
    start_ns = start_ns > 0 ? start_ns : 0;
    proto_uint(b, NODE_ID, id);
    const char *label = node->kind == CHAKRA_GAP    ? "gap"
                        : node->kind == CHAKRA_JOIN ? "join"
                                                    : trace_title(node, title);
    snprintf(text, sizeof text, "%s%.*s",
             node->kind == CHAKRA_HOST && node->sync == NULL ? "launch of " : "",
             NAME_MAX_BYTES / 4, label);
    text_safe(name, NAME_MAX_BYTES, text, NAME_MAX_BYTES / 4);
    proto_text(b, NODE_NAME, name);
    proto_int(b, NODE_TYPE, type);
    for (uint32_t i = 0; i < node->ndeps; i++)
        proto_uint(b, NODE_DATA_DEPS, node->deps[i]);
    proto_uint(b, NODE_START, (uint64_t)rounded_us(start_ns));
    proto_uint(b, NODE_DURATION,
               (uint64_t)(rounded_us(start_ns + node->dur_ns) - rounded_us(start_ns)));
    put_int(b, NODE_ATTR, ATTR_BOOL, "is_cpu_op", node->kind != CHAKRA_DEVICE);
    put_int(b, NODE_ATTR, ATTR_INT64, "duration_ns", node->dur_ns);
    if (type == TYPE_COLL || type == TYPE_SEND || type == TYPE_RECV)
        put_comm(c, b, node->op);
    if (node->kind == CHAKRA_DEVICE && node->op != NULL && node->op->class == OP_GEMM)
        put_gemm(b, node->op);
    if (node->kind == CHAKRA_DEVICE && stream_of(node) >= 0)
        put_int(b, NODE_ATTR, ATTR_INT64, "stream", stream_of(node));
    if (step_of(c->rank, node) >= 0)
        put_int(b, NODE_ATTR, ATTR_INT64, "step", step_of(c->rank, node));
    end_message(c);
}

static int put_rank(struct chakra *c, const char *where, struct err *e)
{
    struct chakra_graph g;
    struct buf path = BUF_INIT;
    int rc;
    buf_printf(&path, "%s/specter.%d.et", where, c->rank->rank);
    rc = sink_open(&c->sink, path.data, e);
    buf_release(&path);
    if (rc < 0)
        return -1;
    chakra_graph_init(&g, c->run, (size_t)(c->rank - c->run->ranks),
                      c->untimed_ns[c->rank - c->run->ranks]);
    proto_text(&c->message, METADATA_VERSION, VERSION);
    put_int(&c->message, METADATA_ATTR, ATTR_INT64, "rank", c->rank->rank);
    put_int(&c->message, METADATA_ATTR, ATTR_INT64, "world_size", c->run->world_size);
    end_message(c);
    for (size_t i = 0; i < g.count; i++)
        put_node(c, &g.list[i], i);
    chakra_graph_release(&g);
    write_out(c);
    return sink_close(c->sink, e);
}

/* {"1": [0, 1], ...}: the groups of which all members are known. */
static int put_groups(const struct run *run, const char *where, struct err *e)
{
    struct buf text = BUF_INIT, path = BUF_INIT;
    const char *before = "{";
    struct sink *sink;
    int rc;
    for (size_t i = 0; i < run->ncomms; i++) {
        const struct comm *comm = &run->comms[i];
        bool known = comm->size > 0;
        for (int k = 0; k < comm->size; k++)
            known = known && comm->ranks[k] >= 0;
        if (!known)
            continue;
        buf_printf(&text, "%s\n  \"%zu\": [", before, i + 1);
        for (int k = 0; k < comm->size; k++)
            buf_printf(&text, "%s%d", k > 0 ? ", " : "", comm->ranks[k]);
        buf_putc(&text, ']');
        before = ",";
    }
    buf_puts(&text, before[0] == '{' ? "{}\n" : "\n}\n");
    buf_printf(&path, "%s/comm_groups.json", where);
    rc = sink_open(&sink, path.data, e);
    if (rc == 0) {
        sink_put(sink, text.data, text.len);
        rc = sink_close(sink, e);
    }
    buf_release(&path);
    buf_release(&text);
    return rc;
}

static void find_untimed(struct chakra *c)
{
    const struct run *run = c->run;
    struct err ignored;
    struct program p;
    c->untimed_ns = array_new(run->nranks, sizeof *c->untimed_ns);
    for (size_t r = 0; r < run->nranks; r++)
        c->untimed_ns[r] = array_new(run->ranks[r].nlaunches, sizeof **c->untimed_ns);
    /* From a launch to the start of its work, on the GPU that the first rank names. */
    const struct gpu_profile *gpu =
        run->nranks > 0 ? gpu_profile_of_device(run->ranks[0].gpu) : NULL;
    if (gpu == NULL)
        gpu = gpu_profile_find(GPU_PROFILE_DEFAULT, &ignored);
    program_init(&p, run, gpu != NULL ? llround(gpu->launch_us * 1e3) : 0, true);
    for (size_t i = 0; i < p.ncosts; i++) {
        bool is_launch = p.costs[i].launch != PROGRAM_NONE; /* else a gap that a replay keeps */
        if (p.costs[i].match == PROGRAM_NONE && p.costs[i].op == PROGRAM_NONE && is_launch)
            c->untimed_ns[p.costs[i].rank][p.costs[i].launch] = p.costs[i].measured_ns;
    }
    program_release(&p);
}

int export_chakra(const struct run *run, const char *where, size_t only, struct err *e)
{
    struct chakra c = {.run = run, .origin_ns = tracks_origin(run)};
    int rc = 0;
    if (mkdir(where, 0777) < 0 && errno != EEXIST)
        return err_set(e, ERR_INPUT, "cannot make '%s': %s", where, strerror(errno));
    buf_init(&c.message);
    buf_init(&c.out);
    find_untimed(&c);
    for (size_t r = 0; r < run->nranks && rc == 0; r++) {
        if (only != SIZE_MAX && only != r)
            continue;
        c.rank = &run->ranks[r];
        rc = put_rank(&c, where, e);
    }
    for (size_t r = 0; r < run->nranks; r++)
        free(c.untimed_ns[r]);
    free(c.untimed_ns);
    buf_release(&c.message);
    buf_release(&c.out);
    return rc < 0 ? -1 : put_groups(run, where, e);
}
