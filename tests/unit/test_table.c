/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "report/table.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static char *printed_within(const struct table *t, size_t width)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    table_print_within(t, width, f);
    fclose(f);
    return text;
}

static char *printed(const struct table *t)
{
    return printed_within(t, SIZE_MAX);
}

TEST(table_aligns_and_leaves_no_trailing_space)
{
    struct table t;
    char *text;
    table_init(&t);
    table_column(&t, "op", TABLE_LEFT);
    table_column(&t, "count", TABLE_RIGHT);
    table_column(&t, "note", TABLE_LEFT);
    table_cell(&t, "AllReduce");
    table_cell(&t, "%d", 7);
    table_cell(&t, "%s", "");
    table_cell(&t, "Send");
    table_cell(&t, "%d", 123456);
    table_cell(&t, "x");
    text = printed(&t);
    CHECK_STR(text, "  op          count  note\n"
                    "  ---------  ------  ----\n"
                    "  AllReduce       7\n"
                    "  Send       123456  x\n");
    free(text);
    table_release(&t);
    CHECK_INT(t.ncells, 0);
}

TEST(table_leaves_out_optional_columns_that_do_not_fit)
{
    static const char *const wanted[] = {"  a   b   c\n  --  --  --\n  11  22  33\n",
                                         "  a   c\n  --  --\n  11  33\n", "  c\n  --\n  33\n"};
    static const size_t widths[] = {12, 11, 7, 0};
    struct table t;
    table_init(&t);
    table_column(&t, "a", TABLE_LEFT);
    table_optional(&t);
    table_column(&t, "b", TABLE_LEFT);
    table_optional(&t);
    table_column(&t, "c", TABLE_LEFT);
    table_cell(&t, "11");
    table_cell(&t, "22");
    table_cell(&t, "33");
    for (size_t i = 0; i < 4; i++) {
        char *text = printed_within(&t, widths[i]);
        CHECK_STR(text, wanted[i < 2 ? i : 2]);
        free(text);
    }
    table_release(&t);
}

TEST(table_names_columns_that_have_no_room)
{
    struct table t;
    table_init(&t);
    table_column(&t, "first", TABLE_LEFT);
    table_column(&t, "second", TABLE_RIGHT);
    table_optional(&t);
    table_column(&t, "third", TABLE_RIGHT);
    table_column(&t, "fourth", TABLE_RIGHT);
    for (int i = 1; i <= 4; i++)
        table_cell(&t, "%d", i);
    char *text = printed_within(&t, 20);
    CHECK_STR(text, "  first  third\n  -----  -----\n  1          3\n  too narrow for: fourth\n");
    free(text);
    text = printed_within(&t, 1); /* one column stays */
    CHECK_STR(text, "  first\n  -----\n  1\n  too narrow for: third,\n    fourth\n");
    free(text);
    table_release(&t);
}

TEST(table_breaks_a_last_column_of_text)
{
    struct table t;
    table_init(&t);
    table_column(&t, "n", TABLE_RIGHT);
    table_column(&t, "what it tells", TABLE_LEFT);
    table_cell(&t, "10");
    table_cell(&t, "where the time of each of the steps goes");
    table_cell(&t, "2");
    table_cell(&t, "%s", "");
    char *text = printed_within(&t, 30);
    CHECK_STR(text, "   n  what it tells\n"
                    "  --  ------------------------\n"
                    "  10  where the time of each\n"
                    "      of the steps goes\n"
                    "   2\n");
    free(text);
    table_release(&t);
}

TEST(table_empty_and_unfinished_rows)
{
    struct table t;
    char *text;
    table_init(&t);
    text = printed(&t);
    CHECK_STR(text, "");
    free(text);
    table_column(&t, "a", TABLE_LEFT);
    table_column(&t, "b", TABLE_LEFT);
    text = printed(&t);
    CHECK_STR(text, "  a  b\n  -  -\n");
    free(text);
    table_cell(&t, "1");
    text = printed(&t);
    CHECK_STR(text, "  a  b\n  -  -\n  1\n");
    free(text);
    table_release(&t);
}

TEST(table_counts_characters_not_bytes)
{
    struct table t;
    char *text;
    table_init(&t);
    table_column(&t, "n", TABLE_LEFT);
    table_column(&t, "v", TABLE_RIGHT);
    table_text(&t, "\xc2\xb5s", 10);
    table_cell(&t, "1");
    table_text(&t, "abc", 10);
    table_cell(&t, "22");
    text = printed(&t);
    CHECK_STR(text, "  n     v\n  ---  --\n  \xc2\xb5s    1\n  abc  22\n");
    free(text);
    table_release(&t);
}

