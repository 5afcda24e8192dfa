/* SPDX-License-Identifier: MIT
 *
 * Arena, interning, arrays, buffers, errors, and the conventions of names.c.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/child.h"
#include "base/err.h"
#include "base/order.h"
#include "specter/nccl_names.h"
#include "specter/trace.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(arena_hands_out_zeroed_aligned_memory)
{
    struct arena a;
    arena_init(&a);
    for (size_t size = 0; size < 300000; size = size * 3 + 1) {
        unsigned char *p = arena_alloc(&a, size);
        CHECK_INT((uintptr_t)p % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++) {
            CHECK_INT(p[i], 0);
            p[i] = 0xff; /* so that a block handed out twice shows */
        }
    }
    CHECK(a.used >= 300000 / 3);
    arena_release(&a);
    CHECK_INT(a.used, 0);
    CHECK_STR(arena_strdup(&a, "usable again"), "usable again");
    arena_release(&a);
}

TEST(arena_strings)
{
    struct arena a;
    arena_init(&a);
    CHECK_STR(arena_strndup(&a, "abcdef", 3), "abc");
    CHECK_STR(arena_strndup(&a, NULL, 0), "");
    CHECK_STR(arena_printf(&a, "%s-%d", "rank", 7), "rank-7");
    arena_release(&a);
}

TEST(intern_gives_equal_text_one_pointer)
{
    struct arena a;
    struct intern in;
    const char *first[2000];
    char name[32];
    arena_init(&a);
    intern_init(&in, &a);
    for (int i = 0; i < 2000; i++)
        first[i] = intern_add(&in, name, (size_t)snprintf(name, sizeof name, "kernel%d", i));
    for (int i = 0; i < 2000; i++) {
        int len = snprintf(name, sizeof name, "kernel%d", i);
        CHECK(intern_add(&in, name, (size_t)len) == first[i]);
        CHECK_STR(first[i], name);
    }
    CHECK_INT(in.count, 2000);
    CHECK(intern_add(&in, "", 0) == intern_add(&in, "x", 0));
    CHECK(intern_add(&in, "a\0b", 3) == intern_add(&in, "a", 1)); /* cut at the NUL */
    CHECK(intern_add(&in, "ab", 2) != intern_add(&in, "a", 1));
    intern_release(&in);
    CHECK_STR(first[1999], "kernel1999"); /* the strings stay with the arena */
    arena_release(&a);
}

TEST(array_grow_keeps_and_zeroes)
{
    int *values = NULL;
    size_t cap = 0;
    for (int i = 0; i < 1000; i++) {
        ARRAY_GROW(values, cap, (size_t)i + 1);
        CHECK_INT(values[i], 0);
        values[i] = i;
    }
    CHECK_INT(values[500], 500);
    CHECK(cap >= 1000 && cap < 4000);
    free(values);
}

TEST(buf_grows_and_stays_a_string)
{
    struct buf b = BUF_INIT;
    CHECK_STR(b.data, "");
    buf_puts(&b, "");
    CHECK_STR(b.data, "");
    for (int i = 0; i < 5000; i++)
        buf_printf(&b, "%d,", i % 10);
    CHECK_INT(b.len, 10000);
    CHECK_INT(strlen(b.data), 10000);
    buf_reset(&b);
    CHECK_STR(b.data, "");
    buf_put(&b, "a\0b", 3);
    CHECK_INT(b.len, 3);
    buf_release(&b);
    CHECK_STR(b.data, "");
    buf_reset(&b); /* the shared empty string is not written to */
    buf_putc(&b, 'x');
    CHECK_STR(b.data, "x");
    CHECK_STR(buf_empty, "");
    buf_release(&b);
}

TEST(buf_printable_takes_the_teeth_out_of_control_bytes)
{
    struct buf b = BUF_INIT;
    buf_put_printable(&b, "a\033[31m\n\x7f\xc2\x9b\xc3\xa4z", 13);
    CHECK_STR(b.data, "a?[31m???\xc3\xa4z"); /* U+009B is an escape to terminals, U+00E4 a letter */
    buf_release(&b);
}

