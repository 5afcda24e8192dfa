/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include "base/buf.h"
#include "base/json_scan.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct json json_of(const char *text)
{
    struct json j;
    json_init(&j, text, strlen(text));
    return j;
}

/* ---- numbers ---- */

TEST(json_integers)
{
    static const struct {
        const char *text;
        int64_t value;
        const char *error;
    } cases[] = {
        {"0", 0, NULL},
        {"-0", 0, NULL},
        {" 7 ", 7, NULL},
        {"12345678", 12345678, NULL},
        {"123456789", 123456789, NULL},
        {"1234567890123456", 1234567890123456, NULL},
        {"12345678901234567", 12345678901234567, NULL},
        {"9223372036854775807", INT64_MAX, NULL},
        {"-9223372036854775808", INT64_MIN, NULL},
        {"9223372036854775808", 0, "number out of range"},
        {"-9223372036854775809", 0, "number out of range"},
        {"99999999999999999999999999999999999999999999", 0, "number out of range"},
        {"1.9", 1, NULL},
        {"-1.9", -1, NULL},
        {"1.5e3", 1500, NULL},
        {"12e-1", 1, NULL},
        {"1e400", 0, "number out of range"},
        {"1e-400", 0, NULL},
        {"0e99999999999999999999", 0, NULL},
        {"null", -7, NULL},
        {"012", 0, "number with a leading zero"},
        {"-012", 0, "number with a leading zero"},
        {"-", 0, "the text ends too early"},
        {"-x", 0, "expected a digit"},
        {"1.", 0, "the text ends too early"},
        {"1.x", 0, "expected a digit"},
        {"1e", 0, "the text ends too early"},
        {"1e+x", 0, "expected a digit"},
        {".5", 0, "expected a number"},
        {"+5", 0, "expected a number"},
        {"\"5\"", 0, "expected a number"},
        {"true", 0, "expected a number"},
        {"", 0, "the text ends too early"},
        {"nul", 0, "the text ends too early"},
        {"nope", 0, "expected a value"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json j = json_of(cases[i].text);
        CHECK_INT(json_i64(&j, -7), cases[i].value);
        if (cases[i].error == NULL)
            json_end(&j);
        CHECK_STR(j.error != NULL ? j.error : "", cases[i].error != NULL ? cases[i].error : "");
    }
}

TEST(json_unsigned)
{
    struct json j = json_of("18446744073709551615");
    CHECK(json_u64(&j, 0) == UINT64_MAX);
    j = json_of("18446744073709551616");
    json_u64(&j, 0);
    CHECK_STR(j.error, "number out of range");
    j = json_of("-1 ");
    json_u64(&j, 0);
    CHECK_STR(j.error, "negative number");
    CHECK_INT(json_offset(&j), 0);
    j = json_of("-0");
    CHECK_INT(json_u64(&j, 5), 0);
    CHECK(j.error == NULL);
}

TEST(json_times_are_exact)
{
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"1694128201436255.123", 1694128201436255123},
        {"1694128201436255", 1694128201436255000},
        {"1694128201436255.1", 1694128201436255100},
        {"1694128201436255.12300000000000000000000000000", 1694128201436255123},
        {"1694128201436255.1234999999999999999999999999999", 1694128201436255123},
        {"1694128201436255.1235", 1694128201436255124},
        {"-1.0005", -1001},
        {"-1.0004", -1000},
        {"0.001", 1},
        {"0.0004", 0},
        {"0.0005", 1},
        {"0.00049999999999999999999999999999999999", 0},
        {"1.5e3", 1500000},
        {"15E-4", 2},
        {"1e-3", 1},
        {"1e-30", 0},
        {"41.40699999999999", 41407},
        {"9223372036854775.807", INT64_MAX},
        {"-9223372036854775.808", INT64_MIN},
        {"0.000", 0},
        {"123456789.12345678", 123456789123},
        {"123456789.123456789", 123456789123},
        {"null", -9},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json j = json_of(cases[i].text);
        char padded[128];
        CHECK_INT(json_time_ns(&j, 1000, -9), cases[i].ns);
        CHECK(j.error == NULL);
        snprintf(padded, sizeof padded, "[%s                    ]", cases[i].text);
        j = json_of(padded); /* with room behind, the fast way */
        json_enter(&j, '[');
        CHECK(json_next_item(&j));
        CHECK_INT(json_time_ns(&j, 1000, -9), cases[i].ns);
        CHECK(!json_next_item(&j));
        CHECK(j.error == NULL);
    }
}

