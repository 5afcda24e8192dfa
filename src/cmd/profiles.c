/* SPDX-License-Identifier: MIT
 *
 * specter profiles: what the models know of GPUs and networks.
 */
#include "cmd/cmd.h"
#include "model/profile.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <string.h>

struct profiles_opts {
    bool json;
};

static const struct opt profiles_rows[] = {
    {"json", 0, OPT_FLAG, offsetof(struct profiles_opts, json), NULL,
     "JSON, with units in the key names"},
    OPT_END,
};

/* What is asked for: a whole table, or one profile of it. */
struct selection {
    bool gpus, networks;
    const struct gpu_profile *gpu;         /* NULL: all, when gpus */
    const struct network_profile *network; /* NULL: all, when networks */
};

/* A column of a list: a field and its heading. */
struct column {
    const char *title;
    size_t offset;
};

static const struct column gpu_columns[] = {
    {"fp64", offsetof(struct gpu_profile, fp64_tflops)},
    {"fp32", offsetof(struct gpu_profile, fp32_tflops)},
    {"tf32", offsetof(struct gpu_profile, tf32_tflops)},
    {"fp16", offsetof(struct gpu_profile, fp16_tflops)},
    {"fp8", offsetof(struct gpu_profile, fp8_tflops)},
    {"*fp16", offsetof(struct gpu_profile, fp16_sparse_tflops)},
    {"GB", offsetof(struct gpu_profile, mem_GB)},
    {"GB/s", offsetof(struct gpu_profile, mem_GBps)},
    {"NVLink", offsetof(struct gpu_profile, nvlink_GBps)},
    {"PCIe", offsetof(struct gpu_profile, pcie_GBps)},
};

static const struct column network_columns[] = {
    {"GPUs", offsetof(struct network_profile, gpus_per_node)},
    {"GB/s", offsetof(struct network_profile, intra_GBps)},
    {"us", offsetof(struct network_profile, intra_lat_us)},
    {"NICs", offsetof(struct network_profile, nics_per_node)},
    {"Gb/s", offsetof(struct network_profile, nic_Gbps)},
    {"us", offsetof(struct network_profile, inter_lat_us)},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void number_cell(struct table *t, double value)
{
    if (value > 0)
        table_cell(t, "%.4g", value);
    else
        table_cell(t, "-");
}

static void column_cells(struct table *t, const void *profile, const struct column *columns,
                         size_t first, size_t last)
{
    for (size_t i = first; i < last; i++) {
        const struct profile_field field = {.offset = columns[i].offset};
        number_cell(t, profile_value(profile, &field));
    }
}

static void column_heads(struct table *t, const struct column *columns, size_t first, size_t last)
{
    for (size_t i = first; i < last; i++)
        table_column(t, columns[i].title, TABLE_RIGHT);
}

static void list_gpus(void)
{
    struct table t;
    table_init(&t);
    table_column(&t, "gpu", TABLE_LEFT);
    column_heads(&t, gpu_columns, 0, COUNT(gpu_columns));
    for (size_t i = 0; i < gpu_profile_count; i++) {
        table_cell(&t, "%s", gpu_profiles[i].name);
        column_cells(&t, &gpu_profiles[i], gpu_columns, 0, COUNT(gpu_columns));
    }
    puts("GPUs: dense TFLOPS, memory and links in GB/s, links per direction");
    puts("(*fp16: with 2:4 sparsity, in no model)");
    table_print(&t, stdout);
    table_release(&t);
}

static void list_networks(void)
{
    const size_t inside = 3; /* the columns that describe a node */
    struct table t;
    table_init(&t);
    table_column(&t, "network", TABLE_LEFT);
    column_heads(&t, network_columns, 0, inside);
    table_column(&t, "in a node", TABLE_LEFT);
    column_heads(&t, network_columns, inside, COUNT(network_columns));
    table_column(&t, "between", TABLE_LEFT);
    for (size_t i = 0; i < network_profile_count; i++) {
        const struct network_profile *net = &network_profiles[i];
        table_cell(&t, "%s", net->name);
        column_cells(&t, net, network_columns, 0, inside);
        table_cell(&t, "%s", net->intra);
        column_cells(&t, net, network_columns, inside, COUNT(network_columns));
        table_cell(&t, "%s", net->inter);
    }
    puts("networks: a node's GPUs, link rate, latency; its NICs, port rate, latency");
    table_print(&t, stdout);
    table_release(&t);
}

static void print_lists(const struct selection *s)
{
    if (s->gpus)
        list_gpus();
    if (s->gpus && s->networks)
        putchar('\n');
    if (s->networks)
        list_networks();
    puts("\n'specter profiles NAME' shows every figure of one and its source");
}

static void print_text(const char *label, const char *text)
{
    const int indent = 16;
    printf("  %-*s", indent - 2, label);
    opt_wrap(text, (size_t)indent, (size_t)indent, stdout);
}

static void print_fields(const void *profile, const struct profile_field *fields, size_t count)
{
    struct table t;
    table_init(&t);
    table_column(&t, "field", TABLE_LEFT);
    table_column(&t, "value", TABLE_RIGHT);
    table_column(&t, "unit", TABLE_LEFT);
    table_column(&t, "meaning", TABLE_LEFT);
    for (size_t i = 0; i < count; i++) {
        table_cell(&t, "%s", fields[i].name);
        table_cell(&t, "%.6g", profile_value(profile, &fields[i]));
        table_cell(&t, "%s", fields[i].unit);
        table_cell(&t, "%s", fields[i].help);
    }
    putchar('\n');
    table_print(&t, stdout);
    puts("\n0: the hardware has no such thing, or the figure is not known");
    table_release(&t);
}

static void print_gpu(const struct gpu_profile *gpu)
{
    printf("%s\n\n", gpu->name);
    print_text("title", gpu->title);
    print_text("architecture", gpu->arch);
    print_text("driver names", gpu->match);
    print_text("network", gpu->network);
    print_text("source", gpu->source);
    print_fields(gpu, gpu_fields, gpu_field_count);
}

static void print_network(const struct network_profile *net)
{
    printf("%s\n\n", net->name);
    print_text("title", net->title);
    print_text("in a node", net->intra);
    print_text("between nodes", net->inter);
    print_text("source", net->source);
    print_fields(net, network_fields, network_field_count);
}

static void add_numbers(cJSON *object, const void *profile, const struct profile_field *fields,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        cJSON_AddNumberToObject(object, fields[i].name, profile_value(profile, &fields[i]));
}

static cJSON *gpu_json(const struct gpu_profile *gpu)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "name", gpu->name);
    cJSON_AddStringToObject(object, "title", gpu->title);
    cJSON_AddStringToObject(object, "match", gpu->match);
    cJSON_AddStringToObject(object, "arch", gpu->arch);
    cJSON_AddStringToObject(object, "network", gpu->network);
    cJSON_AddStringToObject(object, "source", gpu->source);
    add_numbers(object, gpu, gpu_fields, gpu_field_count);
    return object;
}

