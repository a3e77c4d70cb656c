/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls that are declared with the same text in DAT 1.2 and DAT 2.0, although some of their
 * types differ. No program includes this file: udat.h does, after the types. dat.h describes what
 * holds for every call.
 */
#ifndef OPENDAT_DAT_CALLS_H
#define OPENDAT_DAT_CALLS_H

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dat_ia_open() - open an adapter by its name
 * @name: name of the IA, as in dat.conf
 * @qlen: events its asynchronous EVD has to hold
 * @async_evd: on input DAT_HANDLE_NULL, or an EVD to use; on output the EVD in use
 * @ia: the open IA
 * Consumers call this. It calls dat_ia_openv() with the version of this header, and asks for a
 * thread-safe provider only if the program defines DAT_THREADSAFE as DAT_TRUE before it includes
 * the header. The default is DAT_FALSE, and no provider of OpenDAT promises thread safety. The
 * first open of a name loads the provider. Each open makes an instance of its own; objects of two
 * instances do not mix.
 * Returns: as dat_ia_openv().
 * Thread safety: safe. Specification: dat_ia_open(3DAT).
 */
#define dat_ia_open(name, qlen, async_evd, ia) \
	dat_ia_openv((name), (qlen), (async_evd), (ia), DAT_VERSION_MAJOR, DAT_VERSION_MINOR, \
		     DAT_THREADSAFE)

/**
 * dat_ia_openv() - open an adapter, for a given version of the API
 * @provider: name of the IA, as in dat.conf; shorter than DAT_NAME_MAX_LENGTH
 * @asynch_evd_min_qlen: events its asynchronous EVD has to hold; unused if one is given
 * @asynch_evd_handle: DAT_HANDLE_NULL to have an EVD created and returned; an existing EVD to use
 *   it; DAT_EVD_ASYNC_EXISTS for none
 * @ia_handle: the open IA
 * @dat_major_version_number: version of the API, DAT_VERSION_MAJOR
 * @dat_minor_version_number: DAT_VERSION_MINOR; a provider with a higher one is accepted
 * @dat_thread_safety: DAT_TRUE if the provider has to be thread-safe
 * Consumers write dat_ia_open(), which fills in the last three. The first open of a name loads the
 * provider. Each open makes an instance of its own; objects of two instances do not mix.
 * Returns: DAT_SUCCESS; DAT_PROVIDER_NOT_FOUND when no registry entry matches: the subtype says
 *   whether the name, major version, minor version or thread safety differs; DAT_INVALID_PARAMETER;
 *   DAT_INVALID_HANDLE; DAT_INSUFFICIENT_RESOURCES.
 * Thread safety: safe. Specification: dat_ia_open(3DAT).
 */
extern DAT_RETURN dat_ia_openv(IN const DAT_NAME_PTR provider, IN DAT_COUNT asynch_evd_min_qlen,
		INOUT DAT_EVD_HANDLE *asynch_evd_handle, OUT DAT_IA_HANDLE *ia_handle,
		IN DAT_UINT32 dat_major_version_number, IN DAT_UINT32 dat_minor_version_number,
		IN DAT_BOOLEAN dat_thread_safety);

/**
 * dat_ia_query() - ask for the attributes of an open IA and of its provider
 * @ia_handle: IA to ask
 * @async_evd_handle: its asynchronous EVD; may be NULL
 * @ia_attr_mask: DAT_IA_FIELD_ bits of the fields wanted
 * @ia_attr: filled; may be NULL if the mask is 0
 * @provider_attr_mask: DAT_PROVIDER_FIELD_ bits of the fields wanted
 * @provider_attr: filled; may be NULL if the mask is 0
 * Pointers and arrays in the answer belong to the provider and stay valid while the IA is open.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Thread safety: safe. Specification: dat_ia_query(3DAT).
 */
extern DAT_RETURN dat_ia_query(IN DAT_IA_HANDLE ia_handle, OUT DAT_EVD_HANDLE *async_evd_handle,
		IN DAT_IA_ATTR_MASK ia_attr_mask, OUT DAT_IA_ATTR *ia_attr,
		IN DAT_PROVIDER_ATTR_MASK provider_attr_mask, OUT DAT_PROVIDER_ATTR *provider_attr);

/**
 * dat_ia_close() - close an instance of an IA
 * @ia_handle: IA to close
 * @close_flags: DAT_CLOSE_GRACEFUL_FLAG is refused while objects are left; DAT_CLOSE_ABRUPT_FLAG
 *   destroys them
 * An abrupt close ends waits on EVDs with DAT_ABORT and waits on CNOs with no EVD. The asynchronous
 * EVD goes too if dat_ia_open() made it. Other instances of the IA are not touched.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER; DAT_INVALID_STATE for a graceful
 *   close while objects are left, which stay as they are.
 * Thread safety: unsafe. Specification: dat_ia_close(3DAT).
 */
extern DAT_RETURN dat_ia_close(IN DAT_IA_HANDLE ia_handle, IN DAT_CLOSE_FLAGS close_flags);

/**
 * dat_set_consumer_context() - attach a value to any object
 * @dat_handle: object
 * @context: value; it replaces the former one, NULL removes it
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE.
 * Thread safety: unsafe. Specification: dat_set_consumer_context(3DAT).
 */
extern DAT_RETURN dat_set_consumer_context(IN DAT_HANDLE dat_handle, IN DAT_CONTEXT context);

/**
 * dat_get_consumer_context() - get the value attached to an object
 * @dat_handle: object
 * @context: value last set, NULL if none was
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE.
 * Thread safety: unsafe. Specification: dat_get_consumer_context(3DAT).
 */
extern DAT_RETURN dat_get_consumer_context(IN DAT_HANDLE dat_handle, OUT DAT_CONTEXT *context);

/**
 * dat_get_handle_type() - get the type of the object behind a handle
 * @dat_handle: object
 * @handle_type: its kind
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE.
 * Thread safety: unsafe. Specification: dat_get_handle_type(3DAT).
 */
