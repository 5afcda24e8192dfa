/* SPDX-License-Identifier: MIT */
#include "bench/numa.h"

#include "base/opt.h"
#include "bench/nvml.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Below /sys bus ids are in lower case, with a domain of four digits. */
static bool cpus_of_sys(const char *bus_id, cpu_set_t *out)
{
    char path[128], text[1024] = "", id[32];
    struct opt_list list = {0};
    const size_t len = strlen(bus_id), most = strlen("0000:1b:00.0");
    FILE *file;
    snprintf(id, sizeof id, "%s", len > most ? bus_id + (len - most) : bus_id);
    for (char *p = id; *p != '\0'; p++)
        *p = (char)tolower((unsigned char)*p);
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/local_cpulist", id);
    file = fopen(path, "re");
    CPU_ZERO(out);
    if (file == NULL)
        return false;
    if (fgets(text, sizeof text, file) == NULL)
        text[0] = '\0';
    fclose(file);
    text[strcspn(text, "\n")] = '\0';
    if (opt_parse_list(path, text, &list, NULL) == 0) {
        for (size_t i = 0; i < list.count; i++) {
            if (list.values[i] >= 0 && list.values[i] < CPU_SETSIZE)
                CPU_SET((size_t)list.values[i], out);
        }
    }
    free(list.values);
    return CPU_COUNT(out) > 0;
}

static void put_list(const cpu_set_t *cpus, char *text, size_t size)
{
    size_t len = 0;
    for (int i = 0, last; i < CPU_SETSIZE && len < size; i = last + 1) {
        last = i;
        if (!CPU_ISSET((size_t)i, cpus))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET((size_t)last + 1, cpus))
            last++;
        len += (size_t)snprintf(text + len, size - len, last > i ? "%s%d-%d" : "%s%d",
                                len > 0 ? "," : "", i, last);
    }
}

/* Libraries have made threads of their own already. */
static bool bind_threads(const cpu_set_t *cpus)
{
    DIR *tasks = opendir("/proc/self/task");
    bool bound = sched_setaffinity(0, sizeof *cpus, cpus) == 0;
    const struct dirent *entry;
    while (tasks != NULL && (entry = readdir(tasks)) != NULL) {
        const int thread = atoi(entry->d_name);
        if (thread > 0)
            sched_setaffinity(thread, sizeof *cpus, cpus); /* it may have ended meanwhile */
    }
    if (tasks != NULL)
        closedir(tasks);
    return bound;
}

bool bench_numa_bind(const char *bus_id, int processes, char *cpus, size_t size)
{
    cpu_set_t nearest, allowed;
    cpus[0] = '\0';
    if (!bench_nvml_cpus(bench_nvml_device(bus_id, NULL), &nearest) &&
        !cpus_of_sys(bus_id, &nearest))
        return false;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return false;
    CPU_AND(&nearest, &nearest, &allowed);
    if (CPU_COUNT(&nearest) == 0 || CPU_COUNT(&nearest) < processes || !bind_threads(&nearest))
        return false;
    put_list(&nearest, cpus, size);
    return true;
}
