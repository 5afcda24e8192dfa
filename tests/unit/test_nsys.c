/* SPDX-License-Identifier: MIT
 *
 * Exports of Nsight Systems: NCCL's payloads, the host's side, ranks and clocks, order, and forms
 * of several years.
 */
#include "trace_load.h"

#ifdef SPECTER_HAVE_SQLITE

#include "made_nsys.h"
#include "trace/match.h"

/* ---- payloads ---- */

TEST(nsys_payloads)
{
    struct buf sql = BUF_INIT;
    struct matches m;
    struct run run;
    put_two_ranks(&sql);
    load_sql(&run, sql.data);
    CHECK_STR(run.format, "nsys");
    CHECK_INT(run.nranks, 2);
    CHECK_INT(run.world_size, 2);
    CHECK_INT(run.ncomms, 1);
    CHECK_STR(run.comms[0].id, "0000000000000abc");
    CHECK_INT(run.comms[0].size, 2);
    CHECK(!run_partial(&run));
    for (int r = 0; r < 2 && run.nranks == 2; r++) {
        const struct rank *rank = &run.ranks[r];
        const struct op *reduce = op_named(rank, "AllReduce");
        const struct op *gather = op_named(rank, "AllGather");
        CHECK_INT(rank->pid, 2 - r); /* as NCCL numbers them, not as the file does */
        CHECK_INT(reduce->class, OP_COLL);
        CHECK_INT(reduce->coll.op, SPECTER_ALLREDUCE);
        CHECK_INT(reduce->bytes, 4096);
        CHECK_INT(reduce->coll.count, 1024);
        CHECK_INT(reduce->dtype, SPECTER_FP32);
        CHECK_INT(reduce->coll.redop, SPECTER_REDOP_MAX); /* the payload's, not the name's */
        CHECK_INT(reduce->coll.seq, 8 - 8);
        CHECK_INT(reduce->dur_ns, 500);
        CHECK_INT(reduce->start_ns, 1700000000000000000 + 2002 - r);
        CHECK_INT(gather->bytes, 16384); /* of both ranks */
        CHECK_INT(gather->dtype, SPECTER_DTYPE_UNKNOWN);
        CHECK_INT(gather->coll.seq, 1);
        CHECK_INT(gather->host_ns, 1700000000000003900);
        CHECK_INT(gather->host_end_ns, 1700000000000003950);
    }
    matches_init(&m, &run);
    CHECK_INT(m.count, 2);
    CHECK_INT(m.incomplete + m.inconsistent + m.unnumbered, 0);
    CHECK_INT(m.list[1].transfer_ns, 501);
    matches_release(&m);
    run_release(&run);
    buf_release(&sql);
}

/* Calls of a group go out with ncclGroupEnd: one kernel for two calls, or one each. */
TEST(nsys_groups)
{
    struct buf sql = BUF_INIT;
    struct run run;
    buf_puts(&sql, NSYS_NEW NSYS_SCHEMAS);
    for (int g = 0; g < 2; g++) {
        long long t = g * 10000;
        nsys_put_range(&sql, 1, "ncclGroupStart", t + 1000, t + 1010, "NULL");
        nsys_put_range(&sql, 1, "ncclAllReduce", t + 1020, t + 1030,
                       nsys_call_blob(5, 0xabc, 4000, 0));
        nsys_put_range(&sql, 1, "ncclAllReduce", t + 1040, t + 1050,
                       nsys_call_blob(5, 0xabc, 800, 0));
        nsys_put_range(&sql, 1, "ncclGroupEnd", t + 1060, t + 3000, "NULL");
        nsys_put_kernel(&sql, 1, 0, ALLREDUCE, t + 2000, 100);
        if (g == 1)
            nsys_put_kernel(&sql, 1, 0, ALLREDUCE, t + 2500, 100);
    }
    /* the group's beginning is cut off: its calls are not known */
    nsys_put_range(&sql, 2, "ncclAllReduce", 1020, 1030, nsys_call_blob(5, 0xabc, 7, 0));
    nsys_put_range(&sql, 2, "ncclGroupEnd", 1060, 3000, "NULL");
    nsys_put_kernel(&sql, 2, 1, ALLREDUCE, 2000, 100);
    load_sql(&run, sql.data);
    CHECK_INT(op_named(&run.ranks[0], "AllReduce")->bytes, 4800);
    CHECK_INT(op_like(&run.ranks[0], "AllReduce", 1)->bytes, 4000);
    CHECK_INT(op_like(&run.ranks[0], "AllReduce", 2)->bytes, 800);
    CHECK(op_named(&run.ranks[1], "AllReduce")->flags & OP_BYTES_UNKNOWN);
    run_release(&run);
    buf_release(&sql);
}

