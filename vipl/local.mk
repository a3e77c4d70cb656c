# SPDX-License-Identifier: BSD-2-Clause
# libvipl.so.0: the VI Provider Library, which uses uDAPL by <dat/udat.h> only.
include_HEADERS = include/vipl.h
pkgconfig_DATA += vipl/vipl.pc

lib_LTLIBRARIES += libvipl.la
libvipl_la_SOURCES = \
	log/line.c \
	log/line.h \
	vipl/address.c \
	vipl/answer.c \
	vipl/attempt.c \
	vipl/complain.c \
	vipl/connect.c \
	vipl/cq.c \
	vipl/done.c \
	vipl/greeting.c \
	vipl/helper.c \
	vipl/herald.c \
	vipl/hosts.c \
	vipl/impl.h \
	vipl/keeper.c \
	vipl/leave.c \
	vipl/listen.c \
	vipl/mem.c \
	vipl/names.c \
	vipl/nic.c \
	vipl/notify.c \
	vipl/ns.c \
	vipl/peer.c \
	vipl/post.c \
	vipl/queue.c \
	vipl/rules.h \
	vipl/thread.c \
	vipl/vi.c \
	vipl/wire.c \
	vipl/wire.h \
	vipl/work.c
libvipl_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
libvipl_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
libvipl_la_LDFLAGS = $(AM_LDFLAGS) $(LIB_RPATH) -version-info 0:0:0 \
	-Wl,--version-script=$(srcdir)/vipl/libvipl.map
libvipl_la_LIBADD = libdat.la
EXTRA_libvipl_la_DEPENDENCIES = vipl/libvipl.map
EXTRA_DIST += vipl/libvipl.map

# The program with which a newcomer begins.
dist_examples_DATA += examples/vipl_exchange.c
check_PROGRAMS += examples/vipl_exchange
examples_vipl_exchange_SOURCES = examples/vipl_exchange.c
examples_vipl_exchange_LDADD = libvipl.la
