/* SPDX-License-Identifier: MIT */
#include "base/arena.h"
#include "model/profile_json.h"
#include "test.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

static int read_text(struct profile_pair *out, struct arena *a, const char *text, struct err *e)
{
    *out = (struct profile_pair){0};
    return profile_json_read(out, a, "f.json", text, strlen(text), e);
}

#define GPU_START "{\"gpu\": {\"name\": \"g\", \"base\": \"h100_sxm\""
#define NET_START "{\"network\": {\"name\": \"n\", \"base\": \"dgx_h100_400g\""

/* Checks that a profile that is printed is read back as the same bytes. */
static void check_identity(const struct profile_kind *kind, const void *profile)
{
    struct profile_pair pair;
    struct arena a;
    struct err e = {0};
    cJSON *object = profile_json_object(kind, profile), *again;
    char *text = cJSON_Print(object), *second;
    arena_init(&a);
    CHECK_INT(read_text(&pair, &a, text, &e), 0);
    CHECK_STR(e.msg, "");
    CHECK((kind == &gpu_kind) == (pair.gpu != NULL) &&
          (pair.gpu == NULL) != (pair.network == NULL));
    again = profile_json_object(kind, pair.gpu ? (const void *)pair.gpu : pair.network);
    second = cJSON_Print(again);
    CHECK_STR(second, text);
    free(second);
    free(text);
    cJSON_Delete(again);
    cJSON_Delete(object);
    arena_release(&a);
}

TEST(profile_json_gives_back_what_it_prints)
{
    struct gpu_profile gpu = gpu_profiles[0];
    struct network_profile net = network_profiles[0];
    for (size_t i = 0; i < gpu_profile_count; i++)
        check_identity(&gpu_kind, &gpu_profiles[i]);
    for (size_t i = 0; i < network_profile_count; i++)
        check_identity(&network_kind, &network_profiles[i]);
    gpu.gemm.mma_share = 1.0 / 3; /* own parameters, and digits that need all 17 */
    gpu.mem_GBps = 1e4 / 3;
    gpu.title = "a \"quoted\" title, \xc3\xa4";
    check_identity(&gpu_kind, &gpu);
    net.node.step_us = 0.1 + 0.2;
    net.net.nic_share = 0.77;
    net.cpu = NULL;
    check_identity(&network_kind, &net);
}

TEST(profile_json_starts_from_a_base)
{
    static const char text[] =
        "{\"gpu\": {\"mem_GBps\": 3900, \"base\": \"h100_sxm\", \"name\": \"mine\",\n"
        "          \"gemm\": {\"mma_share\": 0.7}, \"network\": \"my_net\"},\n"
        " \"network\": {\"name\": \"my_net\", \"base\": \"dgx_h100_400g\", \"nics_per_node\": 4,\n"
        "              \"node\": {\"step_us\": 1.5}, \"net\": {\"hop_us\": 7}}}";
    const struct gpu_profile *base = gpu_profile_find("h100_sxm", NULL);
    struct profile_pair p;
    struct arena a;
    struct err e = {0};
    arena_init(&a);
    CHECK_INT(read_text(&p, &a, text, &e), 0);
    CHECK_STR(e.msg, "");
    CHECK_STR(p.gpu->name, "mine");
    CHECK_DOUBLE(p.gpu->mem_GBps, 3900, 0);
    CHECK_DOUBLE(p.gpu->fp16_tflops, base->fp16_tflops, 0);
    CHECK_DOUBLE(params_gemm(p.gpu).mma_share, 0.7, 0);
    CHECK_STR(p.gpu->arch, "hopper");
    CHECK_STR(p.network->name, "my_net");
    CHECK_DOUBLE(p.network->nics_per_node, 4, 0);
    CHECK_DOUBLE(params_node(p.gpu, p.network).step_us, 1.5, 0);
    CHECK_DOUBLE(params_net(p.network).hop_us, 7, 0);
    arena_release(&a);
}

