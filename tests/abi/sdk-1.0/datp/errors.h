/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The errors of the provider SDK. <datp/provider.h> includes this file. Since SDK 0.7 it is a file of its own; before, that
 * header had them.
 */
#ifndef DATP_ERRORS_H
#define DATP_ERRORS_H

/*
 * The one internal error type, which every op returns. The edge maps each value to a DAT return type and
 * subtype, X(name, type, subtype). The edge of DAT 2.0 converts these values further.
 *
 * A BAD_... value says which kind of argument is wrong. Only the edge knows the position of that argument in
 * the call, and adds it: memory that cannot be registered is the third argument of dat_lmr_create() and the
 * second of dat_rmr_bind().
 *
 * OLD_ARGn name positions directly. Plugins that were built with SDK 0.1 to 0.3 return them, so libdatp still
 * accepts them; new plugins do not use them.
 */
#define DATP_ERRORS(X)                                                                             \
	X(ABORT, DAT_ABORT, DAT_NO_SUBTYPE)                                                        \
	X(QUAL_IN_USE, DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE)                                       \
	X(QUAL_UNAVAILABLE, DAT_CONN_QUAL_UNAVAILABLE, DAT_NO_SUBTYPE)                             \
	X(MEMORY, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY)                                 \
	X(DEVICE, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE)                                 \
	X(TEP, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP)                                       \
	X(TEVD, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD)                                     \
	X(REGION, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION)                          \
	X(CREDITS, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_CREDITS)                               \
	X(SRQ, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ)                                       \
	X(INTERNAL, DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE)                                            \
	X(HANDLE, DAT_INVALID_HANDLE, DAT_NO_SUBTYPE)                                              \
	X(HANDLE_IA, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA)                                    \
	X(HANDLE_EP, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP)                                    \
	X(HANDLE_LMR, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR)                                  \
	X(HANDLE_RMR, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR)                                  \
	X(HANDLE_PZ, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ)                                    \
	X(HANDLE_PSP, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP)                                  \
	X(HANDLE_RSP, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP)                                  \
	X(HANDLE_CR, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR)                                    \
	X(HANDLE_CNO, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO)                                  \
	X(HANDLE_EVD_CR, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR)                            \
	X(HANDLE_EVD_REQUEST, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST)                  \
	X(HANDLE_EVD_RECV, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_RECV)                        \
	X(HANDLE_EVD_CONN, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CONN)                        \
	X(HANDLE_EVD_ASYNC, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC)                      \
	X(HANDLE_SRQ, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ)                                  \
	X(PARAM, DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE)                                            \
	X(OLD_ARG1, DAT_INVALID_PARAMETER, DAT_INVALID_ARG1)                                       \
	X(OLD_ARG2, DAT_INVALID_PARAMETER, DAT_INVALID_ARG2)                                       \
	X(OLD_ARG3, DAT_INVALID_PARAMETER, DAT_INVALID_ARG3)                                       \
	X(OLD_ARG4, DAT_INVALID_PARAMETER, DAT_INVALID_ARG4)                                       \
	X(OLD_ARG5, DAT_INVALID_PARAMETER, DAT_INVALID_ARG5)                                       \
	X(OLD_ARG6, DAT_INVALID_PARAMETER, DAT_INVALID_ARG6)                                       \
	X(OLD_ARG7, DAT_INVALID_PARAMETER, DAT_INVALID_ARG7)                                       \
	X(OLD_ARG8, DAT_INVALID_PARAMETER, DAT_INVALID_ARG8)                                       \
	X(OLD_ARG9, DAT_INVALID_PARAMETER, DAT_INVALID_ARG9)                                       \
	X(OLD_ARG10, DAT_INVALID_PARAMETER, DAT_INVALID_ARG10)                                     \
	X(STATE, DAT_INVALID_STATE, DAT_NO_SUBTYPE)                                                \
	X(STATE_EP_UNCONNECTED, DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED)               \
	X(STATE_EP_ACTCONNPENDING, DAT_INVALID_STATE, DAT_INVALID_STATE_EP_ACTCONNPENDING)         \
	X(STATE_EP_PASSCONNPENDING, DAT_INVALID_STATE, DAT_INVALID_STATE_EP_PASSCONNPENDING)       \
	X(STATE_EP_TENTCONNPENDING, DAT_INVALID_STATE, DAT_INVALID_STATE_EP_TENTCONNPENDING)       \
	X(STATE_EP_CONNECTED, DAT_INVALID_STATE, DAT_INVALID_STATE_EP_CONNECTED)                   \
	X(STATE_EP_DISCONNECTED, DAT_INVALID_STATE, DAT_INVALID_STATE_EP_DISCONNECTED)             \
	X(STATE_EP_RESERVED, DAT_INVALID_STATE, DAT_INVALID_STATE_EP_RESERVED)                     \
	X(STATE_EP_COMPLPENDING, DAT_INVALID_STATE, DAT_INVALID_STATE_EP_COMPLPENDING)             \
	X(STATE_EP_DISCPENDING, DAT_INVALID_STATE, DAT_INVALID_STATE_EP_DISCPENDING)               \
	X(STATE_EP_NOTREADY, DAT_INVALID_STATE, DAT_INVALID_STATE_EP_NOTREADY)                     \
	X(STATE_CNO_IN_USE, DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE)                       \
	X(STATE_CNO_DEAD, DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_DEAD)                           \
	X(STATE_EVD_UNWAITABLE, DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE)               \
	X(STATE_EVD_IN_USE, DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE)                       \
	X(STATE_EVD_CONFIG_THRESHOLD, DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_CONFIG_THRESHOLD)   \
	X(STATE_EVD_WAITER, DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER)                       \
	X(STATE_EVD_ASYNC, DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_ASYNC)                         \
	X(STATE_IA_IN_USE, DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE)                         \
	X(STATE_LMR_IN_USE, DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE)                       \
	X(STATE_PZ_IN_USE, DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE)                         \
	X(STATE_SRQ_IN_USE, DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE)                       \
	X(LENGTH, DAT_LENGTH_ERROR, DAT_NO_SUBTYPE)                                                \
	X(MODEL, DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE)                                          \
	X(PRIV_READ, DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_READ)                                \
	X(PRIV_WRITE, DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE)                              \
	X(PRIV_RDMA_READ, DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_RDMA_READ)                      \
	X(PRIV_RDMA_WRITE, DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_RDMA_WRITE)                    \
	X(PROTECTION, DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE)                                    \
	X(QUEUE_EMPTY, DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE)                                            \
	X(QUEUE_FULL, DAT_QUEUE_FULL, DAT_NO_SUBTYPE)                                              \
	X(TIMEOUT, DAT_TIMEOUT_EXPIRED, DAT_NO_SUBTYPE)                                            \
	X(NOT_FOUND, DAT_PROVIDER_NOT_FOUND, DAT_NO_SUBTYPE)                                       \
	X(ADDRESS, DAT_INVALID_ADDRESS, DAT_NO_SUBTYPE)                                            \
	X(ADDRESS_UNSUPPORTED, DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED)               \
	X(ADDRESS_UNREACHABLE, DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE)               \
	X(ADDRESS_MALFORMED, DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED)                   \
	X(INTERRUPTED, DAT_INTERRUPTED_CALL, DAT_NO_SUBTYPE)                                       \
	X(BAD_MEMORY, DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE)                                       \
	X(BAD_LENGTH, DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE)                                       \
	X(BAD_PRIV, DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE)                                         \
	X(BAD_COUNT, DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE)                                        \
	X(BAD_SEGMENTS, DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE)                                     \
	X(BAD_TARGET, DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE)                                       \
	X(BAD_EP, DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE)                                           \
	X(BAD_QUAL, DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE)                                         \
	X(BAD_QLEN, DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE)                                         \
	X(BAD_FLAGS, DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE)                                        \
	X(BAD_ATTR, DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE)                                         \
	X(BAD_THRESHOLD, DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE)                                    \
	X(BAD_WATERMARK, DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE)                                    \
	X(BAD_OUT, DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE)

enum datp_err {
	DATP_OK = 0,
#define X(name, type, sub) DATP_ERR_##name,
	DATP_ERRORS(X)
#undef X
	DATP_ERR_COUNT
};

/* The name of DATP_ERR_SRQ up to SDK 0.9. */
#define DATP_ERR_RES_SRQ DATP_ERR_SRQ

#endif
