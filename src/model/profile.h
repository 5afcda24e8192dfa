/* SPDX-License-Identifier: MIT
 *
 * What the models know of a GPU and of a network: compiled-in tables (profiles/gpu.def,
 * profiles/network.def), every figure with its source. Fields come from the two tables below: parse,
 * validate, `specter profiles` and the documentation all follow from them.
 *
 * TFLOPS are dense unless the name says sparse; a sparse figure never enters a model. Link rates
 * are per direction and per GPU. A figure that does not exist or is not known is 0; a model that
 * needs it refuses with the field's name.
 */
#ifndef SPECTER_MODEL_PROFILE_H
#define SPECTER_MODEL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "specter/trace.h"

/* X(field, unit, help) */
#define GPU_FIELDS(X)                                                                              \
    X(fp64_tflops, "TFLOPS", "dense, tensor cores where they exist")                               \
    X(fp32_tflops, "TFLOPS", "CUDA cores")                                                         \
    X(tf32_tflops, "TFLOPS", "dense")                                                              \
    X(fp16_tflops, "TFLOPS", "dense, fp32 accumulation")                                           \
    X(bf16_tflops, "TFLOPS", "dense")                                                              \
    X(fp8_tflops, "TFLOPS", "dense")                                                               \
    X(int8_tops, "TOPS", "dense")                                                                  \
    X(fp4_tflops, "TFLOPS", "dense")                                                               \
    X(fp16_sparse_tflops, "TFLOPS", "2:4 sparsity; printed, never used by a model")                \
    X(fp8_sparse_tflops, "TFLOPS", "2:4 sparsity; printed, never used by a model")                 \
    X(mem_GB, "GB", "capacity, 1e9 bytes")                                                         \
    X(mem_GBps, "GB/s", "memory bandwidth")                                                        \
    X(l2_MB, "MB", "last-level cache")                                                             \
    X(sms, "", "streaming multiprocessors or compute units")                                       \
    X(boost_MHz, "MHz", "boost clock")                                                             \
    X(tdp_W, "W", "board power")                                                                   \
    X(nvlink_GBps, "GB/s", "GPU-to-GPU fabric, per direction")                                     \
    X(pcie_GBps, "GB/s", "host link, per direction")                                               \
    X(launch_us, "us", "from the launch call to the start of a kernel on an idle stream")

struct gpu_profile {
    const char *name;    /* "h100_sxm" */
    const char *title;   /* "NVIDIA H100 SXM 80GB" */
    const char *match;   /* substrings of driver names, separated by |; most specific wins */
    const char *arch;    /* "hopper" */
    const char *network; /* the network profile such a GPU usually sits in, when nothing is said */
    const char *source;  /* where the figures come from */
#define X(field, unit, help) double field;
    GPU_FIELDS(X)
#undef X
};

/* X(field, unit, help) */
#define NETWORK_FIELDS(X)                                                                          \
    X(gpus_per_node, "", "GPUs that share the intra-node fabric")                                  \
    X(intra_GBps, "GB/s", "intra-node, per GPU and direction")                                     \
    X(intra_lat_us, "us", "one intra-node step")                                                   \
    X(nics_per_node, "", "network ports of a node; 0: single node only")                           \
    X(nic_Gbps, "Gb/s", "rate of one port, per direction")                                         \
    X(inter_lat_us, "us", "one step between nodes")                                                \
    X(launch_us, "us", "fixed cost of starting a collective")

struct network_profile {
    const char *name;
    const char *title;
    const char *intra;  /* "nvswitch", "nvlink_mesh", "pcie" */
    const char *inter;  /* "infiniband", "ethernet", "none" */
    const char *source;
#define X(field, unit, help) double field;
    NETWORK_FIELDS(X)
#undef X
};

/* Tables, ended by count. */
extern const struct gpu_profile gpu_profiles[];
extern const size_t gpu_profile_count;
extern const struct network_profile network_profiles[];
extern const size_t network_profile_count;

/* By name. NULL with e filled (ERR_USAGE), naming the nearest ones. */
const struct gpu_profile *gpu_profile_find(const char *name, struct err *e);
const struct network_profile *network_profile_find(const char *name, struct err *e);

/* By the name a driver gives ("NVIDIA H100 80GB HBM3"); NULL when none matches. */
const struct gpu_profile *gpu_profile_of_device(const char *device_name);

/* Dense peak for a product computed in `compute` on elements of `type`; 0 when the GPU has none. */
double gpu_peak_tflops(const struct gpu_profile *gpu, enum specter_dtype type,
                       enum specter_dtype compute);

#endif
