# SPDX-License-Identifier: MIT
# Each element is what the command prints for that size alone.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
on="--op all_gather --gpu h100_sxm --network dgx_h100_400g --json"
# shellcheck disable=SC2086  # several words
"$SPECTER" predict collective --bytes 1M:4M --ranks 8,32 $on >many
for ranks in 8 32; do
    for bytes in 1M 2M 4M; do
        # shellcheck disable=SC2086
        "$SPECTER" predict collective --bytes $bytes --ranks $ranks $on
    done
done >one_by_one
python3 - <<'END'
import json
many = json.load(open("many"))
text, singles, at = open("one_by_one").read(), [], 0
while text[at:].strip():
    doc, end = json.JSONDecoder().raw_decode(text[at:].lstrip())
    at = len(text) - len(text[at:].lstrip()) + end
    singles.append(doc)
assert isinstance(many, list) and many == singles, (many, singles)
END
