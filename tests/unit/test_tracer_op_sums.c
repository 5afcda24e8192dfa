/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "../../tracer/format.h"
#include "../../tracer/output.h"

#include <stdlib.h>
#include <string.h>

#define ROOM 65536

static char text[ROOM];

static struct record coll(uint64_t comm, enum specter_comm_op op, int64_t start_ns, int64_t dur_ns)
{
    struct record r = record_blank;
    r.kind = RECORD_NCCL;
    r.timing = SPECTER_TIMING_DEVICE;
    r.op = (uint16_t)op;
    r.device = 0;
    r.start_ns = start_ns;
    r.dur_ns = dur_ns;
    r.dtype = SPECTER_INT8;
    r.nccl.comm = comm;
    r.nccl.comm_size = 8;
    r.nccl.group = NO_ID;
    return r;
}

/* count: elements of one byte each. */
static void add(struct record r, uint64_t count)
{
    if (r.kind == RECORD_NCCL)
        r.nccl.count = count;
    op_sums_add(&r);
}

static const char *comms(size_t room)
{
    struct out o = {text};
    op_sums_put_comms(&o, room);
    *o.p = '\0';
    CHECK((size_t)(o.p - text) <= room || strcmp(text, "null") == 0);
    return text;
}

static const char *times(void)
{
    struct out o = {text};
    op_sums_put_time(&o);
    *o.p = '\0';
    CHECK(o.p - text <= OP_SUMS_TIME_BYTES);
    return text;
}

static size_t count_of(const char *in, const char *word)
{
    size_t n = 0;
    for (const char *p = in; (p = strstr(p, word)) != NULL; p++)
        n++;
    return n;
}

TEST(tracer_op_sums_of_a_communicator)
{
    op_sums_reset();
    add(coll(0x12ab, SPECTER_ALLREDUCE, 1000, 2048), 100);
    add(coll(0x12ab, SPECTER_ALLREDUCE, 9000, 4095), 200);
    add(coll(0x12ab, SPECTER_ALLREDUCE, 20000, 0), 1);
    CHECK_STR(comms(ROOM),
              "[{\"comm\":\"00000000000012ab\",\"size\":8,\"op\":\"AllReduce\",\"count\":3,"
              "\"bytes\":301,\"timed\":3,\"timed_bytes\":301,\"spans\":3,\"us\":6.143,"
              "\"min_us\":0.000,\"max_us\":4.095,\"from_us\":1.000,\"to_us\":20.000,"
              "\"hist\":[[8,1],[11,2]]}]");
    op_sums_reset();
}

/* An operation without a device time is counted, and is in no time. */
TEST(tracer_op_sums_without_device_times)
{
    struct record r = coll(0, SPECTER_ALLREDUCE, 5, 6);
    op_sums_reset();
    r.timing = SPECTER_TIMING_HOST;
    r.nccl.comm_size = 0;
    add(r, 7);
    CHECK_STR(comms(ROOM), "[{\"comm\":null,\"size\":null,\"op\":\"AllReduce\",\"count\":1,"
                           "\"bytes\":7,\"timed\":0,\"timed_bytes\":0,\"spans\":0,\"us\":0.000,"
                           "\"min_us\":null,\"max_us\":null,\"from_us\":null,\"to_us\":null,"
                           "\"hist\":[]}]");
    CHECK_HAS(times(), "{\"from_us\":null,\"to_us\":null,\"devices\":0,\"collectives\":{\"count\":"
                       "1,\"bytes\":7,\"timed\":0,\"us\":0.000}");
    op_sums_reset();
}

/* Operations of one group on one stream share one interval of the device. */
TEST(tracer_op_sums_count_a_shared_interval_once)
{
    op_sums_reset();
    for (uint32_t group = 0; group < 2; group++) {
        for (int i = 0; i < 6; i++) {
            struct record r = coll(3, i % 2 == 0 ? SPECTER_SEND : SPECTER_RECV, 10000, 1000);
            r.nccl.group = group;
            r.stream = 5;
            add(r, 10);
        }
    }
    CHECK_HAS(times(), "\"messages\":{\"count\":12,\"bytes\":120,\"timed\":12,\"us\":2.000}");
    CHECK_HAS(comms(ROOM), "\"op\":\"Send\",\"count\":6,\"bytes\":60,\"timed\":6,"
                           "\"timed_bytes\":60,\"spans\":2,\"us\":2.000,");
    op_sums_reset();
}