static void put_exchange(struct buf *sql, int p, long long t, const int *to, const int *from, int n)
{
    nsys_put_range(sql, p, "ncclGroupStart", t, t + 1, "NULL");
    for (int i = 0; i < n; i++) {
        if (to[i] >= 0)
            nsys_put_range(sql, p, "ncclSend", t + 10 + 4 * i, t + 11 + 4 * i,
                           nsys_call_blob(9, 0xabc, 1000, (uint64_t)to[i]));
        if (from[i] >= 0)
            nsys_put_range(sql, p, "ncclRecv", t + 12 + 4 * i, t + 13 + 4 * i,
                           nsys_call_blob(9, 0xabc, 1000, (uint64_t)from[i]));
    }
    nsys_put_range(sql, p, "ncclGroupEnd", t + 100, t + 300, "NULL");
    nsys_put_kernel(sql, p, p - 1, SENDRECV, t + 250, 400);
}

/* Messages pair up; one each with every rank is an all-to-all. */
TEST(nsys_messages)
{
    struct buf sql = BUF_INIT;
    struct matches m;
    struct run run;
    buf_puts(&sql, NSYS_NEW NSYS_SCHEMAS);
    for (int p = 1; p <= 2; p++) {
        nsys_put_range(&sql, p, "ncclCommInitRank", 100, 900,
                       nsys_init_blob(0xabc, 2, (uint64_t)(p - 1), (uint64_t)(p - 1)));
        put_exchange(&sql, p, 1000, (int[]){p == 1 ? 1 : -1}, (int[]){p == 1 ? -1 : 0}, 1);
        put_exchange(&sql, p, 3000, (int[]){2 - p}, (int[]){2 - p}, 1);
        put_exchange(&sql, p, 5000, (int[]){0, 1}, (int[]){0, 1}, 2);
    }
    load_sql(&run, sql.data);
    CHECK_INT(run.nranks, 2);
    CHECK_INT(run.ranks[0].nops, 4); /* the exchange is two */
    CHECK_INT(op_named(&run.ranks[0], "SendRecv")->coll.op, SPECTER_SEND);
    CHECK_INT(op_named(&run.ranks[0], "SendRecv")->coll.peer, 1);
    CHECK_INT(op_named(&run.ranks[0], "SendRecv")->coll.group, -1);
    CHECK_INT(op_named(&run.ranks[1], "SendRecv")->coll.op, SPECTER_RECV);
    CHECK(op_like(&run.ranks[0], "SendRecv", 1)->coll.group >= 0);
    CHECK_INT(op_like(&run.ranks[0], "SendRecv", 1)->coll.group,
              op_like(&run.ranks[0], "SendRecv", 2)->coll.group);
    CHECK_INT(op_like(&run.ranks[0], "SendRecv", 3)->class, OP_COLL);
    CHECK_INT(op_like(&run.ranks[0], "SendRecv", 3)->coll.op, SPECTER_ALLTOALL);
    CHECK_INT(op_like(&run.ranks[0], "SendRecv", 3)->bytes, 2000);
    matches_init(&m, &run);
    CHECK_INT(m.count, 4); /* three pairs and the all-to-all */
    CHECK_INT(m.incomplete + m.inconsistent + m.unnumbered, 0);
    matches_release(&m);
    run_release(&run);
    buf_release(&sql);
}

