#!/bin/sh
# usage: tests/licm.sh [-a]    the cases of make bench-licm are right in all variants
#
# One case of each kind at small sizes, all elements beside the expression interpreter, and all bits
# beside those of the loops as they come, and of the same loops in blocks of threads by the
# interpreter; with -a all 511, and points of each at its full size.
BUILD=${BUILD:-build}
bench=$BUILD/bench-licm cases=bench/licm/cases.csv
[ -x "$bench" ] || { echo "make $bench first"; exit 1; }
if [ "$1" = -a ]; then
	"$bench" check $cases && "$bench" points $cases && "$bench" blocks $cases
	exit
fi
set -- 2 5 18 25 32 44 69 150 167 184 213 228 236 247 254 260 264 288 306 315 323 347 358 386 396 413 \
	425 437 452 475 484 487 491
"$bench" check $cases "$@" && "$bench" blocks $cases "$@"
