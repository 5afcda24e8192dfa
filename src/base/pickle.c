/* SPDX-License-Identifier: MIT */
#include "base/pickle.h"

#include "base/arena.h"
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX /* no cell, no value */
#define MARK UINT32_MAX /* on the stack: where a container's new elements begin */
#define JSON_MIN ((size_t)1 << 20)
#define JSON_MAX ((size_t)1 << 30)

enum kind { NOTHING, TRUE, FALSE, INT, UINT, REAL, TEXT, LIST, DICT };

struct pickle_value {
    union {
        int64_t integer;
        uint64_t natural;
        double real;
        struct {
            uint32_t at, len; /* TEXT: bytes of the pickle */
        } text;
        struct {
            uint32_t first, last; /* LIST, DICT: cells; of a DICT key and value in turn */
        } cells;
    };
    uint8_t kind; /* enum kind */
};

/* An element of a container. Values are shared: one may be in several containers. */
struct cell {
    uint32_t value, next;
};

struct unpickler {
    const char *bytes; /* borrowed */
    size_t len, at;    /* where the opcode that is run stands */
    size_t next;       /* the byte after what was read of it */
    struct pickle_value *values;
    size_t nvalues, cap_values;
    struct cell *cells;
    size_t ncells, cap_cells;
    uint32_t *stack; /* values, and MARK */
    size_t depth, cap_stack;
    uint32_t *memo; /* value plus one; 0: not set */
    size_t nmemo, cap_memo, memoized;
    struct buf *json;
    size_t json_max;
    struct err *e;
    bool stopped, cut; /* the opcode STOP was there; the bytes ended before it */
};

/* ---- errors ---- */

static bool refuse(struct unpickler *u, const char *what)
{
    err_set(u->e, ERR_INPUT, "byte %zu: %s", u->at, what);
    return false;
}

static bool end_early(struct unpickler *u)
{
    u->cut = true;
    err_set(u->e, ERR_INPUT, "byte %zu: the pickle ends early", u->len);
    return false;
}

/* ---- bytes ---- */

/* The next n bytes of the opcode's argument; NULL when the pickle ends before. */
static const unsigned char *take(struct unpickler *u, size_t n)
{
    const char *p = u->bytes + u->next;
    if (n > u->len - u->next) {
        end_early(u);
        return NULL;
    }
    u->next += n;
    return (const unsigned char *)p;
}

/* A little-endian number of up to 8 bytes. */
static bool take_number(struct unpickler *u, size_t n, uint64_t *number)
{
    const unsigned char *p = take(u, n);
    *number = 0;
    for (size_t i = n; p != NULL && i > 0; i--)
        *number = *number << 8 | p[i - 1];
    return p != NULL;
}

/* ---- the stack ---- */

static bool push(struct unpickler *u, uint32_t value)
{
    if (u->depth == PICKLE_VALUES_MAX)
        return refuse(u, "more values than any dump holds");
    ARRAY_GROW(u->stack, u->cap_stack, u->depth + 1);
    u->stack[u->depth++] = value;
    return true;
}

static bool push_new(struct unpickler *u, struct pickle_value value)
{
    if (u->nvalues == PICKLE_VALUES_MAX || u->ncells >= PICKLE_VALUES_MAX)
        return refuse(u, "more values than any dump holds");
    ARRAY_GROW(u->values, u->cap_values, u->nvalues + 1);
    u->values[u->nvalues++] = value;
    return push(u, (uint32_t)u->nvalues - 1);
}

static bool push_kind(struct unpickler *u, enum kind kind)
{
    struct pickle_value value = {.kind = (uint8_t)kind};
    value.cells.first = value.cells.last = NONE;
    return push_new(u, value);
}

static bool push_int(struct unpickler *u, int64_t integer)
{
    return push_new(u, (struct pickle_value){.integer = integer, .kind = INT});
}

/* Finds the topmost mark. False, and u->e filled: there is none. */
static bool find_mark(struct unpickler *u, size_t *mark)
{
    for (size_t i = u->depth; i > 0; i--) {
        if (u->stack[i - 1] != MARK)
            continue;
        *mark = i - 1;
        return true;
    }
    return refuse(u, "no MARK on the stack");
}

/* The topmost n are values, and not marks. */
static bool has_values(struct unpickler *u, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (u->depth <= i || u->stack[u->depth - 1 - i] == MARK)
            return refuse(u, "too few values on the stack");
    }
    return true;
}

