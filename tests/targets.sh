#!/bin/sh
# Bundles, choices and the machines they are for: one bundle with two targets, this machine taken for
# a lesser one (TILEWRIGHT_CPU), a bundle for another processor, an AVX-512 bundle refused by a machine
# (qemu) that has none.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common

"$zoo" squeezenet -o "$tmp/m.onnx" || exit 1
for t in v3 v4; do
	"$tw" compile -q "$tmp/m.onnx" -o "$tmp/$t.twb" --target cpu:x86-64-$t 2>"$tmp/err" && pass ||
		lose "compile for x86-64-$t: $(cat "$tmp/err")"
done
"$tw" compile -q "$tmp/m.onnx" -o "$tmp/both.twb" --target cpu:x86-64-v3 --target cpu:x86-64-v4 \
	2>"$tmp/err" && pass || lose "compile for both: $(cat "$tmp/err")"
# Of the two, those that this machine can run.
runs=v3
"$tw" list devices | grep -q '^cpu:x86-64-v4 *\(native\|runs\)' && runs="v3 v4"

"$tw" run -q "$tmp/v3.twb" --runs 1 --output "$tmp/out" 2>"$tmp/err" && pass ||
	lose "run the v3 bundle: $(cat "$tmp/err")"
"$tw" run -q "$tmp/both.twb" --runs 1 --expect "output=@$tmp/out/output.npy" 2>"$tmp/err" && pass ||
	lose "the bundle for both: $(cat "$tmp/err")"

# What one machine recorded, others must give too: with other kernels and other vector lengths.
for t in v3 v4; do
	case " $runs " in *" $t "*) ;; *) skip 3 avx512; continue ;; esac
	"$tw" run -q --self-test "$tmp/both.twb" --target cpu:x86-64-$t 2>"$tmp/err" && pass ||
		lose "self-test of both on x86-64-$t: $(cat "$tmp/err")"
	"$tw" run -q --self-test "$tmp/$t.twb" --no-vendor 2>"$tmp/err" && pass ||
		lose "self-test of $t without a vendor library: $(cat "$tmp/err")"
	TILEWRIGHT_CPU=x86-64-$t "$tw" run -q "$tmp/both.twb" --runs 1 \
		--expect "output=@$tmp/out/output.npy" 2>"$tmp/err" && pass ||
		lose "the bundle for both on a machine taken for x86-64-$t: $(cat "$tmp/err")"
done

# Taken for AVX2, it compiles for that, runs that with a library held to it, and nothing of AVX-512.
capped() { TILEWRIGHT_CPU=x86-64-v3 "$tw" "$@"; }
[ "$(capped list devices | awk '$1 ~ /^cpu:/ && $2 ~ /native|runs/ { print $1, $2 }')" = \
	"cpu:x86-64-v3 native" ] && pass || lose "taken for AVX2: $(capped list devices)"
capped compile -q "$tmp/m.onnx" -o "$tmp/capped.twb" 2>"$tmp/err" && pass ||
	lose "compile, taken for AVX2: $(cat "$tmp/err")"
"$tw" inspect "$tmp/capped.twb" | grep -q '^cpu:x86-64-v3 ' && pass ||
	lose "compiled for another machine: $("$tw" inspect "$tmp/capped.twb" | head)"
capped run -q --self-test "$tmp/capped.twb" 2>"$tmp/err" && pass ||
	lose "self-test, taken for AVX2: $(cat "$tmp/err")"
! capped run "$tmp/capped.twb" --runs 1 --profile 2>&1 | grep -q avx512 && pass ||
	lose "the library ran AVX-512"
if capped run -q "$tmp/v4.twb" --runs 1 2>"$tmp/err"; then lose "it ran AVX-512"; else
	grep -q 'needs AVX-512 (cpu:x86-64-v4); this machine has x86-64-v3: run `tilewright compile' \
		"$tmp/err" && pass || lose "a v4 bundle, taken for AVX2, says: $(cat "$tmp/err")"
fi

TILEWRIGHT_CPU=x86-64-v2 "$tw" compile -q "$tmp/m.onnx" -o "$tmp/none.twb" 2>"$tmp/err"
rc=$?
[ $rc = 4 ] && grep -q 'kernels are made for no processor as small as this one, x86-64-v2; ' "$tmp/err" && pass ||
	lose "taken for x86-64-v2: exit code $rc: $(cat "$tmp/err")"

TILEWRIGHT_CPU=x86-64-v2 "$tw" run -q "$tmp/v3.twb" --runs 1 2>"$tmp/err"
rc=$?
[ $rc = 6 ] && grep -q '(cpu:x86-64-v3), and kernels are made for no processor as small as this one, x86-64-v2$' "$tmp/err" && pass ||
	lose "a v3 bundle, taken for x86-64-v2: exit code $rc: $(cat "$tmp/err")"

# refused NAME SENTENCE: what TILEWRIGHT_CPU names is no processor that this one can be taken for.
refused() {
	TILEWRIGHT_CPU=$1 "$tw" compile -q "$tmp/m.onnx" -o "$tmp/none.twb" 2>"$tmp/err"
	rc=$?
	[ $rc = 2 ] && grep -q "^TILEWRIGHT_CPU: $2" "$tmp/err" && [ ! -e "$tmp/none.twb" ] && pass ||
		lose "TILEWRIGHT_CPU=$1: exit code $rc: $(cat "$tmp/err")"
}
refused pentium "there is no processor 'pentium'; this machine can be taken for one of: x86-64, "
refused aarch64 "this machine cannot be taken for aarch64, which needs an AArch64 processor; "
if TILEWRIGHT_CPU='' "$tw" list devices | grep -q '^cpu:x86-64-v4 *\(native\|runs\)'; then
	skip 1 lesser
