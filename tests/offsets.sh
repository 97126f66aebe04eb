#!/bin/sh
# usage: tests/offsets.sh    which windows become a product of the library and a sum at offsets
#
# Where the product's result, as large as the window times the image, would cost more to write and
# read than the product saves, loops stay.
tw=$(realpath "${TILEWRIGHT:-build/tilewright}")
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
passed=0 failed=0

# products EXPECTED FILE: how many matrix products of a library the model has
products() {
	seen=$("$tw" compile -q -O2 --prove=none "$2" -o m.twb && "$tw" inspect m.twb | grep -c ' vendor  matmul ')
	if [ "$seen" = "$1" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL $2: expected $1 matrix products, saw $seen"
	fi
}

"$tw" --version | grep -q oneDNN || { echo "0 passed, 0 failed, 1 skipped"; exit 0; }

# An image with one channel: 25 taps of 56 channels would be 280 MB.
cat >plain.g <<'END'
graph g(%x: f32[1,1,224,224]) -> %y {
  %w: f32[56,1,5,5] = weight 0
  %s: f32[56,1,1] = weight 1
  %c = Conv(%x, %w) {pads=[2,2,2,2]}
  %y = PRelu(%c, %s)
}
END
products 0 plain.g

# As long as they fit into a cache, they cost little.
cat >small.g <<'END'
graph g(%x: f32[1,64,28,28]) -> %y {
  %w: f32[64,64,3,3] = weight 0
  %s: f32[64,1,1] = weight 1
  %c = Conv(%x, %w) {pads=[1,1,1,1]}
  %y = PRelu(%c, %s)
}
END
products 1 small.g

# A transposed one with a stride: three of four terms of the loops do not exist.
cat >transposed.g <<'END'
graph g(%x: f32[1,56,224,224]) -> %y {
  %w: f32[56,1,9,9] = weight 0
  %y = ConvTranspose(%x, %w) {strides=[2,2], pads=[4,4,4,4], output_padding=[1,1]}
}
END
products 1 transposed.g
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
