# SPDX-License-Identifier: BSD-2-Clause
# Plugins of each released SDK, odd plugins, wrappers, and what a newcomer does to write a plugin.
TESTS += tests/sdk/matrix.sh tests/sdk/trace.sh tests/sdk/fault.sh tests/sdk/wrapped.sh tests/sdk/docs.sh
# In duties.sh one thread opens each adapter, so the thread sanitizer could find nothing there.
if !SANITIZED_THREADS
TESTS += tests/sdk/duties.sh
endif
# These tests compile headers or use what is installed. The code itself is run by the other tests, also under the sanitizers.
if !SANITIZED
TESTS += tests/sdk/headers.sh tests/sdk/path.sh tests/sdk/mocks.sh
endif
EXTRA_DIST += tests/sdk/matrix.sh tests/sdk/wrapping.sh tests/sdk/trace.sh tests/sdk/fault.sh tests/sdk/wrapped.sh tests/sdk/docs.sh tests/sdk/duties.sh tests/sdk/headers.sh tests/sdk/path.sh tests/sdk/mocks.sh $(SDK_RELEASED)
# `make install` links the libraries in the build tree again, so no other test may run meanwhile.
INSTALLING = tests/install/install.log tests/sdk/path.log tests/sdk/mocks.log
$(INSTALLING): $(filter-out $(INSTALLING),$(TEST_LOGS))
tests/sdk/path.log: $(filter tests/install/install.log,$(TEST_LOGS))
tests/sdk/mocks.log: $(filter tests/install/install.log tests/sdk/path.log,$(TEST_LOGS))
tests/sdk/wrapped.log: datconform$(EXEEXT)

# A wrapper made for this test, which is also opened on top of itself.
check_LTLIBRARIES += watch.la
watch_la_SOURCES = tests/sdk/watch.c
watch_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(abs_top_builddir)/nowhere
watch_la_LIBADD = libdatp.la
check_PROGRAMS += tests/sdk/wrap_test
tests_sdk_wrap_test_SOURCES = tests/sdk/wrap_test.c tests/unit/registry_env.h tests/mocks/mock.h
tests_sdk_wrap_test_CPPFLAGS = $(HARNESS_CPPFLAGS) -I$(top_srcdir) -I$(top_srcdir)/tests/unit -D_GNU_SOURCE
tests_sdk_wrap_test_LDADD = $(HARNESS_LIBS) libdat.la
tests_sdk_wrap_test_DEPENDENCIES = $(HARNESS_LIBS) libdat.la watch.la libdatsoft.la
TESTS += tests/sdk/wrap_test

# The template, with a mutation for each duty that libdatp checks in an adapter.
check_LTLIBRARIES += mutant.la
mutant_la_SOURCES = tests/sdk/mutant.c
mutant_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
mutant_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
mutant_la_LDFLAGS = $(ODD_LDFLAGS)
mutant_la_LIBADD = libdatp.la

check_PROGRAMS += tests/sdk/tour tests/sdk/story tests/sdk/named_test
tests_sdk_named_test_SOURCES = tests/sdk/named_test.c
tests_sdk_named_test_LDADD = libdat.la
EXTRA_tests_sdk_named_test_DEPENDENCIES = tests/abi/foreign_plugin.la
tests_sdk_story_SOURCES = tests/sdk/story.c
tests_sdk_story_LDADD = libdat.la
tests_sdk_tour_SOURCES = tests/sdk/tour.c
tests_sdk_tour_LDADD = libdat.la

