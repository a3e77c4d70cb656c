# SPDX-License-Identifier: BSD-2-Clause
# The manual. Section 3 is made from the doc comments of the headers by gen-man.awk, and for libvipl by gen-vipl.awk, which need
# nothing but awk. The other pages are written by hand, in mdoc(7). Where mandoc(1) is installed, it makes the HTML site of all
# pages, and the tests (tests/man) check them with it.
MAN_DATE = November 21, 2026

dist_man_MANS += $(MAN_PAGES)
MAN_PAGES = \
	man/dat.conf.5 \
	man/datctl.1 \
	man/datp.7 \
	man/datp-mocks.7 \
	man/datperf.1 \
	man/opendat.7 \
	man/opendat-containers.7 \
	man/opendat-dat2.7 \
	man/opendat-devices.7 \
	man/opendat-fault.7 \
	man/opendat-ib.7 \
	man/opendat-iwarp.7 \
	man/opendat-migration.7 \
	man/opendat-soft.7 \
	man/opendat-trace.7 \
	man/opendat-tutorial.7 \
	man/vipl.7 \
	man/vipl-porting.7

nodist_man_MANS = man/dat.3 $(API_PAGES) $(VIPL_PAGES)
API_PAGES = \
	man/dat_cno_create.3 \
	man/dat_cno_free.3 \
	man/dat_cno_modify_agent.3 \
	man/dat_cno_query.3 \
	man/dat_cno_wait.3 \
	man/dat_cr_accept.3 \
	man/dat_cr_handoff.3 \
	man/dat_cr_query.3 \
	man/dat_cr_reject.3 \
	man/dat_ep_connect.3 \
	man/dat_ep_create.3 \
	man/dat_ep_create_with_srq.3 \
	man/dat_ep_disconnect.3 \
	man/dat_ep_dup_connect.3 \
	man/dat_ep_free.3 \
	man/dat_ep_get_status.3 \
	man/dat_ep_modify.3 \
	man/dat_ep_post_rdma_read.3 \
	man/dat_ep_post_rdma_write.3 \
	man/dat_ep_post_recv.3 \
	man/dat_ep_post_send.3 \
	man/dat_ep_query.3 \
	man/dat_ep_recv_query.3 \
	man/dat_ep_reset.3 \
	man/dat_ep_set_watermark.3 \
	man/dat_evd_clear_unwaitable.3 \
	man/dat_evd_create.3 \
	man/dat_evd_dequeue.3 \
	man/dat_evd_disable.3 \
	man/dat_evd_enable.3 \
	man/dat_evd_free.3 \
	man/dat_evd_modify_cno.3 \
	man/dat_evd_post_se.3 \
	man/dat_evd_query.3 \
	man/dat_evd_resize.3 \
	man/dat_evd_set_unwaitable.3 \
	man/dat_evd_wait.3 \
	man/dat_get_consumer_context.3 \
	man/dat_get_handle_type.3 \
	man/dat_ia_close.3 \
	man/dat_ia_open.3 \
	man/dat_ia_openv.3 \
	man/dat_ia_query.3 \
	man/dat_lmr_create.3 \
	man/dat_lmr_free.3 \
	man/dat_lmr_query.3 \
	man/dat_lmr_sync_rdma_read.3 \
	man/dat_lmr_sync_rdma_write.3 \
	man/dat_provider_fini.3 \
	man/dat_provider_init.3 \
	man/dat_psp_create.3 \
	man/dat_psp_create_any.3 \
	man/dat_psp_free.3 \
	man/dat_psp_query.3 \
	man/dat_pz_create.3 \
	man/dat_pz_free.3 \
	man/dat_pz_query.3 \
	man/dat_registry_add_provider.3 \
	man/dat_registry_list_providers.3 \
	man/dat_registry_remove_provider.3 \
	man/dat_rmr_bind.3 \
	man/dat_rmr_create.3 \
	man/dat_rmr_free.3 \
	man/dat_rmr_query.3 \
	man/dat_rsp_create.3 \
	man/dat_rsp_free.3 \
	man/dat_rsp_query.3 \
	man/dat_set_consumer_context.3 \
	man/dat_srq_create.3 \
	man/dat_srq_free.3 \
	man/dat_srq_post_recv.3 \
	man/dat_srq_query.3 \
	man/dat_srq_resize.3 \
	man/dat_srq_set_lw.3 \
	man/dat_strerror.3

VIPL_PAGES = \
	man/VipAddTagCQ.3 \
	man/VipCQDone.3 \
	man/VipCQNotify.3 \
	man/VipCQWait.3 \
	man/VipCloseNic.3 \
	man/VipConnectAccept.3 \
	man/VipConnectPeerDone.3 \
	man/VipConnectPeerRequest.3 \
	man/VipConnectPeerWait.3 \
	man/VipConnectReject.3 \
	man/VipConnectRequest.3 \
	man/VipConnectWait.3 \
	man/VipCreateCQ.3 \
	man/VipCreatePtag.3 \
	man/VipCreateVi.3 \
	man/VipDeregisterMem.3 \
	man/VipDestroyCQ.3 \
	man/VipDestroyPtag.3 \
	man/VipDestroyVi.3 \
	man/VipDisconnect.3 \
	man/VipErrorCallback.3 \
	man/VipGetUserData.3 \
	man/VipNSGetHostByAddr.3 \
	man/VipNSGetHostByName.3 \
	man/VipNSInit.3 \
	man/VipNSShutdown.3 \
	man/VipOpenNic.3 \
	man/VipPostDeferredSends.3 \
	man/VipPostRecv.3 \
	man/VipPostSend.3 \
	man/VipQueryMem.3 \
	man/VipQueryNic.3 \
	man/VipQuerySystemManagementInfo.3 \
	man/VipQueryVi.3 \
	man/VipRecvDone.3 \
	man/VipRecvNotify.3 \
	man/VipRecvWait.3 \
	man/VipRegisterMem.3 \
	man/VipRemoveTagCQ.3 \
	man/VipResizeCQ.3 \
	man/VipSendDone.3 \
	man/VipSendNotify.3 \
	man/VipSendWait.3 \
	man/VipSetMemAttributes.3 \
	man/VipSetUserData.3 \
	man/VipSetViAttributes.3

