# SPDX-License-Identifier: MIT
# zsh and fish read their completions, and fish offers what it should.
command -v zsh >/dev/null && command -v fish >/dev/null || { echo "no zsh or no fish"; exit 77; }
"$SPECTER" help --completion zsh >_specter
"$SPECTER" help --completion fish >specter.fish
zsh -n _specter
zsh -fc 'autoload -Uz compinit && compinit -u -d ./dump; fpath=(. $fpath); autoload -Uz _specter; source ./_specter; (( $+functions[_specter] )) && echo zsh: loaded'
fish -n specter.fish
fish --no-config -c 'source specter.fish; complete -C "specter analyze --ta"; complete -C "specter swe"; complete -C "specter replay --gpu mi300"' |
    cut -f 1
