/* SPDX-License-Identifier: MIT
 *
 * Kineto and execution traces that are damaged, or meant to do damage: an error or a run, each in
 * bounded time and memory, and every message with file and byte.
 */
#include "made_kineto.h"

#include "base/json.h"

static const char trace[] =
    "{'schemaVersion':1,'deviceProperties':[{'id':0,'name':'GPU'}],"
    "'distributedInfo':{'backend':'nccl','rank':0,'world_size':2,'pg_count':1,"
    "'pg_config':[{'pg_name':'0','pg_desc':'default_pg','pg_size':2,'ranks':[0,1]}]},"
    "'baseTimeNanoseconds':1711964646000000000," EVENTS(
        HOST("user_annotation", "ProfilerStep#1", "1", "0", "99", "'External id':1")
            HOST("user_annotation", "## forward ##", "1", "1", "50", "'External id':2") HOST(
                "cpu_op", "aten::mm", "1", "2", "9",
                "'External id':3,'Record function id':3,'Input Dims':[[2,3],[3,4]],"
                "'Input type':['float','float']")
                HOST("cuda_runtime", "cudaLaunchKernel", "1", "3", "2",
                     "'External id':3,'cbid':211,'correlation':7")
                    WORK("kernel", "sgemm", "10.125", "5",
                         "'External id':3,'device':0,'stream':7,'correlation':7")
                        HOST("cpu_op", "record_param_comms", "1", "20", "9",
                             "'External id':4,'Rank':0,'Collective name':'allreduce'")
                            HOST("cuda_runtime", "cudaLaunchKernelExC", "1", "22", "2",
                                 "'correlation':8")
                                WORK("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "30", "5",
                                     "'device':0,'stream':20,'correlation':8,'Collective "
                                     "name':'allreduce','In msg nelems':8,'Out msg nelems':8,"
                                     "'dtype':'Float','Group size':2,'Process Group Name':'0',"
                                     "'Process Group Ranks':'[0, 1]','Seq':5")
                                    WORK("cuda_sync", "Stream Sync", "40", "1",
                                         "'stream':7,'correlation':9")
                                        WORK("gpu_memcpy", "Memcpy HtoD", "50", "1",
                                             "'device':0,'stream':7,'bytes':64")) "}";

/* Loads what stands in the folder; either way something must be said of it, by name. */
static void load_damaged(const char *folder, bool may_be_whole)
{
    struct run run;
    struct err e = {0};
    if (run_load(&run, folder, NULL, &e) < 0) {
        CHECK_INT(e.code, ERR_INPUT);
        CHECK_HAS(e.msg, "rank0.json");
    } else if (!may_be_whole) {
        CHECK(run_partial(&run));
        CHECK_HAS(all_notes(&run), "rank0.json: byte ");
    }
    run_release(&run);
}

TEST(kineto_cut_at_every_byte)
{
    const char *folder = make_folder(), *text = quoted(trace);
    for (size_t n = 1; n < sizeof trace - 1; n++) {
        write_file(folder, "rank0.json", text, n);
        load_damaged(folder, false);
    }
    remove_folder(folder);
}

/* Every value in turn becomes one of another type, or none that JSON knows. */
TEST(kineto_values_of_wrong_types)
{
    static const char *const values[] = {"null",
                                         "true",
                                         "\"x\"",
                                         "-1",
                                         "[]",
                                         "{}",
                                         "[[1]]",
                                         "1e999",
                                         "NaN",
                                         "99999999999999999999",
                                         "0.5",
                                         "\"\\ud800\"",
                                         "\"\xff\xfe\x80\"",
                                         "\"-9223372036854775808\""};
    const char *folder = make_folder(), *text = quoted(trace), *end = text + strlen(text);
    struct buf changed = BUF_INIT;
    for (const char *p = text; (p = strstr(p, "\":")) != NULL; p++) {
        struct json j;
        json_init(&j, p + 2, (size_t)(end - p - 2));
        json_skip(&j);
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            buf_reset(&changed);
            buf_put(&changed, text, (size_t)(p + 2 - text));
            buf_puts(&changed, values[v]);
            buf_put(&changed, j.p, (size_t)(end - j.p));
            write_file(folder, "rank0.json", changed.data, changed.len);
            load_damaged(folder, true);
        }
    }
    buf_release(&changed);
    remove_folder(folder);
}

