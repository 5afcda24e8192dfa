/* SPDX-License-Identifier: MIT */
#include "model/profile.h"
#include "test.h"
#include "trace_files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double gpu_figure(const char *name, const char *field)
{
    const struct gpu_profile *gpu = gpu_profile_find(name, NULL);
    for (size_t i = 0; gpu != NULL && i < gpu_field_count; i++) {
        if (strcmp(gpu_fields[i].name, field) == 0)
            return profile_value(gpu, &gpu_fields[i]);
    }
    return -1;
}

TEST(profile_gpu_figures_are_those_of_the_datasheets)
{
    static const struct {
        const char *gpu, *field;
        double value;
    } figures[] = {
        {"h100_sxm", "fp16_tflops", 989},
        {"h100_sxm", "fp16_sparse_tflops", 1979},
        {"h100_sxm", "mem_GBps", 3350},
        {"h100_sxm", "nvlink_GBps", 450},
        {"h100_pcie", "fp16_tflops", 756},
        {"h100_pcie", "mem_GBps", 2000},
        {"h200_sxm", "fp16_tflops", 989},
        {"h200_sxm", "mem_GBps", 4800},
        {"a100_sxm", "fp16_tflops", 312},
        {"a100_sxm", "mem_GBps", 2039},
        {"a100_sxm", "nvlink_GBps", 300},
        {"a100_pcie", "mem_GBps", 1935},
        {"v100_sxm", "fp16_tflops", 125},
        {"v100_sxm", "mem_GBps", 900},
        {"v100_sxm", "nvlink_GBps", 150},
        {"v100_sxm", "pcie_GBps", 15.75},
        {"rtx_4090", "fp16_tflops", 165.2},
        {"rtx_4090", "mem_GBps", 1008},
        {"rtx_3090", "fp16_tflops", 71},
        {"rtx_3090", "mem_GBps", 936},
        {"mi300x", "fp16_tflops", 1307.4},
        {"mi300x", "mem_GBps", 5300},
        {"l40s", "fp16_tflops", 362.05},
        {"l40s", "mem_GBps", 864},
        {"b200_sxm", "fp16_tflops", 2250},
        {"b200_sxm", "mem_GBps", 8000},
        {"b200_sxm", "fp4_tflops", 9000},
        {"b200_sxm", "nvlink_GBps", 900},
        {"a100_pcie", "pcie_GBps", 31.5},
        {"h100_pcie", "pcie_GBps", 63},
        {"h100_sxm", "fp8_sparse_tflops", 3958},
        {"a100_sxm", "fp16_sparse_tflops", 624},
        {"a100_sxm_40g", "mem_GBps", 1555},
        {"h20", "fp16_tflops", 148},
        {"h20", "sms", 78},
        {"h20", "mem_GBps", 4000},
        {"h100_sxm_96g_500w", "mem_GBps", 2400},
        {"h100_sxm_96g_500w", "tdp_W", 500},
        {"gh200", "mem_GB", 96},
        {"gh200", "mem_GBps", 4000},
        {"b300_sxm", "fp64_tflops", 1.25},
        {"b300_sxm", "int8_tops", 150},
        {"b300_sxm", "fp4_tflops", 13500},
        {"b300_sxm", "mem_GB", 288},
        {"gb200", "fp16_tflops", 2500},
        {"gb200", "fp4_tflops", 10000},
        {"gb200", "mem_GB", 186},
        {"gb300", "fp4_tflops", 15000},
        {"gb300", "tdp_W", 1400},
        {"a40", "bf16_tflops", 149.7},
        {"a40", "mem_GBps", 696},
        {"rtx_pro_6000", "mem_GBps", 1597},
        {"rtx_pro_6000", "sms", 188},
        {"rtx_5090", "fp16_tflops", 209.5},
        {"rtx_5090", "sms", 170},
        {"rtx_4070_ti_super", "sms", 66},
        {"rtx_4070_ti_super", "mem_GBps", 672},
        {"mi325x", "mem_GBps", 6000},
        {"mi325x", "mem_GB", 256},
        {"mi355x", "fp16_tflops", 2516.6},
        {"mi355x", "tf32_tflops", 0},
        {"mi355x", "nvlink_GBps", 537.6},
        {"h800_sxm", "nvlink_GBps", 200},
        {"h800_sxm", "fp64_tflops", 1},
        {"h200_nvl", "mem_GBps", 4800},
        {"a800_sxm", "nvlink_GBps", 200},
        {"a30", "sms", 56},
        {"a10", "fp16_tflops", 125},
        {"a10g", "fp16_tflops", 70},
        {"rtx_a6000", "mem_GBps", 768},
        {"v100_pcie", "fp16_tflops", 112},
        {"t4", "fp16_tflops", 65},
        {"t4", "bf16_tflops", 0},
        {"l40", "fp16_tflops", 181.05},
        {"l20", "fp16_tflops", 119.5},
        {"l4", "tdp_W", 72},
        {"rtx_6000_ada", "fp8_tflops", 728.5},
        {"rtx_pro_6000_ws", "mem_GBps", 1792},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        CHECK_DOUBLE(gpu_figure(figures[i].gpu, figures[i].field), figures[i].value, 0);
}

TEST(profile_network_figures)
{
    static const struct {
        const char *network, *intra, *inter, *cpu;
        double gpus, domain, intra_GBps, pair_GBps, nics, nic_Gbps;
    } rows[] = {
        {"dgx_h100_400g", "nvswitch", "infiniband", "intel", 8, 0, 450, 450, 8, 400},
        {"dgx_h200_400g", "nvswitch", "infiniband", "intel", 8, 0, 450, 450, 8, 400},
        {"dgx_b200_400g", "nvswitch", "infiniband", "intel", 8, 0, 900, 900, 8, 400},
        {"dgx_b300_800g", "nvswitch", "infiniband", "intel", 8, 0, 900, 900, 8, 800},
        {"gb200_nvl72", "nvswitch", "infiniband", "arm", 4, 72, 900, 900, 4, 400},
        {"gb300_nvl72", "nvswitch", "infiniband", "arm", 4, 72, 900, 900, 4, 800},
        {"dgx_a100_200g", "nvswitch", "infiniband", "amd", 8, 0, 300, 300, 8, 200},
        {"dgx1_v100", "nvlink_mesh", "infiniband", "intel", 8, 0, 6 * 25, 25, 4, 100},
        {"single_node_nvlink", "nvswitch", "none", NULL, 8, 0, 450, 450, 0, 0},
        {"perlmutter", "nvlink_mesh", "slingshot", "amd", 4, 0, 12 * 25, 100, 4, 200},
        {"jeanzay_a100", "nvswitch", "omnipath", "amd", 8, 0, 300, 300, 4, 100},
        {"aws_p4d", "nvswitch", "efa", "intel", 8, 0, 300, 300, 4, 100},
        {"aws_p5", "nvswitch", "efa", "amd", 8, 0, 450, 450, 32, 100},
        {"aws_p5en", "nvswitch", "efa", "intel", 8, 0, 450, 450, 16, 200},
        {"gcp_a3_high", "nvswitch", "tcpx", "intel", 8, 0, 450, 450, 4, 200},
        {"gcp_a3_mega", "nvswitch", "tcpxo", "intel", 8, 0, 450, 450, 8, 200},
        {"gcp_a3_ultra", "nvswitch", "roce", "intel", 8, 0, 450, 450, 8, 400},
        {"gcp_a4", "nvswitch", "roce", "intel", 8, 0, 900, 900, 8, 400},
        {"azure_ndv4", "nvswitch", "infiniband", "amd", 8, 0, 300, 300, 8, 200},
        {"azure_ndv5", "nvswitch", "infiniband", "intel", 8, 0, 450, 450, 8, 400},
        {"oci_a100", "nvswitch", "roce", "amd", 8, 0, 300, 300, 16, 100},
        {"oci_h100", "nvswitch", "roce", "intel", 8, 0, 450, 450, 16, 200},
        {"oci_b300", "nvswitch", "roce", NULL, 8, 0, 900, 900, 16, 400},
        {"oci_mi300x", "xgmi_mesh", "roce", "intel", 8, 0, 7 * 64, 64, 8, 400},
        {"mi300x_8x400g", "xgmi_mesh", "roce", NULL, 8, 0, 7 * 64, 64, 8, 400},
        {"mi355x_8x400g", "xgmi_mesh", "roce", NULL, 8, 0, 7 * 76.8, 76.8, 8, 400},
        {"a100_4x200g", "nvswitch", "infiniband", NULL, 8, 0, 300, 300, 4, 200},
        {"a100_8x200g_roce", "nvswitch", "roce", NULL, 8, 0, 300, 300, 8, 200},
        {"a100_4x100g_roce", "nvswitch", "roce", NULL, 8, 0, 300, 300, 4, 100},
        {"hgx_h20_400g", "nvswitch", "infiniband", NULL, 8, 0, 450, 450, 8, 400},
        {"gh200_4x200g", "nvlink_mesh", "infiniband", "arm", 4, 0, 450, 150, 4, 200},
        {"consumer_pcie", "pcie_shm", "ethernet", NULL, 2, 0, 15.75, 15.75, 1, 10},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct network_profile *net = network_profile_find(rows[i].network, NULL);
        CHECK_STR(net->intra, rows[i].intra);
        CHECK_STR(net->inter, rows[i].inter);
        CHECK_STR(net->cpu ? net->cpu : "-", rows[i].cpu ? rows[i].cpu : "-");
        CHECK_DOUBLE(net->gpus_per_node, rows[i].gpus, 0);
        CHECK_DOUBLE(net->domain_gpus, rows[i].domain, 0);
        CHECK_DOUBLE(net->intra_GBps, rows[i].intra_GBps, 1e-12);
        CHECK_DOUBLE(net->pair_GBps, rows[i].pair_GBps, 0);
        CHECK_DOUBLE(net->nics_per_node, rows[i].nics, 0);
        CHECK_DOUBLE(net->nic_Gbps, rows[i].nic_Gbps, 0);
    }
    CHECK_DOUBLE(network_profile_find("dgx_h100_400g_sharp", NULL)->sharp, 1, 0);
    CHECK_DOUBLE(network_profile_find("dgx_h100_400g", NULL)->sharp, 0, 0);
}

TEST(profile_defaults_exist)
{
    const struct gpu_profile *gpu = gpu_profile_find(GPU_PROFILE_DEFAULT, NULL);
    CHECK(gpu != NULL && strcmp(gpu->network, NETWORK_PROFILE_DEFAULT) == 0);
    CHECK(network_profile_find(NETWORK_PROFILE_DEFAULT, NULL) != NULL);
}

/* A vendor's figure "with sparsity" is twice the dense one, to the rounding of a datasheet. */
static void check_sparse(double dense, double sparse)
{
    if (sparse > 0)
        CHECK_DOUBLE(sparse, 2 * dense, 0.015);
}

/* Every figure is 0 or within the bounds that a user's file is held to. */
static void check_bounds(const struct profile_kind *kind, const void *profile)
{
    for (size_t i = 0; i < kind->nfields; i++) {
        double value = profile_value(profile, &kind->fields[i]);
        CHECK(value == 0 || value >= kind->fields[i].lowest);
        CHECK(value <= kind->fields[i].highest);
    }
}

/* A GPU's peaks follow from multiprocessors, clock and a power of two of operations a clock, as
 * boost_MHz is defined; datasheets round by up to 2 %. */
static void check_clock(const struct gpu_profile *gpu)
{
    double ops = gpu->fp16_tflops * 1e6 / (gpu->sms * gpu->boost_MHz);
    CHECK_DOUBLE(ops, exp2(round(log2(ops))), 0.02);
}

/* A compute capability is one of its architecture. */
static void check_capability(const struct gpu_profile *gpu)
{
    static const struct {
        const char *arch;
        double ccs[2];
    } archs[] = {
        {"volta", {70, 70}},
        {"turing", {75, 75}},
        {"ampere", {80, 86}},
        {"ada", {89, 89}},
        {"hopper", {90, 90}},
        {"blackwell", {100, 103}},
        {"blackwell_rtx", {120, 120}},
        {"cdna3", {0, 0}},
        {"cdna4", {0, 0}},
    };
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        if (strcmp(archs[i].arch, gpu->arch) == 0) {
            CHECK(gpu->cc == archs[i].ccs[0] || gpu->cc == archs[i].ccs[1]);
            return;
        }
    }
    test_fail(__FILE__, __LINE__, "%s: architecture '%s'", gpu->name, gpu->arch);
}

