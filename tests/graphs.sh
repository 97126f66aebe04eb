#!/bin/sh
# usage: tests/graphs.sh [COUNT [SEED [FIRST]]]     whole random graphs, 40 of them
#
# Interpreted, compiled and (where it is installed) ONNX Runtime must agree: tests/graphs/main.c.
# .ci/run asks for 200. Graphs FIRST, FIRST+1 … of a seed are the same at any time, so that a long
# run can be taken up where it stopped. JOBS: processes at a time (2).
graphs=${BUILD:-build}/test/graphs
[ -x "$graphs" ] || { echo "there is no $graphs"; exit 1; }
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
# Kernels that are used once must not push others out of the cache.
XDG_CACHE_HOME=$tmp "$graphs" -j "${JOBS:-2}" "${1:-40}" "${2:-1}" "${3:-0}"
