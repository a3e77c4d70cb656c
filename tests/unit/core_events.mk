# SPDX-License-Identifier: BSD-2-Clause
# Events, endpoints and connections of libdatp, over the loopback transport.
CORE_LOOPBACK_LIBS = libcore_loopback.la $(CORE_NULL_LIBS)
check_LTLIBRARIES += libcore_loopback.la
libcore_loopback_la_SOURCES = tests/unit/core_loopback.c tests/unit/core_loopback.h tests/unit/core_loopback_cm.c \
	tests/unit/core_loopback_data.c tests/unit/core_loopback_evd.c tests/unit/core_loopback_priv.h tests/unit/core_world.h
libcore_loopback_la_CPPFLAGS = $(CORE_TEST_CPPFLAGS)
CORE_LOOPBACK_TESTS = \
	tests/unit/core_cm_test \
	tests/unit/core_cno_test \
	tests/unit/core_ep_test \
	tests/unit/core_evd_test \
	tests/unit/core_put_off_test \
	tests/unit/core_srq_test
check_PROGRAMS += $(CORE_LOOPBACK_TESTS)
TESTS += $(CORE_LOOPBACK_TESTS)
tests_unit_core_cm_test_SOURCES = tests/unit/core_cm_test.c
tests_unit_core_cm_test_CPPFLAGS = $(CORE_TEST_CPPFLAGS)
tests_unit_core_cm_test_LDADD = $(CORE_LOOPBACK_LIBS)
tests_unit_core_cno_test_SOURCES = tests/unit/core_cno_test.c
tests_unit_core_cno_test_CPPFLAGS = $(CORE_TEST_CPPFLAGS)
tests_unit_core_cno_test_LDADD = $(CORE_LOOPBACK_LIBS)
tests_unit_core_ep_test_SOURCES = tests/unit/core_ep_test.c
tests_unit_core_ep_test_CPPFLAGS = $(CORE_TEST_CPPFLAGS)
tests_unit_core_ep_test_LDADD = $(CORE_LOOPBACK_LIBS)
tests_unit_core_evd_test_SOURCES = tests/unit/core_evd_test.c
tests_unit_core_evd_test_CPPFLAGS = $(CORE_TEST_CPPFLAGS)
tests_unit_core_evd_test_LDADD = $(CORE_LOOPBACK_LIBS)
tests_unit_core_put_off_test_SOURCES = tests/unit/core_put_off_test.c
tests_unit_core_put_off_test_CPPFLAGS = $(CORE_TEST_CPPFLAGS)
tests_unit_core_put_off_test_LDADD = $(CORE_LOOPBACK_LIBS)
tests_unit_core_srq_test_SOURCES = tests/unit/core_srq_test.c
tests_unit_core_srq_test_CPPFLAGS = $(CORE_TEST_CPPFLAGS)
tests_unit_core_srq_test_LDADD = $(CORE_LOOPBACK_LIBS)
