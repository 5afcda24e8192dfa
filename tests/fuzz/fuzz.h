/* SPDX-License-Identifier: MIT
 *
 * What is done with bytes that nobody vouches for: they are read by one reader, or as whatever they
 * are, and what comes out is analysed and printed. Nothing is checked but that all of it ends; a
 * sanitizer sees to the rest. tests/fuzz/fuzz.c feeds it to libFuzzer, tests/unit/test_fuzz.c with
 * what was found before (tests/fuzz/corpus/<target>/).
 */
#ifndef SPECTER_FUZZ_H
#define SPECTER_FUZZ_H

#include "analysis/analysis.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/stream.h"
#include "report/analyze_report.h"
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

/* Everything that is said of a run. */
static inline void fuzz_report(const struct run *run)
{
    struct analysis a;
    struct findings findings;
    struct err e;
    FILE *out;
    cJSON *json;
    if (analysis_make(&a, run, ANALYSIS_ALL_RANKS, &e) < 0)
        return;
    findings_make(&findings, &a);
    json = analyze_json(&a, &findings);
    out = fopen("/dev/null", "w");
    if (out == NULL || json == NULL)
        abort();
    analyze_text(&a, &findings, out);
    analyze_tables(&a, "", ANALYZE_CSV, out);
    fclose(out);
    cJSON_Delete(json);
    findings_release(&findings);
    analysis_release(&a);
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

/* By this reader, whether they look like its format or not. */
static inline void fuzz_reader(const struct reader *reader, const unsigned char *bytes, size_t len)
{
    struct identity id = {.rank = -1};
    struct stream *s;
    struct run run;
    struct err e;
    size_t head = len < STREAM_PEEK ? len : STREAM_PEEK;
    fuzz_put(bytes, len);
    run_init(&run);
    reader->sniff((const char *)bytes, head);
    if (reader->identify != NULL)
        reader->identify((const char *)bytes, head, &id);
    if (stream_open(&s, fuzz_path(), &e) == 0) {
        if (reader->read(&run, s, fuzz_path(), &e) == 0) {
            if (reader->finish != NULL)
                reader->finish(&run);
            run_finish(&run);
            fuzz_report(&run);
        }
        stream_close(s);
    }
    run_release(&run);
    unlink(fuzz_path());
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
#define FUZZ_TARGETS(X)    \
    X("input", fuzz_input) \
    X("json", fuzz_json)

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
