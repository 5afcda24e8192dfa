/* SPDX-License-Identifier: MIT */
#include "model/nccl_tuner.h"
#include "nccl_topos.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define KIB 1024.0
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

struct tuned {
    struct nccl_comm comm;
    struct nccl_tuning tuning;
};

static struct tuned tune(struct nccl_topo topo, struct layout where, enum specter_comm_op op)
{
    struct tuned t;
    nccl_comm_init(&topo, where, &t.comm);
    CHECK(nccl_tune(&t.comm, op, &nccl_any, &t.tuning));
    return t;
}

static struct nccl_choice choose(const struct tuned *t, double bytes)
{
    struct nccl_choice c = {0};
    CHECK(nccl_choose(&t->comm, &t->tuning, bytes, &c));
    return c;
}

/* All of it; false when the choice is refused. */
static bool pick(const struct nccl_topo *topo, struct layout where, enum specter_comm_op op,
                 double bytes, const struct nccl_allowed *allowed, struct nccl_choice *out)
{
    struct tuned t;
    nccl_comm_init(topo, where, &t.comm);
    return nccl_tune(&t.comm, op, allowed, &t.tuning) &&
           nccl_choose(&t.comm, &t.tuning, bytes, out);
}

static enum nccl_why why(const struct tuned *t, enum nccl_algo a, enum nccl_proto p)
{
    return t->tuning.of[a][p].why;
}

struct tuner_case {
    enum nccl_algo algo;
    enum nccl_proto proto;
    double lat_us, bw_GBps;
};

static void check_vectors(const struct tuned *t, const struct tuner_case *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct nccl_estimate *e = &t->tuning.of[v[i].algo][v[i].proto];
        CHECK(e->why == NCCL_ON);
        CHECK(fabs(e->lat_us - v[i].lat_us) <= 0.1);
        CHECK(fabs(e->bw_GBps - v[i].bw_GBps) <= 0.1);
    }
}

TEST(nccl_tuner_h100_node)
{
    static const struct tuner_case all_reduce[] = {
        {NCCL_RING, NCCL_LL, 15.0, 80.6},      {NCCL_RING, NCCL_LL128, 40.6, 189.3},
        {NCCL_RING, NCCL_SIMPLE, 56.0, 205.7}, {NCCL_TREE, NCCL_LL, 15.2, 43.6},
        {NCCL_TREE, NCCL_LL128, 31.5, 128.8},  {NCCL_TREE, NCCL_SIMPLE, 64.4, 165.6},
        {NCCL_NVLS, NCCL_SIMPLE, 25, 272.0},
    };
    static const struct tuner_case all_gather[] = {{NCCL_RING, NCCL_SIMPLE, 32.2, 411.4}};
    struct tuned ar = tune(topo_h100(), layout_of(1, 8), SPECTER_ALLREDUCE);
    struct tuned ag = tune(topo_h100(), layout_of(1, 8), SPECTER_ALLGATHER);
    check_vectors(&ar, all_reduce, sizeof all_reduce / sizeof *all_reduce);
    check_vectors(&ag, all_gather, 1);
}

TEST(nccl_tuner_four_h100_nodes)
{
    static const struct tuner_case all_reduce[] = {
        {NCCL_RING, NCCL_LL, 78.8, 10.5},       {NCCL_RING, NCCL_LL128, 144.4, 151.5},
        {NCCL_RING, NCCL_SIMPLE, 282.8, 185.8}, {NCCL_TREE, NCCL_LL, 35.2, 10.2},
        {NCCL_TREE, NCCL_LL128, 65.5, 116.0},   {NCCL_TREE, NCCL_SIMPLE, 120.4, 144.0},
    };
    struct tuned ar = tune(topo_h100(), layout_of(4, 8), SPECTER_ALLREDUCE);
    check_vectors(&ar, all_reduce, sizeof all_reduce / sizeof *all_reduce);
}

TEST(nccl_tuner_picks_by_size_on_a_h100_node)
{
    struct tuned t = tune(topo_h100(), layout_of(1, 8), SPECTER_ALLREDUCE);
    for (double bytes = KIB; bytes <= MIB; bytes *= 2) {
        struct nccl_choice c = choose(&t, bytes);
        CHECK(c.algo == NCCL_RING && c.proto == NCCL_LL);
    }
    for (double bytes = 16 * MIB; bytes <= 8 * GIB; bytes *= 2)
        CHECK(choose(&t, bytes).algo == NCCL_NVLS);
    CHECK(fabs(choose(&t, 16 * MIB).us - 86.7) <= 0.1);
    CHECK(fabs(choose(&t, GIB).us - 3972.6) <= 0.1);
    CHECK_INT(choose(&t, GIB).channels, 16);
}

/* Generations differ: what they choose, in words that do not depend on the last digit. */
TEST(nccl_tuner_picks_between_nodes)
{
    struct tuned h100 = tune(topo_h100(), layout_of(4, 8), SPECTER_ALLREDUCE);
    struct tuned a100 = tune(topo_a100(), layout_of(4, 8), SPECTER_ALLREDUCE);
    struct tuned gather = tune(topo_h100(), layout_of(4, 8), SPECTER_ALLGATHER);
    CHECK(choose(&h100, 8 * KIB).algo == NCCL_TREE);
    CHECK(choose(&h100, 8 * KIB).proto == NCCL_LL);
    CHECK(choose(&h100, 4 * MIB).proto == NCCL_LL128);
    CHECK(choose(&h100, GIB).algo == NCCL_NVLS_TREE);
    CHECK(choose(&a100, GIB).algo == NCCL_RING);
    CHECK(choose(&a100, GIB).proto == NCCL_SIMPLE);
    CHECK(choose(&gather, GIB).algo == NCCL_RING);
}

