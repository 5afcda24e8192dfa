/* SPDX-License-Identifier: MIT
 *
 * Processes that drive several GPUs: from one file to a rank a device, and what the job then is.
 */
#include "analysis/hang.h"
#include "trace/match.h"
#include "trace_load.h"

#define INIT_OF(rank, pid)                                                                    \
    "{\"event\":\"init\",\"version\":1,\"run\":\"r\",\"rank\":" rank ",\"world_size\":null,"  \
    "\"pid\":" pid ",\"host\":\"h\",\"mono_ns\":1000000,\"real_ns\":0,"                       \
    "\"coverage\":[\"nccl\"],\"gpus\":[{\"device\":0,\"name\":\"A\"},{\"device\":1,\"name\":" \
    "\"B\"}]}\n"
#define COMM_OF(comm, at, size, device)                                           \
    "{\"event\":\"comm\",\"time_us\":1.0,\"comm\":\"" comm "\",\"comm_rank\":" at \
    ",\"comm_size\":" size ",\"device\":" device "}\n"
#define OP_OF(id, comm, at, seq, device, tid, host)                                              \
    "{\"id\":" id ",\"type\":\"nccl\",\"op\":\"AllReduce\",\"start_us\":" host ".5,"             \
    "\"duration_us\":5.0,\"bytes\":1024,\"count\":256,\"dtype\":\"fp32\",\"comm\":\"" comm "\"," \
    "\"comm_rank\":" at ",\"seq\":" seq ",\"device\":" device ",\"stream\":" device              \
    ",\"tid\":" tid ",\"host_us\":" host ".0,\"host_end_us\":" host ".2,\"timing\":\"device\"}\n"
#define MARK_OF(at, tid)                                                               \
    "{\"event\":\"mark\",\"name\":\"step\",\"time_us\":" at ",\"kind\":\"iteration\"," \
    "\"tid\":" tid "}\n"
#define END "{\"event\":\"shutdown\",\"time_us\":900.0,\"total_ops\":0,\"dropped\":3}\n"

static void load_rank(struct run *run, const char *text)
{
    load_text(run, "specter_trace_h_1.jsonl", text);
}

/* Comm ranks that are not in the order of the devices; a copy, a synchronisation and kernels of
 * device 1; what the profiler said of comm rank 0. */
TEST(devices_ranks)
{
    struct run run;
    const struct rank *rank;
    load_rank(
        &run,
        INIT_OF("null", "7") COMM_OF("c", "1", "2", "0") COMM_OF("c", "0", "2", "1")
            OP_OF("0", "c", "1", "0", "0", "0", "10") OP_OF(
                "1", "c", "0", "0", "1", "0",
                "11") "{\"id\":2,\"type\":\"copy\",\"kind\":\"h2d\",\"bytes\":8,\"device\":1,"
                      "\"stream\":1,"
                      "\"tid\":0,\"host_us\":20.0,\"host_end_us\":21.0,\"timing\":\"host\"}\n"
                      "{\"type\":\"sync\",\"kind\":\"device\",\"device\":1,\"tid\":0,\"host_us\":"
                      "30.0,"
                      "\"host_end_us\":31.0}\n"
                      "{\"type\":\"untraced\",\"launches\":2,\"classes\":{\"other\":2},\"device\":"
                      "1,"
                      "\"stream\":1,\"tid\":0,\"host_us\":12.0,\"host_end_us\":13.0}\n"
                      "{\"type\":\"plugin\",\"op\":\"AllReduce\",\"comm\":\"c\",\"comm_rank\":0,"
                      "\"seq\":0,"
                      "\"algo\":\"RING\",\"proto\":\"LL\",\"channels\":4,\"kernel_us\":4.0}\n" END);
    CHECK_INT(run.nranks, 2);
    CHECK_INT(run.world_size, 2);
    CHECK_INT(run.ndomains, 1);
    rank = &run.ranks[0];
    CHECK_INT(rank->rank, 0);
    CHECK_INT(rank->device, 1);
    CHECK_INT(rank->pid, 7);
    CHECK_STR(rank->host, "h");
    CHECK_STR(rank->gpu, "B");
    CHECK_INT(rank->nops, 2);
    CHECK_INT(rank->nsync_calls, 1);
    CHECK_INT(rank->nlaunches, 1);
    CHECK_INT(rank->nin, 1);
    CHECK_INT(rank->complete, true);
    CHECK_INT(rank->end_ns, 1900000);
    CHECK_STR(rank_detail(rank, 0)->algo, "RING");
    CHECK_STR(run.ranks[1].gpu, "A");
    CHECK_INT(run.ranks[1].device, 0);
    CHECK_INT(run.ranks[1].nops, 1);
    CHECK_INT(run.ranks[1].nsync_calls, 0);
    CHECK_INT(run.ranks[1].process, rank->process);
    CHECK(rank_detail(&run.ranks[1], 0) == NULL);
    CHECK_INT(run.comms[0].ranks[0], 0);
    CHECK_INT(run.comms[0].ranks[1], 1);
    CHECK_INT(run.ranks[0].dropped + run.ranks[1].dropped, 3);
    CHECK_STR(note_with(&run, "several"),
              "2 ranks are GPUs of processes that drive several: numbered "
              "as in the largest communicator");
    run_release(&run);
}

