/* SPDX-License-Identifier: MIT
 *
 * Systems as NCCL sees them, for the tests of its search and of its tuner.
 */
#ifndef SPECTER_TESTS_NCCL_TOPOS_H
#define SPECTER_TESTS_NCCL_TOPOS_H

#include "model/nccl_graph.h"

static inline struct nccl_topo topo_nvswitch(int cc, double link_GBps, double pcie_GBps,
                                             double nic_GBps)
{
    return (struct nccl_topo){
        .cc = cc,
        .fabric = NCCL_NVSWITCH,
        .gpus = 8,
        .link_GBps = link_GBps,
        .pair_GBps = link_GBps,
        .pcie_GBps = pcie_GBps,
        .nics = 8,
        .nic_GBps = nic_GBps,
        .gdr = true,
    };
}

static inline struct nccl_topo topo_a100(void)
{
    return topo_nvswitch(80, 12 * 20, 24, 25);
}

static inline struct nccl_topo topo_h100(void)
{
    return topo_nvswitch(90, 18 * 20.6, 48, 50);
}

static inline struct nccl_topo topo_b200(void)
{
    return topo_nvswitch(100, 18 * 40.1, 48, 50);
}

static inline struct nccl_topo topo_mi300x(void)
{
    struct nccl_topo t = topo_nvswitch(0, 7 * 48, 48, 50);
    t.fabric = NCCL_XGMI_MESH;
    t.pair_GBps = 48;
    t.cpu = NCCL_CPU_AMD;
    return t;
}

static inline struct nccl_topo topo_pcie(enum nccl_fabric fabric, enum nccl_cpu cpu, int gpus)
{
    struct nccl_topo t = topo_nvswitch(89, 0, 24, 12.5);
    t.fabric = fabric;
    t.cpu = cpu;
    t.gpus = gpus;
    t.nics = 1;
    return t;
}

static inline struct layout layout_of(int nodes, int per_node)
{
    return (struct layout){.ranks = nodes * per_node, .nodes = nodes, .per_node = per_node};
}

#endif
