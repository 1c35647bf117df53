/* Records of the activity library of Ascend: packed, the size rounded up to 8. The
 * numbers asserted are the documented ones. */
#ifndef FAKEMSPTI_RECORDS_H
#define FAKEMSPTI_RECORDS_H

#include <stddef.h>
#include <stdint.h>

enum {
	MARKER = 1, KERNEL = 2, API_ANY = 3, HCCL = 4, MEMORY = 5, MEMSET = 6, MEMCPY = 7, EXTERNAL = 8,
	COMMUNICATION = 9, ACL_API = 10, NODE_API = 11, RUNTIME_API = 12, N_KINDS = 13
};

#define RECORD __attribute__((packed, aligned(8)))

struct RECORD rec_marker {
	uint32_t kind, flag, source;
	uint64_t timestamp, id;
	uint32_t object[2];
	const char *name, *domain;
};
struct RECORD rec_kernel {
	uint32_t kind;
	uint64_t start, end;
	uint32_t device, stream;
	uint64_t correlation;
	const char *type, *name;
};
struct RECORD rec_api {
	uint32_t kind;
	uint64_t start, end;
	uint32_t pid, tid;
	uint64_t correlation;
	const char *name;
};
struct RECORD rec_hccl {
	uint32_t kind;
	uint64_t start, end;
	uint32_t device, stream;
	double bandwidth;
	const char *name, *communicator;
};
struct RECORD rec_memory {
	uint32_t kind, op, memory;
	uint64_t correlation, start, end, address, bytes;
	uint32_t pid, device, stream;
};
struct RECORD rec_memset {
	uint32_t kind, value;
	uint64_t bytes, start, end;
	uint32_t device, stream;
	uint64_t correlation;
	uint8_t async;
};
struct RECORD rec_memcpy {
	uint32_t kind, copy;
	uint64_t bytes, start, end;
	uint32_t device, stream;
	uint64_t correlation;
	uint8_t async;
};
struct RECORD rec_external {
	uint32_t kind, external;
	uint64_t id, correlation;
};
struct RECORD rec_communication {
	uint32_t kind, data_type;
	uint64_t count;
	uint32_t device, stream;
	uint64_t start, end;
	const char *algorithm, *name, *communicator;
	uint64_t correlation;
};

#define AT(type, field, offset) _Static_assert(offsetof(struct rec_##type, field) == offset, #type "." #field)
#define SIZE(type, bytes) _Static_assert(sizeof(struct rec_##type) == bytes, #type)
SIZE(marker, 56); AT(marker, flag, 4); AT(marker, source, 8); AT(marker, timestamp, 12); AT(marker, id, 20);
AT(marker, object, 28); AT(marker, name, 36); AT(marker, domain, 44);
SIZE(kernel, 56); AT(kernel, start, 4); AT(kernel, end, 12); AT(kernel, device, 20); AT(kernel, stream, 24);
AT(kernel, correlation, 28); AT(kernel, type, 36); AT(kernel, name, 44);
SIZE(api, 48); AT(api, start, 4); AT(api, end, 12); AT(api, pid, 20); AT(api, tid, 24); AT(api, correlation, 28); AT(api, name, 36);
SIZE(hccl, 56); AT(hccl, start, 4); AT(hccl, end, 12); AT(hccl, device, 20); AT(hccl, stream, 24); AT(hccl, bandwidth, 28);
AT(hccl, name, 36); AT(hccl, communicator, 44);
SIZE(memory, 64); AT(memory, op, 4); AT(memory, memory, 8); AT(memory, correlation, 12); AT(memory, start, 20); AT(memory, end, 28);
AT(memory, address, 36); AT(memory, bytes, 44); AT(memory, pid, 52); AT(memory, device, 56); AT(memory, stream, 60);
SIZE(memset, 56); AT(memset, value, 4); AT(memset, bytes, 8); AT(memset, start, 16); AT(memset, end, 24); AT(memset, device, 32);
AT(memset, stream, 36); AT(memset, correlation, 40); AT(memset, async, 48);
SIZE(memcpy, 56); AT(memcpy, copy, 4); AT(memcpy, bytes, 8); AT(memcpy, start, 16); AT(memcpy, end, 24); AT(memcpy, device, 32);
AT(memcpy, stream, 36); AT(memcpy, correlation, 40); AT(memcpy, async, 48);
SIZE(external, 24); AT(external, external, 4); AT(external, id, 8); AT(external, correlation, 16);
SIZE(communication, 72); AT(communication, data_type, 4); AT(communication, count, 8); AT(communication, device, 16);
AT(communication, stream, 20); AT(communication, start, 24); AT(communication, end, 32); AT(communication, algorithm, 40);
AT(communication, name, 48); AT(communication, communicator, 56); AT(communication, correlation, 64);

/* Bytes of a kind's records, 0 for a kind that there is not. */
size_t record_size(uint32_t kind);

#endif
