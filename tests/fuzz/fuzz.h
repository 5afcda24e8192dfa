/* SPDX-License-Identifier: MIT
 *
 * Targets of fuzzing: untrusted bytes are read by one reader, or by the one that recognises them,
 * and the result is analysed and printed. Only that all of it ends is checked here; a sanitizer
 * finds the rest. tests/fuzz/fuzz.c gives the targets to libFuzzer, tests/unit/test_fuzz.c runs
 * them on the inputs of earlier fuzzing (tests/fuzz/corpus/<target>/).
 */
#ifndef SPECTER_FUZZ_H
#define SPECTER_FUZZ_H

#include "analysis/analysis.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/pickle.h"
#include "base/stream.h"
#include "bench/read.h"
#include "calib/measured.h"
#include "metrics/card.h"
#include "metrics/metrics.h"
#include "model/profile_json.h"
#include "report/analyze_report.h"
#include "report/bench_report.h"
#include "report/export.h"
#include "report/metrics_report.h"
#include "trace/job.h"
#include "trace/reader.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file that the bytes go to: some readers want to open it themselves. */
static inline const char *fuzz_path(void)
{
    static char path[64];
    struct stat st;
    bool shm = stat("/dev/shm", &st) == 0 && access("/dev/shm", W_OK) == 0;
    if (path[0] == '\0')
        snprintf(path, sizeof path, "%s/specter-fuzz-%ld-rank0", shm ? "/dev/shm" : "/tmp",
                 (long)getpid());
    return path;
}

static inline void fuzz_put(const unsigned char *bytes, size_t len)
{
    FILE *f = fopen(fuzz_path(), "w");
    if (f == NULL || fwrite(bytes, 1, len, f) != len || fclose(f) != 0)
        abort();
}

/* Aborts unless the text is JSON. */
static inline void fuzz_text_is_json(const char *text, size_t len)
{
    struct json j;
    json_init(&j, text, len);
    json_skip(&j);
    json_end(&j);
    if (j.error != NULL)
        abort();
}

static inline void fuzz_json_is_whole(cJSON *json)
{
    char *text = json != NULL ? cJSON_PrintUnformatted(json) : NULL;
    if (text == NULL)
        abort();
    fuzz_text_is_json(text, strlen(text));
    cJSON_free(text);
    cJSON_Delete(json);
}

static inline void fuzz_analyze_json(const struct analysis *a, const struct findings *findings)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        abort();
    analyze_json(a, findings, out);
    fclose(out);
    fuzz_text_is_json(text, size);
    free(text);
}

static inline void fuzz_metrics(const struct analysis *a, FILE *out)
{
    static const char *const names[] = {
#define X(name, unit, definition) #name,
        METRICS(X)
#undef X
    };
    struct card card;
    struct metrics_input in = {a->run, a, &card, NULL};
    struct metrics m;
    struct err e;
    card_init(&card);
    if (metrics_init(&m, &in, &e) == 0) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            metrics_add(&m, names[i], strlen(names[i]), &e);
        metrics_text(&m, out);
        fuzz_json_is_whole(metrics_json(&m));
    }
    metrics_release(&m);
}

/* As one file each; the formats that make a folder (CSV, Chakra) are too slow for it. */
static inline void fuzz_export(const struct run *run)
{
    struct err e;
    export_file(run, EXPORT_PERFETTO, "/dev/null", SIZE_MAX, &e);
    export_file(run, EXPORT_CHROME, "/dev/null", SIZE_MAX, &e);
}

/* Everything that is said of a run. */
static inline void fuzz_report(const struct run *run)
{
    struct analysis a;
    struct findings findings;
    struct err e;
    FILE *out;
    if (analysis_init(&a, run, ANALYSIS_ALL_RANKS, &e) < 0)
        return;
    findings_init(&findings, &a);
    out = fopen("/dev/null", "w");
    if (out == NULL)
        abort();
    analyze_text(&a, &findings, out);
    analyze_tables(&a, "", SHEET_CSV, out);
    fuzz_analyze_json(&a, &findings);
    analyze_html(&a, &findings, "/dev/null", &e);
    fuzz_metrics(&a, out);
    fclose(out);
    findings_release(&findings);
    analysis_release(&a);
    fuzz_export(run);
}

/* As what they look like: plain, compressed, an archive. */
static inline void fuzz_input(const unsigned char *bytes, size_t len)
{
    struct run run;
    struct err e;
    fuzz_put(bytes, len);
    if (run_load(&run, fuzz_path(), NULL, &e) == 0)
        fuzz_report(&run);
    run_release(&run);
    unlink(fuzz_path());
}

