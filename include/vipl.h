/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The VI Provider Library: the programming interface of the Virtual Interface Architecture, here as
 * a library over uDAPL 1.2 (libvipl, pkg-config vipl). It is source compatible with programs that
 * were written for Intel's header and for Giganet's; where the two name a member differently, both
 * names work.
 *
 * A comment that begins with two stars becomes the manual page of the function that follows it.
 */
#ifndef VIPL_H
#define VIPL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif

/* The base types. VIP_ULONG is as long as a long. */
typedef void *VIP_PVOID;
typedef int VIP_BOOLEAN;
typedef char VIP_CHAR;
typedef unsigned char VIP_UCHAR;
typedef short VIP_SHORT;
typedef unsigned short VIP_USHORT;
typedef long VIP_LONG;
typedef unsigned long VIP_ULONG;
typedef uint64_t VIP_UINT64;
typedef uint32_t VIP_UINT32;
typedef uint16_t VIP_UINT16;
typedef uint8_t VIP_UINT8;

#define VIP_TRUE			1
#define VIP_FALSE			0

/* Timeouts are in milliseconds. 0xFFFFFFFF means the same as VIP_INFINITE. */
#ifndef INFINITE
#define INFINITE			(~0UL)
#endif
#define VIP_INFINITE			((VIP_ULONG)~0UL)

/* Objects. A memory handle is a number, because programs send it to their peers. */
typedef void *VIP_QOS;
typedef void *VIP_NIC_HANDLE;
typedef void *VIP_VI_HANDLE;
typedef void *VIP_CQ_HANDLE;
typedef void *VIP_PROTECTION_HANDLE;
typedef void *VIP_CONN_HANDLE;
typedef void *VIP_EVENT_HANDLE;
typedef VIP_UINT32 VIP_MEM_HANDLE;

/* What functions return. */
typedef enum {
	VIP_SUCCESS			= 0,
	VIP_NOT_DONE			= 1,
	VIP_INVALID_PARAMETER		= 2,
	VIP_ERROR_RESOURCE		= 3,
	VIP_TIMEOUT			= 4,
	VIP_REJECT			= 5,
	VIP_INVALID_RELIABILITY_LEVEL	= 6,
	VIP_INVALID_MTU			= 7,
	VIP_INVALID_QOS			= 8,
	VIP_INVALID_PTAG		= 9,
	VIP_INVALID_RDMAREAD		= 10,
	VIP_DESCRIPTOR_ERROR		= 11,
	VIP_INVALID_STATE		= 12,
	VIP_ERROR_NAMESERVICE		= 13,
	VIP_NO_MATCH			= 14,
	VIP_NOT_REACHABLE		= 15,
	VIP_ERROR_NOT_SUPPORTED		= 16,
	VIP_ERROR			= VIP_DESCRIPTOR_ERROR
} VIP_RETURN;

/* Programs test by #ifdef whether these exist. */
#define VIP_NOT_REACHABLE		VIP_NOT_REACHABLE
#define VIP_ERROR_NOT_SUPPORTED		VIP_ERROR_NOT_SUPPORTED

/*
 * Descriptors
 */
#define VIP_DESCRIPTOR_ALIGNMENT	64

/* CS.Control: the operation, and what comes with it. */
#define VIP_CONTROL_OP_SENDRECV		0x0
#define VIP_CONTROL_OP_RDMAWRITE	0x1
#define VIP_CONTROL_OP_RDMAREAD		0x2
#define VIP_CONTROL_OP_RESERVED		0x3
#define VIP_CONTROL_OP_MASK		0x3
#define VIP_CONTROL_IMMEDIATE		0x4
#define VIP_CONTROL_QFENCE		0x8
#define VIP_CONTROL_RESERVED		0xFFF0

/* CS.Status: how the operation ended. */
#define VIP_STATUS_DONE			0x1
#define VIP_STATUS_FORMAT_ERROR		0x2
#define VIP_STATUS_PROTECTION_ERROR	0x4
#define VIP_STATUS_LENGTH_ERROR		0x8
#define VIP_STATUS_PARTIAL_ERROR	0x10
#define VIP_STATUS_DESC_FLUSHED_ERROR	0x20
#define VIP_STATUS_TRANSPORT_ERROR	0x40
#define VIP_STATUS_RDMA_PROT_ERROR	0x80
#define VIP_STATUS_REMOTE_DESC_ERROR	0x100
#define VIP_STATUS_ERROR_MASK		0x1FE
#define VIP_STATUS_OP_SEND		0x0
#define VIP_STATUS_OP_RECEIVE		0x10000
#define VIP_STATUS_OP_RDMA_WRITE	0x20000
#define VIP_STATUS_OP_REMOTE_RDMA_WRITE	0x30000
#define VIP_STATUS_OP_RDMA_READ		0x40000
#define VIP_STATUS_OP_MASK		0x70000
#define VIP_STATUS_IMMEDIATE		0x80000
#define VIP_STATUS_RESERVED		0xFFF0FE00

