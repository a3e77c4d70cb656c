# SPDX-License-Identifier: BSD-2-Clause
# Where messages go. It becomes a part of libdat and of libdatp, which both have messages and neither the other's.
noinst_LTLIBRARIES += libdatlog.la
libdatlog_la_SOURCES = log/datlog.c log/datlog.h log/limit.h
libdatlog_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
libdatlog_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
