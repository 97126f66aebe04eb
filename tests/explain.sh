#!/bin/sh
# usage: tests/explain.sh [-a]    what explain says of a bundle is what is in it, and what was recorded
#
# Choices are written by hand here, so that nothing is measured: a derivation, originals with all the
# reasons there are, records that cannot be used. The steps are those that derive replays.
# shellcheck disable=SC2015  # pass cannot fail
all=$1
. tests/common
cd "$tmp" || exit 1

# says TEXT COMMAND...    the command ends well, and its output has the text
says() {
	text=$1
	shift
	"$@" >out 2>err && grep -qF -- "$text" out && pass || lose "$*: no '$text': $(cat out err)"
}

# refuses CODE TEXT COMMAND...    it ends with this code and this one line
refuses() {
	code=$1 text=$2
	shift 2
	"$@" >out 2>err
	[ $? = "$code" ] && [ "$(cat err)" = "$text" ] && pass || lose "$*: not '$text': $(cat err)"
}

cat >m.txt <<'END2'
graph g(%x: f32[1,64,7,7], %u: f32[1,64,14,14], %c: bool) -> %y, %z, %q, %r, %n {
  %ws: i64[4] = {64,32,4,4}
  %w = ConstantOfShape(%ws) {value=f32[1] {0.25}} "w"
  %vs: i64[4] = {64,64,3,3}
  %v = ConstantOfShape(%vs) {value=f32[1] {0.5}} "v"
  %y = ConvTranspose(%x, %w) {strides=[2,2], pads=[1,1,1,1]} "up"
  %z = Conv(%u, %v) {pads=[1,1,1,1]} "conv"
  %r = Relu(%z) "relu"
  %s: f32[2] = {2, 3}
  %k: f32[2,64,1,1] = weight 0
  %i = Conv(%u, %k) "thin"
  %n = BatchNormalization(%i, %s, %s, %s, %s) "norm"
  %q = If(%c) "choice" then_branch {
      %a = Conv(%u, %v) {pads=[2,2,2,2], dilations=[2,2]} "inner"
      yield %a
    } else_branch {
      %b = Neg(%z) "neg"
      yield %b
    }
}
END2

# make OPTION...    m.twb, by the options, without measuring derivations
make() {
	"$tw" compile -q m.txt -o m.twb --prove none --no-prepack --config DeriveExpressions.seconds=0 "$@" \
		2>err || lose "compile $*: $(cat err)"
	unzip -p m.twb choices.jsonl >choices
}

# record NODE CHOSEN CANDIDATES    in the file choices, instead of what it says of this node
record() {
	key=$("$tw" explain m.txt --node "$1" | sed -n 's/^asked *//p')
	[ -n "$key" ] || lose "$1 asks nothing"
	grep -v "$key" choices >others
	{ cat others; echo "{\"key\": \"$key\", \"chosen\": \"$2\", \"candidates\": \"$3\"}"; } >choices
}

# Of a model alone nothing is known; of a bundle of nothing that was measured, that there was no time.
says "no choices are given" "$tw" explain m.txt --node up
rm -rf cache && XDG_CACHE_HOME=$tmp/cache && export XDG_CACHE_HOME
make
says "no time was left to search for it" "$tw" explain m.twb --node up
says "no time was left to search for it" "$tw" explain m.twb --node inner
for node in up conv inner; do
	"$tw" explain m.twb | grep -q "^$node .*as given" && pass || lose "$node is not in the table"
done
says "3  it is no convolution-like sum: products that a moving window adds up" "$tw" explain m.twb
says "not searched  its operator is no expression: control flow, or computed by a host function" "$tw" explain m.twb --node choice
says "joined        norm, to this node, by a pass before" "$tw" explain m.twb --node norm
says "operator      none is left" "$tw" explain m.twb --node w

