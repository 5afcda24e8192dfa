/* SPDX-License-Identifier: MIT
 *
 * Finds the files without a run id that are of one job. Files of different world sizes, or with the
 * same rank, are of different jobs. Files are of one job where they share a communicator id; where
 * they overlap in time and world size, communicators, ranks or communication on one host tie them;
 * where they have no dates, if GPU model or folder is one. Clocks of hosts may differ by 60 s.
 */
#include "trace/load.h"

#include "base/hash.h"
#include "base/idmap.h"
#include "base/order.h"
#include "trace/kineto.h"
#include "trace/rank_join.h"

#include <stdlib.h>
#include <string.h>

#define HIGH_PID (1 << 15) /* kernels give such numbers once in millions */

/* The reasons why two recordings are not of one job: X(id, words for the user). */
#define APART(X)                         \
    X(NOT, "")                           \
    X(WORLD, "another world size")       \
    X(RANK, "the same ranks again")      \
    X(FULL, "more ranks than the world") \
    X(TIME, "another time")              \
    X(GPU, "another GPU")                \
    X(TIE, "nothing ties it to this one")

enum apart {
#define X(id, words) APART_##id,
    APART(X)
#undef X
};

static const char *const apart_words[] = {
#define X(id, words) words,
    APART(X)
#undef X
};

/* One rank of one recording. */
struct recorded_rank {
    uint32_t rec; /* index into the list */
    uint32_t process;
    const struct rank *rank;
    const char *host;         /* "" unknown */
    int64_t begin_ns, end_ns; /* as rank_extent() */
    bool dated;
    uint32_t same_number; /* the next item of this rank number, plus one; 0: none */
    uint32_t same_host;   /* the next that only its host tells, and this one; likewise */
};

/* Recordings that are of one job so far: what is known of them all, at the root. */
struct set {
    uint32_t parent;
    uint32_t last,
        next;    /* of the chain of its recordings, which begins at the root; plus one, 0 none */
    int world;   /* 0 unknown */
    int highest; /* rank number; -1 none is known */
    size_t processes;
    const char *gpu;   /* the first that is known; "" */
    const char *host;  /* likewise */
    bool numbered;     /* all ranks have numbers */
    bool communicates; /* an operation is communication */
};

struct recording_group {
    struct recording *list;
    size_t n;
    struct recorded_rank *items; /* owned */
    size_t nitems;
    size_t *first_item; /* owned [n + 1] */
    struct set *sets;   /* owned [n] */
    struct idmap numbers;
    uint32_t *number_items; /* owned: the first item of each rank number, plus one */
    size_t cap_numbers;
    struct idmap hosts;   /* by hash */
    uint32_t *host_items; /* owned: the first item that only its host tells of each, plus one */
    size_t cap_hosts;
};

/* ---- what is known ---- */

static void add_item(struct recording_group *g, uint32_t rec, const struct rank *rank,
                     struct arena *arena)
{
    struct recording *r = &g->list[rec];
    struct recorded_rank *item = &g->items[g->nitems];
    item->rec = rec;
    item->process = (uint32_t)g->nitems++;
    item->rank = rank;
    item->host =
        rank->host[0] != '\0' ? rank->host : kineto_host_in_label(arena, r->label, rank->pid);
    item->dated = rank_extent(rank, &item->begin_ns, &item->end_ns);
    if (rank->undated && item->begin_ns > 0) /* times of its calls are those of the wall clock */
        item->dated = true;
    if (item->dated && item->begin_ns != UNKNOWN_NS) {
        if (r->begin_ns == UNKNOWN_NS || item->begin_ns < r->begin_ns)
            r->begin_ns = item->begin_ns;
        if (r->end_ns == UNKNOWN_NS || item->end_ns > r->end_ns)
            r->end_ns = item->end_ns;
    }
    if (rank->rank >= 0) {
        uint32_t at = idmap_add(&g->numbers, rank->rank);
        ARRAY_GROW(g->number_items, g->cap_numbers, (size_t)at + 1);
        item->same_number = g->number_items[at];
        g->number_items[at] = item->process + 1;
    }
}

