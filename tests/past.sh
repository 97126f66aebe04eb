#!/bin/sh
# usage: tests/past.sh    sizes of models with a past: relations among symbols that only a failed check shows
#
# Each model runs at few sizes, and no type says at which: an index must lie within a table, within a mask,
# within rows of several dims, or a length that data says must be another's. Sizes are found, so that all is
# proved; what was learnt is said; and where there are none, that is said and can be refused.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common
about="past: "
cd "$tmp" || exit 1

# demands FILE RELATION...: it is proved whole, with these relations and no others, and runs as it is.
demands() {
	file=$1
	shift
	if ! "$tw" compile -O1 --verify=each "$file" -o m.twb --prove=require >said 2>&1; then
		lose "$file: $(cat said)"
		return
	fi
	expected=$(for r; do echo "$r"; done)
	seen=$(unzip -p m.twb sizes.json | grep -o '"relation": "[^"]*"' | sed 's/.*: "\(.*\)"/\1/')
	if [ "$seen" = "$expected" ] && "$tw" run -q m.twb 2>said; then
		pass
	else
		lose "$file: expected $expected, saw $seen: $(cat said)"
	fi
}

# Positions behind the past select from 64 rows; a causal mask is cut from a square.
cat >positions.g <<'END'
graph positions(%ids: i64[B,S], %past: f32[B,2,P,4], %mask: i64[B,T]) -> %y, %present {
  %wte: f32[50,8] = weight 0
  %wpe: f32[64,8] = weight 1
  %square: bool[1,1,64,64] = weight 2
  %wk: f32[8,8] = weight 3
  %s: i64[1] = Shape(%ids) {start=1, end=2}
  %p: i64[1] = Shape(%past) {start=2, end=3}
  %t: i64[1] = Add(%s, %p)
  %one: i64 = {1}
  %zero: i64[1] = {0}
  %p0: i64 = Squeeze(%p, %zero)
  %t0: i64 = Squeeze(%t, %zero)
  %pos = Range(%p0, %t0, %one)
  %pe = Gather(%wpe, %pos) {axis=0}  "positions"
  %te = Gather(%wte, %ids) {axis=0}  "tokens"
  %x = Add(%te, %pe)
  %k = MatMul(%x, %wk)
  %shape: i64[4] = {0, -1, 2, 4}
  %k4 = Reshape(%k, %shape)
  %kt = Transpose(%k4) {perm=[0,2,1,3]}
  %present = Concat(%past, %kt) {axis=2}
  %turned = Transpose(%present) {perm=[0,1,3,2]}
  %scores = MatMul(%kt, %turned)
  %axes: i64[2] = {2, 3}
  %from: i64[2] = Concat(%p, %zero) {axis=0}
  %to: i64[2] = Concat(%t, %t) {axis=0}
  %causal = Slice(%square, %from, %to, %axes)
  %low: f32 = {-10000}
  %seen = Where(%causal, %scores, %low)
  %mf = Cast(%mask) {to=1}
  %inner: i64[2] = {1, 2}
  %m4 = Unsqueeze(%mf, %inner)
  %all = Add(%seen, %m4)
  %y = Softmax(%all) {axis=-1}
}
END
demands positions.g 'P+S <= 64'

# A loop that was traced: each step's check hides the next one's, of which there are ten.
{
	echo 'graph traced(%x0: f32[B,S]) -> %x10 {'
	for t in 0 1 2 3 4 5 6 7 8 9; do
		echo "  %c$t: i64[1] = {$t}"
		echo "  %n$t = Shape(%x$t) {start=1, end=2}"
		echo "  %z$t = Sub(%n$t, %n$t)"
		echo "  %i$t = Add(%z$t, %c$t)"
		echo "  %g$t = Gather(%x$t, %i$t) {axis=1}  \"step$t\""
		echo "  %x$((t + 1)) = Add(%x$t, %g$t)"
	done
	echo '}'
} >traced.g
demands traced.g 'S >= 1' 'S >= 2' 'S >= 3' 'S >= 4' 'S >= 5' 'S >= 6' 'S >= 7' 'S >= 8' 'S >= 9' 'S >= 10'

