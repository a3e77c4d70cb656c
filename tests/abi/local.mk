# SPDX-License-Identifier: BSD-2-Clause
# The binary contract of uDAPL 1.2: abi12.tsv is the table, and the tests here are made from it.
EXTRA_DIST += \
	tests/abi/abi12.tsv \
	tests/abi/docs.awk \
	tests/abi/docs.sh \
	tests/abi/gen-abi-test.awk \
	tests/abi/headers.sh

AM_TESTS_ENVIRONMENT += CC='$(CC)'; export CC; AWK='$(AWK)'; export AWK;

TESTS += tests/abi/headers.sh tests/abi/docs.sh

# Every value, layout, slot, prototype and macro of the headers against the table.
check_PROGRAMS += tests/abi/abi12_test
TESTS += tests/abi/abi12_test
tests_abi_abi12_test_SOURCES = tests/abi/abi_facts.h
nodist_tests_abi_abi12_test_SOURCES = tests/abi/abi12_test.c
tests_abi_abi12_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/abi
CLEANFILES += tests/abi/abi12_test.c

tests/abi/abi12_test.c: $(srcdir)/tests/abi/gen-abi-test.awk $(srcdir)/tests/abi/abi12.tsv
	$(AM_V_GEN)$(MKDIR_P) tests/abi && \
	$(AWK) -f $(srcdir)/tests/abi/gen-abi-test.awk $(srcdir)/tests/abi/abi12.tsv >$@.tmp && \
	mv $@.tmp $@