TEST(err_keeps_code_and_text)
{
    char longer[3000];
    struct err e;
    CHECK_INT(err_set(&e, ERR_INPUT, "%s: line %d", "file", 3), -1);
    CHECK_INT(e.code, ERR_INPUT);
    CHECK_STR(e.msg, "file: line 3");
    CHECK_INT(err_prefix(&e, "rank %d", 7), -1);
    CHECK_STR(e.msg, "rank 7: file: line 3");
    CHECK_INT(err_set(NULL, ERR_INPUT, "not wanted"), -1);
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    err_set(&e, ERR_USAGE, "%s", longer);
    CHECK_INT(strlen(e.msg), sizeof e.msg - 1);
    err_prefix(&e, "%s", longer);
    CHECK_INT(strlen(e.msg), sizeof e.msg - 1);
}

/* Names in files, and messages of libraries about them. */
TEST(err_is_safe_for_a_terminal)
{
    struct err e;
    err_set(&e, ERR_INPUT, "unrecognized token: \"%s\"", "\033[31m\xc2\x9b\n\xc3\xa4");
    CHECK_STR(e.msg, "unrecognized token: \"?[31m??\xc3\xa4\"");
    err_prefix(&e, "%s", "a\033");
    CHECK_HAS(e.msg, "a?: unrecognized");
}

/* nccl-tests, doc/PERFORMANCE.md, by hand: 1000 fp16 elements, 8 ranks. */
TEST(words_bytes_and_bus_factors)
{
    static const struct {
        enum specter_comm_op op;
        uint64_t bytes;
        double factor;
    } cases[] = {
        {SPECTER_ALLREDUCE, 2000, 1.75},
        {SPECTER_ALLGATHER, 16000, 0.875},
        {SPECTER_REDUCESCATTER, 16000, 0.875},
        {SPECTER_ALLTOALL, 16000, 0.875},
        {SPECTER_ALLTOALLV, 2000, 0.875},
        {SPECTER_BROADCAST, 2000, 1},
        {SPECTER_REDUCE, 2000, 1},
        {SPECTER_GATHER, 16000, 0.875},
        {SPECTER_SCATTER, 16000, 0.875},
        {SPECTER_SEND, 2000, 1},
        {SPECTER_RECV, 2000, 1},
        {SPECTER_PUT, 2000, 1},
        {SPECTER_SIGNAL, 2000, 1},
        {SPECTER_WAIT_SIGNAL, 2000, 1},
    };
    CHECK_INT(sizeof cases / sizeof *cases, SPECTER_COMM_OP_COUNT);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_INT(specter_comm_op_bytes(cases[i].op, 1000, SPECTER_FP16, 8), cases[i].bytes);
        CHECK_DOUBLE(specter_comm_op_bus_factor(cases[i].op, 8), cases[i].factor, 0);
    }
}

TEST(words_bytes_at_the_edges)
{
    CHECK_INT(specter_comm_op_bytes(SPECTER_ALLREDUCE, 3, SPECTER_FP4, 8), 2); /* 1.5 bytes */
    CHECK_INT(specter_comm_op_bytes(SPECTER_ALLREDUCE, 0, SPECTER_FP32, 8), 0);
    CHECK_INT(specter_comm_op_bytes(SPECTER_ALLREDUCE, UINT64_MAX, SPECTER_FP32, 8), 0);
    CHECK_INT(specter_comm_op_bytes(SPECTER_ALLGATHER, (uint64_t)1 << 58, SPECTER_FP32, 64), 0);
    CHECK_INT(specter_comm_op_bytes(SPECTER_ALLREDUCE, 1, SPECTER_DTYPE_UNKNOWN, 8), 0);
    CHECK_INT(specter_comm_op_bytes(SPECTER_COMM_OP_COUNT, 1, SPECTER_FP32, 8), 0);
    CHECK_DOUBLE(specter_comm_op_bus_factor(SPECTER_ALLREDUCE, 1), 0, 0);
    CHECK_DOUBLE(specter_comm_op_bus_factor(SPECTER_ALLREDUCE, 0), 0, 0);
    CHECK_DOUBLE(specter_comm_op_bus_factor(SPECTER_SEND, 1), 1, 0);
    CHECK_DOUBLE(specter_comm_op_bus_factor(SPECTER_COMM_OP_COUNT, 8), 0, 0);
}

