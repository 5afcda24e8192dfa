# SPDX-License-Identifier: MIT
#
# Tables of Markdown as indented text with aligned columns, the first to the left, the others to the right; other
# lines pass. For pages of figures that scripts write.
/^[|]/ { line[++n] = $0; next }
n { flush_table() }
{ print }
END { if (n) flush_table() }

function flush_table(    i, j, columns, cell, cells, text, total) {
    split("", width)
    for (i = 1; i <= n; i++) {
        if (line[i] ~ /^[| :-]+$/) continue
        gsub(/\\</, "<", line[i])
        columns = split(line[i], cells, / *[|] */) - 2
        for (j = 1; j <= columns; j++) {
            cell[i, j] = cells[j + 1]
            if (length(cells[j + 1]) > width[j]) width[j] = length(cells[j + 1])
        }
    }
    for (i = 1; i <= n; i++) {
        if (line[i] ~ /^[| :-]+$/) {
            total = 2 * (columns - 1)
            for (j = 1; j <= columns; j++) total += width[j]
            text = sprintf("%" total "s", "")
            gsub(/ /, "-", text)
            print "    " text
            continue
        }
        text = sprintf("    %-" width[1] "s", cell[i, 1])
        for (j = 2; j <= columns; j++) text = text sprintf("  %" width[j] "s", cell[i, j])
        sub(/ +$/, "", text)
        print text
    }
    n = 0
}
