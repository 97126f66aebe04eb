#!/bin/sh
# usage: tests/optimize.sh [-a]     -a: more models and random graphs
#
# optimize, model by model: what is written reads back, is stable (optimising it again changes
# nothing), and, where ONNX Runtime is found (ORT_LIBRARY, or build/ort as `make bench` leaves it),
# loads there and gives the same outputs.
. tests/common

ort=
ls build/ort/onnxruntime/capi/libonnxruntime.so* >/dev/null 2>&1 && ort=1
[ -z "$ORT_LIBRARY" ] || ort=1

# Largest relative difference of the outputs of two models in ONNX Runtime.
difference() {
	"$tw" bench --json --rounds 1 "$1/ort" "$2/ort" 2>"$tmp/err" |
		awk '/"difference":/ { gsub(/[",]/, ""); d = $2 } END { print d == "" ? "none" : d }'
}

models="squeezenet bert-tiny" most=10
[ -z "$is_whole" ] || models="resnet18 mobilenetv2 dcgan $models" most=40
for model in $models; do
	for batch in "" --symbolic; do
		in=$tmp/in.onnx
		"$zoo" "$model" $batch -o "$in" || { lose "zoo $model"; continue; }
		for level in 1 3; do
			out=$tmp/out$level.onnx again=$tmp/again.onnx
			if ! "$tw" optimize -q -O$level "$in" "$out" 2>"$tmp/err"; then
				lose "$model $batch -O$level: $(cat "$tmp/err")"
				continue
			fi
			if ! "$tw" optimize -q -O$level "$out" "$again" 2>"$tmp/err"; then
				lose "$model $batch -O$level, again: $(cat "$tmp/err")"
				continue
			fi
			if cmp -s "$out" "$again"; then pass; else
				lose "$model $batch -O$level: optimising twice is not optimising once"; fi
		done
		if [ -z "$ort" ]; then skip 1 onnxruntime; continue; fi
		d=$(difference "$in" "$tmp/out3.onnx")
		if awk -v d="$d" 'BEGIN { exit !(d != "none" && d <= 1e-5) }'; then pass; else
			lose "$model $batch: outputs differ by $d after optimize; $(cat "$tmp/err")"; fi
	done
done

# Random graphs, too: whatever passes leave, there is nothing more to do, and it reads back.
graphs=${BUILD:-build}/test/graphs
n=0
while [ -x "$graphs" ] && [ $n -lt $most ]; do
	theme=
	[ $((n % 2)) = 0 ] || theme=-q
	"$graphs" $theme -p 27 $n >"$tmp/g.txt"
	if ! { "$tw" optimize -q -O0 "$tmp/g.txt" "$tmp/in.onnx" && "$tw" optimize -q "$tmp/in.onnx" "$tmp/out.onnx" &&
		"$tw" optimize -q "$tmp/out.onnx" "$tmp/again.onnx"; } 2>"$tmp/err"; then
		lose "random graph $theme $n: $(cat "$tmp/err")"
	elif cmp -s "$tmp/out.onnx" "$tmp/again.onnx"; then pass; else
		lose "random graph $theme $n: optimising twice is not optimising once"
	fi
	n=$((n + 1))
done

# The batch normalisations of MobileNetV2 go altogether: scales into weights, shifts into biases.
"$zoo" mobilenetv2 -o "$tmp/in.onnx"
nodes=$("$tw" optimize "$tmp/in.onnx" "$tmp/out.onnx" | awk '/^all nodes/ { print $3 "-" $4 }')
if [ "$nodes" = 152-100 ]; then pass; else lose "mobilenetv2: $nodes nodes, expected 152-100"; fi

# --shape writes sizes of symbols and of inputs, and what follows from them folds.
cat >"$tmp/g.txt" <<'TEXT'
graph g(%x: f32[N,C,4], %z: f32[N]) -> %y, %s {
  %n = Shape(%x)
  %t = Sqrt(%x)
  %y = Reshape(%t, %n)
  %s = Add(%z, %z)
}
TEXT
"$tw" optimize -q -O0 "$tmp/g.txt" "$tmp/in.onnx" || lose "the model of --shape"
for shape in "N=2 --shape C=3" "x=2x3x4"; do
	# shellcheck disable=SC2086  # several words
	"$tw" optimize -q --shape $shape "$tmp/in.onnx" "$tmp/out.onnx" || lose "--shape $shape"
	if "$tw" print "$tmp/out.onnx" | tr -s ' \n' ' ' |
		grep -q '^graph g(%x: f32\[2,3,4\], %z: f32\[2\]) .*{ %y: f32\[2,3,4\] = Sqrt(%x)'; then pass; else
		lose "--shape $shape: $("$tw" print "$tmp/out.onnx")"; fi
