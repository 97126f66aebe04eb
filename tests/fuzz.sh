#!/bin/sh
# The harnesses of tests/fuzz without a fuzzer: what once crashed (tests/fuzz/corpus), and some
# mutants of our own tests' models and texts, the same ones each time. `make fuzz` hunts for more.
# FUZZ_ROUNDS (3): mutants of each seed.
. tests/common
tests=${BUILD:-build}/test
tests/fuzz/seeds "$tw" "$tmp/seeds"
export TMPDIR="$tmp" FUZZ_CASE="$tmp/case"

# replay HARNESS ARGUMENT...: one run of a harness.
replay() {
	name=$1
	shift
	if timeout 600 "$tests/fuzz_$name" "$@" >"$tmp/out" 2>&1; then
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
	replay "$name" -n "${FUZZ_ROUNDS:-3}" "$tmp/seeds/$name"/*
done
finish
