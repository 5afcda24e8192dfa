/* SPDX-License-Identifier: MIT
 *
 * Names the usual cause of a shape of results. Each rule is a row of BENCH_RULES: when it holds,
 * one sentence, and which settings to look at. Most ask whether the measured times are those that
 * the models give for a machine with this one fault ("4 of 8 NICs"): all faults share the
 * thresholds of findings.c. A fault explains the rows when the times lie in the interval around its
 * own curve as they should around that of a sound machine. Of several faults that do, the nearest
 * comes first; the others that are nearly as near are said, too, because the times cannot tell them
 * apart.
 *
 *     struct bench_finding findings[BENCH_FINDINGS_MAX];
 *     size_t n = bench_findings(&study, findings);
 *
 * To add a rule: its line in BENCH_RULES, rule_NAME() or fault_NAME() in findings.c, a row in
 * docs/bench.md, a test with and one without it in tests/unit/test_bench_findings.c.
 */
#ifndef SPECTER_BENCH_FINDINGS_H
#define SPECTER_BENCH_FINDINGS_H

#include "bench/judge.h"

#define BENCH_FINDINGS_MAX 4

/* Rules that look at the rows: X(name, sentence, look at). {} is what the rule found. */
#define BENCH_RULES(X)                                                                          \
    X(wrong, "{} gave wrong results: a fast wrong answer is no answer.",                        \
      "GPU memory errors (nvidia-smi -q -d ECC), NIC and cable errors, NCCL's version; repeat " \
      "with -c 1")                                                                              \
    X(one_rank, "One rank took part: nothing moved between GPUs.",                              \
      "nccl-tests built with MPI=1, -g N for the GPUs of one process, the launcher's -np")      \
    X(forced, "{}.", "unset it, or name what it is there for")                                  \
    X(one_size,                                                                                 \
      "{} alone is slow, its neighbours are not: NCCL changes its choice there, or "            \
      "something else ran.",                                                                    \
      "repeat the run; NCCL_ALGO and NCCL_PROTO at this size, a tuner "                         \
      "plugin (NCCL_TUNER_PLUGIN)")                                                             \
    X(nccl_says, "NCCL's own output says why: {}.",                                             \
      "NCCL_IB_HCA, NCCL_NET_GDR_LEVEL, NCCL_P2P_LEVEL, NCCL_SOCKET_IFNAME, ACS and IOMMU")     \
    X(other_gpu, "GPUs differ: {}.", "--gpu for the slower one; runs of one kind of GPU each")  \
    X(in_place, "In place {}, out of place none is.",                                           \
      "which of the two your job does; repeat the "                                             \
      "run")                                                                                    \
    X(faster, "{}: the profile is not of this machine.",                                        \
      "--gpu and --network (specter profiles); specter calibrate makes a profile of measurements")

/* Faults of a machine or its settings: X(name, general, sentence, look at), after the shape: "From
 * 64 MiB on at 0.47 of the predicted rate: as if 4 of 8 NICs carried traffic." General ones have a
 * number that is fitted to the rows, so that they fit many; they count where no other does. */
#define BENCH_FAULTS(X)                                                                         \
    X(nics, false, "as if {} NICs carried traffic",                                             \
      "NCCL_IB_HCA, rail wiring, link state (ibstat), GPUDirect RDMA")                          \
    X(no_gdr, false, "as if data went through host memory to the NICs, without GPUDirect RDMA", \
      "nvidia-peermem or dma-buf, NCCL_NET_GDR_LEVEL, ACS and IOMMU")                           \
    X(tcp, false, "as if data went over TCP at {} Gb/s instead of RDMA",                        \
      "NCCL_NET, NCCL_IB_DISABLE, NCCL_SOCKET_IFNAME, the network plugin's library")            \
    X(pcie, false, "as if GPUs reached each other over PCIe instead of NVLink",                 \
      "nvidia-smi nvlink -s, nvidia-smi topo -m, fabric manager, NCCL_P2P_LEVEL")               \
    X(host_memory, false, "as if GPUs reached each other through host memory, without P2P",     \
      "NCCL_P2P_DISABLE, NCCL_P2P_LEVEL, ACS and IOMMU, containers without --ipc=host")         \
    X(no_nvls, false, "as if NVLS were off", "NCCL_NVLS_ENABLE, fabric manager, NCCL_ALGO")     \
    X(proto, false, "as if {} were set",                                                        \
      "NCCL_PROTO, NCCL_ALGO, a tuner plugin (NCCL_TUNER_PLUGIN)")                              \
    X(algo, false, "as if {} were set",                                                         \
      "NCCL_ALGO, NCCL_NVLS_ENABLE, a tuner plugin (NCCL_TUNER_PLUGIN)")                        \
    X(latency, true, "each call takes {} longer than predicted, whatever its size",             \
      "GPU and CPU clocks, NCCL_IGNORE_CPU_AFFINITY, CPU binding, -C (cputime), NCCL_DEBUG")    \
    X(slower, true, "each call takes {} times as long as predicted, whatever its size",         \
      "clocks and throttling (nvidia-smi -q -d PERFORMANCE), other jobs, --gpu and --network")  \
    X(bandwidth, true, "links give {} of the rate that is predicted",                           \
      "link state (nvidia-smi nvlink -s, ibstat), throttling, other jobs")

struct bench_finding {
    const char *name;    /* of the rule */
    const char *look_at; /* settings, tools */
    char text[320];      /* one sentence, with its stop */
    bool rough; /* the times are far nearer to the fault's than to a sound machine's, but scatter */
    double fit; /* of a fault: mean |log(measured / the fault's curve)|, twice that of a general
                   one; NAN: no fault */
};

/* Rules come in the order of BENCH_RULES, then faults, the nearest first. Returns their number; 0
 * where all is normal, or where no rule holds. */
size_t bench_findings(const struct bench_study *s, struct bench_finding out[BENCH_FINDINGS_MAX]);

#endif
