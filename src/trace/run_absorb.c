/* SPDX-License-Identifier: MIT */
#include "trace/load.h"

#include "trace/et.h"

#include <stdlib.h>
#include <string.h>

#define SAME_NAME_MAX 64 /* communicators of one name and first rank, with other members */

/* ---- texts ---- */

static struct name_pair *slot_of(const struct name_map *m, const char *from)
{
    size_t i = ((uintptr_t)from >> 4) * 0x9E3779B97F4A7C15u >> 32 & (m->nslots - 1);
    while (m->slots[i].from != NULL && m->slots[i].from != from)
        i = (i + 1) & (m->nslots - 1);
    return &m->slots[i];
}

void name_map_init(struct name_map *m, struct intern *into, const struct intern *from)
{
    m->nslots = 16;
    while (m->nslots < from->count * 2)
        m->nslots *= 2;
    m->slots = array_new(m->nslots, sizeof *m->slots);
    for (size_t i = 0; i < from->nslots; i++) {
        if (from->slots[i] == NULL)
            continue;
        *slot_of(m, from->slots[i]) = (struct name_pair){
            from->slots[i], intern_add(into, from->slots[i], strlen(from->slots[i]))};
    }
}

void name_map_release(struct name_map *m)
{
    free(m->slots);
}

/* A text that is not interned, as "" mostly, stays. */
static void rename_text(const struct name_map *m, const char **text)
{
    const struct name_pair *pair;
    if (*text == NULL)
        return;
    pair = slot_of(m, *text);
    if (pair->from != NULL)
        *text = pair->to;
}

void run_rename(struct run *part, const struct name_map *names)
{
    rename_text(names, &part->id);
    for (size_t c = 0; c < part->ncomms; c++)
        rename_text(names, &part->comms[c].name);
    for (size_t r = 0; r < part->nranks; r++) {
        struct rank *rank = &part->ranks[r];
        rename_text(names, &rank->host);
        rename_text(names, &rank->gpu);
        struct name_pair name = {"", ""},
                         caller = {"", ""}; /* the last pair: equal names follow each other */
        for (size_t i = 0; i < rank->nops; i++) {
            struct op *op = &rank->ops[i];
            if (op->name != name.from) {
                name.from = name.to = op->name;
                rename_text(names, &name.to);
            }
            if (op->caller != caller.from) {
                caller.from = caller.to = op->caller;
                rename_text(names, &caller.to);
            }
            op->name = name.to;
            op->caller = caller.to;
        }
        for (size_t i = 0; i < rank->nsettings; i++) {
            rename_text(names, &rank->settings[i].name);
            rename_text(names, &rank->settings[i].value);
        }
        for (size_t i = 0; i < rank->nsteps; i++)
            rename_text(names, &rank->steps[i].name);
        for (size_t i = 0; i < rank->nmarks; i++)
            rename_text(names, &rank->marks[i].name);
        for (size_t i = 0; i < rank->nanchors; i++)
            rename_text(names, &rank->anchors[i].name);
        for (size_t i = 0; i < rank->ndetails; i++) {
            rename_text(names, &rank->details[i].algo);
            rename_text(names, &rank->details[i].proto);
        }
    }
}

/* ---- communicators ---- */

/* Returns whether all members of both are known, and not the same. */
static bool other_members(const struct comm *a, const struct comm *b)
{
    bool differ = a->size != b->size;
    for (int i = 0; i < a->size; i++) {
        if (a->ranks[i] < 0)
            return false;
        differ = differ || i >= b->size || a->ranks[i] != b->ranks[i];
    }
    for (int i = 0; i < b->size; i++) {
        if (b->ranks[i] < 0)
            return false;
    }
    return differ && a->size > 0 && b->size > 0;
}

/* The id of a communicator of the part in the run. PyTorch can give groups with other members one
 * name (each half of a split, on its own ranks): the first has it alone, the others with their
 * first rank. */
