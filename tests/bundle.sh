#!/bin/sh
# Bundles from the command line: round trips of inputs and outputs, comparisons, damage, wrong shapes,
# a full disk. Small models written as text.
# shellcheck disable=SC2015,SC2059,SC2012  # pass cannot fail; octal bytes; our own file names
. tests/common
spoiled="older.twb unpacked.twb"
amend=${BUILD:-build}/test/amend
[ -x "$amend" ] || { echo "there is no $amend"; exit 1; }

# expect CODE WHAT COMMAND...: the exit code, and for a failure one sentence.
expect() {
	code=$1 what=$2
	shift 2
	"$@" >"$tmp/out.txt" 2>"$tmp/err"
	rc=$?
	if [ $rc != "$code" ]; then
		lose "$what: exit code $rc, expected $code: $(cat "$tmp/err")"
	elif [ "$code" != 0 ] && [ "$(wc -l <"$tmp/err")" != 1 ]; then
		lose "$what: expected one sentence, saw: $(cat "$tmp/err")"
	else
		pass
	fi
}

cat >"$tmp/model.txt" <<'TEXT'
graph small(%x: f32[N,3,8,8], %i: i64[N,2]) -> %y, %z {
  %w: f32[4,3,3,3] = weight 0
  %t: f32[10,5] = weight 1
  %c = Conv(%x, %w) {pads=[1,1,1,1]}  "conv"
  %r = Relu(%c)                       "relu"
  %y = Flatten(%r)                    "flatten"
  %z = Gather(%t, %i)                 "gather"
}
TEXT
cd "$tmp" || exit 1
case $amend in /*) ;; *) amend=$OLDPWD/$amend ;; esac

expect 0 "compile" "$tw" compile -q model.txt -o m.twb
[ -e m.twb ] || { failed=1; finish; exit; }
expect 0 "check of a whole bundle" "$tw" check m.twb
expect 0 "inspect" "$tw" inspect m.twb --json
"$tw" compile -q "$tmp/model.txt" -o kept.twb --keep kept && touch choices.none
choices=choices.none
[ -e kept/choices.jsonl ] && choices=kept/choices.jsonl
expect 0 "compile with recorded choices" "$tw" compile -q model.txt -o again.twb --choices "$choices"
cmp -s kept.twb again.twb && pass || lose "recorded choices do not give the same bytes"
expect 0 "where compiling takes its time" "$tw" compile -q model.txt -o again.twb --timings
for part in reading 'passes, measuring' 'kernels, writing' 'proof, self-test' all; do
	grep -q "^$part  *[0-9.]* ms$" err && pass || lose "--timings does not say '$part': $(cat err)"
done
echo hello >words.onnx
expect 3 "choices that are none" "$tw" compile -q model.txt -o none.twb --choices words.onnx
grep -q '^words.onnx:1: this is no file of choices; ' err && pass || lose "choices that are none: $(cat err)"
expect 3 "inspect of a text that is called a model" "$tw" inspect words.onnx
grep -q "^words.onnx: this is no ONNX file" err && pass || lose "inspect of a text: $(cat err)"

# Dims that must be equal: the message names the node, or both inputs
cat >sum.txt <<'TEXT'
graph sum(%x: f32[N,3], %z: f32[M,6], %w: f32[M,1]) -> %y, %v {
  %s: i64[2] = {-1, 6}
  %r = Reshape(%x, %s)  "rows"
  %y = Add(%r, %z)      "sum"
  %v = Add(%z, %w)      "next"
}
TEXT
expect 0 "compile a sum" "$tw" compile -q sum.txt -o sum.twb
expect 2 "sizes that differ" "$tw" run -q sum.twb --shape x=2x3 --shape z=3x6 --shape w=3x1
grep -q 'node "sum" (Add): dim 0 of the inputs must be equal, and are 1 and 3' err && pass ||
	lose "sizes that differ: $(cat err)"
expect 2 "inputs that differ" "$tw" run -q sum.twb --shape x=6x3 --shape z=3x6 --shape w=2x1
grep -q "input 'w' has shape .2,1., and its dim 0 must be 3, as dim 0 of input 'z'" err && pass ||
	lose "inputs that differ: $(cat err)"

# A model that is run: messages name it, not the bundle made on the way
expect 2 "a model with inputs that differ" "$tw" run -q sum.txt --shape x=6x3 --shape z=3x6 --shape w=2x1
grep -q "^sum.txt: input 'w'" err && pass || lose "a model is not named: $(cat err)"
expect 2 "a model without such an input" "$tw" run -q sum.txt --input q=1
grep -q "sum.txt has no input 'q'" err && pass || lose "a model is not named: $(cat err)"

# A shape that is data: one bundle, several targets, of which 0 and -1 take their part
cat >reshape.txt <<'TEXT'
graph reshape(%x: f32[2,3,4], %s: i64[3]) -> %y { %y = Reshape(%x, %s)  "reshape" }
TEXT
expect 0 "compile Reshape to a shape of the caller" "$tw" compile -q reshape.txt -o reshape.twb
for case in 4,3,2:4,3,2 0,-1,2:2,6,2 -1,0,0:2,3,4 0,12,-1:2,12,1; do
	expect 0 "Reshape to ${case%:*}" "$tw" run -q --json reshape.twb --runs 1 --input "s=${case%:*}"
	grep -q "f32.${case#*:}. " out.txt && pass || lose "Reshape to ${case%:*}: $(grep f32 out.txt)"
done

# Inputs and outputs
expect 0 "run" "$tw" run -q m.twb --shape N=2 --runs 1 --output first
expect 0 "the same outputs are equal" "$tw" run -q m.twb --shape N=2 --runs 1 --rtol 0 --atol 0 \
	--expect y=@first/y.npy --expect z=@first/z.npy
expect 1 "other inputs give other outputs" "$tw" run -q m.twb --shape N=2 --runs 1 --seed 2 \
	--expect y=@first/y.npy
expect 1 "another batch has another shape" "$tw" run -q m.twb --runs 1 --expect y=@first/y.npy
expect 2 "an input of another shape" "$tw" run -q m.twb --runs 1 --input x=@first/y.npy
expect 2 "an input of another type" "$tw" run -q m.twb --runs 1 --input i=@first/y.npy
expect 2 "an input that is not there" "$tw" run -q m.twb --runs 1 --input q=@first/y.npy
expect 2 "a symbol that is not there" "$tw" run -q m.twb --runs 1 --shape M=2
expect 6 "a file that is not there" "$tw" run -q nothing.twb
expect 0 "a profile" "$tw" run m.twb --runs 3 --profile --trace trace.json
grep -q '"ph": "X"' trace.json && pass || lose "the trace has no events"

# Each verb prints one object with --json, and nothing else.
object() {
	"$tw" "$@" --json >object.json 2>err
	rc=$?
	[ $rc = 0 ] && [ "$(head -c 1 object.json)" = "{" ] && [ "$(tail -n 1 object.json)" = "}" ] &&
		grep -q "^	\"verb\":	\"$1\"" object.json && pass ||
		lose "$* --json: exit code $rc, $(head -n 2 object.json)"
	! command -v python3 >/dev/null || python3 -m json.tool <object.json >/dev/null ||
		lose "$* --json is no JSON"
}
object optimize model.txt object.onnx
object compile model.txt -o object.twb
object run m.twb --runs 1 --profile
object bench m.twb --rounds 1
grep -q "\"threads\":[[:space:]]*$(nproc)," object.json && pass ||
	lose "bench does not use all cores: $(grep threads object.json)"
object run m.twb --self-test
object inspect m.twb
object inspect m.twb --graph
object check m.twb
object check object.onnx
object list ops
object list ops Softmax
case $("$tw" list ops Softmax) in
*'e[i0, i1] / sum[i0]'*) pass ;;
*) lose "list ops NAME shows no expression" ;;
esac
object list
object print model.txt
mkdir -p cases/case/test_data_set_0 && printf "graph c() -> %%y {\n  %%y: f32[2] = {1, 2}\n}\n" >case.txt && "$tw" optimize -q -O0 case.txt cases/case/model.onnx
object test-onnx cases

# Inputs that disagree about a symbol
"$tw" run -q m.twb --shape N=3 --runs 1 --output third
expect 0 "optimize of a text" "$tw" optimize -q model.txt model.onnx
expect 0 "a model is compiled on the way" "$tw" run -q model.onnx --shape N=2 --runs 1 \
	--expect y=@first/y.npy

# The optimised graph: reads back, holds no weights and nothing of this machine.
expect 0 "the graph of a bundle" "$tw" inspect --graph m.twb
cp out.txt graph.txt
grep -q ' = fused(' graph.txt && pass || lose "the graph is not the optimised one"
"$tw" print graph.txt | cmp -s - graph.txt && pass || lose "the graph of a bundle does not read back"
[ "$(wc -c <graph.txt)" -lt 2000 ] && pass || lose "the graph of a bundle holds $(wc -c <graph.txt) bytes"
! grep -q "$tmp" kept/graph/*.txt kept/selftest.json && pass || lose "parts name a folder of this machine"

# The self-test: agrees; finds a weight that somebody changed, hashes and all; says why there is none.
expect 0 "the self-test" "$tw" run --self-test m.twb
grep -q 'self-test: 2 outputs agree .* with the interpreter' out.txt && pass ||
	lose "the self-test says: $(tail -n 1 out.txt)"
expect 0 "the self-test of our own kernels" "$tw" run -q --self-test --no-vendor --threads 2 m.twb
expect 2 "a self-test with a shape" "$tw" run --self-test --shape N=2 m.twb
for more in --profile "--trace t" "--runs 2"; do
	# shellcheck disable=SC2086  # two words
	for how in --self-test --prove; do
		expect 2 "$how with $more" "$tw" run $how $more m.twb
		grep -q -e "^$how runs once" err && pass || lose "$how $more: $(cat err)"
	done
done
expect 2 "a self-test with outputs" "$tw" run --self-test --output o m.twb
expect 2 "a self-test and a proof" "$tw" run --self-test --prove m.twb
expect 0 "a proof with outputs" "$tw" run -q --prove --output o m.twb
[ -e o/y.npy ] && pass || lose "a proof wrote no outputs: $(ls o)"
"$amend" m.twb weight.twb xor weights.bin 3 64 || lose "amend"
expect 0 "check of a bundle with another weight" "$tw" check weight.twb
expect 1 "the self-test of a bundle with another weight" "$tw" run -q --self-test weight.twb
grep -q '^self-test: output [yz]: element \[0,[0-9,]*\] is .*, expected .* within ' err && pass ||
	lose "another weight: $(cat err)"
"$amend" m.twb text.twb xor selftest.json 0 1 || lose "amend"
expect 3 "a self-test that is no JSON" "$tw" run --self-test text.twb
cat >data.txt <<'TEXT'
graph data(%x: bool[N,4]) -> %y {
  %y = NonZero(%x)
}
TEXT
expect 0 "compile a model without a self-test" "$tw" compile data.txt -o data.twb
grep -q 'self-test: left out: the size of output y depends on data' out.txt && pass ||
	lose "no self-test: $(cat out.txt)"
expect 4 "a self-test that was left out" "$tw" run --self-test data.twb

# A bundle of an older version has neither.
"$amend" m.twb older.twb drop selftest.json || lose "amend"
for part in kept/graph/*.txt; do
	"$amend" older.twb older.twb drop "${part#kept/}" || lose "amend"
done
expect 0 "check of an older bundle" "$tw" check older.twb
expect 0 "inspect an older bundle" "$tw" inspect older.twb
expect 0 "an older bundle" "$tw" run -q older.twb --shape N=2 --runs 1 --rtol 0 --atol 0 --expect y=@first/y.npy
expect 4 "the self-test of an older bundle" "$tw" run --self-test older.twb
expect 4 "the graph of an older bundle" "$tw" inspect --graph older.twb

# One byte changed, in every part of the file: refused, or harmless padding that changes no result.
size=$(wc -c <m.twb)
{
	awk -v n="$size" 'BEGIN { srand(5); for (i = 0; i < 60; i++) print int(rand() * n) }'
	grep -abo 'graph small(\|"tolerance"' m.twb | cut -d : -f 1
} >places
while read -r at; do
	byte=$(od -An -tu1 -j "$at" -N 1 m.twb)
	{ head -c "$at" m.twb; printf "\\$(printf %03o $(((byte + 1) % 256)))"; tail -c +"$((at + 2))" m.twb; } >bad.twb
	"$tw" run -q bad.twb --shape N=2 --runs 1 --expect y=@first/y.npy >out.txt 2>err
	rc=$?
	if [ $rc = 3 ] && [ "$(wc -l <err)" = 1 ]; then pass; else
		lose "byte $at changed: exit code $rc: $(head -n 2 err)"; fi
done <places
head -c "$((size / 2))" m.twb >bad.twb
expect 3 "half a bundle" "$tw" check bad.twb
expect 3 "half a bundle" "$tw" run bad.twb
[ "$(grep -o 'bad.twb' err | wc -l)" = 1 ] && pass || lose "the file is not named once: $(cat err)"

# A full disk: no file may grow beyond a block; nothing is left behind.
mkdir full
(
	ulimit -f 8
	XDG_CACHE_HOME=$tmp/cache "$tw" compile -q model.txt -o full/m.twb
) >out.txt 2>err
rc=$?
[ $rc = 6 ] && [ "$(wc -l <err)" = 1 ] && pass || lose "a full disk: exit code $rc: $(cat err)"
[ -z "$(ls -A full)" ] && pass || lose "a full disk leaves $(ls -A full)"
# Running makes no file.
(
	ulimit -f 1
	"$tw" run -q m.twb --runs 1
) >out.txt 2>err
rc=$?
[ $rc = 0 ] && pass || lose "no file may be made: exit code $rc: $(cat err)"

# Some linkers pack relative relocations.
CC="${CC:-cc} -Wl,-z,pack-relative-relocs" XDG_CACHE_HOME=$tmp/packed \
	"$tw" compile -q --no-vendor --keep packed model.txt -o packed.twb >out.txt 2>err
rc=$?
[ $rc = 0 ] && readelf -S "$(find packed -name '*.so' | head -n 1)" | grep -q RELR && pass ||
	lose "packed relocations: exit code $rc: $(cat err)"

# Weights that only the library reads are stored once, as it packed them; without it they come back.
cat >once.txt <<'TEXT'
graph once(%x: f32[64,1024]) -> %y {
  %w: f32[1024,1024] = weight 0
  %v: f32[1024,1024] = weight 1
  %a = MatMul(%x, %w)
  %b = Relu(%a)
  %y = MatMul(%b, %v)
}
TEXT
expect 0 "compile products" "$tw" compile -q once.txt -o once.twb --tune none
if "$tw" inspect once.twb --json | grep -q '"packed/' && ! "$tw" inspect once.twb | grep -q 'oneDNN 3'; then
	[ "$(wc -c <once.twb)" -lt $((9 << 20)) ] && pass ||
		lose "8 MB of weights make a bundle of $(wc -c <once.twb) bytes"
	expect 0 "self-test of packed weights" "$tw" run -q --self-test once.twb
	expect 0 "self-test of fallback kernels" "$tw" run -q --self-test --no-vendor once.twb
	expect 0 "packed weights and a part of them" "$tw" run -q --prove once.twb
	"$amend" once.twb unpacked.twb drop "packed/$(unzip -l once.twb | sed -n 's/.*packed\///p')" ||
		lose "amend"
	expect 3 "packed weights that are gone" "$tw" run -q unpacked.twb
	grep -q 'stored only there: compile the model again' err && pass || lose "gone: $(cat err)"
else
	skip 6 "oneDNN-2"
fi

finish
