/* SPDX-License-Identifier: MIT
 *
 * Ranges of sizes, the files for NCCL, JSON.
 */
#include "report/bench_report.h"

#include "bench/tune.h"
#include "report/json_add.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST (UINT64_C(1) << 40) /* bytes that a table reaches to */

const char *bench_trial_state_name(enum bench_trial_state state)
{
    static const char *const names[BENCH_TRIAL_STATES] = {"raced",   "same",  "ignored",
                                                          "refused", "wrong", "hangs"};
    return names[state];
}

/* ---- ranges ---- */

static bool same_choice(const struct comm_choice *a, const struct comm_choice *b)
{
    if (a->algo == NULL || b->algo == NULL)
        return a->algo == b->algo;
    return strcmp(a->algo, b->algo) == 0 && strcmp(a->proto, b->proto) == 0 &&
           a->channels == b->channels;
}

/* The choice that NCCL should make, with its channels; algo NULL: not known. */
static struct comm_choice to_take(const struct bench_tuned *s)
{
    return s->verdict == BENCH_TUNE_GAIN ? s->best.took : s->own;
}

static bool belong_together(const struct bench_tuned *a, const struct bench_tuned *b, bool explicit)
{
    const struct comm_choice x = to_take(a), y = to_take(b);
    bool gains = a->verdict == BENCH_TUNE_GAIN;
    if (a->op != b->op)
        return false;
    if (explicit)
        return same_choice(&x, &y);
    return gains == (b->verdict == BENCH_TUNE_GAIN) &&
           (!gains || same_choice(&a->best.setting, &b->best.setting));
}

struct bench_tune_range bench_tune_range_of(const struct bench_tune_log *log, size_t i,
                                            bool explicit)
{
    struct bench_tuned *s = &log->sizes[i], *end = log->sizes + log->n;
    struct bench_tune_range range = {s, s, s->verdict == BENCH_TUNE_GAIN, s->gain.ratio,
                                     s->gain.ratio};
    for (struct bench_tuned *next = s + 1; next < end && belong_together(s, next, explicit);
         next++) {
        range.last = next;
        range.low = fmin(range.low, next->gain.ratio);
        range.high = fmax(range.high, next->gain.ratio);
    }
    return range;
}

/* ---- one setting ---- */

/* NCCL's time at a size over the setting's own; 0: not known. */
static double ratio_of(const struct bench_tuned *s, const struct comm_choice *setting)
{
    if (s->verdict == BENCH_TUNE_GAIN && same_choice(&s->best.setting, setting))
        return s->gain.ratio;
    for (size_t i = 0; i < s->n; i++) {
        if (same_choice(&s->trials[i].setting, setting))
            return s->trials[i].state == BENCH_TRIAL_SAME    ? 1
                   : s->trials[i].state == BENCH_TRIAL_RACED ? s->trials[i].race.ratio
                                                             : 0;
    }
    return 0;
}

static bool is_as_good_everywhere(const struct bench_tune_report *r, enum specter_comm_op op,
                                  const struct comm_choice *setting)
{
    for (size_t i = 0; i < r->log->n; i++) {
        const struct bench_tuned *s = &r->log->sizes[i];
        double best = s->verdict == BENCH_TUNE_GAIN ? s->gain.ratio : 1;
        if (s->op == op && ratio_of(s, setting) < best * (1 - r->least_gain))
            return false;
    }
    return true;
}

/* Of an operation's sizes, the one setting that is as good everywhere: within the least gain of the
 * best at every size. NULL: there is none, or nothing gains. NCCL's variables for channels hold for
 * all operations, so a setting has none of its own. */
static const struct comm_choice *bench_tune_single(const struct bench_tune_report *r,
                                                   enum specter_comm_op op)
{
    for (size_t i = 0; i < r->log->n; i++) {
        const struct bench_tuned *s = &r->log->sizes[i];
        if (s->op == op && s->verdict == BENCH_TUNE_GAIN && s->best.setting.channels == 0 &&
            is_as_good_everywhere(r, op, &s->best.setting))
            return &s->best.setting;
    }
    return NULL;
}

static bool op_gains(const struct bench_tune_report *r, enum specter_comm_op op)
{
    for (size_t i = 0; i < r->log->n; i++) {
        if (r->log->sizes[i].op == op && r->log->sizes[i].verdict == BENCH_TUNE_GAIN)
            return true;
    }
    return false;
}

bool bench_tune_exports(const struct bench_tune_report *r, struct buf *algo, struct buf *proto)
{
    bool any = false;
    for (size_t i = 0; i < r->log->n; i++) {
        enum specter_comm_op op = r->log->sizes[i].op;
        const struct comm_choice *setting;
        if ((i > 0 && r->log->sizes[i - 1].op == op) || !op_gains(r, op))
            continue;
        setting = bench_tune_single(r, op);
        if (setting == NULL)
            return false;
        buf_printf(algo, "%s%s:%s", any ? ";" : "", specter_comm_op_name(op),
                   bench_nccl_word(setting->algo));
        buf_printf(proto, "%s%s:%s", any ? ";" : "", specter_comm_op_name(op), setting->proto);
        any = true;
    }
    return any;
}

