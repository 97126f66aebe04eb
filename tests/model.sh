#!/bin/sh
# usage: tests/model.sh [-a] [NAME ...]     whole models against stored results of ONNX Runtime
#
# Each model is compiled at -O0, -O1 and -O3 and run at the shapes of tests/model/NAME.ref, all from
# one bundle. Outputs must be within 1e-4 of the largest element of what ONNX Runtime gave, and of
# each other. That the test is not blind: with any weight tensor made half as large again (two of
# them at -O1, with -a each one at -O0), the output must be away by more than 2e-4.
#
# Without -a only models that take seconds. tests/model/main.c says how a .ref is made.
# shellcheck disable=SC2012  # our own file names
. tests/common
about="model "
model=${BUILD:-build}/test/model
[ -x "$model" ] || { echo "there is no $model"; exit 1; }
FAST="bert-tiny squeezenet"
SOME=2
case $BUILD in */asan) FAST="bert-tiny" ;; esac # sanitizers make the compiler slow

# check SIGN A B WHAT: A SIGN B holds, and both are numbers
check() {
	if awk -v a="$2" -v b="$3" "BEGIN { exit !(a ~ /^[0-9]/ && a $1 b) }"; then
		pass
	else
		lose "$4: $2, expected $1 $3; $(tail -n 1 "$tmp/err")"
	fi
}

# The topologies that ONNX ships without weights, from the archive of its tests or Debian's package.
light=
archive=$(ls ../shared/data/onnx-backend-*.tar.xz 2>/dev/null | tail -n 1)
find_light() {
	if [ -n "$archive" ] && tar -C "$tmp" -xf "$archive" ./light 2>/dev/null; then
		light=$tmp/light
	elif [ -d "$ONNX_TESTDATA/light" ]; then
		light=$ONNX_TESTDATA/light
	fi
}

make_model() { # make_model NAME FILE
	case $1 in
	light_*)
		[ -n "$light" ] || find_light
		[ -f "$light/$1.onnx" ] || return 77
		"$zoo" reweight "$light/$1.onnx" -o "$2" >/dev/null ;;
	*) "$zoo" "$1" --symbolic -o "$2" ;;
	esac
}

shape_option() { [ "$1" = - ] || echo "--shape $1"; }

# compile_and_run LEVEL FILE FOLDER SHAPE...: outputs in FOLDER.SHAPE
compile_and_run() {
	level=$1 file=$2 folder=$3
	shift 3
	rm -rf "$tmp/m.twb" "$folder".*
	"$tw" compile -q "-O$level" "$file" -o "$tmp/m.twb" 2>"$tmp/err" || return 1
	for shape; do
		# shellcheck disable=SC2046  # an option and its argument, or nothing
		"$tw" run -q $(shape_option "$shape") --runs 1 --output "$folder.$shape" "$tmp/m.twb" \
			2>"$tmp/err" || return 1
	done
}

compare_levels() { # compare_levels NAME
	shapes=$("$model" batches "$ref")
	for level in 0 1 3; do
		# shellcheck disable=SC2086  # shapes are words
		compile_and_run $level "$tmp/m.onnx" "$tmp/O$level" $shapes || lose "$1 -O$level: $(cat "$tmp/err")"
	done
	for shape in $shapes; do
		for level in 0 1 3; do
			error=$("$model" compare "$ref" "$shape" "$tmp/O$level.$shape" 2>"$tmp/err")
			check '<=' "$error" 1e-4 "$1 $shape -O$level beside ONNX Runtime"
			worst="$worst $error"
		done
		for other in $("$model" agree "$ref" "$shape" "$tmp/O0.$shape" "$tmp/O1.$shape" "$tmp/O3.$shape" 2>"$tmp/err"); do
			check '<=' "$other" 1e-4 "$1 $shape beside -O0"
		done
	done
}

# The least that a perturbed weight moves the output, over the weights tried.
perturb_weights() { # perturb_weights NAME
	shape=$("$model" batches "$ref" | head -n 1)
	count=$("$model" weights "$tmp/m.onnx")
	step=$(((count + SOME - 1) / SOME))
	k=$((step > 1 ? step / 2 : 0)) least=inf
	while [ $k -lt "$count" ]; do
		weight=$("$model" perturb "$tmp/m.onnx" $k "$tmp/p.onnx" 2>"$tmp/err")
		compile_and_run 1 "$tmp/p.onnx" "$tmp/perturbed" "$shape"
		move=$("$model" compare "$ref" "$shape" "$tmp/perturbed.$shape" 2>"$tmp/err")
		check '>' "$move" 2e-4 "$1 with weight $k ($weight) perturbed"
		least=$(awk -v a="$least" -v b="$move" 'BEGIN { print (a == "inf" || b < a) ? b : a }')
		k=$((k + step))
	done
	[ -n "$is_whole" ] || return
	check '>' "$("$model" sensitivity "$tmp/m.onnx" 2>"$tmp/err")" 2e-4 "$1 with each weight perturbed"
}

[ -z "$is_whole" ] || shift
if [ $# = 0 ] && [ -n "$is_whole" ]; then
	# shellcheck disable=SC2046  # names are words
	set -- $(cd tests/model && find . -name '*.ref' | sed 's/^\.\///; s/\.ref$//' | sort)
elif [ $# = 0 ]; then
	# shellcheck disable=SC2086  # names are words
	set -- $FAST
fi
for name; do
	ref=tests/model/$name.ref worst=
	make_model "$name" "$tmp/m.onnx" 2>"$tmp/err"
	case $? in
	0) ;;
	77) skip 1 cases; continue ;;
	*) lose "$name: $(cat "$tmp/err")"; continue ;;
	esac
	compare_levels "$name"
	perturb_weights "$name"
	echo "$name: errors$worst; a perturbed weight moves it by $least or more, of $count"
done
finish
