/* SPDX-License-Identifier: MIT */
#include "calib/measured.h"
#include "test.h"
#include "trace_files.h"

#define HEADER "source_id,collective,nodes,ranks,bytes,time_us,notes,gpu_profile,network_profile\n"
#define H100 "h100_sxm,dgx_h100_400g"

static const char *folder;
static struct measured m;
static struct err e;

static int read_text(const char *text)
{
    const struct measured_opts opts = {0};
    int status;
    folder = make_folder();
    write_text(folder, "t.csv", text);
    measured_init(&m);
    status = measured_read(&m, file_in(folder, "t.csv"), &opts, &e);
    remove_folder(folder);
    return status;
}

TEST(measured_reads_columns_in_any_order)
{
    const struct measured_row *row = NULL;
    CHECK_INT(read_text(" Time_us ,network_profile,colour,gpu_profile,ranks,bytes,nodes,collective,"
                        "dtype,nccl_version,in_place,source_id\r\n"
                        "12.5,dgx_h100_400g,\"red, or so\",h100_sxm,16,1048576,2,all_reduce,"
                        "float,2.29.7,1,S1\r\n"),
              0);
    CHECK_INT((int64_t)m.nrows, 1);
    CHECK_INT((int64_t)m.nskips, 0);
    if (m.nrows == 1) {
        row = &m.rows[0];
        CHECK_INT(row->kind, MEASURED_COLLECTIVE);
        CHECK_INT((int64_t)row->line, 2);
        CHECK_STR(row->source, "S1");
        CHECK_STR(row->gpu->name, "h100_sxm");
        CHECK_STR(row->net->name, "dgx_h100_400g");
        CHECK_INT(row->op, SPECTER_ALLREDUCE);
        CHECK_DOUBLE(row->bytes, 1048576, 0);
        CHECK_DOUBLE(row->time_us, 12.5, 0);
        CHECK_INT(row->where.ranks, 16);
        CHECK_INT(row->where.nodes, 2);
        CHECK_INT(row->where.per_node, 8);
        CHECK_INT(row->dtype, SPECTER_FP32);
    }
    measured_release(&m);
}

/* The reason of the only skip. */
static const char *skip_of(const char *line)
{
    static char reason[256];
    struct buf text = BUF_INIT;
    buf_printf(&text, HEADER "%s\n", line);
    CHECK_INT(read_text(text.data), 0);
    CHECK_INT((int64_t)m.nrows, 0);
    CHECK_INT((int64_t)m.nskips, 1);
    snprintf(reason, sizeof reason, "%s%s", m.nskips == 1 ? m.skips[0].reason : "none",
             m.nskips == 1 && m.skips[0].damaged ? " (damaged)" : "");
    measured_release(&m);
    buf_release(&text);
    return reason;
}

