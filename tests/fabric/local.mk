# SPDX-License-Identifier: BSD-2-Clause
# The RDMA lab, a virtual machine with rxe and siw, and the tests that run in it: `make check-fabric`. A test is
# tests/fabric/NAME.sh, and its results are fabric/NAME.log and .trs. `lab run` gets FABRIC_OPTIONS_NAME as its options after those
# that all tests have, so a --timeout here replaces theirs.
# The longest of those in one guest come first, because two of them run side by side.
FABRIC_TESTS = api_test fault_test dat20_test adapters_test vipl_test hostile_test profiles_test imitated_test wire_test \
	datctl_test verbs_test $(FABRIC_PAIR_TESTS)
# these run between two guests
FABRIC_PAIR_TESTS = hosts_test vipl_hosts_test
# `make fabric/conform_test.trs` runs the first of these tests, and check-fabric runs none. Over a device a connection qualifier
# is a port, and a port that datconform has found unused may be the source port of another connection when datconform listens
# there. dat20_ways_test repeats much of dat20_test, and dat20_hosts_test does so between two guests.
FABRIC_OTHER_TESTS = conform_test conform20_test dat20_ways_test dat20_hosts_test
FABRIC_HOST_TESTS = lab_test
FABRIC_OPTIONS_conform_test = --timeout 2400
FABRIC_OPTIONS_conform20_test = --timeout 2400
FABRIC_OPTIONS_dat20_hosts_test = --hosts 2
FABRIC_OPTIONS_datctl_test = --timeout 1200
FABRIC_OPTIONS_fault_test = --timeout 1200
FABRIC_OPTIONS_hostile_test = --timeout 900
FABRIC_OPTIONS_hosts_test = --hosts 2
FABRIC_OPTIONS_vipl_test = --timeout 1200
FABRIC_OPTIONS_vipl_hosts_test = --hosts 2
FABRIC_NEEDS = examples/exchange examples/vipl_exchange tests/dat20/cno_test tests/dat20/extension_test tests/dat20/many_test \
	tests/dat20/rules_test tests/dat20/loan_test tests/dat20/counters_test tests/dat20/story tests/soft/secret_test $(API_TESTS) $(VIPL_TESTS) \
	$(FABRIC_PROGS) $(FABRIC_LIBS)
FABRIC_PROGS =
FABRIC_LIBS =
FABRIC_RESULTS = $(FABRIC_HOST_TESTS:%=fabric/%.trs) $(FABRIC_TESTS:%=fabric/%.trs)

EXTRA_DIST += \
	tests/fabric/lab \
	tests/fabric/image.sh \
	tests/fabric/kernel.sh \
	tests/fabric/in-lab \
	tests/fabric/lab-listens \
	tests/fabric/lab-peer \
	tests/fabric/guest.sh \
	tests/fabric/joined.sh \
	tests/fabric/dat20_wrapped.sh \
	tests/fabric/rdma.sh \
	tests/fabric/stage1 \
	tests/fabric/stage2 \
	tests/fabric/imitate \
	tests/fabric/profiles \
	tests/fabric/tsc_khz.c \
	tests/fabric/bench \
	tests/fabric/bench_loop.c \
	tests/fabric/wire.c \
	$(FABRIC_HOST_TESTS:%=tests/fabric/%.sh) \
	$(FABRIC_TESTS:%=tests/fabric/%.sh) \
	$(FABRIC_OTHER_TESTS:%=tests/fabric/%.sh)

TWIST_SOURCES = tests/fabric/twist.c tests/fabric/twist_device.c tests/fabric/twist_end.c tests/fabric/twist_event.c \
	tests/fabric/twist.h

