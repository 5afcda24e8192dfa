/* SPDX-License-Identifier: MIT */
#include "trace/align.h"

#include "base/hash.h"
#include "base/idmap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two boots of one host name (or two machines of that name) have clocks that differ by more. The
 * ranks of one boot differ by steps of the wall clock between their starts, and under a virtual
 * clock, as the stand-in GPU stack has, by the real time between them. */
#define SAME_BOOT_NS ((int64_t)120 * 1000000000)

/* Clocks that differ by more than this, and by less than SAME_BOOT_NS, may be one or two;
 * collectives tell. */
#define SURELY_SAME_NS ((int64_t)1000000000)

/* ---- which ranks share a clock ---- */

struct wall {
    const char *host;
    int block;         /* machine number where only its size is known */
    int64_t offset_ns; /* wall clock minus the clock of the times */
    bool dated;
    bool zero;     /* its times have a zero of their own: it is no wall clock, and like none */
    int like;      /* the first that may be the same clock */
    uint32_t next; /* the next of its machine's, plus one; 0: none */
};

struct walls {
    struct wall *list; /* owned; by domain */
    size_t count, cap;
    bool alike;                     /* some may be the same clock */
    struct idmap machines;          /* by host and block */
    struct clock_chain *of_machine; /* owned: the dated clocks of each */
    size_t cap_machines;
};

struct clock_chain {
    uint32_t first, last; /* index, plus one; 0: none */
};

static struct wall wall_of(const struct rank *rank)
{
    struct wall d = {.host = rank->host,
                     .dated = rank->mono_ns != UNKNOWN_NS && rank->real_ns != UNKNOWN_NS,
                     .zero = rank->host_zero};
    if (d.dated)
        d.offset_ns = rank->real_ns - rank->mono_ns;
    if (rank->host[0] == '\0' && rank->host_gpus > 0)
        d.block = rank->rank / rank->host_gpus;
    return d;
}

/* Undated clocks (each process its own zero) are never the same. */
static bool same_clock(const struct wall *a, const struct wall *b, int64_t within_ns)
{
    int64_t apart = a->offset_ns - b->offset_ns;
    return a->dated && b->dated && strcmp(a->host, b->host) == 0 && a->block == b->block &&
           apart < within_ns && apart > -within_ns;
}

bool ranks_share_clock(const struct rank *a, const struct rank *b)
{
    struct wall x = wall_of(a), y = wall_of(b);
    return a->rank >= 0 && b->rank >= 0 && same_clock(&x, &y, SURELY_SAME_NS);
}

static int64_t machine_key(const struct wall *d)
{
    const uint64_t block = (uint64_t)d->block;
    return (int64_t)hash_mix(hash_bytes(HASH_BYTES, d->host, strlen(d->host)), block);
}

/* The first that is the same clock; walls->count: none. */
static size_t find_clock(const struct walls *walls, const struct wall *d, int64_t within_ns)
{
    const uint32_t machine = d->dated ? idmap_find(&walls->machines, machine_key(d)) : IDMAP_NONE;
    uint32_t at = machine != IDMAP_NONE ? walls->of_machine[machine].first : 0;
    while (at != 0 && !same_clock(&walls->list[at - 1], d, within_ns))
        at = walls->list[at - 1].next;
    return at != 0 ? at - 1 : walls->count;
}

static void add_clock(struct walls *walls, const struct wall *d)
{
    struct clock_chain *chain;
    uint32_t machine;
    ARRAY_GROW(walls->list, walls->cap, walls->count + 1);
    walls->list[walls->count++] = *d;
    if (!d->dated)
        return;
    machine = idmap_add(&walls->machines, machine_key(d));
    ARRAY_GROW(walls->of_machine, walls->cap_machines, (size_t)machine + 1);
    chain = &walls->of_machine[machine];
    if (chain->first == 0)
        chain->first = (uint32_t)walls->count;
    else
        walls->list[chain->last - 1].next = (uint32_t)walls->count;
    chain->last = (uint32_t)walls->count;
}

/* Returns whether the rank has times to compare: not where it recorded no operation, and others
 * did. */
static bool has_times(const struct run *run, const struct rank *rank, size_t recorded)
{
    return rank->nops > 0 || recorded == run->nranks;
}

/* Domains of what is surely one clock. Ranks without times to compare make no domain of their own:
 * what is of no other is of the first. */
static void number_domains(struct run *run, struct walls *walls)
{
    const size_t recorded = run_recorded_ranks(run);
    for (size_t r = 0; r < run->nranks; r++) {
        struct wall d = wall_of(&run->ranks[r]);
        size_t i = find_clock(walls, &d, SURELY_SAME_NS), like;
        if (!has_times(run, &run->ranks[r], recorded))
            continue;
        if (i == walls->count) {
            like = find_clock(walls, &d, SAME_BOOT_NS);
            d.like = like < walls->count ? walls->list[like].like : (int)i;
            walls->alike |= d.like != (int)i;
            add_clock(walls, &d);
        }
        run->ranks[r].domain = (int)i;
    }
    for (size_t r = 0; r < run->nranks; r++) {
        struct wall d = wall_of(&run->ranks[r]);
        size_t i = find_clock(walls, &d, SURELY_SAME_NS);
        if (!has_times(run, &run->ranks[r], recorded))
            run->ranks[r].domain = i < walls->count ? (int)i : 0;
    }
}