/* Every name of every table reads back as itself; what is not a name does not. */
TEST(words_names_read_back)
{
    for (int i = 0; i < SPECTER_COMM_OP_COUNT; i++) {
        const char *name = specter_comm_op_name((enum specter_comm_op)i);
        CHECK_INT(specter_comm_op_parse(name, strlen(name)), i);
    }
    for (int i = 0; i < SPECTER_DTYPE_COUNT; i++) {
        const char *name = specter_dtype_name((enum specter_dtype)i);
        CHECK_INT(specter_dtype_parse(name, strlen(name)), i);
    }
    for (int i = 0; i < SPECTER_REDOP_COUNT; i++) {
        const char *name = specter_redop_name((enum specter_redop)i);
        CHECK_INT(specter_redop_parse(name, strlen(name)), i);
    }
    for (int i = 0; i < SPECTER_TIMING_COUNT; i++) {
        const char *name = specter_timing_name((enum specter_timing)i);
        CHECK_INT(specter_timing_parse(name, strlen(name)), i);
    }
    CHECK_STR(specter_comm_op_name(SPECTER_COMM_OP_COUNT), "unknown");
    CHECK_STR(specter_dtype_name(SPECTER_DTYPE_UNKNOWN), "unknown");
    CHECK_STR(specter_timing_name(SPECTER_TIMING_COUNT), "unknown");
    CHECK_INT(specter_dtype_parse("FP16", 4), SPECTER_DTYPE_UNKNOWN); /* files: exact */
    CHECK_INT(specter_dtype_parse("fp1", 3), SPECTER_DTYPE_UNKNOWN);
}

TEST(words_operations_in_any_spelling)
{
    static const char *const spellings[] = {"AllReduce", "allreduce", "all_reduce", "ALL-REDUCE"};
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        CHECK_INT(specter_comm_op_parse(spellings[i], strlen(spellings[i])), SPECTER_ALLREDUCE);
    CHECK_INT(specter_comm_op_parse("alltoall", 8), SPECTER_ALLTOALL);
    CHECK_INT(specter_comm_op_parse("alltoallv", 9), SPECTER_ALLTOALLV);
    CHECK_INT(specter_comm_op_parse("allreduces", 10), SPECTER_COMM_OP_COUNT);
    CHECK_INT(specter_comm_op_parse("", 0), SPECTER_COMM_OP_COUNT);
}

