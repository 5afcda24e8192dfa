/* SPDX-License-Identifier: MIT
 *
 * The first line of a trace: whose it is, on which GPUs and with which libraries it runs, and which
 * calls are recorded.
 */
#include "output.h"

#include "dlsym.h"
#include "driver.h"
#include "filter.h"
#include "format.h"
#include "loader.h"
#include "resolve.h"

#include <link.h>
#include <nccl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- the build of NCCL ---- */

#define LIBRARY_PATH_MAX 256 /* bytes; a longer one loses its front */

struct library {
    char path[LIBRARY_PATH_MAX + 1]; /* "": not known */
    char build_id[65];               /* hexadecimal; "": it has none */
};

struct file_search {
    struct library *found;
    uintptr_t address;
};

static bool holds(const struct dl_phdr_info *object, uintptr_t address)
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && address - object->dlpi_addr - part->p_vaddr < part->p_memsz)
            return true;
    }
    return false;
}

static void put_hex(char *out, size_t size, const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n && 2 * i + 3 <= size; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

/* Reads the build id that the linker wrote, from the notes between p and end. */
static void read_build_id(struct library *l, const unsigned char *p, const unsigned char *end)
{
    while ((size_t)(end - p) >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const void *)p;
        const unsigned char *name = p + sizeof *note;
        const size_t name_size = ((size_t)note->n_namesz + 3) & ~(size_t)3;
        const size_t text_size = ((size_t)note->n_descsz + 3) & ~(size_t)3;
        if (name_size > (size_t)(end - name) || text_size > (size_t)(end - name) - name_size)
            return;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0)
            put_hex(l->build_id, sizeof l->build_id, name + name_size, note->n_descsz);
        p = name + name_size + text_size;
    }
}

static int take_object(struct dl_phdr_info *object, size_t size, void *arg)
{
    const struct file_search *s = arg;
    const size_t len = strlen(object->dlpi_name);
    (void)size;
    if (!holds(object, s->address))
        return 0;
    snprintf(s->found->path, sizeof s->found->path, "%s",
             object->dlpi_name + (len > LIBRARY_PATH_MAX ? len - LIBRARY_PATH_MAX : 0));
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        const unsigned char *notes = (const void *)(object->dlpi_addr + part->p_vaddr);
        /* Notes that are aligned to 8 hold properties, not the build id. */
        if (part->p_type == PT_NOTE && part->p_align <= 4)
            read_build_id(s->found, notes, notes + part->p_filesz);
    }
    return 1;
}

/* The file that a function came from. address: of the function; 0: none, and nothing is known. */
static void library_of(struct library *l, uintptr_t address)
{
    struct file_search s = {l, address};
    l->path[0] = l->build_id[0] = '\0';
    if (address != 0)
        loader_objects(take_object, &s);
}

/* ---- GPUs and versions ---- */

static void put_gpu(struct out *o, CUdevice device)
{
    char name[128] = "", pci[32] = "", sm[24];
    int major = 0, minor = 0;
    driver.DeviceGetName(name, sizeof name, device);
    driver.DeviceGetPCIBusId(pci, sizeof pci, device);
    driver.DeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    driver.DeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    snprintf(sm, sizeof sm, "%d.%d", major, minor);
    put_RAW(o, "{\"device\":");
    put_I64(o, device);
    put_RAW(o, ",\"name\":");
    put_STR(o, name);
    put_RAW(o, ",\"sm\":");
    put_STR(o, major > 0 ? sm : NULL); /* not HIP's */
    put_RAW(o, ",\"pci\":");
    put_STR(o, pci);
    put_RAW(o, "}");
}

/* The devices that this process may use. None of the questions needs a context. */
static void put_gpus(struct out *o)
{
    int count;
    put_RAW(o, "[");
    if (driver_ready() && driver.DeviceGetCount(&count) == CUDA_SUCCESS) {
        for (int i = 0; i < count && i < INIT_LINE_GPUS; i++) {
            if (i > 0)
                put_RAW(o, ",");
            put_gpu(o, i);
        }
    }
    put_RAW(o, "]");
    *o->p = '\0';
}

