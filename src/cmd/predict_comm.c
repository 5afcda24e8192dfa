/* SPDX-License-Identifier: MIT
 *
 * A predicted transfer, collective or message, as text and JSON.
 */
#include "cmd/predict.h"

#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_message(const struct predict_transfer *t)
{
    return specter_comm_op_is_p2p(t->op);
}

/* bytes per us are 1e-3 GB/s. */
double predict_algbw_GBps(const struct predict_transfer *t)
{
    return t->bytes > 0 && t->cost.bw_GBps > 0 ? t->bytes / t->cost.us / 1e3 : NAN;
}

double predict_busbw_GBps(const struct predict_transfer *t)
{
    double out = t->direction == COMM_ALL_PAIRS ? t->where.ranks - 1 : 1; /* messages of a rank */
    return predict_algbw_GBps(t) * out *
           specter_comm_op_bus_factor(t->op, (uint64_t)t->where.ranks);
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

void predict_put_place(struct buf *out, const struct predict_transfer *t)
{
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
}

void predict_print_title(const struct predict_transfer *t)
{
    char text[32];
    struct buf title = BUF_INIT;
    buf_printf(&title, "%s of %s %s", specter_comm_op_name(t->op),
               text_bytes(text, sizeof text, t->bytes), is_message(t) ? "" : "by ");
    predict_put_place(&title, t);
    opt_wrap(title.data, 0, 2, stdout);
    putchar('\n');
    buf_release(&title);
}

static void print_rate(const char *name, double GBps)
{
    if (isnan(GBps))
        printf("  %-10s -\n", name);
    else
        printf("  %-10s %.2f GB/s\n", name, GBps);
}

static void print_bound(const struct predict_transfer *t)
{
    const struct comm_cost *c = &t->cost;
    char text[32];
    if (strcmp(c->bound, "latency") == 0)
        puts("  bound      latency: launch and steps take longer than the bytes");
    else
        printf("  bound      %s: links %s, %.2f GB/s bus bandwidth\n", c->bound,
               strcmp(c->bound, "intra") == 0 ? "within a node" : "between nodes", c->bw_GBps);
    if (t->bound_us > 0)
        printf("  links      at least %s at their raw rates: %.1f %% of the bound reached\n",
               text_ns(text, sizeof text, t->bound_us * 1e3), 100 * bound_fraction(t));
}

static void print_choice(const struct comm_cost *c)
{
    printf("  algorithm  %s, protocol %s", c->algo, c->proto);
    if (c->channels > 0)
        printf(", %d channel%s", c->channels, plural(c->channels));
    putchar('\n');
}

void predict_print_transfer(const struct predict_transfer *t)
{
    struct predict_trust trusts[PREDICT_TRUSTS];
    size_t n = predict_trust_transfer(t, trusts);
    char text[32];
    printf("  time       %s\n", text_ns(text, sizeof text, t->cost.us * 1e3));
    printf("  latency    %s of it\n", text_ns(text, sizeof text, t->cost.lat_us * 1e3));
    print_rate("algbw", predict_algbw_GBps(t));
    print_rate("busbw", predict_busbw_GBps(t));
    print_choice(&t->cost);
    print_bound(t);
    predict_print_trust("  ", trusts, n);
    predict_print_beyond(trusts, n);
}

static void add_number(cJSON *doc, const char *name, double value)
{
    if (isnan(value))
        cJSON_AddNullToObject(doc, name);
    else
        cJSON_AddNumberToObject(doc, name, value);
}

static cJSON *new_doc(const struct predict_transfer *t)
{
    cJSON *doc = predict_doc(is_message(t) ? "p2p" : "collective", t->on);
    if (is_message(t)) {
        cJSON_AddBoolToObject(doc, "across", t->across);
        cJSON_AddNumberToObject(doc, "flows", t->flows);
        cJSON_AddStringToObject(doc, "direction", comm_direction_name(t->direction));
        cJSON_AddNumberToObject(doc, "ranks", t->where.ranks);
        return doc;
    }
    cJSON_AddStringToObject(doc, "op", specter_comm_op_name(t->op));
    cJSON_AddNumberToObject(doc, "ranks", t->where.ranks);
    cJSON_AddNumberToObject(doc, "nodes", t->where.nodes);
    cJSON_AddNumberToObject(doc, "per_node", t->where.per_node);
    return doc;
}

cJSON *predict_transfer_json(const struct predict_transfer *t)
{
    struct predict_trust trusts[PREDICT_TRUSTS];
    const struct comm_cost *c = &t->cost;
    cJSON *doc = new_doc(t);
    cJSON_AddNumberToObject(doc, "bytes", t->bytes);
    cJSON_AddNumberToObject(doc, "time_us", c->us);
    cJSON_AddNumberToObject(doc, "lat_us", c->lat_us);
    add_number(doc, "algbw_GBps", predict_algbw_GBps(t));
    add_number(doc, "busbw_GBps", predict_busbw_GBps(t));
    cJSON_AddNumberToObject(doc, "bw_GBps", c->bw_GBps);
    cJSON_AddStringToObject(doc, "algo", c->algo);
    cJSON_AddStringToObject(doc, "proto", c->proto);
    cJSON_AddNumberToObject(doc, "channels", c->channels);
    cJSON_AddStringToObject(doc, "bound", c->bound);
    cJSON_AddNumberToObject(doc, "bound_us", t->bound_us);
    add_number(doc, "bound_fraction", bound_fraction(t));
    predict_add_trust(doc, trusts, predict_trust_transfer(t, trusts));
    predict_add_assumptions(doc, model_comm_assumptions);
    return doc;
}
