/* SPDX-License-Identifier: MIT
 *
 * The graph of dependencies behind Chakra traces, by hand.
 */
#include "report/chakra.h"
#include "test.h"

#include <string.h>

static struct rank *begin(struct run *run)
{
    struct rank *rank;
    run_init(run);
    rank = run_add_rank(run);
    rank->rank = 0;
    return rank;
}

/* Called in [call, call + 1000) by the thread; call < 0: of no known call. */
static void add_op(struct rank *rank, uint32_t tid, int32_t stream, int64_t call_ns,
                   int64_t start_ns, int64_t end_ns)
{
    struct op *op = rank_add_op(rank);
    op->class = OP_KERNEL;
    op->timing = SPECTER_TIMING_DEVICE;
    op->name = "k";
    op->tid = tid;
    op->stream = stream;
    op->start_ns = start_ns;
    op->dur_ns = end_ns - start_ns;
    op->host_ns = call_ns >= 0 ? call_ns : UNKNOWN_NS;
    op->host_end_ns = call_ns >= 0 ? call_ns + 1000 : UNKNOWN_NS;
}

static void add_sync_call(struct rank *rank, enum sync_call_kind kind, uint32_t tid, int32_t stream,
                          int64_t event, int64_t begin_ns, int64_t end_ns)
{
    struct sync_call *sync = rank_add_sync_call(rank);
    sync->kind = (uint8_t)kind;
    sync->tid = tid;
    sync->stream = stream;
    sync->event = event;
    sync->host_ns = begin_ns;
    sync->host_end_ns = end_ns;
}

static bool depends(const struct chakra_graph *g, size_t node, uint32_t on)
{
    for (uint32_t i = 0; i < g->list[node].ndeps; i++) {
        if (g->list[node].deps[i] == on)
            return true;
    }
    return false;
}

/* Every node behind what it depends on; does `node` come after `on`, over others too? */
static bool reaches(const struct chakra_graph *g, size_t node, uint32_t on)
{
    for (uint32_t i = 0; i < g->list[node].ndeps; i++) {
        CHECK(g->list[node].deps[i] < node);
        if (g->list[node].deps[i] == on || reaches(g, g->list[node].deps[i], on))
            return true;
    }
    return false;
}

/* An operation, a record behind it, a wait of another stream for that, and its operation: nodes
 * 0 call, 1 work, 2 record, 3 wait, 4 call, 5 work. */
TEST(chakra_event_between_streams)
{
    struct chakra_graph g;
    struct run run;
    struct rank *rank = begin(&run);
    add_op(rank, 0, 1, 1000, 3000, 9000);
    add_sync_call(rank, SYNC_CALL_RECORD, 0, 1, 5, 2500, 2600);
    add_sync_call(rank, SYNC_CALL_WAIT, 0, 2, 5, 2700, 2800);
    add_op(rank, 0, 2, 3000, 9500, 9900);
    chakra_graph_init(&g, &run, 0, NULL);
    CHECK_INT((int64_t)g.count, 6);
    CHECK_INT(g.list[1].kind, CHAKRA_DEVICE);
    CHECK(depends(&g, 1, 0));
    CHECK(depends(&g, 5, 4) && depends(&g, 5, 1));
    CHECK(!depends(&g, 4, 1)); /* the host does not wait */
    CHECK_INT(g.list[4].start_ns, 2800);
    CHECK_INT(g.list[4].dur_ns, 1200); /* up to the end of the call */
    chakra_graph_release(&g);
    run_release(&run);
}

/* The host waits for the stream from 2500 to 9000: the wait is not its own time. */
TEST(chakra_synchronisation)
{
    struct chakra_graph g;
    struct run run;
    struct rank *rank = begin(&run);
    add_op(rank, 0, 1, 1000, 3000, 9000);
    add_sync_call(rank, SYNC_CALL_STREAM, 0, 1, -1, 2500, 9000);
    add_op(rank, 0, 1, 9400, 10500, 11000);
    chakra_graph_init(&g, &run, 0, NULL);
    CHECK_INT((int64_t)g.count, 5); /* call, work, wait, call, work */
    CHECK_INT(g.list[2].dur_ns, 500);
    CHECK(depends(&g, 3, 2) && depends(&g, 3, 1));
    CHECK_INT(g.list[3].start_ns, 9000);
    CHECK_INT(g.list[3].dur_ns, 1400);
    CHECK(depends(&g, 4, 3) && depends(&g, 4, 1));
    chakra_graph_release(&g);
    run_release(&run);
}

/* A thread that begins stands behind the latest node of another. */
TEST(chakra_threads)
{
    struct chakra_graph g;
    struct run run;
    struct rank *rank = begin(&run);
    add_op(rank, 0, 1, 1000, 3000, 4000);
    add_op(rank, 7, 2, 5000, 7000, 8000);
    add_op(rank, 0, 1, 6500, 9000, 9100);
    chakra_graph_init(&g, &run, 0, NULL);
    CHECK_INT((int64_t)g.count, 6);
    CHECK(depends(&g, 2, 0));
    CHECK_INT(g.list[2].dur_ns, 4000); /* from 2000 to 6000 */
    CHECK(depends(&g, 4, 0) && !depends(&g, 4, 2));
    CHECK_INT(g.list[4].dur_ns, 5500); /* from 2000 to 7500 */
    chakra_graph_release(&g);
    run_release(&run);
}

