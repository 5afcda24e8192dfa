/* SPDX-License-Identifier: MIT
 *
 * Device code that a program brings with it: what the driver finds in an image, what it refuses,
 * what a kernel may be asked, how long it takes. The images are made here; one that a compiler made
 * is an argument: FILE and the names of the kernels that it has.
 */
#include <cuda.h>
#include <elf.h>

#include "check.h"

#ifndef EM_CUDA
#define EM_CUDA 190
#endif

#define REGISTERS 40
#define STATIC_SHARED 2048
#define RESERVED 1024

CUresult cuFuncGetName(const char **name, CUfunction function);
CUresult cuKernelGetName(const char **name, CUkernel kernel);

/* ---- a cubin ---- */

enum {
    NONE,
    NAMES,
    STRINGS,
    SYMBOLS,
    INFO,
    INFO_ONE,
    SHARED,
    RESERVED_SHARED,
    GLOBAL,
    TEXT,
    COUNT
};

struct made_cubin {
    Elf64_Ehdr header;
    Elf64_Shdr sections[COUNT];
    char names[160], strings[64];
    Elf64_Sym symbols[4];
    unsigned char info[12], one[16];
    uint32_t global[4];
};

static uint32_t add_text(char *table, const char *text)
{
    size_t at = 1;
    while (table[at])
        at += strlen(table + at) + 1;
    strcpy(table + at, text);
    return (uint32_t)at;
}

static void set_section(struct made_cubin *c, unsigned which, const char *name, uint32_t type,
                        size_t at, size_t bytes)
{
    c->sections[which].sh_name = add_text(c->names, name);
    c->sections[which].sh_type = type;
    c->sections[which].sh_offset = at;
    c->sections[which].sh_size = bytes;
}

static void put_words(unsigned char *to, unsigned attribute, unsigned count, const uint32_t *words)
{
    to[0] = 4;
    to[1] = (unsigned char)attribute;
    to[2] = (unsigned char)(4 * count);
    memcpy(to + 4, words, 4 * count);
}

/* A kernel `scale` of 40 registers, 2 KiB of shared memory and blocks of up to 256 threads; a
 * device function `helper`; a variable `table`. */
static struct made_cubin make_cubin(void)
{
    struct made_cubin c = {.global = {7, 8, 9, 10}};
    memcpy(c.header.e_ident, ELFMAG, SELFMAG);
    c.header.e_ident[EI_CLASS] = ELFCLASS64;
    c.header.e_machine = EM_CUDA;
    c.header.e_flags = 90 << 8;
    c.header.e_shoff = offsetof(struct made_cubin, sections);
    c.header.e_shentsize = sizeof(Elf64_Shdr);
    c.header.e_shnum = COUNT;
    c.header.e_shstrndx = NAMES;
#define AT(_field) offsetof(struct made_cubin, _field), sizeof c._field
    set_section(&c, NAMES, ".shstrtab", SHT_STRTAB, AT(names));
    set_section(&c, STRINGS, ".strtab", SHT_STRTAB, AT(strings));
    set_section(&c, SYMBOLS, ".symtab", SHT_SYMTAB, AT(symbols));
    set_section(&c, INFO, ".nv.info", SHT_LOPROC, AT(info));
    set_section(&c, INFO_ONE, ".nv.info.scale", SHT_LOPROC, AT(one));
    set_section(&c, SHARED, ".nv.shared.scale", SHT_NOBITS, 0, STATIC_SHARED + RESERVED);
    set_section(&c, RESERVED_SHARED, ".nv.shared.reserved.0", SHT_NOBITS, 0, 0);
    set_section(&c, GLOBAL, ".nv.global.init", SHT_PROGBITS, AT(global));
    set_section(&c, TEXT, ".text.scale", SHT_PROGBITS, 0, 0);
#undef AT
    c.sections[SYMBOLS].sh_link = STRINGS;
    c.sections[SYMBOLS].sh_entsize = sizeof(Elf64_Sym);
    c.symbols[1] = (Elf64_Sym){
        add_text(c.strings, "scale"), ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0x10, TEXT, 0, 0};
    c.symbols[2] = (Elf64_Sym){
        add_text(c.strings, "helper"), ELF64_ST_INFO(STB_LOCAL, STT_FUNC), 0, TEXT, 0, 0};
    c.symbols[3] = (Elf64_Sym){
        add_text(c.strings, "table"), ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, GLOBAL, 4,
        sizeof c.global - 4};
    put_words(c.info, 0x2f, 2, (const uint32_t[]){1, REGISTERS});
    put_words(c.one, 0x05, 3, (const uint32_t[]){64, 4, 1});
    return c;
}

