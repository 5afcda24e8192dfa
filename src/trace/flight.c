/* SPDX-License-Identifier: MIT
 *
 * Reads PyTorch's Flight Recorder dumps. The form is that of dump_json() in pytorch/pytorch,
 * torch/csrc/distributed/c10d/FlightRecorder*; dump(), which the watchdog writes, pickles the same
 * keys.
 */
#include "trace/flight.h"

#include "base/buf.h"
#include "base/pickle.h"
#include "trace/reader.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define DUMP_MAX ((size_t)512 << 20) /* of a ring of 2000: 2 MB */
#define BLOCK_SIZE ((size_t)1 << 20)

/* ---- the whole text ---- */

/* -1 with e filled when nothing could be read, or too much is there. What could not be read behind
 * the beginning is a damage of its own: the text is cut there. */
static int read_text(struct frdump *f, struct stream *s, struct err *e)
{
    size_t cap = 0;
    ssize_t n;
    do {
        ARRAY_ROOM(f->text, cap, f->len + BLOCK_SIZE);
        n = stream_read(s, f->text + f->len, cap - f->len, e);
        if (n > 0)
            f->len += (size_t)n;
        if (f->len > DUMP_MAX)
            return err_set(e, ERR_INPUT, "%s: more than %zu MiB: no dump is as large", f->label,
                           DUMP_MAX >> 20);
    } while (n > 0);
    if (n < 0 && f->len == 0)
        return -1;
    if (n < 0)
        run_note(f->run, true, "%s; what stands before it is used", e->msg);
    return 0;
}

static void keep_error(struct frdump *f, const struct json *j)
{
    if (j->error == NULL || f->error != NULL)
        return;
    f->error = j->error;
    f->offset = (size_t)(j->p - f->text);
}

/* ---- its parts ---- */

static void read_entries(struct frdump *f, struct json *j)
{
    struct frdump_entry entry;
    if (!json_enter(j, '['))
        return;
    while (json_next_item(j)) {
        frdump_entry_read(&entry, j);
        if (j->error != NULL)
            return;
        ARRAY_GROW(f->entries, f->cap_entries, f->nentries + 1);
        f->entries[f->nentries++] = entry;
    }
}

/* 3 or "3"; -1. */
static int64_t read_rank(struct json *j)
{
    int64_t number = -1;
    if (json_peek(j) == '"') {
        struct json_text text = json_string(j);
        struct json inner;
        json_init(&inner, text.p, text.len);
        number = json_peek(&inner) == '0' ? json_i64(&inner, -1) : -1;
    } else if (json_peek(j) == '0') {
        number = json_i64(j, -1);
    } else {
        json_skip(j);
    }
    return number < RUN_RANKS_MAX ? number : -1;
}

/* The entries stand before the groups that they belong to, so they are passed over first. */
static void read_parts(struct frdump *f)
{
    struct json j, entries = {.p = NULL};
    struct json_text key;
    json_init(&j, f->text, f->len);
    json_enter(&j, '{');
    while (json_next_key(&j, &key)) {
        if (json_text_is(key, "pg_config")) {
            frdump_config(f, &j);
            continue;
        }
        if (json_text_is(key, "pg_status")) {
            frdump_status(f, &j);
            continue;
        }
        if (json_text_is(key, "rank") || json_text_is(key, "global_rank")) {
            f->number = read_rank(&j);
            continue;
        }
        if (json_text_is(key, "entries"))
            entries = j;
        json_skip(&j);
    }
    json_end(&j);
    if (entries.p != NULL) {
        read_entries(f, &entries);
        keep_error(f, &entries);
    }
    keep_error(f, &j);
}

/* ---- the rank ---- */

