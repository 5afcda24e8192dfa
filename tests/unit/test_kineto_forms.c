/* SPDX-License-Identifier: MIT
 *
 * The forms in which profilers, their versions and other tools write what is in a Kineto trace.
 */
#include "made_kineto.h"

#include "trace/kernel_names.h"
#include "trace/match.h"

#define K7(name, ts, corr) \
    WORK("kernel", name, ts, "2", "'device':0,'stream':7,'correlation':" corr)
#define NCCL(ts, more)                                                 \
    WORK("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", ts, "2", \
         "'device':0,'stream':20" more)
#define GROUP(name, size, ranks)                                                           \
    ",'Collective name':'allreduce','In msg nelems':8,'Out msg nelems':8,'dtype':'Float'," \
    "'Process Group Name':'" name "','Group size':" size ",'Process Group Ranks':'" ranks "'"

static void load_one(struct run *run, const char *name, const char *text)
{
    load_text(run, name, quoted(text));
}

/* Two ranks in a folder of their own. */
static void load_two(struct run *run, const char *a, const char *b)
{
    const char *folder = make_folder();
    write_text(folder, "rank0.json", quoted(a));
    write_text(folder, "rank1.json", quoted(b));
    load_path(run, folder);
    remove_folder(folder);
}

/* ---- times ---- */

TEST(kineto_one_rank_without_time_base)
{
    struct run run;
    load_two(&run,
             "{'baseTimeNanoseconds':1711964646000000000," EVENTS(K7("a", "100.250", "1")) "}",
             "{" EVENTS(K7("b", "100.250", "1")) "}");
    CHECK_INT(run.ranks[0].ops[0].start_ns, 1711964646000100250);
    CHECK(!run.clock_aligned);
    CHECK_HAS(note_with(&run, "baseTimeNanoseconds"), "1 of 2 traces have no base");
    run_release(&run);
    /* whole times of the wall clock need none */
    load_two(&run,
             "{'baseTimeNanoseconds':1711964646000000000," EVENTS(K7("a", "100.250", "1")) "}",
             "{" EVENTS(K7("b", "1711964646000101", "1")) "}");
    CHECK(run.clock_aligned);
    CHECK_INT(run.ranks[1].ops[0].start_ns - run.ranks[0].ops[0].start_ns, 750);
    CHECK_STR(note_with(&run, "baseTimeNanoseconds"), "");
    run_release(&run);
}

TEST(kineto_odd_durations)
{
    struct run run;
    load_one(
        &run, "rank0.json",
        "{" EVENTS(WORK(
            "kernel", "zero", "5", "0",
            "'stream':7,'memory bandwidth (GB/s)':inf") "{'ph':'X','cat':'kernel','name':'missing',"
                                                        "'ts':6,'args':{'stream':7}},"
                                                        "{'ph':'X','cat':'cpu_op','name':'aten::a',"
                                                        "'ts':6,'args':{}}," HOST(
                                                            "cpu_op", "aten::b", "1", "5", "-1", "")
                                                            WORK("kernel", "nan", "NaN", "2",
                                                                 "'stream':7")
                                                                WORK("kernel", "text", "'seven'",
                                                                     "2", "'stream':7")
                                                                    WORK("kernel", "far",
                                                                         "99999999999999999999",
                                                                         "2", "'stream':7")
                                                                        K7("good", "9", "1")) "}");
    CHECK_INT(run.ranks[0].nops, 2);
    CHECK_INT(op_named(&run.ranks[0], "zero")->dur_ns, 0);
    CHECK_INT(run.ranks[0].bad_lines, 4); /* labels of no use are no loss */
    CHECK_HAS(note_with(&run, "an event without a usable time"), "rank0.json: byte ");
    run_release(&run);
}

