/* SPDX-License-Identifier: MIT */
#include "made_kineto.h"

#include "base/json.h"
#include "trace/kineto.h"
#include "trace/kernel_names.h"
#include "trace/match.h"

/* ---- our fixture ---- */

TEST(kineto_two_ranks)
{
    struct run run;
    load_path(&run, test_data("kineto_two_ranks"));
    CHECK_STR(run.format, "kineto");
    CHECK_INT(run.nranks, 2);
    CHECK_INT(run.world_size, 2);
    CHECK(run.clock_aligned);
    CHECK(!run_partial(&run));
    for (int r = 0; r < 2 && run.nranks == 2; r++) {
        const struct rank *rank = &run.ranks[r];
        CHECK_INT(rank->rank, r);
        CHECK_INT(rank->pid, 800 + r);
        CHECK_STR(rank->gpu, "NVIDIA A100-SXM4-80GB");
        CHECK_INT(rank->nops, 12);
        CHECK_INT(rank->nsteps, 1);
        CHECK_STR(rank->steps[0].name, "ProfilerStep#3");
        CHECK_INT(rank->steps[0].end_ns - rank->steps[0].start_ns, 800125);
        CHECK_INT(rank->coverage, COVER_NCCL | COVER_GEMM | COVER_DEPS | COVER_KERNELS |
                                      COVER_LAUNCHES | COVER_MEMORY);
        CHECK(rank->complete);
    }
    run_release(&run);
}

TEST(kineto_times_are_exact)
{
    struct run run;
    const struct op *op;
    load_path(&run, test_data("kineto_two_ranks"));
    op = op_named(&run.ranks[0], "ampere_bf16");
    CHECK_INT(op->start_ns, 1711964646000000000 + 40125);
    CHECK_INT(op->dur_ns, 19500);
    CHECK_INT(op->host_ns, 1711964646000000000 + 15250);
    CHECK_INT(op->host_end_ns, 1711964646000000000 + 17750);
    CHECK_INT(op->timing, SPECTER_TIMING_DEVICE);
    run_release(&run);
}

TEST(kineto_products)
{
    struct run run;
    const struct op *op;
    load_path(&run, test_data("kineto_two_ranks"));
    op = op_named(&run.ranks[0], "ampere_bf16"); /* the inner addmm's shape, not the linear's */
    CHECK_INT(op->class, OP_GEMM);
    CHECK_INT(op->gemm.m, 32);
    CHECK_INT(op->gemm.n, 512);
    CHECK_INT(op->gemm.k, 256);
    CHECK_INT(op->gemm.batch, 1);
    CHECK_INT(op->dtype, SPECTER_BF16);
    CHECK_INT(op_named(&run.ranks[0], "splitKreduce")->class, OP_KERNEL);
    op = op_named(&run.ranks[0], "simt_sgemm");
    CHECK_INT(op->class, OP_GEMM);
    CHECK_INT(op->gemm.m, 16);
    CHECK_INT(op->gemm.n, 4);
    CHECK_INT(op->gemm.k, 8);
    CHECK_INT(op->gemm.batch, 6);
    CHECK_INT(op_named(&run.ranks[0], "elementwise")->class, OP_KERNEL);
    CHECK_INT(op_named(&run.ranks[0], "implicit_gemm")->class, OP_KERNEL);
    run_release(&run);
}

TEST(kineto_memory_and_acts)
{
    struct run run;
    const struct rank *rank;
    load_path(&run, test_data("kineto_two_ranks"));
    rank = &run.ranks[1];
    CHECK_INT(op_named(rank, "Memcpy")->class, OP_MEMORY);
    CHECK_INT(op_named(rank, "Memcpy")->bytes, 4096);
    CHECK_INT(op_named(rank, "Memset")->bytes, 64);
    CHECK_INT(rank->nsync_calls, 3);
    CHECK_INT(rank->sync_calls[0].kind, SYNC_CALL_RECORD);
    CHECK_INT(rank->sync_calls[0].stream, 7);
    CHECK_INT(rank->sync_calls[0].event, 9);
    CHECK_INT(rank->sync_calls[1].kind, SYNC_CALL_WAIT);
    CHECK_INT(rank->sync_calls[1].stream, 20);
    CHECK_INT(rank->sync_calls[1].event, 9);
    CHECK_INT(rank->sync_calls[2].kind, SYNC_CALL_DEVICE);
    CHECK_INT(rank->sync_calls[2].stream, -1);
    CHECK_INT(rank->sync_calls[2].host_end_ns - rank->sync_calls[2].host_ns, 50000);
    run_release(&run);
}

