/* SPDX-License-Identifier: MIT */
#include "output.h"

#include "clock.h"
#include "comm.h"
#include "driver.h"
#include "file.h"
#include "graph_ops.h"
#include "tracer.h"
#include "warn.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FLUSH_NS INT64_C(100000000)
#define BATCH_BYTES 61440
#define BUFFER_BYTES (BATCH_BYTES + FORMAT_INIT_MAX)
#define SUMMARY_BYTES 8192
#define ROOM_BYTES 4096                                /* given up at the end of a full disk */
#define OPS_BYTES (SPECTER_LINE_MAX - FORMAT_LINE_MAX) /* a graph's list: a line holds no more */
#define GPUS_MAX 64
#define GPU_BYTES 1024
#define COVERAGE_BYTES 256

struct tally {
    uint64_t count, bytes;
};

static struct output {
    const struct config *config;
    int64_t mono_ns, real_ns;
    struct file file;
    bool failed;        /* the file */
    struct out out;     /* into buffer */
    int64_t since_ns;   /* the buffer's first line, on the pacing clock */
    uint64_t ops, lost; /* operations in the file; records that could not be written */
    uint64_t synced;    /* a bit a device whose clock record was written under --sync */
    struct tally comm_ops[SPECTER_COMM_OP_COUNT];
    struct tally gemms[HOOK_COUNT];
    uint64_t timings[SPECTER_TIMING_COUNT];
    uint64_t deps, syncs, launches, graphs, marks;
    struct tally copies;
    char gemm_names[HOOK_COUNT][64];
    char buffer[BUFFER_BYTES];
} output;

int output_open(const struct config *config, int64_t mono_ns, int64_t real_ns)
{
    output.config = config;
    output.mono_ns = mono_ns;
    output.real_ns = real_ns;
    output.out.p = output.buffer;
    for (int i = 0; i < HOOK_COUNT; i++)
        format_gemm_name(output.gemm_names[i], function_names[i].name);
    return file_open(&output.file, config);
}

/* ---- the buffer and the file ---- */

static size_t buffered(void)
{
    return (size_t)(output.out.p - output.buffer);
}

bool output_is_pending(void)
{
    return buffered() > 0;
}

bool output_has_failed(void)
{
    return output.failed;
}

/* How many of the lines, all of them whole, start like this. */
static uint64_t count_lines(const char *lines, size_t len, const char *start)
{
    uint64_t n = 0;
    size_t start_len = strlen(start);
    for (const char *p = lines, *end = lines + len; p < end;) {
        n += strncmp(p, start, start_len) == 0;
        p = (const char *)memchr(p, '\n', (size_t)(end - p)) + 1;
    }
    return n;
}

static void count_lost(const char *lines, size_t len)
{
    uint64_t ops = count_lines(lines, len, "{\"id\":");
    output.lost += ops + count_lines(lines, len, "{\"type\":");
    output.ops -= ops < output.ops ? ops : output.ops;
}

/* The program goes on, and so do we, but nothing more is recorded. */
static void give_up(int error)
{
    char text[64];
    output.failed = true;
    tracer_lose();
    warn_once("cannot write '", output.file.name, "': ", strerror_r(error, text, sizeof text),
              "; recording stops here", NULL);
}

static void flush(void)
{
    size_t len = buffered(), kept = 0;
    int error = EBADF;
    if (len == 0)
        return;
    if (output.file.fd >= 0)
        error = file_write(&output.file, output.buffer, len, &kept);
    if (error != 0) {
        count_lost(output.buffer + kept, len - kept);
        give_up(error);
    }
    output.out.p = output.buffer;
}

void output_flush_old(void)
{
    if (output.failed) {
        count_lost(output.buffer, buffered());
        output.out.p = output.buffer;
    }
    if (buffered() > 0 && clock_pace_ns() - output.since_ns >= FLUSH_NS)
        flush();
}

