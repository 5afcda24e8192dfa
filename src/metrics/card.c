/* SPDX-License-Identifier: MIT */
#include "metrics/card.h"

#include "base/buf.h"
#include "base/opt.h"
#include "metrics/card_tree.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define CARD_BYTES_MAX ((size_t)1 << 20)

static const struct card_field {
    size_t offset;
    const char *keys;
    double max;
} fields[] = {
#define X(field, keys, max, help) {offsetof(struct card, field), keys, max},
    CARD_FIELDS(X)
#undef X
};

void card_init(struct card *card)
{
    memset(card, 0, sizeof *card);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        *(double *)((char *)card + fields[i].offset) = NAN;
}

static int read_text(const char *path, struct buf *text, struct err *e)
{
    FILE *f = fopen(path, "r");
    size_t n;
    int failed;
    if (f == NULL)
        return err_set(e, ERR_INPUT, "%s: %s", path, strerror(errno));
    errno = 0;
    n = fread(buf_reserve(text, CARD_BYTES_MAX + 1), 1, CARD_BYTES_MAX + 1, f);
    failed = ferror(f) ? errno : 0;
    fclose(f);
    text->len += n;
    n = text_mark(text->data, text->len);
    memmove(text->data, text->data + n, text->len - n);
    text->len -= n;
    if (failed)
        return err_set(e, ERR_INPUT, "%s: %s", path, strerror(failed));
    if (text->len > CARD_BYTES_MAX)
        return err_set(e, ERR_INPUT, "%s: a workload card of more than 1 MiB", path);
    return 0;
}

/* Does the path end in the key, whole words of it? */
static bool ends_in(const char *path, const char *key, size_t len)
{
    size_t n = strlen(path);
    return n >= len && memcmp(path + n - len, key, len) == 0 &&
           (n == len || path[n - len - 1] == '.');
}

/* The value of the first of the keys that the card has; NULL. */
static const struct card_value *find(const struct card_tree *tree, const char *keys)
{
    for (const char *key = keys; *key != '\0';) {
        size_t len = strcspn(key, ",");
        for (size_t i = 0; i < tree->count; i++) {
            if (tree->list[i].text[0] != '\0' && ends_in(tree->list[i].path, key, len))
                return &tree->list[i];
        }
        key += len;
        key += *key == ',';
    }
    return NULL;
}

static bool says_nothing(const char *text)
{
    return strcmp(text, "null") == 0 || strcmp(text, "~") == 0;
}

static int take_number(struct card *card, const struct card_field *field,
                       const struct card_tree *tree, const char *path, struct err *e)
{
    const struct card_value *value = find(tree, field->keys);
    double number;
    struct err why;
    if (value == NULL || says_nothing(value->text))
        return 0;
    if (opt_parse_double(value->path, value->text, &number, &why) < 0 || !(number > 0) ||
        number > field->max)
        return err_set(e, ERR_INPUT, "%s: line %d: %s is no number from above 0 to %g: '%s'", path,
                       value->line, value->path, field->max, value->text);
    *(double *)((char *)card + field->offset) = number;
    return 0;
}

static void take_text(const struct card_tree *tree, const char *key, char *out, size_t size)
{
    const struct card_value *value = find(tree, key);
    if (value != NULL && !says_nothing(value->text))
        snprintf(out, size, "%s", value->text);
}

static int take_all(struct card *card, const struct card_tree *tree, const char *path,
                    struct err *e)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (take_number(card, &fields[i], tree, path, e) < 0)
            return -1;
    }
    take_text(tree, "precision", card->precision, sizeof card->precision);
    take_text(tree, "model_family,model_name", card->family, sizeof card->family);
    return 0;
}

int card_read(struct card *card, const char *path, struct err *e)
{
    struct buf text = BUF_INIT;
    struct card_tree tree = {0};
    int rc;
    card_init(card);
    rc = read_text(path, &text, e);
    if (rc == 0)
        rc = card_tree_parse(&tree, text.data, text.len, path, e);
    if (rc == 0)
        rc = take_all(card, &tree, path, e);
    card_tree_release(&tree);
    buf_release(&text);
    return rc;
}

double card_dp(const struct card *card)
{
    double replicate = card->dp_replicate, shard = card->dp_shard;
    if (isfinite(card->dp))
        return card->dp;
    if (isnan(replicate) && isnan(shard))
        return NAN;
    return (isnan(replicate) ? 1 : replicate) * (isnan(shard) ? 1 : shard);
}

double card_batch(const struct card *card)
{
    return isfinite(card->global_batch) ? card->global_batch : card->local_batch * card_dp(card);
}

double card_tokens(const struct card *card)
{
    return card_batch(card) * card->seq_len;
}

double card_flops(const struct card *card)
{
    double params = isfinite(card->active_params) ? card->active_params : card->params;
    double attention = 12 * card->layers * card->heads * card->head_dim * card->seq_len;
    if (isfinite(card->flops))
        return card->flops;
    if (isfinite(card->embedding_params) && card->embedding_params < params)
        params -= card->embedding_params;
    return (6 * params + (isfinite(attention) ? attention : 0)) * card_tokens(card);
}
