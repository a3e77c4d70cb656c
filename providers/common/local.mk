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

libdatp_core_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir)
libdatp_core_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
libdatp_core_la_SOURCES = \
	fence/fence_others.h \
	providers/common/cancel.h \
	providers/common/cm.h \
	providers/common/core.h \
	providers/common/dat12.h \
	providers/common/ep.h \
	providers/common/evd.h \
	providers/common/futex.h \
	providers/common/lock.h \
	providers/common/loop.h \
	providers/common/obj.h \
	providers/common/ops_list.h \
	providers/common/srq.h \
	providers/common/wrap.h \
	providers/common/wrap_calls.h \
	providers/common/tell.h \
	providers/common/bias.c \
	providers/common/cm.c \
	providers/common/cno.c \
	providers/common/cr.c \
	providers/common/dat12_cm.c \
	providers/common/dat12_ep.c \
	providers/common/dat12_evd.c \
	providers/common/dat12_ia.c \
	providers/common/dat12_mem.c \
	providers/common/dat12_srq.c \
	providers/common/dat12_table.c \
	providers/common/dump.c \
	providers/common/ep.c \
	providers/common/ep_attr.c \
	providers/common/ep_flush.c \
	providers/common/ep_modify.c \
	providers/common/ep_state.c \
	providers/common/evd.c \
	providers/common/evd_queue.c \
	providers/common/evd_wait.c \
	providers/common/ia.c \
	providers/common/lmr.c \
	providers/common/lock.c \
	providers/common/log.c \
	providers/common/loop.c \
	providers/common/obj.c \
	providers/common/ops.c \
	providers/common/plugin.c \
	providers/common/post.c \
	providers/common/pz.c \
	providers/common/refuse.c \
	providers/common/ret.c \
	providers/common/rmr.c \
	providers/common/sp.c \
	providers/common/srq.c \
	providers/common/wrap.c \
	providers/common/wrap_calls.c \
	providers/common/tell.c
libdatp_core_la_LIBADD = libdatlog.la
