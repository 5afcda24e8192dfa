/* SPDX-License-Identifier: MIT
 *
 * Communication counted by hand: who shares a node, who came when, what moved between whom, and
 * what the model makes of it.
 */
#include "made_analysis.h"

/* `hosts`: of each rank; NULL: none is known. */
static void make_run(struct run *run, int ranks, const char *const *hosts)
{
    device_run_on(run, ranks, "", COVER_NCCL);
    for (int r = 0; r < ranks; r++)
        run->ranks[r].host = hosts != NULL ? hosts[r] : "";
    device_comm(run, "world", 0, 1, ranks);
}

static struct op *add(struct run *run, int rank, int comm, enum specter_comm_op which, int64_t seq,
                      int64_t start, int64_t end, uint64_t bytes)
{
    struct op *op = device_at(run, rank, start, end);
    return device_coll(op, which, comm, seq, bytes);
}

/* ---- places ---- */

static const char *const two_hosts[] = {"a", "a", "b", "b"};

TEST(places_by_hosts)
{
    struct run run;
    struct node_map p;
    make_run(&run, 4, two_hosts);
    int near = device_comm(&run, "near", 0, 1, 2);
    int far = device_comm(&run, "far", 0, 1, 3);
    run_finish(&run);
    node_map_init(&p, &run, NULL);
    CHECK_INT(p.by, NODE_MAP_HOSTS);
    CHECK_INT(p.nodes, 2);
    CHECK_INT(p.comms[0].nodes, 2);
    CHECK_INT(p.comms[0].per_node, 2);
    CHECK_DOUBLE(p.comms[0].across, 8 / 12.0, 1e-12); /* of 12 ordered pairs 4 are on a node */
    CHECK_INT(p.comms[near].nodes, 1);
    CHECK_DOUBLE(p.comms[near].across, 0, 0);
    CHECK_INT(p.comms[far].nodes, 2);
    CHECK_INT(p.comms[far].per_node, 2);
    CHECK_DOUBLE(p.comms[far].across, 4 / 6.0, 1e-12);
    CHECK_INT(node_map_across(&p, &run, 0, 1, -1), 0);
    CHECK_INT(node_map_across(&p, &run, 1, 2, -1), 1);
    CHECK_INT(node_map_across(&p, &run, 1, -1, -1), -1);
    node_map_release(&p);
    run_release(&run);
}

/* Containers with names of their own on one machine: NCCL knows better. */
TEST(places_believe_nccl_before_hosts)
{
    struct run run;
    struct node_map p;
    make_run(&run, 4, two_hosts);
    int pair = device_comm(&run, "pair", 0, 2, 2);
    run.comms[0].nodes = 1;
    run_finish(&run);
    node_map_init(&p, &run, NULL);
    CHECK_INT(p.by, NODE_MAP_UNKNOWN);
    CHECK_INT(p.comms[0].nodes, 1);
    CHECK_INT(p.comms[pair].nodes, 0);
    CHECK(isnan(p.comms[pair].across));
    CHECK_INT(node_map_across(&p, &run, 0, 3, 0), 0);
    CHECK_INT(node_map_across(&p, &run, 0, 2, pair), -1);
    node_map_release(&p);
    run_release(&run);
}

TEST(places_of_nccl_alone_are_even)
{
    struct run run;
    struct node_map p;
    make_run(&run, 8, NULL);
    run.comms[0].nodes = 2;
    run_finish(&run);
    node_map_init(&p, &run, NULL);
    CHECK_INT(p.by, NODE_MAP_UNKNOWN);
    CHECK_INT(p.comms[0].nodes, 2);
    CHECK_INT(p.comms[0].per_node, 4);
    CHECK_DOUBLE(p.comms[0].across, 4 / 7.0, 1e-12);
    node_map_release(&p);
    run_release(&run);
}

/* More nodes than members is damage. */
TEST(places_of_too_many_nodes)
{
    struct run run;
    struct node_map p;
    make_run(&run, 4, NULL);
    run.comms[0].nodes = 9;
    run_finish(&run);
    node_map_init(&p, &run, NULL);
    CHECK_INT(p.comms[0].nodes, 0);
    node_map_release(&p);
    run_release(&run);
}