TEST(kineto_collectives)
{
    struct run run;
    struct matches m;
    const struct op *op;
    load_path(&run, test_data("kineto_two_ranks"));
    CHECK_INT(run.ncomms, 1);
    CHECK_STR(run.comms[0].id, "0[0-1]");
    CHECK_STR(run.comms[0].name, "default_pg");
    op = op_named(&run.ranks[0], "AllReduce");
    CHECK_INT(op->coll.op, SPECTER_ALLREDUCE);
    CHECK_INT(op->coll.redop, SPECTER_REDOP_NONE); /* one kernel runs all of them */
    CHECK_INT(op->bytes, 2048);
    CHECK_INT(op->coll.seq, 41);
    op = op_named(&run.ranks[0], "AllGather");
    CHECK_INT(op->bytes, 4000);
    CHECK_INT(op->coll.count, 1000);
    CHECK_INT(op->coll.redop, SPECTER_REDOP_NONE);
    op = op_named(&run.ranks[0], "ReduceScatter"); /* from record_param_comms */
    CHECK_INT(op->bytes, 8192);
    CHECK_INT(op->coll.count, 1024);
    CHECK_INT(op->dtype, SPECTER_FP32);
    CHECK_INT(op->coll.comm, 0);
    matches_init(&m, &run);
    CHECK_INT(m.count, 4);
    CHECK_INT(m.incomplete + m.inconsistent, 0);
    CHECK_INT(m.unnumbered, 2);
    CHECK_INT(m.list[0].op, SPECTER_SEND);
    CHECK_INT(m.list[0].bytes, 154);
    CHECK_INT(m.list[2].transfer_ns, 28000);
    CHECK_HAS(note_with(&run, "carry no size"), "2 of 10 communication kernels");
    matches_release(&m);
    run_release(&run);
}

/* ---- names and sizes ---- */

