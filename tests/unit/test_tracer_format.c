/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "../../tracer/file.h"
#include "../../tracer/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Puts into `text` what a call writes to `o`. */
#define WRITTEN(_call)                        \
    do {                                      \
        struct out out_ = {text}, *o = &out_; \
        _call;                                \
        *o->p = '\0';                         \
    } while (0)

#define CHECK_WRITTEN(_call, _want) \
    do {                            \
        WRITTEN(_call);             \
        CHECK_STR(text, _want);     \
    } while (0)

static char text[FORMAT_LINE_MAX];

TEST(tracer_format_numbers)
{
    CHECK_WRITTEN(put_U64(o, 0), "0");
    CHECK_WRITTEN(put_U64(o, UINT64_MAX - 1), "18446744073709551614");
    CHECK_WRITTEN(put_U64(o, UINT64_MAX), "null");
    CHECK_WRITTEN(put_I64(o, -1), "-1");
    CHECK_WRITTEN(put_I64(o, INT64_MAX), "9223372036854775807");
    CHECK_WRITTEN(put_I64(o, INT64_MIN + 1), "-9223372036854775807");
    CHECK_WRITTEN(put_I64(o, INT64_MIN), "null");
}

TEST(tracer_format_microseconds)
{
    CHECK_WRITTEN(put_US(o, 0), "0.000");
    CHECK_WRITTEN(put_US(o, 7), "0.007");
    CHECK_WRITTEN(put_US(o, 1000), "1.000");
    CHECK_WRITTEN(put_US(o, 1234567), "1234.567");
    CHECK_WRITTEN(put_US(o, -1), "-0.001");
    CHECK_WRITTEN(put_US(o, -500000), "-500.000");
    CHECK_WRITTEN(put_US(o, NO_TIME), "null");
    CHECK_WRITTEN(put_US(o, INT64_MAX), "9223372036854775.807");
}

TEST(tracer_format_one_decimal)
{
    CHECK_WRITTEN(put_F1(o, 0), "0.0");
    CHECK_WRITTEN(put_F1(o, 722.24), "722.2");
    CHECK_WRITTEN(put_F1(o, 722.25), "722.3");
    CHECK_WRITTEN(put_F1(o, 0.96), "1.0");
    CHECK_WRITTEN(put_F1(o, -1), "null");
    CHECK_WRITTEN(put_F1(o, 1e300), "null");
}

