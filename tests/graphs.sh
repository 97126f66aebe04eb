#!/bin/sh
# usage: tests/graphs.sh [-d|-q] [COUNT [SEED [FIRST]]]     whole random graphs, 20 of them
#
# Interpreted, compiled and (where it is installed) ONNX Runtime must agree: tests/graphs/main.c.
# Before them come those of tests/graphs/found, each of which failed once, and of tests/graphs/derived,
# where expressions stand beside what they were derived from. `make soak` asks for 200.
# Graphs FIRST, FIRST+1 … of a seed are the same at any time, so that a long run can be taken up
# where it stopped. JOBS: processes at a time (2). -d: graphs made so that derivation applies, of
# which derived forms are taken; how many of them hold one is printed, and must be more than half.
# -q: graphs of quantised numbers, of f16 and bf16; more than a quarter must hold sums of integers.
. tests/common
graphs=${BUILD:-build}/test/graphs
[ -x "$graphs" ] || { echo "there is no $graphs"; exit 1; }
# Kernels that are used once must not push others out of the cache.
export XDG_CACHE_HOME="$tmp"
theme=
[ "$1" = -d ] && { theme=-d; shift; }
[ "$1" = -q ] && { theme=-q; shift; }
{
	"$graphs" -f tests/graphs/found/*.g tests/graphs/derived/*.g
	"$graphs" $theme -j "${JOBS:-2}" "${1:-20}" "${2:-1}" "${3:-0}"
} | awk '
	/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { p += $1; f += $3; s += $5; n++; next }
	{ print; fflush() }
	END {
		f += 2 - n # each of the two says how it went, unless it dies
		printf "%d passed, %d failed, %d skipped\n", p, f, s
		exit f > 0
	}'
