/* SPDX-License-Identifier: MIT */
#include "report/analyze_sheets.h"

const struct analyze_sheet analyze_sheets[ANALYZE_SHEETS] = {
#define X(name, rows) {#name, rows, sheet_of_##name},
    SHEETS(X)
#undef X
};
