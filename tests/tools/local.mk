# SPDX-License-Identifier: BSD-2-Clause
# What the tools print and return.
TOOLS_TESTS = \
	tests/tools/bench.sh \
	tests/tools/completions.sh \
	tests/tools/completions_zsh.sh \
	tests/tools/datctl.sh \
	tests/tools/datctl_certify.sh \
	tests/tools/datctl_check.sh \
	tests/tools/datctl_discover.sh \
	tests/tools/datctl_explain.sh \
	tests/tools/datctl_filter.sh \
	tests/tools/datctl_ping.sh \
	tests/tools/datperf.sh \
	tests/tools/datperf_ends.sh \
	tests/tools/datperf_plot.sh \
	tests/tools/datperf_server.sh \
	tests/tools/exchange.sh \
	tests/tools/log.sh \
	tests/tools/misconfigured.sh \
	tests/tools/tutorial.sh
# datperf is the only tool with several threads of its own.
if SANITIZED_THREADS
TESTS += tests/tools/datperf.sh tests/tools/exchange.sh
else
TESTS += $(TOOLS_TESTS)
endif
EXTRA_DIST += $(TOOLS_TESTS) tests/tools/tap.sh
$(TOOLS_TESTS:.sh=.log): datctl$(EXEEXT) datperf$(EXEEXT) examples/exchange$(EXEEXT)
tests/tools/datctl.log: libdat-trace.la watch_sdk07.la
tests/tools/log.log: tests/unit/registry_probe$(EXEEXT) tests/api/srq_test$(EXEEXT) tests/soft/hostile/peer_test$(EXEEXT)
check_PROGRAMS += tests/tools/rogue
tests_tools_rogue_SOURCES = tests/tools/rogue.c
tests_tools_rogue_LDADD = libdat.la
tests/tools/datperf_server.log tests/tools/datctl_ping.log: tests/tools/rogue$(EXEEXT)
tests/tools/datctl_ping.log tests/tools/datperf_ends.log tests/tools/exchange.log: mutant.la
tests/tools/datctl_certify.log: datconform$(EXEEXT)
tests/tools/bench.log: bench/bare$(EXEEXT)
tests/tools/completions.log tests/tools/completions_zsh.log: datconform$(EXEEXT)
check_PROGRAMS += tests/tools/datperf_data_test
TESTS += tests/tools/datperf_data_test
tests_tools_datperf_data_test_SOURCES = tests/tools/datperf_data_test.c \
	tools/cli.c tools/datperf_clock.c tools/datperf_data.c
tests_tools_datperf_data_test_CPPFLAGS = $(HARNESS_CPPFLAGS) -I$(top_srcdir) $(perf_cppflags) -DPERF_API=1
tests_tools_datperf_data_test_LDADD = libdat.la $(HARNESS_LIBS)
check_PROGRAMS += tests/tools/datperf_guest_test
TESTS += tests/tools/datperf_guest_test
tests_tools_datperf_guest_test_SOURCES = tests/tools/datperf_guest_test.c tools/cli.c tools/datperf_guest.c
tests_tools_datperf_guest_test_CPPFLAGS = $(HARNESS_CPPFLAGS) -I$(top_srcdir) $(perf_cppflags) -DPERF_API=1
tests_tools_datperf_guest_test_LDADD = libdat.la $(HARNESS_LIBS)
check_PROGRAMS += tests/tools/ping_queue_test
TESTS += tests/tools/ping_queue_test
tests_tools_ping_queue_test_SOURCES = tests/tools/ping_queue_test.c tools/ping_queue.c
tests_tools_ping_queue_test_CPPFLAGS = $(HARNESS_CPPFLAGS) -I$(top_srcdir)
tests_tools_ping_queue_test_LDADD = libdat.la $(HARNESS_LIBS)
check_PROGRAMS += tests/tools/probe_test
TESTS += tests/tools/probe_test
tests_tools_probe_test_SOURCES = tests/tools/probe_test.c tools/probe.c
tests_tools_probe_test_CPPFLAGS = $(HARNESS_CPPFLAGS) -I$(top_srcdir)
tests_tools_probe_test_LDADD = libdat.la $(HARNESS_LIBS)
