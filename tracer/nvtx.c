/* SPDX-License-Identifier: MIT
 *
 * The tracer as a tool for NVTX: takes the marks and ranges of programs that use it (PyTorch's
 * torch.cuda.nvtx among them) as its own. Of a mark its text is kept; categories, colours and
 * payloads are not, and domains only to tell which range ends.
 *
 * Handles that NVTX gives the program are addresses of entries of fixed tables here, so that making
 * one allocates nothing and using any value is safe. When a table is full, all that is new shares
 * one entry.
 */
#include "abi/nvtx.h"

#include "mark.h"

#include <stdatomic.h>
#include <string.h>

/* ---- text ---- */

static size_t put_utf8(char out[4], uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        c = 0xfffd;
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* As UTF-8, as many whole characters as fit. */
static const char *narrow(char out[MARK_NAME_MAX], const wchar_t *wide)
{
    size_t len = 0;
    for (; wide != NULL && *wide != L'\0'; wide++) {
        char c[4];
        size_t n = put_utf8(c, (uint32_t)*wide);
        if (len + n > MARK_NAME_MAX - 1)
            break;
        memcpy(out + len, c, n);
        len += n;
    }
    out[len] = '\0';
    return out;
}

/* ---- registered strings and domains ---- */

#define STRINGS_MAX 1024 /* a power of two */
#define DOMAINS_MAX 256

enum string_state { STRING_FREE, STRING_FILLING, STRING_SET };

static struct string {
    _Atomic int state; /* enum string_state */
    char text[MARK_NAME_MAX];
} strings[STRINGS_MAX];
static const struct string no_string;

static char domains[DOMAINS_MAX]; /* only their addresses matter */
static _Atomic uint32_t domain_count;

/* The entry that holds the text, or a free one that now does. One that is just being filled is
 * passed over: two handles for one text do no harm. */
static const void *register_string(const char *text)
{
    uint32_t at = 5381;
    for (const char *p = text; *p != '\0'; p++)
        at = at * 33 + (unsigned char)*p;
    for (uint32_t i = 0; i < STRINGS_MAX; i++) {
        struct string *s = &strings[(at + i) % STRINGS_MAX];
        int state = STRING_FREE;
        if (atomic_compare_exchange_strong(&s->state, &state, STRING_FILLING)) {
            strcpy(s->text, text);
            atomic_store_explicit(&s->state, STRING_SET, memory_order_release);
            return s;
        }
        if (state == STRING_SET && strcmp(s->text, text) == 0)
            return s;
    }
    return &no_string;
}

static const char *string_text(const void *handle)
{
    uintptr_t at = (uintptr_t)handle, first = (uintptr_t)strings;
    if (at < first || at >= first + sizeof strings || (at - first) % sizeof strings[0] != 0)
        return "";
    return ((const struct string *)handle)->text;
}

static const void *create_domain(void)
{
    uint32_t n = atomic_fetch_add_explicit(&domain_count, 1, memory_order_relaxed);
    return &domains[n < DOMAINS_MAX ? n : DOMAINS_MAX - 1];
}

/* The text of a mark; `room` for one that has to be converted. */
static const char *message(const struct nvtx_attributes *a, char room[MARK_NAME_MAX])
{
    if (a == NULL || a->size < sizeof *a || a->message == NULL)
        return "";
    switch (a->message_type) {
    case NVTX_MESSAGE_ASCII:
        return a->message;
    case NVTX_MESSAGE_WIDE:
        return narrow(room, a->message);
    case NVTX_MESSAGE_STRING:
        return string_text(a->message);
    default:
        return "";
    }
}

#define MESSAGE(_attributes) message(_attributes, (char[MARK_NAME_MAX]){0})
#define NARROW(_wide) narrow((char[MARK_NAME_MAX]){0}, _wide)

/* ---- the functions that a program's copy of NVTX calls ---- */

static void mark_ex(const struct nvtx_attributes *a)
{
    specter_mark(MESSAGE(a));
}

static void mark_a(const char *text)
{
    specter_mark(text);
}

static void mark_w(const wchar_t *text)
{
    specter_mark(NARROW(text));
}

static uint64_t range_start_ex(const struct nvtx_attributes *a)
{
    return mark_begin(MESSAGE(a));
}

static uint64_t range_start_a(const char *text)
{
    return mark_begin(text);
}

static uint64_t range_start_w(const wchar_t *text)
{
    return mark_begin(NARROW(text));
}

static void range_end(uint64_t id)
{
    mark_end(id);
}

static int range_push_ex(const struct nvtx_attributes *a)
{
    return mark_push(NULL, MESSAGE(a));
}

static int range_push_a(const char *text)
{
    return mark_push(NULL, text);
}

static int range_push_w(const wchar_t *text)
{
    return mark_push(NULL, NARROW(text));
}

static int range_pop(void)
{
    return mark_pop(NULL);
}

static void domain_mark_ex(const void *domain, const struct nvtx_attributes *a)
{
    (void)domain;
    specter_mark(MESSAGE(a));
}

static uint64_t domain_range_start_ex(const void *domain, const struct nvtx_attributes *a)
{
    (void)domain;
    return mark_begin(MESSAGE(a));
}

static void domain_range_end(const void *domain, uint64_t id)
{
    (void)domain;
    mark_end(id);
}

static int domain_range_push_ex(const void *domain, const struct nvtx_attributes *a)
{
    return mark_push(domain, MESSAGE(a));
}

static int domain_range_pop(const void *domain)
{
    return mark_pop(domain);
}

static const void *domain_register_string_a(const void *domain, const char *text)
{
    char name[MARK_NAME_MAX];
    (void)domain;
    mark_copy_name(name, text);
    return register_string(name);
}

static const void *domain_register_string_w(const void *domain, const wchar_t *text)
{
    (void)domain;
    return register_string(NARROW(text));
}

static const void *domain_create_a(const char *name)
{
    (void)name;
    return create_domain();
}

static const void *domain_create_w(const wchar_t *name)
{
    (void)name;
    return create_domain();
}

static void domain_destroy(const void *domain)
{
    (void)domain;
}

/* ---- installing them ---- */

struct callback {
    unsigned place;
    nvtx_function f;
};

#define CALLBACK(_place, _function)      \
    {                                    \
        _place, (nvtx_function)_function \
    }

static const struct callback core[] = {
    CALLBACK(NVTX_MARK_EX, mark_ex),
    CALLBACK(NVTX_MARK_A, mark_a),
    CALLBACK(NVTX_MARK_W, mark_w),
    CALLBACK(NVTX_RANGE_START_EX, range_start_ex),
    CALLBACK(NVTX_RANGE_START_A, range_start_a),
    CALLBACK(NVTX_RANGE_START_W, range_start_w),
    CALLBACK(NVTX_RANGE_END, range_end),
    CALLBACK(NVTX_RANGE_PUSH_EX, range_push_ex),
    CALLBACK(NVTX_RANGE_PUSH_A, range_push_a),
    CALLBACK(NVTX_RANGE_PUSH_W, range_push_w),
    CALLBACK(NVTX_RANGE_POP, range_pop),
};

static const struct callback core2[] = {
    CALLBACK(NVTX_DOMAIN_MARK_EX, domain_mark_ex),
    CALLBACK(NVTX_DOMAIN_RANGE_START_EX, domain_range_start_ex),
    CALLBACK(NVTX_DOMAIN_RANGE_END, domain_range_end),
    CALLBACK(NVTX_DOMAIN_RANGE_PUSH_EX, domain_range_push_ex),
    CALLBACK(NVTX_DOMAIN_RANGE_POP, domain_range_pop),
    CALLBACK(NVTX_DOMAIN_REGISTER_STRING_A, domain_register_string_a),
    CALLBACK(NVTX_DOMAIN_REGISTER_STRING_W, domain_register_string_w),
    CALLBACK(NVTX_DOMAIN_CREATE_A, domain_create_a),
    CALLBACK(NVTX_DOMAIN_CREATE_W, domain_create_w),
    CALLBACK(NVTX_DOMAIN_DESTROY, domain_destroy),
};

static void install(const struct nvtx_callbacks *callbacks, int module,
                    const struct callback *functions, size_t count)
{
    nvtx_function **table = NULL;
    unsigned size = 0;
    if (callbacks->places(module, &table, &size) == 0 || table == NULL)
        return;
    for (size_t i = 0; i < count; i++) {
        if (functions[i].place < size && table[functions[i].place] != NULL)
            *table[functions[i].place] = functions[i].f;
    }
}

/* 0 would make NVTX close the library. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(nvtx_get_table get_table);

int InitializeInjectionNvtx2(nvtx_get_table get_table)
{
    const struct nvtx_callbacks *callbacks = get_table(NVTX_TABLE_CALLBACKS);
    if (callbacks == NULL || callbacks->struct_size < sizeof *callbacks)
        return 0;
    install(callbacks, NVTX_MODULE_CORE, core, sizeof core / sizeof *core);
    install(callbacks, NVTX_MODULE_CORE2, core2, sizeof core2 / sizeof *core2);
    return 1;
}