struct _VIP_DESCRIPTOR;

/* A pointer that takes 64 bits on every machine. */
typedef union {
	VIP_UINT64 AddressBits;
	VIP_PVOID Address;
	struct _VIP_DESCRIPTOR *Descriptor;
} VIP_PVOID64;

typedef struct {
	VIP_PVOID64 Next;
	VIP_MEM_HANDLE NextHandle;
	VIP_UINT16 SegCount;		/* address and data segments */
	VIP_UINT16 Control;
	VIP_UINT32 Reserved;
	VIP_UINT32 ImmediateData;
	VIP_UINT32 Length;
	VIP_UINT32 Status;
} VIP_CONTROL_SEGMENT;

typedef struct {
	VIP_PVOID64 Data;
	VIP_MEM_HANDLE Handle;
	VIP_UINT32 Reserved;
} VIP_ADDRESS_SEGMENT;

typedef struct {
	VIP_PVOID64 Data;
	VIP_MEM_HANDLE Handle;
	VIP_UINT32 Length;
} VIP_DATA_SEGMENT;

typedef union {
	VIP_ADDRESS_SEGMENT Remote;
	VIP_DATA_SEGMENT Local;
} VIP_DESCRIPTOR_SEGMENT;

/*
 * The anonymous members have two names each: Intel's (CS, DS) and Giganet's (Control, Data).
 * Programs written for Giganet's header store the address segment, a VIP_ADDRESS_SEGMENT, in the
 * place of Data[0].
 */
#ifndef __cplusplus
__extension__
#endif
typedef struct _VIP_DESCRIPTOR {
	union {
		VIP_CONTROL_SEGMENT CS;
		VIP_CONTROL_SEGMENT Control;
	};
	union {
		VIP_DESCRIPTOR_SEGMENT DS[2];	/* further segments may follow the structure */
		VIP_DATA_SEGMENT Data[2];
	};
} VIP_DESCRIPTOR;

/*
 * Addresses and attributes
 */

/*
 * HostAddressLen bytes of the host's address, followed directly by DiscriminatorLen bytes of the
 * discriminator.
 */
typedef struct _VIP_NET_ADDRESS {
	VIP_UINT16 HostAddressLen;
	VIP_UINT16 DiscriminatorLen;
	VIP_UINT8 HostAddress[1];
} VIP_NET_ADDRESS;

/* Levels of reliability, as a mask in VIP_NIC_ATTRIBUTES. */
typedef VIP_USHORT VIP_RELIABILITY_LEVEL;
#define VIP_SERVICE_UNRELIABLE		0x1
#define VIP_SERVICE_RELIABLE_DELIVERY	0x2
#define VIP_SERVICE_RELIABLE_RECEPTION	0x4
#define VIP_BASE_SERVICES	(VIP_SERVICE_UNRELIABLE | VIP_SERVICE_RELIABLE_DELIVERY | \
				 VIP_SERVICE_RELIABLE_RECEPTION)
/* Giganet's levels, which no NIC of this library supports. */
#define VIP_SERVICE_ACK			0x4000
#define VIP_SERVICE_DFC			0x8000

typedef struct _VIP_NIC_ATTRIBUTES {
	VIP_CHAR Name[64];
	VIP_ULONG HardwareVersion;
	VIP_ULONG ProviderVersion;
	VIP_UINT16 NicAddressLen;
	const VIP_UINT8 *LocalNicAddress;	/* valid while the NIC is open */
	VIP_BOOLEAN ThreadSafe;
	VIP_UINT16 MaxDiscriminatorLen;
	VIP_ULONG MaxRegisterBytes;
	VIP_ULONG MaxRegisterRegions;
	VIP_ULONG MaxRegisterBlockBytes;
	VIP_ULONG MaxVI;
	VIP_ULONG MaxDescriptorsPerQueue;
	VIP_ULONG MaxSegmentsPerDesc;
	VIP_ULONG MaxCQ;
	VIP_ULONG MaxCQEntries;
	VIP_ULONG MaxTransferSize;
	VIP_ULONG NativeMTU;
	VIP_ULONG MaxPtags;
	VIP_RELIABILITY_LEVEL ReliabilityLevelSupport;
	VIP_RELIABILITY_LEVEL RDMAReadSupport;
} VIP_NIC_ATTRIBUTES;

typedef struct _VIP_VI_ATTRIBUTES {
	VIP_RELIABILITY_LEVEL ReliabilityLevel;
	VIP_ULONG MaxTransferSize;
	VIP_QOS QoS;
	VIP_PROTECTION_HANDLE Ptag;
	VIP_BOOLEAN EnableRdmaWrite;
	VIP_BOOLEAN EnableRdmaRead;
} VIP_VI_ATTRIBUTES;

