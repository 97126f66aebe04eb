#!/bin/sh
# run --device simulated: a bundle for a GPU runs on this CPU by the CUDA C that it holds: the same
# results, proved; what is wrong in that text is found; what is missing is said in a sentence.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common
about="simulated: "
unset CXX
want c++
want NVRTC
cd "$tmp" || exit 1

# Products through shared memory, rows by warps, a loop, sizes that only a run knows.
cat >m.g <<'TEXT'
graph m(%x: f32[N,64], %k: i64) -> %y, %s, %l {
  %w: f32[64,96] = weight 0
  %p = MatMul(%x, %w)  "product"
  %y = Relu(%p)  "relu"
  %s = Softmax(%y)  "softmax"
  %yes: bool = {1}
  %l = Loop(%k, %yes, %s)  "loop" body(%n, %b, %g) {
    %h = Tanh(%g)
    yield %b, %h
  }
}
TEXT
"$tw" compile -q m.g --target cpu:native,cuda:sm_90 -o m.twb 2>err && pass || lose "compile: $(cat err)"
for n in 1 37 128; do
	"$tw" run -q m.twb --shape N=$n --input k=3 --runs 1 --output cpu >out 2>&1 || lose "N=$n: $(cat out)"
	"$tw" run -q m.twb --device simulated --shape N=$n --input k=3 --runs 1 \
		--expect y=@cpu/y.npy --expect s=@cpu/s.npy --expect l=@cpu/l.npy >out 2>&1 && pass ||
		lose "simulated, N=$n: $(cat out)"
done
"$tw" run m.twb --device simulated --prove --shape N=37 --input k=2 >out 2>&1 &&
	grep -q '^proved  [0-9]* values at [0-9]* points' out && pass || lose "--prove: $(cat out)"
"$tw" run m.twb --device simulated --self-test >out 2>&1 && pass || lose "--self-test: $(cat out)"
"$tw" run m.twb --device simulated --profile --shape N=8 --runs 1 >out 2>&1 &&
	grep -qx 'target  *test:sm_90' out && grep -q 'softmax' out && pass || lose "--profile: $(cat out)"

# It is the bundle's text that runs: where a compiler makes something else of it, that is found.
cat >wrong <<'SH'
#!/bin/sh
for file; do
	case $file in */unit*.cpp) sed -i 's/\(= .*\)tw_tanh_f32(/\1tw_exp_f32(/' "$file" ;; esac
done
exec c++ "$@"
SH
chmod +x wrong
CXX=./wrong "$tw" run m.twb --device simulated --prove --shape N=37 --input k=2 >out 2>&1
[ $? = 1 ] && grep -q 'loop\|Tanh' out && pass || lose "another text: $(cat out)"

# says CODE WORDS COMMAND...
says() {
	code=$1 words=$2
	shift 2
	"$@" >out 2>err
	rc=$?
	[ $rc = "$code" ] && grep -qF -e "$words" err && pass || lose "'$*': exit code $rc: $(cat err)"
}
says 6 "the C++ compiler './none' cannot be started" env CXX=./none "$tw" run m.twb --device simulated
"$tw" compile -q m.g --prove none -o cpu.twb || lose "compile for the CPU"
says 2 "cpu.twb has no target that is simulated" "$tw" run cpu.twb --device simulated
says 2 "m.twb has no target that is simulated, or not cpu:native" "$tw" run m.twb --device simulated --target cpu:native
says 2 "--device simulated is for a bundle: m.g is none" "$tw" run m.g --device simulated
says 2 "--device: expected simulated, saw 'gpu'" "$tw" run m.twb --device gpu
finish