static double b200_bw(enum nccl_algo a, enum nccl_proto p, int nodes)
{
    struct tuned t = tune(topo_b200(), layout_of(nodes, 8), SPECTER_ALLREDUCE);
    return t.tuning.of[a][p].bw_GBps * 14 / 8; /* bus bandwidth on one node */
}

TEST(nccl_tuner_b200_nvls_is_bound_by_its_speed)
{
    CHECK_DOUBLE(b200_bw(NCCL_NVLS, NCCL_SIMPLE, 1), 720, 1e-9);
    CHECK_DOUBLE(b200_bw(NCCL_RING, NCCL_SIMPLE, 1), 720, 1e-9);
    CHECK_DOUBLE(b200_bw(NCCL_RING, NCCL_LL128, 1), 640, 1e-9); /* 16 x 40 */
}

TEST(nccl_tuner_broadcast_is_rings_only)
{
    struct tuned t = tune(topo_h100(), layout_of(1, 8), SPECTER_BROADCAST);
    CHECK(why(&t, NCCL_TREE, NCCL_LL) == NCCL_NOT_FOR_OP);
    CHECK(why(&t, NCCL_NVLS, NCCL_SIMPLE) == NCCL_NOT_FOR_OP);
    CHECK_DOUBLE(t.tuning.of[NCCL_RING][NCCL_SIMPLE].lat_us, 8.4 + 3.4, 1e-9); /* a pipeline */
    CHECK_DOUBLE(t.tuning.of[NCCL_RING][NCCL_SIMPLE].bw_GBps, 360, 1e-9);
    t = tune(topo_h100(), layout_of(2, 8), SPECTER_REDUCE);
    CHECK_DOUBLE(t.tuning.of[NCCL_RING][NCCL_SIMPLE].lat_us, 8.4 + 16 * 14, 1e-9);
}

TEST(nccl_tuner_refuses_what_nccl_has_no_estimate_for)
{
    struct nccl_topo h100 = topo_h100();
    struct nccl_tuning tuning;
    struct nccl_comm comm;
    nccl_comm_init(&h100, layout_of(1, 8), &comm);
    CHECK(!nccl_tune(&comm, SPECTER_ALLTOALL, &nccl_any, &tuning));
    CHECK(!nccl_tune(&comm, SPECTER_SEND, &nccl_any, &tuning));
}

TEST(nccl_tuner_gates_of_nvls)
{
    struct nccl_topo sharp = topo_h100();
    struct tuned t = tune(topo_a100(), layout_of(1, 8), SPECTER_ALLREDUCE);
    CHECK(why(&t, NCCL_NVLS, NCCL_SIMPLE) == NCCL_NO_NVLS);
    t = tune(topo_h100(), layout_of(2, 8), SPECTER_ALLREDUCE);
    CHECK(why(&t, NCCL_NVLS, NCCL_SIMPLE) == NCCL_NO_SHARP);
    CHECK(why(&t, NCCL_NVLS_TREE, NCCL_SIMPLE) == NCCL_ON);
    CHECK(why(&t, NCCL_NVLS_TREE, NCCL_LL) == NCCL_NO_PROTO);
    CHECK(why(&t, NCCL_COLLNET_DIRECT, NCCL_SIMPLE) == NCCL_NO_SHARP);
    t = tune(topo_h100(), layout_of(1, 8), SPECTER_ALLREDUCE);
    CHECK(why(&t, NCCL_NVLS_TREE, NCCL_SIMPLE) == NCCL_ONE_NODE);
    sharp.sharp = true;
    t = tune(sharp, layout_of(2, 8), SPECTER_ALLREDUCE);
    CHECK(why(&t, NCCL_NVLS, NCCL_SIMPLE) == NCCL_ON);
    CHECK(why(&t, NCCL_COLLNET_DIRECT, NCCL_SIMPLE) == NCCL_ON);
    sharp.gpus = sharp.nics = 72;
    t = tune(sharp, layout_of(1, 72), SPECTER_ALLGATHER);
    CHECK(why(&t, NCCL_NVLS, NCCL_SIMPLE) == NCCL_NODE_TOO_BIG);
    t = tune(sharp, layout_of(2, 72), SPECTER_ALLREDUCE);
    CHECK(why(&t, NCCL_COLLNET_CHAIN, NCCL_SIMPLE) == NCCL_NODE_TOO_BIG);
}

TEST(nccl_tuner_sharp_is_chosen_for_large_reductions)
{
    struct nccl_topo sharp = topo_h100();
    sharp.sharp = true;
    struct tuned with = tune(sharp, layout_of(16, 8), SPECTER_ALLREDUCE);
    struct tuned without = tune(topo_h100(), layout_of(16, 8), SPECTER_ALLREDUCE);
    CHECK(choose(&with, GIB).algo == NCCL_NVLS);
    CHECK(choose(&with, GIB).us < choose(&without, GIB).us);
}

