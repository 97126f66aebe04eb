#!/bin/sh
# The harnesses of tests/fuzz without a fuzzer: what once crashed (tests/fuzz/corpus), and some
# mutants of our own tests' models and texts, the same ones each time. `make fuzz` hunts for more.
# FUZZ_ROUNDS (3): mutants of each seed.
tests=${BUILD:-build}/test
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0
tests/fuzz/seeds "${TILEWRIGHT:-build/tilewright}" "$tmp/seeds"
export TMPDIR="$tmp" FUZZ_CASE="$tmp/case"

# replay HARNESS ARGUMENT...: one run of a harness.
replay() {
	name=$1
	shift
	if timeout 600 "$tests/fuzz_$name" "$@" >"$tmp/out" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL $name"
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
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