TEST(kineto_kernel_names)
{
    static const struct {
        const char *name;
        bool comm, gemm;
    } cases[] = {
        {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)", true, false},
        {"ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", true, false},
        {"void vllm::cross_device_reduce_1stage<float>()", true, false},
        {"two_shot_all_reduce_kernel", true, false},
        {"Cijk_Ailk_Bljk_BBS_BH", false, true},
        {"void cutlass::Kernel<x>", false, true},
        {"void cublasLt::splitKreduce_kernel<32, 16, int>", false, true},
        {"void gemv2T_kernel_val<int, int, __half>", false, true},
        {"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, cutlass::bfloat16_t> >",
         false, false},
        {"fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<x>)",
         false, false},
        {"void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<x> > >", false,
         false},
        {"volta_sgemm_128x32_tn", false, true},
        {"void at::native::reduce_kernel<512>", false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_INT(kernel_is_comm(cases[i].name), cases[i].comm);
        CHECK_INT(specter_kernel_class_of(cases[i].name) == SPECTER_KERNEL_GEMM, cases[i].gemm);
    }
}

static int dtype_named(const char *name)
{
    return kineto_dtype((struct json_text){name, (uint32_t)strlen(name), false});
}

TEST(kineto_dtypes)
{
    CHECK_INT(dtype_named("float"), SPECTER_FP32);
    CHECK_INT(dtype_named("Float"), SPECTER_FP32);
    CHECK_INT(dtype_named("c10::BFloat16"), SPECTER_BF16);
    CHECK_INT(dtype_named("BFloat16"), SPECTER_BF16);
    CHECK_INT(dtype_named("c10::Half"), SPECTER_FP16);
    CHECK_INT(dtype_named("long int"), SPECTER_INT64);
    CHECK_INT(dtype_named("Long"), SPECTER_INT64);
    CHECK_INT(dtype_named("Byte"), SPECTER_UINT8);
    CHECK_INT(dtype_named("c10::Float8_e4m3fn"), SPECTER_FP8E4M3);
    CHECK_INT(dtype_named("TensorList"), SPECTER_DTYPE_UNKNOWN);
    CHECK_INT(dtype_named(""), SPECTER_DTYPE_UNKNOWN);
}

/* Full buffer S and the call's own count, for each operation, from what PyTorch records. */
TEST(kineto_bytes_of_each_operation)
{
    static const struct {
        const char *name;
        int64_t in, out;
        int op;
        uint64_t count, bytes;
    } cases[] = {
        {"allreduce", 100, 100, SPECTER_ALLREDUCE, 100, 400},
        {"broadcast", 100, 100, SPECTER_BROADCAST, 100, 400},
        {"reduce", 100, 100, SPECTER_REDUCE, 100, 400},
        {"_allgather_base", 100, 800, SPECTER_ALLGATHER, 100, 3200},
        {"allgather", 100, -1, SPECTER_ALLGATHER, 100, 3200},
        {"_reduce_scatter_base", 800, 100, SPECTER_REDUCESCATTER, 100, 3200},
        {"all_to_all", 800, 800, SPECTER_ALLTOALL, 100, 3200},
        {"all_to_allv", 801, 7, SPECTER_ALLTOALLV, 801, 3204},
        {"gather", 100, 800, SPECTER_GATHER, 100, 3200},
        {"scatter", 800, 100, SPECTER_SCATTER, 100, 3200},
        {"send", 100, 100, SPECTER_SEND, 100, 400},
        {"recv", 100, 100, SPECTER_RECV, 100, 400},
    };
    struct kineto *k = calloc(1, sizeof *k);
    struct run run;
    if (k == NULL)
        abort();
    run_init(&run);
    k->run = &run;
    k->world_size = 8;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct event_args args;
        struct kineto_meta meta;
        struct op op = {.name = "ncclDevKernel_Generic", .coll = {.comm = -1, .peer = -1}};
        memset(&args, 0, sizeof args);
        args.collective = (struct json_text){cases[i].name, (uint32_t)strlen(cases[i].name), false};
        args.dtype = (struct json_text){"Float", 5, false};
        args.in_count = cases[i].in;
        args.out_count = cases[i].out;
        meta = kineto_args_meta(k, &args);
        kineto_set_comm(k, &op, &meta, NULL, NULL);
        CHECK_INT(op.coll.op, cases[i].op);
        CHECK_INT(op.coll.count, cases[i].count);
        CHECK_INT(op.bytes, cases[i].bytes);
        CHECK_INT(op.flags, 0);
    }
    run_release(&run);
    free(k);
}

/* ---- formats ---- */

TEST(kineto_old_trace_without_metadata)
{
    struct run run;
    const struct op *op;
    load_text(&run, "worker0.json",
              "{\"schemaVersion\": 1, " DIST(
                  "0", "4") ", \"traceEvents\": ["
                            "{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"ncclKernel_SendRecv_RING_"
                            "SIMPLE_Sum_int8_t\","
                            "\"pid\":0,\"tid\":\"stream "
                            "20\",\"ts\":2000,\"dur\":10,\"args\":{\"device\":0,\"stream\":20,"
                            "\"correlation\":5}},"
                            "{\"ph\":\"X\",\"cat\":\"Runtime\",\"name\":\"cudaLaunchKernel\","
                            "\"pid\":9,\"tid\":\"9\","
                            "\"ts\":1000,\"dur\":5,\"args\":{\"correlation\":5}},"
                            "{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"nccl:all_to_all\","
                            "\"pid\":9,\"tid\":\"9\","
                            "\"ts\":990,\"dur\":20,\"args\":{\"Input Dims\":[[16,8]],\"Input "
                            "type\":[\"long int\"]}},"
                            "{\"ph\":\"X\",\"cat\":\"Memcpy\",\"name\":\"Memcpy "
                            "DtoH\",\"pid\":0,\"tid\":7,\"ts\":3000,"
                            "\"dur\":1,\"args\":{\"device\":0,\"stream\":7,\"correlation\":6}},"
                            "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclKernel_AllReduce_RING_"
                            "LL_Sum_float\",\"pid\":0,"
                            "\"tid\":20,\"ts\":4000,\"dur\":10,\"args\":{\"device\":0,\"stream\":"
                            "20,\"correlation\":8}}"
                            "]}");
    op = op_named(&run.ranks[0], "SendRecv");
    CHECK_INT(op->class, OP_COLL);
    CHECK_INT(op->coll.op, SPECTER_ALLTOALL);
    CHECK_INT(op->bytes, 1024);
    CHECK_INT(op->coll.count, 32);
    CHECK_INT(op->coll.seq, 0);
    CHECK_INT(op->start_ns, 2000000);
    CHECK_INT(op->host_ns, 1000000);
    op = op_named(&run.ranks[0], "AllReduce"); /* nobody tells how much */
    CHECK_INT(op->flags, OP_BYTES_UNKNOWN);
    CHECK_INT(op->dur_ns, 10000);
    CHECK_INT(op->coll.seq, 1);
    CHECK_INT(op_named(&run.ranks[0], "Memcpy")->flags, OP_BYTES_UNKNOWN);
    CHECK_INT(run.comms[0].size, 4);
    CHECK_INT(run.comms[0].ranks[0], 0);
    CHECK_HAS(note_with(&run, "no process groups"), "matched by stream order");
    CHECK_HAS(note_with(&run, "carry no size"), "1 of 2 communication kernels");
    CHECK_STR(note_with(&run, "missing"), "loss: 1 of 4 ranks have a trace; missing: ranks 1-3");
    run_release(&run);
}

