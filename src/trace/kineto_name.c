/* SPDX-License-Identifier: MIT
 *
 * PyTorch's names of element types, files and steps, and its form of shapes.
 */
#include "trace/kineto.h"

#include "base/arena.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int kineto_dtype(struct json_text name)
{
    static const struct {
        const char *name;
        enum specter_dtype type;
    } names[] = {
        {"float", SPECTER_FP32},
        {"bfloat16", SPECTER_BF16},
        {"half", SPECTER_FP16},
        {"long int", SPECTER_INT64},
        {"long", SPECTER_INT64},
        {"int", SPECTER_INT32},
        {"double", SPECTER_FP64},
        {"unsigned char", SPECTER_UINT8},
        {"byte", SPECTER_UINT8},
        {"bool", SPECTER_UINT8},
        {"signed char", SPECTER_INT8},
        {"char", SPECTER_INT8},
        {"float16", SPECTER_FP16}, /* from here on also as torch.dtype names them */
        {"float32", SPECTER_FP32},
        {"float64", SPECTER_FP64},
        {"int8", SPECTER_INT8},
        {"uint8", SPECTER_UINT8},
        {"int32", SPECTER_INT32},
        {"int64", SPECTER_INT64},
        {"uint32", SPECTER_UINT32},
        {"unsigned int", SPECTER_UINT32},
        {"uint64", SPECTER_UINT64},
        {"unsigned long", SPECTER_UINT64},
        {"float8_e4m3fn", SPECTER_FP8E4M3},
        {"float8_e4m3fnuz", SPECTER_FP8E4M3},
        {"float8_e5m2", SPECTER_FP8E5M2},
        {"float8_e5m2fnuz", SPECTER_FP8E5M2},
    };
    const char *tensor = name.len > 7 ? memmem(name.p, name.len, "Tensor(", 7) : NULL;
    if (tensor !=
        NULL) { /* Tensor(float), as execution traces write, also inside GenericList[...] */
        const char *begin = tensor + 7, *end = name.p + name.len;
        const char *close = memchr(begin, ')', (size_t)(end - begin));
        name.p = begin;
        name.len = (uint32_t)((close != NULL ? close : end) - begin);
    }
    if (name.len > 5 && memcmp(name.p, "c10::", 5) == 0) {
        name.p += 5;
        name.len -= 5;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i].name) == name.len && strncasecmp(names[i].name, name.p, name.len) == 0)
            return names[i].type;
    }
    return SPECTER_DTYPE_UNKNOWN;
}

/* ---- shapes ---- */

/* Steps into a list and to its i-th element. */
bool kineto_go_to_item(struct json *j, struct json_text list, int i)
{
    json_init(j, list.p, list.len);
    if (list.p == NULL || json_peek(j) != '[' || !json_enter(j, '['))
        return false;
    while (json_next_item(j)) {
        if (i-- == 0)
            return true;
        json_skip(j);
    }
    return false;
}

int kineto_type_at(struct json_text types, int i)
{
    struct json j;
    if (!kineto_go_to_item(&j, types, i) || json_peek(&j) != '"')
        return SPECTER_DTYPE_UNKNOWN;
    return kineto_dtype(json_string(&j));
}

int kineto_shape_at(struct json_text dims, int i, int64_t *out, int max)
{
    struct json j;
    int n = 0;
    if (!kineto_go_to_item(&j, dims, i) || json_peek(&j) != '[' || !json_enter(&j, '['))
        return -1;
    while (json_next_item(&j)) {
        char c = json_peek(&j);
        if (c != '0' || n == max)
            return -1;
        out[n++] = json_i64(&j, -1);
    }
    return j.error == NULL ? n : -1;
}

/* ---- files and steps ---- */

const char *kineto_host_in_label(struct arena *arena, const char *label, int64_t pid)
{
    const char *slash = strrchr(label, '/'), *base = slash != NULL ? slash + 1 : label;
    const char *end = strstr(base, ".pt.trace.json"), *p = end;
    while (p != NULL && p > base && isdigit((unsigned char)p[-1]))
        p--;
    if (p == NULL || p == end || p == base || p[-1] != '.')
        return "";
    end = --p;
    while (p > base && isdigit((unsigned char)p[-1]))
        p--;
    if (p == end || p == base || p[-1] != '_' || strtoll(p, NULL, 10) != pid)
        return "";
    return arena_strndup(arena, base, (size_t)(p - 1 - base));
}

bool kineto_step_numbers(const struct rank *rank, int64_t *first, int64_t *last)
{
    static const char step[] = KINETO_STEP;
    *first = INT64_MAX;
    *last = -1;
    for (size_t i = 0; i < rank->nsteps; i++) {
        const char *name = rank->steps[i].name;
        int64_t number;
        if (strncmp(name, step, sizeof step - 1) != 0)
            continue;
        number = strtoll(name + sizeof step - 1, NULL, 10);
        *first = number < *first ? number : *first;
        *last = number > *last ? number : *last;
    }
    return *last >= 0;
}
