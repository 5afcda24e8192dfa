/* SPDX-License-Identifier: MIT
 *
 * Kernels, the framework's operations, and the roofline, counted by hand.
 */
#include "made_analysis.h"

static struct op *named(struct run *run, const char *name, const char *caller, int64_t start,
                        int64_t dur)
{
    struct op *op = device_op(run, 0, 1, start - 10, start - 5, start, start + dur);
    op->name = intern_add(&run->names, name, strlen(name));
    op->caller = intern_add(&run->names, caller, strlen(caller));
    return op;
}

TEST(work_by_name_kind_and_length)
{
    struct run run;
    struct analysis a;
    const struct top_row *row;
    device_run(&run, 1);
    named(&run, "sgemm_128", "aten::mm", 0, 1000);
    named(&run, "sgemm_128", "aten::mm", 10000, 4000);
    named(&run, "sgemm_128", "aten::mm", 20000, 7000);
    named(&run, "softmax", "", 30000, 9999);
    named(&run, "softmax", "aten::softmax", 50000, 10000);
    named(&run, "copy", "aten::copy_", 70000, 500)->class = OP_MEMORY;
    device_analyze(&a, &run);
    row = &a.work.top[0];
    CHECK_STR(row->name, "softmax");
    CHECK_INT(row->kind, SPECTER_KERNEL_REDUCTION);
    row = &a.work.top[1];
    CHECK_STR(row->name, "sgemm_128");
    CHECK_INT((int64_t)row->count, 3);
    CHECK_DOUBLE(row->total_ns, 12000, 0);
    CHECK_DOUBLE(row->min_ns, 1000, 0);
    CHECK_DOUBLE(row->max_ns, 7000, 0);
    CHECK_DOUBLE(row->std_ns, 3000, 1e-12); /* -3000 0 3000 over 2 */
    CHECK(isnan(a.work.top[2].std_ns));
    CHECK_INT((int64_t)a.work.kinds[WORK_MEMORY].count, 1);
    CHECK_DOUBLE(a.work.kinds[SPECTER_KERNEL_GEMM].total_ns, 12000, 0);
    /* below 1 us, 2, 5, 10, 20: a copy is no kernel; a bound is not below itself */
    CHECK_INT((int64_t)a.work.lengths[0].count, 0);
    CHECK_INT((int64_t)a.work.lengths[1].count, 1);
    CHECK_INT((int64_t)a.work.lengths[2].count, 1);
    CHECK_INT((int64_t)a.work.lengths[3].count, 2);
    CHECK_INT((int64_t)a.work.lengths[4].count, 1);
    CHECK_INT((int64_t)work_short(&a.work).count, 4);
    CHECK_DOUBLE(work_short(&a.work).total_ns, 12000 + 9999, 0);
    CHECK_INT((int64_t)work_kernels(&a.work).count, 5);
    device_done(&a, &run);
}

TEST(operations_add_up)
{
    struct run run;
    struct analysis a;
    const struct framework_ops *o = &a.work.framework_ops;
    device_run(&run, 1);
    named(&run, "k1", "aten::mm", 0, 300);
    named(&run, "k2", "aten::mm", 1000, 100);
    named(&run, "k1", "", 2000, 50);
    named(&run, "k3", "aten::copy_", 3000, 70)->class = OP_MEMORY;
    device_analyze(&a, &run);
    CHECK_INT((int64_t)o->count, 3);
    CHECK(framework_ops_known(o));
    CHECK_STR(o->list[0].name, "aten::mm");
    CHECK_INT((int64_t)o->list[0].count, 2);
    CHECK_DOUBLE(o->list[0].total_ns, 400, 0);
    CHECK_DOUBLE(o->list[0].max_ns, 300, 0);
    CHECK_DOUBLE(o->list[1].memory_ns, 70, 0);
    CHECK(o->list[2].name == NULL);
    CHECK_DOUBLE(o->total_ns, 520, 0);
    device_done(&a, &run);
    device_run(&run, 1);
    named(&run, "k1", "", 0, 300);
    device_analyze(&a, &run);
    CHECK(!framework_ops_known(o));
    device_done(&a, &run);
}

static struct op *product(struct run *run, int64_t start, int64_t dur, uint32_t m, uint32_t n,
                          uint32_t k, enum specter_dtype out)
{
    struct op *op = device_op(run, 0, 1, start - 10, start - 5, start, start + dur);
    device_gemm(op, SPECTER_FP16, m, n, k)->gemm.dtype_c = (uint8_t)out;
    op->gemm.batch = 2;
    return op;
}

/* 4096^3 x 2 in fp16: 2 * 2 * 4096^3 flops, 2 * 3 * 2 * 4096^2 bytes: bound by compute. 8 x 4096
 * x 4096, fp32 out: 2 * (2*8*4096 + 2*4096^2 + 4*8*4096) bytes: by memory. */
TEST(roofline_of_products)
{
    const struct gpu_profile *gpu = gpu_profile_find("h100_sxm", NULL);
    double flops = 4 * pow(4096, 3),
           bytes = 2. * (2 * 8 * 4096. + 2 * 4096. * 4096 + 4 * 8 * 4096.);
    struct run run;
    struct analysis a;
    const struct gemm_row *big, *flat, *untold;
    device_run(&run, 1);
    run.ranks[0].gpu = MADE_H100;
    product(&run, 0, 400000, 4096, 4096, 4096, SPECTER_FP16);
    product(&run, 500000, 600000, 4096, 4096, 4096, SPECTER_FP16);
    product(&run, 2000000, 50000, 8, 4096, 4096, SPECTER_FP32);
    product(&run, 3000000, 10000, 16, 16, 16, SPECTER_DTYPE_UNKNOWN);
    device_analyze(&a, &run);
    big = &a.work.gemms[0];
    CHECK_INT((int64_t)big->limited, 2);
    CHECK_DOUBLE(big->limited_ns, 1000000, 0);
    CHECK_DOUBLE(big->bytes, 2 * (2. * 3 * 2 * 4096 * 4096), 1e-12);
    CHECK_DOUBLE(big->limit_ns, 2 * flops / (gpu->fp16_tflops * 1e3), 1e-12);
    CHECK(big->flops_ns > big->bytes_ns);
    flat = &a.work.gemms[1];
    CHECK_DOUBLE(flat->bytes, bytes, 1e-12);
    CHECK_DOUBLE(flat->limit_ns, bytes / gpu->mem_GBps, 1e-12);
    CHECK(flat->bytes_ns > flat->flops_ns);
    untold = &a.work.gemms[2];
    CHECK_INT((int64_t)untold->timed, 1);
    CHECK_INT((int64_t)untold->limited, 0);
    device_done(&a, &run);
    device_run(&run, 1);
    run.ranks[0].gpu = "Some GPU";
    product(&run, 0, 400000, 4096, 4096, 4096, SPECTER_FP16);
    device_analyze(&a, &run);
    CHECK_INT((int64_t)a.work.gemms[0].limited, 0);
    device_done(&a, &run);
}