static const char *absorbed_id(struct run *run, const struct comm *from)
{
    const char *id = from->id;
    for (int i = 1; i < SAME_NAME_MAX; i++) {
        int c = run_comm(run, id, strlen(id), 0);
        if (c < 0 || !other_members(&run->comms[c], from))
            return id;
        id = i == 1 ? arena_printf(&run->arena, "%s:%d", from->id, from->ranks[0])
                    : arena_printf(&run->arena, "%s:%d:%d", from->id, from->ranks[0], i);
    }
    run_note(run, true, "more than %d communicators of one name have other members: some are mixed",
             SAME_NAME_MAX);
    return id;
}

/* The run's number of each communicator of the part. Owned; NULL when they are the same. */
static int *absorb_comms(struct run *run, const struct run *part)
{
    int *numbers = array_new(part->ncomms, sizeof *numbers);
    bool same = true;
    for (size_t c = 0; c < part->ncomms; c++) {
        const struct comm *from = &part->comms[c];
        const char *id = absorbed_id(run, from);
        size_t len = strlen(id);
        numbers[c] = run_comm(run, id, len, from->size);
        if (numbers[c] < 0) {
            numbers[c] = run_comm(run, id, len, 0);
            run_note(run, true,
                     "communicators of more members in all than can be believed: their "
                     "sizes are left out");
        }
        same &= numbers[c] == (int)c;
    }
    for (size_t c = 0; c < part->ncomms; c++) {
        /* The part's facts of a communicator win, as those of a later file do, but for the size. */
        const struct comm *from = &part->comms[c];
        struct comm *comm = &run->comms[numbers[c]];
        int n = comm->size < from->size ? comm->size : from->size;
        if (from->name[0] != '\0')
            comm->name = from->name;
        if (from->nodes > 0)
            comm->nodes = from->nodes;
        if (from->parent >= 0)
            comm->parent = numbers[from->parent];
        for (int i = 0; i < n; i++) {
            if (from->ranks[i] >= 0)
                comm->ranks[i] = from->ranks[i];
        }
    }
    if (!same)
        return numbers;
    free(numbers);
    return NULL;
}

/* ---- everything ---- */

void run_absorb(struct run *run, struct run *part)
{
    if (run->id[0] == '\0')
        run->id = part->id;
    if (part->world_size > run->world_size)
        run->world_size = part->world_size;
    if (part->format[0] != '\0')
        run->format = part->format;
    if (part->summary[0] != '\0')
        run->summary = part->summary;
    run->name_nodes |= part->name_nodes;
    run->unnamed_hangs += part->unnamed_hangs;
    int base = (int)run->nranks;
    int *numbers = absorb_comms(run, part);
    for (size_t r = 0; r < part->nranks; r++) {
        struct rank *rank = run_add_rank(run);
        *rank = part->ranks[r];
        rank->process += rank->process >= 0 ? base : 0;
        if (numbers != NULL) {
            for (size_t i = 0; i < rank->nops; i++) {
                struct op *op = &rank->ops[i];
                if (op_is_comm(op) && op->coll.comm >= 0)
                    op->coll.comm = numbers[op->coll.comm];
            }
            for (size_t i = 0; i < rank->ndetails; i++) {
                if (rank->details[i].comm >= 0)
                    rank->details[i].comm = numbers[rank->details[i].comm];
            }
            for (size_t i = 0; i < rank->nin; i++)
                rank->in[i].comm = numbers[rank->in[i].comm];
        }
        /* A comm rank outside the communicator, whose size the first trace sets, is dropped.
         * devices_split(), which indexes `in`, has run before. */
        size_t kept = 0;
        for (size_t i = 0; i < rank->nin; i++) {
            int size = run->comms[rank->in[i].comm].size;
            if (size == 0 || rank->in[i].rank < size)
                rank->in[kept++] = rank->in[i];
        }
        rank->nin = kept;
    }
    part->nranks = 0; /* moved */
    free(numbers);
    for (size_t i = 0; i < part->nnotes; i++)
        run_note_of(run, (enum note_kind)part->notes[i].kind, part->notes[i].loss, "%s",
                    part->notes[i].text);
    arena_absorb(&run->arena, &part->arena);
    run_release(part);
}