static cJSON *network_json(const struct network_profile *net)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "name", net->name);
    cJSON_AddStringToObject(object, "title", net->title);
    cJSON_AddStringToObject(object, "intra", net->intra);
    cJSON_AddStringToObject(object, "inter", net->inter);
    cJSON_AddStringToObject(object, "source", net->source);
    add_numbers(object, net, network_fields, network_field_count);
    return object;
}

/* Both arrays are always there, so that a script reads one shape whatever was asked for. */
static cJSON *selection_json(const struct selection *s)
{
    cJSON *doc = cJSON_CreateObject(), *gpus, *networks;
    cJSON_AddStringToObject(doc, "schema", "specter.profiles/1");
    gpus = cJSON_AddArrayToObject(doc, "gpus");
    networks = cJSON_AddArrayToObject(doc, "networks");
    for (size_t i = 0; s->gpus && i < gpu_profile_count; i++) {
        if (s->gpu == NULL || s->gpu == &gpu_profiles[i])
            cJSON_AddItemToArray(gpus, gpu_json(&gpu_profiles[i]));
    }
    for (size_t i = 0; s->networks && i < network_profile_count; i++) {
        if (s->network == NULL || s->network == &network_profiles[i])
            cJSON_AddItemToArray(networks, network_json(&network_profiles[i]));
    }
    return doc;
}

/* The profile `name` among the kinds that s allows; s is narrowed down to it. */
static int select_name(struct selection *s, const char *name, struct err *e)
{
    struct err no_gpu = {0}, no_network = {0};
    s->gpu = s->gpus ? gpu_profile_find(name, &no_gpu) : NULL;
    s->network = s->networks && s->gpu == NULL ? network_profile_find(name, &no_network) : NULL;
    if (s->gpu == NULL && s->network == NULL)
        return err_set(e, ERR_USAGE, "%s%s%s", no_gpu.msg, s->gpus && s->networks ? "; " : "",
                       no_network.msg);
    s->gpus = s->gpu != NULL;
    s->networks = s->network != NULL;
    return 0;
}

static int select_profiles(struct selection *s, int n, char **argv, struct err *e)
{
    bool gpu = n > 0 && strcmp(argv[0], "gpu") == 0;
    bool network = n > 0 && strcmp(argv[0], "network") == 0;
    int at = gpu || network;
    *s = (struct selection){.gpus = !network, .networks = !gpu};
    if (n > at + 1)
        return err_set(e, ERR_USAGE, "unexpected argument '%s' (see 'specter help profiles')",
                       argv[at + 1]);
    return n > at ? select_name(s, argv[at], e) : 0;
}

static int run_profiles(const struct command *self, int argc, char **argv, struct err *e)
{
    struct profiles_opts opts = {0};
    struct selection s;
    int n, status = cmd_parse(self, &opts, argc, argv, false, &n, e);
    if (status >= 0)
        return status;
    if (select_profiles(&s, n, argv, e) < 0)
        return (int)e->code;
    if (opts.json)
        return cmd_write_json(selection_json(&s), "-", e) < 0 ? (int)e->code : 0;
    if (s.gpu != NULL)
        print_gpu(s.gpu);
    else if (s.network != NULL)
        print_network(s.network);
    else
        print_lists(&s);
    return 0;
}

const struct command cmd_profiles = {
    .name = "profiles",
    .synopsis = "profiles [gpu|network] [NAME] [--json]",
    .summary = "list the GPUs and networks that predictions know",
    .details =
        "Without NAME both tables, or the one that is named; with NAME all fields of that "
        "profile,\n"
        "their units and the source of the figures. TFLOPS are dense; rates of links are per GPU\n"
        "and direction. With --json the same as {\"gpus\": [...], \"networks\": [...]}.",
    .rows = profiles_rows,
    .run = run_profiles,
};
