/* SPDX-License-Identifier: MIT
 *
 * Tiles, waves and split k. Every option is open to every shape, and the time of each never falls
 * when a dimension grows; so the time of the fastest never does.
 */
#include "model/gemm_tiles.h"

#include <assert.h>
#include <math.h>

/* Share of the shorter of work and memory traffic that is not hidden behind the longer. */
#define EXPOSED 0.3

/* Share of a wave that is not full which is lost: kernels that cut the last wave finer (stream-k),
 * and the choice among many tiles, save the rest. */
#define RAGGED 0.15

#define STEP_BYTES 128 /* of a row of A or B: what a tile's pipeline takes in at once */
#define MIN_SPLIT_K 256

struct tile {
    double m, n;
};

/* Large ones first: they set the mark that lets the others be skipped. */
static const struct tile tiles[] = {
    {256, 256}, {256, 128}, {128, 256}, {128, 128}, {256, 64}, {64, 256},
    {128, 64},  {64, 128},  {64, 64},   {128, 32},  {32, 128}, {64, 32},
    {32, 64},   {128, 16},  {16, 128},  {64, 16},   {16, 64},
};
static const double splits[] = {1, 2, 3, 4, 6, 8, 12, 16, 32};

#define COUNT(_array) (sizeof(_array) / sizeof *(_array))

double tiles_overlap(double a_us, double b_us)
{
    return fmax(a_us, b_us) + EXPOSED * fmin(a_us, b_us);
}

/* One tile through `k` of k. */
static struct tile_time time_of(const struct tile_rates *r, const struct gemm_shape *s,
                                const struct tile *tile, double k)
{
    double rows = fmin(tile->m, (double)s->m), columns = fmin(tile->n, (double)s->n);
    return (struct tile_time){
        .compute_us = 2 * tile->m * tile->n * k / r->flops,
        .l2_us = (rows + columns) * k * r->in_size / r->in_bytes,
        .steps_us = k * r->in_size / STEP_BYTES * r->step_us,
        .ends_us = r->tile_us + rows * columns * r->out_size / r->out_bytes,
    };
}

static double loop_us(const struct tile_time *t)
{
    return fmax(t->compute_us, fmax(t->l2_us, t->steps_us));
}

static const char *bound_of(const struct tile_time *t)
{
    double longest = loop_us(t);
    if (t->ends_us >= longest)
        return "latency";
    if (t->compute_us >= longest)
        return "compute";
    return t->l2_us >= longest ? "l2" : "latency";
}

static double batch_of(const struct gemm_shape *s)
{
    return s->batch > 0 ? (double)s->batch : 1;
}

static double tile_count(const struct gemm_shape *s, const struct tile *tile)
{
    return ceil((double)s->m / tile->m) * ceil((double)s->n / tile->n) * batch_of(s);
}

static double part_of_k(const struct gemm_shape *s, double split)
{
    double k = (double)s->k;
    return split > 1 ? fmax(ceil(k / split), MIN_SPLIT_K) : k;
}

/* Partial results are written, and read again to be added up. */
static double split_us(const struct tile_rates *r, const struct gemm_shape *s, double split)
{
    double results = (double)s->m * (double)s->n * batch_of(s);
    return split > 1 ? r->split_us + 8 * split * results / r->all_bytes : 0;
}

/* Fills work_us, waves and bound for one tile size. */
static void do_work(const struct tile_rates *r, const struct gemm_shape *shapes, size_t count,
                    const struct tile *tile, double split, struct tile_choice *out)
{
    double total_us = 0, longest_us = 0, waves = 0;
    for (size_t i = 0; i < count; i++) {
        struct tile_time t = time_of(r, &shapes[i], tile, part_of_k(&shapes[i], split));
        double us = loop_us(&t) + t.ends_us;
        double share = tile_count(&shapes[i], tile) * split / r->sms;
        total_us += share * us;
        waves += share;
        if (us >= longest_us) {
            longest_us = us;
            out->tile = t;
        }
    }
    out->waves = waves;
    out->bound = bound_of(&out->tile);
    out->work_us = longest_us;
    if (waves > 1)
        out->work_us = fmax(longest_us, total_us + (ceil(waves) - waves) * RAGGED * longest_us);
}

static struct tile_choice price(const struct tile_rates *r, const struct gemm_shape *shapes,
                                size_t count, const struct tile *tile, double split, double mem_us)
{
    struct tile_choice c = {.m = tile->m, .n = tile->n, .split = split};
    c.split_us = split_us(r, &shapes[0], split);
    do_work(r, shapes, count, tile, split, &c);
    c.us = tiles_overlap(c.work_us, mem_us) + c.split_us;
    return c;
}

static bool is_open(const struct tile_rates *r, const struct tile *tile)
{
    return fmax(tile->m, tile->n) >= r->min_side;
}

/* No way to use this tile is faster than its arithmetic on all multiprocessors, or its traffic. */
static double floor_us(const struct tile_rates *r, const struct gemm_shape *shapes, size_t count,
                       const struct tile *tile, double mem_us)
{
    double sum_us = 0;
    for (size_t i = 0; i < count; i++)
        sum_us += tile_count(&shapes[i], tile) / r->sms * 2 * tile->m * tile->n *
                  (double)shapes[i].k / r->flops;
    return fmax(sum_us, mem_us);
}

struct tile_choice tiles_choose(const struct tile_rates *rates, const struct gemm_shape *shapes,
                                size_t count, double mem_us)
{
    size_t nsplits = rates->may_split && count == 1 ? COUNT(splits) : 1;
    struct tile_choice best = {.us = INFINITY, .bound = "latency"};
    for (size_t i = 0; i < COUNT(tiles); i++) {
        double least_us;
        if (!is_open(rates, &tiles[i]))
            continue;
        least_us = floor_us(rates, shapes, count, &tiles[i], mem_us);
        for (size_t s = 0; s < nsplits; s++) {
            struct tile_choice c;
            if (least_us + split_us(rates, &shapes[0], splits[s]) >= best.us)
                break;
            c = price(rates, shapes, count, &tiles[i], splits[s], mem_us);
            if (c.us < best.us)
                best = c;
        }
    }
    return best;
}

size_t tiles_all(const struct tile_rates *rates, const struct gemm_shape *shape, double mem_us,
                 struct tile_choice out[TILES_MAX])
{
    size_t nsplits = rates->may_split ? COUNT(splits) : 1, n = 0;
    static_assert(COUNT(tiles) * COUNT(splits) == TILES_MAX, "room for all of them");
    for (size_t i = 0; i < COUNT(tiles); i++) {
        for (size_t s = 0; s < nsplits && is_open(rates, &tiles[i]); s++)
            out[n++] = price(rates, shape, 1, &tiles[i], splits[s], mem_us);
    }
    return n;
}
