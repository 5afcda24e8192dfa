/* SPDX-License-Identifier: MIT
 *
 * XLA's traces: what a launch, a size and the order of events say.
 */
#include "made_kineto.h"

#define NAME(pid, tid, what, name) \
    "{'ph':'M','pid':" pid ",'tid':" tid ",'name':'" what "','args':{'name':'" name "'}},"
#define GPU(n) NAME("1", "0", "process_name", "/device:GPU:" n)
#define CALL(name, ts, dur, corr)                                         \
    "{'ph':'X','pid':701,'tid':5,'ts':" ts ",'dur':" dur ",'name':'" name \
    "','args':{'correlation_id':'" corr "'}},"
#define DONE(ts, corr)                                                       \
    "{'ph':'X','pid':1,'tid':14,'ts':" ts ",'dur':5,'name':'gemm','args':{'" \
    "correlation_id':'" corr "','kernel_details':'regs:32'}},"
#define COPY(size)                                                            \
    "{'ph':'X','pid':1,'tid':14,'ts':50,'dur':5,'name':'MemcpyH2D','args':{'" \
    "correlation_id':'9','memcpy_details':'kind_src:pinned size:" size " dest:0'}},"

static void load_events(struct run *run, const char *list)
{
    struct buf text = BUF_INIT;
    buf_printf(&text, "{'displayTimeUnit':'ns','metadata':{'highres-ticks':true},'traceEvents':[");
    buf_printf(&text, "%s{}]}", list);
    buf_putc(&text, '\0');
    load_text(run, "node7.trace.json", quoted(text.data));
    buf_release(&text);
}

TEST(xla_outer_of_two_calls)
{
    struct run run;
    load_events(&run, GPU("0") CALL("cudaLaunchKernel", "10", "8", "1")
                          CALL("cuLaunchKernel", "12", "3", "1") DONE("'30.5'", "1"));
    CHECK_STR(run.format, "xla");
    CHECK_INT(run.ranks[0].ops[0].start_ns, 30500);
    CHECK_INT(run.ranks[0].ops[0].host_end_ns - run.ranks[0].ops[0].host_ns, 8000);
    run_release(&run);
    /* also where the inner is written first, or other calls come between */
    load_events(&run,
                GPU("0") CALL("cuLaunchKernel", "12", "3", "1")
                    CALL("cuGraphLaunch", "10", "8", "1") CALL("cuLaunchKernel", "20", "1", "2")
                        CALL("cuLaunchKernel", "13", "1", "1") DONE("30", "1"));
    CHECK_INT(run.ranks[0].ops[0].host_end_ns - run.ranks[0].ops[0].host_ns, 8000);
    CHECK(run.ranks[0].ops[0].flags & OP_IN_GRAPH);
    run_release(&run);
    load_events(&run, GPU("0") CALL("cuGraphLaunch", "10", "8", "1")
                          CALL("cuLaunchKernel", "12", "3", "1") DONE("30", "1"));
    CHECK(run.ranks[0].ops[0].flags & OP_IN_GRAPH);
    run_release(&run);
}

TEST(xla_size_of_a_copy)
{
    struct run run;
    load_events(&run, GPU("0") COPY("9223372036854775807"));
    CHECK(run.ranks[0].ops[0].bytes == INT64_MAX);
    CHECK(!(run.ranks[0].ops[0].flags & OP_BYTES_UNKNOWN));
    run_release(&run);
    load_events(&run, GPU("0") COPY("9223372036854775808"));
    CHECK_INT(run.ranks[0].ops[0].bytes, 0);
    CHECK(run.ranks[0].ops[0].flags & OP_BYTES_UNKNOWN);
    run_release(&run);
    load_events(&run, GPU("0") COPY("99999999999999999999999999"));
    CHECK_INT(run.ranks[0].ops[0].bytes, 0);
    CHECK(run.ranks[0].ops[0].flags & OP_BYTES_UNKNOWN);
    run_release(&run);
}

/* The names of devices and threads stand before their work. */
TEST(xla_work_before_its_device)
{
    struct run run;
    load_events(&run, DONE("20", "1") COPY("8") GPU("0") DONE("30", "1"));
    CHECK_INT(run.ranks[0].nops, 1);
    CHECK_INT(run.ranks[0].bad_lines, 2);
    CHECK_HAS(note_with(&run, "left out"), "2 kernels or copies left out: no name of their device");
    CHECK(run_partial(&run));
    run_release(&run);
    load_events(&run, GPU("0") DONE("30", "1"));
    CHECK(!run_partial(&run));
    run_release(&run);
}

/* Loads a host of so many devices and threads of the first; work on the last of each. */
static void load_many(struct run *run, int devices, int threads)
{
    const char *folder = make_folder();
    struct buf text = BUF_INIT;
    buf_puts(&text, "{\"metadata\":{\"highres-ticks\":true},\"traceEvents\":[");
    for (int i = 1; i <= devices; i++)
        buf_printf(&text,
                   "{\"ph\":\"M\",\"pid\":%d,\"tid\":0,\"name\":\"process_name\",\"args\":{"
                   "\"name\":\"/device:GPU:%d\"}},\n",
                   i, i - 1);
    for (int i = 1; i <= threads; i++)
        buf_printf(&text,
                   "{\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"name\":\"thread_name\",\"args\":{"
                   "\"name\":\"Stream #%d\"}},\n",
                   i, i);
    buf_printf(&text,
               "{\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":1,\"dur\":1,\"name\":\"a\"},\n"
               "{\"ph\":\"X\",\"pid\":%d,\"tid\":1,\"ts\":3,\"dur\":1,\"name\":\"b\",\"args\":{"
               "\"kernel_details\":\"\"}},\n"
               "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":1,\"name\":\"c\"},{}]}",
               threads, devices);
    write_file(folder, "node7.trace.json", text.data, text.len);
    load_path(run, folder);
    buf_release(&text);
    remove_folder(folder);
}

TEST(xla_more_devices_and_threads_than_are_read)
{
    struct run run;
    load_many(&run, 1024, 1);
    CHECK_INT(run.nranks, 1024);
    CHECK(!run_partial(&run));
    run_release(&run);
    load_many(&run, 1025, 1);
    CHECK_INT(run.nranks, 1024);
    CHECK_HAS(note_with(&run, "left out"), "1 kernel or copy left out: more than 1024 devices");
    run_release(&run);
    load_many(&run, 1, 65536);
    CHECK_INT(run.ranks[0].nops, 3);
    CHECK(!run_partial(&run));
    run_release(&run);
    load_many(&run, 1, 65537);
    CHECK_INT(run.ranks[0].nops, 2);
    CHECK_HAS(note_with(&run, "left out"), "1 kernel or copy left out: more than 1024 devices");
    run_release(&run);
}
