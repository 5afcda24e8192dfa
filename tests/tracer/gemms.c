/* SPDX-License-Identifier: MIT
 *
 * Products of cuBLAS and cublasLt for the tracer's tests: `gemms SCENARIO` makes calls and prints,
 * for each that a trace must have a record of, what the record must say, as `ops` of common.bash
 * prints it. Nothing here asks the tracer: expectations come from the arguments.
 */
#include "../emu/every_gemm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void check(bool ok, const char *what, int line)
{
    if (ok)
        return;
    fprintf(stderr, "gemms.c:%d: %s\n", line, what);
    exit(1);
}

#define CHECK(_condition) check(_condition, #_condition, __LINE__)
#define OK(_call) check((_call) == 0, #_call " failed", __LINE__)

/* ---- what a record must say ---- */

#define UNKNOWN (-1)

struct record {
    const char *op;
    int64_t m, n, k, batch;                 /* UNKNOWN */
    const char *dtype[3], *compute, *trans; /* NULL: null */
    int64_t lda, ldb, ldc;
    const char *beta;
    const char *epilogue;
    const char *order;    /* NULL: not there */
    int64_t groups, flop; /* 0: not there */
};

static void print_number(const char *key, int64_t value)
{
    if (value == UNKNOWN)
        printf("%s null ", key);
    else
        printf("%s %" PRId64 " ", key, value);
}

static void print_word(const char *key, const char *word)
{
    printf("%s %s ", key, word != NULL ? word : "null");
}

static void expect(const struct record *r)
{
    print_word("op", r->op);
    print_number("m", r->m);
    print_number("n", r->n);
    print_number("k", r->k);
    print_number("batch", r->batch);
    print_word("dtype", r->dtype[0]);
    print_word("dtype_b", r->dtype[1]);
    print_word("dtype_c", r->dtype[2]);
    print_word("compute", r->compute);
    print_word("trans", r->trans);
    print_number("lda", r->lda);
    print_number("ldb", r->ldb);
    print_number("ldc", r->ldc);
    print_word("beta", r->beta);
    print_word("epilogue", r->epilogue != NULL ? r->epilogue : "none");
    if (r->order != NULL)
        print_word("order", r->order);
    if (r->groups != 0)
        print_number("groups", r->groups);
    if (r->flop != 0)
        print_number("flop", r->flop);
    putchar('\n');
}

/* ---- what is called ---- */

static cublasHandle_t handle;
static cublasLtHandle_t light;
static cudaStream_t stream;
static void *a, *b, *c;    /* device memory */
static void **pointers[3]; /* to them, in device memory */

#define BATCH 4

static void open_library(void)
{
    void **buffers[] = {&a, &b, &c};
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cublasCreate(&handle));
    OK(cublasSetStream(handle, stream));
    OK(cublasLtCreate(&light));
    for (int i = 0; i < 3; i++) {
        OK(cudaMalloc(buffers[i], 1 << 20));
        OK(cudaMalloc((void **)&pointers[i], 64 * sizeof(void *)));
        for (int at = 0; at < 64; at++)
            pointers[i][at] = *buffers[i];
    }
}

/* Types of a function by the letter in its name; for G those that the calls of this file name. */
static const struct letter {
    char letter;
    cudaDataType types[3];
    const char *dtype[3];
    const char *compute;
    size_t part; /* bytes of a scalar's real part */
    bool is_complex;
} letters[] = {
    {'H', {CUDA_R_16F, CUDA_R_16F, CUDA_R_16F}, {"fp16", "fp16", "fp16"}, "fp16", 2, false},
    {'S', {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F}, {"fp32", "fp32", "fp32"}, "fp32", 4, false},
    {'D', {CUDA_R_64F, CUDA_R_64F, CUDA_R_64F}, {"fp64", "fp64", "fp64"}, "fp64", 8, false},
    {'C', {CUDA_C_32F, CUDA_C_32F, CUDA_C_32F}, {NULL, NULL, NULL}, "fp32", 4, true},
    {'Z', {CUDA_C_64F, CUDA_C_64F, CUDA_C_64F}, {NULL, NULL, NULL}, "fp64", 8, true},
    {'G',
     {CUDA_R_8F_E4M3, CUDA_R_8F_E5M2, CUDA_R_16BF},
     {"fp8e4m3", "fp8e5m2", "bf16"},
     "fp32",
     4,
     false},
};