typedef struct _VIP_MEM_ATTRIBUTES {
	VIP_PROTECTION_HANDLE Ptag;
	VIP_BOOLEAN EnableRdmaWrite;
	VIP_BOOLEAN EnableRdmaRead;
} VIP_MEM_ATTRIBUTES;

typedef enum {
	VIP_STATE_IDLE			= 0,
	VIP_STATE_CONNECTED		= 1,
	VIP_STATE_CONNECT_PENDING	= 2,
	VIP_STATE_ERROR			= 3
} VIP_VI_STATE;

/*
 * Asynchronous errors
 */
typedef enum _VIP_RESOURCE_CODE {
	VIP_RESOURCE_NIC		= 0,
	VIP_RESOURCE_VI			= 1,
	VIP_RESOURCE_CQ			= 2,
	VIP_RESOURCE_DESCRIPTOR		= 3
} VIP_RESOURCE_CODE;

typedef enum _VIP_ERROR_CODE {
	VIP_ERROR_POST_DESC		= 0,
	VIP_ERROR_CONN_LOST		= 1,
	VIP_ERROR_RECVQ_EMPTY		= 2,
	VIP_ERROR_VI_OVERRUN		= 3,
	VIP_ERROR_RDMAW_PROT		= 4,
	VIP_ERROR_RDMAW_DATA		= 5,
	VIP_ERROR_RDMAW_ABORT		= 6,
	VIP_ERROR_RDMAR_PROT		= 7,
	VIP_ERROR_COMP_PROT		= 8,
	VIP_ERROR_RDMA_TRANSPORT	= 9,
	VIP_ERROR_CATASTROPHIC		= 10
} VIP_ERROR_CODE;

typedef struct _VIP_ERROR_DESCRIPTOR {
	VIP_NIC_HANDLE NicHandle;
	VIP_VI_HANDLE ViHandle;
	VIP_CQ_HANDLE CQHandle;
	VIP_DESCRIPTOR *DescriptorPtr;
	VIP_ULONG OpCode;
	VIP_RESOURCE_CODE ResourceCode;
	VIP_ERROR_CODE ErrorCode;
} VIP_ERROR_DESCRIPTOR;

/* For VipQuerySystemManagementInfo(). */
#define VIP_SMI_AUTODISCOVERY		((VIP_ULONG)1)

typedef struct {
	VIP_ULONG NumberOfHops;
	VIP_NET_ADDRESS **ADAddrArray;
	VIP_ULONG NumAdAddrs;
} VIP_AUTODISCOVERY_LIST;

/* Handlers run on a thread of the library. */
typedef void (*VIP_ERROR_HANDLER)(VIP_PVOID Context, VIP_ERROR_DESCRIPTOR *ErrorDesc);
typedef void (*VIP_VI_HANDLER)(VIP_PVOID Context, VIP_NIC_HANDLE NicHandle, VIP_VI_HANDLE ViHandle,
			       VIP_DESCRIPTOR *Descriptor);
typedef void (*VIP_CQ_HANDLER)(VIP_PVOID Context, VIP_NIC_HANDLE NicHandle, VIP_VI_HANDLE ViHandle,
			       VIP_BOOLEAN RecvQueue);
/* Giganet's names for them. */
typedef VIP_VI_HANDLER VIP_VI_CALLBACK;
typedef VIP_CQ_HANDLER VIP_CQ_CALLBACK;

/*
 * NICs, protection tags and memory
 */

/**
 * VipOpenNic() - open a network adapter
 * @DeviceName: name of an adapter as in dat.conf, or a device name of earlier implementations, such
 *   as VINIC, /dev/clanvi0 or /dev/via_lo
 * @NicHandle: the NIC
 * An earlier device name stands for the adapter that VIPL_NIC_MAP gives for it, or else for the one
 * with its number in the order in which the registry lists them. Each call opens a NIC of its own.
 * A child process cannot use what its parent has opened.
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_ERROR_RESOURCE when there is no such adapter, or
 *   it does not open.
 */
extern VIP_RETURN VipOpenNic(IN const VIP_CHAR *DeviceName, OUT VIP_NIC_HANDLE *NicHandle);

/**
 * VipCloseNic() - close a NIC
 * @NicHandle: the NIC
 * Protection tags that still exist and memory that is still registered are released with it. A
 * handler must not call this.
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_ERROR_RESOURCE while it has VIs or completion
 *   queues, or a thread waits in VipConnectWait().
 */
extern VIP_RETURN VipCloseNic(IN VIP_NIC_HANDLE NicHandle);

/**
 * VipQueryNic() - ask for the attributes of a NIC
 * @NicHandle: the NIC
 * @NicAttribs: filled
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER.
 */
extern VIP_RETURN VipQueryNic(IN VIP_NIC_HANDLE NicHandle, OUT VIP_NIC_ATTRIBUTES *NicAttribs);

