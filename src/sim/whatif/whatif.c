/* SPDX-License-Identifier: MIT */
#include "sim/whatif/whatif.h"

#include "base/opt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- slow ranks, slow links and failed NICs ----
 *
 * Replicas are alike: a fault of one that is not simulated is given to the simulated one, for which
 * all others wait as they would for that one. */

static bool is_link(const struct whatif_fault *f)
{
    return f->kind == FAULT_SLOW_LINK || f->kind == FAULT_NO_NIC;
}

/* Ranks or nodes of a job of so many GPUs, of which a fault names one. */
static int64_t places(const struct whatif *v, const struct whatif_fault *f, int64_t gpus)
{
    if (f->kind == FAULT_SLOW_RANK)
        return gpus;
    return placement_nodes(&v->growth->target, v->net, gpus);
}

/* Ranks among which those of a fault are: first, first + step, ... below end. */
struct rank_range {
    int64_t first, end, step;
};

static struct rank_range range_of(const struct whatif *v, const struct whatif_fault *f,
                                  int64_t gpus)
{
    const struct placement *p = &v->growth->target;
    int64_t n = placement_per_node(p, v->net);
    struct rank_range at = {f->where, f->where + 1, 1};
    if (f->kind != FAULT_SLOW_RANK && p->kind == PLACE_BLOCK)
        at = (struct rank_range){f->where * n, (f->where + 1) * n, 1};
    else if (f->kind != FAULT_SLOW_RANK && p->kind == PLACE_CYCLIC)
        at = (struct rank_range){f->where, gpus, places(v, f, gpus)};
    else if (f->kind != FAULT_SLOW_RANK)
        at = (struct rank_range){0, p->count, 1};
    at.end = at.end < gpus ? at.end : gpus;
    return at;
}

/* ---- may it be asked for ---- */

/* NICs of the node of faults[i] that do not work, by all that is said of it. */
static double failed_nics(const struct whatif_opts *opts, size_t i)
{
    double failed = 0;
    for (size_t k = 0; k < opts->nfaults; k++) {
        if (opts->faults[k].kind == FAULT_NO_NIC && opts->faults[k].where == opts->faults[i].where)
            failed += (double)opts->faults[k].count;
    }
    return failed;
}

static int check_nics(const struct whatif_opts *opts, size_t i, const struct network_profile *net,
                      struct err *e)
{
    const struct whatif_fault *f = &opts->faults[i];
    if (!is_link(f))
        return 0;
    if (!(net->nics_per_node >= 1))
        return err_set(e, ERR_USAGE, "'%s': a node of network '%s' has no NIC", f->text, net->name);
    if (failed_nics(opts, i) >= net->nics_per_node)
        return err_set(e, ERR_USAGE, "'%s': a node of network '%s' has %g NICs, none would be left",
                       f->text, net->name, net->nics_per_node);
    return 0;
}

