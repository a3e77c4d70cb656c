# SPDX-License-Identifier: BSD-2-Clause
# The soft provider: shared memory between the processes of one user on one host.
# libsoft_core is its code as a library of libtool's own, from which the plugin and the tests of its internals are linked.
noinst_LTLIBRARIES += libsoft_core.la
plugin_LTLIBRARIES += libdatsoft.la
libdatsoft_la_SOURCES =
# it stays in memory: a thread that nobody can wait for may run its code when its last adapter is closed
libdatsoft_la_LDFLAGS = $(AM_LDFLAGS) $(PLUGIN_RPATH) -module -avoid-version -shared -Wl,-z,nodelete
libdatsoft_la_LIBADD = libsoft_core.la libdatp.la
libsoft_core_la_SOURCES = \
	fence/fence_others.h \
	log/limit.h \
	log/limited.c log/limited.h \
	providers/soft/arena.c providers/soft/arena.h \
	providers/soft/bounce.c providers/soft/bounce.h \
	providers/soft/bound.h \
	providers/soft/conn.h \
	providers/soft/connect.c providers/soft/connect.h \
	providers/soft/convert.c providers/soft/convert.h \
	providers/soft/copier.c providers/soft/copier.h \
	providers/soft/coop.c providers/soft/coop.h \
	providers/soft/copying.c providers/soft/copying.h \
	providers/soft/cq.c providers/soft/cq.h \
	providers/soft/errand.c providers/soft/errand.h \
	providers/soft/established.c providers/soft/established.h \
	providers/soft/exec.c providers/soft/exec.h providers/soft/exec_atomic.c \
	providers/soft/exec_short.c providers/soft/exec_short.h providers/soft/exec_wait.c \
	providers/soft/fast.h \
	providers/soft/fast20.c providers/soft/fast20.h \
	providers/soft/fence.c providers/soft/fence.h \
	providers/soft/find.c providers/soft/find.h \
	providers/soft/foreign.c providers/soft/foreign.h \
	providers/soft/guard.c providers/soft/guard.h providers/soft/guard_word.h \
	providers/soft/skip.c providers/soft/skip.h \
	providers/soft/ia.c providers/soft/ia.h \
	providers/soft/index_pool.c providers/soft/index_pool.h \
	providers/soft/listener.c providers/soft/listener.h \
	providers/soft/liveness.c providers/soft/liveness.h \
	providers/soft/lost.c providers/soft/lost.h \
	providers/soft/owed.c providers/soft/owed.h \
	providers/soft/mr.c providers/soft/mr.h \
	providers/soft/pages.c providers/soft/pages.h \
	providers/soft/param.c providers/soft/param.h \
	providers/soft/peer.c providers/soft/peer.h \
	providers/soft/probe.c providers/soft/probe.h \
	providers/soft/process.c providers/soft/process.h \
	providers/soft/pending.c providers/soft/pending.h \
	providers/soft/port.c providers/soft/port.h \
	providers/soft/posted.c providers/soft/posted.h \
	providers/soft/progress.c providers/soft/progress.h \
	providers/soft/quiesce.c providers/soft/quiesce.h \
	providers/soft/polling.c providers/soft/polling.h \
	providers/soft/recv.c providers/soft/recv.h \
	providers/soft/remap.c providers/soft/remap.h \
	providers/soft/request.h \
	providers/soft/run.c providers/soft/run.h \
	providers/soft/send.c providers/soft/send.h \
	providers/soft/setup.c providers/soft/setup.h \
	providers/soft/share.c providers/soft/share.h \
	providers/soft/shm.h \
	providers/soft/sock.c providers/soft/sock.h \
	providers/soft/soft.h \
	providers/soft/sparse.c providers/soft/sparse.h \
	providers/soft/srq.c providers/soft/srq.h \
	providers/soft/strict.c providers/soft/strict.h \
	providers/soft/teardown.c \
	providers/soft/tick.c providers/soft/tick.h \
	providers/soft/place.c providers/soft/place.h \
	providers/soft/unmap.c providers/soft/unmap.h \
	providers/soft/unready.c providers/soft/unready.h \
	providers/soft/withheld.c providers/soft/withheld.h \
	providers/soft/window.c providers/soft/window.h \
	providers/soft/xfer.c providers/soft/xfer.h
libsoft_core_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) -DDATP_PLUGIN_VERSION='"$(PACKAGE_VERSION)"'
libsoft_core_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
