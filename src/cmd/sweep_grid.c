/* SPDX-License-Identifier: MIT
 *
 * The grid of `specter sweep`: its axes, and the points that they span (sweep.h).
 */
#include "cmd/sweep.h"

#include "base/buf.h"
#include "base/opt.h"
#include "cmd/cmd.h"
#include "cmd/hardware.h"
#include "model/profile_json.h"
#include "specter/nccl_names.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the axes ---- */

static int set_parallel(struct replay_opts *opts, const char *text, struct arena *a, struct err *e)
{
    (void)a;
    (void)e; /* only a recording can tell whether it is one */
    opts->parallel = text;
    return 0;
}

static int set_grow(struct replay_opts *opts, const char *text, struct arena *a, struct err *e)
{
    (void)a;
    opts->grow_given = true;
    if (!grid_role_parse(&opts->grow, text, strlen(text)))
        return err_set(e, ERR_INPUT, "'%s' is none of dp, fsdp, tp, pp, ep", text);
    return 0;
}

static int set_jitter(struct replay_opts *opts, const char *text, struct arena *a, struct err *e)
{
    (void)a;
    return whatif_parse_jitter(text, &opts->whatif, e);
}

/* One or several arguments of an option that may be repeated, with spaces between them. */
static int add_faults(struct replay_opts *opts, const char *option, const char *text,
                      struct arena *a, struct err *e)
{
    while (*(text += strspn(text, " ")) != '\0') {
        size_t len = strcspn(text, " "), n = opts->whatif.nfaults;
        struct whatif_fault *faults = arena_alloc(a, (n + 1) * sizeof *faults);
        if (n > 0)
            memcpy(faults, opts->whatif.faults, n * sizeof *faults);
        if (whatif_parse_fault(option, arena_strndup(a, text, len), &faults[n], e) < 0)
            return -1;
        opts->whatif.faults = faults;
        opts->whatif.nfaults = n + 1;
        text += len;
    }
    return 0;
}

static int set_straggler(struct replay_opts *opts, const char *text, struct arena *a, struct err *e)
{
    return add_faults(opts, "straggler", text, a, e);
}

static int set_slow_link(struct replay_opts *opts, const char *text, struct arena *a, struct err *e)
{
    return add_faults(opts, "slow-link", text, a, e);
}

static int set_failed_nic(struct replay_opts *opts, const char *text, struct arena *a,
                          struct err *e)
{
    return add_faults(opts, "failed-nic", text, a, e);
}

/* A list of hosts is of one size of the job, and what is in a file would be no part of an id. */
static int set_placement(struct replay_opts *opts, const char *text, struct arena *a, struct err *e)
{
    struct placement *placement = arena_alloc(a, sizeof *placement);
    opts->placement = placement;
    if (strncmp(text, "file=", strlen("file=")) == 0)
        return err_set(e, ERR_INPUT, "'%s': lists of hosts are for 'specter replay'", text);
    return placement_parse(placement, text, a, e);
}

static int set_target_nccl(struct replay_opts *opts, const char *text, struct arena *a,
                           struct err *e)
{
    (void)a;
    opts->nccl = specter_nccl_version_parse(text);
    return opts->nccl != 0
               ? 0
               : err_set(e, ERR_INPUT, "'%.64s' is no version of NCCL, as 2.28.9", text);
}

#define AT(field) offsetof(struct replay_opts, field)