/**
 * VipCreatePtag() - create a protection tag: a VI uses memory of its own tag only
 * @NicHandle: the NIC
 * @ProtectionTag: the tag
 * Memory that is registered with NULL as its tag gets the NIC's own tag. A VI that is created with
 * NULL takes the tag of the first memory that it uses, or else the NIC's own tag when it is
 * connected.
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER, VIP_ERROR_RESOURCE.
 */
extern VIP_RETURN VipCreatePtag(IN VIP_NIC_HANDLE NicHandle,
		OUT VIP_PROTECTION_HANDLE *ProtectionTag);

/**
 * VipDestroyPtag() - destroy a protection tag
 * @NicHandle: the NIC
 * @ProtectionTag: the tag
 * A VI that was created with NULL and has taken this tag does not prevent it.
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_ERROR_RESOURCE while the attributes of a VI or
 *   of memory name it.
 */
extern VIP_RETURN VipDestroyPtag(IN VIP_NIC_HANDLE NicHandle,
		IN VIP_PROTECTION_HANDLE ProtectionTag);

/**
 * VipRegisterMem() - register memory, for descriptors and for data
 * @NicHandle: the NIC
 * @VirtualAddress: first byte
 * @Length: bytes
 * @MemAttribs: its tag, and the rights of peers
 * @MemoryHandle: the memory's handle, never 0; peers use the same number
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER, VIP_INVALID_PTAG, VIP_ERROR_RESOURCE.
 */
extern VIP_RETURN VipRegisterMem(IN VIP_NIC_HANDLE NicHandle, IN VIP_PVOID VirtualAddress,
		IN VIP_ULONG Length, IN VIP_MEM_ATTRIBUTES *MemAttribs,
		OUT VIP_MEM_HANDLE *MemoryHandle);

/**
 * VipDeregisterMem() - end a registration
 * @NicHandle: the NIC
 * @VirtualAddress: first byte, as registered
 * @MemoryHandle: its handle
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER.
 */
extern VIP_RETURN VipDeregisterMem(IN VIP_NIC_HANDLE NicHandle, IN VIP_PVOID VirtualAddress,
		IN VIP_MEM_HANDLE MemoryHandle);

/**
 * VipSetMemAttributes() - change the attributes of registered memory
 * @NicHandle: the NIC
 * @Address: first byte, as registered
 * @MemHandle: its handle, which does not change
 * @MemAttribs: the new attributes
 * The tag can be changed if peers have no right to the memory. The rights of peers cannot be
 * changed, because the handle stands for them.
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER, VIP_INVALID_PTAG; VIP_ERROR_RESOURCE for a change
 *   that cannot be made.
 */
extern VIP_RETURN VipSetMemAttributes(IN VIP_NIC_HANDLE NicHandle, IN VIP_PVOID Address,
		IN VIP_MEM_HANDLE MemHandle, IN VIP_MEM_ATTRIBUTES *MemAttribs);

/**
 * VipQueryMem() - ask for the attributes of registered memory
 * @NicHandle: the NIC
 * @Address: first byte, as registered
 * @MemHandle: its handle
 * @MemAttribs: filled
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER.
 */
extern VIP_RETURN VipQueryMem(IN VIP_NIC_HANDLE NicHandle, IN VIP_PVOID Address,
		IN VIP_MEM_HANDLE MemHandle, OUT VIP_MEM_ATTRIBUTES *MemAttribs);

/*
 * VIs
 */

/**
 * VipCreateVi() - create a VI, one end of a connection, with a send and a receive queue
 * @NicHandle: the NIC
 * @ViAttribs: its attributes; with a MaxTransferSize of 0 it gets the NIC's
 * @SendCQHandle: completion queue for the send queue, or NULL
 * @RecvCQHandle: completion queue for the receive queue, or NULL
 * @ViHandle: the VI, idle
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER, VIP_INVALID_RELIABILITY_LEVEL, VIP_INVALID_PTAG,
 *   VIP_ERROR_RESOURCE; VIP_INVALID_MTU if MaxTransferSize exceeds the NIC's; VIP_INVALID_RDMAREAD
 *   for RDMA reads at a reliability level that does not support them.
 */
extern VIP_RETURN VipCreateVi(IN VIP_NIC_HANDLE NicHandle, IN VIP_VI_ATTRIBUTES *ViAttribs,
		IN VIP_CQ_HANDLE SendCQHandle, IN VIP_CQ_HANDLE RecvCQHandle,
		OUT VIP_VI_HANDLE *ViHandle);

/**
 * VipDestroyVi() - destroy a VI
 * @ViHandle: the VI, idle and with empty queues
 * Handlers of the VI that have not been called yet are dropped.
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_ERROR_RESOURCE while it is not idle, or holds
 *   descriptors.
 */
extern VIP_RETURN VipDestroyVi(IN VIP_VI_HANDLE ViHandle);

