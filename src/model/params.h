/* SPDX-License-Identifier: MIT
 *
 * Fitted parameters, which the models cannot read off a data sheet: each a physical quantity with a
 * unit and bounds. They come in three groups:
 *
 *     gemm   GEMMs; one class a GPU architecture: "hopper"
 *     node   collectives within a node; one class an architecture and fabric: "hopper/nvswitch",
 *           "ada/pcie" with and without P2P; the row of a fabric, "any/nvswitch", holds for GPUs
 *           that were not measured on it
 *     net    what crosses the network; one class a transport: "infiniband", "efa", and
 *           "infiniband/domains" for NVLSTree between NVLink domains that are larger than a node
 *
 * A profile may hold values of its own (a calibrated one does); a value of 0 is that of the
 * profile's class in profiles/fitted.def, and where the class has no row or the row no value, that
 * of its fabric's row, then of the row "any". So a machine that was not measured has the parameters
 * of its kind, and one of an unmeasured kind has those of all.
 *
 *     struct gemm_params p = params_gemm(gpu);
 *
 * To add a parameter: its line in a table below, its value in the row "any". What each does is
 * derived at the top of gemm.c, comm_price.h and comm.c.
 */
#ifndef SPECTER_MODEL_PARAMS_H
#define SPECTER_MODEL_PARAMS_H

#include <stdbool.h>
#include <stddef.h>

struct gpu_profile;
struct network_profile;

/* X(name, unit, lowest, highest, help). kcycles: 1000 cycles at boost_MHz. */
#define GEMM_PARAMS(X)                                                                      \
    X(mma_share, "", 0.3, 1, "of the dense peak, at the clock that the power allows")       \
    X(mem_share, "", 0.3, 1, "of the memory bandwidth")                                     \
    X(sm_GBps, "GB/s", 5, 400, "from L2 to one multiprocessor")                             \
    X(l2_share, "", 0.4, 2, "of L2, or of its half, that keeps operands from call to call") \
    X(start_kcycles, "kcycles", 1, 15, "start and end of a queued kernel")                  \
    X(tile_kcycles, "kcycles", 0.05, 8, "prologue and epilogue of a tile")                  \
    X(step_kcycles, "kcycles", 0.01, 1, "128 bytes of k through the pipeline")              \
    X(split_kcycles, "kcycles", 0.1, 15, "adding up the parts of k")                        \
    X(quant_us, "us", 0.5, 10, "one quantising kernel, its bytes aside")

#define NODE_PARAMS(X)                                                               \
    X(start_us, "us", 1, 50, "fixed cost of starting a collective")                  \
    X(step_us, "us", 0.01, 20, "one step of LL between two GPUs, beside the link's") \
    X(simple_us, "us", 1, 200, "what Simple takes to start, beyond LL")              \
    X(sync_us, "us", 0.3, 100, "one step of Simple, beside the link's")              \
    X(ll_GBps, "GB/s", 0.2, 60, "what one block moves with LL")                      \
    X(link_share, "", 0.1, 1, "of a link's raw rate that is payload")                \
    X(copy_ratio, "", 1, 8, "rate of a GPU's copy to itself, over its links'")       \
    X(ramp_us, "us", 0.1, 1000, "lost until all slices of a large transfer flow")    \
    X(host_share, "", 0.02, 8, "of PCIe's rate: between sockets, or through host memory in all")

#define NET_PARAMS(X)                                                                      \
    X(hop_us, "us", 0.1, 300, "one step of LL between nodes, beside the network's")        \
    X(hop_sync_us, "us", 0.1, 300, "the same of Simple")                                   \
    X(net_ll_GBps, "GB/s", 0.1, 100, "what LL carries out of a node, through host memory") \
    X(nic_share, "", 0.1, 1, "of a port's raw rate that is payload")                       \
    X(net_ramp_us, "us", 0.1, 3000, "lost until all slices between nodes flow")

#define X(name, unit, lowest, highest, help) double name;
struct gemm_params {
    GEMM_PARAMS(X)
};
struct node_params {
    NODE_PARAMS(X)
};
struct net_params {
    NET_PARAMS(X)
};
#undef X

/* The values for a profile: its own, else its class's, else those of "any". */
struct gemm_params params_gemm(const struct gpu_profile *gpu);
struct node_params params_node(const struct gpu_profile *gpu, const struct network_profile *net);
struct net_params params_net(const struct network_profile *net);

/* GB/s of the path through a PCIe host, between its sockets or through its memory: host_share of
 * the GPU's PCIe, whose generation is the host's (a slot may have fewer lanes), or of the
 * network's. */
double params_host_GBps(const struct gpu_profile *gpu, const struct network_profile *net,
                        const struct node_params *node);

/* ---- the parameters as a table, for reading, printing and fitting them ---- */

enum param_group { PARAMS_GEMM, PARAMS_NODE, PARAMS_NET, PARAM_GROUPS };

struct param {
    const char *name, *unit, *help;
    double lowest, highest;
    size_t offset; /* of a double in the group's struct */
};

struct param_table {
    const char *name; /* "gemm", "node", "net": as in a JSON profile */
    const struct param *params;
    size_t count;
    size_t size; /* of the group's struct */
};

extern const struct param_table param_tables[PARAM_GROUPS];

/* A parameter's place in `values`, a struct of its group. */
double *param_at(void *values, const struct param *param);
double param_value(const void *values, const struct param *param);

/* The range of a class's fit. Zeros: not fitted, or no measurement of that kind. */
struct fit_range {
    double rows, median_ape;  /* measured rows, and their median error |p - m| / m */
    double smallest, largest; /* bytes; FLOPs of a GEMM */
    double ranks, nodes;      /* the largest */
};

/* In what a request is outside of what was measured: the first of these; a limit of 0 is none. */
enum fit_beyond { FIT_WITHIN, FIT_SMALLER, FIT_LARGER, FIT_RANKS, FIT_NODES };

enum fit_beyond fit_range_beyond(const struct fit_range *r, double size, double ranks,
                                 double nodes);

/* One row of profiles/fitted.def; `values` is a struct of the group. */
struct param_row {
    const char *key; /* "hopper", "hopper/nvswitch", "efa", "any" */
    struct fit_range range;
    const void *values;
};

#define PARAM_KEY_MAX 64

/* The class that a profile belongs to, whether a row exists for it or not. `net` is not looked at
 * for gemm, `gpu` not for net. */
void params_key(enum param_group group, const struct gpu_profile *gpu,
                const struct network_profile *net, char key[PARAM_KEY_MAX]);

/* Turns a key into the next wider class's: "hopper/nvswitch", "any/nvswitch", "any"; for gemm and
 * net always "any". False for "any": there is none. */
bool params_widen(enum param_group group, char key[PARAM_KEY_MAX]);

/* The row that a profile's values come from: its class's, else its fabric's, else "any"'s, which
 * always exists. */
const struct param_row *params_profile_row(enum param_group group, const struct gpu_profile *gpu,
                                           const struct network_profile *net);

/* The row of this key; NULL: there is none. */
const struct param_row *params_row(enum param_group group, const char *key);

/* All rows of a group. */
const struct param_row *params_rows(enum param_group group, size_t *count);

/* The compiled-in rows of profiles/fitted.def, for params_rows(). */
extern const struct param_row gemm_param_rows[], node_param_rows[], net_param_rows[];
extern const size_t gemm_param_row_count, node_param_row_count, net_param_row_count;

#endif
