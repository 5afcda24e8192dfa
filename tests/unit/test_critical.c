/* SPDX-License-Identifier: MIT
 *
 * Critical paths that are known by hand, and what holds for every path: it leaves nothing out, and
 * each part waited for the one before.
 */
#include "test.h"

#include "analysis/critical.h"
#include "made_device.h"
#include "made_run.h"
#include "timed_pipeline.h"

#include <stdio.h>
#include <string.h>

static struct job_steps steps; /* of the critical path that was made last */
static struct step_time step_time;

static void make_critical(struct critical *x, const struct run *run)
{
    struct matches m;
    matches_init(&m, run);
    job_steps_find(&steps, run);
    step_time_measure(&step_time, &steps, run);
    critical_init(x, run, &m, &steps, &step_time);
    matches_release(&m);
}

static void drop_critical(struct critical *x)
{
    critical_release(x);
    step_time_release(&step_time);
    job_steps_release(&steps);
}

/* ---- runs of a few operations ---- */

/* Called for in [host, host + 10), on the device in [start, end). */
static struct op *few_op(struct run *run, int rank, int stream, int64_t host, int64_t start,
                         int64_t end)
{
    struct op *op = device_op(run, rank, stream, host, host + 10, start, end);
    op->id = run->ranks[rank].nops;
    return op;
}

static void few_coll(struct run *run, int rank, int comm, int64_t seq, int64_t host, int64_t start,
                     int64_t end)
{
    device_coll(few_op(run, rank, 1, host, start, end), SPECTER_ALLREDUCE, comm, seq, 4096);
}

/* "1 compute 15-515, ...": the chosen step's parts, the earliest first. */
static const char *path_text(const struct critical *c)
{
    static char text[4096];
    size_t len = 0;
    text[0] = '\0';
    for (size_t i = c->nparts; i-- > 0 && len < sizeof text - 100;) {
        const struct critical_part *p = &c->parts[i];
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%d %s %lld-%lld",
                                len > 0 ? ", " : "", c->run->ranks[p->rank].rank,
                                path_kind_name((enum path_kind)p->kind), (long long)p->start_ns,
                                (long long)p->end_ns);
    }
    return text;
}

/* ---- what holds for every path ---- */

static bool waits_for_event(const struct rank *rank, const struct op *from, const struct op *to)
{
    for (size_t i = 0; i < rank->nsync_calls; i++) {
        const struct sync_call *record = &rank->sync_calls[i];
        if (record->kind != SYNC_CALL_RECORD || record->stream != from->stream ||
            record->host_ns < from->host_ns)
            continue;
        for (size_t k = i + 1; k < rank->nsync_calls; k++) {
            const struct sync_call *wait = &rank->sync_calls[k];
            if (wait->kind == SYNC_CALL_WAIT && wait->event == record->event &&
                wait->stream == to->stream && wait->host_ns <= to->host_ns)
                return true;
        }
    }
    return false;
}

/* A member of the same communication that starts at this moment. */
static bool has_partner(const struct rank *rank, const struct op *op, int64_t start)
{
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *x = &rank->ops[i];
        if (x->class == op->class && x->start_ns == start && x->coll.comm == op->coll.comm &&
            (x->class == OP_P2P ? x->coll.p2p_seq == op->coll.p2p_seq
                                : x->coll.seq == op->coll.seq))
            return true;
    }
    return false;
}

static bool is_op_part(const struct critical_part *p)
{
    return p->kind <= PATH_GRAPH;
}

/* Why `late` could not begin before `early` had ended; NULL: no reason is seen. */
static bool truly_follows(const struct run *run, const struct critical_part *early,
                          const struct critical_part *late)
{
    const struct rank *rank = &run->ranks[late->rank];
    const struct op *to = &rank->ops[late->op], *from;
    if (early->rank != late->rank)
        return (to->class == OP_COLL || to->class == OP_P2P) &&
               has_partner(&run->ranks[early->rank], to, late->start_ns);
    from = &rank->ops[early->op];
    if (!is_op_part(early))
        return early->op == late->op || !is_op_part(late); /* host and gaps lead to their op */
    if (late->kind == PATH_HOST || late->kind == PATH_UNTIMED || late->kind == PATH_UNEXPLAINED)
        return from->start_ns + from->dur_ns >= early->end_ns;
    return from->stream == to->stream || waits_for_event(rank, from, to);
}