TEST(kineto_bytes_flipped)
{
    const char *folder = make_folder();
    char text[sizeof trace];
    memcpy(text, quoted(trace), sizeof trace);
    for (size_t at = 0; at < sizeof trace - 1; at++) {
        char was = text[at];
        text[at] = (char)(was ^ (1 << at % 8));
        write_file(folder, "rank0.json", text, sizeof trace - 1);
        load_damaged(folder, true);
        text[at] = was;
    }
    remove_folder(folder);
}

/* The last of two equal keys counts, and so does the last list of events: all are events. */
TEST(kineto_keys_twice)
{
    struct run run;
    load_text(
        &run, "rank0.json",
        quoted("{'distributedInfo':{'rank':1,'rank':0}," EVENTS(WORK(
            "kernel", "a", "1", "1",
            "'stream':1,'stream':2")) "," EVENTS(WORK("kernel", "b", "3", "1", "'stream':3")) "}"));
    CHECK_INT(run.ranks[0].nops, 2);
    CHECK_INT(run.ranks[0].ops[0].stream, 2);
    run_release(&run);
}

static void put_repeated(struct buf *text, const char *what, int n)
{
    for (int i = 0; i < n; i++)
        buf_puts(text, what);
}

TEST(kineto_deep_nesting)
{
    struct buf text = BUF_INIT;
    struct run run;
    /* inside an event: that event is lost */
    buf_puts(&text,
             "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"deep\",\"ts\":1,\"dur\":1,\"args\":"
             "{\"stream\":1,\"x\":");
    put_repeated(&text, "[", 60);
    put_repeated(&text, "]", 60);
    buf_puts(&text, "}},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"flat\",\"ts\":3,\"dur\":1,"
                    "\"args\":{\"stream\":1}}]");
    load_text(&run, "rank0.json", text.data);
    CHECK_INT(op_named(&run.ranks[0], "flat")->dur_ns, 1000);
    run_release(&run);
    /* a million deep: an error with its place, in no time and no stack */
    buf_reset(&text);
    buf_puts(&text, "{\"traceEvents\":[");
    put_repeated(&text, "[{\"a\":", 200000);
    CHECK_HAS(text_error("rank0.json", text.data), "rank0.json: byte ");
    CHECK_HAS(text_error("rank0.json", text.data), "nested too deeply");
    buf_release(&text);
}

/* A value that is larger than anything a profiler writes is refused, not held. */
TEST(kineto_value_without_end)
{
    struct buf text = BUF_INIT;
    const char *folder = make_folder();
    buf_puts(&text, "{\"schemaVersion\":1,\"INFO\":\"");
    put_repeated(&text, "abcdefghijklmnopqrstuvwxyz0123456789", 2 << 20);
    buf_puts(&text, "\"}");
    write_file(folder, "rank0.json", text.data, text.len);
    buf_release(&text);
    CHECK_HAS(load_error(folder, NULL), "a single value of more than 64 MiB");
    remove_folder(folder);
}

TEST(kineto_text_is_made_harmless)
{
    struct run run;
    load_text(&run, "rank0.json",
              quoted("[" WORK("kernel", "k\\u001b[31m\xff\xc2\x9b", "1", "1", "'stream':1")
                         HOST("user_annotation", "m\\u0007", "1", "1", "1", "") "{'ph':'M'}]"));
    for (const char *p = run.ranks[0].ops[0].name; *p != '\0'; p++)
        CHECK((unsigned char)*p >= 0x20);
    CHECK(strchr(run.ranks[0].marks[0].name, '\a') == NULL);
    run_release(&run);
}

/* Extents and counts whose products do not fit in any integer. */
TEST(kineto_products_of_hostile_extents)
{
    struct run run;
    load_text(&run, "rank0.json",
              quoted("{" EVENTS(
                  HOST("cpu_op", "aten::linear", "1", "2", "9",
                       "'Input Dims':[[4294967295,4294967295,9223372036854775807,3],"
                       "[3,3]],'Input type':['float','float']")
                      HOST("cuda_runtime", "cudaLaunchKernel", "1", "3", "2", "'correlation':7")
                          WORK("kernel", "sgemm", "10", "5", "'stream':7,'correlation':7")) "}"));
    CHECK_INT(run.ranks[0].ops[0].class, OP_KERNEL);
    run_release(&run);
}