/* SgemmEx alone: fp32 scalars, and elements that the call names. */
static const struct letter mixed = {
    'S', {CUDA_R_16BF, CUDA_R_16F, CUDA_R_32F}, {"bf16", "fp16", "fp32"}, "fp32", 4, false};

static const struct letter *letter_of(const char *name)
{
    const struct letter *l = letters;
    if (strncmp(name, "cublasSgemmEx", 13) == 0)
        return &mixed;
    while (l->letter != name[6])
        l++;
    return l;
}

/* A scalar of 0, 1 or -2, in the bytes that the function reads. */
static void put_scalar(char *into, const struct letter *l, int value)
{
    const uint16_t half = value == 0 ? 0 : value == 1 ? 0x3c00 : 0xc000;
    const float single = (float)value;
    const double twice = value;
    memset(into, 0, 2 * l->part);
    memcpy(into,
           l->part == 2   ? (const void *)&half
           : l->part == 4 ? (const void *)&single
                          : &twice,
           l->part);
}

static void op_name(char name[64], const char *function)
{
    const char *version = strstr(function, "_v2");
    int head = version != NULL ? (int)(version - function) - 6 : (int)strlen(function) - 6;
    snprintf(name, 64, "%.*s%s", head, function + 6, version != NULL ? version + 3 : "");
}

/* `count` entries that end where nothing more can be read. */
static const void *at_the_edge(bool wide, int count, const int64_t *values)
{
    size_t bytes = (size_t)count * (wide ? sizeof(int64_t) : sizeof(int));
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *at = pages + 4096 - bytes;
    CHECK(pages != MAP_FAILED && mprotect(pages + 4096, 4096, PROT_NONE) == 0);
    for (int i = 0; i < count; i++) {
        if (wide)
            ((int64_t *)at)[i] = values[i];
        else
            ((int *)at)[i] = (int)values[i];
    }
    return at;
}

#define EDGE(_wide, ...)                                                          \
    at_the_edge(_wide, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
                (int64_t[]){__VA_ARGS__})

static const char *const trans_words[] = {"NN", "TN", "CN", "NT", "TT", "CT", "NC", "TC", "CC"};

/* The i-th function with arguments of its own: no two that could be mistaken for each other. Those
 * of 64-bit integers do not fit 32 bits. */
static struct gemm_call arguments(const struct gemm_function *f, const struct letter *l, int i)
{
    int64_t k = 2 + i % 5, n = 3 + i % 7, m = 11 + i + (f->wide ? INT64_C(1) << 33 : 0);
    static cublasOperation_t trans[2][2];
    static char alpha[32], beta[32];
    size_t size = l->part * (l->is_complex ? 2 : 1);
    for (int group = 0; group < 2; group++) {
        trans[0][group] = (cublasOperation_t)(i % 3);
        trans[1][group] = (cublasOperation_t)(i / 3 % 3);
        put_scalar(alpha + (size_t)group * size, l, 1);
        put_scalar(beta + (size_t)group * size, l, i % 4 == 0 ? 0 : i % 4 == 1 ? 1 : -2);
    }
    return (struct gemm_call){.handle = handle,
                              .transa = trans[0][0],
                              .transb = trans[1][0],
                              .m = m,
                              .n = n,
                              .k = k,
                              .alpha = alpha,
                              .beta = beta,
                              .A = a,
                              .B = b,
                              .C = c,
                              .Aarray = pointers[0],
                              .Barray = pointers[1],
                              .Carray = pointers[2],
                              .Atype = l->types[0],
                              .Btype = l->types[1],
                              .Ctype = l->types[2],
                              .lda = m + 1,
                              .ldb = n + k,
                              .ldc = m + 2,
                              .batchCount = BATCH,
                              .computeType = CUBLAS_COMPUTE_32F,
                              .algo = CUBLAS_GEMM_DEFAULT,
                              .transa_array = trans[0],
                              .transb_array = trans[1],
                              .m_array = EDGE(f->wide, m, m),
                              .n_array = EDGE(f->wide, n, n),
                              .k_array = EDGE(f->wide, k, k),
                              .lda_array = EDGE(f->wide, m + 1, m + 1),
                              .ldb_array = EDGE(f->wide, n + k, n + k),
                              .ldc_array = EDGE(f->wide, m + 2, m + 2),
                              .alpha_array = alpha,
                              .beta_array = beta,
                              .group_count = 2,
                              .group_size = EDGE(f->wide, 3, BATCH)};
}

