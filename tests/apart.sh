#!/bin/sh
# usage: tests/apart.sh [-a | MODEL...]
#
# A device with memory of its own: models of the zoo, and one of eight of the ONNX backend cases (-a:
# all), on the test backend, where a copy that is missing from a plan ends the run. The same kernels and choices as on
# the CPU give the same bits, step by step and from the second run on, which is recorded and
# replayed; and as many values are proved at as many points, and as many results of fallback kernels
# beside them, read from the device by copies.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common

want device

# -a: all models but those that take longest.
# shellcheck disable=SC2046  # names without blanks
case $1 in
-a) set -- $("$zoo" list | awk '$1 !~ "^(gcn|longformer)$" { print $1 }') ;;
"") set -- dcgan bert-tiny ;;
esac

# proved WAY: "79 values at 8235 points, 30 results of fallback kernels too" of a bundle.
proved() {
	"$tw" inspect "$tmp/$1.twb" |
		sed -n 's/^proved  *\([0-9]* values at [0-9]* points\(, [0-9]* results of fallback kernels\)*\).*/\1/p'
}

for model; do
	"$zoo" "$model" --symbolic -o "$tmp/m.onnx" || { lose "zoo $model"; continue; }
	: >"$tmp/none" # a model for which nothing was chosen has no choices
	"$tw" compile -q "$tmp/m.onnx" --target cpu:native -o "$tmp/cpu.twb" --keep "$tmp/kept" \
		--config DeriveExpressions.seconds=5 &&
		choices=$(ls "$tmp/kept/choices.jsonl" 2>/dev/null || echo "$tmp/none") &&
		"$tw" compile -q "$tmp/m.onnx" --target test:native -o "$tmp/test.twb" \
			--choices "$choices" 2>"$tmp/said" || { lose "compile $model: $(cat "$tmp/said")"; continue; }
	if [ "$(proved cpu)" = "$(proved test)" ] && ! grep -q "wrong" "$tmp/said"; then
		pass
	else
		lose "$model: proved are $(proved test), and on the CPU $(proved cpu): $(cat "$tmp/said")"
	fi
	for batch in 1 3; do
		for way in cpu test; do
			"$tw" run -q "$tmp/$way.twb" --shape "batch=$batch" --runs 3 --output "$tmp/$way" ||
				lose "run $model, batch $batch on $way"
		done
		diff -r "$tmp/cpu" "$tmp/test" >/dev/null && pass || lose "$model, batch $batch: other bits"
	done
	rm -rf "$tmp/kept"
done

# Loops, branches, host operators, texts: the cases have them all.
case $BUILD in */asan) ONNX_TESTDATA= ;; esac # tests/backend.sh has been through them
if [ -n "$ONNX_TESTDATA" ]; then
	SAMPLE=8
	[ -z "$is_whole" ] || SAMPLE=1
	SAMPLE=$SAMPLE "${BUILD:-build}/test/cases" compiled -q --target test:native "$ONNX_TESTDATA" \
		>"$tmp/cases" 2>&1 && pass ||
		lose "backend cases: $(grep '^FAIL' "$tmp/cases")"
	cases=$(tail -n 1 "$tmp/cases")
	[ "${cases%% *}" -ge $((900 / SAMPLE)) ] && pass ||
		lose "of $((900 / SAMPLE)) backend cases and more: $cases"
fi
finish