/* The first item of a recording that tells neither a process, a rank nor a date, but its host: XLA
 * writes one file a host. NULL: it tells more, or less. */
static const struct recorded_rank *told_by_host(const struct recording_group *g, uint32_t rec)
{
    const struct recorded_rank *item = &g->items[g->first_item[rec]];
    return g->first_item[rec] < g->first_item[rec + 1] && !item->dated && item->host[0] != '\0' &&
                   item->rank->rank < 0 && item->rank->pid < 0
               ? item
               : NULL;
}

static int64_t host_key(const char *host)
{
    return (int64_t)hash_bytes(HASH_BYTES, host, strlen(host));
}

static void index_host(struct recording_group *g, uint32_t rec)
{
    const struct recorded_rank *item = told_by_host(g, rec);
    uint32_t at;
    if (item == NULL)
        return;
    at = idmap_add(&g->hosts, host_key(item->host));
    ARRAY_GROW(g->host_items, g->cap_hosts, (size_t)at + 1);
    g->items[g->first_item[rec]].same_host = g->host_items[at];
    g->host_items[at] = (uint32_t)g->first_item[rec] + 1;
}

static void group_init(struct recording_group *g, struct recording *list, size_t n,
                       struct arena *arena)
{
    size_t nitems = 0;
    for (size_t i = 0; i < n; i++)
        nitems += list[i].part->nranks;
    *g = (struct recording_group){.list = list, .n = n};
    g->items = array_new(nitems + 1, sizeof *g->items);
    g->first_item = array_new(n + 1, sizeof *g->first_item);
    g->sets = array_new(n + 1, sizeof *g->sets);
    for (size_t i = 0; i < n; i++) {
        uint32_t rec = (uint32_t)i;
        struct recording *r = &g->list[rec];
        struct set *set = &g->sets[rec];
        *set = (struct set){.parent = rec, .last = rec + 1, .highest = -1, .gpu = "", .host = ""};
        set->processes = r->part->nranks;
        set->numbered = true;
        r->begin_ns = r->end_ns = UNKNOWN_NS;
        g->first_item[rec] = g->nitems;
        for (size_t j = 0; j < r->part->nranks; j++) {
            const struct rank *rank = &r->part->ranks[j];
            add_item(g, rec, rank, arena);
            set->world = rank->undated ? 0 : r->part->world_size; /* of dumps at least so many */
            set->highest = rank->rank > set->highest ? rank->rank : set->highest;
            set->numbered = set->numbered && rank->rank >= 0;
            for (size_t k = 0; k < rank->nops && !set->communicates; k++)
                set->communicates = op_is_comm(&rank->ops[k]);
            if (set->gpu[0] == '\0')
                set->gpu = rank->gpu;
            if (set->host[0] == '\0')
                set->host = g->items[g->nitems - 1].host;
        }
        g->first_item[rec + 1] = g->nitems;
        index_host(g, rec);
    }
}

static void group_release(struct recording_group *g)
{
    free(g->items);
    free(g->first_item);
    free(g->sets);
    free(g->number_items);
    free(g->host_items);
    idmap_release(&g->numbers);
    idmap_release(&g->hosts);
}

/* ---- sets ---- */

static uint32_t root_of(struct recording_group *g, uint32_t rec)
{
    while (g->sets[rec].parent != rec) {
        g->sets[rec].parent = g->sets[g->sets[rec].parent].parent;
        rec = g->sets[rec].parent;
    }
    return rec;
}

/* Both texts agree as far as they are known. */
static bool agree(const char *a, const char *b)
{
    return a[0] == '\0' || b[0] == '\0' || strcmp(a, b) == 0;
}

