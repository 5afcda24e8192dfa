/* SPDX-License-Identifier: MIT
 *
 * A part of a run as bytes: it comes back as it was, and damaged bytes do no harm.
 */
#include "test.h"

#include "made_device.h"
#include "trace/et.h"
#include "trace/share.h"

#include <stdlib.h>
#include <string.h>

static void make_part(struct run *run)
{
    struct rank *rank;
    device_run_on(run, 2, MADE_H100, COVER_NCCL | COVER_KERNELS);
    run->id = "run-7";
    run->summary = "What a snapshot says.";
    run->unnamed_hangs = 3;
    run->name_nodes = true;
    device_comm(run, "world", 0, 1, 2);
    device_comm(run, "half", 1, 1, 1);
    run->comms[0].name = "dp";
    run->comms[1].parent = 0;
    device_coll(device_op(run, 0, 1, 1, 2, 3, 9), SPECTER_ALLREDUCE, 0, 0, 4096);
    device_gemm(device_op(run, 1, 1, 1, 2, 3, 9), SPECTER_BF16, 16, 32, 64);
    device_op(run, 1, 2, 4, 5, 6, 7)->caller = "aten::mul";
    rank = &run->ranks[0];
    rank->host = "a host";
    rank->file = "rank0.json";
    rank->thread_ids = array_new(1, sizeof *rank->thread_ids);
    rank->thread_ids[0] = 4711;
    *rank_add_sync_call(rank) = (struct sync_call){.host_ns = 5, .kind = SYNC_CALL_STREAM};
    *rank_add_step(rank) = (struct step){1, 9, "step 1", 0, false};
    *rank_add_launches(rank) = (struct launches){.host_ns = 3, .count = 12};
    *rank_add_mark(rank) = (struct mark){2, 3, "warm-up", 0};
    *rank_add_detail(rank) = (struct comm_detail){.algo = "Ring", .proto = "LL", .comm = 0};
    rank_add_setting(rank, "NCCL_ALGO", "Ring");
    rank_add_member(rank, 1, 0, 0);
    rank->anchors = array_new(1, sizeof *rank->anchors);
    rank->anchors[0] = (struct anchor){.name = "aten::mm", .record_id = 9};
    rank->nanchors = rank->cap_anchors = 1;
    run_note(run, true, "half of it is gone");
}

static void check_copy(const struct run *copy)
{
    const struct rank *rank = &copy->ranks[0];
    CHECK_STR(copy->id, "run-7");
    CHECK_STR(copy->format, "memory");
    CHECK_STR(copy->summary, "What a snapshot says.");
    CHECK_INT(copy->unnamed_hangs, 3);
    CHECK(copy->name_nodes);
    CHECK_INT(copy->world_size, 2);
    CHECK_INT(copy->ncomms, 2);
    CHECK_STR(copy->comms[0].name, "dp");
    CHECK_INT(copy->comms[1].parent, 0);
    CHECK_INT(copy->comms[1].ranks[0], 1);
    CHECK_INT(copy->nranks, 2);
    CHECK_STR(rank->host, "a host");
    CHECK_STR(rank->gpu, MADE_H100);
    CHECK_INT(rank->thread_ids[0], 4711);
    CHECK_STR(rank->ops[0].name, "AllReduce");
    CHECK_INT(rank->ops[0].bytes, 4096);
    CHECK_INT(rank->sync_calls[0].kind, SYNC_CALL_STREAM);
    CHECK_STR(rank->steps[0].name, "step 1");
    CHECK_INT(rank->launches[0].count, 12);
    CHECK_STR(rank->marks[0].name, "warm-up");
    CHECK_STR(rank->details[0].proto, "LL");
    CHECK_STR(rank->settings[0].value, "Ring");
    CHECK_INT(rank->in[0].comm, 1);
    CHECK_STR(rank->anchors[0].name, "aten::mm");
    CHECK_INT(copy->ranks[1].nops, 2);
    CHECK_INT(copy->ranks[1].ops[0].gemm.k, 64);
    CHECK_STR(copy->ranks[1].ops[1].caller, "aten::mul");
    CHECK_INT(copy->nnotes, 1);
    CHECK(copy->notes[0].loss);
    CHECK_STR(copy->notes[0].text, "half of it is gone");
}

TEST(pack_and_unpack)
{
    struct run part, copy;
    struct buf bytes = BUF_INIT;
    struct err e;
    make_part(&part);
    run_pack(&bytes, &part);
    run_init(&copy);
    CHECK_INT(run_unpack(&copy, bytes.data, bytes.len, &e), 0);
    check_copy(&copy);
    run_release(&copy);
    run_release(&part);
    buf_release(&bytes);
}

/* Cut anywhere it is refused; with any byte changed it is refused, or another run. */
TEST(pack_of_damaged_bytes)
{
    struct run part, copy;
    struct buf bytes = BUF_INIT;
    struct err e;
    make_part(&part);
    run_pack(&bytes, &part);
    for (size_t len = 0; len < bytes.len; len++) {
        char *cut = array_new(len + 1, 1); /* so that a byte beyond is noticed */
        memcpy(cut, bytes.data, len);
        run_init(&copy);
        CHECK_INT(run_unpack(&copy, cut, len, &e), -1);
        run_release(&copy);
        free(cut);
    }
    for (size_t i = 0; i < bytes.len; i++) {
        bytes.data[i] ^= (char)0xff;
        run_init(&copy);
        run_unpack(&copy, bytes.data, bytes.len, &e);
        run_release(&copy);
        bytes.data[i] ^= (char)0xff;
    }
    run_release(&part);
    buf_release(&bytes);
}
