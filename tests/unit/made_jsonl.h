/* SPDX-License-Identifier: MIT
 *
 * For tests of specter's own traces: the first and the last line of one, a file of rank 0.
 */
#ifndef SPECTER_TEST_MADE_JSONL_H
#define SPECTER_TEST_MADE_JSONL_H

#include "trace_load.h"

/* coverage: a list of JSON; sample: one operation in so many. */
#define INIT_SAMPLED(coverage, sample)                                                       \
    "{\"event\":\"init\",\"version\":1,\"run\":\"r\",\"rank\":0,\"world_size\":1,\"pid\":5," \
    "\"host\":\"h\",\"mono_ns\":1000000,\"real_ns\":1700000000000000000,"                    \
    "\"coverage\":[" coverage "],\"sample\":" sample ",\"gpus\":[]}\n"
#define INIT_OF(coverage) INIT_SAMPLED(coverage, "1")
#define INIT INIT_OF("\"nccl\"")
#define END "{\"event\":\"shutdown\",\"time_us\":900.0,\"total_ops\":1,\"dropped\":0}\n"

/* The first line, of a rank with clocks of its own. Valid until the next call. */
static inline const char *init_line(const char *run, int rank, int world, const char *host,
                                    long long mono_ns, long long real_ns)
{
    static char line[512];
    snprintf(line, sizeof line,
             "{\"event\":\"init\",\"version\":1,\"run\":\"%s\",\"rank\":%d,\"world_size\":%d,"
             "\"pid\":5,\"host\":\"%s\",\"mono_ns\":%lld,\"real_ns\":%lld}\n",
             run, rank, world, host, mono_ns, real_ns);
    return line;
}

static inline void load_rank(struct run *run, const char *text)
{
    load_text(run, "specter_trace_rank0.jsonl", text);
}

#endif
