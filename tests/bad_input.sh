#!/bin/sh
# Files that are wrong: one clear sentence, the right exit code, no crash, nothing half-written.
# shellcheck disable=SC2015,SC2059,SC2012  # pass cannot fail; octal bytes; our own file names
. tests/common

# refused WHAT CODES COMMAND...: the exit code is one of CODES, with one line on standard error.
refused() {
	what=$1 codes=$2
	shift 2
	"$@" >/dev/null 2>"$tmp/err"
	rc=$?
	case " $codes " in
	*" $rc "*) ;;
	*) lose "$what: exit code $rc, expected $codes: $(head -n 3 "$tmp/err")"; return ;;
	esac
	if [ "$rc" != 0 ] && [ "$(wc -l <"$tmp/err")" != 1 ]; then
		lose "$what: expected one sentence, saw: $(head -n 5 "$tmp/err")"
		return
	fi
	pass
}

cat >"$tmp/model.txt" <<'TEXT'
graph small(%x: f32[N,3,8,8]) -> %y {
  %w: f32[4,3,3,3] = weight 0
  %b: f32[4] = weight 1
  %c = Conv(%x, %w, %b) {pads=[1,1,1,1]}  "conv"
  %r = Relu(%c)                           "relu"
  %p = MaxPool(%r) {kernel_shape=[2,2], strides=[2,2]}  "pool"
  %y = Flatten(%p)                        "flatten"
}
TEXT
model=$tmp/model.onnx
"$tw" optimize -q -O0 "$tmp/model.txt" "$model" || { failed=1; finish; exit; }
size=$(wc -c <"$model")

# 200 places to cut, from a seed; the loop runs in this shell, for the counts.
awk -v n="$size" 'BEGIN { srand(7); for (i = 0; i < 200; i++) print int(rand() * n) }' >"$tmp/places"
while read -r at; do
	head -c "$at" "$model" >"$tmp/cut.onnx"
	refused "cut at $at" "3" "$tw" print "$tmp/cut.onnx"
done <"$tmp/places"

# One byte changed: it may still be a model.
awk -v n="$size" 'BEGIN { srand(8); for (i = 0; i < 200; i++) print int(rand() * n), int(rand() * 256) }' \
	>"$tmp/places"
while read -r at byte; do
	{ head -c "$at" "$model"; printf "\\$(printf %03o "$byte")"; tail -c +"$((at + 2))" "$model"; } \
		>"$tmp/changed.onnx"
	refused "byte $at set to $byte" "0 3 4" "$tw" print "$tmp/changed.onnx"
done <"$tmp/places"

awk 'BEGIN { srand(9); for (i = 0; i < 4000; i++) printf "%c", 1 + int(rand() * 255) }' >"$tmp/random.onnx"
refused "random bytes" "3" "$tw" print "$tmp/random.onnx"
: >"$tmp/empty.onnx"
refused "an empty file" "3" "$tw" print "$tmp/empty.onnx"
refused "a file that is not there" "6" "$tw" print "$tmp/nothing.onnx"
refused "a folder" "6" "$tw" print "$tmp"

# What reads well and still cannot be compiled: check names all of it, compile the first, in its place.
# obstacles CODE COUNT TEXT: of the graph on standard input
obstacles() {
	cat >"$tmp/bad.txt"
	"$tw" optimize -q -O0 "$tmp/bad.txt" "$tmp/bad.onnx" || lose "$3 cannot be written"
	refused "compile: $3" "$1" "$tw" compile -q "$tmp/bad.onnx" -o "$tmp/bad.twb"
	grep -q "^$tmp/bad.onnx: $3" "$tmp/err" && pass || lose "compile says $(cat "$tmp/err"), not $3"
	[ ! -e "$tmp/bad.twb" ] && pass || lose "compile wrote a bundle: $3"
	"$tw" check "$tmp/bad.onnx" >"$tmp/out" 2>&1
	rc=$?
	[ $rc = "$1" ] && grep -q "^$2 obstacle" "$tmp/out" && grep -q "bad.onnx: $3" "$tmp/out" && pass ||
		lose "check: exit code $rc, expected $1 and $2 obstacles: $(cat "$tmp/out")"
}
obstacles 3 2 "input x is f32\[1099511627776,1099511627776\]: too large" <<'TEXT'
graph huge(%x: f32[1099511627776,1099511627776]) -> %y {
  %y = Relu(%x)  "huge"
}
TEXT
obstacles 4 2 'node "draw" (Bernoulli): nothing computes this operator yet' <<'TEXT'
graph functions(%x: f32[4], %s: string[2]) -> %y, %z {
  %y     = Bernoulli(%x)    "draw"
  %z, %n = StringSplit(%s)  "split"
}
TEXT

# A full disk: files of at most one block.
"$tw" optimize -q "$tmp/model.txt" "$tmp/full.onnx" && rm -f "$tmp/full.onnx"
mkdir "$tmp/full"
(
	ulimit -f 0
	"$tw" optimize -q "$tmp/model.txt" "$tmp/full/out.onnx" 2>&1 >/dev/null
	echo $?
) | cat >"$tmp/pipe"
[ "$(wc -l <"$tmp/pipe")" = 2 ] && [ "$(tail -n 1 "$tmp/pipe")" = 6 ] && pass ||
	lose "a full disk: $(cat "$tmp/pipe")"
[ -z "$(ls -A "$tmp/full")" ] && pass || lose "a full disk leaves $(ls -A "$tmp/full")"
# Kernels are compiled elsewhere, and the bundle finds no room: its name is told.
"$tw" compile -q -O0 "$tmp/model.txt" -o "$tmp/small.twb" && rm -f "$tmp/small.twb"
(
	ulimit -f 16
	"$tw" compile -q -O0 "$tmp/model.txt" -o "$tmp/full/out.twb" 2>"$tmp/err"
	[ $? = 6 ]
) && grep -qF "cannot write $tmp/full/out.twb: File too large" "$tmp/err" && pass ||
	lose "a bundle on a full disk: $(cat "$tmp/err")"
mkdir "$tmp/shut" && chmod 555 "$tmp/shut"
[ "$(id -u)" = 0 ] || refused "a folder that cannot be written" "6" \
	"$tw" optimize -q "$tmp/model.txt" "$tmp/shut/out.onnx"

# What check calls fine compiles: it goes through passes, lowering and plans. An extent of forty
# minima, one in the other, nests deeper than a plan takes; parts of it have names.
awk 'BEGIN {
	print "graph g(%x: f32[N]) -> %y { %two: i64[1] = {2} %m0 = Shape(%x)"
	for (i = 0; i < 40; i++) {
		printf "%%c%d: i64[1] = {%d}\n", i, 1000 * (i + 1) + i * i
		printf "%%d%d = Mul(%%m%d, %%two) %%m%d = Min(%%d%d, %%c%d)\n", i, i, i + 1, i, i
	}
	print "%y = ConstantOfShape(%m40) }"
}' >"$tmp/extent.txt"
"$tw" optimize -q -O0 "$tmp/extent.txt" "$tmp/extent.onnx" || lose "the model of a deep extent"
refused "check of a deep extent" 0 "$tw" check "$tmp/extent.onnx"
refused "compile of a deep extent" 0 \
	"$tw" compile -q --prove=require "$tmp/extent.onnx" -o "$tmp/extent.twb"

finish
