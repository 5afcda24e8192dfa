/* SPDX-License-Identifier: MIT
 *
 * A row of `specter sweep`, written and read (sweep.h).
 */
#include "cmd/sweep.h"

#include "base/json.h"
#include "calib/csv.h"
#include "report/replay_report.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- columns ---- */

static const char *const lead[] = {"id", "specter", "run"};
static const char *const tail[] = {"status", "reason"};
enum { LEAD = 3, TAIL = 2 };

/* X(column, format, value): of the replay *r and of the scale *s in it. */
#define US(ns) ((ns) / 1e3)
#define STEPS_PER_S(s) (1e9 / (s)->time.span_ns)
#define WORK_PER_S(r, s) \
    (isnan((s)->speedup) ? NAN : (double)((r)->strong ? 1 : (s)->scale) * STEPS_PER_S(s))
#define FIGURES(X)                                                         \
    X(gpus, "%.0f", (double)s->gpus)                                       \
    X(iteration_us, "%.3f", US(s->time.span_ns))                           \
    X(steps_per_s, "%.6g", STEPS_PER_S(s))                                 \
    X(work_per_s, "%.6g", WORK_PER_S(r, s))                                \
    X(speedup, "%.6g", s->speedup)                                         \
    X(efficiency, "%.6g", s->efficiency)                                   \
    X(compute_us, "%.3f", US(s->time.compute_ns))                          \
    X(untraced_us, "%.3f", US(s->time.untraced_ns))                        \
    X(comm_us, "%.3f", US(s->time.comm_ns))                                \
    X(exposed_comm_us, "%.3f", US(s->time.exposed_comm_ns))                \
    X(memory_us, "%.3f", US(s->time.memory_ns))                            \
    X(exposed_memory_us, "%.3f", US(s->time.exposed_memory_ns))            \
    X(idle_us, "%.3f", US(s->time.idle_ns))                                \
    X(host_bound_us, "%.3f", US(s->time.host_bound_ns))                    \
    X(bubble_us, "%.3f", US(s->time.bubble_ns))                            \
    X(p50_us, "%.3f", s->jitter.samples > 0 ? US(s->jitter.p50_ns) : NAN)  \
    X(p95_us, "%.3f", s->jitter.samples > 0 ? US(s->jitter.p95_ns) : NAN)  \
    X(sound_us, "%.3f", s->fault_free_ns > 0 ? US(s->fault_free_ns) : NAN) \
    X(recorded_us, "%.3f", US(r->recorded.span_ns))                        \
    X(replayed_us, "%.3f", US(r->own.span_ns))                             \
    X(unmodelled, "%.6g", r->unmodelled)                                   \
    X(low50_us, "%.3f", US(s->error.interval50[0]))                        \
    X(high50_us, "%.3f", US(s->error.interval50[1]))                       \
    X(low80_us, "%.3f", US(s->error.interval80[0]))                        \
    X(high80_us, "%.3f", US(s->error.interval80[1]))

static const char *const figures[] = {
#define X(column, format, value) #column,
    FIGURES(X)
#undef X
};
enum { FIGURE_COUNT = sizeof figures / sizeof *figures };

size_t sweep_columns(void)
{
    return LEAD + sweep_axis_count + FIGURE_COUNT + TAIL;
}

static const char *column_name(size_t i)
{
    if (i < LEAD)
        return lead[i];
    i -= LEAD;
    if (i < sweep_axis_count)
        return sweep_axes[i].column;
    i -= sweep_axis_count;
    return i < FIGURE_COUNT ? figures[i] : tail[i - FIGURE_COUNT];
}

static bool is_number(size_t i)
{
    if (i < LEAD || i >= sweep_columns() - TAIL)
        return false;
    i -= LEAD;
    return i >= SWEEP_SCALES || sweep_axes[i].kind == SWEEP_NUMBER ||
           sweep_axes[i].kind == SWEEP_COUNT;
}

/* ---- fields ---- */

/* One more field, in quotes where it must be; control characters are made harmless, so that a row
 * is a line. */
static void put_field(struct buf *b, const char *text)
{
    struct buf safe = BUF_INIT;
    buf_put_printable(&safe, text, strlen(text));
    if (b->len > 0)
        buf_putc(b, ',');
    if (strpbrk(safe.data, ",\"") == NULL) {
        buf_puts(b, safe.data);
    } else {
        buf_putc(b, '"');
        for (const char *p = safe.data; *p != '\0'; p++) {
            buf_puts(b, *p == '"' ? "\"" : "");
            buf_putc(b, *p);
        }
        buf_putc(b, '"');
    }
    buf_release(&safe);
}

char *sweep_line_of(char *const *fields, size_t count)
{
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < count; i++)
        put_field(&b, fields[i]);
    buf_putc(&b, '\0');
    return b.data;
}

char *sweep_header(void)
{
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < sweep_columns(); i++)
        put_field(&b, column_name(i));
    buf_putc(&b, '\0');
    return b.data;
}

static const char *const statuses[SWEEP_STATUSES] = {[SWEEP_MISSING] = "",
                                                     [SWEEP_OK] = "ok",
                                                     [SWEEP_PARTIAL] = "partial",
                                                     [SWEEP_FAILED] = "failed"};

