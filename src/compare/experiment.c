/* SPDX-License-Identifier: MIT */
#include "compare/experiment.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/opt.h"
#include "base/whole_file.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCHEMA "specter.experiment/1"

/* ---- from JSON ---- */

/* While a document is read: what a message says where it is. */
struct experiment_reader {
    struct experiment *x;
    const char *path;
    struct err *e;
};

static int set_error(const struct experiment_reader *r, const char *what, const char *label)
{
    return label != NULL ? err_set(r->e, ERR_INPUT, "%s: setting '%s': %s", r->path, label, what)
                         : err_set(r->e, ERR_INPUT, "%s: %s", r->path, what);
}

static bool is_label(const char *text)
{
    const size_t len = strlen(text);
    for (size_t i = 0; i < len; i++) {
        if (iscntrl((unsigned char)text[i]) || strchr("/,", text[i]) != NULL)
            return false;
    }
    return len > 0 && len <= EXPERIMENT_LABEL_MAX && text[0] != '.' && text[0] != '-' &&
           strncmp(text, EXPERIMENT_MANIFEST, strlen(EXPERIMENT_MANIFEST)) != 0 &&
           strcmp(text, EXPERIMENT_COMPARISON) != 0;
}

/* A key that is misspelt would leave a setting without what it is to set. */
static int check_keys(const struct experiment_reader *r, const cJSON *o, const char *known,
                      const char *label)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, o)
    {
        if (!opt_list_names(known, item->string))
            return set_error(
                r,
                arena_printf(&r->x->arena, "unknown key \"%s\"; there are %s", item->string, known),
                label);
    }
    return 0;
}

/* A list of texts that may be missing. */
static int read_texts(struct experiment_reader *r, const cJSON *o, const char *key,
                      const char *label, const char ***list, size_t *n)
{
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(o, key), *item;
    *n = 0;
    if (array == NULL)
        return 0;
    *list = arena_alloc(&r->x->arena, ((size_t)cJSON_GetArraySize(array) + 1) * sizeof **list);
    cJSON_ArrayForEach(item, array)
    {
        if (!cJSON_IsArray(array) || !cJSON_IsString(item))
            break;
        (*list)[(*n)++] = arena_strdup(&r->x->arena, item->valuestring);
    }
    if (cJSON_IsArray(array) && item == NULL)
        return 0;
    return set_error(r, arena_printf(&r->x->arena, "\"%s\" is no list of texts", key), label);
}

static int read_env(struct experiment_reader *r, const cJSON *o, struct experiment_setting *s)
{
    const cJSON *env = cJSON_GetObjectItemCaseSensitive(o, "env"), *item;
    struct arena *arena = &r->x->arena;
    if (env == NULL)
        return 0;
    if (!cJSON_IsObject(env))
        return set_error(r, "\"env\" is no object", s->label);
    s->env = arena_alloc(arena, ((size_t)cJSON_GetArraySize(env) + 1) * sizeof *s->env);
    cJSON_ArrayForEach(item, env)
    {
        const char *value = item->valuestring;
        if (item->string[0] == '\0' || strchr(item->string, '=') != NULL)
            return set_error(r, "\"env\" has a name that no variable can have", s->label);
        if (cJSON_IsNumber(item))
            value = arena_printf(arena, "%.15g", item->valuedouble);
        else if (!cJSON_IsString(item))
            return set_error(r, arena_printf(arena, "\"%s\" is no text", item->string), s->label);
        for (size_t i = 0; i < s->nenv; i++) {
            if (strcmp(s->env[i].name, item->string) == 0)
                return set_error(r, arena_printf(arena, "\"%s\" is there twice", item->string),
                                 s->label);
        }
        s->env[s->nenv++] =
            (struct experiment_env){arena_strdup(arena, item->string), arena_strdup(arena, value)};
    }
    return 0;
}

static int read_setting(struct experiment_reader *r, const cJSON *o)
{
    const cJSON *label = cJSON_GetObjectItemCaseSensitive(o, "label");
    struct experiment_setting s = {0};
    if (!cJSON_IsString(label) || !is_label(label->valuestring))
        return set_error(
            r,
            "each setting has a \"label\", which names a folder: up to 64 bytes without "
            "'/' and ',', and no '.' or '-' in front",
            NULL);
    s.label = arena_strdup(&r->x->arena, label->valuestring);
    if (experiment_find(r->x, s.label) < r->x->nsettings)
        return set_error(r, "there are two of that label", s.label);
    if (check_keys(r, o, "label,env,args,capture", s.label) < 0 || read_env(r, o, &s) < 0 ||
        read_texts(r, o, "args", s.label, &s.args, &s.nargs) < 0 ||
        read_texts(r, o, "capture", s.label, &s.capture, &s.ncapture) < 0)
        return -1;
    r->x->settings[r->x->nsettings++] = s;
    return 0;
}