# A derivation: the steps of derive, each with its law; parts as the bundle has them.
way="split_sum 0 3; position 0 1 2 4; position 0 1 3 6; converge 2"
record up "$way" "as given 200.0 us, reverse 0 1; converge 0 not measured, $way 100.0 us"
make --choices choices
says "gain      2.00: 100.0 us, and 200.0 us as given" "$tw" explain m.twb --node up
"$tw" explain m.twb --node up >explained
sed -n '/^stage /q; /^expr\|^  [^(]\|^}/p' explained >steps
sed '/^}/q' steps >given.e
"$tw" derive given.e --constant w --replay "$way" | grep '^expr\|^ \|^}' >replayed
[ "$(grep -c '^expr' replayed)" = 5 ] && cmp -s replayed steps && pass || lose "other steps: $(diff replayed steps)"
says "split_sum 0 3: sum over some iterators what a new stage sums over the others" cat explained
says "  (stage 0: conv, bits 3; reassociating)" cat explained
says "  (stage 0: conv, read 1, dim 2, loop 4; exact)" cat explained
grep -q "^ *not measured\|^  *reverse 0 1; converge 0$" explained && pass || lose "what could not be measured: $(cat explained)"
count() { sed -n "/^stage /,/^measured/p" explained | grep -c "$1"; }
steps() { sed -n "/^step /,\$p" explained | grep -c " $1 .* up$"; }
[ "$(count "a call: matmul")" = "$(steps "vendor .* matmul ")" ] && [ "$(count "a kernel")" = "$(steps kernel)" ] &&
	[ "$(steps kernel)" -gt 0 ] && pass || lose "parts and steps differ: $(cat explained)"
says "computed from weights when compiling" cat explained
[ "$("$tw" explain m.twb --json --node up | grep -c '"law":	')" = 5 ] && pass || lose "--json: $("$tw" explain m.twb --json --node up)"
"$tw" explain m.twb | grep -q "^up .* 1 call (matmul), 1 kernel, 1 known *100.0 *200.0 *2.00  split_sum 0 3; position" && pass ||
	lose "the table: $("$tw" explain m.twb)"

# The same by the choices alone, by the name of an output, and behind -O2 as if there were none.
"$tw" explain m.txt --choices choices --node y | sed '/^step /,$d' >alone
sed '/^became /d; /^node .*why not$/,$d' explained | cmp -s - alone && pass || lose "not the same without the bundle: $(diff explained alone)"
says "no search was asked for: the pipeline is without DeriveExpressions" \
	"$tw" explain m.txt -O2 --choices choices --node up

# Originals, by what was measured; records that are of no use.
record conv "as given" "as given 10.0 us, converge 4 10.1 us"
says "10.0 us as given, and 10.1 us by the fastest other" "$tw" explain m.txt --choices choices --node conv
record conv "as given" "as given 10.0 us, converge 4 9.8 us"
says "9.8 us by the fastest other: not clearly faster" "$tw" explain m.txt --choices choices --node conv
record conv "as given" "as given 10.0 us, converge 4 5.0 us"
says "something else, and was refused" "$tw" explain m.txt --choices choices --node conv
record conv "as given" "as given 10.0 us, converge 4 5.0 us, the model as a whole is not faster with it"
says "10.0 us as given, and 5.0 us by the fastest other, but the model as a whole is not faster with it" \
	"$tw" explain m.txt --choices choices --node conv
record conv "as given" "as given, nothing else promises to be faster"
says "the search found nothing that promises to be faster" "$tw" explain m.txt --choices choices --node conv
record conv "as given" "as given not measured, converge 4 5.0 us"
says "the original could not be measured" "$tw" explain m.txt --choices choices --node conv
record conv "split_sum 9 9" ""
says "the recorded 'split_sum 9 9' does not apply" "$tw" explain m.txt --choices choices --node conv
record conv "magic" ""
says "the recorded 'magic' is no derivation" "$tw" explain m.txt --choices choices --node conv
record up "$way" ""
echo '{"key": "deny derive up", "chosen": "wrong", "candidates": ""}' >>choices
says "the choices deny it" "$tw" explain m.txt --choices choices --node up

# Two that became one: both say so, and the steps are those of both.
cat >two.txt <<'END2'
graph g(%u: f32[1,64,14,14]) -> %y, %z {
  %vs: i64[4] = {64,64,3,3}
  %v = ConstantOfShape(%vs) {value=f32[1] {0.5}} "v"
  %ws: i64[4] = {32,64,3,3}
  %w = ConstantOfShape(%ws) {value=f32[1] {0.25}} "w"
  %y = Conv(%u, %v) {pads=[1,1,1,1]} "left"
  %z = Conv(%u, %w) {pads=[1,1,1,1]} "right"
}
END2
"$tw" compile -q two.txt -o two.twb --prove none --no-prepack --config DeriveExpressions.seconds=0
unzip -p two.twb choices.jsonl >choices
says "right  Conv      as given" "$tw" explain two.txt --choices choices
way="merge_products 0 0; converge 0"
sed "/ xww\"/s/\"as given\", \"candidates\": \"no time left\"/\"$way\", \"candidates\": \"as given 9.0 us, $way 6.0 us\"/" \
	choices >merged
