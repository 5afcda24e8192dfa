/* SPDX-License-Identifier: MIT
 *
 * Inside the reader of NCCL Inspector's logs (NCCL's profiler plugin of that name; JSON mode): one
 * record a line, one file a process.
 *
 *     {"header":{"id":"0x7f8c496ae9f661","rank":2,"n_ranks":8,"nnodes":1},
 *      "metadata":{"inspector_output_format_version":"v4.0","dump_timestamp_us":...,"hostname":"n0",
 *       "pid":163,...},
 *      "coll_perf":{"coll":"AllReduce","coll_sn":14,"coll_msg_size_bytes":4096,
 *       "coll_exec_time_us":61,"coll_timing_source":"kernel_gpu",...}}
 *
 * Later versions add header.comm_name, coll_algo and coll_proto, and p2p_perf with the same keys
 * under p2p_. docs/inputs.md says what is made of them.
 *
 * A record tells how long an operation ran, and only with NCCL_INSPECTOR_DUMP_VERBOSE=1 when. Where
 * it does not, the operation has a duration and no start: it counts in bandwidths, and in no share
 * of time.
 */
#ifndef SPECTER_TRACE_INSPECTOR_H
#define SPECTER_TRACE_INSPECTOR_H

#include "base/json.h"
#include "trace/run.h"

/* Texts are views into the line; p NULL: not there. Numbers: -1 not there; times in ns. */
struct inspector_record {
    struct json_text id, comm_name, host;
    int64_t comm_rank, comm_size, nodes;
    int64_t pid, dump_ns;
    bool coll, p2p; /* which of them it is; neither: a kind that is not known */
    struct json_text what, source, algo, proto;
    int64_t sn, peer, bytes, exec_ns;
    int64_t call_ns, call_end_ns; /* the host's enqueuing call; 0 or -1 not known */
    int64_t kernel_ns;            /* when the host saw the first of its kernels begin; likewise */
    uint32_t channels;            /* of the kernels that were listed */
    const char *error;            /* NULL, or what is wrong, */
    size_t offset;                /* and at which byte */
    bool cut;                     /* it might go on */
};

/* False when it is no JSON object, or a value is not what it should be. */
bool inspector_parse(struct inspector_record *rec, const char *text, size_t len);

/* Returns whether the text, or its beginning, is such a record. */
bool inspector_is_record(const char *text, size_t len);

#endif
