/* SPDX-License-Identifier: MIT
 *
 * Records of what several processes read (trace/share.h): which of them are taken.
 */
#include "trace_load.h"

#include "trace/share.h"

#define TRACE                                                                                     \
    "{\"event\":\"init\",\"version\":1,\"run\":\"x\",\"rank\":0,\"world_size\":1,\"local_rank\":" \
    "0,\"pid\":1,\"host\":\"\",\"mono_ns\":5000000000,\"real_ns\":1700000000000000000,"           \
    "\"coverage\":[\"nccl\"],\"env\":{}}\n"                                                       \
    "{\"event\":\"shutdown\",\"time_us\":500.0,\"total_ops\":0,\"dropped\":0,\"summary\":{}}\n"

#define FORM_AT 16 /* of a record: behind its length and its sum */

static void put_record(void *arg, const void *record, size_t len)
{
    buf_put(arg, record, len);
}

static void read_record(struct buf *bytes)
{
    const struct load_share share = {.part = 1, .parts = 1, .put = put_record, .arg = bytes};
    const char *folder = make_folder();
    struct run run;
    struct err e;
    write_text(folder, "specter_trace_rank0.jsonl", TRACE);
    CHECK_INT(run_load(&run, folder, &(struct load_opts){.share = &share}, &e), 0);
    run_release(&run);
    remove_folder(folder);
}

/* Parts alone are pack_form()'s: records of another layout around equal parts are refused. */
TEST(share_records_of_another_layout)
{
    const uint64_t other = pack_form();
    struct load_shared shared = {.cap = 0};
    struct buf bytes = BUF_INIT;
    struct err e;
    read_record(&bytes);
    CHECK_INT(load_shared_add(&shared, bytes.data, bytes.len, "shard", &e), 0);
    load_shared_release(&shared);
    memcpy(bytes.data + FORM_AT, &other, sizeof other);
    CHECK_INT(load_shared_add(&shared, bytes.data, bytes.len, "shard", &e), -1);
    CHECK_HAS(e.msg, "shard: written by another version of specter");
    load_shared_release(&shared);
    buf_release(&bytes);
}
