#!/bin/sh
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

for model in resnet18 mobilenetv2 squeezenet dcgan bert-tiny; do
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
			"$tw" print "$out" >"$tmp/a" && "$tw" print "$again" >"$tmp/b"
			if cmp -s "$tmp/a" "$tmp/b"; then pass; else
				lose "$model $batch -O$level: optimising twice is not optimising once"; fi
		done
		if [ -z "$ort" ]; then skip 1; continue; fi
		d=$(difference "$in" "$tmp/out3.onnx")
		if awk -v d="$d" 'BEGIN { exit !(d != "none" && d <= 1e-5) }'; then pass; else
			lose "$model $batch: outputs differ by $d after optimize; $(cat "$tmp/err")"; fi
	done
done

# The batch normalisations of MobileNetV2 go altogether: scales into weights, shifts into biases.
"$zoo" mobilenetv2 -o "$tmp/in.onnx"
nodes=$("$tw" optimize "$tmp/in.onnx" "$tmp/out.onnx" | awk '/^all nodes/ { print $3 "-" $4 }')
if [ "$nodes" = 152-100 ]; then pass; else lose "mobilenetv2: $nodes nodes, expected 152-100"; fi

# The instruments: each rewriting evaluated before and after, dumps, the log, timings.
"$zoo" bert-tiny --symbolic -o "$tmp/in.onnx"
if "$tw" compile -q --verify=each "$tmp/in.onnx" -o "$tmp/m.twb" 2>"$tmp/err"; then pass; else
	lose "compile --verify=each: $(cat "$tmp/err")"; fi
"$tw" optimize -q --log --timings --dump-after=all "$tmp/in.onnx" "$tmp/out.onnx" 2>"$tmp/err" ||
	lose "optimize with instruments"
for line in "^# after FoldConstant$" "^# after SimplifyInference (unchanged)$" "^graph " \
	"^FoldConstant: evaluate: /embeddings/Gather -> " "^FoldConstant  *[0-9.]* ms  *[0-9]* -> [0-9]* nodes"; do
	if grep -q "$line" "$tmp/err"; then pass; else lose "no line $line with the instruments on"; fi
done
finish
