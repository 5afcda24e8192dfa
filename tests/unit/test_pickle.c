/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "base/arena.h"
#include "base/pickle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PICKLE(bytes) bytes, sizeof bytes - 1

/* The JSON text, or why there is none; of one that is cut both. */
static enum pickle_result read_pickle(const char *bytes, size_t len, struct buf *text)
{
    struct err e = {.msg = ""};
    enum pickle_result result;
    buf_reset(text);
    result = pickle_to_json(bytes, len, text, &e);
    if (result == PICKLE_REFUSED)
        buf_reset(text);
    buf_puts(text, result == PICKLE_CUT ? " | " : "");
    buf_puts(text, e.msg);
    return result;
}

TEST(pickle_values)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *json;
    } cases[] = {
        {PICKLE("\x80\x02N."), "null"},
        {PICKLE("\x80\x02\x88."), "true"},
        {PICKLE("\x80\x02\x89."), "false"},
        {PICKLE("\x80\x02K\xff."), "255"},
        {PICKLE("\x80\x02M\xff\xff."), "65535"},
        {PICKLE("\x80\x02J\xff\xff\xff\xff."), "-1"},
        {PICKLE("\x80\x02\x8a\0."), "0"},
        {PICKLE("\x80\x02\x8a\1\x80."), "-128"},
        {PICKLE("\x80\x02\x8a\2\0\x80."), "-32768"},
        {PICKLE("\x80\x02\x8a\10\xff\xff\xff\xff\xff\xff\xff\x7f."), "9223372036854775807"},
        {PICKLE("\x80\x02\x8a\10\0\0\0\0\0\0\0\x80."), "-9223372036854775808"},
        {PICKLE("\x80\x02\x8a\11\xff\xff\xff\xff\xff\xff\xff\xff\0."), "18446744073709551615"},
        {PICKLE("\x80\x02\x8b\1\0\0\0\7."), "7"},
        {PICKLE("\x80\x02G\x3f\xd0\0\0\0\0\0\0."), "0.25"},
        {PICKLE("\x80\x02G\x7f\xf0\0\0\0\0\0\0."), "null"},
        {PICKLE("\x80\x02X\3\0\0\0a\"b."), "\"a\\\"b\""},
        {PICKLE("\x80\x04\x95\5\0\0\0\0\0\0\0\x8c\2ab\x94."), "\"ab\""},
        {PICKLE("\x80\x04\x8d\2\0\0\0\0\0\0\0ab."), "\"ab\""},
        {PICKLE("\x80\x03"
                "C\2ab."),
         "\"ab\""},
        {PICKLE("\x80\x03"
                "B\2\0\0\0ab."),
         "\"ab\""},
        {PICKLE("\x80\x02)."), "[]"},
        {PICKLE("\x80\x02K\1\x85."), "[1]"},
        {PICKLE("\x80\x02K\1K\2\x86."), "[1,2]"},
        {PICKLE("\x80\x02K\1K\2K\3\x87."), "[1,2,3]"},
        {PICKLE("\x80\x02(K\1K\2K\3K\4t."), "[1,2,3,4]"},
        {PICKLE("\x80\x02]K\1a."), "[1]"},
        {PICKLE("\x80\x02](K\1]e."), "[1,[]]"},
        {PICKLE("\x80\x02}X\1\0\0\0kK\1s."), "{\"k\":1}"},
        {PICKLE("\x80\x02}(X\1\0\0\0kK\1K\7Nu."), "{\"k\":1,\"7\":null}"},
        {PICKLE("\x80\x02](X\1\0\0\0kq\1h\1r\1\1\0\0j\1\1\0\0e."), "[\"k\",\"k\",\"k\"]"},
        {PICKLE("\x80\x04](\x8c\1k\x94h\0e."), "[\"k\",\"k\"]"},
    };
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(pickle_begins(cases[i].bytes, cases[i].len));
        CHECK_INT(read_pickle(cases[i].bytes, cases[i].len, &text), PICKLE_WHOLE);
        CHECK_STR(text.data, cases[i].json);
    }
    buf_release(&text);
}

