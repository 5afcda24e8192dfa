/* SPDX-License-Identifier: MIT */
#include "bench/tune.h"

#include "base/arena.h"
#include "base/now.h"
#include "base/stats.h"
#include "bench/samples.h"
#include "model/nccl_tuner.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_US 1000 /* of calls that a round times */
#define BLOCK_LEAST 3 /* calls; at most CALLS */
#define CALLS 20
#define ERROR_SHARE 0.05
#define RACE_SHARE 0.6 /* of a size's time */
#define PLUGIN "NCCL_PROFILER_PLUGIN"
#define QUOTE_(name) #name
#define QUOTE(name) QUOTE_(name)

static const int race_looks[] = {5, 10, 20, BENCH_TUNE_ROUNDS, 0};
static const int duel_looks[] = {10, 20, BENCH_TUNE_ROUNDS, 0};

/* A setting's communicator. */
struct trial_comm {
    struct comm_choice setting;
    struct bench_comm *comm;    /* owned; NULL: none (any more) */
    unsigned refused;           /* bits of operations */
    enum bench_trial_state why; /* there is none */
};

struct tuner {
    const struct bench_tune_plan *plan;
    const struct bench_communicator *on;
    const struct bench_members *members;
    struct bench_meter *meter;
    struct trial_comm *slots; /* owned */
    size_t nslots, cap_slots;
    double until_s; /* of what is measured now */
};

/* A communicator in a race; the first one of a list is that of NCCL's own choice. */
struct runner {
    struct bench_comm *comm;
    struct bench_trial *trial; /* NULL: NCCL's own choice */
    struct bench_ratios ratios;
    struct bench_ratio now;
    bool out;
    double us[BENCH_TUNE_ROUNDS]; /* a call's, of each round */
};

/* ---- what NCCL is told, and what it takes ---- */

static struct bench_nccl_choices *choices;

static const char *const forcing[] = {
    "NCCL_ALGO",     "NCCL_PROTO",         "NCCL_MIN_CTAS",
    "NCCL_MAX_CTAS", "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS",
};

void bench_nccl_watch(char *taken, size_t size)
{
    char path[4200];
    void *library;
    *taken = '\0';
    for (size_t i = 0; i < sizeof forcing / sizeof *forcing; i++) {
        if (getenv(forcing[i]) == NULL)
            continue;
        strncat(taken, *taken != '\0' ? ", " : "", size - strlen(taken) - 1);
        strncat(taken, forcing[i], size - strlen(taken) - 1);
        unsetenv(forcing[i]);
    }
    if (getenv(PLUGIN) != NULL || !bench_module_find("nccl_choice", path, sizeof path))
        return;
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL); /* NCCL gets the same one */
    choices = library != NULL ? dlsym(library, QUOTE(BENCH_NCCL_CHOICES)) : NULL;
    if (choices != NULL)
        setenv(PLUGIN, path, 1);
}

const char *bench_nccl_word(const char *algo)
{
    int number = nccl_algo_parse(algo, strlen(algo));
    return number >= 0 ? nccl_algos[number].setting : algo;
}

