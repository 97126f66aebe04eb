#!/bin/sh
# usage: tests/linear.sh [-a]    Normalize and LICM take twice the work for twice the statements
#
# Counted by callgrind, so that it is the same each time and on every machine: instructions of the
# two passes, 2.2 times as many at most for twice as much of each kind. What is quadratic takes four
# times. With -a programs of up to 100,000 nodes, else of an eighth of that; a condition in one piece
# has the 10,000 operations that a text may.
. tests/common
plain_only counts
BUILD=${BUILD:-build}
want valgrind
part=8
[ "$1" = -a ] && part=1

program() { # KIND COUNT
	awk -v kind="$1" -v count="$2" 'BEGIN {
		print "kernel p(N, A: f32[4096], Y: out f32[4096]) flat {\nfor i in 8 {\nfor j in 8 {"
		if (kind == "chain") printf "if (i < 1"
		for (k = 0; k < count; k++) {
			if (kind == "stores")
				printf "if (i*3 < %d && j < N)\nY[j*%d+i*N+%d] = A[(j+%d)*%d+i] * A[i]\n", k % 20, 1 + k % 300, k, k % 7, 1 + k % 900
			if (kind == "loops")
				printf "for k in 4\nif (i*3 < %d && k < N)\nY[j*%d+i*N*k+%d] = A[(k+%d)*%d+i*j] * A[i]\n", k, 1 + k, k, k, 1 + k
			if (kind == "chain")
				printf " && %s < N+%d", substr("jij", k % 3 + 1, 1), k
			if (kind == "ifs")
				printf "if (j*%d < N)\n", k
			if (kind == "selects")
				printf "Y[j*%d+i*N+%d] = i < %d ? A[i+%d] : j < %d ? A[i+%d] : 0.0\n", k, k, k, k, k, k
			if (kind == "lets")
				printf "let x%d = %s\nY[x%d+j] = A[x%d*%d]\n", k, k % 50 ? "x" (k-1) "*N+i" : "i*N", k, k, k + 1
		}
		if (kind == "chain") print ")"
		if (kind == "chain" || kind == "ifs") print "Y[i] = 1.0"
		print "}\n}\n}"
	}'
}

counted() { # KIND COUNT
	program "$1" "$2" >"$tmp/p.l"
	valgrind --tool=callgrind --toggle-collect=pass_Normalize --toggle-collect=pass_LICM \
		--callgrind-out-file="$tmp/out" "$BUILD/tilewright" print --ir=loops --passes=Normalize,LICM \
		"$tmp/p.l" >"$tmp/text" 2>"$tmp/log" || { cat "$tmp/log" >&2; return 1; }
	awk '$1 == "summary:" { print $2 }' "$tmp/out"
}

while read -r kind count; do
	count=$((count / part))
	once=$(counted "$kind" "$count") && twice=$(counted "$kind" $((2 * count))) || exit 1
	awk -v kind="$kind" -v count="$count" -v once="$once" -v twice="$twice" 'BEGIN {
		printf "%s: %.0f of %d, %.0f of %d: %.2f times\n", kind, once, count, twice, 2 * count, twice / once
		exit !(once > 0 && twice <= 2.2 * once) }' || failed=1
done <<END
stores 4000
loops 2000
chain 1600
ifs 2000
selects 3000
lets 4000
END
exit $failed