TEST(json_times_out_of_range)
{
    static const char *const cases[] = {"9223372036854775.808 ", "1e300 ", "1e18 ",
                                        "99999999999999999999 "};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json j = json_of(cases[i]);
        json_time_ns(&j, 1000, 0);
        CHECK_STR(j.error != NULL ? j.error : "none", "number out of range");
    }
}

TEST(json_other_time_units)
{
    struct json j = json_of("1.000000001");
    CHECK_INT(json_time_ns(&j, 1000000000, 0), 1000000001);
    j = json_of("0.0000000005                    ");
    CHECK_INT(json_time_ns(&j, 1000000000, 0), 1);
    j = json_of("12.9                            ");
    CHECK_INT(json_time_ns(&j, 1, 0), 13);
}

TEST(json_doubles)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"0", 0},
        {"1.5", 1.5},
        {"-2.5e-3", -0.0025},
        {"1e22", 1e22},
        {"1e308", 1e308},
        {"1e-308", 1e-308},
        {"5e-324", 5e-324},
        {"722.2", 722.2},
        {"0.1", 0.1},
        {"123456789012345678901234567890", 123456789012345678901234567890.0},
        {"1e-400", 0},
        {"null", 42},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json j = json_of(cases[i].text);
        CHECK_DOUBLE(json_double(&j, 42), cases[i].value, 3e-16);
        CHECK(j.error == NULL);
    }
    struct json j = json_of("1e309 ");
    json_double(&j, 0);
    CHECK_STR(j.error, "number out of range");
}

/* Random decimals, written by printf, come back as what they were, whatever their length. */
TEST(json_numbers_at_random)
{
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        char text[64];
        int64_t value;
        struct json j;
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        value = (int64_t)(x >> (x & 63));
        snprintf(text, sizeof text, "%lld%s", (long long)value, i & 1 ? ",                " : "");
        j = json_of(text);
        CHECK_INT(json_i64(&j, -1), value);
        value %= 1000000000000000000;
        snprintf(text, sizeof text, "%lld.%03lld%s", (long long)(value / 1000),
                 (long long)(llabs(value) % 1000), i & 1 ? ",                " : "");
        if (value < 0)
            continue;
        j = json_of(text);
        CHECK_INT(json_time_ns(&j, 1000, -1), value);
    }
}

/* ---- text ---- */

static const char *decoded(const char *text, struct buf *out)
{
    struct json j = json_of(text);
    buf_reset(out);
    json_decode(json_string(&j), out);
    return j.error != NULL ? j.error : out->data;
}

TEST(json_strings)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"\"\"", ""},
        {"\"plain\"", "plain"},
        {"\"a text of more than sixteen bytes\"", "a text of more than sixteen bytes"},
        {"\"q\\\"b\\\\s\\/\\b\\f\\n\\r\\t\"", "q\"b\\s/\b\f\n\r\t"},
        {"\"\\u0041\\u00e9\\u20ac\"", "A\xc3\xa9\xe2\x82\xac"},
        {"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80"},
        {"\"\\ud83d!\"", "\xef\xbf\xbd!"},
        {"\"\\ude00\"", "\xef\xbf\xbd"},
        {"\"\\ud83d\\u0041\"", "\xef\xbf\xbd"
                               "A"},
        {"null", ""},
        {"\"open", "the text ends too early"},
        {"\"open\\", "the text ends too early"},
        {"\"open\\u00", "the text ends too early"},
        {"\"\\u00g0\"", "bad escape in a string"},
        {"\"\\x\"", "bad escape in a string"},
        {"\"a\nb\"", "control byte in a string"},
        {"5", "expected a string"},
    };
    struct buf out = BUF_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_STR(decoded(cases[i].text, &out), cases[i].want);
    buf_release(&out);
}

TEST(json_decode_takes_anything)
{
    static const char *const cases[] = {"\\", "\\u", "\\u12", "\\q", "\\ud83d\\", "\\ud83d\\u12"};
    struct buf out = BUF_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json_text text = {cases[i], (uint32_t)strlen(cases[i]), true};
        buf_reset(&out);
        json_decode(text, &out);
        CHECK_HAS(out.data, "\xef\xbf\xbd");
    }
    buf_release(&out);
}