TEST(kineto_keys_in_any_order)
{
    struct run run;
    load_text(
        &run, "rank2.json",
        "{\"baseTimeNanoseconds\": 1000000000, \"traceEvents\":[{\"args\": {\"correlation\": 4, "
        "\"stream\": 3, \"device\": 1}, \"dur\": 1.5, \"ts\": 2, \"name\": \"k\", "
        "\"cat\": \"kernel\", \"ph\": \"X\"} , {\"args\":{\"x\":[1]},\"name\":\"y\",\"ph\":\"i\"}],"
        "\"deviceProperties\":[{\"name\":\"GPU one\",\"id\":1}]}");
    CHECK_INT(run.ranks[0].rank, 2);
    CHECK_INT(run.ranks[0].nops, 1);
    CHECK_INT(run.ranks[0].ops[0].start_ns, 1000002000);
    CHECK_INT(run.ranks[0].ops[0].dur_ns, 1500);
    CHECK_INT(run.ranks[0].ops[0].device, 1);
    CHECK_STR(run.ranks[0].gpu, "GPU one");
    run_release(&run);
}

#define CALL(name, ts)                                                        \
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"" name "\",\"ts\":" ts \
    ",\"dur\":2,\"pid\":1,\"tid\":1,\"args\":{}}"

/* Calls that allocate may wait for the device; those that do so in the order of a stream do not. */
TEST(kineto_allocations)
{
    struct run run;
    load_text(
        &run, "trace.json",
        "[" KERNEL("a", "1", "2", "3") "," CALL("cudaMalloc", "5") "," CALL(
            "cudaMallocAsync", "8") "," CALL("cudaMallocHost", "10") "," CALL("hipFree", "12") "]");
    CHECK_INT(run.ranks[0].nsync_calls, 3);
    CHECK_INT(run.ranks[0].sync_calls[0].kind, SYNC_CALL_ALLOC);
    CHECK_INT(run.ranks[0].sync_calls[0].host_end_ns - run.ranks[0].sync_calls[0].host_ns, 2000);
    CHECK_INT(run.ranks[0].sync_calls[1].kind, SYNC_CALL_ALLOC);
    CHECK_INT(run.ranks[0].sync_calls[2].kind, SYNC_CALL_FREE);
    run_release(&run);
}

/* item() of PyTorch: the copy waits within its call, of which the synchronisation behind it is
 * free. To pinned memory it does not. */
TEST(kineto_copies_that_wait)
{
#define COPY(to, call, ts, dur, start, end, id)                                                \
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"" call "\",\"ts\":" ts ",\"dur\":" dur  \
    ",\"pid\":1,\"tid\":1,\"args\":{\"correlation\":" id "}},{\"ph\":\"X\",\"cat\":"           \
    "\"gpu_memcpy\",\"name\":\"Memcpy DtoH (Device -> " to ")\",\"ts\":" start ",\"dur\":" end \
    ",\"pid\":0,\"tid\":7,\"args\":{\"device\":0,\"stream\":7,\"correlation\":" id "}}"
    struct run run;
    load_text(&run, "trace.json",
              "[" COPY("Pageable", "cudaMemcpyAsync", "10", "900", "900", "2", "5") "," COPY(
                  "Pinned", "cudaMemcpyAsync", "1000", "5", "1002", "2",
                  "6") "," COPY("Pinned", "cudaMemcpy_ptds", "2000", "500", "2490", "2", "7") "]");
    CHECK_INT(run.ranks[0].nops, 3);
    CHECK_INT(run.ranks[0].ops[0].copy.wait, COPY_WAITS);
    CHECK_INT(run.ranks[0].ops[0].copy.wait_ns, 892000);
    CHECK_INT(run.ranks[0].ops[1].copy.wait, COPY_NO_WAIT);
    CHECK_INT(run.ranks[0].ops[2].copy.wait, COPY_WAITS);
    run_release(&run);
}