/* A hundred thousand groups of a million ranks each, calls nested without end: in bounded memory
 * and time. A slow walk would take minutes, and the test's time limit speaks. */
TEST(kineto_hostile_numbers_of_things)
{
    struct buf text = BUF_INIT;
    struct run run;
    buf_puts(&text, "[");
    for (int i = 0; i < 20000; i++)
        buf_printf(
            &text,
            "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce\",\"ts\":%d,"
            "\"dur\":1,\"args\":{\"stream\":7,\"Process Group Name\":\"g%d\",\"Group size\":"
            "1000000,\"Global rank start\":0,\"Global rank stride\":1}},",
            i, i);
    for (int i = 0; i < 20000; i++)
        buf_printf(
            &text,
            "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":9,\"tid\":1,"
            "\"ts\":%d,\"dur\":%d,\"args\":{}},{\"ph\":\"X\",\"cat\":\"cuda_runtime\","
            "\"name\":\"cudaLaunchKernel\",\"pid\":9,\"tid\":1,\"ts\":%d,\"dur\":1,"
            "\"args\":{\"correlation\":%d}},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\","
            "\"ts\":%d,\"dur\":1,\"args\":{\"stream\":9,\"correlation\":%d}},",
            i, 2 * (20000 - i), 90000 + i, i, 90000 + i, i);
    buf_puts(&text, "{\"ph\":\"M\"}]");
    load_text(&run, "rank0.json", text.data);
    CHECK_INT(run.ranks[0].nops, 40000);
    CHECK(run.comm_members <= (uint64_t)1 << 26);
    run_release(&run);
    buf_release(&text);
}

/* ---- a small trace ---- */

/* Two kernels, a call, an operator, with white space. */
/* clang-format off */
static const char small[] =
    "{'schemaVersion': 1, " DIST("0", "1") ",\n 'deviceProperties': [{'id': 0, 'name': 'GPU'}], "
    "'traceEvents': [\n" KERNEL("a", "1.125", "2.5", "3") ",\n"
    "{'ph':'X','cat':'cuda_runtime','name':'cudaLaunchKernel','pid':9,'tid':9,'ts':0.5,'dur':0.25,"
    "'args':{'correlation':3}},\n"
    "{'ph':'X','cat':'cpu_op','name':'aten::mm','pid':9,'tid':9,'ts':0,'dur':1,"
    "'args':{'Input Dims':[[2,3],[3,4]],'Input type':['float','float']}},\n"
    KERNEL("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "5", "1", "4") "],\n"
    "'baseTimeNanoseconds': 1711964646000000000}";
/* clang-format on */

TEST(kineto_cut_file)
{
    struct run run;
    CHECK_HAS(text_error("rank0.json", "{\"traceEvents\": ["),
              "rank0.json: byte 17: the text ends too early");
    load_text(&run, "rank0.json", "{\"traceEvents\": [" KERNEL("a", "1", "2", "3") ",{\"ph\": \"X");
    CHECK_INT(run.ranks[0].nops, 1);
    CHECK_HAS(note_with(&run, "the text ends too early; what stands before it is used"), "loss: ");
    run_release(&run);
    load_text(&run, "rank0.json", "{\"traceEvents\": [" KERNEL("a", "1", "2", "3"));
    CHECK_HAS(note_with(&run, "cut off; what stands before it is used"), "loss: ");
    run_release(&run);
}

