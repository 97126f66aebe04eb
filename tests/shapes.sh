#!/bin/sh
# usage: tests/shapes.sh    5,120 nodes of arithmetic on open shapes: 200 MB and a few seconds at most
#
# Blocks of eight nodes, each on what the one before gives: its dims, numbers made of them, a shape,
# and a tensor of that shape. What is quadratic takes minutes there, and what doubles with each block
# all memory. A short chain must be right, too.
# shellcheck disable=SC3045,SC2015 # dash and bash have ulimit -d; pass cannot fail
. tests/common
want plain # memory is AddressSanitizer's
cd "$tmp" || exit 1

# chain KIND BLOCKS
chain() {
	awk -v kind="$1" -v blocks="$2" 'BEGIN {
		print "graph g(%x0: f32[N,M]) -> %y {"
		print "%one: i64[1] = {1}\n%rest: i64[1] = {-1}\n%zero: i64[1] = {0}"
		for (i = 0; i < blocks; i++) {
			printf "%%s%d = Shape(%%x%d)\n%%d%d = Gather(%%s%d, %%zero)\n%%e%d = Gather(%%s%d, %%one)\n", i, i, i, i, i, i
			if (kind == "same") # a sum that is taken back
				printf "%%a%d = Add(%%d%d, %%one)\n%%b%d = Sub(%%a%d, %%one)\n%%c%d = Concat(%%b%d, %%rest) {axis=0}\n%%x%d = Reshape(%%x%d, %%c%d)\n", i, i, i, i, i, i, i+1, i, i
			if (kind == "turned") # a quotient of a product; each index stands in the next several times
				printf "%%a%d = Mul(%%d%d, %%e%d)\n%%b%d = Div(%%a%d, %%d%d)\n%%c%d = Concat(%%b%d, %%rest) {axis=0}\n%%r%d = Reshape(%%x%d, %%c%d)\n%%x%d = Transpose(%%r%d)\n", i, i, i, i, i, i, i, i, i, i, i, i+1, i
			if (kind == "grown") # a row more
				printf "%%c%d = Concat(%%one, %%e%d) {axis=0}\n%%r%d = Expand(%%one, %%c%d)\n%%f%d = Cast(%%r%d) {to=1}\n%%x%d = Concat(%%x%d, %%f%d) {axis=0}\n", i, i, i, i, i, i, i+1, i, i
			if (kind == "made") # a sum of sizes as a size
				printf "%%a%d = Add(%%d%d, %%e%d)\n%%b%d = Sub(%%a%d, %%one)\n%%c%d = Concat(%%b%d, %%one) {axis=0}\n%%x%d = ConstantOfShape(%%c%d)\n", i, i, i, i, i, i, i, i+1, i
		}
		printf "%%y = Relu(%%x%d)\n}\n", blocks
	}' >g.g
}

for kind in same turned grown made; do
	chain $kind 640
	(ulimit -d 204800 && within 20 "$tw" print -O2 --lower g.g) 2>said >lowered && pass ||
		lose "640 blocks of $kind: exit code $?: $(tail -n 1 said)"
	chain $kind 12
	"$tw" compile -q -O0 g.g -o plain.twb && "$tw" run -q --runs 1 plain.twb --shape N=3 --shape M=5 --output plain || lose "$kind at -O0"
	for level in 2 3; do
		"$tw" compile -q -O$level --tune none g.g -o m.twb &&
			"$tw" run -q --runs 1 m.twb --shape N=3 --shape M=5 --expect y=@plain/y.npy 2>said && pass ||
			lose "12 blocks of $kind, -O$level: $(cat said)"
	done
done
finish
