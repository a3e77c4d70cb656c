# SPDX-License-Identifier: BSD-2-Clause
# datconform: includes <dat/udat.h>, and of the project's own only tools/other_api.h. The same sources are compiled a second time, with
# <dat2/udat.h>: --api 2.0 runs that program, which is installed among the plugins, because nobody calls it by its name.
bin_PROGRAMS += datconform
conform_sources = \
	conform/api.h \
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
	conform/t_access.c \
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
	conform/t_wait.c \
	tools/other_api.c \
	tools/other_api.h
dist_man_MANS += man/datconform.1

conform_cppflags = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir) -I$(top_srcdir)/conform -DBIN_TO_LIB='"$(BIN_TO_LIB)"'
datconform_SOURCES = $(conform_sources)
nodist_datconform_SOURCES = conform/clauses.c
datconform_CPPFLAGS = $(conform_cppflags) -DCONFORM_API=1
datconform_LDFLAGS = $(AM_LDFLAGS) $(BIN_RPATH)
datconform_LDADD = libdat.la

plugin_PROGRAMS += datconform-2.0
datconform_2_0_SOURCES = $(conform_sources) conform/api20.c conform/t_dat20.c conform/t_dat20_ext.c conform/t_dat20_rmr.c conform/t_dat20_counters.c
nodist_datconform_2_0_SOURCES = conform/clauses20.c
datconform_2_0_CPPFLAGS = $(conform_cppflags) -DCONFORM_API=2
datconform_2_0_LDFLAGS = $(AM_LDFLAGS) -Wl,-rpath,'$$ORIGIN/dat2' $(PLUGIN_RPATH)
datconform_2_0_LDADD = libdat2.la

# The clauses have to be the last of them, because gen-clauses.awk writes the remarks of the others beside each clause.
CONFORM_FACTS = conform/untestable.tsv conform/mended.tsv conform/ambiguities.tsv conform/clauses.tsv
CONFORM_FACTS20 = conform/lifted.tsv $(CONFORM_FACTS) conform/clauses20.tsv
EXTRA_DIST += $(CONFORM_FACTS20) conform/gen-clauses.awk
BUILT_SOURCES += conform/clauses.c conform/clauses20.c
CLEANFILES += conform/clauses.c conform/clauses20.c
conform/clauses20.c: $(CONFORM_FACTS20) conform/gen-clauses.awk
	$(AM_V_at)$(MKDIR_P) conform
	$(AM_V_GEN)cd $(srcdir) && $(AWK) -f conform/gen-clauses.awk $(CONFORM_FACTS20) \
		> $(abs_builddir)/$@.tmp && mv $(abs_builddir)/$@.tmp $(abs_builddir)/$@
conform/clauses.c: $(CONFORM_FACTS) conform/gen-clauses.awk
	$(AM_V_at)$(MKDIR_P) conform
	$(AM_V_GEN)cd $(srcdir) && $(AWK) -f conform/gen-clauses.awk $(CONFORM_FACTS) \
		> $(abs_builddir)/$@.tmp && mv $(abs_builddir)/$@.tmp $(abs_builddir)/$@
