/* SPDX-License-Identifier: MIT
 *
 * The timeline that every export draws: slices nest on their tracks, and none is lost.
 */
#include "report/tracks.h"

#include "made_device.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#define SEEN_MAX 512

struct seen_slices {
    struct {
        char track[64];
        int64_t start_ns, end_ns;
    } list[SEEN_MAX];
    size_t count, tracks;
    int64_t open[SEEN_MAX]; /* of the track that is drawn */
    size_t depth;
    bool nests;
    char counts[512];
};

static void see_rank(void *context, const struct rank *rank, size_t index)
{
    (void)context, (void)rank, (void)index;
}

static void see_count(void *context, const struct track *track, int64_t at_ns, int64_t value)
{
    struct seen_slices *seen = context;
    size_t len = strlen(seen->counts);
    (void)track;
    snprintf(seen->counts + len, sizeof seen->counts - len, "%lld:%lld ", (long long)at_ns,
             (long long)value);
}

static void see_track(void *context, const struct track *track)
{
    struct seen_slices *seen = context;
    size_t len = strlen(seen->counts);
    if (track->kind >= TRACK_QUEUE)
        snprintf(seen->counts + len, sizeof seen->counts - len, "%s: ", track->name);
    else
        seen->tracks++;
    seen->depth = 0;
}

static void see_slice(void *context, const struct track *track, const struct track_slice *s)
{
    struct seen_slices *seen = context;
    while (seen->depth > 0 && seen->open[seen->depth - 1] <= s->start_ns)
        seen->depth--;
    seen->nests = seen->nests && (seen->depth == 0 || s->end_ns <= seen->open[seen->depth - 1]);
    seen->open[seen->depth++] = s->end_ns;
    snprintf(seen->list[seen->count].track, 64, "%s", track->name);
    seen->list[seen->count].start_ns = s->start_ns;
    seen->list[seen->count++].end_ns = s->end_ns;
}

static void draw(struct seen_slices *seen, const struct run *run)
{
    struct track_writer writer = {seen, see_rank, see_track, see_slice, see_count};
    memset(seen, 0, sizeof *seen);
    seen->nests = true;
    tracks_write(run, SIZE_MAX, &writer);
}

static void add_kernel(struct run *run, int32_t stream, int64_t start_ns, int64_t end_ns)
{
    struct op *op = device_op(run, 0, stream, UNKNOWN_NS, UNKNOWN_NS, start_ns, end_ns);
    op->id = run->ranks[0].nops - 1;
}

static void check_slice(const struct seen_slices *seen, size_t i, const char *track,
                        int64_t start_ns, int64_t end_ns)
{
    CHECK_STR(seen->list[i].track, track);
    CHECK_INT(seen->list[i].start_ns, start_ns);
    CHECK_INT(seen->list[i].end_ns, end_ns);
}

/* Two in a third, one after it that begins as it ends, and one without length. */
TEST(tracks_nest)
{
    static struct seen_slices seen;
    struct run run;
    device_run(&run, 1);
    add_kernel(&run, 7, 10000, 50000);
    add_kernel(&run, 7, 10000, 20000);
    add_kernel(&run, 7, 20000, 50000);
    add_kernel(&run, 7, 50000, 60000);
    add_kernel(&run, 7, 60000, 60000);
    draw(&seen, &run);
    CHECK_INT((int64_t)seen.tracks, 1);
    CHECK_INT((int64_t)seen.count, 5);
    CHECK(seen.nests);
    check_slice(&seen, 0, "stream 7", 10000, 50000);
    check_slice(&seen, 1, "stream 7", 10000, 20000);
    check_slice(&seen, 4, "stream 7", 60000, 60000);
    CHECK_INT(tracks_origin(&run), 10000);
    run_release(&run);
}

/* Overlap in part of more than 1 us takes a second track, of 1 us and less the earlier's end. */
TEST(tracks_of_overlaps)
{
    static struct seen_slices seen;
    struct run run;
    device_run(&run, 1);
    add_kernel(&run, 1, 10000, 20000);
    add_kernel(&run, 1, 19000, 30000);
    add_kernel(&run, 1, 28999, 40000);
    draw(&seen, &run);
    CHECK(seen.nests);
    CHECK_INT((int64_t)seen.count, 3);
    check_slice(&seen, 0, "stream 1", 10000, 19000);
    check_slice(&seen, 1, "stream 1", 19000, 30000);
    check_slice(&seen, 2, "stream 1 (2)", 28999, 40000);
    run_release(&run);
}

/* Each overlaps all before it in part. */
TEST(tracks_of_a_hundred_overlaps)
{
    static struct seen_slices seen;
    struct run run;
    device_run(&run, 1);
    for (int i = 0; i < 100; i++)
        add_kernel(&run, 1, 2000 * i, 1000000 + 2000 * i);
    draw(&seen, &run);
    CHECK(seen.nests);
    CHECK_INT((int64_t)seen.tracks, 100);
    CHECK_INT((int64_t)seen.count, 100);
    check_slice(&seen, 99, "stream 1 (100)", 198000, 1198000);
    run_release(&run);
}

/* Deeper than a track holds: what is inside goes on to the next. */
TEST(tracks_of_deep_nesting)
{
    static struct seen_slices seen;
    struct run run;
    device_run(&run, 1);
    for (int i = 0; i < 70; i++)
        add_kernel(&run, 1, 2000 * i, 1000000 - 2000 * i);
    draw(&seen, &run);
    CHECK(seen.nests);
    CHECK_INT((int64_t)seen.count, 70);
    CHECK_INT((int64_t)seen.tracks, 2);
    run_release(&run);
}

/* Waiting [0,10) [2,20) [20,30) on stream 1, all communication; it runs [10,20) [20,25) [30,40)
 * there and [15,22) on stream 2. Changes that cancel out are not told. */
TEST(tracks_of_counts)
{
    static struct seen_slices seen;
    struct run run;
    device_run(&run, 1);
    add_kernel(&run, 1, 10, 20);
    add_kernel(&run, 1, 20, 25);
    add_kernel(&run, 1, 30, 40);
    add_kernel(&run, 2, 15, 22);
    for (size_t i = 0; i < 4; i++) {
        struct op *op = device_coll(&run.ranks[0].ops[i], SPECTER_ALLREDUCE, -1, -1, 0);
        op->host_ns = i == 0 ? 0 : i == 1 ? 2 : i == 2 ? 20 : UNKNOWN_NS;
        op->host_end_ns = op->host_ns == UNKNOWN_NS ? UNKNOWN_NS : op->host_ns + 1;
    }
    draw(&seen, &run);
    CHECK_STR(seen.counts, "queue of stream 1: 0:1 2:2 10:1 30:0 "
                           "communication at once: 10:1 15:2 22:1 25:0 30:1 40:0 ");
    run_release(&run);
}
