/* SPDX-License-Identifier: MIT
 *
 * Sheet of what the ranks ran with: variables and versions.
 */
#include "analysis/settings.h"
#include "report/analyze_sheets.h"
#include "report/sheet.h"

void sheet_of_settings(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"name", "setting", SHEET_TEXT, 40},
        {"value", "value", SHEET_TEXT, 48},
        {"ranks", "ranks", SHEET_COUNT, 0},
    };
    struct settings settings;
    sheet_init(s, "settings", "Settings and versions, as recorded", SHEET_COLUMNS(columns));
    s->off_page = true;
    settings_init(&settings, a->run);
    for (size_t i = 0; i < settings.n; i++) {
        sheet_text(s, settings.list[i].name);
        sheet_text(s, settings.list[i].value);
        sheet_number(s, (double)settings.list[i].ranks);
    }
    settings_release(&settings);
}
