/* SPDX-License-Identifier: MIT
 *
 * Workload cards: what is found in them, and where.
 */
#include "base/opt.h"
#include "metrics/card.h"
#include "test.h"
#include "trace_files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "path=text:line;..." of all scalars; the message where it cannot be read. */
static const char *scalars(const char *text)
{
    static char out[2048];
    struct card_tree tree = {0};
    struct err e;
    size_t len = 0;
    out[0] = '\0';
    if (card_tree_parse(&tree, text, strlen(text), "card", &e) < 0)
        snprintf(out, sizeof out, "%s", e.msg);
    else
        for (size_t i = 0; i < tree.count && len < sizeof out; i++)
            len += (size_t)snprintf(out + len, sizeof out - len, "%s=%s:%d;", tree.list[i].path,
                                    tree.list[i].text, tree.list[i].line);
    card_tree_release(&tree);
    return out;
}

static int read_card(struct card *card, const char *text, struct err *e)
{
    const char *folder = make_folder();
    int rc;
    write_text(folder, "card", text);
    rc = card_read(card, file_in(folder, "card"), e);
    remove_folder(folder);
    return rc;
}

TEST(card_json)
{
    CHECK_STR(scalars("{\"a\": {\"b\": [1, \"x\\n\"], \"c\": 1e9},\n \"d\": null, \"e\": true}"),
              "a.b=1:1;a.b=x\n:1;a.c=1e9:1;d=null:2;e=true:2;");
    CHECK_STR(scalars("{\"a\": [{\"b\": 1}, {\"b\": 2}], \"c\": {}, \"d\": []}"),
              "a.b=1:1;a.b=2:1;");
    CHECK_STR(scalars("{}"), "");
    CHECK_STR(scalars("{\"\xc3\xa4\": \"\xc3\xb6\"}"), "\xc3\xa4=\xc3\xb6:1;");
    CHECK_STR(scalars("{\"a\":\n\n1,\n\"b\"}"), "card: line 4: expected ':'");
}

#ifdef SPECTER_HAVE_YAML
TEST(card_yaml)
{
    CHECK_STR(scalars("a:\n  b: [1, 'x: y']\n  c: 1e9\nd: null\ne: ~\n"),
              "a.b=1:2;a.b=x: y:2;a.c=1e9:3;d=null:4;e=~:5;");
    CHECK_STR(scalars("a:\n- b: 1\n- b: 2\n- [3, {c: 4}]\nd: {e: \"q\\\"\"}\n"),
              "a.b=1:2;a.b=2:3;a=3:4;a.c=4:4;d.e=q\":5;");
    CHECK_STR(scalars("\xc3\xa4: \xc3\xb6\n"), "\xc3\xa4=\xc3\xb6:1;");
    CHECK_STR(scalars("a: 1\n---\na: 2\n"), "a=1:1;");
    CHECK_STR(scalars("only text"), "=only text:1;");
    CHECK_STR(scalars("a:\nb: 2\n"), "a=:1;b=2:2;");
}
#endif

/* A megabyte of lists takes no longer than reading it. */
TEST(card_of_many_lists)
{
    size_t n = 300000;
    char *text = malloc(3 * n + 16), *p = text + sprintf(text, "{\"a\":[[]");
    struct card_tree tree = {0};
    struct err e;
    for (size_t i = 0; i < n; i++, p += 3)
        memcpy(p, ",[]", 3);
    p += sprintf(p, "]}");
    CHECK_INT(card_tree_parse(&tree, text, (size_t)(p - text), "card", &e), 0);
    CHECK_INT((int64_t)tree.count, 0);
    card_tree_release(&tree);
    free(text);
}

/* A key is the end of a path in whole words; of two places the first counts; null says nothing. */
TEST(card_keys)
{
    struct card card;
    struct err e;
    CHECK_INT(read_card(&card,
                        "{\"x\": {\"my_seq_len\": 7, \"seq_len\": 1e3}, \"seq_len\": 5,"
                        "\"tp\": null, \"model\": {\"precision\": \"fp8e4m3\"},"
                        "\"data\": {\"batch_size\": 4}, \"dp_shard\": 8, \"num_params\": 8e9}",
                        &e),
              0);
    CHECK_DOUBLE(card.seq_len, 1000, 0);
    CHECK(isnan(card.tp));
    CHECK_STR(card.precision, "fp8e4m3");
    CHECK_DOUBLE(card_dp(&card), 8, 0);
    CHECK_DOUBLE(card_batch(&card), 32, 0);
    CHECK_DOUBLE(card_tokens(&card), 32000, 0);
    CHECK_DOUBLE(card_flops(&card), 6 * 8e9 * 32000, 1e-12);
}

/* Without the data-parallel size a replica's batch is not the job's. */
TEST(card_says_too_little)
{
    struct card card;
    struct err e;
    CHECK_INT(read_card(&card, "{\"batch_size\": 4, \"seq_len\": 10}", &e), 0);
    CHECK(isnan(card_tokens(&card)));
    CHECK_INT(read_card(&card, "{\"batch_size\": 0}", &e), -1);
    CHECK_INT(read_card(&card, "{\"tp\": [\"two\"]}", &e), -1);
    CHECK(strstr(e.msg, "line 1: tp is no number") != NULL);
}

/* Attention's share, and the embedding left out: PaLM, appendix B. */
TEST(card_flops_of_a_transformer)
{
    struct card card;
    struct err e;
    CHECK_INT(read_card(&card,
                        "{\"global_batch_size\": 2, \"seq_len\": 100, \"num_params\": 1100,"
                        "\"num_params_embedding\": 100, \"num_layers\": 2, \"num_heads\": 4,"
                        "\"head_dim\": 8}",
                        &e),
              0);
    CHECK_DOUBLE(card_flops(&card), (6 * 1000. + 12. * 2 * 4 * 8 * 100) * 200, 1e-12);
    card.flops = 5;
    CHECK_DOUBLE(card_flops(&card), 5, 0);
}