extern DAT_RETURN dat_get_handle_type(IN DAT_HANDLE dat_handle, OUT DAT_HANDLE_TYPE *handle_type);

/**
 * dat_cr_query() - ask which peer wants to connect, and with what private data
 * @cr_handle: request
 * @cr_param_mask: DAT_CR_FIELD_ bits of the fields wanted
 * @cr_param: filled
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Thread safety: safe. Specification: dat_cr_query(3DAT).
 */
extern DAT_RETURN dat_cr_query(IN DAT_CR_HANDLE cr_handle, IN DAT_CR_PARAM_MASK cr_param_mask,
		OUT DAT_CR_PARAM *cr_param);

/**
 * dat_cr_accept() - accept a connection request
 * @cr_handle: request; gone after success, still there after a failure
 * @ep_handle: endpoint to connect, or DAT_HANDLE_NULL if the request has one already
 * @private_data_size: bytes for the peer's ESTABLISHED event, up to max_private_data_size
 * @private_data: the bytes; may be NULL if there are none
 * The outcome is an event on the endpoint's connection EVD: DAT_CONNECTION_EVENT_ESTABLISHED, or
 * DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR.
 * Returns: DAT_SUCCESS: under way; DAT_INVALID_HANDLE, also for a missing endpoint;
 *   DAT_INVALID_PARAMETER; DAT_INVALID_STATE of the endpoint.
 * States: UNCONNECTED, or PASSIVE or TENTATIVE_CONNECTION_PENDING of the request's own endpoint, to
 *   COMPLETION_PENDING.
 * Thread safety: unsafe. Specification: dat_cr_accept(3DAT).
 */
extern DAT_RETURN dat_cr_accept(IN DAT_CR_HANDLE cr_handle, IN DAT_EP_HANDLE ep_handle,
		IN DAT_COUNT private_data_size, IN const DAT_PVOID private_data);

/**
 * dat_cr_handoff() - pass a connection request on to another service point of this IA
 * @cr_handle: request, gone after success
 * @handoff: connection qualifier of that service point, which gets a request of its own
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE; DAT_INVALID_PARAMETER when nothing listens there;
 *   DAT_MODEL_NOT_SUPPORTED.
 * States: as dat_cr_reject().
 * Thread safety: unsafe. Specification: dat_cr_handoff(3DAT).
 */
extern DAT_RETURN dat_cr_handoff(IN DAT_CR_HANDLE cr_handle, IN DAT_CONN_QUAL handoff);

/**
 * dat_evd_resize() - change the length of an EVD's queue; no event is lost
 * @evd_handle: EVD
 * @evd_min_qlen: events it has to hold; the queue may be longer
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES;
 *   DAT_INVALID_STATE when more events are queued.
 * Thread safety: unsafe. Specification: dat_evd_resize(3DAT).
 */
extern DAT_RETURN dat_evd_resize(IN DAT_EVD_HANDLE evd_handle, IN DAT_COUNT evd_min_qlen);

/**
 * dat_evd_post_se() - post a software event
 * @evd_handle: EVD made with DAT_EVD_SOFTWARE_FLAG
 * @event: its event_number is DAT_SOFTWARE_EVENT; the pointer in it is delivered as it is
 * Wakes a waiter, or triggers the CNO, like any other event.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER; DAT_QUEUE_FULL, which posts no
 *   overflow error.
 * Thread safety: unsafe. Specification: dat_evd_post_se(3DAT).
 */
extern DAT_RETURN dat_evd_post_se(IN DAT_EVD_HANDLE evd_handle, IN const DAT_EVENT *event);

/**
 * dat_evd_dequeue() - take the first event off an EVD, without waiting
 * @evd_handle: EVD, whether or not it is enabled or waitable
 * @event: the event
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER; DAT_QUEUE_EMPTY, without an
 *   error's class bit; DAT_INVALID_STATE while a thread is blocked in dat_evd_wait().
 * Thread safety: safe. Specification: dat_evd_dequeue(3DAT).
 */
extern DAT_RETURN dat_evd_dequeue(IN DAT_EVD_HANDLE evd_handle, OUT DAT_EVENT *event);

/**
 * dat_evd_query() - ask for the parameters of an EVD
 * @evd_handle: EVD
 * @evd_param_mask: DAT_EVD_FIELD_ bits of the fields wanted
 * @evd_param: filled
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Thread safety: unsafe. Specification: dat_evd_query(3DAT).
 */
extern DAT_RETURN dat_evd_query(IN DAT_EVD_HANDLE evd_handle, IN DAT_EVD_PARAM_MASK evd_param_mask,
		OUT DAT_EVD_PARAM *evd_param);

/**
 * dat_evd_free() - destroy an EVD, and the events on it
 * @evd_handle: EVD
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE; DAT_INVALID_STATE while an endpoint or service point
 *   feeds it.
 * Thread safety: unsafe. Specification: dat_evd_free(3DAT).
 */
extern DAT_RETURN dat_evd_free(IN DAT_EVD_HANDLE evd_handle);

/**
 * dat_ep_create() - create an endpoint, one end of a connection
 * @ia_handle: IA
 * @pz_handle: protection zone its memory has to be in
 * @recv_completion_evd_handle: EVD for completed Receives, or DAT_HANDLE_NULL to drop them
 * @request_completion_evd_handle: EVD for completed Sends, RDMA transfers and binds, or
 *   DAT_HANDLE_NULL
 * @connect_evd_handle: EVD for connection events, or DAT_HANDLE_NULL
 * @ep_attributes: the attributes that it has to have; NULL for the provider's defaults
 * @ep_handle: the endpoint
 * The three EVDs may be the same, if its flags allow it and the completion flags of all endpoints
 * that feed it agree.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES,
 *   DAT_MODEL_NOT_SUPPORTED.
 * States: the new endpoint is UNCONNECTED.
 * Thread safety: safe. Specification: dat_ep_create(3DAT).
 */
