/* SPDX-License-Identifier: MIT
 *
 * From sets of ranks (ras.h) to members. A rank that no list of a function's sets names is in
 * the one set that has no list.
 *
 * The ranks of the run are those of the largest communicator with different counts, else of the
 * largest that is named, else those that the table of groups counts. Which ranks of the job another
 * communicator has is known only where both have all GPUs; else it is noted.
 */
#include "trace/ras.h"

#include <stdlib.h>
#include <string.h>

#define LISTED_SHOWN 3
#define COMMS_NOTED 8
#define SETS_COMPARED 4096 /* of more, it is not asked whether they have all ranks */

/* ---- communicators ---- */

/* Returns whether ranks of the communicator have called something differently often. */
static bool counts_differ(const struct ras_text *t, size_t comm)
{
    for (size_t i = 0; i < t->nsets; i++) {
        if (t->sets[i].comm == comm && t->sets[i].kind == SET_CALLS)
            return true;
    }
    return false;
}

/* Without the table of groups, a communicator has the ranks of all sets of one function, and those
 * that do not answer. */
static void size_comms(struct ras_text *t)
{
    for (size_t c = 0; c < t->f->ncomms; c++) {
        struct ras_comm *comm = &t->f->comms[c];
        int function = -1;
        if (comm->size > 0)
            continue;
        for (size_t i = 0; i < t->nsets; i++) {
            const struct ras_set *s = &t->sets[i];
            bool counts = s->kind == SET_CALLS && (function < 0 || function == s->function);
            if (s->comm != c || !(counts || s->kind == SET_SILENT || s->kind == SET_ELSEWHERE))
                continue;
            function = counts ? s->function : function;
            comm->size += s->count;
        }
    }
}

/* The communicator that numbers the ranks; ncomms none. */
static size_t main_comm(const struct ras_text *t)
{
    const struct ras_file *f = t->f;
    size_t found = f->ncomms;
    for (int differing = 1; differing >= 0 && found == f->ncomms; differing--) {
        for (size_t c = 0; c < f->ncomms; c++) {
            if (f->comms[c].size > 0 && counts_differ(t, c) == differing &&
                (found == f->ncomms || f->comms[c].size > f->comms[found].size))
                found = c;
        }
    }
    return found;
}

static int64_t largest_group(const struct ras_text *t)
{
    int64_t size = 0;
    for (size_t i = 0; i < t->ngroups; i++)
        size = t->groups[i].size > size ? t->groups[i].size : size;
    return size;
}

bool ras_is_whole(const struct ras_text *t)
{
    if (!t->warnings || t->open || t->end[-1] != '\n')
        return false;
    for (size_t i = 0; i < t->ngroups; i++) {
        if (t->groups[i].mismatch && t->groups[i].sections < t->groups[i].comms)
            return false;
    }
    for (size_t i = 0; i < t->nsets; i++) {
        const struct ras_set *s = &t->sets[i];
        const struct ras_comm *c = &t->f->comms[s->comm];
        int64_t counted = 0;
        if (s->nlisted > 0 && s->nlisted != (size_t)s->count)
            return false;
        for (size_t k = 0; k < t->nsets && s->kind == SET_CALLS && t->nsets < SETS_COMPARED; k++) {
            const struct ras_set *other = &t->sets[k];
            if (other->comm == s->comm &&
                (other->kind == SET_SILENT || other->kind == SET_ELSEWHERE ||
                 (other->kind == SET_CALLS && other->function == s->function)))
                counted += other->count;
        }
        if (counted > 0 && counted < c->size)
            return false;
    }
    return true;
}

/* ---- members ---- */

static bool is_dead(const struct ras_text *t, const struct ras_listed *process)
{
    for (size_t i = 0; i < t->ndead; i++) {
        if (t->dead[i].pid == process->pid && t->dead[i].host == process->host)
            return true;
    }
    return false;
}

static void describe(const struct ras_text *t, struct ras_member *m, const struct ras_set *s,
                     const struct ras_listed *process)
{
    m->comm_rank = process->comm_rank;
    if (s->kind == SET_SILENT && process->pid < 0 && s->count == 1 && t->nlost == 1)
        process = &t->lost; /* the one rank of the one process */
    if (process->pid >= 0) {
        m->pid = process->pid;
        m->device = process->device;
        m->host = process->host;
    }
    switch (s->kind) {
    case SET_SILENT:
        m->answer = is_dead(t, process) ? RAS_DEAD : RAS_SILENT;
        break;
    case SET_ELSEWHERE:
        m->answer = RAS_ELSEWHERE;
        break;
    case SET_ABORTED:
        m->aborted = true;
        break;
    case SET_INIT_ERROR:
        m->init_error = (int)s->value;
        break;
    case SET_ASYNC_ERROR:
        m->error = (int)s->value;
        break;
    default:
        break;
    }
}