/* Nothing that is not data, and nothing that does not fit together. */
TEST(pickle_refused)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *why;
    } cases[] = {
        {PICKLE("\x80\x02"
                "cos\nsystem\n."),
         "byte 2: opcode GLOBAL: "},
        {PICKLE("\x80\x04\x8c\2os\x8c\6system\x93."), "byte 14: opcode STACK_GLOBAL: "},
        {PICKLE("\x80\x02NNR."), "byte 4: opcode REDUCE: "},
        {PICKLE("\x80\x02NNb."), "byte 4: opcode BUILD: "},
        {PICKLE("\x80\x02(ios\nsystem\n."), "byte 3: opcode INST: "},
        {PICKLE("\x80\x02(o."), "byte 3: opcode OBJ: "},
        {PICKLE("\x80\x02N)\x81."), "byte 4: opcode NEWOBJ: "},
        {PICKLE("\x80\x02N)}\x92."), "byte 5: opcode NEWOBJ_EX: "},
        {PICKLE("\x80\x02P1\n."), "byte 2: opcode PERSID: "},
        {PICKLE("\x80\x02NQ."), "byte 3: opcode BINPERSID: "},
        {PICKLE("\x80\x02\x82\1."), "byte 2: opcode EXT1: "},
        {PICKLE("\x80\x02\xf0."), "byte 2: 0xf0 is no opcode"},
        {PICKLE("\x80\x09N."), "byte 0: a protocol above 5"},
        {PICKLE("\x80\x02."), "byte 2: too few values on the stack"},
        {PICKLE("\x80\x02(."), "byte 3: too few values on the stack"},
        {PICKLE("\x80\x02](."), "byte 4: too few values on the stack"},
        {PICKLE("\x80\x02Ne."), "byte 3: no MARK on the stack"},
        {PICKLE("\x80\x02N(NeN."), "byte 5: no list to append to"},
        {PICKLE("\x80\x02](NuN."), "byte 5: no dictionary to put items into"},
        {PICKLE("\x80\x02}(NuN."), "byte 5: a key without a value"},
        {PICKLE("\x80\x02}(]Nu."), "byte 7: a key that is neither text nor whole number"},
        {PICKLE("\x80\x02h\1."), "byte 2: nothing in the memo at this place"},
        {PICKLE("\x80\x02Nr\xff\xff\xff\xff."), "byte 3: a memo larger than any dump's"},
        {PICKLE("\x80\x02\x8a\12\0\0\0\0\0\0\0\0\0\0."), "byte 2: a number of more than 64 bits"},
        {PICKLE("\x80\x02]q\0h\0a."), "byte 8: values nested too deep"},
        {PICKLE("\x80\x02"), "byte 2: the pickle ends before its first value"},
    };
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum pickle_result result = read_pickle(cases[i].bytes, cases[i].len, &text);
        CHECK_INT(result, PICKLE_REFUSED);
        CHECK_HAS(text.data, cases[i].why);
    }
    buf_release(&text);
}

TEST(pickle_cut)
{
    static const char bytes[] = "\x80\x02}(X\1\0\0\0aK\1X\1\0\0\0b](K\2}(X\1\0\0\0cK\3ueu.";
    struct buf text = BUF_INIT;
    CHECK_INT(read_pickle(PICKLE(bytes), &text), PICKLE_WHOLE);
    CHECK_STR(text.data, "{\"a\":1,\"b\":[2,{\"c\":3}]}");
    for (size_t len = 3; len < sizeof bytes - 1; len++) {
        CHECK_INT(read_pickle(bytes, len, &text), PICKLE_CUT);
        CHECK_HAS(text.data, "the pickle ends early");
    }
    CHECK_INT(read_pickle(bytes, sizeof bytes - 6, &text), PICKLE_CUT);
    CHECK_HAS(text.data, "{\"a\":1,\"b\":[2,{}]} | byte ");
    buf_release(&text);
}

/* Cut pickles keep whole values where they were: appends and items that Python writes without a
 * mark, and tuples, whose mark stands above a whole value. */
TEST(pickle_cut_never_moves_values)
{
    static const struct {
        const char *bytes;
        size_t len, kept;
        const char *json;
    } cases[] = {
        {PICKLE("\x80\x02](](K\1K\2e(K\3K\4K\5K\6te."), 15, "[[1,2]]"},
        {PICKLE("\x80\x02](](K\1K\2e(K\3K\4K\5K\6te."), 10, "[[1,2]]"},
        {PICKLE("\x80\x02](}(X\1\0\0\0xK\1u}X\1\0\0\0a](K\1K\2K\3ese."), 28, "[{\"x\":1},{}]"},
        {PICKLE("\x80\x02](K\7}X\1\0\0\0aK\1se."), 15, "[7,{}]"},
        {PICKLE("\x80\x02](K\7]K\1ae."), 9, "[7,[]]"},
    };
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_INT(read_pickle(cases[i].bytes, cases[i].len, &text), PICKLE_WHOLE);
        CHECK_INT(read_pickle(cases[i].bytes, cases[i].kept, &text), PICKLE_CUT);
        CHECK_HAS(text.data, cases[i].json);
        CHECK_HAS(text.data, " | byte ");
    }
    buf_release(&text);
}

/* Values that are shared make far more text than the pickle has bytes. */
TEST(pickle_that_grows)
{
    struct buf b = BUF_INIT;
    struct buf text = BUF_INIT;
    buf_put(&b, "\x80\x02]q\0", 5);
    for (int i = 1; i < 40; i++) {
        char get[] = {'h', (char)(i - 1)}, put[] = {']', 'q', (char)i, '('};
        buf_put(&b, put, sizeof put);
        for (int k = 0; k < 10; k++)
            buf_put(&b, get, sizeof get);
        buf_putc(&b, 'e');
    }
    buf_putc(&b, '.');
    CHECK_INT(read_pickle(b.data, b.len, &text), PICKLE_REFUSED);
    CHECK_HAS(text.data, "far more text than the pickle has bytes");
    buf_release(&b);
    buf_release(&text);
}