for node in left right; do
	"$tw" explain two.txt --choices merged | grep -q "^$node .* with others: 1 call (conv), 2 kernels, 1 known" &&
		pass || lose "$node is not merged in the table"
	says "together  left with right" "$tw" explain two.txt --choices merged --node "$node"
	says "gain      1.50: 6.0 us, and 9.0 us as given" "$tw" explain two.txt --choices merged --node "$node"
done
says "inputs    x0 is %u, w1 is %v_1, known when compiling, w2 is %w_2, known when compiling" \
	"$tw" explain two.txt --choices merged --node right

# The model that belongs to the bundle.
mkdir far && cp m.twb far
refuses 2 "far/m.twb holds what was chosen, and not the model that the expressions are from; n.txt is not beside it: tilewright explain far/m.twb MODEL" \
	sh -c "mv m.txt n.txt; '$tw' compile -q n.txt -o far/m.twb --prove none -O1 && mv n.txt m.txt && '$tw' explain far/m.twb"
says "no search was asked for: the pipeline is O1" "$tw" explain far/m.twb m.txt --node up
echo 'graph g(%x: f32[1]) -> %y { %y = Relu(%x) }' >far/n.txt
refuses 2 "far/m.twb holds what was chosen, and not the model that the expressions are from; n.txt beside it is another one by now: tilewright explain far/m.twb MODEL" \
	"$tw" explain far/m.twb
refuses 2 "far/n.txt is not the model that far/m.twb was compiled from (n.txt): its SHA-256 is another" \
	"$tw" explain far/m.twb far/n.txt
refuses 2 "--choices: m.twb is a bundle and has its own" "$tw" explain m.twb --choices choices
refuses 2 "m.txt is no bundle: expected one model, or a bundle and its model" "$tw" explain m.txt m.txt
refuses 2 "m.txt: there is no node 'cnov'; did you mean 'conv'? (tilewright explain m.twb shows all)" \
	"$tw" explain m.twb --node cnov

# What became of each node: by our kernels alone the answers are the same on all machines.
"$tw" compile -q m.txt -o m.twb -O2 --no-vendor --prove none || lose "compile m.txt"
"$tw" explain m.twb | sed -n 's/  *$//; /^node .*became$/,$p' | sed '/^node .*steps, or why/,$d' >fates
cat >wanted <<'END2'
node    operator            became
w       ConstantOfShape     FoldConstant, evaluate: w_1
v       ConstantOfShape     FoldConstant, evaluate: v_2
up      ConvTranspose       step 0: kernel
conv    Conv                step 1: kernel
relu    Relu                step 1: kernel
thin    Conv                step 2: kernel
norm    BatchNormalization  step 2: kernel
choice  If                  step 3: if
inner   Conv                step 3.0: kernel
neg     Neg                 step 3.0: kernel
END2
diff -u wanted fates >difference && pass || lose "what became of nodes: $(cat difference)"
says "together  one step computes both" "$tw" explain m.twb --fusion thin,norm
says "together  no step does both" "$tw" explain m.twb --fusion up,conv
says "from        thin, norm" "$tw" explain m.twb --step 2
says "SimplifyInference  fold into producer  thin" "$tw" explain m.twb --node norm
refuses 2 "--step: the plan has steps 0 to 3, saw 5" "$tw" explain m.twb --step 5
refuses 2 "--fusion: expected two nodes, as --fusion conv1,relu1" "$tw" explain m.twb --fusion conv
refuses 2 "--fusion and --step are about a bundle: expected FILE.twb" "$tw" explain m.txt --step 0

# How fast a step is, by the machine's row and by a run.
says "at least us" "$tw" explain m.twb --step 2
says "at least us" "$tw" explain m.twb --node thin
says "% of memory  bound by" "$tw" explain m.twb --node thin --profile --runs 2
[ "$("$tw" explain m.twb --profile --runs 2 --json | grep -c '"gflops"')" = 6 ] && pass ||
	lose "--profile: $("$tw" explain m.twb --profile --runs 2)"
refuses 2 "--profile runs a bundle: expected FILE.twb" "$tw" explain m.txt --profile

# Nobody is forgotten.
models="bert-tiny squeezenet longformer-tiny"
[ "$all" != -a ] || models="$models gcn mobilenetv2 resnet18 dcgan infogan fsrcnn csrnet"
for model in $models; do
	"$zoo" "$model" -o zoo.onnx
	for level in 0 2 3; do
		"$tw" compile -q -O$level zoo.onnx -o zoo.twb --prove none --tune none --no-prepack \
			--config DeriveExpressions.seconds=0
		"$tw" explain zoo.twb >out
		! grep "nothing says" out >unknown && grep -q "steps* 0[:,]" out && pass ||
			lose "$model, -O$level: $(head -n 3 unknown)"
	done
done

finish