/* Each function once as it should be called, and once so that it fails. */
static void every(void)
{
    static const char *const betas[] = {"0", "1", "-2", "-2"};
    char name[64];
    for (int i = 0; i < (int)EVERY_GEMM_COUNT; i++) {
        const struct gemm_function *f = &every_gemm[i];
        const struct letter *l = letter_of(f->name);
        struct gemm_call call = arguments(f, l, i);
        struct record r = {name,       call.m,
                           call.n,     call.k,
                           1,          {l->dtype[0], l->dtype[1], l->dtype[2]},
                           l->compute, trans_words[i % 9],
                           call.lda,   call.ldb,
                           call.ldc,   betas[i % 4],
                           NULL,       NULL,
                           0,          0};
        op_name(name, f->name);
        OK(f->call(&call));
        r.batch = f->kind == ONE_GEMM ? 1 : f->kind == GROUPED_GEMM ? 3 + BATCH : BATCH;
        r.groups = f->kind == GROUPED_GEMM ? 2 : 0;
        if (l->is_complex || f->kind == GROUPED_GEMM)
            r.flop = (!l->is_complex                  ? 2
                      : strstr(f->name, "3m") != NULL ? 6
                                                      : 8) *
                     r.m * r.n * r.k * r.batch;
        expect(&r);
        call.lda = call.ldb = call.ldc = 1;
        call.lda_array = call.ldb_array = call.ldc_array = EDGE(f->wide, 1, 1);
        CHECK(f->call(&call) != 0);
    }
    OK(cudaStreamSynchronize(stream));
}

/* ---- groups ---- */

/* Two groups that differ in everything; the second is of none when `second` is 0. */
static struct gemm_call two_groups(int64_t second)
{
    static const cublasOperation_t transa[] = {CUBLAS_OP_N, CUBLAS_OP_T};
    static const cublasOperation_t transb[] = {CUBLAS_OP_N, CUBLAS_OP_N};
    static const float alpha[] = {1, 1}, beta[] = {0, 1};
    return (struct gemm_call){.handle = handle,
                              .Aarray = pointers[0],
                              .Barray = pointers[1],
                              .Carray = pointers[2],
                              .transa_array = transa,
                              .transb_array = transb,
                              .m_array = EDGE(false, 4, 8),
                              .n_array = EDGE(false, 5, 5),
                              .k_array = EDGE(false, 6, 7),
                              .lda_array = EDGE(false, 10, 11),
                              .ldb_array = EDGE(false, 12, 12),
                              .ldc_array = EDGE(false, 10, 13),
                              .alpha_array = alpha,
                              .beta_array = beta,
                              .group_count = 2,
                              .group_size = EDGE(false, 3, second)};
}

static void groups(void)
{
    struct record r = {"SgemmGroupedBatched",
                       UNKNOWN,
                       UNKNOWN,
                       UNKNOWN,
                       5,
                       {"fp32", "fp32", "fp32"},
                       "fp32",
                       NULL,
                       UNKNOWN,
                       12,
                       UNKNOWN,
                       NULL,
                       NULL,
                       NULL,
                       2,
                       2 * (3 * 4 * 5 * 6 + 2 * 8 * 5 * 7)};
    struct gemm_call call = two_groups(2);
    OK(call_cublasSgemmGroupedBatched(&call));
    expect(&r);
    OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
    call.group_count = 1;
    OK(call_cublasSgemmGroupedBatched(&call));
    expect(&(struct record){"SgemmGroupedBatched",
                            4,
                            5,
                            6,
                            3,
                            {"fp32", "fp32", "fp32"},
                            "fp32",
                            "NN",
                            10,
                            12,
                            10,
                            NULL,
                            NULL,
                            NULL,
                            1,
                            2 * 3 * 4 * 5 * 6});
    OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
    call.group_count = 0; /* does nothing */
    OK(call_cublasSgemmGroupedBatched(&call));
    call = (struct gemm_call){.handle = handle, .group_count = 3}; /* arrays of nothing */
    CHECK(call_cublasSgemmGroupedBatched(&call) != 0);
    call.group_count = -3;
    CHECK(call_cublasSgemmGroupedBatched(&call) != 0);
    OK(cudaStreamSynchronize(stream));
}

