# SPDX-License-Identifier: MIT
# Every table and every profile fits a terminal of 80 columns.
names=$("$SPECTER" profiles --json | sed -n 's/.*"name":[^"]*"\(.*\)",/\1/p')
for name in "" $names; do
    "$SPECTER" profiles $name
done > all.txt
grep -c '^0: the hardware has no such thing' all.txt
awk 'length > 80' all.txt
