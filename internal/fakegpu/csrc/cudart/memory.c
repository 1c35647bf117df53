/* Memory of the runtime API. */
#include "cudart.h"

enum { HOST_TO_DEVICE = 1, DEVICE_TO_HOST, DEVICE_TO_DEVICE };

static uint64_t address(const void *p) { return (uint64_t)(uintptr_t)p; }

API int cudaMalloc(void **ptr, size_t bytes)
{
	BEGIN(R_cudaMalloc);
	uint64_t d = 0;
	int e = cuMemAlloc_v2(&d, bytes);
	if (!e)
		*ptr = (void *)(uintptr_t)d;
	END(e);
}

API int cudaFree(void *ptr)
{
	BEGIN(R_cudaFree);
	END(ptr ? cuMemFree_v2(address(ptr)) : 0);
}

API int cudaMallocHost(void **ptr, size_t bytes)
{
	BEGIN(R_cudaMallocHost);
	END(cuMemHostAlloc(ptr, bytes, 0));
}

API int cudaFreeHost(void *ptr)
{
	BEGIN(R_cudaFreeHost);
	END(cuMemFreeHost(ptr));
}

API int cudaMemcpyAsync(void *dst, const void *src, size_t bytes, int kind, void *stream)
{
	BEGIN(R_cudaMemcpyAsync);
	switch (kind) {
	case HOST_TO_DEVICE: END(cuMemcpyHtoDAsync_v2(address(dst), src, bytes, stream));
	case DEVICE_TO_HOST: END(cuMemcpyDtoHAsync_v2(dst, address(src), bytes, stream));
	case DEVICE_TO_DEVICE: END(cuMemcpyDtoDAsync_v2(address(dst), address(src), bytes, stream));
	}
	END(21); /* cudaErrorInvalidMemcpyDirection */
}

API int cudaMemcpy(void *dst, const void *src, size_t bytes, int kind)
{
	BEGIN(R_cudaMemcpy);
	switch (kind) {
	case HOST_TO_DEVICE: END(cuMemcpyHtoD_v2(address(dst), src, bytes));
	case DEVICE_TO_HOST: END(cuMemcpyDtoH_v2(dst, address(src), bytes));
	case DEVICE_TO_DEVICE: END(cuMemcpyDtoDAsync_v2(address(dst), address(src), bytes, NULL));
	}
	END(21);
}

API int cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device, size_t bytes, void *stream)
{
	BEGIN(R_cudaMemcpyPeerAsync);
	END(cuMemcpyPeerAsync(address(dst), rt_context(dst_device), address(src), rt_context(src_device), bytes, stream));
}

API int cudaMemset(void *dst, int value, size_t bytes)
{
	BEGIN(R_cudaMemset);
	END(cuMemsetD8_v2(address(dst), (unsigned char)value, bytes));
}

API int cudaMemsetAsync(void *dst, int value, size_t bytes, void *stream)
{
	BEGIN(R_cudaMemsetAsync);
	END(cuMemsetD8Async(address(dst), (unsigned char)value, bytes, stream));
}
