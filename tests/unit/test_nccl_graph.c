/* SPDX-License-Identifier: MIT */
#include "model/nccl_graph.h"
#include "nccl_topos.h"
#include "test.h"

#define SLACK 1e-9

static struct nccl_graphs graphs(struct nccl_topo topo, int nodes, int per_node)
{
    struct nccl_graphs g;
    nccl_graphs_find(&topo, layout_of(nodes, per_node), &g);
    return g;
}

static void check_graph(const struct nccl_graph *g, int channels, double intra, double inter)
{
    CHECK_INT(g->channels, channels);
    CHECK_DOUBLE(g->bw_intra, intra, SLACK);
    CHECK_DOUBLE(g->bw_inter, inter, SLACK);
}

static void check_ring(struct nccl_topo topo, int nodes, int per_node, int channels, double bw,
                       int comm_channels)
{
    struct nccl_graphs g = graphs(topo, nodes, per_node);
    check_graph(&g.ring, channels, bw, bw);
    CHECK_INT(g.channels, comm_channels);
}

TEST(nccl_graph_nvswitch_nodes_have_the_reference_graphs)
{
    struct nccl_graphs h100 = graphs(topo_h100(), 1, 8), b200 = graphs(topo_b200(), 1, 8);
    check_ring(topo_a100(), 1, 8, 12, 20, 24);
    check_ring(topo_h100(), 1, 8, 12, 30, 24);
    check_ring(topo_b200(), 1, 8, 16, 45, 32);
    check_ring(topo_h100(), 4, 8, 8, 45, 16); /* 8 x 48 is more than 18 links have */
    CHECK_INT(graphs(topo_a100(), 1, 8).nvls.channels, 0);
    check_graph(&h100.nvls, 8, 40, 60);
    check_graph(&b200.nvls, 8, 80, 90);
    CHECK_INT(h100.nvls_channels, 16);
    CHECK_INT(b200.nvls_channels, 24);
    CHECK_INT(graphs(topo_b200(), 2, 8).nvls_channels, 32);
}

TEST(nccl_graph_trees_have_the_rings_channels)
{
    struct nccl_graphs h100 = graphs(topo_h100(), 1, 8), a100 = graphs(topo_a100(), 2, 8);
    check_graph(&h100.tree, 12, 30, 30);
    check_graph(&a100.ring, 8, 24, 24);
    check_graph(&a100.tree, 8, 30, 24); /* the node's links have more than the NICs */
}

TEST(nccl_graph_rings_through_a_switch_need_no_full_node)
{
    for (int gpus = 2; gpus <= 8; gpus++) {
        check_ring(topo_a100(), 1, gpus, 12, 20, 24);
        check_ring(topo_h100(), 1, gpus, 12, 30, 24);
        CHECK_INT(graphs(topo_h100(), 1, gpus).nvls.channels, gpus);
    }
}

TEST(nccl_graph_meshes)
{
    struct nccl_topo mesh = topo_nvswitch(80, 12 * 20, 24, 25); /* 4 A100, 4 links a pair */
    mesh.fabric = NCCL_NVLINK_MESH;
    mesh.gpus = mesh.nics = 4;
    mesh.pair_GBps = 4 * 20;
    check_ring(mesh, 1, 4, 12, 20, 24);
    check_ring(mesh, 1, 2, 4, 20, 8);
    check_ring(mesh, 2, 4, 4, 24, 8);
    mesh.cc = 70; /* 4 V100, 2 links a pair: 6 rings at one link's speed, NVIDIA/nccl issue 713 */
    mesh.link_GBps = 6 * 20;
    mesh.pair_GBps = 2 * 20;
    check_ring(mesh, 1, 4, 6, 20, 12);
}

TEST(nccl_graph_dgx1_cube_mesh)
{
    static const int rings[] = {[2] = 1, [3] = 2, [4] = 4, [8] = 6};
    struct nccl_topo dgx1 = topo_nvswitch(70, 6 * 20, 12, 12.5);
    dgx1.fabric = NCCL_NVLINK_MESH;
    dgx1.pair_GBps = 20;
    dgx1.nics = 4;
    for (int gpus = 2; gpus <= 8; gpus++)
        if (rings[gpus] != 0)
            check_ring(dgx1, 1, gpus, rings[gpus], 20, 2 * rings[gpus]);
    check_ring(dgx1, 2, 8, 4, 12, 8);
}

