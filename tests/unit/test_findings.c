/* SPDX-License-Identifier: MIT
 *
 * Findings of runs that were counted by hand: which there are, their order and words.
 */
#include "made_analysis.h"

TEST(findings_flag_gemms_above_the_peak)
{
    struct run run;
    struct analysis a;
    struct findings f;
    device_world(&run, 1);
    run.ranks[0].gpu = MADE_H100;
    device_product(&run, 0, 0, 1000, 1000); /* 2e9 flop in 1 us: 2000 TFLOPS */
    device_analyze(&a, &run);
    findings_init(&f, &a);
    CHECK_HAS(finding_text(&f, "gemm_peak"),
              "1 shape runs faster than the dense peak (1000x1000x1000: 2000.0 of");
    findings_release(&f);
    device_done(&a, &run);
}

TEST(findings_in_order_and_words)
{
    struct run run;
    struct analysis a;
    struct findings f;
    device_world(&run, 2); /* 20 compute, 20 transfer, 40 idle; rank 0 waits 20, rank 1 idles */
    device_work(&run, 0, OP_KERNEL, 0, 20);
    device_work(&run, 1, OP_KERNEL, 0, 20);
    device_reduce(&run, 0, 0, 60, 40, 64);
    device_reduce(&run, 1, 0, 80, 20, 64);
    device_analyze(&a, &run);
    findings_init(&f, &a);
    CHECK_STR(f.list[0].rule, "idle");
    CHECK_DOUBLE(f.list[0].value, 0.50, 1e-12);
    CHECK_HAS(f.list[0].text, "Host-bound: GPUs are idle 50 % of the recording");
    CHECK_STR(f.list[1].rule, "exposed_comm");
    CHECK_DOUBLE(f.list[1].value, 0.30, 1e-12);
    CHECK_HAS(
        f.list[1].text,
        "0 % of communication is overlapped. 33 % of the exposed time is waiting for stragglers");
    findings_release(&f);
    for (int r = 0; r < 2; r++)
        run.ranks[r].coverage = COVER_NCCL | COVER_GEMM;
    analysis_release(&a);
    CHECK_INT(analysis_init(&a, &run, ANALYSIS_ALL_RANKS, NULL), 0);
    findings_init(&f, &a);
    CHECK_HAS(f.list[0].text, "No traced work runs in 50 %");
    CHECK_HAS(f.list[0].text, "how much of it is idle is not known");
    char *text = analysis_text(&a);
    CHECK_HAS(text, "kernels other than NCCL's and cuBLAS's were not traced");
    free(text);
    findings_release(&f);
    device_done(&a, &run);
}

/* A little idle time beside a lot of compute is no verdict on the host. */
TEST(findings_host_bound_is_for_the_largest_part)
{
    struct run run;
    struct analysis a;
    struct findings f;
    device_world(&run, 1);
    device_work(&run, 0, OP_KERNEL, 0, 80);
    device_work(&run, 0, OP_KERNEL, 100, 0);
    device_analyze(&a, &run);
    findings_init(&f, &a);
    CHECK_STR(f.list[0].rule, "compute");
    CHECK_STR(f.list[1].rule, "idle");
    CHECK_HAS(f.list[1].text, "Idle: the GPU is idle 20 % of the recording (20 ns of 100 ns); 100 "
                              "% of that: host launches late.");
    findings_release(&f);
    device_done(&a, &run);
}

/* A host that is on the path is told of where the device is idle for it, and not once more where
 * the job is host-bound; what computes beside it is not the host's. */
TEST(findings_host_on_the_path_costs_idle_time)
{
    static const struct {
        int64_t gap_ns;
        bool told;
    } cases[] = {{5, false}, {20, true}, {200, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run run;
        struct analysis a;
        struct findings f;
        device_world(&run, 1);
        device_work(&run, 0, OP_KERNEL, 0, 80);
        device_work(&run, 0, OP_KERNEL, 80 + cases[i].gap_ns, 1);
        device_analyze(&a, &run);
        CHECK(share_of(path_kind_sum(&a.critical, PATH_HOST).all_ns, a.critical.length.all_ns) >
              0.9);
        findings_init(&f, &a);
        const char *host = finding_text(&f, "critical_host");
        CHECK(cases[i].told == (host[0] != '\0'));
        if (cases[i].told)
            CHECK_HAS(host, "GPUs are idle 20 % of the recording for that");
        findings_release(&f);
        device_done(&a, &run);
    }
}

/* Slow products are told once. */
TEST(findings_slow_gemms_are_told_once)
{
    struct run run;
    struct analysis a;
    struct findings f;
    device_world(&run, 1);
    run.ranks[0].gpu = MADE_H100;
    device_product(&run, 0, 0, 100000, 1000); /* 2e9 flop in 100 us: 20 TFLOPS */
    device_analyze(&a, &run);
    findings_init(&f, &a);
    CHECK_HAS(finding_text(&f, "gemm_efficiency"), "20.0 of");
    CHECK(finding_text(&f, "compute")[0] != '\0');
    CHECK(strstr(finding_text(&f, "compute"), "TFLOPS") == NULL);
    findings_release(&f);
    device_done(&a, &run);
}

TEST(findings_of_compute_bound_and_slow_ranks)
{
    struct run run;
    struct analysis a;
    struct findings f;
    device_world(&run, 3);
    for (int r = 0; r < 3; r++) {
        device_work(&run, r, OP_KERNEL, 0, r == 1 ? 150 : 100);
        device_work(&run, r, OP_KERNEL, 160, 1);
    }
    device_analyze(&a, &run);
    findings_init(&f, &a);
    CHECK_STR(f.list[0].rule, "compute");
    CHECK_HAS(f.list[0].text, "Compute-bound: GPUs compute for 73 % of the recording");
    CHECK_HAS(finding_text(&f, "slow_rank"), "rank 1 computes 1.50 times as long as the median "
                                             "rank (151 ns, 101 ns)");
    findings_release(&f);
    device_done(&a, &run);
}
