/* SPDX-License-Identifier: MIT */
#include "cmd/shard.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/launcher.h"
#include "base/opt.h"
#include "base/order.h"
#include "base/whole_file.h"
#include "cmd/cmd.h"
#include "trace/run.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_number(const char *name, int64_t standard, int64_t *out, struct err *e)
{
    *out = standard;
    return launcher_env(name) == NULL ? 0 : opt_parse_i64(name, launcher_env(name), out, e);
}

static int read_launcher(const struct launcher *l, int64_t most, struct shard *out, struct err *e)
{
    int64_t number, lowest, step;
    if (launcher_env(l->world) == NULL)
        return err_set(e, ERR_USAGE, "--shard auto: %s is set and %s is not: export %s=N", l->rank,
                       l->world, l->world);
    if (read_number(l->rank, 0, &number, e) < 0 || read_number(l->world, 1, &out->parts, e) < 0 ||
        read_number(l->lowest, 0, &lowest, e) < 0 || read_number(l->step, 1, &step, e) < 0)
        return -1;
    if (step < 1 || out->parts < 1 || out->parts > most || number < lowest ||
        (number - lowest) % step != 0 || (number - lowest) / step >= out->parts)
        return err_set(e, ERR_USAGE,
                       "--shard auto: %s=%s is not one of the %s=%s numbers from %lld on: use I/N",
                       l->rank, launcher_env(l->rank), l->world, launcher_env(l->world),
                       (long long)lowest);
    out->part = (number - lowest) / step + 1;
    return 0;
}

static int read_environment(int64_t most, struct shard *out, struct err *e)
{
    bool found = false;
    for (int i = LAUNCHER_OPEN_MPI; i < LAUNCHER_COUNT; i++) {
        if (!launcher_started(&launchers[i]))
            continue;
        if (read_launcher(&launchers[i], most, out, e) < 0)
            return -1;
        if (out->parts > 1) /* one task may be that of an array's element */
            return 0;
        found = true;
    }
    return found ? 0
                 : err_set(e, ERR_USAGE,
                           "--shard auto: no srun, mpirun, job array or indexed Kubernetes job "
                           "started this: use I/N");
}

int shard_read(const char *text, int64_t most, struct shard *out, struct err *e)
{
    const char *slash = text != NULL ? strchr(text, '/') : NULL;
    char part[24];
    struct err why;
    *out = (struct shard){1, 1};
    if (text == NULL)
        return 0;
    if (strcmp(text, "auto") == 0)
        return read_environment(most, out, e);
    snprintf(part, sizeof part, "%.*s", slash != NULL ? (int)(slash - text) : 0, text);
    if (slash == NULL || opt_parse_i64("", part, &out->part, &why) < 0 ||
        opt_parse_i64("", slash + 1, &out->parts, &why) < 0 || out->part < 1 ||
        out->part > out->parts || out->parts > most)
        return err_set(e, ERR_USAGE, "--shard '%.64s': I/N with 1 <= I <= N, or auto, is needed",
                       text);
    return 0;
}

char *shard_file(const char *name, const struct shard *shard)
{
    static const char mark[] = "{shard}";
    struct buf b = BUF_INIT;
    if (name == NULL)
        return NULL;
    for (const char *at; (at = strstr(name, mark)) != NULL; name = at + strlen(mark)) {
        buf_put(&b, name, (size_t)(at - name));
        buf_printf(&b, "%lld", (long long)shard->part);
    }
    buf_puts(&b, name);
    buf_putc(&b, '\0');
    return b.data;
}

#define SCHEMA "specter.shard/1"
#define SUFFIX ".shard"

/* A shard that was read; its bytes are mapped. */
struct shard_map {
    struct shard_header header;
    char *bytes;
    size_t len, body; /* where the records begin */
};

/* ---- one file ---- */

static const char *text_of(const cJSON *o, const char *key, struct arena *a)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, key));
    return text != NULL ? arena_strdup(a, text) : NULL;
}

static int64_t number_of(const cJSON *o, const char *key)
{
    const double number = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(o, key));
    return number >= 1 && number <= SHARDS_MAX ? (int64_t)number : 0;
}

static int read_header(struct shard_map *m, const char *label, struct arena *a, struct err *e)
{
    const char *end = m->len > 0 ? memchr(m->bytes, '\n', m->len) : NULL;
    cJSON *o = end != NULL ? cJSON_ParseWithLength(m->bytes, (size_t)(end - m->bytes)) : NULL;
    struct shard_header *h = &m->header;
    const char *schema = text_of(o, "schema", a);
    *h = (struct shard_header){.label = label,
                               .command = text_of(o, "command", a),
                               .path = text_of(o, "path", a),
                               .run_id = text_of(o, "run", a),
                               .version = text_of(o, "specter", a),
                               .files = text_of(o, "files", a),
                               .part = number_of(o, "part"),
                               .parts = number_of(o, "parts")};
    cJSON_Delete(o);
    if (schema == NULL || strcmp(schema, SCHEMA) != 0)
        return err_set(e, ERR_INPUT, "%s: no shard of 'specter analyze --shard'", label);
    if (h->command == NULL || h->path == NULL || h->version == NULL || h->files == NULL ||
        h->part < 1 || h->part > h->parts)
        return err_set(e, ERR_INPUT, "%s: line 1 is damaged", label);
    if (strcmp(h->version, SPECTER_VERSION) != 0)
        return err_set(e, ERR_INPUT, "%s: written by specter %s; this is " SPECTER_VERSION, label,
                       h->version);
    m->body = (size_t)(end + 1 - m->bytes);
    return 0;
}