TEST(places_by_the_machines_size)
{
    static const char *const some[] = {"", "a", "", "b"}, *const mixed[] = {"b", "a", "", "b"};
    static const struct {
        const char *const *hosts;
        int gpus;
        enum node_map_source by;
    } cases[] = {
        {NULL, 2, NODE_MAP_LAYOUT},  {some, 2, NODE_MAP_LAYOUT},
        {NULL, 0, NODE_MAP_UNKNOWN}, {some, 0, NODE_MAP_HOSTS}, /* what they tell, and no more */
        {mixed, 2, NODE_MAP_HOSTS},                             /* not in order */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run run;
        struct node_map p;
        make_run(&run, 4, cases[i].hosts);
        for (int r = 0; r < 4; r++)
            run.ranks[r].host_gpus = cases[i].gpus;
        run_finish(&run);
        node_map_init(&p, &run, NULL);
        CHECK_INT(p.by, cases[i].by);
        CHECK_INT(p.comms[0].nodes, cases[i].by == NODE_MAP_LAYOUT ? 2 : 0);
        CHECK_INT(node_map_across(&p, &run, 2, 3, -1), cases[i].by == NODE_MAP_LAYOUT ? 0 : -1);
        node_map_release(&p);
        run_release(&run);
    }
}

/* PyTorch counts the GPUs in sight of a process (CUDA_VISIBLE_DEVICES): one may be one of many. */
TEST(places_of_processes_that_see_one_gpu)
{
    static const char *const formats[] = {"kineto", "nsys"};
    for (size_t i = 0; i < 2; i++) {
        struct run run;
        struct node_map p;
        make_run(&run, 4, NULL);
        run.format = formats[i];
        for (int r = 0; r < 4; r++)
            run.ranks[r].host_gpus = 1;
        run_finish(&run);
        node_map_init(&p, &run, NULL);
        CHECK_INT(p.by, i == 0 ? NODE_MAP_UNKNOWN : NODE_MAP_LAYOUT);
        CHECK_INT(p.comms[0].nodes, i == 0 ? 0 : 4);
        node_map_release(&p);
        run_release(&run);
    }
}

/* 16 ranks that all say "a" cannot sit in one machine of 8. */
TEST(places_of_a_crowded_host)
{
    const char *hosts[16];
    struct run run;
    struct node_map p;
    for (int r = 0; r < 16; r++)
        hosts[r] = "a";
    make_run(&run, 16, hosts);
    run_finish(&run);
    node_map_init(&p, &run, network_profile_find("dgx_h100_400g", NULL));
    CHECK_INT(p.by, NODE_MAP_LAYOUT);
    CHECK_INT(p.per_node, 8);
    CHECK_INT(p.comms[0].nodes, 2);
    node_map_release(&p);
    node_map_init(&p, &run, NULL);
    CHECK_INT(p.by, NODE_MAP_HOSTS);
    CHECK_INT(p.comms[0].nodes, 1);
    node_map_release(&p);
    run_release(&run);
}

/* ---- meeting ---- */

/* Three ranks: starts 0, 60, 20; ends 100, 104, 98. */
static void made_timing(struct run *run)
{
    make_run(run, 3, NULL);
    add(run, 0, 0, SPECTER_ALLREDUCE, 0, 0, 100, 3000);
    add(run, 1, 0, SPECTER_ALLREDUCE, 0, 60, 104, 3000);
    add(run, 2, 0, SPECTER_ALLREDUCE, 0, 20, 98, 3000);
}