/* Joins domains that may be one clock and whose collectives do not say otherwise. */
static void join_domains(struct run *run, struct walls *walls, const struct domain_map *maps)
{
    int *new = array_new(walls->count + 1, sizeof *new);
    int *kept = array_new(walls->count + 1, sizeof *kept), n = 0; /* old numbers */
    for (size_t i = 0; i < walls->count; i++) {
        int k = walls->list[i].like == (int)i ? n : 0;
        for (; k < n; k++) {
            const struct domain_map *a = &maps[kept[k]], *b = &maps[i];
            double apart = (double)a->line.offset_ns - (double)b->line.offset_ns;
            if (walls->list[kept[k]].like == walls->list[i].like &&
                (a->why != ALIGNED || b->why != ALIGNED || fabs(apart) < SURELY_SAME_NS))
                break;
        }
        if (k == n)
            kept[n++] = (int)i;
        new[i] = k;
    }
    for (size_t r = 0; r < run->nranks; r++)
        run->ranks[r].domain = new[run->ranks[r].domain];
    for (int k = 0; k < n; k++)
        walls->list[k] = walls->list[kept[k]];
    walls->count = (size_t)n;
    free(new);
    free(kept);
}

/* ---- what is said of it ---- */

static const char *put_time(char *out, size_t size, double ns)
{
    if (fabs(ns) >= 1e9)
        snprintf(out, size, "%.3f s", ns / 1e9);
    else if (fabs(ns) >= 1e6)
        snprintf(out, size, "%.3f ms", ns / 1e6);
    else
        snprintf(out, size, "%.1f us", ns / 1e3);
    return out;
}

#define TIME_TEXT_SIZE 40

/* The largest of each over the domains after the first. */
struct align_summary {
    double offset_ns, drift, drift_err, residual_ns, wall_ns;
    uint64_t anchors; /* the least */
    bool dated;
};

static void take_larger(double *most, double value)
{
    if (fabs(value) > fabs(*most))
        *most = value;
}

static void note_aligned(struct run *run, const struct walls *walls)
{
    struct align_summary s = {.anchors = UINT64_MAX, .dated = true};
    for (size_t i = 0; i < walls->count; i++) {
        const struct domain *d = &run->domains[i];
        s.dated &= walls->list[i].dated;
        if (i == 0)
            continue;
        take_larger(&s.offset_ns, (double)d->offset_ns);
        take_larger(&s.wall_ns, (double)d->offset_ns - (double)walls->list[i].offset_ns +
                                    (double)walls->list[0].offset_ns);
        take_larger(&s.drift, d->drift);
        take_larger(&s.drift_err, d->drift_err);
        take_larger(&s.residual_ns, d->residual_ns);
        s.anchors = d->anchors < s.anchors ? d->anchors : s.anchors;
    }
    char offset[TIME_TEXT_SIZE], residual[TIME_TEXT_SIZE], wall[TIME_TEXT_SIZE], drift[64],
        apart[96] = "";
    bool two = walls->count == 2;
    if (s.drift != 0)
        snprintf(drift, sizeof drift, "%.1f ppm", s.drift * 1e6);
    else
        snprintf(drift, sizeof drift, "under %.1f ppm",
                 fmin(FIT_SLOPE_SURE * s.drift_err, CRYSTAL_DRIFT) * 1e6);
    if (s.dated && fabs(s.wall_ns - s.offset_ns) > 1e6)
        snprintf(apart, sizeof apart, " (wall clocks: %s)", put_time(wall, sizeof wall, s.wall_ns));
    run_note(run, false,
             "clocks of %zu %s aligned by %llu%s collectives: %s %s%s, drift %s, residual %s",
             walls->count, s.dated ? "hosts" : "processes", (unsigned long long)s.anchors,
             two ? "" : " or more", two ? "offset" : "offsets up to",
             put_time(offset, sizeof offset, s.offset_ns), apart, drift,
             put_time(residual, sizeof residual, s.residual_ns));
}

static void put_why(char *out, size_t size, const struct domain_map *map, uint64_t one_sided)
{
    unsigned long long n = map->anchors;
    char time[TIME_TEXT_SIZE], limit[TIME_TEXT_SIZE];
    put_time(time, sizeof time, map->why == NOT_CERTAIN ? map->error_ns : map->residual_ns);
    put_time(limit, sizeof limit, ALIGN_ERROR_MAX_NS);
    if (map->why == NOT_STEADY)
        snprintf(out, size,
                 "the ends of %llu common collectives are %s from a steady clock, %s are "
                 "allowed",
                 n, time, limit);
    else if (map->why == NOT_CERTAIN)
        snprintf(out, size,
                 "the ends of %llu common collectives tell times to %s only, %s are wanted", n,
                 time, limit);
    else if (map->why == JOINED_BY_FEW)
        snprintf(out, size, "%llu common collective%s with device times, %d are needed", n,
                 n == 1 ? "" : "s", FIT_POINTS_MIN);
    else if (n > 0)
        snprintf(out, size, "collectives join them to hosts that are not aligned themselves");
    else
        snprintf(out, size, "no collective with device times that ends on all of them at once%s",
                 one_sided > 0 ? ", only messages and operations with a root" : "");
}