# The headers of every released SDK. Each new minor version adds its headers, and a plugin and a wrapper that are built from them.
SDK_RELEASED = \
	tests/abi/sdk-0.1/datp/provider.h \
	tests/abi/sdk-0.1/datp/provider_post.h \
	tests/abi/sdk-0.2/datp/provider.h \
	tests/abi/sdk-0.2/datp/provider_post.h \
	tests/abi/sdk-0.2/datp/wrap.h \
	tests/abi/sdk-0.3/datp/bias.h \
	tests/abi/sdk-0.3/datp/provider.h \
	tests/abi/sdk-0.3/datp/provider_post.h \
	tests/abi/sdk-0.3/datp/wrap.h \
	tests/abi/sdk-0.4/datp/bias.h \
	tests/abi/sdk-0.4/datp/provider.h \
	tests/abi/sdk-0.4/datp/provider_post.h \
	tests/abi/sdk-0.4/datp/wrap.h \
	tests/abi/sdk-0.5/datp/bias.h \
	tests/abi/sdk-0.5/datp/provider.h \
	tests/abi/sdk-0.5/datp/provider_post.h \
	tests/abi/sdk-0.5/datp/wrap.h \
	tests/abi/sdk-0.6/datp/bias.h \
	tests/abi/sdk-0.6/datp/fork.h \
	tests/abi/sdk-0.6/datp/options.h \
	tests/abi/sdk-0.6/datp/provider.h \
	tests/abi/sdk-0.6/datp/provider_post.h \
	tests/abi/sdk-0.6/datp/wrap.h \
	tests/abi/sdk-0.7/datp/bias.h \
	tests/abi/sdk-0.7/datp/errors.h \
	tests/abi/sdk-0.7/datp/ext.h \
	tests/abi/sdk-0.7/datp/fork.h \
	tests/abi/sdk-0.7/datp/options.h \
	tests/abi/sdk-0.7/datp/provider.h \
	tests/abi/sdk-0.7/datp/provider_post.h \
	tests/abi/sdk-0.7/datp/wrap.h \
	tests/abi/sdk-0.8/datp/bias.h \
	tests/abi/sdk-0.8/datp/errors.h \
	tests/abi/sdk-0.8/datp/ext.h \
	tests/abi/sdk-0.8/datp/fast20.h \
	tests/abi/sdk-0.8/datp/fork.h \
	tests/abi/sdk-0.8/datp/options.h \
	tests/abi/sdk-0.8/datp/provider.h \
	tests/abi/sdk-0.8/datp/provider_post.h \
	tests/abi/sdk-0.8/datp/wrap.h \
	tests/abi/sdk-0.9/datp/bias.h \
	tests/abi/sdk-0.9/datp/errors.h \
	tests/abi/sdk-0.9/datp/ext.h \
	tests/abi/sdk-0.9/datp/fast20.h \
	tests/abi/sdk-0.9/datp/fork.h \
	tests/abi/sdk-0.9/datp/lmr_table.h \
	tests/abi/sdk-0.9/datp/options.h \
	tests/abi/sdk-0.9/datp/provider.h \
	tests/abi/sdk-0.9/datp/provider_post.h \
	tests/abi/sdk-0.9/datp/timer.h \
	tests/abi/sdk-0.9/datp/wrap.h \
	tests/abi/sdk-1.0/datp/bias.h \
	tests/abi/sdk-1.0/datp/errors.h \
	tests/abi/sdk-1.0/datp/ext.h \
	tests/abi/sdk-1.0/datp/fast20.h \
	tests/abi/sdk-1.0/datp/fork.h \
	tests/abi/sdk-1.0/datp/lmr_table.h \
	tests/abi/sdk-1.0/datp/options.h \
	tests/abi/sdk-1.0/datp/provider.h \
	tests/abi/sdk-1.0/datp/provider_post.h \
	tests/abi/sdk-1.0/datp/timer.h \
	tests/abi/sdk-1.0/datp/wrap.h

