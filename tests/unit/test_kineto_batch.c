/* SPDX-License-Identifier: MIT
 *
 * Calls in one batch: their records stand before the launch of the kernel that carries them out.
 */
#include "made_kineto.h"

#include "analysis/work.h"
#include "trace/match.h"

#define DISTRIBUTED(rank) "'distributedInfo':{'rank':" rank ",'world_size':2},"
#define RECORD(ts, name, count, more)                                                     \
    HOST("cpu_op", "record_param_comms", "1", ts, "2",                                    \
         "'Collective name':'" name "','In msg nelems':" count ",'Out msg nelems':" count \
         ",'dtype':'BFloat16','Group size':2,"                                            \
         "'Process Group Name':'3','Process Group Ranks':'[0, 1]','Seq':4" more)
#define SEND(ts, from, to, count) RECORD(ts, "send", count, ",'Src Rank':" from ",'Dst Rank':" to)
#define RECV(ts, from, to, count) RECORD(ts, "recv", count, ",'Src Rank':" from ",'Dst Rank':" to)
#define LAUNCH(ts, corr) HOST("cuda_runtime", "cudaLaunchKernelExC", "1", ts, "2", CORR(corr))
#define CORR(corr) "'correlation':" corr
#define ON(corr) "'device':0,'stream':24," CORR(corr)
#define EXCHANGE(ts, corr) WORK("kernel", "ncclDevKernel_SendRecv(x)", ts, "50", ON(corr))
#define REDUCE(ts, corr) \
    WORK("kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", ts, "50", ON(corr))

static void load_pair(struct run *run, const char *a, const char *b)
{
    const char *folder = make_folder();
    write_text(folder, "rank0.json", quoted(a));
    write_text(folder, "rank1.json", quoted(b));
    load_path(run, folder);
    remove_folder(folder);
}

/* Both send and receive: 100 elements of two bytes one way, 300 the other. */
TEST(kineto_batch_of_messages)
{
    struct run run;
    struct matches m;
    load_pair(&run,
              "{" DISTRIBUTED("0") EVENTS(SEND("10", "0", "1", "100") RECV("13", "1", "0", "300")
                                              LAUNCH("20", "5") EXCHANGE("30", "5")) "}",
              "{" DISTRIBUTED("1") EVENTS(RECV("10", "0", "1", "100") SEND("13", "1", "0", "300")
                                              LAUNCH("20", "5") EXCHANGE("30", "5")) "}");
    for (int r = 0; r < 2; r++) {
        CHECK_INT(run.ranks[r].nops, 2);
        for (size_t i = 0; i < run.ranks[r].nops; i++) {
            const struct op *op = &run.ranks[r].ops[i];
            CHECK_INT(op->class, OP_P2P);
            CHECK_INT(op->coll.peer, 1 - r);
            CHECK_INT(op->coll.group, 0);
            CHECK_INT(op->dtype, SPECTER_BF16);
            CHECK_INT(op->bytes, (op->coll.op == SPECTER_SEND) == (r == 0) ? 200 : 600);
            CHECK_INT(op->flags, 0);
            CHECK_INT(op->dur_ns, 50000);
        }
    }
    matches_init(&m, &run);
    CHECK_INT(m.count, 2);
    CHECK_INT(m.incomplete + m.inconsistent + m.unnumbered, 0);
    matches_release(&m);
    run_release(&run);
}

/* Two messages, one kernel: device time counts once. */
TEST(kineto_batch_is_one_kernel)
{
    struct run run;
    struct work w;
    load_text(&run, "rank0.json",
              quoted("{" DISTRIBUTED("0") EVENTS(SEND("10", "0", "1", "100") RECV(
                  "13", "1", "0", "300") LAUNCH("20", "5") EXCHANGE("30", "5")) "}"));
    work_init(&w);
    work_add_rank(&w, &run.ranks[0]);
    work_finish(&w);
    CHECK_INT(w.kinds[WORK_COMM].count, 1);
    CHECK_DOUBLE(w.kinds[WORK_COMM].total_ns, 50000, 0);
    CHECK_DOUBLE(w.framework_ops.total_ns, 50000, 0);
    CHECK_DOUBLE(w.framework_ops.list[0].median_ns, 50000, 0);
    work_release(&w);
    run_release(&run);
}

TEST(kineto_batch_of_collectives)
{
    struct run run;
    load_text(&run, "rank0.json",
              quoted("{" DISTRIBUTED("0") EVENTS(RECORD("10", "allreduce", "100", "") RECORD(
                  "13", "allreduce", "50", "") LAUNCH("20", "5") REDUCE("30", "5")) "}"));
    CHECK_INT(run.ranks[0].nops, 1);
    CHECK_INT(run.ranks[0].ops[0].bytes, 300);
    CHECK_INT(run.ranks[0].ops[0].coll.count, 150);
    CHECK_INT(run.ranks[0].ops[0].coll.seq, 4);
    CHECK_INT(run.comms[run.ranks[0].ops[0].coll.comm].size, 2);
    run_release(&run);
}

/* A kernel is not told by records of another kind, by those before the last communication, or, in a
 * graph, by what is before its launch. */
TEST(kineto_batch_that_does_not_fit)
{
    static const char *const texts[] = {
        "{" DISTRIBUTED("0")
            EVENTS(RECORD("10", "allreduce", "100", "") LAUNCH("20", "5") EXCHANGE("30", "5")) "}",
        "{" DISTRIBUTED("0")
            EVENTS(SEND("10", "0", "1", "100") LAUNCH("20", "5") REDUCE("30", "5")) "}",
        "{" DISTRIBUTED("0") EVENTS(SEND("10", "0", "1", "9") RECORD("13", "allreduce", "9", "")
                                        LAUNCH("20", "5") EXCHANGE("30", "5")) "}",
        "{" DISTRIBUTED("0") EVENTS(SEND("10", "0", "1", "9") LAUNCH("20", "5") EXCHANGE("30", "5")
                                        WORK("kernel", "other", "90", "9", ON("5"))) "}",
        "{" DISTRIBUTED("0") EVENTS(SEND("10", "0", "1", "9") LAUNCH("14", "4") REDUCE("20", "4")
                                        LAUNCH("20", "5") EXCHANGE("90", "5")) "}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct run run;
        const char *part = i == 1 ? "AllReduce" : "SendRecv";
        load_text(&run, "rank0.json", quoted(texts[i]));
        CHECK(op_named(&run.ranks[0], part)->flags & OP_BYTES_UNKNOWN);
        CHECK_INT(op_named(&run.ranks[0], part)->coll.group, -1);
        run_release(&run);
    }
}