# gathered NAME BODY: the mask's elements for past and sequence, %total of them, selected by BODY.
gathered() {
	cat >"$1.g" <<END
graph $1(%x: f32[B,S,4], %past: f32[B,P,4], %mask: i64[M,T]) -> %y {
  %table: f32[64,4] = weight 0
  %s: i64[1] = Shape(%x) {start=1, end=2}
  %b: i64[1] = Shape(%x) {start=0, end=1}
  %p: i64[1] = Shape(%past) {start=1, end=2}
  %m: i64[1] = Shape(%mask) {start=1, end=2}
  %t: i64[1] = Add(%s, %p)
  %zero: i64 = {0}
  %one: i64 = {1}
  %first: i64[1] = {0}
  %last: i64[1] = {-1}
  %t0: i64 = Squeeze(%t, %first)
  %b0: i64 = Squeeze(%b, %first)
  %keys = Range(%zero, %t0, %one)
  %rows = Range(%zero, %b0, %one)
  %row = Unsqueeze(%rows, %last)
$2
  %f = Cast(%w) {to=1}
  %w3 = Unsqueeze(%f, %last)
  %all = Concat(%past, %x) {axis=1}
  %y = Mul(%all, %w3)
}
END
}
gathered columns '  %w = Gather(%mask, %keys) {axis=1}  "mask"'
demands columns.g 'P+S <= T'

# From rows one behind the other: batch*total + key, a product of symbols that cancels.
gathered flat '  %at = Mul(%row, %m)
  %place = Add(%at, %keys)
  %line = Reshape(%mask, %last)
  %w = Gather(%line, %place) {axis=0}  "mask"'
demands flat.g 'B*T+P+S <= M*T+T'

# As many rows as another input has: the mask says nothing of its batch but by what it holds.
gathered rows '  %minus: i64[1] = {-1}
  %two: i64[2] = Concat(%b, %minus) {axis=0}
  %laid = Reshape(%mask, %two)
  %v = Gather(%laid, %keys) {axis=1}  "mask"
  %w = Add(%v, %row)'
demands rows.g 'B == M' 'P+S <= T'

# What a mask counts selects from a table, and the mask is selected from: one demand behind another.
gathered counted '  %axis: i64 = {1}
  %c = CumSum(%mask, %axis)
  %e = Gather(%table, %c) {axis=0}  "table"
  %v = Gather(%e, %keys) {axis=1}  "mask"
  %u = ReduceMax(%v, %last) {keepdims=0}
  %w = Cast(%u) {to=7}'
demands counted.g 'T <= 63' 'P+S <= T'

# Whole windows of a length: they, or the rest, or as many as hold it all lie within something else; windows of
# windows; of a batch, too. No few sizes that lie together show that (at 2, 3 and 4 there is one window of 4, or
# none), and what they show instead contradicts itself.
windows() {
	cat >"$1.g" <<END
graph $1(%x: f32[B,S], %mask: i64[M,T]) -> %y {
  %s: i64[1] = Shape(%x) {start=1, end=2}
  %b: i64[1] = Shape(%x) {start=0, end=1}
  %zero: i64 = {0}
  %one: i64 = {1}
  %two: i64[1] = {2}
  %three: i64[1] = {3}
  %four: i64[1] = {4}
  %seven: i64[1] = {7}
  %eight: i64[1] = {8}
  %first: i64[1] = {0}
  %last: i64[1] = {-1}
$2
  %n0: i64 = Squeeze(%n, %first)
  %keys = Range(%zero, %n0, %one)
  %line = Reshape(%mask, %last)
  %w = Gather(%line, %keys) {axis=0}  "windows"
  %f = Cast(%w) {to=1}
  %sum = ReduceSum(%f) {keepdims=0}
  %y = Add(%x, %sum)
}
END
	shift 2
	demands "$@"
}
windows down '  %q = Div(%s, %four)
  %n = Mul(%q, %four)' down.g 'S/4*4 <= M*T'
