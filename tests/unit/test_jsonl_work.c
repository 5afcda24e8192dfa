/* SPDX-License-Identifier: MIT
 *
 * Records beside operations of NCCL and cuBLAS: copies, kernels that are only counted, graphs, what
 * NCCL's profiler said, marks, sampling; and lines that hold nothing.
 */
#include "made_jsonl.h"

#include "trace/activity.h"
#include "trace/graph.h"

#define TIMES                                                                        \
    "\"start_us\":10.000,\"duration_us\":2.500,\"device\":0,\"stream\":3,\"tid\":1," \
    "\"host_us\":4.000,\"host_end_us\":5.000,\"timing\":\"device\""
#define UNTIMED                                                                   \
    "\"start_us\":null,\"duration_us\":null,\"device\":0,\"stream\":3,\"tid\":1," \
    "\"host_us\":4.000,\"host_end_us\":5.000,\"timing\":\"captured\""
#define REDUCE(id, seq, rest)                                                                 \
    "{\"id\":" id ",\"type\":\"nccl\",\"op\":\"AllReduce\",\"bytes\":64,\"count\":16,"        \
    "\"dtype\":\"fp32\",\"comm\":\"c\",\"comm_rank\":0,\"comm_size\":1,\"seq\":" seq "," rest \
    "}\n"
#define MESSAGE(id, op, peer, seq)                                                    \
    "{\"id\":" id ",\"type\":\"nccl\",\"op\":\"" op "\",\"bytes\":64,\"count\":16,"   \
    "\"dtype\":\"fp32\",\"comm\":\"c\",\"comm_rank\":0,\"comm_size\":4,\"seq\":null," \
    "\"peer\":" peer ",\"p2p_seq\":" seq "," TIMES "}\n"

/* The first operation of a class; one of nothing when there is none. */
static const struct op *first_of(const struct run *run, enum op_class class)
{
    static const struct op none;
    for (size_t i = 0; run->nranks > 0 && i < run->ranks[0].nops; i++) {
        if (run->ranks[0].ops[i].class == class)
            return &run->ranks[0].ops[i];
    }
    return &none;
}

TEST(jsonl_copies_are_operations)
{
    struct run run;
    load_rank(&run, INIT_OF("\"copies\"") "{\"id\":0,\"type\":\"copy\",\"kind\":\"h2d\","
                                          "\"bytes\":4096," TIMES "}\n" END);
    const struct op *op = first_of(&run, OP_MEMORY);
    CHECK_STR(all_notes(&run), "");
    CHECK_STR(op->name, "h2d");
    CHECK_INT(op->bytes, 4096);
    CHECK_INT(op->start_ns, 1010000);
    CHECK_INT(op->dur_ns, 2500);
    CHECK_INT(op->host_ns, 1004000);
    CHECK_INT(op->stream, 3);
    CHECK_INT(op->graph, -1);
    CHECK(op_timed(op));
    CHECK_INT(run.ranks[0].coverage, COVER_MEMORY);
    run_release(&run);
}

/* A small copy's call is timed, not its device work. */
TEST(jsonl_small_copies_have_host_times_only)
{
    struct run run;
    load_rank(&run, INIT "{\"id\":0,\"type\":\"copy\",\"kind\":\"memset\",\"bytes\":null,"
                         "\"start_us\":4.000,\"duration_us\":1.000,\"device\":0,\"stream\":3,"
                         "\"tid\":1,\"host_us\":4.000,\"host_end_us\":5.000,"
                         "\"timing\":\"host\"}\n" END);
    const struct op *op = first_of(&run, OP_MEMORY);
    CHECK(!op_timed(op));
    CHECK_INT(op->host_end_ns, 1005000);
    CHECK_INT(op->flags, OP_BYTES_UNKNOWN);
    run_release(&run);
}

TEST(jsonl_lines_that_hold_nothing)
{
    struct run run;
    load_rank(&run, "# a place that was being written\n\n  \t\n#\n#\n#\n#\n#\n#\n#\n#\n#\n#\n#\n#\n"
                    "#\n#\n#\n" INIT REDUCE("0", "0", TIMES) " # {\"id\":\n   \r\n" END "# cut");
    CHECK_STR(all_notes(&run), "");
    CHECK_INT(run.ranks[0].nops, 1);
    CHECK(run.ranks[0].complete);
    run_release(&run);
}