TEST(coll_timing_by_hand)
{
    struct run run;
    struct analysis a;
    made_timing(&run);
    device_analyze(&a, &run);
    const struct comm_instance *in = &a.comm.list[0];
    const struct coll_timing *m = &in->timing;
    CHECK_INT((int64_t)in->seq, 0);
    CHECK(in->consistent);
    CHECK_INT(m->last_start_ns - m->first_start_ns, 60);
    CHECK_INT(m->last_end_ns - m->first_end_ns, 6);
    CHECK_INT(m->first_rank, 0);
    CHECK_INT(m->last_rank, 1);
    CHECK_DOUBLE(m->arrive_wait_ns, (60 + 0 + 40) / 3.0, 1e-12);
    CHECK_DOUBLE(m->wait_max_ns, 100 - 44, 0);
    CHECK_DOUBLE(in->wait_ns, (100 + 44 + 78) / 3.0 - 44, 1e-12);
    CHECK_INT(in->transfer_ns, 44);
    CHECK_DOUBLE(alltoall_wall_ns(in), 104, 0);
    CHECK_DOUBLE(alltoall_moved_ns(in), 44, 0);
    const struct comm_row *row = &a.collectives.list[0];
    CHECK_DOUBLE(row->skew_ns, 60, 0);
    CHECK_DOUBLE(row->skew_max_ns, 60, 0);
    CHECK_DOUBLE(row->busy_ns, 100 + 44 + 78, 1e-12);
    CHECK_DOUBLE(row->share, 1, 0);
    device_done(&a, &run);
}

TEST(coll_timing_needs_comparable_clocks)
{
    struct run run;
    struct coll_timing m;
    static const struct match_member all[] = {{0, 0}, {1, 0}, {2, 0}};
    made_timing(&run);
    run_finish(&run);
    run.ranks[1].domain = 1;
    run.clock_aligned = false;
    coll_timing_init(&m, &run, all, 3);
    CHECK_INT(m.last_start_ns, UNKNOWN_NS);
    CHECK_INT(m.last_end_ns, UNKNOWN_NS);
    CHECK_INT(m.last_rank, RANK_UNKNOWN);
    CHECK(isnan(m.arrive_wait_ns));
    CHECK_DOUBLE(m.wait_max_ns, 56, 0); /* durations compare everywhere */
    coll_timing_init(&m, &run, (const struct match_member[]){{0, 0}, {2, 0}}, 2); /* of one clock */
    CHECK_INT(m.last_start_ns - m.first_start_ns, 20);
    run.clock_aligned = true;
    coll_timing_init(&m, &run, all, 3);
    CHECK_INT(m.last_start_ns - m.first_start_ns, 60);
    run_release(&run);
}

TEST(coll_timing_of_one_tells_nothing_of_others)
{
    struct run run;
    struct analysis a;
    make_run(&run, 2, NULL);
    add(&run, 0, 0, SPECTER_ALLREDUCE, 0, 5, 100, 64);
    device_analyze(&a, &run);
    const struct coll_timing *m = &a.comm.list[0].timing;
    CHECK_INT(m->first_start_ns, 5);
    CHECK_INT(m->last_start_ns, UNKNOWN_NS);
    CHECK_INT(m->first_rank, RANK_UNKNOWN);
    CHECK(isnan(m->wait_max_ns));
    CHECK(isnan(a.collectives.list[0].skew_ns));
    CHECK_INT((int64_t)a.collectives.list[0].compared, 0);
    device_done(&a, &run);
}

/* Nineteen transfers of 10 ns and one of 50: 95 % take no longer than 10. */
TEST(coll_timing_percentile_is_the_nearest_rank)
{
    struct run run;
    struct analysis a;
    make_run(&run, 1, NULL);
    for (int i = 0; i < 20; i++)
        add(&run, 0, 0, SPECTER_ALLREDUCE, i, 100 * i, 100 * i + (i == 7 ? 50 : 10), 64);
    device_analyze(&a, &run);
    CHECK_DOUBLE(a.collectives.list[0].p95_ns, 10, 0);
    CHECK_DOUBLE(a.collectives.list[0].max_ns, 50, 0);
    device_done(&a, &run);
}

static struct op *message(struct run *run, int src, int dst, int64_t seq, int64_t send_from,
                          int64_t send_to, int64_t recv_from, int64_t recv_to)
{
    struct op *op = add(run, src, 0, SPECTER_SEND, seq, send_from, send_to, 1000);
    op->coll.peer = dst;
    op = add(run, dst, 0, SPECTER_RECV, seq, recv_from, recv_to, 1000);
    op->coll.peer = src;
    return op;
}

