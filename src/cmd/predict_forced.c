/* SPDX-License-Identifier: MIT */
#include "cmd/predict_explain.h"

#include <ctype.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* As struct comm_cost names them. */
static const char *const algo_names[] = {"ring",           "tree",          "nvls", "nvls_tree",
                                         "collnet_direct", "collnet_chain", "pat"};
static const char *const proto_names[] = {"LL", "LL128", "Simple"};

/* "NVLSTree" is "nvls_tree". */
static bool same_name(const char *name, const char *text, size_t len)
{
    size_t at = 0;
    for (; *name != '\0'; name++) {
        while (at < len && text[at] == '_')
            at++;
        if (*name == '_')
            continue;
        if (at >= len || tolower((unsigned char)text[at++]) != tolower((unsigned char)*name))
            return false;
    }
    return at == len;
}

/* The bit of a name; 0: not known. */
static unsigned bit_of(const char *const *names, size_t count, const char *text, size_t len)
{
    for (size_t i = 0; i < count; i++) {
        if (same_name(names[i], text, len))
            return 1u << i;
    }
    return 0;
}

static int unknown(const char *option, const char *const *names, size_t count, const char *text,
                   size_t len, struct err *e)
{
    char known[128] = "";
    for (size_t i = 0; i < count; i++) {
        strcat(known, i > 0 ? ", " : "");
        strcat(known, names[i]);
    }
    return err_set(e, ERR_USAGE, "%s: unknown name '%.*s'; known are %s", option,
                   (int)(len < 64 ? len : 64), text, known);
}

static int parse_names(const char *option, const char *const *names, size_t count, const char *text,
                       unsigned *out, struct err *e)
{
    bool all_but = text != NULL && *text == '^';
    *out = 0;
    if (text == NULL)
        return 0;
    for (const char *p = text + all_but;; p++) {
        size_t len = strcspn(p, ",");
        unsigned bit = bit_of(names, count, p, len);
        if (bit == 0)
            return unknown(option, names, count, p, len, e);
        *out |= bit;
        p += len;
        if (*p == '\0')
            break;
    }
    if (all_but)
        *out = ~*out & ((1u << count) - 1);
    if (*out == 0)
        return err_set(e, ERR_USAGE, "%s: '%s' leaves nothing", option, text);
    return 0;
}

int predict_forced_parse(const char *algos, const char *protos, struct predict_forced *out,
                         struct err *e)
{
    out->algo_text = algos;
    out->proto_text = protos;
    if (parse_names("--algo", algo_names, COUNT(algo_names), algos, &out->algos, e) < 0)
        return -1;
    return parse_names("--proto", proto_names, COUNT(proto_names), protos, &out->protos, e);
}

bool predict_is_forced(const struct predict_forced *f)
{
    return f->algos != 0 || f->protos != 0 || f->channels != 0;
}

static bool is_allowed(unsigned bits, const char *const *names, size_t count, const char *name)
{
    return bits == 0 || (bits & bit_of(names, count, name, strlen(name))) != 0;
}

/* The one name that a set of bits holds; NULL: none or several. */
static const char *only_name(unsigned bits, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bits == 1u << i)
            return names[i];
    }
    return NULL;
}

/* Several ways are left: the one with NCCL's smallest estimate. */
static int best_allowed(const struct predict_forced *f, const struct predict_transfer *t,
                        struct comm_choice *out, struct err *e)
{
    struct comm_candidate list[COMM_CANDIDATES_MAX];
    const struct comm_candidate *best = NULL;
    int n =
        model_collective_candidates(t->on->gpu, t->on->network, t->op, t->bytes, t->where, list, e);
    if (n < 0)
        return -1;
    for (int i = 0; i < n; i++) {
        const struct comm_candidate *c = &list[i];
        if (c->off == NULL && (best == NULL || c->nccl_us < best->nccl_us) &&
            is_allowed(f->algos, algo_names, COUNT(algo_names), c->cost.algo) &&
            is_allowed(f->protos, proto_names, COUNT(proto_names), c->cost.proto))
            best = c;
    }
    if (best == NULL)
        return err_set(e, ERR_USAGE, "nothing that NCCL would do %s with there is left by %s%s%s%s",
                       specter_comm_op_name(t->op), f->algo_text ? "--algo " : "",
                       f->algo_text ? f->algo_text : "", f->proto_text ? " --proto " : "",
                       f->proto_text ? f->proto_text : "");
    out->algo = best->cost.algo;
    out->proto = best->cost.proto;
    return 0;
}

int predict_choose(const struct predict_forced *f, struct predict_transfer *t, struct err *e)
{
    struct comm_choice choice = {.channels = f->channels};
    if (!predict_is_forced(f))
        return model_collective(t->on->gpu, t->on->network, t->op, t->bytes, t->where, &t->cost, e);
    choice.algo = only_name(f->algos, algo_names, COUNT(algo_names));
    choice.proto = only_name(f->protos, proto_names, COUNT(proto_names));
    if (((f->algos != 0 && choice.algo == NULL) || (f->protos != 0 && choice.proto == NULL)) &&
        best_allowed(f, t, &choice, e) < 0)
        return -1;
    return model_collective_as(t->on->gpu, t->on->network, t->op, t->bytes, t->where, &choice,
                               &t->cost, e);
}