/* Some exporters write times as texts: exact, as numbers are. What is no number is no time. */
TEST(kineto_times_as_text)
{
    struct run run;
    const struct rank *rank;
    load_one(&run, "rank0.json",
             "{" EVENTS(
                 WORK("kernel", "text", "'1711964646000100.125'", "'2.5'", "'stream':7")
                     WORK("kernel", "words", "'12 us'", "'2'", "'stream':7")
                         WORK("kernel", "empty", "''", "'2'", "'stream':7")
                             WORK("kernel", "number", "1711964646000104", "1", "'stream':7")) "}");
    rank = &run.ranks[0];
    CHECK_INT(rank->nops, 2);
    CHECK_INT(op_named(rank, "text")->start_ns, 1711964646000100125);
    CHECK_INT(op_named(rank, "text")->dur_ns, 2500);
    CHECK_INT(rank->bad_lines, 2);
    run_release(&run);
}

/* ---- ranks ---- */

TEST(kineto_files_in_the_order_of_numbers)
{
    const char *folder = make_folder();
    struct run run;
    for (int i = 0; i < 12; i++) {
        char name[32];
        snprintf(name, sizeof name, "run-TP-%d.json", i);
        write_text(folder, name, quoted("{" EVENTS(NCCL("1711964646000101", "")) "}"));
    }
    load_path(&run, folder);
    CHECK_INT(run.nranks, 12);
    if (run.nranks == 12) {
        CHECK_HAS(run.ranks[2].file, "/run-TP-2.json");
        CHECK_HAS(run.ranks[10].file, "/run-TP-10.json");
    }
    CHECK_HAS(note_with(&run, "order of the files"), "12 traces");
    run_release(&run);
    remove_folder(folder);
}

/* ---- what is not communication, and not computation ---- */

