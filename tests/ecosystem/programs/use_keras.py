"""Training of a convolutional network, of attention over sequences of any length, and of an embedding."""

import json
import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)

images = rng.normal(size=(64, 12, 12, 1)).astype("float32")
labels = (images.mean((1, 2, 3)) > 0).astype("int32")
network = keras.Sequential(
    [
        keras.Input((12, 12, 1)),
        layers.Conv2D(8, 3, activation="relu"),
        layers.MaxPooling2D(2),
        layers.BatchNormalization(),
        layers.Flatten(),
        layers.Dropout(0.2),
        layers.Dense(16, activation="gelu"),
        layers.Dense(2),
    ]
)
network.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
history = network.fit(images, labels, epochs=3, batch_size=16, verbose=0, shuffle=False).history

inputs = keras.Input((None, 8))
hidden = layers.LSTM(6, return_sequences=True)(inputs)
hidden = layers.LayerNormalization()(layers.MultiHeadAttention(2, 4)(hidden, hidden))
attention = keras.Model(inputs, layers.Dense(1)(layers.GlobalAveragePooling1D()(hidden)))
attention.compile("sgd", "mse")
series = rng.normal(size=(8, 5, 8)).astype("float32")
errors = attention.fit(series, series.mean((1, 2))[:, None], epochs=2, verbose=0).history["loss"]

tokens = keras.Input((None,), dtype="int32")
hidden = layers.GRU(4)(layers.Conv1D(4, 3, padding="same")(layers.Embedding(20, 8)(tokens)))
classifier = keras.Model(tokens, layers.Dense(1, activation="sigmoid")(hidden))
classifier.compile("rmsprop", "binary_crossentropy")
words = rng.integers(0, 20, (16, 7))
entropies = classifier.fit(words, (words.sum(1) % 2).astype("float32"), epochs=2, verbose=0).history["loss"]

print(
    json.dumps(
        {
            "loss": history["loss"],
            "accuracy": history["accuracy"],
            "predictions": network.predict(images[:3], verbose=0).tolist(),
            "errors": errors,
            "shorter series": attention.predict(series[:, :3], verbose=0).tolist(),
            "entropies": entropies,
            "shapes": [list(model.output_shape) for model in (network, attention, classifier)],
        }
    )
)
