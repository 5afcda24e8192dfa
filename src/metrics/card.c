/* SPDX-License-Identifier: MIT */
#include "metrics/card.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/opt.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef SPECTER_HAVE_YAML
#include <yaml.h>
#endif

#define CARD_BYTES_MAX ((size_t)1 << 20)
#define DEPTH_MAX 32
#define VALUES_MAX 10000

/* The path to where the parser is: ends of the keys in it, one for each level. */
struct key_path {
    struct buf path;
    size_t ends[DEPTH_MAX];
    int depth;
};

static void add_value(struct card_tree *tree, const struct key_path *at, const char *text,
                      size_t len, int line)
{
    ARRAY_GROW(tree->list, tree->cap, tree->count + 1);
    tree->list[tree->count++] =
        (struct card_value){arena_strndup(&tree->arena, at->path.data, at->path.len),
                            arena_strndup(&tree->arena, text, len), line};
}

/* Replaces what the path holds of this level by a key. */
static void set_key(struct key_path *at, const char *key, size_t len)
{
    at->path.len = at->depth > 0 ? at->ends[at->depth - 1] : 0;
    if (at->path.len > 0)
        buf_putc(&at->path, '.');
    buf_put_printable(&at->path, key, len);
}

static int enter_key(struct key_path *at, const char *name, int line, struct err *e)
{
    if (at->depth == DEPTH_MAX)
        return err_set(e, ERR_INPUT, "%s: line %d: nested too deep", name, line);
    at->ends[at->depth++] = at->path.len;
    return 0;
}

static void leave_key(struct key_path *at)
{
    at->path.len = at->ends[--at->depth];
}

static int check_room(const struct card_tree *tree, const char *name, struct err *e)
{
    if (tree->count < VALUES_MAX)
        return 0;
    return err_set(e, ERR_INPUT, "%s: more than %d values", name, VALUES_MAX);
}

/* ---- JSON ---- */

struct json_card {
    struct card_tree *tree;
    struct key_path *at;
    struct json *j;
    const char *name, *text;
    size_t counted; /* bytes of text whose lines are counted */
    int lines;
    struct err *e;
};

/* The parser only goes forward, and so does the count. */
static int line_of(struct json_card *c)
{
    for (; c->counted < json_offset(c->j); c->counted++)
        c->lines += c->text[c->counted] == '\n';
    return c->lines + 1;
}

static void put_scalar(struct json_card *c)
{
    struct buf text = BUF_INIT;
    if (json_peek(c->j) == '"') {
        json_decode(json_string(c->j), &text);
    } else {
        const char *from = c->j->p; /* peeking has passed the blanks */
        json_skip(c->j);
        if (c->j->error == NULL)
            buf_put(&text, from, (size_t)(c->j->p - from));
    }
    add_value(c->tree, c->at, text.data, text.len, line_of(c));
    buf_release(&text);
}

/* Depth is bounded by enter_key(). */
static int put_json(struct json_card *c)
{
    struct json_text key;
    char open = json_peek(c->j);
    bool object = open == '{';
    int rc;
    if (check_room(c->tree, c->name, c->e) < 0)
        return -1;
    if (!object && open != '[') {
        put_scalar(c);
        return 0;
    }
    rc = enter_key(c->at, c->name, line_of(c), c->e);
    json_enter(c->j, open);
    while (rc == 0 && (object ? json_next_key(c->j, &key) : json_next_item(c->j))) {
        if (object)
            set_key(c->at, key.p, key.len);
        rc = put_json(c);
    }
    if (rc == 0)
        leave_key(c->at);
    return rc;
}

static int parse_json(struct card_tree *tree, struct key_path *at, const char *text, size_t len,
                      const char *name, struct err *e)
{
    struct json j;
    struct json_card c = {tree, at, &j, name, text, 0, 0, e};
    json_init(&j, text, len);
    if (put_json(&c) < 0)
        return -1;
    json_end(&j);
    if (j.error != NULL)
        return err_set(e, ERR_INPUT, "%s: line %d: %s", name, line_of(&c), j.error);
    return 0;
}

/* ---- YAML ---- */

#ifdef SPECTER_HAVE_YAML

struct yaml_card {
    struct card_tree *tree;
    struct key_path *at;
    bool mapping[DEPTH_MAX + 1]; /* by depth: else a list */
    bool wants_key[DEPTH_MAX + 1];
    const char *name;
    struct err *e;
};

static int take_scalar(struct yaml_card *c, const yaml_event_t *event, int line)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t len = event->data.scalar.length;
    int depth = c->at->depth;
    if (c->mapping[depth] && c->wants_key[depth]) {
        set_key(c->at, text, len);
        c->wants_key[depth] = false;
        return 0;
    }
    if (check_room(c->tree, c->name, c->e) < 0)
        return -1;
    add_value(c->tree, c->at, text, len, line);
    c->wants_key[depth] = true;
    return 0;
}

