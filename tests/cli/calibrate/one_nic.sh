# SPDX-License-Identifier: MIT
# A machine with one of eight NICs: at the share that NICs have elsewhere, links within a node hide them, so that no
# row tells it. Left-out rows are predicted by fits that leave it nevertheless.
hardware=(--gpu h100_sxm --network dgx_h100_400g)
"$SPECTER" bench report "$TESTDATA/nccl_tests/one_nic.log" "${hardware[@]}" --format csv >log.csv
"$SPECTER" calibrate log.csv "${hardware[@]}" -o mine.json --params nic_share --full >out
awk '/"nic_share"/ { gsub(",", ""); print ($2 > 0.11 && $2 < 0.13 ? "found" : "missed") }' mine.json
awk '/^  all / { print ($3 > 40 && $(NF - 3) < 10 ? "left-out rows gain" : $0) }' out
