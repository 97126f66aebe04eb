#!/bin/sh
# usage: tests/derive.sh    the rules that derive may use, and what it says of bad input
# shellcheck disable=SC2015  # pass cannot fail
. tests/common
cd "$tmp" || exit 1

# refuses CODE TEXT COMMAND...    it ends with this code and this one line, within a minute of a processor
refuses() {
	code=$1 text=$2
	shift 2
	within 60 "$@" >out 2>err
	seen=$?
	[ "$seen" = "$code" ] && [ "$(cat err)" = "$text" ] && pass || lose "$*: $seen, not '$text': $(cat err)"
}

cat >conv.e <<'END2'
expr conv(X: f32[16,9], W: f32[8,16,3]) -> Y {
  Y[f:8, p:7]: f32 = sum(c:16, r:3) X[c, p+r] * W[f, c, r]
}
END2
cat >relu.txt <<'END2'
graph g(%x: f32[4], %c: bool) -> %y, %q {
  %y = Relu(%x) "relu"
  %q = If(%c) "choice" then_branch {
      %a = Neg(%x) "inner"
      yield %a
    } else_branch {
      yield %y
    }
}
END2

# Only these rules: the same as without all others.
printf '# what splits\n  split_sum\t# a law\n\nposition \r\n' >some
others=$("$tw" list rules | awk '$2 == "explores" && $1 != "split_sum" && $1 != "position" { printf ",%s", $1 }')
"$tw" derive conv.e --constant W --depth 2 --derivation only --rules some >/dev/null 2>err || lose "--rules: $(cat err)"
"$tw" derive conv.e --constant W --depth 2 --derivation left --without "$others" >/dev/null
"$tw" derive conv.e --constant W --depth 2 --derivation all >/dev/null
cmp -s only left && ! cmp -s only all && grep -q "position" only && ! grep -q "unfold\|bilinear" only && pass ||
	lose "--rules is not what --without leaves"
"$tw" derive conv.e --constant W --depth 2 --derivation left --rules some --without position >/dev/null
grep -q "split_sum" left && ! grep -q "position" left && pass || lose "--rules with --without"
printf 'split_sum\nsplt_sum\n' >wrong
refuses 2 "wrong:2: there is no rule 'splt_sum'; did you mean 'split_sum'? (tilewright list rules shows all)" \
	"$tw" derive conv.e --rules wrong
echo 'tighten' >wrong
refuses 2 "wrong:1: rule 'tighten' is applied wherever it can be; only rules that explore can be chosen (tilewright list rules shows them)" \
	"$tw" derive conv.e --rules wrong
echo '# nothing' >wrong
refuses 2 "wrong: no rule is named: expected one on each line" "$tw" derive conv.e --rules wrong
refuses 6 "cannot open none: No such file or directory" "$tw" derive conv.e --rules none
refuses 2 "there is no rule 'unfolds'; did you mean 'unfold'? (tilewright list rules shows all)" \
	"$tw" derive conv.e --without unfolds
refuses 2 "rule 'merge' is applied wherever it can be; only rules that explore can be chosen (tilewright list rules shows them)" \
	sh -c "echo 'graph g(%x: f32[1,32,28,28], %w: f32[32,32,3,3]) -> %y { %y = Conv(%x, %w) }' >m.txt &&
		'$tw' compile -q m.txt --config DeriveExpressions.rules=split_sum,merge"

# What is no question.
: >empty
mkdir folder
refuses 3 "empty: the file holds no graph: is it an ONNX model?" "$tw" derive empty
refuses 6 "cannot open folder: it is a folder" "$tw" derive folder
refuses 2 "relu.txt: no node is a sum of products; --node names another" "$tw" derive relu.txt
refuses 2 "relu.txt: there is no node 'rely'; did you mean 'relu'? (tilewright print relu.txt shows all)" \
	"$tw" derive relu.txt --node rely
refuses 4 'relu.txt:3: node "choice" (If): only operators that are expressions can be derived from' \
	"$tw" derive relu.txt --node choice
"$tw" derive relu.txt --node inner | grep -q -- "-x\[" && pass || lose "a node of a branch"
refuses 2 "--node is for a model or a bundle: conv.e is an expression" "$tw" derive conv.e --node x
refuses 2 "--constant is for an expression: relu.txt is a model; its constants are known (--fix makes more)" \
	"$tw" derive relu.txt --node relu --constant x
refuses 2 "there is no input 'w'; did you mean 'X'? (there are: X, W)" "$tw" derive conv.e --constant w
refuses 2 "--depth: -1 is negative; expected 0 or more" "$tw" derive conv.e --depth -1
refuses 2 "--budget: expected a number from 0 to 2147483647, saw 4294967296" "$tw" derive conv.e --budget 4294967296
"$tw" derive conv.e --depth 1 --budget 0 >out && grep -q "split_sum" out && pass || lose "--budget 0 is the default"

# Replays that do not apply say why; files that cannot be written are known before the search.
refuses 2 "--replay: expected steps as derive prints them, saw 'foo'" "$tw" derive conv.e --replay foo
refuses 2 "--replay: expected steps as derive prints them, saw 'converge 99999999999'" "$tw" derive conv.e --replay 'converge 99999999999'
refuses 2 "--replay: 'split_sum 9 9' does not apply there: the program has no such stage" \
	"$tw" derive conv.e --replay 'split_sum 9 9'
refuses 2 "--replay: 'converge 77' does not apply there: the products converge to fewer forms" \
	"$tw" derive conv.e --replay 'split_sum 0 1; converge 77'
for option in -o --dot --derivation; do
	refuses 6 "cannot write none/x: No such file or directory" "$tw" derive conv.e "$option" none/x
	[ ! -s out ] && pass || lose "$option: it was searched before"
done

# Expressions that mean harm.
refuses 3 "argument:1: unknown name 'Q'" "$tw" derive 'expr f(X: f32[9]) -> Y { Y[p:7]: f32 = X[Q] }'
refuses 3 "argument:1: nothing called 'Y' can be read here" "$tw" derive 'expr f(X: f32[9]) -> Y { Y[p:7]: f32 = Y[p] }'
refuses 3 "argument:1: expression 'f', stage 'Y': reads 'X' at p in dim 0, not certainly in 0..9" \
	"$tw" derive 'expr f(X: f32[9]) -> Y { Y[p:9000000000000000000]: f32 = X[p] }'
awk 'BEGIN { printf "expr f(X: f32[4]) -> Y { Y[p:4]: f32 = X[p]"; for (i = 0; i < 100000; i++) printf "+X[p]"; print " }" }' >long.e
refuses 3 "long.e:1: more than 10000 operations in one expression" "$tw" derive long.e
awk 'BEGIN { print "expr f(X: f32[4,4]) -> Y39 { Y0[p:4,q:4]: f32 = X[p,q]"
	for (i = 1; i < 40; i++) printf "Y%d[p:4,q:4]: f32 = sum(c:4) Y%d[p,c] * Y%d[c,q]\n", i, i - 1, i - 1; print " }" }' >squares.e
within 60 "$tw" derive squares.e --constant X >out && grep -q "as given" out && pass || lose "squares of squares: $(cat out)"
within 60 "$tw" derive 'expr f(X: f32[9000000000002,8], W: f32[4,8,3]) -> Y {
	Y[p:9000000000000, f:4]: f32 = sum(c:8, r:3) X[p+r, c] * W[f, c, r] }' --depth 2 >out && pass || lose "huge extents: $(cat out)"

finish