TEST(tracer_op_sums_count_calls)
{
    struct record wait = record_blank, kernels = record_blank;
    struct out o = {text};
    op_sums_reset();
    wait.kind = RECORD_WAIT;
    kernels.kind = RECORD_LAUNCH;
    kernels.untraced.launches = 40;
    op_sums_add(&wait);
    op_sums_add(&kernels);
    add(coll(5, SPECTER_ALLGATHER, 1000, 2048), 100);
    op_sums_put(&o, ROOM / 2);
    *o.p = '\0';
    CHECK_HAS(text, "\"nccl\":{\"AllGather\":{\"count\":1,\"bytes\":800}},\"cublas\":{},"
                    "\"timing\":{\"device\":1},\"deps\":1,\"syncs\":0,\"copies\":{},"
                    "\"launches\":40,\"graphs\":0,\"marks\":0,\"time\":{");
    op_sums_reset();
}

TEST(tracer_op_sums_of_kinds_of_work)
{
    struct record gemm = record_blank, copy = record_blank, graph = record_blank;
    op_sums_reset();
    gemm.kind = RECORD_GEMM;
    copy.kind = RECORD_COPY;
    graph.kind = RECORD_GRAPH;
    gemm.timing = copy.timing = graph.timing = SPECTER_TIMING_DEVICE;
    gemm.start_ns = copy.start_ns = graph.start_ns = 100000;
    gemm.dur_ns = 1000;
    copy.dur_ns = 2000;
    graph.dur_ns = 3000;
    gemm.device = 0;
    copy.device = 1;
    graph.device = 1;
    copy.copy.bytes = 64;
    op_sums_add(&gemm);
    op_sums_add(&copy);
    op_sums_add(&graph);
    CHECK_STR(times(), "{\"from_us\":100.000,\"to_us\":103.000,\"devices\":2,"
                       "\"collectives\":{\"count\":0,\"bytes\":0,\"timed\":0,\"us\":0.000},"
                       "\"messages\":{\"count\":0,\"bytes\":0,\"timed\":0,\"us\":0.000},"
                       "\"gemms\":{\"count\":1,\"timed\":1,\"us\":1.000},"
                       "\"copies\":{\"count\":1,\"bytes\":64,\"timed\":1,\"us\":2.000},"
                       "\"graphs\":{\"count\":1,\"timed\":1,\"us\":3.000}}");
    op_sums_reset();
}

/* A sum without a row of its own, in the line or in memory, is in the row of others of its
 * operation. */
TEST(tracer_op_sums_have_fixed_room)
{
    op_sums_reset();
    for (uint64_t comm = 1; comm <= OP_SUMS_ROWS + 100; comm++) {
        add(coll(comm, SPECTER_ALLREDUCE, 0, (int64_t)comm * 1000), 1);
        add(coll(comm, SPECTER_BROADCAST, 0, 10), 1);
    }
    comms(16384);
    CHECK(count_of(text, "\"comm\":") > 5);
    CHECK_INT(count_of(text, "\"others\":"), 2);
    CHECK_HAS(text, "[{\"comm\":\"0000000000000100\""); /* the longest that has a row */
    CHECK_STR(comms(2000), "null");
    uint64_t sum = 0;
    for (const char *p = comms(ROOM); (p = strstr(p, "\"count\":")) != NULL; p++)
        sum += (uint64_t)atoll(p + 8);
    CHECK_INT(sum, 2 * (OP_SUMS_ROWS + 100));
    op_sums_reset();
    CHECK_STR(comms(ROOM), "[]");
}

/* The largest numbers there can be fit the row that is reserved for them. */
TEST(tracer_op_sums_row_is_bounded)
{
    op_sums_reset();
    for (int i = 0; i < 62; i++)
        add(coll(~UINT64_C(0), SPECTER_REDUCESCATTER, INT64_MAX / 4, (int64_t)1 << i),
            UINT64_MAX / 99 / 8); /* in all of a communicator's 8 ranks, 8 times as many */
    CHECK(strlen(comms(ROOM)) < OP_SUMS_ROW_BYTES / 2);
    op_sums_reset();
}
