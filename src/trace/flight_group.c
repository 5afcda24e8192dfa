/* SPDX-License-Identifier: MIT
 *
 * Process groups of a Flight Recorder dump, and which communicators of the run they are.
 */
#include "base/buf.h"
#include "base/order.h"
#include "trace/flight.h"

#include <stdlib.h>
#include <string.h>

#define SAME_NAME_MAX 64 /* groups of one name and first rank, with other members */

static const char *intern_text(struct run *run, struct json_text text)
{
    struct buf b = BUF_INIT;
    const char *name;
    json_decode(text, &b);
    name = intern_add(&run->names, b.data, b.len);
    buf_release(&b);
    return name;
}

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

static int size_of_comm(const struct run *run, size_t comm, size_t before)
{
    return comm < before ? run->comms[comm].size : 0;
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
        size = size_of_comm(run, (size_t)c, before);
        if (run_comm(run, id, strlen(id), (int64_t)n) < 0)
            return -1;
        if (takes(&run->comms[c], size, ranks, n))
            return c;
    }
    return -1;
}

static void name_comm(struct run *run, int c, struct json_text desc)
{
    if (c >= 0 && desc.len > 0 && !json_text_is(desc, "undefined"))
        run->comms[c].name = intern_text(run, desc);
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

uint32_t frdump_group(struct frdump *f, struct json_text name, struct json_text desc,
                      const int32_t *ranks, size_t nranks)
{
    const char *plain = intern_text(f->run, name);
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
    name_comm(f->run, g->comm, desc);
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
        uint32_t group = frdump_group(f, name, desc, n->list, n->count);
        if (group != UINT32_MAX)
            f->groups[group].listed = true;
    }
}

void frdump_config(struct frdump *f, struct json *j)
{
    struct number_list n = {NULL, 0, 0};
    struct json_text name;
    if (json_enter(j, '{')) {
        while (json_next_key(j, &name))
            read_group(f, j, name, &n);
    }
    free(n.list);
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

void frdump_status(struct frdump *f, struct json *j)
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

/* The groups of pg_config whose names are numbers, in order. The caller frees the list. */
static struct frdump_group **numbered_groups(struct frdump *f, size_t *n)
{
    struct frdump_group **list = array_new(f->ngroups, sizeof *list);
    *n = 0;
    for (size_t i = 0; i < f->ngroups; i++) {
        if (f->groups[i].listed && f->groups[i].number >= 0)
            list[(*n)++] = &f->groups[i];
    }
    qsort(list, *n, sizeof *list, by_name);
    return list;
}

/* Only entries tell which pg_id a group has, and a group that has finished all may have none. But
 * names and pg_ids both count up as groups are made: the n-th of one is the n-th of the other,
 * where there are as many of both and what entries tell agrees. */
void frdump_match_status(struct frdump *f)
{
    size_t n;
    struct frdump_group **groups = numbered_groups(f, &n);
    bool agree = n == f->nstatus;
    if (f->nstatus > 0)
        qsort(f->status, f->nstatus, sizeof *f->status, by_pg_id);
    for (size_t i = 0; i < n && agree; i++)
        agree = groups[i]->pg_id < 0 || groups[i]->pg_id == f->status[i].pg_id;
    for (size_t i = 0; i < n && agree; i++)
        groups[i]->called = f->status[i].enqueued;
    free(groups);
}
