/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "watch/watch.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "specter_trace_rank0.jsonl"

static int dirfd = -1;
static char dir[] = "/tmp/specter-test-XXXXXX";
static FILE *out;

static void enter(void)
{
    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    CHECK(mkdtemp(dir) != NULL);
    CHECK((dirfd = open(dir, O_RDONLY | O_DIRECTORY)) >= 0);
    CHECK((out = fdopen(openat(dirfd, NAME, O_WRONLY | O_CREAT, 0600), "w")) != NULL);
}

static void leave(void)
{
    fclose(out);
    CHECK(unlinkat(dirfd, NAME, 0) == 0 && close(dirfd) == 0 && rmdir(dir) == 0);
}

static void put_op(int id, char comm, int seq, const char *timing)
{
    fprintf(out,
            "{\"id\":%d,\"type\":\"nccl\",\"op\":\"AllReduce\",\"start_us\":null,\"duration_us\":"
            "null,\"comm\":\"000000000000000%c\",\"comm_rank\":0,\"comm_size\":2,\"seq\":%d,"
            "\"device\":0,\"stream\":0,\"host_us\":1.000,\"timing\":\"%s\"}\n",
            id, comm, seq, timing);
}

static bool has(const struct trace_tail *t, const char *text)
{
    struct buf all = BUF_INIT;
    bool found;
    trace_tail_text(t, &all);
    found = strstr(all.data, text) != NULL;
    buf_release(&all);
    return found;
}

/* A line that leaves the window is kept as long as its operation is not finished, or is the newest
 * of its communicator, and no longer. */
TEST(watch_tail_keeps_what_counts)
{
    struct trace_tail t;
    enter();
    trace_tail_init(&t, NAME, 2000);
    fputs("{\"event\":\"init\",\"version\":1,\"run\":\"r\",\"rank\":3,\"pid\":7}\n", out);
    put_op(0, 'a', 0, "none");
    put_op(1, 'b', 0, "device");
    put_op(2, 'b', 1, "device");
    for (int i = 3; i < 100; i++)
        put_op(i, 'c', i, "device");
    fflush(out);
    CHECK(trace_tail_poll(&t, dirfd));
    CHECK(has(&t, "\"id\":0,"));
    CHECK(!has(&t, "\"id\":1,"));
    CHECK(has(&t, "\"id\":2,"));
    CHECK(!has(&t, "\"id\":50,"));
    CHECK(has(&t, "\"id\":99,"));
    CHECK(t.text.len < 4000);
    put_op(0, 'a', 0, "device");
    put_op(100, 'a', 1, "device");
    for (int i = 101; i < 200; i++)
        put_op(i, 'c', i, "device");
    fflush(out);
    CHECK(trace_tail_poll(&t, dirfd));
    CHECK_INT(t.unfinished.count, 0);
    CHECK(!has(&t, "\"id\":0,"));
    CHECK(has(&t, "\"id\":100,"));
    CHECK(has(&t, "\"id\":199,"));
    trace_tail_release(&t);
    leave();
}

/* A line longer than any, in pieces, costs itself alone; and a file that is replaced begins anew.
 */
TEST(watch_tail_long_line_and_replaced)
{
    struct trace_tail t;
    enter();
    trace_tail_init(&t, NAME, 2000);
    put_op(0, 'a', 0, "device");
    for (int i = 0; i < 3 * SPECTER_LINE_MAX; i++)
        putc('x', out);
    fflush(out);
    CHECK(trace_tail_poll(&t, dirfd));
    CHECK(t.part.len <= SPECTER_LINE_MAX);
    fputs("\"id\":5,\n", out);
    put_op(1, 'a', 1, "device");
    fflush(out);
    CHECK(trace_tail_poll(&t, dirfd));
    CHECK(has(&t, "\"id\":0,") && has(&t, "\"id\":1,") && !has(&t, "xxx"));
    CHECK(!has(&t, "\"id\":5,"));
    CHECK(ftruncate(fileno(out), 0) == 0);
    rewind(out);
    put_op(9, 'a', 1, "device");
    fflush(out);
    CHECK(trace_tail_poll(&t, dirfd));
    CHECK(has(&t, "\"id\":9,") && !has(&t, "\"id\":1,"));
    trace_tail_release(&t);
    leave();
}

