/* SPDX-License-Identifier: MIT
 *
 * Execution traces beside Kineto traces: what the join tells, in each schema.
 */
#include "made_kineto.h"

#include "trace/et.h"

#define PARAMS(ts, rf)                                  \
    HOST("cpu_op", "record_param_comms", "1", ts, "10", \
         "'External id':" rf ",'Record function id':" rf)
#define PRODUCT(name, ts, rf) HOST("cpu_op", name, "1", ts, "10", "'Record function id':" rf)
#define RUN(ts, corr) HOST("cuda_runtime", "cudaLaunchKernel", "1", ts, "2", "'correlation':" corr)
#define K(name, ts, corr) WORK("kernel", name, ts, "4", "'device':0,'stream':7,'correlation':" corr)
#define SENDRECV "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"

/* Two communications and a product of which the profile tells no more than their times. */
#define PROFILE(a, b, c)                                                                           \
    "{'distributedInfo':{'rank':0,'world_size':4}," EVENTS(                                        \
        PARAMS("10", a) RUN("12", "1") PARAMS("30", b) RUN("32", "2") PRODUCT("aten::mm", "50", c) \
            RUN("52", "3") K(SENDRECV, "20", "1")                                                  \
                K("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "40", "2") K("sgemm", "60", "3")) "}"

#define NODE101(name, rf, tid, inputs, shapes, types)                                              \
    "{'name':'" name "','id':" rf ",'rf_id':" rf ",'parent':1,'fw_parent':0,'seq_id':-1,"          \
    "'scope':0,'tid':" tid ",'fw_tid':0,'op_schema':'','inputs':" inputs ",'input_shapes':" shapes \
    ",'input_types':" types ",'outputs':[],'output_shapes':[],'output_types':[]},"
#define ET(schema, nodes)                                                                \
    "{'schema':'" schema "','pid':9,'time':'x','start_ts':1,'nodes':[" nodes "{'name':'" \
    "[pytorch|profiler|execution_graph|process]','id':1,'rf_id':0,'tid':0}],'finish_ts':2}"

#define COMM101(rf, tid, op)                                                         \
    NODE101(                                                                         \
        "record_param_comms", rf, tid,                                               \
        "[[7,8,0,24,8,'cuda:0'],147,94594108284448,0,'" op "',[6,6,6,6],[6,6,6,6]]", \
        "[[24],[],[],[],[],[[],[],[],[]],[[],[],[],[]]]",                            \
        "['Tensor(long int)','Int','Int','Int','String','GenericList[Int]','GenericList[Int]']")
#define REDUCE101(rf, tid)                                                       \
    NODE101("record_param_comms", rf, tid,                                       \
            "[[[7,8,0,100,4,'cuda:0']],151,94594108284448,0,'allreduce',[],[]]", \
            "[[[100]],[],[],[],[],[],[]]",                                       \
            "['GenericList[Tensor(float)]','Int','Int','Int','String','GenericList[]','x']")
#define MM101(rf, tid)                                                                            \
    NODE101("aten::mm", rf, tid, "[[1,2,0,6,2,'cuda:0'],[3,4,0,12,2,'cuda:0']]", "[[2,3],[3,4]]", \
            "['Tensor(c10::BFloat16)','Tensor(c10::BFloat16)']")
#define WAIT101(rf, tid)                                                                    \
    NODE101("record_param_comms", rf, tid, "[141,0,0,'wait',[],[]]", "[[],[],[],[],[],[]]", \
            "['Int','Int','Int','String','GenericList[]','GenericList[]']")

static void load_both(struct run *run, const char *kineto, const char *et)
{
    const char *folder = make_folder();
    write_text(folder, "kineto_rank0.json", quoted(kineto));
    write_text(folder, "et_0.json", quoted(et));
    load_path(run, folder);
    remove_folder(folder);
}

static void check_joined(const struct run *run)
{
    const struct op *op = op_named(&run->ranks[0], "SendRecv");
    CHECK_INT(op->class, OP_COLL);
    CHECK_INT(op->coll.op, SPECTER_ALLTOALLV);
    CHECK_INT(op->bytes, 192);
    CHECK_INT(op->dtype, SPECTER_INT64);
    CHECK_INT(op->flags, 0);
    CHECK_INT(op->coll.seq, 0);
    op = op_named(&run->ranks[0], "AllReduce");
    CHECK_INT(op->bytes, 400);
    CHECK_INT(op->coll.count, 100);
    CHECK_INT(op->coll.redop, SPECTER_REDOP_NONE);
    CHECK_INT(op->dtype, SPECTER_FP32);
    CHECK_INT(op->coll.seq, 1);
    CHECK_INT(run->comms[op->coll.comm].size, 4);
    CHECK_INT(op->coll.comm, op_named(&run->ranks[0], "SendRecv")->coll.comm);
    op = op_named(&run->ranks[0], "sgemm");
    CHECK_INT(op->class, OP_GEMM);
    CHECK_INT(op->gemm.m, 2);
    CHECK_INT(op->gemm.k, 3);
    CHECK_INT(op->gemm.n, 4);
    CHECK_INT(op->dtype, SPECTER_BF16);
    CHECK(run->ranks[0].coverage & COVER_GEMM);
    CHECK_STR(note_with(run, "carry no size"), "");
    CHECK_STR(note_with(run, "do not tell their operation"), "");
    CHECK(note_with(run, "from the execution traces")[0] != '\0');
}

/* ---- schemas ---- */

/* 1.0.1, flat; the numbers are other than the profile's, so that order decides. */
TEST(et_by_order)
{
    struct run run;
    load_both(&run, PROFILE("0", "0", "0"),
              ET("1.0.1", REDUCE101("13", "1") COMM101("12", "1", "all_to_allv") MM101("14", "1")));
    check_joined(&run);
    CHECK_STR(note_with(&run, "one of the iterations"), "");
    run_release(&run);
}

/* By the record function id, in whatever order and thread. */
TEST(et_by_id)
{
    struct run run;
    load_both(&run, PROFILE("12", "13", "14"),
              ET("1.0.1", WAIT101("11", "1") MM101("14", "3") REDUCE101("13", "2")
                              COMM101("12", "1", "all_to_allv")));
    check_joined(&run);
    run_release(&run);
}

#define ATTR(name, value) "{'name':'" name "','type':'x','value':" value "},"
#define NODE(name, rf, values, shapes, types, more)                                               \
    "{'id':" rf ",'name':'" name "','ctrl_deps':2,'inputs':{'values':" values ",'shapes':" shapes \
    ",'types':" types                                                                             \
    ",'strides':[]},'outputs':{'values':[],'shapes':[],'types':[]},'attrs':[" ATTR("rf_id", rf)   \
        ATTR("tid", "1") more "{'name':'op_schema','type':'string','value':''}]},"
#define MM(rf) \
    NODE("aten::mm", rf, "[]", "[[2,3],[3,4]]", "['Tensor(c10::BFloat16)','Tensor(x)']", "")

/* 1.0.2 and 1.0.3: inputs are an object, and name the group, as a text or with its description. */
TEST(et_chakra_inputs)
{
    static const char *const groups[] = {"'0'", "['0','default_pg']"};
    for (size_t i = 0; i < 2; i++) {
        struct run run;
        char et[8192];
        snprintf(et, sizeof et,
                 ET("%s", NODE("record_param_comms", "12",
                               "[[7,8,0,24,8,'cuda:0'],3,%s,0,'all_to_allv',[6],[6],0,1,4]",
                               "[[24],[],[],[],[],[],[]]", "['Tensor(long int)','Int']", "")
                              NODE("record_param_comms", "13",
                                   "[[[7,8,0,100,4,'cuda:0']],3,%s,0,'allreduce',[],[],0,1,4]",
                                   "[[[100]],[],[]]", "['GenericList[Tensor(float)]','Int']", "")
                                  MM("14")),
                 i == 0 ? "1.0.2-chakra.0.0.4" : "1.0.3-chakra.0.0.4", groups[i], groups[i]);
        load_both(&run, PROFILE("12", "13", "14"), et);
        check_joined(&run);
        run_release(&run);
    }
}

/* 1.1.0 and later: attributes say it, before the inputs do. */
TEST(et_attributes)
{
#define COMM(rf, name, count, type)                                             \
    NODE("record_param_comms", rf, "['x','nothing']", "[[1]]", "['Tensor(x)']", \
         ATTR("collective_name", "'" name "'") ATTR("dtype", "'" type "'")      \
             ATTR("in_msg_nelems", count) ATTR("out_msg_nelems", count)         \
                 ATTR("in_split_size", "'[6,6,6,6]'") ATTR("pg_name", "'0'")    \
                     ATTR("pg_desc", "'default_pg'") ATTR("pg_size", "4"))
    struct run run;
    load_both(&run, PROFILE("12", "13", "14"),
              ET("1.1.1-chakra.0.0.4", COMM("12", "all_to_allv", "24", "Long")
                                           COMM("13", "allreduce", "100", "Float") MM("14")));
    check_joined(&run);
    run_release(&run);
}

/* The list of groups: the profile has but the beginning of the member list. */
TEST(et_group_members)
{
    struct run run;
    load_both(
        &run,
        "{'distributedInfo':{'rank':0,'world_size':9}," EVENTS(
            WORK("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "5", "2",
                 "'stream':7,'Collective name':'allreduce','In msg nelems':1,"
                 "'dtype':'Float','Process Group Name':'4','Group size':3,"
                 "'Process Group Ranks':'[0, ...]'")) "}",
        ET("1.1.0-chakra.0.0.4",
           NODE("## process_group:init ##", "3",
                "['[{\\'pg_name\\': \\'4\\', \\'pg_desc\\': \\'tp\\', \\'ranks\\': [0, 4, 8], "
                "\\'group_size\\': 3}]']",
                "[[]]", "['String']", "")));
    CHECK_INT(run.ncomms, 1);
    CHECK_INT(run.comms[0].ranks[1], 4);
    CHECK_INT(run.comms[0].ranks[2], 8);
    CHECK_STR(run.comms[0].name, "tp");
    run_release(&run);
}

/* ---- what does not fit ---- */

/* One iteration of three; two threads with the same names leave it open. */
TEST(et_repeats_and_doubt)
{
#define STEP(a, b, corr) PRODUCT("aten::mm", a, "0") RUN(b, corr) K("sgemm" corr, "9" a, corr)
    static const char profile[] =
        "{" EVENTS(STEP("10", "11", "1") STEP("30", "31", "2") STEP("50", "51", "3")) "}";
    struct run run;
    load_both(&run, profile, ET("1.0.1", MM101("7", "1")));
    for (size_t i = 0; i < 3; i++)
        CHECK_INT(run.ranks[0].ops[i].class, OP_GEMM);
    CHECK(note_with(&run, "one of the iterations")[0] != '\0');
    run_release(&run);
    load_both(&run, profile, ET("1.0.1", MM101("7", "1") MM101("8", "2")));
    CHECK_INT(run.ranks[0].ops[0].class, OP_KERNEL);
    CHECK_HAS(note_with(&run, "not those of the profile of rank 0"), "et_0.json: ");
    run_release(&run);
    load_both(&run, profile, ET("1.0.1", MM101("7", "1") MM101("8", "1")));
    CHECK_INT(run.ranks[0].ops[0].class, OP_KERNEL);
    run_release(&run);
}

/* Fields that the profile has itself stay as they are. */
TEST(et_does_not_contradict)
{
    struct run run;
    load_both(&run,
              "{" EVENTS(PARAMS("10", "12") RUN("12", "1") WORK(
                  "kernel", SENDRECV, "20", "4",
                  "'stream':7,'correlation':1,'Collective name':'all_to_all','In msg nelems':8,"
                  "'Out msg nelems':8,'dtype':'Float','Group size':2,'Process Group Name':'0',"
                  "'Process Group Ranks':'[0, 1]'")) "}",
              ET("1.0.1", REDUCE101("12", "1")));
    CHECK_INT(run.ranks[0].ops[0].coll.op, SPECTER_ALLTOALL);
    CHECK_INT(run.ranks[0].ops[0].bytes, 32);
    run_release(&run);
}

TEST(et_alone)
{
    const char *folder = make_folder();
    write_text(folder, "et_0.json", quoted(ET("1.0.1", MM101("7", "1"))));
    CHECK_HAS(load_error(folder, NULL), "et_0.json: an execution trace holds no times");
    remove_folder(folder);
}

/* ---- damage ---- */

TEST(et_damage)
{
    struct run run;
    load_both(&run, PROFILE("12", "13", "14"), ET("9.9", MM101("14", "1")));
    CHECK_HAS(note_with(&run, "unknown schema '9.9'"), "et_0.json: ");
    CHECK(run_partial(&run));
    run_release(&run);
    load_both(&run, PROFILE("12", "13", "14"),
              "{'schema':'1.0.1','pid':9,'nodes':[{'name':x,'rf_id':1}," MM101("14", "1") "{}]}");
    CHECK_HAS(note_with(&run, "1 node of this file is unusable"),
              "et_0.json: byte 43: expected a value");
    CHECK_INT(op_named(&run.ranks[0], "sgemm")->class, OP_GEMM);
    run_release(&run);
    load_both(&run, PROFILE("12", "13", "14"),
              "{'schema':'1.0.1','pid':9,'nodes':[" MM101("14", "1") "{'name':");
    CHECK_HAS(note_with(&run, "the text ends too early"), "what stands before it is used");
    CHECK_INT(op_named(&run.ranks[0], "sgemm")->class, OP_GEMM);
    run_release(&run);
}

/* Whatever is cut or flipped, the profile stands. */
TEST(et_damaged_everywhere)
{
    const char *folder = make_folder();
    char text[8192];
    size_t len;
    struct run run;
    struct err e;
    write_text(folder, "kineto_rank0.json", quoted(PROFILE("0", "0", "0")));
    snprintf(
        text, sizeof text, "%s",
        quoted(ET("1.0.3-chakra.0.0.4",
                  NODE("record_param_comms", "12",
                       "[[7,8,0,24,8,'cuda:0'],3,['0','d'],0,'all_to_allv',[6],[6],0,1,4]",
                       "[[24],[],[]]", "['Tensor(long int)','Int']", "") MM("14")
                      NODE("## process_group:init ##", "3",
                           "['[{\\'pg_name\\':\\'4\\',\\'ranks\\':[0]}]']", "[[]]", "[]", ""))));
    len = strlen(text);
    for (size_t n = 0; n < len; n += 3) {
        write_file(folder, "et_0.json", text, n);
        CHECK_INT(run_load(&run, folder, NULL, &e), 0);
        CHECK_INT(run.nranks, 1);
        run_release(&run);
    }
    for (size_t at = 0; at < len; at += 2) {
        text[at] ^= 0x12;
        write_file(folder, "et_0.json", text, len);
        CHECK_INT(run_load(&run, folder, NULL, &e), 0);
        run_release(&run);
        text[at] ^= 0x12;
    }
    remove_folder(folder);
}

/* ---- real runs, recorded by others ---- */

static void extract(const char *folder, const char *archive)
{
    char command[8192];
    snprintf(command, sizeof command, "tar -xzf '%s' -C '%s' --strip-components=1", archive,
             folder);
    if (system(command) != 0)
        abort();
}

/* All eight ranks: the record says which exchanges are of unequal parts, which its annotation in
 * the profile does not. */
TEST(et_dlrm)
{
    static const uint8_t ops[] = {SPECTER_ALLTOALLV, SPECTER_ALLTOALL,  SPECTER_ALLTOALLV,
                                  SPECTER_ALLTOALLV, SPECTER_ALLREDUCE, SPECTER_ALLTOALLV,
                                  SPECTER_ALLREDUCE, SPECTER_ALLREDUCE};
    const char *folder;
    struct run run;
    if (test_shared("data/traces/param/dlrm_pytorch_et.tar.gz") == NULL)
        SKIP("no shared data");
    folder = make_folder();
    extract(folder, test_shared("data/traces/param/dlrm_kineto.tar.gz"));
    extract(folder, test_shared("data/traces/param/dlrm_pytorch_et.tar.gz"));
    load_path(&run, folder);
    CHECK_INT(run.nranks, 8);
    CHECK(!run_partial(&run));
    for (size_t r = 0; r < run.nranks; r++) {
        size_t n = 0;
        for (size_t i = 0; i < run.ranks[r].nops; i++) {
            const struct op *op = &run.ranks[r].ops[i];
            if (op->class == OP_COLL && n < sizeof ops)
                CHECK_INT(op->coll.op, ops[n++]);
        }
        CHECK_INT(n, 8);
    }
    run_release(&run);
    remove_folder(folder);
}

/* Recorded without shapes: 40 iterations, of which the execution trace holds one. The last layer's
 * input has no gradient: 20 products of 21 go back. */
TEST(et_linear)
{
    size_t forward = 0, back = 0;
    const char *folder;
    char command[8192];
    struct run run;
    if (test_shared("data/traces/param/linear_et.json.gz") == NULL)
        SKIP("no shared data");
    folder = make_folder();
    snprintf(command, sizeof command, "cp '%s' '%s/et.gz'",
             test_shared("data/traces/param/linear_et.json.gz"), folder);
    CHECK_INT(system(command), 0);
    snprintf(command, sizeof command, "cp '%s' '%s/kineto.gz'",
             test_shared("data/traces/param/linear_kineto.json.gz"), folder);
    CHECK_INT(system(command), 0);
    load_path(&run, folder);
    for (size_t i = 0; run.nranks == 1 && i < run.ranks[0].nops; i++) {
        const struct op *op = &run.ranks[0].ops[i];
        if (op->class != OP_GEMM)
            continue;
        forward += op->gemm.m == 512 && op->gemm.n == 1024 && op->gemm.k == 1024;
        back += op->gemm.m == 1024 && op->gemm.n == 1024 && op->gemm.k == 512;
    }
    CHECK_INT(forward, 840 + 800);
    CHECK_INT(back, 840);
    CHECK(note_with(&run, "one of the iterations")[0] != '\0');
    run_release(&run);
    remove_folder(folder);
}