static void check_path(const struct critical *c)
{
    int64_t step = 0, all = 0, ranks = 0;
    for (size_t k = 0; k < PATH_CATEGORIES; k++) {
        step += c->categories[k].step_ns;
        all += c->categories[k].all_ns;
    }
    for (size_t r = 0; r < c->run->nranks; r++)
        ranks += c->ranks[r].sum.step_ns;
    CHECK_INT(step, c->length.step_ns);
    CHECK_INT(all, c->length.all_ns);
    CHECK_INT(ranks, c->length.step_ns);
    CHECK_INT(c->parts[0].end_ns - c->parts[c->nparts - 1].start_ns, c->length.step_ns);
    for (size_t i = 0; i < c->nparts; i++) {
        const struct critical_part *p = &c->parts[i];
        const struct op *op = &c->run->ranks[p->rank].ops[p->op];
        CHECK(p->start_ns < p->end_ns);
        if (is_op_part(p))
            CHECK(p->start_ns >= op->start_ns && p->end_ns <= op->start_ns + op->dur_ns);
        if (i > 0)
            CHECK_INT(p->end_ns, c->parts[i - 1].start_ns);
    }
}

static void check_follows(const struct critical *c)
{
    for (size_t i = 0; i + 1 < c->nparts; i++) {
        if (!truly_follows(c->run, &c->parts[i + 1], &c->parts[i]))
            test_fail(__FILE__, __LINE__, "part at %lld does not follow from the one before",
                      (long long)c->parts[i].start_ns);
    }
}

static void check_few(struct run *run, const char *want)
{
    struct critical c;
    make_critical(&c, run);
    CHECK_STR(c.why != NULL ? c.why : path_text(&c), want);
    if (c.why == NULL) {
        check_path(&c);
        check_follows(&c);
    }
    drop_critical(&c);
    run_release(run);
}

/* ---- paths known by hand ---- */

TEST(critical_path_goes_to_the_rank_that_computes_longer)
{
    struct run run;
    int comm;
    device_run(&run, 2);
    comm = device_comm(&run, "a", 0, 1, 2);
    few_op(&run, 0, 1, 0, 15, 315);
    few_coll(&run, 0, comm, 0, 10, 315, 615);
    few_op(&run, 1, 1, 0, 15, 515);
    few_coll(&run, 1, comm, 0, 10, 515, 615);
    check_few(&run, "1 host 0-10, 1 launch 10-15, 1 compute 15-515, 0 communication 515-615");
}

TEST(critical_path_goes_to_the_rank_whose_host_is_late)
{
    struct run run;
    int comm;
    device_run(&run, 2);
    comm = device_comm(&run, "a", 0, 1, 2);
    few_op(&run, 0, 1, 0, 15, 315);
    few_coll(&run, 0, comm, 0, 10, 315, 615);
    few_op(&run, 1, 1, 5, 15, 115);
    few_coll(&run, 1, comm, 0, 500, 515, 615);
    check_few(&run, "1 host 5-510, 1 launch 510-515, 0 communication 515-615");
}

/* Rank 1 comes late to rank 0 because it waits for rank 2, in another communicator. */
TEST(critical_path_goes_on_through_another_communicator)
{
    struct run run;
    int first, second;
    device_run(&run, 3);
    first = device_comm(&run, "a", 0, 1, 2);
    second = device_comm(&run, "b", 1, 1, 2);
    few_coll(&run, 0, first, 0, 0, 20, 900);
    few_coll(&run, 1, second, 0, 0, 20, 700);
    few_coll(&run, 1, first, 0, 10, 700, 900);
    few_op(&run, 2, 1, 0, 20, 600);
    few_coll(&run, 2, second, 0, 10, 600, 700);
    check_few(&run, "2 host 0-10, 2 launch 10-20, 2 compute 20-600, 1 communication 600-700, "
                    "0 communication 700-900");
}

