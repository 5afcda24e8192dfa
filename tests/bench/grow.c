/* SPDX-License-Identifier: MIT
 *
 * Makes a long trace out of a short one, for the benchmark of the readers: copies its records or
 * events again and again, each time later and with other ids, until the file has the size asked
 * for. The text is changed in place of the numbers only, so that it stays as its writer wrote it.
 *
 *     grow jsonl|kineto IN OUT BYTES
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum unit { ID, US, NS, UNITS };

static const struct key {
    const char *text;
    enum unit unit;
} jsonl_keys[] = {{"\"id\":", ID},       {"\"seq\":", ID},
                  {"\"group\":", ID},    {"\"p2p_seq\":", ID},
                  {"\"launch\":", ID},   {"\"cuda_event\":", ID},
                  {"\"start_us\":", US}, {"\"host_us\":", US},
                  {"\"time_us\":", US},  {"\"host_end_us\":", US},
                  {"\"dev_us\":", US},   {"\"mono_ns\":", NS},
                  {"\"real_ns\":", NS},  {NULL, ID}},
  kineto_keys[] = {{"\"ts\":", US},     {"\"correlation\":", ID},        {"\"External id\":", ID},
                   {"\"Ev Idx\":", ID}, {"\"Record function id\":", ID}, {NULL, ID}};

static void fail(const char *what, const char *path)
{
    fprintf(stderr, "grow: %s: %s\n", what, path);
    exit(3);
}

static char *read_all(const char *path, size_t *len)
{
    FILE *in = fopen(path, "rb");
    char *text;
    long size = 0;
    if (in == NULL || fseek(in, 0, SEEK_END) != 0 || (size = ftell(in)) < 0)
        fail("cannot read", path);
    rewind(in);
    text = calloc(1, (size_t)size + 1);
    if (text == NULL || fread(text, 1, (size_t)size, in) != (size_t)size)
        fail("cannot read", path);
    fclose(in);
    *len = (size_t)size;
    return text;
}

/* The key that ends at p, which is behind its colon; NULL. */
static const struct key *key_before(const struct key *keys, const char *begin, const char *p)
{
    for (; keys->text != NULL; keys++) {
        size_t len = strlen(keys->text);
        if ((size_t)(p - begin) >= len && memcmp(p - len, keys->text, len) == 0)
            return keys;
    }
    return NULL;
}

struct number {
    bool is;
    int64_t value; /* in units of the last digit */
    int digits;    /* after the point */
    const char *end;
};

static struct number parse_number(const char *p)
{
    struct number n = {.end = p};
    bool negative = *p == '-', point = false;
    for (p += negative; (*p >= '0' && *p <= '9') || (*p == '.' && !point); p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        n.value = n.value * 10 + (*p - '0');
        n.digits += point;
        n.is = true;
    }
    n.value = negative ? -n.value : n.value;
    n.end = p;
    return n;
}

/* One copy: every number of a key that counts on is raised by the key's step. */
static void put_copy(FILE *out, const char *p, const char *end, const struct key *keys,
                     const int64_t add[UNITS])
{
    const char *begin = p, *colon;
    while ((colon = memchr(p, ':', (size_t)(end - p))) != NULL) {
        const struct key *key = key_before(keys, begin, colon + 1);
        const char *value = colon + 1;
        struct number n;
        value += key != NULL && value < end && *value == ' ';
        fwrite(p, 1, (size_t)(value - p), out);
        p = value;
        if (key == NULL || !(n = parse_number(value)).is)
            continue;
        int64_t scale = 1;
        for (int i = 0; i < n.digits; i++)
            scale *= 10;
        n.value += add[key->unit] * scale;
        fprintf(out, "%s%" PRId64, n.value < 0 ? "-" : "", imaxabs(n.value) / scale);
        if (n.digits > 0)
            fprintf(out, ".%0*" PRId64, n.digits, (int64_t)(imaxabs(n.value) % scale));
        p = n.end;
    }
    fwrite(p, 1, (size_t)(end - p), out);
}

/* The largest value that any key of this unit has, and the smallest of a time. */
static void spans(const char *p, const char *end, const struct key *keys, int64_t span[UNITS])
{
    const char *begin = p, *colon;
    int64_t low[UNITS], high[UNITS];
    for (int u = 0; u < UNITS; u++) {
        low[u] = INT64_MAX;
        high[u] = 0;
    }
    for (; (colon = memchr(p, ':', (size_t)(end - p))) != NULL; p = colon + 1) {
        const struct key *key = key_before(keys, begin, colon + 1);
        struct number n;
        if (key == NULL || !(n = parse_number(colon + 1 + (colon[1] == ' '))).is || n.value <= 0)
            continue;
        for (; n.digits > 0; n.digits--)
            n.value /= 10;
        high[key->unit] = n.value > high[key->unit] ? n.value : high[key->unit];
        low[key->unit] = n.value < low[key->unit] ? n.value : low[key->unit];
    }
    span[ID] = high[ID] + 1;
    span[US] = high[US] - low[US] + 1;
    span[NS] = span[US] * 1000;
}

/* Where the records that are repeated begin and end. */
static void body_of(bool jsonl, char *text, size_t len, char **from, char **to)
{
    *from = text;
    *to = text + len;
    if (jsonl) {
        char *line, *last = strstr(text, "{\"event\":\"shutdown\"");
        while ((strncmp(*from, "{\"event\":\"init\"", 15) == 0 ||
                strncmp(*from, "{\"event\":\"comm\"", 15) == 0) &&
               (line = strchr(*from, '\n')) != NULL)
            *from = line + 1;
        *to = last != NULL ? last : *to;
        return;
    }
    *from = strstr(text, "\"traceEvents\"");
    *from = *from != NULL ? strchr(*from, '[') : NULL;
    *from = *from != NULL ? *from + 1 : text;
    while (*to > *from && **to != ']')
        --*to; /* the last bracket of the file closes the list, or one after it */
}

int main(int argc, char **argv)
{
    size_t len, bytes = argc == 5 ? strtoull(argv[4], NULL, 10) : 0, copy;
    bool jsonl = argc == 5 && strcmp(argv[1], "jsonl") == 0;
    const struct key *keys = jsonl ? jsonl_keys : kineto_keys;
    int64_t span[UNITS], add[UNITS] = {0};
    char *text, *from, *to;
    FILE *out;
    if (argc != 5) {
        fprintf(stderr, "usage: grow jsonl|kineto IN OUT BYTES\n");
        return 2;
    }
    text = read_all(argv[2], &len);
    body_of(jsonl, text, len, &from, &to);
    spans(from, to, keys, span);
    out = fopen(argv[3], "wb");
    if (out == NULL)
        fail("cannot write", argv[3]);
    fwrite(text, 1, (size_t)(from - text), out);
    for (copy = 0; copy == 0 || (size_t)ftell(out) < bytes; copy++) {
        if (copy > 0 && !jsonl)
            fputs(",\n", out);
        put_copy(out, from, to, keys, add);
        for (int u = 0; u < UNITS; u++)
            add[u] += span[u];
    }
    fwrite(to, 1, (size_t)(text + len - to), out);
    free(text);
    if (fclose(out) != 0)
        fail("cannot write", argv[3]);
    return 0;
}
