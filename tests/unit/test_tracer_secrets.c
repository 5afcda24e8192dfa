/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "../../tracer/config.h"

#include <stdio.h>
#include <string.h>

#define CASES(_rows) (sizeof(_rows) / sizeof *(_rows))

static const struct {
    const char *name, *value;
} secret[] = {
    {"NCCL_NET_TOKEN", "x"},
    {"NCCL_NETTOKENS", "x"},
    {"NCCL_net_secret", "x"},
    {"NCCL_UCX_KEY", "17"},
    {"NCCL_ACCESS_KEY_ID", "17"},
    {"NCCL_X_APIKEY", "17"},
    {"NCCL_PASSWORD", "hunter2"},
    {"NCCL_X_AUTH", "basic"},
    {"NCCL_CREDENTIALS_FILE", "/run/credentials"},
    {"NCCL_PROXY", "http://joe:hunter2@proxy:3128"},
    {"NCCL_PROXY", "joe:hunter2@proxy"},
    {"NCCL_X", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJqb2UifQ.c2lnbmF0dXJl"},
    {"NCCL_X", "Bearer abcdefghijklmnop"},
    {"NCCL_X", "a,token=ghp_abcdefghijklmnopqrst,b"},
    {"NCCL_X", "AKIAIOSFODNN7EXAMPLE"},
    {"NCCL_X", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"},
    {"NCCL_X", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"},
    {"NCCL_X", "lo,d2f1a9c4b7e84c5f9a3b6d0e7c1f2a8b"},
    {"NCCL_X", "k3x9v7q2m5t8w1z4r6y0p3s7"},
};

static const struct {
    const char *name, *value;
} ordinary[] = {
    {"NCCL_IB_PKEY", "17"},
    {"NCCL_DEBUG", "INFO"},
    {"NCCL_DEBUG_FILE", "/scratch/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b/nccl.%h.%p.log"},
    {"NCCL_DEBUG_FILE", "./logs/k3x9v7q2m5t8w1z4r6y0p3s7"},
    {"NCCL_DEBUG_FILE", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b.log"},
    {"NCCL_TOPO_FILE", "~/topologies/H100x8-rail-optimized-2024-11.xml"},
    {"NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1"},
    {"NCCL_IB_HCA", "^mlx5_bond_0"},
    {"NCCL_SOCKET_IFNAME", "^docker0,lo,enp179s0f0np0,enp179s0f1np1,ibp12s0,ibs108p0"},
    {"NCCL_COMM_ID", "node-17.cluster.internal:29500"},
    {"NCCL_COMM_ID", "[fe80::42:acff:fe11:2]:29500"},
    {"NCCL_ALGO", "allreduce:tree,ring;broadcast:ring;all:^pat"},
    {"NCCL_PROTO", "^LL,LL128,Simple"},
    {"NCCL_BUFFSIZE", "4194304"},
    {"NCCL_MAX_NCHANNELS", "18446744073709551615184467440737095516"},
    {"NCCL_NET_PLUGIN", "libnccl-net-ofi-aws-1.9.2.so"},
    {"NCCL_PROFILER_PLUGIN", "/opt/specter/lib/libspecter.so"},
    {"NCCL_GRAPH_DUMP_FILE", "../graph.xml"},
    {"TORCH_NCCL_TRACE_BUFFER_SIZE", "2000"},
    {"CUDA_VISIBLE_DEVICES",
     "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6,MIG-41b36014-e2df-5d0a-9b10"},
    {"CUBLAS_WORKSPACE_CONFIG", ":4096:8:16:8"},
    {"NCCL_HOSTID", "gpu-b200-node0017-rack12-pod3"},
    {"NCCL_X", ""},
};

/* Returns whether the trace holds CONFIG_REDACTED in place of the variable's value. */
static bool is_redacted(const char *name, const char *value)
{
    static struct config config;
    char variable[512];
    snprintf(variable, sizeof variable, "%s=%s", name, value);
    config_read_from(&config, (const char *const[]){variable, NULL});
    if (strstr(config.env, name) == NULL)
        CHECK_STR(config.env, name); /* not recorded: the case says nothing */
    return strstr(config.env, CONFIG_REDACTED) != NULL;
}

TEST(tracer_secrets_are_told_from_ordinary_settings)
{
    for (size_t i = 0; i < CASES(secret); i++) {
        if (!is_redacted(secret[i].name, secret[i].value))
            CHECK_STR(secret[i].value, CONFIG_REDACTED);
    }
    for (size_t i = 0; i < CASES(ordinary); i++) {
        if (is_redacted(ordinary[i].name, ordinary[i].value))
            CHECK_STR(CONFIG_REDACTED, ordinary[i].value);
    }
}

TEST(tracer_secrets_stay_out_of_the_trace)
{
    static struct config config;
    config_read_from(&config,
                     (const char *const[]){"NCCL_IB_HCA=mlx5_0:1", "NCCL_NET_TOKEN=hunter2",
                                           "NCCL_DEBUG_FILE=/tmp/nccl.%h.%p", NULL});
    CHECK_STR(config.env, "{\"NCCL_IB_HCA\":\"mlx5_0:1\",\"NCCL_NET_TOKEN\":\"<redacted>\","
                          "\"NCCL_DEBUG_FILE\":\"/tmp/nccl.%h.%p\"}");
}
