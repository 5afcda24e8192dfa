/* SPDX-License-Identifier: MIT */
#include "secrets.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#define PREFIX_REST_MIN 12 /* characters after a prefix: fewer are an ordinary word */
#define RANDOM_MIN 24      /* characters of a run of letters and digits */
#define HEX_MIN 32         /* of a run of hex digits alone: a UUID has at most 12 in a row */
#define BASE64_MIN 32      /* of a part with the other characters of base64 in it */

/* ---- names ---- */

static bool is_anywhere(const char *name, const char *word)
{
    size_t len = strlen(word);
    for (; *name != '\0'; name++) {
        if (strncasecmp(name, word, len) == 0)
            return true;
    }
    return false;
}

static bool is_part(const char *name, const char *word)
{
    size_t len = strlen(word);
    for (;;) {
        size_t part = strcspn(name, "_");
        if (part == len && strncasecmp(name, word, len) == 0)
            return true;
        if (name[part] == '\0')
            return false;
        name += part + 1;
    }
}

enum word_kind { WORD_ANYWHERE, WORD_PART, WORD_PATH, WORD_PREFIX };

static const struct {
    enum word_kind kind;
    const char *text;
} words[] = {
#define ANYWHERE(_word) {WORD_ANYWHERE, _word},
#define PART(_word) {WORD_PART, _word},
#define PATH(_word) {WORD_PATH, _word},
#define PREFIX(_text) {WORD_PREFIX, _text},
#include "secrets.def"
};

#define WORDS (sizeof words / sizeof *words)

static bool has_word(const char *name, enum word_kind kind)
{
    for (size_t i = 0; i < WORDS; i++) {
        if (words[i].kind == kind && (kind == WORD_ANYWHERE ? is_anywhere(name, words[i].text)
                                                            : is_part(name, words[i].text)))
            return true;
    }
    return false;
}

/* ---- values ---- */

static bool is_prefixed(const char *part, size_t len)
{
    for (size_t i = 0; i < WORDS; i++) {
        size_t n = strlen(words[i].text);
        if (words[i].kind == WORD_PREFIX && len >= n + PREFIX_REST_MIN &&
            strncmp(part, words[i].text, n) == 0)
            return true;
    }
    return false;
}

/* user:password@host, with or without a scheme in front. */
static bool has_password(const char *value)
{
    const char *scheme = strstr(value, "://"), *from = scheme != NULL ? scheme + 3 : value;
    const char *at = strchr(from, '@');
    const char *colon = at != NULL ? memchr(from, ':', (size_t)(at - from)) : NULL;
    return colon != NULL && colon + 1 < at && at[1] != '\0' &&
           memchr(from, '/', (size_t)(at - from)) == NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

struct mix {
    size_t letters, digits, hex;
    size_t turns; /* from a digit to something else, and back */
    size_t cases; /* from a small letter to a capital, and back */
};

static struct mix mix_of(const char *text, size_t len)
{
    struct mix m = {0};
    for (size_t i = 0; i < len; i++) {
        m.letters += is_lower(text[i]) || is_upper(text[i]);
        m.digits += is_digit(text[i]);
        m.hex += is_hex(text[i]);
        m.turns += i > 0 && is_digit(text[i]) != is_digit(text[i - 1]);
        m.cases += i > 0 && ((is_lower(text[i]) && is_upper(text[i - 1])) ||
                             (is_upper(text[i]) && is_lower(text[i - 1])));
    }
    return m;
}

/* Letters and digits with nothing between them that separates words: long, and mixed as chance
 * mixes them. Words, versions and names of hosts change seldom between letters and digits. */
static bool is_random_run(const char *run, size_t len)
{
    struct mix m = mix_of(run, len);
    if (m.hex == len)
        return len >= HEX_MIN && m.letters > 0;
    return len >= RANDOM_MIN && m.letters > 0 && m.digits >= 2 && m.turns >= 4;
}

static bool has_random_run(const char *part, size_t len)
{
    for (size_t i = 0, run; i < len; i += run + 1) {
        run = 0;
        while (i + run < len &&
               (is_digit(part[i + run]) || is_lower(part[i + run]) || is_upper(part[i + run])))
            run++;
        if (is_random_run(part + i, run))
            return true;
    }
    return false;
}

/* All of base64, also its form for URLs. UUIDs, which have its letters, too, are of one case. */
static bool is_base64(const char *part, size_t len)
{
    struct mix m = mix_of(part, len);
    for (size_t i = 0; i < len; i++) {
        if (!is_digit(part[i]) && !is_lower(part[i]) && !is_upper(part[i]) &&
            strchr("+/-_=", part[i]) == NULL)
            return false;
    }
    return len >= BASE64_MIN && m.digits > 0 && m.cases >= 4;
}

/* Of a part of a list; "name=" may stand before it. */
static bool is_token(const char *part, size_t len)
{
    const char *equals = memchr(part, '=', len);
    size_t head = equals != NULL ? (size_t)(equals + 1 - part) : 0;
    return is_prefixed(part, len) || is_prefixed(part + head, len - head) || is_base64(part, len) ||
           has_random_run(part, len);
}

static bool has_token(const char *value)
{
    static const char separators[] = ",;|";
    while (*value != '\0') {
        size_t len = strcspn(value, separators);
        if (is_token(value, len))
            return true;
        value += len + (value[len] != '\0');
    }
    return false;
}

/* A path is whole whatever its parts look like: folders are named after jobs and commits. */
static bool is_path(const char *value)
{
    return value[0] == '/' || strncmp(value, "./", 2) == 0 || strncmp(value, "../", 3) == 0 ||
           strncmp(value, "~/", 2) == 0;
}

bool secrets_is_one(const char *name, const char *value)
{
    if (value[0] == '\0')
        return false;
    if (has_word(name, WORD_ANYWHERE) || has_word(name, WORD_PART) || has_password(value))
        return true;
    return !has_word(name, WORD_PATH) && !is_path(value) && has_token(value);
}
