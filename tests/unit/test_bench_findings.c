/* SPDX-License-Identifier: MIT
 *
 * Each rule on a log that was made with its fault, and on one of a sound machine.
 */
#include "bench/findings.h"
#include "made_bench.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

struct judged {
    struct bench_result result;
    struct bench_study study;
    struct bench_finding findings[BENCH_FINDINGS_MAX];
    size_t n;
};

static void judge_run(struct judged *j, const struct made_bench *m)
{
    bench_study_init(&j->study, &j->result.runs[0], m->op, m->where, gpu_profile_find(m->gpu, NULL),
                     network_profile_find(m->network, NULL));
    j->n = bench_findings(&j->study, j->findings);
}

static void judge(struct judged *j, const struct made_bench *m)
{
    bench_result_init(&j->result);
    made_run(&j->result, m);
    judge_run(j, m);
}

static void release(struct judged *j)
{
    bench_study_release(&j->study);
    bench_result_release(&j->result);
}

static const char *first_name(const struct judged *j)
{
    return j->n > 0 ? j->findings[0].name : "nothing";
}

static bool names(const struct judged *j, const char *name)
{
    for (size_t i = 0; i < j->n; i++) {
        if (strcmp(j->findings[i].name, name) == 0)
            return true;
    }
    return false;
}

/* ---- faults ---- */

static void with_4_nics(struct made_bench *m)
{
    m->is.nics_per_node = 4;
}

static void with_1_nic(struct made_bench *m)
{
    m->is.nics_per_node = 1;
}

static void over_tcp(struct made_bench *m)
{
    m->is.inter = "ethernet";
    m->is.nics_per_node = 1;
    m->is.nic_Gbps = 25;
}

/* As much leaves a node as its host memory passes on. */
static void without_gdr(struct made_bench *m)
{
    const struct gpu_profile *gpu = gpu_profile_find(m->gpu, NULL);
    struct network_profile staged = m->is;
    struct node_params node;
    staged.intra = "pcie_shm";
    node = params_node(gpu, &staged);
    m->is.nic_Gbps = 8 * params_host_GBps(gpu, &staged, &node) / m->is.nics_per_node;
}

static void over_pcie(struct made_bench *m)
{
    m->is.intra = "pcie";
    m->is.intra_GBps = m->is.pair_GBps = gpu_profile_find(m->gpu, NULL)->pcie_GBps;
}

static void without_p2p(struct made_bench *m)
{
    over_pcie(m);
    m->is.intra = "pcie_shm";
}

static void without_nvls(struct made_bench *m)
{
    m->no_nvls = true;
}

static void with_ll(struct made_bench *m)
{
    m->forced.proto = "LL";
}

static void with_simple(struct made_bench *m)
{
    m->forced.proto = "Simple";
}

static void with_ll128(struct made_bench *m)
{
    m->forced.proto = "LL128";
}

static void with_tree(struct made_bench *m)
{
    m->forced.algo = "tree";
}

static void with_latency(struct made_bench *m)
{
    m->add_us = 60;
}

static void twice_as_slow(struct made_bench *m)
{
    m->factor = 2;
}

static void on_slow_links(struct made_bench *m)
{
    m->bytes_factor = 2.2;
}