extern DAT_RETURN dat_ep_create(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle,
		IN DAT_EVD_HANDLE recv_completion_evd_handle,
		IN DAT_EVD_HANDLE request_completion_evd_handle,
		IN DAT_EVD_HANDLE connect_evd_handle, IN const DAT_EP_ATTR *ep_attributes,
		OUT DAT_EP_HANDLE *ep_handle);

/**
 * dat_ep_query() - ask for the parameters of an endpoint
 * @ep_handle: endpoint
 * @ep_param_mask: DAT_EP_FIELD_ bits of the fields wanted
 * @ep_param: filled with the values in use
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * States: any.
 * Thread safety: unsafe. Specification: dat_ep_query(3DAT).
 */
extern DAT_RETURN dat_ep_query(IN DAT_EP_HANDLE ep_handle, IN DAT_EP_PARAM_MASK ep_param_mask,
		OUT DAT_EP_PARAM *ep_param);

/**
 * dat_ep_modify() - change parameters of an endpoint: all that the mask names, or none if it fails
 * @ep_handle: endpoint
 * @ep_param_mask: DAT_EP_FIELD_ bits of the fields to change
 * @ep_param: new values
 * IA, state, addresses, port qualifiers and SRQ never change.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE; DAT_INVALID_PARAMETER for a bad value or a fixed field;
 *   DAT_INVALID_STATE when the state forbids it.
 * States: UNCONNECTED, TENTATIVE_CONNECTION_PENDING; all but the PZ also RESERVED and
 *   PASSIVE_CONNECTION_PENDING. Receive flags only before the first Receive.
 * Thread safety: unsafe. Specification: dat_ep_modify(3DAT).
 */
extern DAT_RETURN dat_ep_modify(IN DAT_EP_HANDLE ep_handle, IN DAT_EP_PARAM_MASK ep_param_mask,
		IN const DAT_EP_PARAM *ep_param);

/**
 * dat_ep_connect() - ask a remote service point for a connection
 * @ep_handle: endpoint
 * @remote_ia_address: address of the peer's IA; the port in it is ignored
 * @remote_conn_qual: connection qualifier the peer listens on
 * @timeout: microseconds until the attempt is given up, more than 0; or DAT_TIMEOUT_INFINITE
 * @private_data_size: bytes for the peer's request, up to max_private_data_size
 * @private_data: the bytes; may be NULL if there are none
 * @quality_of_service: DAT_QOS_BEST_EFFORT always works
 * @connect_flags: DAT_CONNECT_DEFAULT_FLAG or DAT_CONNECT_MULTIPATH_FLAG
 * Exactly one event on the connection EVD reports the outcome: DAT_CONNECTION_EVENT_ESTABLISHED
 * with the peer's private data, or DAT_CONNECTION_EVENT_ followed by PEER_REJECTED,
 * NON_PEER_REJECTED, UNREACHABLE or TIMED_OUT. After a failure reset the endpoint before you
 * connect it again.
 * Returns: DAT_SUCCESS: under way; DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_ADDRESS,
 *   DAT_INVALID_STATE, DAT_INSUFFICIENT_RESOURCES; DAT_MODEL_NOT_SUPPORTED for a quality not
 *   offered.
 * States: UNCONNECTED to ACTIVE_CONNECTION_PENDING.
 * Thread safety: unsafe. Specification: dat_ep_connect(3DAT).
 */
extern DAT_RETURN dat_ep_connect(IN DAT_EP_HANDLE ep_handle,
		IN DAT_IA_ADDRESS_PTR remote_ia_address, IN DAT_CONN_QUAL remote_conn_qual,
		IN DAT_TIMEOUT timeout, IN DAT_COUNT private_data_size,
		IN const DAT_PVOID private_data, IN DAT_QOS quality_of_service,
		IN DAT_CONNECT_FLAGS connect_flags);

/**
 * dat_ep_dup_connect() - ask for a connection to the service point that another endpoint is
 *   connected to
 * @ep_handle: endpoint to connect
 * @ep_dup_handle: connected endpoint to copy address, qualifier and connect flags from
 * @timeout: microseconds, as for dat_ep_connect()
 * @private_data_size: bytes for the peer's request, up to max_private_data_size
 * @private_data: the bytes; may be NULL if there are none
 * @quality_of_service: as for dat_ep_connect()
 * Events as for dat_ep_connect(). The other endpoint is not touched.
 * Returns: DAT_SUCCESS: under way; DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 *   DAT_INSUFFICIENT_RESOURCES, DAT_MODEL_NOT_SUPPORTED.
 * States: UNCONNECTED to ACTIVE_CONNECTION_PENDING; the other one CONNECTED.
 * Thread safety: unsafe. Specification: dat_ep_dup_connect(3DAT).
 */
extern DAT_RETURN dat_ep_dup_connect(IN DAT_EP_HANDLE ep_handle, IN DAT_EP_HANDLE ep_dup_handle,
		IN DAT_TIMEOUT timeout, IN DAT_COUNT private_data_size,
		IN const DAT_PVOID private_data, IN DAT_QOS quality_of_service);

/**
 * dat_ep_disconnect() - end a connection, or an attempt at one
 * @ep_handle: endpoint
 * @close_flags: in CONNECTED, DAT_CLOSE_GRACEFUL_FLAG lets posted requests finish first
 * Each side gets DAT_CONNECTION_EVENT_DISCONNECTED once. Outstanding operations are flushed in the
 * order in which they were posted.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 *   DAT_INSUFFICIENT_RESOURCES.
 * States: CONNECTED, ACTIVE_CONNECTION_PENDING, COMPLETION_PENDING and DISCONNECT_PENDING to
 *   DISCONNECTED, by way of DISCONNECT_PENDING if graceful; DISCONNECTED: nothing to do.
 * Thread safety: unsafe. Specification: dat_ep_disconnect(3DAT).
 */
extern DAT_RETURN dat_ep_disconnect(IN DAT_EP_HANDLE ep_handle, IN DAT_CLOSE_FLAGS close_flags);

