#!/bin/sh
# Every verb, at every level, with every option that the program says it has: none ends by a signal
# or as a bug of ours, and what nobody knows is refused in a sentence. Verbs, options, the form of
# their arguments, passes and settings are read from the program, so that new ones are tried, too.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common
cd "$tmp" || exit 1
mkdir cases empty
export XDG_CACHE_HOME="$tmp/cache"

cat >m.txt <<'TEXT'
graph g(%x: f32[N,8,6,6], %w: f32[8,8,3,3]) -> %y {
  %c = Conv(%x, %w) {pads=[1,1,1,1]}  "conv"
  %r = Relu(%c)  "relu"
  %y = Softmax(%r) {axis=1}  "soft"
}
TEXT
cat >m.e <<'TEXT'
expr f(X: f32[9,8], W: f32[4,8,3]) -> Y {
  Y[p:7, f:4]: f32 = sum(c:8, r:3) X[p+r, c] * W[f, c, r]
}
TEXT
cat >m.l <<'TEXT'
kernel k(X: f32[8], Y: out f32[8]) {
  for i in 8 @parallel
    Y[i] = X[i] + 1
}
TEXT
if ! "$tw" optimize -q -O0 m.txt m.onnx || ! "$tw" compile -q -O0 m.onnx; then lose "the model"; fi
mkdir -p cases/case/test_data_set_0 && cp m.onnx cases/case/model.onnx

# The arguments that a verb is tried with, one line each.
subjects() {
	case $1 in
	optimize) echo m.onnx -o out.onnx ;;
	compile) echo m.onnx -o out.twb ;;
	tune) echo m.onnx ;;
	run | bench) printf '%s\n' m.twb m.onnx ;;
	compare) echo m.onnx m.twb --rounds 0 ;;
	bisect) echo m.onnx -o out.onnx ;;
	ablate) echo m.onnx --rounds 1 ;;
	check) printf '%s\n' m.twb m.onnx ;;
	derive | tiles) printf '%s\n' m.e m.onnx ;;
	explain) printf '%s\n' "m.twb m.onnx" m.onnx ;;
	report) echo m.twb m.onnx ;;
	inspect) printf '%s\n' m.twb m.onnx ;;
	print) printf '%s\n' m.onnx m.e m.l ;;
	list) printf '%s\n' "" passes ;;
	test-onnx) echo cases ;;
	*) lose "$1: say here what the verb is tried with" ;;
	esac
}

# run ARGUMENTS: $rc; a signal, a bug of ours, or a failure without a sentence is lost.
run() {
	within 200 "$tw" "$@" >out 2>err </dev/null
	rc=$?
	if [ $rc = 5 ] || [ $rc -gt 6 ]; then
		lose "$*: exit code $rc: $(tail -n 3 err)"
	elif [ $rc -gt 1 ] && ! [ -s err ]; then
		lose "$*: exit code $rc, and no sentence"
	else
		pass
	fi
}

# refused ARGUMENTS: it fails, with one sentence.
refused() {
	run "$@"
	if [ $rc = 0 ]; then
		lose "$*: accepted"
	elif [ "$(grep -cv '^usage:' err)" -gt 1 ]; then
		lose "$*: says $(cat err)"
	else
		pass
	fi
}

# says SENTENCE ARGUMENTS: it is refused so.
says() {
	sentence=$1
	shift
	refused "$@"
	grep -qF -- "$sentence" err && pass && return
	lose "$*: not '$sentence': $(cat err)"
}

# What nobody knows, in the form of an argument.
wrong() {
	case $1 in
	*=*) echo no-such=1 ;;
	FILE | DIR) echo m.onnx/none ;; # nothing can be below a file
	*) echo no-such ;;
	esac
}

"$tw" --help | sed -n '/^verbs/,/^$/s/^  \([a-z-]*\) .*/\1/p' >verbs
"$tw" list passes | sed '1d; /^alias /d; s/ .*//' >all_passes
"$tw" list settings | sed '1d; s/  */ /; s/ \([^ ]*\) .*/ \1/' >all_settings
for list in verbs all_passes all_settings; do [ -s $list ] || lose "no $list are found"; done