/* Before each line: makes room for it. */
static struct out *line(void)
{
    if (buffered() >= BATCH_BYTES - FORMAT_LINE_MAX)
        flush();
    if (buffered() == 0)
        output.since_ns = clock_pace_ns();
    return &output.out;
}

/* ---- the process ---- */

static void put_gpu(struct out *o, CUdevice device)
{
    char name[128] = "", pci[32] = "", sm[24];
    int major = 0, minor = 0;
    driver.DeviceGetName(name, sizeof name, device);
    driver.DeviceGetPCIBusId(pci, sizeof pci, device);
    driver.DeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    driver.DeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    snprintf(sm, sizeof sm, "%d.%d", major, minor);
    put_RAW(o, "{\"device\":");
    put_I64(o, device);
    put_RAW(o, ",\"name\":");
    put_STR(o, name);
    put_RAW(o, ",\"sm\":");
    put_STR(o, sm);
    put_RAW(o, ",\"pci\":");
    put_STR(o, pci);
    put_RAW(o, "}");
}

/* The devices that this process may use. None of the questions needs a context. */
static void put_gpus(struct out *o)
{
    int count;
    put_RAW(o, "[");
    if (driver_ready() && driver.DeviceGetCount(&count) == CUDA_SUCCESS) {
        for (int i = 0; i < count && i < GPUS_MAX; i++) {
            if (i > 0)
                put_RAW(o, ",");
            put_gpu(o, i);
        }
    }
    put_RAW(o, "]");
    *o->p = '\0';
}

static uint64_t nccl_version(void)
{
    ncclResult_t (*get)(int *) = (ncclResult_t(*)(int *))resolve_any(GETTER_ncclGetVersion);
    int version;
    return get != NULL && get(&version) == ncclSuccess ? (uint64_t)version : UINT64_MAX;
}

static uint64_t cuda_version(void)
{
    int version;
    bool known = driver_ready() && driver.DriverGetVersion(&version) == CUDA_SUCCESS;
    return known ? (uint64_t)version : UINT64_MAX;
}

static void cover(struct out *o, const char *what, bool is_looked_at)
{
    if (!is_looked_at)
        return;
    put_RAW(o, o->p[-1] == '[' ? "" : ",");
    put_STR(o, what);
}

/* What the program does to the runtime can be seen where that is a library of its own. */
static void put_coverage(struct out *o)
{
    const bool *wanted = output.config->wanted;
    bool runtime = resolve_library("libcudart") != NULL;
    put_RAW(o, "[");
    cover(o, "nccl", true);
    cover(o, "cublas", true);
    cover(o, "cublaslt", true);
    cover(o, "deps", true);
    cover(o, "copies", runtime && wanted[RECORD_COPY]);
    cover(o, "launches", runtime && wanted[RECORD_UNTRACED]);
    cover(o, "graphs", runtime && wanted[RECORD_GRAPH]);
    put_RAW(o, "]");
    *o->p = '\0';
}

void output_init(void)
{
    static char gpus[GPUS_MAX * GPU_BYTES];
    char coverage[COVERAGE_BYTES];
    const struct config *c = output.config;
    struct out o = {gpus}, covered = {coverage};
    put_gpus(&o);
    put_coverage(&covered);
    format_init(line(), &(struct init_line){
                            .run = c->run,
                            .host = c->host,
                            .rank = c->rank,
                            .world_size = c->world_size,
                            .local_rank = c->local_rank,
                            .sync_mode = c->sync,
                            .pid = (uint64_t)c->pid,
                            .mono_ns = (uint64_t)output.mono_ns,
                            .real_ns = (uint64_t)output.real_ns,
                            .nccl = nccl_version(),
                            .cuda = cuda_version(),
                            .coverage = coverage,
                            .gpus = gpus,
                            .env = c->env,
                        });
}

