# SPDX-License-Identifier: BSD-2-Clause
# The harness that every C test links (with $(HARNESS_LIBS)), and the tests that it reports failures.
# A test program needs: foo_CPPFLAGS = $(HARNESS_CPPFLAGS), foo_LDADD = $(HARNESS_LIBS) and the library under test.
HARNESS_CPPFLAGS = $(AM_CPPFLAGS) $(CUNIT_CFLAGS) -I$(top_srcdir)/tests/harness
HARNESS_LIBS = libharness.la

check_LTLIBRARIES += libharness.la
libharness_la_SOURCES = tests/harness/allocator.h tests/harness/check.h tests/harness/internal.h tests/harness/sanitizer.h \
	tests/harness/assert.c tests/harness/forbid.c tests/harness/main.c tests/harness/notes.c tests/harness/peer.c tests/harness/runner.c tests/harness/util.c
libharness_la_CPPFLAGS = $(HARNESS_CPPFLAGS) -D_GNU_SOURCE
libharness_la_LIBADD = $(CUNIT_LIBS)

check_PROGRAMS += tests/harness/well tests/harness/sick
tests_harness_well_SOURCES = tests/harness/well.c
tests_harness_well_CPPFLAGS = $(HARNESS_CPPFLAGS)
tests_harness_well_LDADD = $(HARNESS_LIBS)
tests_harness_sick_SOURCES = tests/harness/sick.c
tests_harness_sick_CPPFLAGS = $(HARNESS_CPPFLAGS)
tests_harness_sick_LDADD = $(HARNESS_LIBS)

# sick is no test of its own: verdict.sh runs it and checks how its failures are reported.
TESTS += tests/harness/well
# The scripts run no code in which a sanitizer could find more than it finds in other tests.
if !SANITIZED
TESTS += tests/harness/verdict.sh tests/harness/layers.sh tests/harness/style.sh
endif
EXTRA_DIST += tests/harness/layers.sh tests/harness/style.sh tests/harness/driver.sh tests/harness/link.sh tests/harness/results.sh tests/harness/tap.sh tests/harness/verdict.sh