/**
 * dat_ep_post_send() - send a message to the peer, which receives it into one Receive
 * @ep_handle: endpoint
 * @num_segments: length of local_iov; 0 sends an empty message
 * @local_iov: pieces of memory, sent in this order; LOCAL_READ
 * @user_cookie: comes back with the completion
 * @completion_flags: SUPPRESS, SOLICITED_WAIT, UNSIGNALLED, BARRIER_FENCE or 0
 * After the completion the memory may be reused. The call never blocks while the endpoint is
 * connected.
 * Returns: DAT_SUCCESS: posted; DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 *   DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION; DAT_INSUFFICIENT_RESOURCES when
 *   max_request_dtos are outstanding.
 * States: CONNECTED; DISCONNECTED, where it is flushed at once; COMPLETION_PENDING, where providers
 *   made with OpenDAT wait up to 100 milliseconds for the confirmation of the connection, and post
 *   then or return DAT_INVALID_STATE.
 * Thread safety: unsafe. Specification: dat_ep_post_send(3DAT).
 */
extern DAT_RETURN dat_ep_post_send(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments,
		IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
		IN DAT_COMPLETION_FLAGS completion_flags);

/**
 * dat_ep_post_recv() - provide memory for one message of the peer
 * @ep_handle: endpoint without an SRQ
 * @num_segments: length of local_iov; 0 takes an empty message
 * @local_iov: pieces of memory, filled in this order; LOCAL_WRITE
 * @user_cookie: comes back with the completion
 * @completion_flags: UNSIGNALLED or 0
 * Receives are filled in the order in which they were posted. A message that is longer than its
 * Receive completes it with DAT_DTO_ERR_LOCAL_LENGTH.
 * Returns: DAT_SUCCESS: posted; DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 *   DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION; DAT_INSUFFICIENT_RESOURCES when
 *   max_recv_dtos are outstanding.
 * States: any; in DISCONNECTED it is flushed at once.
 * Thread safety: unsafe. Specification: dat_ep_post_recv(3DAT).
 */
extern DAT_RETURN dat_ep_post_recv(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments,
		IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
		IN DAT_COMPLETION_FLAGS completion_flags);

/**
 * dat_ep_post_rdma_read() - read data from the peer's memory
 * @ep_handle: endpoint
 * @num_segments: length of local_iov
 * @local_iov: pieces of memory, filled in this order; LOCAL_WRITE
 * @user_cookie: comes back with the completion
 * @remote_iov: the peer's memory; REMOTE_READ
 * @completion_flags: SUPPRESS, UNSIGNALLED, BARRIER_FENCE or 0
 * The peer takes no part and sees no event. A fault at the peer's memory completes with
 * DAT_DTO_ERR_REMOTE_ACCESS and breaks the connection.
 * Returns: DAT_SUCCESS: posted; DAT_LENGTH_ERROR when the local memory is too small; else as
 *   dat_ep_post_send().
 * States: as dat_ep_post_send().
 * Thread safety: unsafe. Specification: dat_ep_post_rdma_read(3DAT).
 */
extern DAT_RETURN dat_ep_post_rdma_read(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments,
		IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
		IN const DAT_RMR_TRIPLET *remote_iov, IN DAT_COMPLETION_FLAGS completion_flags);

/**
 * dat_ep_post_rdma_write() - write data into the peer's memory
 * @ep_handle: endpoint
 * @num_segments: length of local_iov
 * @local_iov: pieces of memory, written in this order; LOCAL_READ
 * @user_cookie: comes back with the completion
 * @remote_iov: the peer's memory; REMOTE_WRITE
 * @completion_flags: SUPPRESS, UNSIGNALLED, BARRIER_FENCE or 0
 * The peer takes no part and sees no event; what is sent afterwards arrives after the data. A fault
 * at the peer's memory completes with DAT_DTO_ERR_REMOTE_ACCESS and breaks the connection.
 * Returns: DAT_SUCCESS: posted; DAT_LENGTH_ERROR when the remote memory is too small; else as
 *   dat_ep_post_send().
 * States: as dat_ep_post_send().
 * Thread safety: unsafe. Specification: dat_ep_post_rdma_write(3DAT).
 */
extern DAT_RETURN dat_ep_post_rdma_write(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments,
		IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
		IN const DAT_RMR_TRIPLET *remote_iov, IN DAT_COMPLETION_FLAGS completion_flags);

/**
 * dat_ep_get_status() - get the state of an endpoint at this moment
 * @ep_handle: endpoint
 * @ep_state: its state
 * @recv_idle: DAT_TRUE if no Receive is outstanding
 * @request_idle: DAT_TRUE if no Send, RDMA transfer or bind is outstanding
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE.
 * States: any.
 * Thread safety: safe. Specification: dat_ep_get_status(3DAT).
 */
extern DAT_RETURN dat_ep_get_status(IN DAT_EP_HANDLE ep_handle, OUT DAT_EP_STATE *ep_state,
		OUT DAT_BOOLEAN *recv_idle, OUT DAT_BOOLEAN *request_idle);

/**
 * dat_ep_free() - destroy an endpoint; the peer sees its connection end
 * @ep_handle: endpoint
 * Completions not yet dequeued may be lost.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE.
 * States: all but RESERVED, PASSIVE and TENTATIVE_CONNECTION_PENDING, which dat_rsp_free() and
 *   dat_cr_reject() end.
 * Thread safety: unsafe. Specification: dat_ep_free(3DAT).
 */
extern DAT_RETURN dat_ep_free(IN DAT_EP_HANDLE ep_handle);

/**
 * dat_ep_reset() - make a disconnected endpoint ready to connect again
 * @ep_handle: endpoint
 * Completions that were not dequeued may be lost. The private data of the connection are no longer
 * valid.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE.
 * States: DISCONNECTED to UNCONNECTED; UNCONNECTED: nothing to do, Receives stay posted.
 * Thread safety: unsafe. Specification: dat_ep_reset(3DAT).
 */
extern DAT_RETURN dat_ep_reset(IN DAT_EP_HANDLE ep_handle);