TEST(nccl_tuner_gates_of_ll128)
{
    struct nccl_topo tcp = topo_h100();
    struct tuned t =
        tune(topo_pcie(NCCL_PCIE, NCCL_CPU_AMD, 8), layout_of(1, 8), SPECTER_ALLREDUCE);
    CHECK(why(&t, NCCL_RING, NCCL_LL128) == NCCL_LL128_PATH);
    t = tune(topo_h100(), layout_of(2, 8), SPECTER_ALLREDUCE); /* over NVLink to the NIC's GPU */
    CHECK(why(&t, NCCL_RING, NCCL_LL128) == NCCL_ON);
    t = tune(topo_a100(), layout_of(2, 8), SPECTER_ALLREDUCE);
    CHECK(why(&t, NCCL_RING, NCCL_LL128) == NCCL_ON);
    tcp.gdr = false;
    t = tune(tcp, layout_of(2, 8), SPECTER_ALLREDUCE);
    CHECK(why(&t, NCCL_RING, NCCL_LL128) == NCCL_LL128_PATH);
    t = tune(tcp, layout_of(1, 8), SPECTER_ALLREDUCE);
    CHECK(why(&t, NCCL_RING, NCCL_LL128) == NCCL_ON);
    t = tune(topo_nvswitch(60, 72, 12, 12.5), layout_of(1, 8), SPECTER_ALLREDUCE);
    CHECK(why(&t, NCCL_RING, NCCL_LL128) == NCCL_LL128_GPU);
}

TEST(nccl_tuner_gate_of_pat)
{
    struct tuned t = tune(topo_h100(), layout_of(4, 8), SPECTER_ALLGATHER);
    CHECK(why(&t, NCCL_PAT, NCCL_SIMPLE) == NCCL_GPUS_PER_NODE);
    t = tune(topo_h100(), layout_of(16, 1), SPECTER_REDUCESCATTER);
    CHECK(why(&t, NCCL_PAT, NCCL_SIMPLE) == NCCL_ON);
    CHECK_DOUBLE(t.tuning.of[NCCL_PAT][NCCL_SIMPLE].lat_us, 8 + 4 * 14 / 3.5 + 16 * 2.8, 1e-9);
    t = tune(topo_h100(), layout_of(16, 1), SPECTER_ALLREDUCE);
    CHECK(why(&t, NCCL_PAT, NCCL_SIMPLE) == NCCL_NOT_FOR_OP);
}

TEST(nccl_tuner_settings_force_a_choice)
{
    struct nccl_allowed allowed;
    struct nccl_choice c;
    struct nccl_topo h100 = topo_h100();
    CHECK(nccl_allowed_parse("tree", "Simple", &allowed));
    CHECK(pick(&h100, layout_of(1, 8), SPECTER_ALLREDUCE, GIB, &allowed, &c));
    CHECK(c.algo == NCCL_TREE && c.proto == NCCL_SIMPLE);
    CHECK(nccl_allowed_parse("^NVLS,NVLSTree", NULL, &allowed));
    CHECK(pick(&h100, layout_of(1, 8), SPECTER_ALLREDUCE, GIB, &allowed, &c));
    CHECK(c.algo == NCCL_RING);
    CHECK(nccl_allowed_parse("PAT", NULL, &allowed));
    CHECK(!pick(&h100, layout_of(1, 8), SPECTER_ALLREDUCE, GIB, &allowed, &c));
    CHECK(!nccl_allowed_parse("Trees", NULL, &allowed));
    CHECK(!nccl_allowed_parse(NULL, "LL,LL64", &allowed));
    CHECK(nccl_allowed_parse(NULL, NULL, &allowed));
    CHECK(memcmp(&allowed, &nccl_any, sizeof allowed) == 0);
}

TEST(nccl_tuner_naming_ll128_switches_it_on)
{
    struct nccl_allowed allowed;
    struct nccl_choice c;
    struct nccl_topo pcie = topo_pcie(NCCL_PCIE, NCCL_CPU_AMD, 8);
    CHECK(nccl_allowed_parse(NULL, "LL128", &allowed));
    CHECK(pick(&pcie, layout_of(1, 8), SPECTER_ALLREDUCE, MIB, &allowed, &c));
    CHECK(c.proto == NCCL_LL128);
}

TEST(nccl_tuner_networks_come_with_settings)
{
    struct nccl_topo p4d = topo_a100(), p5 = topo_h100(), mega = topo_h100();
    p4d.net = p5.net = NCCL_NET_EFA;
    mega.net = NCCL_NET_TCPXO;
    struct tuned t = tune(p4d, layout_of(2, 8), SPECTER_ALLREDUCE);
    CHECK(why(&t, NCCL_TREE, NCCL_LL) == NCCL_PRESET_OFF);
    CHECK(choose(&t, 8).proto == NCCL_SIMPLE);
    t = tune(p4d, layout_of(1, 8), SPECTER_ALLREDUCE);
    CHECK(choose(&t, 8).proto == NCCL_LL);
    t = tune(p5, layout_of(2, 8), SPECTER_ALLREDUCE);
    CHECK(choose(&t, 8).proto == NCCL_LL);
    t = tune(mega, layout_of(2, 8), SPECTER_ALLREDUCE);
    CHECK(why(&t, NCCL_NVLS_TREE, NCCL_SIMPLE) == NCCL_PRESET_OFF);
    CHECK(choose(&t, 8).proto == NCCL_LL128);
}

