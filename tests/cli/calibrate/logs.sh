# SPDX-License-Identifier: MIT
# A log of nccl-tests is read as it is: as the table that `bench report` makes of its rows out of place.
log=$TESTDATA/nccl_tests/one_nic.log
hardware=(--gpu h100_sxm --network dgx_h100_400g)
"$SPECTER" bench report "$log" "${hardware[@]}" --format csv | awk -F, '$7 != 1' >log.csv
"$SPECTER" calibrate log.csv "${hardware[@]}" -o by_table.json >/dev/null
"$SPECTER" calibrate "$log" -o by_log.json 2>&1 >/dev/null | sed "s|$TESTDATA/||"
cmp by_table.json by_log.json && echo same
# Where it names no GPU, or one that is not known.
grep -v '^#  Rank' "$log" >unnamed.log
sed 's/NVIDIA H100 80GB HBM3/NVIDIA X9000/' "$log" >unknown.log
for each in unnamed unknown; do
    "$SPECTER" calibrate $each.log -o mine.json 2>&1
    "$SPECTER" calibrate $each.log "${hardware[@]}" -o $each.json >/dev/null
    cmp by_table.json $each.json && echo same
done
# A row in place has no say beside one out of place; a wrong result and calls of one root do not count.
sed '27s/  0  /  3  /' "$log" >wrong.log
"$SPECTER" validate wrong.log "${hardware[@]}" --rows rows.csv >/dev/null
tail -n +2 rows.csv | cut -d, -f3,4 | sort | uniq -c
sed 's/all_reduce_perf/broadcast_perf/' "$log" >broadcast.log
"$SPECTER" validate broadcast.log "${hardware[@]}" 2>&1 | tail -n 3
# A damaged row is said, and the others serve.
sed '38s/ 0  .*//; 38s/[0-9.]*$//' "$log" >cut.log
"$SPECTER" calibrate cut.log "${hardware[@]}" -o cut.json 2>&1 >/dev/null
echo "status $?"
