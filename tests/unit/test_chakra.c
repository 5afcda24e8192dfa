/* SPDX-License-Identifier: MIT
 *
 * The graph of dependencies behind Chakra traces, by hand.
 */
#include "report/chakra_graph.h"

#include "made_device.h"
#include "test.h"

#include <string.h>

/* Called in [call, call + 1000) by the thread; call < 0: of no known call. */
static struct op *add_op(struct run *run, uint32_t tid, int32_t stream, int64_t call_ns,
                         int64_t start_ns, int64_t end_ns)
{
    int64_t host_ns = call_ns >= 0 ? call_ns : UNKNOWN_NS;
    int64_t host_end_ns = call_ns >= 0 ? call_ns + 1000 : UNKNOWN_NS;
    struct op *op = device_op(run, 0, stream, host_ns, host_end_ns, start_ns, end_ns);
    op->tid = tid;
    return op;
}

static bool depends(const struct chakra_graph *g, size_t node, uint32_t on)
{
    for (uint32_t i = 0; i < g->list[node].ndeps; i++) {
        if (g->list[node].deps[i] == on)
            return true;
    }
    return false;
}

/* Every node after what it depends on; does `node` come after `on`, over others too? */
static bool reaches(const struct chakra_graph *g, size_t node, uint32_t on)
{
    for (uint32_t i = 0; i < g->list[node].ndeps; i++) {
        CHECK(g->list[node].deps[i] < node);
        if (g->list[node].deps[i] == on || reaches(g, g->list[node].deps[i], on))
            return true;
    }
    return false;
}

/* An operation, a record after it, a wait of another stream for that, and its operation: nodes
 * 0 call, 1 work, 2 record, 3 wait, 4 call, 5 work. */
TEST(chakra_event_between_streams)
{
    struct chakra_graph g;
    struct run run;
    device_run(&run, 1);
    add_op(&run, 0, 1, 1000, 3000, 9000);
    device_sync_call(&run, 0, SYNC_CALL_RECORD, 1, 5, 2500, 2600);
    device_sync_call(&run, 0, SYNC_CALL_WAIT, 2, 5, 2700, 2800);
    add_op(&run, 0, 2, 3000, 9500, 9900);
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
    device_run(&run, 1);
    add_op(&run, 0, 1, 1000, 3000, 9000);
    device_sync_call(&run, 0, SYNC_CALL_STREAM, 1, -1, 2500, 9000);
    add_op(&run, 0, 1, 9400, 10500, 11000);
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

/* A thread that begins stands after the latest node of another. */
TEST(chakra_threads)
{
    struct chakra_graph g;
    struct run run;
    device_run(&run, 1);
    add_op(&run, 0, 1, 1000, 3000, 4000);
    add_op(&run, 7, 2, 5000, 7000, 8000);
    add_op(&run, 0, 1, 6500, 9000, 9100);
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
    device_run(&run, 1);
    add_op(&run, 0, 1, -1, 1000, 2000);
    add_op(&run, 0, 1, -1, 2700, 3000);
    add_op(&run, 0, 1, -1, 3000, 3100);
    add_op(&run, 0, 1, 5000, UNKNOWN_NS, UNKNOWN_NS);
    run.ranks[0].ops[3].dur_ns = UNKNOWN_NS;
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
    size_t last = 0;
    device_run(&run, 1);
    for (int i = 0; i < STREAMS; i++)
        add_op(&run, 0, i, 1000 + 1000 * i, 2500 + 1000 * i, 50000 + 100 * i);
    device_sync_call(&run, 0, SYNC_CALL_DEVICE, -1, -1, 45000, 60000);
    add_op(&run, 0, 0, 61000, 63000, 64000);
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
    struct launches *l;
    device_run(&run, 1);
    l = rank_add_launches(&run.ranks[0]);
    *l = (struct launches){.host_ns = 2200, .host_end_ns = 2300, .count = 3, .stream = 1};
    add_op(&run, 0, 1, 1000, 3000, 9000);
    add_op(&run, 0, 1, 3000, 13000, 14000);
    chakra_graph_init(&g, &run, 0, untimed_ns);
    CHECK_INT((int64_t)g.count, 6); /* call, work, launch, kernels, call, work */
    CHECK(g.list[3].launches == run.ranks[0].launches && g.list[3].kind == CHAKRA_DEVICE);
    CHECK_INT(g.list[3].dur_ns, 4000);
    CHECK(depends(&g, 3, 2) && depends(&g, 3, 1) && depends(&g, 5, 3));
    CHECK_INT(g.list[2].dur_ns, 200);
    chakra_graph_release(&g);
    chakra_graph_init(&g, &run, 0, NULL);
    CHECK_INT((int64_t)g.count, 4);
    chakra_graph_release(&g);
    run_release(&run);
}

static void add_message(struct run *run, enum specter_comm_op what, int peer, int64_t call_ns)
{
    struct op *op = device_coll(add_op(run, 0, 1, call_ns, 5000, 9000), what, 0, 0, 4096);
    op->coll.group = 3;
    op->coll.peer = peer;
}

/* Messages of a group stand beside each other; one to the rank itself is none, but alone a time. */
TEST(chakra_group_of_messages)
{
    struct chakra_graph g;
    struct run run;
    const struct rank *rank;
    device_run(&run, 1);
    rank = &run.ranks[0];
    add_op(&run, 0, 1, 1000, 3000, 5000);
    device_comm(&run, "c", 0, 1, 2);
    add_message(&run, SPECTER_SEND, 0, 2000);
    add_message(&run, SPECTER_RECV, 0, 2000);
    add_message(&run, SPECTER_SEND, 1, 2000);
    add_message(&run, SPECTER_RECV, 1, 2000);
    add_op(&run, 0, 1, 4000, 9000, 9500);
    CHECK(chakra_alone(&run, rank, &rank->ops[1]) && !chakra_alone(&run, rank, &rank->ops[3]));
    chakra_graph_init(&g, &run, 0, NULL);
    CHECK_INT((int64_t)g.count, 11); /* 2 + 4 calls, 2 messages, join, 2 */
    CHECK(g.list[5].op == &rank->ops[3] && g.list[7].op == &rank->ops[4]);
    CHECK(depends(&g, 5, 1) && depends(&g, 7, 1) && !reaches(&g, 7, 5));
    CHECK(reaches(&g, 10, 5) && reaches(&g, 10, 7));
    chakra_graph_release(&g);
    run_release(&run);
}