/* Outermost first; traces first, scales last. */
const struct sweep_axis sweep_axes[] = {
    {.key = "traces", .column = "trace", .kind = SWEEP_TRACE},
    {.key = "from_gpu",
     .column = "from_gpu",
     .kind = SWEEP_GPU,
     .source = true,
     .offset = AT(from_gpu),
     .network = AT(from_network)},
    {.key = "from_network",
     .column = "from_network",
     .kind = SWEEP_NETWORK,
     .source = true,
     .offset = AT(from_network)},
    {.key = "parallel", .column = "parallel", .kind = SWEEP_TEXT, .set = set_parallel},
    {.key = "calibrate",
     .column = "calibrate",
     .kind = SWEEP_FLAG,
     .standard = "true",
     .offset = AT(calibrate)},
    {.key = "host_speed",
     .column = "host_speed",
     .kind = SWEEP_NUMBER,
     .standard = "1",
     .offset = AT(host_speed),
     .lowest = HOST_SPEED_MIN,
     .highest = HOST_SPEED_MAX},
    {.key = "gpus", .column = "gpu", .kind = SWEEP_GPU, .offset = AT(gpu), .network = AT(network)},
    {.key = "networks", .column = "network", .kind = SWEEP_NETWORK, .offset = AT(network)},
    {.key = "nccl", .column = "nccl", .kind = SWEEP_TEXT, .set = set_target_nccl},
    {.key = "grow", .column = "grow", .kind = SWEEP_TEXT, .standard = "dp", .set = set_grow},
    {.key = "jitter", .column = "jitter", .kind = SWEEP_TEXT, .standard = "off", .set = set_jitter},
    {.key = "draws",
     .column = "draws",
     .kind = SWEEP_COUNT,
     .standard = "32",
     .offset = AT(whatif.draws),
     .lowest = 2,
     .highest = JITTER_DRAWS_MAX},
    {.key = "seed",
     .column = "seed",
     .kind = SWEEP_COUNT,
     .standard = "1",
     .offset = AT(whatif.seed),
     .lowest = 0,
     .highest = JITTER_SEED_MAX},
    {.key = "straggler", .column = "straggler", .kind = SWEEP_TEXT, .set = set_straggler},
    {.key = "slow_link", .column = "slow_link", .kind = SWEEP_TEXT, .set = set_slow_link},
    {.key = "failed_nic", .column = "failed_nic", .kind = SWEEP_TEXT, .set = set_failed_nic},
    {.key = "placement", .column = "placement", .kind = SWEEP_TEXT, .set = set_placement},
    {.key = "strong",
     .column = "strong",
     .kind = SWEEP_FLAG,
     .standard = "false",
     .offset = AT(strong)},
    {.key = "scales",
     .column = "scale",
     .kind = SWEEP_SCALE,
     .lowest = 1,
     .highest = GROW_GPUS_MAX},
};
const size_t sweep_axis_count = sizeof sweep_axes / sizeof *sweep_axes;
static_assert(sizeof sweep_axes / sizeof *sweep_axes <= SWEEP_AXES_MAX, "SWEEP_AXES_MAX");

static const char *key_at(const void *list, size_t i)
{
    (void)list;
    return sweep_axes[i].key;
}

static struct sweep_value *add_value(struct sweep_list *list, const char *text)
{
    ARRAY_GROW(list->values, list->cap, list->count + 1);
    list->values[list->count].text = text;
    return &list->values[list->count++];
}

/* ---- profiles ---- */

static struct sweep_profile *profile_entry(struct sweep_grid *g, const char *text)
{
    for (size_t i = 0; i < g->nprofiles; i++) {
        if (strcmp(g->profiles[i].text, text) == 0)
            return &g->profiles[i];
    }
    ARRAY_GROW(g->profiles, g->cap_profiles, g->nprofiles + 1);
    g->profiles[g->nprofiles].text = text;
    return &g->profiles[g->nprofiles++];
}

static int find_gpu(struct sweep_grid *g, struct sweep_value *v, struct err *e)
{
    struct sweep_profile *p = profile_entry(g, v->text);
    const struct network_profile *own = NULL;
    if (p->gpu == NULL && (p->gpu = cmd_gpu(v->text, &g->arena, &own, e)) == NULL)
        return -1;
    if (p->network == NULL)
        p->network = own;
    v->gpu = p->gpu;
    v->network = cmd_is_profile_file(v->text) ? p->network : NULL;
    return 0;
}

static int find_network(struct sweep_grid *g, struct sweep_value *v, struct err *e)
{
    struct sweep_profile *p = profile_entry(g, v->text);
    if (p->network == NULL && (p->network = cmd_network(v->text, &g->arena, e)) == NULL)
        return -1;
    v->network = p->network;
    return 0;
}

/* ---- values ---- */

static int read_text(struct profile_reader *r, struct sweep_grid *g, const struct sweep_axis *axis,
                     struct sweep_value *v)
{
    struct replay_opts tried = {0};
    struct err why = {0};
    int rc = 0;
    if (json_peek(&r->j) != '"')
        return reader_wrong_type(r, axis->key, "a text");
    v->text = reader_text(r, json_string(&r->j));
    if (reader_check(r) < 0)
        return -1;
    if (v->text[0] == '\0')
        rc = err_set(&why, ERR_INPUT, "an empty text");
    else if (reader_has_control(v->text))
        rc = err_set(&why, ERR_INPUT, "control characters are not allowed");
    else if (axis->kind == SWEEP_GPU)
        rc = find_gpu(g, v, &why);
    else if (axis->kind == SWEEP_NETWORK)
        rc = find_network(g, v, &why);
    else if (axis->kind == SWEEP_TEXT)
        rc = axis->set(&tried, v->text, &g->arena, &why);
    return rc < 0 ? reader_fail(r, "%s: %s", axis->key, why.msg) : 0; /* with the line */
}

static int read_flag(struct profile_reader *r, const struct sweep_axis *axis, struct sweep_value *v)
{
    char next = json_peek(&r->j);
    if (next != 't' && next != 'f')
        return reader_wrong_type(r, axis->key, "true or false");
    v->number = json_bool(&r->j, false);
    v->text = v->number ? "true" : "false";
    return reader_check(r);
}

