#!/bin/sh
# usage: tests/motion.sh    scalars move between loops where that makes less code, if asked to choose
#
# LICM.weigh=0 compares the two codes of each kernel; the choice is recorded, can be taken from a
# record, and given otherwise.
. tests/common
plain_only choices
cd "$tmp" || exit 1

# holds WORDS COMMAND...
holds() {
	words=$1
	shift
	if "$@" >out 2>&1; then pass; else
		lose "$words: $(cat out)"
	fi
}

make() { # make BUNDLE OPTION...
	bundle=$1
	shift
	"$tw" compile -q --no-vendor "$@" m.g -o "$bundle"
}

# text NAME: the kernels of a bundle; names made apart have other numbers
text() { unzip -p "$1.twb" 'kernels/*.c' | sed 's/_v*[0-9][0-9]*//g' >"$1.c"; }

cat >m.g <<'END'
graph g(%x: f32[1,8,20,20], %w: f32[8,8,3,3]) -> %y {
  %c = Conv(%x, %w) {pads=[1,1,1,1]} "conv"
  %s = Sigmoid(%c) "sigmoid"
  %t = Transpose(%s) {perm=[0,3,2,1]} "turn"
  %y = Softmax(%t) {axis=1} "soft"
}
END
make plain.twb
make first.twb --config LICM.weigh=0
unzip -p first.twb choices.jsonl >first.jsonl
holds "nothing is chosen unless asked" sh -c '! unzip -p plain.twb choices.jsonl 2>/dev/null | grep motion'
holds "choices are recorded" grep -q '"motion cpu:.*instructions by loops' first.jsonl
make again.twb --config LICM.weigh=0 --choices first.jsonl
holds "a record gives the same bytes" cmp first.twb again.twb
make record.twb --choices first.jsonl
text first
text record
holds "a record is enough" cmp first.c record.c
for way in moved still; do
	sed 's/"chosen":\( *\)"[a-z]*"/"chosen":\1"'$way'"/' first.jsonl >$way.jsonl
	make $way.twb --choices $way.jsonl
	text $way
done
text plain
make none.twb --disable LICM,HoistBranches
text none
holds "all moved is what the passes make" cmp moved.c plain.c
holds "none moved is what the others make" cmp still.c none.c
holds "these differ" sh -c '! cmp -s moved.c still.c'
finish