/* "nccl_trace_rank_3", and any prefix of TORCH_NCCL_DEBUG_INFO_TEMP_FILE before the number. */
static int64_t rank_at_end(const char *label)
{
    const char *slash = strrchr(label, '/'), *base = slash != NULL ? slash + 1 : label;
    const char *end = strstr(base, ".json"), *p;
    int64_t number = 0;
    if (end == NULL)
        end = base + strlen(base);
    for (p = end; p > base && isdigit((unsigned char)p[-1]);)
        p--;
    if (p == end || end - p > 7)
        return -1;
    for (; p < end; p++)
        number = number * 10 + (*p - '0');
    return number < RUN_RANKS_MAX ? number : -1;
}

static void set_rank(struct frdump *f)
{
    if (f->number < 0)
        f->number = rank_in_name(f->label);
    if (f->number < 0)
        f->number = rank_at_end(f->label);
    f->rank->rank = (int)f->number;
}

/* Where the rank is a member, and how many ranks there must be. */
static void join_groups(struct frdump *f)
{
    for (size_t i = 0; i < f->ngroups; i++) {
        struct frdump_group *g = &f->groups[i];
        const struct comm *comm = g->comm >= 0 ? &f->run->comms[g->comm] : NULL;
        for (int m = 0; comm != NULL && m < comm->size; m++) {
            if (comm->ranks[m] >= f->run->world_size)
                f->run->world_size = comm->ranks[m] + 1;
            if (f->number >= 0 && comm->ranks[m] == f->number && g->own < 0)
                g->own = m;
        }
        if (g->own < 0)
            continue;
        rank_add_member(f->rank, g->comm, g->own, -1);
        f->rank->in[f->rank->nin - 1].timeout_ns = g->timeout_ns;
        if (!g->entries) /* else they tell, and what is not among them was not called */
            f->rank->in[f->rank->nin - 1].called = g->called;
    }
}

/* What the entries tell of their groups. */
static void ask_entries(struct frdump *f)
{
    for (size_t i = 0; i < f->nentries; i++) {
        const struct frdump_entry *e = &f->entries[i];
        struct frdump_group *g;
        if (e->group == UINT32_MAX)
            continue;
        g = &f->groups[e->group];
        g->entries = true;
        g->pg_id = e->pg_id;
        if (e->state != FRDUMP_COMPLETED && e->timeout_ns > 0 &&
            (g->timeout_ns == UNKNOWN_NS || e->timeout_ns < g->timeout_ns))
            g->timeout_ns = e->timeout_ns;
    }
}

static void find_groups(struct frdump *f)
{
    bool lost = false;
    for (size_t i = 0; i < f->nentries; i++) {
        struct frdump_entry *e = &f->entries[i];
        e->group = frdump_group(f, e->pg_name, e->pg_desc, NULL, 0);
        lost = lost || e->group == UINT32_MAX;
    }
    if (lost)
        run_note(f->run, true, "%s: more than %d process groups: calls of the others are left out",
                 f->label, FRDUMP_GROUPS_MAX);
}

static bool has_message(const struct frdump *f)
{
    for (size_t i = 0; i < f->nentries; i++) {
        if (f->entries[i].p2p)
            return true;
    }
    return false;
}

static void note_file(struct frdump *f)
{
    if (f->error != NULL)
        run_note(f->run, true, "%s: byte %zu: %s; what stands before it is used", f->label,
                 f->offset, f->error);
    if (f->number < 0)
        run_note(f->run, false, "%s: neither its name nor the dump says which rank it is of",
                 f->label);
    if (!f->whole && has_message(f))
        run_note(f->run, false,
                 "the first messages are not in the dumps any more (TORCH_NCCL_TRACE_BUFFER_SIZE "
                 "keeps more): which receive belongs to which send is not known but of what "
                 "has not finished");
}

static void finish_file(struct frdump *f)
{
    struct rank *rank = f->rank;
    set_rank(f);
    find_groups(f);
    ask_entries(f);
    frdump_match_status(f);
    join_groups(f);
    frdump_ops(f);
    rank->coverage = COVER_NCCL;
    rank->complete = true; /* the format has no closing record */
    rank->quiet = rank->nops == 0;
    note_file(f);
}

