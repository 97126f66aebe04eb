#!/bin/sh
# The ONNX backend cases, compiled: those of the archive beside the repository when it is there, else
# Debian's libonnx-testdata (opset 17), which runs anywhere. On the way, the texts of all graphs,
# meanings and kernels must read back as themselves (--verify=texts).
# shellcheck disable=SC2015,SC2059,SC2012  # pass cannot fail; octal bytes; our own file names
tw=${TILEWRIGHT:-build/tilewright}
archive=$(ls ../shared/data/onnx-backend-*.tar.xz 2>/dev/null | tail -n 1)
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
if [ -n "$archive" ] && tar -C "$tmp" -xf "$archive" 2>/dev/null; then
	echo "backend cases of $(basename "$archive")"
	cases=$tmp
elif [ -n "$ONNX_TESTDATA" ]; then
	echo "backend cases of libonnx-testdata"
	cases=$ONNX_TESTDATA
else
	echo "no ONNX test data: make deps"
	exit 77
fi
"$tw" test-onnx --verify=texts "$cases"