TEST(kineto_bare_list)
{
    struct run run;
    load_text(&run, "trace.json",
              "[" KERNEL("a", "1", "2", "3") "," KERNEL("b", "5", "2", "4") "]");
    CHECK_INT(run.nranks, 1);
    CHECK_INT(run.ranks[0].nops, 2);
    CHECK_INT(run.ranks[0].rank, 0);
    CHECK(!run_partial(&run));
    run_release(&run);
}

/* A value larger than the window at first, and one event that spans blocks. */
TEST(kineto_large_values)
{
    struct buf text = BUF_INIT;
    struct run run;
    buf_puts(&text, "{\"schemaVersion\":1,\"INFO\":[\"");
    for (int i = 0; i < 3000000; i++)
        buf_putc(&text, 'x');
    buf_puts(&text, "\"],\"traceEvents\":[");
    for (int i = 0; i < 30000; i++)
        buf_printf(&text, "%s%s", KERNEL("k<float, \\\"128\\\">", "12.345", "6.789", "3"), ",\n");
    buf_puts(&text, "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"");
    for (int i = 0; i < 2500000; i++)
        buf_putc(&text, 'n');
    buf_puts(&text, "\",\"ts\":1,\"dur\":1,\"args\":{\"stream\":1}}],\"end\":12}");
    load_text(&run, "rank0.json", text.data);
    CHECK_INT(run.ranks[0].nops, 30001);
    CHECK_STR(run.ranks[0].ops[30000].name, "k<float, \"128\">");
    CHECK_INT(strlen(run.ranks[0].ops[0].name), 2500000);
    CHECK(!run_partial(&run));
    run_release(&run);
    buf_release(&text);
}

/* ---- ranks ---- */

TEST(kineto_ranks_without_numbers)
{
    const char *folder = make_folder();
    struct run run;
    write_text(folder, "a.json", "[" KERNEL("first", "1", "2", "3") "]");
    write_text(folder, "b.json", "[" KERNEL("second", "1", "2", "3") "]");
    load_path(&run, folder);
    CHECK_INT(run.nranks, 2);
    CHECK_STR(run.ranks[0].ops[0].name, "first");
    CHECK_STR(run.ranks[1].ops[0].name, "second");
    CHECK_HAS(note_with(&run, "without a rank"), "2 traces without a rank were numbered");
    run_release(&run);
    remove_folder(folder);
}

TEST(kineto_several_machines)
{
    const char *folder = make_folder();
    struct run run;
    for (int r = 0; r < 4; r++) {
        char name[32], text[1024];
        snprintf(name, sizeof name, "rank%d.json", r);
        snprintf(text, sizeof text,
                 "{\"deviceProperties\":[{\"id\":0,\"name\":\"g\"},{\"id\":1,\"name\":\"g\"}],"
                 "\"distributedInfo\":{\"rank\":%d,\"world_size\":4},\"traceEvents\":[%s]}",
                 r, KERNEL("k", "1", "2", "3"));
        write_text(folder, name, text);
    }
    load_path(&run, folder);
    CHECK_INT(run.ndomains, 2);
    CHECK(!run.clock_aligned);
    CHECK_INT(run.ranks[1].domain, 0);
    CHECK_INT(run.ranks[2].domain, 1);
    CHECK_HAS(note_with(&run, "2 machines"), "wall clocks only");
    run_release(&run);
    remove_folder(folder);
}

TEST(kineto_several_gpus_in_one_file)
{
    struct run run;
    load_text(
        &run, "rank0.json",
        "[" KERNEL("a", "1", "2", "3") ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"b\","
                                       "\"ts\":4,\"dur\":1,\"args\":{\"device\":1,\"stream\":7}}]");
    CHECK_INT(run.ranks[0].nops, 2);
    CHECK_HAS(note_with(&run, "several GPUs"), "taken as one rank's");
    run_release(&run);
}

/* Without sequence numbers the order counts; with them a trace may begin later. */
TEST(kineto_recorded_numbers)
{
#define SEQ(name, ts, seq)                                                                   \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce_Sum_f32_RING_LL\"," \
    "\"ts\":" ts ",\"dur\":1,\"args\":{\"stream\":7,\"Collective name\":\"allreduce\","      \
    "\"In msg nelems\":" name ",\"dtype\":\"Float\",\"Group size\":2,"                       \
    "\"Process Group Name\":\"0\",\"Process Group Ranks\":\"[0, 1]\"" seq "}}"
    const char *folder = make_folder();
    struct run run;
    struct matches m;
    write_text(folder, "rank0.json",
               "{" DIST("0", "2") ",\"traceEvents\":[" SEQ("1", "1", ",\"Seq\":5") "," SEQ(
                   "2", "2", ",\"Seq\":6") "]}");
    write_text(folder, "rank1.json",
               "{" DIST("1", "2") ",\"traceEvents\":[" SEQ("2", "2", ",\"Seq\":6") "," SEQ(
                   "3", "3", ",\"Seq\":7") "]}");
    load_path(&run, folder);
    matches_init(&m, &run);
    CHECK_INT(m.count, 3);
    CHECK_INT(m.inconsistent, 0);
    CHECK_INT(m.list[1].nmembers, 2);
    matches_release(&m);
    run_release(&run);
    write_text(folder, "rank1.json",
               "{" DIST("1", "2") ",\"traceEvents\":[" SEQ("1", "2", "") "," SEQ(
                   "2", "3", ",\"Seq\":6") "]}");
    load_path(&run, folder);
    matches_init(&m, &run);
    CHECK_INT(m.count, 2);
    CHECK_INT(m.incomplete + m.inconsistent, 0);
    matches_release(&m);
    run_release(&run);
    remove_folder(folder);
}

/* A long member list is cut in the kernel's args: the table of groups has it. */
TEST(kineto_groups_from_the_table)
{
    struct run run;
    load_text(&run, "rank3.json",
              "{\"distributedInfo\":{\"rank\":3,\"world_size\":8,\"pg_config\":["
              "{\"pg_name\":\"7\",\"pg_size\":3,\"ranks\":\"[1, 3, 5]\"}]},\"traceEvents\":["
              "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_SendRecv\",\"ts\":1,"
              "\"dur\":1,\"args\":{\"stream\":7,\"Collective name\":\"send\",\"In msg nelems\":4,"
              "\"dtype\":\"Half\",\"Group size\":3,\"Process Group Name\":\"7\","
              "\"Process Group Ranks\":\"[1, ...]\",\"Dst Rank\":5}}]}");
    CHECK_STR(run.comms[0].id, "7[1,3,5]");
    CHECK_INT(run.comms[0].ranks[2], 5);
    CHECK_INT(run.ranks[0].ops[0].coll.peer, 2);
    CHECK_INT(run.ranks[0].ops[0].bytes, 8);
    run_release(&run);
}

/* ---- damage ---- */

static const char small[] = "{\"schemaVersion\": 1, " DIST(
    "0", "1") ",\n \"deviceProperties\": [{\"id\": 0, "
              "\"name\": \"GPU\"}], \"traceEvents\": [\n" KERNEL(
                  "a", "1.125", "2.5",
                  "3") ",\n"
                       "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\","
                       "\"pid\":9,\"tid\":9,"
                       "\"ts\":0.5,\"dur\":0.25,\"args\":{\"correlation\":3}},\n"
                       "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":9,\"tid\":9,"
                       "\"ts\":0,"
                       "\"dur\":1,\"args\":{\"Input Dims\":[[2,3],[3,4]],\"Input "
                       "type\":[\"float\",\"float\"]}},\n" KERNEL(
                           "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "5", "1",
                           "4") "],\n"
                                "\"baseTimeNanoseconds\": 1711964646000000000}";

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
    load_text(
        &run, "rank0.json",
        "{\"traceEvents\": [" KERNEL(
            "a", "1", "2",
            "3") ","
                 "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"b\",\"ts\":x,\"dur\":1},"
                 "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"no time\",\"args\":{\"stream\":7}},"
                 "{\"args\":{\"stream\":7 "
                 "7},\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"c\",\"ts\":1,"
                 "\"dur\":1},"
                 "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"d\",\"ts\":1,\"dur\":-1,"
                 "\"args\":{\"stream\":7}}," KERNEL("e", "9", "2", "4") "]}");
    CHECK_INT(run.ranks[0].nops, 2);
    CHECK_INT(run.ranks[0].bad_lines, 4);
    CHECK_HAS(note_with(&run, "4 events of this file are unusable"), "loss: ");
    CHECK_HAS(note_with(&run, "4 events of this file are unusable"), ": expected a number;");
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
    CHECK_HAS(note_with(&run, "text behind the trace"), "loss: ");
    run_release(&run);
    CHECK_HAS(text_error("rank0.json", "{\"traceEvents\": 5, \"a\" 1}"), "expected ':'");
    CHECK_HAS(text_error("rank0.json", "{\"traceEvents\": []}"), "rank0.json: no GPU work in it");
}