static const struct fault_case {
    const char *name, *text; /* of the first finding */
    enum specter_comm_op op;
    int nodes;
    void (*make)(struct made_bench *m);
} cases[] = {
    {"nics", "as if 4 of 8 NICs carried traffic.", SPECTER_ALLGATHER, 2, with_4_nics},
    {"nics", "as if 1 of 8 NICs carried traffic.", SPECTER_ALLREDUCE, 2, with_1_nic},
    {"tcp", "over TCP at 25 Gb/s", SPECTER_ALLREDUCE, 2, over_tcp},
    {"no_gdr", "without GPUDirect RDMA", SPECTER_ALLREDUCE, 4, without_gdr},
    {"pcie", "over PCIe instead of NVLink", SPECTER_ALLREDUCE, 1, over_pcie},
    {"host_memory", "without P2P", SPECTER_ALLREDUCE, 1, without_p2p},
    {"no_nvls", "as if NVLS were off", SPECTER_ALLREDUCE, 1, without_nvls},
    {"proto", "NCCL_PROTO=LL were set", SPECTER_ALLREDUCE, 2, with_ll},
    {"proto", "NCCL_PROTO=Simple were set", SPECTER_ALLREDUCE, 2, with_simple},
    {"proto", "NCCL_PROTO=LL128 were set", SPECTER_ALLREDUCE, 2, with_ll128},
    {"algo", "NCCL_ALGO=Tree were set", SPECTER_ALLREDUCE, 2, with_tree},
    {"latency", "us longer than predicted", SPECTER_ALLREDUCE, 2, with_latency},
    {"slower", "each call takes 2 times as long", SPECTER_ALLREDUCE, 1, twice_as_slow},
    {"bandwidth", "links give 0.4", SPECTER_REDUCESCATTER, 1, on_slow_links},
};

#define CASES (sizeof cases / sizeof *cases)

TEST(bench_findings_name_the_fault)
{
    for (size_t i = 0; i < CASES; i++) {
        const struct fault_case *c = &cases[i];
        struct made_bench m = made_bench(c->op, c->nodes);
        struct judged j;
        c->make(&m);
        judge(&j, &m);
        CHECK_STR(first_name(&j), c->name);
        CHECK_HAS(j.n > 0 ? j.findings[0].text : "", c->text);
        release(&j);
    }
}

/* The same machines without the fault, and one that is a tenth slower than predicted. */
TEST(bench_findings_of_a_sound_machine_are_none)
{
    for (size_t i = 0; i < CASES; i++) {
        struct made_bench m = made_bench(cases[i].op, cases[i].nodes);
        struct judged j;
        for (m.factor = 1; m.factor < 1.15; m.factor += 0.1) {
            judge(&j, &m);
            CHECK_STR(first_name(&j), "nothing");
            CHECK_INT(j.study.count[BENCH_NORMAL], j.study.nmain);
            release(&j);
        }
    }
}

/* Times of a busy machine scatter: TCP is still far nearer than anything else. */
TEST(bench_findings_name_a_fault_roughly)
{
    struct made_bench m = made_bench(SPECTER_ALLREDUCE, 2);
    struct judged j;
    over_tcp(&m);
    bench_result_init(&j.result);
    made_run(&j.result, &m);
    for (size_t i = 0; i < j.result.runs[0].nrows; i++)
        j.result.runs[0].rows[i].time_us *= i % 2 == 0 ? 1.4 : i % 3 == 0 ? 0.7 : 1;
    judge_run(&j, &m);
    CHECK_STR(first_name(&j), "tcp");
    CHECK(j.findings[0].rough);
    CHECK_HAS(j.findings[0].text, ": roughly as if data went over TCP at 25 Gb/s");
    release(&j);
}

/* Within a node no NIC is blamed, between nodes of one GPU no NVLink. */
TEST(bench_findings_blame_only_what_is_used)
{
    static const char *const between[] = {"nics", "no_gdr", "tcp"};
    struct made_bench m = made_bench(SPECTER_ALLREDUCE, 1);
    struct judged j;
    m.bytes_factor = 8;
    judge(&j, &m);
    for (size_t i = 0; i < sizeof between / sizeof *between; i++)
        CHECK(!names(&j, between[i]));
    release(&j);
    m = made_bench(SPECTER_ALLREDUCE, 2);
    m.where = (struct layout){2, 2, 1};
    m.bytes_factor = 8;
    judge(&j, &m);
    CHECK(!names(&j, "pcie") && !names(&j, "host_memory"));
    release(&j);
}

/* ---- rules that look at the rows ---- */