static int read_double(struct profile_reader *r, const struct sweep_axis *axis, double *out)
{
    char next = json_peek(&r->j);
    if (next != '0' && next != '-')
        return reader_wrong_type(r, axis->key, "a number");
    *out = json_double(&r->j, 0);
    return reader_check(r);
}

/* As short as it can be said, so that 2, 2.0 and 2e0 are one value. */
static int read_number(struct profile_reader *r, const struct sweep_axis *axis,
                       struct sweep_value *v)
{
    if (read_double(r, axis, &v->value) < 0)
        return -1;
    if (!(v->value >= axis->lowest && v->value <= axis->highest))
        return reader_fail(r, "%s: %.10g is not within %.10g to %.10g", axis->key, v->value,
                           axis->lowest, axis->highest);
    v->text = arena_printf(r->arena, "%.10g", v->value);
    return 0;
}

static int read_count(struct profile_reader *r, const struct sweep_axis *axis,
                      struct sweep_value *v)
{
    double value;
    if (read_double(r, axis, &value) < 0)
        return -1;
    if (!(value >= axis->lowest && value <= axis->highest) || value != floor(value))
        return reader_fail(r, "%s: %.16g is no whole number from %.0f to %.0f", axis->key, value,
                           axis->lowest, axis->highest);
    v->number = (int64_t)value;
    v->text = arena_printf(r->arena, "%lld", (long long)v->number);
    return 0;
}

/* The option's value when it is not given. */
static void default_value(struct sweep_value *v, const struct sweep_axis *axis)
{
    v->text = axis->standard;
    if (axis->kind == SWEEP_FLAG)
        v->number = strcmp(axis->standard, "true") == 0;
    else if (axis->kind == SWEEP_COUNT)
        opt_parse_i64(axis->key, axis->standard, &v->number, NULL);
    else if (axis->kind == SWEEP_NUMBER)
        opt_parse_double(axis->key, axis->standard, &v->value, NULL);
}

