/* SPDX-License-Identifier: MIT
 *
 * The models' knowledge of GPUs and networks: compiled-in tables (profiles/gpu.def, network.def and
 * tuner.def), every figure with its source there. Fields come from the tables below;
 * `specter profiles`, its JSON and the files that users write (profile_json.h) follow from them.
 *
 *     const struct gpu_profile *gpu = gpu_profile_find("h100_sxm", e);
 *     if (gpu == NULL)
 *         return -1;
 *
 * TFLOPS are dense unless the name says sparse; a sparse figure never enters a model. Link rates
 * are raw, per direction and per GPU. A figure that does not exist or is not known is 0; a model
 * that needs it refuses with the field's name.
 *
 * To add a profile: its entry in profiles/gpu.def or network.def with the documents as `source`,
 * and in the head of that file what these do not say. To add a field: its line in a table below,
 * and its value in the entries that have one.
 */
#ifndef SPECTER_MODEL_PROFILE_H
#define SPECTER_MODEL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/params.h"
#include "specter/trace.h"

/* An array that a profile has. */
struct profile_rows {
    const void *first;
    size_t count;
};

/* X(text, label, words, needed): words: what it may say, NULL: anything; needed: a profile without
 * it is none. */
#define GPU_TEXTS(X)                      \
    X(name, "name", NULL, true)           \
    X(title, "title", NULL, false)        \
    X(match, "driver names", NULL, false) \
    X(arch, "architecture", NULL, true)   \
    X(network, "network", NULL, false)    \
    X(source, "source", NULL, false)

/* X(field, unit, lowest, highest, help): what is beyond the bounds is a slip of the unit. 0 is
 * always allowed: not there, or not known. */
#define GPU_FIELDS(X)                                                              \
    X(fp64_tflops, "TFLOPS", 0.01, 1e6, "dense, tensor cores where they do it")    \
    X(fp32_tflops, "TFLOPS", 0.01, 1e6, "CUDA cores")                              \
    X(tf32_tflops, "TFLOPS", 0.01, 1e6, "dense")                                   \
    X(fp16_tflops, "TFLOPS", 0.01, 1e6, "dense, fp32 accumulation")                \
    X(bf16_tflops, "TFLOPS", 0.01, 1e6, "dense")                                   \
    X(fp8_tflops, "TFLOPS", 0.01, 1e6, "dense")                                    \
    X(int8_tops, "TOPS", 0.01, 1e6, "dense")                                       \
    X(fp4_tflops, "TFLOPS", 0.01, 1e6, "dense")                                    \
    X(fp16_sparse_tflops, "TFLOPS", 0.01, 1e6, "2:4 sparsity: shown, in no model") \
    X(fp8_sparse_tflops, "TFLOPS", 0.01, 1e6, "2:4 sparsity: shown, in no model")  \
    X(mem_GB, "GB", 0.5, 1e4, "capacity, 1e9 bytes")                               \
    X(mem_GBps, "GB/s", 10, 1e6, "memory bandwidth")                               \
    X(l2_MB, "MB", 0.1, 1e4, "last-level cache")                                   \
    X(sms, "count", 1, 4096, "multiprocessors or compute units")                   \
    X(cc, "", 50, 300, "compute capability x10; 0: not CUDA")                      \
    X(boost_MHz, "MHz", 100, 1e4, "the clock that the peaks are quoted at")        \
    X(clock_MHz, "MHz", 100, 1e4, "held under load; 0: what tdp_W allows")         \
    X(tdp_W, "W", 10, 1e4, "board power")                                          \
    X(peak_W, "W", 10, 1e5, "at the 16-bit peak; 0: the model's")                  \
    X(nvlink_GBps, "GB/s", 1, 1e5, "GPU-to-GPU fabric, per direction")             \
    X(bridge_GBps, "GB/s", 1, 1e5, "optional bridge of two GPUs: in no model")     \
    X(pcie_GBps, "GB/s", 0.5, 1e4, "host link, per direction")                     \
    X(launch_us, "us", 0.1, 1e3, "launch call to kernel start, idle stream")       \
    X(overlap_sm, "", 0.001, 20, "loss of GEMMs over the SMs of channels")         \
    X(overlap_memory, "", 0.001, 20, "of other kernels over NCCL's traffic")       \
    X(gemm_factor50, "", 1, 1e3, "half of GEMMs are within x or / this")           \
    X(gemm_factor80, "", 1, 1e3, "80 % of them")

