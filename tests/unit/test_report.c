/* SPDX-License-Identifier: MIT
 *
 * The text and the JSON of an analysis: widths, heights, names that cannot be trusted.
 */
#include "made_analysis.h"

TEST(report_shortens_kernel_names)
{
    struct run run;
    struct analysis a;
    device_world(&run, 1);
    device_work(&run, 0, OP_KERNEL, 0, 30)->name =
        "void at::native::(anonymous namespace)::fill<4, at::native::Functor<float> >(int)";
    device_work(&run, 0, OP_KERNEL, 30, 20)->name = "plain_kernel:0";
    device_work(&run, 0, OP_KERNEL, 50, 10)->name = "::";
    device_analyze(&a, &run);
    char *text = analysis_text(&a);
    CHECK_HAS(text, "\n  fill<4, Functor<float...      1  ");
    CHECK_HAS(text, "\n  plain_kernel:0                1  ");
    free(text);
    device_done(&a, &run);
}

/* Columns of the longest line. */
static size_t widest(const char *text)
{
    size_t most = 0;
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        most = len > most ? len : most;
        text += len + (text[len] == '\n');
    }
    return most;
}

static size_t lines(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += *text == '\n';
    return n;
}

TEST(report_of_1024_ranks_fits_a_page)
{
    struct run run;
    struct analysis a;
    device_world(&run, 1024);
    for (int r = 0; r < 1024; r++) {
        device_work(&run, r, OP_KERNEL, 0, 1000000 + r);
        device_reduce(&run, r, 0, 1000000 + r, 5000000000 - r, 1 << 30);
    }
    device_analyze(&a, &run);
    check_identity(&a);
    CHECK_INT(a.total.compute_ns, 1024 * 1000000LL + 1023 * 1024 / 2);
    CHECK_INT((int64_t)a.collectives.list[0].count, 1);
    CHECK_DOUBLE(a.collectives.list[0].median_ns, 5000000000 - 1023, 0);
    CHECK_INT((int64_t)a.stragglers.arrivals[1023].last, 1);
    char *text = analysis_text(&a);
    CHECK(widest(text) <= 80);
    CHECK(lines(text) < 60);
    CHECK_HAS(text, "median");
    CHECK_HAS(text, " 1023 ");
    free(text);
    device_done(&a, &run);
}

TEST(report_stays_within_80_columns_and_safe)
{
    struct run run;
    struct analysis a;
    device_world(&run, 8);
    run.comms[0].name = "data_parallel_group_of_all";
    run.comms[run_comm(&run, "other", 5, 2)].name = "\x1b[2Jx";
    run.source = "/a/very/long/path/that/goes/on/and/on/and/on/until/it/does/not/fit/into/a/line/x";
    for (int r = 0; r < 8; r++) {
        run.ranks[r].gpu = "\x1b[31mA GPU";
        struct op *op = device_reduce(&run, r, 0, 0, 99999999999, (uint64_t)1 << 62);
        op->coll.op = SPECTER_REDUCESCATTER;
        op->dtype = SPECTER_FP8E4M3;
        op->coll.group = 3;
        device_work(&run, r, OP_KERNEL, 99999999999, 999999999999)->name =
            "void cutlass::Kernel<cutlass_80_tensorop_s16816gemm_bf16_256x128_ldg8_f2f_stages_64>";
        device_product(&run, r, 0, 999999999999, 1000000)->gemm.batch = 65536;
        for (int i = 0; i < 20; i++)
            device_reduce(&run, r, 1 + i, 0, 10, 100 + (uint64_t)i)->coll.comm = 1;
    }
    device_analyze(&a, &run);
    char *text = analysis_text(&a);
    CHECK(widest(text) <= 80);
    CHECK(strchr(text, '\x1b') == NULL);
    CHECK_HAS(text, "more (--table collectives_by_group)");
    free(text);
    device_done(&a, &run);
}

TEST(report_json_is_valid_whatever_the_names)
{
    struct run run;
    struct analysis a;
    device_world(&run, 1);
    device_work(&run, 0, OP_KERNEL, 0, 10)->name = "\xff\xfe\"quoted\"\n\x01";
    run.id = "\xc3";
    device_analyze(&a, &run);
    cJSON *doc = analysis_json(&a);
    char *text = cJSON_PrintUnformatted(doc);
    CHECK_HAS(text, "??\\\"quoted\\\"??");
    CHECK_HAS(text, "\"schema\":\"specter.analyze/1\"");
    CHECK_HAS(text, "\"id\":\"?\"");
    free(text);
    cJSON_Delete(doc);
    device_done(&a, &run);
}
