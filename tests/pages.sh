#!/bin/sh
# Pages that have people write a file first: their commands run as they stand. (docs/schedules.md has
# a test of its own, tests/schedule.sh.)
# shellcheck disable=SC2015  # pass cannot fail
. tests/common
plain_only pages
about="pages: "
mkdir "$tmp/bin" && ln -s "$tw" "$tmp/bin/tilewright"
PATH=$tmp/bin:$PATH
root=$(pwd)
for page in one_conv schedule derivation compare; do
	mkdir "$tmp/$page"
	tests/lesson "docs/$page.md" "$tmp/$page"
	cd "$tmp/$page" || exit 1
	mkdir build && ln -s "$tw" build/tilewright
	# What speaks of a model is about the reader's.
	grep -v 'model\.' commands >run
	while read -r command; do
		if sh -c "$command" >out 2>&1 </dev/null; then pass; else lose "$page: $command: $(cat out)"; fi
	done <run
	cd "$root" || exit 1
done
[ $passed -ge 15 ] || lose "only $passed commands"

# The README's tour as it stands, with a model that takes less time.
mkdir "$tmp/tour" "$tmp/tour/build" && ln -s "$tw" "$tmp/tour/build/tilewright" && ln -s "$zoo" "$tmp/tour/build/zoo"
sed -n '/^## A tour/,/^## /s/^    \(build.*\)/\1/p' README.md | sed 's/resnet18/squeezenet/g' >"$tmp/tour/commands"
[ "$(wc -l <"$tmp/tour/commands")" -ge 12 ] || lose "the tour has lost its commands"
(cd "$tmp/tour" && while read -r command; do
	sh -c "$command" >out 2>&1 </dev/null || echo "$command: $(cat out)"
done <commands >failed)
[ ! -s "$tmp/tour/failed" ] && pass || lose "the tour: $(cat "$tmp/tour/failed")"
finish
