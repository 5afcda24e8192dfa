/* SPDX-License-Identifier: MIT
 *
 * The report of `specter bench overlap` (bench_report.h).
 */
#include "report/bench_report.h"

#include "base/buf.h"
#include "calib/measured.h"
#include "report/json_add.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>

/* Summary of the rows with one number of channels. */
struct channel_summary {
    int channels;
    struct bench_overlap_side gemm[2], collective; /* the largest slow-downs; by `memory` */
    double alone;    /* of collectives: time alone / that of the quickest row, geometric mean */
    double together; /* geometric mean */
};

static void take_largest(struct bench_overlap_side *most, const struct bench_overlap_side *side)
{
    if (side->slowdown > most->slowdown)
        *most = *side;
}

static struct channel_summary summarise(const struct bench_overlap_log *l, int channels)
{
    struct channel_summary s = {.channels = channels};
    double alone = 0, together = 0, n = 0;
    for (size_t i = 0; i < l->n; i++) {
        const struct bench_overlap_row *row = &l->rows[i];
        if (row->channels != channels)
            continue;
        take_largest(&s.gemm[row->of->memory], &row->gemm);
        take_largest(&s.collective, &row->collective);
        double least = INFINITY;
        for (size_t k = 0; k < l->n; k++) {
            if (l->rows[k].op == row->op)
                least = fmin(least, l->rows[k].collective.alone_us);
        }
        alone += log(row->collective.alone_us / least);
        together += log(bench_overlap_together(l, row));
        n++;
    }
    s.alone = exp(alone / n);
    s.together = exp(together / n);
    return s;
}

/* ---- text ---- */

static const char *channels_text(int channels, char *buf, size_t size)
{
    snprintf(buf, size, "%d", channels);
    return channels > 0 ? buf : "own";
}

static const char *channels_sentence(int channels, char *buf, size_t size)
{
    snprintf(buf, size, "%d channel%s", channels, channels > 1 ? "s" : "");
    return channels > 0 ? buf : "the library's own channels";
}

static void add_slowdown(struct table *t, const struct bench_overlap_side *side)
{
    if (side->slowdown > 0)
        table_cell(t, "%.2f +- %.2f", side->slowdown, side->slowdown * side->spread / 2);
    else
        table_cell(t, "-");
}

static void print_summaries(const struct bench_overlap_log *l, FILE *out)
{
    struct table t;
    char count[32];
    table_init(&t);
    table_column(&t, "channels", TABLE_RIGHT);
    for (int memory = 0; memory < 2; memory++)
        table_column(&t, bench_overlap_bound(memory), TABLE_RIGHT);
    table_column(&t, "collectives", TABLE_RIGHT);
    table_column(&t, "their time", TABLE_RIGHT);
    table_column(&t, "together", TABLE_RIGHT);
    for (size_t i = 0; i < l->n; i++) {
        struct channel_summary s;
        if (i > 0 && l->rows[i].channels == l->rows[i - 1].channels)
            continue;
        s = summarise(l, l->rows[i].channels);
        table_cell(&t, "%s", channels_text(s.channels, count, sizeof count));
        for (int memory = 0; memory < 2; memory++)
            add_slowdown(&t, &s.gemm[memory]);
        add_slowdown(&t, &s.collective);
        table_cell(&t, "%.2f", s.alone);
        table_cell(&t, "%.2f", s.together);
    }
    table_print(&t, out);
    table_release(&t);
    fputs("GEMMs, collectives: overlapped / alone, the largest. their time: collectives\n"
          "alone / the quickest. together: time of both / the time without loss; 1 loses\n"
          "nothing.\n",
          out);
}

static void print_rows(const struct bench_overlap_log *l, FILE *out)
{
    struct table t;
    char count[32], us[4][32];
    table_init(&t);
    table_column(&t, "channels", TABLE_RIGHT);
    table_column(&t, "operation", TABLE_LEFT);
    table_column(&t, "GEMM", TABLE_LEFT);
    table_column(&t, "alone", TABLE_RIGHT);
    table_column(&t, "overlapped", TABLE_RIGHT);
    table_column(&t, "slower", TABLE_RIGHT);
    table_column(&t, "collective", TABLE_RIGHT);
    table_column(&t, "overlapped", TABLE_RIGHT);
    table_column(&t, "slower", TABLE_RIGHT);
    table_column(&t, "together", TABLE_RIGHT);
    for (size_t i = 0; i < l->n; i++) {
        const struct bench_overlap_row *r = &l->rows[i];
        table_cell(&t, "%s", channels_text(r->channels, count, sizeof count));
        table_cell(&t, "%s", specter_comm_op_name(r->op));
        table_cell(&t, "%lldx%lldx%lld", (long long)r->of->shape.m, (long long)r->of->shape.n,
                   (long long)r->of->shape.k);
        table_cell(&t, "%s", text_ns(us[0], sizeof us[0], r->gemm.alone_us * 1e3));
        table_cell(&t, "%s", text_ns(us[1], sizeof us[1], r->gemm.beside_us * 1e3));
        add_slowdown(&t, &r->gemm);
        table_cell(&t, "%s", text_ns(us[2], sizeof us[2], r->collective.alone_us * 1e3));
        table_cell(&t, "%s", text_ns(us[3], sizeof us[3], r->collective.beside_us * 1e3));
        add_slowdown(&t, &r->collective);
        table_cell(&t, "%.2f", bench_overlap_together(l, r));
    }
    table_print(&t, out);
    table_release(&t);
}

