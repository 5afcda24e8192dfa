# SPDX-License-Identifier: MIT
# A log of nccl-tests becomes a table by `bench report`; messages in it are messages there, too.
hardware=(--gpu h100_sxm --network dgx_h100_400g)
"$SPECTER" bench report "$TESTDATA/nccl_tests/one_nic.log" "${hardware[@]}" --format csv >log.csv
"$SPECTER" validate log.csv "${hardware[@]}" --rows rows.csv >/dev/null
head -n 3 rows.csv | cut -d, -f2,4-14
sed 's/,AllReduce,/,Send,/' log.csv >messages.csv
"$SPECTER" validate messages.csv "${hardware[@]}" --rows rows.csv >/dev/null
head -n 2 rows.csv | cut -d, -f2,4-14
"$SPECTER" calibrate log.csv "${hardware[@]}" -o mine.json >/dev/null 2>&1
echo "calibrate: status $?"