TEST(table_text_is_safe_for_a_terminal)
{
    char buf[64];
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"plain", "plain"},
        {"\x1b[31mred", "?[31mred"},
        {"a\nb\tc", "a?b?c"},
        {"\x7f", "?"},
        {"\xc2\x9b"
         "31m",
         "?31m"}, /* CSI as a C1 control */
        {"\xe2\x80\xae"
         "x",
         "?x"},                       /* right-to-left override */
        {"\xc0\xaf", "??"},           /* overlong */
        {"\xed\xa0\x80", "???"},      /* surrogate */
        {"\xf5\x80\x80\x80", "????"}, /* above U+10FFFF */
        {"\xff", "?"},
        {"\xe2\x82", "??"},               /* cut character at the end */
        {"\xe2\x82\xac", "\xe2\x82\xac"}, /* euro sign */
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_STR(text_safe(buf, sizeof buf, cases[i].in, 40), cases[i].out);
}

TEST(table_text_cuts_with_an_ellipsis)
{
    char buf[64], tiny[4];
    CHECK_STR(text_safe(buf, sizeof buf, "12345678", 8), "12345678");
    CHECK_STR(text_safe(buf, sizeof buf, "123456789", 8), "12345...");
    CHECK_STR(text_safe(buf, sizeof buf, "\xc2\xb5\xc2\xb5\xc2\xb5\xc2\xb5\xc2\xb5", 4),
              "\xc2\xb5...");
    CHECK_STR(text_safe(buf, sizeof buf, "abcdef", 3), "...");
    CHECK_STR(text_safe(tiny, sizeof tiny, "abcdef", 10), "abc");
}

TEST(table_times_for_people)
{
    char b[32];
    CHECK_STR(text_ns(b, sizeof b, 0), "0 ns");
    CHECK_STR(text_ns(b, sizeof b, 850), "850 ns");
    CHECK_STR(text_ns(b, sizeof b, 999.6), "1.00 us");
    CHECK_STR(text_ns(b, sizeof b, 12345), "12.3 us");
    CHECK_STR(text_ns(b, sizeof b, 4.56e6), "4.56 ms");
    CHECK_STR(text_ns(b, sizeof b, 99.96e3), "100 us");
    CHECK_STR(text_ns(b, sizeof b, 999.6e3), "1.00 ms");
    CHECK_STR(text_ns(b, sizeof b, 1.2e9), "1.20 s");
    CHECK_STR(text_ns(b, sizeof b, 12345e9), "12345 s");
    CHECK_STR(text_ns(b, sizeof b, -4.56e6), "-4.56 ms");
    CHECK_STR(text_ns(b, sizeof b, 999999e9), "999999 s");
    CHECK_STR(text_ns(b, sizeof b, 1e15), "1e+06 s");
    CHECK_STR(text_ns(b, sizeof b, 1e30), "1e+21 s");
    CHECK_STR(text_ns(b, 16, -1.797e308), "-1.8e+299 s");
    CHECK_STR(text_ns(b, sizeof b, NAN), "-");
    CHECK_STR(text_ns(b, sizeof b, INFINITY), "-");
}

TEST(table_sizes_for_people)
{
    char b[32];
    CHECK_STR(text_bytes(b, sizeof b, 0), "0 B");
    CHECK_STR(text_bytes(b, sizeof b, 512), "512 B");
    CHECK_STR(text_bytes(b, sizeof b, 1000), "1000 B");
    CHECK_STR(text_bytes(b, sizeof b, 1536), "1.5 KiB");
    CHECK_STR(text_bytes(b, sizeof b, 67108864), "64 MiB");
    CHECK_STR(text_bytes(b, sizeof b, 0x1p20 - 1), "1 MiB");
    CHECK_STR(text_bytes(b, sizeof b, 0x1p64), "16384 PiB");
    CHECK_STR(text_bytes(b, sizeof b, 1e30), "8.88e+14 PiB");
    CHECK_STR(text_bytes(b, 16, -1.797e308), "-1.6e+293 PiB");
    CHECK_STR(text_bytes(b, sizeof b, NAN), "-");
}
