/* SPDX-License-Identifier: MIT
 *
 * PTX: the names behind .entry, the block that .maxntid or .reqntid allows, and the variables of
 * .global and .const outside functions. A compiler would find how many registers a kernel takes;
 * here it takes PTX_REGISTERS.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"

#define PTX_REGISTERS 32

/* A word, a number, or one other character. */
struct token {
    const char *at;
    size_t length;
};

struct text {
    const char *at, *end;
    unsigned depth; /* of braces */
};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.' || c == '%';
}

static void skip_blanks(struct text *t)
{
    while (t->at < t->end) {
        size_t left = (size_t)(t->end - t->at);
        const char *stop = NULL;
        if (isspace((unsigned char)*t->at))
            stop = t->at + 1;
        else if (left > 1 && strncmp(t->at, "//", 2) == 0)
            stop = memchr(t->at, '\n', left);
        else if (left > 1 && strncmp(t->at, "/*", 2) == 0)
            stop = memmem(t->at + 2, left - 2, "*/", 2);
        else
            return;
        t->at = stop != NULL ? stop + (*t->at == '/' && *stop == '*' ? 2 : 0) : t->end;
    }
}

/* False at the end. */
static bool next(struct text *t, struct token *token)
{
    skip_blanks(t);
    if (t->at == t->end || !*t->at)
        return false;
    token->at = t->at;
    while (t->at < t->end && is_word(*t->at))
        t->at++;
    if (t->at == token->at)
        t->at++;
    token->length = (size_t)(t->at - token->at);
    t->depth += *token->at == '{';
    t->depth -= *token->at == '}' && t->depth;
    return true;
}

static bool is(const struct token *token, const char *word)
{
    return token->length == strlen(word) && strncmp(token->at, word, token->length) == 0;
}

/* The number that it begins with, of up to nine characters, else 0. */
static unsigned number(const struct token *token)
{
    char digits[10] = "";
    if (token->length < sizeof digits)
        memcpy(digits, token->at, token->length);
    return (unsigned)strtoul(digits, NULL, 10);
}

/* Behind .maxntid: up to three numbers with commas between them. */
static unsigned read_block(struct text *t)
{
    unsigned threads = 1;
    struct text before = *t;
    struct token token;
    for (bool comma = true; next(t, &token); comma = !comma) {
        if (comma ? !isdigit((unsigned char)*token.at) : *token.at != ',') {
            *t = before;
            break;
        }
        if (comma)
            threads *= number(&token) ? number(&token) : 1;
        before = *t;
    }
    return threads;
}

/* A declaration up to its `;` or `=`: the last word is the name, in brackets the count. */
static void read_variable(struct image *image, struct text *t)
{
    struct token token, name = {NULL, 0};
    size_t bytes = 1, count = 1;
    while (next(t, &token) && !is(&token, ";") && !is(&token, "=")) {
        const char *digit = token.at + token.length;
        while (digit > token.at && isdigit((unsigned char)digit[-1]))
            digit--;
        if (is(&token, ".align") || is(&token, "[")) {
            bool array = is(&token, "[");
            if (next(t, &token) && array && isdigit((unsigned char)*token.at))
                count *= number(&token);
        } else if (*token.at == '.' && digit < token.at + token.length && token.length < 6) {
            bytes = number(&(struct token){digit, (size_t)(token.at + token.length - digit)}) / 8;
        } else if (is_word(*token.at) && *token.at != '.') {
            name = token;
        }
    }
    if (name.length)
        image_add_variable(image, name.at, name.length)->bytes = bytes * count;
}

CUresult image_read_ptx(struct image *image, const char *data, size_t size)
{
    struct text t = {data, data + size, 0};
    struct emu_kernel_facts *kernel = NULL;
    struct token token;
    unsigned version = 0;
    if (!next(&t, &token) || !is(&token, ".version"))
        return CUDA_ERROR_INVALID_IMAGE;
    while (next(&t, &token)) {
        if (is(&token, ".target") && next(&t, &token) && token.length > 3)
            version = number(&(struct token){token.at + 3, token.length - 3});
        if (t.depth)
            continue;
        if (is(&token, ".entry") && next(&t, &token)) {
            kernel = image_add_kernel(image, token.at, token.length);
            kernel->registers = PTX_REGISTERS;
            kernel->version = version;
        } else if ((is(&token, ".maxntid") || is(&token, ".reqntid")) && kernel != NULL) {
            kernel->threads_max = read_block(&t);
        } else if (is(&token, ".global") || is(&token, ".const")) {
            read_variable(image, &t);
        }
    }
    return version ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX;
}
