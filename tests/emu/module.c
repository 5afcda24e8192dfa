/* SPDX-License-Identifier: MIT
 *
 * Modules, libraries, and the functions in them. A module is what an image says (image.h) and
 * device memory for its variables. A library is a module that belongs to no context; here it is the
 * same thing, and a kernel's handle is also that of its function, as real programs may assume.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "driver.h"
#include "fabric.h"
#include "image.h"
#include "kernel.h"
#include "memory.h"

struct module_variable {
    char *name;
    void *memory;
    size_t bytes;
};

struct module {
    struct emu_kernel *kernels; /* by `sibling` */
    struct module_variable *variables;
    size_t variable_count;
    int device;
    unsigned age; /* of the device's memory: of another, the variables are gone with it */
    struct module *next;
};

static struct module *modules;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- loading ---- */

static int current_device(const struct emu_thread *self)
{
    return self->context != NULL ? emu_context_device(self->context) : 0;
}

static CUresult place(struct module_variable *v, const struct image_variable *from, int device)
{
    v->memory = emu_memory_map(from->bytes ? from->bytes : 1, MEMORY_DEVICE, device);
    if (v->memory == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    v->name = strdup(from->name);
    v->bytes = from->bytes;
    if (from->content != NULL)
        memcpy(v->memory, from->content, from->bytes);
    return CUDA_SUCCESS;
}

/* With its context: the device was reset. */
static bool is_gone(const struct module *m)
{
    return m->age != emu_memory_age(m->device);
}

static void release(struct module *m)
{
    for (struct emu_kernel *k = m->kernels, *next; k != NULL; k = next) {
        next = k->sibling;
        emu_kernel_forget(k);
    }
    for (size_t i = 0; i < m->variable_count; i++) {
        if (!is_gone(m))
            emu_memory_unmap(m->variables[i].memory);
        free(m->variables[i].name);
    }
    free(m->variables);
    free(m);
}

static CUresult make(struct module **made, const struct image *image, int device)
{
    struct module *m = emu_alloc(sizeof *m);
    CUresult result = CUDA_SUCCESS;
    m->device = device;
    m->age = emu_memory_age(device);
    m->variables = emu_alloc((image->variable_count + 1) * sizeof *m->variables);
    for (; !result && m->variable_count < image->variable_count; m->variable_count++)
        result =
            place(&m->variables[m->variable_count], &image->variables[m->variable_count], device);
    if (result) {
        m->variable_count--; /* the last has no memory */
        release(m);
        return result;
    }
    for (size_t i = image->kernel_count; i-- > 0;) {
        struct emu_kernel *k = emu_kernel_register(NULL, &image->kernels[i]);
        k->module = m;
        k->sibling = m->kernels;
        m->kernels = k;
    }
    pthread_mutex_lock(&lock);
    m->next = modules;
    modules = m;
    pthread_mutex_unlock(&lock);
    *made = m;
    return CUDA_SUCCESS;
}

static CUresult load(const struct emu_thread *self, struct module **module, const void *data,
                     size_t size)
{
    struct image image;
    CUresult result = module != NULL ? image_read(&image, data, size) : CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    result = make(module, &image, current_device(self));
    image_release(&image);
    return result;
}

/* A module needs a current context, which a library (cuLibraryLoadData) does not. */
static CUresult in_context(const struct emu_thread *self)
{
    return self->context != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult load_file(const struct emu_thread *self, struct module **module, const char *path)
{
    FILE *file = path != NULL ? fopen(path, "rb") : NULL;
    CUresult result = CUDA_ERROR_INVALID_IMAGE;
    struct stat st;
    char *data;
    if (file == NULL)
        return path != NULL ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
    if (fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode)) {
        data = emu_alloc((size_t)st.st_size + 1);
        if (fread(data, 1, (size_t)st.st_size, file) == (size_t)st.st_size)
            result = load(self, module, data, (size_t)st.st_size);
        free(data);
    }
    fclose(file);
    return result;
}

/* ---- looking up ---- */

/* NULL: not loaded, or not any more. A library, too, is gone with the context: here it is a module.
 */
static struct module *find(const void *handle)
{
    struct module *m;
    pthread_mutex_lock(&lock);
    for (m = modules; m != NULL && m != handle; m = m->next)
        ;
    pthread_mutex_unlock(&lock);
    return m != NULL && !is_gone(m) ? m : NULL;
}

static CUresult unload(void *handle)
{
    struct module **at, *m;
    pthread_mutex_lock(&lock);
    for (at = &modules; *at != NULL && *at != handle; at = &(*at)->next)
        ;
    m = *at;
    if (m != NULL)
        *at = m->next;
    pthread_mutex_unlock(&lock);
    if (m == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    release(m);
    return CUDA_SUCCESS;
}

static CUresult find_kernel(void **kernel, const void *handle, const char *name)
{
    const struct module *m = find(handle);
    struct emu_kernel *k;
    if (m == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (kernel == NULL || name == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    for (k = m->kernels; k != NULL && strcmp(k->facts.name, name) != 0; k = k->sibling)
        ;
    *kernel = k;
    return k != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

static CUresult find_variable(CUdeviceptr *pointer, size_t *bytes, const void *handle,
                              const char *name)
{
    const struct module *m = find(handle);
    if (m == NULL || name == NULL)
        return m != NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    for (size_t i = 0; i < m->variable_count; i++) {
        if (strcmp(m->variables[i].name, name) != 0)
            continue;
        if (pointer != NULL)
            *pointer = (uintptr_t)m->variables[i].memory;
        if (bytes != NULL)
            *bytes = m->variables[i].bytes;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
}

/* ---- the interface ---- */

#define MODULE_CALL(_name, _params, _do) \
    DRIVER_CALL(_name, _params, in_context(self) ? in_context(self) : (_do))

MODULE_CALL(cuModuleLoad, (CUmodule * module, const char *path),
            load_file(self, (struct module **)module, path))
MODULE_CALL(cuModuleLoadData, (CUmodule * module, const void *image),
            load(self, (struct module **)module, image, IMAGE_LARGEST))
MODULE_CALL(cuModuleLoadDataEx,
            (CUmodule * module, const void *image, unsigned int count, CUjit_option *options,
             void **values),
            ((void)count, (void)options, (void)values,
             load(self, (struct module **)module, image, IMAGE_LARGEST)))
MODULE_CALL(cuModuleLoadFatBinary, (CUmodule * module, const void *image),
            load(self, (struct module **)module, image, IMAGE_LARGEST))
MODULE_CALL(cuModuleUnload, (CUmodule module), unload(module))
DRIVER_CALL(cuModuleGetLoadingMode, (CUmoduleLoadingMode * mode),
            mode ? (*mode = CU_MODULE_EAGER_LOADING, CUDA_SUCCESS) : CUDA_ERROR_INVALID_VALUE)
MODULE_CALL(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name),
            find_kernel((void **)function, module, name))
MODULE_CALL(cuModuleGetGlobal_v2,
            (CUdeviceptr * pointer, size_t *bytes, CUmodule module, const char *name),
            find_variable(pointer, bytes, module, name))

#define LIBRARY_OPTIONS                                                                     \
    CUjit_option *jit, void **jit_values, unsigned int jit_count, CUlibraryOption *options, \
        void **values, unsigned int count
#define LIBRARY_LOAD(_do) \
    ((void)jit, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count, _do)

DRIVER_CALL(cuLibraryLoadData, (CUlibrary * library, const void *code, LIBRARY_OPTIONS),
            LIBRARY_LOAD(load(self, (struct module **)library, code, IMAGE_LARGEST)))
DRIVER_CALL(cuLibraryLoadFromFile, (CUlibrary * library, const char *path, LIBRARY_OPTIONS),
            LIBRARY_LOAD(load_file(self, (struct module **)library, path)))
DRIVER_CALL(cuLibraryUnload, (CUlibrary library), unload(library))
DRIVER_CALL(cuLibraryGetKernel, (CUkernel * kernel, CUlibrary library, const char *name),
            find_kernel((void **)kernel, library, name))
DRIVER_CALL(cuLibraryGetModule, (CUmodule * module, CUlibrary library),
            !module ? CUDA_ERROR_INVALID_VALUE
                    : (*module = (CUmodule)(void *)library,
                       find(library) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE))
DRIVER_CALL(cuLibraryGetGlobal,
            (CUdeviceptr * pointer, size_t *bytes, CUlibrary library, const char *name),
            find_variable(pointer, bytes, library, name))