TEST(jsonl_untraced_launches_by_host_time)
{
    struct run run;
    load_rank(&run,
              INIT_OF("\"launches\"") "{\"type\":\"untraced\",\"launches\":37,\"classes\":{"
                                      "\"elementwise\":30,\"attention\":2,\"new\":1},\"device\":1,"
                                      "\"stream\":4,\"tid\":9,\"host_us\":20.0,"
                                      "\"host_end_us\":30.0,\"max_gap_us\":1.5}\n"
                                      "{\"type\":\"untraced\",\"launches\":1,\"classes\":{},"
                                      "\"stream\":null,\"host_us\":7.0,\"graph\":3}\n" END);
    const struct rank *rank = &run.ranks[0];
    CHECK_STR(all_notes(&run), "");
    CHECK_INT(rank->coverage, COVER_LAUNCHES);
    CHECK_INT(rank->nlaunches, 2);
    if (rank->nlaunches == 2) {
        const struct launches *early = &rank->launches[0], *late = &rank->launches[1];
        CHECK_INT(early->host_ns, 1007000);
        CHECK_INT(early->host_end_ns, UNKNOWN_NS);
        CHECK_INT(early->stream, -1);
        CHECK_INT(early->graph, 3);
        CHECK_INT(late->count, 37);
        CHECK_INT(late->classes[SPECTER_KERNEL_ELEMENTWISE], 30);
        CHECK_INT(late->classes[SPECTER_KERNEL_ATTENTION], 2);
        CHECK_INT(late->classes[SPECTER_KERNEL_OTHER], 1);
        CHECK_INT(late->max_gap_ns, 1500);
        CHECK_INT(late->device, 1);
        CHECK_INT(late->graph, -1);
    }
    run_release(&run);
}

#define GRAPH(id, graph, count)                                                              \
    "{\"id\":" id ",\"type\":\"graph\",\"graph\":" graph ",\"launch\":2,\"op_count\":" count \
    "," TIMES "}\n"

TEST(jsonl_graph_launches_stand_for_what_was_captured)
{
    struct run run;
    struct graphs g;
    load_rank(
        &run,
        INIT_OF("\"launches\",\"graphs\"") REDUCE("0", "0", UNTIMED ",\"graph\":7")
            REDUCE("1", "1", UNTIMED ",\"graph\":7") REDUCE(
                "2", "2", UNTIMED ",\"graph\":8") "{\"type\":\"untraced\",\"launches\":5,\"graph\":"
                                                  "8,\"host_us\":4.0}\n" GRAPH("3", "7", "2") END);
    const struct op *op = first_of(&run, OP_GRAPH);
    CHECK_STR(all_notes(&run), "");
    CHECK_INT(run.ranks[0].coverage, COVER_LAUNCHES | COVER_GRAPHS);
    CHECK_STR(op->name, "graph");
    CHECK_INT(op->graph, 7);
    CHECK_INT(op->graph_launch.launch, 2);
    CHECK_INT(op->graph_launch.op_count, 2);
    CHECK_INT(op->dur_ns, 2500);
    CHECK_INT(first_of(&run, OP_COLL)->dur_ns, UNKNOWN_NS);
    graphs_init(&g, &run.ranks[0]);
    CHECK_INT(g.count, 2);
    CHECK(graphs_find(&g, 6) == NULL);
    if (g.count == 2) {
        CHECK_INT(graphs_find(&g, 7)->nops, 2);
        CHECK_INT(graphs_find(&g, 7)->comms, 2);
        CHECK_INT(graphs_find(&g, 7)->comm_bytes, 128);
        CHECK_INT(graphs_find(&g, 8)->launches, 5);
        CHECK_INT(run.ranks[0].ops[graphs_find(&g, 8)->ops[0]].coll.seq, 2);
    }
    graphs_release(&g);
    run_release(&run);
}

/* Its capture was not seen. */
TEST(jsonl_graph_of_unknown_origin)
{
    struct run run;
    load_rank(&run, INIT GRAPH("3", "null", "0") END);
    CHECK_STR(all_notes(&run), "");
    CHECK_INT(first_of(&run, OP_GRAPH)->graph, -1);
    CHECK_INT(first_of(&run, OP_GRAPH)->dur_ns, 2500);
    CHECK_INT(activity_kind_of(first_of(&run, OP_GRAPH)), ACTIVITY_COMPUTE);
    run_release(&run);
}

