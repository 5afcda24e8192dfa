/* SPDX-License-Identifier: MIT */
#include "trace/share.h"

#include "base/hash.h"
#include "base/idmap.h"
#include "trace/et.h"

#include <stdlib.h>
#include <string.h>

#define TEXTS_MAX 2

/* A list of a rank. Its texts are packed as their numbers, in the place of the pointers. */
static const struct list_form {
    size_t list, count, cap, size, texts[TEXTS_MAX], ntexts;
} lists[] = {
#define LIST(name, n, room, type, ...)                                                      \
    {                                                                                       \
        offsetof(struct rank, name), offsetof(struct rank, n), offsetof(struct rank, room), \
            sizeof(type), __VA_ARGS__                                                       \
    }
    LIST(ops, nops, cap_ops, struct op, {offsetof(struct op, name), offsetof(struct op, caller)},
         2),
    LIST(sync_calls, nsync_calls, cap_sync_calls, struct sync_call, {0}, 0),
    LIST(steps, nsteps, cap_steps, struct step, {offsetof(struct step, name)}, 1),
    LIST(launches, nlaunches, cap_launches, struct launches, {0}, 0),
    LIST(marks, nmarks, cap_marks, struct mark, {offsetof(struct mark, name)}, 1),
    LIST(details, ndetails, cap_details, struct comm_detail,
         {offsetof(struct comm_detail, algo), offsetof(struct comm_detail, proto)}, 2),
    LIST(in, nin, cap_in, struct membership, {0}, 0),
    LIST(settings, nsettings, cap_settings, struct setting,
         {offsetof(struct setting, name), offsetof(struct setting, value)}, 2),
    LIST(anchors, nanchors, cap_anchors, struct anchor, {offsetof(struct anchor, name)}, 1),
#undef LIST
};

#define NLISTS (sizeof lists / sizeof *lists)

/* The texts of the rank itself. */
static const size_t rank_texts[] = {offsetof(struct rank, host), offsetof(struct rank, gpu),
                                    offsetof(struct rank, file)};

#define NRANK_TEXTS (sizeof rank_texts / sizeof *rank_texts)

/* A communicator without its table, a note. */
struct packed_comm {
    uint64_t id, name;
    int32_t size, parent, nodes;
};

struct packed_note {
    uint64_t text;
    uint8_t loss, kind;
};

struct packed_head {
    uint64_t id, format, summary;
    uint64_t ntexts, ncomms, nranks, nnotes;
    int64_t world_size;
    uint32_t unnamed_hangs, name_nodes;
};

/* A rank's own record: its lists follow it. */
struct packed_rank {
    struct rank rank; /* texts as numbers; lists NULL */
    uint8_t has_threads;
};

uint64_t pack_form(void)
{
    const size_t sizes[] = {sizeof(struct rank), sizeof(struct packed_head),
                            sizeof(struct packed_rank), sizeof(struct packed_comm),
                            sizeof(struct packed_note)};
    uint64_t form = HASH_BYTES;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        form = hash_mix(form, sizes[i]);
    for (size_t i = 0; i < NLISTS; i++)
        form = hash_mix(hash_mix(form, lists[i].size), lists[i].list);
    return hash_bytes(form, SPECTER_VERSION, strlen(SPECTER_VERSION));
}

/* ---- to bytes ---- */

struct packer {
    struct idmap texts; /* by address: texts are interned, so that equal ones have one */
    struct buf bytes;   /* of the texts, each with its NUL */
    const char *last;   /* the text before, which most often comes again */
    uint64_t last_number;
};

static uint64_t number_of(struct packer *p, const char *text)
{
    const uint32_t before = p->texts.count;
    if (text == p->last && text != NULL)
        return p->last_number;
    p->last = text;
    p->last_number = idmap_add(&p->texts, (int64_t)(uintptr_t)text);
    if (p->texts.count > before)
        buf_put(&p->bytes, text != NULL ? text : "", (text != NULL ? strlen(text) : 0) + 1);
    return p->last_number;
}

/* Puts the number of a text where the copy of its struct has the pointer. */
static void number_text(struct packer *p, char *copy, size_t at)
{
    const char *text;
    uintptr_t number;
    memcpy(&text, copy + at, sizeof text);
    number = (uintptr_t)number_of(p, text);
    memcpy(copy + at, &number, sizeof number);
}

static void pack_list(struct packer *p, struct buf *out, const struct rank *rank,
                      const struct list_form *form)
{
    const char *list;
    size_t count, begin = out->len + sizeof count;
    memcpy(&list, (const char *)rank + form->list, sizeof list);
    memcpy(&count, (const char *)rank + form->count, sizeof count);
    buf_put(out, &count, sizeof count);
    if (count == 0)
        return;
    buf_put(out, list, count * form->size);
    for (size_t i = 0; i < count; i++) {
        for (size_t t = 0; t < form->ntexts; t++)
            number_text(p, out->data + begin + i * form->size, form->texts[t]);
    }
}