void output_comm(const struct comm *c, void *unused)
{
    const struct comm_birth *b = &c->birth;
    (void)unused;
    if (b->id == 0)
        return; /* nothing could refer to it */
    format_comm(line(), &(struct comm_line){
                            .time_ns = c->time_ns - output.mono_ns,
                            .comm = b->id,
                            .parent = b->parent,
                            .comm_rank = b->rank,
                            .comm_size = b->size,
                            .device = b->device,
                            .split_seq = b->split_seq,
                            .color = b->color,
                            .key = b->key,
                            .name = b->name[0] != '\0' ? b->name : NULL,
                        });
}

void output_clock(const struct clock_line *l, void *unused)
{
    (void)unused;
    format_clock(line(), l);
}

/* ---- records ---- */

bool output_is_first_launch(const struct record *r)
{
    return r->kind == RECORD_GRAPH && r->graph != NO_ID && r->launch.number == 0;
}

bool output_is_op(const struct record *r)
{
    return r->kind == RECORD_NCCL || r->kind == RECORD_GEMM || r->kind == RECORD_COPY ||
           r->kind == RECORD_GRAPH;
}

/* A graph's first launch says what the graph holds. */
static void put_graph(const struct record *r, uint64_t id)
{
    static char ops[OPS_BYTES];
    bool first = output_is_first_launch(r);
    if (first)
        graph_ops_list(r->graph, ops, sizeof ops);
    format_graph(line(), r, id, graph_ops_count(r->graph), first ? ops : NULL);
}

static void put_record(const struct record *r, uint64_t id)
{
    switch ((enum record_kind)r->kind) {
    case RECORD_NCCL:
        format_nccl(line(), r, id);
        break;
    case RECORD_GEMM:
        format_gemm(line(), r, id, output.gemm_names[r->op]);
        break;
    case RECORD_RECORD:
    case RECORD_WAIT:
        format_dep(line(), r);
        break;
    case RECORD_SYNC:
        format_sync(line(), r);
        break;
    case RECORD_COPY:
        format_copy(line(), r, id);
        break;
    case RECORD_UNTRACED:
        format_untraced(line(), r);
        break;
    case RECORD_GRAPH:
        put_graph(r, id);
        break;
    case RECORD_MARK:
        format_mark(line(), r);
        break;
    case RECORD_KIND_COUNT:
        break;
    }
}

static void count_record(const struct record *r)
{
    uint64_t n = r->kind == RECORD_NCCL && r->nccl.comm_size > 0 ? (uint64_t)r->nccl.comm_size : 0;
    if (r->kind == RECORD_NCCL) {
        output.comm_ops[r->op].count++;
        output.comm_ops[r->op].bytes += specter_comm_op_bytes(r->op, r->nccl.count, r->dtype, n);
    } else if (r->kind == RECORD_GEMM) {
        output.gemms[r->op].count++;
    } else if (r->kind == RECORD_COPY) {
        output.copies.count++;
        output.copies.bytes += r->copy.bytes != UINT64_MAX ? r->copy.bytes : 0;
    } else if (r->kind == RECORD_UNTRACED) {
        output.launches += r->untraced.launches;
    } else if (r->kind == RECORD_GRAPH) {
        output.graphs++;
    } else if (r->kind == RECORD_MARK) {
        output.marks++;
    } else if (r->kind == RECORD_SYNC) {
        output.syncs++;
    } else {
        output.deps++;
    }
    if (output_is_op(r)) {
        output.timings[r->timing]++;
        output.ops++;
    }
}

/* Under --sync the timeline of a device is the host's. */
static void put_identity_clock(const struct record *r)
{
    uint64_t bit = UINT64_C(1) << (r->device & 63);
    if (r->timing != SPECTER_TIMING_SYNC || r->device < 0 || (output.synced & bit) != 0)
        return;
    output.synced |= bit;
    format_clock(line(), &(struct clock_line){
                             .device = r->device,
                             .dev_ns = r->start_ns,
                             .mono_ns = (uint64_t)(output.mono_ns + r->start_ns),
                             .real_ns = (uint64_t)(output.real_ns + r->start_ns),
                         });
}