/**
 * VipSetViAttributes() - change the attributes of an idle VI
 * @ViHandle: the VI
 * @Attribs: the new ones
 * Posted receives stay posted if the tag does not change.
 * Returns: as VipCreateVi(); VIP_INVALID_STATE for a VI that is not idle; VIP_ERROR_RESOURCE for a
 *   change of the tag while descriptors are posted.
 */
extern VIP_RETURN VipSetViAttributes(IN VIP_VI_HANDLE ViHandle, IN VIP_VI_ATTRIBUTES *Attribs);

/**
 * VipQueryVi() - ask for the state and the attributes of a VI
 * @ViHandle: the VI
 * @State: its state
 * @Attribs: its attributes
 * @SendQEmpty: whether the send queue holds no descriptor
 * @RecvQEmpty: the same of the receive queue
 * Each of the four pointers may be NULL.
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER.
 */
extern VIP_RETURN VipQueryVi(IN VIP_VI_HANDLE ViHandle, OUT VIP_VI_STATE *State,
		OUT VIP_VI_ATTRIBUTES *Attribs, OUT VIP_BOOLEAN *SendQEmpty,
		OUT VIP_BOOLEAN *RecvQEmpty);

/**
 * VipSetUserData() - keep a pointer of the program's with a VI
 * @ViHandle: the VI
 * @Data: the pointer
 */
extern void VipSetUserData(IN VIP_VI_HANDLE ViHandle, IN VIP_PVOID Data);

/**
 * VipGetUserData() - get the pointer that is kept with a VI
 * @ViHandle: the VI
 * Returns: the pointer, NULL if there is none.
 */
extern VIP_PVOID VipGetUserData(IN VIP_VI_HANDLE ViHandle);

/*
 * Connections
 */

/**
 * VipConnectWait() - wait for a client that wants to connect
 * @NicHandle: the NIC
 * @LocalAddr: the address to listen at: the NIC's, and a discriminator
 * @Timeout: milliseconds, or VIP_INFINITE; 0 does not wait
 * @RemoteAddr: the client's address; a length in it that is not 0 on input limits the bytes that
 *   are written
 * @RemoteViAttribs: attributes of the client's VI
 * @ConnHandle: the request, to be accepted or rejected
 * From the first call for a discriminator on, this process listens for its clients; clients that
 * arrive between two calls wait.
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER, VIP_TIMEOUT; VIP_ERROR_RESOURCE if the process
 *   cannot listen at that address.
 */
extern VIP_RETURN VipConnectWait(IN VIP_NIC_HANDLE NicHandle, IN VIP_NET_ADDRESS *LocalAddr,
		IN VIP_ULONG Timeout, OUT VIP_NET_ADDRESS *RemoteAddr,
		OUT VIP_VI_ATTRIBUTES *RemoteViAttribs, OUT VIP_CONN_HANDLE *ConnHandle);

/**
 * VipConnectAccept() - accept a client
 * @ConnHandle: its request
 * @ViHandle: an idle VI whose ReliabilityLevel, MaxTransferSize and QoS are the client's
 * If the attributes differ, the call fails and the client is not told: change them with
 * VipSetViAttributes() and call this again.
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER, VIP_INVALID_RELIABILITY_LEVEL, VIP_INVALID_MTU,
 *   VIP_INVALID_QOS, VIP_ERROR_RESOURCE; VIP_INVALID_STATE for a VI that is not idle; VIP_TIMEOUT
 *   if the client has given up; the request is gone, too.
 */
extern VIP_RETURN VipConnectAccept(IN VIP_CONN_HANDLE ConnHandle, IN VIP_VI_HANDLE ViHandle);

/**
 * VipConnectReject() - reject a client
 * @ConnHandle: its request, gone afterwards
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER.
 */
extern VIP_RETURN VipConnectReject(IN VIP_CONN_HANDLE ConnHandle);

/**
 * VipConnectRequest() - connect to a server
 * @ViHandle: an idle VI
 * @LocalAddr: the client's address: the NIC's, and a discriminator, which may be empty
 * @RemoteAddr: where the server waits
 * @Timeout: milliseconds, more than 0, or VIP_INFINITE
 * @RemoteViAttribs: attributes of the server's VI; may be NULL
 * If it fails, posted receives stay posted; a server that refused may have written to their buffers.
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER, VIP_ERROR_RESOURCE; VIP_INVALID_STATE for a VI that
 *   is not idle; VIP_REJECT when the server called VipConnectReject(); VIP_NO_MATCH when no server
 *   listens there; VIP_TIMEOUT when no answer came, or when the host cannot be reached; in the
 *   latter case it is VIP_NOT_REACHABLE with VIPL_EXTENDED_RETURNS=1.
 */
extern VIP_RETURN VipConnectRequest(IN VIP_VI_HANDLE ViHandle, IN VIP_NET_ADDRESS *LocalAddr,
		IN VIP_NET_ADDRESS *RemoteAddr, IN VIP_ULONG Timeout,
		OUT VIP_VI_ATTRIBUTES *RemoteViAttribs);

