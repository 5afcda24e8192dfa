/* SPDX-License-Identifier: MIT
 *
 * Kineto traces: our fixture to the last digit, names and sizes, forms, ranks.
 */
#include "made_kineto.h"

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
    /* clang-format off */
    load_text(&run, "worker0.json", quoted(
        "{'schemaVersion': 1, " DIST("0", "4") ", 'traceEvents': ["
        "{'ph':'X','cat':'Kernel','name':'ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t','pid':0,"
        "'tid':'stream 20','ts':2000,'dur':10,'args':{'device':0,'stream':20,'correlation':5}},"
        "{'ph':'X','cat':'Runtime','name':'cudaLaunchKernel','pid':9,'tid':'9','ts':1000,'dur':5,"
        "'args':{'correlation':5}},"
        "{'ph':'X','cat':'Operator','name':'nccl:all_to_all','pid':9,'tid':'9','ts':990,'dur':20,"
        "'args':{'Input Dims':[[16,8]],'Input type':['long int']}},"
        "{'ph':'X','cat':'Memcpy','name':'Memcpy DtoH','pid':0,'tid':7,'ts':3000,'dur':1,"
        "'args':{'device':0,'stream':7,'correlation':6}},"
        "{'ph':'X','cat':'kernel','name':'ncclKernel_AllReduce_RING_LL_Sum_float','pid':0,'tid':20,"
        "'ts':4000,'dur':10,'args':{'device':0,'stream':20,'correlation':8}}]}"));
    /* clang-format on */
    op = op_named(&run.ranks[0], "SendRecv");
    CHECK_INT(op->class, OP_COLL);
    CHECK_INT(op->coll.op, SPECTER_ALLTOALL);
    CHECK_INT(op->bytes, 1024);
    CHECK_INT(op->coll.count, 32);
    CHECK_INT(op->coll.seq, 0);
    CHECK_INT(op->start_ns, 2000000);
    CHECK_INT(op->host_ns, 1000000);
    op = op_named(&run.ranks[0], "AllReduce"); /* of unknown size */
    CHECK_INT(op->flags, OP_BYTES_UNKNOWN);
    CHECK_INT(op->dur_ns, 10000);
    CHECK_INT(op->coll.seq, 1);
    CHECK_INT(op_named(&run.ranks[0], "Memcpy")->flags, OP_BYTES_UNKNOWN);
    CHECK_INT(run.comms[0].size, 4);
    CHECK_INT(run.comms[0].ranks[0], 0);
    CHECK_HAS(note_with(&run, "no process groups"), "matched by stream order");
    CHECK_HAS(note_with(&run, "carry no size"), "1 of 2 communication kernels");
    CHECK_STR(note_with(&run, "missing"), "1 of 4 ranks have a trace; missing: ranks 1-3");
    run_release(&run);
}

TEST(kineto_keys_in_any_order)
{
    struct run run;
    load_text(
        &run, "rank2.json",
        quoted("{'baseTimeNanoseconds': 1000000000, 'traceEvents':[{'args': {'correlation': 4, "
               "'stream': 3, "
               "'device': 1}, 'dur': 1.5, 'ts': 2, 'name': 'k', 'cat': 'kernel', 'ph': 'X'} , "
               "{'args':{'x':[1]},'name':'y','ph':'i'}],'deviceProperties':[{'name':'GPU "
               "one','id':1}]}"));
    CHECK_INT(run.ranks[0].rank, 2);
    CHECK_INT(run.ranks[0].nops, 1);
    CHECK_INT(run.ranks[0].ops[0].start_ns, 1000002000);
    CHECK_INT(run.ranks[0].ops[0].dur_ns, 1500);
    CHECK_INT(run.ranks[0].ops[0].device, 1);
    CHECK_STR(run.ranks[0].gpu, "GPU one");
    run_release(&run);
}

#define CALL(name, ts) HOST("cuda_runtime", name, "1", ts, "2", "")