static int open_level(struct yaml_card *c, bool mapping, int line)
{
    if (c->mapping[c->at->depth] && c->wants_key[c->at->depth])
        return err_set(c->e, ERR_INPUT, "%s: line %d: a key that is no text", c->name, line);
    if (enter_key(c->at, c->name, line, c->e) < 0)
        return -1;
    c->mapping[c->at->depth] = mapping;
    c->wants_key[c->at->depth] = true;
    return 0;
}

static int take_event(struct yaml_card *c, const yaml_event_t *event)
{
    int line = (int)event->start_mark.line + 1;
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return take_scalar(c, event, line);
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT:
        return open_level(c, event->type == YAML_MAPPING_START_EVENT, line);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        leave_key(c->at);
        c->wants_key[c->at->depth] = true;
        return 0;
    case YAML_ALIAS_EVENT:
        return err_set(c->e, ERR_INPUT, "%s: line %d: aliases are not read", c->name, line);
    default:
        return 0;
    }
}

static int parse_yaml(struct card_tree *tree, struct key_path *at, const char *text, size_t len,
                      const char *name, struct err *e)
{
    struct yaml_card c = {.tree = tree, .at = at, .name = name, .e = e};
    yaml_parser_t parser;
    yaml_event_t event;
    bool more = true;
    int rc = 0;
    if (!yaml_parser_initialize(&parser))
        die("out of memory");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
    while (rc == 0 && more) {
        if (!yaml_parser_parse(&parser, &event)) {
            rc = err_set(e, ERR_INPUT, "%s: line %d: %s", name, (int)parser.problem_mark.line + 1,
                         parser.problem != NULL ? parser.problem : "not YAML");
            break;
        }
        more = event.type != YAML_STREAM_END_EVENT && event.type != YAML_DOCUMENT_END_EVENT;
        rc = take_event(&c, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return rc;
}

#else

static int parse_yaml(struct card_tree *tree, struct key_path *at, const char *text, size_t len,
                      const char *name, struct err *e)
{
    (void)tree, (void)at, (void)text, (void)len;
    return err_set(e, ERR_INPUT,
                   "%s: this build cannot read YAML (libyaml was not there): write it as JSON",
                   name);
}

#endif

int card_tree_parse(struct card_tree *tree, const char *text, size_t len, const char *name,
                    struct err *e)
{
    struct key_path at = {.path = BUF_INIT};
    size_t i = 0;
    int rc;
    arena_init(&tree->arena);
    while (i < len && text[i] != '\0' && strchr(" \t\r\n", text[i]) != NULL)
        i++;
    if (i < len && text[i] == '{')
        rc = parse_json(tree, &at, text, len, name, e);
    else
        rc = parse_yaml(tree, &at, text, len, name, e);
    buf_release(&at.path);
    return rc;
}

void card_tree_release(struct card_tree *tree)
{
    free(tree->list);
    arena_release(&tree->arena);
}

/* ---- what the card says ---- */

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
    n = text_bom_len(text->data, text->len);
    memmove(text->data, text->data + n, text->len - n);
    text->len -= n;
    if (failed)
        return err_set(e, ERR_INPUT, "%s: %s", path, strerror(failed));
    if (text->len > CARD_BYTES_MAX)
        return err_set(e, ERR_INPUT, "%s: a workload card of more than 1 MiB", path);
    return 0;
}

/* Returns whether the path ends in the key, which is whole words of it. */
static bool ends_in(const char *path, const char *key, size_t len)
{
    size_t n = strlen(path);
    return n >= len && memcmp(path + n - len, key, len) == 0 &&
           (n == len || path[n - len - 1] == '.');
}

/* The value of the first of the keys that the card has; NULL. */
static const struct card_value *find_value(const struct card_tree *tree, const char *keys)
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
    const struct card_value *value = find_value(tree, field->keys);
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
    const struct card_value *value = find_value(tree, key);
    if (value != NULL && !says_nothing(value->text))
        snprintf(out, size, "%s", value->text);
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
    for (size_t i = 0; rc == 0 && i < sizeof fields / sizeof *fields; i++)
        rc = take_number(card, &fields[i], &tree, path, e);
    if (rc == 0) {
        take_text(&tree, "precision", card->precision, sizeof card->precision);
        take_text(&tree, "model_family,model_name", card->family, sizeof card->family);
    }
    card_tree_release(&tree);
    buf_release(&text);
    return rc;
}

int card_find(struct card *card, const char *dir, struct err *e)
{
    static const char *const names[] = {"workload_card.yaml", "workload_card.yml",
                                        "workload_card.json"};
    struct buf path = BUF_INIT;
    int rc = 0;
    card_init(card);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        buf_reset(&path);
        buf_printf(&path, "%s/%s", dir, names[i]);
        if (access(path.data, R_OK) != 0)
            continue;
        rc = card_read(card, path.data, e);
        break;
    }
    buf_release(&path);
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