/* The last number of a block's header is the end in some versions; a payload can be a JSON text. */
TEST(nsys_payload_forms)
{
    struct buf sql = BUF_INIT;
    struct run run;
    buf_puts(&sql, NSYS_NEW NSYS_SCHEMAS);
    nsys_put_range(&sql, 1, "ncclAllReduce", 1800, 1960,
                   nsys_blob(5, 32 + 24, (uint64_t[]){0xabc, 4096, 0}, 3));
    nsys_put_kernel(&sql, 1, 0, ALLREDUCE, 2000, 500);
    buf_printf(&sql,
               "INSERT INTO NVTX_EVENTS VALUES (3800, 3960, 59, 'ncclAllReduce', %lld, NULL, 1, "
               "NULL, '{\"payload\": {\"NCCL communicator ID\": 2748, \"Message size [bytes]\": "
               "512}}', NULL);",
               NSYS_TID(1, 10));
    nsys_put_kernel(&sql, 1, 0, ALLREDUCE, 4000, 500);
    /* cut within the numbers, a size beyond the end, a size of 2^64 - 1 */
    nsys_put_range(&sql, 1, "ncclAllReduce", 5800, 5960,
                   "x'0100000000000000050000010000000018000000000000002000000000000000BC0A'");
    nsys_put_kernel(&sql, 1, 0, ALLREDUCE, 6000, 500);
    nsys_put_range(&sql, 1, "ncclAllReduce", 7800, 7960,
                   "x'01000000000000000500000100000000FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFBC0A'");
    nsys_put_kernel(&sql, 1, 0, ALLREDUCE, 8000, 500);
    load_sql(&run, sql.data);
    CHECK_INT(op_named(&run.ranks[0], "AllReduce")->bytes, 4096);
    CHECK_INT(op_like(&run.ranks[0], "AllReduce", 1)->bytes, 512);
    CHECK_INT(op_like(&run.ranks[0], "AllReduce", 1)->coll.comm,
              op_named(&run.ranks[0], "AllReduce")->coll.comm);
    CHECK(op_like(&run.ranks[0], "AllReduce", 2)->flags & OP_BYTES_UNKNOWN);
    CHECK(op_like(&run.ranks[0], "AllReduce", 3)->flags & OP_BYTES_UNKNOWN);
    run_release(&run);
    buf_release(&sql);
}

/* ---- the host's side ---- */