static int attribute(CUfunction function, CUfunction_attribute which)
{
    int value = -1;
    OK(cuFuncGetAttribute(&value, which, function));
    return value;
}

static void facts(void)
{
    const struct made_cubin image = make_cubin();
    const char *name;
    uint32_t there[3];
    CUdeviceptr table;
    CUfunction scale, other;
    CUmodule module, again;
    size_t bytes;
    OK(cuModuleLoadData(&module, &image));
    OK(cuModuleGetFunction(&scale, module, "scale"));
    CHECK(cuModuleGetFunction(&other, module, "helper"), CUDA_ERROR_NOT_FOUND);
    OK(cuFuncGetName(&name, scale));
    CHECK(strcmp(name, "scale"), 0);
    OK(cuFuncGetModule(&again, scale));
    CHECK(again == module, 1);
    CHECK(attribute(scale, CU_FUNC_ATTRIBUTE_NUM_REGS), REGISTERS);
    CHECK(attribute(scale, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), STATIC_SHARED);
    CHECK(attribute(scale, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 256);
    CHECK(attribute(scale, CU_FUNC_ATTRIBUTE_BINARY_VERSION), 90);
    OK(cuModuleGetGlobal(&table, &bytes, module, "table"));
    CHECK(bytes, sizeof there);
    OK(cudaMemcpy(there, (void *)(uintptr_t)table, bytes, cudaMemcpyDeviceToHost));
    CHECK(there[0] == 8 && there[2] == 10, 1);
    CHECK(cuModuleGetGlobal(&table, &bytes, module, "scale"), CUDA_ERROR_NOT_FOUND);
    OK(cuModuleUnload(module));
    CHECK(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuFuncGetName(&name, scale), CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
}

/* Each field of the file in turn holds something absurd: an error or a module, never a crash. The
 * size is known, as it comes from a file. */
static void damage(void)
{
    const char *path = "damaged.cubin";
    unsigned refused = 0, loaded = 0;
    for (size_t at = 0; at + 4 <= sizeof(struct made_cubin); at += 4) {
        struct made_cubin image = make_cubin();
        CUmodule module;
        FILE *file = fopen(path, "wb");
        memset((char *)&image + at, 0xff, 4);
        CHECK(file && fwrite(&image, sizeof image, 1, file) == 1 && fclose(file) == 0, 1);
        if (cuModuleLoad(&module, path) == CUDA_SUCCESS) {
            loaded++;
            OK(cuModuleUnload(module));
        } else {
            refused++;
        }
    }
    for (size_t size = 0;
         size < sizeof(struct made_cubin) - sizeof(((struct made_cubin *)0)->global); size += 8) {
        const struct made_cubin image = make_cubin();
        CUmodule module;
        FILE *file = fopen(path, "wb");

        CHECK(file && fwrite(&image, 1, size, file) == size && fclose(file) == 0, 1);
        if (cuModuleLoad(&module, path) == CUDA_SUCCESS)
            OK(cuModuleUnload(module));
        else
            refused++;
    }
    CHECK(refused > 100 && loaded > 20, 1);
    remove(path);
    CHECK(cuModuleLoad((CUmodule *)&path, "no such file"), CUDA_ERROR_FILE_NOT_FOUND);
}

static void other_forms(void)
{
    static const char ptx[] = "// made by hand\n.version 8.0\n.target sm_90a\n.address_size 64\n"
                              ".global .align 4 .b8 table[400];\n.global .f64 sum = 0d0;\n"
                              "/* .entry no */ .visible .entry first(\n.param .u64 p\n)\n"
                              ".maxntid 128, 2, 1\n{ .reg .b32 %r<3>; ret; }\n"
                              ".entry second() { ret; }\n";
    static const char junk[64] = "this is no device code";
    const char *name;
    CUlibrary library;
    CUmodule module;
    CUkernel kernel;
    CUfunction function;
    CUdeviceptr variable;
    size_t bytes;
    OK(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "first"));
    OK(cuKernelGetName(&name, kernel));
    CHECK(strcmp(name, "first"), 0);
    OK(cuKernelGetFunction(&function, kernel));
    CHECK(attribute(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 256);
    CHECK(attribute(function, CU_FUNC_ATTRIBUTE_PTX_VERSION), 90);
    OK(cuLibraryGetKernel(&kernel, library, "second"));
    CHECK(cuLibraryGetKernel(&kernel, library, "no"), CUDA_ERROR_NOT_FOUND);
    OK(cuLibraryGetModule(&module, library));
    OK(cuModuleGetGlobal(&variable, &bytes, module, "table"));
    CHECK(bytes, 400);
    OK(cuLibraryGetGlobal(&variable, &bytes, library, "sum"));
    CHECK(bytes, 8);
    OK(cuLibraryUnload(library));
    CHECK(cuModuleLoadData(&module, junk), CUDA_ERROR_INVALID_IMAGE);
    CHECK(cuModuleLoadData(&module, NULL), CUDA_ERROR_INVALID_VALUE);
}

/* ---- launches ---- */

static CUfunction load_scale(CUmodule *module)
{
    const struct made_cubin image = make_cubin();
    CUfunction scale;
    OK(cuModuleLoadData(module, &image));
    OK(cuModuleGetFunction(&scale, *module, "scale"));
    return scale;
}

static float time_of(CUfunction function, unsigned blocks, unsigned threads)
{
    CUevent begin, end;
    float ms;
    OK(cuEventCreate(&begin, 0));
    OK(cuEventCreate(&end, 0));
    /* after a first launch, so that the host's part is not in it */
    OK(cuLaunchKernel(function, 1 << 20, 1, 1, 128, 1, 1, 0, 0, NULL, NULL));
    OK(cuEventRecord(begin, 0));
    OK(cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, 0, NULL, NULL));
    OK(cuEventRecord(end, 0));
    OK(cuCtxSynchronize());
    OK(cuEventElapsedTime(&ms, begin, end));
    OK(cuEventDestroy(begin));
    OK(cuEventDestroy(end));
    return 1000 * ms;
}

static void launches(void)
{
    CUmodule module;
    CUfunction scale = load_scale(&module);
    CUlaunchConfig config = {.gridDimX = 4, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 64};
    CHECK(cuLaunchKernel(scale, 1, 1, 1, 512, 1, 1, 0, 0, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuLaunchKernel(scale, 0, 1, 1, 64, 1, 1, 0, 0, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 100000, 0, NULL, NULL),
          CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncSetAttribute(scale, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000));
    OK(cuLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 100000, 0, NULL, NULL));
    CHECK(cuFuncSetAttribute(scale, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448),
          CUDA_ERROR_INVALID_VALUE);
    CHECK(cuLaunchKernelEx(&config, scale, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    config.blockDimY = config.blockDimZ = 1;
    OK(cuLaunchKernelEx(&config, scale, NULL, NULL));
    OK(cuLaunchCooperativeKernel(scale, 4, 1, 1, 64, 1, 1, 0, 0, NULL));
    /* 1.5 us, and 32 bytes of each thread at 3350 GB/s x 0.9 */
    CHECK((int)(time_of(scale, 1, 1) * 10), 15);
    CHECK((int)(time_of(scale, 1 << 16, 256) + 0.5f), 180);
    OK(cuModuleUnload(module));
}

static void occupancy(void)
{
    CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    CUlaunchConfig config = {.gridDimX = 2, .blockDimX = 128, .blockDimY = 1, .blockDimZ = 1};
    CUmodule module;
    CUfunction scale = load_scale(&module);
    int blocks, threads, count;
    size_t bytes;
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 256, 0));
    CHECK(blocks, 6); /* by 40 registers: 48 warps, 12 in each quarter of an SM */
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 32, 0));
    CHECK(blocks, 32);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 256, 100000));
    CHECK(blocks, 2); /* by shared memory */
    OK(cuOccupancyMaxPotentialBlockSize(&blocks, &threads, scale, NULL, 0, 0));
    CHECK(blocks == 6 * 132 && threads == 256, 1);
    OK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, scale, 2, 128));
    CHECK(bytes, 116736 - STATIC_SHARED - RESERVED);
    cluster.value.clusterDim.x = 2;
    cluster.value.clusterDim.y = cluster.value.clusterDim.z = 1;
    config.attrs = &cluster;
    config.numAttrs = 1;
    OK(cuOccupancyMaxActiveClusters(&count, scale, &config));
    CHECK(count, 12 * 132 / 2);
    cluster.value.clusterDim.x = 16;
    CHECK(cuOccupancyMaxActiveClusters(&count, scale, &config), CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncSetAttribute(scale, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    OK(cuOccupancyMaxActiveClusters(&count, scale, &config));
    OK(cuModuleUnload(module));
}

/* ---- what else a launcher asks ---- */

static void device(void)
{
    int value;
    size_t limit;
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0));
    CHECK(value, 232448);
    OK(cuDeviceGetAttribute(&value, (CUdevice_attribute)10, 0)); /* a warp */
    CHECK(value, 32);
    OK(cuDeviceGetAttribute(&value, (CUdevice_attribute)102, 0)); /* virtual memory management */
    CHECK(value, 0);
    CHECK(cuDeviceGetAttribute(&value, (CUdevice_attribute)1000, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 12345));
    OK(cuCtxGetLimit(&limit, CU_LIMIT_PRINTF_FIFO_SIZE));
    CHECK(limit, 12345);
}