/* Stream 2 waits for what stream 1 had been given before the event was recorded, and no more. */
TEST(critical_path_follows_events_between_streams)
{
    struct run run;
    device_run(&run, 1);
    few_op(&run, 0, 1, 0, 20, 320);
    device_sync_call(&run, 0, SYNC_CALL_RECORD, 1, 7, 11, 12);
    device_sync_call(&run, 0, SYNC_CALL_WAIT, 2, 7, 13, 14);
    few_op(&run, 0, 2, 15, 330, 430);
    few_op(&run, 0, 1, 30, 320, 400);
    check_few(&run, "0 host 0-10, 0 launch 10-20, 0 compute 20-320, 0 launch 320-330, "
                    "0 compute 330-430");
}

/* The host waits for the stream, then launches; its wait before, for what had ended, was none. */
TEST(critical_path_follows_a_host_that_waits)
{
    struct run run;
    device_run(&run, 1);
    few_op(&run, 0, 1, 0, 20, 320);
    device_sync_call(&run, 0, SYNC_CALL_STREAM, 1, -1, 12, 325);
    device_sync_call(&run, 0, SYNC_CALL_DEVICE, -1, -1, 330, 335);
    few_op(&run, 0, 1, 360, 375, 475);
    check_few(&run,
              "0 host 0-10, 0 launch 10-20, 0 compute 20-320, 0 host 320-325, 0 host 325-370, "
              "0 launch 370-375, 0 compute 375-475");
}

/* Thread 1 launches after a wait of thread 0, and was silent all along. */
TEST(critical_path_goes_on_with_the_thread_that_waited)
{
    struct run run;
    device_run(&run, 1);
    few_op(&run, 0, 1, 0, 20, 320);
    device_sync_call(&run, 0, SYNC_CALL_STREAM, 1, -1, 12, 325);
    few_op(&run, 0, 1, 360, 375, 475)->tid = 1;
    check_few(&run,
              "0 host 0-10, 0 launch 10-20, 0 compute 20-320, 0 host 320-325, 0 host 325-370, "
              "0 launch 370-375, 0 compute 375-475");
}

TEST(critical_path_tells_counted_kernels_and_what_nothing_explains)
{
    struct run run;
    struct launches *l;
    device_run(&run, 1);
    few_op(&run, 0, 1, 0, 20, 320);
    l = rank_add_launches(&run.ranks[0]);
    *l = (struct launches){.host_ns = 12, .host_end_ns = 13, .count = 1, .stream = 1, .graph = -1};
    few_op(&run, 0, 1, 20, 400, 500);
    few_op(&run, 0, 1, 30, 90500, 90600);
    check_few(&run, "0 host 0-10, 0 launch 10-20, 0 compute 20-320, 0 untimed 320-400, "
                    "0 compute 400-500, 0 unexplained 500-90500, 0 compute 90500-90600");
}

/* Two messages of one launch: it moves when the later partner has come. */
TEST(critical_path_takes_the_later_partner_of_a_launch)
{
    static const struct {
        int rank, peer;
        int64_t start, end;
        bool send;
        int group;
    } list[] = {{1, 0, 20, 800, true, 3},
                {1, 2, 20, 800, false, 3},
                {0, 1, 300, 400, false, -1},
                {2, 1, 700, 800, true, -1}};
    struct run run;
    int comm;
    device_run(&run, 3);
    comm = device_comm(&run, "w", 0, 1, 3);
    few_op(&run, 2, 1, 0, 15, 700);
    few_op(&run, 0, 1, 0, 15, 300);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct op *op = few_op(&run, list[i].rank, 1, 10, list[i].start, list[i].end);
        device_coll(op, list[i].send ? SPECTER_SEND : SPECTER_RECV, comm, 0, 4096);
        op->coll.peer = list[i].peer;
        op->coll.group = list[i].group;
    }
    check_few(&run, "2 launch 10-15, 2 compute 15-700, 1 p2p 700-800");
}

TEST(critical_path_passes_every_stage)
{
    struct timed_pipeline t = {.stages = 4, .micro = 1, .steps = 1, .tp = 1, .marked = true};
    struct run run;
    t.no_backward = true;
    t.transfer_ns = 10;
    for (int s = 0; s < 4; s++)
        t.forward_ns[s] = 100 * (s + 1);
    timed_run(&run, &t);
    check_few(&run, "0 compute 1000000-1000100, 1 p2p 1000100-1000110, 1 compute 1000110-1000310, "
                    "2 p2p 1000310-1000320, 2 compute 1000320-1000620, 3 p2p 1000620-1000630, "
                    "3 compute 1000630-1001030");
}

/* ---- what the trace lacks ---- */

