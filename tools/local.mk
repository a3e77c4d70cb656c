# SPDX-License-Identifier: BSD-2-Clause
# datctl and datperf. A command of datctl is a file of its own.
TOOLS_COMMON = \
	tools/cli.c \
	tools/cli.h \
	tools/names.c \
	tools/names.h

bin_PROGRAMS += datctl
datctl_SOURCES = \
	$(TOOLS_COMMON) \
	tools/datctl.c \
	tools/datctl.h \
	tools/datctl_list.c \
	tools/datctl_show.c
datctl_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir)
datctl_LDFLAGS = $(AM_LDFLAGS) $(BIN_RPATH)
datctl_LDADD = libregconf.la libdat.la
