#!/bin/sh
# usage: tests/determinism.sh [-a | MODEL...]    one model, one bundle: two compilations, the same bytes
#
# Below -O3 as they are; at -O3 with the choices of the first (-a: at each level). The second works from another folder,
# by another path, with other temporary files, threads, language and environment, and an empty cache,
# so the C compiler runs twice. Models: one of the zoo's (-a: all but the two large ones), and the
# graphs of the golden tests that compile: one of twenty (-a: all).
. tests/common
plain_only bytes

# compile_here LEVEL FILE OPTION...    in $tmp, into first.twb
compile_here() {
	level=$1 file=$2
	shift 2
	rm -rf "$tmp/cache1" "$tmp/kept" "$tmp/a" && mkdir -p "$tmp/a" || return
	(cd "$tmp" && XDG_CACHE_HOME="$tmp/cache1" TMPDIR="$tmp/a" \
		"$tw" compile -q -O"$level" "$file" -o first.twb --keep kept --threads 1 "$@")
}

compile_elsewhere() {
	level=$1 file=$2
	shift 2
	rm -rf "$tmp/cache2" "$tmp/another" && mkdir -p "$tmp/another/place to be" || return
	(cd "$tmp/another" && PADDING=$(seq -s , 999) XDG_CACHE_HOME="$tmp/cache2" LC_ALL=C.UTF-8 \
		TMPDIR="$tmp/another/place to be" \
		"$tw" compile -q -O"$level" "../$file" -o "$tmp/another/second.twb" --threads 3 "$@")
}

# The parts that differ.
parts() {
	rm -rf "$tmp/x" "$tmp/y"
	mkdir "$tmp/x" "$tmp/y"
	unzip -q "$tmp/first.twb" -d "$tmp/x"
	unzip -q "$tmp/another/second.twb" -d "$tmp/y"
	diff -rq "$tmp/x" "$tmp/y" | sed 's/^Files .*\/x\/\(.*\) and .*/\1/' | tr '\n' ' '
}

# twice NAME LEVEL FILE OPTION...
twice() {
	name=$1 level=$2
	shift 2
	compile_here "$level" "$@" 2>"$tmp/err" || { lose "compile $name -O$level: $(cat "$tmp/err")"; return; }
	if [ "$level" = 3 ]; then
		: >>"$tmp/kept/choices.jsonl"
		set -- "$@" --choices "$tmp/kept/choices.jsonl"
	fi
	compile_elsewhere "$level" "$@" 2>"$tmp/err" || { lose "compile $name -O$level: $(cat "$tmp/err")"; return; }
	if cmp -s "$tmp/first.twb" "$tmp/another/second.twb"; then
		pass
	else
		lose "two bundles of $name at -O$level: $(parts)"
	fi
}

levels="1 3"
if [ -n "$is_whole" ]; then
	levels="0 1 2 3"
	# shellcheck disable=SC2046  # names without blanks
	set -- $("$zoo" list | awk '$1 !~ "^(bert-base|vgg11|gcn|longformer)$" { print $1 }')
elif [ $# = 0 ]; then
	set -- squeezenet
fi
for model; do
	"$zoo" "$model" --symbolic -o "$tmp/m.onnx" || { lose "zoo $model"; continue; }
	for level in $levels; do
		twice "$model" "$level" m.onnx
	done
done

# What the library may add in two ways.
cat >"$tmp/r.txt" <<'END'
graph g(%x: f32[N,64], %w: f32[64,64], %a: f32[N,64], %b: f32[N,64]) -> %y, %z {
  %m = MatMul(%x, %w)
  %s = Add(%m, %a)
  %y = Add(%s, %b)
  %z = Softmax(%y)
}
END
for level in 0 1 2 3; do
	twice "two residuals" $level r.txt
done

find tests/graph tests/passes -name '*.t' | sort | few 20 >"$tmp/few"
while read -r t; do
	awk '/^-- /{p=($2=="in");next} p' "$t" >"$tmp/g.txt"
	grep -q '^graph ' "$tmp/g.txt" || continue
	compile_here 0 g.txt 2>/dev/null || continue # a test of what is refused, or of one pass alone
	twice "$t" 2 g.txt
	twice "$t" 3 g.txt
done <"$tmp/few"
finish
