/* SPDX-License-Identifier: MIT
 *
 * Reads PyTorch's Flight Recorder dumps. The form is that of dump_json() in pytorch/pytorch,
 * torch/csrc/distributed/c10d/FlightRecorder*; dump(), which the watchdog writes, pickles the same
 * keys.
 */
#include "trace/flight.h"

#include "base/buf.h"
#include "base/order.h"
#include "base/pickle.h"
#include "trace/reader.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- process groups, and which communicators of the run they are ---- */

#define SAME_NAME_MAX 64 /* groups of one name and first rank, with other members */

/* Returns whether the communicator has these members. One that was only named so far takes them. */
static bool takes(struct comm *comm, int size_before, const int32_t *ranks, size_t n)
{
    if (size_before == 0 && comm->size == (int)n) {
        for (size_t i = 0; i < n; i++)
            comm->ranks[i] = ranks[i];
        return true;
    }
    if ((size_t)comm->size != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (comm->ranks[i] != ranks[i])
            return false;
    }
    return true;
}

/* PyTorch can give groups with different members one name (each half of a split, on its own ranks):
 * the first has it alone, the others with their first rank. */
static int find_comm(struct run *run, const char *name, const int32_t *ranks, size_t n)
{
    for (int i = 0; i < SAME_NAME_MAX; i++) {
        const char *id = i == 0   ? name
                         : i == 1 ? arena_printf(&run->arena, "%s:%d", name, ranks[0])
                                  : arena_printf(&run->arena, "%s:%d:%d", name, ranks[0], i);
        size_t before = run->ncomms;
        int c = run_comm(run, id, strlen(id), 0), size;
        if (c < 0 || n == 0)
            return c;
        size = (size_t)c < before ? run->comms[c].size : 0;
        if (run_comm(run, id, strlen(id), (int64_t)n) < 0)
            return -1;
        if (takes(&run->comms[c], size, ranks, n))
            return c;
    }
    return -1;
}

/* A name of digits; -1. */
static int64_t number_in(struct json_text text)
{
    int64_t number = 0;
    for (uint32_t i = 0; i < text.len; i++) {
        if (text.p[i] < '0' || text.p[i] > '9' || number > INT32_MAX)
            return -1;
        number = number * 10 + (text.p[i] - '0');
    }
    return text.len > 0 ? number : -1;
}

/* Finds or adds a group; UINT32_MAX when they are too many. */
static uint32_t group_of(struct frdump *f, struct json_text name, struct json_text desc,
                         const int32_t *ranks, size_t nranks)
{
    const char *plain = run_intern(f->run, name);
    struct frdump_group *g;
    for (size_t i = 0; i < f->ngroups; i++) {
        if (f->groups[i].name == plain)
            return (uint32_t)i;
    }
    if (f->ngroups == FRDUMP_GROUPS_MAX)
        return UINT32_MAX;
    ARRAY_GROW(f->groups, f->cap_groups, f->ngroups + 1);
    g = &f->groups[f->ngroups++];
    *g = (struct frdump_group){.name = plain,
                               .comm = find_comm(f->run, plain, ranks, nranks),
                               .own = -1,
                               .last = UINT32_MAX,
                               .number = number_in(name),
                               .pg_id = -1,
                               .called = -1,
                               .timeout_ns = UNKNOWN_NS};
    if (g->comm >= 0 && desc.len > 0 && !json_text_is(desc, "undefined"))
        f->run->comms[g->comm].name = run_intern(f->run, desc);
    return (uint32_t)f->ngroups - 1;
}

/* ---- pg_config ---- */

struct number_list {
    int32_t *list; /* owned */
    size_t count, cap;
};

static void read_numbers(struct number_list *n, struct json *j)
{
    if (!json_enter(j, '['))
        return;
    while (json_next_item(j)) {
        int64_t number = json_i64(j, -1);
        if (number < 0 || number >= RUN_RANKS_MAX || n->count == RUN_RANKS_MAX) {
            n->count = 0; /* not believable: as good as not there */
            json_leave(j);
            return;
        }
        ARRAY_GROW(n->list, n->cap, n->count + 1);
        n->list[n->count++] = (int32_t)number;
    }
}