windows up '  %a = Add(%s, %seven)
  %q = Div(%a, %eight)
  %n = Mul(%q, %eight)' up.g '(S+7)/8*8 <= M*T'
windows rest '  %m = Mod(%s, %eight)
  %l = Sub(%eight, %m)
  %p = Mod(%l, %eight)
  %n = Add(%s, %p)' rest.g '(S+7)/8*8 <= M*T'
windows nested '  %q = Div(%s, %four)
  %h = Div(%q, %two)
  %k = Mul(%h, %three)
  %l = Mul(%k, %seven)
  %n = Add(%q, %l)' nested.g 'S/4+S/8*21 <= M*T'
windows rows '  %q = Div(%s, %four)
  %k = Mul(%q, %four)
  %n = Mul(%k, %b)' rows.g 'B*(S/4)*4 <= M*T'

# A length that must be one of whole windows, which only data says.
cat >whole.g <<'END'
graph whole(%x: f32[B,S]) -> %y {
  %s: i64[1] = Shape(%x) {start=1, end=2}
  %zero: i64 = {0}
  %one: i64 = {1}
  %eight: i64[1] = {8}
  %q = Div(%s, %eight)
  %n = Mul(%q, %eight)
  %ones = Expand(%one, %n)
  %c: i64 = ReduceSum(%ones) {keepdims=0}
  %keys = Range(%zero, %c, %one)
  %f = Cast(%keys) {to=1}
  %y = Add(%x, %f)  "sum"
}
END
demands whole.g 'S/8*8 == S'

# What grows up to some size and not further is no sum, however much small sizes look like one.
cat >grows.g <<'END'
graph grows(%x: f32[S], %mask: f32[T]) -> %y {
  %s: i64[1] = Shape(%x)
  %one: i64[1] = {1}
  %zero: i64 = {0}
  %step: i64 = {1}
  %first: i64[1] = {0}
  %most: i64[1] = {20}
  %n = Min(%s, %most)
  %n0: i64 = Squeeze(%n, %first)
  %keys = Range(%zero, %n0, %step)
  %g = Gather(%mask, %keys) {axis=0}  "mask"
  %sum = ReduceSum(%g) {keepdims=0}
  %y = Add(%x, %sum)
}
END
demands grows.g

# A length that only data says: it is counted, and must be that of the mask.
cat >late.g <<'END'
graph late(%x: f32[S], %past: f32[P], %mask: f32[T]) -> %y {
  %s: i64[1] = Shape(%x)
  %p: i64[1] = Shape(%past)
  %t: i64[1] = Add(%s, %p)
  %zero: i64 = {0}
  %one: i64 = {1}
  %ones = Expand(%one, %t)
  %n: i64 = ReduceSum(%ones) {keepdims=0}
  %keys = Range(%zero, %n, %one)
  %f = Cast(%keys) {to=1}
  %y = Add(%f, %mask)  "sum"
}
END
demands late.g 'P+S == T'

# What an input holds may be asked for, too: a mask that is counted, and a length that must be that.
cat >ones.g <<'END'
graph ones(%x: f32[B,T], %mask: i64[T]) -> %y {
  %zero: i64 = {0}
  %one: i64 = {1}
  %n: i64 = ReduceSum(%mask) {keepdims=0}
  %keys = Range(%zero, %n, %one)
  %f = Cast(%keys) {to=1}
  %y = Add(%x, %f)  "sum"
}
END
demands ones.g
[ "$(unzip -p m.twb inputs.json)" = '{"mask": [1, 2]}' ] && "$tw" run -q --self-test m.twb && pass ||
	lose "a mask of ones: $(unzip -p m.twb inputs.json)"