int sweep_line_read(char *const *fields, uint64_t *id, enum sweep_status *status, struct err *e)
{
    const char *word = fields[sweep_columns() - TAIL];
    char *end;
    *id = strtoull(fields[0], &end, 16);
    if (strspn(fields[0], "0123456789abcdef") != 16 || *end != '\0')
        return err_set(e, ERR_INPUT, "'%.32s' is no id", fields[0]);
    if (strcmp(fields[1], SPECTER_VERSION) != 0)
        return err_set(e, ERR_INPUT, "a row of specter %.32s, this is %s", fields[1],
                       SPECTER_VERSION);
    for (size_t i = 0; i < sweep_columns(); i++) {
        struct json j;
        if (!is_number(i) || fields[i][0] == '\0')
            continue;
        json_init(&j, fields[i], strlen(fields[i]));
        json_double(&j, 0);
        json_end(&j);
        if (j.error != NULL) /* as JSON has them */
            return err_set(e, ERR_INPUT, "a figure that is no number");
    }
    for (int s = SWEEP_OK; s < SWEEP_STATUSES; s++) {
        *status = (enum sweep_status)s;
        if (strcmp(word, statuses[s]) == 0)
            return 0;
    }
    return err_set(e, ERR_INPUT, "'%.32s' is no status", word);
}

/* ---- a row ---- */

static void put_sentence(struct buf *b, const char *text)
{
    buf_puts(b, b->len > 0 ? "; " : "");
    buf_puts(b, text);
}

/* Writes in words which part of the input could not be used; empty: none. */
static void put_losses(struct buf *b, const struct run *run, const struct replay *rep)
{
    struct arena arena;
    for (size_t i = 0; i < run->nnotes; i++) {
        if (run->notes[i].loss)
            put_sentence(b, run->notes[i].text);
    }
    arena_init(&arena);
    for (const char **lost = replay_losses(rep, &arena); *lost != NULL; lost++)
        put_sentence(b, *lost);
    arena_release(&arena);
}

/* The hardware that the replay took where the grid names none; "" where the recording does not tell
 * its own. */
static const char *hardware_taken(const struct sweep_axis *axis, const struct replay *rep)
{
    const struct hardware *side = axis->source ? &rep->from : &rep->to;
    if (axis->kind == SWEEP_GPU)
        return side->gpu != NULL && (!axis->source || rep->gpu_known) ? side->gpu->name : "";
    if (axis->kind == SWEEP_NETWORK)
        return side->network != NULL && (!axis->source || rep->network_known) ? side->network->name
                                                                              : "";
    return "";
}

char *sweep_line(const struct sweep_result *result, enum sweep_status *status)
{
    struct buf b = BUF_INIT, reason = BUF_INIT;
    const struct replay *r = result->rep;
    const struct replay_scale *s = result->times;
    *status = SWEEP_FAILED;
    if (s == NULL) {
        buf_puts(&reason, result->failure);
    } else {
        put_losses(&reason, result->run, result->rep);
        *status = reason.len > 0 ? SWEEP_PARTIAL : SWEEP_OK;
        /* The note that names the cause cannot be chosen among the replay's here: it knows other
         * scales, too, and a row is the same in every company. */
        if (!isfinite(s->efficiency))
            put_sentence(&reason,
                         "speed-up and efficiency are not known: 'specter replay' says why");
    }
    buf_printf(&b, "%016" PRIx64, result->id);
    put_field(&b, SPECTER_VERSION);
    put_field(&b, result->run->id);
    for (size_t a = 0; a < SWEEP_SCALES; a++) {
        const char *text = sweep_grid_value(result->grid, result->job, a)->text;
        put_field(&b, text != NULL ? text : hardware_taken(&sweep_axes[a], r));
    }
    put_field(&b, result->scale->text);
#define X(column, format, value)      \
    buf_putc(&b, ',');                \
    if (s != NULL && isfinite(value)) \
        buf_printf(&b, format, (value));
    FIGURES(X)
#undef X
    put_field(&b, statuses[*status]);
    put_field(&b, reason.data);
    buf_putc(&b, '\0');
    buf_release(&reason);
    return b.data;
}

/* ---- rows for others ---- */

void sweep_line_reason(const char *line, struct buf *out)
{
    struct csv c;
    csv_init(&c, line, strlen(line));
    if (csv_next(&c) && c.problem == NULL)
        buf_puts(out, c.fields[c.count - 1]);
    csv_release(&c);
}

cJSON *sweep_line_json(const char *line)
{
    cJSON *o = cJSON_CreateObject();
    struct csv c;
    csv_init(&c, line, strlen(line));
    if (csv_next(&c)) {
        assert(c.problem == NULL && c.count == sweep_columns());
        for (size_t i = 0; i < c.count; i++) {
            const char *text = c.fields[i], *name = column_name(i);
            bool is_flag =
                i >= LEAD && i < LEAD + SWEEP_SCALES && sweep_axes[i - LEAD].kind == SWEEP_FLAG;
            if (text[0] == '\0')
                cJSON_AddNullToObject(o, name);
            else if (is_number(i))
                cJSON_AddRawToObject(o, name, text); /* digit by digit what the CSV says */
            else if (is_flag)
                cJSON_AddBoolToObject(o, name, strcmp(text, "true") == 0);
            else
                cJSON_AddStringToObject(o, name, text);
        }
    }
    csv_release(&c);
    return o;
}
