/* SPDX-License-Identifier: MIT
 *
 * Sets NCCL_PROFILER_PLUGIN to this library when SPECTER_NCCL_PLUGIN is set, as `specter capture`
 * does, for programs that preload the library without it. A plugin that the user has named stays.
 *
 * Done in a constructor, and only while the process has one thread: other threads would read
 * the environment without a lock. `environ` is replaced directly, as some programs (bash) define a
 * setenv() of their own, which is not ready before main().
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#define VARIABLE "NCCL_PROFILER_PLUGIN="

static char ours[sizeof VARIABLE + PATH_MAX];

static bool is_wanted(const char *const *environment)
{
    struct setting_value v;
    const char *asked = config_variable(environment, "SPECTER_NCCL_PLUGIN");
    const char *had = config_variable(environment, "NCCL_PROFILER_PLUGIN");
    return asked != NULL && setting_parse(SETTING_FLAG, asked, &v) && v.number != 0 &&
           (had == NULL || had[0] == '\0') && !config_is_disabled(environment);
}

/* A folder has a link from each folder in it, and two besides. */
static bool has_one_thread(void)
{
    struct stat st;
    return stat("/proc/self/task", &st) == 0 && st.st_nlink == 3;
}

static bool find_ourselves(void)
{
    Dl_info info;
    memcpy(ours, VARIABLE, sizeof VARIABLE);
    return dladdr(ours, &info) != 0 && info.dli_fname != NULL &&
           realpath(info.dli_fname, ours + strlen(VARIABLE)) != NULL;
}

/* Neither list is ever freed: the program may have pointers into both. */
static void add_to_environment(void)
{
    size_t n = 0, to = 0;
    char **list;
    while (environ[n] != NULL)
        n++;
    list = malloc((n + 2) * sizeof *list);
    if (list == NULL)
        return;
    for (size_t i = 0; i < n; i++) {
        if (strncmp(environ[i], VARIABLE, strlen(VARIABLE)) != 0)
            list[to++] = environ[i];
    }
    list[to++] = ours;
    list[to] = NULL;
    environ = list;
}

__attribute__((constructor)) static void name_plugin(void)
{
    int saved = errno;
    if (getauxval(AT_SECURE) == 0 && environ != NULL && is_wanted((const char *const *)environ) &&
        has_one_thread() && find_ourselves())
        add_to_environment();
    errno = saved;
}
