# SPDX-License-Identifier: BSD-2-Clause
# Tests in which allocations and system calls fail. -rpath makes libtool build the shim as a shared object, although it is not
# installed.
check_LTLIBRARIES += libfaults.la
libfaults_la_SOURCES = tests/faults/shim.c tests/faults/shim.h
libfaults_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir) -U_FORTIFY_SOURCE
libfaults_la_CFLAGS = $(AM_CFLAGS) -fno-builtin
libfaults_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
check_PROGRAMS += tests/faults/lifecycle
tests_faults_lifecycle_SOURCES = tests/faults/lifecycle.c tests/faults/shim.h
tests_faults_lifecycle_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir)
tests_faults_lifecycle_LDADD = libdat.la
TESTS += tests/faults/faults.sh
EXTRA_DIST += tests/faults/faults.sh
tests/faults/faults.log: libfaults.la tests/faults/lifecycle$(EXEEXT) examples/exchange$(EXEEXT) datconform$(EXEEXT) libmutant.la
