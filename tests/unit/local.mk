# SPDX-License-Identifier: BSD-2-Clause
include tests/unit/registry.mk
include tests/unit/core.mk
include tests/unit/core_events.mk

check_PROGRAMS += tests/unit/log_test
TESTS += tests/unit/log_test
tests_unit_log_test_SOURCES = tests/unit/log_test.c
tests_unit_log_test_CPPFLAGS = $(HARNESS_CPPFLAGS) -I$(top_srcdir) -D_GNU_SOURCE
tests_unit_log_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=pwritev2,--wrap=open,--wrap=syslog,--wrap=__syslog_chk
tests_unit_log_test_LDADD = libdatlog.la $(HARNESS_LIBS)

# Tests of the verbs providers that need no device.
if HAVE_RDMA
check_PROGRAMS += tests/unit/rdma_wire_test
TESTS += tests/unit/rdma_wire_test
tests_unit_rdma_wire_test_SOURCES = tests/unit/rdma_wire_test.c
tests_unit_rdma_wire_test_CPPFLAGS = $(HARNESS_CPPFLAGS) -I$(top_srcdir) -D_GNU_SOURCE
tests_unit_rdma_wire_test_CFLAGS = $(AM_CFLAGS) $(VERBS_CFLAGS) $(RDMACM_CFLAGS)
tests_unit_rdma_wire_test_LDADD = librdma_core.la libdatp.la $(HARNESS_LIBS)
check_PROGRAMS += tests/unit/rdma_gid_test
TESTS += tests/unit/rdma_gid_test
tests_unit_rdma_gid_test_SOURCES = tests/unit/rdma_gid_test.c
tests_unit_rdma_gid_test_CPPFLAGS = $(HARNESS_CPPFLAGS) -I$(top_srcdir) -D_GNU_SOURCE
tests_unit_rdma_gid_test_CFLAGS = $(AM_CFLAGS) $(VERBS_CFLAGS) $(RDMACM_CFLAGS)
tests_unit_rdma_gid_test_LDADD = librdma_core.la libdatp.la $(HARNESS_LIBS)
check_PROGRAMS += tests/unit/rdma_devices_test
TESTS += tests/unit/rdma_devices_test
tests_unit_rdma_devices_test_SOURCES = tests/unit/rdma_devices_test.c
tests_unit_rdma_devices_test_CPPFLAGS = $(HARNESS_CPPFLAGS) -I$(top_srcdir) -D_GNU_SOURCE
tests_unit_rdma_devices_test_CFLAGS = $(AM_CFLAGS) $(VERBS_CFLAGS) $(RDMACM_CFLAGS)
tests_unit_rdma_devices_test_LDADD = librdma_core.la libdatp.la $(HARNESS_LIBS)
check_PROGRAMS += tests/unit/rdma_cq_test
TESTS += tests/unit/rdma_cq_test
tests_unit_rdma_cq_test_SOURCES = tests/unit/rdma_cq_test.c
tests_unit_rdma_cq_test_CPPFLAGS = $(HARNESS_CPPFLAGS) -I$(top_srcdir) -D_GNU_SOURCE
tests_unit_rdma_cq_test_CFLAGS = $(AM_CFLAGS) $(VERBS_CFLAGS) $(RDMACM_CFLAGS)
tests_unit_rdma_cq_test_LDADD = librdma_core.la libdatp.la $(HARNESS_LIBS)

check_PROGRAMS += tests/unit/rdma_mr_test
TESTS += tests/unit/rdma_mr_test
tests_unit_rdma_mr_test_SOURCES = tests/unit/rdma_mr_test.c
tests_unit_rdma_mr_test_CPPFLAGS = $(HARNESS_CPPFLAGS) -I$(top_srcdir) -D_GNU_SOURCE
tests_unit_rdma_mr_test_CFLAGS = $(AM_CFLAGS) $(VERBS_CFLAGS) $(RDMACM_CFLAGS)
tests_unit_rdma_mr_test_LDADD = librdma_core.la libdatp.la $(HARNESS_LIBS)
check_PROGRAMS += tests/unit/twist_fork_test
TESTS += tests/unit/twist_fork_test
tests_unit_twist_fork_test_SOURCES = tests/unit/twist_fork_test.c $(TWIST_SOURCES)
tests_unit_twist_fork_test_CPPFLAGS = $(HARNESS_CPPFLAGS) -I$(top_srcdir) -D_GNU_SOURCE
tests_unit_twist_fork_test_CFLAGS = $(AM_CFLAGS) $(VERBS_CFLAGS) $(RDMACM_CFLAGS)
# twist.c interposes functions of libraries of which the program calls none
tests_unit_twist_fork_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--no-as-needed
tests_unit_twist_fork_test_LDADD = $(HARNESS_LIBS) $(VERBS_LIBS) $(RDMACM_LIBS)
endif

if !SANITIZED
TESTS += tests/unit/tree.sh
endif
EXTRA_DIST += tests/unit/tree.sh
