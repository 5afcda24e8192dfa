/* SPDX-License-Identifier: MIT
 *
 * Over the objects of tests/loading (objects.txt there), which are beside this program.
 */
#include "test.h"

#include "../../tracer/objects.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char nccl[] = "ncclAllReduce", cudart[] = "cudaMemcpyAsync";

struct open_library {
    void *handle;
    struct link_map *map;
};

static bool are_built(void)
{
    char path[4096];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - sizeof "/loading/built");
    if (len < 0)
        return false;
    path[len] = '\0';
    strcpy(strrchr(path, '/'), "/loading/built");
    return access(path, R_OK) == 0;
}

/* They tell on stdout when they come and go, which is not for who reads the results there. */
static void *quietly(void *(*act)(void *), void *data)
{
    int kept = dup(STDOUT_FILENO), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    void *result;
    dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
    result = act(data);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    return result;
}

struct opening {
    const char *path;
    int mode;
};

static void *open_one(void *data)
{
    const struct opening *o = data;
    return dlopen(o->path, o->mode);
}

static struct open_library opened_as(const char *name, int mode)
{
    char path[4096];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path / 2);
    struct opening o = {path, mode};
    struct open_library l = {NULL, NULL};
    path[len > 0 ? len : 0] = '\0';
    snprintf(strrchr(path, '/'), sizeof path / 2, "/loading/%s", name);
    l.handle = quietly(open_one, &o);
    if (l.handle == NULL)
        CHECK_STR_OF(name, dlerror(), "");
    else
        dlinfo(l.handle, RTLD_DI_LINKMAP, &l.map);
    return l;
}

static struct open_library opened(const char *name)
{
    return opened_as(name, RTLD_NOW | RTLD_LOCAL);
}

static void *close_one(void *handle)
{
    dlclose(handle);
    return NULL;
}

static void closed(struct open_library l)
{
    if (l.handle != NULL)
        quietly(close_one, l.handle);
}

/* The object of that file name in the loader's list. */
static const struct link_map *object(const char *file)
{
    const struct link_map *o = dlopen(NULL, RTLD_NOW);
    size_t len = strlen(file), of;
    while (o != NULL && ((of = strlen(o->l_name)) < len || strcmp(o->l_name + of - len, file) != 0))
        o = o->l_next;
    CHECK(o != NULL);
    return o;
}

/* Returns the function of that name that the library, or one that it needs, defines. */
static function of(struct open_library l, const char *name)
{
    void *found = dlsym(l.handle, name);
    function f;
    memcpy(&f, &found, sizeof f);
    return f;
}

static struct definitions seen(const char *name, const struct link_map *caller)
{
    struct definitions d;
    objects_definitions(&d, name, caller);
    return d;
}

#define NEEDS_OBJECTS \
    if (!are_built()) \
    SKIP("the objects of tests/loading are not built")

TEST(tracer_objects_of_the_start)
{
    struct definitions d = seen("gnu_get_libc_version", NULL);
    CHECK_INT(d.count, 1);
    CHECK(d.first != NULL && d.stays && d.is_plain && d.own == NULL);
    d = seen("no_such_function", NULL);
    CHECK_INT(d.count, 0);
    CHECK(d.first == NULL && !d.is_plain && d.of_others == NULL);
}

TEST(tracer_objects_one_definition)
{
    struct open_library a, loose;
    struct definitions d;
    NEEDS_OBJECTS;
    CHECK_INT(seen(nccl, NULL).count, 0);
    a = opened("plug_a.so");
    d = seen(nccl, a.map);
    CHECK_INT(d.count, 1);
    CHECK(d.first == of(a, nccl) && d.own == NULL && d.stays && d.is_plain);
    loose = opened_as("plug_loose.so", RTLD_LAZY);
    d = seen(nccl, loose.map); /* which the library may be closed under */
    CHECK_INT(d.count, 1);
    CHECK(d.first == of(a, nccl) && !d.stays && !d.is_plain && d.is_referred);
    CHECK(!seen(nccl, NULL).stays);
    closed(loose);
    closed(a);
    CHECK_INT(seen(nccl, NULL).count, 0);
}

