# SPDX-License-Identifier: BSD-2-Clause
# libdatp: what every provider would otherwise write again. One file per DAT object.
# libdatp_core is all of it, once more for tests that look inside.
noinst_LTLIBRARIES += libdatp_core.la
lib_LTLIBRARIES += libdatp.la
libdatp_la_SOURCES =
libdatp_la_LIBADD = libdatp_core.la libdat.la
libdatp_la_LDFLAGS = $(AM_LDFLAGS) $(LIB_RPATH) -version-info 0:0:0 -Wl,-z,nodelete \
	-Wl,--version-script=$(top_srcdir)/providers/common/libdatp.map
EXTRA_libdatp_la_DEPENDENCIES = $(top_srcdir)/providers/common/libdatp.map
EXTRA_DIST += providers/common/libdatp.map

libdatp_core_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
libdatp_core_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
libdatp_core_la_SOURCES = \
	providers/common/core.h \
	providers/common/dat12.h \
	providers/common/loop.h \
	providers/common/obj.h \
	providers/common/dat12_ia.c \
	providers/common/dat12_mem.c \
	providers/common/dat12_table.c \
	providers/common/ia.c \
	providers/common/lmr.c \
	providers/common/lock.c \
	providers/common/log.c \
	providers/common/loop.c \
	providers/common/obj.c \
	providers/common/ops.c \
	providers/common/plugin.c \
	providers/common/pz.c \
	providers/common/ret.c \
	providers/common/rmr.c