/* Without names of hosts and with one GPU in sight of each process the machines are not known. */
static void note_unaligned(struct run *run, const struct walls *walls,
                           const struct domain_map *maps, uint64_t one_sided)
{
    char why[192], which[96] = "";
    size_t n = 0, first = 0;
    bool dated = true, named = false, zero = false;
    for (size_t i = walls->count; i-- > 0;) {
        dated &= walls->list[i].dated;
        zero |= walls->list[i].zero;
        named |= walls->list[i].host[0] != '\0' || run->ranks[0].host_gpus != 1;
        if (!run->domains[i].aligned) {
            first = i;
            n++;
        }
    }
    put_why(why, sizeof why, &maps[first], one_sided);
    if (n + 1 < walls->count)
        snprintf(which, sizeof which, "%zu of them ", n);
    if (zero)
        run_note(run, false,
                 "ranks on %zu machines, %swithout a common clock (times have a zero of each "
                 "machine's own): times are not compared across machines (%s)",
                 walls->count, which, why);
    else if (dated && !named)
        run_note(run, false,
                 "the traces name no hosts, and the ranks are aligned by their wall clocks only: "
                 "times are not compared across ranks (%s)",
                 why);
    else if (dated)
        run_note(run, false,
                 "ranks on %zu machines, %saligned by their wall clocks only: times are not "
                 "compared across machines (%s)",
                 walls->count, which, why);
    else
        run_note(run, false,
                 "the ranks have no common clock (no clock records): times are not compared across "
                 "ranks (%s)",
                 why);
}

/* ---- together ---- */

/* Sets the mapping of a domain: its line where it is aligned; else the distance of the wall clocks,
 * which are taken to agree. */
static void set_domain(struct run *run, int d, const struct walls *walls,
                       const struct domain_map *map)
{
    struct domain *domain = &run->domains[d];
    *domain = (struct domain){.host = walls->list[d].host,
                              .aligned = map->why == ALIGNED,
                              .anchors = map->anchors,
                              .residual_ns = map->residual_ns,
                              .error_ns = NAN,
                              .offset_err_ns = NAN,
                              .drift_err = NAN};
    if (domain->aligned) {
        domain->offset_ns = map->line.offset_ns;
        domain->drift = map->line.drift;
        domain->at_ns = map->line.at_ns;
        domain->offset_err_ns = map->offset_err_ns;
        domain->drift_err = map->drift_err;
        domain->error_ns = map->error_ns;
    } else if (walls->list[d].dated && walls->list[0].dated) {
        domain->offset_ns = walls->list[d].offset_ns - walls->list[0].offset_ns;
    }
}

/* The mappings of all domains as they are numbered now. Owned by the caller. */
static struct domain_map *find_maps(const struct run *run, size_t n, uint64_t *one_sided)
{
    struct domain_map *maps = array_new(n + 1, sizeof *maps);
    if (n > 1)
        tree_map(maps, (int)n, run, one_sided);
    return maps;
}

void clocks_align(struct run *run)
{
    struct walls walls = {0};
    struct domain_map *maps;
    uint64_t one_sided = 0;
    number_domains(run, &walls);
    maps = find_maps(run, walls.count, &one_sided);
    if (walls.alike) {
        join_domains(run, &walls, maps);
        free(maps);
        maps = find_maps(run, walls.count, &one_sided);
    }
    run->ndomains = (int)walls.count;
    run->domains = arena_alloc(&run->arena, (walls.count + 1) * sizeof *run->domains);
    run->clock_aligned = true;
    run->clock_residual_ns = 0;
    for (int d = 0; d < run->ndomains; d++) {
        set_domain(run, d, &walls, &maps[d]);
        run->clock_aligned &= run->domains[d].aligned;
        run->clock_residual_ns = fmax(run->clock_residual_ns, run->domains[d].error_ns);
    }
    if (!run->clock_aligned)
        run->clock_residual_ns = NAN;
    for (size_t r = 0; r < run->nranks; r++) {
        const struct domain *d = &run->domains[run->ranks[r].domain];
        struct clock_line line = {d->offset_ns, d->at_ns, d->drift};
        if (run->ranks[r].domain == 0 || (d->offset_ns == 0 && d->drift == 0))
            continue;
        rank_map(&run->ranks[r], &line);
        run->ranks[r].mono_ns = clock_line_map(&line, run->ranks[r].mono_ns);
    }
    if (!run->clock_aligned)
        note_unaligned(run, &walls, maps, one_sided);
    else if (walls.count > 1)
        note_aligned(run, &walls);
    free(maps);
    free(walls.list);
    free(walls.of_machine);
    idmap_release(&walls.machines);
}
