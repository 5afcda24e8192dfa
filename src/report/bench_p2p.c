/* SPDX-License-Identifier: MIT
 *
 * `specter bench p2p` on a screen, and as JSON.
 */
#include "bench/links.h"
#include "report/bench_report.h"
#include "report/json_add.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The drift of the GPUs' clocks before and after. */
static void drift_of(const struct bench_p2p_report *r, struct bench_drift_report out[2])
{
    for (int i = 0; i < 2; i++)
        out[i] = (struct bench_drift_report){
            .log = r->drift[i], .node_of = r->node_of, .windows = 3, .complete = true};
}

/* ---- text ---- */

#define NAMED_LINKS 3 /* findings of the short text */
#define MATRIX_GPUS 8 /* that its matrices have at most */

#define FAR_BELOW 0.75 /* of the predicted rate: links that are alike and all too slow */

/* ---- the answer ---- */

static void print_finding(const struct bench_links *links, const struct bench_link_finding *f,
                          FILE *out)
{
    bool single = f->src >= 0 && f->dst >= 0;
    if (f->whole)
        fprintf(out, "GPU %d, all %zu links", f->src, f->links);
    else if (f->dst < 0)
        fprintf(out, "GPU %d to all others", f->src);
    else if (f->src < 0)
        fprintf(out, "All others to GPU %d", f->dst);
    else
        fprintf(out, "GPU %d %s GPU %d", f->src, f->links > 1 ? "and" : "to", f->dst);
    if (f->fault == BENCH_LINK_LATE) {
        fprintf(out, ": latency %.2f of the others' (%.3g, not %.3g us)\n", f->ratio, f->value,
                f->expected);
        return;
    }
    fprintf(out, ": %.2f of the %s (%.3g, not %.3g GB/s)", f->ratio,
            f->fault == BENCH_LINK_SLOW ? "others' rate" : "way back's rate", f->value,
            f->expected);
    if (f->fault == BENCH_LINK_SLOW && single && !bench_link_of(links, f->dst, f->src)->slow)
        fputs("; back normal", out);
    fputc('\n', out);
}

static void print_answer(const struct bench_p2p_report *r, bool full, FILE *out)
{
    const struct bench_links *links = r->links;
    struct bench_link_finding *list;
    size_t n = bench_link_findings(links, &list), shown = full || n < NAMED_LINKS ? n : NAMED_LINKS;
    size_t known = links->kinds[0].n + links->kinds[1].n;
    double share = r->checks->figures[BENCH_CHECK_ratio].value; /* NAN: not predicted */
    if (n == 0) {
        if (known == 2)
            fputs("Both links are ", out);
        else
            fprintf(out, "All %zu links are ", known);
        fputs(share < FAR_BELOW ? "alike, and slow: " : "normal: ", out);
        static const char *const where[] = {" between nodes", " within a node"};
        bool both = links->kinds[0].n > 0 && links->kinds[1].n > 0;
        const char *before = "";
        for (int near = 1; near >= 0; near--) {
            const struct bench_link_kind *k = &links->kinds[near];
            char us[16];
            if (k->n == 0)
                continue;
            fputs(before, out);
            if (isfinite(k->beta_GBps))
                fprintf(out, "%.3g GB/s, ", k->beta_GBps);
            fprintf(out, "%s%s", text_ns(us, sizeof us, k->alpha_us * 1e3),
                    both ? where[near] : "");
            before = "; ";
        }
        fputs(".\n", out);
    }
    if (n == 0 && share < FAR_BELOW)
        fprintf(out, "%s: %.2f of the predicted rate (%s).\n",
                r->checks->figures[BENCH_CHECK_ratio].where, share, r->target->net->name);
    for (size_t i = 0; i < shown; i++)
        print_finding(links, &list[i], out);
    if (n > shown)
        fprintf(out, "%zu more: --full.\n", n - shown);
    free(list);
}

/* ---- matrices ---- */

static void print_cell(double value, int width, double whole_from, FILE *out)
{
    if (isfinite(value))
        fprintf(out, "%*.*f", width, value >= whole_from ? 0 : 1, value);
    else
        fprintf(out, "%*s", width, "-");
}

