/* SPDX-License-Identifier: MIT */
#include "cmd/shard.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/launcher.h"
#include "base/opt.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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