/**
 * dat_ep_create_with_srq() - create an endpoint that takes its Receives from an SRQ
 * @ia_handle: IA
 * @pz_handle: protection zone; may have to be that of the SRQ, see srq_ep_pz_difference_supported
 * @recv_evd_handle: EVD for completed Receives, or DAT_HANDLE_NULL
 * @request_evd_handle: EVD for completed requests, or DAT_HANDLE_NULL
 * @connect_evd_handle: EVD for connection events, or DAT_HANDLE_NULL
 * @srq_handle: SRQ, for as long as the endpoint lives
 * @ep_attributes: the attributes that it has to have, not NULL; max_recv_iov is ignored
 * @ep_handle: the endpoint
 * Returns: as dat_ep_create(); DAT_MODEL_NOT_SUPPORTED without SRQs.
 * States: the new endpoint is UNCONNECTED.
 * Thread safety: safe. Specification: dat_ep_create_with_srq(3DAT).
 */
extern DAT_RETURN dat_ep_create_with_srq(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle,
		IN DAT_EVD_HANDLE recv_evd_handle, IN DAT_EVD_HANDLE request_evd_handle,
		IN DAT_EVD_HANDLE connect_evd_handle, IN DAT_SRQ_HANDLE srq_handle,
		IN const DAT_EP_ATTR *ep_attributes, OUT DAT_EP_HANDLE *ep_handle);

/**
 * dat_ep_recv_query() - ask how many Receives an endpoint holds
 * @ep_handle: endpoint
 * @nbufs_allocated: Receives posted, or taken from the SRQ, and not completed; may be NULL
 * @bufs_alloc_span: Receives from the first to the last that is held; may be NULL
 * A count that the provider does not know is DAT_VALUE_UNKNOWN.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED.
 * States: any.
 * Thread safety: unsafe. Specification: dat_ep_recv_query(3DAT).
 */
extern DAT_RETURN dat_ep_recv_query(IN DAT_EP_HANDLE ep_handle, OUT DAT_COUNT *nbufs_allocated,
		OUT DAT_COUNT *bufs_alloc_span);

/**
 * dat_ep_set_watermark() - set how many Receives an endpoint may hold
 * @ep_handle: endpoint
 * @soft_high_watermark: Receives; when more are held, one asynchronous event comes for each setting
 * @hard_high_watermark: Receives; when more are held, the connection breaks
 * DAT_WATERMARK_INFINITE, the default, disables a watermark.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED.
 * States: any.
 * Thread safety: unsafe. Specification: dat_ep_set_watermark(3DAT).
 */
extern DAT_RETURN dat_ep_set_watermark(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT soft_high_watermark,
		IN DAT_COUNT hard_high_watermark);

/**
 * dat_lmr_query() - ask for the parameters of an LMR
 * @lmr_handle: LMR
 * @lmr_param_mask: DAT_LMR_FIELD_ bits of the fields wanted
 * @lmr_param: filled
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Thread safety: unsafe. Specification: dat_lmr_query(3DAT).
 */
extern DAT_RETURN dat_lmr_query(IN DAT_LMR_HANDLE lmr_handle, IN DAT_LMR_PARAM_MASK lmr_param_mask,
		OUT DAT_LMR_PARAM *lmr_param);

/**
 * dat_lmr_free() - end the registration of memory; the memory itself stays
 * @lmr_handle: LMR
 * After it has returned, no peer can access the memory through this LMR. While endpoints are
 * connected this may take some milliseconds over a device that does not guarantee it by itself.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE; DAT_INVALID_STATE while an RMR is bound to it.
 * Thread safety: unsafe. Specification: dat_lmr_free(3DAT).
 */
extern DAT_RETURN dat_lmr_free(IN DAT_LMR_HANDLE lmr_handle);

/**
 * dat_lmr_sync_rdma_read() - make local stores visible to later RDMA Reads of peers
 * @ia_handle: IA
 * @local_segments: pieces of memory, of any LMRs
 * @num_segments: how many
 * Needed where lmr_sync_req is DAT_TRUE, harmless elsewhere.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Thread safety: unsafe. Specification: dat_lmr_sync_rdma_read(3DAT).
 */
extern DAT_RETURN dat_lmr_sync_rdma_read(IN DAT_IA_HANDLE ia_handle,
		IN const DAT_LMR_TRIPLET *local_segments, IN DAT_VLEN num_segments);

/**
 * dat_lmr_sync_rdma_write() - make RDMA Writes of peers visible to later local loads
 * @ia_handle: IA
 * @local_segments: pieces of memory, of any LMRs
 * @num_segments: how many
 * Needed where lmr_sync_req is DAT_TRUE, harmless elsewhere.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Thread safety: unsafe. Specification: dat_lmr_sync_rdma_write(3DAT).
 */
extern DAT_RETURN dat_lmr_sync_rdma_write(IN DAT_IA_HANDLE ia_handle,
		IN const DAT_LMR_TRIPLET *local_segments, IN DAT_VLEN num_segments);

/**
 * dat_rmr_create() - create a memory window, which can be bound to registered memory for a peer
 * @pz_handle: protection zone
 * @rmr_handle: the RMR, unbound
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES.
 * Thread safety: safe. Specification: dat_rmr_create(3DAT).
 */
extern DAT_RETURN dat_rmr_create(IN DAT_PZ_HANDLE pz_handle, OUT DAT_RMR_HANDLE *rmr_handle);

/**
 * dat_rmr_query() - ask for the parameters of an RMR
 * @rmr_handle: RMR
 * @rmr_param_mask: DAT_RMR_FIELD_ bits of the fields wanted
 * @rmr_param: filled
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Thread safety: unsafe. Specification: dat_rmr_query(3DAT).
 */
extern DAT_RETURN dat_rmr_query(IN DAT_RMR_HANDLE rmr_handle, IN DAT_RMR_PARAM_MASK rmr_param_mask,
		OUT DAT_RMR_PARAM *rmr_param);

/**
 * dat_rmr_free() - destroy an RMR, bound or not; its key becomes invalid
 * @rmr_handle: RMR
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE.
 * Thread safety: unsafe. Specification: dat_rmr_free(3DAT).
 */