/* Work of no known call keeps the stream's gap; what has no device time is counted. */
TEST(chakra_gaps)
{
    struct chakra_graph g;
    struct run run;
    struct rank *rank = begin(&run);
    add_op(rank, 0, 1, -1, 1000, 2000);
    add_op(rank, 0, 1, -1, 2700, 3000);
    add_op(rank, 0, 1, -1, 3000, 3100);
    add_op(rank, 0, 1, 5000, UNKNOWN_NS, UNKNOWN_NS);
    rank->ops[3].dur_ns = UNKNOWN_NS;
    chakra_graph_init(&g, &run, 0, NULL);
    CHECK_INT((int64_t)g.count, 5); /* work, gap, work, work, call */
    CHECK_INT(g.list[1].kind, CHAKRA_GAP);
    CHECK_INT(g.list[1].dur_ns, 700);
    CHECK(depends(&g, 2, 1) && depends(&g, 2, 0));
    CHECK(depends(&g, 3, 2));
    CHECK_INT((int64_t)g.untimed, 1);
    chakra_graph_release(&g);
    run_release(&run);
}

/* A synchronisation with 40 streams: the next call comes after all of them. */
TEST(chakra_waits_for_many)
{
    enum { STREAMS = 40 };
    struct chakra_graph g;
    struct run run;
    struct rank *rank = begin(&run);
    size_t last = 0;
    for (int i = 0; i < STREAMS; i++)
        add_op(rank, 0, i, 1000 + 1000 * i, 2500 + 1000 * i, 50000 + 100 * i);
    add_sync_call(rank, SYNC_CALL_DEVICE, 0, -1, -1, 45000, 60000);
    add_op(rank, 0, 0, 61000, 63000, 64000);
    chakra_graph_init(&g, &run, 0, NULL);
    for (size_t i = 0; i < g.count; i++)
        last = g.list[i].kind == CHAKRA_HOST ? i : last;
    CHECK_INT(g.list[last].dur_ns, 2000); /* from 60000 to 62000 */
    for (uint32_t i = 0; i < g.count; i++) {
        CHECK(g.list[i].ndeps <= CHAKRA_DEPS);
        if (g.list[i].kind == CHAKRA_DEVICE && i < last)
            CHECK(reaches(&g, last, i));
        if (g.list[i].kind == CHAKRA_JOIN)
            CHECK_INT(g.list[i].dur_ns, 0);
    }
    chakra_graph_release(&g);
    run_release(&run);
}

/* Untimed kernels between two operations of a stream are a node of their own. */
TEST(chakra_untimed_kernels)
{
    static const int64_t untimed_ns[] = {4000};
    struct chakra_graph g;
    struct run run;
    struct rank *rank = begin(&run);
    struct launches *l = rank_add_launches(rank);
    *l = (struct launches){.host_ns = 2200, .host_end_ns = 2300, .count = 3, .stream = 1};
    add_op(rank, 0, 1, 1000, 3000, 9000);
    add_op(rank, 0, 1, 3000, 13000, 14000);
    chakra_graph_init(&g, &run, 0, untimed_ns);
    CHECK_INT((int64_t)g.count, 6); /* call, work, launch, kernels, call, work */
    CHECK(g.list[3].launches == rank->launches && g.list[3].kind == CHAKRA_DEVICE);
    CHECK_INT(g.list[3].dur_ns, 4000);
    CHECK(depends(&g, 3, 2) && depends(&g, 3, 1) && depends(&g, 5, 3));
    CHECK_INT(g.list[2].dur_ns, 200);
    chakra_graph_release(&g);
    chakra_graph_init(&g, &run, 0, NULL);
    CHECK_INT((int64_t)g.count, 4);
    chakra_graph_release(&g);
    run_release(&run);
}

static void add_message(struct rank *rank, enum specter_comm_op what, int peer, int64_t call_ns)
{
    struct op *op;
    add_op(rank, 0, 1, call_ns, 5000, 9000);
    op = &rank->ops[rank->nops - 1];
    op->class = OP_P2P;
    op->coll.op = (uint8_t)what;
    op->coll.comm = 0;
    op->coll.group = 3;
    op->coll.peer = peer;
}

/* Messages of a group stand beside each other; one to the rank itself is none, but alone a time. */
TEST(chakra_group_of_messages)
{
    struct chakra_graph g;
    struct run run;
    struct rank *rank = begin(&run);
    int comm;
    add_op(rank, 0, 1, 1000, 3000, 5000);
    comm = run_comm(&run, "c", 1, 2);
    run.comms[comm].ranks[0] = 0;
    run.comms[comm].ranks[1] = 1;
    add_message(rank, SPECTER_SEND, 0, 2000);
    add_message(rank, SPECTER_RECV, 0, 2000);
    add_message(rank, SPECTER_SEND, 1, 2000);
    add_message(rank, SPECTER_RECV, 1, 2000);
    add_op(rank, 0, 1, 4000, 9000, 9500);
    CHECK(chakra_alone(&run, rank, &rank->ops[1]) && !chakra_alone(&run, rank, &rank->ops[3]));
    chakra_graph_init(&g, &run, 0, NULL);
    CHECK_INT((int64_t)g.count, 11); /* 2 + 4 calls, 2 messages, join, 2 */
    CHECK(g.list[5].op == &rank->ops[3] && g.list[7].op == &rank->ops[4]);
    CHECK(depends(&g, 5, 1) && depends(&g, 7, 1) && !reaches(&g, 7, 5));
    CHECK(reaches(&g, 10, 5) && reaches(&g, 10, 7));
    chakra_graph_release(&g);
    run_release(&run);
}