static bool worlds_agree(int a, int b)
{
    return a <= 0 || b <= 0 || a == b;
}

/* Returns whether any rank of `a` has the number of one of `b`. */
static bool share_number(struct recording_group *g, uint32_t a, uint32_t b)
{
    for (uint32_t rec = a + 1; rec != 0; rec = g->sets[rec - 1].next) {
        for (size_t i = g->first_item[rec - 1]; i < g->first_item[rec]; i++) {
            int number = g->items[i].rank->rank;
            uint32_t at = number >= 0 ? idmap_find(&g->numbers, number) : IDMAP_NONE;
            uint32_t item = at != IDMAP_NONE ? g->number_items[at] : 0;
            for (; item != 0; item = g->items[item - 1].same_number) {
                if (root_of(g, g->items[item - 1].rec) == b)
                    return true;
            }
        }
    }
    return false;
}

/* Returns whether a file of `a` shows the same host as one of `b`, and neither tells more. */
static bool share_host(struct recording_group *g, uint32_t a, uint32_t b)
{
    for (uint32_t rec = a + 1; rec != 0; rec = g->sets[rec - 1].next) {
        const struct recorded_rank *p = told_by_host(g, rec - 1);
        uint32_t at = p != NULL ? idmap_find(&g->hosts, host_key(p->host)) : IDMAP_NONE;
        uint32_t item = at != IDMAP_NONE ? g->host_items[at] : 0;
        for (; item != 0; item = g->items[item - 1].same_host) {
            if (root_of(g, g->items[item - 1].rec) == b &&
                strcmp(g->items[item - 1].host, p->host) == 0)
                return true;
        }
    }
    return false;
}

/* Both are roots. */
static enum apart contradiction(struct recording_group *g, uint32_t a, uint32_t b)
{
    const struct set *x = &g->sets[a], *y = &g->sets[b];
    int world = x->world > y->world ? x->world : y->world;
    if (!worlds_agree(x->world, y->world) || (x->world > 0 && y->highest >= x->world) ||
        (y->world > 0 && x->highest >= y->world))
        return APART_WORLD;
    if (x->processes < y->processes ? share_number(g, a, b) || share_host(g, a, b)
                                    : share_number(g, b, a) || share_host(g, b, a))
        return APART_RANK;
    if (world > 0 && x->processes + y->processes > (size_t)world)
        return APART_FULL;
    return APART_NOT;
}

/* Makes both roots one set, whose root is the one that comes first in the list. `shared`: so many
 * processes are in both. */
static void unite(struct recording_group *g, uint32_t a, uint32_t b, size_t shared)
{
    struct set *into = &g->sets[a < b ? a : b], *from = &g->sets[a < b ? b : a];
    uint32_t root = a < b ? a : b, other = a < b ? b : a;
    from->parent = root;
    g->sets[into->last - 1].next = other + 1;
    into->last = from->last;
    into->world = into->world > from->world ? into->world : from->world;
    into->highest = into->highest > from->highest ? into->highest : from->highest;
    into->processes += from->processes - shared;
    into->numbered = into->numbered && from->numbered;
    into->communicates = into->communicates || from->communicates;
    if (into->gpu[0] == '\0')
        into->gpu = from->gpu;
    if (into->host[0] == '\0')
        into->host = from->host;
}

static void try_unite(struct recording_group *g, uint32_t rec_a, uint32_t rec_b)
{
    uint32_t a = root_of(g, rec_a), b = root_of(g, rec_b);
    if (a != b && contradiction(g, a, b) == APART_NOT)
        unite(g, a, b, 0);
}

/* ---- windows of one process ---- */