/* A list, or the text of one: "[0, 1, 2]". */
static void read_ranks(struct number_list *n, struct json *j)
{
    struct json inner;
    struct json_text text;
    n->count = 0;
    if (json_peek(j) == '[') {
        read_numbers(n, j);
        return;
    }
    text = json_string(j);
    json_init(&inner, text.p, text.len);
    if (json_peek(&inner) == '[')
        read_numbers(n, &inner);
    if (inner.error != NULL)
        n->count = 0;
}

static void read_group(struct frdump *f, struct json *j, struct json_text name,
                       struct number_list *n)
{
    struct json_text key, desc = {NULL, 0, false};
    n->count = 0;
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key)) {
        if (json_text_is(key, "desc"))
            desc = json_string(j);
        else if (json_text_is(key, "ranks"))
            read_ranks(n, j);
        else
            json_skip(j);
    }
    if (j->error == NULL) {
        uint32_t group = group_of(f, name, desc, n->list, n->count);
        if (group != UINT32_MAX)
            f->groups[group].listed = true;
    }
}

/* ---- pg_status ---- */

/* 7 or "7", as dump() and dump_json() write numbers; -1. */
static int64_t read_number(struct json *j)
{
    struct json inner;
    struct json_text text;
    if (json_peek(j) != '"')
        return json_i64(j, -1);
    text = json_string(j);
    json_init(&inner, text.p, text.len);
    return json_i64(&inner, -1);
}

static void read_status(struct frdump *f, struct json *j)
{
    struct json_text name, key;
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &name)) {
        struct frdump_status status = {number_in(name), -1};
        if (!json_enter(j, '{'))
            continue;
        while (json_next_key(j, &key)) {
            if (json_text_is(key, "last_enqueued_collective"))
                status.enqueued = read_number(j);
            else
                json_skip(j);
        }
        if (f->nstatus == FRDUMP_GROUPS_MAX)
            continue;
        ARRAY_GROW(f->status, f->cap_status, f->nstatus + 1);
        f->status[f->nstatus++] = status;
    }
}

static int by_pg_id(const void *pa, const void *pb)
{
    const struct frdump_status *a = pa, *b = pb;
    return ORDER(a->pg_id, b->pg_id);
}

static int by_name(const void *pa, const void *pb)
{
    const struct frdump_group *const *a = pa, *const *b = pb;
    return ORDER((*a)->number, (*b)->number);
}

/* Gives each group its part of pg_status, once the entries' groups are known. Only entries tell
 * which pg_id a group has, and a group that has finished all may have none. But names and pg_ids
 * both count up as groups are made: the n-th of one is the n-th of the other, where there are as
 * many of both and no entry contradicts. */
static void match_status(struct frdump *f)
{
    /* The groups of pg_config whose names are numbers, in order. */
    struct frdump_group **groups = array_new(f->ngroups, sizeof *groups);
    size_t n = 0;
    bool agree;
    for (size_t i = 0; i < f->ngroups; i++) {
        if (f->groups[i].listed && f->groups[i].number >= 0)
            groups[n++] = &f->groups[i];
    }
    qsort(groups, n, sizeof *groups, by_name);
    agree = n == f->nstatus;
    if (f->nstatus > 0)
        qsort(f->status, f->nstatus, sizeof *f->status, by_pg_id);
    for (size_t i = 0; i < n && agree; i++)
        agree = groups[i]->pg_id < 0 || groups[i]->pg_id == f->status[i].pg_id;
    for (size_t i = 0; i < n && agree; i++)
        groups[i]->called = f->status[i].enqueued;
    free(groups);
}

#define DUMP_MAX ((size_t)512 << 20) /* of a ring of 2000: 2 MB */
#define BLOCK_SIZE ((size_t)1 << 20)

/* ---- the whole text ---- */

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