/* Calls that allocate may wait for the device; those that do so in the order of a stream do not. */
TEST(kineto_allocations)
{
    struct run run;
    /* clang-format off */
    load_text(&run, "trace.json", quoted(
        "[" CALL("cudaMalloc", "5") CALL("cudaMallocAsync", "8") CALL("cudaMallocHost", "10")
        CALL("hipFree", "12") KERNEL("a", "1", "2", "3") "]"));
    /* clang-format on */
    CHECK_INT(run.ranks[0].nsync_calls, 3);
    CHECK_INT(run.ranks[0].sync_calls[0].kind, SYNC_CALL_ALLOC);
    CHECK_INT(run.ranks[0].sync_calls[0].host_end_ns - run.ranks[0].sync_calls[0].host_ns, 2000);
    CHECK_INT(run.ranks[0].sync_calls[1].kind, SYNC_CALL_ALLOC);
    CHECK_INT(run.ranks[0].sync_calls[2].kind, SYNC_CALL_FREE);
    run_release(&run);
}

/* A copy from the device and its call. */
#define COPY(to, call, ts, dur, start, end, id)                      \
    HOST("cuda_runtime", call, "1", ts, dur, "'correlation':" id)    \
    WORK("gpu_memcpy", "Memcpy DtoH (Device -> " to ")", start, end, \
         "'device':0,'stream':7,'correlation':" id)

/* item() of PyTorch: the copy waits within its call, of which the synchronisation after it is
 * free. To pinned memory it does not. */
TEST(kineto_copies_that_wait)
{
    struct run run;
    /* clang-format off */
    load_text(&run, "trace.json", quoted(
        "[" COPY("Pageable", "cudaMemcpyAsync", "10", "900", "900", "2", "5")
        COPY("Pinned", "cudaMemcpyAsync", "1000", "5", "1002", "2", "6")
        COPY("Pinned", "cudaMemcpy_ptds", "2000", "500", "2490", "2", "7") "{'ph':'M'}]"));
    /* clang-format on */
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
    /* clang-format off */
    load_text(&run, "rank0.json", quoted(
        "[" KERNEL("a", "1", "2", "3") ",{'ph':'X','cat':'kernel','name':'b','ts':4,'dur':1,"
        "'args':{'device':1,'stream':7}}]"));
    /* clang-format on */
    CHECK_INT(run.ranks[0].nops, 2);
    CHECK_HAS(note_with(&run, "several GPUs"), "taken as one rank's");
    run_release(&run);
}

#define SEQ(count, ts, seq)                                                \
    WORK("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", ts, "1",     \
         "'stream':7,'Collective name':'allreduce','In msg nelems':" count \
         ",'dtype':'Float','Group size':2,'Process Group Name':'0',"       \
         "'Process Group Ranks':'[0, 1]'" seq)
#define SEQ_TRACE(rank, events) quoted("{" DIST(rank, "2") "," EVENTS(events) "}")

/* Without sequence numbers the order counts; with them a trace may begin later. */
TEST(kineto_recorded_numbers)
{
    const char *folder = make_folder();
    struct run run;
    struct matches m;
    write_text(folder, "rank0.json",
               SEQ_TRACE("0", SEQ("1", "1", ",'Seq':5") SEQ("2", "2", ",'Seq':6")));
    write_text(folder, "rank1.json",
               SEQ_TRACE("1", SEQ("2", "2", ",'Seq':6") SEQ("3", "3", ",'Seq':7")));
    load_path(&run, folder);
    matches_init(&m, &run);
    CHECK_INT(m.count, 3);
    CHECK_INT(m.inconsistent, 0);
    CHECK_INT(m.list[1].nmembers, 2);
    matches_release(&m);
    run_release(&run);
    write_text(folder, "rank1.json", SEQ_TRACE("1", SEQ("1", "2", "") SEQ("2", "3", ",'Seq':6")));
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
    /* clang-format off */
    load_text(&run, "rank3.json", quoted(
        "{'distributedInfo':{'rank':3,'world_size':8,'pg_config':[{'pg_name':'7','pg_size':3,"
        "'ranks':'[1, 3, 5]'}]}," EVENTS(WORK("kernel", "ncclDevKernel_SendRecv", "1", "1",
        "'stream':7,'Collective name':'send','In msg nelems':4,'dtype':'Half','Group size':3,"
        "'Process Group Name':'7','Process Group Ranks':'[1, ...]','Dst Rank':5")) "}"));
    /* clang-format on */
    CHECK_STR(run.comms[0].id, "7[1,3,5]");
    CHECK_INT(run.comms[0].ranks[2], 5);
    CHECK_INT(run.ranks[0].ops[0].coll.peer, 2);
    CHECK_INT(run.ranks[0].ops[0].bytes, 8);
    run_release(&run);
}
