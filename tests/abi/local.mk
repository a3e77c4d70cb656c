# SPDX-License-Identifier: BSD-2-Clause
# The binary contracts of uDAPL 1.2 and DAT 2.0: abi12.tsv and abi20.tsv are the tables, and the tests here are made from them.
EXTRA_DIST += \
	tests/abi/abi12.tsv \
	tests/abi/abi20.tsv \
	tests/abi/docs.awk \
	tests/abi/docs.sh \
	tests/abi/facts.awk \
	tests/abi/gen-abi-test.awk \
	tests/abi/gen-abi20-test.awk \
	tests/abi/headers.sh

AM_TESTS_ENVIRONMENT += CC='$(CC)'; export CC; AWK='$(AWK)'; export AWK;

# These tests read headers alone, in which no sanitizer could find anything.
if !SANITIZED
TESTS += tests/abi/headers.sh tests/abi/docs.sh
endif

# Compares every value, layout, slot, prototype and macro of the headers with the table.
check_PROGRAMS += tests/abi/abi12_test
TESTS += tests/abi/abi12_test
tests_abi_abi12_test_SOURCES = tests/abi/abi_facts.h
nodist_tests_abi_abi12_test_SOURCES = tests/abi/abi12_test.c
tests_abi_abi12_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/abi
CLEANFILES += tests/abi/abi12_test.c

tests/abi/abi12_test.c: $(srcdir)/tests/abi/facts.awk $(srcdir)/tests/abi/gen-abi-test.awk $(srcdir)/tests/abi/abi12.tsv
	$(AM_V_GEN)$(MKDIR_P) tests/abi && \
	$(AWK) -f $(srcdir)/tests/abi/facts.awk -f $(srcdir)/tests/abi/gen-abi-test.awk $(srcdir)/tests/abi/abi12.tsv >$@.tmp && \
	mv $@.tmp $@

check_PROGRAMS += tests/abi/abi20_test
TESTS += tests/abi/abi20_test
tests_abi_abi20_test_SOURCES = tests/abi/abi_facts.h
nodist_tests_abi_abi20_test_SOURCES = tests/abi/abi20_test.c
tests_abi_abi20_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/abi
CLEANFILES += tests/abi/abi20_test.c

tests/abi/abi20_test.c: $(srcdir)/tests/abi/facts.awk $(srcdir)/tests/abi/gen-abi20-test.awk $(srcdir)/tests/abi/abi20.tsv
	$(AM_V_GEN)$(MKDIR_P) tests/abi && \
	$(AWK) -f $(srcdir)/tests/abi/facts.awk -f $(srcdir)/tests/abi/gen-abi20-test.awk $(srcdir)/tests/abi/abi20.tsv >$@.tmp && \
	mv $@.tmp $@

# A program and a plugin built against a header that is not ours, run on our libdat. Their flags
# leave include/ out on purpose.
EXTRA_DIST += \
	tests/abi/gen-foreign-header.awk \
	tests/abi/gen-foreign-calls.awk \
	tests/abi/symbols.sh
foreign_generated = \
	tests/abi/foreign_dat.h \
	tests/abi/foreign_slots.h \
	tests/abi/foreign_calls.h
BUILT_SOURCES += $(foreign_generated)
CLEANFILES += $(foreign_generated)

tests/abi/foreign_dat.h: $(srcdir)/tests/abi/gen-foreign-header.awk $(srcdir)/tests/abi/abi12.tsv
	$(AM_V_GEN)$(MKDIR_P) tests/abi && \
	$(AWK) -f $(srcdir)/tests/abi/gen-foreign-header.awk $(srcdir)/tests/abi/abi12.tsv \
		>$@.tmp && mv $@.tmp $@
tests/abi/foreign_slots.h: $(srcdir)/tests/abi/gen-foreign-calls.awk $(srcdir)/tests/abi/abi12.tsv
	$(AM_V_GEN)$(MKDIR_P) tests/abi && \
	$(AWK) -v part=plugin -f $(srcdir)/tests/abi/gen-foreign-calls.awk \
		$(srcdir)/tests/abi/abi12.tsv >$@.tmp && mv $@.tmp $@
tests/abi/foreign_calls.h: $(srcdir)/tests/abi/gen-foreign-calls.awk $(srcdir)/tests/abi/abi12.tsv
	$(AM_V_GEN)$(MKDIR_P) tests/abi && \
	$(AWK) -v part=consumer -f $(srcdir)/tests/abi/gen-foreign-calls.awk \
		$(srcdir)/tests/abi/abi12.tsv >$@.tmp && mv $@.tmp $@

check_LTLIBRARIES += tests/abi/foreign_plugin.la
tests_abi_foreign_plugin_la_SOURCES = tests/abi/foreign_plugin.c tests/abi/foreign_log.h
nodist_tests_abi_foreign_plugin_la_SOURCES = tests/abi/foreign_dat.h tests/abi/foreign_slots.h
tests_abi_foreign_plugin_la_CPPFLAGS = -Itests/abi -I$(srcdir)/tests/abi
tests_abi_foreign_plugin_la_LDFLAGS = -module -avoid-version -Wl,-Bsymbolic -rpath $(abs_builddir)/tests/abi

check_PROGRAMS += tests/abi/foreign_consumer
tests_abi_foreign_consumer_SOURCES = tests/abi/foreign_consumer.c tests/abi/foreign_log.h
nodist_tests_abi_foreign_consumer_SOURCES = tests/abi/foreign_dat.h tests/abi/foreign_calls.h
tests_abi_foreign_consumer_CPPFLAGS = -Itests/abi -I$(srcdir)/tests/abi \
	-DFOREIGN_PLUGIN='"$(abs_builddir)/tests/abi/.libs/foreign_plugin.so"'
