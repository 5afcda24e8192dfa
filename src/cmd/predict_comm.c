/* SPDX-License-Identifier: MIT
 *
 * A predicted transfer, collective or message, as text and JSON.
 */
#include "cmd/predict.h"

#include "base/terminal.h"
#include "model/nccl_tuner.h"
#include "report/json_add.h"
#include "report/op_text.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- how far a prediction may be trusted ----
 *
 * States the rows that the parameters were fitted on, how well they fit, and whether this operation
 * lies outside of those rows. */

#define TRUSTS 2 /* of a transfer at most */

/* The question's values, to be compared with struct fit_range. */
struct asked {
    double size; /* bytes or FLOPs; NAN: any */
    double ranks, nodes;
};

/* Bytes of a transfer, FLOPs of a GEMM. */
static void size_text(enum param_group group, double size, char *buf, size_t len)
{
    if (group == PARAMS_GEMM)
        snprintf(buf, len, "%.3g FLOP", size);
    else
        text_bytes(buf, len, size);
}

/* "512 ranks, more than the 64" */
static void beyond_text(enum param_group group, enum fit_beyond in, const struct fit_range *r,
                        const struct asked *a, char *why, size_t len)
{
    char size[32], limit[32];
    size_text(group, a->size, size, sizeof size);
    size_text(group, in == FIT_SMALLER ? r->smallest : r->largest, limit, sizeof limit);
    if (in == FIT_RANKS)
        snprintf(why, len, "%g ranks, more than the %g", a->ranks, r->ranks);
    else if (in == FIT_NODES)
        snprintf(why, len, "%g nodes, more than the %g", a->nodes, r->nodes);
    else
        snprintf(why, len, "%s, %s than the %s", size, in == FIT_SMALLER ? "less" : "more", limit);
}

static struct predict_trust trust_of(enum param_group group, const struct gpu_profile *gpu,
                                     const struct network_profile *net, const void *own,
                                     const struct asked *asked)
{
    const struct param_table *table = &param_tables[group];
    struct predict_trust t = {.group = table->name};
    enum fit_beyond in;
    params_key(group, gpu, net, t.key);
    t.row = params_profile_row(group, gpu, net);
    for (size_t i = 0; i < table->count; i++)
        t.own = t.own || param_value(own, &table->params[i]) != 0;
    if (t.own)
        return t;
    in = fit_range_beyond(&t.row->range, asked->size, asked->ranks, asked->nodes);
    t.beyond = in != FIT_WITHIN;
    if (t.beyond)
        beyond_text(group, in, &t.row->range, asked, t.why, sizeof t.why);
    return t;
}

/* Returns how many there are, none for a single rank: the network's class between nodes, then the
 * node's. Between nodes a transfer counts to the network's class, as in validate; the parameters of
 * its node were fitted within nodes, whatever the size. */
static size_t trust_transfer(const struct predict_transfer *t, struct predict_trust out[TRUSTS])
{
    const struct network_profile *net = t->on->network;
    const struct asked all = {t->bytes, t->where.ranks, t->where.nodes};
    const struct asked inside = {NAN, t->where.per_node, 1};
    bool across = t->where.nodes > 1;
    size_t n = 0;
    if (across)
        out[n++] = trust_of(PARAMS_NET, t->on->gpu, net, &net->net, &all);
    if (t->where.per_node > 1)
        out[n++] = trust_of(PARAMS_NODE, t->on->gpu, net, &net->node, across ? &inside : &all);
    return n;
}

void predict_trust_gemm(const struct gpu_profile *gpu, double flops, struct predict_trust *out)
{
    const struct asked asked = {.size = flops};
    *out = trust_of(PARAMS_GEMM, gpu, NULL, &gpu->gemm, &asked);
}

static bool is_beyond(const struct predict_trust *trusts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (trusts[i].beyond)
            return true;
    }
    return false;
}

static bool is_fitted(const struct predict_trust *t)
{
    return !t->own && t->row->range.rows > 0;
}

static bool is_kin(const struct predict_trust *t)
{
    return strcmp(t->key, t->row->key) == 0;
}