extern DAT_RETURN dat_rmr_free(IN DAT_RMR_HANDLE rmr_handle);

/**
 * dat_psp_create() - listen on a connection qualifier until dat_psp_free()
 * @ia_handle: IA
 * @conn_qual: qualifier, any number
 * @evd_handle: EVD for the requests, made with DAT_EVD_CR_FLAG; its length is the backlog
 * @psp_flags: whether the consumer or the provider makes the endpoints
 * @psp_handle: the PSP; it listens
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_CONN_QUAL_IN_USE,
 *   DAT_INSUFFICIENT_RESOURCES, DAT_MODEL_NOT_SUPPORTED.
 * Thread safety: safe. Specification: dat_psp_create(3DAT).
 */
extern DAT_RETURN dat_psp_create(IN DAT_IA_HANDLE ia_handle, IN DAT_CONN_QUAL conn_qual,
		IN DAT_EVD_HANDLE evd_handle, IN DAT_PSP_FLAGS psp_flags,
		OUT DAT_PSP_HANDLE *psp_handle);

/**
 * dat_psp_create_any() - listen on a connection qualifier that the provider chooses
 * @ia_handle: IA
 * @conn_qual: the qualifier
 * @evd_handle: EVD for the requests, made with DAT_EVD_CR_FLAG
 * @psp_flags: whether the consumer or the provider makes the endpoints
 * @psp_handle: the PSP; it listens
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_CONN_QUAL_UNAVAILABLE,
 *   DAT_INSUFFICIENT_RESOURCES, DAT_MODEL_NOT_SUPPORTED.
 * Thread safety: safe. Specification: dat_psp_create_any(3DAT).
 */
extern DAT_RETURN dat_psp_create_any(IN DAT_IA_HANDLE ia_handle, OUT DAT_CONN_QUAL *conn_qual,
		IN DAT_EVD_HANDLE evd_handle, IN DAT_PSP_FLAGS psp_flags,
		OUT DAT_PSP_HANDLE *psp_handle);

/**
 * dat_psp_query() - ask for the parameters of a PSP
 * @psp_handle: PSP
 * @psp_param_mask: DAT_PSP_FIELD_ bits of the fields wanted
 * @psp_param: filled
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Thread safety: safe. Specification: dat_psp_query(3DAT).
 */
extern DAT_RETURN dat_psp_query(IN DAT_PSP_HANDLE psp_handle, IN DAT_PSP_PARAM_MASK psp_param_mask,
		OUT DAT_PSP_PARAM *psp_param);

/**
 * dat_psp_free() - stop listening; requests that have arrived stay valid
 * @psp_handle: PSP
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE.
 * Thread safety: unsafe. Specification: dat_psp_free(3DAT).
 */
extern DAT_RETURN dat_psp_free(IN DAT_PSP_HANDLE psp_handle);

/**
 * dat_rsp_create() - listen for one request, with an endpoint reserved for it
 * @ia_handle: IA
 * @conn_qual: qualifier
 * @ep_handle: endpoint to set aside
 * @evd_handle: EVD for the request, made with DAT_EVD_CR_FLAG
 * @rsp_handle: the RSP; when its request arrives it gives up its qualifier and its EVD; its handle
 *   stays valid until dat_rsp_free()
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 *   DAT_CONN_QUAL_IN_USE, DAT_INSUFFICIENT_RESOURCES.
 * States: UNCONNECTED to RESERVED; with the request to PASSIVE_CONNECTION_PENDING.
 * Thread safety: safe. Specification: dat_rsp_create(3DAT).
 */
extern DAT_RETURN dat_rsp_create(IN DAT_IA_HANDLE ia_handle, IN DAT_CONN_QUAL conn_qual,
		IN DAT_EP_HANDLE ep_handle, IN DAT_EVD_HANDLE evd_handle,
		OUT DAT_RSP_HANDLE *rsp_handle);

/**
 * dat_rsp_query() - ask for the parameters of an RSP
 * @rsp_handle: RSP
 * @rsp_param_mask: DAT_RSP_FIELD_ bits of the fields wanted
 * @rsp_param: filled
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Thread safety: safe. Specification: dat_rsp_query(3DAT).
 */
extern DAT_RETURN dat_rsp_query(IN DAT_RSP_HANDLE rsp_handle, IN DAT_RSP_PARAM_MASK rsp_param_mask,
		OUT DAT_RSP_PARAM *rsp_param);

/**
 * dat_rsp_free() - stop listening; a request that has arrived stays valid
 * @rsp_handle: RSP
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE.
 * States: RESERVED back to UNCONNECTED.
 * Thread safety: unsafe. Specification: dat_rsp_free(3DAT).
 */
extern DAT_RETURN dat_rsp_free(IN DAT_RSP_HANDLE rsp_handle);

/**
 * dat_pz_create() - create a protection zone: endpoints can use only memory of their own zone
 * @ia_handle: IA
 * @pz_handle: the PZ
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES.
 * Thread safety: safe. Specification: dat_pz_create(3DAT).
 */
extern DAT_RETURN dat_pz_create(IN DAT_IA_HANDLE ia_handle, OUT DAT_PZ_HANDLE *pz_handle);

/**
 * dat_pz_query() - ask for the parameters of a PZ
 * @pz_handle: PZ
 * @pz_param_mask: DAT_PZ_FIELD_ bits of the fields wanted
 * @pz_param: filled
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Thread safety: safe. Specification: dat_pz_query(3DAT).
 */
extern DAT_RETURN dat_pz_query(IN DAT_PZ_HANDLE pz_handle, IN DAT_PZ_PARAM_MASK pz_param_mask,
		OUT DAT_PZ_PARAM *pz_param);

/**
 * dat_pz_free() - destroy a protection zone
 * @pz_handle: PZ
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE; DAT_INVALID_STATE while an EP, LMR, RMR or SRQ is in
 *   it.
 * Thread safety: unsafe. Specification: dat_pz_free(3DAT).
 */