/* A tuner plugin's rule: trees for AllReduces up to a size, rings for all else, Simple. */
TEST(nccl_tuner_a_table_chooses_by_size)
{
    static const struct tuner_row rows[] = {
        {.op = "AllReduce", .max_bytes = 256 * KIB, .algo = "tree", .proto = "Simple"},
        {.algo = "ring", .proto = "Simple"},
    };
    struct nccl_topo topo = topo_h100();
    topo.tuner = rows;
    topo.ntuner = 2;
    for (int nodes = 1; nodes <= 8; nodes *= 2) {
        struct tuned t = tune(topo, layout_of(nodes, 8), SPECTER_ALLREDUCE);
        CHECK(choose(&t, 256 * KIB).algo == NCCL_TREE);
        CHECK(choose(&t, 256 * KIB + 1).algo == NCCL_RING);
        CHECK(choose(&t, GIB).algo == NCCL_RING);
        CHECK(choose(&t, 8).proto == NCCL_SIMPLE);
        CHECK(choose(&t, 8).by_tuner);
        t = tune(topo, layout_of(nodes, 8), SPECTER_ALLGATHER);
        CHECK(choose(&t, 8).algo == NCCL_RING);
        CHECK(choose(&t, GIB).algo == NCCL_RING);
    }
    struct nccl_allowed rings;
    struct nccl_choice c;
    CHECK(nccl_allowed_parse("Ring", "LL", &rings));
    CHECK(pick(&topo, layout_of(1, 8), SPECTER_ALLREDUCE, 8, &rings, &c));
    CHECK(c.algo == NCCL_RING && c.proto == NCCL_LL && !c.by_tuner);
}

TEST(nccl_tuner_a_table_chooses_by_ranks)
{
    static const struct tuner_row rows[] = {
        {.op = "AllGather", .ranks_per_node = 8, .algo = "pat", .proto = "Simple"},
        {.op = "AllReduce",
         .min_ranks = 32,
         .max_ranks = 64,
         .min_bytes = MIB,
         .ranks_per_node = 8,
         .channels = 5,
         .algo = "ring",
         .proto = "LL"},
    };
    struct nccl_topo topo = topo_h100(), plain = topo_h100();
    struct tuned t;
    topo.tuner = rows;
    topo.ntuner = 2;
    const struct {
        int nodes, per_node;
        double bytes;
        bool by_table;
    } cases[] = {{4, 8, MIB, true},  {8, 8, GIB, true},  {4, 8, MIB - 1, false},
                 {3, 8, MIB, false}, {9, 8, MIB, false}, {8, 4, MIB, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct layout where = layout_of(cases[i].nodes, cases[i].per_node);
        t = tune(topo, where, SPECTER_ALLREDUCE);
        struct nccl_choice c = choose(&t, cases[i].bytes);
        CHECK(c.by_tuner == cases[i].by_table);
        if (cases[i].by_table) {
            CHECK(c.algo == NCCL_RING && c.proto == NCCL_LL && c.channels == 5 && c.us > 0);
            continue;
        }
        t = tune(plain, where, SPECTER_ALLREDUCE);
        struct nccl_choice own = choose(&t, cases[i].bytes);
        CHECK(c.algo == own.algo && c.proto == own.proto && c.channels == own.channels);
    }
    /* PAT is for one rank a node: NCCL cannot do what the row says. */
    t = tune(topo, layout_of(2, 8), SPECTER_ALLGATHER);
    CHECK(choose(&t, MIB).algo == NCCL_RING && !choose(&t, MIB).by_tuner);
}

TEST(nccl_tuner_a_users_settings_replace_the_networks)
{
    struct nccl_allowed allowed;
    struct nccl_choice c;
    struct nccl_topo p4d = topo_a100();
    p4d.net = NCCL_NET_EFA;
    CHECK(nccl_allowed_parse(NULL, "LL", &allowed));
    CHECK(pick(&p4d, layout_of(2, 8), SPECTER_ALLREDUCE, 8, &allowed, &c));
    CHECK(c.proto == NCCL_LL);
}

TEST(nccl_tuner_candidates_agree_with_the_choice)
{
    struct nccl_candidate all[NCCL_ALGOS * NCCL_PROTOS];
    struct tuned t = tune(topo_h100(), layout_of(2, 8), SPECTER_ALLREDUCE);
    for (double bytes = 8; bytes <= 8 * GIB; bytes *= 2) {
        struct nccl_choice c = choose(&t, bytes);
        nccl_candidates(&t.comm, &t.tuning, bytes, all);
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            CHECK(all[i].why == NCCL_ON ? all[i].us >= c.us : all[i].us == HUGE_VAL);
            CHECK((all[i].why == NCCL_ON) == (nccl_why_text[all[i].why][0] == '\0'));
            if (all[i].algo == c.algo && all[i].proto == c.proto)
                CHECK_DOUBLE(all[i].us, c.us, 0);
        }
    }
}

TEST(nccl_tuner_tree_correction_by_size)
{
    struct nccl_candidate all[NCCL_ALGOS * NCCL_PROTOS];
    struct tuned t = tune(topo_h100(), layout_of(4, 8), SPECTER_ALLREDUCE);
    double plain = t.tuning.of[NCCL_TREE][NCCL_LL].bw_GBps;
    static const struct {
        double bytes, share;
    } at[] = {{32, 1}, {64, 1}, {KIB, .9}, {2 * KIB - 1, .9}, {512 * KIB, .4}, {GIB, 1}};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        nccl_candidates(&t.comm, &t.tuning, at[i].bytes, all);
        CHECK_DOUBLE(all[0].bw_GBps, plain * at[i].share, 1e-9);
    }
}

