"""Memory that loading takes, in a process of its own: the parameters, and one tensor a reading thread."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from checkpoints.fixtures.vela2_decoder import TINY_SIZES, write_decoder

SIZES: Final = replace(
    TINY_SIZES,
    backbone={
        **TINY_SIZES.backbone,
        **{"vocab_size": 8192, "hidden_size": 1024, "intermediate_size": 3584, "num_attention_heads": 8},
        **{"head_dim": 128, "linear_num_key_heads": 8, "linear_num_value_heads": 8},
        **{"linear_key_head_dim": 128, "linear_value_head_dim": 128},
    },
    shards=3,
)
SPARE_MIB: Final = 24  # of the allocator, and of pieces that are converted

LOAD: Final = """
import gc, json, sys
from pathlib import Path

import jax

from checkpoints.package import load, resolve, verify
from vela_jax.forward.engine import BucketEngine
from vela_jax.forward.engine_args import EngineArgs
from vela_jax.forward.network import pure_network


def kib(name):
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


device = jax.devices("cpu")[0]
verified = verify(resolve(sys.argv[1]))
gc.collect()
Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
before = kib("VmRSS")
loaded = load(verified, device, precision=sys.argv[2])
network = pure_network(loaded.graphdef, loaded.params, loaded.max_input_tokens)
engine = BucketEngine(network, EngineArgs(warmup=(), background=()), device)
sizes = [leaf.nbytes for leaf in jax.tree.leaves(loaded.params)]
found = {"peak": kib("VmHWM") - before, "params": sum(sizes) / 1024, "largest": max(sizes) / 1024}
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("the peak of a process is read from /proc")
    root = tmp_path_factory.mktemp("memory")
    write_decoder(root, SIZES, 0, "F32")
    assert len(list(root.glob("model-*.safetensors"))) == 4
    return root


@pytest.mark.parametrize(("precision", "least"), [("float32", 240), ("bfloat16", 120)])
def test_no_second_copy_of_the_weights(package: Path, precision: str, least: int, record_property: Any) -> None:
    command = [sys.executable, "-c", LOAD, str(package), precision]
    process = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    found = json.loads(process.stdout)
    record_property("memory", found)
    print(found)
    assert found["params"] > least << 10
    assert found["peak"] < found["params"] + found["largest"] + (SPARE_MIB << 10)
