# The recorder leaves in examples/traces what the test of that folder wants, and that test sees what
# is not.
. "$ROOT/tests/cli/examples/stand_in.bash"
. "$ROOT/tests/gpu/fixture.bash"
"$ROOT/tests/gpu/run.sh" -o out examples >said || tail -n 30 said
grep -x 'passed examples' said || cat said
grep -c 'replayed on its own GPU' out/report.md
cd out/examples
du -b ./*/* | awk '{ n = split($2, part, "/"); print part[2] "/" part[n] ($1 < 100000 ? "" : " is large") }' | sort
grep -h '^- ranks' ./*/README.md
grep -c 'stand-ins' gpt_2ranks/README.md

# spoilt COMMAND: gpt_2ranks as a folder that COMMAND changes must not please. Times count from the first of all
# ranks, which may be the one that a command takes away: what else is not scrubbed then is left out.
spoilt() {
    local moved='not scrubbed'
    [[ $1 != *secret* ]] || moved='^$'

    rm -rf spoilt
    cp -r gpt_2ranks spoilt
    (cd spoilt && eval "$1")
    echo "== $1"
    fixture spoilt | sed 's/: {.*//; s/[0-9]* bytes, /more bytes, /' | grep -v "$moved" | uniq
    [[ ${PIPESTATUS[0]} == 1 ]] || echo "nothing was seen"
}
spoilt 'rm README.md'
spoilt 'echo "by alice@corp.example in /home/alice" >>README.md'
spoilt 'rm *rank1*'
spoilt 'head -c 1000000 /dev/urandom >noise'
spoilt 'gunzip *rank0*.gz; sed -i "s/example1/secret-job/" *rank0*'
spoilt 'gunzip *rank0*.gz; echo "{" >>*rank0*.jsonl'
spoilt 'gunzip *.gz; sed -i "/\"nccl\"/d" *rank1*'

# The README's session is renewed from such a recording, and stays as it is the second time.
rm -rf spoilt
cd ../..
cp "$ROOT/README.md" .
"$ROOT/scripts/readme-session.sh" README.md out/examples
sed -n '/^```console/,/^```$/p' README.md | grep -E '^\$|^specter:|^1 rank|bound|a step, recorded|^More'
sed -n '/^The recording is real/,/^$/p' README.md
cp README.md once
"$ROOT/scripts/readme-session.sh" README.md out/examples
diff once README.md