else
	refused x86-64-v4 "this machine cannot be taken for x86-64-v4, which needs AVX-512; "
fi

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
	command -v $cc >/dev/null || { skip 1 $cc; continue; }
	CC=$cc "$tw" compile -q "$tmp/small.txt" -o "$tmp/other.twb" --target $other 2>"$tmp/err"
	rc=$?
	[ $rc = 6 ] && [ "$(cat "$tmp/err")" = "the C compiler '$cc' cannot make code for $other   [hint: \
name one in \$CC, or by --cc $other=…, that can: for another processor a cross compiler such as \
aarch64-linux-gnu-gcc]" ] &&
		pass || lose "compile for $other with $cc: exit code $rc: $(cat "$tmp/err")"
done
# Each target is proved where it can run: one that is compiled wrong is found, whichever it is.
printf 'graph g(%%x: f32[N,300]) -> %%y {\n  %%y = Mul(%%x, %%x)\n}\n' >"$tmp/square.txt"
cat >"$tmp/wrong" <<'SH'
#!/bin/sh
for file; do
	case $file in */unit*.c) sed -i 's/(t\([0-9]*\) \* t[0-9]*)/(t\1 + t\1)/' "$file" ;; esac
done
exec cc "$@"
SH
chmod +x "$tmp/wrong"
for two in v3 v4; do
	[ $two = v3 ] || "$tw" list devices | grep -q "^test:x86-64-$two *runs" || { skip 1 avx512; continue; }
	two=test:x86-64-$two
	"$tw" compile "$tmp/square.txt" -o "$tmp/two.twb" --target cpu:x86-64-v3,$two >"$tmp/said" 2>&1
	grep -qx 'proved for cpu:x86-64-v3: 1 value at .* points' "$tmp/said" &&
		grep -qx "proved for $two: 1 value at .* points" "$tmp/said" &&
		"$tw" inspect "$tmp/two.twb" |
		grep -qx "proved *cpu:x86-64-v3: 1 value at .* points; $two: 1 value at .* points" && pass ||
		lose "proofs of two targets: $(cat "$tmp/said"; "$tw" inspect "$tmp/two.twb")"
done
for wrong in cpu:x86-64-v3 test:x86-64-v3; do
	rm -f "$tmp/two.twb"
	"$tw" compile -q "$tmp/square.txt" -o "$tmp/two.twb" --target cpu:x86-64-v3,test:x86-64-v3 \
		--cc "$wrong=$tmp/wrong" 2>"$tmp/err"
	rc=$?
	[ $rc = 5 ] && [ ! -e "$tmp/two.twb" ] && pass ||
		lose "a compiler that errs for $wrong: exit code $rc: $(cat "$tmp/err")"
done
for bad in cpu:aarch64=gcc cuda:sm_90=nvcc cpu:x86-64-v3; do
	"$tw" compile -q "$tmp/square.txt" -o "$tmp/two.twb" --target cpu:x86-64-v3,cuda:sm_90 --cc $bad 2>"$tmp/err"
	rc=$?
	[ $rc = 2 ] && grep -q '^--cc: ' "$tmp/err" && pass || lose "--cc $bad: exit code $rc: $(cat "$tmp/err")"
done

if command -v clang >/dev/null && command -v ld.lld >/dev/null; then
	"$tw" compile "$tmp/small.txt" -o "$tmp/two.twb" --target cpu:x86-64-v3,$other \
		--cc "$other=clang --target=$triple -fuse-ld=lld" >"$tmp/said" 2>&1 &&
		grep -qx 'proved for cpu:x86-64-v3: 1 value at .* points' "$tmp/said" &&
		grep -q "^proved for $other: not here (.*: the bundle needs " "$tmp/said" &&
		grep -q "is not proved for $other, since it could not be run here: " "$tmp/said" && pass ||
		lose "one command for two processors: $(cat "$tmp/said")"
	CC="clang --target=$triple -fuse-ld=lld" "$tw" compile -q "$tmp/small.txt" -o "$tmp/other.twb" \
		--target $other --keep "$tmp/kept" 2>"$tmp/err" &&
		[ "$(od -An -tu2 -j 18 -N 2 "$tmp"/kept/kernels/*.so | tr -d ' ')" = $machine ] && pass ||
		lose "compile for $other with clang and lld: $(cat "$tmp/err")"
	"$tw" run -q "$tmp/other.twb" --runs 1 2>"$tmp/err"
	rc=$?
	[ $rc = 6 ] && grep -q "tilewright compile" "$tmp/err" && pass ||
		lose "a bundle for $other here: exit code $rc: $(cat "$tmp/err")"
else
	skip 3 clang-lld
fi

if ! has plain; then # the shadow memory of sanitizers does not fit into qemu's
	skip 2 plain
elif has qemu-x86_64; then
	qemu-x86_64 -cpu Haswell "$tw" run -q "$tmp/v4.twb" --runs 1 >"$tmp/out.txt" 2>"$tmp/err"
	rc=$?
	[ $rc = 6 ] && pass || lose "a v4 bundle on Haswell: exit code $rc, expected 6"
	grep -q 'needs AVX-512 (cpu:x86-64-v4); this machine has x86-64-v3: run `tilewright compile' \
		"$tmp/err" && pass || lose "a v4 bundle on Haswell says: $(grep -v warning "$tmp/err")"
else
	skip 2 qemu-x86_64
fi
finish