API_TEXTS = include/dat/dat_error.h include/dat/dat_common.h include/dat/udat.h include/dat/dat.h include/dat/dat_calls.h \
	include/dat/dat_plugin.h
MAN_INPUT = man/gen-man.awk man/dat.in $(MAN_MORE)
# The examples of a page, which the header's comment does not have.
MAN_MORE = \
	man/more/dat_cr_accept.mdoc \
	man/more/dat_ep_connect.mdoc \
	man/more/dat_ep_post_rdma_write.mdoc \
	man/more/dat_ep_post_send.mdoc \
	man/more/dat_evd_create.mdoc \
	man/more/dat_evd_dequeue.mdoc \
	man/more/dat_evd_wait.mdoc \
	man/more/dat_ia_open.mdoc \
	man/more/dat_ia_query.mdoc \
	man/more/dat_lmr_create.mdoc \
	man/more/dat_psp_create.mdoc \
	man/more/dat_registry_list_providers.mdoc \
	man/more/dat_rmr_bind.mdoc \
	man/more/dat_strerror.mdoc

# The diagram of the states of an endpoint is made from the table that the code uses.
STATES_INPUT = man/gen-states.awk providers/common/core/ep_state.c

# The sequence diagrams of calls, messages and events on the pages of functions.
SEQUENCES = \
	man/sequences/dat_ep_connect.seq \
	man/sequences/dat_ep_disconnect.seq \
	man/sequences/dat_evd_wait.seq \
	man/sequences/dat_rmr_bind.seq
SEQUENCES_INPUT = man/gen-sequence.awk $(SEQUENCES)

EXTRA_DIST += $(MAN_INPUT) man/gen-vipl.awk man/gen-states.awk $(SEQUENCES_INPUT)
CLEANFILES += man/ep-states.mdoc $(SEQUENCES:man/sequences/%.seq=man/%.sequence)
CLEANFILES += man/api.stamp man/dat.3 $(API_PAGES) man/vipl.stamp $(VIPL_PAGES)

# One run of the script makes all pages, so the rule has one target for them, the stamp.
man/api.stamp: $(MAN_INPUT) $(STATES_INPUT) $(SEQUENCES_INPUT) $(API_TEXTS) $(srcdir)/man/local.mk
	$(AM_V_at)$(MKDIR_P) man
	$(AM_V_at)$(AWK) -v as=mdoc -f $(srcdir)/man/gen-states.awk $(srcdir)/providers/common/core/ep_state.c \
		>man/ep-states.mdoc
	$(AM_V_at)for name in $(SEQUENCES:man/sequences/%.seq=%); do \
		$(AWK) -v as=mdoc -f $(srcdir)/man/gen-sequence.awk $(srcdir)/man/sequences/$$name.seq >man/$$name.sequence || exit 1; \
	done
	$(AM_V_GEN)$(AWK) -v states_file=man/ep-states.mdoc -v sequences=man -v out=man -v date='$(MAN_DATE)' -v more='$(srcdir)/man/more' -f $(srcdir)/man/gen-man.awk \
		$(srcdir)/man/dat.in $(API_TEXTS:%=$(srcdir)/%) && touch $@
man/dat.3 $(API_PAGES): man/api.stamp
	$(AM_V_at)test -f $@ || { rm -f man/api.stamp; $(MAKE) $(AM_MAKEFLAGS) man/api.stamp; }

man/vipl.stamp: man/gen-vipl.awk include/vipl.h $(srcdir)/man/local.mk
	$(AM_V_at)$(MKDIR_P) man
	$(AM_V_GEN)$(AWK) -v out=man -v date='$(MAN_DATE)' -f $(srcdir)/man/gen-vipl.awk $(srcdir)/include/vipl.h && touch $@
$(VIPL_PAGES): man/vipl.stamp
	$(AM_V_at)test -f $@ || { rm -f man/vipl.stamp; $(MAKE) $(AM_MAKEFLAGS) man/vipl.stamp; }

# The HTML site: html/index.html.
EXTRA_DIST += man/gen-html.sh man/search.js man/style.css
html-local: $(MANS)
	@command -v $(MANDOC) >/dev/null || { echo "no mandoc here: install it" >&2; exit 1; }
	$(AM_V_GEN)MANDOC='$(MANDOC)' bash $(srcdir)/man/gen-html.sh html $(srcdir)/man $(PACKAGE_VERSION) \
		$(nodist_man_MANS) $(dist_man_MANS:%=$(srcdir)/%)