TEST(pairs_by_hand)
{
    struct run run;
    struct analysis a;
    make_run(&run, 4, two_hosts);
    message(&run, 0, 1, 0, 0, 90, 60, 100);     /* the send ends before all is there: 40 */
    message(&run, 0, 1, 1, 200, 210, 300, 302); /* in buffers before the receive began: 10 */
    message(&run, 1, 2, 0, 400, 500, 390, 500); /* the receive waited: 100 */
    message(&run, 1, 2, 1, 450, 560, 450, 560); /* beside it: to 560, so 160 together */
    add(&run, 3, 0, SPECTER_SEND, 0, 0, 70, 1000)->coll.peer = 0; /* its receive is in no trace */
    device_analyze(&a, &run);
    CHECK_INT((int64_t)a.traffic.pairs.count, 3);
    const struct pair_row *p = a.traffic.pairs.list;
    CHECK_INT(p[0].src, 0);
    CHECK_INT(p[0].dst, 1);
    CHECK_INT(p[0].across, 0);
    CHECK_INT((int64_t)p[0].two_sided, 2);
    CHECK_DOUBLE(p[0].time_ns, 50, 0);
    CHECK_DOUBLE(p[0].bw_GBps, 2000 / 50.0, 1e-12);
    CHECK_INT(p[1].src, 1);
    CHECK_INT(p[1].dst, 2);
    CHECK_INT(p[1].across, 1);
    CHECK_DOUBLE(p[1].time_ns, 160, 0);
    CHECK_INT(p[2].src, 3);
    CHECK_INT(p[2].dst, 0);
    CHECK_INT((int64_t)p[2].count, 1);
    CHECK_INT((int64_t)p[2].two_sided, 0);
    CHECK_DOUBLE(p[2].time_ns, 70, 0);
    device_done(&a, &run);
}

/* Times on the sender's clock and on the receiver's say nothing of each other. */
TEST(pairs_on_two_clocks)
{
    static const char *const hosts[] = {"a", "b"};
    struct run run;
    struct analysis a;
    make_run(&run, 2, hosts);
    run.ranks[0].mono_ns = run.ranks[1].mono_ns = UNKNOWN_NS;
    message(&run, 0, 1, 0, 0, 100, 0, 0)->timing = SPECTER_TIMING_NONE;
    message(&run, 0, 1, 1, 1000, 1100, 50, 150);
    message(&run, 0, 1, 2, 60, 110, 0, 0)->timing = SPECTER_TIMING_NONE;
    device_analyze(&a, &run);
    CHECK(!run.clock_aligned);
    CHECK_INT((int64_t)a.traffic.pairs.count, 1);
    CHECK_INT((int64_t)a.traffic.pairs.list[0].two_sided, 1);
    CHECK_DOUBLE(a.traffic.pairs.list[0].time_ns, 110 + 100, 0);
    device_done(&a, &run);
}

TEST(pairs_without_a_common_clock)
{
    struct run run;
    struct coll_timing m;
    static const struct match_member ends[] = {{0, 0}, {1, 0}};
    make_run(&run, 2, NULL);
    message(&run, 0, 1, 0, 1000000, 1000040, 60, 100 + 60);
    run_finish(&run);
    run.ranks[1].domain = 1;
    run.clock_aligned = false;
    coll_timing_init(&m, &run, ends, 2);
    coll_timing_of_message(&m, &run, ends, 2);
    CHECK(m.two_sided);
    CHECK_INT(m.to_ns - m.from_ns, 40); /* the shorter one, */
    CHECK_INT(m.to_ns, 160);            /* on the receiver's clock */
    run_release(&run);
}

/* ---- traffic ---- */