/* ---- the table ---- */

static void print_lower(const char *text, FILE *out)
{
    for (; *text != '\0'; text++)
        fputc(tolower((unsigned char)*text), out);
}

/* Between two sizes that differ in what they take: in the middle by their factor. */
static uint64_t border_bytes(const struct bench_tuned *a, const struct bench_tuned *b)
{
    return (uint64_t)sqrt((double)a->bytes * (double)b->bytes);
}

bool bench_tune_has_table(const struct bench_tune_report *r)
{
    for (size_t i = 0; i < r->log->n; i++) {
        if (to_take(&r->log->sizes[i]).algo == NULL)
            return false;
    }
    return true;
}

static bool gains_anywhere(const struct bench_tune_report *r)
{
    for (size_t i = 0; i < r->log->n; i++) {
        if (r->log->sizes[i].verdict == BENCH_TUNE_GAIN)
            return true;
    }
    return false;
}

static const char *plural(const struct bench_tune_report *r)
{
    return r->run->where.nodes == 1 ? "" : "s";
}

void bench_tune_table(const struct bench_tune_report *r, FILE *out)
{
    fprintf(out, "# specter bench tune: %s, %s, %d ranks on %d node%s, %s%s\n", r->run->library,
            r->run->gpu, r->run->where.ranks, r->run->where.nodes, plural(r),
            specter_dtype_name(r->dtype), r->complete ? "" : "; not complete");
    if (!gains_anywhere(r)) {
        fputs("# NCCL's own choice stands everywhere: there is nothing to set.\n", out);
        return;
    }
    if (!bench_tune_has_table(r)) {
        fputs("# NCCL did not say how many channels it takes, which a table has to name.\n", out);
        return;
    }
    fputs("# For NCCL's ext-tuner/example: export NCCL_TUNER_PLUGIN=PATH/libnccl-tuner-example.so "
          "NCCL_TUNER_CONFIG_FILE=this file\n"
          "# That plugin gives 1 channel to whatever no line matches and to channels -1: other\n"
          "# operations, other numbers of ranks and nodes. Sizes below the least and above the\n"
          "# largest one measured are given what the nearest one has.\n"
          "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,"
          "numPipeOps,regBuff\n",
          out);
    for (size_t i = 0; i < r->log->n;) {
        struct bench_tune_range range = bench_tune_range_of(r->log, i, true);
        const struct bench_tuned *before = range.first - 1, *behind = range.last + 1;
        const struct comm_choice choice = to_take(range.first);
        bool least = range.first == r->log->sizes || before->op != range.first->op;
        bool most = behind == r->log->sizes + r->log->n || behind->op != range.first->op;
        print_lower(specter_comm_op_name(range.first->op), out);
        fprintf(out, ",%llu,%llu,%s,",
                least ? 0ULL : (unsigned long long)border_bytes(before, range.first) + 1,
                (unsigned long long)(most ? LARGEST : border_bytes(range.last, behind)),
                choice.algo);
        print_lower(choice.proto, out);
        fprintf(out, ",%d,%d,%d,-1,-1\n", choice.channels, r->run->where.nodes,
                r->run->where.ranks);
        i = (size_t)(range.last - r->log->sizes) + 1;
    }
}

/* ---- variables ---- */

void bench_tune_settings(const struct bench_tune_report *r, FILE *out)
{
    struct buf algo = BUF_INIT, proto = BUF_INIT;
    char path[PATH_MAX];
    fprintf(out, "# specter bench tune: %s, %s, %d ranks on %d node%s\n", r->run->library,
            r->run->gpu, r->run->where.ranks, r->run->where.nodes, plural(r));
    if (!gains_anywhere(r))
        fputs("# NCCL's own choice stands everywhere: there is nothing to set.\n", out);
    else if (bench_tune_exports(r, &algo, &proto))
        fprintf(out, "export NCCL_ALGO='%s'\nexport NCCL_PROTO='%s'\n", algo.data, proto.data);
    else if (!bench_tune_has_table(r))
        fputs("# No single setting does all of it, and without channels there is no table.\n", out);
    else
        fprintf(out,
                "# The plugin is built from NCCL's ext-tuner/example.\n"
                "export NCCL_TUNER_PLUGIN=libnccl-tuner-example.so\n"
                "export NCCL_TUNER_CONFIG_FILE='%s/" BENCH_TUNE_TABLE "'\n",
                realpath(r->folder, path) != NULL ? path : r->folder);
    buf_release(&algo);
    buf_release(&proto);
}

/* ---- JSON ---- */

