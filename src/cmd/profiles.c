/* SPDX-License-Identifier: MIT
 *
 * specter profiles: what the models know of GPUs and networks.
 */
#include "cmd/cmd.h"

#include "base/arena.h"
#include "cmd/hardware.h"
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

/* The selection of a call: a whole table, or one profile of it (a file may hold one of each). */
struct selection {
    bool gpus, networks;
    const struct gpu_profile *gpu;         /* NULL: all, when gpus */
    const struct network_profile *network; /* NULL: all, when networks */
};

/* A column of a list: a field and its heading. */
struct column {
    const char *title;
    size_t offset;
    bool optional; /* a narrow terminal does without */
};

static const struct column gpu_columns[] = {
    {.title = "fp64", .offset = offsetof(struct gpu_profile, fp64_tflops), .optional = true},
    {.title = "fp32", .offset = offsetof(struct gpu_profile, fp32_tflops), .optional = true},
    {.title = "tf32", .offset = offsetof(struct gpu_profile, tf32_tflops), .optional = true},
    {.title = "fp16", .offset = offsetof(struct gpu_profile, fp16_tflops)},
    {.title = "fp8", .offset = offsetof(struct gpu_profile, fp8_tflops)},
    {.title = "fp4", .offset = offsetof(struct gpu_profile, fp4_tflops), .optional = true},
    {.title = "GB", .offset = offsetof(struct gpu_profile, mem_GB)},
    {.title = "GB/s", .offset = offsetof(struct gpu_profile, mem_GBps)},
    {.title = "link", .offset = offsetof(struct gpu_profile, nvlink_GBps)},
    {.title = "PCIe", .offset = offsetof(struct gpu_profile, pcie_GBps)},
};