# The same source over our library and over OFED's.
if HAVE_RDMA
# `lab run --as` preloads this library. It interposes functions of verbs and librdmacm, so it loads both itself.
FABRIC_LIBS += libtwist.la
check_LTLIBRARIES += libtwist.la
libtwist_la_SOURCES = $(TWIST_SOURCES) tests/fabric/twist_words.c
libtwist_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE $(VERBS_CFLAGS) $(RDMACM_CFLAGS)
libtwist_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(abs_top_builddir)/nowhere -Wl,--no-as-needed
libtwist_la_LIBADD = $(VERBS_LIBS) $(RDMACM_LIBS)
FABRIC_PROGS += tests/fabric/wire12 tests/fabric/fault_test tests/fabric/trap_test tests/fabric/attempt_test \
	tests/fabric/fork_test tests/fabric/limit_test tests/fabric/post_test tests/fabric/pipe_test tests/fabric/early_test \
	tests/fabric/bound_test tests/fabric/order_test tests/fabric/hold_test tests/fabric/device_test \
	tests/fabric/ended_test \
	tests/fabric/fence_test tests/fabric/hostile_test tests/fabric/grasp_test tests/fabric/mpa_test \
	tests/fabric/roce_test
tests_fabric_early_test_SOURCES = tests/fabric/early_test.c
tests_fabric_early_test_CPPFLAGS = $(API_CPPFLAGS)
# its datp_cm_established() interposes libdatp's
tests_fabric_early_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_fabric_early_test_LDADD = $(API_LIBS)
tests_fabric_pipe_test_SOURCES = tests/fabric/pipe_test.c
tests_fabric_pipe_test_CPPFLAGS = $(API_CPPFLAGS)
# its sigaction() interposes the C library's
tests_fabric_pipe_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_fabric_pipe_test_LDADD = $(API_LIBS)
tests_fabric_fork_test_SOURCES = tests/fabric/fork_test.c
tests_fabric_fork_test_CPPFLAGS = $(API_CPPFLAGS)
# the program calls no function of librdmacm, but interposes two of them, and one of libdatp's
tests_fabric_fork_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic -Wl,--no-as-needed
tests_fabric_fork_test_LDADD = $(API_LIBS) $(VERBS_LIBS) $(RDMACM_LIBS)
tests_fabric_limit_test_SOURCES = tests/fabric/limit_test.c $(TWIST_SOURCES)
tests_fabric_limit_test_CPPFLAGS = $(API_CPPFLAGS)
# for the same reason as attempt_test
tests_fabric_limit_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--no-as-needed
tests_fabric_limit_test_LDADD = $(API_LIBS) $(VERBS_LIBS) $(RDMACM_LIBS)
tests_fabric_device_test_SOURCES = tests/fabric/device_test.c $(TWIST_SOURCES)
tests_fabric_device_test_CPPFLAGS = $(API_CPPFLAGS)
# for the same reason as attempt_test
tests_fabric_device_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--no-as-needed
tests_fabric_device_test_LDADD = $(API_LIBS) $(VERBS_LIBS) $(RDMACM_LIBS)
tests_fabric_ended_test_SOURCES = tests/fabric/ended_test.c $(TWIST_SOURCES)
tests_fabric_ended_test_CPPFLAGS = $(API_CPPFLAGS)
# for the same reason as attempt_test
tests_fabric_ended_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--no-as-needed
tests_fabric_ended_test_LDADD = $(API_LIBS) $(VERBS_LIBS) $(RDMACM_LIBS)
tests_fabric_hold_test_SOURCES = tests/fabric/hold_test.c
tests_fabric_hold_test_CPPFLAGS = $(API_CPPFLAGS)
tests_fabric_hold_test_LDADD = $(API_LIBS)
tests_fabric_order_test_SOURCES = tests/fabric/order_test.c $(TWIST_SOURCES)
tests_fabric_order_test_CPPFLAGS = $(API_CPPFLAGS)
# for the same reason as attempt_test
tests_fabric_order_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--no-as-needed
tests_fabric_order_test_LDADD = $(API_LIBS) $(VERBS_LIBS) $(RDMACM_LIBS)
tests_fabric_fence_test_SOURCES = tests/fabric/fence_test.c $(TWIST_SOURCES)
tests_fabric_fence_test_CPPFLAGS = $(API_CPPFLAGS)
# for the same reason as attempt_test
tests_fabric_fence_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--no-as-needed
tests_fabric_fence_test_LDADD = $(API_LIBS) $(VERBS_LIBS) $(RDMACM_LIBS)
tests_fabric_post_test_SOURCES = tests/fabric/post_test.c $(TWIST_SOURCES)
tests_fabric_post_test_CPPFLAGS = $(API_CPPFLAGS)
tests_fabric_post_test_LDADD = $(API_LIBS) $(VERBS_LIBS) $(RDMACM_LIBS)
tests_fabric_trap_test_SOURCES = tests/fabric/trap_test.c tests/fabric/stranger.c tests/fabric/stranger.h $(TWIST_SOURCES)
tests_fabric_trap_test_CPPFLAGS = $(API_CPPFLAGS)
tests_fabric_trap_test_LDADD = $(API_LIBS) $(VERBS_LIBS) $(RDMACM_LIBS)
tests_fabric_bound_test_SOURCES = tests/fabric/bound_test.c $(TWIST_SOURCES)
tests_fabric_bound_test_CPPFLAGS = $(API_CPPFLAGS)
# for the same reason as attempt_test
tests_fabric_bound_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--no-as-needed
tests_fabric_bound_test_LDADD = $(API_LIBS) $(VERBS_LIBS) $(RDMACM_LIBS)
tests_fabric_attempt_test_SOURCES = tests/fabric/attempt_test.c $(TWIST_SOURCES)
tests_fabric_attempt_test_CPPFLAGS = $(API_CPPFLAGS)
# twist.c interposes functions of libraries of which the program calls none, and its datp_ep_call() interposes libdatp's
tests_fabric_attempt_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic -Wl,--no-as-needed
tests_fabric_attempt_test_LDADD = $(API_LIBS) $(VERBS_LIBS) $(RDMACM_LIBS)
tests_fabric_fault_test_SOURCES = tests/fabric/fault_test.c
tests_fabric_fault_test_CPPFLAGS = $(API_CPPFLAGS)
tests_fabric_fault_test_LDADD = $(API_LIBS) $(VERBS_LIBS) $(RDMACM_LIBS)
tests_fabric_fault_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
VICTIM_SOURCES = tests/fabric/victim.c tests/fabric/victim.h tests/fabric/hostile.c tests/fabric/hostile.h
tests_fabric_hostile_test_SOURCES = tests/fabric/hostile_test.c $(VICTIM_SOURCES)
tests_fabric_hostile_test_CPPFLAGS = $(API_CPPFLAGS)
# its epoll_wait() interposes the C library's, its rdma_get_cm_event() librdmacm's
tests_fabric_hostile_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_fabric_hostile_test_LDADD = $(API_LIBS) $(VERBS_LIBS) $(RDMACM_LIBS)
tests_fabric_grasp_test_SOURCES = tests/fabric/grasp_test.c $(VICTIM_SOURCES)
tests_fabric_grasp_test_CPPFLAGS = $(API_CPPFLAGS)
tests_fabric_grasp_test_LDADD = $(API_LIBS) $(VERBS_LIBS) $(RDMACM_LIBS)
tests_fabric_mpa_test_SOURCES = tests/fabric/mpa_test.c tests/fabric/mpa.c tests/fabric/mpa.h tests/fabric/bytes.h \
	$(VICTIM_SOURCES)
