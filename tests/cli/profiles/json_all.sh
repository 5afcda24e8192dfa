# SPDX-License-Identifier: MIT
# Both arrays, all profiles, the unit in each key.
"$SPECTER" profiles --json > all.json
head -3 all.json
grep -c "\"name\"" all.json
grep -o "\"[a-z0-9_]*_\(GBps\|Gbps\|us\|tflops\|GB\|MB\|W\|MHz\)\"" all.json | sort -u | wc -l
