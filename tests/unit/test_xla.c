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
                          CALL("cuLaunchKernel", "12", "3", "1") DONE("30", "1"));
    CHECK_STR(run.format, "xla");
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
