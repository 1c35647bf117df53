/* The workload's options and the functions it takes from the vendor libraries. */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <stddef.h>
#include <stdint.h>

struct options {
	int kernels, threads, streams, graphs;   /* kernels a thread, graph launches a thread */
	int fork, subprocess, exit_code, abort, underscore_exit, no_cuda, print, signal, crash, hang_exit, nvtx;
	double sleep;                            /* seconds before the end */
	int step_sleep_ms, step_kernels;         /* after each step; launches in one */
	int seconds, forks;                      /* 0: no limit of time; of all threads together */
	const char *counts, *progress;
};

struct dim3 { unsigned x, y, z; };

struct driver_config { unsigned dim[6]; unsigned shared; void *stream; void *attributes; unsigned n; };

/* One row a function: result type, name, parameters. */
#define DRIVER_FUNCTIONS(F)                                                                       \
	F(int, cuInit, (unsigned))                                                                \
	F(int, cuModuleLoadData, (void **, const void *))                                         \
	F(int, cuModuleGetFunction, (void **, void *, const char *))                              \
	F(int, cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned,         \
				unsigned, unsigned, void *, void **, void **))                    \
	F(int, cuLaunchKernelEx, (const struct driver_config *, void *, void **, void **))

#define RUNTIME_FUNCTIONS(F)                                                                      \
	F(void **, __cudaRegisterFatBinary, (void *))                                             \
	F(void, __cudaRegisterFunction, (void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *)) \
	F(int, cudaGetDevice, (int *))                                                            \
	F(int, cudaGetLastError, (void))                                                          \
	F(int, cudaMalloc, (void **, size_t))                                                     \
	F(int, cudaMallocHost, (void **, size_t))                                                 \
	F(int, cudaFree, (void *))                                                                \
	F(int, cudaFreeHost, (void *))                                                            \
	F(int, cudaMemcpyAsync, (void *, const void *, size_t, int, void *))                      \
	F(int, cudaMemsetAsync, (void *, int, size_t, void *))                                    \
	F(int, cudaLaunchKernel, (const void *, struct dim3, struct dim3, void **, size_t, void *)) \
	F(int, cudaStreamCreateWithPriority, (void **, unsigned, int))                            \
	F(int, cudaStreamSynchronize, (void *))                                                   \
	F(int, cudaStreamWaitEvent, (void *, void *, unsigned))                                   \
	F(int, cudaEventCreateWithFlags, (void **, unsigned))                                     \
	F(int, cudaEventRecord, (void *, void *))                                                 \
	F(int, cudaEventQuery, (void *))                                                          \
	F(int, cudaEventSynchronize, (void *))                                                    \
	F(int, cudaEventDestroy, (void *))                                                        \
	F(int, cudaStreamBeginCapture, (void *, int))                                             \
	F(int, cudaStreamEndCapture, (void *, void **))                                           \
	F(int, cudaGraphInstantiate, (void **, void *, uint64_t))                                 \
	F(int, cudaGraphLaunch, (void *, void *))                                                 \
	F(int, cudaGraphExecDestroy, (void *))                                                    \
	F(int, cudaGraphDestroy, (void *))                                                        \
	F(int, cudaDeviceSynchronize, (void))

#define DECLARE(result, name, params) extern result(*name) params;
DRIVER_FUNCTIONS(DECLARE)
RUNTIME_FUNCTIONS(DECLARE)
#undef DECLARE

extern int (*push_external)(uint32_t kind, uint64_t id);
extern int (*pop_external)(uint32_t kind, uint64_t *last);

/* load_libraries finds the functions, or ends the program with status 90. */
void load_libraries(void);
/* train runs the loop on all threads, or ends the program with status 91 when a
 * call fails. */
void train(const struct options *o);
/* open_progress makes the file of --progress, if it was asked for; progress notes
 * there that a thread's launches so far have ended. */
void open_progress(const struct options *o);
void progress(int thread, int launches);
/* nvtx.c: marks and ranges; names are copied by whoever records them. push and pop
 * give the depth, or a negative number where nobody keeps count. */
int nvtx_push(const char *name);
int nvtx_pop(void);
void nvtx_mark(const char *name);
uint64_t nvtx_start(const char *name);
void nvtx_end(uint64_t id);
void *nvtx_domain(const char *name);
int nvtx_domain_push(void *domain, const char *name);
int nvtx_domain_pop(void *domain);
void nvtx_domain_mark(void *domain, const char *name);
/* storm forks the n-th child of the program, which ends by _exit, by exit or as
 * another program, with the device or without, in turn; and waits for it. */
void storm(int n);

#endif