/* Two nodes, each with one process that the launcher numbers, and a child of the second one that
 * did as much as each of its devices. */
TEST(devices_nodes)
{
    static const char *const files[] = {
        INIT_OF("0", "1") COMM_OF("w", "0", "4", "0") COMM_OF("w", "1", "4", "1")
            OP_OF("0", "w", "0", "0", "0", "0", "10") OP_OF("1", "w", "1", "0", "1", "0", "11") END,
        INIT_OF("1", "2") COMM_OF("w", "2", "4", "0") COMM_OF("w", "3", "4", "1")
            OP_OF("0", "w", "2", "0", "0", "0", "12") OP_OF("1", "w", "3", "0", "1", "0", "13") END,
        INIT_OF(
            "1",
            "3") "{\"id\":0,\"type\":\"cublas\",\"op\":\"GemmEx\",\"m\":1,\"n\":1,\"k\":1,"
                 "\"device\":0,\"stream\":0,\"tid\":0,\"host_us\":5.0,\"timing\":\"host\"}\n" END,
    };
    const char *folder = make_folder();
    struct run run;
    struct matches m;
    write_text(folder, "specter_trace_rank0.jsonl", files[0]);
    write_text(folder, "specter_trace_rank1.jsonl", files[1]);
    write_text(folder, "specter_trace_rank1.1.jsonl", files[2]);
    load_path(&run, folder);
    CHECK_INT(run.nranks, 4);
    CHECK_INT(run.world_size, 4);
    for (int r = 0; r < 4; r++) {
        CHECK_INT(run.ranks[r].rank, r);
        CHECK_INT(run.ranks[r].pid, 1 + r / 2);
        CHECK_INT(run.ranks[r].device, r % 2);
    }
    matches_init(&m, &run);
    CHECK_INT(m.count, 1);
    CHECK_INT(m.list[0].nmembers, 4);
    CHECK_INT(m.incomplete + m.inconsistent, 0);
    matches_release(&m);
    CHECK(strncmp(note_with(&run, "more than one"), "loss: more than one trace of a rank (2 ",
                  38) == 0);
    run_release(&run);
    remove_folder(folder);
}

/* Without the other node, what is missing is told by the communicator. */
TEST(devices_missing)
{
    struct run run;
    load_rank(&run, INIT_OF("0", "1") COMM_OF("w", "2", "4", "0") COMM_OF("w", "3", "4", "1")
                        OP_OF("0", "w", "2", "0", "0", "0", "12") END);
    CHECK_INT(run.nranks, 2);
    CHECK_STR(note_with(&run, "missing"), "loss: 2 of 4 ranks have a trace; missing: ranks 0-1");
    run_release(&run);
}

