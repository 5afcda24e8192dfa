/* SPDX-License-Identifier: MIT
 *
 * Figures that no hardware can have end a command; what is possible is let through.
 */
#include "analysis/limits.h"
#include "made_kineto.h"

#include <math.h>

/* One rank of a world of 8 with one kernel or copy; times in microseconds. */
static const char *refused(const char *gpu, const char *event)
{
    static struct err e;
    static char text[8192];
    struct run run;
    snprintf(text, sizeof text,
             "{'schemaVersion':1,'deviceProperties':[{'id':0,'name':'%s'}],"
             "'distributedInfo':{'rank':0,'world_size':8,'pg_config':[{'pg_name':'0','pg_desc':"
             "'default_pg','pg_size':8,'ranks':[0,1,2,3,4,5,6,7]}]},'traceEvents':[%s"
             "{'ph':'M','name':'end','pid':0,'tid':0,'ts':0}]}",
             gpu, event);
    load_text(&run, "rank0.json", quoted(text));
    e = (struct err){0};
    if (limits_check(&run, &e) < 0)
        CHECK_INT(e.code, ERR_INPUT);
    else
        CHECK_INT(e.code, ERR_NONE);
    run_release(&run);
    return e.msg;
}

#define H100 "NVIDIA H100 80GB HBM3"
#define COPY(name, bytes, dur) \
    WORK("gpu_memcpy", name, "1000", dur, "'device':0,'stream':7,'correlation':1,'bytes':" bytes)
#define COMM(op, count, dur)                                                                       \
    WORK("kernel", "ncclDevKernel_" op "_RING_LL(x)", "1000", dur,                                 \
         "'device':0,'stream':7,'correlation':1,'Collective name':'" op "','In msg nelems':" count \
         ",'Out msg nelems':" count                                                                \
         ",'Group size':8,'dtype':'Float','Process Group Name':'0','Process Group Ranks':'[0, "    \
         "1, 2, 3, 4, 5, 6, 7]'")
#define GEMM(name, dur)                                                           \
    HOST("cpu_op", "aten::mm", "3", "900", "50",                                  \
         "'Input Dims':[[8192,8192],[8192,8192]],'Input type':['c10::BFloat16',"  \
         "'c10::BFloat16'],'External id':1")                                      \
    HOST("cuda_runtime", "cudaLaunchKernel", "3", "910", "10", "'correlation':1") \
    WORK("kernel", name, "1000", dur, "'device':0,'stream':7,'correlation':1")

TEST(limits_of_products)
{
    CHECK_STR(refused(H100, GEMM("nvjet_tst_64x8", "1200")), ""); /* 916 TFLOPS */
    CHECK_STR(refused(H100, GEMM("nvjet_tst_64x8", "1050")), ""); /* a higher clock */
    CHECK_HAS(
        refused(H100, GEMM("nvjet_tst_64x8", "500")),
        "rank0.json: rank 0: GEMM 8192x8192x8192 in 500 us is 2.19 PFLOP/s, above what the GEMM "
        "units of 'NVIDIA H100 80GB HBM3' can do (1.14 PFLOP/s): times or sizes in this trace "
        "are wrong");
    CHECK_STR(refused("Some GPU", GEMM("nvjet_tst_64x8", "5")), "");
    CHECK_STR(refused(H100, GEMM("sm90_xmma_sparse_gemm", "700")), "");
}

TEST(limits_of_copies)
{
    CHECK_STR(refused(H100, COPY("Memcpy HtoD (Pinned -> Device)", "60000000", "1000")), "");
    CHECK_HAS(refused(H100, COPY("Memcpy HtoD (Pinned -> Device)", "600000000000", "1000")),
              "above what the host link of 'NVIDIA H100 80GB HBM3' can do");
    CHECK_STR(refused(H100, COPY("Memcpy DtoD (Device -> Device)", "1500000000", "1000")), "");
    CHECK_STR(refused(H100, COPY("Memcpy DtoD (Device -> Device)", "40000000", "6")), ""); /* L2 */
    CHECK_HAS(refused(H100, COPY("Memcpy DtoD (Device -> Device)", "30000000000", "1000")),
              "above what the memory of");
}