/* Drops the addresses of lists, which are of no use to another process. */
static void forget_lists(struct rank *copy)
{
    copy->thread_ids = NULL;
    for (size_t i = 0; i < NLISTS; i++) {
        memset((char *)copy + lists[i].list, 0, sizeof(void *));
        memset((char *)copy + lists[i].count, 0, sizeof(size_t));
        memset((char *)copy + lists[i].cap, 0, sizeof(size_t));
    }
}

static void pack_rank(struct packer *p, struct buf *out, const struct rank *rank)
{
    struct packed_rank copy;
    memset(&copy, 0, sizeof copy);
    copy.rank = *rank;
    copy.has_threads = rank->thread_ids != NULL;
    forget_lists(&copy.rank);
    for (size_t t = 0; t < NRANK_TEXTS; t++)
        number_text(p, (char *)&copy.rank, rank_texts[t]);
    buf_put(out, &copy, sizeof copy);
    if (rank->thread_ids != NULL)
        buf_put(out, rank->thread_ids, rank->nthreads * sizeof *rank->thread_ids);
    for (size_t i = 0; i < NLISTS; i++)
        pack_list(p, out, rank, &lists[i]);
}

static void pack_comm(struct packer *p, struct buf *out, const struct comm *comm)
{
    struct packed_comm c = {number_of(p, comm->id), number_of(p, comm->name), comm->size,
                            comm->parent, comm->nodes};
    buf_put(out, &c, sizeof c);
    if (comm->size > 0)
        buf_put(out, comm->ranks, (size_t)comm->size * sizeof *comm->ranks);
}

void run_pack(struct buf *out, const struct run *part)
{
    struct packer p = {.bytes = BUF_INIT};
    struct buf body = BUF_INIT;
    struct packed_head head = {.ncomms = part->ncomms,
                               .nranks = part->nranks,
                               .nnotes = part->nnotes,
                               .world_size = part->world_size,
                               .unnamed_hangs = part->unnamed_hangs,
                               .name_nodes = part->name_nodes};
    head.id = number_of(&p, part->id);
    head.format = number_of(&p, part->format);
    head.summary = number_of(&p, part->summary);
    for (size_t i = 0; i < part->ncomms; i++)
        pack_comm(&p, &body, &part->comms[i]);
    for (size_t i = 0; i < part->nranks; i++)
        pack_rank(&p, &body, &part->ranks[i]);
    for (size_t i = 0; i < part->nnotes; i++) {
        struct packed_note n = {number_of(&p, part->notes[i].text), part->notes[i].loss,
                                part->notes[i].kind};
        buf_put(&body, &n, sizeof n);
    }
    head.ntexts = p.texts.count;
    buf_put(out, &head, sizeof head);
    buf_put(out, p.bytes.data, p.bytes.len);
    buf_put(out, body.data, body.len);
    idmap_release(&p.texts);
    buf_release(&p.bytes);
    buf_release(&body);
}

/* ---- from bytes ---- */

struct unpacker {
    const char *at, *end;
    const char **texts; /* [ntexts] owned */
    uint64_t ntexts;
};

/* The next so many bytes; false: there are not so many. */
static bool take(struct unpacker *u, void *out, size_t len)
{
    if ((size_t)(u->end - u->at) < len)
        return false;
    memcpy(out, u->at, len);
    u->at += len;
    return true;
}

static bool take_texts(struct unpacker *u, struct run *part, uint64_t count)
{
    if (count > (size_t)(u->end - u->at)) /* each has its NUL */
        return false;
    u->texts = array_new(count, sizeof *u->texts);
    for (; u->ntexts < count; u->ntexts++) {
        const char *nul = memchr(u->at, '\0', (size_t)(u->end - u->at));
        if (nul == NULL)
            return false;
        u->texts[u->ntexts] =
            nul == u->at ? "" : intern_add(&part->names, u->at, (size_t)(nul - u->at));
        u->at = nul + 1;
    }
    return true;
}

/* The opposite of number_text(). */
static bool name_text(const struct unpacker *u, char *copy, size_t at)
{
    uintptr_t number;
    memcpy(&number, copy + at, sizeof number);
    if (number >= u->ntexts)
        return false;
    memcpy(copy + at, &u->texts[number], sizeof u->texts[number]);
    return true;
}

static bool take_list(struct unpacker *u, struct rank *rank, const struct list_form *form)
{
    size_t count;
    char *list;
    if (!take(u, &count, sizeof count) || count > (size_t)(u->end - u->at) / form->size)
        return false;
    if (count == 0)
        return true;
    list = array_new(count, form->size);
    memcpy((char *)rank + form->list, &list, sizeof list);
    memcpy((char *)rank + form->count, &count, sizeof count);
    memcpy((char *)rank + form->cap, &count, sizeof count);
    take(u, list, count * form->size);
    for (size_t i = 0; i < count; i++) {
        for (size_t t = 0; t < form->ntexts; t++) {
            if (!name_text(u, list + i * form->size, form->texts[t]))
                return false;
        }
    }
    return true;
}

