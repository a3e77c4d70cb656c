# SPDX-License-Identifier: BSD-2-Clause
# How tests run. Every test speaks TAP, programs and scripts alike, and starts in the build tree's top directory. Its environment
# has top_srcdir, the sanitizers' options, and
# - DAT_SOFT_REALM, a realm of its own, so that no other program on this host, of another run or of this one, listens where the test
#   connects to. The name has the number of the PID namespace as well, because a Debian under build/systems/ counts its
#   processes anew, but has this host's abstract sockets.
# - DAT_OVERRIDE, the name of a dat.conf with these adapters of the build tree:
#   soft0              without parameters
#   soft-bounce        the kernel copies nothing between processes, and eager messages have 8 KiB at most
#   soft-brisk         a peer has six tenths of a second to answer
#   soft-eager         eager messages have 1 MiB at most
#   soft-hasty         a peer has one second to open a connection, and a tenth of a second to answer
#   soft-hasty-bounce  the kernel copies nothing, and a peer has a tenth of a second to answer
#   soft-impatient     a peer has a tenth of a second to answer, but as long as usual to open a connection
#   soft-unhurried     a peer has three seconds to open a connection, and a tenth of a second to answer
#   soft-memory        memory=shared
#   soft-patient       a peer has a minute to answer
#   soft-none          allow=none
#   soft-no-word       allow= without a word
#   soft-unsealed      maps memory of peers that can lose pages
#   soft-strict        strict=on
TEST_EXTENSIONS = .sh
TAP_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/tests/harness/driver.sh
LOG_DRIVER = $(TAP_DRIVER)
SH_LOG_DRIVER = $(TAP_DRIVER)
SH_LOG_COMPILER = bash
AM_TESTS_ENVIRONMENT = \
	top_srcdir='$(top_srcdir)'; export top_srcdir; \
	CC='$(CC)'; CXX='$(CXX)'; export CC CXX; \
	SANITIZE='$(SANITIZE)'; export SANITIZE; \
	DAT_OVERRIDE='$(abs_top_builddir)/tests/dat.conf'; export DAT_OVERRIDE; \
	DAT_SOFT_REALM="check-$$(readlink /proc/self/ns/pid | tr -dc 0-9)-$$$$"; export DAT_SOFT_REALM; \
	ASAN_OPTIONS="detect_stack_use_after_return=1:$$ASAN_OPTIONS"; export ASAN_OPTIONS; \
	UBSAN_OPTIONS="print_stacktrace=1:$$UBSAN_OPTIONS"; export UBSAN_OPTIONS; \
	TSAN_OPTIONS="suppressions=$(abs_top_srcdir)/tests/tsan.supp:die_after_fork=0:second_deadlock_stack=1:$$TSAN_OPTIONS"; export TSAN_OPTIONS;

# The tests that take longest, the longest first. They start before the others, because a long one that starts last would run alone
# while other processors have nothing left to do. A variable has the name of automake's target, because automake would leave out its
# own rule for a target that is named here.
LONGEST_TESTS = tests/soft/hostile/scribble_test tests/conform/server tests/tools/datperf tests/fuzz/conf_fuzz tests/fuzz/fuzz \
	tests/faults/faults tests/install/install tests/soft/model_test tests/soft/model_mix_test tests/soft/model_srq_test tests/man/html tests/conform/mutants \
	tests/tools/datperf_ends tests/tools/datctl_check tests/man/pages tests/sdk/path tests/soft/bounce \
	tests/soft/model_bias_test tests/tools/datperf_plot tests/sdk/wrapped tests/conform/soft0 \
	tests/dat20/stop_test tests/soft/stop_test
TESTS_RULE = check-TESTS
$(TESTS_RULE): TEST_LOGS := $(foreach test,$(LONGEST_TESTS:=.log),$(filter $(test),$(TEST_LOGS))) \
	$(filter-out $(LONGEST_TESTS:=.log),$(TEST_LOGS))

# Only the tests need CUnit. As above, a variable has the names of automake's targets.
if !HAVE_CUNIT
NEED_CUNIT = check-am check-build
$(NEED_CUNIT): cunit-is-there
endif
cunit-is-there:
	@echo "no CUnit here, which the tests are built with: install libcunit1-dev and configure again" >&2; exit 1
.PHONY: cunit-is-there

EXTRA_DIST += tests/aarch64/check
check-aarch64:
	bash $(srcdir)/tests/aarch64/check
.PHONY: check-aarch64