TEST(json_quote_escapes)
{
    struct buf out = BUF_INIT;
    json_quote(&out, "a\"b\\c\n\x01\xc3\xa9", 9);
    CHECK_STR(out.data, "\"a\\\"b\\\\c\\n\\u0001\xc3\xa9\"");
    buf_reset(&out);
    json_quote(&out, "\xff\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80\xe2\x82", 12);
    for (const char *p = out.data; *p != '\0'; p++)
        CHECK(*p == '"' || strchr("\xef\xbf\xbd", *p) != NULL);
    buf_reset(&out);
    json_quote(&out, "x\0y", 3);
    CHECK_STR(out.data, "\"x\\u0000y\"");
    buf_release(&out);
}

/* Text that json_quote() writes is decoded to the same bytes. */
TEST(json_quote_and_decode)
{
    struct buf quoted = BUF_INIT, back = BUF_INIT;
    char bytes[128];
    for (int i = 0; i < 127; i++)
        bytes[i] = (char)(i + 1);
    json_quote(&quoted, bytes, 127);
    buf_put(&back, decoded(quoted.data, &back), 0);
    CHECK_INT(back.len, 127);
    CHECK(memcmp(back.data, bytes, 127) == 0);
    buf_release(&quoted);
    buf_release(&back);
}

/* ---- structure ---- */

/* Reads any value with every function, to see what an error does. */
static void walk(struct json *j)
{
    struct json_text key;
    switch (json_peek(j)) {
    case '{':
        json_enter(j, '{');
        while (json_next_key(j, &key))
            walk(j);
        break;
    case '[':
        json_enter(j, '[');
        while (json_next_item(j))
            walk(j);
        break;
    case '"':
        json_string(j);
        break;
    case 't':
    case 'f':
    case 'n':
        json_bool(j, true);
        break;
    default:
        json_double(j, 0);
    }
}

static const char *walk_error(const char *text, size_t len, size_t *offset)
{
    char *exact = malloc(len + 1); /* so that a sanitizer sees each byte read after the end */
    struct json j;
    const char *error;
    memcpy(exact, text, len);
    json_init(&j, len > 0 ? exact : "", len);
    walk(&j);
    json_end(&j);
    error = j.error;
    *offset = json_offset(&j);
    free(exact);
    return error;
}

static const char sample[] =
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void k<float, 128>(int)\\n\\u00e9 "
    "\\\"q\\\"\",\n"
    "  \"ts\": 1694128201430109.125, \"dur\": 8, \"big\": 18446744073709551615,\n"
    "  \"args\": {\"grid\": [32, 2, 1], \"on\": true, \"off\": false, \"none\": null, \"e\": "
    "-1.5e-3,\n"
    "    \"deep\": [[[{\"a\": {}}, []]]], \"long enough for eight bytes at a time\": \"x\"}}";

