# SPDX-License-Identifier: BSD-2-Clause
# `make bench` compares the speed of soft0 with that of other libraries and of the bare machine. Nothing here is a test.
BENCH = bench/bare bench/endpoints bench/inside bench/dispatch bench/cost bench/cost20
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
bench_cost_SOURCES = bench/cost.c bench/pair.c bench/pair.h
bench_cost_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
bench_cost_LDADD = libdat.la
# The same program for uDAPL 2.0.
bench_cost20_SOURCES = $(bench_cost_SOURCES)
bench_cost20_CPPFLAGS = $(bench_cost_CPPFLAGS) -DBENCH_API_20
bench_cost20_LDADD = libdat2.la

.PHONY: bench
bench: all $(BENCH) tests/dat.conf
	bash $(srcdir)/bench/bench.sh $(BENCH_FLAGS)
