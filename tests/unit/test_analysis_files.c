/* SPDX-License-Identifier: MIT
 *
 * The analysis of recorded files: a profile made by others against figures made by others, the
 * identity of the split on everything that can be read, and the document against the tables.
 */
#include "test.h"
#include "trace_files.h"

#include "analysis/analysis.h"
#include "analysis/fail_on.h"
#include "report/findings.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool load(struct run *run, struct analysis *a, const char *path)
{
    struct err e = {0};
    bool loaded =
        run_load(run, path, NULL, &e) == 0 && analysis_init(a, run, ANALYSIS_ALL_RANKS, &e) == 0;
    CHECK_STR_OF(path, loaded ? "" : e.msg, "");
    if (!loaded)
        run_release(run);
    return loaded;
}

static void check_figure(const cJSON *want, int rank, const char *key, int64_t got_ns)
{
    const cJSON *value = cJSON_GetObjectItem(want, key);
    double got_us = (double)got_ns / 1e3;
    if (!cJSON_IsNumber(value) || fabs(got_us - value->valuedouble) > 1)
        test_fail(__FILE__, __LINE__, "rank %d: %s is %.3f us, want %.3f", rank, key, got_us,
                  value != NULL ? value->valuedouble : NAN);
}

static void check_rank(const cJSON *want, int rank, const struct time_breakdown *s)
{
    check_figure(want, rank, "span", s->span_ns);
    check_figure(want, rank, "compute", s->compute_ns);
    check_figure(want, rank, "comm", s->comm_ns);
    check_figure(want, rank, "memory", s->memory_ns);
    check_figure(want, rank, "comm_overlapped_by_compute", s->overlap_ns);
    check_figure(want, rank, "exposed_comm", s->exposed_comm_ns);
    check_figure(want, rank, "exposed_memory", s->exposed_memory_ns);
    check_figure(want, rank, "idle", s->idle_ns);
    check_figure(want, rank, "busy", s->span_ns - s->idle_ns);
}

static cJSON *expected_figures(void)
{
    char *text = read_whole(test_shared("data/expected/hta_dlrm8.json"), NULL);
    cJSON *doc = text != NULL ? cJSON_Parse(text) : NULL;
    free(text);
    return doc;
}

TEST(analysis_dlrm_equals_plain_interval_arithmetic)
{
    struct run run;
    struct analysis a;
    cJSON *doc = expected_figures();
    const char *path = test_shared("data/traces/param/dlrm_kineto.tar.gz");
    if (doc == NULL || path == NULL) {
        cJSON_Delete(doc);
        SKIP("no ../shared data");
    }
    if (load(&run, &a, path)) {
        const cJSON *ranks = cJSON_GetObjectItem(doc, "plain_interval_arithmetic_us");
        CHECK_INT((int64_t)a.nranks, 8);
        for (size_t i = 0; i < a.nranks; i++) {
            char key[16];
            snprintf(key, sizeof key, "%d", a.ranks[i].rank->rank);
            struct time_breakdown whole;
            time_breakdown_init(&whole, a.ranks[i].rank, NULL, NULL);
            check_rank(cJSON_GetObjectItem(ranks, key), a.ranks[i].rank->rank, &whole);
        }
        analysis_release(&a);
        run_release(&run);
    }
    cJSON_Delete(doc);
}

