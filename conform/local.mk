# SPDX-License-Identifier: BSD-2-Clause
# datconform: includes <dat/udat.h>, and nothing else of the project.
bin_PROGRAMS += datconform
datconform_SOURCES = \
	conform/clauses.h \
	conform/conform.h \
	conform/expect.c \
	conform/html.c \
	conform/judge.c \
	conform/kit.c \
	conform/kit.h \
	conform/main.c \
	conform/remote.c \
	conform/remote.h \
	conform/remote_host.c \
	conform/remote_serve.c \
	conform/remote_wire.c \
	conform/report.c \
	conform/report.h \
	conform/run.c \
	conform/run.h \
	conform/states.c \
	conform/t_cno.c \
	conform/t_conn.c \
	conform/t_consumer_conn.c \
	conform/t_consumer_data.c \
	conform/t_consumer_evd.c \
	conform/t_consumer_order.c \
	conform/t_consumer_reg.c \
	conform/t_data.c \
	conform/t_disc.c \
	conform/t_ep.c \
	conform/t_evd.c \
	conform/t_handles.c \
	conform/t_ia.c \
	conform/t_limits.c \
	conform/t_mem.c \
	conform/t_reg.c \
	conform/t_rmr.c \
	conform/t_sp.c \
	conform/t_srq.c \
	conform/t_srq.h \
	conform/t_srq_ep.c \
	conform/t_threads.c \
	conform/t_wait.c
dist_man_MANS += man/datconform.1

nodist_datconform_SOURCES = conform/clauses.c
datconform_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir)/conform
datconform_LDFLAGS = $(AM_LDFLAGS) $(BIN_RPATH)
datconform_LDADD = libdat.la

# clauses.tsv has to be the last of them, because gen-clauses.awk writes the remarks of the others beside each clause.
CONFORM_FACTS = conform/untestable.tsv conform/mended.tsv conform/ambiguities.tsv conform/clauses.tsv
EXTRA_DIST += $(CONFORM_FACTS) conform/gen-clauses.awk
BUILT_SOURCES += conform/clauses.c
CLEANFILES += conform/clauses.c
conform/clauses.c: $(CONFORM_FACTS) conform/gen-clauses.awk
	$(AM_V_at)$(MKDIR_P) conform
	$(AM_V_GEN)cd $(srcdir) && $(AWK) -f conform/gen-clauses.awk $(CONFORM_FACTS) \
		> $(abs_builddir)/$@.tmp && mv $(abs_builddir)/$@.tmp $(abs_builddir)/$@
