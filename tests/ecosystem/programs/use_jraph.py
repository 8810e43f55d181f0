"""A graph, a batch of graphs, and a network over them."""

import json

import jax
import jax.numpy as jnp
import jraph

graph = jraph.GraphsTuple(
    nodes=jnp.array([[0.0], [1.0], [2.0]]),
    senders=jnp.array([0, 1, 2]),
    receivers=jnp.array([1, 2, 0]),
    edges=jnp.array([[5.0], [6.0], [7.0]]),
    n_node=jnp.array([3]),
    n_edge=jnp.array([3]),
    globals=jnp.array([[1.0]]),
)
net = jraph.GraphNetwork(
    update_edge_fn=lambda edges, sent, received, context: edges + 2 * sent - received,
    update_node_fn=lambda nodes, sent, received, context: jnp.tanh(nodes + sent * 0.1 + received),
    update_global_fn=lambda nodes, edges, context: nodes + edges + context,
)
batch = jraph.pad_with_graphs(jraph.batch([graph, graph]), 8, 8, 3)
out = jax.jit(net)(batch)
slopes = jax.grad(lambda nodes: net(graph._replace(nodes=nodes)).globals.sum())(graph.nodes)
print(json.dumps({"nodes": out.nodes.tolist(), "globals": out.globals.tolist(), "slopes": slopes.tolist()}))
