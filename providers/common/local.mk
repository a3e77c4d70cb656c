# SPDX-License-Identifier: BSD-2-Clause
# libdatp: the code that every provider would otherwise have to contain. One file per DAT object.
# base/ has locks, messages and other things that all the rest uses, core/ the objects, dat12/ the edge
# between them and the table of DAT 1.2, dat20/ the table of DAT 2.0 on top of that, wrap/ the SDK for
# wrappers.
# libdatp_core is all of this code as a library of libtool's own, from which libdatp and the tests of its internals are linked.
noinst_LTLIBRARIES += libdatp_core.la
lib_LTLIBRARIES += libdatp.la
libdatp_la_SOURCES =
libdatp_la_LIBADD = libdatp_core.la libdat.la
libdatp_la_LDFLAGS = $(AM_LDFLAGS) $(LIB_RPATH) -version-info 0:0:0 -Wl,-z,nodelete \
	-Wl,--version-script=$(top_srcdir)/providers/common/libdatp.map
EXTRA_libdatp_la_DEPENDENCIES = $(top_srcdir)/providers/common/libdatp.map
EXTRA_DIST += providers/common/libdatp.map

libdatp_core_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir) -Iproviders/common/dat20
libdatp_core_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
libdatp_core_la_SOURCES = \
	fence/fence_others.h \
	log/limit.h \
	log/near.c \
	log/near.h \
	providers/common/base/cancel.h \
	providers/common/base/futex.h \
	providers/common/base/bias.h \
	providers/common/base/lock.h \
	providers/common/base/lmr_table.c \
	providers/common/base/lmr_table.h \
	providers/common/base/log.h \
	providers/common/base/notify.h \
	providers/common/base/pause.h \
	providers/common/base/turn.h \
	providers/common/base/refuse.h \
	providers/common/base/sdk.h \
	providers/common/base/bias.c \
	providers/common/base/fork.c \
	providers/common/base/lock.c \
	providers/common/base/log.c \
	providers/common/base/options.c \
	providers/common/base/refuse.c \
	providers/common/base/sdk.c \
	providers/common/core/allow.h \
	providers/common/core/cm.h \
	providers/common/core/core.h \
	providers/common/core/count.h \
	providers/common/core/diag.h \
	providers/common/core/dump.h \
	providers/common/core/duties.h \
	providers/common/core/ep.h \
	providers/common/core/evd.h \
	providers/common/core/evd_take.h \
	providers/common/core/loan.h \
	providers/common/core/loop.h \
	providers/common/core/obj.h \
	providers/common/core/ops_list.h \
	providers/common/core/srq.h \
	providers/common/core/allow.c \
	providers/common/core/cm.c \
	providers/common/core/cno.c \
	providers/common/core/cno_fd.c \
	providers/common/core/cr.c \
	providers/common/core/diag.c \
	providers/common/core/dump.c \
	providers/common/core/duties.c \
	providers/common/core/ep.c \
	providers/common/core/ep_attr.c \
	providers/common/core/ep_flush.c \
	providers/common/core/ep_modify.c \
	providers/common/core/ep_state.c \
	providers/common/core/extend.c \
	providers/common/core/extend.h \
	providers/common/core/evd.c \
	providers/common/core/evd_queue.c \
	providers/common/core/evd_wait.c \
	providers/common/core/ia.c \
	providers/common/core/lmr.c \
	providers/common/core/loan.c \
	providers/common/core/loop.c \
	providers/common/core/obj.c \
	providers/common/core/ops.c \
	providers/common/core/plugin.c \
	providers/common/core/post.c \
	providers/common/core/pz.c \
	providers/common/core/rmr.c \
	providers/common/core/sp.c \
	providers/common/core/srq.c \
	providers/common/core/timer.c \
	providers/common/core/timer.h \
	providers/common/core/broken.c \
	providers/common/dat12/dat12.h \
	providers/common/dat12/dat12_calls.h \
	providers/common/dat12/dat12_cm.c \
	providers/common/dat12/dat12_diag.c \
	providers/common/dat12/dat12_ep.c \
	providers/common/dat12/dat12_evd.c \
	providers/common/dat12/dat12_event.c \
	providers/common/dat12/dat12_ia.c \
	providers/common/dat12/dat12_mem.c \
	providers/common/dat12/dat12_plugin.c \
	providers/common/dat12/dat12_refused.c \
	providers/common/dat12/dat12_refused.h \
	providers/common/dat12/dat12_srq.c \
	providers/common/dat12/dat12_table.c \
	providers/common/dat12/ret.c \
	providers/common/dat20/dat20.h \
	providers/common/dat20/dat20_calls.h \
	providers/common/dat20/dat20_cno.c \
	providers/common/dat20/dat20_counters.c \
	providers/common/dat20/dat20_ep.c \
	providers/common/dat20/dat20_event.c \
	providers/common/dat20/dat20_extension.c \
	providers/common/dat20/dat20_fast.c \
	providers/common/dat20/dat20_ia.c \
	providers/common/dat20/dat20_mem.c \
	providers/common/dat20/dat20_named.c \
	providers/common/dat20/dat20_plugin.c \
	providers/common/dat20/dat20_post.c \
	providers/common/dat20/dat20_table.c \
	providers/common/dat20/entry.c \
	providers/common/dat20/dat20_ret.c \
	providers/common/dat20/dat20_rmr_post.c \
	providers/common/wrap/wrap.h \
	providers/common/wrap/wrap.c \
	providers/common/wrap/wrap_calls.c \
	providers/common/wrap/wrap_calls20.c \
	providers/common/wrap/wrap_plugin.c \
	providers/common/wrap/wrap_plugin20.c