void bench_overlap_text(const struct bench_overlap_report *r, bool full, FILE *out)
{
    char bytes[32], count[64];
    const struct bench_overlap_log *l = r->log;
    const struct channel_summary first = summarise(l, l->rows[0].channels);
    int best = bench_overlap_best(l);
    bool one = l->rows[l->n - 1].channels == first.channels; /* number of channels in all rows */
    fprintf(out, "Overlap on %d GPUs%s%s%s%s\n", r->run->where.ranks,
            r->complete ? "" : " (ended early)", one ? "" : ": ",
            one ? "" : channels_sentence(best, count, sizeof count),
            one         ? ""
            : best == 1 ? " loses least"
                        : " lose least");
    fprintf(out, "With %s GEMMs overlapped by collectives of %s\n",
            channels_sentence(first.channels, count, sizeof count),
            text_bytes(bytes, sizeof bytes, (double)l->rows[0].bytes));
    fprintf(out,
            "  take up to %.2f times as long as alone, collectives overlapped by GEMMs %.2f.\n",
            fmax(first.gemm[0].slowdown, first.gemm[1].slowdown), first.collective.slowdown);
    if (full)
        print_rows(r->log, out);
    else
        print_summaries(r->log, out);
    bench_state_text(r->gpus, r->ngpus, out);
}

/* ---- files ---- */

void bench_overlap_csv(const struct bench_overlap_report *r, FILE *out)
{
    struct buf device = BUF_INIT;
    csv_put_text(&device, r->run->gpu);
    fputs("source_id,gpu,gpu_profile,network_profile,collective,bytes,ranks,nodes,gpus_per_node,"
          "channels,bound,m,n,k,dtype,gemm_us,gemm_beside_us,gemm_slowdown,gemm_spread,"
          "collective_us,collective_beside_us,collective_slowdown,collective_spread,saved,"
          "together\n",
          out);
    for (size_t i = 0; i < r->log->n; i++) {
        const struct bench_overlap_row *row = &r->log->rows[i];
        const struct bench_overlap_side *g = &row->gemm, *c = &row->collective;
        const struct bench_gemm_shape *s = &row->of->shape;
        fprintf(out, "specter_bench,%s,%s,%s,%s,%llu,%d,%d,%d,%d,%s,%lld,%lld,%lld,%s,",
                device.data, r->gpu, r->network, measured_op_name(row->op),
                (unsigned long long)row->bytes, row->where.ranks, row->where.nodes,
                row->where.per_node, row->channels, bench_overlap_bound(row->of->memory),
                (long long)s->m, (long long)s->n, (long long)s->k, s->type->name);
        fprintf(out, "%.3f,%.3f,%.4f,%.4f,%.3f,%.3f,%.4f,%.4f,%.4f,%.4f\n", g->alone_us,
                g->beside_us, g->slowdown, g->spread, c->alone_us, c->beside_us, c->slowdown,
                c->spread, bench_overlap_saved(row), bench_overlap_together(r->log, row));
    }
    buf_release(&device);
}

static cJSON *side_json(const struct bench_overlap_side *s)
{
    cJSON *o = cJSON_CreateObject();
    json_add_number(o, "alone_us", s->alone_us);
    json_add_number(o, "beside_us", s->beside_us);
    json_add_number(o, "slowdown", s->slowdown);
    json_add_number(o, "spread", s->spread);
    cJSON_AddNumberToObject(o, "calls", s->calls);
    return o;
}

cJSON *bench_overlap_json(const struct bench_overlap_report *r)
{
    cJSON *doc = cJSON_CreateObject(), *rows;
    int best = bench_overlap_best(r->log);
    cJSON_AddStringToObject(doc, "schema", "specter.bench/1");
    cJSON_AddStringToObject(doc, "kind", "overlap");
    cJSON_AddBoolToObject(doc, "complete", r->complete);
    cJSON_AddStringToObject(doc, "backend", r->run->backend);
    cJSON_AddStringToObject(doc, "library", r->run->library);
    cJSON_AddStringToObject(doc, "gpu", r->run->gpu);
    cJSON_AddNumberToObject(doc, "ranks", r->run->where.ranks);
    cJSON_AddNumberToObject(doc, "nodes", r->run->where.nodes);
    cJSON_AddNumberToObject(doc, "repeats", r->repeats);
    json_add_number(doc, "best_channels", best >= 0 ? best : (double)NAN);
    rows = cJSON_AddArrayToObject(doc, "rows");
    for (size_t i = 0; i < r->log->n; i++) {
        const struct bench_overlap_row *row = &r->log->rows[i];
        const struct bench_gemm_shape *s = &row->of->shape;
        cJSON *o = cJSON_CreateObject();
        cJSON_AddNumberToObject(o, "channels", row->channels);
        cJSON_AddStringToObject(o, "collective", measured_op_name(row->op));
        cJSON_AddNumberToObject(o, "bytes", (double)row->bytes);
        cJSON_AddStringToObject(o, "bound", bench_overlap_bound(row->of->memory));
        cJSON_AddNumberToObject(o, "m", (double)s->m);
        cJSON_AddNumberToObject(o, "n", (double)s->n);
        cJSON_AddNumberToObject(o, "k", (double)s->k);
        cJSON_AddItemToObject(o, "gemm", side_json(&row->gemm));
        cJSON_AddItemToObject(o, "collective_time", side_json(&row->collective));
        json_add_number(o, "saved", bench_overlap_saved(row));
        json_add_number(o, "together", bench_overlap_together(r->log, row));
        cJSON_AddItemToArray(rows, o);
    }
    cJSON_AddItemToObject(doc, "state", bench_state_json(r->gpus, r->ngpus));
    bench_notes_json(doc, r->result);
    return doc;
}