TEST(tracer_objects_own_definition)
{
    struct open_library three, own;
    struct definitions d;
    NEEDS_OBJECTS;
    three = opened("libnccl.so.3");
    own = opened("plug_own.so");
    d = seen(nccl, own.map);
    CHECK_INT(d.count, 2);
    CHECK(d.first == of(three, nccl) && d.own == of(own, nccl));
    CHECK(!d.stays && !d.is_plain && !d.is_referred);
    CHECK(objects_in_scope(nccl, NULL, own.map) == of(own, nccl));
    closed(three);
    d = seen(nccl, own.map);
    CHECK_INT(d.count, 1);
    CHECK(d.first == of(own, nccl) && d.own == d.first && d.is_plain);
    closed(own);
}

/* A helper that names no library for what it calls has what the dlopen() which brought it has
 * brought, not what came before. */
TEST(tracer_objects_scope)
{
    struct open_library three, a, own;
    struct definitions d;
    const struct link_map *helper, *library;
    NEEDS_OBJECTS;
    three = opened("libnccl.so.3");
    a = opened("host_a.so");
    helper = object("/helper.so");
    library = object("/a/libnccl.so.2");
    CHECK(of(a, nccl) != of(three, nccl));
    CHECK(objects_in_scope(nccl, NULL, a.map) == of(a, nccl));
    CHECK(objects_in_scope(nccl, NULL, helper) == of(a, nccl));
    CHECK(objects_in_scope(cudart, NULL, helper) == of(a, cudart));
    CHECK(objects_in_scope(nccl, NULL, library) == of(a, nccl));
    CHECK(objects_in_scope(nccl, NULL, three.map) == of(three, nccl));
    CHECK(objects_in_scope(cudart, NULL, three.map) == NULL);
    CHECK(objects_in_scope(nccl, NULL, object("")) == NULL); /* the program */
    CHECK(objects_in_scope(nccl, NULL, NULL) == NULL);
    d = seen(nccl, helper);
    CHECK(d.count == 2 && d.first == of(three, nccl) && d.is_referred && !d.stays);
    closed(three);
    own = opened("plug_own_needs.so"); /* its own comes before what it needs */
    CHECK(objects_in_scope(nccl, NULL, own.map) == of(own, nccl));
    CHECK(objects_in_scope(nccl, NULL, object("/libnccl.so.3")) == of(own, nccl));
    closed(own);
    closed(a);
}

TEST(tracer_objects_versions)
{
    static const char v11[] = "libcudart.so.11.0", v12[] = "libcudart.so.12";
    struct open_library p11, p12, plain;
    struct definitions d;
    NEEDS_OBJECTS;
    p11 = opened("plug_11.so");
    p12 = opened("plug_12.so");
    d = seen(cudart, p12.map);
    CHECK(d.count == 2 && d.first == of(p11, cudart) && d.is_referred);
    CHECK_STR(d.version, v12);
    d = seen(cudart, p11.map);
    CHECK_STR(d.version, v11);
    CHECK(objects_in_scope(cudart, v12, p12.map) == of(p12, cudart));
    CHECK(objects_in_scope(cudart, v11, p12.map) == NULL);
    CHECK(objects_in_scope(cudart, v11, p11.map) == of(p11, cudart));
    closed(p12);
    plain = opened("plug_plain.so"); /* a definition without a version serves any */
    d = seen(cudart, plain.map);
    CHECK(d.is_referred && d.version == NULL);
    CHECK(objects_in_scope(cudart, v12, plain.map) == of(plain, cudart));
    CHECK(objects_in_scope(cudart, NULL, plain.map) == of(plain, cudart));
    closed(plain);
    closed(p11);
}