TEST(profile_gpus_are_whole)
{
    for (size_t i = 0; i < gpu_profile_count; i++) {
        const struct gpu_profile *gpu = &gpu_profiles[i];
        const struct network_profile *net = network_profile_find(gpu->network, NULL);
        CHECK(net != NULL);
        if (gpu->nvlink_GBps > 0) /* the fabric it usually sits in is its own */
            CHECK_DOUBLE(net->intra_GBps, gpu->nvlink_GBps, 0);
        CHECK((gpu->nvlink_GBps > 0) == (strncmp(net->intra, "pcie", 4) != 0));
        CHECK(strlen(gpu->source) > 20 && strlen(gpu->title) > 5);
        CHECK(gpu_profile_find(gpu->name, NULL) == gpu);
        CHECK(gpu->fp32_tflops > 0 && gpu->fp64_tflops > 0 && gpu->fp16_tflops > 0);
        CHECK(gpu->mem_GBps > 0 && gpu->mem_GB > 0 && gpu->pcie_GBps > 0 && gpu->launch_us > 0);
        CHECK(gpu->sms > 0 && gpu->boost_MHz > 0 && gpu->tdp_W > 0 && gpu->l2_MB > 0);
        check_bounds(&gpu_kind, gpu);
        check_clock(gpu);
        check_capability(gpu);
        check_sparse(gpu->fp16_tflops, gpu->fp16_sparse_tflops);
        check_sparse(gpu->fp8_tflops, gpu->fp8_sparse_tflops);
    }
}

