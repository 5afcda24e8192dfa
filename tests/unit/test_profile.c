/* SPDX-License-Identifier: MIT */
#include "model/profile.h"
#include "test.h"

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
        {"h100_sxm", "fp16_tflops", 989},        {"h100_sxm", "fp16_sparse_tflops", 1979},
        {"h100_sxm", "mem_GBps", 3350},          {"h100_sxm", "nvlink_GBps", 450},
        {"h100_pcie", "fp16_tflops", 756},       {"h100_pcie", "mem_GBps", 2000},
        {"h200_sxm", "fp16_tflops", 989},        {"h200_sxm", "mem_GBps", 4800},
        {"a100_sxm", "fp16_tflops", 312},        {"a100_sxm", "mem_GBps", 2039},
        {"a100_sxm", "nvlink_GBps", 300},        {"a100_pcie", "mem_GBps", 1935},
        {"v100_sxm", "fp16_tflops", 125},        {"v100_sxm", "mem_GBps", 900},
        {"v100_sxm", "nvlink_GBps", 150},        {"v100_sxm", "pcie_GBps", 15.75},
        {"rtx_4090", "fp16_tflops", 165.2},      {"rtx_4090", "mem_GBps", 1008},
        {"rtx_3090", "fp16_tflops", 71},         {"rtx_3090", "mem_GBps", 936},
        {"mi300x", "fp16_tflops", 1307.4},       {"mi300x", "mem_GBps", 5300},
        {"l40s", "fp16_tflops", 362.05},         {"l40s", "mem_GBps", 864},
        {"b200_sxm", "fp16_tflops", 2250},       {"b200_sxm", "mem_GBps", 8000},
        {"b200_sxm", "fp4_tflops", 9000},        {"b200_sxm", "nvlink_GBps", 900},
        {"a100_pcie", "pcie_GBps", 31.5},        {"h100_pcie", "pcie_GBps", 63},
        {"h100_sxm", "fp8_sparse_tflops", 3958}, {"a100_sxm", "fp16_sparse_tflops", 624},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        CHECK_DOUBLE(gpu_figure(figures[i].gpu, figures[i].field), figures[i].value, 0);
}

TEST(profile_network_figures)
{
    const struct network_profile *dgx1 = network_profile_find("dgx1_v100", NULL);
    const struct network_profile *dgx = network_profile_find("dgx_h100_400g", NULL);
    const struct network_profile *b200 = network_profile_find("dgx_b200_400g", NULL);
    const struct network_profile *mi300x = network_profile_find("mi300x_8x400g", NULL);
    const struct network_profile *single = network_profile_find("single_node_nvlink", NULL);
    CHECK_DOUBLE(dgx->intra_GBps, 450, 0);
    CHECK_DOUBLE(dgx->nics_per_node, 8, 0);
    CHECK_DOUBLE(dgx->nic_Gbps, 400, 0);
    CHECK_STR(dgx1->intra, "nvlink_mesh");
    CHECK_DOUBLE(dgx1->intra_GBps, 6 * 25, 0);
    CHECK_DOUBLE(dgx1->nics_per_node * dgx1->nic_Gbps, 400, 0);
    CHECK_DOUBLE(b200->intra_GBps, 900, 0);
    CHECK_DOUBLE(b200->nics_per_node * b200->nic_Gbps, 3200, 0);
    CHECK_DOUBLE(mi300x->intra_GBps, 7 * 64, 0);
    CHECK_DOUBLE(mi300x->pair_GBps, 64, 0);
    CHECK_DOUBLE(mi300x->nics_per_node * mi300x->nic_Gbps, 3200, 0);
    CHECK_DOUBLE(single->nics_per_node, 0, 0);
    CHECK_STR(single->inter, "none");
}

TEST(profile_defaults_exist)
{
    const struct gpu_profile *gpu = gpu_profile_find(GPU_PROFILE_DEFAULT, NULL);
    CHECK(gpu != NULL && strcmp(gpu->network, NETWORK_PROFILE_DEFAULT) == 0);
    CHECK(network_profile_find(NETWORK_PROFILE_DEFAULT, NULL) != NULL);
}

/* What vendors print "with sparsity" is twice the dense figure, to the rounding of a datasheet. */
static void check_sparse(double dense, double sparse)
{
    if (sparse > 0)
        CHECK_DOUBLE(sparse, 2 * dense, 0.015);
}

