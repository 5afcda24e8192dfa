/* SPDX-License-Identifier: MIT
 *
 * NCCL's search graphs in closed form: what its topology search finds for a communicator on regular
 * nodes. A graph is a number of channels and what each may carry in a node and between nodes; the
 * tuner (nccl_tuner.h) makes latencies and bandwidths of it.
 *
 *     struct nccl_topo topo;
 *     struct nccl_graphs graphs;
 *     nccl_topo_of(gpu, net, &topo);
 *     nccl_graphs_find(&topo, nccl_layout(net, layout), &graphs);
 *
 * The search goes down NCCL's lists of speeds and keeps the graph that carries most, as NCCL does;
 * instead of trying out paths it divides the budget of each link by what a channel takes of it.
 * Rates are GB/s (1e9) per direction, in NCCL's own figures for links (20.6 an H100's NVLink, 48
 * a PCIe 5.0 x16), not raw ones. Source: NCCL 2.30 (src/graph), and RCCL for AMD.
 * Pure functions that cannot fail; they need no memory. Assumed: nodes alike, GPUs of a node alike,
 * each GPU near its own NICs (or its share of one).
 */
#ifndef SPECTER_MODEL_NCCL_GRAPH_H
#define SPECTER_MODEL_NCCL_GRAPH_H

#include "model/cost.h"

enum nccl_fabric {
    NCCL_NVSWITCH,
    NCCL_NVLINK_MESH,
    NCCL_XGMI_MESH,
    NCCL_PCIE,     /* peer to peer */
    NCCL_PCIE_SHM, /* through host memory */
};

enum nccl_cpu { NCCL_CPU_INTEL, NCCL_CPU_AMD, NCCL_CPU_ARM };

/* Networks whose plugin or operator presets what NCCL may choose (nccl_tuner.c). */
enum nccl_net {
    NCCL_NET_FREE,
    NCCL_NET_EFA,   /* aws-ofi-nccl */
    NCCL_NET_TCPX,  /* GPUDirect-TCPX */
    NCCL_NET_TCPXO, /* GPUDirect-TCPXO */
    NCCL_NETS,
};

/* Hardware as NCCL's search sees it. */
struct nccl_topo {
    int cc;      /* compute capability x 10; 0: an AMD GPU, under RCCL */
    int version; /* NCCL's, 22809 is 2.28.9; 0: 2.30 */
    enum nccl_fabric fabric;
    enum nccl_cpu cpu;
    int gpus;         /* of a node, or of an NVLink domain when that is larger */
    int tray;         /* ranks of a node in such a domain; 0: each node is its own */
    double link_GBps; /* all NVLinks (xGMI links) of a GPU together; 0: none */
    double pair_GBps; /* of them, towards one other GPU; through a switch all */
    double pcie_GBps; /* of a GPU */
    enum nccl_net net;
    int nics;        /* network devices of a node as NCCL counts them; 0: none */
    double nic_GBps; /* of one device */
    bool gdr;        /* NICs read GPU memory and sit beside the GPUs, not behind a CPU */
    bool sharp;      /* reduction in the network's switches may be used */
    const struct tuner_row *tuner; /* the network profile's own, ntuner rows */
    size_t ntuner;
};

/* The distance of two devices, the nearest first: NCCL compares in this order (PATH_*). */
enum nccl_path {
    NCCL_PATH_LOC, /* the same GPU */
    NCCL_PATH_NVL, /* NVLink or xGMI */
    NCCL_PATH_PIX, /* a PCIe switch */
    NCCL_PATH_PXB, /* several of them */
    NCCL_PATH_PXN, /* NVLink to the GPU beside the NIC */
    NCCL_PATH_PHB, /* a CPU */
    NCCL_PATH_SYS, /* two CPUs */
};

struct nccl_graph {
    int channels;    /* as found, after NCCL's doubling of fast ones; 0: no such graph */
    double bw_intra; /* of one channel */
    double bw_inter;
    enum nccl_path type_intra; /* the worst path between GPUs of a node */
    enum nccl_path type_inter; /* the worst path from a GPU to its NIC */
    bool same_channels;        /* every channel visits the GPUs in the same order */
    bool plain_tree;           /* a tree whose node meets the network at one GPU only */
};

struct nccl_graphs {
    struct nccl_graph ring, tree, nvls, collnet;
    int channels;      /* of the communicator in the end, for Ring, Tree and PAT */
    int nvls_channels; /* for NVLS and NVLSTree; 0: none */
};

/* The two profiles in NCCL's terms; where nodes share a domain, one with a rank on every GPU. */
void nccl_topo_of(const struct gpu_profile *gpu, const struct network_profile *net,
                  struct nccl_topo *out);

/* A layout of nodes as NCCL counts them: those of one NVLink domain (domain_gpus) are one. As few
 * domains as hold the nodes, which are spread evenly, as schedulers do: 512 ranks are 8 x 64, not
 * 7 x 72 and 8. */
struct layout nccl_layout(const struct network_profile *net, struct layout where);

/* Ranks of the emptiest group where the nodes are dealt out to `groups` evenly: it has the node
 * that is not full. At least 1. */
int layout_fewest(struct layout where, int groups);

/* Ranks of the emptiest node of a layout from nccl_layout(). */
int nccl_fewest(const struct nccl_topo *topo, struct layout where);

/* `where` from nccl_layout(). On uneven nodes the emptiest one decides, as in NCCL, which takes the
 * least of what the ranks found. */
void nccl_graphs_find(const struct nccl_topo *topo, struct layout where, struct nccl_graphs *out);

#endif
