/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "report/sheet.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct sheet_column columns[] = {
    {"name", "kernel", SHEET_NAME, 12}, {"class", NULL, SHEET_TEXT, 0},
    {NULL, "shown", SHEET_TEXT, 0},     {"count", "count", SHEET_COUNT, 0},
    {"total_us", "total", SHEET_NS, 0}, {"share", "share", SHEET_SHARE, 0},
};

static void row(struct sheet *s, const char *name, double count, double total_ns, double share)
{
    sheet_text(s, name);
    sheet_text(s, "gemm");
    sheet_text(s, "!");
    sheet_number(s, count);
    sheet_number(s, total_ns);
    sheet_number(s, share);
}

static void fill(struct sheet *s)
{
    sheet_init(s, "work", "Work", SHEET_COLUMNS(columns));
    row(s, "void at::native::gemm<x>", 2, 12345678, 0.25);
    row(s, "=cmd(),\"x\"\x1b", 1, NAN, 0.001);
    row(s, "", 3, 1000, NAN);
    sheet_note(s, "of %d ranks", 8);
}

static char *captured(const struct sheet *s, void (*print)(const struct sheet *, FILE *))
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    print(s, f);
    fclose(f);
    return text;
}

static void print_two(const struct sheet *s, FILE *out)
{
    sheet_print(s, 2, out);
}

TEST(sheet_for_people)
{
    struct sheet s;
    char *text;
    fill(&s);
    text = captured(&s, print_two);
    CHECK_STR(text, "\nWork, ms\n"
                    "  kernel       shown  count  total  share\n"
                    "  -----------  -----  -----  -----  -----\n"
                    "  gemm<x>      !          2  12.35   25 %\n"
                    "  =cmd(),\"x\"?  !          1      -  0.1 %\n"
                    "  and 1 more (--table work)\n"
                    "  of 8 ranks\n");
    free(text);
    sheet_release(&s);
}

TEST(sheet_as_markdown)
{
    struct sheet s;
    char *text;
    fill(&s);
    text = captured(&s, sheet_markdown);
    CHECK(strstr(text, "\n## Work, ms\n\n| kernel | shown | count | total | share |\n") == text);
    CHECK(strstr(text, "| - | ! | 3 | 0.00 | - |\n\nof 8 ranks\n") != NULL);
    free(text);
    sheet_release(&s);
}

TEST(sheet_as_csv_holds_no_formula_and_all_digits)
{
    struct sheet s;
    char *text;
    fill(&s);
    text = captured(&s, sheet_csv);
    CHECK_STR(text, "name,class,count,total_us,share\n"
                    "void at::native::gemm<x>,gemm,2,12345.678,0.25\n"
                    "\"'=cmd(),\"\"x\"\"?\",gemm,1,,0.001\n"
                    ",gemm,3,1,\n");
    free(text);
    sheet_release(&s);
}

TEST(sheet_as_json)
{
    struct sheet s;
    cJSON *list;
    fill(&s);
    list = sheet_json(&s);
    CHECK_INT(cJSON_GetArraySize(list), 3);
    const cJSON *first = cJSON_GetArrayItem(list, 0), *last = cJSON_GetArrayItem(list, 2);
    CHECK_INT(cJSON_GetArraySize(first), 5);
    CHECK(fabs(cJSON_GetObjectItem(first, "total_us")->valuedouble - 12345.678) < 1e-9);
    CHECK(cJSON_IsNull(cJSON_GetObjectItem(last, "name")));
    CHECK(cJSON_IsNull(cJSON_GetObjectItem(last, "share")));
    cJSON_Delete(list);
    sheet_release(&s);
}

TEST(sheet_without_rows_is_not_printed)
{
    struct sheet s;
    char *text;
    sheet_init(&s, "work", "Work", SHEET_COLUMNS(columns));
    sheet_note(&s, "nothing");
    text = captured(&s, print_two);
    CHECK_STR(text, "");
    free(text);
    text = captured(&s, sheet_csv);
    CHECK_STR(text, "name,class,count,total_us,share\n");
    free(text);
    sheet_release(&s);
}