libdatp_core_la_LIBADD = libdatlog.la
nodist_libdatp_core_la_SOURCES = providers/common/dat20/dat20_types.h

# The types of DAT 2.0 under names of their own, which are made from the headers for programs.
dat20_common = $(srcdir)/include/dat/dat_common.h $(srcdir)/include/dat/dat_platform_specific.h
dat20_headers = \
	$(srcdir)/include/dat2/dat_platform_specific.h \
	$(srcdir)/include/dat2/udat_config.h \
	$(srcdir)/include/dat2/dat_vendor_specific.h \
	$(srcdir)/include/dat2/dat_error.h \
	$(srcdir)/include/dat2/dat.h \
	$(srcdir)/include/dat2/udat.h \
	$(srcdir)/include/dat/dat_slots.h \
	$(srcdir)/include/dat2/dat_redirection.h \
	$(srcdir)/include/dat2/udat_redirection.h \
	$(srcdir)/include/dat2/dat_ib_extensions.h
BUILT_SOURCES += providers/common/dat20/dat20_types.h
CLEANFILES += providers/common/dat20/dat20_types.h
EXTRA_DIST += providers/common/dat20/gen-types.awk
providers/common/dat20/dat20_types.h: $(srcdir)/providers/common/dat20/gen-types.awk $(dat20_common) $(dat20_headers)
	$(AM_V_GEN)$(MKDIR_P) providers/common/dat20 && \
	$(AWK) -f $(srcdir)/providers/common/dat20/gen-types.awk $(dat20_common) common=done $(dat20_headers) >$@.tmp && \
	mv $@.tmp $@
# These objects need the header also if neither "all" nor "check" is made: only these two make BUILT_SOURCES first.
$(addprefix providers/common/dat20/libdatp_core_la-, \
	dat20_cno.lo dat20_ep.lo dat20_event.lo dat20_extension.lo dat20_fast.lo dat20_ia.lo dat20_mem.lo dat20_named.lo dat20_plugin.lo dat20_post.lo dat20_ret.lo dat20_rmr_post.lo dat20_table.lo entry.lo): \
	providers/common/dat20/dat20_types.h
$(addprefix providers/common/wrap/libdatp_core_la-, wrap_calls20.lo wrap_plugin20.lo): providers/common/dat20/dat20_types.h
