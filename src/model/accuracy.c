/* SPDX-License-Identifier: MIT */
#include "model/accuracy.h"

#include "model/params.h"

#include <math.h>
#include <string.h>

static const struct accuracy *find(enum accuracy_kind kind, const char *key)
{
    for (size_t i = 0; i < accuracy_count; i++) {
        if (accuracies[i].kind == kind && strcmp(accuracies[i].key, key) == 0)
            return &accuracies[i];
    }
    return NULL;
}

/* The class itself when it is known; else "any", which may be missing. */
static const struct accuracy *class_of(enum accuracy_kind kind, const char *profile, bool *known)
{
    const struct accuracy *own = find(kind, profile), *any = find(kind, "any");
    *known = own != NULL && own != any && own->rows >= ACCURACY_ROWS_MIN;
    return *known ? own : any;
}

double accuracy_of(enum accuracy_kind kind, const char *profile, bool *known)
{
    const struct accuracy *of = class_of(kind, profile, known);
    if (*known)
        return of->median_ape;
    return of != NULL ? of->p90_ape : 1;
}

double accuracy_p90_of(enum accuracy_kind kind, const char *profile, bool *known)
{
    const struct accuracy *of = class_of(kind, profile, known);
    return of != NULL ? of->p90_ape : 1;
}

/* ---- intervals ---- */

static const struct {
    const char *key, *name;
} classes[] = {
#define X(id, key, name) {key, name},
    ACCURACY_CLASSES(X)
#undef X
};

const char *accuracy_class_key(enum accuracy_class class)
{
    return classes[class].key;
}

const char *accuracy_class_name(enum accuracy_class class)
{
    return classes[class].name;
}

static const struct {
    const char *name;
    double from;
} sizes[] = {
#define X(id, name, from) {name, from},
    ACCURACY_SIZES(X)
#undef X
        {"", INFINITY},
};

enum accuracy_size accuracy_size_of(double bytes)
{
    int size = SIZE_ALL - 1;
    while (size > 0 && bytes < sizes[size].from)
        size--;
    return (enum accuracy_size)size;
}

const char *accuracy_size_name(enum accuracy_size size)
{
    return sizes[size].name;
}

enum accuracy_class accuracy_class_of(const struct network_profile *net, struct layout where)
{
    bool domain = net->domain_gpus > 0 && where.ranks <= net->domain_gpus;
    if (where.nodes > 1 && !domain)
        return INTERVAL_NODES;
    return network_on_pcie(net) ? INTERVAL_PCIE : INTERVAL_NVLINK;
}

static const struct accuracy_width *width_of(enum accuracy_class class, enum accuracy_size size)
{
    for (size_t i = 0; i < accuracy_width_count; i++) {
        if (accuracy_widths[i].class == class && accuracy_widths[i].size == size)
            return &accuracy_widths[i];
    }
    return NULL;
}

static bool has_own(enum param_group group, const void *values)
{
    const struct param_table *table = &param_tables[group];
    for (size_t k = 0; k < table->count; k++) {
        if (param_value(values, &table->params[k]) != 0)
            return true;
    }
    return false;
}

static double widened(double factor, bool beyond)
{
    return beyond ? factor * factor : factor;
}

/* Fills out with what calibrate found of the profile. */
static void set_own(struct accuracy_interval *out, double factor50, double factor80)
{
    out->known = true;
    out->factor50 = factor50;
    out->factor80 = factor80;
}

/* Fills out from a class of hardware that was fitted on enough rows of its own kind; lacks: what is
 * missing where it was not. own: the profile has other values. */
static void set_fitted(struct accuracy_interval *out, const struct param_row *fitted, bool own,
                       enum fit_beyond beyond, enum accuracy_lack lacks)
{
    const struct accuracy_width *width = width_of(out->class, out->size);
    if (width == NULL || strcmp(fitted->key, "any") == 0 ||
        fitted->range.rows < ACCURACY_ROWS_MIN) {
        out->lacks = lacks;
        return;
    }
    if (own) {
        out->lacks = ACCURACY_LACKS_PROFILE;
        return;
    }
    out->known = true;
    out->rows = width->rows;
    out->beyond = beyond != FIT_WITHIN;
    out->factor50 = widened(width->factor50, out->beyond);
    out->factor80 = widened(width->factor80, out->beyond);
}

static bool was_measured(enum accuracy_class class, enum accuracy_size size,
                         enum specter_comm_op op)
{
    const struct accuracy_width *width = width_of(class, size);
    unsigned ops = width != NULL ? width->ops : 0, gather = 1u << SPECTER_ALLGATHER;
    if (ops & (gather | 1u << SPECTER_REDUCESCATTER))
        ops |= gather | 1u << SPECTER_REDUCESCATTER;
    return ops >> (op == SPECTER_ALLTOALLV ? SPECTER_ALLTOALL : op) & 1;
}

