/* SPDX-License-Identifier: MIT
 *
 * Messages between ranks that make a pipeline, and others that do not.
 */
#include "test.h"

#include "analysis/pipeline.h"
#include "made_device.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct talk {
    struct run run;
    struct stages s;
    int64_t t_ns;
    int group;
};

static void talk_init(struct talk *t, int ranks)
{
    memset(t, 0, sizeof *t);
    device_run(&t->run, ranks);
}

static int talk_comm(struct talk *t, const char *id, const int *ranks, int n)
{
    int comm = run_comm(&t->run, id, strlen(id), n);
    memcpy(t->run.comms[comm].ranks, ranks, (size_t)n * sizeof *ranks);
    return comm;
}

static struct op *talk_op(struct talk *t, int rank)
{
    ++t->t_ns;
    return device_op(&t->run, rank, -1, t->t_ns, UNKNOWN_NS, t->t_ns, t->t_ns + 1);
}

static void talk_pass(struct talk *t, int rank)
{
    talk_op(t, rank)->class = OP_GEMM;
}

/* One end of a message; `group` -1: alone. */
static void talk_end(struct talk *t, int comm, int rank, int peer, bool send, int group)
{
    enum specter_comm_op what = send ? SPECTER_SEND : SPECTER_RECV;
    struct op *op = device_coll(talk_op(t, rank), what, comm, -1, 0);
    op->coll.group = group;
    for (int i = 0; i < t->run.comms[comm].size; i++) {
        if (t->run.comms[comm].ranks[i] == peer)
            op->coll.peer = i;
    }
}

/* A pass, and its message to the next one. */
static void talk_send(struct talk *t, int comm, int from, int to)
{
    talk_pass(t, from);
    talk_end(t, comm, from, to, true, -1);
    talk_end(t, comm, to, from, false, -1);
}

static void talk_ends(struct talk *t, const char *why)
{
    struct job_steps steps;
    job_steps_find(&steps, &t->run);
    stages_find(&t->s, &t->run, &steps);
    job_steps_release(&steps);
    CHECK_STR(t->s.why != NULL ? t->s.why : "found", why);
}

static void talk_release(struct talk *t)
{
    stages_release(&t->s);
    run_release(&t->run);
}

/* m micro-batches over n ranks, forward all and back. */
static void talk_chain(struct talk *t, int comm, const int *ranks, int n, int m)
{
    for (int k = 0; k < m; k++) {
        for (int i = 0; i + 1 < n; i++)
            talk_send(t, comm, ranks[i], ranks[i + 1]);
    }
    for (int k = 0; k < m; k++) {
        for (int i = n - 1; i > 0; i--)
            talk_send(t, comm, ranks[i], ranks[i - 1]);
    }
}

/* Ranks need not be in order, nor of one communicator. */
TEST(stages_are_in_the_order_of_activations)
{
    static const int first[] = {6, 2, 4, 0}, second[] = {7, 3, 5, 1};
    struct talk t;
    talk_init(&t, 8);
    talk_chain(&t, talk_comm(&t, "a", first, 4), first, 4, 5);
    talk_chain(&t, talk_comm(&t, "b", second, 4), second, 4, 5);
    talk_ends(&t, "found");
    CHECK_INT(t.s.count, 4);
    CHECK_INT((int64_t)t.s.nchains, 2);
    CHECK_DOUBLE(t.s.micro, 5, 0);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(t.s.position[first[i]].stage, i);
        CHECK_INT(t.s.position[second[i]].stage, i);
        CHECK(t.s.position[first[i]].chain != t.s.position[second[i]].chain);
    }
    talk_release(&t);
}

TEST(stages_are_found_in_communicators_of_pairs)
{
    static const int pairs[][2] = {{0, 1}, {1, 2}, {2, 3}};
    struct talk t;
    int comm[3];
    talk_init(&t, 4);
    for (int i = 0; i < 3; i++) {
        char id[2] = {(char)('a' + i), '\0'};
        comm[i] = talk_comm(&t, id, pairs[i], 2);
    }
    for (int k = 0; k < 6; k++) {
        for (int i = 0; i < 3; i++)
            talk_send(&t, comm[i], i, i + 1);
        for (int i = 3; i > 0; i--)
            talk_send(&t, comm[i - 1], i, i - 1);
    }
    talk_ends(&t, "found");
    CHECK_INT(t.s.count, 4);
    /* Forward and back of one micro-batch before the next: each is a flush of its own. */
    CHECK_DOUBLE(t.s.micro, 1, 0);
    talk_release(&t);
}

/* Two tensors a micro-batch, in one launch and one after another. */
TEST(stages_count_micro_batches_not_tensors)
{
    static const int ranks[] = {0, 1};
    struct talk t;
    int comm;
    talk_init(&t, 2);
    comm = talk_comm(&t, "a", ranks, 2);
    for (int way = 0; way < 2; way++) {
        for (int k = 0; k < 3; k++) {
            talk_pass(&t, way);
            for (int i = 0; i < 2; i++)
                talk_end(&t, comm, way, !way, true, k == 0 ? 10 + way : -1);
            for (int i = 0; i < 2; i++)
                talk_end(&t, comm, !way, way, false, -1);
        }
    }
    talk_ends(&t, "found");
    CHECK_DOUBLE(t.s.micro, 3, 0);
    talk_release(&t);
}