TEST(measured_skips_have_their_reason)
{
    static const struct {
        const char *line, *reason;
    } cases[] = {
        {"S,all_reduce,1,8,64,9,so: Doubtful," H100, "marked doubtful"},
        {"S,all_reduce,1,8,64,9,,,dgx_h100_400g", "names no gpu_profile"},
        {"S,all_reduce,1,8,64,9,,h100_sxm,", "names no network_profile"},
        {"S,all_reduce,1,8,64,9,,h999,dgx_h100_400g", "unknown gpu_profile 'h999'"},
        {"S,all_reduce,1,8,64,9,,h100_sxm,\x1b[31m", "unknown network_profile '?[31m'"},
        {"S,all_reduce,1,1,64,9,," H100, "a single rank: nothing is sent"},
        {"S,all_swap,1,8,64,9,," H100, "unknown collective 'all_swap'"},
        {"S,Recv,1,8,64,9,," H100, "unknown collective 'Recv'"},
        {"S,,1,8,64,9,," H100, "no collective (damaged)"},
        {"S,all_reduce,1,8,,9,," H100, "no bytes (damaged)"},
        {"S,all_reduce,1,8,64.5,9,," H100, "unusable bytes (damaged)"},
        {"S,all_reduce,1,8,-64,9,," H100, "unusable bytes (damaged)"},
        {"S,all_reduce,1,8,0,9,," H100, "0 bytes: nothing is sent"},
        {"S,all_reduce,1,8,1e300,9,," H100, "unusable bytes (damaged)"},
        {"S,all_reduce,1,8,64,nan,," H100, "no time_us (damaged)"},
        {"S,all_reduce,1,8,64,1e999,," H100, "unusable time_us (damaged)"},
        {"S,all_reduce,1,8,64,0x10,," H100, "unusable time_us (damaged)"},
        {"S,all_reduce,1,8,64,,," H100, "no time_us (damaged)"},
        {"S,all_reduce,1,8,64,0,," H100, "unusable time_us (damaged)"},
        {"S,all_reduce,1,8,64,1e-300,," H100, "unusable time_us (damaged)"},
        {"S,all_reduce,1,8,64,1e300,," H100, "unusable time_us (damaged)"},
        {"S,all_reduce,1,,64,9,," H100, "no ranks (damaged)"},
        {"S,all_reduce,1,99999999999,64,9,," H100, "unusable ranks (damaged)"},
        {"S,all_reduce,9,8,64,9,," H100, "more nodes than ranks (damaged)"},
        {"S,all_reduce,1,8,64,9,,h100_sxm", "8 fields where the header has 9 (damaged)"},
        {"S,all_reduce,1,8,64,9,a, b," H100, "10 fields where the header has 9 (damaged)"},
        {"\"S,all_reduce,1,8,64,9,," H100, "a quote is not closed (damaged)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_STR(skip_of(cases[i].line), cases[i].reason);
}

/* As `specter bench report --format csv` writes them. */
TEST(measured_wrong_results_are_skipped)
{
    CHECK_INT(read_text("op,ranks,bytes,time_us,wrong,gpu_profile,network_profile\n"
                        "AllReduce,8,64,9,7," H100 "\n"
                        "AllReduce,8,64,9,0," H100 "\n"
                        "AllReduce,8,64,9,," H100 "\n"),
              0);
    CHECK_INT((int64_t)m.nrows, 2);
    CHECK_INT((int64_t)m.nskips, 1);
    CHECK_STR(m.skips[0].reason, "the result was wrong");
    measured_release(&m);
}

TEST(measured_takes_what_other_programs_write)
{
    CHECK_INT(read_text("collective,nodes,gpus_per_node,ranks,bytes,time_us,gpu_profile,"
                        "network_profile\n"
                        " all_reduce_perf ,1.0,NaN, 8.0 ,1e6,\t9, H100_SXM ,dgx_h100_400g \n"
                        "ncclBcast,N/A,-,8,1048576.0,9," H100 "\n"
                        "sendrecv,2,8,,1048576,9," H100 "\n"
                        "alltoallv,nan,,16,1048576,9," H100 "\n"),
              0);
    CHECK_INT((int64_t)m.nskips, 0);
    CHECK_INT((int64_t)m.nrows, 4);
    if (m.nrows == 4) {
        CHECK_INT(m.rows[0].op, SPECTER_ALLREDUCE);
        CHECK_INT(m.rows[0].where.ranks, 8);
        CHECK_STR(m.rows[0].gpu->name, "h100_sxm");
        CHECK_INT(m.rows[1].op, SPECTER_BROADCAST);
        CHECK_INT(m.rows[1].where.nodes, 1);
        CHECK_INT(m.rows[2].kind, MEASURED_P2P);
        CHECK_INT(m.rows[2].where.ranks, 16); /* one for each GPU of the nodes */
        CHECK_INT(m.rows[3].op, SPECTER_ALLTOALLV);
        CHECK_INT(m.rows[3].where.nodes, 2);
    }
    measured_release(&m);
}

TEST(measured_domain_counted_as_a_node)
{
    CHECK_INT(read_text("collective,ranks,nodes,bytes,time_us,gpu_profile,network_profile\n"
                        "all_reduce,72,1,64,9,gb200,gb200_nvl72\n"
                        "all_reduce,144,2,64,9,gb200,gb200_nvl72\n"
                        "all_reduce,72,18,64,9,gb200,gb200_nvl72\n"
                        "all_reduce,16,1,64,9," H100 "\n"),
              0);
    CHECK_INT((int64_t)m.nrows, 4);
    if (m.nrows == 4) {
        CHECK_INT(m.rows[0].where.nodes, 18);
        CHECK_INT(m.rows[1].where.nodes, 36);
        CHECK_INT(m.rows[2].where.nodes, 18);
        CHECK_INT(m.rows[3].where.nodes, 1); /* no such domain: the models refuse it */
    }
    measured_release(&m);
}

TEST(measured_time_follows_from_a_rate)
{
    CHECK_INT(read_text("collective,ranks,bytes,time_us,algbw_GBps,busbw_GBps,gpu_profile,"
                        "network_profile\n"
                        "all_reduce,8,1000000,,100,," H100 "\n"
                        "all_reduce,8,1000000,,,175," H100 "\n"
                        "all_reduce,8,1000000,20,100,175," H100 "\n"),
              0);
    CHECK_INT((int64_t)m.nrows, 3);
    for (size_t i = 0; i < m.nrows; i++)
        CHECK_DOUBLE(m.rows[i].time_us, i < 2 ? 10 : 20, 1e-12);
    measured_release(&m);
    CHECK_INT(read_text("m,n,k,dtype,tflops,gpu_profile\n"
                        "1000,1000,1000,half,100,a100_sxm\n"),
              0);
    CHECK_INT((int64_t)m.nrows, 1);
    if (m.nrows == 1)
        CHECK_DOUBLE(m.rows[0].time_us, 20, 1e-12);
    measured_release(&m);
}

TEST(measured_nodes_are_full_where_they_are_not_said)
{
    CHECK_INT(read_text("collective,ranks,nodes,bytes,time_us,gpu_profile,network_profile\n"
                        "all_reduce,20,,64,9," H100 "\n"
                        "all_reduce,20,5,64,9," H100 "\n"),
              0);
    CHECK_INT((int64_t)m.nrows, 2);
    if (m.nrows == 2) {
        CHECK_INT(m.rows[0].where.nodes, 3);
        CHECK_INT(m.rows[1].where.per_node, 4);
    }
    measured_release(&m);
}

TEST(measured_notes_say_what_a_run_forced)
{
    CHECK_INT(read_text(HEADER "S,all_reduce,1,8,64,9,NCCL_NVLS_ENABLE=0 (Ring)," H100 "\n"
                               "S,all_reduce,4,32,64,9,x; NCCL_ALGO=allreduce:nvlstree," H100 "\n"
                               "S,all_reduce,1,8,64,9,NCCL_ALGO=Ring NCCL_PROTO=LL128," H100 "\n"
                               "S,all_reduce,1,8,64,9,NCCL choice: NVLS," H100 "\n"
                               "S,all_reduce,1,8,64,9,\"NCCL_ALGO=Ring,Tree\"," H100 "\n"
                               "S,all_reduce,1,8,64,9,NCCL_ALGO=^NVLS," H100 "\n"),
              0);
    CHECK_INT((int64_t)m.nrows, 6);
    if (m.nrows == 6) {
        CHECK(m.rows[4].forced.algo == NULL); /* a list: NCCL chose */
        CHECK(m.rows[5].no_nvls && m.rows[5].forced.algo == NULL);
        CHECK(m.rows[0].no_nvls && m.rows[0].forced.algo == NULL);
        CHECK_STR(m.rows[1].forced.algo, "nvls_tree");
        CHECK_STR(m.rows[2].forced.algo, "ring");
        CHECK_STR(m.rows[2].forced.proto, "LL128");
        CHECK(!m.rows[3].no_nvls && m.rows[3].forced.algo == NULL);
    }
    measured_release(&m);
}

TEST(measured_gemm_and_p2p)
{
    CHECK_INT(read_text("m,n,k,dtype,time_us,lib,gpu_profile\n"
                        "64,128,256,nvfp4,3.5,torch,b200_sxm\n"
                        "64,128,256,float8_e4m3fn,3.5,torch,h100_sxm\n"
                        "64,128,256,FP16,3.5,torch,h100_sxm\n"
                        "64,128,256,torch.bfloat16,3.5,torch,h100_sxm\n"
                        "64,128,256,fp3,3.5,torch,h100_sxm\n"),
              0);
    CHECK_INT((int64_t)m.nrows, 4);
    CHECK_INT((int64_t)m.nskips, 1);
    if (m.nskips == 1)
        CHECK(!m.skips[0].damaged);
    if (m.nrows == 4) {
        CHECK_INT(m.rows[2].dtype, SPECTER_FP16);
        CHECK_INT(m.rows[3].dtype, SPECTER_BF16);
        CHECK_INT(m.rows[0].dtype, SPECTER_FP4);
        CHECK_INT((int64_t)m.rows[0].k, 256);
        CHECK_INT((int64_t)m.rows[0].batch, 1);
        CHECK_INT(m.rows[1].dtype, SPECTER_FP8E4M3);
    }
    measured_release(&m);
    CHECK_INT(read_text("test,ranks,nodes,bytes,time_us,gpu_profile,network_profile\n"
                        "sendrecv_perf,8,1,1048576,20," H100 "\n"
                        "nvbandwidth device_to_device,2,1,,," H100 "\n"
                        "pingpong,2,1,8,3," H100 "\n"
                        "ib_send_bw,2,2,8,3," H100 "\n"),
              0);
    CHECK_INT((int64_t)m.nrows, 1);
    CHECK_INT((int64_t)m.nskips, 3);
    if (m.nskips == 3) {
        CHECK_HAS(m.skips[0].reason, "nvbandwidth");
        CHECK_STR(m.skips[1].reason, "no model for the test 'pingpong'");
        CHECK_INT((int64_t)m.skips[1].line, 4);
    }
    measured_release(&m);
}

TEST(measured_headers_that_are_of_no_use)
{
    CHECK_INT(read_text("model,seq,iter_time_s\nx,1,2\n"), -1);
    CHECK_HAS(e.msg, "t.csv:1: a table of training runs");
    CHECK_INT(e.code, ERR_INPUT);
    measured_release(&m);
    CHECK_INT(read_text("\n\na,b,c\n1,2,3\n"), -1);
    CHECK_HAS(e.msg, "t.csv:3: no usable header");
    measured_release(&m);
    CHECK_INT(read_text("collective,bytes,ranks\n"), -1);
    CHECK_HAS(e.msg, "no usable header");
    measured_release(&m);
    CHECK_INT(read_text("\"collective,bytes\n"), -1);
    CHECK_HAS(e.msg, "a quote is not closed");
    measured_release(&m);
    CHECK_INT(read_text(""), -1);
    CHECK_HAS(e.msg, "empty");
    measured_release(&m);
}

TEST(measured_profiles_given_take_the_place_of_none)
{
    const struct gpu_profile *gpu = gpu_profile_find("a100_sxm", NULL);
    struct gpu_profile own = *gpu;
    const struct measured_opts opts = {.gpu = &own};
    folder = make_folder();
    write_text(folder, "t.csv",
               "m,n,k,dtype,time_us,gpu_profile\n"
               "64,64,64,half,3,\n"
               "64,64,64,half,3,a100_sxm\n"
               "64,64,64,half,3,h100_sxm\n");
    measured_init(&m);
    CHECK_INT(measured_read(&m, file_in(folder, "t.csv"), &opts, &e), 0);
    CHECK_INT((int64_t)m.nrows, 3);
    if (m.nrows == 3) {
        CHECK(m.rows[0].gpu == &own);
        CHECK(m.rows[1].gpu == &own);
        CHECK_STR(m.rows[2].gpu->name, "h100_sxm");
        CHECK_STR(m.rows[2].source, "t.csv");
    }
    measured_release(&m);
    remove_folder(folder);
}

TEST(measured_folder_takes_its_tables_in_order)
{
    const struct measured_opts opts = {0};
    folder = make_folder();
    write_text(folder, "b.csv", "m,n,k,dtype,time_us,gpu_profile\n64,64,64,half,3,h100_sxm\n");
    write_text(folder, "a.csv", HEADER "S,all_reduce,1,8,64,9,," H100 "\n");
    write_text(folder, "c.csv", "what,ever\n1,2\n");
    write_text(folder, "d.txt", "m,n,k,dtype,time_us,gpu_profile\n64,64,64,half,3,h100_sxm\n");
    measured_init(&m);
    CHECK_INT(measured_read(&m, folder, &opts, &e), 0);
    CHECK_INT((int64_t)m.nrows, 2);
    CHECK_INT((int64_t)m.nfiles, 3);
    if (m.nrows == 2 && m.nfiles == 3) {
        CHECK_INT(m.rows[0].kind, MEASURED_COLLECTIVE);
        CHECK(m.files[1].why == NULL);
        CHECK_HAS(m.files[2].why, "c.csv:1: no usable header");
    }
    measured_release(&m);
    remove_folder(folder);
}
