/* Graphs: captured from a stream, launched as one API call whose nodes all
 * carry that call's correlation id. */
#include "cuda.h"

static uint32_t graph_ids;

/* Called with sim_lock held. */
void graph_add(struct graph *g, const struct fg_work *w)
{
	if (g->n == g->cap) {
		size_t cap = g->cap ? 2 * g->cap : 16;
		struct fg_work *nodes = realloc(g->nodes, cap * sizeof *nodes);
		if (!nodes)
			return;
		g->nodes = nodes;
		g->cap = cap;
	}
	g->nodes[g->n++] = *w;
}

API int cuStreamBeginCapture_v2(void *stream, int mode)
{
	(void)mode;
	BEGIN(D_cuStreamBeginCapture_v2);
	NEED((uintptr_t)stream > 2, ERR_CAPTURE);
	struct stream *s = stream;
	struct graph *g = calloc(1, sizeof *g);
	NEED(g, ERR_MEMORY);
	g->id = next_id(&graph_ids);
	pthread_mutex_lock(&sim_lock);
	int busy = s->capture != NULL;
	if (!busy)
		s->capture = g;
	pthread_mutex_unlock(&sim_lock);
	if (busy)
		free(g);
	END(busy ? ERR_CAPTURE : OK);
}

API int cuStreamIsCapturing(void *stream, int *status)
{
	BEGIN(D_cuStreamIsCapturing);
	struct stream *s = stream_of(stream);
	NEED(s, ERR_CONTEXT);
	NEED(status, ERR_VALUE);
	*status = s->capture != NULL;
	END(OK);
}

API int cuStreamEndCapture(void *stream, void **graph)
{
	BEGIN(D_cuStreamEndCapture);
	NEED((uintptr_t)stream > 2 && graph, ERR_VALUE);
	struct stream *s = stream;
	pthread_mutex_lock(&sim_lock);
	*graph = s->capture;
	s->capture = NULL;
	pthread_mutex_unlock(&sim_lock);
	END(*graph ? OK : ERR_CAPTURE);
}

API int cuGraphInstantiateWithFlags(void **exec, void *graph, uint64_t flags)
{
	(void)flags;
	BEGIN(D_cuGraphInstantiateWithFlags);
	NEED(exec && graph, ERR_VALUE);
	const struct graph *g = graph;
	struct graph *x = calloc(1, sizeof *x);
	NEED(x, ERR_MEMORY);
	x->id = next_id(&graph_ids);
	x->executable = 1;
	pthread_mutex_lock(&sim_lock);
	for (size_t i = 0; i < g->n; i++)
		graph_add(x, &g->nodes[i]);
	pthread_mutex_unlock(&sim_lock);
	*exec = x;
	END(OK);
}

API int cuGraphLaunch(void *exec, void *stream)
{
	BEGIN(D_cuGraphLaunch);
	struct graph *x = exec;
	struct stream *s = stream_of(stream);
	NEED(x && x->executable, ERR_HANDLE);
	NEED(s, ERR_CONTEXT);
	NEED(!s->capture, ERR_CAPTURE);
	for (size_t i = 0; i < x->n; i++) {
		struct fg_work w = x->nodes[i];
		w.graph = x->id;
		w.graph_node = (uint64_t)x->id << 32 | i;
		sim_submit(&a_, s, &w);
	}
	END(OK);
}

static void free_graph(struct graph *g)
{
	free(g->nodes);
	free(g);
}

API int cuGraphExecDestroy(void *exec)
{
	BEGIN(D_cuGraphExecDestroy);
	NEED(exec, ERR_HANDLE);
	free_graph(exec);
	END(OK);
}

API int cuGraphDestroy(void *graph)
{
	BEGIN(D_cuGraphDestroy);
	NEED(graph, ERR_HANDLE);
	free_graph(graph);
	END(OK);
}
