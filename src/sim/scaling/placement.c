/* SPDX-License-Identifier: MIT */
#include "sim/scaling/scaling.h"

#include "base/buf.h"
#include "base/idmap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int placement_per_node(const struct placement *p, const struct network_profile *net)
{
    if (p->per_node > 0)
        return p->per_node;
    return net->gpus_per_node >= 1 ? (int)net->gpus_per_node : 1;
}

int64_t placement_nodes(const struct placement *p, const struct network_profile *net, int64_t world)
{
    int per_node = placement_per_node(p, net);
    int64_t last = 0;
    if (p->kind != PLACE_LISTED)
        return (world + per_node - 1) / per_node;
    for (int64_t r = 0; r < p->count && r < world; r++)
        last = p->of[r] > last ? p->of[r] : last;
    return last + 1;
}

int64_t placement_node(const struct placement *p, const struct network_profile *net, int64_t rank,
                       int64_t world)
{
    if (p->kind == PLACE_LISTED)
        return rank < p->count ? p->of[rank] : 0;
    if (p->kind == PLACE_CYCLIC)
        return rank % placement_nodes(p, net, world);
    return rank / placement_per_node(p, net);
}

int64_t placement_slot(const struct placement *p, const struct network_profile *net, int64_t rank,
                       int64_t world)
{
    int64_t before = 0;
    if (p->kind == PLACE_CYCLIC)
        return rank / placement_nodes(p, net, world);
    if (p->kind == PLACE_BLOCK)
        return rank % placement_per_node(p, net);
    for (int64_t r = 0; r < rank && rank < p->count; r++)
        before += p->of[r] == p->of[rank];
    return before;
}

const char *placement_text(const struct placement *p, struct arena *arena)
{
    if (p->kind == PLACE_LISTED)
        return "as listed";
    if (p->per_node == 0)
        return p->kind == PLACE_CYCLIC ? "cyclic" : "block";
    return arena_printf(
        arena, p->kind == PLACE_CYCLIC ? "cyclic, %d a node" : "blocks of %d a node", p->per_node);
}

/* Hosts are numbered as they come. */
static int host_number(struct intern *names, struct idmap *hosts, const char *host)
{
    const char *name = intern_add(names, host, strlen(host));
    return (int)idmap_add(hosts, (int64_t)(intptr_t)name);
}

/* ---- lists ---- */

#define HOST_MAX 256
#define LISTED_MAX (1 << 24) /* ranks in a list */

/* A list of hosts while it is read. */
struct listing {
    const char *path;
    int line;
    struct intern names;
    struct idmap hosts; /* by address of the interned name */
    int *of;            /* owned; [count], -1: not said so far */
    size_t count, cap;
    bool by_rank, filled; /* which kinds of line there were */
};

static int bad_line(const struct listing *l, const char *what, struct err *e)
{
    return err_set(e, ERR_INPUT, "%s:%d: %s", l->path, l->line, what);
}

static int put_rank(struct listing *l, const char *rank_text, const char *host, struct err *e)
{
    char *end;
    long rank = strtol(rank_text, &end, 10);
    if (*end != '\0' || rank < 0 || rank >= LISTED_MAX)
        return bad_line(l, "neither HOST slots=K nor RANK HOST", e);
    for (; l->count <= (size_t)rank; l->count++) {
        ARRAY_GROW(l->of, l->cap, l->count + 1);
        l->of[l->count] = -1;
    }
    if (l->filled)
        return bad_line(l, "lines of hosts and lines of ranks do not go together", e);
    if (l->of[rank] >= 0)
        return bad_line(l, "the rank was listed before", e);
    l->of[rank] = host_number(&l->names, &l->hosts, host);
    l->by_rank = true;
    return 0;
}

