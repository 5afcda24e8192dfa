/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "../fuzz/fuzz.h"

#include <dirent.h>

/* Runs a target on all files of its corpus: those that fuzzing starts from, and those that it
 * found. */
static int replay_folder(const char *target)
{
    char folder[4096], path[4608];
    const struct dirent *entry;
    unsigned char *bytes = array_new(1 << 20, 1);
    int files = 0;
    DIR *d;
    snprintf(folder, sizeof folder, "%s/../fuzz/corpus/%s", test_data(""), target);
    d = opendir(folder);
    while (d != NULL && (entry = readdir(d)) != NULL) {
        FILE *f;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] == '.' || (f = fopen(path, "r")) == NULL)
            continue;
        CHECK(fuzz_one(target, bytes, fread(bytes, 1, 1 << 20, f)));
        fclose(f);
        files++;
    }
    if (d != NULL)
        closedir(d);
    free(bytes);
    return files;
}

TEST(fuzz_corpus)
{
    static const char *const targets[] = {
#define X(name) #name,
        READERS(X)
#undef X
#define X(name, call) name,
            FUZZ_TARGETS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        int files = replay_folder(targets[i]);
        CHECK(files > 0 || strcmp(targets[i], "nsysrep") == 0);
    }
    CHECK(!fuzz_one("no such target", (const unsigned char *)"", 0));
}