static int read_settings(struct experiment_reader *r, const cJSON *doc)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(doc, "settings"), *item;
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(doc, "name");
    const int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
    if (name != NULL && (!cJSON_IsString(name) || !is_label(name->valuestring)))
        return set_error(r, "\"name\" is no name of a folder", NULL);
    if (n < 1 || n > EXPERIMENT_SETTINGS_MAX)
        return set_error(r, "\"settings\" is a list of 1 to 256", NULL);
    if (check_keys(r, doc, "schema,name,settings,command,repeat,seed,profiler,runs", NULL) < 0)
        return -1;
    r->x->name = arena_strdup(&r->x->arena, name != NULL ? name->valuestring : "experiment");
    r->x->settings = arena_alloc(&r->x->arena, (size_t)n * sizeof *r->x->settings);
    cJSON_ArrayForEach(item, list)
    {
        if (read_setting(r, item) < 0)
            return -1;
    }
    return 0;
}

static void begin(struct experiment *x)
{
    *x = (struct experiment){0};
    arena_init(&x->arena);
}

int experiment_read(struct experiment *x, const char *path, struct err *e)
{
    cJSON *doc = json_file_read(path, e);
    int rc;
    if (doc == NULL)
        return -1;
    begin(x);
    rc = read_settings(&(struct experiment_reader){x, path, e}, doc);
    cJSON_Delete(doc);
    if (rc < 0)
        experiment_release(x);
    return rc;
}

size_t experiment_find(const struct experiment *x, const char *label)
{
    size_t i = 0;
    while (i < x->nsettings && strcmp(x->settings[i].label, label) != 0)
        i++;
    return i;
}

void experiment_release(struct experiment *x)
{
    arena_release(&x->arena);
}

/* ---- presets ---- */

static struct experiment_setting *add_setting(struct experiment *x, const char *label)
{
    struct experiment_setting *s = &x->settings[x->nsettings++];
    *s = (struct experiment_setting){.label = label};
    s->env = arena_alloc(&x->arena, 8 * sizeof *s->env);
    return s;
}

static void add_env(struct experiment_setting *s, const char *name, const char *value)
{
    s->env[s->nenv++] = (struct experiment_env){name, value};
}

static int fill_nccl_tuning(struct experiment *x, const char *pairs, struct err *e)
{
    static const struct {
        const char *label, *name, *value;
    } list[] = {
        {"ring", "NCCL_ALGO", "Ring"},
        {"tree", "NCCL_ALGO", "Tree"},
        {"nvls", "NCCL_ALGO", "NVLS,NVLSTree,Ring,Tree"},
        {"ll128", "NCCL_PROTO", "LL128"},
        {"simple", "NCCL_PROTO", "Simple"},
        {"channels_4", "NCCL_MAX_NCHANNELS", "4"},
        {"channels_8", "NCCL_MAX_NCHANNELS", "8"},
        {"channels_16", "NCCL_MAX_NCHANNELS", "16"},
        {"channels_32", "NCCL_MIN_NCHANNELS", "32"},
    };
    (void)pairs;
    (void)e;
    add_setting(x, "base");
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        add_env(add_setting(x, list[i].label), list[i].name, list[i].value);
    return 0;
}

/* Of "CU,THREADS": the two whole numbers; false: it is none. */
static bool read_pair(const char *word, long *cu, long *threads)
{
    char *end;
    if (!isdigit((unsigned char)*word))
        return false;
    *cu = strtol(word, &end, 10);
    if (*end != ',' || !isdigit((unsigned char)end[1]))
        return false;
    *threads = strtol(end + 1, &end, 10);
    return *end == '\0' && *cu > 0 && *cu <= 1024 && *threads > 0 && *threads <= 1024;
}