static int put_slots(struct listing *l, const char *host, const char *slots_text, struct err *e)
{
    char *end;
    long slots = strtol(slots_text, &end, 10);
    int node;
    if (*end != '\0' || end == slots_text || slots < 1 || slots > LISTED_MAX - (long)l->count)
        return bad_line(l, "slots: a number above 0", e);
    if (l->by_rank)
        return bad_line(l, "lines of hosts and lines of ranks do not go together", e);
    node = host_number(&l->names, &l->hosts, host);
    ARRAY_GROW(l->of, l->cap, l->count + (size_t)slots);
    for (long i = 0; i < slots; i++)
        l->of[l->count++] = node;
    l->filled = true;
    return 0;
}

static int put_line(struct listing *l, char *line, struct err *e)
{
    char first[HOST_MAX], second[HOST_MAX], rest[2], *colon;
    int n;
    line[strcspn(line, "#\r\n")] = '\0';
    n = sscanf(line, "%255s %255s %1s", first, second, rest);
    if (n <= 0)
        return 0;
    if (n == 3)
        return bad_line(l, "neither HOST slots=K nor RANK HOST", e);
    colon = strchr(first, ':');
    if (n == 1 && colon != NULL)
        *colon = '\0';
    if (n == 1)
        return put_slots(l, first, colon != NULL ? colon + 1 : "1", e);
    if (strncmp(second, "slots=", 6) == 0)
        return put_slots(l, first, second + 6, e);
    return put_rank(l, first, second, e);
}

static int check_list(struct listing *l, struct err *e)
{
    if (l->count == 0)
        return err_set(e, ERR_INPUT, "%s: no host in it", l->path);
    for (size_t r = 0; r < l->count; r++) {
        if (l->of[r] < 0)
            return err_set(e, ERR_INPUT, "%s: rank %zu is not in it", l->path, r);
    }
    return 0;
}

static int read_lines(struct listing *l, FILE *file, struct err *e)
{
    char *line = NULL;
    size_t cap = 0;
    int rc = 0;
    while (rc == 0 && getline(&line, &cap, file) >= 0) {
        l->line++;
        rc = put_line(l, line + (l->line == 1 ? text_bom_len(line, strlen(line)) : 0), e);
    }
    if (rc == 0 && ferror(file))
        rc = err_set(e, ERR_INPUT, "%s: %s", l->path, strerror(errno));
    free(line);
    return rc == 0 ? check_list(l, e) : rc;
}

static int read_list(struct placement *p, const char *path, struct arena *arena, struct err *e)
{
    struct listing l = {.path = path};
    FILE *file = fopen(path, "r");
    int rc, *of;
    if (file == NULL)
        return err_set(e, ERR_INPUT, "--placement 'file=%s': %s", path, strerror(errno));
    intern_init(&l.names, arena);
    rc = read_lines(&l, file, e);
    if (rc == 0) {
        of = arena_alloc(arena, l.count * sizeof *of);
        memcpy(of, l.of, l.count * sizeof *of);
        *p = (struct placement){.kind = PLACE_LISTED, .of = of, .count = (int64_t)l.count};
    }
    free(l.of);
    intern_release(&l.names);
    idmap_release(&l.hosts);
    fclose(file);
    return rc;
}

/* ---- from the command line ---- */

int placement_parse(struct placement *p, const char *text, struct arena *arena, struct err *e)
{
    char *end;
    long per_node;
    *p = (struct placement){.kind = PLACE_BLOCK};
    if (strcmp(text, "block") == 0)
        return 0;
    if (strcmp(text, "cyclic") == 0) {
        p->kind = PLACE_CYCLIC;
        return 0;
    }
    if (strncmp(text, "file=", 5) == 0)
        return read_list(p, text + 5, arena, e);
    if (strncmp(text, "spread=", 7) != 0)
        return err_set(e, ERR_USAGE, "--placement '%s': one of block, cyclic, spread=K, file=PATH",
                       text);
    per_node = strtol(text + 7, &end, 10);
    if (*end != '\0' || end == text + 7 || per_node < 1 || per_node > 1 << 16)
        return err_set(e, ERR_USAGE, "--placement '%s': K is a number of ranks a node", text);
    p->per_node = (int)per_node;
    return 0;
}

