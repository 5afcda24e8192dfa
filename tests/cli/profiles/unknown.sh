# SPDX-License-Identifier: MIT
"$SPECTER" profiles h1
echo $?
"$SPECTER" profiles gpu dgx_h100_400g
echo $?
"$SPECTER" profiles network h100_sxm --json
echo $?
"$SPECTER" profiles gpu h100_sxm a100_sxm
echo $?