done
# refused SENTENCE ARGUMENTS: optimize says so, and nothing is written.
refused() {
	sentence=$1
	shift
	rm -f "$tmp/out.onnx"
	if "$tw" optimize "$@" "$tmp/out.onnx" 2>"$tmp/err" || [ -e "$tmp/out.onnx" ] ||
		! grep -qF -- "$sentence" "$tmp/err"; then lose "optimize $*: $(cat "$tmp/err")"; else pass; fi
}
refused "this is a range" --shape N=1..4 "$tmp/in.onnx"
refused "neither an input nor a symbol" --shape M=1 "$tmp/in.onnx"
refused "dim 2 of input x is 4, saw 5" --shape x=1x3x5 "$tmp/in.onnx"

# Open sizes that meet in a broadcast stay open: one of them may be 1 for whoever runs it. What compile
# assumes of them, it says, and so does check.
cat >"$tmp/g.txt" <<'TEXT'
graph g(%x: f32[N,C], %z: f32[M,C], %u: f32[N,K]) -> %y, %v {
  %w: f32[4] = {1, 2, 3, 4}
  %y = Add(%x, %z) "add"
  %v = Mul(%u, %w) "scale"
}
TEXT
"$tw" print -O0 "$tmp/g.txt" >"$tmp/text"
if grep -q '%z: f32\[N,C\], %u: f32\[N,4\]' "$tmp/text"; then pass; else lose "nothing is assumed: $(cat "$tmp/text")"; fi
"$tw" compile "$tmp/g.txt" -o "$tmp/g.twb" >"$tmp/says" 2>&1
if grep -q '^assumed: dim 0 of z is that of x, or 1 (node "add" (Add): dim 0 of the inputs); dim 1 of u is 4, or 1 (node "scale" (Mul): dim 1 of the inputs); other sizes are refused when run$' "$tmp/says"; then pass; else
	lose "what is assumed: $(cat "$tmp/says")"; fi

# So do those of a product, whose meaning is asked when nodes are left out. A text would be inferred
# with one symbol: the other one is written into the model, for c alone.
cat >"$tmp/g.txt" <<'TEXT'
graph g(%a: f32[N,2,3], %c: f32[N,3,2]) -> %y {
  %t = MatMul(%a, %c)
  %y = Relu(%t)
}
TEXT
"$tw" optimize -q -O0 "$tmp/g.txt" "$tmp/in.onnx" || lose "the model of a product"
LC_ALL=C sed -i '/^\x01c\x12[^\x01]/,/\x12\x01N/s/\x12\x01N/\x12\x01M/' "$tmp/in.onnx"
if "$tw" optimize -q "$tmp/in.onnx" "$tmp/out.onnx" 2>"$tmp/err" &&
	LC_ALL=C grep -qa "$(printf '\022\001M')" "$tmp/out.onnx"; then pass; else
	lose "a product of open dims: $(cat "$tmp/err")"; fi

# What both give keeps the name that the model has for it, here that of a.
printf 'graph g(%%a: f32[N,4], %%c: f32[N,4]) -> %%y { %%y = Add(%%a, %%c) }' >"$tmp/g.txt"
"$tw" optimize -q -O0 "$tmp/g.txt" "$tmp/in.onnx" || lose "the model of a sum"
LC_ALL=C sed -i '/^\x01c\x12[^\x01]/,/\x12\x01N/s/\x12\x01N/\x12\x01M/' "$tmp/in.onnx"
"$tw" optimize -q "$tmp/in.onnx" "$tmp/out.onnx" 2>"$tmp/err" || lose "a sum of open dims: $(cat "$tmp/err")"
names=$(LC_ALL=C grep -ao "$(printf '\022\001[NM]')" "$tmp/out.onnx" | LC_ALL=C tr -dc 'NM')
if [ "$names" = NMN ]; then pass; else lose "dims that meet are called $names"; fi