# An index into an axis of any length: small sizes have small indices, in proofs and self-tests.
cat >last.g <<'END'
graph last(%x: f32[B,S,4], %i: i64[K]) -> %y { %y = Gather(%x, %i) {axis=1}  "last" }
END
demands last.g
unzip -p m.twb selftest.json | tr -d '\n' | grep -q '"name": "i", "type": "i64", "dims": \[1\], "end": 1}' &&
	"$tw" run -q --self-test m.twb && pass || lose "an index into an axis: $(unzip -p m.twb selftest.json)"

# A branch for the first step and one for those behind it: what each demands is its own.
cat >merged.g <<'END'
graph merged(%ids: i64[B,S], %past: f32[B,P,8], %later: bool) -> %y {
  %wpe: f32[64,8] = weight 0
  %s: i64[1] = Shape(%ids) {start=1, end=2}
  %p: i64[1] = Shape(%past) {start=1, end=2}
  %zero: i64 = {0}
  %one: i64 = {1}
  %first: i64[1] = {0}
  %s0: i64 = Squeeze(%s, %first)
  %t: i64[1] = Add(%s, %p)
  %t0: i64 = Squeeze(%t, %first)
  %p0: i64 = Squeeze(%p, %first)
  %y = If(%later)  "if" then_branch {
    %behind = Range(%p0, %t0, %one)
    %a = Gather(%wpe, %behind) {axis=0}  "later"
    yield %a
  } else_branch {
    %begin = Range(%zero, %s0, %one)
    %e = Gather(%wpe, %begin) {axis=0}  "first"
    yield %e
  }
}
END
demands merged.g 'P+S <= 64' 'S <= 64'

# Branches that never run at the same sizes: those of one are chosen, and inputs that take it. What decides may
# be an input, what is computed from one, or the sizes themselves.
exclusive() {
	cat >"$1.g" <<END
graph $1(%x: f32[B,S,8], %past: f32[B,P,8], %mask: f32[B,T], %later: bool[1]) -> %y {
  %wpe: f32[64,8] = weight 0
  %s: i64[1] = Shape(%x) {start=1, end=2}
  %p: i64[1] = Shape(%past) {start=1, end=2}
  %zero: i64 = {0}
  %one: i64 = {1}
  %last: i64[1] = {-1}
  %first: i64[1] = {0}
  %s0: i64 = Squeeze(%s, %first)
  %p0: i64 = Squeeze(%p, %first)
  %t0: i64 = Add(%s0, %p0)
  %column = Unsqueeze(%mask, %last)
$2
  %y = If(%c)  "if" then_branch {
    %all = Concat(%past, %x) {axis=1}
    %masked = Mul(%all, %column)  "later"
    %behind = Range(%zero, %t0, %one)
    %e = Gather(%wpe, %behind) {axis=0}  "far"
    %r = Add(%masked, %e)
    yield %r
  } else_branch {
    %masked2 = Mul(%x, %column)  "first"
    %begin = Range(%zero, %s0, %one)
    %f = Gather(%wpe, %begin) {axis=0}  "near"
    %q = Add(%masked2, %f)
    yield %q
  }
}
END
	for level in 1 3; do
		"$tw" compile -O$level "$1.g" -o m.twb --prove=require >said 2>&1 && "$tw" run -q m.twb 2>said &&
			"$tw" run -q m.twb --seed 5 2>said && "$tw" bench --rounds 1 m.twb >said 2>&1 &&
			pass || lose "$1.g -O$level: $(cat said)"
	done
}
exclusive given '  %c = Identity(%later)'
exclusive turned '  %c = Not(%later)'
exclusive sized '  %few: i64 = {0}
  %c = Greater(%p0, %few)'

