/* SPDX-License-Identifier: MIT
 *
 * Of `specter doctor`: a Python interpreter is asked where its PyTorch is, in a child process. It
 * looks for the package and does not import it.
 */
#include "cmd/ask.h"
#include "cmd/doctor.h"

#include <glob.h>
#include <string.h>
#include <sys/wait.h>

bool doctor_is_python(const char *path)
{
    const char *slash = strrchr(path, '/'), *file = slash != NULL ? slash + 1 : path;
    return strncmp(file, "python", 6) == 0 && file[6 + strspn(file + 6, "0123456789.")] == '\0';
}

/* The module that `import torch` loads, below its folder. */
static const char *module_in(struct doctor *d, const char *folder)
{
    const char *found = NULL;
    glob_t g;
    if (glob(arena_printf(&d->arena, "%s/_C.*so", folder), 0, NULL, &g) != 0)
        return NULL;
    if (g.gl_pathc > 0)
        found = arena_strdup(&d->arena, g.gl_pathv[0]);
    globfree(&g);
    return found;
}

bool doctor_find_torch(struct doctor *d, const char *python, struct doctor_torch *torch)
{
    static const char ask[] = "from importlib import metadata, util\n"
                              "torch = util.find_spec('torch')\n"
                              "if torch and torch.submodule_search_locations:\n"
                              "    print(torch.submodule_search_locations[0])\n"
                              "    print(metadata.version('torch'))\n";
    const char *const argv[] = {python, "-c", ask, NULL};
    struct buf out = BUF_INIT;
    int status = ask_program(argv, d->patience, &out);
    char *rest = out.data, *folder = strsep(&rest, "\n"), *version = strsep(&rest, "\n");
    *torch = (struct doctor_torch){NULL, NULL, "unknown"};
    if (status != ASK_LATE && WIFEXITED(status) && folder != NULL && *folder == '/') {
        torch->folder = arena_strdup(&d->arena, folder);
        torch->module = module_in(d, folder);
        if (version != NULL && *version != '\0')
            torch->version = arena_strdup(&d->arena, version);
    }
    buf_release(&out);
    return torch->module != NULL;
}