TEST(limits_of_communication)
{
    CHECK_STR(refused(H100, COMM("allreduce", "268435456", "2500")), ""); /* 430 GB/s, NVLS */
    CHECK_HAS(refused(H100, COMM("allreduce", "268435456", "50")), "above what the memory of");
    CHECK_HAS(refused(H100, COMM("allreduce", "268435456", "1200")),
              "AllReduce of 1.07 GB in 1.2e+03 us is 894 GB/s, above what the links of");
    CHECK_STR(refused(H100, COMM("allreduce", "1024", "4")), "");
    CHECK_HAS(refused("NVIDIA H100 PCIe", COMM("allreduce", "268435456", "1200")),
              "above what the links of 'NVIDIA H100 PCIe' can do (454 GB/s)"); /* with a bridge */
    CHECK_HAS(refused("NVIDIA GeForce RTX 4090", COMM("allreduce", "268435456", "1000")),
              "above what the links of 'NVIDIA GeForce RTX 4090' can do (39.4 GB/s)");
    CHECK_STR(refused("NVIDIA GeForce RTX 4090", COMM("allreduce", "268435456", "60000")), "");
    CHECK_STR(refused("NVIDIA A40", COMM("allreduce", "268435456", "12000")), ""); /* a bridge */
    CHECK_DOUBLE(limit_comm_bytes(SPECTER_ALLGATHER, 800, 8), 700, 0);
    CHECK_DOUBLE(limit_comm_bytes(SPECTER_ALLTOALLV, 800, 8), 0, 0);
    CHECK_DOUBLE(limit_comm_bytes(SPECTER_ALLREDUCE, 800, 1), 0, 0);
}

/* Two ranks on one clock: rank 0 is recorded from 1000 us for `length` us, rank 1 from `begins` us
 * later, and its collective begins `apart` us after rank 0's. What limits_check() says; "" for
 * nothing. */
static const char *refused_wait(int length, int begins, int apart)
{
    static struct err e;
    const char *folder = make_folder();
    struct run run;
    int status;
    e = (struct err){0};
    for (int r = 0; r < 2; r++) {
        struct buf b = BUF_INIT;
        char name[32];
        snprintf(name, sizeof name, "rank%d.json", r);
        buf_printf(&b,
                   "{'deviceProperties':[{'id':0,'name':'g'},{'id':1,'name':'g'}],"
                   "'distributedInfo':{'rank':%d,'world_size':2},'traceEvents':["
                   "{'ph':'X','cat':'kernel','name':'own','pid':0,"
                   "'tid':8,'ts':%d,'dur':%d,'args':{'device':0,'stream':8,'correlation':2}},"
                   "{'ph':'X','cat':'kernel','name':'ncclDevKernel_AllReduce_Sum_f32(x)','pid':0,"
                   "'tid':7,'ts':%d,'dur':20,'args':{'device':0,'stream':7,'correlation':1}}]}",
                   r, 1000 + r * begins, r == 0 ? length : 1, 1000 + r * apart);
        write_text(folder, name, quoted(b.data));
        buf_release(&b);
    }
    load_path(&run, folder);
    CHECK_INT(run.nranks, 2);
    status = limits_check(&run, &e);
    CHECK_INT(status, e.msg[0] != '\0' ? -1 : 0);
    run_release(&run);
    remove_folder(folder);
    return e.msg;
}

/* A collective cannot be one whose ranks come further apart than either was recorded; where their
 * recordings overlap, than both were together. */
TEST(limits_of_waits)
{
    CHECK_HAS(refused_wait(20, 900, 900), "rank 0 waits 0.0009 s for rank 1");
    CHECK_HAS(refused_wait(20, 900, 900),
              "the longest recording lasts 2e-05 s: these traces are not of one job, or their "
              "clocks do not agree");
    CHECK_STR(refused_wait(901, 900, 900), "");
    CHECK_STR(refused_wait(100, 50, 120), ""); /* 1000 to 1100 and 1050 to 1140 */
    CHECK_HAS(refused_wait(100, 101, 120), "rank 0 waits 0.00012 s for rank 1");
}
