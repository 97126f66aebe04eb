#!/bin/sh
# usage: tests/explained.sh [-a]    explain answers as in tests/explained/answers; -a accepts new answers
#
# By our kernels alone, for one row of the table of devices and one thread, answers are the same on all
# machines. A line "## MODEL OPTIONS" is what is asked, up to the next such line the answer.
# shellcheck disable=SC2013,SC2015  # names have no spaces
. tests/common
plain_only texts
want x86-64
answers=tests/explained/answers

# Columns stand two blanks apart, and rewrites have no numbers (N): a new pass would shift them.
for model in $(sed -n 's/^## \([^ ]*\) .*/\1/p' $answers | sort -u); do
	"$zoo" "$model" -o "$tmp/$model.onnx" &&
		"$tw" compile -q -O2 --no-vendor --prove none --target cpu:x86-64-v3 "$tmp/$model.onnx" \
			-o "$tmp/$model.twb" || lose "compile $model"
done

grep '^# ' $answers >"$tmp/seen"
grep '^## ' $answers | while read -r _ model options; do
	echo "## $model $options"
	# shellcheck disable=SC2086  # words
	"$tw" explain "$tmp/$model.twb" "$tmp/$model.onnx" --threads 1 $options </dev/null 2>&1
done | sed -E "s|$tmp/||; s/ *$//; s/([^ ])  +/\\1  /g; s/^([^ ]+)  [0-9]+  ([A-Z])/\\1  N  \\2/" >>"$tmp/seen"
if [ "$1" = -a ]; then cp "$tmp/seen" $answers; fi
for asked in $(grep -n '^## ' $answers | cut -d: -f1); do
	question=$(sed -n "${asked}p" $answers)
	answer() { awk -v q="$question" '/^## / { p = $0 == q } p' "$1"; }
	answer $answers >"$tmp/wanted"
	answer "$tmp/seen" >"$tmp/answer"
	if cmp -s "$tmp/wanted" "$tmp/answer"; then pass; else lose "$(diff -u "$tmp/wanted" "$tmp/answer" | tail -n +3)"; fi
done
finish
