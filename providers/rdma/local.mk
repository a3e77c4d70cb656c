# SPDX-License-Identifier: BSD-2-Clause
# The verbs providers. What they share is built once, and each plugin adds the code in which it differs.
# The plugins stay mapped (-z nodelete), because a worker may outlive its adapter, and the handler of SIGPIPE does.
RDMA_SOURCES = \
	log/limit.h \
	log/limited.c log/limited.h \
	providers/rdma/rdma.h \
	providers/rdma/rdma_address.h \
	providers/rdma/rdma_async.h \
	providers/rdma/rdma_cm.h \
	providers/rdma/rdma_conn.h \
	providers/rdma/rdma_cq.h \
	providers/rdma/rdma_device.h \
	providers/rdma/rdma_devices.h \
	providers/rdma/rdma_end.h \
	providers/rdma/rdma_fast.h \
	providers/rdma/rdma_fit.h \
	providers/rdma/rdma_fork.h \
	providers/rdma/rdma_gid.h \
	providers/rdma/rdma_defer.h \
	providers/rdma/rdma_ia.h \
	providers/rdma/rdma_mr.h \
	providers/rdma/rdma_mw.h \
	providers/rdma/rdma_named.h \
	providers/rdma/rdma_ops.h \
	providers/rdma/rdma_parts.h \
	providers/rdma/rdma_pipe.h \
	providers/rdma/rdma_poll.h \
	providers/rdma/rdma_post.h \
	providers/rdma/rdma_qp.h \
	providers/rdma/rdma_srq.h \
	providers/rdma/rdma_timer.h \
	providers/rdma/rdma_wire.h \
	providers/rdma/rdma_address.c \
	providers/rdma/rdma_async.c \
	providers/rdma/rdma_cm.c \
	providers/rdma/rdma_conn.c \
	providers/rdma/rdma_cq.c \
	providers/rdma/rdma_device.c \
	providers/rdma/rdma_devices.c \
	providers/rdma/rdma_end.c \
	providers/rdma/rdma_fast20.c \
	providers/rdma/rdma_fit.c \
	providers/rdma/rdma_fork.c \
	providers/rdma/rdma_gid.c \
	providers/rdma/rdma_defer.c \
	providers/rdma/rdma_ia.c \
	providers/rdma/rdma_mr.c \
	providers/rdma/rdma_mw.c \
	providers/rdma/rdma_named.c \
	providers/rdma/rdma_parts.c \
	providers/rdma/rdma_pipe.c \
	providers/rdma/rdma_poll.c \
	providers/rdma/rdma_post.c \
	providers/rdma/rdma_qp.c \
	providers/rdma/rdma_srq.c \
	providers/rdma/rdma_timer.c \
	providers/rdma/rdma_wire.c
# The compiler uses no vectors here, because packing two words of a work request into one takes more steps than writing both.
RDMA_CFLAGS = $(AM_CFLAGS) $(VERBS_CFLAGS) $(RDMACM_CFLAGS) -fvisibility=hidden -fno-tree-slp-vectorize
RDMA_LDFLAGS = $(AM_LDFLAGS) $(PLUGIN_RPATH) -module -shared -Wl,-z,nodelete

if HAVE_RDMA
noinst_LTLIBRARIES += librdma_core.la
librdma_core_la_SOURCES = $(RDMA_SOURCES) providers/ib/ib.c providers/ib/ib.h \
	providers/iwarp/iwarp.c providers/iwarp/iwarp.h
librdma_core_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
librdma_core_la_CFLAGS = $(RDMA_CFLAGS)
librdma_core_la_LIBADD = $(RDMACM_LIBS) $(VERBS_LIBS)

plugin_LTLIBRARIES += libdatib.la libdatiwarp.la libdaplcma.la libdaplofa.la
libdatib_la_SOURCES = providers/ib/plugin.c
libdatib_la_CFLAGS = $(RDMA_CFLAGS)
libdatib_la_LDFLAGS = $(RDMA_LDFLAGS) -avoid-version
libdatib_la_LIBADD = librdma_core.la libdatp.la
libdatiwarp_la_SOURCES = providers/iwarp/plugin.c
libdatiwarp_la_CFLAGS = $(RDMA_CFLAGS)
libdatiwarp_la_LDFLAGS = $(RDMA_LDFLAGS) -avoid-version
libdatiwarp_la_LIBADD = librdma_core.la libdatp.la
libdaplcma_la_SOURCES = providers/daplcma/plugin.c
libdaplcma_la_CFLAGS = $(RDMA_CFLAGS)
libdaplcma_la_LDFLAGS = $(RDMA_LDFLAGS) -version-info 1:0:0
libdaplcma_la_LIBADD = librdma_core.la libdatp.la
libdaplofa_la_SOURCES = providers/daplcma/plugin.c
libdaplofa_la_CFLAGS = $(RDMA_CFLAGS)
libdaplofa_la_LDFLAGS = $(RDMA_LDFLAGS) -version-info 2:0:0
libdaplofa_la_LIBADD = librdma_core.la libdatp.la
endif