/**
 * VipDisconnect() - end a connection
 * @ViHandle: the VI, idle afterwards
 * Every posted descriptor is completed, with VIP_STATUS_DESC_FLUSHED_ERROR if it has not been
 * executed. On an idle VI the call does only that.
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_INVALID_STATE while VipConnectRequest() or
 *   VipConnectAccept() is connecting the VI.
 */
extern VIP_RETURN VipDisconnect(IN VIP_VI_HANDLE ViHandle);

/**
 * VipConnectPeerRequest() - begin to connect to a peer that does the same
 * @ViHandle: an idle VI
 * @LocalAddr: this side's address
 * @RemoteAddr: the peer's address; the peer has to name LocalAddr as its remote address
 * @Timeout: milliseconds, more than 0, or VIP_INFINITE
 * Returns: VIP_SUCCESS if the connection is under way; VIP_INVALID_PARAMETER, VIP_ERROR_RESOURCE;
 *   VIP_INVALID_STATE for a VI that is not idle.
 */
extern VIP_RETURN VipConnectPeerRequest(IN VIP_VI_HANDLE ViHandle, IN VIP_NET_ADDRESS *LocalAddr,
		IN VIP_NET_ADDRESS *RemoteAddr, IN VIP_ULONG Timeout);

/**
 * VipConnectPeerDone() - test whether the connection to a peer is established
 * @ViHandle: the VI
 * @RemoteViAttribs: attributes of the peer's VI; may be NULL
 * If the attributes of the VIs differ, both peers get the same error: the one whose discriminator is the greater one not before
 * its time has expired, because any program of the other host can send a request in the name of the peer.
 * Returns: VIP_SUCCESS, VIP_NOT_DONE, VIP_INVALID_PARAMETER; VIP_INVALID_STATE without
 *   VipConnectPeerRequest(). After a failure of the attempt, VIP_TIMEOUT, VIP_REJECT,
 *   VIP_ERROR_RESOURCE, VIP_INVALID_RELIABILITY_LEVEL, VIP_INVALID_MTU or VIP_INVALID_QOS, or
 *   VIP_NOT_REACHABLE with VIPL_EXTENDED_RETURNS=1; the VI is idle then.
 */
extern VIP_RETURN VipConnectPeerDone(IN VIP_VI_HANDLE ViHandle,
		OUT VIP_VI_ATTRIBUTES *RemoteViAttribs);

/**
 * VipConnectPeerWait() - wait until the connection to a peer is established or has failed
 * @ViHandle: the VI
 * @RemoteViAttribs: attributes of the peer's VI; may be NULL
 * Returns: as VipConnectPeerDone(), but never VIP_NOT_DONE.
 */
extern VIP_RETURN VipConnectPeerWait(IN VIP_VI_HANDLE ViHandle,
		OUT VIP_VI_ATTRIBUTES *RemoteViAttribs);

/*
 * Data
 */

/**
 * VipPostSend() - post a descriptor on the send queue: a send, an RDMA write or an RDMA read
 * @ViHandle: the VI
 * @Descriptor: the operation; it belongs to the library until it is completed
 * @MemoryHandle: handle of the memory that holds the descriptor
 * An error in a descriptor is reported by its completion. On a VI that is not connected the
 * descriptor is flushed.
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_ERROR_RESOURCE when the queue is full, which
 *   also calls the error handler.
 */
extern VIP_RETURN VipPostSend(IN VIP_VI_HANDLE ViHandle, IN VIP_DESCRIPTOR *Descriptor,
		IN VIP_MEM_HANDLE MemoryHandle);

/**
 * VipSendDone() - take the first descriptor of the send queue, if it is completed
 * @ViHandle: the VI
 * @Descriptor: the descriptor; NULL if there is none
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_NOT_DONE while it is not completed;
 *   VIP_DESCRIPTOR_ERROR when it failed, or the queue is empty.
 */
extern VIP_RETURN VipSendDone(IN VIP_VI_HANDLE ViHandle, OUT VIP_DESCRIPTOR **Descriptor);

/**
 * VipSendWait() - wait for the first descriptor of the send queue, and take it
 * @ViHandle: the VI, whose send queue has no completion queue
 * @Timeout: milliseconds, or VIP_INFINITE
 * @Descriptor: the descriptor; NULL if there is none
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER, VIP_TIMEOUT; VIP_DESCRIPTOR_ERROR when it failed, or
 *   the queue is empty.
 */
extern VIP_RETURN VipSendWait(IN VIP_VI_HANDLE ViHandle, IN VIP_ULONG Timeout,
		OUT VIP_DESCRIPTOR **Descriptor);

/**
 * VipSendNotify() - have a handler called with the first descriptor of the send queue
 * @ViHandle: the VI, whose send queue has no completion queue
 * @Context: first argument for the handler
 * @Handler: called once, on a thread of the library's, when the descriptor is completed and taken
 * Handlers of one queue are called in the order in which they came.
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER, VIP_ERROR_RESOURCE.
 */