/* ---- containers ---- */

/* Moves the values from `first` on into the container of that kind that lies below `end`. */
static bool fill(struct unpickler *u, enum kind kind, size_t first, size_t end)
{
    uint32_t container = end > 0 ? u->stack[end - 1] : MARK;
    if (container == MARK || u->values[container].kind != kind)
        return refuse(u, kind == LIST ? "no list to append to" : "no dictionary to put items into");
    if (kind == DICT && (u->depth - first) % 2 != 0)
        return refuse(u, "a key without a value");
    if (u->ncells + (u->depth - first) > PICKLE_VALUES_MAX)
        return refuse(u, "more values than any dump holds");
    for (size_t i = first; i < u->depth; i++) {
        struct pickle_value *c = &u->values[container];
        uint32_t cell = (uint32_t)u->ncells;
        ARRAY_GROW(u->cells, u->cap_cells, u->ncells + 1);
        u->cells[u->ncells++] = (struct cell){u->stack[i], NONE};
        if (c->cells.first == NONE)
            c->cells.first = cell;
        else
            u->cells[c->cells.last].next = cell;
        c->cells.last = cell;
    }
    u->depth = end;
    return true;
}

static bool run_items(struct unpickler *u, enum kind kind)
{
    size_t mark;
    return find_mark(u, &mark) && fill(u, kind, mark + 1, mark);
}

/* ---- opcodes ---- */

static bool run_proto(struct unpickler *u, unsigned arg)
{
    const unsigned char *p = take(u, 1);
    (void)arg;
    if (p == NULL)
        return false;
    return *p <= 5 || refuse(u, "a protocol above 5");
}

static bool run_frame(struct unpickler *u, unsigned arg)
{
    return take(u, arg) != NULL; /* how long it is: of use to those who read in pieces */
}

static bool run_stop(struct unpickler *u, unsigned arg)
{
    (void)arg;
    u->stopped = has_values(u, 1);
    return u->stopped;
}

static bool run_mark(struct unpickler *u, unsigned arg)
{
    (void)arg;
    return push(u, MARK);
}

static bool run_constant(struct unpickler *u, unsigned kind)
{
    return push_kind(u, (enum kind)kind);
}

static bool run_natural(struct unpickler *u, unsigned size)
{
    uint64_t number;
    return take_number(u, size, &number) && push_int(u, (int64_t)number);
}

static bool run_binint(struct unpickler *u, unsigned size)
{
    uint64_t number;
    return take_number(u, size, &number) && push_int(u, (int32_t)(uint32_t)number);
}

/* A two's complement number of so many bytes; what does not fit 64 bits is in no dump. */
static bool run_long(struct unpickler *u, unsigned size)
{
    uint64_t n, low;
    const unsigned char *p;
    if (!take_number(u, size, &n))
        return false;
    if (n > 9)
        return refuse(u, "a number of more than 64 bits");
    if (!take_number(u, n < 8 ? n : 8, &low))
        return false;
    p = take(u, n == 9);
    if (p == NULL || (n == 9 && *p != 0))
        return p != NULL && refuse(u, "a number of more than 64 bits");
    if (n == 9)
        return push_new(u, (struct pickle_value){.natural = low, .kind = UINT});
    if (n > 0 && n < 8 && low >> (8 * n - 1) != 0)
        low |= UINT64_MAX << 8 * n;
    return push_int(u, (int64_t)low);
}

/* Big-endian, unlike all others. */
static bool run_float(struct unpickler *u, unsigned size)
{
    const unsigned char *p = take(u, size);
    struct pickle_value value = {.kind = REAL};
    uint64_t bits = 0;
    for (size_t i = 0; p != NULL && i < size; i++)
        bits = bits << 8 | p[i];
    memcpy(&value.real, &bits, sizeof value.real);
    return p != NULL && push_new(u, value);
}

static bool run_text(struct unpickler *u, unsigned size)
{
    struct pickle_value value = {.kind = TEXT};
    uint64_t n;
    if (!take_number(u, size, &n))
        return false;
    value.text.at = (uint32_t)u->next; /* a pickle of 4 GiB is refused */
    value.text.len = (uint32_t)n;
    return take(u, n) != NULL && push_new(u, value);
}

