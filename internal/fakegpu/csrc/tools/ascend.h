/* Ascend's runtime, as far as the workloads use it. */
#ifndef ASCEND_H
#define ASCEND_H

#include <stddef.h>
#include <stdint.h>

int aclInit(const char *config);
int aclFinalize(void);
int aclrtSetDevice(int32_t device);
int aclrtCreateStream(void **stream);
int aclrtSynchronizeStream(void *stream);
int aclrtSynchronizeDevice(void);
int aclrtMalloc(void **p, size_t bytes, int policy);
int aclrtFree(void *p);
int aclrtMemcpy(void *dst, size_t room, const void *src, size_t bytes, int kind);
int aclrtMemcpyAsync(void *dst, size_t room, const void *src, size_t bytes, int kind, void *stream);
int aclrtMemsetAsync(void *dst, size_t room, int32_t value, size_t bytes, void *stream);
int aclrtLaunchKernel(void *kernel, uint32_t blocks, const void *args, size_t bytes, void *stream);
int aclnnMatmul(void *stream);
int HcclAllReduce(void *send, void *recv, uint64_t count, uint32_t data_type, uint32_t op, void *comm, void *stream);
int aclmdlRICaptureBegin(void *stream, int mode);
int aclmdlRICaptureEnd(void *stream, void **graph);
int aclmdlRIExecuteAsync(void *graph, void *stream);
uint64_t mstxRangeStartA(const char *name, void *stream);
void mstxRangeEnd(uint64_t id);
void mstxMarkA(const char *name, void *stream);

enum { ACL_H2D = 1, ACL_D2H = 2 }; /* directions of copies */

#endif
