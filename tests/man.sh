#!/bin/sh
# The man page names every verb, option and list that the program has, and nothing else.
. tests/common
plain_only texts

# check WHAT: the two lists are equal
check() {
	sort -u "$tmp/$1.program" >"$tmp/program"
	sort -u "$tmp/$1.page" >"$tmp/page"
	if [ -s "$tmp/program" ] && cmp -s "$tmp/program" "$tmp/page"; then
		pass
	else
		lose "$1 of the program (-) and of docs/tilewright.1 (+):"
		diff -u "$tmp/program" "$tmp/page" | grep '^[-+][^-+]'
	fi
}

sed 's/\\f[A-Z]//g; s/\\-/-/g' docs/tilewright.1 >"$tmp/text"
section() { awk -v s="$1" '$1 == ".SH" { p = $2 == s; next } p' "$tmp/text"; }

"$tw" --help | sed -n '/^verbs/,/^$/s/^  \([a-z-]*\) .*/\1/p' >"$tmp/verbs.program"
section VERBS | sed -n 's/^\.BI \([a-z-]*\) .*/\1/p' >"$tmp/verbs.page"
check verbs

while read -r verb; do
	"$tw" "$verb" --help all | sed -n '/^options:/,$p' | grep -o -- '^ *\(-[A-Za-z], \)\{0,1\}--[a-z-]*' |
		grep -oE -- '-[A-Za-z]\b|--[a-z-]+'
done <"$tmp/verbs.program" >"$tmp/options.program"
section OPTIONS | sed -n 's/^\.B "\(-.*\)"/\1/p' | tr ',' '\n' |
	grep -oE -- '^ ?(-[A-Za-z]\b|--[a-z-]+)' | tr -d ' ' >"$tmp/options.page"
check options

"$tw" list --json | sed -n 's/.*"name":	"\([a-z]*\)".*/\1/p' >"$tmp/lists.program"
section VERBS | grep -o 'knows: [a-z, ]*\.' | sed 's/knows: //; s/ or /, /; s/\.//' | tr -d ' ' |
	tr ',' '\n' >"$tmp/lists.page"
check lists

"$tw" --help | sed -n '/^exit codes/,$p' | grep -o '[0-9] ' >"$tmp/codes.program"
section EXIT | grep -o '^[0-9] ' >"$tmp/codes.page"
check codes

finish