TEST(bench_findings_wrong_results_come_first)
{
    struct made_bench m = made_bench(SPECTER_ALLREDUCE, 2);
    struct judged j;
    with_1_nic(&m);
    bench_result_init(&j.result);
    made_run(&j.result, &m)->rows[5].wrong = 3;
    judge_run(&j, &m);
    CHECK_STR(first_name(&j), "wrong");
    CHECK_HAS(j.findings[0].text, "1 of 24 measurements gave wrong results");
    CHECK_INT(j.study.count[BENCH_WRONG], 1);
    CHECK(names(&j, "nics")); /* what is slow is told, too */
    release(&j);
}

TEST(bench_findings_one_size_alone)
{
    struct made_bench m = made_bench(SPECTER_ALLREDUCE, 2);
    struct judged j;
    bench_result_init(&j.result);
    made_run(&j.result, &m)->rows[13].time_us *= 3;
    judge_run(&j, &m);
    CHECK_INT(j.n, 1);
    CHECK_STR(first_name(&j), "one_size");
    CHECK_HAS(j.findings[0].text, "8 MiB alone is slow");
    release(&j);

    bench_result_init(&j.result); /* the last size has no neighbour after it */
    made_run(&j.result, &m)->rows[23].time_us *= 3;
    judge_run(&j, &m);
    CHECK(!names(&j, "one_size"));
    release(&j);
}

/* One size in ten lies outside of the interval on any machine. */
TEST(bench_findings_two_slow_sizes_of_24_are_normal)
{
    struct made_bench m = made_bench(SPECTER_ALLREDUCE, 2);
    struct judged j;
    for (int slow = 2; slow <= 3; slow++) {
        bench_result_init(&j.result);
        made_run(&j.result, &m);
        for (int i = 0; i < slow; i++)
            j.result.runs[0].rows[3 + 5 * i].time_us *= 1.3;
        judge_run(&j, &m);
        CHECK_INT(j.study.count[BENCH_SLOW], slow);
        CHECK(bench_study_is_sound(&j.study) == (slow == 2));
        CHECK_STR(first_name(&j), slow == 2 ? "nothing" : "no_single_fault");
        release(&j);
    }
}

/* Paths that NCCL names count where sizes are slow, and only those that the profile's machine would
 * not take. */
TEST(bench_findings_what_nccl_says)
{
    static const struct bench_paths sound = {
        .p2p = 9, .net = 4, .gdr = 4, .nics = 8, .network = "IB"};
    static const struct bench_paths bad = {.host = 9, .net = 4, .nics = 1, .network = "Socket"};
    for (int i = 0; i < 3; i++) {
        struct made_bench m = made_bench(SPECTER_ALLREDUCE, 2);
        struct judged j;
        if (i < 2)
            with_1_nic(&m);
        bench_result_init(&j.result);
        made_run(&j.result, &m)->paths = i == 0 ? sound : bad;
        judge_run(&j, &m);
        CHECK_STR(first_name(&j), i == 0 ? "nics" : i == 1 ? "nccl_says" : "nothing");
        if (i == 1)
            CHECK_HAS(j.findings[0].text,
                      "TCP sockets, no RDMA; it uses 1 NIC of 8; no path between nodes has "
                      "GPUDirect RDMA; GPUs of a node reach each other through host memory");
        release(&j);
    }
}

TEST(bench_findings_gpus_differ)
{
    struct made_bench m = made_bench(SPECTER_ALLREDUCE, 1);
    struct judged j;
    bench_result_init(&j.result);
    made_run(&j.result, &m)->gpu = "NVIDIA H100";
    j.result.runs[0].other_gpu = "NVIDIA H20";
    judge_run(&j, &m);
    CHECK_STR(first_name(&j), "other_gpu");
    CHECK_HAS(j.findings[0].text, "NVIDIA H100 and NVIDIA H20");
    release(&j);
}

