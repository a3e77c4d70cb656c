# SPDX-License-Identifier: BSD-2-Clause
# `make bench` compares the speed of soft0 with that of other libraries and of the bare machine. Nothing here is a test.
BENCH = bench/bare bench/endpoints bench/inside bench/dispatch
EXTRA_PROGRAMS += $(BENCH)
EXTRA_DIST += bench/bench.sh bench/table.awk
CLEANFILES += $(BENCH) bench.json
bench_bare_SOURCES = bench/bare.c
bench_bare_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
bench_endpoints_SOURCES = bench/endpoints.c bench/pair.c bench/pair.h
bench_endpoints_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
bench_endpoints_LDADD = libdat.la
bench_inside_SOURCES = bench/inside.c bench/pair.c bench/pair.h
bench_inside_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
bench_inside_LDADD = libdat.la
bench_dispatch_SOURCES = bench/dispatch.c
bench_dispatch_LDADD = libdat.la

.PHONY: bench
bench: all $(BENCH) tests/dat.conf
	bash $(srcdir)/bench/bench.sh $(BENCH_FLAGS)
