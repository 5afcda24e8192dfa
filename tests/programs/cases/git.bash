# git: commits, a merge, a clone, garbage collection, a hook.
prepare() { need git; }

program() {
    export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=nobody GIT_AUTHOR_EMAIL=n@localhost
    export GIT_COMMITTER_NAME=nobody GIT_COMMITTER_EMAIL=n@localhost
    export GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z'
    git init -q -b main repository
    cd repository || return
    printf '#!/bin/sh\necho the hook runs\n' >.git/hooks/post-commit
    chmod +x .git/hooks/post-commit
    seq 100 >numbers
    git add numbers
    git commit -q -m one
    git checkout -q -b other
    sed -i 's/^50$/fifty/' numbers
    git commit -q -a -m two
    git checkout -q main
    echo 101 >>numbers
    git commit -q -a -m three
    git merge -q --no-edit other
    git log --graph --oneline --stat
    git -c gc.autoDetach=false gc -q
    git fsck --full
    git clone -q . ../clone
    git -C ../clone rev-parse HEAD
    git show no-such-commit
    echo "status $?"
}
# The index holds inode numbers and times.
normalize() { sed -E 's,^[0-9]+ ([0-9]+ .*/(index|FETCH_HEAD))$,\1,; s,tmp_obj_[A-Za-z0-9]+,tmp_obj,; s,tmp_pack_[A-Za-z0-9]+,tmp_pack,'; }