/* Interleaved: 3 ranks, 2 parts each, 4 micro-batches: 8 over each edge, 4 over the closing one. */
TEST(stages_of_a_ring_hold_several_parts)
{
    static const int ranks[] = {0, 1, 2}, order[] = {0, 1, 2, 0, 1, 2};
    struct talk t;
    int comm;
    talk_init(&t, 3);
    comm = talk_comm(&t, "a", ranks, 3);
    talk_chain(&t, comm, order, 6, 4);
    talk_ends(&t, "found");
    CHECK_INT(t.s.count, 3);
    CHECK_INT(t.s.parts, 2);
    CHECK_DOUBLE(t.s.micro, 4, 0);
    CHECK_INT(t.s.position[0].stage, 0);
    CHECK_INT(t.s.position[2].stage, 2);
    CHECK(stages_is_message(&t.s, &t.run, 2, &t.run.ranks[2].ops[t.run.ranks[2].nops - 1]));
    talk_release(&t);
}

static void talk_ring(struct talk *t, int comm, const int *ranks, int n, int times)
{
    for (int k = 0; k < times; k++) {
        for (int i = 0; i < n; i++) {
            t->group++;
            talk_pass(t, ranks[i]);
            talk_end(t, comm, ranks[i], ranks[(i + 1) % n], true, t->group);
            talk_end(t, comm, ranks[i], ranks[(i + n - 1) % n], false, t->group);
        }
    }
}

TEST(stages_are_none_in_a_ring_of_equals)
{
    static const int ranks[] = {0, 1, 2, 3};
    struct talk t;
    talk_init(&t, 4);
    talk_ring(&t, talk_comm(&t, "cp", ranks, 4), ranks, 4, 6);
    talk_ends(&t, "a ring of ranks in which all pass on equally much is no pipeline");
    talk_release(&t);
    talk_init(&t, 4);
    talk_ring(&t, talk_comm(&t, "cp", ranks, 2), ranks, 2, 6);
    talk_ends(&t, "messages go both ways at once, as no pipeline begins");
    talk_release(&t);
}

/* Context-parallel rings within the stages, in communicators of their own. */
TEST(stages_are_found_beside_rings)
{
    static const int rings[][2] = {{0, 1}, {2, 3}}, chains[][2] = {{0, 2}, {1, 3}};
    struct talk t;
    talk_init(&t, 4);
    for (int i = 0; i < 2; i++) {
        char id[2][8] = {"cp0", "pp0"};
        id[0][2] = id[1][2] = (char)('0' + i);
        talk_ring(&t, talk_comm(&t, id[0], rings[i], 2), rings[i], 2, 4);
        talk_chain(&t, talk_comm(&t, id[1], chains[i], 2), chains[i], 2, 4);
    }
    talk_ends(&t, "found");
    CHECK_INT(t.s.count, 2);
    CHECK_INT((int64_t)t.s.nchains, 2);
    CHECK_INT((int64_t)t.s.others, 2);
    CHECK(!stages_is_message(&t.s, &t.run, 0, &t.run.ranks[0].ops[1]));
    talk_release(&t);
}

TEST(stages_are_none_where_all_talk_to_all)
{
    static const int ranks[] = {0, 1, 2, 3};
    struct talk t;
    int comm;
    talk_init(&t, 4);
    comm = talk_comm(&t, "ep", ranks, 4);
    for (int r = 0; r < 4; r++) {
        for (int peer = 0; peer < 4; peer++) {
            talk_end(&t, comm, r, peer, true, r);
            talk_end(&t, comm, r, peer, false, r);
        }
    }
    talk_ends(&t, "all messages are of all-to-all exchanges");
    talk_release(&t);
}

TEST(stages_are_none_in_a_tree_or_without_peers)
{
    static const int ranks[] = {0, 1, 2};
    struct talk t;
    int comm;
    talk_init(&t, 3);
    comm = talk_comm(&t, "a", ranks, 3);
    for (int k = 0; k < 4; k++) {
        talk_send(&t, comm, 0, 1);
        talk_send(&t, comm, 0, 2);
    }
    talk_ends(&t, "a rank has messages with several others, as no chain of stages has");
    talk_release(&t);
    talk_init(&t, 2);
    comm = talk_comm(&t, "a", ranks, 2);
    talk_end(&t, comm, 0, 7, true, -1);
    talk_ends(&t, "the trace does not tell between which ranks messages go");
    talk_release(&t);
    talk_init(&t, 2);
    talk_pass(&t, 0);
    talk_ends(&t, "");
    talk_release(&t);
}