/* Sets of one function in a communicator. */
struct function_sets {
    size_t unlisted;      /* how many have no list, */
    int64_t least;        /* the lowest value of these, */
    int64_t least_listed; /* and of those with one; INT64_MAX none */
    size_t count;
};

static struct function_sets sets_of(const struct ras_text *t, size_t comm, int function)
{
    struct function_sets sets = {.least = INT64_MAX, .least_listed = INT64_MAX};
    for (size_t i = 0; i < t->nsets; i++) {
        const struct ras_set *s = &t->sets[i];
        int64_t *least = s->nlisted > 0 ? &sets.least_listed : &sets.least;
        if (s->comm != comm || s->kind != SET_CALLS || s->function != function)
            continue;
        sets.count++;
        sets.unlisted += s->nlisted == 0;
        *least = s->value < *least ? s->value : *least;
    }
    return sets;
}

/* Counts of one function. With several sets without a list, their ranks have called it at least as
 * often as the lowest of these says, which is enough where a list has those that are behind. */
static void count_function(struct ras_text *t, size_t comm, int function, struct ras_member *list)
{
    const struct function_sets sets = sets_of(t, comm, function);
    const int64_t size = t->f->comms[comm].size;
    if (sets.count == 0)
        return;
    for (int64_t i = 0; i < size; i++)
        list[i].of[function] = sets.unlisted > 0 ? sets.least : -1;
    for (size_t i = 0; i < t->nsets; i++) {
        const struct ras_set *s = &t->sets[i];
        for (size_t k = s->first; k < s->first + s->nlisted; k++) {
            int32_t rank = t->listed[k].comm_rank;
            if (s->comm == comm && s->kind == SET_CALLS && s->function == function && rank < size)
                list[rank].of[function] = s->value;
        }
    }
    for (int64_t i = 0; i < size; i++) {
        if (list[i].of[function] >= 0)
            continue;
        list[i].of[function] = 0;
        if (list[i].answer == RAS_HERE) /* it answers, and is in no set: of a text that was cut */
            list[i].comm_rank = -1;
    }
    if (sets.unlisted > 1 && sets.least_listed >= sets.least)
        t->f->comms[comm].unclear = true;
}

static void add_all(struct ras_text *t, size_t comm)
{
    const int64_t size = t->f->comms[comm].size;
    struct ras_member *list = array_new((size_t)size, sizeof *list);
    for (int64_t i = 0; i < size; i++) {
        list[i] = ras_member(t->f);
        list[i].comm = (uint32_t)comm;
        list[i].comm_rank = (int32_t)i;
    }
    for (size_t i = 0; i < t->nsets; i++) {
        const struct ras_set *s = &t->sets[i];
        for (size_t k = s->first; k < s->first + s->nlisted && s->comm == comm; k++) {
            if (t->listed[k].comm_rank < size)
                describe(t, &list[t->listed[k].comm_rank], s, &t->listed[k]);
        }
    }
    for (int function = 0; function < RAS_FUNCTIONS; function++)
        count_function(t, comm, function, list);
    for (int64_t i = 0; i < size; i++) {
        for (int function = 0; function < RAS_FUNCTIONS; function++)
            list[i].calls += list[i].of[function];
        ras_add_member(t->f, &list[i]);
    }
    free(list);
}

/* Adds the ranks of a communicator that have a trouble, where its other ranks are unknown. */
static void add_troubles(struct ras_text *t, size_t comm)
{
    for (size_t i = 0; i < t->nsets; i++) {
        const struct ras_set *s = &t->sets[i];
        if (s->comm != comm || s->kind == SET_CALLS || s->kind == SET_NOTHING)
            continue;
        for (size_t k = s->first; k < s->first + s->nlisted; k++) {
            struct ras_member m = ras_member(t->f);
            m.comm = (uint32_t)comm;
            m.apart = true;
            describe(t, &m, s, &t->listed[k]);
            ras_add_member(t->f, &m);
        }
    }
}

int ras_conclude(struct ras_text *t)
{
    struct ras_file *f = t->f;
    size_t chosen;
    int64_t size;
    f->nmembers = 0;
    size_comms(t);
    chosen = main_comm(t);
    if (chosen == f->ncomms) /* no named one has a known size: its ranks have no numbers */
        ras_add_comm(f)->size = t->gpus > 0 && t->ngroups > 0 ? t->gpus : largest_group(t);
    size = f->comms[chosen].size;
    if (size <= 0 || size > RAS_TEXT_RANKS_MAX)
        return -1;
    ARRAY_GROW(t->joins, t->cap_joins, f->ncomms);
    for (size_t c = 0; c < f->ncomms; c++) {
        t->joins[c] = c == chosen || (f->comms[c].size == size && size == t->gpus &&
                                      f->ncomms * (size_t)size <= RAS_TEXT_RANKS_MAX);
        if (t->joins[c])
            add_all(t, c);
        else
            add_troubles(t, c);
    }
    return 0;
}

/* ---- what the text does not say ---- */

/* "31 ranks have called AllReduce 42 times", "rank 5 (GPU 1 of process 1005 on n2) has called
 * AllReduce 41 times". */
