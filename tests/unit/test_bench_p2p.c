/* SPDX-License-Identifier: MIT
 *
 * The plan of `bench p2p`, and fits of links to times that were made from known figures.
 */
#include "bench/checks.h"
#include "bench/links.h"
#include "bench/p2p.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GPUS 4
#define CONFIGS (GPUS * (GPUS - 1) * BENCH_P2P_SIZES)
#define REPEATS 10

static size_t make_plan(uint64_t seed, struct bench_p2p_config **list)
{
    uint64_t sizes[BENCH_P2P_SIZES];
    for (int i = 0; i < BENCH_P2P_SIZES; i++)
        sizes[i] = UINT64_C(1) << i;
    return bench_p2p_configs(GPUS, sizes, BENCH_P2P_SIZES, seed, list);
}

TEST(p2p_ids_do_not_depend_on_the_seed)
{
    struct bench_p2p_config *list, *first = NULL;
    for (uint64_t seed = BENCH_P2P_SEED; seed < BENCH_P2P_SEED + 20; seed++) {
        bool seen[CONFIGS] = {false};
        CHECK_INT(make_plan(seed, &list), CONFIGS);
        CHECK_INT(CONFIGS * REPEATS, 3720);
        for (int i = 0; i < CONFIGS; i++) {
            const struct bench_p2p_config *c = &list[i];
            int pair = c->id / BENCH_P2P_SIZES, src = pair / (GPUS - 1), dst = pair % (GPUS - 1);
            CHECK(c->id >= 0 && c->id < CONFIGS && !seen[c->id]);
            seen[c->id] = true;
            CHECK_INT(c->src, src);
            CHECK_INT(c->dst, dst + (dst >= src));
            CHECK_INT(c->bytes, INT64_C(1) << c->id % BENCH_P2P_SIZES);
        }
        if (first == NULL) {
            first = list;
            continue;
        }
        CHECK(memcmp(first, list, CONFIGS * sizeof *list) != 0);
        free(list);
    }
    free(first);
}

TEST(p2p_order_is_that_of_the_seed)
{
    struct bench_p2p_config *list, *again;
    size_t n = make_plan(BENCH_P2P_SEED, &list), moved = 0;
    make_plan(BENCH_P2P_SEED, &again);
    CHECK(memcmp(list, again, n * sizeof *list) == 0);
    for (size_t i = 0; i < n; i++)
        moved += list[i].id != (int)i;
    CHECK(moved > n * 9 / 10);
    free(list);
    free(again);
    CHECK_INT(bench_p2p_configs(1, NULL, 0, 1, &list), 0);
    free(list);
}

/* ---- links ---- */

/* Up to three pieces, and noise that repeats itself. */
struct true_curve {
    struct {
        uint64_t until; /* bytes, not included */
        double alpha_us, beta_GBps;
    } pieces[3];
    double noise;
};

static double true_us(const struct true_curve *t, uint64_t bytes)
{
    int i = 0;
    while (bytes >= t->pieces[i].until)
        i++;
    return t->pieces[i].alpha_us + (double)bytes / t->pieces[i].beta_GBps / 1e3;
}

static double noise_of(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1;
    return (double)(*state >> 40) / (double)(1 << 24);
}

static void fill_log(struct bench_p2p_log *log, int ranks,
                     const struct true_curve *(*truth_of)(int src, int dst))
{
    uint64_t state = 7;
    *log = (struct bench_p2p_log){.ranks = ranks};
    for (int src = 0; src < ranks; src++) {
        for (int dst = 0; dst < ranks; dst++) {
            for (int i = BENCH_P2P_SIZES; i-- > 0 && src != dst;) {
                struct bench_p2p_config c = {BENCH_P2P_ONE_WAY, 0, src, dst, UINT64_C(1) << i};
                const struct true_curve *t = truth_of(src, dst);
                struct bench_p2p_done *d = bench_p2p_log_add(log, &c, REPEATS);
                for (int k = 0; k < REPEATS; k++)
                    d->repeats[k].time =
                        true_us(t, c.bytes) * (1 + t->noise * (noise_of(&state) - 0.5));
            }
        }
    }
}

static const struct true_curve sound = {{{UINT64_MAX, 8, 400}}, 0.03};
static const struct true_curve slow = {{{UINT64_MAX, 8, 160}}, 0.03};
static const struct true_curve late = {{{UINT64_MAX, 12, 400}}, 0.03};
static const struct true_curve protocols = {
    {{4096, 6, 20}, {1 << 20, 11, 150}, {UINT64_MAX, 20, 300}}, 0.03};

static const struct true_curve *all_protocols(int src, int dst)
{
    (void)src;
    (void)dst;
    return &protocols;
}

static const struct true_curve *all_sound(int src, int dst)
{
    (void)src;
    (void)dst;
    return &sound;
}

static const struct true_curve *two_to_three(int src, int dst)
{
    return src == 2 && dst == 3 ? &slow : &sound;
}

static const struct true_curve *gpu_three(int src, int dst)
{
    return src == 3 || dst == 3 ? &slow : &sound;
}

