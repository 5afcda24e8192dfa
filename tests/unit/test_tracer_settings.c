/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "../../tracer/config.h"
#include "../../tracer/settings.h"
#include "../../tracer/tracer.h"

#include <string.h>

static struct config config;

#define READ(...) config_read_from(&config, (const char *const[]){__VA_ARGS__, NULL})

#define NONE INT64_MIN

TEST(tracer_settings_values)
{
    static const struct {
        enum setting_kind kind;
        const char *text;
        int64_t number, last; /* number NONE: refused */
    } rows[] = {
        {SETTING_FLAG, "1", 1, 0},
        {SETTING_FLAG, "yes", 1, 0},
        {SETTING_FLAG, "off", 0, 0},
        {SETTING_FLAG, "2", NONE, 0},
        {SETTING_FLAG, "", NONE, 0},
        {SETTING_SECONDS, "2", 2000000000, 0},
        {SETTING_SECONDS, "0.25", 250000000, 0},
        {SETTING_SECONDS, "1.0000000019", 1000000001, 0},
        {SETTING_SECONDS, "-1", NONE, 0},
        {SETTING_SECONDS, "1e3", NONE, 0},
        {SETTING_SECONDS, ".5", NONE, 0},
        {SETTING_SECONDS, "1,5", NONE, 0},
        {SETTING_SECONDS, "9223372036", INT64_C(9223372036000000000), 0},
        {SETTING_SECONDS, "9223372037", NONE, 0},
        {SETTING_SECONDS, "9223372036.9", NONE, 0},
        {SETTING_PERCENT, "1", 10000, 0},
        {SETTING_PERCENT, "0.5", 5000, 0},
        {SETTING_PERCENT, "100", 1000000, 0},
        {SETTING_PERCENT, "101", NONE, 0},
        {SETTING_PERCENT, "1%", NONE, 0},
        {SETTING_COUNT, "0", 0, 0},
        {SETTING_COUNT, "2000", 2000, 0},
        {SETTING_COUNT, "10000001", NONE, 0},
        {SETTING_COUNT, "99999999999999999999", NONE, 0},
        {SETTING_RATE, "1", 1, 0},
        {SETTING_RATE, "0", NONE, 0},
        {SETTING_BYTES, "0", 0, 0},
        {SETTING_BYTES, "65536", 65536, 0},
        {SETTING_BYTES, "65535", NONE, 0},
        {SETTING_BYTES, "64k", 65536, 0},
        {SETTING_BYTES, "512M", 512 << 20, 0},
        {SETTING_BYTES, "1GiB", 1 << 30, 0},
        {SETTING_BYTES, "1GB", NONE, 0},
        {SETTING_BYTES, "9999999T", NONE, 0},
        {SETTING_BYTES, "M", NONE, 0},
        {SETTING_STEPS, "10:20", 10, 20},
        {SETTING_STEPS, "3:3", 3, 3},
        {SETTING_STEPS, "2:", 2, INT64_MAX},
        {SETTING_STEPS, "0:3", NONE, 0},
        {SETTING_STEPS, "3:2", NONE, 0},
        {SETTING_STEPS, "3", NONE, 0},
        {SETTING_RANKS, "0,8-15", 0, 0},
        {SETTING_RANKS, "5-", NONE, 0},
        {SETTING_RANKS, "8-3", NONE, 0},
        {SETTING_RANKS, "0,", NONE, 0},
        {SETTING_RANKS, "x", NONE, 0},
        {SETTING_NAME, "step", 0, 0},
        {SETTING_NAME, "", NONE, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct setting_value v = {0, 0};
        bool taken = setting_parse(rows[i].kind, rows[i].text, &v);
        if (taken != (rows[i].number != NONE))
            CHECK_STR(rows[i].text, taken ? "to be refused" : "to be taken");
        if (taken && rows[i].number != NONE) {
            CHECK_INT(v.number, rows[i].number);
            CHECK_INT(v.last, rows[i].last);
        }
    }
}

TEST(tracer_settings_are_read_from_the_environment)
{
    READ("HOME=/");
    CHECK_INT(config.sample, 1);
    CHECK_INT(config.overhead_ppm, 10000);
    CHECK(config.delay_ns == 0 && config.duration_ns == 0 && config.ring == 0);
    CHECK(config.iterations.number == 0 && config.marker[0] == '\0');
    for (int kind = 0; kind < RECORD_KIND_COUNT; kind++)
        CHECK(config.wanted[kind]);
    READ("SPECTER_DELAY=1.5", "SPECTER_ITERATIONS=2:4", "SPECTER_MARKER=step",
         "SPECTER_MAX_SIZE=1M", "SPECTER_RING=10");
    CHECK_INT(config.delay_ns, 1500000000);
    CHECK_INT(config.iterations.number, 2);
    CHECK_INT(config.iterations.last, 4);
    CHECK_STR(config.marker, "step");
    CHECK_INT(config.max_size, 1 << 20);
    CHECK_INT(config.ring, 10);
}

TEST(tracer_settings_leave_kinds_out)
{
    READ("SPECTER_NO_NCCL=1", "SPECTER_NO_DEPS=1", "SPECTER_NO_MARKS=1");
    CHECK(!config.wanted[RECORD_NCCL] && !config.wanted[RECORD_EVENT] &&
          !config.wanted[RECORD_WAIT] && !config.wanted[RECORD_SYNC] &&
          !config.wanted[RECORD_MARK]);
    CHECK(config.wanted[RECORD_GEMM] && config.wanted[RECORD_COPY] &&
          config.wanted[RECORD_LAUNCH] && config.wanted[RECORD_GRAPH]);
    READ("SPECTER_NO_CUBLAS=1", "SPECTER_NO_COPIES=1", "SPECTER_NO_LAUNCHES=1",
         "SPECTER_NO_GRAPHS=1");
    CHECK(!config.wanted[RECORD_GEMM] && !config.wanted[RECORD_COPY] &&
          !config.wanted[RECORD_LAUNCH] && !config.wanted[RECORD_GRAPH]);
    CHECK(config.wanted[RECORD_NCCL] && config.wanted[RECORD_MARK]);
}

/* The default in its place. The line about it is tests/cli/tracer/bad_settings. */
TEST(tracer_settings_that_cannot_be_read_are_as_if_unset)
{
    static const char off[] = "SPECTER_DISABLE=1"; /* no warning then */
    READ(off, "RANK=2", "SPECTER_RANKS=0,x", "SPECTER_SAMPLE=0", "SPECTER_DELAY=soon",
         "SPECTER_NO_NCCL=maybe", "SPECTER_OVERHEAD=");
    CHECK(config.record_ops && config.wanted[RECORD_NCCL]);
    CHECK_INT(config.sample, 1);
    CHECK_INT(config.delay_ns, 0);
    CHECK_INT(config.overhead_ppm, 10000);
}
