# SPDX-License-Identifier: MIT
"""Qwen3 with pipeline parallelism for TorchTitan 0.2, whose own spec of the model has no pipelining_fn.

A config loads it with `[experimental] custom_import = "qwen3_pipeline"`; scripts/slurm/job.sh puts this folder into
PYTHONPATH. TorchTitan prefers a registered spec to its own of the same name.
"""

import dataclasses

from torchtitan.distributed.pipeline_parallel import pipeline_llm
from torchtitan.models.qwen3 import get_train_spec
from torchtitan.protocols.train_spec import register_train_spec

register_train_spec("qwen3", dataclasses.replace(get_train_spec(), pipelining_fn=pipeline_llm))