tests_abi_foreign_consumer_LDADD = libdat.la -ldl
EXTRA_tests_abi_foreign_consumer_DEPENDENCIES = tests/abi/foreign_plugin.la

check_PROGRAMS += tests/abi/foreign_local
tests_abi_foreign_local_SOURCES = tests/abi/foreign_local.c
nodist_tests_abi_foreign_local_SOURCES = tests/abi/foreign_dat.h
tests_abi_foreign_local_CPPFLAGS = $(tests_abi_foreign_consumer_CPPFLAGS) \
	-DLIBDAT='"$(abs_builddir)/.libs/libdat.so.1"'
tests_abi_foreign_local_LDADD = -ldl
EXTRA_tests_abi_foreign_local_DEPENDENCIES = libdat.la tests/abi/foreign_plugin.la

TESTS += tests/abi/foreign_consumer tests/abi/foreign_local tests/abi/symbols.sh

# The same two programs and the same plugin for DAT 2.0, on libdat2. They include the generated headers in angle brackets, because
# a name in quotes is looked up beside the source first, and in a build in the source's folder those of 1.2 lie there.
EXTRA_DIST += tests/abi/dat20/foreign_dat.h
foreign20_generated = tests/abi/dat20/foreign_slots.h tests/abi/dat20/foreign_calls.h
BUILT_SOURCES += $(foreign20_generated)
CLEANFILES += $(foreign20_generated)

tests/abi/dat20/foreign_slots.h: $(srcdir)/tests/abi/gen-foreign-calls.awk $(srcdir)/tests/abi/abi20.tsv
	$(AM_V_GEN)$(MKDIR_P) tests/abi/dat20 && \
	$(AWK) -v part=plugin -f $(srcdir)/tests/abi/gen-foreign-calls.awk \
		$(srcdir)/tests/abi/abi20.tsv >$@.tmp && mv $@.tmp $@
tests/abi/dat20/foreign_calls.h: $(srcdir)/tests/abi/gen-foreign-calls.awk $(srcdir)/tests/abi/abi20.tsv
	$(AM_V_GEN)$(MKDIR_P) tests/abi/dat20 && \
	$(AWK) -v part=consumer -f $(srcdir)/tests/abi/gen-foreign-calls.awk \
		$(srcdir)/tests/abi/abi20.tsv >$@.tmp && mv $@.tmp $@

FOREIGN20_CPPFLAGS = -Itests/abi/dat20 -I$(srcdir)/tests/abi/dat20 -I$(srcdir)/tests/abi -I$(top_srcdir)/include \
	-DFOREIGN_PLUGIN='"$(abs_builddir)/tests/abi/.libs/foreign20_plugin.so"' \
	-DLIBDAT='"$(abs_builddir)/.libs/libdat2.so.2"'
check_LTLIBRARIES += tests/abi/foreign20_plugin.la
tests_abi_foreign20_plugin_la_SOURCES = tests/abi/foreign_plugin.c tests/abi/foreign_log.h
nodist_tests_abi_foreign20_plugin_la_SOURCES = tests/abi/dat20/foreign_slots.h
tests_abi_foreign20_plugin_la_CPPFLAGS = $(FOREIGN20_CPPFLAGS)
tests_abi_foreign20_plugin_la_LDFLAGS = -module -avoid-version -Wl,-Bsymbolic -rpath $(abs_builddir)/tests/abi

check_PROGRAMS += tests/abi/foreign20_consumer tests/abi/foreign20_local
tests_abi_foreign20_consumer_SOURCES = tests/abi/foreign_consumer.c tests/abi/foreign_log.h
nodist_tests_abi_foreign20_consumer_SOURCES = tests/abi/dat20/foreign_calls.h
tests_abi_foreign20_consumer_CPPFLAGS = $(FOREIGN20_CPPFLAGS)
tests_abi_foreign20_consumer_LDADD = libdat2.la -ldl
EXTRA_tests_abi_foreign20_consumer_DEPENDENCIES = tests/abi/foreign20_plugin.la
tests_abi_foreign20_local_SOURCES = tests/abi/foreign_local.c
tests_abi_foreign20_local_CPPFLAGS = $(FOREIGN20_CPPFLAGS)
tests_abi_foreign20_local_LDADD = -ldl
EXTRA_tests_abi_foreign20_local_DEPENDENCIES = libdat2.la tests/abi/foreign20_plugin.la
TESTS += tests/abi/foreign20_consumer tests/abi/foreign20_local

# Both libraries in one process, and so both foreign plugins. Their symbols have the same names, so each is linked to itself.
check_PROGRAMS += tests/abi/both_test
tests_abi_both_test_CPPFLAGS = $(FOREIGN20_CPPFLAGS) \
	-DFOREIGN12_PLUGIN='"$(abs_builddir)/tests/abi/.libs/foreign_plugin.so"' \
	-DLIBDAT12='"$(abs_builddir)/.libs/libdat.so.1"' \
	-DSOFT_PLUGIN='"$(abs_builddir)/.libs/libdatsoft.so"'
tests_abi_both_test_LDADD = -ldl
EXTRA_tests_abi_both_test_DEPENDENCIES = libdat.la libdat2.la libdatsoft.la tests/abi/foreign_plugin.la \
	tests/abi/foreign20_plugin.la
TESTS += tests/abi/both_test
