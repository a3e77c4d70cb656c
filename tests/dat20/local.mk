# SPDX-License-Identifier: BSD-2-Clause
# DAT 2.0: programs that are compiled with its headers and run on libdat2.
check_PROGRAMS += tests/dat20/edge_test
tests_dat20_edge_test_SOURCES = tests/dat20/edge_test.c tests/dat20/report20.h tests/dat20/adapter20.h
tests_dat20_edge_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) -DSOFT_PLUGIN='"$(abs_builddir)/.libs/libdatsoft.so"'
tests_dat20_edge_test_LDADD = libdat2.la
EXTRA_tests_dat20_edge_test_DEPENDENCIES = libdatsoft.la
TESTS += tests/dat20/edge_test

check_PROGRAMS += tests/dat20/brief_test
tests_dat20_brief_test_SOURCES = tests/dat20/brief_test.c tests/dat20/adapter20.h
tests_dat20_brief_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) -DSOFT_PLUGIN='"$(abs_builddir)/.libs/libdatsoft.so"'
tests_dat20_brief_test_LDADD = libdat2.la
EXTRA_tests_dat20_brief_test_DEPENDENCIES = libdatsoft.la
TESTS += tests/dat20/brief_test

check_PROGRAMS += tests/dat20/cno_test
tests_dat20_cno_test_SOURCES = tests/dat20/cno_test.c tests/dat20/report20.h tests/dat20/adapter20.h
tests_dat20_cno_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) -DSOFT_PLUGIN='"$(abs_builddir)/.libs/libdatsoft.so"'
tests_dat20_cno_test_LDADD = libdat2.la
EXTRA_tests_dat20_cno_test_DEPENDENCIES = libdatsoft.la
TESTS += tests/dat20/cno_test

check_PROGRAMS += tests/dat20/extension_test
tests_dat20_extension_test_SOURCES = tests/dat20/extension_test.c tests/dat20/pair20.h tests/dat20/report20.h tests/dat20/adapter20.h
tests_dat20_extension_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) -DSOFT_PLUGIN='"$(abs_builddir)/.libs/libdatsoft.so"'
tests_dat20_extension_test_LDADD = libdat2.la
EXTRA_tests_dat20_extension_test_DEPENDENCIES = libdatsoft.la
TESTS += tests/dat20/extension_test tests/dat20/extension_mapped.sh
EXTRA_DIST += tests/dat20/extension_mapped.sh

check_PROGRAMS += tests/dat20/counters_test
tests_dat20_counters_test_SOURCES = tests/dat20/counters_test.c tests/dat20/report20.h
tests_dat20_counters_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) -DSOFT_PLUGIN='"$(abs_builddir)/.libs/libdatsoft.so"'
tests_dat20_counters_test_LDADD = libdat2.la
EXTRA_tests_dat20_counters_test_DEPENDENCIES = libdatsoft.la
TESTS += tests/dat20/counters_test

check_PROGRAMS += tests/dat20/invalidate_test
tests_dat20_invalidate_test_SOURCES = tests/dat20/invalidate_test.c tests/dat20/pair20.h tests/dat20/report20.h tests/dat20/adapter20.h
tests_dat20_invalidate_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) -DSOFT_PLUGIN='"$(abs_builddir)/.libs/libdatsoft.so"'
tests_dat20_invalidate_test_LDADD = libdat2.la
EXTRA_tests_dat20_invalidate_test_DEPENDENCIES = libdatsoft.la
TESTS += tests/dat20/invalidate_test

check_PROGRAMS += tests/dat20/stop_test
tests_dat20_stop_test_SOURCES = tests/dat20/stop_test.c
tests_dat20_stop_test_CPPFLAGS = $(HARNESS_CPPFLAGS) -D_GNU_SOURCE
tests_dat20_stop_test_LDADD = $(HARNESS_LIBS) libdat2.la
EXTRA_tests_dat20_stop_test_DEPENDENCIES = libdatsoft.la
TESTS += tests/dat20/stop_test

# The template for providers, built from this SDK, whose DATP_PROVIDER() generates functions for 2.0, and from SDK 0.7, which had none.
check_LTLIBRARIES += template20.la template_sdk07.la
template20_la_SOURCES = sdk/template/template.c
template20_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
template20_la_LDFLAGS = $(ODD_LDFLAGS)
template20_la_LIBADD = libdatp.la
template_sdk07_la_SOURCES = tests/dat20/sdk07.c tests/dat20/template07.h
template_sdk07_la_CPPFLAGS = -I$(top_srcdir)/tests/abi/sdk-0.7 -I$(top_srcdir) $(AM_CPPFLAGS)
template_sdk07_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
template_sdk07_la_LDFLAGS = $(ODD_LDFLAGS)
template_sdk07_la_LIBADD = libdatp.la
check_PROGRAMS += tests/dat20/fast_test
tests_dat20_fast_test_SOURCES = tests/dat20/fast_test.c tests/dat20/report20.h
tests_dat20_fast_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) -DSOFT_PLUGIN='"$(abs_builddir)/.libs/libdatsoft.so"' \
	-DGENERATED_PLUGIN='"$(abs_builddir)/.libs/template20.so"' -DCONVERTED_PLUGIN='"$(abs_builddir)/.libs/template_sdk07.so"'