/* True when something of it was usable. */
static inline bool fuzz_read(struct run *run, const struct reader *reader,
                             const unsigned char *bytes, size_t len)
{
    struct identity id = {.rank = -1};
    struct stream *s;
    struct err e;
    size_t head = len < STREAM_PEEK ? len : STREAM_PEEK;
    int rc;
    fuzz_put(bytes, len);
    reader->sniff((const char *)bytes, head);
    if (reader->identify != NULL)
        reader->identify((const char *)bytes, head, &id);
    if (stream_open(&s, fuzz_path(), &e) < 0)
        return false;
    rc = reader->read(run, s, fuzz_path(), &e);
    stream_close(s);
    unlink(fuzz_path());
    return rc == 0;
}

/* By this reader, whether they look like its format or not. A byte 0, which no text has, parts two
 * files: the second is of this format, the first of the one that it completes (reader.h), else of
 * this one too. */
static inline void fuzz_reader(const struct reader *reader, const unsigned char *bytes, size_t len)
{
    const unsigned char *cut = reader == &reader_nsys ? NULL : memchr(bytes, 0, len);
    const struct reader *first = reader->completes != NULL ? reader->completes : reader;
    struct run run;
    bool any;
    run_init(&run);
    for (int i = 0; i < 4 && reader->beside; i++) /* what lies beside traces needs some */
        run_add_rank(&run)->host = i < 2 ? "n1" : "";
    if (cut == NULL) {
        any = fuzz_read(&run, reader, bytes, len);
    } else {
        any = fuzz_read(&run, first, bytes, (size_t)(cut - bytes));
        any |= fuzz_read(&run, reader, cut + 1, len - (size_t)(cut + 1 - bytes));
        if (any && first != reader && first->finish != NULL)
            first->finish(&run);
    }
    if (any) {
        if (reader->finish != NULL)
            reader->finish(&run);
        run_finish(&run);
        job_apply(&run);
        fuzz_report(&run);
    }
    run_release(&run);
}

static inline void fuzz_take(void *sums, const struct closing *c)
{
    closing_sums_add(sums, c);
}

/* The first and the last line of a trace, without the others; in each form. */
static inline void fuzz_closing(const unsigned char *bytes, size_t len)
{
    struct closing_sums sums;
    struct run run;
    struct closing_report r = {&sums, &run};
    struct sheet sheets[CLOSING_SHEET_COUNT];
    struct err e;
    char *text = NULL;
    size_t size = 0;
    fuzz_put(bytes, len);
    closing_sums_init(&sums);
    if (closings_read(&run, fuzz_path(), NULL, fuzz_take, &sums, &e) == 0) {
        struct screen screen;
        FILE *out = open_memstream(&text, &size);
        if (out == NULL)
            abort();
        closing_sums_finish(&sums);
        closing_json(&r, out);
        fclose(out);
        fuzz_text_is_json(text, size);
        free(text);
        out = fopen("/dev/null", "w");
        if (out == NULL)
            abort();
        screen_init(&screen, out, 0);
        closing_screen(&r, &screen);
        screen_release(&screen);
        closing_sheets(sheets, &r);
        for (size_t i = 0; i < CLOSING_SHEET_COUNT; i++) {
            sheet_csv(&sheets[i], out);
            sheet_print(&sheets[i], SIZE_MAX, out);
            sheet_release(&sheets[i]);
        }
        fclose(out);
    }
    closing_sums_release(&sums);
    run_release(&run);
    unlink(fuzz_path());
}

/* As JSON, and as the dump that it may be; unlike texts, pickles hold bytes 0. */
static inline void fuzz_pickle(const unsigned char *bytes, size_t len)
{
    struct buf text = BUF_INIT;
    struct run run;
    struct err e;
    if (pickle_to_json((const char *)bytes, len, &text, &e) != PICKLE_REFUSED)
        fuzz_text_is_json(text.data, text.len);
    buf_release(&text);
    run_init(&run);
    if (fuzz_read(&run, &reader_flight, bytes, len)) {
        reader_flight.finish(&run);
        run_finish(&run);
        job_apply(&run);
        fuzz_report(&run);
    }
    run_release(&run);
}

static inline void fuzz_card(const unsigned char *bytes, size_t len)
{
    struct card card;
    struct err e;
    fuzz_put(bytes, len);
    if (card_read(&card, fuzz_path(), &e) == 0) {
        card_dp(&card);
        card_tokens(&card);
        card_flops(&card);
    }
    unlink(fuzz_path());
}