static bool has_word(const char *const *words, const char *word)
{
    while (*words != NULL && strcmp(*words, word) != 0)
        words++;
    return *words != NULL;
}

TEST(profile_networks_are_whole)
{
    for (size_t i = 0; i < network_profile_count; i++) {
        const struct network_profile *net = &network_profiles[i];
        CHECK(network_profile_find(net->name, NULL) == net);
        check_bounds(&network_kind, net);
        CHECK(has_word(profile_intra_names, net->intra));
        CHECK(has_word(profile_inter_names, net->inter));
        CHECK(net->cpu == NULL || has_word(profile_cpu_names, net->cpu));
        CHECK(net->domain_gpus == 0 || fmod(net->domain_gpus, net->gpus_per_node) == 0);
        CHECK(net->pair_GBps <= net->intra_GBps);
        CHECK(strlen(net->source) > 20 && net->intra != NULL && net->inter != NULL);
        CHECK(net->gpus_per_node >= 1 && net->intra_GBps > 0 && net->intra_lat_us > 0);
        CHECK((net->nics_per_node > 0) == (net->nic_Gbps > 0 && net->inter_lat_us > 0));
        CHECK((net->nics_per_node > 0) == (strcmp(net->inter, "none") != 0));
    }
}

/* Each field is named in README.md or in the head of its table, which say where figures come from.
 */
