/* SPDX-License-Identifier: MIT */
#include "calib/csv.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

/* All records as text: fields between |, a line each, "LINE: problem" for what cannot be read. */
static const char *records(const char *text, size_t len)
{
    static struct buf out;
    struct csv c;
    if (out.data == NULL)
        buf_init(&out);
    buf_reset(&out);
    csv_init(&c, text, len);
    while (csv_next(&c)) {
        buf_printf(&out, "%zu:", c.line);
        for (size_t i = 0; c.problem == NULL && i < c.count; i++)
            buf_printf(&out, "%s|", c.fields[i]);
        buf_printf(&out, "%s\n", c.problem != NULL ? c.problem : "");
    }
    csv_release(&c);
    return out.data;
}

TEST(csv_reads_what_rfc_4180_has)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", ""},
        {"a", "1:a|\n"},
        {"a,b\n", "1:a|b|\n"},
        {"a,b\r\nc,d\r\n", "1:a|b|\n2:c|d|\n"},
        {"a,\n,b", "1:a||\n2:|b|\n"},
        {",", "1:||\n"},
        {"\"a,b\",c", "1:a,b|c|\n"},
        {"\"say \"\"a\"\"\",c\n", "1:say \"a\"|c|\n"},
        {"\"\",\"\"\n", "1:||\n"},
        {"\"two\nlines\",x\ny,z\n", "1:two\nlines|x|\n3:y|z|\n"},
        {"\xEF\xBB\xBF"
         "a,b\n",
         "1:a|b|\n"},
        {"\n\r\na\n   \n\nb", "3:a|\n6:b|\n"},
        {"5\" disk,b\n", "1:5\" disk|b|\n"},
        {"a\rb,c\n", "1:a\rb|c|\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_STR(records(cases[i].text, strlen(cases[i].text)), cases[i].want);
}

TEST(csv_goes_on_behind_what_cannot_be_read)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"a\n\"b\nc\nd\n", "1:a|\n2:a quote is not closed\n3:c|\n4:d|\n"},
        {"\"a\"b,c\nd\n", "1:text after a closing quote\n2:d|\n"},
        {"\"a\n\"b\nc\n", "1:text after a closing quote\n2:a quote is not closed\n3:c|\n"},
        {"\"", "1:a quote is not closed\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_STR(records(cases[i].text, strlen(cases[i].text)), cases[i].want);
    CHECK_STR(records("a\0b\nc\n", 6), "1:a NUL byte\n2:c|\n");
    CHECK_STR(records("\"a\0\"\nc\n", 7), "1:a NUL byte\n2:c|\n");
}

/* `before`, `n` times `fill`, `behind`. */
static const char *long_record(const char *before, char fill, size_t n, const char *behind)
{
    struct buf text = BUF_INIT;
    const char *out;
    buf_puts(&text, before);
    memset(buf_reserve(&text, n), fill, n);
    text.len += n;
    buf_puts(&text, behind);
    out = records(text.data, text.len);
    buf_release(&text);
    return out;
}

TEST(csv_records_are_bounded)
{
    const char *fits = long_record("", 'x', CSV_RECORD_MAX, "\nb\n");
    CHECK_HAS(fits, "xxx|\n2:b|\n");
    CHECK_STR(long_record("", 'x', CSV_RECORD_MAX + 1, "\nb\n"),
              "1:longer than 65536 bytes\n2:b|\n");
    CHECK_STR(long_record("\"", 'x', CSV_RECORD_MAX, "\"\nb\n"),
              "1:a quote is not closed within 65536 bytes\n2:b|\n");
    CHECK_STR(long_record("", ',', CSV_FIELDS_MAX, "\nb\n"), "1:more than 256 fields\n2:b|\n");
    CHECK_STR(long_record("\"a\n", '\n', CSV_RECORD_MAX, "b\n"),
              "1:a quote is not closed within 65536 bytes\n65538:b|\n");
}