TEST(nsys_host_side)
{
    struct buf sql = BUF_INIT;
    struct run run;
    const struct rank *rank;
    buf_puts(&sql, NSYS_NEW);
    nsys_put_range(&sql, 1, "train_step 7", 1000, 9000, "NULL");
    nsys_put_range(&sql, 1, "step", 1100, 1200, "NULL"); /* within a step */
    nsys_put_range(&sql, 1, "forward", 1300, 5000, "NULL");
    nsys_put_range(&sql, 1, "aten::linear, op_id = 3", 1500, 2500, "NULL");
    nsys_put_range(&sql, 1, "aten::addmm, seq = 2, op_id = 4", 1600, 2400, "NULL");
    nsys_put_kernel(&sql, 1, 0, "gemm", 2000, 500);
    nsys_put_kernel(&sql, 1, 0, "bare", 4000, 500);
    nsys_put_name(&sql, "cudaStreamSynchronize_v3020");
    nsys_put_name(&sql, "cudaMallocAsync_v11020");
    nsys_put_name(&sql, "cudaMalloc_v3020");
    buf_printf(&sql,
               "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT 5000 + id, 6000, 0, %lld, 77 + id, "
               "id FROM StringIds WHERE value LIKE 'cudaS%%' OR value LIKE 'cudaM%%';"
               "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION SELECT 5000, 6000, 0, 1, 7, "
               "77 + id, %lld, 3, 4294967295, 0 FROM StringIds WHERE value LIKE 'cudaStreamS%%';"
               "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (7000, 7100, 0, 1, 8, 9000, %lld, "
               "123, 2, 0, 0), (8000, 8100, 0, 1, 8, 9001, %lld, NULL, 99, 0, 0);",
               NSYS_TID(1, 11), NSYS_PID(1), NSYS_PID(1), NSYS_PID(1));
    load_sql(&run, sql.data);
    rank = &run.ranks[0];
    CHECK_STR(op_named(rank, "gemm")->caller, "aten::addmm");
    CHECK_STR(op_named(rank, "bare")->caller, "");
    CHECK_INT(rank->nsteps, 1);
    CHECK_STR(rank->steps[0].name, "train_step 7");
    CHECK_INT(rank->steps[0].end_ns - rank->steps[0].start_ns, 8000);
    CHECK_INT(rank->nmarks, 2);
    CHECK_STR(rank->marks[1].name, "forward");
    CHECK_INT(rank->nsync_calls, 2); /* memory in the order of a stream waits for nothing */
    CHECK_INT(rank->sync_calls[0].kind, SYNC_CALL_STREAM);
    CHECK_INT(rank->sync_calls[0].stream, 7);
    CHECK_INT(rank->sync_calls[0].event, -1);
    CHECK(rank->sync_calls[0].tid != op_named(rank, "gemm")->tid);
    CHECK_INT(rank->sync_calls[1].kind, SYNC_CALL_ALLOC);
    CHECK_INT(op_named(rank, "d2h")->bytes, 123);
    CHECK_INT(op_named(rank, "d2h")->host_ns, UNKNOWN_NS);
    CHECK(op_named(rank, "copy")->flags & OP_BYTES_UNKNOWN);
    CHECK_INT(rank->coverage, COVER_NCCL | COVER_KERNELS | COVER_LAUNCHES | COVER_MEMORY |
                                  COVER_DEPS | COVER_MARKS);
    CHECK_HAS(note_with(&run, "no launch call"), "2 of 4 GPU operations");
    run_release(&run);
    buf_release(&sql);
}

/* Shapes in PyTorch's ranges: the first kernel named like a product is it. */
TEST(nsys_shapes)
{
    static const struct {
        const char *range;
        int m, n, k, batch; /* m 0: no product */
    } cases[] = {
        {"aten::mm, op_id = 1, sizes = [[4, 8], [8, 16]]", 4, 16, 8, 1},
        {"aten::addmm, seq = 3, op_id = 2, sizes = [[16], [4, 8], [8, 16], [], []]", 4, 16, 8, 1},
        {"aten::linear, op_id = 3, sizes = [[2, 3, 8], [16, 8], [16]]", 6, 16, 8, 1},
        {"aten::bmm, op_id = 4, sizes = [[5, 4, 8], [5, 8, 16]]", 4, 16, 8, 5},
        {"aten::mm, op_id = 5, sizes = [[4, 8], [9, 16]]", 0, 0, 0, 0},
        {"aten::mm, op_id = 6, sizes = [[4, 8], [", 0, 0, 0, 0},
        {"aten::mm, op_id = 7, sizes = [[4, 99999999999], [99999999999, 2]]", 0, 0, 0, 0},
        {"aten::add, op_id = 8, sizes = [[4, 8], [8, 16]]", 0, 0, 0, 0},
    };
    struct buf sql = BUF_INIT;
    struct run run;
    int n = sizeof cases / sizeof *cases;
    buf_puts(&sql, NSYS_NEW);
    for (int i = 0; i < n; i++) {
        nsys_put_range(&sql, 1, cases[i].range, 10000 * i + 1000, 10000 * i + 5000, "NULL");
        nsys_put_kernel(&sql, 1, 0, "copy_before", 10000 * i + 2000, 10);
        nsys_put_kernel(&sql, 1, 0, "cutlass_gemm_splitKreduce", 10000 * i + 3000, 10);
        nsys_put_kernel(&sql, 1, 0, "cutlass_gemm_bf16", 10000 * i + 4000, 10);
    }
    load_sql(&run, sql.data);
    for (int i = 0; i < n; i++) {
        const struct op *op = op_like(&run.ranks[0], "gemm_bf16", i);
        CHECK_INT(op->class, cases[i].m > 0 ? OP_GEMM : OP_KERNEL);
        CHECK_INT(op_like(&run.ranks[0], "splitK", i)->class, OP_KERNEL);
        if (cases[i].m == 0)
            continue;
        CHECK_INT(op->gemm.m, cases[i].m);
        CHECK_INT(op->gemm.n, cases[i].n);
        CHECK_INT(op->gemm.k, cases[i].k);
        CHECK_INT(op->gemm.batch, cases[i].batch);
        CHECK_INT(op->dtype, SPECTER_DTYPE_UNKNOWN);
    }
    CHECK(run.ranks[0].coverage & COVER_GEMM);
    run_release(&run);
    buf_release(&sql);
}