static void print_matrices(const struct bench_links *links, FILE *out)
{
    int n = links->ranks;
    fprintf(out, "%-5s", "GB/s");
    for (int i = 0; i < n; i++)
        fprintf(out, "%4d", i);
    fputs("  us", out);
    for (int i = 0; i < n; i++)
        fprintf(out, "%*d", i == 0 ? 3 : 5, i);
    fputc('\n', out);
    for (int src = 0; src < n; src++) {
        fprintf(out, "%5d", src);
        for (int dst = 0; dst < n; dst++) {
            const struct bench_link *l = bench_link_of(links, src, dst);
            print_cell(l->npieces > 0 ? l->beta_GBps : (double)NAN, 4, 9.95, out);
        }
        fputs("  ", out);
        for (int dst = 0; dst < n; dst++) {
            const struct bench_link *l = bench_link_of(links, src, dst);
            print_cell(l->npieces > 0 ? l->alpha_us : (double)NAN, 5, 99.95, out);
        }
        fputc('\n', out);
    }
}

/* ---- topology ---- */

#define TOPOLOGY "topology of GPU " /* settings, a row each: "X NV18 NV18 NV18" */

/* The only word of the row beside X, as long as it is *word, or none is there yet. Returns whether
 * it is. */
static bool is_uniform(const char *row, char *word, size_t size)
{
    for (size_t len; *row != '\0'; row += len + strspn(row + len, " ")) {
        len = strcspn(row, " ");
        if (len == 1 && *row == 'X')
            continue;
        if (word[0] == '\0')
            snprintf(word, size, "%.*s", (int)len, row);
        if (strlen(word) != len || memcmp(word, row, len) != 0)
            return false;
    }
    return true;
}

/* Prints the connections between the GPUs of rank 0's node: one line where it is the same for all,
 * else a row each.
 */
static void print_topology(const struct bench_run *run, FILE *out)
{
    char word[32] = "";
    bool uniform = true;
    int rows = 0;
    for (size_t i = 0; i < run->nsettings; i++) {
        if (strncmp(run->settings[i].name, TOPOLOGY, strlen(TOPOLOGY)) != 0)
            continue;
        uniform = is_uniform(run->settings[i].value, word, sizeof word) && uniform;
        rows++;
    }
    if (rows > 1 && uniform)
        fprintf(out, "Topology: %s between any two GPUs of a node.\n", word);
    for (size_t i = 0; i < run->nsettings && !uniform; i++) {
        if (strncmp(run->settings[i].name, TOPOLOGY, strlen(TOPOLOGY)) == 0)
            fprintf(out, "Topology of GPU %s: %s\n", run->settings[i].name + strlen(TOPOLOGY),
                    run->settings[i].value);
    }
}

/* ---- at once ---- */

/* The lowest rate of a GPU's traffic out at the largest size of the mode, in GB/s; NAN: not
 * measured. */
static double rate_at_once(const struct bench_p2p_log *log, enum bench_p2p_mode mode,
                           uint64_t *bytes)
{
    double least = (double)NAN;
    *bytes = 0;
    for (size_t i = 0; i < log->n; i++) {
        if (log->list[i].config.mode == mode && log->list[i].config.bytes > *bytes)
            *bytes = log->list[i].config.bytes;
    }
    for (size_t i = 0; i < log->n; i++) {
        const struct bench_p2p_done *d = &log->list[i];
        int peers = mode == BENCH_P2P_ALL ? log->ranks - 1 : 1;
        if (d->config.mode == mode && d->config.bytes == *bytes)
            least = fmin(least, peers * (double)*bytes / bench_p2p_stats(d).median / 1e3);
    }
    return least;
}

/* ---- every link ---- */

static void print_all(const struct bench_links *links, FILE *out)
{
    static const char *const titles[] = {"link",          "GB/s",  "90 % interval", "us",
                                         "90 % interval", "error", "of others",     "switches at"};
    size_t all = (size_t)links->ranks * (size_t)links->ranks;
    struct table t;
    table_init(&t);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        table_column(&t, titles[i], i == 0 || i == 7 ? TABLE_LEFT : TABLE_RIGHT);
    for (size_t i = 0; i < all; i++) {
        const struct bench_link *l = &links->list[i];
        char first[16], second[16];
        if (l->npieces == 0)
            continue;
        table_cell(&t, "%d>%d", l->src, l->dst);
        table_cell(&t, "%.4g", l->beta_GBps);
        table_cell(&t, "%.4g - %.4g", l->beta_low_GBps, l->beta_high_GBps);
        table_cell(&t, "%.2f", l->alpha_us);
        table_cell(&t, "%.2f - %.2f", l->alpha_low_us, l->alpha_high_us);
        table_cell(&t, "%.1f %%", l->error * 100);
        table_cell(&t, "%.2f", l->beta_ratio);
        text_bytes(first, sizeof first, l->npieces > 1 ? (double)l->pieces[1].from : 0);
        text_bytes(second, sizeof second, l->npieces > 2 ? (double)l->pieces[2].from : 0);
        table_cell(&t, "%s%s%s", l->npieces > 1 ? first : "", l->npieces > 2 ? ", " : "",
                   l->npieces > 2 ? second : "");
    }
    table_print(&t, out);
    table_release(&t);
}