/* ---- pickles ---- */

/* What PyTorch writes itself: the same keys and values, so it becomes the JSON form. */
static int read_pickle(struct frdump *f, struct err *e)
{
    struct buf json = BUF_INIT;
    enum pickle_result result = pickle_to_json(f->text, f->len, &json, e);
    if (result == PICKLE_REFUSED) {
        buf_release(&json);
        return err_prefix(e, "%s", f->label);
    }
    if (result == PICKLE_CUT)
        run_note(f->run, true, "%s: %s; what stands before it is used", f->label, e->msg);
    free(f->text);
    f->text = json.data;
    f->len = json.len;
    return 0;
}

static int read_dump(struct frdump *f, struct stream *s, struct err *e)
{
    if (read_text(f, s, e) < 0)
        return -1;
    if (pickle_begins(f->text, f->len) && read_pickle(f, e) < 0)
        return -1;
    read_parts(f);
    if (f->error != NULL && f->nentries == 0)
        return err_set(e, ERR_INPUT, "%s: byte %zu: %s", f->label, f->offset, f->error);
    finish_file(f);
    return 0;
}

static int flight_read(struct run *run, struct stream *s, const char *label, struct err *e)
{
    struct frdump f = {.run = run, .label = label, .number = -1};
    int rc;
    f.rank = run_add_rank(run);
    f.rank->file = arena_strdup(&run->arena, label);
    run->format = "flight";
    rc = read_dump(&f, s, e);
    if (rc < 0) {
        rank_clear(f.rank);
        run->nranks--;
    }
    free(f.text);
    free(f.groups);
    free(f.entries);
    free(f.status);
    return rc;
}

/* Nothing in a dump says when it was written. */
static void flight_finish(struct run *run)
{
    bool pending = false;
    for (size_t r = 0; r < run->nranks; r++) {
        for (size_t i = 0; i < run->ranks[r].nops; i++)
            pending = pending || run->ranks[r].ops[i].timing == SPECTER_TIMING_NONE;
    }
    if (pending)
        run_note(run, false,
                 "Flight Recorder dumps do not say when they were written: how long what had not "
                 "finished has waited is only known up to the newest time in any of them");
}

/* ---- recognising ---- */

static bool has(const char *head, size_t len, const char *word)
{
    return memmem(head, len, word, strlen(word)) != NULL;
}

/* An entry, or as much of it as there is. */
static bool is_entry(struct json *j)
{
    struct json_text key;
    if (json_peek(j) != '[' || !json_enter(j, '[') || !json_next_item(j) || json_peek(j) != '{' ||
        !json_enter(j, '{'))
        return false;
    while (json_next_key(j, &key)) {
        if (json_text_is(key, "collective_seq_id") || json_text_is(key, "pg_id") ||
            json_text_is(key, "profiling_name"))
            return true;
        json_skip(j);
    }
    return false;
}

static bool flight_sniff(const char *head, size_t len)
{
    struct json j;
    struct json_text key;
    if (pickle_begins(head, len))
        return has(head, len, "pg_config") || has(head, len, "collective_seq_id");
    json_init(&j, head, len);
    if (json_peek(&j) != '{' || !json_enter(&j, '{'))
        return false;
    while (json_next_key(&j, &key)) {
        if (json_text_is(key, "pg_config") || json_text_is(key, "pg_status"))
            return true;
        if (json_text_is(key, "entries")) {
            struct json entries = j;
            if (is_entry(&entries))
                return true;
        }
        json_skip(&j);
    }
    return false;
}

const struct reader reader_flight = {.name = "flight",
                                     .sniff = flight_sniff,
                                     .read = flight_read,
                                     .apart = true,
                                     .grouped = true,
                                     .finish = flight_finish};