tests_dat20_fast_test_LDADD = libdat2.la
EXTRA_tests_dat20_fast_test_DEPENDENCIES = libdatsoft.la template20.la template_sdk07.la
TESTS += tests/dat20/fast_test

# The wrappers, under a program of 2.0.
check_PROGRAMS += tests/dat20/story
tests_dat20_story_SOURCES = tests/sdk/story.c
tests_dat20_story_CPPFLAGS = $(AM_CPPFLAGS) -DSTORY_API_20
tests_dat20_story_LDADD = libdat2.la
check_PROGRAMS += tests/dat20/left_test
tests_dat20_left_test_SOURCES = tests/dat20/left_test.c tests/dat20/report20.h
tests_dat20_left_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_dat20_left_test_LDADD = libdat2.la
EXTRA_DIST += tests/dat20/wrapped.sh
TESTS += tests/dat20/wrapped.sh
tests/dat20/wrapped.log: datconform-2.0$(EXEEXT) tests/dat20/story$(EXEEXT) tests/dat20/edge_test$(EXEEXT) tests/dat20/left_test$(EXEEXT) \
	tests/dat20/loan_test$(EXEEXT) libdatsoft.la libdat-trace.la libdat-fault.la watch_sdk02.la watch_sdk07.la watch_sdk09.la

check_PROGRAMS += tests/dat20/lines_test
tests_dat20_lines_test_SOURCES = tests/dat20/lines_test.c
tests_dat20_lines_test_CPPFLAGS = $(AM_CPPFLAGS) -DSOFT_PLUGIN='"$(abs_builddir)/.libs/libdatsoft.so"' \
	-DTRACE_PLUGIN='"$(abs_builddir)/.libs/libdat-trace.so"' \
	-DFOREIGN12_PLUGIN='"$(abs_builddir)/tests/abi/.libs/foreign_plugin.so"'
tests_dat20_lines_test_LDADD = libdat2.la
EXTRA_tests_dat20_lines_test_DEPENDENCIES = libdatsoft.la libdat-trace.la tests/abi/foreign_plugin.la
TESTS += tests/dat20/lines_test

# A process that uses both APIs: the source of one side is compiled for each. Their calls have the same names, so each is a module.
check_LTLIBRARIES += tests/dat20/many12.la tests/dat20/many20.la
tests_dat20_many12_la_SOURCES = tests/dat20/many_side.c tests/dat20/many.h
tests_dat20_many12_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(abs_builddir)/nowhere
tests_dat20_many12_la_LIBADD = libdat.la
tests_dat20_many20_la_SOURCES = tests/dat20/many_side.c tests/dat20/many.h
tests_dat20_many20_la_CPPFLAGS = $(AM_CPPFLAGS) -DSIDE20
tests_dat20_many20_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(abs_builddir)/nowhere
tests_dat20_many20_la_LIBADD = libdat2.la
check_PROGRAMS += tests/dat20/many_test
tests_dat20_many_test_SOURCES = tests/dat20/many_test.c tests/dat20/many.h
tests_dat20_many_test_CPPFLAGS = $(AM_CPPFLAGS) -DSOFT_PLUGIN='"$(abs_builddir)/.libs/libdatsoft.so"' \
	-DSIDE12_LIBRARY='"$(abs_builddir)/tests/dat20/.libs/many12.so"' \
	-DSIDE20_LIBRARY='"$(abs_builddir)/tests/dat20/.libs/many20.so"'
tests_dat20_many_test_LDADD = -ldl
EXTRA_tests_dat20_many_test_DEPENDENCIES = libdatsoft.la tests/dat20/many12.la tests/dat20/many20.la
TESTS += tests/dat20/many_test

check_PROGRAMS += tests/dat20/rules_test
tests_dat20_rules_test_SOURCES = tests/dat20/rules_test.c tests/dat20/report20.h tests/dat20/adapter20.h
tests_dat20_rules_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) -DSOFT_PLUGIN='"$(abs_builddir)/.libs/libdatsoft.so"'
tests_dat20_rules_test_LDADD = libdat2.la
EXTRA_tests_dat20_rules_test_DEPENDENCIES = libdatsoft.la
TESTS += tests/dat20/rules_test

check_PROGRAMS += tests/dat20/srq_end_test
tests_dat20_srq_end_test_SOURCES = tests/dat20/srq_end_test.c tests/dat20/report20.h tests/dat20/adapter20.h
tests_dat20_srq_end_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) -DSOFT_PLUGIN='"$(abs_builddir)/.libs/libdatsoft.so"'
tests_dat20_srq_end_test_LDADD = libdat2.la
EXTRA_tests_dat20_srq_end_test_DEPENDENCIES = libdatsoft.la
TESTS += tests/dat20/srq_end_test

check_PROGRAMS += tests/dat20/loan_test
tests_dat20_loan_test_SOURCES = tests/dat20/loan_test.c tests/dat20/report20.h tests/dat20/adapter20.h
tests_dat20_loan_test_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir) -DSOFT_PLUGIN='"$(abs_builddir)/.libs/libdatsoft.so"'
tests_dat20_loan_test_LDADD = libdat2.la
EXTRA_tests_dat20_loan_test_DEPENDENCIES = libdatsoft.la
TESTS += tests/dat20/loan_test

EXTRA_DIST += tests/dat20/programs.sh tests/dat20/pair.sh
if !SANITIZED
TESTS += tests/dat20/programs.sh
endif