/* ---- what it is computed in ---- */

static const struct gemm_function *function(const char *name)
{
    size_t i = 0;
    while (strcmp(every_gemm[i].name, name) != 0)
        i++;
    return &every_gemm[i];
}

/* An ordinary call of the function: its letter's types, and what the record says then. */
static struct record ordinary(const char *name, const char *compute, struct gemm_call *call)
{
    static char op[64];
    const struct letter *l = letter_of(name);
    *call = arguments(function(name), l, 0);
    op_name(op, name);
    return (struct record){op,        call->m,
                           call->n,   call->k,
                           1,         {l->dtype[0], l->dtype[1], l->dtype[2]},
                           compute,   "NN",
                           call->lda, call->ldb,
                           call->ldc, "0",
                           NULL,      NULL,
                           0,         l->is_complex ? 8 * call->m * call->n * call->k : 0};
}

static void computes(void)
{
    static const struct {
        int mode;
        const char *fp32, *fp64;
    } modes[] = {
        {CUBLAS_DEFAULT_MATH, "fp32", "fp64"},
        {CUBLAS_TENSOR_OP_MATH, "fp16", "fp64"},
        {CUBLAS_PEDANTIC_MATH, "fp32", "fp64"},
        {CUBLAS_TF32_TENSOR_OP_MATH, "tf32", "fp64"},
        {CUBLAS_TF32_TENSOR_OP_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION, "tf32",
         "fp64"},
        {4 /* CUBLAS_FP32_EMULATED_BF16X9_MATH */, "bf16x9", "fp64"},
        {8 /* CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH */, "fp32", "fixedpoint"},
    };
    static const struct {
        int type;
        const char *name;
    } types[] = {
        {CUBLAS_COMPUTE_16F, "fp16"},
        {CUBLAS_COMPUTE_16F_PEDANTIC, "fp16"},
        {CUBLAS_COMPUTE_32F, "fp32"},
        {CUBLAS_COMPUTE_32F_PEDANTIC, "fp32"},
        {CUBLAS_COMPUTE_32F_FAST_16F, "fp16"},
        {CUBLAS_COMPUTE_32F_FAST_16BF, "bf16"},
        {CUBLAS_COMPUTE_32F_FAST_TF32, "tf32"},
        {CUBLAS_COMPUTE_64F, "fp64"},
        {CUBLAS_COMPUTE_64F_PEDANTIC, "fp64"},
        {CUBLAS_COMPUTE_32I, "int32"},
        {CUBLAS_COMPUTE_32I_PEDANTIC, "int32"},
        {78 /* CUBLAS_COMPUTE_32F_EMULATED_16BFX9 */, "bf16x9"},
        {79 /* CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT */, "fixedpoint"},
    };
    struct gemm_call call;
    struct record r;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        static const char *const names[] = {"cublasSgemm_v2", "cublasCgemm_v2", "cublasDgemm_v2",
                                            "cublasZgemm_v2", "cublasSgemmEx",  "cublasHgemm"};
        const char *const paces[] = {modes[i].fp32, modes[i].fp32, modes[i].fp64,
                                     modes[i].fp64, "fp32",        "fp16"};
        OK(cublasSetMathMode(handle, (cublasMath_t)modes[i].mode));
        for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++) {
            r = ordinary(names[j], paces[j], &call);
            OK(function(names[j])->call(&call));
            expect(&r);
        }
    }
    OK(cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH));
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        r = ordinary("cublasGemmEx", types[i].name, &call);
        call.computeType = (cublasComputeType_t)types[i].type;
        OK(call_cublasGemmEx(&call));
        expect(&r);
    }
    OK(cudaStreamSynchronize(stream));
}

/* ---- beta ---- */