void bench_p2p_text(const struct bench_p2p_report *r, bool full, FILE *out)
{
    const struct bench_links *links = r->links;
    const struct bench_correlation heat = bench_links_heat(r->log, links);
    struct bench_drift_report clocks[2];
    if (!r->complete)
        fputs("Ended early: not all configurations are in this.\n", out);
    if (links->kinds[0].n + links->kinds[1].n == 0) {
        fputs("No link was measured at two sizes.\n", out);
        return;
    }
    print_answer(r, full, out);
    if (full || links->ranks <= MATRIX_GPUS)
        print_matrices(links, out);
    if (full)
        print_topology(r->run, out);
    if (full)
        print_all(links, out);
    if (full || links->ranks < MATRIX_GPUS) {
        uint64_t bytes;
        char size[16];
        double both = rate_at_once(r->log, BENCH_P2P_BOTH, &bytes), all;
        if (isfinite(both)) {
            fprintf(out, "Both ways at once: at least %.3g GB/s each way (%s)", both,
                    text_bytes(size, sizeof size, (double)bytes));
            all = rate_at_once(r->log, BENCH_P2P_ALL, &bytes);
            if (isfinite(all))
                fprintf(out, ";\nall to all at once: %.3g GB/s out of each GPU (%s each)", all,
                        text_bytes(size, sizeof size, (double)bytes));
            fputs(".\n", out);
        }
    }
    drift_of(r, clocks);
    bench_drift_change_text(&clocks[0], &clocks[1], out);
    bench_state_text(r->gpus, r->ngpus, out);
    bench_heat_text(&heat, "Messages take", out);
    bench_checks_text(r->checks, full, out);
    if (!full)
        fputs("More: --full, --json FILE|-, -o DIR.\n", out);
}

/* ---- JSON ---- */

static cJSON *link_json(const struct bench_link *l)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "src", l->src);
    cJSON_AddNumberToObject(o, "dst", l->dst);
    cJSON_AddBoolToObject(o, "same_node", l->near);
    json_add_number(o, "alpha_us", l->alpha_us);
    json_add_number(o, "alpha_low_us", l->alpha_low_us);
    json_add_number(o, "alpha_high_us", l->alpha_high_us);
    json_add_number(o, "beta_GBps", l->beta_GBps);
    json_add_number(o, "beta_low_GBps", l->beta_low_GBps);
    json_add_number(o, "beta_high_GBps", l->beta_high_GBps);
    json_add_number(o, "error", l->error);
    json_add_number(o, "alpha_ratio", l->alpha_ratio);
    json_add_number(o, "beta_ratio", l->beta_ratio);
    json_add_number(o, "back_ratio", l->back_ratio);
    cJSON_AddBoolToObject(o, "slow", l->slow);
    cJSON_AddBoolToObject(o, "late", l->late);
    cJSON_AddBoolToObject(o, "asymmetric", l->asymmetric);
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < l->npieces; i++) {
        cJSON *piece = cJSON_CreateObject();
        cJSON_AddNumberToObject(piece, "from_bytes", (double)l->pieces[i].from);
        cJSON_AddNumberToObject(piece, "to_bytes", (double)l->pieces[i].to);
        json_add_number(piece, "alpha_us", l->pieces[i].alpha_us);
        json_add_number(piece, "beta_GBps", l->pieces[i].beta_GBps);
        cJSON_AddItemToArray(list, piece);
    }
    cJSON_AddItemToObject(o, "pieces", list);
    return o;
}

