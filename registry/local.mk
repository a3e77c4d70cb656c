# SPDX-License-Identifier: BSD-2-Clause
# libdat.so.1. The parser of dat.conf is a library of its own, for the tools and the tests.
noinst_LTLIBRARIES += libregconf.la
libregconf_la_SOURCES = \
	registry/conf.c \
	registry/conf.h \
	registry/conf_apis.c \
	registry/conf_env.c \
	registry/conf_file.c \
	registry/conf_filter.c \
	registry/conf_ini.c \
	log/near.c \
	log/near.h
libregconf_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE $(INIH_CFLAGS)
libregconf_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
libregconf_la_LIBADD = $(INIH_LIBS)

# The front of an API: its sources are compiled once for each API, with the headers of that API.
front_sources = \
	registry/core.h \
	registry/front/dispatch_ep.c \
	registry/front/dispatch_evd.c \
	registry/front/dispatch_mem.c \
	registry/front/front.c \
	registry/front/front.h \
	registry/front/probe.c \
	registry/front/strerror.c \
	registry/front/vtables.c

lib_LTLIBRARIES += libdat.la
libdat_la_SOURCES = \
	registry/catalog.c \
	registry/diag.c \
	registry/handle.c \
	registry/ia.c \
	registry/loader.c \
	registry/loader.h \
	registry/loader_why.c \
	registry/loader_why.h \
	registry/plugin.c \
	registry/reg.h \
	registry/report.c \
	$(front_sources) \
	registry/dat12/api.h \
	registry/dat12/calls.c
libdat_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir) -I$(top_srcdir)/registry/dat12
libdat_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
libdat_la_LDFLAGS = $(AM_LDFLAGS) -version-info 1:2:0 \
	-Wl,--version-script=$(srcdir)/registry/libdat.map
libdat_la_LIBADD = libregconf.la libdatlog.la $(LTDL_LIBS)
EXTRA_libdat_la_DEPENDENCIES = registry/libdat.map
EXTRA_DIST += registry/libdat.map

# The core is that of libdat.so.1, so that a process has one for both APIs. libdat2 is never unloaded, because the core keeps
# pointers into it. configure says where it is installed, so that it need not replace another project's libdat2.
dat2lib_LTLIBRARIES = libdat2.la
libdat2_la_SOURCES = \
	$(front_sources) \
	registry/dat20/api.h \
	registry/dat20/calls.c \
	registry/dat20/extension.c
libdat2_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir) -I$(top_srcdir)/registry/dat20
libdat2_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
libdat2_la_LDFLAGS = $(AM_LDFLAGS) $(DAT2_RPATH) -version-info 2:0:0 -Wl,-z,nodelete \
	-Wl,--version-script=$(srcdir)/registry/libdat2.map
libdat2_la_LIBADD = libdat.la
EXTRA_libdat2_la_DEPENDENCIES = registry/libdat2.map
EXTRA_DIST += registry/libdat2.map

# An existing dat.conf belongs to the administrator: it is neither overwritten nor removed.
EXTRA_DIST += etc/dat.conf
install-data-local:
	@$(MKDIR_P) '$(DESTDIR)$(sysconfdir)'
	@if test -e '$(DESTDIR)$(sysconfdir)/dat.conf'; then \
		cmp -s '$(srcdir)/etc/dat.conf' '$(DESTDIR)$(sysconfdir)/dat.conf' || \
			echo "keeping $(DESTDIR)$(sysconfdir)/dat.conf as it is"; \
	else \
		$(INSTALL_DATA) '$(srcdir)/etc/dat.conf' '$(DESTDIR)$(sysconfdir)/dat.conf'; \
	fi
uninstall-local:
	@if cmp -s '$(srcdir)/etc/dat.conf' '$(DESTDIR)$(sysconfdir)/dat.conf'; then \
		rm -f '$(DESTDIR)$(sysconfdir)/dat.conf'; \
	fi
