/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "report/json_add.h"
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

static void print_all(const struct sheet *s, FILE *out)
{
    sheet_print(s, 100, out);
}

/* A change that rounds to nothing has no sign. */
TEST(sheet_has_no_minus_before_zero)
{
    static const struct sheet_column shares[] = {{"change", "change", SHEET_SHARE, 0}};
    struct sheet s;
    char *text;
    sheet_init(&s, "step", "Step", SHEET_COLUMNS(shares));
    sheet_number(&s, -0.0004);
    sheet_number(&s, -0.0006);
    text = captured(&s, print_all);
    CHECK(strstr(text, "   0.0 %\n") != NULL);
    CHECK(strstr(text, "  -0.1 %\n") != NULL);
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

/* Names that differ at their end, in their middle only, in their namespace only; equal ones stay.
 */
TEST(sheet_tells_cut_names_apart)
{
    static const struct sheet_column names_only[] = {{"name", "kernel", SHEET_NAME, 20}};
    static const char *const names[] = {"void at::native::elementwise_kernel<128, 2>",
                                        "void at::native::elementwise_kernel<128, 4>",
                                        "void at::native::elementwise_kernel<128, 4>",
                                        "aaaaaaaaaaaaaaaaaaaaXaaaaaaaaaaaaaaaaaaaa",
                                        "aaaaaaaaaaaaaaaaaaaaYaaaaaaaaaaaaaaaaaaaa",
                                        "one::k",
                                        "two::k",
                                        "elementwise_kernel<other>"};
    struct sheet s;
    char *text;
    sheet_init(&s, "work", "Work", SHEET_COLUMNS(names_only));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        sheet_text(&s, names[i]);
    text = captured(&s, print_all);
    CHECK_STR(text, "\nWork\n"
                    "  kernel\n"
                    "  --------------------\n"
                    "  elementw...l<128, 2>\n"
                    "  elementw...l<128, 4>\n"
                    "  elementw...l<128, 4>\n"
                    "  aaaaaaaa...a (1)\n"
                    "  aaaaaaaa...a (2)\n"
                    "  one::k\n"
                    "  two::k\n"
                    "  elementw...el<other>\n");
    free(text);
    sheet_release(&s);
}

TEST(sheet_markdown_escapes)
{
    static const struct sheet_column names_only[] = {{"name", "kernel", SHEET_TEXT, 80}};
    struct sheet s;
    char *text;
    sheet_init(&s, "work", "Work", SHEET_COLUMNS(names_only));
    sheet_text(&s, "*a* [b](c) `d` <e> f|g \\h __i__ j_k &lt; ~~l~~");
    sheet_note(&s, "of '*m* [n] `o`'");
    text = captured(&s, sheet_markdown);
    CHECK(strstr(text, "\\*a\\* \\[b\\](c) \\`d\\` \\<e> f\\|g ") != NULL);
    CHECK(strstr(text, "\\\\h \\_") != NULL);
    CHECK(strstr(text, " j_k \\&lt; \\~\\~l") != NULL);
    CHECK(strstr(text, "\nof '\\*m\\* \\[n\\] \\`o\\`'\n") != NULL);
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
    fill(&s);
    CHECK_INT(sheet_json_rows(&s), 3);
    cJSON *first = sheet_json_row(&s, 0), *last = sheet_json_row(&s, 2);
    CHECK_INT(cJSON_GetArraySize(first), 5);
    CHECK(fabs(cJSON_GetObjectItem(first, "total_us")->valuedouble - 12345.678) < 1e-9);
    CHECK(cJSON_IsNull(cJSON_GetObjectItem(last, "name")));
    CHECK(cJSON_IsNull(cJSON_GetObjectItem(last, "share")));
    cJSON_Delete(first);
    cJSON_Delete(last);
    sheet_release(&s);
}

/* The bytes that cJSON prints of the same document. */
TEST(json_stream_is_as_cjson_prints)
{
    static const char json[] =
        "{\"text\":\"a\\nb\\t\\\"\",\"empty\":{},\"none\":[],\"list\":[1,{\"a\":"
        "{\"b\":[2,{}]}},null],\"object\":{\"x\":[{\"y\":1},{\"z\":{}}]}}";
    cJSON *doc = cJSON_Parse(json), *list = cJSON_GetObjectItem(doc, "list");
    char *want = cJSON_Print(doc), *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct json_stream s;
    cJSON *object = cJSON_DetachItemFromObject(doc, "object");
    cJSON_DetachItemViaPointer(doc, list);
    json_stream_begin(&s, out);
    json_stream_members(&s, doc);
    CHECK(doc->child == NULL);
    json_stream_list(&s, "list");
    while (list->child != NULL)
        json_stream_element(&s, cJSON_DetachItemViaPointer(list, list->child));
    json_stream_list_end(&s);
    cJSON_AddItemToObject(doc, "object", object);
    json_stream_members(&s, doc);
    json_stream_end(&s);
    fclose(out);
    CHECK_STR(text, want);
    free(text);
    free(want);
    cJSON_Delete(list);
    cJSON_Delete(doc);
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
