# Every target sets up .venv first and reuses it while pyproject.toml and constraints.txt are unchanged.
# PYTHON=/path/to/python chooses the interpreter that a new .venv is made with.

PY := .venv/bin/python
# Named after this folder: a .venv that was moved or copied along points at the old sources, so it is set up again.
STAMP := .venv/fresh-$(shell pwd | cksum | cut -d ' ' -f 1)

.PHONY: help demo lint docs stories test test-beside test-faults test-doors test-browser test-cnn test-long test-wheel soak paper bench bench-ledger bench-service bench-regret bench-conversions bench-scale clean

# The tests of test-long draw other examples every time; SEED=1234 draws those of an earlier run again.
SEED := $(shell date +%s)

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-17s %s\n", $$1, $$2 }' Makefile

demo: $(STAMP)  ## run the paper's problem with late outcomes, with every algorithm: a table and a picture
	@.venv/bin/belated demo

paper: $(STAMP)  ## run a quick pass of the paper's experiments, and write its report; PANELS="fig1a fig5": only these
	@$(PY) -m reproduction run $(if $(PANELS),$(PANELS),all theory) --quick
	@$(PY) -m reproduction report

lint: $(STAMP)  ## check style and types: ruff and mypy --strict
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy

# The examples that need Ray run in test-doors.
docs: $(STAMP).docs  ## build the documentation site into build/site; a broken link or example or an undocumented name fails
	@$(PY) -m pytest -q -n 2 -m "docs and not long and not faults and not doors"
	@$(PY) -m website.pages build/pages
	@$(PY) -m zensical build --strict --clean
	@$(PY) -m website.finish build/site

stories: $(STAMP)  ## make the pictures of the documentation's user stories anew, by what their pages say
	@$(PY) -m website.stories

# Tests start many interpreters: with compiled files each of them is quicker by a second.
docs test test-beside test-faults test-doors test-browser test-cnn test-long test-wheel: export PYTHONDONTWRITEBYTECODE =

# The tests of a file run in one process: what they share is computed once.
test: $(STAMP)  ## run the tests, on two cores; the same examples every time
	@$(PY) -m pytest -q -n 2 --dist loadfile

test-beside: $(STAMP)  ## run the tests of the reproduction and of the benchmarks, which stand beside the package
	@$(PY) -m pytest -q -n 2 -m "beside and not long and not cnn and not faults"

test-faults: $(STAMP)  ## run the tests that start PostgreSQL, kill processes or fill disks
	@$(PY) -m pytest -q -n 2 -m "faults and not long"

test-doors: $(STAMP).doors  ## run the tests of other libraries on belated inside them; installs them
	@$(PY) -m pytest -q -n 2 -m doors

test-browser: $(STAMP).browser  ## run the tests of pictures and reports, and of pages in chromium (Debian: apt install chromium)
	@$(PY) -m pytest -q -n 2 -m browser

# Of each of the two stores.
SECONDS := 600

soak: $(STAMP)  ## let 16 workers use each store, kill and interrupt them, and compare; SECONDS=60: a minute each
	@$(PY) -m tests.faults.soak $(SECONDS)

test-cnn: $(STAMP).cnn  ## run the tests that train networks; installs PyTorch
	@$(PY) -m pytest -q -n 2 -m cnn

test-long: $(STAMP)  ## run the tests that take minutes, and twenty times as many examples, drawn at random
	@$(PY) -m pytest -q -n 2 -m "(long or hypothesis) and not cnn" --hypothesis-profile=explore --hypothesis-seed=$(SEED) || \
		{ echo "To draw the same examples again: make test-long SEED=$(SEED)" >&2; exit 1; }

test-wheel: $(STAMP)  ## build the wheel, install it in an empty environment, and run its tests
	@$(PY) -m pytest -q -m wheel tests/test_wheel.py

bench: $(STAMP)  ## measure the speed of an ask, as ratios measured in one run
	@$(PY) -m benchmarks.speed

bench-ledger: $(STAMP)  ## measure ask + tell on SQLite and PostgreSQL from 1 and 16 processes, beside Optuna and bare appends
	@$(PY) -m benchmarks.ledger

bench-service: $(STAMP)  ## measure tells, asks and pages over HTTP, beside bare appends and Optuna's proxy; QUICK=1: minutes; SOAK=300: many clients for so long
	@$(PY) -m benchmarks.service $(if $(QUICK),--quick) $(if $(SOAK),--soak $(SOAK))

bench-regret: $(STAMP).peers  ## measure the regret on public tasks, ours and other packages'; QUICK=1: ten minutes
	@$(PY) -m benchmarks.regret $(if $(QUICK),--quick)

bench-conversions: $(STAMP).bandits  ## measure campaigns told of by conversions alone, beside bandits; QUICK=1: six minutes
	@$(PY) -m benchmarks.conversions $(if $(QUICK),--quick)

bench-scale: $(STAMP).peers  ## measure asks, tells, opening and memory at up to a million trials; QUICK=1: up to 10,000
	@$(PY) -m benchmarks.scale $(if $(QUICK),--quick)

clean:  ## remove .venv and every cache
	@rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml constraints.txt
	@$(PY) -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && exit 0; \
	for python in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11 python; do \
		if "$$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			echo "Setting up .venv with $$("$$python" --version) (once; a minute or two)"; \
			exec "$$python" -m venv --clear .venv; \
		fi; \
	done; \
	echo "belated needs Python 3.11 or newer with its venv module, and none is on the PATH; name one with make PYTHON=/path/to/python." >&2; \
	exit 1
	@$(PY) -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

$(STAMP).cnn: $(STAMP)
	@$(PY) -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[dev,cnn]'
	@touch $@

$(STAMP).doors: $(STAMP)
	@$(PY) -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[dev,doors]'
	@touch $@

$(STAMP).browser: $(STAMP)
	@$(PY) -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[dev,browser]'
	@touch $@

$(STAMP).docs: $(STAMP)
	@$(PY) -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[dev,docs]'
	@touch $@

$(STAMP).peers: $(STAMP)
	@$(PY) -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[dev,peers]'
	@touch $@

$(STAMP).bandits: $(STAMP)
	@$(PY) -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[dev,bandits]'
	@touch $@
