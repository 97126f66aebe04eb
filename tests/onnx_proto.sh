#!/bin/sh
# usage: tests/onnx_proto.sh     proto/onnx.proto holds what the ONNX specification says, and no more
#
# Compares "message field number" of proto/onnx.proto with the recorded facts, and with the file of
# Debian's libonnx-dev where that is installed (make deps), or another that ONNX_PROTO names. (Their
# IR_VERSION is an alias of the newest version.)
cd "$(dirname "$0")/.." || exit 1
. tests/common

# "message.inner name number", one line for each field and enum value; a oneof is no level.
facts() {
	awk 'function number(text, value, i) { # not all of awk reads 0x
		gsub(/[ \t]/, "", text)
		if (text !~ /^0x/) return text + 0
		for (i = 3; i <= length(text); i++)
			value = value * 16 + index("0123456789abcdef", tolower(substr(text, i, 1))) - 1
		return value
	}
	{ sub(/\/\/.*/, "") }
	/^ *(message|enum|oneof) / { kind[++depth] = $1; name[depth] = $2; next }
	/^ *}/ { depth--; next }
	/=/ && depth {
		gsub(/\[.*\]|;/, ""); split($0, side, "="); n = split(side[1], word, " ")
		if (word[1] == "reserved") next
		path = name[1]; for (i = 2; i <= depth; i++) if (kind[i] != "oneof") path = path "." name[i]
		print path, word[n], number(side[2])
	}' "$1" | sort
}

grep -v '^#' tests/onnx_proto.facts | cut -d' ' -f1-3 | sort >"$tmp/known"
facts proto/onnx.proto >"$tmp/ours"
[ "$(wc -l <"$tmp/ours")" -ge 200 ] || { echo "proto/onnx.proto: fewer than 200 facts found"; exit 1; }
if ! diff "$tmp/known" "$tmp/ours" >"$tmp/diff"; then
	echo "proto/onnx.proto differs from tests/onnx_proto.facts (< recorded, > ours):"
	cat "$tmp/diff"
	exit 1
fi
compared="; Debian's file is not here (package libonnx-dev)"
for debian in /usr/include/onnx/onnx.proto build/deps/usr/include/onnx/onnx.proto $ONNX_PROTO; do
	[ -f "$debian" ] || continue
	compared=", and with $debian"
	facts "$debian" | grep -v ' IR_VERSION ' | comm -23 - "$tmp/ours" >"$tmp/missing"
	[ -s "$tmp/missing" ] && { echo "in $debian and not in ours:"; cat "$tmp/missing"; exit 1; }
done
echo "onnx proto: $(wc -l <"$tmp/ours") facts agree, $(grep -c ' 1\.12$' tests/onnx_proto.facts) of them from ONNX 1.12$compared"