/* ---- ranks and clocks ---- */

/* A process with two GPUs is two ranks; its contexts say which one a synchronisation is of. */
TEST(nsys_two_devices)
{
    struct buf sql = BUF_INIT;
    struct run run;
    buf_puts(&sql, NSYS_NEW NSYS_SCHEMAS);
    for (int d = 0; d < 2; d++)
        nsys_put_range(&sql, 1, "ncclCommInitRank", 100 + d, 200 + d,
                       nsys_init_blob(0xa0, 2, (uint64_t)d, (uint64_t)d));
    nsys_put_range(&sql, 1, "ncclGroupStart", 1000, 1001, "NULL");
    for (int d = 0; d < 2; d++) /* each device's communicator has the same hash */
        nsys_put_range(&sql, 1, "ncclAllReduce", 1002 + 2 * d, 1003 + 2 * d,
                       nsys_call_blob(5, 0xa0, 64, 0));
    nsys_put_range(&sql, 1, "ncclGroupEnd", 1010, 1990, "NULL");
    nsys_put_kernel(&sql, 1, 1, ALLREDUCE, 2001, 100);
    nsys_put_kernel(&sql, 1, 0, ALLREDUCE, 2000, 100);
    nsys_put_name(&sql, "cudaStreamWaitEvent_v3020");
    buf_printf(&sql,
               "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT 5000, 6000, 0, %lld, 77, id FROM "
               "StringIds WHERE value LIKE 'cudaStreamW%%';"
               "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (5000, 6000, 0, 2, 9, 77, "
               "%lld, 2, 31, 1);",
               NSYS_TID(1, 10), NSYS_PID(1));
    load_sql(&run, sql.data);
    CHECK_INT(run.nranks, 2);
    CHECK(run.clock_aligned);
    CHECK_INT(run.ranks[0].ops[0].device, 0);
    CHECK_INT(run.ranks[1].ops[0].device, 1);
    CHECK_INT(run.ranks[0].process, run.ranks[1].process);
    CHECK_INT(run.ranks[0].ops[0].bytes, 64);
    CHECK_INT(run.ranks[1].ops[0].bytes, 64);
    CHECK_INT(run.ranks[0].nsync_calls, 0);
    CHECK_INT(run.ranks[1].nsync_calls, 1);
    CHECK_INT(run.ranks[1].sync_calls[0].event, 31);
    CHECK_INT(run.ranks[1].sync_calls[0].stream, 9);
    run_release(&run);
    buf_release(&sql);
}