/* As wide as `part`, a part of the data's way, or unknown as it. */
static void widen_to(struct accuracy_interval *out, const struct accuracy_interval *part)
{
    if (!part->known) {
        *out = (struct accuracy_interval){
            .class = out->class, .size = out->size, .lacks = part->lacks};
        return;
    }
    out->beyond = out->beyond || part->beyond;
    out->factor50 = fmax(out->factor50, part->factor50);
    out->factor80 = fmax(out->factor80, part->factor80);
}

void accuracy_interval_of_comm(const struct gpu_profile *gpu, const struct network_profile *net,
                               enum specter_comm_op op, double bytes, struct layout where,
                               struct accuracy_interval *out)
{
    enum accuracy_class class = accuracy_class_of(net, where);
    enum accuracy_size size = accuracy_size_of(bytes);
    bool nodes = class == INTERVAL_NODES;
    enum param_group group = nodes ? PARAMS_NET : PARAMS_NODE;
    const struct param_row *fitted = params_profile_row(group, gpu, net);
    bool own = has_own(PARAMS_NODE, &net->node) || (nodes && has_own(PARAMS_NET, &net->net));
    double factor50 = nodes ? net->net_factor50 : net->node_factor50;
    double factor80 = nodes ? net->net_factor80 : net->node_factor80;
    *out = (struct accuracy_interval){.class = class, .size = size};
    if (own && factor50 > 0 && factor80 > 0) {
        set_own(out, factor50, factor80);
        return;
    }
    if (was_measured(class, size, op))
        set_fitted(out, fitted, own,
                   fit_range_beyond(&fitted->range, bytes, where.ranks, where.nodes),
                   nodes ? ACCURACY_LACKS_NETWORK : ACCURACY_LACKS_FABRIC);
    else
        out->lacks = ACCURACY_LACKS_OPERATION;
    if (nodes && out->known && where.per_node > 1) {
        struct layout one = {.ranks = where.per_node, .nodes = 1, .per_node = where.per_node};
        struct accuracy_interval within;
        accuracy_interval_of_comm(gpu, net, op, bytes, one, &within);
        widen_to(out, &within);
    }
}

void accuracy_interval_of_p2p(const struct network_profile *net, struct accuracy_interval *out)
{
    *out = (struct accuracy_interval){.class = INTERVAL_MESSAGES, .size = SIZE_ALL};
    if (net->message_factor50 > 0 && net->message_factor80 > 0)
        set_own(out, net->message_factor50, net->message_factor80);
    else
        out->lacks = ACCURACY_LACKS_OPERATION;
}

static double rate_of(const struct gpu_profile *gpu)
{
    return gpu->fp16_tflops / (gpu->sms * gpu->boost_MHz);
}

/* Returns whether a GPU of the architecture was measured whose multiprocessors do as many
 * operations a clock; figures that vendors round may differ by 10 %. */
static bool rate_was_measured(const struct gpu_profile *gpu)
{
    for (size_t i = 0; i < gpu_profile_count; i++) {
        const struct gpu_profile *of = &gpu_profiles[i];
        if (strcmp(of->arch, gpu->arch) == 0 && fabs(rate_of(gpu) / rate_of(of) - 1) < 0.1 &&
            find(ACCURACY_GEMM, of->name) != NULL)
            return true;
    }
    return false;
}

void accuracy_interval_of_gemm(const struct gpu_profile *gpu, double flops,
                               struct accuracy_interval *out)
{
    const struct param_row *fitted = params_profile_row(PARAMS_GEMM, gpu, NULL);
    bool own = has_own(PARAMS_GEMM, &gpu->gemm);
    *out = (struct accuracy_interval){.class = INTERVAL_GEMM, .size = SIZE_ALL};
    if (own && gpu->gemm_factor50 > 0 && gpu->gemm_factor80 > 0)
        set_own(out, gpu->gemm_factor50, gpu->gemm_factor80);
    else
        set_fitted(out, fitted, own, fit_range_beyond(&fitted->range, flops, 0, 0),
                   ACCURACY_LACKS_GPU);
    if (out->known && out->rows > 0 && !rate_was_measured(gpu))
        *out = (struct accuracy_interval){.class = INTERVAL_GEMM, .lacks = ACCURACY_LACKS_RATE};
}

double accuracy_stand_in80(enum accuracy_kind kind, const struct accuracy_interval *in)
{
    const struct accuracy_width *width = width_of(in->class, in->size);
    bool ignored;
    double any = 1 + accuracy_of(kind, "", &ignored);
    return width != NULL ? fmax(any, widened(width->factor80, true)) : any;
}
