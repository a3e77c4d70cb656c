# SPDX-License-Identifier: BSD-2-Clause
# libvipl through <vipl.h> alone, over the adapter that OPENDAT_TEST_IA names (soft0 by default).
VIPL_TEST_CPPFLAGS = $(HARNESS_CPPFLAGS) -I$(top_srcdir)/tests/vipl -D_GNU_SOURCE
VIPL_TEST_LIBS = libvipltest.la $(HARNESS_LIBS) libvipl.la

check_LTLIBRARIES += libvipltest.la
libvipltest_la_SOURCES = tests/vipl/world.c tests/vipl/world.h
libvipltest_la_CPPFLAGS = $(VIPL_TEST_CPPFLAGS)

VIPL_TESTS = \
	tests/vipl/data_test
check_PROGRAMS += $(VIPL_TESTS)
TESTS += $(VIPL_TESTS)

tests_vipl_data_test_SOURCES = tests/vipl/data_test.c
tests_vipl_data_test_CPPFLAGS = $(VIPL_TEST_CPPFLAGS)
tests_vipl_data_test_LDADD = $(VIPL_TEST_LIBS)
