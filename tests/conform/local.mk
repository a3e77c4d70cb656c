# SPDX-License-Identifier: BSD-2-Clause
# Tests of the conformance suite: over soft0, of its own behaviour, and that it fails where a provider is wrong.
TESTS += tests/conform/server.sh tests/conform/datconform.sh tests/conform/soft20.sh
# Under the sanitizers, sdk/wrapped.sh runs the same clauses over the same adapter, beneath the wrappers.
if !SANITIZED
TESTS += tests/conform/soft0.sh tests/conform/strict.sh tests/conform/memory.sh tests/conform/mutants.sh tests/conform/mutants20.sh
endif
EXTRA_DIST += tests/conform/server.sh tests/conform/datconform.sh tests/conform/soft0.sh tests/conform/soft20.sh \
	tests/conform/strict.sh tests/conform/memory.sh tests/conform/mutants.sh tests/conform/mutants20.sh tests/conform/judging.sh
check_PROGRAMS += tests/conform/crowd
tests_conform_crowd_SOURCES = tests/conform/crowd.c
check_PROGRAMS += tests/conform/greedy
tests_conform_greedy_SOURCES = tests/conform/greedy.c conform/remote_wire.c
tests_conform_greedy_CPPFLAGS = $(conform_cppflags) -DCONFORM_API=1
tests_conform_greedy_LDADD =
tests/conform/server.log: tests/conform/crowd$(EXEEXT) tests/conform/greedy$(EXEEXT)

check_PROGRAMS += tests/conform/bounds_test
TESTS += tests/conform/bounds_test
tests_conform_bounds_test_SOURCES = tests/conform/bounds_test.c conform/remote_serve.c conform/remote_wire.c
tests_conform_bounds_test_CPPFLAGS = $(HARNESS_CPPFLAGS) $(conform_cppflags) -DCONFORM_API=1
tests_conform_bounds_test_LDADD = $(HARNESS_LIBS) libdat.la

tests/conform/soft20.log tests/conform/mutants20.log tests/conform/datconform.log: datconform$(EXEEXT) datconform-2.0$(EXEEXT)
tests/conform/server.log tests/conform/datconform.log tests/conform/soft0.log tests/conform/strict.log tests/conform/mutants.log: datconform$(EXEEXT)

# -rpath makes libtool build a shared object, although it is not installed.
check_LTLIBRARIES += libmutant.la
libmutant_la_SOURCES = tests/conform/mutant.c tests/conform/mutant.h tests/conform/mutant_order.c
libmutant_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -DDATP_PLUGIN_VERSION='"$(PACKAGE_VERSION)"'
libmutant_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
libmutant_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
libmutant_la_LIBADD = libdatp.la

# These are preloaded, and so have no run path, and need none of our libraries.
check_LTLIBRARIES += libmutant20.la libscarce.la
libmutant20_la_SOURCES = tests/conform/mutant20.c
libmutant20_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
# as in a build with hardening: what it calls of libdat2 has to be looked up, because bash is started with it as well
libmutant20_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere -Wl,-z,now
libscarce_la_SOURCES = tests/conform/scarce.c
libscarce_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
libscarce_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
