#!/bin/sh
# The scripts of the lesson in docs/schedule.md are taken by `compile --schedule`, and the bundle is
# proved: what they say is what people will try.
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
tw=${TILEWRIGHT:-build/tilewright}
passed=0 failed=0

# The graph behind its first line, and each block of lines that begins by cutting m.
awk -v to="$tmp" '
	/^    graph product/ { graph = to "/product.g" }
	graph { print substr($0, 5) >graph }
	/^    }/ { graph = "" }
	/^    split m / { script = to "/" ++n ".txt" }
	!/^    / { script = "" }
	script { print substr($0, 5) >script }' docs/schedule.md

for script in "$tmp"/*.txt; do
	if "$tw" compile -O3 --no-vendor "$tmp/product.g" -o "$tmp/m.twb" --schedule "k0_product=$script" \
		>"$tmp/out" 2>&1 && grep -q '^proved: 1 values' "$tmp/out"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL schedule"
		cat "$script" "$tmp/out"
	fi
done
[ $passed = 3 ] || failed=$((failed + 1))
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