static void force(const char *name, const char *value)
{
    if (value != NULL)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* NCCL_ALGO and NCCL_PROTO, which it reads as each communicator is made: for those that are made
 * from now on. Words of struct comm_choice, NULL: NCCL's own. */
static void force_choice(const char *algo, const char *proto)
{
    force("NCCL_ALGO", algo != NULL ? bench_nccl_word(algo) : NULL);
    force("NCCL_PROTO", proto);
}

/* ---- what NCCL has ---- */

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

bool bench_tune_pair(enum specter_comm_op op, const char *algo, const char *proto, struct layout w)
{
    bool gathers = op == SPECTER_ALLGATHER || op == SPECTER_REDUCESCATTER;
    bool collnet = strncmp(algo, "collnet", 7) == 0;
    const char *enabled = getenv("NCCL_COLLNET_ENABLE");
    if (is(algo, "ring"))
        return true;
    if (is(algo, "tree"))
        return op == SPECTER_ALLREDUCE;
    if (!is(proto, "Simple") || (collnet && (enabled == NULL || is(enabled, "0"))))
        return false;
    if (is(algo, "pat"))
        return gathers && w.per_node == 1;
    if (is(algo, "nvls_tree"))
        return op == SPECTER_ALLREDUCE && w.nodes > 1;
    return op == SPECTER_ALLREDUCE || (gathers && !is(algo, "collnet_chain"));
}

static bool same_choice(const struct comm_choice *a, const struct comm_choice *b)
{
    return a->algo != NULL && b->algo != NULL && is(a->algo, b->algo) && is(a->proto, b->proto) &&
           a->channels == b->channels;
}

/* ---- communicators ---- */

/* The setting's communicator, which is opened when it is first asked for. */
static int find_slot(struct tuner *t, const struct comm_choice *setting, struct trial_comm **slot,
                     struct err *e)
{
    struct bench_members members = *t->members;
    struct trial_comm *s;
    int status;
    for (size_t i = 0; i < t->nslots; i++) {
        *slot = &t->slots[i];
        if (same_choice(&t->slots[i].setting, setting))
            return 0;
    }
    ARRAY_GROW(t->slots, t->cap_slots, t->nslots + 1);
    s = *slot = &t->slots[t->nslots++];
    *s = (struct trial_comm){.setting = *setting};
    members.channels = setting->channels;
    members.trial = true;
    force_choice(setting->algo, setting->proto);
    status = t->on->backend->open(&members, &s->comm, e);
    force_choice(NULL, NULL);
    s->why = BENCH_TRIAL_REFUSED;
    if (status == 0 || bench_ranks_failed(t->on->ranks))
        return status;
    *e = (struct err){0}; /* of the setting alone */
    return 0;
}

/* A call by a setting failed since began_s: the job is over (-1), or only the setting is. */
static int judge_failure(struct tuner *t, struct bench_trial *trial, double began_s, struct err *e)
{
    double waited_s = now_s() - began_s;
    struct trial_comm *s;
    if (bench_ranks_failed(t->on->ranks) || bench_ranks_max(t->on->ranks, &waited_s, 1, e) < 0 ||
        find_slot(t, &trial->setting, &s, e) < 0)
        return -1;
    *e = (struct err){0}; /* of the setting alone */
    trial->state = BENCH_TRIAL_REFUSED;
    if (t->members->call_s > 0 && waited_s >= t->members->call_s) {
        trial->state = BENCH_TRIAL_HANGS;
        t->on->backend->abandon(s->comm);
        s->comm = NULL;
        s->why = BENCH_TRIAL_HANGS;
    }
    return 0;
}

/* The choice of the last call as NCCL told rank 0; algo NULL: none was told. */
static int ask_choice(struct tuner *t, struct comm_choice *choice, struct err *e)
{
    int said[3] = {-1, -1, 0};
    if (choices != NULL && choices->calls > 0) {
        choices->calls = 0;
        said[0] = nccl_algo_parse(choices->algo, strlen(choices->algo));
        said[1] = nccl_proto_parse(choices->proto, strlen(choices->proto));
        said[2] = choices->channels;
    }
    if (bench_ranks_from_first(t->on->ranks, said, sizeof said, e) < 0)
        return -1;
    *choice = (struct comm_choice){NULL, NULL, 0};
    if (said[0] >= 0 && said[1] >= 0)
        *choice =
            (struct comm_choice){nccl_algos[said[0]].name, nccl_protos[said[1]].name, said[2]};
    return 0;
}

/* ---- trials ---- */

static enum bench_trial_state state_of(const struct bench_tuned *s, const struct bench_trial *trial,
                                       double wrong)
{
    const struct comm_choice *took = &trial->took, *asked = &trial->setting;
    if (wrong > 0)
        return BENCH_TRIAL_WRONG;
    if (took->algo == NULL)
        return BENCH_TRIAL_RACED;
    if (!is(took->algo, asked->algo) || !is(took->proto, asked->proto) ||
        (asked->channels > 0 && took->channels > asked->channels))
        return BENCH_TRIAL_IGNORED;
    if (same_choice(took, &s->own))
        return BENCH_TRIAL_SAME;
    for (size_t i = 0; i < s->n; i++) {
        if (&s->trials[i] != trial && same_choice(&s->trials[i].took, took))
            return BENCH_TRIAL_SAME;
    }
    return BENCH_TRIAL_RACED;
}

/* One call by the setting: does it work, and what does NCCL take? Adds the trial. */
static int try_setting(struct tuner *t, struct bench_tuned *s, const struct comm_choice *setting,
                       struct err *e)
{
    struct bench_trial *trial;
    struct trial_comm *slot;
    double wrong, began_s;
    int status;
    ARRAY_GROW(s->trials, s->cap, s->n + 1);
    trial = &s->trials[s->n++];
    *trial = (struct bench_trial){.setting = *setting};
    if (find_slot(t, setting, &slot, e) < 0)
        return -1;
    trial->state = slot->comm == NULL ? slot->why : BENCH_TRIAL_REFUSED;
    if (slot->comm == NULL || (slot->refused >> s->op & 1) != 0)
        return 0;
    began_s = now_s();
    if (bench_meter_check(t->meter, slot->comm, &wrong, e) < 0) {
        slot->refused |= 1U << s->op;
        return judge_failure(t, trial, began_s, e);
    }
    status = ask_choice(t, &trial->took, e);
    trial->state = state_of(s, trial, wrong);
    return status;
}

/* Every algorithm and protocol. */
static int try_pairs(struct tuner *t, struct bench_tuned *s, struct err *e)
{
    for (const char *const *a = t->plan->algos; *a != NULL; a++) {
        for (const char *const *p = t->plan->protos; *p != NULL; p++) {
            const struct comm_choice setting = {*a, *p, 0};
            if (bench_tune_pair(s->op, *a, *p, t->on->where) && try_setting(t, s, &setting, e) < 0)
                return -1;
        }
    }
    return 0;
}

/* Every number of channels, for a choice. */
static int try_channels(struct tuner *t, struct bench_tuned *s, struct comm_choice choice,
                        struct err *e)
{
    for (size_t i = 0; i < t->plan->nchannels && choice.algo != NULL; i++) {
        choice.channels = (int)t->plan->channels[i];
        if (try_setting(t, s, &choice, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- races ---- */

void bench_ratios_add(struct bench_ratios *r, double ratio)
{
    double off = log(ratio) - r->mean;
    r->n++;
    r->mean += off / (double)r->n;
    r->squares += off * (log(ratio) - r->mean);
}

struct bench_ratio bench_ratios_interval(const struct bench_ratios *r, double level)
{
    struct bench_ratio i = {exp(r->mean), 0, INFINITY, r->n};
    double half;
    if (r->n < 2)
        return i;
    half = student_t(level, r->n - 1) * sqrt(r->squares / (double)(r->n - 1) / (double)r->n);
    i.low = exp(r->mean - half);
    i.high = exp(r->mean + half);
    return i;
}

static double median(const double *values, size_t n)
{
    struct bench_stats stats;
    bench_stats_of(values, n, &stats);
    return stats.median;
}

/* All of them once. A setting that fails is out; NCCL's own choice must not. */
static int run_round(struct tuner *t, struct runner *list, size_t n, size_t calls, int round,
                     struct err *e)
{
    for (size_t k = 0; k < n; k++) {
        struct runner *r = &list[round % 2 == 0 ? k : n - 1 - k];
        double began_s = now_s();
        if (r->out || bench_meter_time(t->meter, r->comm, calls, &r->us[round], e) == 0)
            continue;
        if (r->trial == NULL || judge_failure(t, r->trial, began_s, e) < 0)
            return -1;
        r->out = true;
    }
    for (size_t i = 1; i < n; i++) {
        if (!list[i].out)
            bench_ratios_add(&list[i].ratios, list[0].us[round] / list[i].us[round]);
    }
    return 0;
}

/* Takes those out that cannot win. Returns whether the race is decided: none is left, or all that
 * are left gain, and are as good as each other. */
static bool judge(const struct tuner *t, struct runner *list, size_t n, double level)
{
    const double least = 1 + t->plan->least_gain;
    double bar = least, low = INFINITY, ratio = INFINITY, high = 0;
    for (size_t i = 1; i < n; i++) {
        if (list[i].out)
            continue;
        list[i].now = bench_ratios_interval(&list[i].ratios, level);
        bar = fmax(bar, list[i].now.low);
    }
    for (size_t i = 1; i < n; i++) {
        const struct bench_ratio *now = &list[i].now;
        list[i].out |= now->high < bar;
        if (list[i].out)
            continue;
        low = fmin(low, now->low);
        ratio = fmin(ratio, now->ratio);
        high = fmax(high, now->high);
    }
    return high <= 0 || (low > 1 && ratio >= least && (n == 2 || high < low * least));
}

/* Asks all ranks whether one wants to stop, or the time is up. */
static int ask(struct tuner *t, bool *stop, bool *late, struct err *e)
{
    double asks[2] = {t->plan->what.stop != NULL && t->plan->what.stop(),
                      t->members->rank == 0 && now_s() > t->until_s};
    if (bench_ranks_max(t->on->ranks, asks, 2, e) < 0)
        return -1;
    *stop = asks[0] > 0;
    *late = asks[1] > 0;
    return 0;
}

/* 0; 1: a rank wanted to stop; -1. */
static int race(struct tuner *t, const struct bench_tuned *s, struct runner *list, size_t n,
                const int *looks, struct err *e)
{
    const double calls = fmin(fmax(ceil(BLOCK_US / s->own_us), BLOCK_LEAST), CALLS);
    size_t nlooks = 0;
    int round = 0;
    double level;
    while (looks[nlooks] > 0)
        nlooks++;
    level = 1 - ERROR_SHARE / (double)((n > 1 ? n - 1 : 1) * nlooks);
    for (size_t k = 0; k < nlooks; k++) {
        bool stop, late;
        if (ask(t, &stop, &late, e) < 0)
            return -1;
        if (stop)
            return 1;
        if (late && round > 0)
            return 0;
        for (; round < looks[k]; round++) {
            if (run_round(t, list, n, (size_t)calls, round, e) < 0)
                return -1;
        }
        if (judge(t, list, n, level))
            return 0;
    }
    return 0;
}

/* The best one that is left, with a number of channels or without; NULL: none. */
static struct runner *best_of(struct runner *list, size_t n, bool channels)
{
    struct runner *best = NULL;
    for (size_t i = 1; i < n; i++) {
        if (!list[i].out && (list[i].trial->setting.channels > 0) == channels &&
            (best == NULL || list[i].now.ratio > best->now.ratio))
            best = &list[i];
    }
    return best;
}

/* Races NCCL's own choice, trial `seed` (-1: none) and those from `first` on. *best: the winner,
 * -1: none gains. */
static int race_trials(struct tuner *t, struct bench_tuned *s, int seed, size_t first, int *best,
                       struct err *e)
{
    struct runner *list = array_new(s->n + 1, sizeof *list), *won, *channels;
    size_t n = 1;
    int status = 0;
    list[0].comm = t->on->comm;
    for (size_t i = 0; i < s->n && status == 0; i++) {
        struct trial_comm *slot;
        if (s->trials[i].state != BENCH_TRIAL_RACED || ((int)i != seed && i < first))
            continue;
        status = find_slot(t, &s->trials[i].setting, &slot, e);
        list[n++] = (struct runner){.comm = slot->comm, .trial = &s->trials[i]};
    }
    if (status == 0 && n > 1)
        status = race(t, s, list, n, race_looks, e);
    for (size_t i = 1; i < n; i++)
        list[i].trial->race = list[i].now;
    /* A number of channels wins where it gains beside the algorithm and protocol. */
    won = best_of(list, n, false);
    channels = best_of(list, n, true);
    if (won == NULL ||
        (channels != NULL && channels->now.ratio > won->now.ratio * (1 + t->plan->least_gain)))
        won = channels;
    *best = won != NULL && status == 0 ? (int)(won->trial - s->trials) : -1;
    free(list);
    return status;
}

/* Less than what counts, as far as one can tell. */
static bool gains_little(const struct tuner *t, const struct bench_ratio *r)
{
    return r->ratio < 1 + t->plan->least_gain && r->high < 1 + 2 * t->plan->least_gain;
}

/* The winner against NCCL's own choice. */
static int duel(struct tuner *t, struct bench_tuned *s, struct bench_trial *best, struct err *e)
{
    const double least = 1 + t->plan->least_gain;
    struct runner list[2] = {{.comm = t->on->comm}, {.trial = best}};
    struct trial_comm *slot;
    int status = find_slot(t, &best->setting, &slot, e);
    list[1].comm = slot->comm;
    if (status == 0)
        status = race(t, s, list, 2, duel_looks, e);
    if (status != 0 || list[1].now.rounds == 0)
        return status;
    s->best = *best;
    s->gain = list[1].now;
    s->own_us = median(list[0].us, s->gain.rounds);
    s->best_us = median(list[1].us, s->gain.rounds);
    if (s->gain.low > 1 && s->gain.ratio >= least)
        s->verdict = BENCH_TUNE_GAIN;
    else if (list[1].out || gains_little(t, &s->gain))
        s->verdict = BENCH_TUNE_OWN;
    return 0;
}

/* ---- sizes ---- */

static int run_races(struct tuner *t, struct bench_tuned *s, double share_s, struct err *e)
{
    const double began_s = now_s();
    int best, status;
    size_t pairs;
    t->until_s = began_s + RACE_SHARE / 2 * share_s;
    if (bench_meter_check(t->meter, t->on->comm, &s->wrong, e) < 0 ||
        ask_choice(t, &s->own, e) < 0 ||
        bench_meter_time(t->meter, t->on->comm, BLOCK_LEAST, &s->own_us, e) < 0 ||
        try_pairs(t, s, e) < 0)
        return -1;
    status = race_trials(t, s, -1, 0, &best, e);
    pairs = s->n;
    t->until_s = began_s + RACE_SHARE * share_s;
    if (status == 0 && (try_channels(t, s, s->own, e) < 0 ||
                        (best >= 0 && try_channels(t, s, s->trials[best].setting, e) < 0)))
        return -1;
    if (status == 0 && s->n > pairs)
        status = race_trials(t, s, best, pairs, &best, e);
    if (status != 0 || best < 0)
        return status;
    s->best = s->trials[best];
    s->gain = s->best.race;
    s->verdict = gains_little(t, &s->gain) ? BENCH_TUNE_OWN : BENCH_TUNE_OPEN;
    t->until_s = began_s + share_s;
    return s->gain.ratio >= 1 + t->plan->least_gain ? duel(t, s, &s->trials[best], e) : 0;
}

static int run_size(struct tuner *t, enum specter_comm_op op, uint64_t bytes, double share_s,
                    struct bench_tune_log *log, struct err *e)
{
    struct bench_tuned *s;
    uint64_t whole;
    int status = bench_meter_size(t->meter, op, bytes, &whole, e);
    if (status != 0)
        return status < 0 ? -1 : 0;
    ARRAY_GROW(log->sizes, log->cap, log->n + 1);
    s = &log->sizes[log->n];
    *s = (struct bench_tuned){.op = op, .bytes = whole};
    status = run_races(t, s, share_s, e);
    if (status == 0) {
        log->n++;
        if (t->plan->done != NULL)
            t->plan->done(t->plan->done_arg);
    } else {
        free(s->trials); /* half a race says nothing */
    }
    return status;
}

int bench_tune(const struct bench_tune_plan *plan, const struct bench_communicator *on,
               const struct bench_members *members, struct bench_tune_log *log, struct err *e)
{
    const struct bench_plan *p = &plan->what;
    struct tuner t = {.plan = plan, .on = on, .members = members};
    size_t left = p->nops * p->nsizes;
    double over_s;
    int status = -1;
    t.meter = bench_meter_open(p, on, e);
    over_s = now_s() + plan->budget_s;
    if (t.meter != NULL)
        status = 0;
    for (size_t i = 0; i < p->nops * p->nsizes && status == 0; i++, left--) {
        double share_s;
        bool stop, late;
        t.until_s = over_s;
        status = ask(&t, &stop, &late, e);
        if (status == 0 && stop)
            status = 1;
        if (status != 0)
            break;
        log->left = late ? left : 0;
        if (late)
            break;
        share_s = (over_s - now_s()) / (double)left;
        status = run_size(&t, p->ops[i / p->nsizes], p->sizes[i % p->nsizes], share_s, log, e);
    }
    bench_meter_close(t.meter);
    for (size_t i = 0; i < t.nslots; i++) {
        if (t.slots[i].comm != NULL)
            on->backend->close(t.slots[i].comm);
    }
    free(t.slots);
    return status;
}

void bench_tune_log_release(struct bench_tune_log *log)
{
    for (size_t i = 0; i < log->n; i++)
        free(log->sizes[i].trials);
    free(log->sizes);
    *log = (struct bench_tune_log){0};
}