/* "fitted on 90 rows of nvswitch_hopper: median error 3.9 %" */
static void put_trust(struct buf *out, const struct predict_trust *t)
{
    if (t->own)
        buf_printf(out, "the profile's own, %s", t->group);
    else if (is_fitted(t) && !(t->row->range.median_ape > 0))
        buf_printf(out, "fitted on %g rows of %s", t->row->range.rows, t->row->key);
    else if (!is_fitted(t) && is_kin(t))
        buf_printf(out, "%s: not fitted", t->key);
    else if (!is_fitted(t))
        buf_printf(out, "those of '%s': no measurement of %s", t->row->key, t->key);
    else
        buf_printf(out, "fitted on %g rows of %s%s: median error %.2g %%", t->row->range.rows,
                   t->row->key, is_kin(t) ? "" : ", none of this kind",
                   100 * t->row->range.median_ape);
}

void predict_print_trust(const struct predict_trust *trusts, size_t n)
{
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        buf_reset(&text);
        put_trust(&text, &trusts[i]);
        predict_print_row(i == 0 ? "parameters" : "", "%s", text.data);
    }
    buf_release(&text);
}

void predict_print_beyond(const struct predict_trust *trusts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (trusts[i].beyond)
            predict_print_row("outside", "what %s was fitted on: %s measured", trusts[i].row->key,
                              trusts[i].why);
    }
}

void predict_add_trust(cJSON *doc, const struct predict_trust *trusts, size_t n)
{
    cJSON *list = cJSON_AddArrayToObject(doc, "fitted");
    for (size_t i = 0; i < n; i++) {
        const struct predict_trust *t = &trusts[i];
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "group", t->group);
        cJSON_AddStringToObject(row, "class", t->key);
        cJSON_AddStringToObject(row, "from", t->own ? "profile" : t->row->key);
        if (is_fitted(t))
            cJSON_AddNumberToObject(row, "rows", t->row->range.rows);
        if (is_fitted(t) && t->row->range.median_ape > 0)
            cJSON_AddNumberToObject(row, "median_ape", t->row->range.median_ape);
        if (t->beyond)
            cJSON_AddStringToObject(row, "outside", t->why);
        cJSON_AddItemToArray(list, row);
    }
    cJSON_AddBoolToObject(doc, "extrapolated", is_beyond(trusts, n));
}

/* ---- intervals ---- */

/* "2.1 us to 3.4 us" */
static const char *range_text(char text[64], double fixed_us, double us, double factor)
{
    char low[32], high[32];
    snprintf(text, 64, "%s to %s", text_ns(low, sizeof low, 1e3 * (fixed_us + us / factor)),
             text_ns(high, sizeof high, 1e3 * (fixed_us + us * factor)));
    return text;
}

void predict_print_interval(const struct accuracy_interval *in, double fixed_us, double us,
                            const char *reason)
{
    char range[64];
    if (!in->known) {
        predict_print_row("interval", "not known: %s", reason);
        return;
    }
    predict_print_row("interval", "%s: half of measured times",
                      range_text(range, fixed_us, us, in->factor50));
    range_text(range, fixed_us, us, in->factor80);
    if (in->rows == 0)
        predict_print_row("", "%s: 80 %%, by the profile's own rows", range);
    else
        predict_print_row("", "%s: 80 %%, by %d left-out rows %s%s", range, in->rows,
                          accuracy_class_name(in->class), in->beyond ? "; widened" : "");
}

static void add_range(cJSON *doc, const char *name, double fixed_us, double us, double factor)
{
    const double ends[] = {fixed_us + us / factor, fixed_us + us * factor};
    if (factor > 0)
        cJSON_AddItemToObject(doc, name, cJSON_CreateDoubleArray(ends, 2));
    else
        cJSON_AddNullToObject(doc, name);
}

void predict_add_interval(cJSON *doc, const struct accuracy_interval *in, double fixed_us,
                          double us)
{
    add_range(doc, "interval50", fixed_us, us, in->factor50);
    add_range(doc, "interval80", fixed_us, us, in->factor80);
    if (in->known)
        cJSON_AddStringToObject(doc, "interval_class", accuracy_class_key(in->class));
    else
        cJSON_AddNullToObject(doc, "interval_class");
}

static bool is_message(const struct predict_transfer *t)
{
    return specter_comm_op_is_p2p(t->op);
}

/* NAN where nothing moves, so that there is no rate: one rank, or no bytes. Bytes per us are 1e-3
 * GB/s. */
static double algbw_GBps(const struct predict_transfer *t)
{
    return t->bytes > 0 && t->cost.bw_GBps > 0 ? t->bytes / t->cost.us / 1e3 : NAN;
}

static double busbw_GBps(const struct predict_transfer *t)
{
    double out = t->direction == COMM_ALL_PAIRS ? t->where.ranks - 1 : 1; /* messages of a rank */
    return algbw_GBps(t) * out * specter_comm_op_bus_factor(t->op, (uint64_t)t->where.ranks);
}