TEST(json_structure_errors)
{
    static const struct {
        const char *text, *error;
        size_t offset;
    } cases[] = {
        {"{}", NULL, 2},
        {"[]", NULL, 2},
        {"[1,2]", NULL, 5},
        {"[1 2]", "expected ',' or ']'", 3},
        {"[1,]", "expected a value", 3},
        {"{\"a\":1,}", "expected a key", 7},
        {"{\"a\" 1}", "expected ':'", 5},
        {"{a:1}", "expected a key", 1},
        {"{\"a\":1 \"b\":2}", "expected ',' or '}'", 7},
        {"[1}", "expected ',' or ']'", 2},
        {"{} x", "text after the value", 3},
        {"[tru]", "expected a value", 1},
        {"", "the text ends too early", 0},
        {"[", "the text ends too early", 1},
        {"[1", "the text ends too early", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t offset;
        const char *error = walk_error(cases[i].text, strlen(cases[i].text), &offset);
        CHECK_STR(error != NULL ? error : "", cases[i].error != NULL ? cases[i].error : "");
        CHECK_INT(offset, cases[i].offset);
    }
}

TEST(json_enter_other_things)
{
    struct json j = json_of("null,");
    CHECK(!json_enter(&j, '{'));
    CHECK(j.error == NULL);
    CHECK_INT(json_offset(&j), 4);
    j = json_of("[1]");
    CHECK(!json_enter(&j, '{'));
    CHECK_STR(j.error, "expected an object");
}

TEST(json_depth_is_bounded)
{
    char text[400];
    size_t offset;
    memset(text, '[', sizeof text);
    CHECK_STR(walk_error(text, sizeof text, &offset), "nested too deeply");
    CHECK_INT(offset, JSON_DEPTH_MAX);
    memset(text, '[', JSON_DEPTH_MAX);
    memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
    CHECK(walk_error(text, 2 * JSON_DEPTH_MAX, &offset) == NULL);
    struct json j;
    memset(text, '[', sizeof text);
    json_init(&j, text, sizeof text);
    json_skip(&j);
    CHECK_STR(j.error, "nested too deeply");
    json_init(&j, text, JSON_DEPTH_MAX);
    json_skip(&j);
    CHECK(json_is_cut(&j));
}

TEST(json_errors_stick)
{
    struct json j = json_of("{\"a\":@,\"b\":1}");
    struct json_text key;
    json_enter(&j, '{');
    CHECK(json_next_key(&j, &key));
    CHECK_INT(json_i64(&j, 9), 0);
    CHECK_STR(j.error, "expected a number");
    CHECK(!json_next_key(&j, &key));
    CHECK(!json_next_item(&j));
    CHECK(!json_enter(&j, '{'));
    CHECK_INT(json_u64(&j, 9), 0);
    CHECK_INT(json_time_ns(&j, 1000, 9), 0);
    CHECK(json_double(&j, 9) == 0);
    CHECK(!json_bool(&j, true));
    CHECK(json_string(&j).p == NULL);
    CHECK_INT(json_peek(&j), 0);
    json_skip(&j);
    json_leave(&j);
    json_end(&j);
    CHECK_STR(j.error, "expected a number");
    CHECK_INT(json_offset(&j), 5);
}

TEST(json_skip_and_leave)
{
    struct json j = json_of("{\"a\":{\"x\":[1,{\"y\":\"}]\\\"\"}]},\"b\":[true , -1e5],\"c\":2,"
                            "\"d\":\"s\",\"e\":3}");
    struct json_text key;
    json_enter(&j, '{');
    json_next_key(&j, &key);
    json_skip(&j);
    json_next_key(&j, &key);
    CHECK(json_text_is(key, "b"));
    CHECK(json_enter(&j, '['));
    CHECK(json_next_item(&j));
    CHECK(json_bool(&j, false));
    json_leave(&j);
    json_next_key(&j, &key);
    CHECK(json_text_is(key, "c"));
    json_leave(&j);
    json_end(&j);
    CHECK(j.error == NULL);
}

TEST(json_skip_minds_brackets)
{
    static const char *const wrong[] = {"[}", "{]", "[[1}", "{\"a\":[}]", "]", "@"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct json j = json_of(wrong[i]);
        json_skip(&j);
        CHECK(j.error != NULL && !json_is_cut(&j));
    }
}

TEST(json_scan_key_expects)
{
    static const char op[JSON_QUOTED_MAX] = "\"op\":", dtype[JSON_QUOTED_MAX] = "\"dtype_b\":";
    struct json j = json_of("{\"op\":1,\"dtype_b\":2,\"dtype_c\":3,\"op\" :4}              ");
    struct json_text key;
    json_enter(&j, '{');
    CHECK(!scan_key(&j, dtype, 10));
    CHECK(scan_key(&j, op, 5));
    CHECK_INT(json_i64(&j, 0), 1);
    CHECK(!scan_key(&j, op, 5));
    CHECK(scan_key(&j, dtype, 10));
    CHECK_INT(json_i64(&j, 0), 2);
    CHECK(!scan_key(&j, dtype, 10));
    CHECK(json_next_key(&j, &key));
    CHECK(json_text_is(key, "dtype_c"));
    CHECK_INT(json_i64(&j, 0), 3);
    CHECK(!scan_key(&j, op, 5));
    CHECK(json_next_key(&j, &key));
    CHECK_INT(json_i64(&j, 0), 4);
    CHECK(!json_next_key(&j, &key));
    CHECK(j.error == NULL);
}

/* ---- damage ---- */

TEST(json_cut_everywhere)
{
    size_t len = sizeof sample - 1, offset;
    CHECK(walk_error(sample, len, &offset) == NULL);
    for (size_t n = 0; n < len; n++) {
        struct json j;
        CHECK(walk_error(sample, n, &offset) != NULL);
        CHECK(offset <= n);
        json_init(&j, sample, n);
        json_skip(&j);
        CHECK(json_is_cut(&j));
    }
}

TEST(json_flipped_everywhere)
{
    size_t len = sizeof sample - 1, offset;
    for (size_t at = 0; at < len; at++) {
        for (int bit = 0; bit < 8; bit++) {
            char text[sizeof sample];
            struct json j;
            memcpy(text, sample, sizeof sample);
            text[at] = (char)(text[at] ^ 1 << bit);
            walk_error(text, len, &offset);
            CHECK(offset <= len);
            json_init(&j, text, len);
            json_skip(&j);
            CHECK(json_offset(&j) <= len);
        }
    }
}
