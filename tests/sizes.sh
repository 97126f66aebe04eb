#!/bin/sh
# usage: tests/sizes.sh    which sizes a model is compiled for where --shape says none
. tests/common
cd "$tmp" || exit 1

# sizes EXPECTED GRAPH OPTION...    of a graph, without its first words
sizes() {
	expected=$1
	printf 'graph g%s\n' "$2" >g.g
	shift 2
	"$tw" compile -q -O0 --prove=none g.g -o g.twb "$@" 2>err
	seen=$(unzip -p g.twb sizes.json 2>/dev/null)
	rm -f g.twb
	if [ "$seen" = "$expected" ]; then
		pass
	else
		lose "expected $expected, saw $seen $(cat err)"
	fi
}

# An image: [batch, channels, side, side]; what --shape says stays.
image='(%x: f32[N,3,H,W]) -> %y { %y = Relu(%x) }'
sizes '{"N": 1, "H": 224, "W": 224}' "$image"
sizes '{"N": 4, "H": 224, "W": 99}' "$image" --shape N=4 --shape W=99
sizes '{"H": 224, "W": 224}' '(%x: f32[3,H,W]) -> %y { %y = Relu(%x) }'
sizes '{"N": 1, "H": 224, "W": 224}' '(%x: f32[N,H,W,3]) -> %y { %y = Relu(%x) }'
sizes '{"N": 1, "D": 64, "H": 64, "W": 64}' '(%x: f32[N,1,D,H,W]) -> %y { %y = Relu(%x) }'

# A text, with a mask of its own length twice, and the past of a decoder.
sizes '{"N": 1, "S": 128}' '(%x: i64[N,S], %m: f32[N,1,S,S]) -> %y, %z { %y = Neg(%x) %z = Neg(%m) }'
sizes '{"N": 1, "S": 128, "P": 128, "T": 256}' '(%x: f32[N,4,S,8], %past: f32[N,4,P,8], %mask: f32[N,1,1,T]) -> %y {
  %all = Concat(%past, %x) {axis=2}
  %one: f32[1,1,8,1] = {1, 1, 1, 1, 1, 1, 1, 1}
  %sum = MatMul(%all, %one)
  %flat = Transpose(%sum) {perm=[0,1,3,2]}
  %y = Add(%flat, %mask)
}'

# A batch, though it stands behind a number in what a recurrent network keeps; where nothing says so, a
# length as before.
sizes '{"N": 1, "S": 128}' '(%x: f32[N,S], %h: f32[2,N,16]) -> %y, %z { %y = Neg(%x) %z = Neg(%h) }'
sizes '{"N": 1, "S": 128}' '(%h: f32[2,N,16], %x: f32[N,S,8]) -> %y, %z { %y = Neg(%x) %z = Neg(%h) }'
sizes '{"S": 128}' '(%x: f32[1,S,16]) -> %y { %y = Neg(%x) }'
# Time first: the state says which of both is the batch.
sizes '{"T": 128, "B": 1}' '(%x: f32[T,B,8], %h: f32[2,B,16]) -> %y, %z { %y = Neg(%x) %z = Neg(%h) }'
sizes '{"B": 1, "T": 128}' '(%h: f32[2,B,16], %x: f32[T,B,8]) -> %y, %z { %y = Neg(%x) %z = Neg(%h) }'
sizes '{"S": 128}' '(%x: f32[1,S,16], %m: i64[1,S]) -> %y, %z { %y = Neg(%x) %z = Neg(%m) }'

# Sound: three convolutions take 512 samples at a time, and 16 frames are enough.
sizes '{"N": 1, "L": 8192}' '(%x: f32[N,1,L], %w: f32[1,1,8]) -> %z {
  %a = Conv(%x, %w) {strides=[8]}
  %b = Conv(%a, %w) {strides=[8]}
  %z = Conv(%b, %w) {strides=[8]}
}'