TEST(tracer_objects_references_bound_early)
{
    struct open_library a, lazy, now, address;
    NEEDS_OBJECTS;
    a = opened("plug_a.so"); /* with one definition alone nothing more is looked for */
    lazy = opened_as("plug_3.so", RTLD_LAZY);
    now = opened_as("plug_now.so", RTLD_LAZY);
    address = opened_as("plug_noplt.so", RTLD_LAZY);
    CHECK(!seen(nccl, lazy.map).is_bound_early);
    CHECK(seen(nccl, now.map).is_bound_early);
    CHECK(seen(nccl, address.map).is_bound_early);
    CHECK(seen(nccl, a.map).is_bound_early);
    closed(address);
    closed(now);
    closed(lazy);
    closed(a);
}

/* For a caller with no part in it: what the others are bound to, where they agree. */
TEST(tracer_objects_of_others)
{
    struct open_library bystander, three, loose, a, cuda;
    struct definitions d;
    NEEDS_OBJECTS;
    bystander = opened("libcublas.so.12");
    three = opened("plug_3.so");
    d = seen(nccl, bystander.map);
    CHECK(d.count == 1 && !d.is_referred && d.own == NULL && !d.is_bound_early);
    CHECK(d.of_others == of(three, nccl) && !d.others_ask_versions);
    loose = opened_as("plug_loose.so", RTLD_LAZY); /* refers to it, and has none in its scope */
    CHECK(seen(nccl, bystander.map).of_others == of(three, nccl));
    a = opened("plug_a.so");
    CHECK(seen(nccl, bystander.map).of_others == NULL);
    closed(loose);
    cuda = opened("plug_12.so");
    d = seen(cudart, bystander.map);
    CHECK(d.of_others == of(cuda, cudart) && d.others_ask_versions);
    closed(cuda);
    closed(a);
    closed(three);
    closed(bystander);
}

TEST(tracer_objects_in_the_order_of_loading)
{
    struct open_library loose, link, a;
    NEEDS_OBJECTS;
    loose = opened_as("plug_loose.so", RTLD_LAZY);
    CHECK(objects_behind(nccl, loose.map) == NULL);
    link = opened("link_1.so");
    a = opened("plug_a.so");
    CHECK(objects_behind(nccl, loose.map) == of(link, nccl));
    CHECK(objects_behind(nccl, object("/link_3.so")) == of(link, nccl));
    CHECK(objects_behind(nccl, object("/libnccl.so.3")) == of(a, nccl));
    CHECK(objects_behind(nccl, a.map) == of(a, nccl));
    CHECK(objects_behind(nccl, object("/a/libnccl.so.2")) == NULL);
    CHECK(objects_behind(nccl, NULL) == NULL);

    CHECK(objects_came_later(of(link, nccl), loose.map));
    CHECK(objects_came_later(of(a, nccl), loose.map));
    CHECK(objects_came_later(of(a, nccl), link.map));
    CHECK(objects_came_later(of(a, nccl), object("/libnccl.so.3")));
    CHECK(!objects_came_later(of(link, nccl), link.map)); /* with it */
    CHECK(!objects_came_later(of(link, nccl), object("/link_2.so")));
    CHECK(!objects_came_later(of(link, nccl), object("/libnccl.so.3")));
    CHECK(!objects_came_later(of(link, nccl), a.map));
    CHECK(!objects_came_later(of(a, nccl), NULL));
    CHECK(!objects_came_later(NULL, loose.map));
    closed(a);
    closed(link);
    closed(loose);
}

TEST(tracer_objects_later_than_all_references)
{
    struct open_library three, b, loose;
    NEEDS_OBJECTS;
    three = opened("plug_3.so");
    b = opened("b/libnccl.so.2");
    CHECK(objects_came_later_for_all(of(b, nccl), nccl));
    CHECK(!objects_came_later_for_all(of(three, nccl), nccl));
    loose = opened_as("plug_loose.so", RTLD_LAZY);
    CHECK(!objects_came_later_for_all(of(b, nccl), nccl));
    closed(loose);
    loose = opened("plug_a.so"); /* came later itself */
    CHECK(!objects_came_later_for_all(of(b, nccl), nccl));
    closed(loose);
    closed(b);
    closed(three);
}