extern VIP_RETURN VipSendNotify(IN VIP_VI_HANDLE ViHandle, IN VIP_PVOID Context,
		IN VIP_VI_HANDLER Handler);

/**
 * VipPostRecv() - post a descriptor on the receive queue
 * @ViHandle: the VI, connected or not
 * @Descriptor: the buffers for a message; it belongs to the library until it is completed
 * @MemoryHandle: handle of the memory that holds the descriptor
 * Returns: as VipPostSend().
 */
extern VIP_RETURN VipPostRecv(IN VIP_VI_HANDLE ViHandle, IN VIP_DESCRIPTOR *Descriptor,
		IN VIP_MEM_HANDLE MemoryHandle);

/**
 * VipRecvDone() - take the first descriptor of the receive queue, if it is completed
 * @ViHandle: the VI
 * @Descriptor: the descriptor; NULL if there is none
 * Returns: as VipSendDone().
 */
extern VIP_RETURN VipRecvDone(IN VIP_VI_HANDLE ViHandle, OUT VIP_DESCRIPTOR **Descriptor);

/**
 * VipRecvWait() - wait for the first descriptor of the receive queue, and take it
 * @ViHandle: the VI, whose receive queue has no completion queue
 * @Timeout: milliseconds, or VIP_INFINITE
 * @Descriptor: the descriptor; NULL if there is none
 * Returns: as VipSendWait().
 */
extern VIP_RETURN VipRecvWait(IN VIP_VI_HANDLE ViHandle, IN VIP_ULONG Timeout,
		OUT VIP_DESCRIPTOR **Descriptor);

/**
 * VipRecvNotify() - have a handler called with the first descriptor of the receive queue
 * @ViHandle: the VI, whose receive queue has no completion queue
 * @Context: first argument for the handler
 * @Handler: called once, on a thread of the library's, when the descriptor is completed and taken
 * Returns: as VipSendNotify().
 */
extern VIP_RETURN VipRecvNotify(IN VIP_VI_HANDLE ViHandle, IN VIP_PVOID Context,
		IN VIP_VI_HANDLER Handler);

/*
 * Completion queues
 */

/**
 * VipCreateCQ() - create a completion queue, which collects the completions of many VIs
 * @NicHandle: the NIC
 * @EntryCount: completions that it has to hold, more than 0
 * @CQHandle: the completion queue
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER, VIP_ERROR_RESOURCE.
 */
extern VIP_RETURN VipCreateCQ(IN VIP_NIC_HANDLE NicHandle, IN VIP_ULONG EntryCount,
		OUT VIP_CQ_HANDLE *CQHandle);

/**
 * VipDestroyCQ() - destroy a completion queue
 * @CQHandle: the completion queue
 * Its handlers that have not been called yet are dropped.
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_ERROR_RESOURCE while a VI uses it or a thread
 *   waits.
 */
extern VIP_RETURN VipDestroyCQ(IN VIP_CQ_HANDLE CQHandle);

/**
 * VipResizeCQ() - change the length of a completion queue
 * @CQHandle: the completion queue
 * @EntryCount: completions that it has to hold
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_ERROR_RESOURCE, also if it holds more entries
 *   than that.
 */
extern VIP_RETURN VipResizeCQ(IN VIP_CQ_HANDLE CQHandle, IN VIP_ULONG EntryCount);

/**
 * VipCQDone() - take the first entry of a completion queue
 * @CQHandle: the completion queue
 * @ViHandle: the VI of which a descriptor is completed
 * @RecvQueue: VIP_TRUE if it is on the receive queue
 * The descriptor itself is taken with VipSendDone() or VipRecvDone().
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_NOT_DONE when there is none.
 */
extern VIP_RETURN VipCQDone(IN VIP_CQ_HANDLE CQHandle, OUT VIP_VI_HANDLE *ViHandle,
		OUT VIP_BOOLEAN *RecvQueue);

/**
 * VipCQWait() - wait for an entry of a completion queue, and take it
 * @CQHandle: the completion queue
 * @Timeout: milliseconds, or VIP_INFINITE
 * @ViHandle: the VI of which a descriptor is completed
 * @RecvQueue: VIP_TRUE if it is on the receive queue
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER, VIP_TIMEOUT.
 */
extern VIP_RETURN VipCQWait(IN VIP_CQ_HANDLE CQHandle, IN VIP_ULONG Timeout,
		OUT VIP_VI_HANDLE *ViHandle, OUT VIP_BOOLEAN *RecvQueue);

/**
 * VipCQNotify() - have a handler called with the first entry of a completion queue
 * @CQHandle: the completion queue
 * @Context: first argument for the handler
 * @Handler: called once, on a thread of the library's
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER, VIP_ERROR_RESOURCE.
 */