static bool run_tuple(struct unpickler *u, unsigned n)
{
    size_t first;
    uint32_t tuple;
    if (!has_values(u, n) || !push_kind(u, LIST))
        return false;
    tuple = u->stack[--u->depth];
    first = u->depth - n;
    if (n > 0)
        memmove(&u->stack[first + 1], &u->stack[first], n * sizeof *u->stack);
    u->stack[first] = tuple;
    u->depth++;
    return fill(u, LIST, first + 1, first + 1);
}

static bool run_marked_tuple(struct unpickler *u, unsigned arg)
{
    size_t mark;
    (void)arg;
    if (!find_mark(u, &mark) || !push_kind(u, LIST))
        return false;
    u->stack[mark] = u->stack[--u->depth];
    return fill(u, LIST, mark + 1, mark + 1);
}

static bool run_append(struct unpickler *u, unsigned arg)
{
    (void)arg;
    return has_values(u, 2) && fill(u, LIST, u->depth - 1, u->depth - 1);
}

static bool run_appends(struct unpickler *u, unsigned arg)
{
    (void)arg;
    return run_items(u, LIST);
}

static bool run_setitem(struct unpickler *u, unsigned arg)
{
    (void)arg;
    return has_values(u, 3) && fill(u, DICT, u->depth - 2, u->depth - 2);
}

static bool run_setitems(struct unpickler *u, unsigned arg)
{
    (void)arg;
    return run_items(u, DICT);
}

/* ---- the memo ---- */

static bool set_memo(struct unpickler *u, uint64_t at)
{
    if (!has_values(u, 1))
        return false;
    if (at >= PICKLE_VALUES_MAX)
        return refuse(u, "a memo larger than any dump's");
    if (at >= u->nmemo) {
        ARRAY_GROW(u->memo, u->cap_memo, (size_t)at + 1);
        u->nmemo = (size_t)at + 1;
    }
    u->memoized += u->memo[at] == 0;
    u->memo[at] = u->stack[u->depth - 1] + 1;
    return true;
}

static bool run_put(struct unpickler *u, unsigned size)
{
    uint64_t at;
    return take_number(u, size, &at) && set_memo(u, at);
}

static bool run_memoize(struct unpickler *u, unsigned arg)
{
    (void)arg;
    return set_memo(u, u->memoized);
}

static bool run_get(struct unpickler *u, unsigned size)
{
    uint64_t at;
    if (!take_number(u, size, &at))
        return false;
    if (at >= u->nmemo || u->memo[at] == 0)
        return refuse(u, "nothing in the memo at this place");
    return push(u, u->memo[at] - 1);
}

/* ---- all opcodes ---- */