static void check_documented(const char *table, const struct profile_field *fields, size_t count)
{
    char *readme = read_whole(test_data("../../profiles/README.md"), NULL);
    char *head = read_whole(test_data(table), NULL);
    char *end = strstr(head, "*/");
    CHECK(end != NULL);
    if (end != NULL)
        *end = '\0';
    for (size_t i = 0; i < count; i++)
        if (strstr(readme, fields[i].name) == NULL)
            CHECK_HAS(head, fields[i].name);
    free(head);
    free(readme);
}

TEST(profile_fields_are_documented)
{
    check_documented("../../profiles/gpu.def", gpu_fields, gpu_field_count);
    check_documented("../../profiles/network.def", network_fields, network_field_count);
}

TEST(profile_of_device_knows_driver_names)
{
    static const struct {
        const char *device, *profile; /* NULL: no profile describes it */
    } names[] = {
        {"NVIDIA H100 80GB HBM3", "h100_sxm"},
        {"NVIDIA H100 PCIe", "h100_pcie"},
        {"NVIDIA H100", "h100_sxm"},
        {"H100-SXM5-80GB", "h100_sxm"},
        {"NVIDIA H200", "h200_sxm"},
        {"NVIDIA A100-SXM4-80GB", "a100_sxm"},
        {"A100-SXM4-40GB", "a100_sxm_40g"},
        {"NVIDIA A100-SXM4-40GB", "a100_sxm_40g"},
        {"A100-SXM-80GB", "a100_sxm"},
        {"NVIDIA A100 80GB PCIe", "a100_pcie"},
        {"NVIDIA A100-PCIE-40GB", "a100_pcie"},
        {"Tesla V100-SXM2-16GB", "v100_sxm"},
        {"Tesla V100-SXM2-32GB", "v100_sxm"},
        {"NVIDIA GeForce RTX 4090", "rtx_4090"},
        {"NVIDIA GeForce RTX 3090", "rtx_3090"},
        {"NVIDIA L40S", "l40s"},
        {"NVIDIA B200", "b200_sxm"},
        {"NVIDIA B300 SXM6 AC", "b300_sxm"},
        {"NVIDIA GB200", "gb200"},
        {"NVIDIA GB300", "gb300"},
        {"NVIDIA GH200 480GB", "gh200"},
        {"NVIDIA GH200 120GB", "gh200"},
        {"NVIDIA H20", "h20"},
        {"NVIDIA A40", "a40"},
        {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx_pro_6000"},
        {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx_pro_6000_ws"},
        {"NVIDIA GeForce RTX 5090", "rtx_5090"},
        {"NVIDIA GeForce RTX 4070 Ti SUPER", "rtx_4070_ti_super"},
        {"AMD Instinct MI325X", "mi325x"},
        {"AMD Instinct MI355X", "mi355x"},
        {"AMD Instinct MI300X", "mi300x"},
        {"AMD Instinct MI300X OAM", "mi300x"},
        {"NVIDIA GH200 144G HBM3e", NULL},
        {"NVIDIA GB10", NULL},
        {"NVIDIA H20-3e", NULL},
        {"NVIDIA H100 NVL", "h100_nvl"},
        {"NVIDIA A100-PG509-200", "a100_sxm_40g"},
        {"NVIDIA H200 NVL", "h200_nvl"},
        {"NVIDIA GeForce RTX 3090 Ti", NULL},
        {"NVIDIA GeForce RTX 4090 Laptop GPU", NULL},
        {"NVIDIA GeForce RTX 5090 Laptop GPU", NULL},
        {"NVIDIA GeForce RTX 5090 D", NULL},
        {"NVIDIA GeForce RTX 4070 Ti", NULL},
        {"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", NULL},
        {"NVIDIA A40-48Q", NULL},
        {"NVIDIA A4000", NULL},
        {"AMD Instinct MI300A", NULL},
        {"NVIDIA L40", "l40"},
        {"Tesla V100-PCIE-32GB", "v100_pcie"},
        {"NVIDIA A100-SXM-64GB", NULL}, /* a chip of its own: 124 multiprocessors */
        {"NVIDIA A100X", NULL},
        {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", NULL},
        {"NVIDIA H100 80GB HBM3 MIG 3g.40gb", NULL},
        {"NVIDIA H200 MIG 1g.18gb", NULL},
        {"NVIDIA H100 80GB HBM2e", NULL}, /* a PCIe card of early drivers, or a 94 GB one */
        {"NVIDIA H100 64GB HBM2", NULL},
        {"NVIDIA H800", "h800_sxm"},
        {"NVIDIA H800 PCIe", NULL},
        {"NVIDIA A800-SXM4-80GB", "a800_sxm"},
        {"NVIDIA A800 80GB PCIe", NULL},
        {"NVIDIA H20 NVL16", NULL},
        {"GH200 480GB", "gh200"},
        {"NVIDIA GH200", "gh200"},
        {"H200", "h200_sxm"},
        {"NVIDIA H200 SXM", "h200_sxm"},
        {"nvidia h200", "h200_sxm"},
        {"NVIDIA H2000", NULL},
        {"Tesla V100-SXM3-32GB", "v100_sxm"},
        {"Tesla V100-FHHL-16GB", NULL},
        {"Tesla P100-SXM2-16GB", NULL},
        {"Tesla T4", "t4"},
        {"NVIDIA A10", "a10"},
        {"NVIDIA A10G", "a10g"},
        {"NVIDIA A16", NULL},
        {"NVIDIA A2", NULL},
        {"NVIDIA A30", "a30"},
        {"NVIDIA L4", "l4"},
        {"NVIDIA L20", "l20"},
        {"NVIDIA L40S-48Q", NULL},
        {"GRID A100X-40C", NULL},
        {"NVIDIA RTX A6000", "rtx_a6000"},
        {"NVIDIA RTX 6000 Ada Generation", "rtx_6000_ada"},
        {"NVIDIA GeForce RTX 4080", NULL},
        {"NVIDIA GeForce RTX 4090 D", NULL},
        {"NVIDIA GeForce RTX 5080", NULL},
        {"NVIDIA GeForce RTX 4070 SUPER", NULL},
        {"NVIDIA Graphics Device", NULL},
        {"AMD Instinct MI210", NULL},
        {"AMD Instinct MI250X / MI250", NULL},
        {"", NULL},
        {"|$", NULL},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct gpu_profile *gpu = gpu_profile_of_device(names[i].device);
        const char *want = names[i].profile != NULL ? names[i].profile : names[i].device;
        CHECK_STR(gpu != NULL ? gpu->name : names[i].device, want);
    }
    CHECK(gpu_profile_of_device(NULL) == NULL);
}

TEST(profile_find_names_the_nearest)
{
    static char endless[1 << 16];
    struct err e = {0};
    CHECK(gpu_profile_find("h1", &e) == NULL);
    CHECK_INT(e.code, ERR_USAGE);
    CHECK_STR(
        e.msg,
        "unknown GPU profile 'h1'; the nearest are h100_sxm, h100_sxm_96g_500w and h100_pcie");
    CHECK(gpu_profile_find("rtx4091", &e) == NULL);
    CHECK_HAS(e.msg, "the nearest are rtx_4090, ");
    CHECK(network_profile_find("dgx_h100", &e) != NULL);
    CHECK(network_profile_find("dgx", &e) == NULL);
    CHECK_STR(e.msg, "unknown network profile 'dgx'; the nearest are dgx_h100_400g, "
                     "dgx_h100_400g_sharp and dgx_h200_400g");
    CHECK(network_profile_find("", &e) == NULL);
    memset(endless, 'x', sizeof endless - 1);
    CHECK(gpu_profile_find(endless, &e) == NULL);
    CHECK_HAS(e.msg, "the nearest are");
}

TEST(profile_peak_follows_types)
{
    static const struct {
        enum specter_dtype type, compute;
        const char *field; /* NULL: none */
    } cases[] = {
        {SPECTER_FP64, SPECTER_DTYPE_UNKNOWN, "fp64_tflops"},
        {SPECTER_FP32, SPECTER_DTYPE_UNKNOWN, "fp32_tflops"},
        {SPECTER_FP32, SPECTER_FP32, "fp32_tflops"},
        {SPECTER_FP32, SPECTER_TF32, "tf32_tflops"},
        {SPECTER_FP32, SPECTER_BF16, "bf16_tflops"},
        {SPECTER_TF32, SPECTER_FP32, "tf32_tflops"},
        {SPECTER_FP16, SPECTER_FP32, "fp16_tflops"},
        {SPECTER_FP16, SPECTER_FP16, "fp16_tflops"},
        {SPECTER_BF16, SPECTER_FP32, "bf16_tflops"},
        {SPECTER_FP8E5M2, SPECTER_FP32, "fp8_tflops"},
        {SPECTER_INT8, SPECTER_INT32, "int8_tops"},
        {SPECTER_FP4, SPECTER_FP32, "fp4_tflops"},
        {SPECTER_INT64, SPECTER_INT64, NULL},
        {SPECTER_DTYPE_UNKNOWN, SPECTER_FP32, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct profile_field *field = gpu_peak_field(cases[i].type, cases[i].compute);
        if (cases[i].field == NULL)
            CHECK(field == NULL);
        else
            CHECK_STR(field != NULL ? field->name : NULL, cases[i].field);
    }
    CHECK_DOUBLE(
        gpu_peak_tflops(gpu_profile_find("v100_sxm", NULL), SPECTER_BF16, SPECTER_DTYPE_UNKNOWN), 0,
        0);
}