/* A graph is communication only when all that is in it is known to be. */
TEST(jsonl_graphs_of_communication_alone)
{
    static const struct {
        const char *text;
        enum activity_kind kind;
    } cases[] = {
        {INIT_OF("\"launches\"") REDUCE("0", "0", UNTIMED ",\"graph\":7") GRAPH("3", "7", "1"),
         ACTIVITY_COMM},
        {INIT_OF("\"launches\"") REDUCE("0", "0", UNTIMED ",\"graph\":7") GRAPH("3", "7", "2"),
         ACTIVITY_COMPUTE}, /* one operation is not in the trace */
        {INIT_OF("\"nccl\"") REDUCE("0", "0", UNTIMED ",\"graph\":7") GRAPH("3", "7", "1"),
         ACTIVITY_COMPUTE}, /* kernels were not recorded */
        {INIT_OF("\"launches\"") REDUCE("0", "0", UNTIMED ",\"graph\":7")
             GRAPH("3", "7", "1") "{\"type\":\"untraced\",\"launches\":1,\"graph\":7}\n",
         ACTIVITY_COMPUTE},
        {INIT_OF("\"launches\"") GRAPH("3", "7", "0"), ACTIVITY_COMPUTE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run run;
        load_rank(&run, cases[i].text);
        CHECK_INT(activity_kind_of(first_of(&run, OP_GRAPH)), cases[i].kind);
        run_release(&run);
    }
}

#define PLUGIN(rest) \
    "{\"type\":\"plugin\",\"comm\":\"c\",\"algo\":\"RING\",\"proto\":\"LL128\"," rest "}\n"

/* Before or after the operations: the numbers decide. */
TEST(jsonl_plugin_joins_operations)
{
    struct run run;
    load_rank(&run,
              INIT_OF("\"plugin\"") PLUGIN("\"op\":\"Recv\",\"seq\":4,\"peer\":2,\"channels\":2,"
                                           "\"kernel_us\":1.25") REDUCE("0", "4", TIMES)
                  REDUCE("1", "5", TIMES) MESSAGE("2", "Send", "2", "4")
                      MESSAGE("3", "Recv", "2", "4") MESSAGE("4", "Recv", "3", "4")
                          PLUGIN("\"op\":\"AllReduce\",\"seq\":5,\"channels\":16,"
                                 "\"kernel_us\":2.0") PLUGIN("\"op\":\"AllReduce\",\"seq\":9") END);
    const struct rank *rank = &run.ranks[0];
    CHECK_INT(rank->coverage, COVER_PLUGIN);
    CHECK_INT(rank->nops, 5);
    for (size_t i = 0; i < rank->nops; i++) {
        const struct comm_detail *d = rank_detail(rank, i);
        CHECK((d != NULL) == (rank->ops[i].id == 1 || rank->ops[i].id == 3));
        if (d == NULL)
            continue;
        CHECK_STR(d->algo, "RING");
        CHECK_STR(d->proto, "LL128");
        CHECK_INT(d->channels, rank->ops[i].id == 1 ? 16 : 2);
        CHECK_INT(d->kernel_ns, rank->ops[i].id == 1 ? 2000 : 1250);
    }
    CHECK_STR(all_notes(&run),
              "1 record of NCCL's profiler belongs to no operation that is there\n");
    run_release(&run);
}

TEST(jsonl_marks_and_steps)
{
    struct run run;
    load_rank(
        &run,
        INIT_OF("\"marks\"") REDUCE(
            "0", "0",
            TIMES) "{\"event\":\"mark\",\"name\":\"two\",\"time_us\":50.0,\"kind\":\"iteration\"}\n"
                   "{\"event\":\"mark\",\"name\":\"one\",\"time_us\":5.0,\"kind\":\"iteration\"}\n"
                   "{\"event\":\"mark\",\"name\":\"save\",\"time_us\":60.0,\"kind\":\"mark\","
                   "\"tid\":1}\n"
                   "{\"event\":\"mark\",\"name\":\"load\",\"time_us\":6.0,\"kind\":\"range\","
                   "\"tid\":1,\"end_us\":9.5}\n" END);
    const struct rank *rank = &run.ranks[0];
    CHECK_STR(all_notes(&run), "");
    CHECK_INT(rank->coverage, COVER_MARKS);
    CHECK_INT(rank->nsteps, 2);
    CHECK_INT(rank->nmarks, 2);
    if (rank->nsteps == 2 && rank->nmarks == 2) {
        CHECK_STR(rank->steps[0].name, "one");
        CHECK_INT(rank->steps[0].end_ns, 1050000);
        CHECK_INT(rank->steps[1].end_ns, 1900000);
        CHECK_STR(rank->marks[0].name, "load");
        CHECK_INT(rank->marks[0].start_ns, 1006000);
        CHECK_INT(rank->marks[0].end_ns, 1009500);
        CHECK_STR(rank->marks[1].name, "save");
        CHECK_INT(rank->marks[1].end_ns, 1060000);
        CHECK_INT(rank->marks[1].tid, 0);
    }
    CHECK_INT(rank->end_ns, 1900000);
    run_release(&run);
}

/* A range without an end lasts as long as the trace; one that begins at its end takes no time. */
TEST(jsonl_open_ranges)
{
    struct run run;
    load_rank(&run,
              INIT_OF("\"marks\"")
                  REDUCE("0", "0", TIMES) "{\"event\":\"mark\",\"name\":\"open\",\"time_us\":6.0,"
                                          "\"kind\":\"range\",\"tid\":1,\"end_us\":null}\n"
                                          "{\"event\":\"mark\",\"name\":\"short\",\"time_us\":7.0,"
                                          "\"kind\":\"range\",\"tid\":1,\"end_us\":7.0}\n" END
                                          "{\"event\":\"mark\",\"name\":\"late\",\"time_us\":950.0,"
                                          "\"kind\":\"range\",\"tid\":1,\"end_us\":null}\n");
    const struct rank *rank = &run.ranks[0];
    CHECK_STR(all_notes(&run), "");
    CHECK(!run_partial(&run));
    CHECK_INT(rank->nmarks, 3);
    for (size_t i = 0; i < 3 && rank->nmarks == 3; i++) {
        static const int64_t end_ns[] = {1900000, 1007000, 1950000};
        CHECK_INT(rank->marks[i].end_ns, end_ns[i]);
    }
    CHECK_INT(rank->end_ns, 1900000);
    run_release(&run);
}

/* Two lines disagree on the size of a communicator: what has no place in it is no member. */
TEST(jsonl_member_of_a_smaller_communicator)
{
    struct run run;
    load_rank(&run,
              INIT "{\"event\":\"comm\",\"comm\":\"c\",\"comm_rank\":0,\"comm_size\":1}\n"
                   "{\"event\":\"comm\",\"comm\":\"c\",\"comm_rank\":7,\"comm_size\":8}\n" MESSAGE(
                       "1", "Send", "0",
                       "0") "{\"type\":\"nccl\",\"op\":\"AllReduce\",\"bytes\":64,\"comm\":\"c\","
                            "\"comm_rank\":1048575,\"seq\":0," TIMES "}\n"
                            "{\"type\":\"plugin\",\"comm\":\"c\",\"comm_rank\":9,\"seq\":0,"
                            "\"op\":\"AllReduce\"}\n" END);
    CHECK_INT(run.ranks[0].nin, 1);
    CHECK_INT(run.ranks[0].nin > 0 ? run.ranks[0].in[0].rank : -1, 0);
    CHECK_INT(run.ranks[0].ndetails > 0 ? run.ranks[0].details[0].member : 0, UINT32_MAX);
    run_release(&run);
}

TEST(jsonl_sampling_is_said)
{
    struct run run;
    load_rank(&run, INIT REDUCE("0", "0",
                                TIMES) "{\"event\":\"sample\",\"time_us\":5.0,\"of\":\"cublas\","
                                       "\"rate\":8,\"why\":\"governor\"}\n"
                                       "{\"event\":\"sample\",\"time_us\":9.0,"
                                       "\"of\":\"cublas\",\"rate\":1,\"why\":\"governor\"}\n" END);
    CHECK_STR(all_notes(&run),
              "sampled: at times one cublas operation in 8 is recorded or timed (governor)\n");
    CHECK_INT(run.ranks[0].gemm_sample, 8);
    run_release(&run);
}

#define SAMPLED_INIT INIT_SAMPLED("\"nccl\"", "8")
#define SAMPLE(time_us, rate, why)                                                       \
    "{\"event\":\"sample\",\"time_us\":" time_us ",\"of\":\"cublas\",\"rate\":" rate "," \
    "\"why\":\"" why "\"}\n"

/* Asked for, it is in both records, and said once; what comes later is something else. */
TEST(jsonl_sampling_from_the_start_is_said_once)
{
    struct run run;
    load_rank(&run, SAMPLED_INIT REDUCE("0", "0", TIMES) SAMPLE("0.0", "8", "asked") END);
    CHECK_STR(all_notes(&run), "sampled: one cublas operation in 8 is recorded\n");
    CHECK_INT(run.ranks[0].gemm_sample, 8);
    run_release(&run);
    load_rank(&run, SAMPLED_INIT REDUCE("0", "0", TIMES) SAMPLE("0.0", "8", "asked")
                        SAMPLE("5.0", "16", "governor") END);
    CHECK_STR(all_notes(&run),
              "sampled: one cublas operation in 8 is recorded\n"
              "sampled: at times one cublas operation in 16 is recorded or timed (governor)\n");
    CHECK_INT(run.ranks[0].gemm_sample, 16);
    run_release(&run);
}

TEST(jsonl_coverage_words)
{
    struct run run;
    load_rank(&run, INIT_OF("\"rocblas\"") REDUCE("0", "0", TIMES) END);
    CHECK_INT(run.ranks[0].coverage, COVER_GEMM);
    run_release(&run);
    load_rank(&run, INIT_OF("\"hipblaslt\",\"new\"") REDUCE("0", "0", TIMES) END);
    CHECK_INT(run.ranks[0].coverage, COVER_GEMM);
    run_release(&run);
}

TEST(jsonl_impossible_work)
{
    static const struct {
        const char *line, *note;
    } cases[] = {
        {"{\"type\":\"untraced\",\"launches\":0}\n", "line 2: impossible number of launches"},
        {"{\"type\":\"untraced\",\"launches\":99999999999}\n", "impossible number of launches"},
        {"{\"type\":\"untraced\",\"launches\":3,\"classes\":{\"gemm\":2,\"copy\":2}}\n",
         "more launches by class than launches"},
        {"{\"type\":\"untraced\",\"launches\":3,\"host_us\":5e15}\n", "impossible time"},
        {"{\"type\":\"untraced\",\"launches\":3,\"stream\":5000000000}\n", "impossible device"},
        {"{\"type\":\"copy\",\"id\":1,\"kind\":null}\n", "a copy without a kind"},
        {"{\"type\":\"copy\",\"id\":1,\"kind\":\"d2h\",\"duration_us\":-1.0}\n",
         "impossible duration"},
        {"{\"type\":\"graph\",\"id\":1,\"graph\":5000000000}\n", "impossible graph"},
        {"{\"type\":\"plugin\",\"comm\":\"c\",\"seq\":1,\"kernel_us\":-3.0}\n",
         "impossible duration"},
        {"{\"type\":\"plugin\",\"comm\":\"c\",\"seq\":1,\"channels\":5000000000}\n",
         "impossible peer or channels"},
        {"{\"event\":\"mark\",\"kind\":\"range\",\"time_us\":5.0,\"end_us\":4.0}\n",
         "a range that ends before its start"},
        {"{\"event\":\"sample\",\"of\":\"cublas\",\"rate\":0}\n", "impossible rate"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2048];
        struct run run;
        snprintf(text, sizeof text, "%s%s%s", INIT, cases[i].line, REDUCE("9", "0", TIMES) END);
        load_rank(&run, text);
        CHECK_HAS(all_notes(&run), cases[i].note);
        CHECK_HAS(all_notes(&run), "specter_trace_rank0.jsonl: line 2: ");
        CHECK(run_partial(&run));
        CHECK_INT(run.ranks[0].nops, 1);
        CHECK_INT(run.ranks[0].nlaunches + run.ranks[0].ndetails + run.ranks[0].nmarks, 0);
        run_release(&run);
    }
}