static int fill_rccl_warp_speed(struct experiment *x, const char *pairs, struct err *e)
{
    struct arena *a = &x->arena;
    char *save = NULL, *copy = arena_strdup(a, pairs != NULL ? pairs : "56,256 37,384 32,512");
    add_setting(x, "base");
    for (char *word = strtok_r(copy, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save)) {
        struct experiment_setting *s;
        long cu, threads;
        const char *label;
        if (!read_pair(word, &cu, &threads) || x->nsettings == EXPERIMENT_SETTINGS_MAX)
            return err_set(e, ERR_USAGE, "-p: '%s' is no pair CU,THREADS such as 56,256", word);
        label = arena_printf(a, "%ldcu_%ldthreads", cu, threads);
        if (experiment_find(x, label) < x->nsettings)
            return err_set(e, ERR_USAGE, "-p: '%s' is there twice", word);
        s = add_setting(x, label);
        add_env(s, "RCCL_WARP_SPEED_ENABLE", "1");
        add_env(s, "RCCL_UNROLL_FACTOR", "1");
        add_env(s, "RCCL_WARP_SPEED_CU_COUNT", arena_printf(a, "%ld", cu));
        add_env(s, "RCCL_THREADS_PER_BLOCK", arena_printf(a, "%ld", threads));
    }
    return x->nsettings > 1 ? 0 : err_set(e, ERR_USAGE, "-p: no pairs");
}

int experiment_preset(struct experiment *x, const char *name, const char *pairs, struct err *e)
{
    static const struct {
        const char *name;
        int (*fill)(struct experiment *x, const char *pairs, struct err *e);
    } presets[] = {
#define X(name) {#name, fill_##name},
        EXPERIMENT_PRESETS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
        if (strcmp(presets[i].name, name) != 0)
            continue;
        begin(x);
        x->name = presets[i].name;
        x->settings = arena_alloc(&x->arena, EXPERIMENT_SETTINGS_MAX * sizeof *x->settings);
        if (presets[i].fill(x, pairs, e) == 0)
            return 0;
        experiment_release(x);
        return -1;
    }
#define X(name) " " #name
    return err_set(e, ERR_USAGE, "--preset: there is no '%s'; there are" EXPERIMENT_PRESETS(X),
                   name);
#undef X
}

/* ---- the order ---- */

void experiment_plan(struct experiment *x, int64_t repeat, int64_t seed)
{
    uint64_t state = hash_mix(0, (uint64_t)seed);
    x->repeat = repeat;
    x->seed = seed;
    x->runs = arena_alloc(&x->arena, (size_t)repeat * x->nsettings * sizeof *x->runs);
    for (int64_t k = 1; k <= repeat; k++) {
        struct experiment_run *round = &x->runs[x->nruns];
        for (size_t i = 0; i < x->nsettings; i++) {
            size_t at; /* shuffled while it is filled: Fisher and Yates, inside out */
            state = hash_mix(state, i + 1);
            at = (size_t)((state >> 33) % (i + 1));
            round[i] = round[at];
            round[at] = (struct experiment_run){i, k, EXPERIMENT_NOT_RUN, NAN, NULL};
        }
        x->nruns += x->nsettings;
    }
}

/* ---- the manifest ---- */

static cJSON *texts_json(const char **list, size_t n)
{
    cJSON *array = cJSON_CreateArray();
    for (size_t i = 0; i < n; i++)
        cJSON_AddItemToArray(array, cJSON_CreateString(list[i]));
    return array;
}

static cJSON *setting_json(const struct experiment_setting *s)
{
    cJSON *o = cJSON_CreateObject(), *env;
    cJSON_AddStringToObject(o, "label", s->label);
    env = cJSON_AddObjectToObject(o, "env");
    for (size_t i = 0; i < s->nenv; i++)
        cJSON_AddStringToObject(env, s->env[i].name, s->env[i].value);
    if (s->nargs > 0)
        cJSON_AddItemToObject(o, "args", texts_json(s->args, s->nargs));
    if (s->ncapture > 0)
        cJSON_AddItemToObject(o, "capture", texts_json(s->capture, s->ncapture));
    return o;
}

static void add_if_run(cJSON *o, const char *key, const struct experiment_run *run, double value)
{
    if (run->status == EXPERIMENT_NOT_RUN)
        cJSON_AddNullToObject(o, key);
    else
        cJSON_AddNumberToObject(o, key, value);
}