while read -r verb; do
	"$tw" "$verb" --help all | sed -n '/^options:/,$s/^.*--\([a-z-]*\)\( [^ ]*\)\{0,1\}  *.*/\1\2/p' >options
	[ "$("$tw" help "$verb")" = "$("$tw" "$verb" --help)" ] && pass || lose "help $verb is another"
	[ "$("$tw" help "$verb" all)" = "$("$tw" "$verb" --help all)" ] && pass || lose "help $verb all is another"
	grep -q '^help' options || lose "$verb: no options are found"
	subjects "$verb" >lines
	while read -r line; do
		# shellcheck disable=SC2086  # a line is a list of arguments
		set -- "$verb" $line
		refused "$@" --no-such-option
		run "$@"
		[ $rc -le 1 ] || lose "$*: exit code $rc: $(cat err)"
		levels=
		grep -q '^level ' options && levels="0 1 2 3"
		for level in $levels; do run "$@" "-O$level"; done
		while read -r option form; do
			case $form in
			"")
				run "$@" "--$option"
				refused "$@" "--$option=1"
				if [ "$verb" = print ]; then
					for level in $levels; do run "$@" "--$option" "-O$level"; done
				fi ;;
			*)
				refused "$@" "--$option" "$(wrong "$form")"
				refused "$@" "--$option" ;;
			esac
			case $form in
			[a-z]*\|*) for word in $(echo "$form" | tr '|' ' '); do run "$@" "--$option=$word"; done ;;
			N | BYTES | SEED) refused "$@" "--$option=-1" ;;
			esac
		done <options
	done <lines
done <verbs

# Each pass alone and each left out; each setting with what it is not, and with a slip in its name.
while read -r pass; do
	run print "--passes=$pass" m.onnx
	run print -O3 "--disable=$pass" m.onnx
	run print -O3 --lower "--disable=$pass" m.onnx
	run optimize "--passes=$pass" m.onnx out.onnx
	refused print "--disable=${pass}s" m.onnx
done <all_passes
while read -r setting form; do
	refused print -O3 --lower --config "${setting%.*}.no-such=1.5" m.onnx
	case $form in
	N | *\|*) refused print -O3 --lower --config "$setting=1.5" m.onnx ;;
	*) refused print -O3 --lower --config "$setting=no-such" m.onnx ;;
	esac
done <all_settings

# Times and sizes for people.
"$tw" run m.twb >out && grep -q "^median run  *[1-9][0-9.]* us$" out && pass || lose "run says $(cat out)"
"$tw" bench --rounds 3 --json m.twb m.twb >out && grep -q '"verdict":.*"[a-z ]*",$' out &&
	grep -q '"lower_quartile_ms":' out && grep -q '"noise":' out && pass || lose "bench says $(cat out)"
printf 'graph g(%%x: bf16[2]) -> %%y { %%y = Relu(%%x) }\n' >short.txt
"$tw" bench --rounds 1 short.txt short.txt >out 2>&1 && pass || lose "bench of bf16 says $(cat out)"
printf 'graph g(%%x: f32[2]) -> %%y { %%y = Relu(%%x) }\n' >other.txt
says "the subjects have different inputs" bench m.twb other.txt
"$tw" compile --json m.onnx -o sized.twb >out
awk -v size="$(wc -c <sized.twb)" '
	/_bytes/ { gsub(/[",]/, ""); bytes[$1] = $2 }
	END { exit !(bytes["code_bytes:"] > 0 && bytes["file_bytes:"] == size) }' out && pass ||
	lose "file_bytes are not the file's: $(cat out)"

"$tw" run -q --threads 99999 m.twb 2>err && pass || lose "--threads 99999"
"$tw" run --threads 99999 m.twb 2>err >/dev/null && grep -q "^note: 99999 threads are asked for, and" err &&
	pass || lose "--threads 99999 says $(cat err)"

# What was understood and did nothing.
says "--fold-limit is for a model: m.twb is a bundle, which is compiled already" run m.twb --fold-limit 1
says "--shape is for models alone: m.twb is a bundle" check m.twb --shape N=1
says "'@O1' says how to compile a model, and m.twb is compiled already" bench m.twb@O1
says "--passes is for a model or an expression or a kernel's loops: no subject is a model" bench m.twb --passes LICM
says "m.onnx: there is no input 'nonsense' (there are: x, w)" compile m.onnx --fix nonsense=1
says "there is no setting 'LICM.typo'" compile m.onnx --config LICM.typo=1
says "optimize cannot run FuseOps" optimize --passes FuseOps m.onnx out.onnx
says "--shape is for a model: m.twb is a bundle" inspect --shape N=2 m.twb
says "inspect has no option --threads" inspect --threads 2 m.twb
says "m.onnx would be written over the input m.onnx" compile m.onnx -o m.onnx
ln m.onnx same.onnx
says "same.onnx would be written over the input m.onnx" optimize m.onnx same.onnx
mv m.twb other.twb && cp m.onnx m.twb
says "m.twb would be written over the input m.twb" compile m.twb
printf '%s\n' '{"choices": 2}' \
	'{"key": "onednn.conv 1x64x56x56", "chosen": "winograd", "candidates": ""}' >choices
says "none of its 1 choices concerns m.onnx" compile m.onnx --choices choices
says "expected OUT.onnx or -o OUT.onnx, saw neither" optimize m.onnx
says "expected OUT.onnx or -o OUT.onnx, saw both" optimize m.onnx a.onnx -o b.onnx
says "'c' is one argument too many" optimize a b c
finish