struct gpu_profile {
    const char *name;    /* "h100_sxm" */
    const char *title;   /* "NVIDIA H100 SXM 80GB" */
    const char *match;   /* parts of driver names: see gpu_profile_of_device() */
    const char *arch;    /* "hopper" */
    const char *network; /* the network profile such a GPU usually sits in, when nothing is said */
    const char *source;  /* where the figures come from */
#define X(field, unit, lowest, highest, help) double field;
    GPU_FIELDS(X)
#undef X
    struct gemm_params gemm; /* the profile's own ones; 0: its class's (params.h) */
};

#define NETWORK_TEXTS(X)                                 \
    X(name, "name", NULL, true)                          \
    X(title, "title", NULL, false)                       \
    X(intra, "in a node", profile_intra_names, true)     \
    X(inter, "between nodes", profile_inter_names, true) \
    X(cpu, "host CPU", profile_cpu_names, false)         \
    X(source, "source", NULL, false)

#define NETWORK_FIELDS(X)                                                                  \
    X(gpus_per_node, "count", 1, 1024, "GPUs that share the intra-node fabric")            \
    X(domain_gpus, "count", 1, 1e5, "GPUs of an NVLink domain; 0: of a node")              \
    X(intra_GBps, "GB/s", 0.5, 1e5, "in a node, raw, per GPU and direction")               \
    X(pair_GBps, "GB/s", 0.5, 1e5, "between two GPUs; 0: as intra_GBps")                   \
    X(intra_lat_us, "us", 0.01, 1e3, "one step in a node")                                 \
    X(nics_per_node, "count", 1, 256, "network ports; 0: single node only")                \
    X(nic_Gbps, "Gb/s", 1, 1e4, "rate of one port, raw, per direction")                    \
    X(inter_lat_us, "us", 0.01, 1e4, "one step between nodes")                             \
    X(oversubscription, "", 1, 1e3, "leaf ports to spine ports; 0: 1")                     \
    X(sharp, "", 1, 1, "1: switches between nodes reduce (SHARP)")                         \
    X(nccl, "version", 20000, 1e5, "NCCL's, 22809 is 2.28.9; 0: the recording's, or 2.30") \
    X(node_factor50, "", 1, 1e3, "half of transfers in a node: x or / this")               \
    X(node_factor80, "", 1, 1e3, "80 % of them")                                           \
    X(net_factor50, "", 1, 1e3, "half of those between nodes")                             \
    X(net_factor80, "", 1, 1e3, "80 % of them")                                            \
    X(message_factor50, "", 1, 1e3, "half of messages")                                    \
    X(message_factor80, "", 1, 1e3, "80 % of them")

/* A row of a tuner's table: what a tuner plugin, or the settings of a cloud, choose in the place of
 * NCCL's estimates. Of the rows that match an operation the first counts whose choice NCCL can make
 * there; where there is none, NCCL's estimates choose. */
#define TUNER_TEXTS(X)                             \
    X(op, "operation", profile_op_names, false)    \
    X(algo, "algorithm", profile_algo_names, true) \
    X(proto, "protocol", profile_proto_names, true)

#define TUNER_FIELDS(X)                                                               \
    X(min_bytes, "bytes", 1, 1e15, "from this full buffer on")                        \
    X(max_bytes, "bytes", 1, 1e15, "up to this one; 0: any")                          \
    X(min_ranks, "count", 1, 1e7, "from so many ranks on")                            \
    X(max_ranks, "count", 1, 1e7, "up to so many; 0: any")                            \
    X(ranks_per_node, "count", 1, 1e5, "of each; an NVLink domain is a node; 0: any") \
    X(channels, "count", 1, 64, "that it runs with; 0: as NCCL")

struct tuner_row {
    const char *op;           /* one of profile_op_names; NULL: every operation */
    const char *algo, *proto; /* of profile_algo_names and profile_proto_names */
#define X(field, unit, lowest, highest, help) double field;
    TUNER_FIELDS(X)
#undef X
};

struct network_profile {
    const char *name;
    const char *title;
    const char *intra; /* one of profile_intra_names; "pcie_shm": without P2P, through the host */
    const char *inter; /* one of profile_inter_names; "ethernet": TCP sockets */
    const char *cpu;   /* one of profile_cpu_names; NULL: not known, taken as intel */
    const char *source;
#define X(field, unit, lowest, highest, help) double field;
    NETWORK_FIELDS(X)
#undef X
    struct node_params node; /* the profile's own ones; 0: its class's (params.h) */
    struct net_params net;
    struct profile_rows tuner; /* of struct tuner_row */
};

