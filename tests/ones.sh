#!/bin/sh
# usage: tests/ones.sh    sizes of 1 where open dims meet in a broadcast: as ONNX has it, or refused
#
# Code is made for equal sizes. A 1 is served where the input may be repeated (src/graph/ones.c), and the
# expected numbers are worked out by hand.
. tests/common
cd "$tmp" || exit 1

# made NAME GRAPH: a bundle of the graph, without its first words; -O3 measures nothing that matters here.
made() {
	printf 'graph g%s\n' "$2" >"$1.g"
	"$tw" compile -O2 "$1.g" -o "$1.twb" >"$1.says" 2>&1 || lose "compile $1: $(cat "$1.says")"
}
# says NAME SENTENCE
says() {
	if grep -qF -- "$2" "$1.says"; then pass; else lose "$1 does not say '$2': $(grep assumed "$1.says")"; fi
}
# gives NAME OPTIONS...    a run and its proof
gives() {
	bundle=$1.twb
	shift
	if "$tw" run -q "$bundle" "$@" >out 2>&1; then pass; else lose "$bundle $*: $(cat out)"; fi
}
# refused NAME SENTENCE OPTIONS...
refused() {
	bundle=$1.twb sentence=$2
	shift 2
	if "$tw" run -q "$bundle" "$@" >out 2>&1 || ! grep -qF -- "$sentence" out; then
		lose "$bundle $*: $(cat out)"; else pass; fi
}
# bytes NAME SHAPE OCTAL: NAME.npy of bytes
bytes() { printf "\223NUMPY\001\000v\000%-117s\n$3" "{'descr': '|u1', 'fortran_order': False, 'shape': ($2), }" >"$1.npy"; }
bytes row 1,3 '\001\002\003'
bytes column 2,1 '\012\024'
bytes full 2,3 '\001\002\003\004\005\006'
bytes wide 2,2 '\001\002\003\004'
bytes column_column 2,1 '\024\050'
bytes column_full 2,3 '\013\014\015\030\031\032'
bytes full_full 2,3 '\002\004\006\010\012\014'

# Two open dims: both ways, equal, both 1; again and again by one session, with --runs.
made two '(%x: u8[A,B], %y: u8[A,C]) -> %z { %z = Add(%x, %y) "add" }'
says two 'assumed: dim 1 of x is B, or 1; dim 1 of y is that of x, or 1 (node "add" (Add): dim 1 of the inputs); other sizes are refused when run'
gives two --runs 3 --input x=@column.npy --input y=@full.npy --expect z=@column_full.npy
gives two --input y=@column.npy --input x=@full.npy --expect z=@column_full.npy
gives two --input x=@full.npy --input y=@full.npy --expect z=@full_full.npy
gives two --input x=@column.npy --input y=@column.npy --expect z=@column_column.npy
gives two --prove --input x=@column.npy --input y=@full.npy
bytes none 2,0 ''
gives two --input x=@column.npy --input y=@none.npy --expect z=@none.npy
refused two 'must be 2' --input x=@wide.npy --input y=@full.npy
# On a device with memory of its own.
"$tw" compile -q -O2 --target test:native two.g -o apart.twb || lose "compile for test:native"
gives apart --runs 3 --input x=@column.npy --input y=@full.npy --expect z=@column_full.npy
gives apart --prove --input x=@full.npy --input y=@column.npy

# A number, which tw_bind_input() refuses at once where it is neither.
made number '(%x: u8[A,B]) -> %z { %w: u8[1,3] = {10, 10, 10}  %z = Add(%w, %x) }'
says number 'dim 1 of x is 3, or 1'
bytes one 2,1 '\001\002'
bytes one_ten 2,3 '\013\013\013\014\014\014'
gives number --input x=@one.npy --expect z=@one_ten.npy
refused number 'its dim 1 must be 3' --input x=@wide.npy

# As a mask gets to where it is used, and what else is made of both inputs on the way.
made mask '(%x: u8[A,S], %m: u8[A1,S1]) -> %z {
  %k: i64[1] = {1} %a = Unsqueeze(%m, %k) %b = Cast(%a) {to=6} %c = Cast(%x) {to=6}
  %d = ReduceSum(%c) {keepdims=1} %u = Unsqueeze(%c, %k) %e = Add(%u, %b) %z = Add(%e, %d)
}'
says mask 'dim 0 of m is that of x, or 1'
gives mask --prove --input x=@full.npy --input m=@row.npy
gives mask --prove --input x=@full.npy --input m=@column.npy
refused mask "its dim 1 must be 3" --input x=@full.npy --input m=@wide.npy

# Who asks for the size itself would be told another one: it is refused, as it always was.
made asked '(%x: u8[A,B], %y: u8[A,C]) -> %z, %s { %z = Add(%x, %y) %s = Shape(%x) }'
says asked 'dim 1 of y is that of x, or 1'
gives asked --input x=@full.npy --input y=@column.npy --expect z=@column_full.npy
refused asked 'must be' --input x=@column.npy --input y=@full.npy
made given '(%x: u8[A,B], %y: u8[A,C]) -> %z, %r { %z = Add(%x, %y) %r = ReduceMax(%y) {keepdims=0} }'
says given 'dim 1 of x is B, or 1; dim 1 of y is that of x ('
refused given 'must be 3' --input x=@full.npy --input y=@column.npy
finish