/* X(byte, name, what runs it, its argument): a size in bytes, a count, or a kind. */
#define OPCODES(X)                            \
    X(0x80, "PROTO", run_proto, 1)            \
    X(0x95, "FRAME", run_frame, 8)            \
    X('.', "STOP", run_stop, 0)               \
    X('(', "MARK", run_mark, 0)               \
    X('N', "NONE", run_constant, NOTHING)     \
    X(0x88, "NEWTRUE", run_constant, TRUE)    \
    X(0x89, "NEWFALSE", run_constant, FALSE)  \
    X('K', "BININT1", run_natural, 1)         \
    X('M', "BININT2", run_natural, 2)         \
    X('J', "BININT", run_binint, 4)           \
    X(0x8a, "LONG1", run_long, 1)             \
    X(0x8b, "LONG4", run_long, 4)             \
    X('G', "BINFLOAT", run_float, 8)          \
    X(0x8c, "SHORT_BINUNICODE", run_text, 1)  \
    X('X', "BINUNICODE", run_text, 4)         \
    X(0x8d, "BINUNICODE8", run_text, 8)       \
    X('U', "SHORT_BINSTRING", run_text, 1)    \
    X('T', "BINSTRING", run_text, 4)          \
    X('C', "SHORT_BINBYTES", run_text, 1)     \
    X('B', "BINBYTES", run_text, 4)           \
    X(0x8e, "BINBYTES8", run_text, 8)         \
    X(')', "EMPTY_TUPLE", run_constant, LIST) \
    X(0x85, "TUPLE1", run_tuple, 1)           \
    X(0x86, "TUPLE2", run_tuple, 2)           \
    X(0x87, "TUPLE3", run_tuple, 3)           \
    X('t', "TUPLE", run_marked_tuple, 0)      \
    X(']', "EMPTY_LIST", run_constant, LIST)  \
    X('a', "APPEND", run_append, 0)           \
    X('e', "APPENDS", run_appends, 0)         \
    X('}', "EMPTY_DICT", run_constant, DICT)  \
    X('s', "SETITEM", run_setitem, 0)         \
    X('u', "SETITEMS", run_setitems, 0)       \
    X(0x94, "MEMOIZE", run_memoize, 0)        \
    X('q', "BINPUT", run_put, 1)              \
    X('r', "LONG_BINPUT", run_put, 4)         \
    X('h', "BINGET", run_get, 1)              \
    X('j', "LONG_BINGET", run_get, 4)         \
    X('c', "GLOBAL", NULL, 0)                 \
    X(0x93, "STACK_GLOBAL", NULL, 0)          \
    X('R', "REDUCE", NULL, 0)                 \
    X('b', "BUILD", NULL, 0)                  \
    X('i', "INST", NULL, 0)                   \
    X('o', "OBJ", NULL, 0)                    \
    X(0x81, "NEWOBJ", NULL, 0)                \
    X(0x92, "NEWOBJ_EX", NULL, 0)             \
    X('P', "PERSID", NULL, 0)                 \
    X('Q', "BINPERSID", NULL, 0)              \
    X(0x82, "EXT1", NULL, 0)                  \
    X(0x83, "EXT2", NULL, 0)                  \
    X(0x84, "EXT4", NULL, 0)                  \
    X(0x8f, "EMPTY_SET", NULL, 0)             \
    X(0x90, "ADDITEMS", NULL, 0)              \
    X(0x91, "FROZENSET", NULL, 0)             \
    X(0x96, "BYTEARRAY8", NULL, 0)            \
    X(0x97, "NEXT_BUFFER", NULL, 0)           \
    X(0x98, "READONLY_BUFFER", NULL, 0)       \
    X('0', "POP", NULL, 0)                    \
    X('1', "POP_MARK", NULL, 0)               \
    X('2', "DUP", NULL, 0)                    \
    X('I', "INT", NULL, 0)                    \
    X('L', "LONG", NULL, 0)                   \
    X('F', "FLOAT", NULL, 0)                  \
    X('S', "STRING", NULL, 0)                 \
    X('V', "UNICODE", NULL, 0)                \
    X('l', "LIST", NULL, 0)                   \
    X('d', "DICT", NULL, 0)                   \
    X('g', "GET", NULL, 0)                    \
    X('p', "PUT", NULL, 0)

static const struct opcode {
    const char *name;                               /* NULL: no opcode */
    bool (*run)(struct unpickler *u, unsigned arg); /* NULL: it does not make data */
    unsigned arg;
} opcodes[256] = {
#define X(byte, name, run, arg) [byte] = {name, run, arg},
    OPCODES(X)
#undef X
};

static bool run_opcode(struct unpickler *u)
{
    unsigned char byte = (unsigned char)u->bytes[u->at];
    const struct opcode *o = &opcodes[byte];
    char what[96];
    u->next = u->at + 1;
    if (o->run != NULL)
        return o->run(u, o->arg);
    if (o->name != NULL)
        snprintf(what, sizeof what, "opcode %s: a pickle may hold data only", o->name);
    else
        snprintf(what, sizeof what, "0x%02x is no opcode", byte);
    return refuse(u, what);
}

#define BATCH 1000 /* values, or pairs, that Python puts into a container at a time */

/* Returns the kind of the container that is being filled with what lies above the mark; NOTHING
 * where it is none: what lies below the mark of a tuple was whole before. */
static enum kind being_filled(const struct unpickler *u, size_t mark)
{
    const struct pickle_value *v;
    uint32_t n = 0;
    if (mark == 0 || u->stack[mark - 1] == MARK)
        return NOTHING;
    v = &u->values[u->stack[mark - 1]];
    if (v->kind != DICT && v->kind != LIST)
        return NOTHING;
    for (uint32_t c = v->cells.first; c != NONE; c = u->cells[c].next)
        n++;
    return n % (v->kind == DICT ? 2 * BATCH : BATCH) == 0 ? (enum kind)v->kind : NOTHING;
}

/* Python fills a container of one value without a mark. Where the last values may be such a one's,
 * they are dropped. */
static void drop_unmarked(struct unpickler *u, size_t mark)
{
    for (size_t n = 1; n <= 2 && u->depth >= mark + 2 + n; n++) {
        const struct pickle_value *v = &u->values[u->stack[u->depth - 1 - n]];
        if ((v->kind == DICT || (v->kind == LIST && n == 1)) && v->cells.first == NONE) {
            u->depth -= n;
            return;
        }
    }
}