/* The largest number that a stream can have, and the number that means none. */
TEST(nsys_numbers_of_sync_calls)
{
    struct buf sql = BUF_INIT;
    struct run run;
    buf_puts(&sql, NSYS_NEW);
    nsys_put_kernel(&sql, 1, 0, "gemm", 2000, 500);
    nsys_put_name(&sql, "cudaStreamWaitEvent_v3020");
    buf_printf(&sql,
               "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT 5000, 6000, 0, %lld, 77, id FROM "
               "StringIds WHERE value LIKE 'cudaStreamW%%';"
               "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (5000, 6000, 0, 1, "
               "2147483647, 77, %lld, 2, 4294967295, 1);",
               NSYS_TID(1, 10), NSYS_PID(1));
    load_sql(&run, sql.data);
    CHECK_INT(run.ranks[0].nsync_calls, 1);
    CHECK_INT(run.ranks[0].sync_calls[0].stream, INT32_MAX);
    CHECK_INT(run.ranks[0].sync_calls[0].event, -1);
    run_release(&run);
    buf_release(&sql);
}

/* Sessions of several files have zeros of their own; the date of each maps them. */
TEST(nsys_several_files)
{
    const char *folder = make_folder();
    struct run run;
    for (int f = 0; f < 2; f++) {
        struct buf sql = BUF_INIT;
        buf_puts(&sql, NSYS_NEW);
        buf_printf(&sql, "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (%lld);",
                   1700000000000000000LL + f * 5000);
        nsys_put_kernel(&sql, 1, 0, ALLREDUCE, 9000 - f * 5000, 100);
        nsys_write(folder, f == 0 ? "b_rank0.sqlite" : "a_rank1.sqlite", sql.data);
        buf_release(&sql);
    }
    load_path(&run, folder);
    CHECK_INT(run.nranks, 2);
    CHECK(run.clock_aligned);
    CHECK_HAS(run.ranks[0].file, "b_rank0.sqlite");
    CHECK_INT(run.ranks[0].ops[0].start_ns, run.ranks[1].ops[0].start_ns);
    remove_folder(folder);
    run_release(&run);
}

/* Files whose GPUs differ are of different machines: their clocks are not taken to be one. */
TEST(nsys_machines)
{
    const char *folder = make_folder();
    struct run run;
    for (int f = 0; f < 2; f++) {
        struct buf sql = BUF_INIT;
        buf_puts(&sql, NSYS_NEW);
        buf_printf(&sql,
                   "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000);"
                   "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, uuid TEXT);"
                   "INSERT INTO TARGET_INFO_GPU VALUES (0, 'GPU', 'ffffffff-2'), "
                   "(1, 'GPU', '%dabcdefg-1');",
                   f);
        nsys_put_kernel(&sql, 1, 0, "work", 9000, 100);
        nsys_write(folder, f == 0 ? "rank0.sqlite" : "rank1.sqlite", sql.data);
        buf_release(&sql);
    }
    load_path(&run, folder);
    CHECK_INT(run.nranks, 2);
    CHECK_STR(run.ranks[0].host, "gpu-0abcdefg");
    CHECK_STR(run.ranks[1].host, "gpu-1abcdefg");
    CHECK_STR(run.ranks[1].gpu, "GPU");
    CHECK_INT(run.ndomains, 2);
    CHECK(!run.clock_aligned);
    remove_folder(folder);
    run_release(&run);
}

/* A context that does no kernels beside one that does makes no rank. */
TEST(nsys_stray_context)
{
    struct buf sql = BUF_INIT;
    struct run run;
    buf_puts(&sql, NSYS_NEW);
    buf_printf(&sql,
               "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (10, 20, 0, 1, 8, 5, %lld, 1, 1, 0, "
               "0);",
               NSYS_PID(2));
    nsys_put_kernel(&sql, 2, 3, "work", 2000, 100);
    nsys_put_kernel(&sql, 1, 0, "work", 2000, 100);
    load_sql(&run, sql.data);
    CHECK_INT(run.nranks, 2);
    CHECK_INT(run.ranks[0].pid, 1); /* by process, not by row */
    CHECK_INT(run.ranks[1].ops[0].device, 3);
    CHECK_HAS(note_with(&run, "left out"), "1 copies on GPU 0");
    run_release(&run);
    buf_release(&sql);
}