static const struct true_curve *late_pair(int src, int dst)
{
    return src + dst == 1 ? &late : &sound;
}

/* Links of a log of 4 GPUs on one node, and what is found. The caller frees. */
static size_t find(const struct true_curve *(*truth_of)(int, int), struct bench_links *links,
                   struct bench_link_finding **list)
{
    static const int nodes[GPUS] = {0};
    struct bench_p2p_log log;
    fill_log(&log, GPUS, truth_of);
    bench_links_fit(&log, nodes, links);
    bench_p2p_log_release(&log);
    return bench_link_findings(links, list);
}

TEST(link_fit_finds_alpha_beta_and_no_fault)
{
    struct bench_links links;
    struct bench_link_finding *list;
    CHECK_INT(find(all_sound, &links, &list), 0);
    for (int i = 0; i < GPUS * GPUS; i++) {
        const struct bench_link *l = &links.list[i];
        if (l->src == l->dst)
            continue;
        CHECK_INT(l->npieces, 1);
        CHECK_DOUBLE(l->alpha_us, 8, 0.01);
        CHECK_DOUBLE(l->beta_GBps, 400, 0.01);
        CHECK(l->alpha_low_us <= l->alpha_us && l->alpha_us <= l->alpha_high_us);
        CHECK(l->beta_low_GBps < l->beta_high_GBps && l->beta_high_GBps < 1.02 * l->beta_low_GBps);
        CHECK(l->error < 0.01);
    }
    CHECK_INT(links.kinds[1].n, 12);
    CHECK_INT(links.kinds[0].n, 0);
    free(list);
    bench_links_release(&links);
}

TEST(link_fit_finds_switches_of_protocols)
{
    struct bench_links links;
    struct bench_link_finding *list;
    const struct bench_link *l;
    CHECK_INT(find(all_protocols, &links, &list), 0);
    l = bench_link_of(&links, 0, 1);
    CHECK_INT(l->npieces, 3);
    CHECK_INT(l->pieces[0].to, 2048);
    CHECK_INT(l->pieces[1].from, 4096);
    CHECK_INT(l->pieces[2].from, 1 << 20);
    CHECK_DOUBLE(l->alpha_us, 6, 0.01);
    CHECK_DOUBLE(l->pieces[1].alpha_us, 11, 0.02);
    CHECK_DOUBLE(l->beta_GBps, 300, 0.01);
    free(list);
    bench_links_release(&links);
}

TEST(link_findings_name_links_pairs_and_gpus)
{
    struct bench_links links;
    struct bench_link_finding *list;
    CHECK_INT(find(two_to_three, &links, &list), 1);
    CHECK(list[0].fault == BENCH_LINK_SLOW && list[0].src == 2 && list[0].dst == 3);
    CHECK_DOUBLE(list[0].ratio, 0.4, 0.02);
    CHECK_DOUBLE(bench_link_of(&links, 2, 3)->back_ratio, 0.4, 0.02);
    free(list);
    bench_links_release(&links);

    CHECK_INT(find(gpu_three, &links, &list), 1);
    CHECK(list[0].whole && list[0].src == 3 && list[0].links == 6);
    free(list);
    bench_links_release(&links);

    CHECK_INT(find(late_pair, &links, &list), 1);
    CHECK(list[0].fault == BENCH_LINK_LATE && list[0].src == 0 && list[0].dst == 1);
    CHECK_DOUBLE(list[0].ratio, 1.5, 0.02);
    free(list);
    bench_links_release(&links);
}

TEST(links_heat_is_the_temperature_that_times_go_with)
{
    static const int nodes[GPUS] = {0};
    struct bench_p2p_log log;
    struct bench_links links;
    struct bench_correlation c;
    uint64_t state = 3;
    fill_log(&log, GPUS, two_to_three);
    for (size_t i = 0; i < log.n; i++) {
        struct bench_p2p_done *d = &log.list[i];
        d->celsius = 40 + floor(40 * noise_of(&state));
        for (int k = 0; k < REPEATS; k++)
            d->repeats[k].time *= 1 + 0.005 * (d->celsius - 60);
    }
    bench_links_fit(&log, nodes, &links);
    c = bench_links_heat(&log, &links);
    CHECK_INT(c.n, CONFIGS - BENCH_P2P_SIZES);
    CHECK(bench_correlation_is_clear(&c));
    CHECK_DOUBLE(c.r, 0.9, 0.05);
    CHECK_DOUBLE(c.slope, 0.004, 0.1); /* of 0.005: medians of 12 links have some of it */
    for (size_t i = 0; i < log.n; i++)
        log.list[i].celsius = (double)NAN;
    c = bench_links_heat(&log, &links);
    CHECK_INT(c.n, 0);
    CHECK(!bench_correlation_is_clear(&c));
    bench_links_release(&links);
    bench_p2p_log_release(&log);
}