TEST(critical_path_infers_events_where_none_are_traced)
{
    struct critical c;
    struct run run;
    device_run(&run, 1);
    few_op(&run, 0, 1, 0, 20, 100020);
    few_op(&run, 0, 2, 15, 100030, 100130);
    make_critical(&c, &run);
    CHECK_INT((int64_t)c.inferred, 0);
    CHECK_INT(path_kind_sum(&c, PATH_UNEXPLAINED).step_ns, 100030 - 25);
    drop_critical(&c);
    run.ranks[0].coverage &= ~(unsigned)COVER_DEPS;
    make_critical(&c, &run);
    CHECK_INT((int64_t)c.inferred, 1);
    CHECK_STR(path_text(&c), "0 host 0-10, 0 launch 10-20, 0 compute 20-100020, "
                             "0 launch 100020-100030, 0 compute 100030-100130");
    check_path(&c);
    drop_critical(&c);
    run_release(&run);
}

TEST(critical_path_does_without_host_times)
{
    struct run run;
    device_run(&run, 1);
    few_op(&run, 0, 1, UNKNOWN_NS, 20, 320)->host_end_ns = UNKNOWN_NS;
    few_op(&run, 0, 1, UNKNOWN_NS, 330, 430)->host_end_ns = UNKNOWN_NS;
    few_op(&run, 0, 2, UNKNOWN_NS, 500, 600)->host_end_ns = UNKNOWN_NS;
    check_few(&run, "0 compute 20-320, 0 launch 320-330, 0 compute 330-430, 0 unexplained 430-500, "
                    "0 compute 500-600");
}

TEST(critical_path_needs_clocks_and_times)
{
    struct run run;
    device_run(&run, 2);
    few_op(&run, 0, 1, 0, 20, 320);
    run.clock_aligned = false;
    check_few(&run, "the clocks of the ranks cannot be compared");
    device_run(&run, 1);
    few_op(&run, 0, 1, 0, 20, 320)->timing = SPECTER_TIMING_HOST;
    check_few(&run, "no operation has device times");
    device_run(&run, 0);
    check_few(&run, "no operation has device times");
}

/* ---- many ---- */

TEST(critical_path_of_data_parallel_training_is_the_late_rank)
{
    struct made m = made_default;
    struct run run;
    struct critical c;
    m.late_ns = 50000;
    made_run(&run, &m);
    run.clock_aligned = true;
    for (size_t r = 0; r < run.nranks; r++) {
        for (size_t i = 0; i < run.ranks[r].nops; i++)
            run.ranks[r].ops[i].graph = -1;
    }
    make_critical(&c, &run);
    check_path(&c);
    check_follows(&c);
    CHECK(c.ranks[3].sum.all_ns > c.length.all_ns * 8 / 10);
    CHECK(c.ranks[3].margin_ns > c.ranks[0].margin_ns);
    drop_critical(&c);
    run_release(&run);
}

TEST(critical_path_of_pipelines_leaves_nothing_out)
{
    for (int stages = 2; stages <= 8; stages *= 2) {
        for (int micro = 1; micro <= 9; micro += 4) {
            struct timed_pipeline t = {.stages = stages, .micro = micro, .steps = 3, .tp = 2};
            struct run run;
            struct critical c;
            t.marked = true;
            t.transfer_ns = 130;
            t.tp_ns = 40;
            for (int s = 0; s < TIMED_STAGES; s++) {
                t.forward_ns[s] = 1000 + 37 * s;
                t.backward_ns[s] = 2000 - 21 * s;
            }
            timed_run(&run, &t);
            make_critical(&c, &run);
            CHECK_INT((int64_t)c.walked, 2); /* the first has no length */
            check_path(&c);
            check_follows(&c);
            CHECK_INT(path_kind_sum(&c, PATH_UNEXPLAINED).all_ns, 0);
            drop_critical(&c);
            run_release(&run);
        }
    }
}

/* Nonsense ends, and its path still leaves nothing out. */
TEST(critical_path_of_scrambled_times_ends)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct made m = made_default;
        struct run run;
        struct critical c;
        made_run(&run, &m);
        run.clock_aligned = true;
        made_scramble(&run, seed);
        make_critical(&c, &run);
        check_path(&c);
        drop_critical(&c);
        run_release(&run);
    }
}
