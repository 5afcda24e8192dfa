/* SPDX-License-Identifier: MIT
 *
 * The words of --jitter, --straggler, --slow-link and --failed-nic.
 */
#include "sim/whatif/whatif.h"

#include "base/opt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SLOW_MOST 1000.0
#define VALUE_MOST 32 /* characters of a number */

int whatif_parse_jitter(const char *text, struct whatif_opts *out, struct err *e)
{
    size_t n = strlen(text);
    char number[VALUE_MOST];
    double percent;
    out->jitter = strcmp(text, "trace") == 0 ? JITTER_TRACE : JITTER_OFF;
    out->cv = 0;
    if (out->jitter == JITTER_TRACE || strcmp(text, "off") == 0)
        return 0;
    n -= n > 0 && text[n - 1] == '%';
    snprintf(number, sizeof number, "%.*s", (int)(n < VALUE_MOST ? n : VALUE_MOST - 1), text);
    if (n >= VALUE_MOST || opt_parse_double("--jitter", number, &percent, NULL) < 0 ||
        !(percent > 0 && percent <= 100))
        return err_set(e, ERR_USAGE, "--jitter '%s': off, trace, or a percentage up to 100", text);
    out->jitter = JITTER_GIVEN;
    out->cv = percent / 100;
    return 0;
}

/* The form of each option: a place and an amount. */
struct form {
    const char *option, *place, *amount;
    enum fault_kind kind;
    double usual; /* the amount, where it may be left out; NaN: it may not */
    const char *example;
};

static const struct form forms[] = {
    {"straggler", "rank", "slow", FAULT_SLOW_RANK, NAN, "rank=3,slow=1.2 or node=0,slow=1.2"},
    {"straggler", "node", "slow", FAULT_SLOW_NODE, NAN, "rank=3,slow=1.2 or node=0,slow=1.2"},
    {"slow-link", "node", "slow", FAULT_SLOW_LINK, NAN, "node=0,slow=2"},
    {"failed-nic", "node", "count", FAULT_NO_NIC, 1, "node=0 or node=0,count=2"},
};

/* Returns whether `text` is KEY=VALUE, up to a comma or its end. The value goes to
 * out[VALUE_MOST]. */
static bool take(const char **text, const char *key, char *out)
{
    size_t n = strlen(key), length;
    if (strncmp(*text, key, n) != 0 || (*text)[n] != '=')
        return false;
    length = strcspn(*text + n + 1, ",");
    if (length == 0 || length >= VALUE_MOST)
        return false;
    memcpy(out, *text + n + 1, length);
    out[length] = '\0';
    *text += n + 1 + length;
    *text += (*text)[0] == ',' && (*text)[1] != '\0';
    return true;
}

static bool fits(const struct form *form, const char *text, struct whatif_fault *out)
{
    char place[VALUE_MOST], amount[VALUE_MOST];
    double value = form->usual;
    *out = (struct whatif_fault){.kind = form->kind, .slow = 1, .count = 1, .text = text};
    if (!take(&text, form->place, place) || opt_parse_i64("", place, &out->where, NULL) < 0 ||
        out->where < 0)
        return false;
    if (*text != '\0' &&
        (!take(&text, form->amount, amount) || opt_parse_double("", amount, &value, NULL) < 0))
        return false;
    if (*text != '\0' || !(value >= 1 && value <= SLOW_MOST) ||
        (form->kind != FAULT_NO_NIC && value == 1))
        return false;
    out->count = form->kind == FAULT_NO_NIC ? (int64_t)value : 1;
    out->slow = form->kind == FAULT_NO_NIC ? 1 : value;
    return form->kind != FAULT_NO_NIC || (double)out->count == value;
}

int whatif_parse_fault(const char *option, const char *text, struct whatif_fault *out,
                       struct err *e)
{
    const char *example = "";
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (strcmp(forms[i].option, option) != 0)
            continue;
        if (fits(&forms[i], text, out))
            return 0;
        example = forms[i].example;
    }
    return err_set(e, ERR_USAGE, "--%s '%s': write %s", option, text, example);
}
