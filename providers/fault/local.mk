# SPDX-License-Identifier: BSD-2-Clause
# The fault-injecting wrapper, written against the public SDK only.
plugin_LTLIBRARIES += libdat-fault.la
libdat_fault_la_SOURCES = providers/fault/fault.c providers/fault/fault.h providers/fault/allowed.c \
	providers/fault/event.c providers/fault/layout.c providers/fault/layout.h providers/fault/layout20.c \
	providers/fault/rule.c
libdat_fault_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -DDATP_PLUGIN_VERSION='"$(PACKAGE_VERSION)"'
libdat_fault_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
libdat_fault_la_LDFLAGS = $(AM_LDFLAGS) $(PLUGIN_RPATH) -module -avoid-version -shared -Wl,-z,nodelete
libdat_fault_la_LIBADD = libdatp.la libdat.la