/* Records of one process are found beside each other in this order; within it by time. */
static int by_process(const void *pa, const void *pb)
{
    const struct recorded_rank *a = *(const struct recorded_rank *const *)pa,
                               *b = *(const struct recorded_rank *const *)pb;
    bool x = a->rank->pid >= 0, y = b->rank->pid >= 0;
    int order = ORDER(x, y);
    if (order == 0)
        order = x ? ORDER(a->rank->pid, b->rank->pid) : ORDER(a->rank->rank, b->rank->rank);
    if (order == 0)
        order = ORDER(a->begin_ns, b->begin_ns);
    return order != 0 ? order : ORDER(a->process, b->process);
}

static bool same_class(const struct recorded_rank *a, const struct recorded_rank *b)
{
    return (a->rank->pid >= 0) == (b->rank->pid >= 0) &&
           (a->rank->pid >= 0 ? a->rank->pid == b->rank->pid : a->rank->rank == b->rank->rank);
}

/* Returns whether nothing tells the two apart as processes, and enough says that they are one. */
static bool same_process(const struct recording_group *g, const struct recorded_rank *a,
                         const struct recorded_rank *b)
{
    const struct recording *x = &g->list[a->rec], *y = &g->list[b->rec];
    if (a->rec == b->rec || a->dated != b->dated || !agree(a->host, b->host) ||
        !agree(a->rank->gpu, b->rank->gpu) ||
        !worlds_agree(x->part->world_size, y->part->world_size))
        return false;
    if (a->rank->rank >= 0 && b->rank->rank >= 0 && a->rank->rank != b->rank->rank)
        return false;
    if (a->rank->pid < 0)
        return a->rank->rank >= 0 && x->folder == y->folder;
    return a->rank->rank >= 0 || b->rank->rank >= 0 || a->rank->nops == 0 || b->rank->nops == 0 ||
           a->rank->ops[0].device == b->rank->ops[0].device;
}

/* Process ids are few in containers: where neither rank nor host tells a process from another, its
 * windows are not far apart. */
static bool close_enough(const struct recorded_rank *a, const struct recorded_rank *b)
{
    bool named =
        (a->rank->rank >= 0 && b->rank->rank >= 0) || (a->host[0] != '\0' && b->host[0] != '\0');
    return named || b->begin_ns - a->end_ns <= RECORDINGS_UNNAMED_NS;
}

/* Returns whether the later one, of another folder, counts its steps anew: then it is of another
 * job whose process has the same number, as it is in containers, whose numbers are low. In one
 * folder, or with a high number, it is a second profiler of the process. */
static bool counts_anew(const struct recording_group *g, const struct recorded_rank *a,
                        const struct recorded_rank *b)
{
    int64_t a_first, a_last, b_first, b_last;
    return a->rank->pid < HIGH_PID && g->list[a->rec].folder != g->list[b->rec].folder &&
           kineto_step_numbers(a->rank, &a_first, &a_last) &&
           kineto_step_numbers(b->rank, &b_first, &b_last) && b_first <= a_last;
}

static bool is_copy(const struct recorded_rank *a, const struct recorded_rank *b)
{
    return a->begin_ns == b->begin_ns && a->end_ns == b->end_ns && rank_same_work(a->rank, b->rank);
}

/* The items of one class: each is put after the last window of its process. */
static void chain_windows(struct recording_group *g, struct recorded_rank **list, size_t n)
{
    struct recorded_rank **ends = array_new(n, sizeof *ends); /* the last window of each process */
    size_t nends = 0;
    for (size_t i = 0; i < n; i++) {
        size_t e = 0;
        while (e < nends &&
               !(same_process(g, ends[e], list[i]) && close_enough(ends[e], list[i]) &&
                 ((list[i]->begin_ns >= ends[e]->end_ns && !counts_anew(g, ends[e], list[i])) ||
                  is_copy(ends[e], list[i]))))
            e++;
        if (e < nends) {
            uint32_t a = root_of(g, ends[e]->rec), b = root_of(g, list[i]->rec);
            list[i]->process = ends[e]->process;
            if (a != b)
                unite(g, a, b, 1);
            else
                g->sets[a].processes--;
        } else {
            nends++;
        }
        ends[e] = list[i];
    }
    free(ends);
}

