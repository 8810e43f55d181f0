"""Evolution strategies on a bowl: CMA-ES step by step, and a genetic algorithm."""

import json

import jax
import jax.numpy as jnp
from evosax.algorithms import CMA_ES, SimpleGA

start = jnp.zeros(3)
target = jnp.array([0.5, -0.3, 0.2])
fitness = jax.vmap(lambda x: jnp.sum((x - target) ** 2))


def cma(key):
    es = CMA_ES(population_size=8, solution=start)
    params = es.default_params
    state = es.init(key, start, params)
    for _ in range(5):
        key, to_ask, to_tell = jax.random.split(key, 3)
        population, state = es.ask(to_ask, state, params)
        state, _ = es.tell(to_tell, population, fitness(population), state, params)
    return es.get_mean(state)


def genetic(key):
    ga = SimpleGA(population_size=8, solution=start)
    params = ga.default_params
    population = jax.random.normal(key, (8, 3))
    state = ga.init(key, population, fitness(population), params)
    population, state = ga.ask(key, state, params)
    return fitness(population)


print(json.dumps({"mean": cma(jax.random.key(0)).tolist(), "fitness": genetic(jax.random.key(1)).tolist()}))
