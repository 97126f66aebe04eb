#!/bin/sh
# Graphs inside graphs: as deep as the importer lets them be they compile and run; deeper ones are
# refused with a sentence.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common
cd "$tmp" || exit 1
nested() {
	awk -v n="$1" 'BEGIN {
		print "graph g(%c: bool, %x: f32[2]) -> %y0 {"
		for (i = 0; i < n; i++) printf "%%y%d = If(%%c) then_branch() {\n", i
		print "%y" n " = Relu(%x)"
		for (i = n - 1; i >= 0; i--)
			printf "yield %%y%d } else_branch() { %%e%d = Neg(%%x) yield %%e%d }\n", i + 1, i, i
		print "}"
	}'
}

nested 30 >deep.txt
"$tw" compile -q deep.txt -o deep.twb 2>err && "$tw" run deep.twb -q >out 2>&1 && pass ||
	lose "30 nested graphs: $(cat err out)"
for depth in 60 100000; do
	nested $depth >deeper.txt
	"$tw" compile -q deeper.txt -o deeper.twb 2>err
	rc=$?
	[ $rc = 3 ] || [ $rc = 4 ] && grep -q "deeper than" err && pass ||
		lose "$depth nested graphs: exit code $rc: $(head -n 3 err)"
done

finish
