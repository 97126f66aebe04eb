#!/bin/sh
# usage: tests/fuzz.sh [-a]
#
# The harnesses of tests/fuzz without a fuzzer: what once crashed (tests/fuzz/corpus), and some
# mutants of our own tests' models and texts, the same ones each time. `make fuzz` hunts for more.
# FUZZ_ROUNDS: mutants of each seed (2, with -a 5). Seeds are of one of six texts, with -a of all.
. tests/common
rounds=${FUZZ_ROUNDS:-2} each=6
[ -z "$is_whole" ] || rounds=${FUZZ_ROUNDS:-5} each=1
tests=${BUILD:-build}/test
tests/fuzz/seeds "$tw" "$tmp/seeds" $each
export TMPDIR="$tmp" FUZZ_CASE="$tmp/case"

# replay HARNESS ARGUMENT...: one run of a harness.
replay() {
	name=$1
	shift
	if within 300 "$tests/fuzz_$name" "$@" >"$tmp/out" 2>&1; then
		pass
	else
		lose "$name"
		tail -n 3 "$tmp/out"
		cp "$tmp/case" "${BUILD:-build}/fuzz_$name.case"
		echo "the case is ${BUILD:-build}/fuzz_$name.case"
	fi
}

for harness in tests/fuzz/*.c; do
	name=$(basename "$harness" .c)
	for past in tests/fuzz/corpus/"$name"/*; do
		[ ! -e "$past" ] || replay "$name" "$past"
	done
	replay "$name" -n "$rounds" "$tmp/seeds/$name"/*
done
finish
