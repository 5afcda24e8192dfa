/* SPDX-License-Identifier: MIT
 *
 * Process groups of a Flight Recorder dump, and which communicators of the run they are.
 */
#include "base/buf.h"
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

/* Does the communicator have these members? One that was only named so far takes them. */
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
    *g = (struct frdump_group){plain, find_comm(f->run, plain, ranks, nranks), -1, UINT32_MAX};
    name_comm(f->run, g->comm, desc);
    return (uint32_t)f->ngroups - 1;
}

/* ---- pg_config ---- */

struct numbers {
    int32_t *list; /* owned */
    size_t count, cap;
};

static void read_numbers(struct numbers *n, struct json *j)
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
static void read_ranks(struct numbers *n, struct json *j)
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

static void read_group(struct frdump *f, struct json *j, struct json_text name, struct numbers *n)
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
    if (j->error == NULL)
        frdump_group(f, name, desc, n->list, n->count);
}

void frdump_config(struct frdump *f, struct json *j)
{
    struct numbers n = {NULL, 0, 0};
    struct json_text name;
    if (json_enter(j, '{')) {
        while (json_next_key(j, &name))
            read_group(f, j, name, &n);
    }
    free(n.list);
}