static bool is_comm(const struct run *part, int32_t comm, int32_t least)
{
    return comm >= least && comm < (int32_t)part->ncomms;
}

/* Numbers that others use as an index. */
static bool are_believable(const struct run *part, const struct rank *rank)
{
    if (rank->rank < -1 || rank->rank >= RUN_RANKS_MAX || rank->process < -1 ||
        rank->process > RUN_RANKS_MAX)
        return false;
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        if (op->class > OP_GRAPH || op->dtype > SPECTER_DTYPE_UNKNOWN ||
            op->timing >= SPECTER_TIMING_COUNT)
            return false;
        if (op_is_comm(op) &&
            (!is_comm(part, op->coll.comm, -1) || op->coll.op > SPECTER_COMM_OP_COUNT))
            return false;
    }
    for (size_t i = 0; i < rank->ndetails; i++) {
        if (!is_comm(part, rank->details[i].comm, -1) ||
            rank->details[i].comm_op > SPECTER_COMM_OP_COUNT)
            return false;
    }
    for (size_t i = 0; i < rank->nin; i++) {
        if (!is_comm(part, rank->in[i].comm, 0))
            return false;
    }
    return true;
}

static bool take_rank(struct unpacker *u, struct run *part)
{
    struct packed_rank copy;
    struct rank *rank;
    if (!take(u, &copy, sizeof copy))
        return false;
    forget_lists(&copy.rank);
    for (size_t t = 0; t < NRANK_TEXTS; t++) {
        if (!name_text(u, (char *)&copy.rank, rank_texts[t]))
            return false;
    }
    rank = run_add_rank(part);
    *rank = copy.rank;
    if (copy.has_threads) {
        const size_t len = rank->nthreads * sizeof *rank->thread_ids;
        if ((size_t)(u->end - u->at) < len)
            return false;
        rank->thread_ids = array_new(rank->nthreads, sizeof *rank->thread_ids);
        take(u, rank->thread_ids, len);
    }
    for (size_t i = 0; i < NLISTS; i++) {
        if (!take_list(u, rank, &lists[i]))
            return false;
    }
    return are_believable(part, rank);
}

static bool take_comm(struct unpacker *u, struct run *part)
{
    struct packed_comm c;
    struct comm *comm;
    int number;
    if (!take(u, &c, sizeof c) || c.id >= u->ntexts || c.name >= u->ntexts || c.size < 0 ||
        (size_t)c.size > (size_t)(u->end - u->at) / sizeof *comm->ranks)
        return false;
    number = run_comm(part, u->texts[c.id], strlen(u->texts[c.id]), c.size);
    if (number < 0 || (size_t)number + 1 != part->ncomms)
        return false;
    comm = &part->comms[number];
    comm->name = u->texts[c.name];
    comm->parent = c.parent;
    comm->nodes = c.nodes;
    return c.size == 0 || take(u, comm->ranks, (size_t)c.size * sizeof *comm->ranks);
}

static bool take_note(struct unpacker *u, struct run *part)
{
    struct packed_note n;
    if (!take(u, &n, sizeof n) || n.text >= u->ntexts || n.kind > NOTE_GAPS)
        return false;
    run_note_of(part, (enum note_kind)n.kind, n.loss != 0, "%s", u->texts[n.text]);
    return true;
}

static bool take_part(struct unpacker *u, struct run *part)
{
    struct packed_head head;
    if (!take(u, &head, sizeof head) || !take_texts(u, part, head.ntexts) || head.id >= u->ntexts ||
        head.format >= u->ntexts || head.summary >= u->ntexts || head.world_size < 0 ||
        head.world_size > RUN_RANKS_MAX)
        return false;
    part->id = u->texts[head.id];
    part->format = u->texts[head.format];
    part->summary = u->texts[head.summary];
    part->world_size = (int)head.world_size;
    part->unnamed_hangs = head.unnamed_hangs;
    part->name_nodes = head.name_nodes != 0;
    for (uint64_t i = 0; i < head.ncomms; i++) {
        if (!take_comm(u, part))
            return false;
    }
    for (size_t i = 0; i < part->ncomms; i++) {
        if (part->comms[i].parent >= (int)part->ncomms)
            return false;
    }
    for (uint64_t i = 0; i < head.nranks; i++) {
        if (!take_rank(u, part))
            return false;
    }
    for (uint64_t i = 0; i < head.nnotes; i++) {
        if (!take_note(u, part))
            return false;
    }
    return u->at == u->end;
}

int run_unpack(struct run *part, const char *data, size_t len, struct err *e)
{
    struct unpacker u = {.at = data, .end = data + len};
    const bool whole = take_part(&u, part);
    free(u.texts);
    return whole ? 0 : err_set(e, ERR_INPUT, "is damaged");
}
