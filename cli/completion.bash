# Completes `flotilla` and the fleet's programs in bash; in zsh behind `autoload -U bashcompinit && bashcompinit`.
# What there is to complete is asked of the program itself, so it is that of the version which is installed.

# Flags, as --help lists them: in its first columns, where its text never stands.
_flotilla_flags() {
	"$@" --help 2>/dev/null | sed -nE 's/^ {2,6}(-., )?(--[a-z][a-z-]*).*/\2/p'
}

_flotilla_commands() {
	"$1" --help 2>/dev/null | sed -nE 's/^  ([a-z]+) .*/\1/p'
	echo help
}

# The words behind a command that has several: those in small letters that its usage begins an alternative with.
_flotilla_verbs() {
	"$@" --help 2>/dev/null | sed -n '1s/.*\[OPTION\.\.\.\]//p; 1d; /^  /!q; p' | tr -d '\n[]' | tr '|' '\n' |
		sed -nE 's/^ *([a-z][a-z-]*)( .*)?$/\1/p'
}

_flotilla() {
	local word=${COMP_WORDS[COMP_CWORD]} words=
	if ((COMP_CWORD == 1)) || { ((COMP_CWORD == 2)) && [[ ${COMP_WORDS[1]} == help ]]; }; then
		words=$(_flotilla_commands "$1")
	elif [[ $word == -* ]]; then
		words=$(_flotilla_flags "$1" "${COMP_WORDS[1]}")
	elif ((COMP_CWORD == 2)); then
		words=$(_flotilla_verbs "$1" "${COMP_WORDS[1]}")
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

_flotilla_program() {
	local word=${COMP_WORDS[COMP_CWORD]} words=
	[[ $word != -* ]] || words=$(_flotilla_flags "$1")
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -o default -F _flotilla flotilla
complete -o default -F _flotilla_program flotilla-broker flotilla-coordinator flotilla-hub flotilla-worker-model \
	flotilla-worker-tools
