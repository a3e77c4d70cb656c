# SPDX-License-Identifier: BSD-2-Clause
# The tracing wrapper, written against the public SDK only.
plugin_LTLIBRARIES += libdat-trace.la
libdat_trace_la_SOURCES = providers/trace/trace.c providers/trace/trace.h providers/trace/print.c providers/trace/output.c \
	providers/trace/print_types.c providers/trace/print_types20.c providers/trace/text.h
libdat_trace_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -DDATP_PLUGIN_VERSION='"$(PACKAGE_VERSION)"'
libdat_trace_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
libdat_trace_la_LDFLAGS = $(AM_LDFLAGS) $(PLUGIN_RPATH) -module -avoid-version -shared
libdat_trace_la_LIBADD = libdatp.la libdat.la
