/* SPDX-License-Identifier: MIT */
#include "report/clock_text.h"

#include <stdio.h>
#include <string.h>

static bool hosts_differ(const struct run *run)
{
    for (int i = 0; i < run->ndomains; i++) {
        if (run->domains[i].host[0] == '\0')
            return false;
        for (int k = 0; k < i; k++) {
            if (strcmp(run->domains[i].host, run->domains[k].host) == 0)
                return false;
        }
    }
    return true;
}

char *clock_text(char *buf, size_t size, const struct run *run)
{
    snprintf(buf, size, hosts_differ(run) ? "clocks of %d hosts" : "%d clocks", run->ndomains);
    return buf;
}
