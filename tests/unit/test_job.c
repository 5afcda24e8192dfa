/* SPDX-License-Identifier: MIT
 *
 * Files of schedulers and of NCCL's RAS about a job: damaged ones, and numbers that cannot be true.
 */
#include "trace_load.h"

#define INIT_OF(_world_size)                                                                 \
    "{\"event\":\"init\",\"version\":1,\"run\":\"x\",\"rank\":0,\"world_size\":" _world_size \
    ",\"local_rank\":"                                                                       \
    "0,\"pid\":1,\"host\":\"\",\"mono_ns\":5000000000,\"real_ns\":1700000000000000000,"      \
    "\"coverage\":[\"nccl\"],\"env\":{}}\n"                                                  \
    "{\"event\":\"shutdown\",\"time_us\":500.0,\"total_ops\":0,\"dropped\":0,\"summary\":{}}\n"
#define INIT INIT_OF("1")

/* A run of one rank, with this file beside its trace. */
static void load_beside(struct run *run, const char *name, const void *bytes, size_t len)
{
    const char *folder = make_folder();
    write_text(folder, "specter_trace_rank0.jsonl", INIT);
    write_file(folder, name, bytes, len);
    load_path(run, folder);
    remove_folder(folder);
}

static void load_beside_text(struct run *run, const char *name, const char *text)
{
    load_beside(run, name, text, strlen(text));
}

/* SLURM_JOB_NODELIST lies four lists before the first part's. */
TEST(job_parts_have_numbers)
{
    struct run run;
    load_beside_text(&run, "env",
                     "SLURM_JOB_ID=3\nSLURM_JOB_NODELIST=n1\nSLURM_TASKS_PER_NODE=1\n"
                     "SLURM_JOB_NODELIST_HET_GROUP_-4=n-9\nSLURM_JOB_NODELIST_HET_GROUP_-99=n-9\n"
                     "SLURM_TASKS_PER_NODE_HET_GROUP_-18=8\nSLURM_JOB_NODELIST_HET_GROUP_16=n-9\n"
                     "SLURM_JOB_NODELIST_HET_GROUP_0x=n-9\nSLURM_JOB_NODELIST_HET_GROUP_=n-9\n");
    CHECK_STR(note_with(&run, "n-9"), "");
    CHECK_STR(run.ranks[0].host, "n1");
    run_release(&run);
}

/* A list of two jobs without traces: the nodes are those of the one that is told. */
TEST(job_of_a_list_has_its_own_nodes)
{
    const char *folder = make_folder();
    write_text(folder, "jobs.txt",
               "JobId=7 JobName=x\n   JobState=FAILED\n   NodeList=n1\n   NumNodes=1 NumTasks=1\n\n"
               "JobId=8 JobName=y\n   JobState=FAILED\n   NodeList=n2\n   NumNodes=1 NumTasks=1\n");
    CHECK_HAS(load_error(folder, NULL), "job 7 \"x\" ended FAILED on node n1; no trace");
    remove_folder(folder);
}

TEST(job_that_is_cut)
{
    static const char text[] = "JobId=7 JobName=x\n   JobState=FAILED Reason=None\n   "
                               "NodeList=n1\n   NumNodes=1 NumTasks=1\n";
    struct buf packed = BUF_INIT;
    struct run run;
    put_gzip(&packed, text, sizeof text - 1);
    load_beside(&run, "job.txt.gz", packed.data, packed.len - 8);
    CHECK_HAS(note_with(&run, "job.txt.gz: gzip data is cut off"), "loss: ");
    CHECK_HAS(note_with(&run, "FAILED"), "job 7");
    run_release(&run);
    buf_release(&packed);
}

TEST(job_numbers_that_are_too_large)
{
    struct run run;
    load_beside_text(&run, "job.txt",
                     "JobId=7 HetJobId=7 HetJobOffset=0\n   NodeList=n1\n   "
                     "NumTasks=9000000000000000000\n\n"
                     "JobId=8 HetJobId=7 HetJobOffset=1\n   NumTasks=9000000000000000000\n");
    CHECK_STR(note_with(&run, "tasks"), "");
    CHECK_STR(run.ranks[0].host, "n1");
    run_release(&run);
    load_beside_text(
        &run, "pods.json",
        "{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [{\"kind\": \"Pod\", "
        "\"metadata\": "
        "{\"name\": \"w\", \"labels\": {\"training.kubeflow.org/replica-index\": "
        "\"9223372036854775807\", \"training.kubeflow.org/replica-type\": \"worker\"}}, \"spec\": "
        "{\"nodeName\": \"n2\"}}, {\"kind\": \"Pod\", \"metadata\": {\"name\": \"m\", \"labels\": "
        "{\"training.kubeflow.org/replica-type\": \"master\"}}, \"spec\": {\"nodeName\": "
        "\"n1\"}}]}");
    CHECK_HAS(note_with(&run, "no label numbers the pods"), "pods.json");
    run_release(&run);
}