static cJSON *experiment_json(const struct experiment *x)
{
    cJSON *doc = cJSON_CreateObject(), *list;
    cJSON_AddStringToObject(doc, "schema", SCHEMA);
    cJSON_AddStringToObject(doc, "name", x->name);
    list = cJSON_AddArrayToObject(doc, "settings");
    for (size_t i = 0; i < x->nsettings; i++)
        cJSON_AddItemToArray(list, setting_json(&x->settings[i]));
    if (x->nruns == 0)
        return doc;
    cJSON_AddItemToObject(doc, "command", texts_json(x->command, x->ncommand));
    cJSON_AddNumberToObject(doc, "repeat", (double)x->repeat);
    cJSON_AddNumberToObject(doc, "seed", (double)x->seed);
    cJSON_AddStringToObject(doc, "profiler", x->profiler);
    list = cJSON_AddArrayToObject(doc, "runs");
    for (size_t i = 0; i < x->nruns; i++) {
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "label", x->settings[x->runs[i].setting].label);
        cJSON_AddNumberToObject(o, "repeat", (double)x->runs[i].repeat);
        add_if_run(o, "status", &x->runs[i], x->runs[i].status);
        if (x->runs[i].library != NULL)
            cJSON_AddStringToObject(o, "library", x->runs[i].library);
        add_if_run(o, "seconds", &x->runs[i], round(1e3 * x->runs[i].seconds) / 1e3);
        cJSON_AddItemToArray(list, o);
    }
    return doc;
}

/* On the disk before it has its name: a machine that goes down must not cost the list of runs. */
static int replace_text(const char *text, const char *path, struct err *e)
{
    struct whole_file f;
    if (whole_file_open(&f, path, e) < 0)
        return -1;
    if (fprintf(f.out, "%s\n", text) < 0 || fflush(f.out) != 0 || fsync(fileno(f.out)) != 0) {
        err_set(e, ERR_INPUT, "cannot write '%s': %s", path, strerror(errno));
        whole_file_discard(&f);
        return -1;
    }
    return whole_file_close(&f, e);
}

int experiment_write(const struct experiment *x, const char *path, struct err *e)
{
    cJSON *doc = experiment_json(x);
    char *text = cJSON_Print(doc);
    int rc = 0;
    cJSON_Delete(doc);
    if (text == NULL)
        die("out of memory");
    if (path != NULL)
        rc = replace_text(text, path, e);
    else
        puts(text); /* whether stdout took it is asked at the end of the program */
    free(text);
    return rc;
}

/* The first of the keys whose values differ; NULL: none. */
static const char *difference(const cJSON *had, const cJSON *asked, const char *const *keys,
                              size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!cJSON_Compare(cJSON_GetObjectItemCaseSensitive(had, keys[i]),
                           cJSON_GetObjectItemCaseSensitive(asked, keys[i]), 1))
            return keys[i];
    }
    return NULL;
}

#define KEYS(list) list, sizeof(list) / sizeof *(list)
static const char *const experiment_keys[] = {"settings", "command", "repeat", "seed", "profiler"};
static const char *const run_keys[] = {"label", "repeat"};

int experiment_resume(struct experiment *x, const char *path, struct err *e)
{
    cJSON *had = json_file_read(path, e), *asked = experiment_json(x);
    const char *differs = had != NULL ? difference(had, asked, KEYS(experiment_keys)) : NULL;
    const cJSON *runs = cJSON_GetObjectItemCaseSensitive(had, "runs");
    const cJSON *asked_runs = cJSON_GetObjectItemCaseSensitive(asked, "runs");
    int rc = had == NULL ? -1 : 0;
    if (rc == 0 && differs != NULL)
        rc = err_set(e, ERR_USAGE, "%s: of another experiment: \"%s\" is not the same", path,
                     differs);
    else if (rc == 0 && (size_t)cJSON_GetArraySize(runs) != x->nruns)
        rc = err_set(e, ERR_INPUT, "%s: \"runs\" is damaged", path);
    for (size_t i = 0; i < x->nruns && rc == 0; i++) {
        const cJSON *o = cJSON_GetArrayItem(runs, (int)i);
        const cJSON *status = cJSON_GetObjectItemCaseSensitive(o, "status");
        const cJSON *seconds = cJSON_GetObjectItemCaseSensitive(o, "seconds");
        const char *differs_in =
            difference(o, cJSON_GetArrayItem(asked_runs, (int)i), KEYS(run_keys));
        if (differs_in != NULL)
            rc = err_set(e, ERR_INPUT, "%s: run %zu: \"%s\" is damaged", path, i + 1, differs_in);
        if (!cJSON_IsNumber(status))
            continue;
        x->runs[i].status = status->valueint;
        if (cJSON_IsString(cJSON_GetObjectItemCaseSensitive(o, "library")))
            x->runs[i].library = arena_strdup(
                &x->arena, cJSON_GetObjectItemCaseSensitive(o, "library")->valuestring);
        x->runs[i].seconds = cJSON_IsNumber(seconds) ? seconds->valuedouble : NAN;
    }
    cJSON_Delete(had);
    cJSON_Delete(asked);
    return rc;
}
