/* SPDX-License-Identifier: MIT
 *
 * Of `specter doctor`: whether a GPU answers. A broken driver may hang or crash the process that
 * asks, so a child process does.
 */
#include "cmd/ask.h"
#include "cmd/doctor.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *function(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL) {
        printf("lacks %s\n", name);
        fflush(stdout);
        _exit(0);
    }
    return found;
}

static const char *name_of_first(void *library, char *name, int size)
{
    int (*get_name)(char *, int, int);
    void *found = dlsym(library, "cuDeviceGetName");
    if (found == NULL)
        return "";
    memcpy(&get_name, &found, sizeof found);
    return get_name(name, size, 0) == 0 ? name : "";
}

/* Says one line: "none", "lacks NAME", "error CALL CODE" or "devices N driver V NAME OF THE FIRST".
 */
static void ask_driver(void *unused)
{
    int (*init)(unsigned), (*count)(int *), (*version)(int *);
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *found;
    int error, devices = 0, driver = 0;
    char name[256] = "";
    (void)unused;
    if (library == NULL) {
        puts("none");
    } else {
        found = function(library, "cuInit");
        memcpy(&init, &found, sizeof found);
        found = function(library, "cuDeviceGetCount");
        memcpy(&count, &found, sizeof found);
        found = function(library, "cuDriverGetVersion");
        memcpy(&version, &found, sizeof found);
        if ((error = init(0)) != 0)
            printf("error cuInit %d\n", error);
        else if ((error = count(&devices)) != 0)
            printf("error cuDeviceGetCount %d\n", error);
        else
            printf("devices %d driver %d %s\n", devices, version(&driver) == 0 ? driver : 0,
                   devices > 0 ? name_of_first(library, name, sizeof name) : "");
    }
    fflush(stdout);
}

void doctor_check_gpu(struct doctor *d)
{
    struct buf out = BUF_INIT;
    int status = ask_child(ask_driver, NULL, d->patience, &out), devices, driver, at = 0;
    char call[32];
    const char *repair = "look at nvidia-smi and the kernel's log";
    out.data[strcspn(out.data, "\n")] = '\0'; /* of what a driver says itself nothing but this */
    if (status == ASK_LATE)
        doctor_print(d, DOCTOR_WARNING, "gpu", repair, "the driver did not answer within %g s",
                     d->patience);
    else if (!WIFEXITED(status))
        doctor_print(d, DOCTOR_WARNING, "gpu", repair, "the driver crashed (signal %d)",
                     WTERMSIG(status));
    else if (sscanf(out.data, "devices %d driver %d %n", &devices, &driver, &at) == 2)
        doctor_print(d, devices > 0 ? DOCTOR_OK : DOCTOR_WARNING, "gpu",
                     devices > 0 ? NULL : "look at CUDA_VISIBLE_DEVICES",
                     "%d device%s%s%s, driver for CUDA %d.%d", devices, devices == 1 ? "" : "s",
                     out.data[at] != '\0' ? ", the first is " : "", out.data + at, driver / 1000,
                     driver % 1000 / 10);
    else if (sscanf(out.data, "error %31s %d", call, &driver) == 2)
        doctor_print(d, DOCTOR_WARNING, "gpu", repair, "%s() gave error %d", call, driver);
    else if (strncmp(out.data, "lacks ", 6) == 0)
        doctor_print(d, DOCTOR_WARNING, "gpu", repair, "the driver has no %s()", out.data + 6);
    else
        doctor_print(d, DOCTOR_WARNING, "gpu", "nothing, where no GPU is wanted",
                     "no driver: libcuda.so.1 cannot be loaded");
    buf_release(&out);
}