# One source is built into one library for each oddity: .libs/odd_ODDITY.so.
ODD_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(abs_top_builddir)/nowhere
ODD = odd_none.la odd_sdk01.la odd_sdk02.la watch_sdk02.la odd_sdk03.la watch_sdk03.la odd_sdk04.la watch_sdk04.la odd_sdk05.la watch_sdk05.la odd_sdk06.la watch_sdk06.la odd_sdk07.la watch_sdk07.la odd_sdk08.la watch_sdk08.la odd_sdk09.la watch_sdk09.la odd_sdk10.la watch_sdk10.la odd_cxx.la watch_cxx.la odd_major.la odd_minor.la odd_future.la odd_short.la odd_null.la odd_need.la odd_trait.la odd_trait_sdk04.la odd_small.la odd_slow.la
check_LTLIBRARIES += $(ODD)
odd_none_la_SOURCES = tests/sdk/odd.c
odd_none_la_LDFLAGS = $(ODD_LDFLAGS)
odd_none_la_LIBADD = libdatp.la
odd_sdk01_la_SOURCES = tests/sdk/odd.c
odd_sdk01_la_CPPFLAGS = -I$(top_srcdir)/tests/abi/sdk-0.1 $(AM_CPPFLAGS)
odd_sdk01_la_LDFLAGS = $(ODD_LDFLAGS)
odd_sdk01_la_LIBADD = libdatp.la
odd_sdk02_la_SOURCES = tests/sdk/odd.c
odd_sdk02_la_CPPFLAGS = -I$(top_srcdir)/tests/abi/sdk-0.2 $(AM_CPPFLAGS)
odd_sdk02_la_LDFLAGS = $(ODD_LDFLAGS)
odd_sdk02_la_LIBADD = libdatp.la
watch_sdk02_la_SOURCES = tests/sdk/watch.c
watch_sdk02_la_CPPFLAGS = -I$(top_srcdir)/tests/abi/sdk-0.2 $(AM_CPPFLAGS)
watch_sdk02_la_LDFLAGS = $(ODD_LDFLAGS)
watch_sdk02_la_LIBADD = libdatp.la
odd_sdk03_la_SOURCES = tests/sdk/odd.c
odd_sdk03_la_CPPFLAGS = -I$(top_srcdir)/tests/abi/sdk-0.3 $(AM_CPPFLAGS)
odd_sdk03_la_LDFLAGS = $(ODD_LDFLAGS)
odd_sdk03_la_LIBADD = libdatp.la
watch_sdk03_la_SOURCES = tests/sdk/watch.c
watch_sdk03_la_CPPFLAGS = -I$(top_srcdir)/tests/abi/sdk-0.3 $(AM_CPPFLAGS)
watch_sdk03_la_LDFLAGS = $(ODD_LDFLAGS)
watch_sdk03_la_LIBADD = libdatp.la
odd_sdk04_la_SOURCES = tests/sdk/odd.c
odd_sdk04_la_CPPFLAGS = -I$(top_srcdir)/tests/abi/sdk-0.4 $(AM_CPPFLAGS)
odd_sdk04_la_LDFLAGS = $(ODD_LDFLAGS)
odd_sdk04_la_LIBADD = libdatp.la
watch_sdk04_la_SOURCES = tests/sdk/watch.c
watch_sdk04_la_CPPFLAGS = -I$(top_srcdir)/tests/abi/sdk-0.4 $(AM_CPPFLAGS)
watch_sdk04_la_LDFLAGS = $(ODD_LDFLAGS)
watch_sdk04_la_LIBADD = libdatp.la
odd_sdk05_la_SOURCES = tests/sdk/odd.c
odd_sdk05_la_CPPFLAGS = -I$(top_srcdir)/tests/abi/sdk-0.5 $(AM_CPPFLAGS)
odd_sdk05_la_LDFLAGS = $(ODD_LDFLAGS)
odd_sdk05_la_LIBADD = libdatp.la
watch_sdk05_la_SOURCES = tests/sdk/watch.c
watch_sdk05_la_CPPFLAGS = -I$(top_srcdir)/tests/abi/sdk-0.5 $(AM_CPPFLAGS)
watch_sdk05_la_LDFLAGS = $(ODD_LDFLAGS)
watch_sdk05_la_LIBADD = libdatp.la
odd_sdk06_la_SOURCES = tests/sdk/odd.c
odd_sdk06_la_CPPFLAGS = -I$(top_srcdir)/tests/abi/sdk-0.6 $(AM_CPPFLAGS)
odd_sdk06_la_LDFLAGS = $(ODD_LDFLAGS)
odd_sdk06_la_LIBADD = libdatp.la
watch_sdk06_la_SOURCES = tests/sdk/watch.c
watch_sdk06_la_CPPFLAGS = -I$(top_srcdir)/tests/abi/sdk-0.6 $(AM_CPPFLAGS)
watch_sdk06_la_LDFLAGS = $(ODD_LDFLAGS)
watch_sdk06_la_LIBADD = libdatp.la
odd_sdk07_la_SOURCES = tests/sdk/odd.c
odd_sdk07_la_CPPFLAGS = -I$(top_srcdir)/tests/abi/sdk-0.7 $(AM_CPPFLAGS)
odd_sdk07_la_LDFLAGS = $(ODD_LDFLAGS)
odd_sdk07_la_LIBADD = libdatp.la
watch_sdk07_la_SOURCES = tests/sdk/watch.c
watch_sdk07_la_CPPFLAGS = -I$(top_srcdir)/tests/abi/sdk-0.7 $(AM_CPPFLAGS)
watch_sdk07_la_LDFLAGS = $(ODD_LDFLAGS)
watch_sdk07_la_LIBADD = libdatp.la
odd_sdk08_la_SOURCES = tests/sdk/odd.c
odd_sdk08_la_CPPFLAGS = -I$(top_srcdir)/tests/abi/sdk-0.8 $(AM_CPPFLAGS)
odd_sdk08_la_LDFLAGS = $(ODD_LDFLAGS)
odd_sdk08_la_LIBADD = libdatp.la
watch_sdk08_la_SOURCES = tests/sdk/watch.c
watch_sdk08_la_CPPFLAGS = -I$(top_srcdir)/tests/abi/sdk-0.8 $(AM_CPPFLAGS)
watch_sdk08_la_LDFLAGS = $(ODD_LDFLAGS)
watch_sdk08_la_LIBADD = libdatp.la
odd_sdk09_la_SOURCES = tests/sdk/odd.c
odd_sdk09_la_CPPFLAGS = -I$(top_srcdir)/tests/abi/sdk-0.9 $(AM_CPPFLAGS)
odd_sdk09_la_LDFLAGS = $(ODD_LDFLAGS)
odd_sdk09_la_LIBADD = libdatp.la
watch_sdk09_la_SOURCES = tests/sdk/watch.c
watch_sdk09_la_CPPFLAGS = -I$(top_srcdir)/tests/abi/sdk-0.9 $(AM_CPPFLAGS)
watch_sdk09_la_LDFLAGS = $(ODD_LDFLAGS)
watch_sdk09_la_LIBADD = libdatp.la
odd_sdk10_la_SOURCES = tests/sdk/odd.c
odd_sdk10_la_CPPFLAGS = -I$(top_srcdir)/tests/abi/sdk-1.0 $(AM_CPPFLAGS)
odd_sdk10_la_LDFLAGS = $(ODD_LDFLAGS)
odd_sdk10_la_LIBADD = libdatp.la
watch_sdk10_la_SOURCES = tests/sdk/watch.c
watch_sdk10_la_CPPFLAGS = -I$(top_srcdir)/tests/abi/sdk-1.0 $(AM_CPPFLAGS)
watch_sdk10_la_LDFLAGS = $(ODD_LDFLAGS)
watch_sdk10_la_LIBADD = libdatp.la
odd_cxx_la_SOURCES = tests/sdk/odd_cxx.cc
odd_cxx_la_CXXFLAGS = $(AM_CXXFLAGS) -std=c++17
odd_cxx_la_LDFLAGS = $(ODD_LDFLAGS)
odd_cxx_la_LIBADD = libdatp.la
watch_cxx_la_SOURCES = tests/sdk/odd_cxx.cc
watch_cxx_la_CPPFLAGS = $(AM_CPPFLAGS) -DCXX_WRAPPER
watch_cxx_la_CXXFLAGS = $(AM_CXXFLAGS) -std=c++17
watch_cxx_la_LDFLAGS = $(ODD_LDFLAGS)
watch_cxx_la_LIBADD = libdatp.la
odd_major_la_SOURCES = tests/sdk/odd.c
odd_major_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD_MAJOR=7
odd_major_la_LDFLAGS = $(ODD_LDFLAGS)
odd_major_la_LIBADD = libdatp.la
odd_minor_la_SOURCES = tests/sdk/odd.c
odd_minor_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD_MINOR=99
odd_minor_la_LDFLAGS = $(ODD_LDFLAGS)
odd_minor_la_LIBADD = libdatp.la
odd_future_la_SOURCES = tests/sdk/odd.c
odd_future_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD_FUTURE
odd_future_la_LDFLAGS = $(ODD_LDFLAGS)
odd_future_la_LIBADD = libdatp.la
odd_short_la_SOURCES = tests/sdk/odd.c
odd_short_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD_SHORT
odd_short_la_LDFLAGS = $(ODD_LDFLAGS)
odd_short_la_LIBADD = libdatp.la
odd_null_la_SOURCES = tests/sdk/odd.c
odd_null_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD_NULL
odd_null_la_LDFLAGS = $(ODD_LDFLAGS)
odd_null_la_LIBADD = libdatp.la
odd_need_la_SOURCES = tests/sdk/odd.c
odd_need_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD_NEED
odd_need_la_LDFLAGS = $(ODD_LDFLAGS)
odd_need_la_LIBADD = libdatp.la
odd_trait_la_SOURCES = tests/sdk/odd.c
odd_trait_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD_TRAIT
odd_trait_la_LDFLAGS = $(ODD_LDFLAGS)
odd_trait_la_LIBADD = libdatp.la
odd_trait_sdk04_la_SOURCES = tests/sdk/odd.c
odd_trait_sdk04_la_CPPFLAGS = -I$(top_srcdir)/tests/abi/sdk-0.4 $(AM_CPPFLAGS) -DODD_TRAIT
odd_trait_sdk04_la_LDFLAGS = $(ODD_LDFLAGS)
odd_trait_sdk04_la_LIBADD = libdatp.la
odd_small_la_SOURCES = tests/sdk/odd.c
odd_small_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD_SMALL
odd_small_la_LDFLAGS = $(ODD_LDFLAGS)
odd_small_la_LIBADD = libdatp.la
odd_slow_la_SOURCES = tests/sdk/odd.c
odd_slow_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD_SLOW
odd_slow_la_LDFLAGS = $(ODD_LDFLAGS)
odd_slow_la_LIBADD = libdatp.la
