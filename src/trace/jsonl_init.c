/* SPDX-License-Identifier: MIT
 *
 * The first record of a file: what it says of the process, and of how it was recorded.
 */
#include "trace/jsonl.h"

#include <stdio.h>
#include <string.h>

static struct memo_slot *word(struct jsonl *r, struct json_text text)
{
    return memo_find(&r->words[WORD_OTHER], r->run, text);
}

static void take_coverage(struct jsonl *r, struct json_text raw)
{
    static const struct {
        const char *name;
        unsigned bit;
    } known[] = {
        {"nccl", COVER_NCCL},     {"cublas", COVER_GEMM},    {"cublaslt", COVER_GEMM},
        {"rocblas", COVER_GEMM},  {"hipblaslt", COVER_GEMM}, {"deps", COVER_DEPS},
        {"memory", COVER_MEMORY}, {"copies", COVER_MEMORY},  {"launches", COVER_LAUNCHES},
        {"graphs", COVER_GRAPHS}, {"marks", COVER_MARKS},    {"plugin", COVER_PLUGIN},
    };
    struct json j;
    json_init(&j, raw.p, raw.len);
    if (json_peek(&j) != '[' || !json_enter(&j, '['))
        return;
    while (json_next_item(&j)) {
        struct json_text name = json_string(&j);
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            if (json_text_is(name, known[i].name))
                r->rank->coverage |= known[i].bit;
        }
    }
}

static void take_gpus(struct jsonl *r, struct json_text raw)
{
    struct json j;
    json_init(&j, raw.p, raw.len);
    if (json_peek(&j) != '[' || !json_enter(&j, '['))
        return;
    while (json_next_item(&j)) {
        struct json_text key;
        struct jsonl_gpu gpu = {-1, ""};
        if (!json_enter(&j, '{'))
            continue;
        while (json_next_key(&j, &key)) {
            if (json_text_is(key, "device"))
                gpu.device = json_i64(&j, -1);
            else if (json_text_is(key, "name"))
                gpu.name = word(r, json_string(&j))->text;
            else
                json_skip(&j);
        }
        if (r->ngpus < sizeof r->gpus / sizeof *r->gpus)
            r->gpus[r->ngpus++] = gpu;
    }
}

static void take_environment(struct jsonl *r, struct json_text raw)
{
    struct json j;
    struct json_text name;
    json_init(&j, raw.p, raw.len);
    if (json_peek(&j) != '{' || !json_enter(&j, '{'))
        return;
    while (json_next_key(&j, &name)) {
        if (json_peek(&j) == '"')
            rank_add_setting(r->rank, run_intern(r->run, name),
                             run_intern(r->run, json_string(&j)));
        else
            json_skip(&j);
    }
}

static void add_version(struct jsonl *r, const char *of, const char *text)
{
    struct intern *names = &r->run->names;
    rank_add_setting(r->rank, intern_add(names, of, strlen(of)),
                     intern_add(names, text, strlen(text)));
}

/* NCCL's number of a version: 22809 is 2.28.9; before 2.9 2708 was 2.7.8. The driver's: 12040 is
 * 12.4. */
static void take_versions(struct jsonl *r, const struct line *l)
{
    const uint64_t nccl = line_u64(l, INIT_nccl, 0), cuda = line_u64(l, INIT_cuda, 0);
    const uint64_t unit = nccl >= 10000 ? 10000 : 1000;
    char text[80];
    snprintf(text, sizeof text, "%llu.%llu.%llu", (unsigned long long)(nccl / unit),
             (unsigned long long)(nccl % unit / 100), (unsigned long long)(nccl % 100));
    if (nccl > 0)
        add_version(r, "NCCL", text);
    snprintf(text, sizeof text, "%llu.%llu", (unsigned long long)(cuda / 1000),
             (unsigned long long)(cuda % 1000 / 10));
    if (cuda > 0)
        add_version(r, "CUDA driver", text);
    if (line_has(l, INIT_nccl_file))
        rank_add_setting(r->rank,
                         intern_add(&r->run->names, SETTING_NCCL_FILE, strlen(SETTING_NCCL_FILE)),
                         run_intern(r->run, line_text(l, INIT_nccl_file)));
    if (line_has(l, INIT_nccl_build))
        rank_add_setting(r->rank, intern_add(&r->run->names, "NCCL build", strlen("NCCL build")),
                         run_intern(r->run, line_text(l, INIT_nccl_build)));
}

bool jsonl_init_believable(const struct line *l)
{
    int64_t rank = line_i64(l, INIT_rank, -1), world = line_i64(l, INIT_world_size, 0);
    return rank >= -1 && rank < RUN_RANKS_MAX && world >= 0 && world <= RUN_RANKS_MAX;
}

const char *jsonl_init(struct jsonl *r, const struct line *l)
{
    int64_t rank = line_i64(l, INIT_rank, -1), world = line_i64(l, INIT_world_size, 0);
    uint64_t version = line_u64(l, INIT_version, 0);
    if (!jsonl_init_believable(l))
        return "impossible rank or world size";
    if (r->has_init)
        return NULL; /* a second one says nothing new */
    if (version > SPECTER_TRACE_VERSION)
        run_note(r->run, false, "written by a newer specter (format %llu): what is new is not read",
                 (unsigned long long)version);
    r->sample = line_u64(l, INIT_sample, 1);
    if (r->sample > 1)
        run_note(r->run, false, "sampled: one cublas operation in %llu is recorded",
                 (unsigned long long)r->sample);
    if (line_has(l, INIT_window))
        run_note(r->run, false, "only a part of the run was recorded: %.*s",
                 (int)line_text(l, INIT_window).len, line_text(l, INIT_window).p);
    if (line_u64(l, INIT_ring, 0) > 0)
        run_note(r->run, false,
                 "a flight recording: only the last %llu operations of each rank are there",
                 (unsigned long long)line_u64(l, INIT_ring, 0));
    r->has_init = true;
    r->legacy = version == 0;
    r->synchronised = line_u64(l, INIT_sync_mode, 0) != 0;
    r->rank->rank = (int)rank;
    if (world > r->run->world_size)
        r->run->world_size = (int)world;
    r->rank->pid = (int64_t)line_u64(l, INIT_pid, UINT64_MAX);
    r->rank->host = word(r, line_text(l, INIT_host))->text;
    r->rank->mono_ns = line_clock(l, INIT_mono_ns);
    r->rank->real_ns = line_clock(l, INIT_real_ns);
    if (r->run->id[0] == '\0')
        r->run->id = word(r, line_text(l, INIT_run))->text;
    if (line_has(l, INIT_coverage))
        take_coverage(r, line_text(l, INIT_coverage));
    if (line_has(l, INIT_gpus))
        take_gpus(r, line_text(l, INIT_gpus));
    take_versions(r, l);
    if (line_has(l, INIT_env))
        take_environment(r, line_text(l, INIT_env));
    return NULL;
}