TEST(nccl_tuner_ring_plateau)
{
    struct nccl_candidate all[NCCL_ALGOS * NCCL_PROTOS];
    const struct nccl_candidate *simple = &all[NCCL_RING * NCCL_PROTOS + NCCL_SIMPLE];
    struct tuned t = tune(topo_h100(), layout_of(2, 8), SPECTER_ALLREDUCE);
    double lat = t.tuning.of[NCCL_RING][NCCL_SIMPLE].lat_us, from = 64 * 16 * 16;
    nccl_candidates(&t.comm, &t.tuning, from - 1, all);
    CHECK_DOUBLE(simple->lat_us, lat, 0);
    nccl_candidates(&t.comm, &t.tuning, from, all);
    CHECK_DOUBLE(simple->lat_us, 1.4 * lat, 1e-12);
    t = tune(topo_h100(), layout_of(1, 8), SPECTER_ALLREDUCE);
    nccl_candidates(&t.comm, &t.tuning, GIB, all);
    CHECK_DOUBLE(simple->lat_us, t.tuning.of[NCCL_RING][NCCL_SIMPLE].lat_us, 0);
}

TEST(nccl_tuner_cpu_vendor_matters_between_nodes)
{
    struct nccl_topo amd = topo_h100();
    amd.cpu = NCCL_CPU_AMD;
    struct tuned t = tune(amd, layout_of(2, 8), SPECTER_ALLREDUCE);
    CHECK_DOUBLE(t.tuning.of[NCCL_RING][NCCL_LL].bw_GBps, 22.5 * 16 / 30, 1e-9);
    CHECK_DOUBLE(t.tuning.of[NCCL_RING][NCCL_LL].lat_us, 6.6 + 28 * 2.0 + 2 * 2.7, 1e-9);
    t = tune(topo_h100(), layout_of(2, 8), SPECTER_ALLREDUCE);
    CHECK_DOUBLE(t.tuning.of[NCCL_RING][NCCL_LL].bw_GBps, 39.0 * 16 / 30, 1e-9);
    CHECK_DOUBLE(t.tuning.of[NCCL_RING][NCCL_LL].lat_us, 6.6 + 28 * 1.0 + 2 * 2.7, 1e-9);
}

TEST(nccl_tuner_one_rank)
{
    struct nccl_choice c;
    struct nccl_topo h100 = topo_h100();
    CHECK(pick(&h100, layout_of(1, 1), SPECTER_ALLREDUCE, MIB, &nccl_any, &c));
    CHECK(c.algo == NCCL_RING && c.proto == NCCL_SIMPLE);
    CHECK_DOUBLE(c.us, 0, 0);
}

TEST(nccl_tuner_few_bytes_use_few_channels)
{
    struct tuned t = tune(topo_h100(), layout_of(1, 8), SPECTER_ALLREDUCE);
    CHECK_INT(nccl_channels(&t.comm, NCCL_RING, NCCL_LL, 8), 1);
    CHECK_INT(nccl_channels(&t.comm, NCCL_RING, NCCL_LL, 3 * 512 * 8 * 8), 3);
    CHECK_INT(nccl_channels(&t.comm, NCCL_RING, NCCL_SIMPLE, 3 * 512 * 64), 3);
    CHECK_INT(nccl_channels(&t.comm, NCCL_TREE, NCCL_LL128, 3 * 640 * 8), 3);
    CHECK_INT(nccl_channels(&t.comm, NCCL_RING, NCCL_SIMPLE, GIB), 24);
}

static double ring_us(const struct tuned *t, enum nccl_proto p, double bytes)
{
    struct nccl_candidate all[NCCL_ALGOS * NCCL_PROTOS];
    nccl_candidates(&t->comm, &t->tuning, bytes, all);
    return all[NCCL_RING * NCCL_PROTOS + p].us;
}

/* On a ring, more bytes never take less time, nor more nodes less latency. (Trees have NCCL's
 * corrections, which rise and fall.) */
TEST(nccl_tuner_laws_of_rings)
{
    static const enum specter_comm_op ops[] = {SPECTER_ALLREDUCE, SPECTER_ALLGATHER,
                                               SPECTER_BROADCAST};
    struct nccl_topo topos[] = {topo_a100(), topo_h100(), topo_b200()};
    for (size_t i = 0; i < 3 * 3; i++) {
        double lat = 0;
        for (int nodes = 2; nodes <= 1024; nodes *= 2) {
            struct tuned t = tune(topos[i / 3], layout_of(nodes, 8), ops[i % 3]);
            const struct nccl_estimate *e = &t.tuning.of[NCCL_RING][NCCL_SIMPLE];
            CHECK(e->lat_us > lat && isfinite(e->lat_us));
            CHECK(e->bw_GBps > 0 && e->bw_GBps <= 2 * topos[i / 3].link_GBps);
            for (double bytes = 8; bytes < 8 * GIB; bytes *= 2)
                CHECK(ring_us(&t, NCCL_SIMPLE, bytes) <= ring_us(&t, NCCL_SIMPLE, 2 * bytes));
            lat = e->lat_us;
        }
    }
}