TEST(kineto_one_bad_file_among_good)
{
    const char *folder = make_folder();
    struct run run;
    write_text(folder, "rank0.json", small);
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
    const char *folder = make_folder();
    struct run run;
    struct err e;
    for (size_t n = 0; n < sizeof small - 1; n += 3) {
        write_file(folder, "rank0.json", small, n);
        if (run_load(&run, folder, NULL, &e) < 0)
            CHECK_INT(e.code, ERR_INPUT);
        else
            CHECK(run_partial(&run));
        run_release(&run);
    }
    for (size_t at = 0; at < sizeof small - 1; at += 2) {
        char flipped[sizeof small];
        memcpy(flipped, small, sizeof small);
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
    load_text(&run, "rank0.json",
              "{\"distributedInfo\":{\"rank\":-9,\"world_size\":9223372036854775807,\"pg_config\":["
              "{\"pg_name\":5,\"ranks\":[99999999999]}]},\"baseTimeNanoseconds\":"
              "9223372036854775807,\"deviceProperties\":[{\"id\":-5},{\"id\":9999999}],"
              "\"traceEvents\":[" KERNEL(
                  "a", "1", "2",
                  "9223372036854775807") ","
                                         "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":"
                                         "\"ncclDevKernel_AllGather\",\"ts\":5,"
                                         "\"dur\":1,\"args\":{\"stream\":2147483647,\"device\":-5,"
                                         "\"Collective name\":"
                                         "\"allgather\",\"In msg "
                                         "nelems\":9223372036854775807,\"dtype\":\"Double\","
                                         "\"Group size\":9223372036854775807,\"Process Group "
                                         "Name\":\"0\",\"Global rank start\":"
                                         "9223372036854775807,\"Global rank "
                                         "stride\":9223372036854775807}}]}");
    CHECK_INT(run.ranks[0].nops, 2);
    CHECK_INT(run.ranks[0].ops[0].start_ns, UNKNOWN_NS);
    CHECK(op_named(&run.ranks[0], "AllGather")->flags & OP_BYTES_UNKNOWN);
    run_release(&run);
}

/* ---- a real run, recorded by others ---- */

static struct json_text find_key(struct json_text in, const char *name)
{
    struct json j;
    struct json_text key;
    json_init(&j, in.p, in.len);
    json_enter(&j, '{');
    while (json_next_key(&j, &key)) {
        const char *begin;
        json_peek(&j);
        begin = j.p;
        json_skip(&j);
        if (json_text_is(key, name))
            return (struct json_text){begin, (uint32_t)(j.p - begin), false};
    }
    return (struct json_text){"0", 1, false};
}

static int64_t number_of(struct json_text in, const char *name)
{
    struct json_text value = find_key(in, name);
    struct json j;
    json_init(&j, value.p, value.len);
    return json_i64(&j, -1);
}

static void check_rank(const struct rank *rank, struct json_text want)
{
    int64_t first = INT64_MAX, last = INT64_MIN, comm = 0, memory = 0, gemms = 0, linked = 0;
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        first = op->start_ns < first ? op->start_ns : first;
        last = op->start_ns + op->dur_ns > last ? op->start_ns + op->dur_ns : last;
        comm += op->class == OP_COLL;
        memory += op->class == OP_MEMORY;
        gemms += op->class == OP_GEMM;
        linked += op->host_ns != UNKNOWN_NS;
    }
    CHECK_INT((last - first) / 1000, number_of(want, "span"));
    CHECK_INT(comm, number_of(want, "n_comm"));
    CHECK_INT(memory, number_of(want, "n_memory"));
    CHECK_INT((int64_t)rank->nops - comm - memory, number_of(want, "n_compute"));
    CHECK_INT(gemms, 23);
    CHECK_INT((int64_t)rank->nops - linked, rank->rank == 1 || rank->rank == 3 ? 64 : 0);
    CHECK_STR(rank->gpu, "Tesla V100-SXM2-32GB");
    CHECK_INT(rank->nsteps, 1);
}