tests_fabric_mpa_test_CPPFLAGS = $(API_CPPFLAGS)
tests_fabric_mpa_test_LDADD = $(API_LIBS) $(VERBS_LIBS) $(RDMACM_LIBS)
tests_fabric_roce_test_SOURCES = tests/fabric/roce_test.c tests/fabric/roce.c tests/fabric/roce.h tests/fabric/bytes.h \
	$(VICTIM_SOURCES)
tests_fabric_roce_test_CPPFLAGS = $(API_CPPFLAGS)
tests_fabric_roce_test_LDADD = $(API_LIBS) $(VERBS_LIBS) $(RDMACM_LIBS)
tests_fabric_wire12_SOURCES = tests/fabric/wire.c
tests_fabric_wire12_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
tests_fabric_wire12_LDADD = libdat.la
endif
if HAVE_DAT2
FABRIC_PROGS += tests/fabric/wire20
tests_fabric_wire20_SOURCES = tests/fabric/wire.c
tests_fabric_wire20_CPPFLAGS = -DWIRE_DAT2 -D_GNU_SOURCE
tests_fabric_wire20_LDADD = -ldat2
endif
check_PROGRAMS += $(FABRIC_PROGS)

# `make bench-fabric` measures what a message costs over verbs, over our providers, and over OFED's.
FABRIC_BENCH =
if HAVE_RDMA
FABRIC_BENCH += tests/fabric/bench_verbs tests/fabric/bench12
tests_fabric_bench_verbs_SOURCES = tests/fabric/bench_loop.c
tests_fabric_bench_verbs_CPPFLAGS = -D_GNU_SOURCE
tests_fabric_bench_verbs_LDADD = $(VERBS_LIBS) $(RDMACM_LIBS)
tests_fabric_bench12_SOURCES = tests/fabric/bench_loop.c
tests_fabric_bench12_CPPFLAGS = $(AM_CPPFLAGS) -DBENCH_DAT -D_GNU_SOURCE
tests_fabric_bench12_LDADD = libdat.la
endif
if HAVE_DAT2
FABRIC_BENCH += tests/fabric/bench20
tests_fabric_bench20_SOURCES = tests/fabric/bench_loop.c
tests_fabric_bench20_CPPFLAGS = -DBENCH_DAT2 -D_GNU_SOURCE
tests_fabric_bench20_LDADD = -ldat2
endif
EXTRA_PROGRAMS += $(FABRIC_BENCH)
CLEANFILES += $(FABRIC_BENCH)
bench-fabric: all $(FABRIC_BENCH) $(FABRIC_LIBS)
	$(abs_top_srcdir)/tests/fabric/bench