TEST(nccl_graph_pcie)
{
    struct nccl_topo shared = topo_pcie(NCCL_PCIE_SHM, NCCL_CPU_INTEL, 8);
    struct nccl_graphs g = graphs(shared, 1, 8);
    check_ring(shared, 1, 8, 1, 5, 2); /* as 8 RTX 4090 say, NVIDIA/nccl-tests issue 307 */
    CHECK(g.ring.type_intra == NCCL_PATH_SYS);
    CHECK(g.ring.same_channels);
    check_ring(topo_pcie(NCCL_PCIE, NCCL_CPU_AMD, 8), 1, 8, 1, 15, 2);   /* 16 between sockets */
    check_ring(topo_pcie(NCCL_PCIE, NCCL_CPU_AMD, 8), 1, 4, 2, 12, 4);   /* 24 of a link */
    check_ring(topo_pcie(NCCL_PCIE, NCCL_CPU_INTEL, 2), 1, 2, 1, 20, 2); /* 24 / 1.2 */
    check_ring(topo_pcie(NCCL_PCIE, NCCL_CPU_AMD, 8), 2, 8, 1, 12, 2);   /* one 100G port */
}

TEST(nccl_graph_nics_bound_rings)
{
    struct nccl_topo p4d = topo_a100(), b300 = topo_b200();
    struct nccl_graphs tcp;
    p4d.nics = 4;
    p4d.nic_GBps = 12.5;
    check_ring(p4d, 2, 8, 4, 12, 8);
    b300.nic_GBps = 100;
    b300.pcie_GBps = 96;
    check_ring(b300, 2, 8, 16, 45.1, 32); /* not 8 x 86: less, though faster */
    p4d.nics = 1;
    p4d.gdr = false;
    tcp = graphs(p4d, 2, 8);
    check_graph(&tcp.ring, 1, 12, 12);
    CHECK(tcp.ring.type_inter == NCCL_PATH_PHB);
    CHECK(tcp.ring.same_channels);
}

TEST(nccl_graph_one_gpu_a_node)
{
    check_ring(topo_h100(), 1024, 1, 2, 24, 4); /* 48 of PCIe, split */
    check_ring(topo_a100(), 4, 1, 1, 24, 2);
    CHECK_INT(graphs(topo_h100(), 4, 1).nvls.channels, 0);
    CHECK(graphs(topo_h100(), 4, 1).ring.type_inter == NCCL_PATH_PIX);
    CHECK(graphs(topo_h100(), 4, 8).ring.type_inter == NCCL_PATH_PXN);
}

TEST(nccl_graph_two_gpus_a_node)
{
    check_ring(topo_h100(), 2, 2, 4, 24,
               8); /* as 2 H20 and two ports say, NVIDIA/nccl issue 1189 */
}

TEST(nccl_graph_domains_larger_than_a_node)
{
    struct nccl_topo nvl72 = topo_b200();
    nvl72.gpus = nvl72.nics = 72;
    struct nccl_graphs one = graphs(nvl72, 1, 72), two = graphs(nvl72, 2, 72);
    check_graph(&one.ring, 16, 45, 45);
    check_graph(&one.nvls, 32, 20, 40);
    check_graph(&two.ring, 16, 45.1, 45.1);
    CHECK_INT(one.channels, 32);
}

TEST(nccl_graph_emptiest_node_decides)
{
    struct nccl_graphs g;
    struct nccl_topo h100 = topo_h100();
    nccl_graphs_find(&h100, (struct layout){.ranks = 10, .nodes = 2, .per_node = 8}, &g);
    check_graph(&g.ring, 4, 24, 24);
}

TEST(nccl_graph_sharp_has_collnet)
{
    struct nccl_topo h100 = topo_h100();
    CHECK_INT(graphs(h100, 2, 8).collnet.channels, 0);
    h100.sharp = true;
    struct nccl_graphs g = graphs(h100, 2, 8);
    check_graph(&g.collnet, 8, 48, 48);
    CHECK_INT(graphs(h100, 1, 8).collnet.channels, 0);
}

TEST(nccl_graph_mi300x)
{
    struct nccl_graphs node = graphs(topo_mi300x(), 1, 8), pair = graphs(topo_mi300x(), 1, 2);
    CHECK_DOUBLE(node.ring.channels * node.ring.bw_intra, 7 * 48, SLACK);
    CHECK_DOUBLE(pair.ring.channels * pair.ring.bw_intra, 48, SLACK);
    CHECK_INT(node.nvls.channels, 0);
}

