/* SPDX-License-Identifier: MIT */
#include "settings.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

/* Digits at *p, which is moved after them. false: none, or more than fit. */
static bool read_digits(const char **p, int64_t *value)
{
    const char *from = *p;
    *value = 0;
    for (; **p >= '0' && **p <= '9'; ++*p) {
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, **p - '0', value))
            return false;
    }
    return *p > from;
}

/* "2.5" in units of 1 / unit, `unit` a power of ten; what is finer is cut off. */
static bool parse_decimal(const char *text, int64_t unit, int64_t *value)
{
    if (!read_digits(&text, value) || __builtin_mul_overflow(*value, unit, value))
        return false;
    if (*text == '.') {
        for (text++; *text >= '0' && *text <= '9'; text++) {
            unit /= 10;
            if (__builtin_add_overflow(*value, (*text - '0') * unit, value))
                return false;
        }
    }
    return *text == '\0';
}

static bool parse_whole(const char *text, int64_t least, int64_t most, int64_t *value)
{
    return read_digits(&text, value) && *text == '\0' && *value >= least && *value <= most;
}

static bool parse_flag(const char *text, int64_t *value)
{
    static const char *const words[][2] = {
        {"0", "1"}, {"no", "yes"}, {"off", "on"}, {"false", "true"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        for (*value = 0; *value < 2; ++*value) {
            if (strcmp(text, words[i][*value]) == 0)
                return true;
        }
    }
    return false;
}

static bool parse_ranks(const char *text)
{
    int64_t from, to;
    for (;; text++) {
        if (!read_digits(&text, &from))
            return false;
        if (*text == '-' && (text++, !read_digits(&text, &to) || to < from))
            return false;
        if (*text != ',')
            return *text == '\0';
    }
}

static bool parse_steps(const char *text, struct setting_value *v)
{
    if (!read_digits(&text, &v->number) || v->number < 1 || *text != ':')
        return false;
    v->last = INT64_MAX;
    if (*++text == '\0')
        return true;
    return read_digits(&text, &v->last) && *text == '\0' && v->last >= v->number;
}

/* k, K, KiB, M, ... ; MB and the like, which could mean either, are no size. */
static bool parse_bytes(const char *text, int64_t *value)
{
    static const char letters[] = "KMGT";
    const char *letter;
    int shift = 0;
    if (!read_digits(&text, value))
        return false;
    if (*text != '\0') {
        letter = strchr(letters, *text == 'k' ? 'K' : *text);
        if (letter == NULL || (text[1] != '\0' && strcmp(text + 1, "iB") != 0))
            return false;
        shift = 10 * (int)(letter - letters + 1);
    }
    return !__builtin_mul_overflow(*value, INT64_C(1) << shift, value) &&
           (*value == 0 || *value >= SETTING_BYTES_MIN);
}

bool setting_parse(enum setting_kind kind, const char *text, struct setting_value *v)
{
    switch (kind) {
    case SETTING_FLAG:
        return parse_flag(text, &v->number);
    case SETTING_PATH:
        return text[0] != '\0' && strlen(text) < PATH_MAX;
    case SETTING_NAME:
        return text[0] != '\0' && strlen(text) < SETTING_NAME_MAX;
    case SETTING_RANKS:
        return parse_ranks(text);
    case SETTING_STEPS:
        return parse_steps(text, v);
    case SETTING_SECONDS:
        return parse_decimal(text, 1000000000, &v->number);
    case SETTING_PERCENT:
        return parse_decimal(text, 10000, &v->number) && v->number <= 1000000;
    case SETTING_COUNT:
        return parse_whole(text, 0, SETTING_COUNT_MAX, &v->number);
    case SETTING_RATE:
        return parse_whole(text, 1, SETTING_COUNT_MAX, &v->number);
    case SETTING_BYTES:
        return parse_bytes(text, &v->number);
    }
    return false;
}

const char *setting_expected(enum setting_kind kind)
{
    static const char *const texts[] = {
        [SETTING_FLAG] = "0 or 1",
        [SETTING_PATH] = "the name of a folder",
        [SETTING_NAME] = "a name of up to 63 bytes",
        [SETTING_RANKS] = "a list of ranks, such as 0,8-15",
        [SETTING_STEPS] = "two iterations, such as 10:20, the first being 1",
        [SETTING_SECONDS] = "a number of seconds, such as 2.5",
        [SETTING_PERCENT] = "a percentage, such as 0.5",
        [SETTING_COUNT] = "a whole number of up to 10000000",
        [SETTING_RATE] = "a whole number from 1 to 10000000",
        [SETTING_BYTES] = "a size of 64k or more, such as 512M (powers of 1024)",
    };
    return texts[kind];
}