static void put_set(struct buf *out, const struct ras_text *t, const struct ras_set *s)
{
    if (s->nlisted == 0)
        buf_printf(out, "%lld rank%s", (long long)s->count, s->count == 1 ? "" : "s");
    for (size_t k = 0; k < s->nlisted && k < LISTED_SHOWN; k++) {
        const struct ras_listed *m = &t->listed[s->first + k];
        buf_printf(out, "%s%d", k == 0 ? (s->nlisted > 1 ? "ranks " : "rank ") : ", ",
                   m->comm_rank);
        if (m->pid >= 0)
            buf_printf(out, " (GPU %lld of process %lld on %s)", (long long)m->device,
                       (long long)m->pid, m->host);
    }
    if (s->nlisted > LISTED_SHOWN)
        buf_printf(out, " and %zu more", s->nlisted - LISTED_SHOWN);
    buf_printf(out, " ha%s called ", s->count == 1 ? "s" : "ve");
    buf_puts(out,
             s->function < SPECTER_COMM_OP_COUNT ? ras_function_name(s->function) : "collectives");
    buf_printf(out, " %lld time%s", (long long)s->value, s->value == 1 ? "" : "s");
}

static void note_calls(struct ras_text *t, size_t comm, bool answer)
{
    const struct ras_comm *c = &t->f->comms[comm];
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < t->nsets; i++) {
        if (t->sets[i].comm != comm || t->sets[i].kind != SET_CALLS)
            continue;
        buf_puts(&text, text.len > 0 ? ", " : "");
        put_set(&text, t, &t->sets[i]);
    }
    run_note(t->f->run, false, "%s: in communicator %s (%lld ranks) %s", t->f->label, c->name,
             (long long)c->size, text.data);
    if (answer)
        buf_printf(&t->f->summary,
                   "Possible hang: in communicator %s (%lld ranks) %s; `ncclras -f json` tells "
                   "which. ",
                   c->name, (long long)c->size, text.data);
    buf_release(&text);
}

/* The one function whose calls are counted; -1 several. */
static int only_function(const struct ras_text *t, size_t comm)
{
    int function = -1;
    for (size_t i = 0; i < t->nsets; i++) {
        if (t->sets[i].comm != comm || t->sets[i].kind != SET_CALLS)
            continue;
        if (function >= 0 && function != t->sets[i].function)
            return -1;
        function = t->sets[i].function;
    }
    return function;
}

static void note_numbers(struct ras_text *t, size_t comm)
{
    int function = only_function(t, comm);
    struct ras_file *f = t->f;
    if (function == SPECTER_COMM_OP_COUNT)
        return;
    run_note(f->run, false,
             "%s: the number of a collective counts %s of communicator %s alone: the text has no "
             "others",
             f->label, function >= 0 ? ras_function_name(function) : "the functions that differ",
             f->comms[comm].name);
}

void ras_note_sets(struct ras_text *t)
{
    struct ras_file *f = t->f;
    const size_t chosen = main_comm(t);
    size_t noted = 0;
    for (size_t c = 0; c < f->ncomms; c++) {
        if (!counts_differ(t, c))
            continue;
        if (t->joins[c] && !f->comms[c].unclear) {
            note_numbers(t, c);
            continue;
        }
        f->run->unnamed_hangs++;
        if (noted++ < COMMS_NOTED)
            note_calls(t, c, t->joins[c]);
    }
    if (noted > COMMS_NOTED)
        run_note(f->run, false, "%s: the same holds for %zu more communicators", f->label,
                 noted - COMMS_NOTED);
    for (size_t i = 0; i < t->nsets; i++) {
        const struct ras_set *s = &t->sets[i];
        const char *plural = s->count > 1 ? "s" : "";
        if (s->kind != SET_SILENT || s->nlisted > 0 || s->count <= 0)
            continue;
        if (f->summary.len == 0)
            buf_printf(&f->summary, "NCCL's RAS: %lld rank%s of communicator %s do%s not answer. ",
                       (long long)s->count, plural, f->comms[s->comm].name,
                       s->count > 1 ? "" : "es");
        run_note(f->run, true,
                 "%s: %lld rank%s of communicator %s do%s not answer RAS and %s not listed: %s "
                 "counts are not known; they are assumed equal to those of the other ranks; "
                 "`ncclras -v` "
                 "lists the rank%s",
                 f->label, (long long)s->count, plural, f->comms[s->comm].name,
                 s->count > 1 ? "" : "es", s->count > 1 ? "are" : "is",
                 s->count > 1 ? "their" : "its", plural);
    }
    if (chosen < f->ncomms && t->gpus > f->comms[chosen].size)
        run_note(f->run, false,
                 "%s: ranks are numbered as in communicator %s (%lld of %lld GPUs): the text has "
                 "no numbers of the job",
                 f->label, f->comms[chosen].name, (long long)f->comms[chosen].size,
                 (long long)t->gpus);
}