extern VIP_RETURN VipCQNotify(IN VIP_CQ_HANDLE CQHandle, IN VIP_PVOID Context,
		IN VIP_CQ_HANDLER Handler);

/* Giganet's functions: programs ask for them, and also work without them. */

/**
 * VipAddTagCQ() - report messages with a tag by a separate event
 * @CQHandle: the completion queue
 * @Event: the event
 * @Tag: the tag
 * @Priority: the priority
 * No adapter supports tags; without them programs distinguish messages by their immediate data.
 * Returns: VIP_ERROR_NOT_SUPPORTED; VIP_INVALID_PARAMETER without a completion queue.
 */
extern VIP_RETURN VipAddTagCQ(IN VIP_CQ_HANDLE CQHandle, IN OUT VIP_EVENT_HANDLE *Event,
		IN VIP_ULONG Tag, IN VIP_ULONG Priority);

/**
 * VipRemoveTagCQ() - undo VipAddTagCQ()
 * @CQHandle: the completion queue
 * @Event: the event
 * @Tag: the tag
 * Returns: VIP_ERROR_NOT_SUPPORTED; VIP_INVALID_PARAMETER without a completion queue.
 */
extern VIP_RETURN VipRemoveTagCQ(IN VIP_CQ_HANDLE CQHandle, IN VIP_EVENT_HANDLE Event,
		IN VIP_ULONG Tag);

/**
 * VipPostDeferredSends() - post the sends that wait for the peer's receives
 * @ViHandle: the VI
 * @EnableInterrupt: not used
 * @SendsDeferred: set to VIP_FALSE, because no send waits; may be NULL
 * Every send is posted by VipPostSend() itself, because no NIC supports VIP_SERVICE_DFC.
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER.
 */
extern VIP_RETURN VipPostDeferredSends(IN VIP_VI_HANDLE ViHandle, IN VIP_BOOLEAN EnableInterrupt,
		IN OUT VIP_BOOLEAN *SendsDeferred);

/*
 * Errors, management and names
 */

/**
 * VipErrorCallback() - set the handler for errors that no call can return
 * @NicHandle: the NIC
 * @Context: first argument for the handler
 * @Handler: called on a thread of the library; NULL for the default handler, which prints the error
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER.
 */
extern VIP_RETURN VipErrorCallback(IN VIP_NIC_HANDLE NicHandle, IN VIP_PVOID Context,
		IN VIP_ERROR_HANDLER Handler);

/**
 * VipQuerySystemManagementInfo() - query management information
 * @NicHandle: the NIC
 * @InfoType: VIP_SMI_AUTODISCOVERY, for a VIP_AUTODISCOVERY_LIST
 * @SysManInfo: filled
 * The library discovers no nodes, so the list is always empty.
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER.
 */
extern VIP_RETURN VipQuerySystemManagementInfo(IN VIP_NIC_HANDLE NicHandle, IN VIP_ULONG InfoType,
		OUT VIP_PVOID SysManInfo);

/**
 * VipNSInit() - begin to use the name service
 * @NicHandle: the NIC
 * @NSInitInfo: not used
 * Names are those of the file that VIPL_HOSTS names, then those of the host's resolver.
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_ERROR_NAMESERVICE when that file cannot be read.
 */
extern VIP_RETURN VipNSInit(IN VIP_NIC_HANDLE NicHandle, IN VIP_PVOID NSInitInfo);

/**
 * VipNSShutdown() - end the use of the name service
 * @NicHandle: the NIC
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_ERROR_NAMESERVICE without VipNSInit().
 */
extern VIP_RETURN VipNSShutdown(IN VIP_NIC_HANDLE NicHandle);

/**
 * VipNSGetHostByName() - ask for the address of a host
 * @NicHandle: the NIC
 * @Name: the host's name
 * @Address: filled: HostAddressLen and the address; its DiscriminatorLen is set to 0
 * @NameIndex: 0 for the first address of that name, and so on
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_ERROR_NAMESERVICE when there is none.
 */
extern VIP_RETURN VipNSGetHostByName(IN VIP_NIC_HANDLE NicHandle, IN VIP_CHAR *Name,
		OUT VIP_NET_ADDRESS *Address, IN VIP_ULONG NameIndex);

/**
 * VipNSGetHostByAddr() - ask for the name of a host
 * @NicHandle: the NIC
 * @Address: the host's address
 * @Name: the name, ended by a NUL
 * @NameLen: in: bytes that fit in Name; out: bytes of the name with its NUL
 * Returns: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_ERROR_NAMESERVICE when it has none;
 *   VIP_ERROR_RESOURCE when it does not fit, with the bytes it needs in NameLen.
 */
extern VIP_RETURN VipNSGetHostByAddr(IN VIP_NIC_HANDLE NicHandle, IN VIP_NET_ADDRESS *Address,
		OUT VIP_CHAR *Name, IN OUT VIP_ULONG *NameLen);

#ifdef __cplusplus
}
#endif

#endif /* VIPL_H */