/* ---- order ---- */

/* The profile of rank 0 begins in the middle of the first collective, which it has not. */
TEST(nsys_order_by_time)
{
    struct buf sql = BUF_INIT;
    struct matches m;
    struct run run;
    buf_puts(&sql, NSYS_NEW);
    for (int i = 0; i < 5; i++) {
        if (i > 0)
            nsys_put_kernel(&sql, 1, 0, ALLREDUCE, 10000 * (i + 1), 3000);
        nsys_put_kernel(&sql, 2, 1, ALLREDUCE, 10000 * (i + 1) + 50, 3000);
    }
    load_sql(&run, sql.data);
    matches_init(&m, &run);
    CHECK_INT(m.count, 5);
    for (size_t i = 0; i < m.count; i++)
        CHECK_INT(m.list[i].nmembers, i == 0 ? 1 : 2);
    CHECK_INT(run.comms[0].size, 2); /* every rank of the run has it */
    CHECK_INT(run.comms[0].ranks[1], 1);
    CHECK_INT(m.incomplete, 1);
    CHECK_HAS(note_with(&run, "moved"), "on 1 rank");
    CHECK_STR(note_with(&run, "do not run at the same time"), "");
    matches_release(&m);
    run_release(&run);
    buf_release(&sql);
}

/* Where no order fits the times, it is said. */
TEST(nsys_order_does_not_fit)
{
    struct buf sql = BUF_INIT;
    struct run run;
    buf_puts(&sql, NSYS_NEW);
    for (int i = 0; i < 3; i++) {
        nsys_put_kernel(&sql, 1, 0, ALLREDUCE, 10000 * (i + 1), 300);
        nsys_put_kernel(&sql, 2, 1, ALLREDUCE, 10000 * (i + 1) + (i < 2 ? 50 : 5000), 300);
    }
    load_sql(&run, sql.data);
    CHECK_HAS(note_with(&run, "do not run at the same time"), "1 of 3 collectives");
    run_release(&run);
    buf_release(&sql);
}

/* PyTorch's annotation says what a kernel of messages is; without it, the rest of its stream. */
TEST(nsys_annotations)
{
    struct buf sql = BUF_INIT;
    struct run run;
    buf_puts(&sql, NSYS_NEW);
    nsys_put_kernel(&sql, 1, 0, SENDRECV, 1000, 100);
    nsys_put_range(&sql, 1, "nccl:all_to_all, op_id = 5", 1800, 2500, "NULL");
    nsys_put_kernel(&sql, 1, 0, SENDRECV, 2000, 100);
    nsys_put_kernel(&sql, 2, 1, SENDRECV, 2000, 100);
    load_sql(&run, sql.data);
    CHECK_INT(run.ranks[0].ops[0].class, OP_COLL);
    CHECK_INT(run.ranks[0].ops[0].coll.op, SPECTER_COMM_OP_COUNT);
    CHECK_INT(run.ranks[0].ops[1].coll.op, SPECTER_ALLTOALL);
    CHECK_INT(run.ranks[0].ops[1].coll.seq - run.ranks[0].ops[0].coll.seq, 1);
    CHECK_INT(run.ranks[1].ops[0].class, OP_P2P); /* nothing says otherwise */
    run_release(&run);
    buf_release(&sql);
}

/* ---- generations ---- */

/* 2019: no schema version but in EXPORT_META_DATA, names of devices in a table of their own, no
 * payloads, a driver table. */
