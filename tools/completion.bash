# Completion of tilewright's verbs, options and devices, as its own --help and lists say them; files
# elsewhere. bash finds it where `make install` puts it; zsh by bashcompinit.
_tilewright() {
	local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} tw=${COMP_WORDS[0]} words=
	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ] || [ "$before" = help ]; then
		words=$("$tw" --help 2>/dev/null | sed -n '/^verbs/,/^$/s/^  \([a-z-]*\) .*/\1/p')
	elif [ "$before" = --target ]; then
		words=$("$tw" list devices 2>/dev/null | sed -n 's/^\(cpu:[^ ]*\|cuda:[^ ]*\) .*/\1/p')
	elif [[ $cur == -* ]]; then
		words=$("$tw" "${COMP_WORDS[1]}" --help all 2>/dev/null |
			sed -n '/^options:/,$s/^ *\(-[A-Za-z], \)\{0,1\}\(--[a-z0-9-]*\).*/\2/p')
	fi
	[ -z "$words" ] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
# A colon ends a word for bash, and devices have one.
COMP_WORDBREAKS=${COMP_WORDBREAKS//:/}
complete -o default -F _tilewright tilewright