/* Returns whether only the moment is known at which the recording was written, as it has no times:
 * what was written soon before or after it goes with it. */
static bool is_moment(const struct recorded_rank *item)
{
    return item->begin_ns == item->end_ns;
}

/* Returns whether a file without any time names its process: all such files of it are its parts. */
static bool is_part_of_process(const struct recorded_rank *item)
{
    return item->begin_ns == UNKNOWN_NS && item->rank->pid >= 0 && item->host[0] != '\0';
}

static void join_processes(struct recording_group *g)
{
    struct recorded_rank **order = array_new(g->nitems + 1, sizeof *order);
    size_t n = 0;
    for (size_t i = 0; i < g->nitems; i++) {
        struct recorded_rank *item = &g->items[i];
        bool timed = item->begin_ns != UNKNOWN_NS;
        if (item->rank->pid < 0 && item->rank->rank < 0)
            continue;                                        /* nothing names its process */
        if (timed ? !is_moment(item) && !item->rank->undated /* a ring is no window */
                  : is_part_of_process(item))
            order[n++] = item;
    }
    if (n > 0)
        qsort(order, n, sizeof *order, by_process);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && same_class(order[from], order[to]);)
            to++;
        if (to > from + 1)
            chain_windows(g, order + from, to - from);
    }
    free(order);
}

/* ---- one communicator ---- */

struct comm_name {
    const char *id;
    uint32_t rec;
};

static int by_id(const void *pa, const void *pb)
{
    const struct comm_name *a = pa, *b = pb;
    int order = strcmp(a->id, b->id);
    return order != 0 ? order : ORDER(a->rec, b->rec);
}

static void join_comms(struct recording_group *g)
{
    struct comm_name *names = NULL;
    size_t n = 0, cap = 0;
    for (uint32_t rec = 0; rec < g->n; rec++) {
        for (size_t c = 0; c < g->list[rec].part->ncomms; c++) {
            ARRAY_GROW(names, cap, n + 1);
            names[n++] = (struct comm_name){g->list[rec].part->comms[c].id, rec};
        }
    }
    if (n > 0)
        qsort(names, n, sizeof *names, by_id);
    for (size_t i = 1; i < n; i++) {
        if (strcmp(names[i].id, names[i - 1].id) == 0)
            try_unite(g, names[i - 1].rec, names[i].rec);
    }
    free(names);
}

/* ---- time ---- */

/* Returns whether both name a communicator of the same members. */
static bool share_comm(const struct run *a, const struct run *b)
{
    for (size_t i = 0; i < a->ncomms; i++) {
        for (size_t k = 0; k < b->ncomms; k++) {
            const struct comm *x = &a->comms[i], *y = &b->comms[k];
            if (x->size > 1 && x->size == y->size && strcmp(x->id, y->id) == 0 &&
                memcmp(x->ranks, y->ranks, (size_t)x->size * sizeof *x->ranks) == 0)
                return true;
        }
    }
    return false;
}

/* Returns whether more than time says that recordings are of one job. Unrelated programs run at one
 * time on one machine as well. */
static bool tied(struct recording_group *g, uint32_t rec_a, uint32_t rec_b)
{
    const struct set *x = &g->sets[root_of(g, rec_a)], *y = &g->sets[root_of(g, rec_b)];
    if ((x->world > 0 && x->world == y->world) ||
        share_comm(g->list[rec_a].part, g->list[rec_b].part))
        return true;
    if (!agree(x->gpu, y->gpu))
        return false;
    return (x->numbered && y->numbered) ||
           (x->communicates && y->communicates && agree(x->host, y->host));
}

static int by_begin(const void *pa, const void *pb)
{
    const struct recorded_rank *a = *(const struct recorded_rank *const *)pa,
                               *b = *(const struct recorded_rank *const *)pb;
    int order = ORDER(a->begin_ns, b->begin_ns);
    return order != 0 ? order : ORDER(a->process, b->process);
}