static void check_collectives(const struct run *run, struct json_text want)
{
    static const uint64_t bytes[] = {24576, 192, 1536, 13568, 1576964, 24576, 448, 907840};
    struct matches m;
    struct json j;
    json_init(&j, want.p, want.len);
    json_enter(&j, '[');
    matches_init(&m, run);
    CHECK_INT(m.count, 8);
    CHECK_INT(m.incomplete + m.inconsistent + m.unnumbered, 0);
    for (size_t i = 0; i < m.count && json_next_item(&j); i++) {
        struct json_text item = {j.p, 0, false};
        json_skip(&j);
        item.len = (uint32_t)(j.p - item.p);
        CHECK_INT(m.list[i].nmembers, 8);
        CHECK_INT(m.list[i].op, i == 4 || i > 5 ? SPECTER_ALLREDUCE : SPECTER_ALLTOALL);
        CHECK_INT(m.list[i].bytes, bytes[i]);
        CHECK_INT(m.list[i].transfer_ns / 1000, number_of(item, "comm_latency_us"));
    }
    matches_release(&m);
}

static char *read_text(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    if (f == NULL || text == NULL || fread(text, 1, (1 << 20) - 1, f) == 0)
        abort();
    fclose(f);
    return text;
}

TEST(kineto_dlrm)
{
    struct run run;
    struct json_text want, ranks;
    char *expected;
    if (test_shared("data/expected/hta_dlrm8.json") == NULL)
        SKIP("no shared data");
    expected = read_text(test_shared("data/expected/hta_dlrm8.json"));
    want = (struct json_text){expected, (uint32_t)strlen(expected), false};
    ranks = find_key(want, "plain_interval_arithmetic_us");
    load_path(&run, test_shared("data/traces/param/dlrm_kineto.tar.gz"));
    CHECK_INT(run.nranks, 8);
    CHECK_INT(run.world_size, 8);
    CHECK(run.clock_aligned);
    CHECK(!run_partial(&run));
    for (size_t r = 0; r < run.nranks; r++) {
        char name[2] = {(char)('0' + r), '\0'};
        check_rank(&run.ranks[r], find_key(ranks, name));
    }
    CHECK_HAS(note_with(&run, "no launch call"), "128 of 2244 GPU operations");
    check_collectives(&run, find_key(want, "collectives_matched_by_order_us"));
    run_release(&run);
    free(expected);
}