TEST(traffic_wire_of_each_operation)
{
    static const struct {
        enum specter_comm_op op;
        double all, inter;
    } cases[] = {
        /* S = 800 on 8 ranks, 4 on each of 2 nodes; across: 32 of 56 ordered pairs */
        {SPECTER_ALLREDUCE, 11200, 2800},    /* each of 8 links carries 2 x 7/8 x 800; 2 cross */
        {SPECTER_ALLGATHER, 5600, 1400},     /* half of that */
        {SPECTER_REDUCESCATTER, 5600, 1400}, /* */
        {SPECTER_BROADCAST, 5600, 800},      /* a chain: 7 links of 800, one crosses */
        {SPECTER_REDUCE, 5600, 800},         /* */
        {SPECTER_ALLTOALL, 5600, 3200},      /* 56 messages of 100, 32 cross */
        {SPECTER_ALLTOALLV, 5600, 3200},     /* */
        {SPECTER_GATHER, 700, 400},          /* 7 of 100, 4 of them from the other node */
        {SPECTER_SCATTER, 700, 400},
    };
    struct comm_nodes two = {2, 4, 32 / 56.0}, one = {1, 8, 0}, unknown = {0, 0, NAN};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wire w = wire_of(cases[i].op, 800, 8, &two);
        CHECK_DOUBLE(w.all, cases[i].all, 1e-12);
        CHECK_DOUBLE(w.inter, cases[i].inter, 1e-12);
        w = wire_of(cases[i].op, 800, 8, &one);
        CHECK_DOUBLE(w.all, cases[i].all, 1e-12);
        CHECK_DOUBLE(w.inter, 0, 0);
        w = wire_of(cases[i].op, 800, 8, &unknown);
        CHECK_DOUBLE(w.all, cases[i].all, 1e-12);
        CHECK(isnan(w.inter));
        w = wire_of(cases[i].op, 800, 0, &unknown);
        CHECK(isnan(w.all));
        w = wire_of(cases[i].op, 800, 1, &(struct comm_nodes){1, 1, 0});
        CHECK_DOUBLE(w.all, 0, 0);
        CHECK_DOUBLE(w.inter, 0, 0);
    }
}

/* Two groups of two, each on a node, and the world on both; a message; a barrier without data; one
 * of an unknown operation. */
static void make_traffic(struct run *run)
{
    make_run(run, 4, two_hosts);
    int left = device_comm(run, "left", 0, 1, 2);
    int right = device_comm(run, "right", 2, 1, 2);
    run->comms[left].name = run->comms[right].name = "tp";
    for (int r = 0; r < 4; r++) {
        add(run, r, r < 2 ? left : right, SPECTER_ALLGATHER, 0, 0, 100 + r, 4096);
        add(run, r, 0, SPECTER_ALLREDUCE, 0, 200, 300, 6000);
        add(run, r, 0, SPECTER_ALLREDUCE, 1, 400, 500, 0); /* no data */
    }
    message(run, 1, 2, 0, 600, 700, 600, 700);
    struct op *odd = add(run, 3, 0, SPECTER_ALLREDUCE, -1, 800, 900, 0);
    odd->coll.op = SPECTER_COMM_OP_COUNT;
    odd->dtype = SPECTER_DTYPE_UNKNOWN;
    odd->flags |= OP_BYTES_UNKNOWN;
    odd->coll.comm = -1;
}

TEST(traffic_rows_by_hand)
{
    struct run run;
    struct analysis a;
    make_traffic(&run);
    device_analyze(&a, &run);
    const struct traffic *t = &a.traffic;
    CHECK_INT((int64_t)t->nrows, 4);
    CHECK_INT((int64_t)t->without_data, 1);
    const struct traffic_row *reduce = &t->rows[0], *gather = &t->rows[1], *send = &t->rows[2];
    CHECK_INT(reduce->op, SPECTER_ALLREDUCE);
    CHECK_INT((int64_t)reduce->sum.instances, 1);
    CHECK_INT((int64_t)reduce->sum.calls, 4);
    CHECK_DOUBLE(reduce->sum.bytes, 6000, 0);
    CHECK_DOUBLE(reduce->sum.wire_bytes, 36000, 1e-12);  /* 4 x 2 x 3/4 x 6000 */
    CHECK_DOUBLE(reduce->sum.inter_bytes, 18000, 1e-12); /* two of four links */
    CHECK_INT(reduce->nodes, 2);
    CHECK_INT(gather->op, SPECTER_ALLGATHER);
    CHECK_STR(gather->group, "tp");
    CHECK_INT((int64_t)gather->sum.instances, 2);
    CHECK_DOUBLE(gather->sum.bytes, 8192, 0);
    CHECK_DOUBLE(gather->sum.wire_bytes, 8192, 1e-12); /* 2 x 2 ranks x half of 4096 */
    CHECK_DOUBLE(gather->sum.inter_bytes, 0, 0);
    CHECK_DOUBLE(gather->sum.time_ns, 100 + 102, 0);
    CHECK_INT(gather->nodes, 1);
    CHECK_INT(send->op, SPECTER_SEND);
    CHECK_INT((int64_t)send->sum.calls, 2);
    CHECK_DOUBLE(send->sum.bytes, 1000, 0);
    CHECK_DOUBLE(send->sum.inter_bytes, 1000, 0);
    CHECK_INT(t->rows[3].op, SPECTER_COMM_OP_COUNT);
    CHECK_INT((int64_t)t->rows[3].sum.unsized, 1);
    device_done(&a, &run);
}