TEST(kineto_bad_events_are_counted)
{
    struct run run;
    /* clang-format off */
    load_text(&run, "rank0.json", quoted(
        "{'traceEvents': [" KERNEL("a", "1", "2", "3") ","
        "{'ph':'X','cat':'kernel','name':'b','ts':x,'dur':1},"
        "{'ph':'X','cat':'kernel','name':'no time','args':{'stream':7}},"
        "{'args':{'stream':7 7},'ph':'X','cat':'kernel','name':'c','ts':1,'dur':1},"
        "{'ph':'X','cat':'kernel','name':'d','ts':1,'dur':-1,'args':{'stream':7}},"
        KERNEL("e", "9", "2", "4") "]}"));
    /* clang-format on */
    CHECK_INT(run.ranks[0].nops, 2);
    CHECK_INT(run.ranks[0].bad_lines, 4);
    CHECK_HAS(note_with(&run, "4 events of this file are unusable"), "loss: ");
    CHECK_HAS(note_with(&run, "4 events of this file are unusable"), ": expected a value;");
    run_release(&run);
}

TEST(kineto_broken_structure)
{
    struct run run;
    load_text(&run, "rank0.json",
              "{\"traceEvents\": [" KERNEL("a", "1", "2", "3") " " KERNEL("b", "1", "2", "3") "]}");
    CHECK_INT(run.ranks[0].nops, 1);
    CHECK_HAS(note_with(&run, "expected ',' or ']'"), "loss: ");
    run_release(&run);
    load_text(&run, "rank0.json", "{\"traceEvents\": [" KERNEL("a", "1", "2", "3") "]} more");
    CHECK_HAS(note_with(&run, "text after the trace"), "loss: ");
    run_release(&run);
    CHECK_HAS(text_error("rank0.json", "{\"traceEvents\": 5, \"a\" 1}"), "expected ':'");
    CHECK_HAS(text_error("rank0.json", "{\"traceEvents\": []}"), "rank0.json: no GPU work in it");
}

TEST(kineto_one_bad_file_among_good)
{
    const char *folder = make_folder();
    struct run run;
    write_text(folder, "rank0.json", quoted(small));
    write_text(folder, "rank1.json", "{\"traceEvents\": [oops]}");
    load_path(&run, folder);
    CHECK_INT(run.nranks, 1);
    CHECK_HAS(note_with(&run, "rank1.json: byte 17"), "loss: ");
    run_release(&run);
    remove_folder(folder);
}

/* Whatever is cut or flipped: an error or a run, never anything else. */
TEST(kineto_damaged_everywhere)
{
    const char *folder = make_folder(), *text = quoted(small);
    struct run run;
    struct err e;
    for (size_t n = 0; n < sizeof small - 1; n += 3) {
        write_file(folder, "rank0.json", text, n);
        if (run_load(&run, folder, NULL, &e) < 0)
            CHECK_INT(e.code, ERR_INPUT);
        else
            CHECK(run_partial(&run));
        run_release(&run);
    }
    for (size_t at = 0; at < sizeof small - 1; at += 2) {
        char flipped[sizeof small];
        memcpy(flipped, text, sizeof small);
        flipped[at] ^= 0x12;
        write_file(folder, "rank0.json", flipped, sizeof small - 1);
        if (run_load(&run, folder, NULL, &e) < 0)
            CHECK_INT(e.code, ERR_INPUT);
        run_release(&run);
    }
    remove_folder(folder);
}

TEST(kineto_hostile_numbers)
{
    struct run run;
    /* clang-format off */
    load_text(&run, "rank0.json", quoted(
        "{'distributedInfo':{'rank':-9,'world_size':9223372036854775807,'pg_config':["
        "{'pg_name':5,'ranks':[99999999999]}]},'baseTimeNanoseconds':9223372036854775807,"
        "'deviceProperties':[{'id':-5},{'id':9999999}],'traceEvents':["
        KERNEL("a", "1", "2", "9223372036854775807") ","
        "{'ph':'X','cat':'kernel','name':'ncclDevKernel_AllGather','ts':5,'dur':1,"
        "'args':{'stream':2147483647,'device':-5,'Collective name':'allgather',"
        "'In msg nelems':9223372036854775807,'dtype':'Double','Group size':9223372036854775807,"
        "'Process Group Name':'0','Global rank start':9223372036854775807,"
        "'Global rank stride':9223372036854775807}}]}"));
    /* clang-format on */
    CHECK_INT(run.ranks[0].nops, 2);
    CHECK_INT(run.ranks[0].ops[0].start_ns, UNKNOWN_NS);
    CHECK(op_named(&run.ranks[0], "AllGather")->flags & OP_BYTES_UNKNOWN);
    run_release(&run);
}