TEST(profile_gpus_are_whole)
{
    for (size_t i = 0; i < gpu_profile_count; i++) {
        const struct gpu_profile *gpu = &gpu_profiles[i];
        const struct network_profile *net = network_profile_find(gpu->network, NULL);
        CHECK(net != NULL);
        if (gpu->nvlink_GBps > 0) /* the fabric it usually sits in is its own */
            CHECK_DOUBLE(net->intra_GBps, gpu->nvlink_GBps, 0);
        CHECK(strlen(gpu->source) > 20 && strlen(gpu->title) > 5);
        CHECK(gpu_profile_find(gpu->name, NULL) == gpu);
        CHECK(gpu->fp32_tflops > 0 && gpu->fp64_tflops > 0 && gpu->fp16_tflops > 0);
        CHECK(gpu->mem_GBps > 0 && gpu->mem_GB > 0 && gpu->pcie_GBps > 0 && gpu->launch_us > 0);
        CHECK(gpu->sms > 0 && gpu->boost_MHz > 0 && gpu->tdp_W > 0 && gpu->l2_MB > 0);
        check_sparse(gpu->fp16_tflops, gpu->fp16_sparse_tflops);
        check_sparse(gpu->fp8_tflops, gpu->fp8_sparse_tflops);
    }
}

TEST(profile_networks_are_whole)
{
    for (size_t i = 0; i < network_profile_count; i++) {
        const struct network_profile *net = &network_profiles[i];
        CHECK(network_profile_find(net->name, NULL) == net);
        CHECK(strlen(net->source) > 20 && net->intra != NULL && net->inter != NULL);
        CHECK(net->gpus_per_node >= 1 && net->intra_GBps > 0 && net->intra_lat_us > 0);
        CHECK(net->intra_efficiency > 0 && net->intra_efficiency <= 1);
        CHECK(net->inter_efficiency <= 1);
        CHECK((net->nics_per_node > 0) == (net->nic_Gbps > 0 && net->inter_lat_us > 0));
        CHECK((net->nics_per_node > 0) == (strcmp(net->inter, "none") != 0));
    }
}

/* The text of a file of the repository; "" when it cannot be read. The caller frees it. */
static char *profile_slurp(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = calloc(1, 1 << 16);
    size_t n = f != NULL && text != NULL ? fread(text, 1, (1 << 16) - 1, f) : 0;
    (void)n;
    if (f != NULL)
        fclose(f);
    return text;
}

TEST(profile_sources_are_documented)
{
    char *text = profile_slurp(test_data("../../profiles/README.md"));
    for (size_t i = 0; i < gpu_profile_count; i++)
        CHECK_HAS(text, gpu_profiles[i].name);
    for (size_t i = 0; i < network_profile_count; i++)
        CHECK_HAS(text, network_profiles[i].name);
    for (size_t i = 0; i < gpu_field_count; i++)
        CHECK_HAS(text, gpu_fields[i].name);
    for (size_t i = 0; i < network_field_count; i++)
        CHECK_HAS(text, network_fields[i].name);
    free(text);
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
        {"A100-SXM4-40GB", "a100_sxm"},
        {"NVIDIA A100 80GB PCIe", "a100_pcie"},
        {"NVIDIA A100-PCIE-40GB", "a100_pcie"},
        {"Tesla V100-SXM2-16GB", "v100_sxm"},
        {"Tesla V100-SXM2-32GB", "v100_sxm"},
        {"NVIDIA GeForce RTX 4090", "rtx_4090"},
        {"NVIDIA GeForce RTX 3090", "rtx_3090"},
        {"NVIDIA L40S", "l40s"},
        {"NVIDIA B200", "b200_sxm"},
        {"AMD Instinct MI300X", "mi300x"},
        {"AMD Instinct MI300X OAM", "mi300x"},
        {"NVIDIA GH200 480GB", NULL},
        {"NVIDIA GB200", NULL},
        {"NVIDIA H100 NVL", NULL},
        {"NVIDIA H200 NVL", NULL},
        {"NVIDIA H20", NULL},
        {"NVIDIA GeForce RTX 3090 Ti", NULL},
        {"NVIDIA GeForce RTX 4090 Laptop GPU", NULL},
        {"NVIDIA L40", NULL},
        {"Tesla V100-PCIE-32GB", NULL},
        {"", NULL},
        {"|$", NULL},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct gpu_profile *gpu = gpu_profile_of_device(names[i].device);
        if (names[i].profile == NULL)
            CHECK(gpu == NULL);
        else
            CHECK_STR(gpu != NULL ? gpu->name : names[i].device, names[i].profile);
    }
    CHECK(gpu_profile_of_device(NULL) == NULL);
}

TEST(profile_find_names_the_nearest)
{
    static char endless[1 << 16];
    struct err e = {0};
    CHECK(gpu_profile_find("h100", &e) == NULL);
    CHECK_INT(e.code, ERR_USAGE);
    CHECK_STR(e.msg, "unknown GPU profile 'h100'; the nearest are h100_sxm, h100_pcie and l40s");
    CHECK(gpu_profile_find("rtx4090", &e) == NULL);
    CHECK_HAS(e.msg, "the nearest are rtx_4090, ");
    CHECK(network_profile_find("dgx_h100", &e) == NULL);
    CHECK_STR(e.msg, "unknown network profile 'dgx_h100'; the nearest are dgx_h100_400g, dgx1_v100 "
                     "and dgx_a100_200g");
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