# How many dims are left without axes, a run tells: nothing that follows from their number folds.
cat >"$tmp/g.txt" <<'TEXT'
graph g(%x: f32[N,1,4]) -> %y {
  %s = Squeeze(%x)
  %n = Shape(%s)
  %y = Shape(%n)
}
TEXT
"$tw" optimize -q -O0 "$tmp/g.txt" "$tmp/in.onnx" || lose "the model of Squeeze"
"$tw" optimize -q "$tmp/in.onnx" "$tmp/out.onnx" && "$tw" print "$tmp/out.onnx" >"$tmp/text"
if grep -q 'Squeeze(' "$tmp/text"; then pass; else lose "Squeeze without axes: $(cat "$tmp/text")"; fi

# --weights: a file of that name, never that of the model which is read; --check compares.
"$zoo" mobilenetv2 -o "$tmp/in.onnx"
if "$tw" optimize --check --weights w.bin "$tmp/in.onnx" "$tmp/a.onnx" >"$tmp/says" && [ -s "$tmp/w.bin" ] &&
	grep -q '^largest difference  [0-9.]*e-' "$tmp/says"; then pass; else lose "--weights and --check: $(cat "$tmp/says")"; fi
refused "over weights of the model" --weights w.bin "$tmp/a.onnx"
refused "the name of another file" --weights ../w.bin "$tmp/a.onnx"
if "$tw" optimize -q --check --weights w2.bin "$tmp/a.onnx" "$tmp/b.onnx"; then pass; else lose "weights elsewhere"; fi

# --opset: what only the later opset has is made.
cat >"$tmp/g.txt" <<'TEXT'
graph g(%x: f32[N,8]) -> %y {
  %r: f32 = {0.70710678}
  %h: f32 = {0.5}
  %o: f32 = {1}
  %a = Mul(%x, %r)
  %b = Erf(%a)
  %c = Add(%b, %o)
  %d = Mul(%x, %c)
  %y = Mul(%d, %h)
}
TEXT
"$tw" optimize -q -O0 "$tmp/g.txt" "$tmp/in.onnx" || lose "the model of --opset"
sed -i 's/\x10\x1c$/\x10\x0d/' "$tmp/in.onnx" # ends with its opset, which is now 13
"$tw" optimize -q --opset 99 "$tmp/in.onnx" "$tmp/out.onnx" 2>"$tmp/err"
rc=$?
if [ $rc = 2 ] && grep -q -e '^--opset: 99 is none that is known; expected 0 to 28$' "$tmp/err"; then pass; else
	lose "--opset 99: exit code $rc: $(cat "$tmp/err")"
fi
for opset in 13 20; do
	"$tw" optimize -q --opset $opset "$tmp/in.onnx" "$tmp/out.onnx" || lose "--opset $opset"
	n=$("$tw" print "$tmp/out.onnx" | grep -c ' = Gelu(')
	if [ $((opset == 20)) = "$n" ]; then pass; else lose "--opset $opset makes $n Gelu"; fi
done

# The instruments: each rewriting evaluated before and after, dumps, the log, timings.
"$zoo" bert-tiny --symbolic -o "$tmp/in.onnx"
if "$tw" compile -q --verify=each "$tmp/in.onnx" -o "$tmp/m.twb" 2>"$tmp/err"; then pass; else
	lose "compile --verify=each: $(cat "$tmp/err")"; fi
"$tw" optimize -q --dump-after=all --dump-to "$tmp/dumps" "$tmp/in.onnx" "$tmp/out.onnx" 2>"$tmp/err"
first=$(find "$tmp/dumps" -name '001-*.txt')
if [ -f "$first" ] && [ ! -s "$tmp/err" ] && "$tw" print "$first" >/dev/null; then
	pass
else
	lose "--dump-to: $(ls "$tmp/dumps") $(cat "$tmp/err")"
fi
"$tw" optimize -q --log --timings --dump-after=all "$tmp/in.onnx" "$tmp/out.onnx" 2>"$tmp/err" ||
	lose "optimize with instruments"
for line in "^# after FoldConstant$" "^# after SimplifyInference (unchanged)$" "^graph " \
	"^FoldConstant: evaluate: /embeddings/Gather -> " "^FoldConstant  *[0-9.]* ms  *[0-9]* -> [0-9]* nodes"; do
	if grep -q "$line" "$tmp/err"; then pass; else lose "no line $line with the instruments on"; fi
done
finish