static void memory(void)
{
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    CUdeviceptr memory, base, same;
    CUtensorMap map;
    const cuuint64_t dims[2] = {128, 64}, strides[1] = {256};
    const cuuint32_t box[2] = {64, 64}, wide[2] = {512, 64}, ones[2] = {1, 1};
    unsigned type;
    int ordinal;
    void *answers[] = {&type, &ordinal};
    size_t bytes, left, less, all;
    OK(cuMemGetInfo(&left, &all));
    OK(cuMemAlloc(&memory, 1 << 20));
    OK(cuMemGetInfo(&less, &all));
    CHECK(left - less, 1 << 20);
    CHECK(cuMemAlloc(&base, all + 1), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemGetAddressRange(&base, &bytes, memory + 100));
    CHECK(base == memory && bytes == 1 << 20, 1);
    OK(cuPointerGetAttribute(&same, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, memory + 4));
    CHECK(same == memory + 4, 1);
    OK(cuPointerGetAttributes(2, which, answers, memory));
    CHECK(type == CU_MEMORYTYPE_DEVICE && ordinal == 0, 1);
    CHECK(cuPointerGetAttribute(&type, which[0], (CUdeviceptr)(uintptr_t)&type),
          CUDA_ERROR_INVALID_VALUE);
    OK(cuPointerGetAttributes(2, which, answers, (CUdeviceptr)(uintptr_t)&type));
    CHECK(type == 0 && ordinal == -2, 1);
    OK(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, (void *)(uintptr_t)memory,
                              dims, strides, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE,
                              CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                              CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    CHECK(cuTensorMapEncodeTiled(
              &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, (void *)(uintptr_t)memory, dims, strides,
              wide, ones, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
              CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
          CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(memory));
    CHECK(cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
}

static void *entry(const char *name, int version, cuuint64_t flags, CUresult want)
{
    CUdriverProcAddressQueryResult status;
    void *found = NULL;
    CHECK(cuGetProcAddress(name, &found, version, flags, &status), want);
    CHECK(status == CU_GET_PROC_ADDRESS_SUCCESS, want == CUDA_SUCCESS);
    return found;
}

static void entries(void)
{
    const cuuint64_t per_thread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    void *plain = entry("cuLaunchKernel", 13000, 0, CUDA_SUCCESS);
    CHECK(plain == (void *)(uintptr_t)cuLaunchKernel, 1);
    CHECK(entry("cuLaunchKernel", 13000, per_thread, CUDA_SUCCESS) != plain, 1);
    CHECK(entry("cuMemAlloc", 13000, 0, CUDA_SUCCESS) == (void *)(uintptr_t)cuMemAlloc, 1);
    CHECK(entry("cuStreamGetCtx", 12000, 0, CUDA_SUCCESS) == (void *)(uintptr_t)cuStreamGetCtx, 1);
    CHECK(entry("cuStreamGetCtx", 13000, 0, CUDA_SUCCESS) == (void *)(uintptr_t)cuStreamGetCtx_v2,
          1);
    entry("cuGraphExecUpdate", 11000, 0, CUDA_ERROR_NOT_FOUND);
    entry("cuNoSuchCall", 13000, 0, CUDA_ERROR_NOT_FOUND);
}

/* A reset of the context ends the module. Unloading it afterwards does not touch memory that now
 * lies where its variables were. */
static void ended(void)
{
    CUmodule module;
    CUdeviceptr variable, other[8];
    CUfunction function;
    unsigned left = 0;
    OK(cuModuleLoadData(&module,
                        ".version 8.0\n.target sm_90\n.global .b8 small[1];\n.entry e() {}"));
    OK(cuModuleGetGlobal(&variable, NULL, module, "small"));
    OK(cuDevicePrimaryCtxReset(0));
    OK(cuDevicePrimaryCtxRetain(&(CUcontext){NULL}, 0));
    CHECK(cuModuleGetFunction(&function, module, "e"), CUDA_ERROR_INVALID_HANDLE);
    for (int i = 0; i < 8; i++)
        OK(cuMemAlloc(&other[i], 1));
    OK(cuModuleUnload(module));
    for (int i = 0; i < 8; i++)
        left += cuMemFree(other[i]) == CUDA_SUCCESS;
    CHECK(left, 8);
}

static void from_file(int count, char *const *args)
{
    CUmodule module;
    CUfunction function;
    OK(cuModuleLoad(&module, args[0]));
    for (int i = 1; i < count; i++) {
        OK(cuModuleGetFunction(&function, module, args[i]));
        CHECK(attribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS) > 0, 1);
        OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, NULL, NULL));
    }
    OK(cuModuleUnload(module));
}

/* Asking about a pointer makes no context. */
static void asked(void)
{
    CUpointer_attribute which = CU_POINTER_ATTRIBUTE_CONTEXT;
    CUcontext context = (CUcontext)(void *)&which;
    void *to = &context;
    unsigned flags;
    int active = 1;
    OK(cuPointerGetAttributes(1, &which, &to, (uintptr_t)&which));
    CHECK(context == NULL, 1);
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(active, 0);
}

int main(int argc, char **argv)
{
    CUmodule module;
    CUcontext context;
    CHECK(cuModuleLoadData(&module, NULL), CUDA_ERROR_NOT_INITIALIZED);
    OK(cuInit(0));
    CHECK(cuModuleLoadData(&module, NULL), CUDA_ERROR_INVALID_CONTEXT);
    asked();
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    if (argc > 1) {
        from_file(argc - 1, argv + 1);
        return 0;
    }
    facts();
    damage();
    other_forms();
    launches();
    occupancy();
    device();
    memory();
    entries();
    ended();
    puts("device code is read, launched and timed");
    return 0;
}
