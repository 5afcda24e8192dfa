/* SPDX-License-Identifier: MIT */
#include "report/export.h"

#include <string.h>

int export_file(const struct run *run, enum export_format format, const char *path, size_t only,
                struct err *e)
{
    static int (*const writers[])(const struct run *, const char *, size_t, struct err *) = {
#define X(id, name, path, help) [EXPORT_##id] = export_##name,
        EXPORT_FORMATS(X)
#undef X
    };
    return writers[format](run, strcmp(path, "-") == 0 ? "/dev/stdout" : path, only, e);
}
