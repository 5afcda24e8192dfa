/* SPDX-License-Identifier: MIT
 *
 * What the models know of a GPU and of a network: compiled-in tables (profiles/gpu.def,
 * profiles/network.def), every figure with its source (profiles/README.md). Fields come from the
 * two tables below; `specter profiles` and its JSON follow from them.
 *
 *     const struct gpu_profile *gpu = gpu_profile_find("h100_sxm", e);
 *     if (gpu == NULL)
 *         return -1;
 *
 * TFLOPS are dense unless the name says sparse; a sparse figure never enters a model. Link rates
 * are raw, per direction and per GPU. A figure that does not exist or is not known is 0; a model
 * that needs it refuses with the field's name.
 *
 * To add a profile: its entry in profiles/gpu.def or network.def, its sources in
 * profiles/README.md. To add a field: its line in a table below, and its value in the entries that
 * have one.
 */
#ifndef SPECTER_MODEL_PROFILE_H
#define SPECTER_MODEL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/params.h"
#include "specter/trace.h"

/* X(field, unit, help) */
#define GPU_FIELDS(X)                                                   \
    X(fp64_tflops, "TFLOPS", "dense, tensor cores where they do it")    \
    X(fp32_tflops, "TFLOPS", "CUDA cores")                              \
    X(tf32_tflops, "TFLOPS", "dense")                                   \
    X(fp16_tflops, "TFLOPS", "dense, fp32 accumulation")                \
    X(bf16_tflops, "TFLOPS", "dense")                                   \
    X(fp8_tflops, "TFLOPS", "dense")                                    \
    X(int8_tops, "TOPS", "dense")                                       \
    X(fp4_tflops, "TFLOPS", "dense")                                    \
    X(fp16_sparse_tflops, "TFLOPS", "2:4 sparsity: shown, in no model") \
    X(fp8_sparse_tflops, "TFLOPS", "2:4 sparsity: shown, in no model")  \
    X(mem_GB, "GB", "capacity, 1e9 bytes")                              \
    X(mem_GBps, "GB/s", "memory bandwidth")                             \
    X(l2_MB, "MB", "last-level cache")                                  \
    X(sms, "", "multiprocessors or compute units")                      \
    X(cc, "", "CUDA compute capability x10; 0: not NVIDIA")             \
    X(boost_MHz, "MHz", "the clock that the peaks are quoted at")       \
    X(tdp_W, "W", "board power")                                        \
    X(nvlink_GBps, "GB/s", "GPU-to-GPU fabric, per direction")          \
    X(pcie_GBps, "GB/s", "host link, per direction")                    \
    X(launch_us, "us", "launch call to kernel start, idle stream")

struct gpu_profile {
    const char *name;    /* "h100_sxm" */
    const char *title;   /* "NVIDIA H100 SXM 80GB" */
    const char *match;   /* parts of driver names: see gpu_profile_of_device() */
    const char *arch;    /* "hopper" */
    const char *network; /* the network profile such a GPU usually sits in, when nothing is said */
    const char *source;  /* where the figures come from */
#define X(field, unit, help) double field;
    GPU_FIELDS(X)
#undef X
    struct gemm_params gemm; /* the profile's own ones; 0: its class's (params.h) */
};

/* X(field, unit, help) */
#define NETWORK_FIELDS(X)                                          \
    X(gpus_per_node, "", "GPUs that share the intra-node fabric")  \
    X(domain_gpus, "", "GPUs of an NVLink domain; 0: of a node")   \
    X(intra_GBps, "GB/s", "in a node, raw, per GPU and direction") \
    X(pair_GBps, "GB/s", "between two GPUs; 0: as intra_GBps")     \
    X(intra_efficiency, "", "payload share of intra rate; 0: all") \
    X(intra_lat_us, "us", "one step in a node")                    \
    X(nics_per_node, "", "network ports; 0: single node only")     \
    X(nic_Gbps, "Gb/s", "rate of one port, raw, per direction")    \
    X(inter_efficiency, "", "payload share of NIC rate; 0: all")   \
    X(inter_lat_us, "us", "one step between nodes")                \
    X(oversubscription, "", "leaf ports to spine ports; 0: 1")     \
    X(sharp, "", "1: switches between nodes reduce (SHARP)")       \
    X(launch_us, "us", "fixed cost of starting a collective")

struct network_profile {
    const char *name;
    const char *title;
    const char *intra; /* "nvswitch", "nvlink_mesh", "xgmi_mesh", "pcie", "pcie_shm" (no P2P) */
    const char *inter; /* "infiniband", "roce", "efa", "slingshot", "omnipath", "tcpx", "tcpxo",
                        * "ethernet" (TCP sockets), "none" */
    const char *cpu;   /* "intel", "amd", "arm"; NULL: not known, taken as intel */
    const char *source;
#define X(field, unit, help) double field;
    NETWORK_FIELDS(X)
#undef X
    struct node_params node; /* the profile's own ones; 0: its class's (params.h) */
    struct net_params net;
};

/* What a command takes, and says so, when neither its user nor a trace names any. */
#define GPU_PROFILE_DEFAULT "h100_sxm"
#define NETWORK_PROFILE_DEFAULT "dgx_h100_400g"

/* Tables, ended by count. */
extern const struct gpu_profile gpu_profiles[];
extern const size_t gpu_profile_count;
extern const struct network_profile network_profiles[];
extern const size_t network_profile_count;

/* One field of a profile, as the tables above describe it. */
struct profile_field {
    const char *name, *unit, *help;
    size_t offset; /* of a double in struct gpu_profile or struct network_profile */
};

extern const struct profile_field gpu_fields[];
extern const size_t gpu_field_count;
extern const struct profile_field network_fields[];
extern const size_t network_field_count;

/* The field's value in `profile`, which is of the kind that the field belongs to. */
double profile_value(const void *profile, const struct profile_field *field);

/* By name. NULL with e filled (ERR_USAGE), naming the nearest ones. */
const struct gpu_profile *gpu_profile_find(const char *name, struct err *e);
const struct network_profile *network_profile_find(const char *name, struct err *e);

/* By the name a driver gives ("NVIDIA H100 80GB HBM3"); NULL when none matches. A profile's `match`
 * lists parts of such names, separated by |. A part counts where a word begins (so that H200 is not
 * found in GH200), letter case aside; behind a $ the name must end. The longest part wins. */
const struct gpu_profile *gpu_profile_of_device(const char *device_name);

/* The field that holds the dense peak for a product computed in `compute` on elements of `type`;
 * compute SPECTER_DTYPE_UNKNOWN follows type. NULL when no field does. */
const struct profile_field *gpu_peak_field(enum specter_dtype type, enum specter_dtype compute);

/* Its value; 0 when the GPU has none. */
double gpu_peak_tflops(const struct gpu_profile *gpu, enum specter_dtype type,
                       enum specter_dtype compute);

#endif