TEST(link_fit_is_never_negative)
{
    double falling[] = {30, 20, 10, 5}, steep[] = {1, 3, 9, 27};
    struct bench_link_point points[4];
    struct bench_link l = {0};
    for (int i = 0; i < 4; i++)
        points[i] = (struct bench_link_point){UINT64_C(1) << 2 * i, &falling[i], 1};
    bench_link_fit(points, 4, &l);
    CHECK(l.alpha_us > 0 && isnan(l.beta_GBps) && isinf(l.pieces[l.npieces - 1].beta_GBps));
    for (int i = 0; i < 4; i++)
        points[i] = (struct bench_link_point){UINT64_C(1) << i, &steep[i], 1};
    bench_link_fit(points, 4, &l);
    CHECK(l.alpha_us >= 0 && l.beta_GBps > 0);
    bench_link_fit(points, 1, &l);
    CHECK_INT(l.npieces, 0);
}

/* Sizes that grow faster than in a line: no latency is left, but for the pair that has one. */
TEST(link_without_a_latency_to_compare_with_is_not_late)
{
    static const int nodes[GPUS] = {0};
    struct bench_p2p_log log = {.ranks = GPUS};
    struct bench_links links;
    for (int src = 0; src < GPUS; src++) {
        for (int dst = 0; dst < GPUS; dst++) {
            for (int i = 0; i < BENCH_P2P_SIZES && src != dst; i++) {
                struct bench_p2p_config c = {BENCH_P2P_ONE_WAY, 0, src, dst, UINT64_C(1) << i};
                struct bench_p2p_done *d = bench_p2p_log_add(&log, &c, 1);
                d->repeats[0].time = pow((double)c.bytes, 1.2) + (src + dst == 1 ? 5 : 0);
            }
        }
    }
    bench_links_fit(&log, nodes, &links);
    CHECK_DOUBLE(links.kinds[1].alpha_us, 0, 0);
    CHECK_DOUBLE(links.kinds[1].alpha_limit, BENCH_LINK_LATER, 0);
    CHECK(bench_link_of(&links, 0, 1)->alpha_us > 0);
    for (int i = 0; i < GPUS * GPUS; i++)
        CHECK(!links.list[i].late &&
              (links.list[i].npieces == 0 || isnan(links.list[i].alpha_ratio)));
    bench_links_release(&links);
    bench_p2p_log_release(&log);
}

/* ---- the checks ---- */

static void checks_of(const struct true_curve *(*truth_of)(int, int), struct bench_checks *checks)
{
    static const int nodes[GPUS] = {0};
    struct bench_p2p_log log;
    struct bench_links links;
    fill_log(&log, GPUS, truth_of);
    bench_links_fit(&log, nodes, &links);
    bench_checks_init(checks);
    bench_checks_links(checks, &log, &links);
    bench_links_release(&links);
    bench_p2p_log_release(&log);
}

static const struct true_curve noisy = {{{UINT64_MAX, 8, 400}}, 0.4};
static const struct true_curve no_latency = {{{UINT64_MAX, 8, 0.5}}, 0.03};

static const struct true_curve *noisy_pair(int src, int dst)
{
    return src == 1 && dst == 0 ? &noisy : &sound;
}

static const struct true_curve *slow_start(int src, int dst)
{
    return src == 1 && dst == 2 ? &no_latency : &sound;
}

static const struct true_curve *late_from_two(int src, int dst)
{
    return src == 2 && dst == 1 ? &late : &sound;
}

TEST(checks_of_links_names_the_link)
{
    struct bench_checks checks;
    checks_of(all_sound, &checks);
    CHECK_INT(bench_checks_failed(&checks), 0);
    CHECK_STR(checks.figures[BENCH_CHECK_links].where, "no link");
    CHECK_INT(bench_check_verdict(&checks, BENCH_CHECK_asymptote), BENCH_CHECK_PASS);
    CHECK_INT(bench_check_verdict(&checks, BENCH_CHECK_throttled), BENCH_CHECK_UNKNOWN);
    checks_of(two_to_three, &checks);
    CHECK_INT(bench_checks_failed(&checks), 1);
    CHECK_STR(checks.figures[BENCH_CHECK_links].where, "GPU 2 to GPU 3");
    CHECK_DOUBLE(checks.figures[BENCH_CHECK_links].value, 1, 0);
    checks_of(late_from_two, &checks);
    CHECK_STR(checks.figures[BENCH_CHECK_links].where, "GPU 2 to GPU 1");
    CHECK_DOUBLE(checks.figures[BENCH_CHECK_links].value, 1, 0);
    checks_of(noisy_pair, &checks);
    CHECK_INT(bench_check_verdict(&checks, BENCH_CHECK_cv), BENCH_CHECK_FAIL);
    CHECK_STR(checks.figures[BENCH_CHECK_cv].where, "GPU 1 to GPU 0");
    checks_of(slow_start, &checks);
    CHECK_INT(bench_check_verdict(&checks, BENCH_CHECK_flat), BENCH_CHECK_FAIL);
    CHECK_STR(checks.figures[BENCH_CHECK_flat].where, "GPU 1 to GPU 2");
}