static int check_list_fits(const struct placement *p, int per_node, int64_t world, struct err *e)
{
    int64_t nodes = 0;
    int *held, rc = 0;
    if (p->count < world)
        return err_set(e, ERR_USAGE, "--placement: the list holds %lld ranks of %lld",
                       (long long)p->count, (long long)world);
    for (int64_t r = 0; r < p->count; r++)
        nodes = p->of[r] >= nodes ? p->of[r] + 1 : nodes;
    held = array_new((size_t)nodes, sizeof *held);
    for (int64_t r = 0; r < world && rc == 0; r++) {
        if (++held[p->of[r]] > per_node)
            rc = err_set(e, ERR_USAGE,
                         "--placement: rank %lld is the %dth on its node, which has %d GPUs",
                         (long long)r, held[p->of[r]], per_node);
    }
    free(held);
    return rc;
}

int placement_check(const struct placement *p, const struct network_profile *net, int64_t world,
                    struct err *e)
{
    const struct placement block = {.kind = PLACE_BLOCK};
    int gpus = placement_per_node(&block, net);
    if (p->per_node > gpus)
        return err_set(e, ERR_USAGE, "--placement: %d ranks a node, but a node of '%s' has %d GPUs",
                       p->per_node, net->name, gpus);
    return p->kind == PLACE_LISTED ? check_list_fits(p, gpus, world, e) : 0;
}

/* ---- from a recording ---- */

/* Finds the host of each rank, numbered as they come; false where one is not known. */
static bool number_hosts(const struct run *run, int world, int *of, struct arena *arena)
{
    struct idmap hosts = {0};
    struct intern names;
    int known = 0;
    intern_init(&names, arena);
    for (int r = 0; r < world; r++)
        of[r] = -1;
    for (size_t r = 0; r < run->nranks; r++) {
        const struct rank *rank = &run->ranks[r];
        if (rank->rank < 0 || rank->rank >= world || rank->host[0] == '\0' || of[rank->rank] >= 0)
            continue;
        of[rank->rank] = host_number(&names, &hosts, rank->host);
        known++;
    }
    idmap_release(&hosts);
    intern_release(&names);
    return known == world;
}

/* The regular placement that a list is; the list itself where it is none. */
static struct placement recognise(const int *of, int world, int nodes, int fullest)
{
    struct placement p = {.kind = PLACE_BLOCK, .per_node = fullest};
    bool block = true, cyclic = true;
    for (int r = 0; r < world; r++) {
        block = block && of[r] == r / fullest;
        cyclic = cyclic && of[r] == r % nodes;
    }
    if (block)
        return p;
    p.kind = PLACE_CYCLIC;
    if (cyclic && (world + fullest - 1) / fullest == nodes)
        return p;
    return (struct placement){.kind = PLACE_LISTED, .of = of, .count = world};
}

bool placement_of_hosts(struct placement *p, const struct run *run, int world,
                        const struct network_profile *net, struct arena *arena, const char **why)
{
    const struct placement block = {.kind = PLACE_BLOCK};
    int *of = arena_alloc(arena, (size_t)world * sizeof *of), nodes = 0, fullest = 0;
    int *held = arena_alloc(arena, (size_t)world * sizeof *held);
    *why = NULL;
    *p = block;
    if (!number_hosts(run, world, of, arena))
        return false;
    for (int r = 0; r < world; r++) {
        nodes = of[r] >= nodes ? of[r] + 1 : nodes;
        fullest = ++held[of[r]] > fullest ? held[of[r]] : fullest;
    }
    if (fullest > placement_per_node(&block, net)) {
        *why = arena_printf(arena, "a host of the recording holds %d ranks, a node of %s %d GPUs",
                            fullest, net->name, placement_per_node(&block, net));
        return false;
    }
    if (nodes == 1)
        return false;
    *p = recognise(of, world, nodes, fullest);
    if (p->per_node == placement_per_node(&block, net))
        p->per_node = 0;
    return true;
}