static void betas(void)
{
    const float complex_one[] = {1, 0}, imaginary[] = {1, 2};
    struct gemm_call call;
    struct record r = ordinary("cublasCgemm_v2", "fp32", &call);
    call.beta = complex_one;
    r.beta = "1";
    OK(call_cublasCgemm_v2(&call));
    expect(&r);
    call.beta = imaginary;
    r.beta = NULL;
    OK(call_cublasCgemm_v2(&call));
    expect(&r);
    OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
    r = ordinary("cublasDgemm_v2", "fp64", &call);
    r.beta = NULL;
    OK(call_cublasDgemm_v2(&call));
    expect(&r);
    OK(cudaStreamSynchronize(stream));
}

/* ---- cublasLt ---- */

struct lt {
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, d;
};

#define SET(_object, _set, _attribute, _type, _value) \
    OK(_set(_object, _attribute, &(_type){_value}, sizeof(_type)))
#define SET_DESC(_desc, _attribute, _type, _value) \
    SET(_desc, cublasLtMatmulDescSetAttribute, _attribute, _type, _value)
#define SET_LAYOUT(_layout, _attribute, _type, _value) \
    SET(_layout, cublasLtMatrixLayoutSetAttribute, _attribute, _type, _value)

/* D(40,48) = A(40,24) B(24,48) */
static struct lt lt_new(cudaDataType type)
{
    struct lt lt;
    cudaDataType scale = type == CUDA_C_32F ? CUDA_C_32F : CUDA_R_32F;
    OK(cublasLtMatmulDescCreate(&lt.desc, CUBLAS_COMPUTE_32F, scale));
    OK(cublasLtMatrixLayoutCreate(&lt.a, type, 40, 24, 50));
    OK(cublasLtMatrixLayoutCreate(&lt.b, type, 24, 48, 51));
    OK(cublasLtMatrixLayoutCreate(&lt.d, type, 40, 48, 52));
    return lt;
}

static struct record lt_record(void)
{
    return (struct record){"LtMatmul", 40,   48, 24, 1,  {"fp32", "fp32", "fp32"},
                           "fp32",     "NN", 50, 51, 52, "0",
                           "none",     NULL, 0,  0};
}

static void lt_call(struct lt lt, const struct record *r)
{
    const float one[] = {1, 0}, zero[] = {0, 0};
    OK(cublasLtMatmul(light, lt.desc, one, a, lt.a, b, lt.b, zero, c, lt.d, c, lt.d, NULL, NULL, 0,
                      stream));
    expect(r);
    OK(cudaStreamSynchronize(stream));
}

static void epilogues(void)
{
    static const struct {
        int value;
        const char *name;
    } rows[] = {
        {CUBLASLT_EPILOGUE_DEFAULT, "none"},
        {CUBLASLT_EPILOGUE_RELU, "relu"},
        {CUBLASLT_EPILOGUE_RELU_AUX, "relu_aux"},
        {CUBLASLT_EPILOGUE_BIAS, "bias"},
        {CUBLASLT_EPILOGUE_RELU_BIAS, "relu_bias"},
        {CUBLASLT_EPILOGUE_RELU_AUX_BIAS, "relu_aux_bias"},
        {CUBLASLT_EPILOGUE_DRELU, "drelu"},
        {CUBLASLT_EPILOGUE_DRELU_BGRAD, "drelu_bgrad"},
        {CUBLASLT_EPILOGUE_GELU, "gelu"},
        {CUBLASLT_EPILOGUE_GELU_AUX, "gelu_aux"},
        {CUBLASLT_EPILOGUE_GELU_BIAS, "gelu_bias"},
        {CUBLASLT_EPILOGUE_GELU_AUX_BIAS, "gelu_aux_bias"},
        {CUBLASLT_EPILOGUE_DGELU, "dgelu"},
        {CUBLASLT_EPILOGUE_DGELU_BGRAD, "dgelu_bgrad"},
        {CUBLASLT_EPILOGUE_BGRADA, "bgrada"},
        {CUBLASLT_EPILOGUE_BGRADB, "bgradb"},
        {1024, "other"},
    };
    struct record r = lt_record();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lt lt = lt_new(CUDA_R_32F);
        SET_DESC(lt.desc, CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t, (uint32_t)rows[i].value);
        r.epilogue = rows[i].name;
        lt_call(lt, &r);
    }
}