# A window that is given fits into what it moves over.
sizes '{"H": 3, "W": 7}' '(%x: f32[1,1,5,9], %w: f32[1,1,H,W]) -> %y { %y = Conv(%x, %w) }'

# What the model demands: 64 patches of 32 by 32; no more than 100 positions; a range.
sizes '{"N": 1, "H": 256, "W": 256}' '(%x: f32[N,3,H,W], %w: f32[8,3,32,32], %p: f32[1,64,8]) -> %y {
  %c = Conv(%x, %w) {strides=[32,32]}
  %s: i64[3] = {0, 8, -1}
  %f = Reshape(%c, %s)
  %t = Transpose(%f) {perm=[0,2,1]}
  %y = Add(%t, %p)
}'
sizes '{"N": 1, "S": 100}' '(%x: f32[N,S], %p: f32[1,100]) -> %y {
  %b: i64[1] = {0}
  %e = Shape(%x) {start=1, end=2}
  %one: i64[1] = {1}
  %q = Slice(%p, %b, %e, %one)
  %y = Add(%x, %q)
}'

# Indices lie within the axis they select from, of an operator that stands for nodes as well.
printf 'graph g%s\n' '(%x: f32[1,2,5,6], %r: f32[64,4], %b: i64[64]) -> %y {
  %y = RoiAlign(%x, %r, %b) {output_height=2}
}' >r.g
if "$tw" compile -q -O0 --prove=require r.g -o r.twb 2>err; then
	pass
else
	lose "indices of nodes: $(cat err)"
fi

# Places where a cache is written begin so that all of what is new has room.
printf 'graph g%s\n' '(%x: f32[N,2,S,3], %u: f32[N,2,T,3], %i: i64[N]) -> %y {
  %y = TensorScatter(%x, %u, %i)
}' >c.g
if "$tw" compile -q -O0 --prove=require --shape N=9 --shape S=3 --shape T=3 c.g -o c.twb 2>err; then
	pass
else
	lose "places in a cache: $(cat err)"
fi

# A range, with and without its size; no other size is taken at run time, and a wrong one is not
# taken at all.
sizes '{"N": 4, "H": 224, "W": 64}' "$image" --shape N=1..16:4 --shape W=32..64
refuse() {
	text=$("$@" 2>&1) && text="no refusal: $text"
	compare "$@"
}

accept() {
	text=$("$@" 2>&1)
	compare "$@"
}

compare() {
	case $text in
	*"$expected"*) pass ;;
	*) lose "$*: expected '$expected', saw '$text'" ;;
	esac
}
"$tw" compile -q -O0 g.g -o r.twb --shape N=1..16:4 --shape W=32..64
expected='N is 17 (from x), outside 1..16' refuse "$tw" run r.twb --shape N=17
# Without axes a dim of 1 goes: what was compiled with one that stays is not run at 1, where fewer are left.
echo 'graph g(%x: f32[N,1,4]) -> %y { %s = Relu(%x) %y = Squeeze(%s) }' >squeeze.g
sizes '{"N": 2}' '(%x: f32[N,1,4]) -> %y { %s = Relu(%x) %y = Squeeze(%s) }'
"$tw" compile -q squeeze.g -o s.twb || lose "compile squeeze.g"
for n in 0 3; do
	if "$tw" run -q --runs=1 --shape N=$n s.twb; then pass; else lose "a dim of $n stays"; fi
done
expected='a dim of 1 would go, as no axes are given (--shape SYMBOL=1..1 compiles that): sizes must be equal' \
	refuse "$tw" run s.twb --shape N=1
expected='expected a range as 1..16' refuse "$tw" compile g.g --shape N=16..1
expected='a size from 0' refuse "$tw" compile g.g --shape N=-3
expected='20 is not in its range' refuse "$tw" compile g.g --shape N=1..16:20