/* The entries stand before the groups that they belong to, so they are passed over first. */
static void read_parts(struct frdump *f)
{
    struct json j, entries = {.p = NULL};
    struct json_text key;
    json_init(&j, f->text, f->len);
    json_enter(&j, '{');
    while (json_next_key(&j, &key)) {
        if (json_text_is(key, "pg_config")) {
            struct number_list n = {NULL, 0, 0};
            struct json_text name;
            if (json_enter(&j, '{')) {
                while (json_next_key(&j, &name))
                    read_group(f, &j, name, &n);
            }
            free(n.list);
            continue;
        }
        if (json_text_is(key, "pg_status")) {
            read_status(f, &j);
            continue;
        }
        if (json_text_is(key, "rank") || json_text_is(key, "global_rank")) {
            /* 3 or "3"; -1. */
            int64_t number = -1;
            if (json_peek(&j) == '"') {
                struct json_text text = json_string(&j);
                struct json inner;
                json_init(&inner, text.p, text.len);
                number = json_peek(&inner) == '0' ? json_i64(&inner, -1) : -1;
            } else if (json_peek(&j) == '0') {
                number = json_i64(&j, -1);
            } else {
                json_skip(&j);
            }
            f->number = number < RUN_RANKS_MAX ? number : -1;
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

/* Makes the rank a member of its groups, and the world as large as their members' numbers need. */
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

/* Sets fields of the groups that their entries tell. */
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

static bool has_message(const struct frdump *f)
{
    for (size_t i = 0; i < f->nentries; i++) {
        if (f->entries[i].p2p)
            return true;
    }
    return false;
}

/* The group of an entry; one that does not name it, as PyTorch's do, has the id of a listed one. */
static uint32_t group_of_entry(struct frdump *f, const struct frdump_entry *e)
{
    for (size_t i = 0; e->pg_name.len == 0 && e->pg_id >= 0 && i < f->ngroups; i++) {
        if (f->groups[i].listed && f->groups[i].number == e->pg_id)
            return (uint32_t)i;
    }
    return group_of(f, e->pg_name, e->pg_desc, NULL, 0);
}

static void finish_file(struct frdump *f)
{
    struct rank *rank = f->rank;
    if (f->number < 0)
        f->number = rank_in_name(f->label);
    if (f->number < 0)
        f->number = rank_at_end(f->label);
    f->rank->rank = (int)f->number;
    bool lost = false;
    for (size_t i = 0; i < f->nentries; i++) {
        struct frdump_entry *e = &f->entries[i];
        e->group = group_of_entry(f, e);
        lost = lost || e->group == UINT32_MAX;
    }
    if (lost)
        run_note(f->run, true, "%s: more than %d process groups: calls of the others are left out",
                 f->label, FRDUMP_GROUPS_MAX);
    ask_entries(f);
    match_status(f);
    join_groups(f);
    frdump_ops(f);
    rank->coverage = COVER_NCCL;
    rank->complete = true; /* the format has no closing record */
    rank->quiet = rank->nops == 0;
    if (f->error != NULL)
        run_note(f->run, true, "%s: byte %zu: %s; what stands before it is used", f->label,
                 f->offset, f->error);
    if (f->number < 0)
        run_note(f->run, false, "%s: neither its name nor the dump says which rank it is of",
                 f->label);
    if (!f->none_lost && has_message(f))
        run_note(f->run, false,
                 "the first messages are not in the dumps any more (TORCH_NCCL_TRACE_BUFFER_SIZE "
                 "keeps more): which receive belongs to which send is not known but of what "
                 "has not finished");
}

/* ---- pickles ---- */

/* Reads the pickle that PyTorch writes itself: its keys and values are those of the JSON form,
 * which it is made into. */
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
    /* -1 with e filled when nothing could be read, or too much is there. What could not be read
     * after the beginning is a damage of its own: the text is cut there. */
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
        return head_has(head, len, "pg_config") || head_has(head, len, "collective_seq_id");
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