/* By row, or in tiles, a matrix has the rows and columns that it has by column. */
static void orders(void)
{
    static const struct {
        int32_t a, b, d;
        const char *letters;
    } rows[] = {
        {CUBLASLT_ORDER_COL, CUBLASLT_ORDER_COL, CUBLASLT_ORDER_COL, NULL},
        {CUBLASLT_ORDER_ROW, CUBLASLT_ORDER_ROW, CUBLASLT_ORDER_ROW, "RRR"},
        {CUBLASLT_ORDER_COL, CUBLASLT_ORDER_ROW, CUBLASLT_ORDER_COL, "CRC"},
        {CUBLASLT_ORDER_COL32, CUBLASLT_ORDER_COL4_4R2_8C, CUBLASLT_ORDER_COL32, "OOO"},
    };
    struct record r = lt_record();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lt lt = lt_new(CUDA_R_32F);
        SET_LAYOUT(lt.a, CUBLASLT_MATRIX_LAYOUT_ORDER, int32_t, rows[i].a);
        SET_LAYOUT(lt.b, CUBLASLT_MATRIX_LAYOUT_ORDER, int32_t, rows[i].b);
        SET_LAYOUT(lt.d, CUBLASLT_MATRIX_LAYOUT_ORDER, int32_t, rows[i].d);
        r.order = rows[i].letters;
        lt_call(lt, &r);
    }
}

/* A transposed factor, stored by row too. */
static void transposed(int32_t order, const char *letters_of_order)
{
    struct lt lt = lt_new(CUDA_R_32F);
    struct record r = lt_record();
    OK(cublasLtMatrixLayoutCreate(&lt.a, CUDA_R_32F, 24, 40, 50));
    SET_LAYOUT(lt.a, CUBLASLT_MATRIX_LAYOUT_ORDER, int32_t, order);
    SET_DESC(lt.desc, CUBLASLT_MATMUL_DESC_TRANSA, int32_t, CUBLAS_OP_T);
    r.trans = "TN";
    r.order = letters_of_order;
    lt_call(lt, &r);
}

static void scalars_elsewhere(void)
{
    static const char *const betas_of_mode[] = {"0", NULL, NULL, "0", "0"};
    struct record r = lt_record();
    for (int32_t mode = 0; mode < 5; mode++) {
        struct lt lt = lt_new(CUDA_R_32F);
        SET_DESC(lt.desc, CUBLASLT_MATMUL_DESC_POINTER_MODE, int32_t, mode);
        r.beta = betas_of_mode[mode];
        lt_call(lt, &r);
    }
}

static void lt(void)
{
    struct lt batched = lt_new(CUDA_R_32F), complex = lt_new(CUDA_C_32F),
              nothing = {NULL, NULL, NULL, NULL};
    struct record r = lt_record();
    const float one = 1;
    epilogues();
    orders();
    transposed(CUBLASLT_ORDER_COL, NULL);
    transposed(CUBLASLT_ORDER_ROW, "RCC");
    scalars_elsewhere();
    SET_LAYOUT(batched.a, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t, 3);
    SET_LAYOUT(batched.b, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t, 3);
    SET_LAYOUT(batched.d, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t, 3);
    SET_DESC(batched.desc, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, int32_t, 78); /* emulated by bf16 */
    r.batch = 3;
    r.compute = "bf16x9";
    lt_call(batched, &r);
    r = lt_record();
    r.dtype[0] = r.dtype[1] = r.dtype[2] = NULL;
    r.flop = INT64_C(8) * 40 * 48 * 24;
    lt_call(complex, &r);
    CHECK(cublasLtMatmul(light, nothing.desc, &one, a, nothing.a, b, nothing.b, &one, c, nothing.d,
                         c, nothing.d, NULL, NULL, 0, stream) != 0);
}

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"every", every}, {"groups", groups}, {"computes", computes}, {"betas", betas}, {"lt", lt}};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
        if (argc != 2 || strcmp(argv[1], scenarios[i].name) != 0)
            continue;
        open_library();
        scenarios[i].run();
        return 0;
    }
    fprintf(stderr, "gemms: no scenario '%s'\n", argc > 1 ? argv[1] : "");
    return 2;
}