int faults_check(struct whatif *v, const int64_t *scales, size_t n, struct err *e)
{
    const struct network_profile *net = v->net;
    int64_t most = 1;
    for (size_t i = 0; i < n; i++)
        most = scales[i] > most ? scales[i] : most;
    for (size_t i = 0; i < v->opts.nfaults; i++) {
        const struct whatif_fault *f = &v->opts.faults[i];
        int64_t there = places(v, f, most * v->world);
        if (f->where >= there)
            return err_set(e, ERR_USAGE, "'%s': the largest job has %s 0 to %lld", f->text,
                           f->kind == FAULT_SLOW_RANK ? "ranks" : "nodes", (long long)there - 1);
        if (check_nics(&v->opts, i, net, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- where it is ---- */

/* All that is wrong with the links of the node of faults[i]. */
static double node_slowness(const struct whatif_opts *opts, size_t i,
                            const struct network_profile *net)
{
    double slow = 1, failed = failed_nics(opts, i);
    for (size_t k = 0; k < opts->nfaults; k++) {
        if (opts->faults[k].kind == FAULT_SLOW_LINK &&
            opts->faults[k].where == opts->faults[i].where)
            slow *= opts->faults[k].slow;
    }
    return failed > 0 ? slow * net->nics_per_node / (net->nics_per_node - failed) : slow;
}

double faults_host_slowness(const struct whatif *v, size_t r)
{
    int rank = v->program->run->ranks[r].rank;
    bool known = v->has_slow_ranks && rank >= 0 && rank < v->world;
    return known ? v->slow_work[rank] : 1;
}

void faults_set_hosts(const struct whatif *v, size_t r, double slow)
{
    const struct program_rank *rank = &v->program->ranks[r];
    for (uint32_t h = 0; h < rank->nhosts; h++)
        sim_set_host_speed(v->program->sim, rank->first_host + h, v->host_speed / slow);
}

void faults_place(struct whatif *v, bool faulty, double host_speed, struct retarget *t)
{
    v->host_speed = host_speed > 0 ? host_speed : 1;
    if (v->opts.nfaults == 0)
        return;
    v->has_slow_links = v->has_slow_ranks = false;
    for (int r = 0; r < v->world; r++)
        v->slow_work[r] = v->slow_link[r] = 1;
    for (size_t i = 0; i < v->opts.nfaults && faulty; i++) {
        const struct whatif_fault *f = &v->opts.faults[i];
        double slow = is_link(f) ? node_slowness(&v->opts, i, v->net) : f->slow;
        double *list = is_link(f) ? v->slow_link : v->slow_work;
        int64_t gpus = t->scale * v->world;
        struct rank_range at = range_of(v, f, gpus);
        v->placed[i] = f->where < places(v, f, gpus);
        for (int64_t r = at.first; v->placed[i] && r < at.end; r += at.step) {
            int kind = weak_scaling_kind(v->growth, r, t->scale);
            if (f->kind == FAULT_SLOW_RANK ||
                placement_node(&v->growth->target, v->net, r, gpus) == f->where)
                list[kind] = fmax(list[kind], slow);
        }
        v->has_slow_links = v->has_slow_links || (v->placed[i] && is_link(f));
        v->has_slow_ranks = v->has_slow_ranks || (v->placed[i] && !is_link(f));
    }
    t->slow_link = v->has_slow_links ? v->slow_link : NULL;
    /* A process with several ranks issues for all of them as slowly as for the slowest. */
    for (size_t r = 0; r < v->program->run->nranks; r++)
        faults_set_hosts(v, r, 1);
    for (size_t r = 0; r < v->program->run->nranks; r++) {
        if (faults_host_slowness(v, r) > 1)
            faults_set_hosts(v, r, faults_host_slowness(v, r));
    }
}

bool faults_are_placed(const struct whatif *v)
{
    return v->has_slow_links || v->has_slow_ranks;
}

int64_t faults_slowed(const struct whatif *v, size_t cost, int64_t ns)
{
    const struct program_cost *c;
    if (!v->has_slow_ranks)
        return ns;
    c = &v->program->costs[cost];
    return c->match != PROGRAM_NONE ? ns : llround((double)ns * faults_host_slowness(v, c->rank));
}

int64_t faults_note_cost(struct whatif *v, size_t cost, int64_t ns)
{
    if (v->base_ns != NULL)
        v->base_ns[cost] = ns;
    return faults_slowed(v, cost, ns);
}

/* ---- the words of --jitter, --straggler, --slow-link and --failed-nic ---- */

#define SLOW_MOST 1000.0
#define VALUE_MOST 32 /* characters of a number */

int whatif_parse_jitter(const char *text, struct whatif_opts *out, struct err *e)
{
    size_t n = strlen(text);
    char number[VALUE_MOST];
    double percent;
    out->jitter = strcmp(text, "trace") == 0 ? JITTER_TRACE : JITTER_OFF;
    out->cv = 0;
    if (out->jitter == JITTER_TRACE || strcmp(text, "off") == 0)
        return 0;
    n -= n > 0 && text[n - 1] == '%';
    snprintf(number, sizeof number, "%.*s", (int)(n < VALUE_MOST ? n : VALUE_MOST - 1), text);
    if (n >= VALUE_MOST || opt_parse_double("--jitter", number, &percent, NULL) < 0 ||
        !(percent > 0 && percent <= 100))
        return err_set(e, ERR_USAGE, "--jitter '%s': off, trace, or a percentage up to 100", text);
    out->jitter = JITTER_GIVEN;
    out->cv = percent / 100;
    return 0;
}

/* The form of each option: a place and an amount. */
struct form {
    const char *option, *place, *amount;
    enum fault_kind kind;
    double usual; /* the amount, where it may be left out; NaN: it may not */
    const char *example;
};

static const struct form forms[] = {
    {"straggler", "rank", "slow", FAULT_SLOW_RANK, NAN, "rank=3,slow=1.2 or node=0,slow=1.2"},
    {"straggler", "node", "slow", FAULT_SLOW_NODE, NAN, "rank=3,slow=1.2 or node=0,slow=1.2"},
    {"slow-link", "node", "slow", FAULT_SLOW_LINK, NAN, "node=0,slow=2"},
    {"failed-nic", "node", "count", FAULT_NO_NIC, 1, "node=0 or node=0,count=2"},
};

/* Returns whether `text` is KEY=VALUE, up to a comma or its end. The value goes to
 * out[VALUE_MOST]. */
static bool take(const char **text, const char *key, char *out)
{
    size_t n = strlen(key), length;
    if (strncmp(*text, key, n) != 0 || (*text)[n] != '=')
        return false;
    length = strcspn(*text + n + 1, ",");
    if (length == 0 || length >= VALUE_MOST)
        return false;
    memcpy(out, *text + n + 1, length);
    out[length] = '\0';
    *text += n + 1 + length;
    *text += (*text)[0] == ',' && (*text)[1] != '\0';
    return true;
}

static bool fits(const struct form *form, const char *text, struct whatif_fault *out)
{
    char place[VALUE_MOST], amount[VALUE_MOST];
    double value = form->usual;
    *out = (struct whatif_fault){.kind = form->kind, .slow = 1, .count = 1, .text = text};
    if (!take(&text, form->place, place) || opt_parse_i64("", place, &out->where, NULL) < 0 ||
        out->where < 0)
        return false;
    if (*text != '\0' &&
        (!take(&text, form->amount, amount) || opt_parse_double("", amount, &value, NULL) < 0))
        return false;
    if (*text != '\0' || !(value >= 1 && value <= SLOW_MOST) ||
        (form->kind != FAULT_NO_NIC && value == 1))
        return false;
    out->count = form->kind == FAULT_NO_NIC ? (int64_t)value : 1;
    out->slow = form->kind == FAULT_NO_NIC ? 1 : value;
    return form->kind != FAULT_NO_NIC || (double)out->count == value;
}

int whatif_parse_fault(const char *option, const char *text, struct whatif_fault *out,
                       struct err *e)
{
    const char *example = "";
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (strcmp(forms[i].option, option) != 0)
            continue;
        if (fits(&forms[i], text, out))
            return 0;
        example = forms[i].example;
    }
    return err_set(e, ERR_USAGE, "--%s '%s': write %s", option, text, example);
}

int whatif_init(struct whatif *v, const struct whatif_opts *opts, struct err *e)
{
    v->opts = *opts;
    if (opts->jitter != JITTER_OFF && (opts->draws < 2 || opts->draws > JITTER_DRAWS_MAX))
        return err_set(e, ERR_USAGE, "--draws %lld: 2 to %d", (long long)opts->draws,
                       JITTER_DRAWS_MAX);
    if (opts->nfaults > 0) {
        v->slow_work = array_new((size_t)v->world, sizeof *v->slow_work);
        v->slow_link = array_new((size_t)v->world, sizeof *v->slow_link);
        v->placed = array_new(opts->nfaults, sizeof *v->placed);
    }
    if (!whatif_has_jitter(v))
        return 0;
    v->base_ns = array_new(v->program->ncosts, sizeof *v->base_ns);
    jitter_learn(v);
    if (v->opts.jitter == JITTER_TRACE && v->variation.iterations < JITTER_STEPS_MIN)
        v->opts.jitter = JITTER_OFF;
    return 0;
}

void whatif_release(struct whatif *v)
{
    free(v->slow_work);
    free(v->slow_link);
    free(v->placed);
    free(v->base_ns);
    free(v->of);
    memset(v, 0, sizeof *v);
}