/* Every other trace that is at hand: loads, with a word on what it lacks. */
TEST(kineto_other_traces)
{
    static const struct {
        const char *path, *note;
        size_t comm;
    } cases[] = {
        {"data/traces/param/linear_kineto.json.gz", "", 0},
        {"data/traces/hta/nccl_parser_config/nccl_data.json.gz", "1 of 2 ranks", 21},
        {"data/traces/hta/negative_queue_length_values_check/rank0.json.gz", "5 of 80 ", 80},
        {"data/traces/hta/cuda_event_sync_multi_stream/event_sync_trace.json.gz", "", 0},
        {"data/traces/tracelens/resnet_act_checkpoint.json.gz", "5 of 17 ", 17},
    };
    if (test_shared("data/traces") == NULL)
        SKIP("no shared data");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run run;
        size_t comm = 0;
        load_path(&run, test_shared(cases[i].path));
        for (size_t op = 0; run.nranks > 0 && op < run.ranks[0].nops; op++)
            comm += run.ranks[0].ops[op].class == OP_COLL || run.ranks[0].ops[op].class == OP_P2P;
        CHECK_INT(comm, cases[i].comm);
        if (cases[i].note[0] != '\0')
            CHECK_HAS(note_with(&run, cases[i].note), cases[i].note);
        run_release(&run);
    }
}
