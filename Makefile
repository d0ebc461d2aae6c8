# SPDX-License-Identifier: GPL-2.0-or-later
# Every target sets up first; where everything is there, that takes a moment.
.PHONY: run test build deb bench bench-eevdf docs mutants check format setup clean

# The main job, in the simulator: BFS against CFS over four workloads on two machines, and the five studies.
run: build
	./schedlab compare bfs,cfs -m desktop-4,server-2x8-smt
	@echo
	./schedlab study all
	@echo
	@echo 'The same on a real kernel, in a virtual machine: ./schedlab compare bfs,cfs --on vm'

# Every test that this machine can run; the last line counts them.
test: build
	scripts/test

# The programs in target/release, and a link build/bin/scx_NAME for every scheduler.
build: setup
	scripts/build

# scx_bfs as a package for Debian, in build; the last line is its path.
deb: build
	scripts/deb

# Every budget with its measured figure.
bench: build
	.venv/bin/python bench/run.py

# The policy eevdf beside the kernel's own EEVDF, in the exact virtual machine.
bench-eevdf: build
	.venv/bin/python bench/eevdf.py

# The site of the pages, in build/site.
docs: build
	NO_MKDOCS_2_WARNING=1 .venv/bin/python -m mkdocs build
	@echo 'the site: build/site/index.html'

# Plants mistakes, one at a time, and prints those that no test finds; all of them take days: see CONTRIBUTING.md.
mutants: build
	scripts/mutants $(ARGS)

# Format, lints, licences.
check: setup
	scripts/check

# Puts every file into the form that check asks for.
format: setup
	scripts/format

setup:
	@scripts/setup

clean:
	rm -rf build target .venv
