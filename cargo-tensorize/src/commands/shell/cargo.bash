
# `cargo tensorize …`, which is how people type it. What completes the rest of cargo goes on to do so.
_cargo__tensorize_in_cargo() {
    local at
    for (( at = 1; at < COMP_CWORD; at++ )); do
        [[ ${COMP_WORDS[at]} == [-+]* ]] || break
    done
    if (( at < COMP_CWORD )) && [[ ${COMP_WORDS[at]} == tensorize ]]; then
        local before=${COMP_WORDS[COMP_CWORD - 1]}
        local -a COMP_WORDS=(cargo-tensorize "${COMP_WORDS[@]:at + 1}")
        local COMP_CWORD=$(( COMP_CWORD - at ))
        _cargo__tensorize cargo-tensorize "$2" "$before"
    elif [[ -n ${_cargo__tensorize_before-} ]]; then
        "$_cargo__tensorize_before" "$@"
    fi
}

if ! complete -p cargo &> /dev/null; then
    # bash-completion loads cargo's own only when somebody asks for it.
    if declare -F _comp_load > /dev/null; then
        _comp_load cargo &> /dev/null
    elif declare -F _completion_loader > /dev/null; then
        _completion_loader cargo &> /dev/null
    fi
fi
if [[ "$(complete -p cargo 2> /dev/null)" =~ -F\ ([^ ]+) && ${BASH_REMATCH[1]} != _cargo__tensorize_in_cargo ]]; then
    _cargo__tensorize_before=${BASH_REMATCH[1]}
fi
complete -F _cargo__tensorize_in_cargo -o bashdefault -o default cargo