static int by_ns(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

/* The reference lists the eight collectives in order; ours are compared as sorted transfer times,
 * and the arrivals as counts. */
TEST(analysis_dlrm_collectives_and_the_late_rank)
{
    struct run run;
    struct analysis a;
    int64_t want[16], got[16];
    int last[8] = {0};
    cJSON *doc = expected_figures();
    const char *path = test_shared("data/traces/param/dlrm_kineto.tar.gz");
    if (doc == NULL || path == NULL) {
        cJSON_Delete(doc);
        SKIP("no ../shared data");
    }
    if (load(&run, &a, path)) {
        const cJSON *list = cJSON_GetObjectItem(doc, "collectives_matched_by_order_us"), *item;
        size_t n = 0;
        cJSON_ArrayForEach(item, list)
        {
            want[n] = (int64_t)cJSON_GetObjectItem(item, "comm_latency_us")->valuedouble * 1000;
            last[cJSON_GetObjectItem(item, "latest_rank")->valueint]++;
            n++;
        }
        CHECK_INT((int64_t)a.comm.count, (int64_t)n);
        for (size_t i = 0; i < n && i < a.comm.count; i++) {
            got[i] = a.comm.list[i].transfer_ns;
            CHECK_INT(a.comm.list[i].members, 8);
        }
        if (a.comm.count == n) {
            qsort(want, n, sizeof *want, by_ns);
            qsort(got, n, sizeof *got, by_ns);
            for (size_t i = 0; i < n; i++)
                CHECK_INT(got[i], want[i]);
        }
        for (size_t i = 0; i < a.nranks; i++)
            CHECK_INT((int64_t)a.ranks[i].arrival->last, last[a.ranks[i].rank->rank]);
        analysis_release(&a);
        run_release(&run);
    }
    cJSON_Delete(doc);
}

static void check_identity(const struct analysis *a, const char *path)
{
    for (size_t i = 0; i < a->nranks; i++) {
        const struct time_breakdown *s = &a->ranks[i].breakdown;
        int64_t sum = s->compute_ns + s->exposed_comm_ns + s->exposed_memory_ns + s->idle_ns;
        CHECK_INT_OF(path, sum, s->span_ns);
        CHECK_INT_OF(path, s->overlap_ns + s->exposed_comm_ns, s->comm_ns);
        CHECK_INT_OF(path, s->idle_ns < 0, false);
    }
}

/* Analyzes what is at `path` if it is a trace; true when it was. */
static bool identity_holds_for(const char *path)
{
    struct run run;
    struct analysis a;
    struct err e;
    bool loaded = path != NULL && run_load(&run, path, NULL, &e) == 0;
    if (loaded && analysis_init(&a, &run, ANALYSIS_ALL_RANKS, &e) == 0) {
        check_identity(&a, path);
        analysis_release(&a);
    }
    if (path != NULL)
        run_release(&run);
    return loaded;
}

/* compute + exposed_comm + exposed_memory + idle = span on every fixture, also the damaged ones. */
TEST(analysis_identity_on_every_fixture)
{
    char folder[4096], path[4096];
    snprintf(path, sizeof path, "%s", test_data("../cli/analyze/data/two_ranks"));
    CHECK(identity_holds_for(path));
    snprintf(folder, sizeof folder, "%s", test_data("."));
    DIR *dir = opendir(folder);
    for (struct dirent *d; dir != NULL && (d = readdir(dir)) != NULL;) {
        if (d->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s", test_data(d->d_name));
        identity_holds_for(path);
    }
    if (dir != NULL)
        closedir(dir);
}

TEST(analysis_identity_on_traces_of_others)
{
    static const char *const files[] = {
        "data/traces/param/dlrm_kineto.tar.gz",
        "data/traces/param/linear_kineto.json.gz",
        "data/traces/hta/nccl_parser_config/nccl_data.json.gz",
        "data/traces/hta/negative_queue_length_values_check/rank0.json.gz",
        "data/traces/hta/cuda_event_sync_multi_stream/event_sync_trace.json.gz",
        "data/traces/tracelens/resnet_act_checkpoint.json.gz",
    };
    size_t n = 0;
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        char path[4096];
        const char *found = test_shared(files[f]);
        if (found == NULL)
            continue;
        snprintf(path, sizeof path, "%s", found);
        n++;
        CHECK(identity_holds_for(path));
    }
    if (n == 0)
        SKIP("no ../shared data");
}

static void check_rule(const char *document, const char *name, double threshold)
{
    char row[128];
    snprintf(row, sizeof row, "`%s` (%.2f)", name, threshold);
    CHECK_HAS(document, row);
}

/* Every rule with its threshold, every --fail-on name and every time is in the document. */
TEST(analysis_document_lists_every_number)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/../../docs/analyze.md", test_data("."));
    char *document = read_whole(path, NULL);
    CHECK(document != NULL);
    if (document == NULL)
        return;
#define X(name, threshold, what) check_rule(document, #name, threshold);
    RULES(X)
#undef X
#define X(name, part, whole, help) CHECK_HAS(document, "`" #name "`");
    FAIL_ON_SHARES(X)
#undef X
#define X(name, kind, lacks, help) CHECK_HAS(document, "`" #name "`");
    FAIL_ON_VALUES(X)
#undef X
#define X(id, name, what) CHECK_HAS(document, "`" name "`");
    HANG_CAUSES(X)
#undef X
#define X(name) CHECK_HAS(document, "`" #name "_us`");
    BREAKDOWN_TIMES(X)
#undef X
    free(document);
}