/* Whatever the hardware, the rings fit what they run over. */
TEST(nccl_graph_rings_fit_their_links)
{
    struct nccl_topo topos[] = {topo_a100(), topo_h100(), topo_b200()};
    for (size_t t = 0; t < sizeof topos / sizeof *topos; t++) {
        for (int nics = 1; nics <= 8; nics++) {
            for (double rate = 1.25; rate <= 100; rate *= 2) {
                topos[t].nics = nics;
                topos[t].nic_GBps = rate;
                struct nccl_graph ring = graphs(topos[t], 3, 8).ring;
                double all = ring.channels * ring.bw_inter;
                CHECK(ring.channels >= 1 && ring.channels <= 32);
                CHECK(all <= topos[t].link_GBps + 1e-3);
                CHECK(all <= nics * rate + 1e-3);
                CHECK(all >= 0.4 * nics * (rate < topos[t].pcie_GBps ? rate : topos[t].pcie_GBps) ||
                      all >= 0.9 * topos[t].link_GBps);
            }
        }
    }
}

static struct nccl_topo topo_of(const char *gpu, struct network_profile net)
{
    struct nccl_topo out;
    nccl_topo_of(gpu_profile_find(gpu, NULL), &net, &out);
    return out;
}

TEST(nccl_graph_topo_of_profiles)
{
    struct network_profile dgx = *network_profile_find("dgx_h100_400g", NULL);
    struct nccl_topo t = topo_of("h100_sxm", dgx);
    CHECK_INT(t.cc, 90);
    CHECK(t.fabric == NCCL_NVSWITCH);
    CHECK_DOUBLE(t.link_GBps, 18 * 20.6, 1e-6);
    CHECK_DOUBLE(t.pcie_GBps, 48, 1e-6);
    CHECK_INT(t.nics, 8);
    CHECK_DOUBLE(t.nic_GBps, 50, 0);
    CHECK(t.gdr);
    dgx.nics_per_node = 32; /* EFA's rails, bundled */
    dgx.nic_Gbps = 100;
    t = topo_of("h100_sxm", dgx);
    CHECK_INT(t.nics, 8);
    CHECK_DOUBLE(t.nic_GBps, 50, 0);
    dgx.inter = "efa";
    CHECK(topo_of("h100_sxm", dgx).net == NCCL_NET_EFA);
    dgx.inter = "ethernet";
    dgx.sharp = 1;
    t = topo_of("h100_pcie", dgx);
    CHECK(!t.gdr);
    CHECK(t.sharp);
    CHECK(t.fabric == NCCL_PCIE); /* no NVLink */
    CHECK_DOUBLE(topo_of("a100_sxm", dgx).link_GBps, 12 * 20, 1e-6);
    CHECK_DOUBLE(topo_of("b200_sxm", dgx).link_GBps, 9 * 40.1, 1e-6); /* of the network's 450 */
}

TEST(nccl_graph_topo_of_domains)
{
    struct network_profile net = *network_profile_find("dgx_b200_400g", NULL);
    net.gpus_per_node = net.nics_per_node = 4;
    net.domain_gpus = 72;
    struct nccl_topo t = topo_of("b200_sxm", net);
    struct layout where = nccl_layout(&net, layout_of(36, 4));
    CHECK_INT(t.gpus, 72);
    CHECK_INT(t.nics, 72);
    CHECK_INT(where.nodes, 2);
    CHECK_INT(where.per_node, 72);
    CHECK_INT(nccl_fewest(&t, where), 72);
    where = nccl_layout(&net, layout_of(2, 4));
    CHECK_INT(where.nodes, 1);
    CHECK_INT(where.per_node, 8);
    CHECK_INT(nccl_fewest(&t, where), 8);
    where = nccl_layout(&net, layout_of(128, 4)); /* 8 racks of 16 trays */
    CHECK_INT(where.nodes, 8);
    CHECK_INT(where.per_node, 64);
    CHECK_INT(nccl_fewest(&t, where), 64);
    where = nccl_layout(&net, layout_of(256, 4)); /* 15 racks, one of 18 trays, the others of 17 */
    CHECK_INT(where.nodes, 15);
    CHECK_INT(where.per_node, 72);
    CHECK_INT(nccl_fewest(&t, where), 68);
}