EXTRA_DIST += tests/tsan.supp tests/living.supp tests/README.md
check_DATA += tests/dat.conf
CLEANFILES += tests/dat.conf
tests/dat.conf: Makefile
	$(AM_V_at)$(MKDIR_P) tests
	$(AM_V_GEN){ \
		echo 'soft0 u1.2 nonthreadsafe default $(abs_top_builddir)/.libs/libdatsoft.so opendat.1.0 "" ""'; \
		echo 'soft-brisk u1.2 nonthreadsafe default $(abs_top_builddir)/.libs/libdatsoft.so opendat.1.0 "peer_timeout=600" ""'; \
		echo 'soft-eager u1.2 nonthreadsafe default $(abs_top_builddir)/.libs/libdatsoft.so opendat.1.0 "eager_limit=1048576" ""'; \
		echo 'soft-hasty u1.2 nonthreadsafe default $(abs_top_builddir)/.libs/libdatsoft.so opendat.1.0 "handshake_timeout=1000 peer_timeout=100" ""'; \
		echo 'soft-patient u1.2 nonthreadsafe default $(abs_top_builddir)/.libs/libdatsoft.so opendat.1.0 "peer_timeout=60000" ""'; \
		echo 'soft-none u1.2 nonthreadsafe default $(abs_top_builddir)/.libs/libdatsoft.so opendat.1.0 "allow=none" ""'; \
		echo 'soft-no-word u1.2 nonthreadsafe default $(abs_top_builddir)/.libs/libdatsoft.so opendat.1.0 "allow=" ""'; \
		echo 'soft-strict u1.2 nonthreadsafe default $(abs_top_builddir)/.libs/libdatsoft.so opendat.1.0 "strict=on" ""'; \
		echo 'soft-hasty-bounce u1.2 nonthreadsafe default $(abs_top_builddir)/.libs/libdatsoft.so opendat.1.0 "cma=off peer_timeout=100" ""'; \
		echo 'soft-impatient u1.2 nonthreadsafe default $(abs_top_builddir)/.libs/libdatsoft.so opendat.1.0 "peer_timeout=100" ""'; \
		echo 'soft-unhurried u1.2 nonthreadsafe default $(abs_top_builddir)/.libs/libdatsoft.so opendat.1.0 "handshake_timeout=3000 peer_timeout=100" ""'; \
		echo 'soft-unsealed u1.2 nonthreadsafe default $(abs_top_builddir)/.libs/libdatsoft.so opendat.1.0 "share=unsealed" ""'; \
		echo 'soft-memory u1.2 nonthreadsafe default $(abs_top_builddir)/.libs/libdatsoft.so opendat.1.0 "memory=shared" ""'; \
		echo 'soft-bounce u1.2 nonthreadsafe default $(abs_top_builddir)/.libs/libdatsoft.so opendat.1.0 "cma=off eager_limit=8192" ""'; \
	} > $@

include tests/harness/local.mk
# These first: they have the tests that take longest, and mostly wait, so others run beside them.
include tests/conform/local.mk
include tests/tools/local.mk
include tests/install/local.mk
include tests/abi/local.mk
include tests/unit/local.mk
include tests/mocks/local.mk
include tests/sdk/local.mk
include tests/faults/local.mk
include tests/fuzz/local.mk
include tests/soft/local.mk
include tests/api/local.mk
include tests/dat20/local.mk
include tests/vipl/local.mk
include tests/man/local.mk
include tests/debian/local.mk
include tests/systems/local.mk
include tests/fabric/local.mk

# The unit tests and those of libvipl under valgrind, with results of their own: valgrind/NAME.log and .trs.
# valgrind does not have the system call that held_test needs.
VALGRIND_TESTS = $(filter-out %.sh tests/vipl/held_test,$(filter tests/unit/% tests/harness/% tests/vipl/% $(SOFT_UNIT_TESTS),$(TESTS)))
VALGRIND_RESULTS = $(VALGRIND_TESTS:%=valgrind/%.trs)
# valgrind runs one thread at a time. Without --fair-sched a thread that polls keeps the others from running for seconds.
VALGRIND_RUN = $(VALGRIND) -q --leak-check=full --error-exitcode=99 --child-silent-after-fork=no --fair-sched=yes
# Only in these tests do processes end while other threads run, with an adapter open, or in a child that was forked by a thread
# other than the first, or amid what another thread did. living.supp says what valgrind would report.
LIVING_TESTS = tests/vipl/leave_test tests/vipl/hostile_test tests/unit/core_fork_test tests/unit/core_timer_test \
	tests/unit/twist_fork_test tests/unit/registry_threads_test
$(LIVING_TESTS:%=valgrind/%.trs): VALGRIND_RUN += --suppressions=$(abs_top_srcdir)/tests/living.supp

valgrind/%.trs: FORCE
	$(AM_V_at)$(MKDIR_P) $(@D)
	$(AM_V_at)$(AM_TESTS_ENVIRONMENT) CHECK_WATCHDOG=600 CHECK_PATIENCE=120 $(TAP_DRIVER) \
		--test-name valgrind/$* --log-file valgrind/$*.log --trs-file $@ \
		--color-tests no -- $(VALGRIND_RUN) ./$*

if HAVE_VALGRIND
check-valgrind: $(check_LTLIBRARIES) $(check_PROGRAMS) $(check_DATA) $(VALGRIND_RESULTS)
	@! grep -lE '^:test-result: (FAIL|ERROR|XPASS)' $(VALGRIND_RESULTS)
else
check-valgrind:
	@echo "no valgrind here, or a sanitized build: install valgrind and configure again" >&2; exit 1
endif
FORCE:
.PHONY: check-valgrind FORCE

clean-local:
	rm -rf valgrind html aarch64 tests/fuzz/.libs