static const struct column network_columns[] = {
    {.title = "GPUs", .offset = offsetof(struct network_profile, gpus_per_node)},
    {.title = "domain", .offset = offsetof(struct network_profile, domain_gpus)},
    {.title = "GB/s", .offset = offsetof(struct network_profile, intra_GBps)},
    {.title = "NICs", .offset = offsetof(struct network_profile, nics_per_node)},
    {.title = "Gb/s", .offset = offsetof(struct network_profile, nic_Gbps)},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void column_cells(struct table *t, const void *profile, const struct column *columns,
                         size_t first, size_t last)
{
    for (size_t i = first; i < last; i++) {
        const struct profile_field field = {.offset = columns[i].offset};
        double value = profile_value(profile, &field);
        if (value > 0)
            table_cell(t,
                       value < 1     ? "%.2g"
                       : value < 100 ? "%.3g"
                       : value < 1e5 ? "%.0f"
                                     : "%.4g",
                       value);
        else
            table_cell(t, "-");
    }
}

static void column_heads(struct table *t, const struct column *columns, size_t first, size_t last)
{
    for (size_t i = first; i < last; i++) {
        table_column(t, columns[i].title, TABLE_RIGHT);
        if (columns[i].optional)
            table_optional(t);
    }
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
    opt_wrap("GPUs: dense TFLOPS; memory in GB, GB/s; link (NVLink, xGMI) and PCIe in GB/s", 0, 0,
             stdout);
    table_print(&t, stdout);
    table_release(&t);
}

static void list_networks(void)
{
    const size_t inside = 3; /* the columns that describe what is in a node */
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
    opt_wrap("networks: GPUs of a node, of an NVLink domain, GB/s of each; ports of a node", 0, 0,
             stdout);
    table_print(&t, stdout);
    table_release(&t);
}

static void print_fields(const struct profile_kind *kind, const void *profile)
{
    struct table t;
    table_init(&t);
    table_column(&t, "field", TABLE_LEFT);
    table_column(&t, "value", TABLE_RIGHT);
    table_column(&t, "unit", TABLE_LEFT);
    table_column(&t, "meaning", TABLE_LEFT);
    for (size_t i = 0; i < kind->nfields; i++) {
        table_cell(&t, "%s", kind->fields[i].name);
        table_cell(&t, "%.6g", profile_value(profile, &kind->fields[i]));
        table_cell(&t, "%s", kind->fields[i].unit);
        table_cell(&t, "%s", kind->fields[i].help);
    }
    putchar('\n');
    table_print(&t, stdout);
    putchar('\n');
    opt_wrap("0: the hardware has no such thing, or the figure is not known", 0, 0, stdout);
    table_release(&t);
}

/* Where the value of class `key` comes from: its own row, its fabric's, that of all. */
static const char *origin(enum param_group group, const char *key, const struct param *p)
{
    char wider[PARAM_KEY_MAX];
    snprintf(wider, sizeof wider, "%s", key);
    do {
        const struct param_row *row = params_row(group, wider);
        if (row == NULL || param_value(row->values, p) == 0)
            continue;
        if (strcmp(wider, "any") == 0)
            break;
        return strcmp(wider, key) == 0 ? "class" : "fabric";
    } while (params_widen(group, wider));
    return "any";
}

/* A group's parameters as the models take them for this GPU and network. */
static void print_group(enum param_group group, const void *own, const struct gpu_profile *gpu,
                        const struct network_profile *net)
{
    const struct param_table *table = &param_tables[group];
    const struct param_row *row = params_profile_row(group, gpu, net);
    const size_t meaning = 46; /* its column */
    union {
        struct gemm_params gemm;
        struct node_params node;
        struct net_params net;
    } values;
    char key[PARAM_KEY_MAX];
    if (group == PARAMS_GEMM)
        values.gemm = params_gemm(gpu);
    else if (group == PARAMS_NODE)
        values.node = params_node(gpu, net);
    else
        values.net = params_net(net);
    params_key(group, gpu, net, key);
    printf("\n%s parameters of %s", table->name, key);
    if (strcmp(key, row->key) != 0)
        printf(", from class %s", row->key);
    putchar('\n');
    if (row->range.rows > 0)
        printf("  fitted on %.0f rows, median error %.1f %%\n", row->range.rows,
               100 * row->range.median_ape);
    else
        puts("  not fitted");
    for (size_t i = 0; i < table->count; i++) {
        const struct param *p = &table->params[i];
        printf("  %-16s  %7.4g  %-7s  %-6s  ", p->name, param_value(&values, p), p->unit,
               param_value(own, p) != 0 ? "own" : origin(group, key, p));
        opt_wrap(p->help, meaning, meaning, stdout);
    }
}

/* A GPU that usually sits in the network, so that there is a class for what happens in a node. */
static const struct gpu_profile *usual_gpu(const struct network_profile *net)
{
    static const struct gpu_profile unknown = {.name = "unknown", .arch = "unknown"};
    for (size_t i = 0; i < gpu_profile_count; i++) {
        if (strcmp(gpu_profiles[i].network, net->name) == 0)
            return &gpu_profiles[i];
    }
    for (size_t i = 0; i < gpu_profile_count; i++) {
        if (gpu_profiles[i].nvlink_GBps == net->intra_GBps)
            return &gpu_profiles[i];
    }
    return &unknown;
}

/* "24 to 27", "from 24 on", "up to 27", "any"; an empty text is no bound. */
static const char *range_text(const char *least, const char *most, char out[64])
{
    if (*least == '\0' && *most == '\0')
        return "any";
    snprintf(out, 64, "%s%s%s%s%s",
             *most == '\0'    ? "from "
             : *least == '\0' ? "up to "
                              : "",
             least, *least != '\0' && *most != '\0' ? " to " : "", most,
             *most == '\0' ? " on" : "");
    return out;
}

static const char *count_text(double value, char out[32])
{
    snprintf(out, 32, "%.0f", value);
    return value > 0 ? out : "";
}

static void print_tuner(const struct tuner_row *rows, size_t count)
{
    char least[32], most[32], range[64];
    struct table t;
    if (count == 0)
        return;
    table_init(&t);
    table_column(&t, "operation", TABLE_LEFT);
    table_column(&t, "bytes", TABLE_LEFT);
    table_column(&t, "ranks", TABLE_LEFT);
    table_column(&t, "a node", TABLE_RIGHT);
    table_column(&t, "takes", TABLE_LEFT);
    for (const struct tuner_row *row = rows; row < rows + count; row++) {
        table_cell(&t, "%s", row->op != NULL ? row->op : "any");
        text_bytes(least, sizeof least, row->min_bytes);
        text_bytes(most, sizeof most, row->max_bytes);
        table_cell(
            &t, "%s",
            range_text(row->min_bytes > 0 ? least : "", row->max_bytes > 0 ? most : "", range));
        table_cell(
            &t, "%s",
            range_text(count_text(row->min_ranks, least), count_text(row->max_ranks, most), range));
        table_cell(&t, "%s",
                   row->ranks_per_node > 0 ? count_text(row->ranks_per_node, least) : "any");
        table_cell(&t, "%s %s%s%s", row->algo, row->proto, row->channels > 0 ? ", channels " : "",
                   count_text(row->channels, least));
    }
    putchar('\n');
    opt_wrap("tuner: the first row that matches and that NCCL can do chooses", 0, 2, stdout);
    table_print(&t, stdout);
    table_release(&t);
}

static void print_profile(const struct profile_kind *kind, const void *profile,
                          const struct gpu_profile *gpu, const struct network_profile *net)
{
    const int indent = 16;
    printf("%s\n\n", profile_text(profile, &kind->texts[0])); /* its name */
    for (size_t i = 1; i < kind->ntexts; i++) {
        const char *text = profile_text(profile, &kind->texts[i]);
        printf("  %-*s", indent - 2, kind->texts[i].label);
        opt_wrap(text != NULL && text[0] != '\0' ? text : "-", (size_t)indent, (size_t)indent,
                 stdout);
    }
    print_fields(kind, profile);
    for (size_t i = 0; i < kind->ngroups; i++)
        print_group(kind->groups[i].group, (const char *)profile + kind->groups[i].offset, gpu,
                    net);
    if (kind == &network_kind)
        print_tuner(net->tuner.first, net->tuner.count);
}

static void add_profiles(cJSON *doc, const char *list, const struct profile_kind *kind,
                         const void *first, size_t count)
{
    cJSON *array = cJSON_AddArrayToObject(doc, list);
    for (size_t i = 0; i < count; i++)
        cJSON_AddItemToArray(array,
                             profile_json_object(kind, (const char *)first + i * kind->size));
}

/* Both arrays are always there, so that a script reads one shape whatever was asked for. */
static cJSON *selection_json(const struct selection *s)
{
    cJSON *doc = cJSON_CreateObject();
    cJSON_AddStringToObject(doc, "schema", PROFILE_JSON_SCHEMA);
    add_profiles(doc, "gpus", &gpu_kind, s->gpu ? s->gpu : gpu_profiles,
                 s->gpu    ? 1
                 : s->gpus ? gpu_profile_count
                           : 0);
    add_profiles(doc, "networks", &network_kind, s->network ? s->network : network_profiles,
                 s->network    ? 1
                 : s->networks ? network_profile_count
                               : 0);
    return doc;
}

static int select_profiles(struct selection *s, int n, char **argv, struct arena *a, struct err *e)
{
    struct err no_gpu = {0}, no_network = {0};
    struct profile_pair pair = {0};
    const char *name;
    bool gpu = n > 0 && strcmp(argv[0], "gpu") == 0;
    bool network = n > 0 && strcmp(argv[0], "network") == 0;
    int at = gpu || network;
    *s = (struct selection){.gpus = !network, .networks = !gpu};
    if (n > at + 1)
        return err_set(e, ERR_USAGE, "unexpected argument '%s' (see 'specter help profiles')",
                       argv[at + 1]);
    if (n == at)
        return 0;
    name = argv[at];
    if (!cmd_is_profile_file(name)) {
        pair.gpu = s->gpus ? gpu_profile_find(name, &no_gpu) : NULL;
        if (s->networks && pair.gpu == NULL)
            pair.network = network_profile_find(name, &no_network);
        if (pair.gpu == NULL && pair.network == NULL)
            return err_set(e, ERR_USAGE, "%s%s%s", no_gpu.msg, s->gpus && s->networks ? "; " : "",
                           no_network.msg);
    } else if (cmd_profile_file(name, a, &pair, e) < 0) {
        return -1;
    } else if ((!s->gpus || pair.gpu == NULL) && (!s->networks || pair.network == NULL)) {
        return err_set(e, ERR_INPUT, "%s holds no %s", name, s->gpus ? "GPU" : "network");
    }
    s->gpu = s->gpus ? pair.gpu : NULL;
    s->network = s->networks ? pair.network : NULL;
    s->gpus = s->gpu != NULL;
    s->networks = s->network != NULL;
    return 0;
}

static void print_selection(const struct selection *s)
{
    if (s->gpu != NULL)
        print_profile(&gpu_kind, s->gpu, s->gpu, NULL);
    else if (s->gpus)
        list_gpus();
    if (s->gpus && s->networks)
        putchar('\n');
    if (s->network != NULL)
        print_profile(&network_kind, s->network, s->gpu ? s->gpu : usual_gpu(s->network),
                      s->network);
    else if (s->networks)
        list_networks();
    if (s->gpu == NULL && s->network == NULL) {
        putchar('\n');
        opt_wrap("'specter profiles NAME' shows every figure of one and its source", 0, 0, stdout);
    }
}

static int run_profiles(const struct command *self, int argc, char **argv, struct err *e)
{
    struct profiles_opts opts = {0};
    struct selection s;
    struct arena a;
    int n, status = cmd_parse(self, &opts, argc, argv, false, &n, e);
    if (status != 0)
        return status;
    arena_init(&a);
    status = select_profiles(&s, n, argv, &a, e);
    if (status == 0 && opts.json)
        status = cmd_write_json(selection_json(&s), "-", e);
    else if (status == 0)
        print_selection(&s);
    arena_release(&a);
    return status < 0 ? (int)e->code : 0;
}

const struct command cmd_profiles = {
    .name = "profiles",
    .synopsis = "profiles [gpu|network] [NAME|FILE] [--json]",
    .summary = "list the GPUs and networks that predictions know",
    .details =
        "Without NAME both tables, or the one that is named; with NAME all fields of that "
        "profile,\n"
        "their units, the source of the figures and the fitted parameters that the models take "
        "for\n"
        "it. TFLOPS are dense; rates of links are per GPU and direction. With --json the same as\n"
        "{\"gpus\": [...], \"networks\": [...]}.\n"
        "\n"
        "An own profile is a JSON file, given to --gpu or --network instead of a name:\n"
        "\n"
        "  specter profiles h100_sxm --json > my.json    one to start from\n"
        "  specter profiles my.json                      check it\n"
        "  specter predict gemm -m 4096 -n 4096 -k 4096 --gpu my.json\n"
        "\n"
        "or only what differs: {\"gpu\": {\"name\": \"my_h100\", \"base\": \"h100_sxm\",\n"
        "\"mem_GBps\": 3900}}. A FILE has a '/' in its name or ends in .json. A network may say "
        "which\n"
        "NCCL it runs (\"nccl\": 22809) and hold the table of a tuner plugin (\"tuner\").",
    .rows = profiles_rows,
    .paged = true,
    .run = run_profiles,
};