static int read_value(struct profile_reader *r, struct sweep_grid *g, const struct sweep_axis *axis,
                      struct sweep_value *v)
{
    bool has_null = axis->kind != SWEEP_TRACE && axis->kind != SWEEP_SCALE;
    if (json_peek(&r->j) == 'n' && has_null) {
        json_skip(&r->j);
        default_value(v, axis);
        return reader_check(r);
    }
    switch (axis->kind) {
    case SWEEP_FLAG:
        return read_flag(r, axis, v);
    case SWEEP_NUMBER:
        return read_number(r, axis, v);
    case SWEEP_COUNT:
    case SWEEP_SCALE:
        return read_count(r, axis, v);
    default:
        return read_text(r, g, axis, v);
    }
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static int add_read(struct profile_reader *r, struct sweep_grid *g, size_t axis)
{
    struct sweep_list *list = &g->axes[axis];
    struct sweep_value v = {0};
    if (read_value(r, g, &sweep_axes[axis], &v) < 0)
        return -1;
    for (size_t i = 0; i < list->count; i++) {
        if (same_text(list->values[i].text, v.text))
            return reader_fail(r, "%s: %s%s is given twice", sweep_axes[axis].key,
                               v.text == NULL ? "null" : "", v.text == NULL ? "" : v.text);
    }
    *add_value(list, NULL) = v;
    return list->count > SWEEP_POINTS_MAX ? reader_fail(r, "too many values") : 0;
}

static int read_axis(struct profile_reader *r, struct sweep_grid *g, size_t axis)
{
    if (json_peek(&r->j) != '[')
        return add_read(r, g, axis);
    json_enter(&r->j, '[');
    while (json_next_item(&r->j)) {
        if (add_read(r, g, axis) < 0)
            return -1;
    }
    if (reader_check(r) < 0)
        return -1;
    return g->axes[axis].count == 0 ? reader_fail(r, "%s: an empty list", sweep_axes[axis].key) : 0;
}

/* ---- the file ---- */

static int read_grid(struct profile_reader *r, struct sweep_grid *g)
{
    struct name_list names = {key_at, NULL, sweep_axis_count};
    uint64_t seen = 0;
    size_t axis;
    int more;
    if (json_peek(&r->j) != '{' && json_peek(&r->j) != '\0')
        return reader_wrong_type(r, "a grid", "an object");
    json_enter(&r->j, '{'); /* where there is nothing, that is the error */
    while ((more = reader_next_key(r, names, &seen, &axis)) > 0) {
        if (read_axis(r, g, axis) < 0)
            return -1;
    }
    if (more < 0)
        return -1;
    json_end(&r->j);
    return reader_check(r);
}

static void fill_absent(struct sweep_grid *g, char **traces, size_t ntraces)
{
    if (ntraces > 0)
        g->axes[SWEEP_TRACES].count = 0;
    for (size_t i = 0; i < ntraces; i++)
        add_value(&g->axes[SWEEP_TRACES], traces[i]);
    if (g->axes[SWEEP_TRACES].count == 0)
        add_value(&g->axes[SWEEP_TRACES], cmd_input(0, NULL));
    for (size_t a = 0; a < sweep_axis_count; a++) {
        if (g->axes[a].count == 0 && sweep_axes[a].kind != SWEEP_SCALE)
            default_value(add_value(&g->axes[a], NULL), &sweep_axes[a]);
    }
    if (g->axes[SWEEP_SCALES].count > 0)
        return;
    for (size_t i = 0; i < replay_nscales; i++) {
        const char *text = arena_printf(&g->arena, "%lld", (long long)replay_scales[i]);
        add_value(&g->axes[SWEEP_SCALES], text)->number = replay_scales[i];
    }
}

int sweep_grid_read(struct sweep_grid *g, const char *path, char **traces, size_t ntraces,
                    struct err *e)
{
    struct buf text = BUF_INIT;
    struct profile_reader r = {.arena = &g->arena, .label = path, .e = e};
    int rc;
    memset(g, 0, sizeof *g);
    arena_init(&g->arena);
    rc = cmd_read_file(path, "a grid", &text, e);
    if (rc == 0) {
        json_init(&r.j, text.data, text.len);
        rc = read_grid(&r, g);
    }
    buf_release(&text);
    if (rc < 0)
        return -1;
    fill_absent(g, traces, ntraces);
    g->scales = g->axes[SWEEP_SCALES].count;
    g->points = 1;
    for (size_t a = 0; a < sweep_axis_count; a++) {
        if (g->axes[a].count > SWEEP_POINTS_MAX / g->points)
            return err_set(e, ERR_INPUT, "%s: more than %d points", path, SWEEP_POINTS_MAX);
        g->points *= g->axes[a].count;
    }
    g->jobs = g->points / g->scales;
    return 0;
}

void sweep_grid_release(struct sweep_grid *g)
{
    for (size_t a = 0; a < sweep_axis_count; a++)
        free(g->axes[a].values);
    free(g->profiles);
    arena_release(&g->arena);
}

/* ---- points ---- */

const struct sweep_value *sweep_grid_value(const struct sweep_grid *g, size_t job, size_t axis)
{
    for (size_t a = SWEEP_SCALES - 1; a > axis; a--)
        job /= g->axes[a].count;
    return &g->axes[axis].values[job % g->axes[axis].count];
}

/* A pointer that is an option. */
static void set_pointer(struct replay_opts *opts, size_t offset, const void *p)
{
    memcpy((char *)opts + offset, &p, sizeof p);
}

static void set_option(struct replay_opts *opts, const struct sweep_axis *axis,
                       const struct sweep_value *v, struct arena *a)
{
    bool flag = v->number != 0;
    switch (axis->kind) {
    case SWEEP_GPU:
        set_pointer(opts, axis->offset, v->gpu);
        break;
    case SWEEP_NETWORK:
        set_pointer(opts, axis->offset, v->network);
        break;
    case SWEEP_TEXT:
        if (v->text != NULL)
            axis->set(opts, v->text, a, NULL); /* which was tried when it was read */
        break;
    case SWEEP_FLAG:
        memcpy((char *)opts + axis->offset, &flag, sizeof flag);
        break;
    case SWEEP_NUMBER:
        memcpy((char *)opts + axis->offset, &v->value, sizeof v->value);
        break;
    case SWEEP_COUNT:
        memcpy((char *)opts + axis->offset, &v->number, sizeof v->number);
        break;
    case SWEEP_TRACE:
    case SWEEP_SCALE:
        break;
    }
}

void sweep_grid_opts(const struct sweep_grid *g, size_t job, struct arena *arena,
                     struct replay_opts *out)
{
    memset(out, 0, sizeof *out);
    for (size_t a = 0; a < SWEEP_SCALES; a++)
        set_option(out, &sweep_axes[a], sweep_grid_value(g, job, a), arena);
    /* A GPU's file may bring its network, where the grid names none. */
    for (size_t a = 0; a < SWEEP_SCALES; a++) {
        const struct sweep_axis *axis = &sweep_axes[a];
        const struct sweep_value *v = sweep_grid_value(g, job, a);
        const void *named;
        if (axis->kind != SWEEP_GPU || v->network == NULL)
            continue;
        memcpy(&named, (char *)out + axis->network, sizeof named);
        if (named == NULL)
            set_pointer(out, axis->network, v->network);
    }
}