/* Of a pickle that ends early: what lies above each mark goes into the container below it, as far
 * as it is whole. */
static void save_what_is_whole(struct unpickler *u)
{
    struct err *e = u->e;
    u->e = NULL;
    for (size_t mark; u->depth > 1 && find_mark(u, &mark);) {
        enum kind kind = being_filled(u, mark);
        if (kind != NOTHING)
            drop_unmarked(u, mark);
        if (kind == DICT && (u->depth - mark - 1) % 2 != 0)
            u->depth--;
        if (kind == NOTHING || !fill(u, kind, mark + 1, mark))
            u->depth = mark;
    }
    u->e = e;
}

static void run_all(struct unpickler *u)
{
    while (u->at < u->len && run_opcode(u) && !u->stopped)
        u->at = u->next;
    if (!u->stopped && u->at == u->len)
        end_early(u);
    if (u->cut)
        save_what_is_whole(u);
}

/* ---- JSON ---- */

static bool put_value(struct unpickler *u, uint32_t at, int depth);

static bool put_key(struct unpickler *u, uint32_t at)
{
    const struct pickle_value *v = &u->values[at];
    if (v->kind == TEXT)
        json_quote(u->json, u->bytes + v->text.at, v->text.len);
    else if (v->kind == INT)
        buf_printf(u->json, "\"%" PRId64 "\"", v->integer);
    else
        return refuse(u, "a key that is neither text nor whole number");
    return true;
}

static bool put_container(struct unpickler *u, uint32_t at, int depth)
{
    bool dict = u->values[at].kind == DICT, key = dict;
    uint32_t first = u->values[at].cells.first;
    if (depth == JSON_DEPTH_MAX)
        return refuse(u, "values nested too deep");
    buf_putc(u->json, dict ? '{' : '[');
    for (uint32_t c = first; c != NONE; c = u->cells[c].next) {
        if (c != first)
            buf_putc(u->json, dict && !key ? ':' : ',');
        if (!(key ? put_key(u, u->cells[c].value) : put_value(u, u->cells[c].value, depth + 1)))
            return false;
        key = dict && !key;
    }
    buf_putc(u->json, dict ? '}' : ']');
    return true;
}

static bool put_value(struct unpickler *u, uint32_t at, int depth)
{
    const struct pickle_value *v = &u->values[at];
    if (u->json->len > u->json_max)
        return refuse(u, "far more text than the pickle has bytes");
    switch ((enum kind)v->kind) {
    case LIST:
    case DICT:
        return put_container(u, at, depth);
    case TEXT:
        json_quote(u->json, u->bytes + v->text.at, v->text.len);
        return true;
    case INT:
        buf_printf(u->json, "%" PRId64, v->integer);
        return true;
    case UINT:
        buf_printf(u->json, "%" PRIu64, v->natural);
        return true;
    case REAL:
        if (isfinite(v->real))
            buf_printf(u->json, "%.17g", v->real);
        else
            buf_puts(u->json, "null");
        return true;
    case TRUE:
    case FALSE:
    case NOTHING:
        break;
    }
    buf_puts(u->json, v->kind == TRUE ? "true" : v->kind == FALSE ? "false" : "null");
    return true;
}

/* ---- all of it ---- */

bool pickle_begins(const char *bytes, size_t len)
{
    return len > 2 && (unsigned char)bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5;
}

enum pickle_result pickle_to_json(const char *bytes, size_t len, struct buf *json, struct err *e)
{
    struct unpickler u = {.bytes = bytes, .len = len, .json = json, .e = e};
    bool done;
    if (len > UINT32_MAX) {
        refuse(&u, "a pickle of more than 4 GiB");
        return PICKLE_REFUSED;
    }
    u.json_max = len < JSON_MAX / PICKLE_GROWTH ? len * PICKLE_GROWTH + JSON_MIN : JSON_MAX;
    u.json_max += json->len;
    run_all(&u);
    done = (u.stopped || u.cut) && u.depth > 0 && u.stack[0] != MARK;
    if (done)
        done = put_value(&u, u.stack[u.cut ? 0 : u.depth - 1], 0);
    else if (u.cut)
        err_set(e, ERR_INPUT, "byte %zu: the pickle ends before its first value", len);
    free(u.values);
    free(u.cells);
    free(u.stack);
    free(u.memo);
    return !done ? PICKLE_REFUSED : u.cut ? PICKLE_CUT : PICKLE_WHOLE;
}
