# SPDX-License-Identifier: BSD-2-Clause
# The code that writes messages. libdat and libdatp each contain a copy, because neither depends on the other's internals.
noinst_LTLIBRARIES += libdatlog.la
libdatlog_la_SOURCES = log/datlog.c log/datlog.h log/limit.h log/line.c log/line.h
libdatlog_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
libdatlog_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
