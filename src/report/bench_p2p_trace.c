/* SPDX-License-Identifier: MIT
 *
 * Writes the one-way messages of `specter bench p2p` as PyTorch writes traces: a Kineto profile,
 * with times and names, and an execution trace of the same calls. Warm-ups, acknowledgements and
 * the other modes are left out.
 */
#include "base/err.h"
#include "report/bench_report.h"

#include <math.h>
#include <stdlib.h>

#define STREAM 7
#define FIRST_ID 3 /* of the calls in an execution trace: 1 is the process, 2 its groups */

/* One side of a message. */
struct message_side {
    const struct bench_p2p_config *config;
    const struct bench_p2p_repeat *repeat;
    size_t repetition, id;
    bool sends;
};

struct p2p_trace_writer {
    const struct bench_p2p_report *r;
    const struct bench_p2p_rank *rank;
    int64_t base_ns;
    FILE *out;
};

/* Calls put() with this rank's side of each message, in the order in which they were measured. */
static void each_side(const struct p2p_trace_writer *w,
                      void (*put)(const struct p2p_trace_writer *w,
                                  const struct message_side *side))
{
    size_t id = 0;
    for (size_t i = 0; i < w->r->log->n; i++) {
        const struct bench_p2p_done *d = &w->r->log->list[i];
        const struct bench_p2p_config *c = &d->config;
        if (c->mode != BENCH_P2P_ONE_WAY || (c->src != w->rank->rank && c->dst != w->rank->rank))
            continue;
        for (size_t k = 0; k < d->nrepeats; k++) {
            const struct message_side side = {c, &d->repeats[k], k, id++, c->src == w->rank->rank};
            put(w, &side);
        }
    }
}

static void put_ranks(const struct p2p_trace_writer *w)
{
    for (int i = 0; i < w->rank->world; i++)
        fprintf(w->out, "%s%d", i > 0 ? ", " : "", i);
}

/* ---- Kineto ---- */

/* Begins an event, whose args follow. Times are microseconds since base_ns. */
static void put_event(const struct p2p_trace_writer *w, const char *category, const char *name,
                      int64_t begin_ns, int64_t dur_ns, bool device)
{
    long long at = begin_ns - w->base_ns, dur = dur_ns > 0 ? dur_ns : 0;
    fprintf(w->out,
            ",\n{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": %d, \"tid\": %d, "
            "\"ts\": %lld.%03lld, \"dur\": %lld.%03lld, \"args\": {",
            category, name, device ? w->rank->device : w->rank->pid, device ? STREAM : w->rank->pid,
            at / 1000, at % 1000, dur / 1000, dur % 1000);
}

static void put_call_args(const struct p2p_trace_writer *w, const struct message_side *s)
{
    unsigned long long bytes = s->config->bytes;
    fprintf(w->out,
            ", \"Collective name\": \"%s\", \"In msg nelems\": %llu, \"Out msg nelems\": %llu, "
            "\"Group size\": %d, \"dtype\": \"Byte\", \"In split size\": \"[]\", "
            "\"Out split size\": \"[]\", \"Process Group Name\": \"0\", "
            "\"Process Group Description\": \"default_pg\", \"Process Group Ranks\": \"[",
            s->sends ? "send" : "recv", bytes, bytes, w->rank->world);
    put_ranks(w);
    fprintf(w->out, "]\", \"Src Rank\": %d, \"Dst Rank\": %d}}", s->config->src, s->config->dst);
}

static void put_profile(const struct p2p_trace_writer *w, const struct message_side *s)
{
    const struct bench_p2p_repeat *r = s->repeat;
    const int64_t *called = r->calls_ns[s->sends ? 0 : 1];
    int64_t took = called[1] - called[0], start = s->sends ? r->start_ns : r->receive_start_ns;
    int64_t dur = llround((s->sends ? r->send : r->receive) * 1e3);
    char name[BENCH_P2P_NAME];
    size_t id = s->id + FIRST_ID;
    bench_p2p_name(s->config, s->repetition, name);
    put_event(w, "user_annotation", name, called[0], took, false);
    fputs("}}", w->out);
    put_event(w, "cpu_op", "record_param_comms", called[0], took, false);
    fprintf(w->out, "\"External id\": %zu, \"Record function id\": %zu", id, id);
    put_call_args(w, s);
    put_event(w, "cuda_runtime", "cudaLaunchKernelExC", called[0], took, false);
    fprintf(w->out, "\"External id\": %zu, \"correlation\": %zu}}", id, id);
    put_event(w, "gpu_user_annotation", name, start, dur, true);
    fprintf(w->out, "\"External id\": %zu}}", id);
    put_event(w, "kernel", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", start, dur,
              true);
    fprintf(w->out,
            "\"External id\": %zu, \"correlation\": %zu, \"device\": %d, \"context\": 1, "
            "\"stream\": %d",
            id, id, w->rank->device, STREAM);
    put_call_args(w, s);
}