/* The profile that a command takes, and reports, when neither its user nor a trace names any. */
#define GPU_PROFILE_DEFAULT "h100_sxm"
#define NETWORK_PROFILE_DEFAULT "dgx_h100_400g"

/* Tables, ended by count. */
extern const struct gpu_profile gpu_profiles[];
extern const size_t gpu_profile_count;
extern const struct network_profile network_profiles[];
extern const size_t network_profile_count;

/* ---- both kinds of profile as tables, for reading and printing them ---- */

/* One figure, as the tables above describe it. */
struct profile_field {
    const char *name, *unit, *help;
    size_t offset; /* of a double in the struct that the field belongs to */
    double lowest, highest;
};

extern const struct profile_field gpu_fields[];
extern const size_t gpu_field_count;
extern const struct profile_field network_fields[];
extern const size_t network_field_count;

/* The field's value in `profile`, which is of the kind that the field belongs to. */
double profile_value(const void *profile, const struct profile_field *field);

/* One text. */
struct profile_text {
    const char *name, *label;
    const char *const *words; /* ended by NULL */
    bool needed;
    size_t offset; /* of a const char * */
};

extern const char *const profile_intra_names[];
extern const char *const profile_inter_names[];
extern const char *const profile_cpu_names[];
extern const char *const profile_op_names[]; /* those that NCCL has algorithms for */
extern const char *const profile_algo_names[];
extern const char *const profile_proto_names[];

/* The text's value in `profile`; NULL where it has none. */
const char *profile_text(const void *profile, const struct profile_text *text);

/* Fitted parameters that a profile may hold of its own. */
struct profile_group {
    enum param_group group;
    size_t offset; /* of the group's struct */
};

#define PROFILE_GROUPS_MAX 2

/* Everything that a kind of profile, or a row of one, consists of. */
struct profile_kind {
    const char *name; /* "gpu", "network", "tuner" */
    size_t size;      /* of its struct */
    const void *(*find)(const char *name,
                        struct err *e); /* a compiled-in one; NULL: there is none */
    const struct profile_text *texts;
    size_t ntexts;
    const struct profile_field *fields;
    size_t nfields;
    struct profile_group groups[PROFILE_GROUPS_MAX];
    size_t ngroups;
    const struct profile_kind *rows; /* of the array that it has; NULL: it has none */
    size_t rows_offset;              /* of a struct profile_rows */
};

extern const struct profile_kind gpu_kind, network_kind, tuner_kind;

/* The array of a profile whose kind has one. */
struct profile_rows profile_rows_of(const struct profile_kind *kind, const void *profile);

/* By name, or as people type it: any case, "-" or nothing for "_", a beginning that only one name
 * has (or one name and those that go on from it), and what most people mean by "h100". NULL with e
 * filled (ERR_USAGE), naming the nearest ones. */
const struct gpu_profile *gpu_profile_find(const char *name, struct err *e);
const struct network_profile *network_profile_find(const char *name, struct err *e);

/* Returns whether GPUs of a node talk over PCIe, with or without peer-to-peer access. */
bool network_on_pcie(const struct network_profile *net);

/* The network with that version of NCCL: `copy`, filled, or `net` itself where it has that version,
 * or `version` is 0. */
const struct network_profile *network_with_nccl(const struct network_profile *net, int version,
                                                struct network_profile *copy);

/* By the name a driver gives ("NVIDIA H100 80GB HBM3"); NULL when none matches. A profile's `match`
 * lists parts of such names, separated by |. A part counts where a word begins (so that H200 is not
 * found in GH200), letter case aside; after a $ the name must end. The longest part wins. Slices
 * (MIG) match nothing. */
const struct gpu_profile *gpu_profile_of_device(const char *device_name);

/* The field that holds the dense peak for a product computed in `compute` on elements of `type`;
 * compute SPECTER_DTYPE_UNKNOWN follows type. NULL when no field does. */
const struct profile_field *gpu_peak_field(enum specter_dtype type, enum specter_dtype compute);

/* Its value; 0 when the GPU has none. */
double gpu_peak_tflops(const struct gpu_profile *gpu, enum specter_dtype type,
                       enum specter_dtype compute);

#endif