TEST(kineto_kinds_of_work)
{
    static const struct {
        const char *name;
        int op;
        bool comm, library;
    } cases[] = {
        {"hipblaslt_gemm", 0, false, false},
        {"void at::native::reduce_kernel<512, 1>", 0, false, false},
        {"ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", SPECTER_COMM_OP_COUNT, true,
         true},
        {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", SPECTER_REDUCESCATTER, true, true},
        {"ncclSymDevKernel_AllGather_LL(ncclSymkDevArgs)", SPECTER_ALLGATHER, true, true},
        {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(x)", SPECTER_ALLREDUCE, true,
         false},
        {"void aiter::cross_device_reduce_2stage<half, 4>", SPECTER_ALLREDUCE, true, false},
        {"two_shot_all_reduce_kernel_inplace", SPECTER_ALLREDUCE, true, false},
        {"void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>",
         SPECTER_ALLREDUCE, true, false},
        {"multimem_all_gather_kernel", SPECTER_ALLGATHER, true, false},
        {"void quickreduce::allreduce_prototype_twoshot<x>", SPECTER_ALLREDUCE, true, false},
        {"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<x>",
         SPECTER_ALLREDUCE, true, false},
        {"void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)", SPECTER_ALLTOALLV, true, false},
        {"void deep_ep::internode_ll::combine<true, 3>(void*)", SPECTER_ALLTOALLV, true, false},
        {"void deep_ep::intranode::notify_dispatch<8>(int*)", SPECTER_COMM_OP_COUNT, true, false},
        {"void deep_ep::layout::get_dispatch_layout<256>", 0, false, false},
        {"nvshmemi_barrier_kernel", SPECTER_COMM_OP_COUNT, true, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_INT(kernel_is_comm(cases[i].name), cases[i].comm);
        CHECK_INT(kernel_is_nccl(cases[i].name), cases[i].library);
        if (cases[i].comm)
            CHECK_INT(kernel_comm_op(cases[i].name), cases[i].op);
    }
    CHECK_INT(specter_kernel_class_of("nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNN"),
              SPECTER_KERNEL_GEMM);
    CHECK_INT(kernel_gpus("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(x)"), 8);
    CHECK_INT(kernel_gpus("cross_device_reduce_2stage<half, (int)4, true>"), 4);
    CHECK_INT(kernel_gpus("cross_device_reduce_2stage"), -1);
    CHECK_INT(kernel_gpus("ncclDevKernel<8, 4>"), -1);
}

TEST(kineto_synchronisation_is_no_work)
{
    struct run run;
    load_one(
        &run, "rank0.json",
        "{" EVENTS(
            WORK("cuda_sync", "Stream Synchronize", "5", "90", "'stream':7,'correlation':1") WORK(
                "cuda_sync", "Event Synchronize", "5", "90", "'stream':7")
                WORK("cuda_sync", "Context Sync", "5", "90", "'stream':7") WORK(
                    "overhead", "Buffer Flush", "5", "90",
                    "'stream':7") "{'ph':'C','cat':'kernel','name':'n','ts':1,'args':{'stream':7}},"
                                  "{'ph':'s','cat':'ac2g','name':'ac2g','id':1,'ts':1}," K7(
                                      "k", "9", "1")) "}");
    CHECK_INT(run.ranks[0].nops, 1);
    CHECK(!run_partial(&run));
    run_release(&run);
}

/* Tools that write such files leave out args, where the stream stands twice; tid is the stream. */
TEST(kineto_work_without_stream)
{
    struct run run;
    load_one(&run, "rank0.json",
             "{" EVENTS(K7("k", "9", "1") WORK("kernel", "a", "12", "2", "'stream':-1")
                            WORK("gpu_memcpy", "b", "15", "2", "'correlation':3")) "}");
    CHECK_INT(run.ranks[0].nops, 2);
    CHECK_INT(run.ranks[0].ops[1].stream, run.ranks[0].ops[0].stream);
    CHECK_HAS(note_with(&run, "without a stream"), "1 kernels or copies");
    run_release(&run);
    load_one(&run, "rank0.json",
             "{'traceEvents':[{'ph':'X','cat':'kernel','name':'a','ts':1,'dur':2,'tid':9},"
             "{'ph':'X','cat':'kernel','name':'b','ts':4,'dur':2},"
             "{'ph':'X','cat':'gpu_memcpy','name':'Memcpy DtoH','ts':7,'dur':2,'tid':'copies'}]}");
    CHECK_INT(run.ranks[0].nops, 3);
    CHECK_INT(run.ranks[0].ops[0].stream, 9);
    CHECK_INT(run.ranks[0].ops[1].stream, 0);
    CHECK_INT(run.ranks[0].ops[2].stream, 1); /* texts are numbered */
    run_release(&run);
}

/* PyTorch writes the members of a group as a text, tools that rewrite traces as a list. */
TEST(kineto_group_ranks_as_a_list)
{
    struct run run;
    load_one(&run, "rank0.json",
             "{" EVENTS(NCCL("9", ",'Collective name':'allreduce','In msg nelems':8,"
                                  "'Process Group Name':'tp','Group size':3,'dtype':'float16',"
                                  "'Process Group Ranks':[0,2,5]")) "}");
    CHECK_INT(run.ncomms, 1);
    CHECK_STR(run.comms[0].id, "tp[0,2,5]");
    CHECK_INT(run.ranks[0].ops[0].bytes, 16);
    run_release(&run);
}

/* ROCm without correlations: an external id leads from the call to its work, and is that of no
 * operator; the process of device work is the device. */
TEST(kineto_work_with_external_ids_alone)
{
    struct run run;
    load_one(
        &run, "rank0.json",
        "{" EVENTS("{'ph':'X','cat':'cpu_op','name':'aten::mm','pid':9,'tid':9,'ts':10,'dur':8,"
                   "'args':{'External id':513,'Input type':['c10::BFloat16','c10::BFloat16'],"
                   "'Input Dims':[[8,4],[4,16]]}},"
                   "{'ph':'X','cat':'cpu_op','name':'aten::add','pid':9,'tid':9,'ts':30,'dur':8,"
                   "'args':{'External id':26}},"
                   "{'ph':'X','cat':'cuda_runtime','name':'hipExtModuleLaunchKernel','pid':9,"
                   "'tid':9,'ts':12,'dur':3,'args':{'External id':25,'stream':'0x0'}},"
                   "{'ph':'X','cat':'cuda_runtime','name':'hipLaunchKernel','pid':9,"
                   "'tid':9,'ts':15,'dur':3,'args':{'External id':26,'stream':'0x0'}},"
                   "{'ph':'X','cat':'kernel','name':'Cijk_Ailk_Bljk_BBS','pid':2,'tid':3,'ts':20,"
                   "'dur':5,'args':{'External id':25}},"
                   "{'ph':'X','cat':'kernel','name':'Cijk_B_PostGSU2','pid':2,'tid':3,'ts':25,"
                   "'dur':1,'args':{'External id':26}},") "}");
    CHECK_INT(run.ranks[0].nops, 2);
    CHECK_INT(run.ranks[0].ops[0].device, 2);
    CHECK_INT(run.ranks[0].ops[0].stream, 3);
    CHECK_INT(run.ranks[0].ops[0].host_ns, 12000);
    CHECK_STR(run.ranks[0].ops[0].caller, "aten::mm");
    CHECK_STR(run.ranks[0].ops[1].caller, "aten::mm");
    CHECK_INT(run.ranks[0].ops[0].class, OP_GEMM);
    CHECK(!run_partial(&run));
    run_release(&run);
}

/* Kineto of 2021. */
TEST(kineto_before_torch_19)
{
    struct run run;
    load_one(&run, "rank0.json",
             "{'schemaVersion':1,'computeProperties':[{'id':0,'name':'Tesla V100'},"
             "{'id':1,'name':'Tesla V100'}],'traceEvents':["
             "{'ph':'X','cat':'Operator','name':'outer','pid':9,'tid':'9','ts':1,'dur':8,"
             "'args':{'Device':9,'External id':4}},"
             "{'ph':'X','cat':'Operator','name':'inner','pid':9,'tid':'9','ts':3,'dur':4,"
             "'args':{'Device':9,'External id':3}},"
             "{'ph':'X','cat':'Runtime','name':'cudaLaunchKernel','pid':9,'tid':'9','ts':7,'dur':1,"
             "'args':{'correlation':5,'external id':3,'external ts':3}},"
             "{'ph':'X','cat':'Kernel','name':'k','pid':0,'tid':'stream 7','ts':9,'dur':2,"
             "'args':{'device':0,'stream':7,'correlation':5,'external id':3}}]}");
    CHECK_INT(run.ranks[0].nops, 1);
    CHECK_STR(run.ranks[0].gpu, "Tesla V100");
    CHECK_STR(run.ranks[0].ops[0].caller, "inner");
    run_release(&run);
}

/* Without a phase what lasts is complete; some tools have a category of HIP's calls. */
TEST(kineto_events_without_phase)
{
    struct run run;
    load_one(&run, "rank0.json",
             "{'traceEvents':[{'cat':'hip_runtime','name':'hipLaunchKernel','pid':9,'tid':9,'ts':1,"
             "'dur':1,'args':{'correlation':3}},"
             "{'cat':'kernel','name':'a','ts':4,'dur':2,'args':{'stream':1,'correlation':3}},"
             "{'cat':'kernel','name':'no length','ts':4,'args':{'stream':1}}]}");
    CHECK_INT(run.ranks[0].nops, 1);
    CHECK_INT(run.ranks[0].ops[0].host_ns, 1000);
    CHECK(!run_partial(&run));
    run_release(&run);
}

/* Other accelerators: their calls launch, their kernels compute. */
TEST(kineto_other_accelerators)
{
    struct run run;
    load_one(
        &run, "rank0.json",
        "{" EVENTS(HOST("xpu_runtime", "urEnqueueKernelLaunch", "1", "3", "2", "'correlation':4")
                       HOST("privateuse1_runtime", "customLaunch", "1", "6", "2", "'correlation':5")
                           HOST("mtia_ccp_events", "x", "1", "6", "2", "")
                               K7("gemm_kernel", "9", "4") K7("other", "19", "5")) "}");
    CHECK_INT(run.ranks[0].nops, 2);
    CHECK_INT(run.ranks[0].ops[0].host_ns, 3000);
    CHECK_INT(run.ranks[0].ops[1].host_ns, 6000);
    CHECK_STR(run.ranks[0].gpu, "");
    run_release(&run);
}

/* ---- who ---- */

TEST(kineto_rank_in_any_form)
{
    struct run run;
    load_one(&run, "a.json",
             "{'distributedInfo':{'rank':'3','world_size':'4'}," EVENTS(K7("k", "1", "1")) "}");
    CHECK_INT(run.ranks[0].rank, 3);
    CHECK_INT(run.world_size, 4);
    run_release(&run);
    load_one(&run, "b.json",
             "{'distributedInfo':{'rank':[],'world_size':4}," EVENTS(K7("k", "1", "1")) "}");
    CHECK_INT(run.nranks, 1);
    CHECK_HAS(note_with(&run, "this part of the file is not used"), "loss: ");
    run_release(&run);
}

/* On-demand dumps have neither rank nor steps; collectives say which member of which group recorded
 * them, and the group of all its size. */
TEST(kineto_rank_from_collectives)
{
    struct run run;
    load_one(&run, "libkineto_activities_4711.json",
             "{" EVENTS(HOST("cpu_op", "record_param_comms", "1", "5", "20",
                             "'Rank':1,'Collective name':'allreduce','dtype':'Float',"
                             "'In msg nelems':8,'Out msg nelems':8,'Group size':3,"
                             "'Process Group Name':'4','Process Group Description':'default_pg',"
                             "'Process Group Ranks':'[0, 5, 6]'")
                            HOST("cuda_runtime", "cudaLaunchKernelExC", "1", "10", "5",
                                 "'correlation':1") NCCL("30", ",'correlation':1")) "}");
    CHECK_INT(run.ranks[0].rank, 5);
    CHECK_HAS(note_with(&run, "do not say their rank"), "from their collectives");
    CHECK_INT(run.ranks[0].nsteps, 0);
    CHECK_STR(run.comms[0].id, "4[0,5-6]");
    run_release(&run);
}

/* Tools that merge ranks for a viewer shift the processes, or write them as text. */
TEST(kineto_merged_files_are_refused)
{
    static const char *const texts[] = {
        "[" HOST("cuda_runtime", "cudaLaunchKernel", "1", "1", "1",
                 "'correlation':1") "{'ph':'X','cat':'cuda_runtime','name':'cudaLaunchKernel','pid'"
                                    ":10000000009,'tid':1,"
                                    "'ts':2,'dur':1,'args':{'correlation':10001}}," K7(
                                        "a", "5", "1") "{'ph':'M'}]",
        "[" K7("a", "5",
               "1") "{'ph':'X','cat':'kernel','name':'b','pid':1000,'tid':7,'ts':5,'dur':1,"
                    "'args':{'device':0,'stream':7}}]",
        ("[{'ph':'X','cat':'kernel','name':'a','pid':'[TP00] "
         "0','ts':5,'dur':1,'args':{'stream':7}},"
         "{'ph':'X','cat':'kernel','name':'b','pid':'[TP01] "
         "0','ts':5,'dur':1,'args':{'stream':7}}]"),
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CHECK_HAS(text_error("merged.json", quoted(texts[i])),
                  "merged.json: the traces of several processes merged into one file");
}

TEST(kineto_several_devices_of_a_process)
{
    struct run run;
    load_one(&run, "rank0.json",
             "[" K7("a", "5", "1") "{'ph':'X','cat':'kernel','name':'b','pid':1,'tid':7,'ts':5,"
                                   "'dur':1,'args':{'device':1,'stream':7}}]");
    CHECK_INT(run.ranks[0].nops, 2);
    CHECK_HAS(note_with(&run, "several GPUs"), "taken as one rank's");
    run_release(&run);
}

/* ---- groups ---- */

/* A list that is cut: the record has the first rank and stride, the kernel does not. Both, and a
 * kernel without record, are in the same communicator. */
TEST(kineto_group_with_a_cut_list)
{
    struct run run;
    load_one(&run, "rank0.json",
             "{" EVENTS(NCCL("20", GROUP("9", "4", "[0, 2, ...]")) HOST(
                 "cpu_op", "record_param_comms", "1", "5", "20",
                 "'Global rank start':0,'Global rank stride':2" GROUP("9", "4", "[0, 2, ...]"))
                            HOST("cuda_runtime", "cudaLaunchKernel", "1", "10", "5",
                                 "'correlation':1") NCCL("30", ",'correlation':1")) "}");
    CHECK_INT(run.ncomms, 1);
    CHECK_STR(run.comms[0].id, "9[0,2,4,6]");
    CHECK_INT(run.ranks[0].ops[0].coll.comm, 0);
    CHECK_INT(run.ranks[0].ops[1].coll.comm, 0);
    run_release(&run);
}

/* The configuration as a text, as on-demand dumps write it; an empty list stands for all. */
TEST(kineto_groups_as_text)
{
    struct run run;
    load_one(
        &run, "rank0.json",
        "{" EVENTS(NCCL("20", GROUP("0", "4", "[0, ...]")) NCCL(
            "30", GROUP("5", "2", "[0, ...]"))) ",'distributedInfo':{'rank':0,'world_size':4,"
                                                "'pg_count':2,'pg_config':'[{\\'pg_name\\':"
                                                "\\'0\\',\\'pg_size\\':4,\\'ranks\\':[]},"
                                                "{\\'pg_name\\':\\'5\\',\\'ranks\\':[0,3]}]'}}");
    CHECK_INT(run.ncomms, 2);
    CHECK_STR(run.comms[0].id, "0[0-3]");
    CHECK_STR(run.comms[1].id, "5[0,3]");
    run_release(&run);
}

TEST(kineto_root_and_peer)
{
    struct run run;
    const struct op *op;
    load_one(&run, "rank0.json",
             "{" EVENTS(
                 WORK("kernel", "ncclDevKernel_Broadcast_RING_LL", "5", "2",
                      "'stream':20,'Rank':2,'Collective name':'broadcast','In msg nelems':8,"
                      "'dtype':'Float','Process Group Name':'0','Group size':4,'Process Group "
                      "Ranks':'[0, 2, 4, 6]','Seq':3,'Comms Id':18446744073709551615,"
                      "'Is asynchronized op':true")
                     WORK("kernel", "ncclDevKernel_SendRecv", "9", "2",
                          "'stream':20,'Src Rank':6,'Collective name':'recv','Out msg nelems':8,"
                          "'dtype':'Float','Process Group Name':'0','Group size':4,'Process Group "
                          "Ranks':'[0, 2, 4, 6]'")
                         WORK("kernel", "ncclDevKernel_SendRecv", "12", "2",
                              "'stream':20,'Collective name':'coalesced','Process Group Name':'0',"
                              "'Group size':4,'Process Group Ranks':'[0, 2, 4, 6]'")) "}");
    op = op_named(&run.ranks[0], "Broadcast");
    CHECK_INT(op->coll.peer, 2);
    CHECK_INT(op->bytes, 32);
    op = &run.ranks[0].ops[1];
    CHECK_INT(op->coll.op, SPECTER_RECV);
    CHECK_INT(op->coll.peer, 3);
    CHECK_INT(op->bytes, 32);
    op = &run.ranks[0].ops[2]; /* messages without further fields */
    CHECK_INT(op->class, OP_P2P);
    CHECK(op->flags & OP_BYTES_UNKNOWN);
    run_release(&run);
}

/* The other end of a message in a group whose members no record lists: the number in the group is
 * the record's, and without one it is not known. */
TEST(kineto_peer_in_a_group_of_unknown_members)
{
#define SEND(ts, more)                                                                      \
    WORK("kernel", "ncclDevKernel_SendRecv", ts, "2",                                       \
         "'stream':20,'Collective name':'send','In msg nelems':8,'dtype':'Float','Process " \
         "Group Name':'9','Group size':4,'Process Group Ranks':'[0, 2, ...]'" more)
    struct run run;
    load_one(&run, "rank0.json", "{" EVENTS(SEND("5", ",'Rank':3") SEND("9", "")) "}");
    CHECK_INT(run.comms[0].ranks[0], -1);
    CHECK_INT(run.ranks[0].ops[0].coll.peer, 3);
    CHECK_INT(run.ranks[0].ops[1].coll.peer, -1);
    run_release(&run);
}

/* ---- matching ---- */

/* Custom all-reduce on the stream of NCCL: each is matched with its own kind. */
TEST(kineto_custom_kernels_have_an_order_of_their_own)
{
#define CUSTOM(ts) \
    WORK("kernel", "void vllm::cross_device_reduce_1stage<half, 2>(x)", ts, "2", "'stream':20")
#define SEQ(n) GROUP("0", "2", "[0, 1]") ",'Seq':" n
    struct run run;
    struct matches m;
    load_two(&run,
             "{'distributedInfo':{'rank':0,'world_size':2}," EVENTS(
                 CUSTOM("1") NCCL("5", SEQ("7")) CUSTOM("9") NCCL("12", SEQ("8"))) "}",
             "{'distributedInfo':{'rank':1,'world_size':2}," EVENTS(
                 CUSTOM("1") CUSTOM("4") NCCL("8", SEQ("7")) NCCL("12", SEQ("8"))) "}");
    CHECK_INT(run.ncomms, 2);
    CHECK_INT(run.ranks[0].ops[1].coll.seq, 7);
    matches_init(&m, &run);
    CHECK_INT(m.count, 4);
    CHECK_INT(m.incomplete + m.inconsistent + m.unnumbered, 0);
    for (size_t i = 0; i < m.count; i++)
        CHECK_INT(m.list[i].op, SPECTER_ALLREDUCE);
    CHECK_HAS(note_with(&run, "custom all-reduce"), "matched by stream order");
    matches_release(&m);
    run_release(&run);
}

/* A kernel of two of four GPUs: it is not known which other one took part. */
TEST(kineto_custom_kernels_of_a_part)
{
    struct run run;
    load_one(&run, "rank0.json",
             "{'distributedInfo':{'rank':0,'world_size':4}," EVENTS(CUSTOM("1")) "}");
    CHECK_INT(run.ranks[0].ops[0].coll.op, SPECTER_ALLREDUCE);
    CHECK_INT(run.ranks[0].ops[0].coll.comm, -1);
    run_release(&run);
}

/* The profile begins in the middle: kernels whose records came before it are numbered by those that
 * follow. */
TEST(kineto_numbers_of_kernels_without_record)
{
    struct run run;
    struct matches m;
    load_two(&run,
             "{'distributedInfo':{'rank':0,'world_size':2}," EVENTS(
                 NCCL("1", "") NCCL("5", "") NCCL("9", SEQ("7")) NCCL("12", SEQ("8"))) "}",
             "{'distributedInfo':{'rank':1,'world_size':2}," EVENTS(
                 NCCL("5", "") NCCL("9", SEQ("7")) NCCL("12", SEQ("8")) NCCL("15", "")) "}");
    CHECK_INT(run.ranks[0].ops[0].coll.seq, 5);
    CHECK_INT(run.ranks[1].ops[0].coll.seq, 6);
    CHECK_INT(run.ranks[1].ops[3].coll.seq, 9);
    matches_init(&m, &run);
    CHECK_INT(m.count, 5);
    matches_release(&m);
    run_release(&run);
}

/* ---- streams ---- */

#define ON_THREAD(tid, ts)                                                                   \
    "{'ph':'X','cat':'kernel','name':'k','pid':0,'tid':" tid ",'ts':" ts ",'dur':2,'args':{" \
    "'device':0}},"

TEST(kineto_streams_named_by_texts)
{
    struct run run;
    const struct op *ops;
    load_one(&run, "rank0.json",
             "{" EVENTS(ON_THREAD("'stream 7'", "100") ON_THREAD("'stream 20'", "101")
                            ON_THREAD("'stream 7'", "110") ON_THREAD("'20'", "111")) "}");
    ops = run.ranks[0].ops;
    CHECK_INT(run.ranks[0].nops, 4);
    CHECK(ops[0].stream != ops[1].stream);
    CHECK_INT(ops[2].stream, ops[0].stream);
    CHECK_INT(ops[3].stream, 20);
    run_release(&run);
}
