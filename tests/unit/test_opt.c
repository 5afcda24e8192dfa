/* SPDX-License-Identifier: MIT */
#include "base/err.h"
#include "base/opt.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct opts {
    bool sync, quiet;
    const char *output;
    int64_t rank;
    double ratio;
    struct opt_bytes bytes;
    struct opt_list scales;
};

static const struct opt rows[] = {
    {"sync", 's', OPT_FLAG, offsetof(struct opts, sync), NULL, "wait for every call"},
    {"quiet", 'q', OPT_FLAG, offsetof(struct opts, quiet), NULL, "say less"},
    {"output", 'o', OPT_STR, offsetof(struct opts, output), "DIR", "where to"},
    {"rank", 0, OPT_I64, offsetof(struct opts, rank), "N", "only this rank"},
    {"ratio", 0, OPT_DOUBLE, offsetof(struct opts, ratio), "X", "a ratio"},
    {"bytes", 'b', OPT_BYTES, offsetof(struct opts, bytes), "SIZE", "a size"},
    {"scale", 0, OPT_LIST, offsetof(struct opts, scales), "N[,N...]", "scales"},
    OPT_END,
};

/* Parses a line of words; what is left over is in words[0..n). Returns opt_parse()'s result. */
struct parsed {
    char line[256];
    char *words[16];
    struct opts opts;
    struct err err;
    bool help;
    int n;
};

static void parse(struct parsed *p, bool stop, const char *line)
{
    int argc = 0;
    memset(p, 0, sizeof *p);
    snprintf(p->line, sizeof p->line, "%s", line);
    for (char *word = strtok(p->line, " "); word != NULL; word = strtok(NULL, " "))
        p->words[argc++] = word;
    p->n = opt_parse(rows, &p->opts, argc, p->words, stop, &p->help, &p->err);
}

TEST(opt_every_type)
{
    struct parsed p;
    parse(&p, false, "a --sync -o out --rank=-3 --ratio 2.5e1 -b64k --scale 1,2,8-10 b");
    CHECK_INT(p.n, 2);
    CHECK_STR(p.words[0], "a");
    CHECK_STR(p.words[1], "b");
    CHECK(p.opts.sync && !p.opts.quiet);
    CHECK_STR(p.opts.output, "out");
    CHECK_INT(p.opts.rank, -3);
    CHECK_DOUBLE(p.opts.ratio, 25, 0);
    CHECK_INT(p.opts.bytes.value, 65536);
    CHECK(p.opts.bytes.given);
    CHECK_INT(p.opts.scales.count, 5);
    CHECK_INT(p.opts.scales.values[4], 10);
    free(p.opts.scales.values);
}

TEST(opt_leaves_the_words_as_they_are)
{
    struct parsed p;
    parse(&p, false, "--rank=7 --output=a=b --sync");
    CHECK_INT(p.n, 0);
    CHECK_INT(p.opts.rank, 7);
    CHECK_STR(p.opts.output, "a=b");
    CHECK_STR(p.words[0], "--rank=7");
    CHECK_STR(p.words[1], "--output=a=b");
}

TEST(opt_letters_in_one_word)
{
    struct parsed p;
    parse(&p, false, "-sqoout");
    CHECK_INT(p.n, 0);
    CHECK(p.opts.sync && p.opts.quiet);
    CHECK_STR(p.opts.output, "out");
}

TEST(opt_last_value_wins)
{
    struct parsed p;
    parse(&p, false, "--rank 1 --rank 2 --scale 1,2 --scale 4");
    CHECK_INT(p.opts.rank, 2);
    CHECK_INT(p.opts.scales.count, 1);
    CHECK_INT(p.opts.scales.values[0], 4);
    free(p.opts.scales.values);
}

TEST(opt_ends_of_options)
{
    struct parsed p;
    parse(&p, false, "--sync -- --rank");
    CHECK_INT(p.n, 1);
    CHECK_STR(p.words[0], "--rank");
    parse(&p, true, "--sync cmd --rank -x -- y");
    CHECK_INT(p.n, 5);
    CHECK_STR(p.words[1], "--rank");
    CHECK_STR(p.words[3], "--");
    parse(&p, true, "-- --sync");
    CHECK_INT(p.n, 1);
    CHECK(!p.opts.sync);
    parse(&p, false, "-");
    CHECK_INT(p.n, 1);
    CHECK_STR(p.words[0], "-");
}

TEST(opt_help_is_always_known)
{
    struct parsed p;
    parse(&p, false, "--rank 1 -h --bogus");
    CHECK(p.help && p.n >= 0);
    parse(&p, false, "--help");
    CHECK(p.help && p.n >= 0);
    parse(&p, true, "cmd --help");
    CHECK(!p.help);
}

