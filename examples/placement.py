"""Shared code of the examples with many devices: runs in several processes, and pictures of divided arrays."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np

import primax as px

COUNT = 8
GRAY = 8  # in the colors of the pictures
if "PRIMAX_NUM_CPU_DEVICES" not in os.environ:
    px.config.update("num_cpu_devices", COUNT)


def join(processes):
    """Start so many processes with eight devices in all, and join them; False in the process that started them."""
    if processes == 1:
        return True
    if "PRIMAX_PROCESS_ID" in os.environ:
        px.distributed.initialize()
        return True
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    shared = {
        "PRIMAX_COORDINATOR_ADDRESS": address,
        "PRIMAX_NUM_PROCESSES": str(processes),
        "PRIMAX_NUM_CPU_DEVICES": str(COUNT // processes),
    }
    running = [
        subprocess.Popen([sys.executable, *sys.argv], env={**os.environ, **shared, "PRIMAX_PROCESS_ID": str(number)})
        for number in range(processes)
    ]
    codes = [process.wait() for process in running]
    if any(codes):
        sys.exit(max(map(abs, codes)))
    return False


def report(losses):
    """Print the difference between the first training and each other one."""
    (name, first), *_ = losses.items()
    for way, values in losses.items():
        far = np.abs(values - first).max()
        print(f"{way:15} loss {values[0]:.3f} -> {values[-1]:.3f}, largest difference from {name} {far:.1e}")


def draw_owners(axis, name, array):
    """Draw an array, or the first of a stack: each part with the numbers of the devices that hold it.

    With one process the color of a part shows its first device. With several it shows its process; gray parts are in
    several processes.
    """
    several = px.process_count() > 1
    numbers = {device: number for number, device in enumerate(px.devices())}
    height, width = array.shape[-2:]
    parts = {}
    for device, index in array.sharding.devices_indices_map(array.shape).items():
        (top, bottom), (left, right) = (
            p.indices(size)[:2] for p, size in zip(index[-2:], (height, width), strict=True)
        )
        parts.setdefault((top, bottom, left, right), []).append(device)
    owner = np.zeros((height, width))
    for (top, bottom, left, right), devices in parts.items():
        processes = {device.process_index for device in devices}
        color = numbers[devices[0]] if not several else GRAY if len(processes) > 1 else 3 * min(processes)
        owner[top:bottom, left:right] = color
        text = " ".join(str(numbers[device]) for device in devices)
        axis.text((left + right - 1) / 2, (top + bottom - 1) / 2, text, ha="center", va="center", fontsize=9)
        edges = plt.Rectangle((left - 0.5, top - 0.5), right - left, bottom - top, fill=False, color="white", lw=1.5)
        axis.add_patch(edges)
    axis.imshow(owner, aspect="auto", cmap="Set3", vmin=0, vmax=11, interpolation="nearest")
    axis.set(title=f"{name}\n{array.shape}, {array.sharding.spec}", xticks=[], yticks=[])


def draw(arrays, losses, path):
    """Draw the divided arrays and the losses."""
    figure, axes = plt.subplots(1, len(arrays) + 1, figsize=(3.4 * len(arrays) + 4, 3.6), layout="constrained")
    for axis, (name, array) in zip(axes, arrays.items(), strict=False):
        draw_owners(axis, name, array)
    for style, (name, values) in zip(("-", "--", ":"), losses.items(), strict=True):
        axes[-1].plot(values, style, label=name)
    axes[-1].set(title="cross entropy", xlabel="step")
    axes[-1].legend()
    colors = " (green: process 0, red: process 1, gray: both)" if px.process_count() == 2 else ""
    figure.suptitle(f"the numbers of the devices that hold each part{colors}", fontsize=11)
    figure.savefig(path)