static void unmap_file(struct shard_map *m)
{
    if (m->bytes != NULL)
        munmap(m->bytes, m->len);
    *m = (struct shard_map){.bytes = NULL};
}

static int map_file(struct shard_map *m, const char *path, struct arena *a, struct err *e)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
    *m = (struct shard_map){.bytes = NULL};
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        rc = err_set(e, ERR_INPUT, "%s: %s", path, fd < 0 ? strerror(errno) : "no file");
    } else if (st.st_size > 0) {
        m->len = (size_t)st.st_size;
        m->bytes = mmap(NULL, m->len, PROT_READ, MAP_PRIVATE, fd, 0);
        if (m->bytes == MAP_FAILED) {
            m->bytes = NULL;
            rc = err_set(e, ERR_INPUT, "%s: %s", path, strerror(errno));
        }
    }
    if (fd >= 0)
        close(fd);
    if (rc == 0)
        rc = read_header(m, arena_strdup(a, path), a, e);
    if (rc < 0)
        unmap_file(m);
    return rc;
}

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* ---- writing ---- */

struct shard_writer {
    const char *command, *path, *run_id, *file;
    struct shard shard;
    struct whole_file out;
    bool begun, is_there;
    struct err err; /* of beginning */
};

static void put_header(struct shard_writer *w, const char *files)
{
    cJSON *o = cJSON_CreateObject();
    char *line;
    cJSON_AddStringToObject(o, "schema", SCHEMA);
    cJSON_AddStringToObject(o, "specter", SPECTER_VERSION);
    cJSON_AddStringToObject(o, "command", w->command);
    cJSON_AddStringToObject(o, "path", w->path);
    if (w->run_id != NULL)
        cJSON_AddStringToObject(o, "run", w->run_id);
    cJSON_AddNumberToObject(o, "part", (double)w->shard.part);
    cJSON_AddNumberToObject(o, "parts", (double)w->shard.parts);
    cJSON_AddStringToObject(o, "files", files);
    line = cJSON_PrintUnformatted(o);
    fprintf(w->out.out, "%s\n", line);
    cJSON_free(line);
    cJSON_Delete(o);
}

/* Returns whether the file is this shard of these files, whole. */
static bool is_written(const struct shard_writer *w, const char *files)
{
    struct load_shared records = {.cap = 0};
    struct shard_map m;
    struct arena a;
    struct err e;
    bool is;
    arena_init(&a);
    is = map_file(&m, w->file, &a, &e) == 0 && m.header.part == w->shard.part &&
         m.header.parts == w->shard.parts && same_text(m.header.path, w->path) &&
         same_text(m.header.run_id, w->run_id) && same_text(m.header.command, w->command) &&
         same_text(m.header.files, files) &&
         load_shared_add(&records, m.bytes + m.body, m.len - m.body, w->file, &e) == 0;
    load_shared_release(&records);
    unmap_file(&m);
    arena_release(&a);
    return is;
}

static bool begin_shard(void *arg, uint64_t files_sum)
{
    struct shard_writer *w = arg;
    char files[24];
    snprintf(files, sizeof files, "%016" PRIx64, files_sum);
    w->is_there = is_written(w, files);
    if (w->is_there || whole_file_open(&w->out, w->file, &w->err) < 0)
        return false;
    w->begun = true;
    put_header(w, files);
    return true;
}

static void put_record(void *arg, const void *record, size_t len)
{
    struct shard_writer *w = arg;
    fwrite(record, 1, len, w->out.out); /* closing tells of a failure */
}

static int read_share(struct shard_writer *w, struct err *e)
{
    struct load_share share = {.part = (uint32_t)w->shard.part,
                               .parts = (uint32_t)w->shard.parts,
                               .wanted = begin_shard,
                               .put = put_record,
                               .arg = w};
    struct load_opts opts = {.run_id = w->run_id, .share = &share};
    struct run run;
    int rc = run_load(&run, w->path, &opts, e);
    run_release(&run);
    if (w->begun && rc < 0)
        whole_file_discard(&w->out);
    else if (w->begun)
        rc = whole_file_close(&w->out, e);
    if (rc == 0 && w->err.code != ERR_NONE) {
        *e = w->err;
        rc = -1;
    }
    return rc;
}