/* Values from nccl.h 2.28 and library_types.h 13.0. */
TEST(names_versions_of_nccl)
{
    static const struct {
        const char *text;
        int version;
    } cases[] = {
        {"2.28.9", 22809},
        {"2.28", 22899},
        {"20000", 20000},
        {"19999", 0},
        {"9.99", 99999},
        {"1.99", 0},
        {"22809", 22809},
        {"2.9.6", 20906},
        {"2.28.9-1", 22809},
        {"2.27.5+cuda12.4", 22705},
        {"", 0},
        {"2", 0},
        {"2.", 0},
        {"2.28.", 0},
        {"2.100", 0},
        {"2.28.9.1", 0},
        {"1.3.5", 0},
        {"2280", 0},
        {"228099", 0},
        {"-2.28", 0},
        {"2.28.9 ", 0},
        {"99999999999", 0},
        {"v2.28", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_INT(specter_nccl_version_parse(cases[i].text), cases[i].version);
    CHECK_INT(specter_nccl_version_of_library("NCCL 2.27.3"), 22703);
    CHECK_INT(specter_nccl_version_of_library("RCCL 2.22.3"), 0);
    CHECK_INT(specter_nccl_version_of_library("NCCL"), 0);
}

TEST(words_types_of_nccl_and_cuda)
{
    CHECK_INT(specter_dtype_from_nccl(6), SPECTER_FP16);
    CHECK_INT(specter_dtype_from_nccl(9), SPECTER_BF16);
    CHECK_INT(specter_dtype_from_nccl(11), SPECTER_FP8E5M2);
    CHECK_INT(specter_dtype_from_nccl(12), SPECTER_DTYPE_UNKNOWN);
    CHECK_INT(specter_dtype_from_nccl(-1), SPECTER_DTYPE_UNKNOWN);
    CHECK_INT(specter_dtype_from_cuda(0), SPECTER_FP32);
    CHECK_INT(specter_dtype_from_cuda(14), SPECTER_BF16);
    CHECK_INT(specter_dtype_from_cuda(-1), SPECTER_DTYPE_UNKNOWN);
    CHECK_INT(specter_redop_from_nccl(4), SPECTER_REDOP_AVG);
    CHECK_INT(specter_redop_from_nccl(5), SPECTER_REDOP_PREMUL);
    CHECK_INT(specter_redop_from_nccl(-1), SPECTER_REDOP_NONE);
    CHECK_INT(specter_dtype_bits(SPECTER_FP4), 4);
    CHECK_INT(specter_dtype_bits(SPECTER_BF16), 16);
    CHECK_INT(specter_dtype_bits(SPECTER_DTYPE_UNKNOWN), 0);
    CHECK(specter_comm_op_is_p2p(SPECTER_RECV) && !specter_comm_op_is_p2p(SPECTER_SCATTER));
}

/* Against a look at each in turn; numbers that stand there several times included. */
TEST(bisect_finds_the_first_that_is_not_before)
{
    static const int list[] = {2, 3, 3, 3, 7, 8, 8, 11};
    for (size_t n = 0; n <= sizeof list / sizeof *list; n++) {
        for (int key = 1; key <= 12; key++) {
            struct bisect find = {.high = n};
            size_t first = 0;
            while (first < n && list[first] < key)
                first++;
            while (bisect_next(&find))
                bisect_take(&find, list[find.mid] < key);
            CHECK_INT((int64_t)find.low, (int64_t)first);
        }
    }
}

/* As execvp() does. */
TEST(child_find_passes_over_folders)
{
    char folder[] = "child.XXXXXX", path[64], found[64];
    const char *before = getenv("PATH");
    char *kept = before != NULL ? strdup(before) : NULL;
    CHECK(mkdtemp(folder) != NULL);
    for (int i = 0; i < 2; i++) {
        FILE *f;
        snprintf(path, sizeof path, "%s/%c", folder, "ab"[i]);
        CHECK_INT(mkdir(path, 0700), 0);
        snprintf(path, sizeof path, "%s/%c/tool", folder, "ab"[i]);
        if (i == 0)
            CHECK_INT(mkdir(path, 0700), 0);
        else if ((f = fopen(path, "w")) != NULL)
            fclose(f);
    }
    snprintf(path, sizeof path, "%s/a:%s/b", folder, folder);
    setenv("PATH", path, 1);
    snprintf(path, sizeof path, "%s/b/tool", folder);
    CHECK(child_find("tool", R_OK, found, sizeof found));
    CHECK_STR(found, path);
    if (kept != NULL)
        setenv("PATH", kept, 1);
    free(kept);
    unlink(path);
    snprintf(path, sizeof path, "%s/a/tool", folder);
    rmdir(path);
    snprintf(path, sizeof path, "%s/a", folder);
    rmdir(path);
    snprintf(path, sizeof path, "%s/b", folder);
    rmdir(path);
    rmdir(folder);
}
