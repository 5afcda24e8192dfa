/* SPDX-License-Identifier: MIT
 *
 * Parts of pages: hashes, the data of the timeline, ranks by steps.
 */
#include "analysis/steps.h"
#include "base/hash.h"
#include "made_analysis.h"
#include "report/page_timeline.h"
#include "report/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* FIPS 180-4 and its examples: one block, two blocks, and lengths around the padding. */
TEST(sha256_of_known_messages)
{
    static const struct {
        const char *text, *hash;
    } known[] = {
        {"", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="},
        {"abc", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "JI1qYdIGOLjlwCaTDD5gOaM85Flk/yFn9uzt1BnbBsE="},
    };
    char out[SHA256_BASE64];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        CHECK_STR(sha256_base64(known[i].text, strlen(known[i].text), out), known[i].hash);
}

TEST(timeline_data_are_distances)
{
    struct page_timeline t;
    struct buf b = BUF_INIT;
    page_timeline_init(&t);
    uint32_t a = page_timeline_text(&t, "a </script>\"", 2, "");
    CHECK_INT(page_timeline_text(&t, "b", 0, ""), a + 1);
    CHECK_INT(page_timeline_text(&t, "a </script>\"", 2, ""), a); /* names once */
    page_timeline_row(&t, &(struct timeline_row){3, "stream 7", ""});
    page_timeline_add(&t, &(struct timeline_item){
                              .start_ns = 100, .dur_ns = 50, .name = a, .link = 5, .wait_ns = 20});
    page_timeline_add(&t, &(struct timeline_item){.start_ns = 110,
                                                  .dur_ns = 10,
                                                  .name = a + 1,
                                                  .link = -1,
                                                  .path_ns = 2,
                                                  .path_dur_ns = 8});
    page_timeline_add(&t,
                      &(struct timeline_item){.start_ns = 200, .dur_ns = 1, .name = a, .link = 4});
    page_timeline_put(&b, &t, false);
    CHECK(strstr(b.data, "{\"span\":201,\"names\":[[\"a \\u003c/script>\\\"\",2,") != NULL);
    CHECK(
        strstr(b.data,
               "{\"rank\":3,\"name\":\"stream 7\",\"side\":\"\",\"ops\":[100,50,0,-40,10,1,80,1,0],"
               "\"links\":[0,5,20,2,-1,0],\"path\":[1,2,8]}") != NULL);
    buf_release(&b);
    page_timeline_release(&t);
}

/* Clocks that cannot be compared, and a rank that did nothing in the step that is drawn. */
TEST(timeline_of_a_rank_without_the_step_begins_with_the_rank)
{
    const int64_t days = INT64_C(864000000000000);
    struct run run;
    struct analysis a;
    struct run_timeline r;
    struct page_timeline t;
    device_run(&run, 2);
    for (int i = 0; i < 4; i++) {
        for (int rank = 0; rank < 2; rank++) {
            const int64_t at = rank * days + 1000 * i;
            device_step(&run, rank, "step", at, at + 1000);
            if (rank == 0 || i != 2)
                device_op(&run, rank, 7, at + 5, at + 10, at + 100, at + 900);
        }
    }
    device_analyze(&a, &run);
    a.job_steps.apart = true;
    CHECK_INT(a.job_steps.ranks[1].of[2], 3); /* of step 2 it has none */
    page_timeline_init(&t);
    run_timeline_init(&r, &a, STEP_NONE);
    run_timeline_add(&t, &r, &(struct timeline_part){.step = 2, .every = 1, .side = ""});
    CHECK_INT((int64_t)t.nops, 7);
    CHECK_INT(t.begin_ns, -2000); /* of rank 0: two steps before */
    CHECK_INT(t.end_ns, 3800);    /* of rank 1: from its first on */
    run_timeline_release(&r);
    page_timeline_release(&t);
    device_done(&a, &run);
}

TEST(timeline_of_two_sides_begins_before_their_steps)
{
    struct page_timeline t;
    struct buf b = BUF_INIT;
    page_timeline_init(&t);
    const uint32_t a = page_timeline_text(&t, "a", 0, "");
    page_timeline_panel(&t, "base", "<run>", 900);
    page_timeline_row(&t, &(struct timeline_row){0, "stream 7", "base"});
    page_timeline_add(
        &t, &(struct timeline_item){.start_ns = -30, .dur_ns = 20, .name = a, .link = -1});
    page_timeline_add(&t,
                      &(struct timeline_item){
                          .start_ns = 0, .dur_ns = 900, .name = a, .in_step = true, .link = -1});
    page_timeline_put(&b, &t, true);
    CHECK(strstr(b.data, "{\"from\":-30,\"span\":900,\"names\":[") != NULL);
    CHECK(strstr(b.data, "\"panels\":[{\"side\":\"base\",\"label\":\"\\u003crun>\","
                         "\"step\":900}],\"rows\":[") != NULL);
    CHECK(strstr(b.data, "\"side\":\"base\",\"first\":1,\"ops\":[-30,20,0,10,900,0]") != NULL);
    buf_release(&b);
    page_timeline_release(&t);
}

/* Two ranks, three steps of one AllReduce each; rank 1 comes 10, 20 and 30 us late. */
TEST(step_grid_tells_lateness_by_step_and_collective)
{
    for (int marked = 0; marked < 2; marked++) {
        struct run run;
        struct analysis a;
        struct step_grid g;
        device_world(&run, 2);
        for (int r = 0; r < 2; r++) {
            for (int k = 0; k < 3; k++) {
                int64_t at = 1000000 * k;
                int64_t late = r == 0 ? 0 : 10000 * (k + 1);
                device_reduce(&run, r, k, at + 100000 + late, 200000 - late, 1024 + (uint64_t)k);
                if (marked)
                    device_step(&run, r, "step", at, at + 1000000);
            }
        }
        device_analyze(&a, &run);
        step_grid_init(&g, &a.comm, &a.job_steps);
        CHECK_INT(g.by_collective, !marked);
        CHECK_INT(g.nsteps, marked ? 2 : 0); /* the first has no length */
        CHECK_INT(g.nskews, marked ? 2 : 3);
        for (size_t k = 0; k < g.nskews; k++) {
            CHECK_DOUBLE(g.skew_ns[k], 0, 1e-9);
            CHECK_DOUBLE(g.skew_ns[g.nskews + k], 10000.0 * (double)(k + (marked ? 2 : 1)), 1e-9);
        }
        for (size_t k = 0; k < 2 * g.nsteps; k++)
            CHECK_DOUBLE(g.step_ns[k], 1e6, 1e-9);
        step_grid_release(&g);
        device_done(&a, &run);
    }
}

TEST(plots_end_at_round_numbers)
{
    static const double values[][2] = {{0, 1}, {1, 1}, {1.1, 1.2}, {13, 16}, {0.3, 0.4}, {91, 100}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        CHECK_DOUBLE(plot_round_up(values[i][0]), values[i][1], 1e-9);
}

/* ---- charts ---- */

TEST(plot_names_with_commas_and_quotes_are_one_cell)
{
    const double x[] = {8}, y[] = {12.5};
    const struct plot_series series[] = {
        {"lr 1,\"b\"", PLOT_POINTS, 0, x, y, 1, NULL},
        {"=1+1", PLOT_POINTS, 1, x, y, 1, NULL},
    };
    struct buf b = BUF_INIT;
    plot_curves(&b, &(struct plot){.title = "t",
                                   .x = {"bytes", PLOT_BYTES, false},
                                   .y = {"us", PLOT_US, false},
                                   .series = series,
                                   .nseries = 2});
    CHECK(strstr(b.data, "series,bytes,us,high%0A"
                         "%22lr%201,%22%22b%22%22%22,8,12.5,%0A"
                         "%27%3D1%2B1,8,12.5,%0A\"") != NULL);
    buf_release(&b);
}

TEST(plot_of_many_ranks_names_the_rank_of_the_longest_step)
{
    enum { RANKS = 130, STEPS = 250 };
    static double ns[RANKS * STEPS];
    static char texts[RANKS][8];
    const char *rows[RANKS];
    struct buf b = BUF_INIT;
    for (int r = 0; r < RANKS; r++) {
        snprintf(texts[r], sizeof texts[r], "%d", r);
        rows[r] = texts[r];
        for (int s = 0; s < STEPS; s++)
            ns[r * STEPS + s] = r < 3 ? (double)NAN : 1e6;
    }
    ns[100 * STEPS + 200] = 3e6; /* of the 34th group of ranks: 99 to 101 */
    plot_heat(&b, &(struct plot_heat){.title = "t",
                                      .rows = rows,
                                      .row_name = "rank",
                                      .column_name = "step",
                                      .ns = ns,
                                      .nrows = RANKS,
                                      .ncolumns = STEPS});
    CHECK(strstr(b.data, "<title>rank 100: most 3.00 ms, step 201</title>") != NULL);
    CHECK(strstr(b.data, "<title>rank 102: most 1.00 ms, step 1</title>") != NULL);
    CHECK(strstr(b.data, "<title>rank 0</title>") != NULL); /* nothing is known of 0 to 2 */
    buf_release(&b);
}