void output_record(struct record *r, uint64_t id)
{
    if (output.failed) {
        output.lost++;
        return;
    }
    if (output_is_op(r)) {
        /* The enqueuing call is the only time there is of work that no event stands around. */
        if (r->timing == SPECTER_TIMING_HOST) {
            r->start_ns = r->host_ns;
            r->dur_ns = r->host_end_ns - r->host_ns;
        }
        put_identity_clock(r);
    }
    count_record(r);
    put_record(r, id);
    if (output_is_first_launch(r))
        graph_ops_release(r->graph);
}

void output_unfinished(const struct record *r, uint64_t id)
{
    if (!output.failed)
        put_record(r, id);
}

void output_abandoned(const struct record *r, uint64_t id, bool shown)
{
    if (output.failed) {
        output.lost++;
        return;
    }
    count_record(r);
    if (!shown)
        put_record(r, id);
}

/* ---- the end ---- */

static void put_tally(struct out *o, const char *name, const struct tally *t, bool with_bytes)
{
    if (o->p[-1] != '{')
        put_RAW(o, ",");
    put_STR(o, name);
    put_RAW(o, ":{\"count\":");
    put_U64(o, t->count);
    if (with_bytes) {
        put_RAW(o, ",\"bytes\":");
        put_U64(o, t->bytes);
    }
    put_RAW(o, "}");
}

static void put_timings(struct out *o)
{
    for (int i = 0; i < SPECTER_TIMING_COUNT; i++) {
        if (output.timings[i] == 0)
            continue;
        if (o->p[-1] != '{')
            put_RAW(o, ",");
        put_STR(o, specter_timing_name(i));
        put_RAW(o, ":");
        put_U64(o, output.timings[i]);
    }
}

static void put_summary(struct out *o)
{
    put_RAW(o, "{\"nccl\":{");
    for (int i = 0; i < SPECTER_COMM_OP_COUNT; i++) {
        if (output.comm_ops[i].count > 0)
            put_tally(o, specter_comm_op_name(i), &output.comm_ops[i], true);
    }
    put_RAW(o, "},\"cublas\":{");
    for (int i = 0; i < HOOK_COUNT; i++) {
        if (output.gemms[i].count > 0)
            put_tally(o, output.gemm_names[i], &output.gemms[i], false);
    }
    put_RAW(o, "},\"timing\":{");
    put_timings(o);
    put_RAW(o, "},\"deps\":");
    put_U64(o, output.deps);
    put_RAW(o, ",\"syncs\":");
    put_U64(o, output.syncs);
    put_RAW(o, ",\"copies\":{");
    if (output.copies.count > 0)
        put_tally(o, "all", &output.copies, true);
    put_RAW(o, "},\"launches\":");
    put_U64(o, output.launches);
    put_RAW(o, ",\"graphs\":");
    put_U64(o, output.graphs);
    put_RAW(o, ",\"marks\":");
    put_U64(o, output.marks);
    put_RAW(o, "}");
    *o->p = '\0';
}

/* A full disk has no room for the closing record either, which tells what was lost: some of the
 * last lines give way to it. */
static void make_room(void)
{
    char lines[ROOM_BYTES];
    count_lost(lines, file_cut_tail(&output.file, lines, sizeof lines));
}

void output_close(int64_t end_ns, uint64_t dropped)
{
    char summary[SUMMARY_BYTES];
    struct out o = {summary};
    flush(); /* the whole buffer for a long line */
    if (output.failed)
        make_room();
    put_summary(&o);
    format_shutdown(line(), &(struct shutdown_line){
                                .time_ns = end_ns - output.mono_ns,
                                .total_ops = output.ops,
                                .dropped = output.lost + dropped,
                                .summary = summary,
                            });
    flush();
    file_close(&output.file);
}

void output_abandon(void)
{
    file_discard(&output.file);
}

void output_forked(void)
{
    file_close(&output.file);
}

void output_reset(void)
{
    memset(&output, 0, offsetof(struct output, gemm_names));
    graph_ops_reset();
}
