# SPDX-License-Identifier: BSD-2-Clause
# libvipl through <vipl.h> alone, over the adapter that OPENDAT_TEST_IA names (soft0 by default).
VIPL_TEST_CPPFLAGS = $(HARNESS_CPPFLAGS) -I$(top_srcdir)/tests/vipl -D_GNU_SOURCE
VIPL_TEST_LIBS = libvipltest.la $(HARNESS_LIBS) libvipl.la

check_LTLIBRARIES += libvipltest.la
libvipltest_la_SOURCES = tests/vipl/world.c tests/vipl/world.h
libvipltest_la_CPPFLAGS = $(VIPL_TEST_CPPFLAGS)

VIPL_TESTS = \
	tests/vipl/abi_test \
	tests/vipl/below_test \
	tests/vipl/cancel_test \
	tests/vipl/conn_test \
	tests/vipl/cq_test \
	tests/vipl/data_test \
	tests/vipl/fault_test \
	tests/vipl/fetch_test \
	tests/vipl/gone_test \
	tests/vipl/greeting_test \
	tests/vipl/habit_test \
	tests/vipl/held_test \
	tests/vipl/hostile_test \
	tests/vipl/identity_test \
	tests/vipl/leave_test \
	tests/vipl/nic_test \
	tests/vipl/peer_test \
	tests/vipl/proc_test \
	tests/vipl/refused_test \
	tests/vipl/verdict_test \
	tests/vipl/vi_test
check_PROGRAMS += $(VIPL_TESTS)
TESTS += $(VIPL_TESTS) tests/vipl/exchange.sh
EXTRA_DIST += tests/vipl/exchange.sh
tests/vipl/exchange.log: examples/vipl_exchange$(EXEEXT)

tests_vipl_abi_test_SOURCES = tests/vipl/abi_test.c tests/vipl/dialect.cc
tests_vipl_abi_test_CPPFLAGS = $(VIPL_TEST_CPPFLAGS)
tests_vipl_abi_test_LDADD = $(HARNESS_LIBS)

# A wrapper that makes the adapter beneath it behave oddly.
check_LTLIBRARIES += odd.la
odd_la_SOURCES = tests/vipl/odd.c
odd_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(abs_top_builddir)/nowhere
odd_la_LIBADD = libdatp.la
tests_vipl_below_test_SOURCES = tests/vipl/below_test.c
tests_vipl_below_test_CPPFLAGS = $(VIPL_TEST_CPPFLAGS)
tests_vipl_below_test_LDADD = $(VIPL_TEST_LIBS)
tests_vipl_below_test_DEPENDENCIES = $(VIPL_TEST_LIBS) odd.la libdatsoft.la libdat-trace.la

tests_vipl_cancel_test_SOURCES = tests/vipl/cancel_test.c
tests_vipl_cancel_test_CPPFLAGS = $(VIPL_TEST_CPPFLAGS)
tests_vipl_cancel_test_LDADD = $(VIPL_TEST_LIBS)

tests_vipl_conn_test_SOURCES = tests/vipl/conn_test.c
tests_vipl_conn_test_CPPFLAGS = $(VIPL_TEST_CPPFLAGS)
tests_vipl_conn_test_LDADD = $(VIPL_TEST_LIBS)

tests_vipl_cq_test_SOURCES = tests/vipl/cq_test.c
tests_vipl_cq_test_CPPFLAGS = $(VIPL_TEST_CPPFLAGS)
tests_vipl_cq_test_LDADD = $(VIPL_TEST_LIBS)

tests_vipl_data_test_SOURCES = tests/vipl/data_test.c
tests_vipl_data_test_CPPFLAGS = $(VIPL_TEST_CPPFLAGS)
tests_vipl_data_test_LDADD = $(VIPL_TEST_LIBS)

tests_vipl_fault_test_SOURCES = tests/vipl/fault_test.c
tests_vipl_fault_test_CPPFLAGS = $(VIPL_TEST_CPPFLAGS)
tests_vipl_fault_test_LDADD = $(VIPL_TEST_LIBS)

tests_vipl_fetch_test_SOURCES = tests/vipl/fetch_test.c
tests_vipl_fetch_test_CPPFLAGS = $(VIPL_TEST_CPPFLAGS)
tests_vipl_fetch_test_LDADD = $(VIPL_TEST_LIBS)