TEST(profile_json_fills_what_may_be_left_out)
{
    struct profile_pair p;
    struct arena a;
    struct err e = {0};
    arena_init(&a);
    CHECK_INT(read_text(&p, &a, "{\"name\": \"x\", \"arch\": \"new\", \"mem_GBps\": 1000}", &e), 0);
    CHECK_STR(e.msg, "");
    CHECK_STR(p.gpu->title, "x");
    CHECK_STR(p.gpu->source, "f.json");
    CHECK_STR(p.gpu->match, "");
    CHECK(p.gpu->network == NULL && p.network == NULL);
    CHECK_INT(read_text(&p, &a,
                        "{\"name\": \"y\", \"intra\": \"pcie\", \"inter\": \"none\", "
                        "\"gpus_per_node\": 4, \"intra_GBps\": 30}",
                        &e),
              0);
    CHECK(p.gpu == NULL && p.network->cpu == NULL);
    CHECK_DOUBLE(p.network->intra_GBps, 30, 0);
    arena_release(&a);
}

TEST(profile_json_refuses)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        /* keys */
        {GPU_START ",\n\"mem_GBs\": 3}}",
         "f.json:2: unknown key 'mem_GBs'; the nearest is 'mem_GB'"},
        {NET_START ", \"nic_gbps\": 3}}",
         "f.json:1: unknown key 'nic_gbps'; the nearest is 'nic_Gbps'"},
        {"{\"gpuu\": {}}", "f.json:1: unknown key 'gpuu'; the nearest is 'gpu'"},
        {GPU_START ", \"gemm\": {\"mma\": 1}}}",
         "f.json:1: unknown key 'mma'; the nearest is 'mma_share'"},
        {"{\"network\": {\"name\": \"n\", \"node\": {\"host_GBps\": 17}}}",
         "f.json:1: 'host_GBps' is no longer a key: host_share, a share of the GPU's pcie_GBps, "
         "replaces it (calibrate again)"},
        {GPU_START ", \"sms\": 1,\n\n\"sms\": 2}}", "f.json:3: sms is given twice"},
        {GPU_START ", \"gemm\": {\"mma_share\": 0.5, \"mma_share\": 0.5}}}",
         "f.json:1: mma_share is given twice"},
        {"{\"gpu\": {\"base\": \"h100_sxm\"}}", "f.json:1: the gpu has no name"},
        {"{\"gpu\": {\"name\": \"g\"}}",
         "f.json:1: the gpu has no arch, and no base to take it from"},
        {"{\"network\": {\"name\": \"n\", \"intra\": \"pcie\"}}",
         "f.json:1: the network has no inter, and no base to take it from"},
        {"{\"network\": {\"name\": \"n\", \"intra\": \"pcie\", \"inter\": \"roce\", "
         "\"gpus_per_node\": 8}}",
         "f.json:1: the network has no intra_GBps"},
        {NET_START ", \"nics_per_node\": 0}}",
         "f.json:1: inter is 'infiniband', but there is no nics_per_node"},
        {NET_START ", \"domain_gpus\": 12}}",
         "f.json:1: domain_gpus is 12, no multiple of gpus_per_node, 8"},
        {NET_START ", \"domain_gpus\": 4}}",
         "f.json:1: domain_gpus is 4, no multiple of gpus_per_node, 8"},
        {NET_START ", \"inter\": \"none\"}}", "f.json:1: inter is 'none', but nics_per_node is 8"},
        /* figures */
        {NET_START ", \"nic_Gbps\": 400000}}", "f.json:1: nic_Gbps: 400000 is beyond 10000 Gb/s"},
        {NET_START ", \"sharp\": 82}}", "f.json:1: sharp: 82 is beyond 1"},
        {GPU_START ", \"mem_GBps\": 3.35}}", "f.json:1: mem_GBps: 3.35 is below 10 GB/s"},
        {GPU_START ", \"mem_GBps\": -1}}", "f.json:1: mem_GBps: -1 is below 10 GB/s"},
        {GPU_START ", \"mem_GBps\": 1e999}}", "f.json:1: number out of range"},
        {GPU_START ", \"sms\": 78.5}}", "f.json:1: sms: 78.5 is no whole number"},
        {GPU_START ", \"gemm\": {\"mma_share\": 1.5}}}", "f.json:1: mma_share: 1.5 is beyond 1"},
        {NET_START ", \"net\": {\"hop_us\": 0.05}}}", "f.json:1: hop_us: 0.05 is below 0.1 us"},
        /* types */
        {GPU_START ", \"sms\": \"132\"}}", "f.json:1: sms: a number is needed, not a text"},
        {GPU_START ", \"sms\": null}}", "f.json:1: sms: a number is needed, not null"},
        {GPU_START ", \"sms\": [132]}}", "f.json:1: sms: a number is needed, not an array"},
        {GPU_START ", \"title\": 5}}", "f.json:1: title: a text is needed, not a number"},
        {GPU_START ", \"gemm\": 5}}", "f.json:1: gemm: an object is needed, not a number"},
        {"{\"gpus\": {}}", "f.json:1: gpus: an array is needed, not an object"},
        {"{\"gpu\": {}, \"network\": true}", "f.json:1: the gpu has no name"},
        {"{\"gpu\": {\"name\": \"g\", \"base\": 7}}",
         "f.json:1: base: a text is needed, not a number"},
        {"[1]", "f.json:1: a JSON object is needed"},
        {"", "f.json:1: "},
        /* texts */
        {"{\"gpu\": {\"name\": \"my gpu\", \"base\": \"h100_sxm\"}}",
         "f.json:1: name: 'my gpu' is no word of up to 63 letters, digits, '_', '-' and '.'"},
        {"{\"gpu\": {\"name\": \"\", \"base\": \"h100_sxm\"}}", "f.json:1: name: '' is no word"},
        {GPU_START ", \"title\": \"a\\u001b[31m\"}}",
         "f.json:1: title: control characters are not allowed"},
        {GPU_START ", \"\\u001b[31m\": 1}}", "f.json:1: unknown key '?[31m'"},
        {NET_START ", \"intra\": \"nvswich\"}}",
         "f.json:1: intra: unknown 'nvswich'; the nearest is 'nvswitch'"},
        {NET_START ", \"cpu\": \"Intel\"}}",
         "f.json:1: cpu: unknown 'Intel'; the nearest is 'intel'"},
        {"{\"gpu\": {\"name\": \"g\",\n\"base\": \"h1\"}}",
         "f.json:2: base: unknown GPU profile 'h1'; the nearest are h100_sxm"},
        {GPU_START ", \"network\": \"nowhere\"}}",
         "f.json: network: unknown network profile 'nowhere'; the nearest are"},
        /* whole texts */
        {"{\"schema\": \"specter.profiles/1\"}", "f.json:1: no profile in it"},
        {"{\"schema\": \"specter.profiles/9\", \"gpus\": []}",
         "f.json:1: schema 'specter.profiles/9' is not specter.profiles/1"},
        {"{}", "f.json:1: no profile in it"},
        {"{\"gpus\": [{\"name\": \"a\", \"base\": \"l40s\"}, {\"name\": \"b\", \"base\": "
         "\"l40s\"}]}",
         "f.json:1: a second GPU: a file holds one"},
        {GPU_START ", \"sms\": 1", "f.json:1: "},
        {GPU_START "}}\n,", "f.json:2: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct profile_pair p;
        struct arena a;
        struct err e = {0};
        arena_init(&a);
        CHECK_INT(read_text(&p, &a, cases[i].text, &e), -1);
        CHECK_INT(e.code, ERR_INPUT);
        CHECK_HAS(e.msg, cases[i].message);
        CHECK(p.gpu == NULL && p.network == NULL);
        arena_release(&a);
    }
}

/* A text that ends early, or holds garbage at any one place, is refused or read, never more. */
TEST(profile_json_survives_damage)
{
    cJSON *object = profile_json_object(&network_kind, network_profiles);
    char *text = cJSON_PrintUnformatted(object), *copy = strdup(text);
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++) {
        struct profile_pair p;
        struct arena a;
        struct err e = {0};
        arena_init(&a);
        CHECK_INT(profile_json_read(&p, &a, "f", text, i, &e), -1);
        copy[i] = (char)("\"{[}\\\xff-9"[i % 8]);
        if (profile_json_read(&p, &a, "f", copy, len, &e) < 0)
            CHECK_INT(e.code, ERR_INPUT);
        copy[i] = text[i];
        arena_release(&a);
    }
    free(copy);
    free(text);
    cJSON_Delete(object);
}