extern DAT_RETURN dat_pz_free(IN DAT_PZ_HANDLE pz_handle);

/**
 * dat_srq_create() - create a queue of Receives that many endpoints take from
 * @ia_handle: IA
 * @pz_handle: protection zone of its buffers
 * @srq_attr: its size; low_watermark is DAT_SRQ_LW_DEFAULT
 * @srq_handle: the SRQ
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES,
 *   DAT_MODEL_NOT_SUPPORTED.
 * Thread safety: safe. Specification: dat_srq_create(3DAT).
 */
extern DAT_RETURN dat_srq_create(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle,
		IN DAT_SRQ_ATTR *srq_attr, OUT DAT_SRQ_HANDLE *srq_handle);

/**
 * dat_srq_free() - destroy an SRQ and the buffers posted to it
 * @srq_handle: SRQ
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE; DAT_INVALID_STATE with subtype
 *   DAT_INVALID_STATE_SRQ_IN_USE while an endpoint uses it.
 * Thread safety: unsafe. Specification: dat_srq_free(3DAT).
 */
extern DAT_RETURN dat_srq_free(IN DAT_SRQ_HANDLE srq_handle);

/**
 * dat_srq_post_recv() - provide memory for one message to any endpoint of an SRQ
 * @srq_handle: SRQ
 * @num_segments: length of local_iov; 0 takes an empty message
 * @local_iov: pieces of memory, filled in this order; LOCAL_WRITE, in the SRQ's PZ
 * @user_cookie: comes back with the completion
 * The completion arrives on the Receive EVD of the endpoint that took the buffer.
 * Returns: DAT_SUCCESS: posted; DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 *   DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION; DAT_INSUFFICIENT_RESOURCES when it is full.
 * States: endpoints take buffers while CONNECTED or DISCONNECT_PENDING.
 * Thread safety: unsafe. Specification: dat_srq_post_recv(3DAT).
 */
extern DAT_RETURN dat_srq_post_recv(IN DAT_SRQ_HANDLE srq_handle, IN DAT_COUNT num_segments,
		IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie);

/**
 * dat_srq_query() - ask for the parameters of an SRQ
 * @srq_handle: SRQ
 * @srq_param_mask: DAT_SRQ_FIELD_ bits of the fields wanted
 * @srq_param: filled
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Thread safety: unsafe. Specification: dat_srq_query(3DAT).
 */
extern DAT_RETURN dat_srq_query(IN DAT_SRQ_HANDLE srq_handle, IN DAT_SRQ_PARAM_MASK srq_param_mask,
		OUT DAT_SRQ_PARAM *srq_param);

/**
 * dat_srq_resize() - change the length of an SRQ; no buffer is lost
 * @srq_handle: SRQ
 * @srq_max_recv_dto: buffers it has to hold; the queue may be longer
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES;
 *   DAT_INVALID_STATE when more are outstanding, or the low watermark is higher.
 * Thread safety: unsafe. Specification: dat_srq_resize(3DAT).
 */
extern DAT_RETURN dat_srq_resize(IN DAT_SRQ_HANDLE srq_handle, IN DAT_COUNT srq_max_recv_dto);

/**
 * dat_srq_set_lw() - ask for an asynchronous event when an SRQ runs low
 * @srq_handle: SRQ
 * @low_watermark: buffers; one event comes when fewer are left, at once if fewer are left now
 * DAT_SRQ_LW_DEFAULT asks for no event. After the event the mark has to be set again.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED.
 * Thread safety: unsafe. Specification: dat_srq_set_lw(3DAT).
 */
extern DAT_RETURN dat_srq_set_lw(IN DAT_SRQ_HANDLE srq_handle, IN DAT_COUNT low_watermark);

/**
 * dat_registry_list_providers() - list the IAs that the registry knows, without loading any
 *   provider
 * @max_to_return: length of dat_provider_list; 0 asks only for the number
 * @entries_returned: number of entries filled; if max_to_return is 0, the number of entries that
 *   exist
 * @dat_provider_list: pointers to structs of the caller, filled in the order of dat.conf
 * Returns: DAT_SUCCESS; DAT_INVALID_PARAMETER, also if max_to_return is 0;
 *   DAT_INSUFFICIENT_RESOURCES.
 * Thread safety: safe. Specification: dat_registry_list_providers(3DAT).
 */
extern DAT_RETURN dat_registry_list_providers(IN DAT_COUNT max_to_return,
		OUT DAT_COUNT *entries_returned, OUT DAT_PROVIDER_INFO *(dat_provider_list[]));

/**
 * dat_strerror() - translate a return value into text
 * @dat_function_return: what a DAT function returned
 * @major_message_string: name of its type
 * @minor_message_string: name of its subtype, empty if it has none; may be NULL
 * The strings are constants of the library. They are set to a printable text in every case.
 * Returns: DAT_SUCCESS; DAT_INVALID_PARAMETER for a value that the standard does not define.
 * Thread safety: safe. Specification: dat_strerror(3DAT).
 */
extern DAT_RETURN dat_strerror(IN DAT_RETURN dat_function_return,
		OUT const char **major_message_string, OUT const char **minor_message_string);

/**
 * dat_evd_create() - create an event dispatcher, a queue of events
 * @ia_handle: IA
 * @evd_min_qlen: events it has to hold, more than 0; the queue may be longer
 * @cno_handle: CNO to trigger, or DAT_HANDLE_NULL
 * @evd_flags: kinds of event stream that will feed it
 * @evd_handle: the EVD, empty, enabled and waitable
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES;
 *   DAT_MODEL_NOT_SUPPORTED for streams that may not merge.
 * Thread safety: safe. Specification: libdat(3LIB).
 */
extern DAT_RETURN dat_evd_create(IN DAT_IA_HANDLE ia_handle, IN DAT_COUNT evd_min_qlen,
		IN DAT_CNO_HANDLE cno_handle, IN DAT_EVD_FLAGS evd_flags,
		OUT DAT_EVD_HANDLE *evd_handle);