void bench_p2p_kineto(const struct bench_p2p_report *r, const struct bench_p2p_rank *rank,
                      FILE *out)
{
    struct p2p_trace_writer w = {.r = r, .rank = rank, .out = out};
    for (size_t i = 0; i < r->log->n; i++) {
        const struct bench_p2p_done *d = &r->log->list[i];
        for (size_t k = 0; k < d->nrepeats; k++) {
            const struct bench_p2p_repeat *p = &d->repeats[k];
            const int64_t times[] = {p->start_ns, p->receive_start_ns, p->calls_ns[0][0],
                                     p->calls_ns[1][0]};
            for (size_t t = 0; t < sizeof times / sizeof *times; t++) {
                if (times[t] > 0 && (w.base_ns == 0 || times[t] < w.base_ns))
                    w.base_ns = times[t];
            }
        }
    }
    w.base_ns -= w.base_ns % 1000000000;
    fputs("{\"schemaVersion\": 1,\n\"deviceProperties\": [", out);
    for (int i = 0; i < r->run->where.per_node; i++) { /* of this node: readers count them */
        fprintf(out, "%s{\"id\": %d, \"name\": \"", i > 0 ? ", " : "", i);
        /* without what JSON would have to escape */
        for (const char *p = r->run->gpu; *p != '\0'; p++)
            fputc((unsigned char)*p < ' ' || *p == '"' || *p == '\\' ? '?' : *p, out);
        fputs("\"}", out);
    }
    fprintf(out,
            "],\n\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %d, "
            "\"world_size\": %d, \"pg_count\": 1, \"pg_config\": [{\"pg_name\": \"0\", "
            "\"pg_desc\": \"default_pg\", \"backend_config\": \"cuda:nccl\", \"pg_size\": "
            "%d, \"ranks\": [",
            rank->rank, rank->world, rank->world);
    put_ranks(&w);
    fprintf(out,
            "]}]},\n\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": %lld,\n"
            "\"traceEvents\": [\n{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %d, "
            "\"tid\": 0, \"ts\": 0, \"args\": {\"name\": \"specter bench p2p\"}}",
            (long long)w.base_ns, rank->pid);
    each_side(&w, put_profile);
    fprintf(out, "\n],\n\"traceName\": \"rank_%d.pt.trace.json\"}\n", rank->rank);
}

/* ---- execution trace ---- */

/* Writes an attribute of a node. */
static void put_number(const struct p2p_trace_writer *w, const char *name, unsigned long long value)
{
    fprintf(w->out, ", {\"name\": \"%s\", \"type\": \"uint64\", \"value\": %llu}", name, value);
}

static void put_text(const struct p2p_trace_writer *w, const char *name, const char *value)
{
    fprintf(w->out, ", {\"name\": \"%s\", \"type\": \"string\", \"value\": \"%s\"}", name, value);
}

static void put_call(const struct p2p_trace_writer *w, const struct message_side *s)
{
    unsigned long long bytes = s->config->bytes, id = s->id + FIRST_ID;
    const char *op = s->sends ? "send" : "recv";
    fprintf(w->out,
            ",\n{\"id\": %llu, \"name\": \"record_param_comms\", \"ctrl_deps\": 1, \"inputs\": "
            "{\"values\": [[[%d, %d, 0, %llu, 1, \"cuda:%d\"]], [%zu, true], "
            "[\"0\", \"default_pg\"], %d, \"%s\", [], [], 0, 1, %d], \"shapes\": [[[%llu]], [[], "
            "[]], [[], []], [], [], [], [], [], [], []], \"types\": [\"GenericList[Tensor(unsigned "
            "char)]\", \"Tuple[Int,Bool]\", \"Tuple[String,String]\", \"Int\", \"String\", "
            "\"GenericList[]\", \"GenericList[]\", \"Int\", \"Int\", \"Int\"]}, \"outputs\": "
            "{\"values\": [], \"shapes\": [], \"types\": []}, \"attrs\": [{\"name\": \"rf_id\", "
            "\"type\": \"uint64\", \"value\": %llu}",
            id, s->sends ? 1 : 2, s->sends ? 1 : 2, bytes, w->rank->device, s->id,
            s->sends ? s->config->dst : s->config->src, op, w->rank->world, bytes, id);
    put_number(w, "tid", (unsigned long long)w->rank->pid);
    put_text(w, "collective_name", op);
    put_text(w, "dtype", "Byte");
    put_number(w, "in_msg_nelems", bytes);
    put_number(w, "out_msg_nelems", bytes);
    put_number(w, "global_rank_start", 0);
    put_number(w, "global_rank_stride", 1);
    put_text(w, "pg_name", "0");
    put_text(w, "pg_desc", "default_pg");
    put_number(w, "pg_size", (unsigned long long)w->rank->world);
    fputs("]}", w->out);
}

void bench_p2p_execution_trace(const struct bench_p2p_report *r, const struct bench_p2p_rank *rank,
                               FILE *out)
{
    struct p2p_trace_writer w = {.r = r, .rank = rank, .out = out};
    fprintf(out,
            "{\"schema\": \"1.1.1-chakra.0.0.4\", \"pid\": %d, \"nodes\": [\n{\"id\": 1, \"name\": "
            "\"[pytorch|profiler|execution_trace|process]\", \"ctrl_deps\": 1, \"inputs\": "
            "{\"values\": [], \"shapes\": [], \"types\": []}, \"outputs\": {\"values\": [], "
            "\"shapes\": [], \"types\": []}, \"attrs\": [{\"name\": \"rf_id\", \"type\": "
            "\"uint64\", \"value\": 0}]}",
            rank->pid);
    fprintf(out,
            ",\n{\"id\": 2, \"name\": \"## process_group:init ##\", \"ctrl_deps\": 1, \"inputs\": "
            "{\"values\": [\"[{\\\"pg_name\\\": \\\"0\\\", \\\"pg_desc\\\": \\\"default_pg\\\", "
            "\\\"backend_config\\\": \\\"cuda:nccl\\\", \\\"pg_size\\\": %d, \\\"ranks\\\": [",
            rank->world);
    put_ranks(&w);
    fputs("]}]\"], \"shapes\": [[]], \"types\": [\"String\"]}, \"outputs\": {\"values\": [], "
          "\"shapes\": [], \"types\": []}, \"attrs\": [{\"name\": \"rf_id\", \"type\": \"uint64\", "
          "\"value\": 1}]}",
          out);
    each_side(&w, put_call);
    fputs("\n]}\n", out);
}
