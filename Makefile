# SPDX-License-Identifier: Apache-2.0
# The thin front of the Meson build: every target is a few words for what Meson or tools/ does.

BUILD   ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
ONLY    ?=

MESON_SETUP = meson setup --prefix=$(PREFIX)

.PHONY: all web demo demo-cluster check check-quick check-all check-gpu bench validate-models asan tsan fuzz soak install format clean

all: $(BUILD)/build.ninja
	@tools/web
	@ninja -C $(BUILD) --quiet
	@tools/place $(BUILD)

# Headers that tools/setup got after the build was set up are looked for again.
CACHE = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/aon
$(BUILD)/build.ninja: $(wildcard $(CACHE)/pypi/.has)
	@tools/setup build
	@[ ! -e $@ ] || meson configure $(BUILD) --clearcache
	@out=$$($(MESON_SETUP) $(if $(wildcard $@),--reconfigure) $(BUILD)) || { echo "$$out"; exit 1; }
	@touch $@

web:
	@tools/setup web
	@tools/web

demo:
	@tools/setup build
	@tools/setup web || true
	@tools/setup demo || true
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	@tools/web
	@ninja -C $(BUILD) --quiet demo
	@tools/place $(BUILD)
	@tools/demo $(BUILD) $(if $(NO_SERVE),--no-serve)

# ZooKeeper, two ClickHouse, a relay and eight nodes in network namespaces, until Ctrl-C; as root.
demo-cluster:
	@tools/setup build
	@tools/setup web || true
	@tools/setup demo cluster
	@$(MAKE) --no-print-directory all
	@tools/cluster-up $(BUILD) $(CLUSTER)

# T=name: that test alone. C=asan or C=tsan: in that configuration alone.
CHECK = tools/check.py --since $(SINCE) $(addprefix --test ,$(T)) $(addprefix --only ,$(C))
SINCE := $(shell date +%s)

check:
	@tools/setup build check
	@$(MAKE) --no-print-directory all
	@$(CHECK) $(BUILD)

# The checks of the tree and the unit tests.
check-quick:
	@tools/setup build
	@$(MAKE) --no-print-directory all
	@$(CHECK) --quick $(BUILD)

# Every scenario under ASan too, and every figure of `make bench`: more than an hour.
check-all:
	@tools/setup build check bench
	@$(MAKE) --no-print-directory all
	@$(CHECK) --all $(BUILD) && ok=0 || ok=1; bench/run.py --strict --build $(BUILD) --doc docs/benchmarks.md || ok=1; exit $$ok

# aon with the real CUDA, torch, JAX, NCCL, NVML and DCGM, on a node that has them; the rest is skipped, with the reason.
check-gpu:
	@tools/setup build
	@$(MAKE) --no-print-directory all
	@AON_GPU=1 AON_BUILD=$(BUILD) tests/scenario/run real_gpu

asan tsan:
	@$(MAKE) --no-print-directory check C=$@

bench:
	@tools/setup build bench
	@$(MAKE) --no-print-directory all
	@bench/run.py --build $(BUILD) --only '$(ONLY)' --doc docs/benchmarks.md

# Every model against every measured table at hand; exit 1 if a bar is broken.
validate-models: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet tests/validate/validate
	@lib=$${XDG_CACHE_HOME:-$$HOME/.cache}/aon/nvmmh/nvidia/nvMatmulHeuristics/lib/libnvMatmulHeuristics.so.0; \
	AON_NVMMH=$${AON_NVMMH:-$$lib} $(BUILD)/tests/validate/validate

# Everything that needs long, one after the other; SOAK_S: seconds of each. The figures of overhead, consumers, detectors and diagnosis
# in full come last, with SOAK_S seconds of each slowdown (default: 30 minutes).
soak:
	@tools/setup build check bench
	@$(MAKE) --no-print-directory all
	@AOND=$(BUILD)/aond $(BUILD)/bench/node soak $(or $(SOAK_S),600)
	@AOND=$(BUILD)/aond $(BUILD)/bench/consumers soak $(or $(SOAK_S),600)
	@AON_LONG=1 AON_SOAK_S=$(or $(SOAK_S),210) AON_BUILD=$(BUILD) LD_LIBRARY_PATH=$(BUILD)/src/app/client tests/scenario/run burst
	@for t in cluster_once ship_shards cluster_relay; do AON_LONG=1 AON_BUILD=$(BUILD) tests/scenario/run $$t || exit 1; done
	@AON_LONG=1 SEED=$(or $(SEED),2) bench/run.py --build $(BUILD) --only '^exactly_once_error$$'
	@AON_LONG=1 AON_LONG_S=$(SOAK_S) bench/run.py --build $(BUILD) \
		--only '^(slowdown_.*|governor_settle_s|consumers_ratio|detector_recall|false_alarms_day|hang_s|corpus_.*|diagnose_ms_4096)$$'

fuzz:
	@tools/setup build fuzz
	@tools/fuzz

install:
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	@meson configure $(BUILD) -Dprefix=$(PREFIX)
	@$(MAKE) --no-print-directory all
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild

format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	@rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan $(BUILD)-fuzz