static uint64_t nccl_version(void)
{
    ncclResult_t (*get)(int *) = (ncclResult_t(*)(int *))resolve_any(GETTER_ncclGetVersion);
    int version;
    return get != NULL && get(&version) == ncclSuccess ? (uint64_t)version : UINT64_MAX;
}

static uint64_t cuda_version(void)
{
    int version;
    bool known = driver_ready() && driver.DriverGetVersion(&version) == CUDA_SUCCESS;
    return known ? (uint64_t)version : UINT64_MAX;
}

/* ---- what is recorded ---- */

static void put_covered(struct out *o, const char *name, bool is_recorded)
{
    if (!is_recorded)
        return;
    put_RAW(o, o->p[-1] == '[' ? "" : ",");
    put_STR(o, name);
}

/* Puts what is recorded, as far as it was asked for. On ROCm, GEMMs, events and synchronisations go
 * to libraries that have no hooks; calls of the CUDA runtime can be seen where it is a library of
 * its own. */
static void put_coverage(struct out *o, const struct config *c)
{
    const bool *wanted = c->wanted;
    bool cuda = !driver_is_hip(), runtime = cuda && resolve_is_loaded("libcudart");
    bool loaded = cuda && resolve_is_loaded("libcuda");
    put_RAW(o, "[");
    put_covered(o, "nccl", wanted[RECORD_NCCL]);
    put_covered(o, "cublas", cuda && wanted[RECORD_GEMM]);
    put_covered(o, "cublaslt", cuda && wanted[RECORD_GEMM]);
    put_covered(o, "deps", runtime && wanted[RECORD_EVENT]);
    put_covered(o, "copies",
                (runtime || (loaded && lookup_wants(RECORD_COPY))) && wanted[RECORD_COPY]);
    put_covered(o, "launches",
                (runtime || (loaded && lookup_wants(RECORD_LAUNCH))) && wanted[RECORD_LAUNCH]);
    put_covered(o, "graphs",
                (runtime || (loaded && lookup_wants(RECORD_GRAPH))) && wanted[RECORD_GRAPH]);
    put_covered(o, "lookups", loaded && lookup_wants(RECORD_LAUNCH));
    put_covered(o, "marks", wanted[RECORD_MARK]);
    put_covered(o, "plugin", c->plugin && wanted[RECORD_NCCL]);
    put_RAW(o, "]");
    *o->p = '\0';
}

/* ---- the line ---- */

void init_line_put(struct out *o, const struct config *c, int64_t mono_ns, int64_t real_ns,
                   char gpus[INIT_LINE_GPUS_BYTES])
{
    char coverage[256], window[128];
    struct library nccl;
    struct out gpus_out = {gpus}, coverage_out = {coverage};
    put_gpus(&gpus_out);
    put_coverage(&coverage_out, c);
    library_of(&nccl, (uintptr_t)resolve_any(GETTER_ncclGetVersion));
    format_init(o, &(struct init_line){
                       .run = c->run,
                       .host = c->host,
                       .rank = c->rank,
                       .world_size = c->world_size,
                       .local_rank = c->local_rank,
                       .sync_mode = c->sync,
                       .pid = (uint64_t)c->pid,
                       .mono_ns = (uint64_t)mono_ns,
                       .real_ns = (uint64_t)real_ns,
                       .nccl = nccl_version(),
                       .cuda = cuda_version(),
                       .nccl_file = nccl.path[0] != '\0' ? nccl.path : NULL,
                       .nccl_build = nccl.build_id[0] != '\0' ? nccl.build_id : NULL,
                       .sample = (uint64_t)c->sample,
                       .coverage = coverage,
                       .gpus = gpus,
                       .env = c->env,
                       .window = filter_describe_window(window) ? window : NULL,
                       .ring = (uint64_t)c->ring,
                   });
}