/* NAN where no link bounds anything. */
static double bound_fraction(const struct predict_transfer *t)
{
    return t->bound_us > 0 ? t->bound_us / t->cost.us : NAN;
}

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

/* "16 ranks on 2 nodes of dgx_h100_400g, 8 a node; h100_sxm" */
static void put_place(struct buf *out, const struct predict_transfer *t)
{
    char version[16];
    const struct layout *w = &t->where;
    const struct network_profile *net = t->on->network;
    if (is_message(t)) {
        if (t->direction == COMM_ALL_PAIRS)
            buf_printf(out, "from each of %d ranks to every other, ", w->ranks);
        else if (t->direction == COMM_BOTH_WAYS)
            buf_puts(out, "both ways at once, ");
        buf_printf(out, "%s of %s", t->across ? "between two nodes" : "within a node", net->name);
        if (t->flows > 1)
            buf_printf(out, ", %d at once", t->flows);
        buf_printf(out, "; %s", t->on->gpu->name);
        return;
    }
    buf_printf(out, "%d rank%s on %d node%s of %s", w->ranks, plural(w->ranks), w->nodes,
               plural(w->nodes), net->name);
    if (w->nodes > 1)
        buf_printf(out, ", %s%d a node",
                   (int64_t)w->per_node * w->nodes == w->ranks ? "" : "up to ", w->per_node);
    if (net->domain_gpus > net->gpus_per_node)
        buf_printf(out, ", NVLink domains of %g GPUs", net->domain_gpus);
    buf_printf(out, "; %s", t->on->gpu->name);
    if (net->nccl > 0)
        buf_printf(out, ", NCCL %s", nccl_version_text((int)net->nccl, version));
}

void predict_print_title(const struct predict_transfer *t)
{
    char text[32];
    struct buf title = BUF_INIT;
    buf_printf(&title, "%s of %s %s", specter_comm_op_name(t->op),
               text_bytes(text, sizeof text, t->bytes), is_message(t) ? "" : "by ");
    put_place(&title, t);
    opt_wrap(title.data, 0, 2, stdout);
    putchar('\n');
    buf_release(&title);
}

static void print_rate(const char *name, double GBps)
{
    if (isnan(GBps))
        predict_print_row(name, "-");
    else
        predict_print_row(name, "%.2f GB/s", GBps);
}

static void interval_of(const struct predict_transfer *t, struct accuracy_interval *out)
{
    *out = (struct accuracy_interval){.lacks = ACCURACY_LACKS_OPERATION};
    if (is_message(t))
        accuracy_interval_of_p2p(t->on->network, out);
    else if (t->where.ranks > 1)
        accuracy_interval_of_comm(t->on->gpu, t->on->network, t->op, t->bytes, t->where, out);
}

static void print_interval(const struct predict_transfer *t)
{
    const struct network_profile *net = t->on->network;
    struct accuracy_interval in;
    struct buf reason = BUF_INIT;
    interval_of(t, &in);
    if (t->where.ranks == 1)
        return;
    if (in.lacks == ACCURACY_LACKS_PROFILE)
        buf_puts(&reason, "nothing was measured with the profile's parameters");
    else if (in.lacks == ACCURACY_LACKS_FABRIC)
        buf_printf(&reason, "no node of %s was measured", net->intra);
    else if (in.lacks == ACCURACY_LACKS_NETWORK)
        buf_printf(&reason, "%s was not measured", net->inter);
    else if (is_message(t))
        buf_puts(&reason, "messages were measured on one machine alone");
    else
        buf_printf(&reason, "%s %s was not measured", specter_comm_op_name(t->op),
                   accuracy_class_name(accuracy_class_of(net, t->where)));
    predict_print_interval(&in, 0, t->cost.us, reason.data);
    buf_release(&reason);
}