TEST(nccl_tuner_mi300x_is_rccl)
{
    struct tuned node = tune(topo_mi300x(), layout_of(1, 8), SPECTER_ALLREDUCE);
    struct tuned two = tune(topo_mi300x(), layout_of(2, 8), SPECTER_ALLREDUCE);
    struct tuned gather = tune(topo_mi300x(), layout_of(4, 8), SPECTER_ALLGATHER);
    CHECK(why(&node, NCCL_TREE, NCCL_SIMPLE) == NCCL_RCCL_OFF);
    CHECK(why(&node, NCCL_NVLS, NCCL_SIMPLE) == NCCL_NO_NVLS);
    CHECK(why(&gather, NCCL_PAT, NCCL_SIMPLE) == NCCL_RCCL_NO_PAT);
    CHECK_DOUBLE(node.tuning.of[NCCL_RING][NCCL_SIMPLE].lat_us, 17 + 14 * 2.1, 1e-9);
    CHECK_DOUBLE(node.tuning.of[NCCL_RING][NCCL_SIMPLE].bw_GBps, 336 * 8.0 / 14, 1e-9);
    CHECK(choose(&node, 64 * KIB).proto == NCCL_LL);
    CHECK(choose(&node, 64 * MIB).algo == NCCL_RING);
    CHECK(choose(&node, 64 * MIB).proto == NCCL_SIMPLE);
    CHECK(choose(&two, 4 * MIB).proto == NCCL_LL128); /* set by size, not by estimate */
    CHECK(choose(&two, GIB).proto == NCCL_SIMPLE);
    CHECK(choose(&gather, 32 * 98304).proto == NCCL_LL);
    CHECK(choose(&gather, 32 * 98304 + 32).proto == NCCL_LL128);
}

TEST(nccl_tuner_rccl_leaves_a_named_protocol)
{
    struct nccl_allowed allowed;
    struct nccl_choice c;
    struct nccl_topo mi300x = topo_mi300x();
    CHECK(nccl_allowed_parse(NULL, "LL,Simple", &allowed));
    CHECK(pick(&mi300x, layout_of(2, 8), SPECTER_ALLGATHER, 16 * MIB, &allowed, &c));
    CHECK(c.proto != NCCL_LL128);
}

/* ---- versions ---- */

static struct tuned tune_old(int version, struct nccl_topo topo, int nodes, enum specter_comm_op op)
{
    topo.version = version;
    return tune(topo, layout_of(nodes, 8), op);
}

/* Returns whether they are equal, or says which case differs. */
static bool is_near(size_t i, double value, double wanted)
{
    if (fabs(value - wanted) <= 0.1)
        return true;
    printf("# case %zu: %.2f, not %.2f\n", i, value, wanted);
    return false;
}

TEST(nccl_tuner_versions_have_their_algorithms)
{
    static const struct {
        int first; /* version that has it */
        enum specter_comm_op op;
        enum nccl_algo algo;
        int nodes, per_node;
    } cases[] = {
        {21700, SPECTER_ALLREDUCE, NCCL_NVLS, 1, 8},
        {21800, SPECTER_ALLREDUCE, NCCL_NVLS_TREE, 4, 8},
        {21900, SPECTER_ALLGATHER, NCCL_NVLS, 1, 8},
        {22000, SPECTER_ALLGATHER, NCCL_COLLNET_DIRECT, 4, 8},
        {22300, SPECTER_REDUCESCATTER, NCCL_PAT, 4, 1},
    };
    struct nccl_topo topo = topo_h100();
    struct nccl_allowed named;
    struct nccl_choice c;
    CHECK(nccl_allowed_parse("Ring", "LL128", &named));
    topo.sharp = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct layout where = layout_of(cases[i].nodes, cases[i].per_node);
        topo.version = cases[i].first - 1;
        struct tuned before = tune(topo, where, cases[i].op);
        CHECK(why(&before, cases[i].algo, NCCL_SIMPLE) == NCCL_TOO_OLD);
        topo.version = cases[i].first;
        struct tuned since = tune(topo, where, cases[i].op);
        CHECK(why(&since, cases[i].algo, NCCL_SIMPLE) == NCCL_ON);
    }
    /* LL128 came to GPUs one after the other; where it is named it is on. */
    const struct {
        int cc, first;
    } gpus[] = {{90, 0}, {100, 22500}, {86, 22700}};
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
        topo.cc = gpus[i].cc;
        topo.version = 22400;
        struct tuned before = tune(topo, layout_of(1, 8), SPECTER_ALLREDUCE);
        CHECK(why(&before, NCCL_RING, NCCL_LL128) ==
              (gpus[i].first == 0 ? NCCL_ON : NCCL_LL128_OLD));
        CHECK(pick(&topo, layout_of(1, 8), SPECTER_ALLREDUCE, MIB, &named, &c));
        topo.version = gpus[i].first;
        struct tuned since = tune(topo, layout_of(1, 8), SPECTER_ALLREDUCE);
        CHECK(why(&since, NCCL_RING, NCCL_LL128) == NCCL_ON);
    }
}

