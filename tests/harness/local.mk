# SPDX-License-Identifier: BSD-2-Clause
# The harness every C test links (with $(HARNESS_LIBS)), and the proof that it reports what is broken as broken.
# A test program needs: foo_CPPFLAGS = $(HARNESS_CPPFLAGS), foo_LDADD = $(HARNESS_LIBS) and the library under test.
HARNESS_CPPFLAGS = $(AM_CPPFLAGS) $(CUNIT_CFLAGS) -I$(top_srcdir)/tests/harness
HARNESS_LIBS = libharness.la

check_LTLIBRARIES += libharness.la
libharness_la_SOURCES = tests/harness/allocator.h tests/harness/check.h tests/harness/internal.h tests/harness/assert.c \
	tests/harness/forbid.c tests/harness/main.c tests/harness/notes.c tests/harness/peer.c tests/harness/runner.c tests/harness/util.c
libharness_la_CPPFLAGS = $(HARNESS_CPPFLAGS) -D_GNU_SOURCE
libharness_la_LIBADD = $(CUNIT_LIBS)

check_PROGRAMS += tests/harness/well tests/harness/sick
tests_harness_well_SOURCES = tests/harness/well.c
tests_harness_well_CPPFLAGS = $(HARNESS_CPPFLAGS)
tests_harness_well_LDADD = $(HARNESS_LIBS)
tests_harness_sick_SOURCES = tests/harness/sick.c
tests_harness_sick_CPPFLAGS = $(HARNESS_CPPFLAGS)
tests_harness_sick_LDADD = $(HARNESS_LIBS)

# sick is no test: verdict.sh runs it and looks at what is said of it.
TESTS += tests/harness/well
# The scripts run nothing in which a sanitizer could find something that it does not find elsewhere.
if !SANITIZED
TESTS += tests/harness/verdict.sh tests/harness/layers.sh tests/harness/style.sh
endif
EXTRA_DIST += tests/harness/layers.sh tests/harness/style.sh tests/harness/driver.sh tests/harness/link.sh tests/harness/tap.sh tests/harness/verdict.sh
