# SPDX-License-Identifier: BSD-2-Clause
# The registry: its parser alone, then libdat with the mock plugins of tests/mocks.
REGTEST_CPPFLAGS = $(HARNESS_CPPFLAGS) -I$(top_srcdir) -D_GNU_SOURCE
check_PROGRAMS += tests/unit/conf_test
tests_unit_conf_test_SOURCES = tests/unit/conf_test.c
tests_unit_conf_test_CPPFLAGS = $(REGTEST_CPPFLAGS)
tests_unit_conf_test_LDADD = $(HARNESS_LIBS) libregconf.la
TESTS += tests/unit/conf_test

check_PROGRAMS += tests/unit/filter_test
tests_unit_filter_test_SOURCES = tests/unit/filter_test.c tests/unit/registry_env.h tests/mocks/mock.h
tests_unit_filter_test_CPPFLAGS = $(REGTEST_CPPFLAGS)
tests_unit_filter_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_unit_filter_test_LDADD = $(HARNESS_LIBS) libregconf.la libdat.la
tests_unit_filter_test_DEPENDENCIES = $(HARNESS_LIBS) libregconf.la libdat.la $(MOCKS)
TESTS += tests/unit/filter_test

check_PROGRAMS += tests/unit/registry_test
tests_unit_registry_test_SOURCES = tests/unit/registry_test.c tests/unit/registry_env.h tests/mocks/mock.h
tests_unit_registry_test_CPPFLAGS = $(REGTEST_CPPFLAGS)
tests_unit_registry_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_unit_registry_test_LDADD = $(HARNESS_LIBS) libdat.la
tests_unit_registry_test_DEPENDENCIES = $(HARNESS_LIBS) libdat.la $(MOCKS)
TESTS += tests/unit/registry_test

check_PROGRAMS += tests/unit/dispatch_test
tests_unit_dispatch_test_SOURCES = tests/unit/dispatch_test.c tests/unit/dispatch_calls.h tests/unit/registry_env.h tests/mocks/mock.h
tests_unit_dispatch_test_CPPFLAGS = $(REGTEST_CPPFLAGS)
tests_unit_dispatch_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_unit_dispatch_test_LDADD = $(HARNESS_LIBS) libdat.la
tests_unit_dispatch_test_DEPENDENCIES = $(HARNESS_LIBS) libdat.la $(MOCKS)
TESTS += tests/unit/dispatch_test

check_PROGRAMS += tests/unit/strerror_test
tests_unit_strerror_test_SOURCES = tests/unit/strerror_test.c
tests_unit_strerror_test_CPPFLAGS = $(REGTEST_CPPFLAGS)
tests_unit_strerror_test_LDADD = $(HARNESS_LIBS) libdat.la
TESTS += tests/unit/strerror_test

check_PROGRAMS += tests/unit/registry_threads_test
tests_unit_registry_threads_test_SOURCES = tests/unit/registry_threads_test.c tests/unit/registry_env.h tests/mocks/mock.h
tests_unit_registry_threads_test_CPPFLAGS = $(REGTEST_CPPFLAGS)
tests_unit_registry_threads_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_unit_registry_threads_test_LDADD = $(HARNESS_LIBS) libdat.la
tests_unit_registry_threads_test_DEPENDENCIES = $(HARNESS_LIBS) libdat.la $(MOCKS)
TESTS += tests/unit/registry_threads_test

# Not linked with libdat: it loads it by its path.
check_PROGRAMS += tests/unit/registry_probe
tests_unit_registry_probe_SOURCES = tests/unit/registry_probe.c
TESTS += tests/unit/registry_load.sh
check_PROGRAMS += tests/unit/registry_find_test
tests_unit_registry_find_test_SOURCES = tests/unit/registry_find_test.c tests/unit/registry_env.h tests/mocks/mock.h
tests_unit_registry_find_test_CPPFLAGS = $(REGTEST_CPPFLAGS)
tests_unit_registry_find_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_unit_registry_find_test_LDADD = $(HARNESS_LIBS) libdat.la
tests_unit_registry_find_test_DEPENDENCIES = $(HARNESS_LIBS) libdat.la $(MOCKS)
TESTS += tests/unit/registry_find_test

EXTRA_DIST += tests/unit/registry_load.sh

check_PROGRAMS += tests/unit/registry_nomem
tests_unit_registry_nomem_SOURCES = tests/unit/registry_nomem.c tests/unit/registry_env.h tests/mocks/mock.h
tests_unit_registry_nomem_CPPFLAGS = $(REGTEST_CPPFLAGS)
tests_unit_registry_nomem_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_unit_registry_nomem_LDADD = $(HARNESS_LIBS) libdat.la
TESTS += tests/unit/registry_nomem.sh
EXTRA_DIST += tests/unit/registry_nomem.sh

EXTRA_DIST += tests/fixtures/both.conf tests/fixtures/ofed12.conf tests/fixtures/ofed2.conf tests/fixtures/quoted.conf