/* Recordings of one set that are under way, while time goes on. */
struct under_way {
    uint32_t rec;
    const char *folder;
    int64_t end_ns;
};

static int64_t under_way_until(const struct recorded_rank *item)
{
    return is_moment(item) ? ns_add(item->end_ns, RECORDINGS_SKEW_NS) : item->end_ns;
}

/* Joins recordings that overlap. order: all that are dated, by their begins. */
static void join_overlapping(struct recording_group *g, struct recorded_rank **order, size_t n,
                             bool in_folder)
{
    struct under_way *list = array_new(n + 1, sizeof *list);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t rec = order[i]->rec;
        const char *folder = g->list[rec].folder;
        bool there = false;
        size_t kept = 0;
        for (size_t j = 0; j < count; j++) {
            if (list[j].end_ns > order[i]->begin_ns)
                list[kept++] = list[j];
        }
        count = kept;
        for (size_t k = 0; k < count; k++) {
            if ((!in_folder || list[k].folder == folder) && tied(g, list[k].rec, rec))
                try_unite(g, list[k].rec, rec);
            if (there || list[k].folder != folder || root_of(g, list[k].rec) != root_of(g, rec))
                continue;
            there = true;
            if (under_way_until(order[i]) > list[k].end_ns)
                list[k].end_ns = under_way_until(order[i]);
        }
        if (!there)
            list[count++] = (struct under_way){rec, folder, under_way_until(order[i])};
    }
    free(list);
}

/* ---- where nothing tells ---- */

/* Returns whether both are of one machine, by its name, else by the block of ranks that share one.
 */
static bool same_host(const struct recorded_rank *a, const struct recorded_rank *b)
{
    int gpus = a->rank->host_gpus;
    if (a->host[0] != '\0' && b->host[0] != '\0')
        return strcmp(a->host, b->host) == 0;
    return gpus > 0 && gpus == b->rank->host_gpus && a->rank->rank / gpus == b->rank->rank / gpus;
}

/* Returns whether differing wall clocks of two hosts may be what separates them. */
static bool skewed(const struct recorded_rank *a, const struct recorded_rank *b)
{
    int64_t between = a->begin_ns > b->begin_ns ? a->begin_ns - b->end_ns : b->begin_ns - a->end_ns;
    return a->rank->rank >= 0 && b->rank->rank >= 0 && !same_host(a, b) &&
           between <= RECORDINGS_SKEW_NS;
}

/* Nor are rings of one job all of one time: one rank may have called nothing for long. */
static bool rings(const struct recorded_rank *a, const struct recorded_rank *b, bool in_folder)
{
    int64_t between = a->begin_ns > b->begin_ns ? a->begin_ns - b->end_ns : b->begin_ns - a->end_ns;
    return a->rank->undated && b->rank->undated && (in_folder || between <= RECORDINGS_UNNAMED_NS);
}

/* Recordings of two sets. */
static bool times_fit(const struct recording_group *g, uint32_t rec_a, uint32_t rec_b)
{
    bool in_folder = g->list[rec_a].folder == g->list[rec_b].folder;
    bool fit = false;
    for (size_t i = g->first_item[rec_a]; i < g->first_item[rec_a + 1]; i++) {
        for (size_t k = g->first_item[rec_b]; k < g->first_item[rec_b + 1]; k++) {
            const struct recorded_rank *a = &g->items[i], *b = &g->items[k];
            if (!a->dated || !b->dated || a->begin_ns == UNKNOWN_NS || b->begin_ns == UNKNOWN_NS)
                return true;
            fit = fit || skewed(a, b) || rings(a, b, in_folder);
        }
    }
    return fit;
}