TEST(bench_findings_one_rank)
{
    struct made_bench m = made_bench(SPECTER_ALLREDUCE, 1);
    struct judged j;
    m.where = (struct layout){1, 1, 1};
    judge(&j, &m);
    CHECK(names(&j, "one_rank"));
    release(&j);
}

/* A setting that the log tells is judged by itself: the rows are as slow as it makes them. */
TEST(bench_findings_what_a_setting_costs)
{
    static const char *const values[] = {"LL", "Simple,LL,LL128"};
    for (int i = 0; i < 2; i++) {
        struct made_bench m = made_bench(SPECTER_ALLREDUCE, 2);
        struct judged j;
        if (i == 0)
            with_ll(&m);
        bench_result_init(&j.result);
        made_run(&j.result, &m);
        bench_setting_add(&j.result, &j.result.runs[0], "NCCL_PROTO", values[i]);
        judge_run(&j, &m);
        CHECK_INT(j.study.count[BENCH_NORMAL], j.study.nmain);
        CHECK_STR(first_name(&j), i == 0 ? "forced" : "nothing");
        release(&j);
    }
}

TEST(bench_findings_in_place_alone)
{
    struct made_bench m = made_bench(SPECTER_ALLREDUCE, 2);
    struct bench_run *run;
    struct judged j;
    bench_result_init(&j.result);
    run = made_run(&j.result, &m);
    for (size_t i = 0; i < 24; i++) {
        struct bench_row row = run->rows[i];
        row.in_place = true;
        row.time_us *= i == 20 ? 2 : 1;
        *bench_row_add(run) = row;
    }
    judge_run(&j, &m);
    CHECK_INT(j.study.nmain, 24);
    CHECK_STR(first_name(&j), "in_place");
    CHECK_HAS(j.findings[0].text, "1 of 24 sizes is slow");
    release(&j);
}

TEST(bench_findings_faster_than_the_profile)
{
    struct made_bench m = made_bench(SPECTER_ALLREDUCE, 2);
    struct judged j;
    m.factor = 0.5;
    judge(&j, &m);
    CHECK_STR(first_name(&j), "faster");
    CHECK_INT(j.study.count[BENCH_FAST], j.study.nmain);
    release(&j);
}

/* A few times are explained by many faults. */
TEST(bench_findings_few_sizes_name_no_fault)
{
    struct made_bench m = made_bench(SPECTER_ALLREDUCE, 2);
    struct judged j;
    with_1_nic(&m);
    m.first = m.last = (uint64_t)1 << 30;
    judge(&j, &m);
    CHECK_STR(first_name(&j), "no_single_fault");
    CHECK_HAS(j.findings[0].text, "so few sizes");
    release(&j);
}

/* ---- shapes ---- */

TEST(bench_shapes)
{
    static const struct {
        const char *slow; /* a letter a row: s slow, n normal */
        enum bench_shape shape;
        size_t first, last;
    } forms[] = {
        {"nnnn", BENCH_SHAPE_NONE, 0, 0},  {"ssss", BENCH_SHAPE_ALL, 0, 3},
        {"nnss", BENCH_SHAPE_LARGE, 2, 3}, {"sssn", BENCH_SHAPE_SMALL, 0, 2},
        {"nssn", BENCH_SHAPE_SPAN, 1, 2},  {"nsns", BENCH_SHAPE_MIXED, 1, 3},
        {"snns", BENCH_SHAPE_MIXED, 0, 3},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct bench_judged rows[4] = {{0}};
        const struct bench_study s = {.rows = rows, .nrows = 4, .nmain = 4};
        size_t first = 0, last = 0;
        for (int k = 0; k < 4; k++)
            rows[k].verdict = forms[i].slow[k] == 's' ? BENCH_SLOW : BENCH_NORMAL;
        CHECK_INT(bench_shape_of(&s, BENCH_SLOW, &first, &last), forms[i].shape);
        CHECK_INT(first, forms[i].first);
        CHECK_INT(last, forms[i].last);
    }
}
