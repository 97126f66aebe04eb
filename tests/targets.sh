#!/bin/sh
# Bundles, choices and the machines they are for: one bundle with two targets, an AVX2 bundle with
# AVX-512 hidden from the vendor library, a bundle for another processor, an AVX-512 bundle refused by
# a machine (qemu) that has none.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common

"$zoo" squeezenet -o "$tmp/m.onnx" || exit 1
for t in v3 v4; do
	"$tw" compile -q "$tmp/m.onnx" -o "$tmp/$t.twb" --target cpu:x86-64-$t 2>"$tmp/err" && pass ||
		lose "compile for x86-64-$t: $(cat "$tmp/err")"
done
"$tw" compile -q "$tmp/m.onnx" -o "$tmp/both.twb" --target cpu:x86-64-v3 --target cpu:x86-64-v4 \
	2>"$tmp/err" && pass || lose "compile for both: $(cat "$tmp/err")"
"$tw" run -q "$tmp/v3.twb" --runs 1 --output "$tmp/out" 2>"$tmp/err" && pass ||
	lose "run the v3 bundle: $(cat "$tmp/err")"
"$tw" run -q "$tmp/both.twb" --runs 1 --expect "output=@$tmp/out/output.npy" 2>"$tmp/err" && pass ||
	lose "the bundle for both: $(cat "$tmp/err")"

DNNL_MAX_CPU_ISA=AVX2 "$tw" run -q "$tmp/v3.twb" --runs 1 --expect "output=@$tmp/out/output.npy" 2>"$tmp/err" && pass ||
	lose "the v3 bundle with AVX-512 hidden from oneDNN: $(cat "$tmp/err")"

# What one machine recorded, others must give too: with other kernels and other vector lengths.
for target in v3 v4; do
	"$tw" run -q --self-test "$tmp/both.twb" --target cpu:x86-64-$target 2>"$tmp/err" && pass ||
		lose "self-test of both on x86-64-$target: $(cat "$tmp/err")"
done
"$tw" run -q --self-test "$tmp/v4.twb" --no-vendor 2>"$tmp/err" && pass ||
	lose "self-test without a vendor library: $(cat "$tmp/err")"
DNNL_MAX_CPU_ISA=AVX2 "$tw" run -q --self-test "$tmp/v3.twb" 2>"$tmp/err" && pass ||
	lose "self-test with AVX-512 hidden from oneDNN: $(cat "$tmp/err")"
[ "$("$tw" inspect --graph "$tmp/both.twb" | grep -c '^# graph/cpu-x86-64-v[34].txt$')" = 2 ] && pass ||
	lose "the bundle for both does not hold two graphs"

# The choices of one compilation make the same bytes in another.
unzip -qo "$tmp/v3.twb" choices.jsonl -d "$tmp" 2>/dev/null || cp /dev/null "$tmp/choices.jsonl"
for copy in first second; do
	"$tw" compile -q "$tmp/m.onnx" -o "$tmp/$copy.twb" --target cpu:x86-64-v3 \
		--choices "$tmp/choices.jsonl" 2>"$tmp/err" || lose "compile with choices: $(cat "$tmp/err")"
done
cmp -s "$tmp/first.twb" "$tmp/second.twb" && pass || lose "equal choices made other bytes"

# Another processor: with a compiler that cannot, what to do; with one that can, a bundle.
case $(uname -m) in
aarch64) other=cpu:x86-64-v3 triple=x86_64-linux-gnu machine=62 ;;
*) other=cpu:aarch64 triple=aarch64-linux-gnu machine=183 ;;
esac
printf 'graph g(%%x: f32[N,300]) -> %%y {\n  %%y = Exp(%%x)\n}\n' >"$tmp/small.txt"
for cc in cc clang; do
	command -v $cc >/dev/null || { skip 1; continue; }
	CC=$cc "$tw" compile -q "$tmp/small.txt" -o "$tmp/other.twb" --target $other 2>"$tmp/err"
	rc=$?
	[ $rc = 6 ] && [ "$(cat "$tmp/err")" = "the C compiler '$cc' cannot make code for $other   [hint: \
name one in \$CC that can, for another processor a cross compiler such as aarch64-linux-gnu-gcc]" ] &&
		pass || lose "compile for $other with $cc: exit code $rc: $(cat "$tmp/err")"
done
if command -v clang >/dev/null && command -v ld.lld >/dev/null; then
	CC="clang --target=$triple -fuse-ld=lld" "$tw" compile -q "$tmp/small.txt" -o "$tmp/other.twb" \
		--target $other --keep "$tmp/kept" 2>"$tmp/err" &&
		[ "$(od -An -tu2 -j 18 -N 2 "$tmp"/kept/kernels/*.so | tr -d ' ')" = $machine ] && pass ||
		lose "compile for $other with clang and lld: $(cat "$tmp/err")"
	"$tw" run -q "$tmp/other.twb" --runs 1 2>"$tmp/err"
	rc=$?
	[ $rc = 6 ] && grep -q "tilewright compile" "$tmp/err" && pass ||
		lose "a bundle for $other here: exit code $rc: $(cat "$tmp/err")"
else
	skip 2
fi

sanitized=
case $BUILD in */asan) sanitized=1 ;; esac # their shadow memory does not fit into qemu's
if [ -z "$sanitized" ] && command -v qemu-x86_64 >/dev/null; then
	qemu-x86_64 -cpu Haswell "$tw" run -q "$tmp/v4.twb" --runs 1 >"$tmp/out.txt" 2>"$tmp/err"
	rc=$?
	[ $rc = 6 ] && pass || lose "a v4 bundle on Haswell: exit code $rc, expected 6"
	grep -q 'needs AVX-512 (cpu:x86-64-v4); this machine has x86-64-v3: run `tilewright compile' \
		"$tmp/err" && pass || lose "a v4 bundle on Haswell says: $(grep -v warning "$tmp/err")"
else
	skip 2
fi
finish