void predict_print_transfer(const struct predict_transfer *t)
{
    struct predict_trust trusts[TRUSTS];
    size_t n = trust_transfer(t, trusts);
    const struct comm_cost *c = &t->cost;
    char text[32];
    predict_print_row("time", "%s", text_ns(text, sizeof text, c->us * 1e3));
    print_interval(t);
    predict_print_row("latency", "%s of it", text_ns(text, sizeof text, c->lat_us * 1e3));
    print_rate("algbw", algbw_GBps(t));
    print_rate("busbw", busbw_GBps(t));
    if (c->channels > 0)
        predict_print_row("algorithm", "%s, protocol %s, %d channel%s", c->algo, c->proto,
                          c->channels, plural(c->channels));
    else
        predict_print_row("algorithm", "%s, protocol %s", c->algo, c->proto);
    if (strcmp(c->bound, "latency") == 0)
        predict_print_row("bound", "latency: launch and steps take longer than the bytes");
    else
        predict_print_row("bound", "%s: links %s, %.2f GB/s bus bandwidth", c->bound,
                          strcmp(c->bound, "intra") == 0 ? "within a node" : "between nodes",
                          c->bw_GBps);
    if (t->bound_us > 0)
        predict_print_row("links", "at least %s at their raw rates: %.1f %% of the bound reached",
                          text_ns(text, sizeof text, t->bound_us * 1e3), 100 * bound_fraction(t));
    predict_print_trust(trusts, n);
    predict_print_beyond(trusts, n);
}

cJSON *predict_transfer_json(const struct predict_transfer *t)
{
    struct predict_trust trusts[TRUSTS];
    struct accuracy_interval interval;
    const struct comm_cost *c = &t->cost;
    cJSON *doc = predict_doc(is_message(t) ? "p2p" : "collective", t->on);
    if (is_message(t)) {
        cJSON_AddBoolToObject(doc, "across", t->across);
        cJSON_AddNumberToObject(doc, "flows", t->flows);
        cJSON_AddStringToObject(doc, "direction", comm_direction_name(t->direction));
        cJSON_AddNumberToObject(doc, "ranks", t->where.ranks);
    } else {
        cJSON_AddStringToObject(doc, "op", specter_comm_op_name(t->op));
        cJSON_AddNumberToObject(doc, "ranks", t->where.ranks);
        cJSON_AddNumberToObject(doc, "nodes", t->where.nodes);
        cJSON_AddNumberToObject(doc, "per_node", t->where.per_node);
    }
    json_add_number(doc, "nccl", t->on->network->nccl > 0 ? t->on->network->nccl : (double)NAN);
    cJSON_AddNumberToObject(doc, "bytes", t->bytes);
    cJSON_AddNumberToObject(doc, "time_us", c->us);
    interval_of(t, &interval);
    predict_add_interval(doc, &interval, 0, c->us);
    cJSON_AddNumberToObject(doc, "lat_us", c->lat_us);
    json_add_number(doc, "algbw_GBps", algbw_GBps(t));
    json_add_number(doc, "busbw_GBps", busbw_GBps(t));
    cJSON_AddNumberToObject(doc, "bw_GBps", c->bw_GBps);
    cJSON_AddStringToObject(doc, "algo", c->algo);
    cJSON_AddStringToObject(doc, "proto", c->proto);
    cJSON_AddNumberToObject(doc, "channels", c->channels);
    cJSON_AddStringToObject(doc, "bound", c->bound);
    cJSON_AddNumberToObject(doc, "bound_us", t->bound_us);
    json_add_number(doc, "bound_fraction", bound_fraction(t));
    predict_add_trust(doc, trusts, trust_transfer(t, trusts));
    predict_add_assumptions(doc, model_comm_assumptions);
    return doc;
}

/* ---- the table that nccl-tests prints ----
 *
 * Both can be laid side by side and read by the same scripts: comments start with #, then size,
 * count, type, redop, root, time, algbw and busbw in its widths and units. After them stands what
 * only a prediction knows: algorithm, protocol, channels, and a * where the row is outside what the
 * model was fitted on.
 */

/* Columns of a line that holds all of a row, and of one without count, type, redop and root. */
#define WIDTH_ALL 107
#define WIDTH_RATES 67

/* Two lines: names, and their units. */
static void print_headings(const struct predict_rows *r)
{
    bool all = r->width >= WIDTH_ALL, rates = r->width >= WIDTH_RATES;
    printf("# %10s", "size");
    if (all)
        printf("  %12s  %8s  %6s  %6s", "count", "type", "redop", "root");
    printf("  %7s%s  %6s  %13s  %6s%s\n", "time", rates ? "   algbw" : "", "busbw", "algo", "proto",
           rates ? "   ch" : "");
    printf("# %10s", "(B)");
    if (all)
        printf("  %12s  %8s  %6s  %6s", "(elements)", "", "", "");
    printf("  %7s%s  %6s\n", "(us)", rates ? "  (GB/s)" : "", "(GB/s)");
}

