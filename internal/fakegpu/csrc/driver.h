/* The driver functions that the other libraries call, with handles as pointers. */
#ifndef FAKEGPU_DRIVER_H
#define FAKEGPU_DRIVER_H

#include <stddef.h>
#include <stdint.h>

int cuInit(unsigned flags);
int cuGetProcAddress_v2(const char *symbol, void **fn, int version, uint64_t flags, int *status);
int cuDeviceGetCount(int *count);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDevicePrimaryCtxRetain(void **ctx, int device);
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active);
int cuCtxSetCurrent(void *ctx);
int cuCtxGetCurrent(void **ctx);
int cuCtxSynchronize(void);
int cuModuleLoadData(void **module, const void *image);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		   unsigned shared, void *stream, void **params, void **extra);
int cuMemAlloc_v2(uint64_t *ptr, size_t bytes);
int cuMemFree_v2(uint64_t ptr);
int cuMemHostAlloc(void **ptr, size_t bytes, unsigned flags);
int cuMemFreeHost(void *ptr);
int cuMemcpyHtoDAsync_v2(uint64_t dst, const void *src, size_t bytes, void *stream);
int cuMemcpyDtoHAsync_v2(void *dst, uint64_t src, size_t bytes, void *stream);
int cuMemcpyDtoDAsync_v2(uint64_t dst, uint64_t src, size_t bytes, void *stream);
int cuMemcpyHtoD_v2(uint64_t dst, const void *src, size_t bytes);
int cuMemcpyDtoH_v2(void *dst, uint64_t src, size_t bytes);
int cuMemcpyPeerAsync(uint64_t dst, void *dst_ctx, uint64_t src, void *src_ctx, size_t bytes, void *stream);
int cuMemsetD8Async(uint64_t dst, unsigned char value, size_t n, void *stream);
int cuMemsetD8_v2(uint64_t dst, unsigned char value, size_t n);
int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority);
int cuStreamDestroy_v2(void *stream);
int cuStreamSynchronize(void *stream);
int cuStreamQuery(void *stream);
int cuStreamWaitEvent(void *stream, void *event, unsigned flags);
int cuStreamBeginCapture_v2(void *stream, int mode);
int cuStreamIsCapturing(void *stream, int *status);
int cuStreamEndCapture(void *stream, void **graph);
int cuGraphInstantiateWithFlags(void **exec, void *graph, uint64_t flags);
int cuGraphLaunch(void *exec, void *stream);
int cuGraphExecDestroy(void *exec);
int cuGraphDestroy(void *graph);
int cuEventCreate(void **event, unsigned flags);
int cuEventDestroy_v2(void *event);
int cuEventRecord(void *event, void *stream);
int cuEventSynchronize(void *event);
int cuEventQuery(void *event);

#endif