# its pthread_mutex_lock() and pthread_mutex_unlock() interpose the C library's
tests_vipl_gone_test_SOURCES = tests/vipl/gone_test.c
tests_vipl_gone_test_CPPFLAGS = $(VIPL_TEST_CPPFLAGS)
tests_vipl_gone_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_vipl_gone_test_LDADD = $(VIPL_TEST_LIBS)

# its peer uses the adapter without libvipl, and its dat_evd_wait() interposes libdat's
tests_vipl_greeting_test_SOURCES = tests/vipl/greeting_test.c tests/vipl/foe.c tests/vipl/foe.h
tests_vipl_greeting_test_CPPFLAGS = $(VIPL_TEST_CPPFLAGS)
tests_vipl_greeting_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_vipl_greeting_test_LDADD = $(VIPL_TEST_LIBS) libdat.la
tests_vipl_greeting_test_DEPENDENCIES = $(VIPL_TEST_LIBS) libdat.la odd.la libdatsoft.la

tests_vipl_habit_test_SOURCES = tests/vipl/habit_test.c
tests_vipl_habit_test_CPPFLAGS = $(VIPL_TEST_CPPFLAGS)
tests_vipl_habit_test_LDADD = $(VIPL_TEST_LIBS)

tests_vipl_held_test_SOURCES = tests/vipl/held_test.c
tests_vipl_held_test_CPPFLAGS = $(VIPL_TEST_CPPFLAGS)
tests_vipl_held_test_LDADD = $(VIPL_TEST_LIBS)

# its peers use the adapter without libvipl
tests_vipl_hostile_test_SOURCES = tests/vipl/hostile_test.c tests/vipl/foe.c tests/vipl/foe.h
tests_vipl_hostile_test_CPPFLAGS = $(VIPL_TEST_CPPFLAGS)
# its dat_evd_dequeue() interposes libdat's
tests_vipl_hostile_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_vipl_hostile_test_LDADD = $(VIPL_TEST_LIBS) libdat.la

tests_vipl_identity_test_SOURCES = tests/vipl/identity_test.c
tests_vipl_identity_test_CPPFLAGS = $(VIPL_TEST_CPPFLAGS)
tests_vipl_identity_test_LDADD = $(VIPL_TEST_LIBS)

tests_vipl_leave_test_SOURCES = tests/vipl/leave_test.c
tests_vipl_leave_test_CPPFLAGS = $(VIPL_TEST_CPPFLAGS)
tests_vipl_leave_test_LDADD = $(VIPL_TEST_LIBS)

tests_vipl_nic_test_SOURCES = tests/vipl/nic_test.c
tests_vipl_nic_test_CPPFLAGS = $(VIPL_TEST_CPPFLAGS)
tests_vipl_nic_test_LDADD = $(VIPL_TEST_LIBS)

tests_vipl_peer_test_SOURCES = tests/vipl/peer_test.c
tests_vipl_peer_test_CPPFLAGS = $(VIPL_TEST_CPPFLAGS)
tests_vipl_peer_test_LDADD = $(VIPL_TEST_LIBS)

tests_vipl_proc_test_SOURCES = tests/vipl/proc_test.c
tests_vipl_proc_test_CPPFLAGS = $(VIPL_TEST_CPPFLAGS)
tests_vipl_proc_test_LDADD = $(VIPL_TEST_LIBS)

tests_vipl_refused_test_SOURCES = tests/vipl/refused_test.c tests/vipl/foe.c tests/vipl/foe.h
tests_vipl_refused_test_CPPFLAGS = $(VIPL_TEST_CPPFLAGS)
tests_vipl_refused_test_LDADD = $(VIPL_TEST_LIBS) libdat.la

# like those of hostile_test
tests_vipl_verdict_test_SOURCES = tests/vipl/verdict_test.c tests/vipl/foe.c tests/vipl/foe.h
tests_vipl_verdict_test_CPPFLAGS = $(VIPL_TEST_CPPFLAGS)
tests_vipl_verdict_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_vipl_verdict_test_LDADD = $(VIPL_TEST_LIBS) libdat.la

tests_vipl_vi_test_SOURCES = tests/vipl/vi_test.c
tests_vipl_vi_test_CPPFLAGS = $(VIPL_TEST_CPPFLAGS)
tests_vipl_vi_test_LDADD = $(VIPL_TEST_LIBS)
