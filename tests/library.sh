#!/bin/sh
# A second vendor library, made of rows and a folder (tests/library), with nothing changed elsewhere:
# a plan calls it beside oneDNN, by a row of the same name, runs and is proved; a program without it
# runs the same bundle by the step's fallback kernel, and says so. Where rows of both fit, the first
# is taken that is accepted, or from -O3 on the faster.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common
about="two libraries: "
two=$BUILD/test/library
"$two" --version | grep -q 'toy 1' && pass || lose "it is not in the table"
cat >"$tmp/m.txt" <<'END'
graph g(%a: u8[N,48], %x: f32[N,64]) -> %p, %q, %r, %s {
  %b: u8[48,40] = weight 0
  %w: f32[64,128] = weight 1
  %p = MatMulInteger(%a, %b)  "bytes"
  %o = MatMul(%x, %w)  "absorbed"
  %q = Relu(%o)        "relu"
  %r = MatMul(%x, %w)  "floats"
  %d: u8[48,40] = weight 2
  %i = MatMulInteger(%a, %d)  "sum"
  %s = Cast(%i) {to=1}  "cast"
}
END
for level in 2 3; do
	"$two" compile -q -O$level --tune none --disable FakeQuantizationToInteger --prove=require \
		--keep "$tmp/parts" "$tmp/m.txt" -o "$tmp/m.twb" \
		2>"$tmp/err" && pass || lose "-O$level: $(cat "$tmp/err")"
	cat "$tmp"/parts/plan/* | tr '{' '\n' |
		sed -n 's/.*"library": "\([a-z]*\)", "row": "\([a-z]*\)".*/\1 \2/p' |
		sort >"$tmp/calls"
	grep -qx 'toy matmul' "$tmp/calls" && pass || lose "-O$level: no call of it: $(cat "$tmp/calls")"
	grep -qx 'toy scaled' "$tmp/calls" && pass || lose "-O$level: no sum of bytes as a float"
	case $("$two" --version) in
	*oneDNN*)
		grep -qx 'onednn matmul' "$tmp/calls" && pass || lose "-O$level: $(cat "$tmp/calls")"
		of_both=$(grep -cx 'toy floats' "$tmp/calls")
		[ "$of_both" = $((level > 2)) ] && pass || lose "-O$level: $(cat "$tmp/calls")"
		;;
	*) skip 2 oneDNN ;;
	esac
	"$two" run -q --self-test "$tmp/m.twb" >"$tmp/out" 2>&1 &&
		"$two" run -q --prove "$tmp/m.twb" >"$tmp/out" 2>&1 && pass ||
		lose "run: $(cat "$tmp/out")"
	"$tw" run --self-test "$tmp/m.twb" >"$tmp/out" 2>&1 && pass || lose "without it: $(cat "$tmp/out")"
	grep -q "knows no vendor library 'toy'" "$tmp/out" && pass || lose "it is not said: $(cat "$tmp/out")"
done
finish