TEST(traffic_sizes_by_hand)
{
    struct run run;
    struct analysis a;
    make_traffic(&run);
    device_analyze(&a, &run);
    const struct traffic *t = &a.traffic;
    CHECK_INT((int64_t)t->nsizes, 4);
    CHECK_INT(t->sizes[0].op, SPECTER_ALLREDUCE);
    CHECK_INT(t->sizes[0].bin, 12); /* 4096 <= 6000 < 8192 */
    CHECK_INT(t->sizes[1].op, SPECTER_ALLGATHER);
    CHECK_INT(t->sizes[1].bin, 12); /* 4096 itself */
    CHECK_INT(t->sizes[2].bin, 9);  /* 512 <= 1000 */
    CHECK_INT(t->sizes[3].bin, -1);
    device_done(&a, &run);
}

TEST(traffic_groups_by_hand)
{
    struct run run;
    struct analysis a;
    make_traffic(&run);
    for (int r = 0; r < 4; r++) {
        for (int i = 0; i < 2; i++)
            device_step(&run, r, "s", 350 * i, 350 * i + 350);
    }
    device_analyze(&a, &run);
    CHECK_INT((int64_t)a.traffic.ngroups, 3);
    const struct group_row *world = &a.traffic.groups[0], *tp = &a.traffic.groups[1];
    CHECK_INT(world->comm_size, 4);
    CHECK_INT((int64_t)world->collectives, 2);
    CHECK_INT((int64_t)world->messages, 1);
    CHECK_DOUBLE(world->time_ns, (200 + 300 + 300 + 200) / 4.0, 0);
    CHECK_DOUBLE(world->time_max_ns, 300, 0);
    CHECK_INT(world->max_rank, 1);
    CHECK_DOUBLE(world->per_step, 1, 0); /* one in each of the two */
    CHECK_INT((int64_t)tp->comms, 2);
    CHECK_INT((int64_t)tp->ranks, 4);
    CHECK_DOUBLE(tp->time_ns, (100 + 101 + 102 + 103) / 4.0, 0);
    CHECK_INT(tp->max_rank, 3);
    CHECK_DOUBLE(tp->per_step, 0.5, 0);
    CHECK_DOUBLE(a.traffic.per_step, 1.5, 0);
    CHECK(isnan(a.traffic.groups[2].time_ns)); /* the one without a communicator */
    device_done(&a, &run);
}

/* Half of a communicator's ranks were traced: half of what leaves its GPUs. */
TEST(traffic_of_some_ranks_is_theirs)
{
    struct run run;
    struct analysis a;
    make_run(&run, 4, NULL);
    add(&run, 0, 0, SPECTER_ALLREDUCE, 0, 0, 100, 6000);
    add(&run, 1, 0, SPECTER_ALLREDUCE, 0, 0, 100, 6000);
    device_analyze(&a, &run);
    CHECK_DOUBLE(a.traffic.rows[0].sum.wire_bytes, 18000, 1e-12);
    CHECK(isnan(a.traffic.rows[0].sum.inter_bytes));
    device_done(&a, &run);
}

