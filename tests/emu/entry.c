/* SPDX-License-Identifier: MIT
 *
 * cuGetProcAddress: for every name that libcuda.so.1 exports. Which of several versions of a
 * function a program gets follows from the version of CUDA that it says it was made for, and
 * whether it gets the twin with a default stream per thread from its flags.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"

/* Newer versions of functions came with a CUDA release of theirs, most of the second with 3.2; all
 * others are as old as 2.0. */
static const struct {
    const char *name;
    int since;
} newer[] = {
    {"cuStreamGetCtx_v2", 12050},          {"cuEventElapsedTime_v2", 12080},
    {"cuGetProcAddress_v2", 12000},        {"cuGraphExecUpdate_v2", 12000},
    {"cuStreamGetCaptureInfo_v2", 11030},  {"cuDevicePrimaryCtxRelease_v2", 11000},
    {"cuDevicePrimaryCtxReset_v2", 11000}, {"cuDevicePrimaryCtxSetFlags_v2", 11000},
    {"cuDeviceGetUuid_v2", 11040},         {"cuStreamBeginCapture_v2", 10010},
};

#define OLDEST 2000
#define OLDEST_V2 3020

static int since(const char *name)
{
    for (size_t i = 0; i < sizeof newer / sizeof *newer; i++)
        if (strcmp(newer[i].name, name) == 0)
            return newer[i].since;
    return strstr(name, "_v2") != NULL ? OLDEST_V2 : OLDEST;
}

/* In this library, whatever is in front of it: also of dlsym(). The linker puts the names of its
 * symbols right after their table. */
static void *own(const char *name)
{
    static const char here;
    const ElfW(Sym) *symbol = NULL;
    const char *names = NULL;
    struct link_map *object;
    Dl_info info;
    if (!dladdr1(&here, &info, (void **)&object, RTLD_DL_LINKMAP))
        return NULL;
    for (const ElfW(Dyn) *d = object->l_ld; d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_SYMTAB)
            symbol = (const ElfW(Sym) *)d->d_un.d_ptr;
        else if (d->d_tag == DT_STRTAB)
            names = (const char *)d->d_un.d_ptr;
    for (; (const char *)symbol < names; symbol++)
        if (symbol->st_shndx != SHN_UNDEF && strcmp(names + symbol->st_name, name) == 0)
            return (void *)(object->l_addr + symbol->st_value);
    return NULL;
}

/* The function as of one version ("" or "_v2") of its interface, or NULL. */
static void *of_version(const char *symbol, const char *suffix, bool per_thread)
{
    static const char *const twins[] = {"_ptsz", "_ptds"};
    char name[128];
    void *found = NULL;

    for (size_t i = 0; per_thread && found == NULL && i < sizeof twins / sizeof *twins; i++) {
        snprintf(name, sizeof name, "%s%s%s", symbol, suffix, twins[i]);
        found = own(name);
    }
    snprintf(name, sizeof name, "%s%s", symbol, suffix);
    return found != NULL ? found : own(name);
}

static CUresult look_up(const char *symbol, void **found, int version, cuuint64_t flags,
                        CUdriverProcAddressQueryResult *status)
{
    static const char *const suffixes[] = {"_v3", "_v2", ""};
    bool per_thread = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, too_new = false;

    *found = NULL;
    for (size_t i = 0; *found == NULL && i < sizeof suffixes / sizeof *suffixes; i++) {
        char name[128];
        void *there = of_version(symbol, suffixes[i], per_thread);
        snprintf(name, sizeof name, "%s%s", symbol, suffixes[i]);
        if (there != NULL && since(name) <= version)
            *found = there;
        else
            too_new |= there != NULL;
    }
    if (status != NULL)
        *status = *found != NULL ? CU_GET_PROC_ADDRESS_SUCCESS
                  : too_new      ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                 : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *found != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* Before cuInit, too: programs ask for cuInit itself. */
EMU_API CUresult cuGetProcAddress_v2(const char *symbol, void **found, int version,
                                     cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
    EMU_CALL(self);
    (void)self;
    if (symbol == NULL || found == NULL || strncmp(symbol, "cu", 2) != 0 || strlen(symbol) > 100)
        return symbol != NULL && found != NULL ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
    return look_up(symbol, found, version, flags, status);
}

#undef cuGetProcAddress
EMU_API CUresult cuGetProcAddress(const char *symbol, void **found, int version, cuuint64_t flags);
CUresult cuGetProcAddress(const char *symbol, void **found, int version, cuuint64_t flags)
{
    return cuGetProcAddress_v2(symbol, found, version, flags, NULL);
}