TEST(opt_errors)
{
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"--rnak 3", "unknown option '--rnak'; did you mean '--rank'?"},
        {"--zzzzzz", "unknown option '--zzzzzz'"},
        {"-x", "unknown option '-x'"},
        {"--sync=1", "option '--sync' takes no argument"},
        {"--rank", "option '--rank' needs an argument: N"},
        {"--output --sync", "option '--output' needs an argument: DIR"},
        {"-o", "option '-o' needs an argument: DIR"},
        {"--rank x", "--rank: 'x' is not a whole number"},
        {"--rank=", "--rank: '' is not a whole number"},
        {"--rank 3x", "--rank: '3x' is not a whole number"},
        {"--rank -", "--rank: '-' is not a whole number"},
        {"--rank 99999999999999999999", "--rank: '99999999999999999999' is out of range"},
        {"--ratio inf", "--ratio: 'inf' is not a number"},
        {"--ratio 0x10", "--ratio: '0x10' is not a number"},
        {"--ratio 1,5", "--ratio: '1,5' is not a number"},
        {"--ratio 1e", "--ratio: '1e' is not a number"},
        {"--ratio=", "--ratio: '' is not a number"},
        {"--ratio 1e999", "--ratio: '1e999' is out of range"},
        {"--scale 1,,2", "--scale: '1,,2' is not a list such as 1,2,4 or 0,8-15"},
        {"--scale 1,", "--scale: '1,' is not a list such as 1,2,4 or 0,8-15"},
        {"--scale 8-1", "--scale: '8-1' is not a list such as 1,2,4 or 0,8-15"},
        {"--scale -1", "--scale: '-1' is not a list such as 1,2,4 or 0,8-15"},
        {"--scale 0-9223372036854775807",
         "--scale: '0-9223372036854775807' has more than 1048576 values"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct parsed p;
        parse(&p, false, cases[i].line);
        CHECK_INT(p.n, -1);
        CHECK_INT(p.err.code, ERR_USAGE);
        CHECK_STR(p.err.msg, cases[i].message);
        free(p.opts.scales.values);
    }
}

TEST(opt_bytes)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"0", 0},
        {"512", 512},
        {"512B", 512},
        {"1k", 1024},
        {"1K", 1024},
        {"64M", 67108864},
        {"1.5GiB", 1610612736},
        {"16777215T", 18446742974197923840u},
        {"18446744073709551615", UINT64_MAX},
        {"0.5k", 512},
        {"0.1k", 102},
        {"1MB", 1000000},
        {"1.5kB", 1500},
        {"1e6", 1000000},
        {"2.5E9", 2500000000},
    };
    static const char *const bad[] = {"",
                                      "M",
                                      "-1",
                                      "1 M",
                                      "1Mi",
                                      "1.5",
                                      "0x8",
                                      "1e-1",
                                      "1e20",
                                      "1e",
                                      "1mb",
                                      "16777216T",
                                      "18446744073709551616",
                                      "1kk"};
    struct err e;
    uint64_t bytes;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        CHECK_INT(opt_parse_bytes("size", good[i].text, &bytes, &e), 0);
        CHECK_INT(bytes, good[i].bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_INT(opt_parse_bytes("size", bad[i], &bytes, &e), -1);
    opt_parse_bytes("--bytes", "64Mb", &bytes, &e);
    CHECK_STR(e.msg, "--bytes: '64Mb' is not a size; write 512, 64k, 64M, 1.5GiB (powers of 1024), "
                     "64MB (of 1000), 1e6");
}

TEST(opt_distance_counts_edits)
{
    char longer[200];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    CHECK_INT(opt_distance("", ""), 0);
    CHECK_INT(opt_distance("rank", "rank"), 0);
    CHECK_INT(opt_distance("", "rank"), 4);
    CHECK_INT(opt_distance("rank", ""), 4);
    CHECK_INT(opt_distance("rnak", "rank"), 2);
    CHECK_INT(opt_distance("analyse", "analyze"), 1);
    CHECK_INT(opt_distance("kitten", "sitting"), 3);
    CHECK_INT(opt_distance("a", longer), 199);
    CHECK(opt_is_near("repaly", "replay"));
    CHECK(!opt_is_near("help", "replay"));
}

/* Returns the output of opt_help() or opt_wrap(), in a buffer that the caller frees. */
static char *printed(const struct opt *table, const char *text, size_t column, size_t indent)
{
    char *data = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&data, &len);
    if (table != NULL)
        opt_help(table, out);
    else
        opt_wrap(text, column, indent, out);
    fclose(out);
    return data;
}

TEST(opt_help_layout)
{
    static const struct opt table[] = {
        {"sync", 's', OPT_FLAG, 0, NULL, "wait for every call"},
        {"network", 0, OPT_STR, 0, "NAME|FILE",
         "one two three four five six seven eight nine ten "
         "eleven twelve"},
        {"an-option-that-is-long", 0, OPT_STR, 0, "ARGUMENT", "help"},
        OPT_END,
    };
    char *help = printed(table, NULL, 0, 0);
    CHECK_STR(help, "  -s, --sync               wait for every call\n"
                    "      --network NAME|FILE  one two three four five six seven eight nine ten\n"
                    "                           eleven twelve\n"
                    "      --an-option-that-is-long ARGUMENT\n"
                    "                           help\n"
                    "  -h, --help               show this help\n");
    free(help);
}

TEST(opt_wrap_breaks_at_column_80)
{
    char *text = printed(NULL, "", 3, 0), word[101] = "";
    CHECK_STR(text, "\n");
    free(text);
    text = printed(NULL, "  keeps  its spaces", 0, 2);
    CHECK_STR(text, "  keeps  its spaces\n");
    free(text);
    text = printed(NULL, "capture [-o DIR]", 70, 4); /* not inside the brackets */
    CHECK_STR(text, "capture\n    [-o DIR]\n");
    free(text);
    text = printed(NULL, "77 %: host", 77, 3); /* not before the sign */
    CHECK_STR(text, "77 %:\n   host\n");
    free(text);
    memset(word, 'w', 100); /* longer than a line: printed whole */
    text = printed(NULL, word, 0, 4);
    CHECK_INT(strlen(text), 101);
    free(text);
}