static inline void fuzz_measured(const unsigned char *bytes, size_t len)
{
    struct measured m;
    struct err e;
    fuzz_put(bytes, len);
    measured_init(&m);
    measured_read(&m, fuzz_path(), &(struct measured_opts){0}, &e);
    measured_release(&m);
    unlink(fuzz_path());
}

/* A benchmark's log, judged and printed in each form. */
static inline void fuzz_bench(const unsigned char *bytes, size_t len)
{
    const struct gpu_profile *gpu = gpu_profile_find(GPU_PROFILE_DEFAULT, NULL);
    const struct network_profile *net = network_profile_find(NETWORK_PROFILE_DEFAULT, NULL);
    struct bench_studies studies = {0};
    struct bench_result r;
    struct sheet rows;
    struct err e;
    FILE *out = fopen("/dev/null", "w");
    if (out == NULL)
        abort();
    fuzz_put(bytes, len);
    bench_result_init(&r);
    if (bench_read(&r, fuzz_path(), &e) == 0) {
        for (size_t i = 0; i < r.nruns; i++) {
            bench_infer(&r.runs[i], SPECTER_COMM_OP_COUNT);
            bench_studies_add(&studies, &r.runs[i], gpu, net);
        }
        for (size_t i = 0; i < studies.n; i++)
            bench_text(&studies.list[i], true, out);
        bench_sheet(&rows, &studies);
        sheet_csv(&rows, out);
        sheet_release(&rows);
        fuzz_json_is_whole(bench_json(&studies));
    }
    bench_studies_release(&studies);
    bench_result_release(&r);
    fclose(out);
    unlink(fuzz_path());
}

static inline void fuzz_profile(const unsigned char *bytes, size_t len)
{
    struct profile_pair pair;
    struct arena arena;
    struct err e;
    arena_init(&arena);
    profile_json_read(&pair, &arena, "fuzz", (const char *)bytes, len, &e);
    arena_release(&arena);
}

/* Takes one value apart by what it looks like. */
static inline void fuzz_value(struct json *j, struct buf *out)
{
    struct json_text text = {NULL, 0, false};
    char c = json_peek(j);
    if (c == '{' && json_enter(j, '{')) {
        while (json_next_key(j, &text)) {
            json_decode(text, out);
            fuzz_value(j, out);
        }
    } else if (c == '[' && json_enter(j, '[')) {
        while (json_next_item(j))
            fuzz_value(j, out);
    } else if (c == '"') {
        text = json_string(j);
        json_decode(text, out);
        json_quote(out, text.p != NULL ? text.p : "", text.len);
    } else if (c == '0' || c == '-') {
        struct json ways[3] = {*j, *j, *j};
        json_i64(&ways[0], 0);
        json_u64(&ways[1], 0);
        json_time_ns(&ways[2], 1000, 0);
        json_double(j, 0);
    } else if (c == 't' || c == 'f') {
        json_bool(j, false);
    } else {
        json_skip(j);
    }
}

static inline void fuzz_json(const unsigned char *bytes, size_t len)
{
    struct buf out = BUF_INIT;
    struct json j, skipped;
    json_init(&j, (const char *)bytes, len);
    skipped = j;
    fuzz_value(&j, &out);
    json_end(&j);
    json_skip(&skipped); /* what is good is good to both */
    json_end(&skipped);
    if (json_offset(&j) > len || (j.error == NULL && skipped.error != NULL))
        abort();
    buf_release(&out);
}

/* X(name, what is done) beside one target for each of READERS. */
#define FUZZ_TARGETS(X)          \
    X("input", fuzz_input)       \
    X("json", fuzz_json)         \
    X("pickle", fuzz_pickle)     \
    X("card", fuzz_card)         \
    X("measured", fuzz_measured) \
    X("bench", fuzz_bench)       \
    X("closing", fuzz_closing)   \
    X("profile", fuzz_profile)

/* False when there is no target of that name. */
static inline bool fuzz_one(const char *target, const unsigned char *bytes, size_t len)
{
#define X(name)                                  \
    if (strcmp(target, #name) == 0) {            \
        fuzz_reader(&reader_##name, bytes, len); \
        return true;                             \
    }
    READERS(X)
#undef X
#define X(name, call)                \
    if (strcmp(target, name) == 0) { \
        call(bytes, len);            \
        return true;                 \
    }
    FUZZ_TARGETS(X)
#undef X
    return false;
}

#endif
