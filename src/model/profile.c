/* SPDX-License-Identifier: MIT */
#include "model/profile.h"

#include "base/opt.h"
#include "specter/nccl_names.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

const struct profile_field gpu_fields[] = {
#define X(field, unit, lowest, highest, help) \
    {#field, unit, help, offsetof(struct gpu_profile, field), lowest, highest},
    GPU_FIELDS(X)
#undef X
};

const struct profile_field network_fields[] = {
#define X(field, unit, lowest, highest, help) \
    {#field, unit, help, offsetof(struct network_profile, field), lowest, highest},
    NETWORK_FIELDS(X)
#undef X
};

static const struct profile_field tuner_fields[] = {
#define X(field, unit, lowest, highest, help) \
    {#field, unit, help, offsetof(struct tuner_row, field), lowest, highest},
    TUNER_FIELDS(X)
#undef X
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

const size_t gpu_field_count = COUNT(gpu_fields);
const size_t network_field_count = COUNT(network_fields);

const char *const profile_intra_names[] = {"nvswitch", "nvlink_mesh", "xgmi_mesh",
                                           "pcie",     "pcie_shm",    NULL};
const char *const profile_inter_names[] = {"infiniband", "roce", "efa",   "slingshot",
                                           "omnipath",   "tcpx", "tcpxo", "ethernet",
                                           "none",       NULL};
const char *const profile_cpu_names[] = {"intel", "amd", "arm", NULL};
const char *const profile_op_names[] = {"AllReduce", "AllGather", "ReduceScatter",
                                        "Broadcast", "Reduce",    NULL};
#define X(id, name, setting) name,
const char *const profile_algo_names[] = {SPECTER_NCCL_ALGOS(X) NULL};
const char *const profile_proto_names[] = {SPECTER_NCCL_PROTOS(X) NULL};
#undef X

static const struct profile_text gpu_texts[] = {
#define X(text, label, words, needed) \
    {#text, label, words, needed, offsetof(struct gpu_profile, text)},
    GPU_TEXTS(X)
#undef X
};

static const struct profile_text network_texts[] = {
#define X(text, label, words, needed) \
    {#text, label, words, needed, offsetof(struct network_profile, text)},
    NETWORK_TEXTS(X)
#undef X
};

static const struct profile_text tuner_texts[] = {
#define X(text, label, words, needed) \
    {#text, label, words, needed, offsetof(struct tuner_row, text)},
    TUNER_TEXTS(X)
#undef X
};

static const void *find_gpu(const char *name, struct err *e)
{
    return gpu_profile_find(name, e);
}

static const void *find_network(const char *name, struct err *e)
{
    return network_profile_find(name, e);
}

const struct profile_kind tuner_kind = {
    .name = "tuner",
    .size = sizeof(struct tuner_row),
    .texts = tuner_texts,
    .ntexts = COUNT(tuner_texts),
    .fields = tuner_fields,
    .nfields = COUNT(tuner_fields),
};

const struct profile_kind gpu_kind = {
    .name = "gpu",
    .size = sizeof(struct gpu_profile),
    .find = find_gpu,
    .texts = gpu_texts,
    .ntexts = COUNT(gpu_texts),
    .fields = gpu_fields,
    .nfields = COUNT(gpu_fields),
    .groups = {{PARAMS_GEMM, offsetof(struct gpu_profile, gemm)}},
    .ngroups = 1,
};

const struct profile_kind network_kind = {
    .name = "network",
    .size = sizeof(struct network_profile),
    .find = find_network,
    .texts = network_texts,
    .ntexts = COUNT(network_texts),
    .fields = network_fields,
    .nfields = COUNT(network_fields),
    .groups = {{PARAMS_NODE, offsetof(struct network_profile, node)},
               {PARAMS_NET, offsetof(struct network_profile, net)}},
    .ngroups = 2,
    .rows = &tuner_kind,
    .rows_offset = offsetof(struct network_profile, tuner),
};

struct profile_rows profile_rows_of(const struct profile_kind *kind, const void *profile)
{
    struct profile_rows rows;
    memcpy(&rows, (const char *)profile + kind->rows_offset, sizeof rows);
    return rows;
}

double profile_value(const void *profile, const struct profile_field *field)
{
    double value;
    memcpy(&value, (const char *)profile + field->offset, sizeof value);
    return value;
}

const char *profile_text(const void *profile, const struct profile_text *text)
{
    const char *value;
    memcpy(&value, (const char *)profile + text->offset, sizeof value);
    return value;
}

/* An array of profiles of either kind: each begins with its name. */
struct catalog {
    const char *kind;
    const void *first;
    size_t count, size;
};

static const char *catalog_name(const struct catalog *c, size_t i)
{
    const char *name;
    memcpy(&name, (const char *)c->first + i * c->size, sizeof name);
    return name;
}

/* Names of GPUs without their form, each for the one that most people mean. */
static const struct {
    const char *alias, *name;
} aliases[] = {
    {"h100", "h100_sxm"},         {"h100_80g", "h100_sxm"},      {"h200", "h200_sxm"},
    {"a100", "a100_sxm"},         {"a100_80g", "a100_sxm"},      {"a100_80gb", "a100_sxm"},
    {"a100_40g", "a100_sxm_40g"}, {"a100_40gb", "a100_sxm_40g"}, {"v100", "v100_sxm"},
    {"b200", "b200_sxm"},         {"b300", "b300_sxm"},          {"a6000", "rtx_a6000"},
    {"6000_ada", "rtx_6000_ada"},
};

/* Compares names as they are typed: any case, and "-", " " and nothing for "_". Returns how much of
 * `name` it took; -1: they differ before `given` ends. */
static int match_typed(const char *given, const char *name)
{
    const char *n = name;
    for (const char *g = given; *g != '\0'; g++) {
        if (*g == '_' || *g == '-' || *g == ' ')
            continue;
        n += *n == '_';
        if (tolower((unsigned char)*g) != tolower((unsigned char)*n))
            return -1;
        n++;
    }
    return (int)(n - name);
}

static bool same_typed(const char *given, const char *name)
{
    int n = match_typed(given, name);
    return n > 0 && name[n] == '\0';
}

/* Returns the profile that a name means which is not exactly its own; SIZE_MAX: none, or several.
 * Of several that fit, it is the one whose name begins all others, and in none of them goes on with
 * a digit: a10 does not stand for a100. */
static size_t find_typed(const struct catalog *c, const char *given)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        for (size_t k = 0; k < c->count && same_typed(given, aliases[i].alias); k++) {
            if (strcmp(catalog_name(c, k), aliases[i].name) == 0)
                return k;
        }
    }
    for (size_t i = 0; i < c->count; i++) {
        if (same_typed(given, catalog_name(c, i)))
            return i;
    }
    for (size_t i = 0; i < c->count; i++) {
        if (match_typed(given, catalog_name(c, i)) > 0 &&
            (best == SIZE_MAX || strlen(catalog_name(c, i)) < strlen(catalog_name(c, best))))
            best = i;
    }
    for (size_t i = 0; best != SIZE_MAX && i < c->count; i++) {
        int n = match_typed(catalog_name(c, best), catalog_name(c, i));
        if (match_typed(given, catalog_name(c, i)) > 0 &&
            (n < 0 || isdigit((unsigned char)catalog_name(c, i)[n])))
            return SIZE_MAX;
    }
    return best;
}

/* Returns the distance of `name` from a known one; a name's beginning is close to it. */
static size_t how_far(const char *given, const char *name)
{
    size_t len = strlen(given);
    return len > 0 && strncmp(given, name, len) == 0 ? 0 : opt_distance(given, name);
}

enum { NEAREST = 3 };

/* The indices of the profiles nearest to `given`, nearest first, equal ones in table order. */
static void find_nearest(const struct catalog *c, const char *given, size_t nearest[NEAREST])
{
    size_t found = 0;
    for (size_t i = 0; i < c->count; i++) {
        size_t far = how_far(given, catalog_name(c, i)), at = found;
        while (at > 0 && far < how_far(given, catalog_name(c, nearest[at - 1])))
            at--;
        if (at == NEAREST)
            continue;
        found += found < NEAREST;
        memmove(&nearest[at + 1], &nearest[at], (found - 1 - at) * sizeof *nearest);
        nearest[at] = i;
    }
}

static const void *catalog_find(const struct catalog *c, const char *name, struct err *e)
{
    size_t nearest[NEAREST], typed;
    for (size_t i = 0; i < c->count; i++) {
        if (strcmp(name, catalog_name(c, i)) == 0)
            return (const char *)c->first + i * c->size;
    }
    typed = find_typed(c, name);
    if (typed != SIZE_MAX)
        return (const char *)c->first + typed * c->size;
    find_nearest(c, name, nearest);
    err_set(e, ERR_USAGE, "unknown %s profile '%.64s'; the nearest are %s, %s and %s", c->kind,
            name, catalog_name(c, nearest[0]), catalog_name(c, nearest[1]),
            catalog_name(c, nearest[2]));
    return NULL;
}

const struct gpu_profile *gpu_profile_find(const char *name, struct err *e)
{
    const struct catalog c = {"GPU", gpu_profiles, gpu_profile_count, sizeof *gpu_profiles};
    return catalog_find(&c, name, e);
}

const struct network_profile *network_profile_find(const char *name, struct err *e)
{
    const struct catalog c = {"network", network_profiles, network_profile_count,
                              sizeof *network_profiles};
    return catalog_find(&c, name, e);
}

bool network_on_pcie(const struct network_profile *net)
{
    return net->intra != NULL && strncmp(net->intra, "pcie", strlen("pcie")) == 0;
}

const struct network_profile *network_with_nccl(const struct network_profile *net, int version,
                                                struct network_profile *copy)
{
    if (version == 0 || version == (int)net->nccl)
        return net;
    *copy = *net;
    copy->nccl = version;
    return copy;
}

/* True when text[0..len) stands in `device` where a word begins; at_end: and ends the name. */
static bool has_part(const char *device, const char *text, size_t len, bool at_end)
{
    for (const char *p = device; *p != '\0'; p++) {
        if (p > device && isalnum((unsigned char)p[-1]))
            continue;
        if (strncasecmp(p, text, len) == 0 && (!at_end || p[len] == '\0'))
            return true;
    }
    return false;
}

/* Length of the longest part of `match` found in `device`; 0 when none is. */
static size_t longest_match(const char *match, const char *device)
{
    size_t longest = 0;
    for (const char *part = match; *part != '\0';) {
        size_t whole = strcspn(part, "|");
        bool at_end = whole > 0 && part[whole - 1] == '$';
        size_t len = whole - at_end;
        if (len > longest && has_part(device, part, len, at_end))
            longest = len;
        part += whole + (part[whole] == '|');
    }
    return longest;
}

const struct gpu_profile *gpu_profile_of_device(const char *device_name)
{
    const struct gpu_profile *best = NULL;
    size_t longest = 0;
    /* "NVIDIA A100-SXM4-40GB MIG 1g.5gb": a slice has a seventh or so of the whole's figures. */
    if (device_name == NULL || has_part(device_name, "MIG ", strlen("MIG "), false))
        return NULL;
    for (size_t i = 0; i < gpu_profile_count; i++) {
        size_t len = longest_match(gpu_profiles[i].match, device_name);
        if (len > longest) {
            longest = len;
            best = &gpu_profiles[i];
        }
    }
    return best;
}

/* The first row that fits decides. fp32 operands are the one case in which `compute` matters: the
 * library may round them to a shorter type first. */
#define ANY SPECTER_DTYPE_COUNT
static const struct peak {
    enum specter_dtype type, compute;
    size_t offset; /* of the field in struct gpu_profile */
} peaks[] = {
    {SPECTER_FP32, SPECTER_TF32, offsetof(struct gpu_profile, tf32_tflops)},
    {SPECTER_FP32, SPECTER_FP16, offsetof(struct gpu_profile, fp16_tflops)},
    {SPECTER_FP32, SPECTER_BF16, offsetof(struct gpu_profile, bf16_tflops)},
    {SPECTER_FP32, SPECTER_FP64, offsetof(struct gpu_profile, fp64_tflops)},
    {SPECTER_FP32, ANY, offsetof(struct gpu_profile, fp32_tflops)},
    {SPECTER_FP64, ANY, offsetof(struct gpu_profile, fp64_tflops)},
    {SPECTER_TF32, ANY, offsetof(struct gpu_profile, tf32_tflops)},
    {SPECTER_FP16, ANY, offsetof(struct gpu_profile, fp16_tflops)},
    {SPECTER_BF16, ANY, offsetof(struct gpu_profile, bf16_tflops)},
    {SPECTER_FP8E4M3, ANY, offsetof(struct gpu_profile, fp8_tflops)},
    {SPECTER_FP8E5M2, ANY, offsetof(struct gpu_profile, fp8_tflops)},
    {SPECTER_INT8, ANY, offsetof(struct gpu_profile, int8_tops)},
    {SPECTER_UINT8, ANY, offsetof(struct gpu_profile, int8_tops)},
    {SPECTER_FP4, ANY, offsetof(struct gpu_profile, fp4_tflops)},
};

const struct profile_field *gpu_peak_field(enum specter_dtype type, enum specter_dtype compute)
{
    const struct profile_field *field = gpu_fields;
    size_t i = 0;
    while (i < COUNT(peaks) &&
           (peaks[i].type != type || (peaks[i].compute != ANY && peaks[i].compute != compute)))
        i++;
    if (i == COUNT(peaks))
        return NULL;
    while (field->offset != peaks[i].offset)
        field++;
    return field;
}

double gpu_peak_tflops(const struct gpu_profile *gpu, enum specter_dtype type,
                       enum specter_dtype compute)
{
    const struct profile_field *field = gpu_peak_field(type, compute);
    return field != NULL ? profile_value(gpu, field) : 0;
}