static void add_choice(cJSON *o, const char *key, const struct comm_choice *c)
{
    cJSON *choice = c->algo != NULL ? cJSON_CreateObject() : cJSON_CreateNull();
    if (c->algo != NULL) {
        cJSON_AddStringToObject(choice, "algorithm", c->algo);
        cJSON_AddStringToObject(choice, "protocol", c->proto);
        if (c->channels > 0)
            cJSON_AddNumberToObject(choice, "channels", c->channels);
        else
            cJSON_AddNullToObject(choice, "channels");
    }
    cJSON_AddItemToObject(o, key, choice);
}

/* Nulls where nothing was measured. */
static void add_ratio(cJSON *o, const struct bench_ratio *r)
{
    bool any = r->rounds > 0;
    json_add_number(o, "ratio", any ? r->ratio : (double)NAN);
    json_add_number(o, "low", any ? r->low : (double)NAN);
    json_add_number(o, "high", any ? r->high : (double)NAN);
    cJSON_AddNumberToObject(o, "rounds", (double)r->rounds);
}

static cJSON *size_json(const struct bench_tuned *s)
{
    const struct comm_choice none = {NULL, NULL, 0};
    const struct bench_ratio nothing = {.rounds = 0};
    bool any = s->verdict != BENCH_TUNE_OWN;
    cJSON *o = cJSON_CreateObject(), *trials;
    cJSON_AddStringToObject(o, "op", specter_comm_op_name(s->op));
    cJSON_AddNumberToObject(o, "bytes", (double)s->bytes);
    static const char *const names[BENCH_TUNE_VERDICTS] = {"own", "gain", "open"};
    cJSON_AddStringToObject(o, "verdict", names[s->verdict]);
    add_choice(o, "own", &s->own);
    json_add_number(o, "own_us", s->own_us);
    add_choice(o, "best", any ? &s->best.setting : &none);
    add_choice(o, "best_took", any ? &s->best.took : &none);
    json_add_number(o, "best_us", any && s->best_us > 0 ? s->best_us : (double)NAN);
    add_ratio(o, any ? &s->gain : &nothing);
    cJSON_AddNumberToObject(o, "wrong", s->wrong);
    trials = cJSON_AddArrayToObject(o, "trials");
    for (size_t i = 0; i < s->n; i++) {
        const struct bench_trial *t = &s->trials[i];
        cJSON *trial = cJSON_CreateObject();
        add_choice(trial, "setting", &t->setting);
        add_choice(trial, "took", &t->took);
        cJSON_AddStringToObject(trial, "state", bench_trial_state_name(t->state));
        add_ratio(trial, &t->race);
        cJSON_AddItemToArray(trials, trial);
    }
    return o;
}

cJSON *bench_tune_json(const struct bench_tune_report *r)
{
    cJSON *doc = cJSON_CreateObject(), *list;
    size_t gains = 0;
    for (size_t i = 0; i < r->log->n; i++)
        gains += r->log->sizes[i].verdict == BENCH_TUNE_GAIN;
    cJSON_AddStringToObject(doc, "schema", "specter.bench/1");
    cJSON_AddStringToObject(doc, "kind", "tune");
    cJSON_AddBoolToObject(doc, "complete", r->complete && r->log->left == 0);
    json_add_text(doc, "backend", r->run->backend);
    json_add_text(doc, "library", r->run->library);
    json_add_text(doc, "gpu", r->run->gpu);
    cJSON_AddNumberToObject(doc, "ranks", r->run->where.ranks);
    cJSON_AddNumberToObject(doc, "nodes", r->run->where.nodes);
    cJSON_AddNumberToObject(doc, "gpus_per_node", r->run->where.per_node);
    cJSON_AddStringToObject(doc, "dtype", specter_dtype_name(r->dtype));
    json_add_number(doc, "least_gain", r->least_gain);
    cJSON_AddNumberToObject(doc, "gains", (double)gains);
    cJSON_AddNumberToObject(doc, "not_measured", (double)r->log->left);
    struct buf algo = BUF_INIT, proto = BUF_INIT;
    bool any = bench_tune_exports(r, &algo, &proto);
    cJSON *exports = any ? cJSON_CreateObject() : cJSON_CreateNull();
    if (any) {
        cJSON_AddStringToObject(exports, "NCCL_ALGO", algo.data);
        cJSON_AddStringToObject(exports, "NCCL_PROTO", proto.data);
    }
    cJSON_AddItemToObject(doc, "export", exports);
    buf_release(&algo);
    buf_release(&proto);
    list = cJSON_AddObjectToObject(doc, "settings");
    for (size_t i = 0; i < r->run->nsettings; i++)
        json_add_text(list, r->run->settings[i].name, r->run->settings[i].value);
    list = cJSON_AddArrayToObject(doc, "sizes");
    for (size_t i = 0; i < r->log->n; i++)
        cJSON_AddItemToArray(list, size_json(&r->log->sizes[i]));
    bench_notes_json(doc, r->result);
    return doc;
}