/* A pod that one of its labels calls master comes first, in whatever order they stand. */
TEST(job_pods_master_is_first)
{
    static const char *const labels[] = {"\"training.kubeflow.org/job-role\": \"master\", "
                                         "\"training.kubeflow.org/replica-type\": \"chief\"",
                                         "\"training.kubeflow.org/replica-type\": \"chief\", "
                                         "\"training.kubeflow.org/job-role\": \"master\""};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        const char *folder = make_folder();
        struct buf text = BUF_INIT;
        struct run run;
        buf_printf(&text,
                   "{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [{\"kind\": \"Pod\", "
                   "\"metadata\": {\"name\": \"a\", "
                   "\"labels\": {\"training.kubeflow.org/replica-index\": \"0\"}}, \"spec\": "
                   "{\"nodeName\": \"n2\"}}, {\"kind\": \"Pod\", \"metadata\": {\"name\": \"b\", "
                   "\"labels\": "
                   "{\"training.kubeflow.org/replica-index\": \"0\", %s}}, "
                   "\"spec\": {\"nodeName\": \"n1\"}}]}",
                   labels[i]);
        write_text(folder, "specter_trace_rank0.jsonl", INIT_OF("2"));
        write_text(folder, "pods.json", text.data);
        load_path(&run, folder);
        CHECK_STR(run.ranks[0].host, "n1");
        remove_folder(folder);
        run_release(&run);
        buf_release(&text);
    }
}

/* ---- NCCL's RAS ---- */

TEST(ras_counts_that_are_too_large)
{
    struct buf text = BUF_INIT;
    struct run run;
    buf_puts(&text, "{\"nccl_version\": \"2.28.9\", \"communicators_count\": 1, \"communicators\": "
                    "[{\"hash\": \"0x1\", \"size\": 1, \"ranks\": [{\"rank\": 0, "
                    "\"collective_counts\": {\"AllReduce\": 5");
    for (int i = 0; i < 70; i++)
        buf_puts(&text, ", \"AllGather\": 144115188075855871");
    buf_puts(&text, "}}]}]}");
    load_text(&run, "ras.json", text.data);
    CHECK_HAS(note_with(&run, "ras.json: counts of calls that cannot be believed are not used: 70"),
              "loss: ");
    CHECK_INT(run.ranks[0].in[0].called, 4);
    run_release(&run);
    buf_release(&text);
}

/* One rank in two communicators, of an unknown process: the largest communicator comes first. */
TEST(ras_order_of_unknown_processes)
{
    static const char *const sizes[] = {"1", "4", "2"};
    struct buf text = BUF_INIT;
    struct run run;
    buf_puts(&text,
             "{\"nccl_version\": \"2.28.9\", \"communicators_count\": 3, \"communicators\": [");
    for (int i = 0; i < 3; i++)
        buf_printf(&text,
                   "%s{\"hash\": \"0x%d\", \"size\": %s, \"ranks\": [{\"rank\": 0, "
                   "\"collective_counts\": {\"AllReduce\": 5}}]}",
                   i > 0 ? ", " : "", i + 1, sizes[i]);
    buf_puts(&text, "]}");
    load_text(&run, "ras.json", text.data);
    CHECK_INT(run.nranks, 1);
    CHECK_INT(run.ranks[0].nin, 3);
    CHECK_INT(run.comms[run.ranks[0].in[0].comm].size, 4);
    CHECK_INT(run.comms[run.ranks[0].in[1].comm].size, 2);
    CHECK_INT(run.comms[run.ranks[0].in[2].comm].size, 1);
    run_release(&run);
    buf_release(&text);
}

TEST(ras_text_counts_that_are_too_large)
{
    static const char *const functions[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter",
                                            "AllReduce"};
    struct buf text = BUF_INIT;
    struct run run;
    buf_puts(&text,
             "NCCL version 2.28.9 compiled with CUDA 12.6\n\nJob summary\n===========\n\n"
             "      1          2            1          2        2\n\n"
             "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
             "    0         1         1         2         2         2   RUNNING  MISMATCH\n\n"
             "Warnings\n========\n\n#0-0 (27a079b828ff1a75) MISMATCH\n"
             "  Communicator ranks have different Broadcast operation counts\n"
             "  Rank 0 has launched up to operation 7\n"
             "  Rank 1 has launched up to operation 8\n");
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        buf_printf(&text,
                   "  Communicator ranks have different %s operation counts\n"
                   "  Rank 0 has launched up to operation 999999999999999999\n"
                   "  2 ranks have launched up to operation -5\n",
                   functions[i]);
    load_text(&run, "ras.txt", text.data);
    CHECK_HAS(note_with(&run, "ras.txt: counts of calls that cannot be believed are not used: 10"),
              "loss: ");
    CHECK_INT(run.nranks, 2);
    CHECK_INT(run.ranks[1].in[0].called, 7);
    run_release(&run);
    buf_release(&text);
}