int shard_write(const char *command, const char *path, const char *run_id,
                const struct shard_opts *opts, struct err *e)
{
    struct shard_writer w = {.command = command, .path = path, .run_id = run_id};
    const char *dir = opts->dir != NULL ? opts->dir : SHARD_FOLDER;
    struct buf file = BUF_INIT;
    int rc;
    if (shard_read(opts->shard, SHARDS_MAX, &w.shard, e) < 0)
        return (int)e->code;
    buf_puts(&file, dir);
    rc = cmd_make_folders(file.data);
    buf_reset(&file);
    buf_printf(&file, "%s/%lld-of-%lld" SUFFIX, dir, (long long)w.shard.part,
               (long long)w.shard.parts);
    w.file = file.data;
    if (rc < 0)
        rc = err_set(e, ERR_INPUT, "cannot make directory '%s': %s", dir, strerror(errno));
    else
        rc = read_share(&w, e);
    if (rc == 0 && w.is_there)
        fprintf(stderr, "specter: shard %lld of %lld is there: %s\n", (long long)w.shard.part,
                (long long)w.shard.parts, w.file);
    else if (rc == 0)
        cmd_wrote(w.file);
    buf_release(&file);
    return rc == 0 ? 0 : (int)e->code;
}

int shard_no_answer(struct err *e)
{
    err_set(e, ERR_USAGE,
            "--shard reads, and merge answers: specter merge SHARDS -- the other options");
    return ERR_USAGE;
}

/* ---- all of them ---- */

static int add_file(struct shards *s, const char *path, struct err *e)
{
    ARRAY_GROW(s->maps, s->cap, s->count + 1);
    if (map_file(&s->maps[s->count], path, &s->arena, e) < 0)
        return -1;
    s->count++;
    return 0;
}

static int add_folder(struct shards *s, const char *path, struct err *e)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    const size_t before = s->count;
    int rc = 0;
    if (dir == NULL)
        return err_set(e, ERR_INPUT, "%s: %s", path, strerror(errno));
    while (rc == 0 && (entry = readdir(dir)) != NULL) {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot != NULL && strcmp(dot, SUFFIX) == 0)
            rc = add_file(s, arena_printf(&s->arena, "%s/%s", path, entry->d_name), e);
    }
    closedir(dir);
    return rc == 0 && s->count == before
               ? err_set(e, ERR_INPUT, "%s: no shard here (files *" SUFFIX ")", path)
               : rc;
}

static int by_part(const void *pa, const void *pb)
{
    const struct shard_map *a = pa, *b = pb;
    return a->header.part != b->header.part ? ORDER(a->header.part, b->header.part)
                                            : strcmp(a->header.label, b->header.label);
}

/* All are of one run, and each is there once. */
static int check(const struct shards *s, struct err *e)
{
    const struct shard_header *first = &s->maps[0].header;
    for (size_t i = 1; i < s->count; i++) {
        const struct shard_header *h = &s->maps[i].header;
        if (!same_text(h->path, first->path) || !same_text(h->run_id, first->run_id) ||
            !same_text(h->files, first->files) || !same_text(h->command, first->command) ||
            h->parts != first->parts)
            return err_set(e, ERR_INPUT,
                           "'%s' and '%s' are shards of two runs, or of files that were changed "
                           "between",
                           first->label, h->label);
        if (h->part == s->maps[i - 1].header.part)
            return err_set(e, ERR_INPUT, "shard %lld of %lld is there twice: '%s', '%s'",
                           (long long)h->part, (long long)h->parts, s->maps[i - 1].header.label,
                           h->label);
    }
    for (int64_t part = 1; part <= first->parts; part++) {
        if ((size_t)part > s->count || s->maps[part - 1].header.part != part)
            return err_set(e, ERR_INPUT,
                           "shard %lld of %lld is missing: specter %s '%s' --shard %lld/%lld",
                           (long long)part, (long long)first->parts, first->command, first->path,
                           (long long)part, (long long)first->parts);
    }
    return 0;
}

int shards_open(struct shards *s, char **paths, int n, struct err *e)
{
    memset(s, 0, sizeof *s);
    arena_init(&s->arena);
    for (int i = 0; i < n; i++) {
        struct stat st;
        const bool folder = stat(paths[i], &st) == 0 && S_ISDIR(st.st_mode);
        if ((folder ? add_folder(s, paths[i], e) : add_file(s, paths[i], e)) < 0)
            return -1;
    }
    if (s->count > 1)
        qsort(s->maps, s->count, sizeof *s->maps, by_part);
    if (check(s, e) < 0)
        return -1;
    s->of = s->maps[0].header;
    for (size_t i = 0; i < s->count; i++) {
        const struct shard_map *m = &s->maps[i];
        if (load_shared_add(&s->shared, m->bytes + m->body, m->len - m->body, m->header.label, e) <
            0)
            return -1;
    }
    return 0;
}

void shards_release(struct shards *s)
{
    for (size_t i = 0; i < s->count; i++)
        unmap_file(&s->maps[i]);
    free(s->maps);
    load_shared_release(&s->shared);
    arena_release(&s->arena);
}