TEST(tracer_format_strings)
{
    CHECK_WRITTEN(put_STR(o, NULL), "null");
    CHECK_WRITTEN(put_STR(o, ""), "\"\"");
    CHECK_WRITTEN(put_STR(o, "a\"b\\c/d"), "\"a\\\"b\\\\c/d\"");
    CHECK_WRITTEN(put_STR(o, "\x1b[31m\n\t\x7f"), "\"\\u001b[31m\\u000a\\u0009\\u007f\"");
    CHECK_WRITTEN(put_STR(o, "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
                  "\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
    /* not UTF-8: lone bytes, overlong, surrogate, cut off */
    CHECK_WRITTEN(put_STR(o, "\xff"), "\"\xef\xbf\xbd\"");
    CHECK_WRITTEN(put_STR(o, "\xc0\xaf"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
    CHECK_WRITTEN(put_STR(o, "\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    CHECK_WRITTEN(put_STR(o, "x\xe2\x82"), "\"x\xef\xbf\xbd\xef\xbf\xbd\"");
}

static struct record all_reduce(void)
{
    struct record r = {.kind = RECORD_NCCL,
                       .op = SPECTER_ALLREDUCE,
                       .dtype = SPECTER_FP16,
                       .timing = SPECTER_TIMING_DEVICE,
                       .tid = 2,
                       .stream = 7,
                       .span = NO_SPAN,
                       .graph = NO_ID,
                       .host_ns = 990000,
                       .host_end_ns = 996000,
                       .start_ns = 1000000,
                       .dur_ns = 1234500};
    r.nccl.comm = 0x94bb0c7ab2472b3d;
    r.nccl.count = 67108864;
    r.nccl.seq = 17;
    r.nccl.comm_size = 8;
    r.nccl.group = 3;
    r.nccl.peer = -1;
    r.nccl.redop = SPECTER_REDOP_SUM;
    return r;
}

TEST(tracer_format_collective)
{
    struct record r = all_reduce();
    CHECK_WRITTEN(
        format_record(o, &r, 5, NULL),
        "{\"id\":5,\"type\":\"nccl\",\"op\":\"AllReduce\",\"start_us\":1000.000,"
        "\"duration_us\":1234.500,\"bytes\":134217728,\"count\":67108864,\"dtype\":\"fp16\","
        "\"redop\":\"sum\",\"comm\":\"94bb0c7ab2472b3d\",\"comm_rank\":0,\"comm_size\":8,"
        "\"seq\":17,\"device\":0,\"stream\":7,\"tid\":2,\"group\":3,\"host_us\":990.000,"
        "\"host_end_us\":996.000,\"timing\":\"device\"}\n");
}

TEST(tracer_format_unknown_is_null)
{
    struct record r = all_reduce();
    r.op = SPECTER_ALLGATHER;
    r.dtype = SPECTER_DTYPE_UNKNOWN;
    r.device = -1;
    r.stream = r.nccl.group = NO_ID;
    r.start_ns = r.dur_ns = NO_TIME;
    r.timing = SPECTER_TIMING_NONE;
    r.nccl.comm = 0;
    r.nccl.seq = r.nccl.comm_rank = r.nccl.comm_size = -1;
    r.nccl.redop = SPECTER_REDOP_NONE;
    CHECK_WRITTEN(
        format_record(o, &r, 0, NULL),
        "{\"id\":0,\"type\":\"nccl\",\"op\":\"AllGather\",\"start_us\":null,\"duration_us\":null,"
        "\"bytes\":null,\"count\":67108864,\"dtype\":null,\"redop\":null,\"comm\":null,"
        "\"comm_rank\":null,\"comm_size\":null,\"seq\":null,\"device\":null,\"stream\":null,"
        "\"tid\":2,\"group\":null,\"host_us\":990.000,\"host_end_us\":996.000,"
        "\"timing\":\"none\"}\n");
}

static bool line_has(const struct record *r, const char *part)
{
    WRITTEN(format_record(o, r, 0, NULL));
    return strstr(text, part) != NULL;
}

TEST(tracer_format_keys_that_are_sometimes_there)
{
    struct record r = all_reduce();
    CHECK(!line_has(&r, "\"root\"") && !line_has(&r, "\"peer\"") && !line_has(&r, "\"inplace\""));
    r.flags = RECORD_INPLACE;
    CHECK(line_has(&r, "\"seq\":17,\"inplace\":1,\"device\""));
    r.op = SPECTER_BROADCAST;
    r.nccl.peer = 4;
    CHECK(line_has(&r, "\"seq\":17,\"root\":4,\"inplace\":1,"));
    r.op = SPECTER_SEND;
    r.flags = 0;
    CHECK(line_has(&r, "\"seq\":null,\"peer\":4,\"p2p_seq\":17,\"device\""));
    CHECK(!line_has(&r, "\"root\""));
    r.nccl.seq = -1;
    CHECK(line_has(&r, "\"p2p_seq\":null,"));
    r.op = SPECTER_WAIT_SIGNAL; /* for several peers */
    r.nccl.peer = -1;
    r.nccl.count = 0;
    r.dtype = SPECTER_DTYPE_UNKNOWN;
    CHECK(line_has(&r, "\"peer\":null,\"p2p_seq\":null,"));
    CHECK(line_has(&r, "\"bytes\":0,\"count\":0,\"dtype\":null,"));
}

TEST(tracer_format_bytes_follow_the_convention)
{
    struct record r = all_reduce();
    r.nccl.count = 10;
    r.op = SPECTER_ALLGATHER;
    CHECK(line_has(&r, "\"bytes\":160,\"count\":10,"));
    r.nccl.comm_size = -1;
    CHECK(line_has(&r, "\"bytes\":null,\"count\":10,"));
    r.op = SPECTER_BROADCAST;
    CHECK(line_has(&r, "\"bytes\":20,\"count\":10,"));
    r.nccl.count = 0;
    CHECK(line_has(&r, "\"bytes\":0,\"count\":0,"));
    r.nccl.count = UINT64_MAX / 2;
    CHECK(line_has(&r, "\"bytes\":null,"));
}

static struct record gemm(void)
{
    struct record r = {.kind = RECORD_GEMM,
                       .dtype = SPECTER_FP16,
                       .timing = SPECTER_TIMING_DEVICE,
                       .tid = 1,
                       .stream = 1,
                       .graph = NO_ID,
                       .host_ns = 1000,
                       .host_end_ns = 2000,
                       .start_ns = 2500000,
                       .dur_ns = 190300};
    r.gemm.m = r.gemm.n = r.gemm.k = r.gemm.lda = r.gemm.ldb = r.gemm.ldc = 4096;
    r.gemm.batch = 1;
    r.gemm.dtype_b = r.gemm.dtype_c = SPECTER_FP16;
    r.gemm.compute = SPECTER_FP32;
    r.gemm.unit = 2;
    memcpy(r.gemm.trans, "NT", 2);
    return r;
}

TEST(tracer_format_gemm)
{
    struct record r = gemm();
    CHECK_WRITTEN(
        format_record(o, &r, 1, &(struct line_extras){.gemm_name = "GemmEx"}),
        "{\"id\":1,\"type\":\"cublas\",\"op\":\"GemmEx\",\"start_us\":2500.000,"
        "\"duration_us\":190.300,\"m\":4096,\"n\":4096,\"k\":4096,\"batch\":1,\"dtype\":\"fp16\","
        "\"dtype_b\":\"fp16\",\"dtype_c\":\"fp16\",\"compute\":\"fp32\",\"trans\":\"NT\","
        "\"lda\":4096,\"ldb\":4096,\"ldc\":4096,\"beta\":0,\"epilogue\":\"none\","
        "\"tflops\":722.2,\"device\":0,\"stream\":1,\"tid\":1,\"host_us\":1.000,"
        "\"host_end_us\":2.000,\"timing\":\"device\"}\n");
}

static const char *beta_of(double beta)
{
    struct record r = gemm();
    char *end;
    r.gemm.beta = beta;
    WRITTEN(format_record(o, &r, 0, &(struct line_extras){.gemm_name = "X"}));
    memmove(text, strstr(text, "\"beta\":") + 7, sizeof text / 2);
    end = strchr(text, ',');
    *end = '\0';
    return text;
}

TEST(tracer_format_beta)
{
    CHECK_STR(beta_of(1), "1");
    CHECK_STR(beta_of(-1), "-1");
    CHECK_STR(beta_of(0.5), "0.500000000");
    CHECK_STR(beta_of(-0.125), "-0.125000000");
    CHECK_STR(beta_of(1e30), "null");
    CHECK_STR(beta_of(1e-30), "null");
    CHECK_STR(beta_of(__builtin_nan("")), "null");
}

static bool gemm_has(const struct record *r, const char *part)
{
    WRITTEN(format_record(o, r, 1, &(struct line_extras){.gemm_name = "X"}));
    return strstr(text, part) != NULL;
}

/* Groups of one shape have it; of several, only the sum of their operations. */
TEST(tracer_format_gemm_groups)
{
    struct record r = gemm();
    CHECK(!gemm_has(&r, "\"groups\"") && !gemm_has(&r, "\"flop\""));
    r.gemm.groups = 3;
    r.gemm.batch = 5;
    CHECK(gemm_has(&r, "\"m\":4096,\"n\":4096,\"k\":4096,\"batch\":5,"));
    CHECK(gemm_has(&r, "\"groups\":3,\"flop\":687194767360,\"tflops\":3611.1,"));
    r.gemm.n = r.gemm.k = -1;
    r.gemm.flop = 190300;
    CHECK(gemm_has(&r, "\"m\":null,\"n\":null,\"k\":null,\"batch\":5,"));
    r.dur_ns = 100;
    CHECK(gemm_has(&r, "\"groups\":3,\"flop\":190300,\"tflops\":1.9,"));
    r.gemm.flop = UINT64_MAX;
    CHECK(gemm_has(&r, "\"groups\":3,\"flop\":null,\"tflops\":null,"));
}

TEST(tracer_format_gemm_complex)
{
    struct record r = gemm();
    r.dtype = SPECTER_DTYPE_UNKNOWN;
    r.gemm.unit = 8;
    CHECK(gemm_has(&r, "\"dtype\":null,"));
    CHECK(gemm_has(&r, "\"flop\":549755813888,\"tflops\":2888.9,"));
    r.gemm.m = INT64_MAX; /* more operations than can be said */
    CHECK(gemm_has(&r, "\"flop\":null,\"tflops\":null,"));
}

TEST(tracer_format_gemm_unknown)
{
    struct record r = gemm();
    r.gemm.m = r.gemm.n = r.gemm.k = r.gemm.lda = -1;
    r.gemm.batch = NO_ID;
    r.gemm.trans[1] = '\0';
    CHECK(gemm_has(&r, "\"m\":null,\"n\":null,\"k\":null,\"batch\":null,"));
    CHECK(gemm_has(&r, "\"trans\":null,\"lda\":null,\"ldb\":4096,"));
    CHECK(gemm_has(&r, "\"tflops\":null,"));
    r = gemm();
    r.gemm.batch = NO_ID;
    CHECK(gemm_has(&r, "\"tflops\":null,"));
}

TEST(tracer_format_gemm_compute)
{
    struct record r = gemm();
    r.gemm.compute = COMPUTE_BF16X9;
    CHECK(gemm_has(&r, "\"compute\":\"bf16x9\","));
    r.gemm.compute = COMPUTE_FIXED_POINT;
    CHECK(gemm_has(&r, "\"compute\":\"fixedpoint\","));
    r.gemm.compute = SPECTER_DTYPE_UNKNOWN;
    CHECK(gemm_has(&r, "\"compute\":null,"));
}

TEST(tracer_format_gemm_order)
{
    struct record r = gemm();
    r.gemm.epilogue = 1;
    CHECK(!gemm_has(&r, "\"order\""));
    memcpy(r.gemm.order, (uint8_t[]){1, 0, 4}, 3);
    CHECK(gemm_has(&r, "\"epilogue\":\"none\",\"order\":\"RCO\",\"tflops\""));
}

TEST(tracer_format_no_rate_without_device_time)
{
    struct record r = gemm();
    r.timing = SPECTER_TIMING_HOST;
    WRITTEN(format_record(o, &r, 1, &(struct line_extras){.gemm_name = "GemmEx"}));
    CHECK(strstr(text, "\"tflops\":null,") != NULL);
    r = gemm();
    r.dur_ns = 0;
    WRITTEN(format_record(o, &r, 1, &(struct line_extras){.gemm_name = "GemmEx"}));
    CHECK(strstr(text, "\"tflops\":null,") != NULL);
}

TEST(tracer_format_acts)
{
    struct record r = {.kind = RECORD_WAIT, .stream = 1, .tid = 3, .host_ns = 5, .host_end_ns = 9};
    r.dep.event = 12;
    CHECK_WRITTEN(format_record(o, &r, 0, NULL),
                  "{\"type\":\"dep\",\"kind\":\"wait\",\"cuda_event\":12,\"device\":0,\"stream\":1,"
                  "\"tid\":3,\"host_us\":0.005,\"host_end_us\":0.009}\n");
    r.kind = RECORD_EVENT;
    WRITTEN(format_record(o, &r, 0, NULL));
    CHECK(strstr(text, "\"kind\":\"record\"") != NULL);
    r.kind = RECORD_SYNC;
    r.op = SYNC_STREAM;
    CHECK_WRITTEN(format_record(o, &r, 0, NULL),
                  "{\"type\":\"sync\",\"kind\":\"stream\",\"device\":0,\"stream\":1,\"tid\":3,"
                  "\"host_us\":0.005,\"host_end_us\":0.009}\n");
    r.op = SYNC_EVENT;
    CHECK_WRITTEN(format_record(o, &r, 0, NULL),
                  "{\"type\":\"sync\",\"kind\":\"event\",\"cuda_event\":12,\"device\":0,\"tid\":3,"
                  "\"host_us\":0.005,\"host_end_us\":0.009}\n");
    r.op = SYNC_DEVICE;
    CHECK_WRITTEN(format_record(o, &r, 0, NULL),
                  "{\"type\":\"sync\",\"kind\":\"device\",\"device\":0,"
                  "\"tid\":3,\"host_us\":0.005,\"host_end_us\":0.009}\n");
}

TEST(tracer_format_process_lines)
{
    struct init_line init = {.run = "r",
                             .sample = 1,
                             .host = "h",
                             .rank = 3,
                             .world_size = INT64_MIN,
                             .local_rank = INT64_MIN,
                             .pid = 9,
                             .mono_ns = 1,
                             .real_ns = 2,
                             .nccl = 22809,
                             .cuda = UINT64_MAX,
                             .nccl_file = "/lib/libnccl.so.2",
                             .coverage = "[]",
                             .gpus = "[]",
                             .env = "{}"};
    struct comm_line comm = {.time_ns = 1500,
                             .comm = 1,
                             .comm_size = 2,
                             .device = 0,
                             .split_seq = INT64_MIN,
                             .color = INT64_MIN,
                             .key = INT64_MIN,
                             .nodes = INT64_MIN};
    struct clock_record mark = {0, -1000, 5, 6, 7};
    struct shutdown_line end = {2000, 3, 1, "{}"};
    CHECK_WRITTEN(format_init(o, &init),
                  "{\"event\":\"init\",\"version\":1,\"run\":\"r\",\"rank\":3,\"world_size\":null,"
                  "\"local_rank\":null,\"sync_mode\":0,\"pid\":9,\"host\":\"h\",\"mono_ns\":1,"
                  "\"real_ns\":2,\"coverage\":[],\"sample\":1,\"nccl\":22809,\"cuda\":null,"
                  "\"nccl_file\":\"/lib/libnccl.so.2\",\"gpus\":[],\"env\":{}}\n");
    CHECK_WRITTEN(format_comm(o, &comm),
                  "{\"event\":\"comm\",\"time_us\":1.500,\"comm\":\"0000000000000001\","
                  "\"comm_rank\":0,\"comm_size\":2,\"device\":0,\"parent\":null,\"split_seq\":null,"
                  "\"color\":null,\"key\":null,\"name\":null,\"nodes\":null}\n");
    CHECK_WRITTEN(format_clock(o, &mark),
                  "{\"event\":\"clock\",\"device\":0,\"dev_us\":-1.000,\"mono_ns\":5,"
                  "\"real_ns\":6,\"err_ns\":7}\n");
    CHECK_WRITTEN(format_shutdown(o, &end),
                  "{\"event\":\"shutdown\",\"time_us\":2.000,\"total_ops\":3,\"dropped\":1,"
                  "\"summary\":{}}\n");
}

TEST(tracer_format_gemm_names)
{
    char name[64];
    format_gemm_name(name, "cublasGemmEx");
    CHECK_STR(name, "GemmEx");
    format_gemm_name(name, "cublasSgemm_v2");
    CHECK_STR(name, "Sgemm");
    format_gemm_name(name, "cublasSgemm_v2_64");
    CHECK_STR(name, "Sgemm_64");
    format_gemm_name(name, "cublasLtMatmul");
    CHECK_STR(name, "LtMatmul");
}

/* ---- the page that explains the format ---- */

static char *read_page(void)
{
    FILE *f = fopen(test_data("../../docs/trace-format.md"), "r");
    char *page = NULL;
    size_t size = 0;
    if (f == NULL)
        return NULL;
    CHECK(getdelim(&page, &size, '\0', f) > 0);
    fclose(f);
    return page;
}

/* Each key of the record is in the part of the page that is about it. */
static void check_section(const char *page, const char *record, const char *const *keys, size_t n)
{
    char heading[64];
    const char *from, *to;
    snprintf(heading, sizeof heading, "\n## %s\n", record);
    from = strstr(page, heading);
    if (from == NULL) {
        test_fail(__FILE__, __LINE__, "docs/trace-format.md has no section '%s'", record);
        return;
    }
    to = strstr(from + 1, "\n## ");
    for (size_t i = 0; i < n; i++) {
        const char *at = strstr(from, keys[i]);
        if (at == NULL || (to != NULL && at > to))
            test_fail(__FILE__, __LINE__, "docs/trace-format.md does not name %s of %s", keys[i],
                      record);
    }
}

TEST(tracer_format_document_is_complete)
{
    static const char *const words[] = {
#define X(_id, _name, ...) "`" _name "`",
        SPECTER_COMM_OPS(X) SPECTER_DTYPES(X) SPECTER_REDOPS(X)
#undef X
#define X(_id, _name) "`" _name "`",
            SPECTER_TIMINGS(X) SPECTER_KERNEL_CLASSES(X)
#undef X
#define X(_id, _name) "\"" _name "\"",
                SPECTER_COPIES(X) SPECTER_MARKS(X)
#undef X
    };
    char *page = read_page();
    if (page == NULL)
        SKIP("docs/trace-format.md is not there");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strstr(page, words[i]) == NULL)
            test_fail(__FILE__, __LINE__, "docs/trace-format.md does not name %s", words[i]);
    }
#define KEY(_key, _kind, _when) "`" #_key "`",
#define X(_id, _selector, _name)                                         \
    {                                                                    \
        static const char *const keys[] = {SPECTER_##_id##_FIELDS(KEY)}; \
        check_section(page, _name, keys, sizeof keys / sizeof *keys);    \
    }
    SPECTER_RECORDS(X)
#undef X
#undef KEY
    free(page);
}

static struct record stream_work(enum record_kind kind)
{
    return (struct record){.kind = (uint8_t)kind,
                           .timing = SPECTER_TIMING_DEVICE,
                           .stream = 3,
                           .tid = 1,
                           .graph = NO_ID,
                           .host_ns = 1000,
                           .host_end_ns = 2000,
                           .start_ns = 3000,
                           .dur_ns = 4000};
}

TEST(tracer_format_copy)
{
    struct record r = stream_work(RECORD_COPY);
    r.op = SPECTER_COPY_D2H;
    r.copy.bytes = 512;
    CHECK_WRITTEN(format_record(o, &r, 7, NULL),
                  "{\"id\":7,\"type\":\"copy\",\"kind\":\"d2h\",\"start_us\":3.000,"
                  "\"duration_us\":4.000,\"bytes\":512,\"device\":0,\"stream\":3,\"tid\":1,"
                  "\"host_us\":1.000,\"host_end_us\":2.000,\"timing\":\"device\"}\n");
    r.flags = RECORD_UPPER;
    r.graph = 2;
    WRITTEN(format_record(o, &r, 7, NULL));
    CHECK(strstr(text, ",\"timing\":\"device\",\"bound\":\"upper\",\"graph\":2}\n") != NULL);
}

TEST(tracer_format_untraced)
{
    struct record r = stream_work(RECORD_LAUNCH);
    r.untraced.launches = 5;
    r.untraced.max_gap_ns = 250;
    r.untraced.classes[SPECTER_KERNEL_ATTENTION] = 2;
    r.untraced.classes[SPECTER_KERNEL_OTHER] = 3;
    CHECK_WRITTEN(format_record(o, &r, 0, NULL),
                  "{\"type\":\"untraced\",\"launches\":5,"
                  "\"classes\":{\"attention\":2,\"other\":3},\"device\":0,\"stream\":3,\"tid\":1,"
                  "\"host_us\":1.000,\"host_end_us\":2.000,\"max_gap_us\":0.250}\n");
}

TEST(tracer_format_graph)
{
    struct record r = stream_work(RECORD_GRAPH);
    r.graph = 4;
    r.launch.number = 1;
    CHECK_WRITTEN(format_record(o, &r, 9, &(struct line_extras){.op_count = 3, .ops = "[5,6,8]"}),
                  "{\"id\":9,\"type\":\"graph\",\"graph\":4,\"launch\":1,\"op_count\":3,"
                  "\"ops\":[5,6,8],\"start_us\":3.000,\"duration_us\":4.000,\"device\":0,"
                  "\"stream\":3,\"tid\":1,\"host_us\":1.000,\"host_end_us\":2.000,"
                  "\"timing\":\"device\"}\n");
    WRITTEN(format_record(o, &r, 9, &(struct line_extras){.op_count = 3, .ops = NULL}));
    CHECK(strstr(text, "\"op_count\":3,\"start_us\"") != NULL);
}

TEST(tracer_format_mark)
{
    struct record r = {.kind = RECORD_MARK, .op = SPECTER_MARK_ITERATION, .tid = 2, .host_ns = 10};
    memcpy(r.mark.name, "step \"1\"", 9);
    CHECK_WRITTEN(format_record(o, &r, 0, NULL),
                  "{\"event\":\"mark\",\"name\":\"step \\\"1\\\"\",\"time_us\":"
                  "0.010,\"kind\":\"iteration\",\"tid\":2}\n");
    r.op = SPECTER_MARK_RANGE;
    r.host_end_ns = 30;
    WRITTEN(format_record(o, &r, 0, NULL));
    CHECK(strstr(text, "\"kind\":\"range\",\"tid\":2,\"end_us\":0.030}\n") != NULL);
}

TEST(tracer_format_sample_and_plugin)
{
    CHECK_WRITTEN(format_dump(o, 2500), "{\"event\":\"dump\",\"time_us\":2.500}\n");
    CHECK_WRITTEN(format_sample(o, &(struct sample_line){1000, "cublas", "asked", 8}),
                  "{\"event\":\"sample\",\"time_us\":1.000,\"of\":\"cublas\",\"rate\":8,"
                  "\"why\":\"asked\"}\n");
    CHECK_WRITTEN(format_plugin(o, &(struct plugin_line){SPECTER_ALLREDUCE, 0xab, 5, 3, -1, "RING",
                                                         "LL", 8, 9}),
                  "{\"type\":\"plugin\",\"op\":\"AllReduce\",\"comm\":\"00000000000000ab\",\"comm_"
                  "rank\":5,\"seq\":3,"
                  "\"algo\":\"RING\",\"proto\":\"LL\",\"channels\":8,\"kernel_us\":0.009}\n");
}

/* ---- the longest lines ---- */

#define FAR (INT64_MIN + 1) /* has the most digits, and a sign */

static struct record widest(enum record_kind kind, uint16_t op)
{
    return (struct record){.kind = (uint8_t)kind,
                           .timing = SPECTER_TIMING_CAPTURED,
                           .op = op,
                           .dtype = SPECTER_FP8E4M3,
                           .flags = RECORD_INPLACE | RECORD_UPPER,
                           .device = INT16_MAX,
                           .tid = UINT16_MAX,
                           .stream = UINT32_MAX - 1,
                           .graph = UINT32_MAX - 1,
                           .host_ns = FAR,
                           .host_end_ns = FAR,
                           .start_ns = FAR,
                           .dur_ns = FAR};
}

static size_t widest_nccl(unsigned op)
{
    struct record r = widest(RECORD_NCCL, (uint16_t)op);
    r.nccl.comm = r.nccl.count = UINT64_MAX - 1;
    r.nccl.seq = INT64_MAX;
    r.nccl.comm_rank = r.nccl.comm_size = r.nccl.peer = INT32_MAX;
    r.nccl.group = UINT32_MAX - 1;
    WRITTEN(format_record(o, &r, UINT64_MAX - 1, NULL));
    return strlen(text);
}

static size_t widest_gemm(void)
{
    char name[64];
    struct record r = widest(RECORD_GEMM, 0);
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    r.gemm.m = r.gemm.n = r.gemm.k = r.gemm.lda = r.gemm.ldb = r.gemm.ldc = INT64_MAX;
    r.gemm.beta = -123456789.123456789;
    r.gemm.batch = r.gemm.groups = UINT32_MAX - 1;
    r.gemm.dtype_b = r.gemm.dtype_c = SPECTER_FP8E4M3;
    r.gemm.compute = COMPUTE_FIXED_POINT;
    r.gemm.unit = 8;
    WRITTEN(format_record(o, &r, UINT64_MAX - 1, &(struct line_extras){.gemm_name = name}));
    return strlen(text);
}

static size_t widest_untraced(void)
{
    struct record r = widest(RECORD_LAUNCH, 0);
    r.untraced.launches = UINT32_MAX;
    for (int i = 0; i < SPECTER_KERNEL_CLASS_COUNT; i++)
        r.untraced.classes[i] = UINT32_MAX;
    r.untraced.max_gap_ns = FAR;
    WRITTEN(format_record(o, &r, 0, NULL));
    return strlen(text);
}

static size_t widest_mark(unsigned kind)
{
    struct record r = widest(RECORD_MARK, (uint16_t)kind);
    memset(r.mark.name, '\1', sizeof r.mark.name - 1);
    WRITTEN(format_record(o, &r, 0, NULL));
    return strlen(text);
}

static size_t widest_plugin(void)
{
    WRITTEN(format_plugin(o, &(struct plugin_line){.op = SPECTER_RECV,
                                                   .comm = UINT64_MAX,
                                                   .comm_rank = INT64_MAX,
                                                   .seq = INT64_MAX,
                                                   .peer = INT64_MAX,
                                                   .algo = "COLLNET_DIRECT",
                                                   .proto = "SIMPLE",
                                                   .channels = UINT64_MAX - 1,
                                                   .kernel_ns = FAR}));
    return strlen(text);
}

static size_t widest_comm(void)
{
    char name[64];
    memset(name, '\1', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    WRITTEN(format_comm(o, &(struct comm_line){.time_ns = FAR,
                                               .comm = UINT64_MAX,
                                               .parent = UINT64_MAX,
                                               .comm_rank = FAR,
                                               .comm_size = FAR,
                                               .device = FAR,
                                               .split_seq = FAR,
                                               .color = FAR,
                                               .key = FAR,
                                               .name = name,
                                               .nodes = FAR}));
    return strlen(text);
}

static size_t widest_dep(void)
{
    struct record r = widest(RECORD_WAIT, 0);
    WRITTEN(format_record(o, &r, 0, NULL));
    return strlen(text);
}

static size_t widest_sync(void)
{
    struct record r = widest(RECORD_SYNC, SYNC_DEVICE);
    WRITTEN(format_record(o, &r, 0, NULL));
    return strlen(text);
}

static size_t widest_copy(void)
{
    struct record r = widest(RECORD_COPY, SPECTER_COPY_MEMSET);
    r.copy.bytes = UINT64_MAX - 1;
    WRITTEN(format_record(o, &r, UINT64_MAX - 1, NULL));
    return strlen(text);
}

static size_t widest_graph(void)
{
    struct record r = widest(RECORD_GRAPH, 0);
    r.launch.number = UINT32_MAX - 1;
    WRITTEN(format_record(o, &r, UINT64_MAX - 1,
                          &(struct line_extras){.op_count = UINT64_MAX - 1, .ops = ""}));
    return strlen(text);
}

/* A line that is longer than its slot in a flight recording is lost. */
TEST(tracer_format_longest_lines_fit_their_slots)
{
    for (int op = 0; op < SPECTER_COMM_OP_COUNT; op++)
        CHECK(widest_nccl((unsigned)op) <= FLIGHT_OP_BYTES);
    CHECK(widest_gemm() <= FLIGHT_OP_BYTES);
    CHECK(widest_copy() <= FLIGHT_OP_BYTES);
    CHECK(widest_graph() <= FORMAT_GRAPH_MAX);
    for (int kind = 0; kind < SPECTER_MARK_COUNT; kind++)
        CHECK(widest_mark((unsigned)kind) <= FLIGHT_ACT_BYTES);
    CHECK(widest_untraced() <= FLIGHT_ACT_BYTES);
    CHECK(widest_plugin() <= FLIGHT_ACT_BYTES);
    CHECK(widest_dep() <= FLIGHT_ACT_BYTES);
    CHECK(widest_sync() <= FLIGHT_ACT_BYTES);
    CHECK(widest_comm() <= FLIGHT_COMM_BYTES);
}