.PHONY: bench-fabric

FABRIC_RUN = $(AM_V_at)$(MKDIR_P) fabric && $(AM_TESTS_ENVIRONMENT) CHECK_PATIENCE=60; export CHECK_PATIENCE; \
	$(TAP_DRIVER) --test-name fabric/$* --log-file fabric/$*.log --trs-file $@ --color-tests no -- \
	$(abs_top_srcdir)/tests/fabric/in-lab

$(FABRIC_HOST_TESTS:%=fabric/%.trs): fabric/%.trs: FORCE
	$(FABRIC_RUN) bash $(abs_top_srcdir)/tests/fabric/$*.sh
$(FABRIC_TESTS:%=fabric/%.trs) $(FABRIC_OTHER_TESTS:%=fabric/%.trs): fabric/%.trs: FORCE $(FABRIC_NEEDS)
	$(FABRIC_RUN) --timeout 600 $(FABRIC_OPTIONS_$*) -- bash $(abs_top_srcdir)/tests/fabric/$*.sh

# Two guests run at a time, also where there are more processors: a guest has two, and uses about one.
FABRIC_ALONE = $(FABRIC_HOST_TESTS) $(FABRIC_PAIR_TESTS)
if HAVE_RDMA
check-fabric: all $(FABRIC_NEEDS)
	$(AM_V_at)$(MAKE) $(AM_MAKEFLAGS) -j2 $(patsubst %,fabric/%.trs,$(filter-out $(FABRIC_ALONE),$(FABRIC_TESTS)))
	$(AM_V_at)$(MAKE) $(AM_MAKEFLAGS) -j1 $(FABRIC_ALONE:%=fabric/%.trs)
	@! grep -lE '^:test-result: (FAIL|ERROR|XPASS)' $(FABRIC_RESULTS)
else
check-fabric:
	@echo "built without rdma-core: install libibverbs-dev and librdmacm-dev, and configure again" >&2; exit 1
endif
.PHONY: check-fabric

clean-local: clean-fabric
clean-fabric:
	rm -rf fabric fabric-cache
.PHONY: clean-fabric
