#!/bin/sh
# The C of a kernel: no more of the prelude than it uses, and what is there compiles alone, for each
# target and by each C compiler that is here. Of the zoo, no kernel's C has more than two and a half
# lines for each line of its loops, and 25, and no sum that a loop has been left by stands there twice.
# shellcheck disable=SC2015,SC2016  # pass cannot fail; programs of awk
. tests/common
plain_only texts
about="kernel_text "

# check NAME LINES KERNEL: the file has at most so many lines, and no function that nobody calls
check() {
	for target in x86-64-v3 x86-64-v4 aarch64; do
		echo "$3" | "$tw" print --ir=loops --passes=Flatten,Vectorize,SplitMasks,Unroll,PlaceRegisters,Normalize --c --target cpu:$target - >"$tmp/k.c" || lose "$1 for $target"
		lines=$(wc -l <"$tmp/k.c")
		if [ "$lines" -le "$2" ]; then pass; else lose "$1 for $target: $lines lines, not $2"; fi
		idle=$(tr -cs 'A-Za-z0-9_' '\n' <"$tmp/k.c" | grep '^tw_' | sort | uniq -c |
			awk '$1 == 1 && $2 != "tw_kernels_v1" { print $2 }')
		if [ -z "$idle" ]; then pass; else lose "$1 for $target: nobody uses $idle"; fi
		case $target in x86*) ;; *) continue ;; esac
		for cc in gcc clang; do
			command -v $cc >/dev/null || continue
			$cc -std=gnu11 -O1 -ffreestanding -fno-math-errno -Wno-psabi -march=$target -c "$tmp/k.c" \
				-o "$tmp/k.o" 2>"$tmp/err" && pass || lose "$1 for $target by $cc: $(cat "$tmp/err")"
		done
	done
}

check add 185 'kernel add(X: f32[1000], Y: out f32[1000]) {
	for i in 1000 @vector
		Y[i] = max(X[i] + 1.0, 0.0)
}'
check f16 270 'kernel f16(X: f16[1000], Y: out f16[1000]) {
	for i in 1000 @vector
		Y[i] = X[i] * X[i]
}'
check strided 250 'kernel strided(X: f32[1000,2], Y: out f32[1000]) {
	for i in 1000 @vector
		Y[i] = min(X[i, 0], X[i, 1])
}'
check softmax 430 'kernel softmax(N, X: f32[N], Y: out f32[N]) {
	m: f32 @reg = -inf
	for i in N @vector
		m max= X[i]
	s: f32 @reg = 0.0
	for i in N @vector
		s += exp(X[i] - m)
	for i in N @vector
		Y[i] = exp(X[i] - m) / s
}'
check wide 230 'kernel wide(N, X: f64[N], Y: out i64[1]) {
	s: f64 @reg = 0.0
	for i in N @vector
		s += X[i]
	Y[0] = i64(s)
}'

# lines_of PATTERN: name and number of lines of each kernel in a text on standard input
lines_of() {
	awk -v pattern="$1" '
		$0 ~ pattern { name = $0; sub(/\(.*/, "", name); sub(/^(kernel |k[0-9]+_)/, "", name); n = 1; next }
		n { n++ }
		n && $0 == "}" { print name, n; n = 0 }' | sort
}

# ratio MODEL: the C of its kernels against their loops
ratio() {
	"${ZOO:-build/zoo}" "$1" -o "$tmp/m.onnx" || lose "$1"
	set -- "$1" -O3 --no-vendor --config DeriveExpressions.seconds=0 --target cpu:x86-64-v4 "$tmp/m.onnx"
	model=$1; shift
	"$tw" print --lower "$@" | lines_of '^kernel ' >"$tmp/loops"
	"$tw" print --c "$@" | lines_of '^k[0-9]+_k[0-9]+_' >"$tmp/c"
	long=$(join "$tmp/loops" "$tmp/c" | awk '$3 > 2.5 * $2 + 25 { print $1 ": " $3 " lines for " $2 }')
	if [ -s "$tmp/c" ] && [ -z "$long" ]; then pass; else lose "$model: $long"; fi
}

# Sums that stand in C though a let in sight holds them (LICM). Reads are made again: between loops
# something may be written.
again='
	/^TW_BODY/ { count = 0 }
	{
		match($0, /^\t*/)
		while (count && depth[count] > RLENGTH) count--
		for (i = 1; i <= count; i++)
			if ((at = index($0, text[i])) && substr($0, at + length(text[i]), 1) !~ /[0-9]/)
				print text[i] " is " name[i] ":" $0
	}
	/^\t*const tw_i64 h[0-9]+ = / {
		value = $0
		gsub(/^.* = \(?|\)?;$/, "", value)
		if (value ~ /[-+*\/%]/ && value !~ /\[/) {
			depth[++count] = RLENGTH; text[count] = value; name[count] = $3
		}
	}'

# once MODEL: what has left a loop is computed where it stands, and nowhere else
once() {
	"${ZOO:-build/zoo}" "$1" --symbolic -o "$tmp/m.onnx" || lose "$1"
	"$tw" print --c -O3 --no-vendor --config DeriveExpressions.seconds=0 --target cpu:x86-64-v4 \
		"$tmp/m.onnx" >"$tmp/all.c" || lose "$1"
	wrong=$(awk "$again" "$tmp/all.c" | head -n 3)
	if grep -q 'const tw_i64 h' "$tmp/all.c" && [ -z "$wrong" ]; then pass; else lose "$1: $wrong"; fi
}

# Of exp, one place holds the operations, and many call them: gcc's time grows with its text.
for places in 1 8; do
	for i in $(seq 0 $((places - 1))); do echo "		Y[i, $i] = exp(X[i, $i])"; done >"$tmp/stores"
	{ printf 'kernel k(X: f32[99,8], Y: out f32[99,8]) {\n\tfor i in 99 {\n' && cat "$tmp/stores" &&
		printf '\t}\n}\n'; } |
		"$tw" print --ir=loops --passes=Flatten,Normalize --c --target cpu:x86-64-v4 - >"$tmp/k.c"
	want=TW_FN && [ $places = 8 ] && want=TW_SLOW
	grep -q "^#define TW_MATH $want$" "$tmp/k.c" && pass || lose "exp in $places places is no $want"
done

for model in squeezenet mobilenetv2 bert-tiny dcgan; do
	ratio $model
	once "$model"
done

finish