/* Slots of a ring are read in the order of the operations, and what was overwritten is gone. */
TEST(watch_tail_ring)
{
    struct trace_tail t;
    struct buf all = BUF_INIT;
    enter();
    trace_tail_init(&t, NAME, 100000);
    fputs("{\"event\":\"init\",\"version\":1,\"run\":\"r\",\"rank\":0,\"ring\":2}   \n   \n", out);
    put_op(12, 'a', 12, "device");
    put_op(11, 'a', 11, "device");
    fflush(out);
    CHECK(trace_tail_poll(&t, dirfd));
    trace_tail_text(&t, &all);
    CHECK(strstr(all.data, "\"id\":11,") < strstr(all.data, "\"id\":12,"));
    buf_release(&all);
    rewind(out);
    fputs("{\"event\":\"init\",\"version\":1,\"run\":\"r\",\"rank\":0,\"ring\":2}   \n   \n", out);
    put_op(12, 'a', 12, "device");
    put_op(13, 'a', 13, "device");
    fflush(out);
    t.not_before_ns = 0;
    CHECK(trace_tail_poll(&t, dirfd));
    CHECK(has(&t, "\"id\":13,") && !has(&t, "\"id\":11,"));
    trace_tail_release(&t);
    leave();
}

static void take_progress(void *arg, uint64_t done, uint64_t total)
{
    uint64_t *last = arg;
    CHECK(done > last[0] && done <= total);
    last[0] = done;
    last[1] = total;
}

/* A look tells how much of what there is to read it has read; the next one counts what is new. */
TEST(watch_folder_progress)
{
    struct trace_folder f;
    uint64_t last[2] = {0};
    struct err e;
    long size, before;
    enter();
    fputs("{\"event\":\"init\",\"version\":1,\"run\":\"r\",\"rank\":0,\"pid\":7}\n", out);
    for (int i = 0; i < 3000; i++)
        put_op(i, 'a', i, "device");
    size = ftell(out);
    fflush(out);
    CHECK_INT(trace_folder_open(&f, dir, &e), 0);
    f.progress = take_progress;
    f.progress_arg = last;
    CHECK_INT(trace_folder_poll(&f, &e), 0);
    CHECK_INT(last[0], size);
    CHECK_INT(last[1], size);
    before = size;
    put_op(3000, 'a', 3000, "device");
    size = ftell(out);
    fflush(out);
    last[0] = 0;
    CHECK_INT(trace_folder_poll(&f, &e), 0);
    CHECK_INT(last[0], size - before);
    CHECK_INT(last[1], size - before);
    trace_folder_close(&f);
    leave();
}

TEST(watch_steps_trend)
{
    int64_t lengths[100] = {0};
    struct watch_steps s;
    watch_steps_measure(&s, lengths, 0);
    CHECK(isnan(s.median_ns) && isnan(s.change));
    for (int i = 0; i < 100; i++)
        lengths[i] = 1000 + i % 7;
    watch_steps_measure(&s, lengths, 10);
    CHECK(s.median_ns > 1000 && isnan(s.change));
    watch_steps_measure(&s, lengths, 100);
    CHECK(s.steady);
    for (int i = 50; i < 100; i++)
        lengths[i] += 50;
    watch_steps_measure(&s, lengths, 100);
    CHECK(!s.steady && s.change > 0.04 && s.change < 0.06);
    for (int i = 0; i < 100; i++) /* as large a change, but lengths vary more than that */
        lengths[i] = 1000 + 997 * i % 800 + (i >= 50 ? 50 : 0);
    watch_steps_measure(&s, lengths, 100);
    CHECK(s.steady);
}
