# SPDX-License-Identifier: MIT
# The real profiles of six jobs in one folder are six runs; each is read by the name of any of its files as if
# it were alone.
traces=$SHARED/data/traces
[[ -n $SHARED && -d $traces/param ]] || { echo "no ../shared data"; exit 77; }
mkdir all alone
tar xzf "$traces"/param/dlrm_kineto.tar.gz -C alone
find alone -name '*.json' -exec ln -s "$PWD"/{} all \;
for file in "$traces"/{hta,tracelens}/{*/,}*.json.gz "$traces"/param/linear_kineto.json.gz; do
    [[ -e $file ]] && ln -s "$file" all/"$(basename "$(dirname "$file")")_$(basename "$file")"
done
"$SPECTER" analyze --full all 2>&1 >/dev/null | grep -o '[0-9]* other runs\|; .*is read.*'
figures() { "$SPECTER" analyze --full "$@" --format csv 2>/dev/null | md5sum; }
for name in nccl_parser_config_nccl_data.json.gz param_linear_kineto.json.gz; do
    [[ $(figures all --run $name) == "$(figures all/$name)" ]] || echo "$name differs from itself alone"
done
worker=$(cd all && echo worker3_*)
[[ $(figures all --run "$worker") == "$(figures alone)" ]] || echo "$worker: the 8 ranks differ from themselves alone"