# No sizes: said in a sentence of its own, with the node; refused where a proof is required.
cat >never.g <<'END'
graph never(%x: f32[B,S,8], %past: f32[B,P,8]) -> %y {
  %wpe: f32[64,8] = weight 0
  %s: i64[1] = Shape(%x) {start=1, end=2}
  %p: i64[1] = Shape(%past) {start=1, end=2}
  %t: i64[1] = Add(%s, %p)
  %zero: i64 = {0}
  %one: i64 = {1}
  %n: i64[1] = {200}
  %first: i64[1] = {0}
  %t0: i64 = Squeeze(%t, %first)
  %pos = Range(%zero, %t0, %one)
  %a = Gather(%wpe, %pos) {axis=0}  "table"
  %low = Sub(%t, %n)
  %b = Gather(%wpe, %low) {axis=0}  "end"
  %all = Concat(%past, %x) {axis=1}
  %c = Add(%all, %a)
  %y = Add(%c, %b)
}
END
"$tw" compile -O1 never.g -o never.twb >said 2>&1
rc=$?
if [ $rc = 0 ] && grep -q '^warning: never.g: the bundle is not proved, .*node "[a-z]*": index' said &&
	grep -q '^the model demands: P+S <= 64 (node table), P+S >= 136 (node end)' said &&
	"$tw" inspect never.twb | grep -q '^demands  *P+S <= 64 (node table), P+S >= 136 (node end)$'; then
	pass
else
	lose "never.g: exit code $rc: $(cat said)"
fi
"$tw" compile -O1 never.g -o required.twb --prove=require >said 2>&1
rc=$?
if [ $rc = 4 ] && [ ! -e required.twb ] && grep -q '^never.g: --prove=require: nothing was written' said; then
	pass
else
	lose "never.g --prove=require: exit code $rc: $(cat said)"
fi

# Sizes are tried that nobody would run: they take no more memory than a compilation may.
cat >large.g <<'END'
graph large(%x: f32[B,H,S,8], %past: f32[B,H,P,8]) -> %y {
  %wpe: f32[64,8] = weight 0
  %t: i64[1] = Shape(%past) {start=2, end=3}
  %n: i64[1] = {300}
  %low = Sub(%t, %n)
  %row = Gather(%wpe, %low) {axis=0}  "end"
  %all = Concat(%past, %x) {axis=2}
  %turned = Transpose(%x) {perm=[0,1,3,2]}
  %p = MatMul(%all, %turned)
  %q = MatMul(%p, %x)
  %y = Add(%q, %row)
}
END
if ! has plain; then
	skip 1 plain
elif ! has time; then
	skip 1 time
elif /usr/bin/time -o peak -f %M "$tw" compile -q -O1 large.g -o large.twb --shape P=9 2>said &&
	[ "$(tail -n 1 peak)" -lt 200000 ] && grep -q '^warning: large.g: the bundle is not proved' said; then
	pass
else
	lose "large.g: $(cat peak) KB: $(cat said)"
fi

# What is asked for is taken; that the model does not run there is said, with the relation and its node.
"$tw" compile -O1 positions.g -o asked.twb --shape S=60 --shape P=60 >said 2>&1
if grep -q '^warning: positions.g: at the sizes of --shape the model fails: P+S <= 64 does not hold, they are 120 and 64 (node positions)' said; then
	pass
else
	lose "--shape: $(cat said)"
fi
"$tw" compile -O1 positions.g -o asked.twb --shape S=60 >said 2>&1
if grep -q '^chosen for: B=1, S=60, P=4, T=64 ' said && ! grep -q '^warning' said; then
	pass
else
	lose "--shape S=60: $(cat said)"
fi

# The account: each value that is stored, once.
"$tw" compile -O1 positions.g -o m.twb --json >said 2>&1
if "$tw" inspect --json m.twb | tr -d '\n\t ' | grep -q '"runs":2,"left_out":"","values":\([0-9]*\),"proved":\1,"undecided":0,"host":0,"not":0,'; then
	pass
else
	lose "the account of positions.g: $("$tw" inspect --json m.twb)"
fi
if "$tw" inspect --json never.twb | tr -d '\n\t ' | grep -q '"runs":0,"left_out":"never.g:.*"not":[1-9][0-9]*,'; then
	pass
else
	lose "the account of never.g: $("$tw" inspect --json never.twb)"
fi
finish