# Branches of different ranks: check asks at these sizes, as compile does.
cat >ranks.g <<'END'
graph g(%x: f32[N,S,4]) -> %y {
  %one: i64 = {1}
  %ax: i64[1] = {1}
  %s = Shape(%x)
  %d = Gather(%s, %one)
  %c = Equal(%d, %one)
  %z = If(%c) else_branch uses %x {
    %b = Identity(%x)
    yield %b
  } then_branch uses %x, %ax {
    %a = Squeeze(%x, %ax)
    yield %a
  }
  %y = Relu(%z)
}
END
"$tw" optimize -q -O0 ranks.g ranks.onnx
expected='of ranks 3 and 2' refuse "$tw" check ranks.onnx
expected='ranks.onnx can be compiled' accept "$tw" check ranks.onnx --shape S=2..9
expected='ranks.onnx can be compiled' accept "$tw" check ranks.onnx --shape S=1..1

# A symbol that passes remove is one of the model all the same.
cat >dead.g <<'END'
graph g(%x: f32[N], %n: i64) -> %y {
  %z: i64 = {0}
  %o: i64 = {1}
  %r = Range(%z, %n, %o)
  %d = Neg(%r)
  %y = Relu(%x)
}
END
expected='wrote d.twb' accept "$tw" compile -O2 dead.g -o d.twb --shape E1=3

# Each symbol is named once, however many inputs have it.
echo 'graph g(%x: f32[N,N,T]) -> %y { %y = Relu(%x) }' >named.g
expected='; symbols: N, T' refuse "$tw" run -O0 named.g --shape M=3

# Proofs and self-tests run where something is left of what the model shortens.
cat >sound.g <<'END'
graph g(%x: f32[N,1,L], %w: f32[1,1,8]) -> %z {
  %a = Conv(%x, %w) {strides=[8]}
  %b = Conv(%a, %w) {strides=[8]}
  %z = Conv(%b, %w) {strides=[8]}
}
END
expected='self-test: 1 element of' accept "$tw" compile -O0 sound.g -o s.twb

# Where nothing is proved the self-test takes the least sizes that the model runs at.
cat >even.g <<'END'
graph g(%x: f32[N,3,H,W]) -> %y {
  %p = MaxPool(%x) {kernel_shape=[2,2], strides=[2,2]}
  %s: i64[4] = {1, 1, 2, 2}
  %t = Tile(%p, %s)
  %y = Add(%x, %t)
}
END
expected='self-test: 12 elements' accept "$tw" compile -O0 --prove=none even.g -o e.twb

# Heavy steps that no library does are named, small ones and those that a library does are not.
if "$tw" --version | grep -q 'oneDNN [0-9]'; then
	cat >slow.g <<'END'
graph g(%a: f64[512,512], %b: f64[512,512], %c: f32[512,512], %d: f32[512,512], %s: f64[9,9]) -> %y, %z, %w {
  %y = MatMul(%a, %b) "heavy"
  %z = MatMul(%c, %d) "called"
  %w = MatMul(%s, %s) "small"
}
END
	expected='slow: heavy (50 % of the work): no library call does this
next' accept "$tw" compile --tune none --prove=none slow.g -o slow.twb
fi

# What a step computes is what it computes at the sizes of the run: 2*512*512 operations for each row.
cat >open.g <<'END'
graph g(%a: f32[N,512], %b: f32[512,512]) -> %y {
  %y = MatMul(%a, %b)
}
END
"$tw" compile -q --tune none --prove=none open.g -o open.twb
for rows in 1 300; do
	if "$tw" run --json --profile --runs 3 --shape "a=${rows}x512" open.twb | awk -v want=$((rows * 512 * 512 * 2)) '
		/"ms":/ { gsub(/[^0-9.e+-]/, "", $2); ms = $2 }
		/"gflops":/ { gsub(/[^0-9.e+-]/, "", $2); seen += ms * $2 * 1e6 }
		END { exit !(seen > 0.999 * want && seen < 1.001 * want) }'; then
		pass
	else
		lose "operations of $rows rows"
	fi
done
finish
