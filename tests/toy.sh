#!/bin/sh
# usage: tests/toy.sh [-a | MODEL...]
#
# A second maker, of a device with 4 KB at hand, that only this test knows: a row and a folder
# (tests/toy), and nothing else. The zoo is compiled for it and proved step by step, each value of
# it, and what is decided is this maker's: kernels are smaller, and have nothing in lanes.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common
tw=$(realpath "${BUILD:-build}/test/toy")

want x86-64

# Those that take seconds with an open batch, so that they are proved at two sizes. -a: all, and as much time for derivations as users
# give them.
quick="squeezenet dcgan bert-tiny"
limit="--config DeriveExpressions.seconds=2" how=--symbolic
# shellcheck disable=SC2046,SC2086  # names without blanks
case $1 in
-a)
	limit="" how=""
	set -- $("$zoo" list | awk '{ print $1 }')
	;;
"") set -- $quick ;;
esac
# shellcheck disable=SC2086  # words
for model; do
	"$zoo" "$model" $how -o "$tmp/m.onnx" || { lose "zoo $model"; continue; }
	"$tw" compile -q --no-vendor --tune none --target cpu:toy --prove require $limit "$tmp/m.onnx" \
		-o "$tmp/m.twb" 2>"$tmp/err" && pass || { lose "compile $model: $(cat "$tmp/err")"; continue; }
	"$tw" run -q --self-test "$tmp/m.twb" 2>"$tmp/err" && pass || lose "run $model: $(cat "$tmp/err")"
done

# Rows of 1000 numbers are 4000 bytes, rows of 2000 are not at hand: then a softmax is several kernels.
kernels() {
	echo "graph g(%x: f32[64,$2]) -> %y { %y = Softmax(%x) \"soft\" }" |
		"$tw" print -O2 --lower --no-vendor --target "$1" - >"$tmp/text"
	grep -c '^kernel ' "$tmp/text"
}
[ "$(kernels cpu:toy 1000)" = 1 ] && pass || lose "a small softmax on the toy: $(kernels cpu:toy 1000) kernels"
grep -q @vector "$tmp/text" && lose "lanes on the toy" || pass
[ "$(kernels cpu:toy 2000)" -gt 1 ] && pass || lose "a softmax beyond 4 KB on the toy is one kernel"
[ "$(kernels cpu:x86-64-v3 2000)" = 1 ] && pass || lose "the same on a CPU is several"
finish