/* Two nodes that have a communicator each, and none together: all are ranks of the job. */
TEST(devices_without_a_world)
{
    const char *folder = make_folder();
    struct run run;
    write_text(folder, "specter_trace_rank0.jsonl",
               INIT_OF("0", "1") COMM_OF("a", "0", "2", "0") COMM_OF("a", "1", "2", "1") END);
    write_text(folder, "specter_trace_rank1.jsonl",
               INIT_OF("1", "2") COMM_OF("b", "0", "2", "0") COMM_OF("b", "1", "2", "1") END);
    load_path(&run, folder);
    CHECK_INT(run.nranks, 4);
    CHECK_INT(run.world_size, 4);
    CHECK_INT(run.comms[1].ranks[0], 2);
    CHECK_INT(run.comms[1].ranks[1], 3);
    CHECK_STR(note_with(&run, "in a world of"), "");
    run_release(&run);
    remove_folder(folder);
}

/* One device, whose operations name two comm ranks: damage, and one rank as before. */
TEST(devices_one)
{
    struct run run;
    load_rank(&run,
              INIT_OF("null", "1") COMM_OF("c", "0", "2", "0") COMM_OF("c", "1", "2", "0") END);
    CHECK_INT(run.nranks, 1);
    CHECK_INT(run.ranks[0].device, -1);
    run_release(&run);
}

/* Thread 1 works for device 1 and marks its own steps; thread 0 for device 0, and marks none: it
 * has those of thread 2, which works for none. */
TEST(devices_steps)
{
    struct run run;
    load_rank(&run, INIT_OF("null", "1") COMM_OF("c", "0", "2", "0") COMM_OF("c", "1", "2", "1")
                        MARK_OF("5.0", "2") MARK_OF("6.0", "1") MARK_OF("50.0", "1")
                            OP_OF("0", "c", "0", "0", "0", "0", "10")
                                OP_OF("1", "c", "1", "0", "1", "1", "11") END);
    CHECK_INT(run.ranks[0].nsteps, 1);
    CHECK_INT(run.ranks[0].steps[0].start_ns, 1005000);
    CHECK_INT(run.ranks[0].steps[0].end_ns, 1900000);
    CHECK_INT(run.ranks[1].nsteps, 2);
    CHECK_INT(run.ranks[1].steps[0].start_ns, 1006000);
    CHECK_INT(run.ranks[1].steps[0].end_ns, 1050000);
    run_release(&run);
}

/* One thread that marks for all devices: each has all steps, and none twice. */
TEST(devices_steps_of_all)
{
    struct run run;
    load_rank(&run,
              INIT_OF("null", "1") COMM_OF("c", "0", "2", "0") COMM_OF("c", "1", "2", "1")
                  MARK_OF("5.0", "0") MARK_OF("50.0", "0") OP_OF("0", "c", "0", "0", "0", "0", "10")
                      OP_OF("1", "c", "1", "0", "1", "0", "11") END);
    CHECK_INT(run.ranks[0].nsteps, 2);
    CHECK_INT(run.ranks[1].nsteps, 2);
    run_release(&run);
}

#define PENDING(id, at, device)                                                          \
    "{\"id\":" id                                                                        \
    ",\"type\":\"nccl\",\"op\":\"AllReduce\",\"start_us\":null,\"duration_us\":null,"    \
    "\"bytes\":1024,\"count\":256,\"dtype\":\"fp32\",\"comm\":\"c\",\"comm_rank\":" at   \
    ",\"seq\":0,\"device\":" device ",\"stream\":" device ",\"tid\":0,\"host_us\":10.0," \
    "\"host_end_us\":11.0,\"timing\":\"none\"}\n"

/* A device that nothing was asked of is a member that did not call, not one without a trace. */
TEST(devices_hang)
{
    struct run run;
    struct hangs h;
    load_rank(&run, INIT_OF("null", "1") COMM_OF("c", "0", "3", "0") COMM_OF("c", "1", "3", "1")
                        COMM_OF("c", "2", "3", "2") PENDING("0", "0", "0") PENDING("1", "1", "1"));
    CHECK_INT(run.nranks, 3);
    hangs_find(&h, &run);
    CHECK_INT(h.count, 1);
    CHECK_INT(h.list[0].cause, HANG_NOT_CALLED);
    CHECK_INT(h.list[0].nranks, 1);
    CHECK_INT(h.list[0].ranks[0], 2);
    CHECK_INT(h.list[0].waiting, 2);
    hangs_release(&h);
    run_release(&run);
}
