/* SPDX-License-Identifier: MIT */
#include "report/findings_rules.h"

#include "base/buf.h"
#include "report/table.h"

#include <math.h>

#define GEMM_SHARE_MIN 0.20 /* of the span: less GEMM time than this is not judged */

bool rule_gemm_efficiency(const struct analysis *a, double threshold, struct finding *f,
                          struct buf *b)
{
    struct gemm_sum gemms = work_gemms(&a->work);
    double share = gemms.total_ns / (double)a->total.recorded_ns;
    if (!(share >= GEMM_SHARE_MIN))
        return false;
    f->value = gemms.flops / gemms.peak_flops;
    f->weight = share * (1 - f->value);
    if (f->value >= threshold)
        return false;
    buf_printf(b,
               "Slow GEMMs: they reach " RATE_TEXT " of the dense peak (%.1f of %.0f TFLOPS) and "
               "take " RATE_TEXT " of the recorded time.",
               percent(f->value), gemms.flops / gemms.total_ns / 1e3,
               gemms.peak_flops / gemms.total_ns / 1e3, percent(share));
    return true;
}

bool rule_gemm_peak(const struct analysis *a, double threshold, struct finding *f, struct buf *b)
{
    const struct gemm_row *worst = NULL;
    size_t n = 0;
    for (size_t i = 0; i < a->work.ngemms; i++) {
        const struct gemm_row *g = &a->work.gemms[i];
        double ratio = g->tflops / g->peak_tflops;
        if (!(ratio > threshold))
            continue;
        n++;
        if (worst == NULL || ratio > f->value) {
            worst = g;
            f->value = ratio;
        }
    }
    if (worst == NULL)
        return false;
    f->weight = 0;
    buf_printf(b,
               "Impossible GEMMs: %zu shape%s faster than the dense peak (%ux%ux%u: %.1f of %.0f "
               "TFLOPS): a recorded time or shape is wrong.",
               n, n == 1 ? " runs" : "s run", worst->m, worst->n, worst->k, worst->tflops,
               worst->peak_tflops);
    return true;
}