/* By source, then destination; null where nothing was measured. */
static cJSON *matrix_json(const struct bench_links *links, bool latency)
{
    cJSON *list = cJSON_CreateArray();
    for (int src = 0; src < links->ranks; src++) {
        cJSON *row = cJSON_CreateArray();
        for (int dst = 0; dst < links->ranks; dst++) {
            const struct bench_link *l = bench_link_of(links, src, dst);
            double value = latency ? l->alpha_us : l->beta_GBps;
            cJSON_AddItemToArray(row, l->npieces > 0 && isfinite(value) ? cJSON_CreateNumber(value)
                                                                        : cJSON_CreateNull());
        }
        cJSON_AddItemToArray(list, row);
    }
    return list;
}

static cJSON *findings_json(const struct bench_links *links)
{
    static const char *const names[] = {"slow", "late", "asymmetric"};
    struct bench_link_finding *found;
    size_t n = bench_link_findings(links, &found);
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < n; i++) {
        const struct bench_link_finding *f = &found[i];
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "name", names[f->fault]);
        json_add_number(o, "src", f->src >= 0 ? f->src : (double)NAN);
        json_add_number(o, "dst", f->dst >= 0 ? f->dst : (double)NAN);
        cJSON_AddBoolToObject(o, "both_ways",
                              f->whole || (f->fault == BENCH_LINK_LATE && f->links > 1));
        cJSON_AddNumberToObject(o, "links", (double)f->links);
        json_add_number(o, "ratio", f->ratio);
        json_add_number(o, "value", f->value);
        json_add_number(o, "expected", f->expected);
        cJSON_AddItemToArray(list, o);
    }
    free(found);
    return list;
}

cJSON *bench_p2p_json(const struct bench_p2p_report *r)
{
    const struct bench_correlation heat = bench_links_heat(r->log, r->links);
    struct bench_drift_report clocks[2];
    cJSON *doc = cJSON_CreateObject(), *list, *drift;
    size_t all = (size_t)r->links->ranks * (size_t)r->links->ranks;
    drift_of(r, clocks);
    cJSON_AddStringToObject(doc, "schema", "specter.bench/1");
    cJSON_AddStringToObject(doc, "kind", "p2p");
    cJSON_AddBoolToObject(doc, "complete", r->complete);
    bench_run_json(doc, r->run);
    cJSON_AddNumberToObject(doc, "seed", (double)r->plan->seed);
    cJSON_AddNumberToObject(doc, "warmup", r->plan->warmup);
    cJSON_AddNumberToObject(doc, "repeat", r->plan->repeat);
    cJSON_AddItemToObject(doc, "findings", findings_json(r->links));
    cJSON_AddItemToObject(doc, "alpha_us", matrix_json(r->links, true));
    cJSON_AddItemToObject(doc, "beta_GBps", matrix_json(r->links, false));
    list = cJSON_AddArrayToObject(doc, "links");
    for (size_t i = 0; i < all; i++) {
        if (r->links->list[i].npieces > 0)
            cJSON_AddItemToArray(list, link_json(&r->links->list[i]));
    }
    list = cJSON_AddArrayToObject(doc, "configurations");
    for (size_t i = 0; i < r->log->n; i++) {
        const struct bench_p2p_done *d = &r->log->list[i];
        const struct bench_p2p_config *c = &d->config;
        cJSON *o = cJSON_CreateObject();
        const struct bench_stats s = bench_p2p_stats(d);
        cJSON_AddStringToObject(o, "mode", bench_p2p_mode_name(c->mode));
        cJSON_AddNumberToObject(o, "config_id", c->id);
        json_add_number(o, "src", c->src >= 0 ? c->src : (double)NAN);
        json_add_number(o, "dst", c->dst >= 0 ? c->dst : (double)NAN);
        cJSON_AddNumberToObject(o, "bytes", (double)c->bytes);
        json_add_number(o, "median_us", s.median);
        json_add_number(o, "min_us", s.min);
        json_add_number(o, "p99_us", s.p99);
        json_add_number(o, "cv", s.cv);
        json_add_number(o, "temperature_C", d->celsius);
        cJSON_AddItemToArray(list, o);
    }
    cJSON_AddItemToObject(doc, "checks", bench_checks_json(r->checks));
    drift = cJSON_AddObjectToObject(doc, "drift");
    for (int i = 0; i < 2; i++)
        cJSON_AddItemToObject(drift, i > 0 ? "after" : "before", bench_drift_part_json(&clocks[i]));
    cJSON_AddItemToObject(doc, "state", bench_state_json(r->gpus, r->ngpus));
    cJSON_AddItemToObject(doc, "temperature", bench_heat_json(&heat));
    bench_notes_json(doc, r->result);
    return doc;
}
