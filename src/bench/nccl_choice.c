/* SPDX-License-Identifier: MIT */
#include "bench/nccl_choice.h"

#include "bench/backend.h"
#include "calib/measured_names.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLUGIN "NCCL_PROFILER_PLUGIN"
#define QUOTE_(name) #name
#define QUOTE(name) QUOTE_(name)

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
    static const struct {
        const char *algo, *word;
    } words[] = {{"tree", "Tree"},
                 {"ring", "Ring"},
                 {"collnet_direct", "CollnetDirect"},
                 {"collnet_chain", "CollnetChain"},
                 {"nvls", "NVLS"},
                 {"nvls_tree", "NVLSTree"},
                 {"pat", "PAT"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i].algo, algo) == 0)
            return words[i].word;
    }
    return algo;
}

static void force(const char *name, const char *value)
{
    if (value != NULL)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

void bench_nccl_force(const char *algo, const char *proto)
{
    force("NCCL_ALGO", algo != NULL ? bench_nccl_word(algo) : NULL);
    force("NCCL_PROTO", proto);
}

bool bench_nccl_chosen(struct comm_choice *choice)
{
    if (choices == NULL || choices->calls == 0)
        return false;
    choices->calls = 0;
    choice->algo = measured_algo(choices->algo, strlen(choices->algo));
    choice->proto = measured_proto(choices->proto, strlen(choices->proto));
    choice->channels = choices->channels;
    return choice->algo != NULL && choice->proto != NULL;
}