static bool fits_by_default(struct recording_group *g, uint32_t a, uint32_t b)
{
    if (!agree(g->sets[a].gpu, g->sets[b].gpu) || contradiction(g, a, b) != APART_NOT)
        return false;
    for (uint32_t x = a + 1; x != 0; x = g->sets[x - 1].next) {
        for (uint32_t y = b + 1; y != 0; y = g->sets[y - 1].next) {
            if (times_fit(g, x - 1, y - 1))
                return true;
        }
    }
    return false;
}

static void join_by_default(struct recording_group *g, bool in_folder)
{
    for (uint32_t b = 1; b < g->n; b++) {
        for (uint32_t a = 0; a < b && root_of(g, b) == b; a++) {
            if (root_of(g, a) == a && (!in_folder || g->list[a].folder == g->list[b].folder) &&
                fits_by_default(g, a, b))
                unite(g, a, b, 0);
        }
    }
}

/* ---- together ---- */

uint32_t recordings_group(struct recording *list, size_t n, bool unique_comms, struct arena *arena)
{
    struct recording_group g;
    uint32_t jobs = 0;
    group_init(&g, list, n, arena);
    join_processes(&g);
    if (unique_comms)
        join_comms(&g);
    struct recorded_rank **order = array_new(g.nitems + 1, sizeof *order);
    size_t count = 0;
    for (size_t i = 0; i < g.nitems; i++) {
        if (g.items[i].dated && g.items[i].begin_ns != UNKNOWN_NS)
            order[count++] = &g.items[i];
    }
    if (count > 0)
        qsort(order, count, sizeof *order, by_begin);
    join_overlapping(&g, order, count, true);
    join_overlapping(&g, order, count, false);
    free(order);
    join_by_default(&g, true);
    join_by_default(&g, false);
    for (size_t rec = 0; rec < g.n; rec++) {
        struct recording *r = &g.list[rec];
        r->processes = arena_alloc(arena, (r->part->nranks + 1) * sizeof *r->processes);
        for (size_t i = 0; i < r->part->nranks; i++)
            r->processes[i] = g.items[g.first_item[rec] + i].process;
    }
    for (uint32_t rec = 0; rec < g.n; rec++) {
        uint32_t root = root_of(&g, rec); /* not after it in the list */
        list[rec].job = root == rec ? jobs++ : list[root].job;
    }
    group_release(&g);
    return jobs;
}

/* The root of a job whose recordings become one set. */
static uint32_t unite_job(struct recording_group *g, uint32_t job)
{
    uint32_t first = 0;
    while (g->list[first].job != job)
        first++;
    for (uint32_t rec = first + 1; rec < g->n; rec++) {
        if (g->list[rec].job == job)
            unite(g, first, rec, 0);
    }
    return first;
}

/* Returns whether any recording of one job overlaps one of the other in time. */
static bool overlap(const struct recording_group *g, uint32_t job_a, uint32_t job_b)
{
    for (size_t i = 0; i < g->n; i++) {
        for (size_t k = 0; k < g->n; k++) {
            const struct recording *a = &g->list[i], *b = &g->list[k];
            if (a->job == job_a && b->job == job_b && a->begin_ns != UNKNOWN_NS &&
                b->begin_ns != UNKNOWN_NS && a->begin_ns < b->end_ns && b->begin_ns < a->end_ns)
                return true;
        }
    }
    return false;
}

const char *recordings_why(struct recording *list, size_t n, uint32_t job_a, uint32_t job_b,
                           struct arena *arena)
{
    struct recording_group g;
    uint32_t a, b;
    enum apart why;
    group_init(&g, list, n, arena);
    a = unite_job(&g, job_a);
    b = unite_job(&g, job_b);
    why = contradiction(&g, a, b);
    if (why == APART_NOT)
        why = overlap(&g, job_a, job_b) ? APART_TIE : APART_TIME;
    if (why >= APART_FULL && !agree(g.sets[a].gpu, g.sets[b].gpu))
        why = APART_GPU;
    group_release(&g);
    return apart_words[why];
}