/* By hand from the formulas of each version, on both sides of each change. */
TEST(nccl_tuner_versions_have_their_estimates)
{
    enum { AR = SPECTER_ALLREDUCE, AG = SPECTER_ALLGATHER };
    static const struct {
        int version;
        bool blackwell;
        int nodes, per_node, op;
        enum nccl_algo algo;
        enum nccl_proto proto;
        double lat_us, bw_GBps;
    } cases[] = {
        {22005, false, 1, 8, AR, NCCL_RING, NCCL_LL, 15, 87.7 * 8 / 14},
        {22203, false, 1, 8, AR, NCCL_RING, NCCL_LL, 15, 141 * 8 / 14.0},
        {22005, false, 2, 1, AR, NCCL_RING, NCCL_LL, 15.4, 48 / 4.0},
        {22005, false, 2, 1, AG, NCCL_RING, NCCL_LL, 9.3, 48 / 3.0 * 2},
        {22203, false, 2, 1, AG, NCCL_RING, NCCL_LL, 9.3, 48 / 2.0 * 2},
        {22303, false, 2, 1, AG, NCCL_RING, NCCL_LL, 11.6, 48 / 2.0 * 2},
        {22203, false, 2, 1, AR, NCCL_RING, NCCL_LL128, 25, 48 * .7},
        {22303, false, 2, 1, AR, NCCL_RING, NCCL_LL128, 31, 48 * .92},
        {22203, false, 2, 8, AR, NCCL_RING, NCCL_LL, 6.6 + 26 * 1 + 4 * 2.7, 20.8},
        {22303, false, 2, 8, AR, NCCL_RING, NCCL_LL, 6.6 + 28 * 1 + 2 * 2.7, 20.8},
        {22203, false, 4, 8, AR, NCCL_TREE, NCCL_SIMPLE, 2 * 9 * 28, 144},
        {22303, false, 4, 8, AR, NCCL_TREE, NCCL_SIMPLE, 8.4 + 2 * (7 * 4 + 2 * 14), 144},
        {22005, false, 1, 8, AR, NCCL_NVLS, NCCL_SIMPLE, 23, 8 * 40 * 5 / 6.0},
        {22703, false, 1, 8, AR, NCCL_NVLS, NCCL_SIMPLE, 25, 8 * 40 * 5 / 6.0},
        {22803, false, 1, 8, AR, NCCL_NVLS, NCCL_SIMPLE, 25, 272},
        {22203, false, 1, 8, AG, NCCL_NVLS, NCCL_SIMPLE, 25, 8 * 40 * 5 / 6.0},
        {22303, false, 1, 8, AG, NCCL_NVLS, NCCL_SIMPLE, 25, 8 * 40},
        {22703, false, 1, 8, AG, NCCL_NVLS, NCCL_SIMPLE, 25, 8 * 40 * 7 / 8.0},
        {22503, false, 2, 8, AG, NCCL_COLLNET_DIRECT, NCCL_SIMPLE, 44, 8 * 48 * .85},
        {22703, false, 2, 8, AG, NCCL_COLLNET_DIRECT, NCCL_SIMPLE, 44, 8 * 48 * .9},
        {22005, false, 4, 8, AR, NCCL_NVLS_TREE, NCCL_SIMPLE, 23 + 4 * 14, 192 * 5 / 6.0},
        {22703, false, 4, 8, AR, NCCL_NVLS_TREE, NCCL_SIMPLE, 25 + 4 * 14, 192 * 5 / 6.0},
        {22803, false, 4, 8, AR, NCCL_NVLS_TREE, NCCL_SIMPLE, 25 + 4 * 14, 187.87},
        {22807, false, 4, 8, AR, NCCL_NVLS_TREE, NCCL_SIMPLE, 25 + 4 * 20.9, 187.87},
        {22803, true, 4, 8, AR, NCCL_NVLS_TREE, NCCL_SIMPLE, 81, 8 * 43.1 * 32 / 62},
        {22907, true, 4, 8, AR, NCCL_NVLS_TREE, NCCL_SIMPLE, 108.6, 8 * 43.8 * 32 / 62},
        {23000, true, 4, 8, AR, NCCL_NVLS_TREE, NCCL_SIMPLE, 108.6, 8 * 48 * 32 / 62.0},
        {22703, true, 2, 8, AR, NCCL_TREE, NCCL_SIMPLE, 92.4, 316.48},
        {22803, true, 2, 8, AR, NCCL_TREE, NCCL_SIMPLE, 92.4, 8 * 42.8 / 2},
        {22703, true, 2, 8, AR, NCCL_TREE, NCCL_LL128, 48.5, 8 * 73.4 / 2},
        {22803, true, 2, 8, AR, NCCL_TREE, NCCL_LL128, 48.5, 8 * 31.67 / 2},
        {22803, true, 2, 8, AR, NCCL_RING, NCCL_LL128, 75.2, 8 * 48 * .92 * 16 / 30},
        {22807, true, 2, 8, AR, NCCL_RING, NCCL_LL128, 75.2, 8 * 34.6 * 16 / 30},
        {22902, true, 1, 8, AG, NCCL_RING, NCCL_LL128, 27.3, 16 * 34.5 * 8 / 7},
        {22907, true, 1, 8, AG, NCCL_RING, NCCL_LL128, 27.3, 16 * 40 * 8 / 7.0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nccl_topo topo = cases[i].blackwell ? topo_b200() : topo_h100();
        topo.version = cases[i].version;
        topo.sharp = cases[i].algo == NCCL_COLLNET_DIRECT;
        struct tuned t = tune(topo, layout_of(cases[i].nodes, cases[i].per_node),
                              (enum specter_comm_op)cases[i].op);
        const struct nccl_estimate *e = &t.tuning.of[cases[i].algo][cases[i].proto];
        CHECK(is_near(i, e->lat_us, cases[i].lat_us));
        CHECK(is_near(i, e->bw_GBps, cases[i].bw_GBps));
    }
    /* Before 2.28 large AllReduces of four nodes went around rings. */
    struct tuned t = tune_old(22703, topo_h100(), 4, SPECTER_ALLREDUCE);
    CHECK(choose(&t, 4 * GIB).algo == NCCL_RING);
    t = tune_old(22803, topo_h100(), 4, SPECTER_ALLREDUCE);
    CHECK(choose(&t, 4 * GIB).algo == NCCL_NVLS_TREE);
}

/* NCCL's correction of trees ends at 256 MiB, that of NVLSTree, which Blackwell has since 2.29, at
 * 512 MiB. */
TEST(nccl_tuner_corrections_end)
{
    struct nccl_candidate all[NCCL_ALGOS * NCCL_PROTOS];
    static const struct {
        int version;
        enum nccl_algo algo;
        double bytes, share;
    } cases[] = {
        {23000, NCCL_TREE, 512 * MIB - 1, .9},  {23000, NCCL_TREE, 512 * MIB, 1},
        {22803, NCCL_NVLS_TREE, 512 * MIB, 1},  {22907, NCCL_NVLS_TREE, 512 * MIB, .9},
        {22907, NCCL_NVLS_TREE, 1024 * MIB, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tuned t = tune_old(cases[i].version, topo_b200(), 4, SPECTER_ALLREDUCE);
        nccl_candidates(&t.comm, &t.tuning, cases[i].bytes, all);
        CHECK(is_near(i, all[cases[i].algo * NCCL_PROTOS + NCCL_SIMPLE].bw_GBps,
                      cases[i].share * t.tuning.of[cases[i].algo][NCCL_SIMPLE].bw_GBps));
    }
}

static bool same_estimates(const struct tuned *a, const struct tuned *b)
{
    for (int i = 0; i < NCCL_ALGOS * NCCL_PROTOS; i++) {
        const struct nccl_estimate *x = &a->tuning.of[i / NCCL_PROTOS][i % NCCL_PROTOS];
        const struct nccl_estimate *y = &b->tuning.of[i / NCCL_PROTOS][i % NCCL_PROTOS];
        if (x->why != y->why || x->lat_us != y->lat_us || x->bw_GBps != y->bw_GBps)
            return false;
    }
    return true;
}

TEST(nccl_tuner_newest_is_what_no_version_says)
{
    for (int nodes = 1; nodes <= 8; nodes *= 2) {
        struct tuned none = tune_old(0, topo_b200(), nodes, SPECTER_ALLREDUCE);
        struct tuned newest = tune_old(23007, topo_b200(), nodes, SPECTER_ALLREDUCE);
        struct tuned later = tune_old(29900, topo_b200(), nodes, SPECTER_ALLREDUCE);
        CHECK(same_estimates(&none, &newest));
        CHECK(same_estimates(&none, &later));
    }
}

/* RCCL's versions follow NCCL's, but its tuner is its own. */
TEST(nccl_tuner_rccl_has_no_versions)
{
    struct tuned none = tune_old(0, topo_mi300x(), 2, SPECTER_ALLREDUCE);
    struct tuned old = tune_old(21803, topo_mi300x(), 2, SPECTER_ALLREDUCE);
    CHECK(same_estimates(&none, &old));
}

/* The values of NCCL's formula, evaluated apart. */
TEST(nccl_symmetric_takes_the_kernel_that_nccl_would)
{
    static const struct {
        bool blackwell;
        double bytes;
        const char *kernel;
        int blocks;
        double us;
    } cases[] = {
        {false, 8 * KIB, "LL multicast", 5, 5.73}, {true, 8 * KIB, "LL multicast", 7, 11.86},
        {false, MIB, "multicast", 1, 9.45},        {true, MIB, "multicast", 2, 20.33},
        {false, 64 * MIB, "multicast", 2, 153.3},  {true, 64 * MIB, "multicast", 3, 88.82},
        {false, GIB, "multicast", 2, 2350.6},      {true, GIB, "multicast", 3, 1143.7},
    };
    struct nccl_symmetric k;
    struct tuned t;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t = tune(cases[i].blackwell ? topo_b200() : topo_h100(), layout_of(1, 8),
                 SPECTER_ALLREDUCE);
        CHECK(nccl_symmetric(&t.comm, SPECTER_ALLREDUCE, cases[i].bytes, &k));
        CHECK_STR(k.kernel, cases[i].kernel);
        CHECK_INT(k.blocks, cases[i].blocks);
        CHECK(fabs(k.us / cases[i].us - 1) < 1e-3);
    }
    t = tune(topo_a100(), layout_of(1, 8), SPECTER_ALLGATHER); /* no multicast */
    CHECK(nccl_symmetric(&t.comm, SPECTER_ALLGATHER, GIB, &k));
    CHECK_STR(k.kernel, "stores");
    CHECK(!nccl_symmetric(&t.comm, SPECTER_ALLGATHER, 64 * GIB, &k));
    CHECK(!nccl_symmetric(&t.comm, SPECTER_BROADCAST, MIB, &k));
    t = tune_old(22699, topo_h100(), 1, SPECTER_ALLREDUCE);
    CHECK(!nccl_symmetric(&t.comm, SPECTER_ALLREDUCE, MIB, &k));
    t = tune(topo_h100(), layout_of(2, 8), SPECTER_ALLREDUCE);
    CHECK(!nccl_symmetric(&t.comm, SPECTER_ALLREDUCE, MIB, &k));
}