/* Lines that start with "# ", further ones with as much space as `indent` says. */
__attribute__((format(printf, 3, 4))) static void print_comment(const struct predict_rows *r,
                                                                size_t indent, const char *fmt, ...)
{
    const size_t mark = strlen("# ");
    struct buf text = BUF_INIT;
    char *lines = NULL, *save = NULL;
    size_t size;
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&text, fmt, ap);
    va_end(ap);
    FILE *out = open_memstream(&lines, &size);
    if (out == NULL)
        die("out of memory");
    opt_wrap_at(text.data, 0, indent, r->width == SIZE_MAX ? SIZE_MAX : r->width - mark, out);
    fclose(out);
    for (char *line = strtok_r(lines, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save))
        printf("# %s\n", line);
    free(lines);
    buf_release(&text);
}

static void print_row(struct predict_rows *r, const struct predict_transfer *t)
{
    struct predict_trust trusts[TRUSTS];
    bool beyond = is_beyond(trusts, trust_transfer(t, trusts));
    enum specter_comm_op op = t->op;
    bool reduces = specter_comm_op_reduces(op) != 0;
    bool has_root = op == SPECTER_BROADCAST || op == SPECTER_REDUCE || op == SPECTER_GATHER ||
                    op == SPECTER_SCATTER;
    double algbw = algbw_GBps(t), busbw = busbw_GBps(t), us = t->cost.us;
    /* The call's own count argument: of a rank or a peer where the full buffer is that of all. */
    uint64_t one = specter_comm_op_bytes(op, 1, SPECTER_INT8, (uint64_t)t->where.ranks);
    double element = specter_dtype_bits(r->type) / 8.0;
    double parts = op == SPECTER_ALLTOALLV ? t->where.ranks : (double)one;
    printf("%12.0f", t->bytes);
    if (r->width >= WIDTH_ALL)
        printf("  %12.0f  %8s  %6s  %6d", floor(t->bytes / element / parts),
               nccl_tests_dtype(r->type), reduces ? "sum" : "none", has_root ? 0 : -1);
    /* Times have four digits or more, as in nccl-tests. */
    printf("  %7.*f", us >= 10000 ? 0 : us >= 100 ? 1 : 2, us);
    if (r->width >= WIDTH_RATES)
        printf("  %6.2f", isnan(algbw) ? 0 : algbw);
    printf("  %6.2f  %13s  %6s", isnan(busbw) ? 0 : busbw, t->cost.algo, t->cost.proto);
    if (r->width >= WIDTH_RATES)
        printf("  %3d", t->cost.channels);
    puts(beyond ? " *" : "");
    r->busbw_sum += isnan(busbw) ? 0 : busbw;
    r->extrapolated += beyond;
}

void predict_rows_init(struct predict_rows *r, enum specter_dtype type, bool explain, bool json)
{
    *r = (struct predict_rows){.type = type,
                               .explain = explain,
                               .width = terminal_line_width(stdout),
                               .array = json ? cJSON_CreateArray() : NULL};
}

void predict_rows_drop(struct predict_rows *r)
{
    cJSON_Delete(r->array);
    r->array = NULL;
}

int predict_rows_put(struct predict_rows *r, const struct predict_transfer *t, bool new_layout,
                     struct err *e)
{
    struct predict_trust trusts[TRUSTS];
    struct buf text = BUF_INIT;
    if (r->array != NULL) {
        cJSON *doc = predict_transfer_json(t);
        cJSON_AddItemToArray(r->array, doc);
        return r->explain ? predict_add_candidates(doc, t, e) : 0;
    }
    if (r->count++ == 0) {
        printf("# %s, predicted by specter\n#\n", specter_comm_op_name(t->op));
        print_headings(r);
    }
    if (new_layout) {
        put_place(&text, t);
        print_comment(r, 2, "%s", text.data);
        for (size_t i = 0, n = trust_transfer(t, trusts); i < n; i++) {
            buf_reset(&text);
            put_trust(&text, &trusts[i]);
            print_comment(r, 11, "%-10s %s", i == 0 ? "parameters" : "", text.data);
        }
        buf_release(&text);
    }
    print_row(r, t);
    return 0;
}

int predict_rows_end(struct predict_rows *r, struct err *e)
{
    if (r->array != NULL)
        return cmd_write_json(r->array, "-", e);
    printf("# Avg bus bandwidth    : %g\n#\n", r->busbw_sum / (double)r->count);
    if (r->extrapolated > 0)
        puts("# * outside what the model was fitted on");
    if (!r->explain)
        puts("# More: --explain");
    for (size_t i = 0; r->explain && model_comm_assumptions[i] != NULL; i++)
        print_comment(r, 2, "assumes: %s", model_comm_assumptions[i]);
    return 0;
}
