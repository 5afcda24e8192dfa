/* SPDX-License-Identifier: MIT
 *
 * Reads the payloads of NCCL's NVTX ranges. A call's payload is a C struct;
 * NVTX_PAYLOAD_SCHEMA_ENTRIES says where in it each field stands and what it is called. binaryData
 * holds one or more blocks, each after a header of four numbers of 64 bits: domain, schema, size of
 * the struct, and where it begins. Versions differ in the last one (some give the end), so that
 * what does not fit is taken to follow the header. Exports to JSON texts have the same names as
 * keys.
 */
#include "trace/nsys.h"

#ifdef SPECTER_HAVE_SQLITE

#include <stdlib.h>
#include <string.h>

#define HEADER 32
#define FIELDS_MAX 4096

enum field {
    FIELD_COMM,
    FIELD_SIZE,
    FIELD_REDOP,
    FIELD_PEER,
    FIELD_ROOT,
    FIELD_NRANKS,
    FIELD_RANK,
    FIELD_CUDA_DEVICE,
    FIELD_COUNT
};

/* As NCCL names them (src/include/nvtx_payload_schemas.h), since 2.19. */
static const char *const field_names[] = {
    "NCCL communicator ID",
    "Message size [bytes]",
    "Reduction operation",
    "Peer rank",
    "Root",
    "No. of ranks",
    "Rank",
    "CUDA device",
};

static int field_named(struct json_text name)
{
    for (int i = 0; i < FIELD_COUNT; i++) {
        if (name.p != NULL && json_text_is(name, field_names[i]))
            return i;
    }
    return -1;
}

static void take_field(struct nsys_call *call, int field, uint64_t value)
{
    int64_t number = value <= INT64_MAX ? (int64_t)value : -1;
    switch ((enum field)field) {
    case FIELD_COMM:
        call->comm = value;
        call->has_comm = true;
        break;
    case FIELD_SIZE:
        call->bytes = number;
        break;
    case FIELD_REDOP:
        call->redop = number >= 0 && number <= 4 ? (uint8_t)specter_redop_from_nccl((int)number)
                                                 : (uint8_t)SPECTER_REDOP_PREMUL;
        break;
    case FIELD_PEER:
    case FIELD_ROOT:
        call->peer = number < RUN_RANKS_MAX ? number : -1;
        break;
    case FIELD_NRANKS:
        call->nranks = number > 0 && number <= RUN_RANKS_MAX ? number : -1;
        break;
    case FIELD_RANK:
        call->rank = number < RUN_RANKS_MAX ? number : -1;
        break;
    case FIELD_CUDA_DEVICE:
        call->device = number <= INT32_MAX ? number : -1;
        break;
    case FIELD_COUNT:
        break;
    }
}

/* ---- schemas ---- */

/* Bytes of an entry type of NVTX (nvToolsExtPayload.h); 0: none that a field of ours has. A type
 * that is a schema itself is an enum, which is an int. */
static size_t type_size(int64_t type)
{
    if (type == 5 || type == 6 || type == 15 || type == 16 || type >= 1 << 24)
        return 4;
    return (type >= 7 && type <= 10) || type == 17 || type == 18 || type == 22 ? 8 : 0;
}

void nsys_schemas(struct nsys *n)
{
    static const char *const columns[] = {"schemaId", "idx", "type", "name", "offset"};
    struct nsys_rows rows;
    struct err e = {0};
    int rc = nsys_scan(&rows, n->db, NSYS_ENTRIES, &(struct nsys_columns){columns, 5, 4}, &e);
    while (rc > 0 && (rc = nsys_next(&rows, &e)) > 0 && n->fields.count < FIELDS_MAX) {
        struct nsys_schema_field field = {
            .schema = nsys_int(&rows, 0, -1),
            .offset = nsys_int(&rows, 4, nsys_int(&rows, 1, -1) == 0 ? 0 : -1),
            .type = nsys_int(&rows, 2, 0),
            .what = field_named(nsys_text(&rows, 3)),
        };
        if (field.what < 0 || field.schema < 0 || field.offset < 0 || type_size(field.type) == 0)
            continue;
        ARRAY_GROW(n->fields.list, n->fields.cap, n->fields.count + 1);
        n->fields.list[n->fields.count++] = field;
    }
    nsys_scan_end(&rows);
    if (rc < 0)
        nsys_note_err(n, &e);
}

/* ---- payloads ---- */

static uint64_t little(const unsigned char *p, size_t size)
{
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;)
        value = value << 8 | p[i];
    return value;
}

static void take_block(const struct nsys *n, struct nsys_call *call, uint64_t schema,
                       const unsigned char *data, size_t len)
{
    for (size_t i = 0; i < n->fields.count; i++) {
        const struct nsys_schema_field *f = &n->fields.list[i];
        size_t size = type_size(f->type);
        uint64_t value;
        if ((uint64_t)f->schema != schema || (uint64_t)f->offset > len ||
            len - (size_t)f->offset < size)
            continue;
        value = little(data + f->offset, size);
        if (size == 4 && value > INT32_MAX)
            value = UINT64_MAX; /* negative: none of these is */
        take_field(call, f->what, value);
    }
}

void nsys_payload(const struct nsys *n, struct nsys_call *call, const unsigned char *data,
                  size_t len)
{
    size_t at = 0;
    while (data != NULL && len - at >= HEADER) {
        uint64_t schema = little(data + at + 8, 8), size = little(data + at + 16, 8);
        uint64_t begin = little(data + at + 24, 8);
        if (size == 0 || size > len - at - HEADER)
            return;
        if (begin < HEADER || begin > len - at || size > len - at - begin)
            begin = HEADER;
        take_block(n, call, schema, data + at + begin, (size_t)size);
        at += (size_t)(begin + size);
    }
}

void nsys_payload_json(struct nsys_call *call, struct json_text text)
{
    struct json j;
    struct json_text key;
    json_init(&j, text.p, text.len);
    if (text.p == NULL || json_peek(&j) != '{' || !json_enter(&j, '{'))
        return;
    while (json_next_key(&j, &key)) {
        int field = field_named(key);
        char next = json_peek(&j);
        if (next == '{') {
            struct json_text inner = {j.p, (uint32_t)(j.end - j.p), false};
            json_skip(&j);
            inner.len = j.error == NULL ? (uint32_t)(j.p - inner.p) : 0;
            if (j.depth < 8)
                nsys_payload_json(call, inner);
        } else if (field >= 0 && next == '0') {
            take_field(call, field, json_u64(&j, UINT64_MAX));
        } else {
            json_skip(&j);
        }
    }
}

#endif