/**
 * dat_evd_modify_cno() - give an EVD another CNO
 * @evd_handle: EVD
 * @cno_handle: CNO that later events trigger, or DAT_HANDLE_NULL
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE.
 * Thread safety: unsafe. Specification: dat_evd_modify_cno(3DAT).
 */
extern DAT_RETURN dat_evd_modify_cno(IN DAT_EVD_HANDLE evd_handle, IN DAT_CNO_HANDLE cno_handle);

/**
 * dat_cno_create() - create a notification object, by which a thread waits for many EVDs
 * @ia_handle: IA
 * @agent: function called once, at the first trigger; or DAT_OS_WAIT_PROXY_AGENT_NULL
 * @cno_handle: the CNO
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES.
 * Thread safety: safe. Specification: dat_cno_create(3DAT).
 */
extern DAT_RETURN dat_cno_create(IN DAT_IA_HANDLE ia_handle, IN DAT_OS_WAIT_PROXY_AGENT agent,
		OUT DAT_CNO_HANDLE *cno_handle);

/**
 * dat_cno_modify_agent() - give a CNO another agent, or arm the agent again after it was called
 * @cno_handle: CNO
 * @agent: the agent, or DAT_OS_WAIT_PROXY_AGENT_NULL
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Thread safety: unsafe. Specification: dat_cno_modify_agent(3DAT).
 */
extern DAT_RETURN dat_cno_modify_agent(IN DAT_CNO_HANDLE cno_handle,
		IN DAT_OS_WAIT_PROXY_AGENT agent);

/**
 * dat_cno_query() - ask for the parameters of a CNO
 * @cno_handle: CNO
 * @cno_param_mask: DAT_CNO_FIELD_ bits of the fields wanted
 * @cno_param: filled
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Thread safety: unsafe. Specification: dat_cno_query(3DAT).
 */
extern DAT_RETURN dat_cno_query(IN DAT_CNO_HANDLE cno_handle, IN DAT_CNO_PARAM_MASK cno_param_mask,
		OUT DAT_CNO_PARAM *cno_param);

/**
 * dat_cno_free() - destroy a CNO
 * @cno_handle: CNO
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE; DAT_INVALID_STATE while an EVD uses it or a thread
 *   waits.
 * Thread safety: unsafe. Specification: dat_cno_free(3DAT).
 */
extern DAT_RETURN dat_cno_free(IN DAT_CNO_HANDLE cno_handle);

/**
 * dat_cno_wait() - wait until an EVD triggers a CNO
 * @cno_handle: CNO
 * @timeout: microseconds, or DAT_TIMEOUT_INFINITE
 * @evd_handle: EVD that probably has an event, which is a hint; DAT_HANDLE_NULL after a timeout, or
 *   when the last EVD is gone
 * The event stays on its EVD. A trigger while no thread waits is kept for the next call.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER; DAT_QUEUE_EMPTY when the timeout
 *   has expired; DAT_INTERRUPTED_CALL.
 * Thread safety: safe. Specification: dat_cno_wait(3DAT).
 */
extern DAT_RETURN dat_cno_wait(IN DAT_CNO_HANDLE cno_handle, IN DAT_TIMEOUT timeout,
		OUT DAT_EVD_HANDLE *evd_handle);

/**
 * dat_evd_enable() - let events of an EVD trigger its CNO
 * @evd_handle: EVD
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE.
 * Thread safety: safe. Specification: dat_evd_enable(3DAT).
 */
extern DAT_RETURN dat_evd_enable(IN DAT_EVD_HANDLE evd_handle);

/**
 * dat_evd_wait() - wait for events and take the first
 * @evd_handle: waitable EVD that no other thread waits for
 * @timeout: microseconds; 0 does not wait; or DAT_TIMEOUT_INFINITE
 * @threshold: events that have to be queued, 1 up to the queue's length
 * @event: the first event
 * @n_more_events: events that are left; after a timeout, events that are queued
 * Many threads may call this at once, but only one at a time can wait for an EVD: for a second one
 * it returns DAT_INVALID_STATE. While a thread waits here the CNO is not triggered. A threshold
 * above 1 is refused with DAT_INVALID_STATE if an endpoint of the EVD has unsignalled or solicited
 * completions, because not all of these would count.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER; DAT_TIMEOUT_EXPIRED, nothing
 *   taken; DAT_INVALID_STATE when another thread waits or the EVD is unwaitable; DAT_ABORT when the
 *   EVD or its IA is gone; DAT_INTERRUPTED_CALL.
 * Thread safety: safe. Specification: dat_evd_wait(3DAT).
 */
extern DAT_RETURN dat_evd_wait(IN DAT_EVD_HANDLE evd_handle, IN DAT_TIMEOUT timeout,
		IN DAT_COUNT threshold, OUT DAT_EVENT *event, OUT DAT_COUNT *n_more_events);

/**
 * dat_evd_disable() - keep events of an EVD from triggering its CNO; they are still queued
 * @evd_handle: EVD
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE.
 * Thread safety: safe. Specification: dat_evd_disable(3DAT).
 */
extern DAT_RETURN dat_evd_disable(IN DAT_EVD_HANDLE evd_handle);

/**
 * dat_evd_set_unwaitable() - make dat_evd_wait() fail; a thread that waits returns with
 *   DAT_INVALID_STATE
 * @evd_handle: EVD; events still arrive, and dat_evd_dequeue() still works
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE.
 * Thread safety: safe. Specification: dat_evd_set_unwaitable(3DAT).
 */
extern DAT_RETURN dat_evd_set_unwaitable(IN DAT_EVD_HANDLE evd_handle);

/**
 * dat_evd_clear_unwaitable() - allow dat_evd_wait() again
 * @evd_handle: EVD
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE.
 * Thread safety: safe. Specification: dat_evd_clear_unwaitable(3DAT).
 */
extern DAT_RETURN dat_evd_clear_unwaitable(IN DAT_EVD_HANDLE evd_handle);

#ifdef __cplusplus
}
#endif

#endif /* OPENDAT_DAT_CALLS_H */