TEST(alltoallv_by_hand)
{
    struct run run;
    struct analysis a;
    make_run(&run, 2, NULL);
    add(&run, 0, 0, SPECTER_ALLTOALLV, 0, 0, 100, 3000);
    add(&run, 1, 0, SPECTER_ALLTOALLV, 0, 20, 120, 1000);
    add(&run, 0, 0, SPECTER_ALLTOALLV, 1, 200, 240, 500);
    add(&run, 1, 0, SPECTER_ALLTOALLV, 1, 200, 240, 500);
    device_analyze(&a, &run);
    CHECK_INT((int64_t)a.alltoalls.count, 1);
    const struct alltoall_row *x = &a.alltoalls.list[0];
    CHECK_INT((int64_t)x->instances, 2);
    CHECK_DOUBLE(x->bytes, 5000, 0);
    CHECK_DOUBLE(x->imbalance, (1.5 + 1) / 2, 1e-12);
    CHECK_DOUBLE(x->imbalance_max, 1.5, 1e-12);
    CHECK_DOUBLE(x->wall_ns, (120 + 40) / 2.0, 0);
    CHECK_DOUBLE(x->moved_ns, (100 + 40) / 2.0, 0);
    CHECK_DOUBLE(x->bw_GBps, 5000 / 160.0, 1e-12);
    /* S is what a rank sends on average: 2000 and 500; half of each goes to the other */
    CHECK_DOUBLE(a.traffic.rows[0].sum.bytes, 2500, 0);
    CHECK_DOUBLE(a.traffic.rows[0].sum.wire_bytes, 2500, 1e-12);
    device_done(&a, &run);
}

/* ---- what the model expects ---- */

#define RANKS 8
#define BYTES (64u << 20)

/* AllReduces in a DGX H100 that take `times` as long as the model says. */
static void make_measured(struct run *run, double times, const char *gpu)
{
    const char *hosts[RANKS];
    struct comm_cost cost = {0};
    struct err e;
    for (int r = 0; r < RANKS; r++)
        hosts[r] = "a";
    model_collective(gpu_profile_find("h100_sxm", &e), network_profile_find("dgx_h100_400g", &e),
                     SPECTER_ALLREDUCE, BYTES, (struct layout){RANKS, 1, RANKS}, &cost, &e);
    make_run(run, RANKS, hosts);
    for (int r = 0; r < RANKS; r++) {
        run->ranks[r].gpu = gpu;
        for (int i = 0; i < 3; i++)
            add(run, r, 0, SPECTER_ALLREDUCE, i, 10000000 * i,
                10000000 * i + (int64_t)(1e3 * cost.us * times), BYTES);
    }
}

TEST(expected_is_what_the_model_says)
{
    struct run run;
    struct analysis a;
    struct findings f;
    make_measured(&run, 4, MADE_H100);
    device_analyze(&a, &run);
    const struct comm_row *row = &a.collectives.list[0];
    CHECK_STR(a.machine.net->name, "dgx_h100_400g");
    CHECK_INT(a.machine.by, NETWORK_USUAL);
    CHECK_INT((int64_t)row->compared, 3);
    CHECK_DOUBLE(row->expected_ns * 4, row->median_ns, 1e-5);
    CHECK_DOUBLE(row->of_expected, 0.25, 1e-5);
    CHECK_DOUBLE(row->expected_busbw_GBps, 4 * row->busbw_GBps, 1e-5);
    /* The curve goes through the row's own expectation, with its interval, and on from there. */
    struct comm_expected at = comm_row_expected(&a.machine, row, (double)row->bytes);
    CHECK_DOUBLE(at.busbw_GBps, row->expected_busbw_GBps, 1e-5);
    CHECK_DOUBLE(at.factor80, row->factor80, 1e-9);
    CHECK(comm_row_expected(&a.machine, row, 1024).busbw_GBps < at.busbw_GBps);
    CHECK(expected_error(&a.machine, false) > 0 && expected_error(&a.machine, false) < 0.1);
    CHECK(isnan(expected_error(&a.machine, true))); /* messages were not measured there */
    findings_init(&f, &a);
    CHECK_HAS(finding_text(&f, "slow_collective"), "AllReduce of 64 MiB over 8 ranks");
    CHECK_HAS(finding_text(&f, "slow_collective"), "25 % of the");
    findings_release(&f);
    device_done(&a, &run);
}