TEST(nsys_oldest)
{
    struct run run;
    const struct rank *rank;
    load_sql(&run,
             "CREATE TABLE EXPORT_META_DATA (name TEXT, value TEXT);"
             "INSERT INTO EXPORT_META_DATA VALUES ('EXPORT_SCHEMA_VERSION', '2.3.1');"
             "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
             "INSERT INTO StringIds VALUES (1, 'saxpy(int, float)'), (2, 'cudaLaunchKernel'), "
             "(3, 'cuStreamSynchronize');"
             "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT NOT NULL, end INT NOT NULL, "
             "deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL, "
             "correlationId INT NOT NULL, globalPid INT NOT NULL, demangledName INT NOT NULL, "
             "shortName INT NOT NULL);"
             "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (2000, 2500, 1, 1, 7, 12, "
             "281474993487872, 1, 1);"
             "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, "
             "correlationId INT, nameId INT, returnValue INT);"
             "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 1100, 281474993487882, 12, 2, "
             "0);"
             "CREATE TABLE CUPTI_ACTIVITY_KIND_DRIVER (start INT, end INT, globalTid INT, "
             "correlationId INT, nameId INT, returnValue INT);"
             "INSERT INTO CUPTI_ACTIVITY_KIND_DRIVER VALUES (1010, 1090, 281474993487882, 12, 2, "
             "0), (3000, 4000, 281474993487882, 13, 3, 0);"
             "CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, rangeId INT, "
             "category INT, color INT, text TEXT, globalTid INT, endGlobalTid INT);"
             "INSERT INTO NVTX_EVENTS VALUES (900, NULL, 59, 0, 0, 0, 'open', 281474993487882, 0), "
             "(950, 950, 34, 0, 0, 0, 'step', 281474993487882, 0);"
             "CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT);"
             "INSERT INTO TARGET_INFO_GPU VALUES (0, 'Tesla A'), (5, 'Tesla B');"
             "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INT, cudaId INT, pid INT);"
             "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 1), (5, 1, 1);");
    rank = &run.ranks[0];
    CHECK_INT(run.nranks, 1);
    CHECK_STR(rank->gpu, "Tesla B");
    CHECK_INT(rank->host_gpus, 2);
    CHECK_STR(rank->ops[0].name, "saxpy(int, float)");
    CHECK_INT(rank->ops[0].host_ns, 1000); /* the outer call */
    CHECK_INT(rank->nsync_calls, 1);
    CHECK_INT(rank->sync_calls[0].kind, SYNC_CALL_STREAM);
    CHECK_INT(rank->sync_calls[0].stream, -1); /* no table tells */
    CHECK_INT(rank->nmarks, 2);
    CHECK_INT(rank->marks[0].end_ns, 4000); /* the last moment */
    CHECK_INT(rank->nsteps, 0);             /* a moment is no step */
    CHECK(run.clock_aligned);
    CHECK(!run_partial(&run));
    run_release(&run);
}

/* A graph traced as a whole is one operation a launch. */
TEST(nsys_graphs)
{
    struct run run;
    load_sql(&run,
             NSYS_NEW "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, "
                      "deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId "
                      "INTEGER, globalPid INTEGER, graphId INTEGER, graphExecId INTEGER);"
                      "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES "
                      "(5000, 6000, 0, 1, 7, 1, 281474993487872, 9, 9), "
                      "(7000, 8000, 0, 1, 7, 2, 281474993487872, 9, 9), "
                      "(1000, 2000, 0, 1, 7, 3, 281474993487872, 4, 4);");
    CHECK_INT(run.ranks[0].nops, 3);
    CHECK_INT(run.ranks[0].ops[0].class, OP_GRAPH);
    CHECK_INT(run.ranks[0].ops[1].graph, run.ranks[0].ops[2].graph);
    CHECK(run.ranks[0].ops[0].graph != run.ranks[0].ops[1].graph);
    CHECK_INT(run.ranks[0].ops[2].graph_launch.launch, 1);
    CHECK(run.ranks[0].coverage & COVER_GRAPHS);
    run_release(&run);
}

#endif