TEST(expected_is_met)
{
    struct run run;
    struct analysis a;
    struct findings f;
    make_measured(&run, 1.9, MADE_H100);
    device_analyze(&a, &run);
    findings_init(&f, &a);
    CHECK_STR(finding_text(&f, "slow_collective"), "");
    findings_release(&f);
    device_done(&a, &run);
}

/* There is no expected time where a rank is missing (it may have been waited for), in groups, on
 * unknown hardware, and for ranks of unknown nodes. */
TEST(expected_needs_all_that_it_rests_on)
{
    for (int without = 0; without < 5; without++) {
        struct run run;
        struct analysis a;
        struct findings f;
        make_measured(&run, 10, without == 0 ? MADE_H100 : "unknown GPU");
        for (int r = 0; r < RANKS && without > 0; r++)
            run.ranks[r].gpu = without == 1 ? "" : MADE_H100;
        if (without == 2)
            run.ranks[3].nops = 0;
        for (int r = 0; r < RANKS; r++) {
            if (without == 3)
                run.ranks[r].host = "";
            for (size_t i = 0; i < run.ranks[r].nops && without == 4; i++)
                run.ranks[r].ops[i].coll.group = 1;
        }
        device_analyze(&a, &run);
        CHECK_INT((int64_t)a.collectives.list[0].compared, without == 0 ? 3 : 0);
        CHECK(isnan(a.collectives.list[0].of_expected) == (without > 0));
        findings_init(&f, &a);
        CHECK((finding_text(&f, "slow_collective")[0] != '\0') == (without == 0));
        findings_release(&f);
        device_done(&a, &run);
    }
}

TEST(expected_on_the_network_that_the_user_names)
{
    struct run run;
    struct analysis a;
    struct err e;
    make_measured(&run, 1, "");
    run_finish(&run);
    const struct gpu_profile *gpu = gpu_profile_find("h100_sxm", &e);
    const struct network_profile *net = network_profile_find("dgx_h100_400g", &e);
    CHECK_INT(analysis_init_on(&a, &run, ANALYSIS_ALL_RANKS, gpu, net, &e), 0);
    CHECK_INT(a.machine.by, NETWORK_TOLD);
    CHECK_DOUBLE(a.collectives.list[0].of_expected, 1, 1e-5);
    device_done(&a, &run);
}

TEST(expected_of_mixed_gpus_is_not_known)
{
    struct run run;
    struct analysis a;
    make_measured(&run, 1, MADE_H100);
    run.ranks[2].gpu = "NVIDIA A100-SXM4-80GB";
    device_analyze(&a, &run);
    CHECK(a.machine.mixed && a.machine.gpu == NULL && a.machine.net == NULL);
    CHECK(isnan(a.collectives.list[0].of_expected));
    device_done(&a, &run);
}

/* ---- sheets ---- */

TEST(instances_in_json_are_bounded)
{
    struct run run;
    struct analysis a;
    make_run(&run, 1, NULL);
    for (int i = 0; i < 10005; i++)
        add(&run, 0, 0, SPECTER_ALLREDUCE, i, 10 * i, 10 * i + 5, 64);
    device_analyze(&a, &run);
    for (int full = 0; full < 2; full++) {
        a.all_rows = full;
        cJSON *doc = analysis_json(&a);
        const cJSON *list = cJSON_GetObjectItem(doc, "collective_instances");
        const cJSON *all = cJSON_GetArrayItem(cJSON_GetObjectItem(doc, "communication"), 0);
        CHECK_INT(cJSON_GetArraySize(list), 10000);
        CHECK_INT(cJSON_GetObjectItem(all, "collectives")->valueint, 10005);
        CHECK_DOUBLE(cJSON_GetObjectItem(cJSON_GetArrayItem(list, 9), "start_us")->valuedouble,
                     0.09, 1e-12);
        cJSON_Delete(doc);
    }
    device_done(&a, &run);
}
