#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks a workload card against its schema and against the training config beside it.

    check_card.py CARD CONFIG [--values]     workload_card.yaml, train_config.toml
    check_card.py --packages PYPROJECT       the dependencies of a pyproject.toml, one a line

Status 0, or 3 with one line for each fault, with file and line. --values prints sizes for a shell. Needs
Python 3.6 alone: the subsets of YAML and TOML that these files use are read here, with their lines.
"""

import json
import os
import re
import sys

# A key of the card, and the one of the config that says the same.
SAME = [
    ("Model-executor.model_plan_parallelization.dp_replicate", "parallelism.data_parallel_replicate_degree"),
    ("Model-executor.model_plan_parallelization.dp_shard", "parallelism.data_parallel_shard_degree"),
    ("Model-executor.model_plan_parallelization.tp", "parallelism.tensor_parallel_degree"),
    ("Model-executor.model_plan_parallelization.pp", "parallelism.pipeline_parallel_degree"),
    ("Model-executor.model_plan_parallelization.cp", "parallelism.context_parallel_degree"),
    ("Model-executor.model_plan_parallelization.ep", "parallelism.expert_parallel_degree"),
    ("workload.data.batch_size", "training.local_batch_size"),
    ("workload.data.seq_len", "training.seq_len"),
    ("workload.data.dataset", "training.dataset"),
    ("workload.model.iteration", "training.steps"),
    ("workload.model.precision", "training.mixed_precision_param"),
]
PRECISIONS = {"bfloat16": "bf16", "float32": "fp32", "float16": "fp16"}
PLAN = "Model-executor.model_plan_parallelization."


class Fault(Exception):
    pass


def scalar(text):
    """A number, a truth value, a list of such, or a text."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        return [scalar(item.strip()) for item in re.findall(r'"[^"]*"|[^,"]+', text[1:-1]) if item.strip()]
    if len(text) > 1 and text[0] in "\"'" and text[-1] == text[0]:
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text.replace("_", ""))
        except ValueError:
            pass
    return None if text in ("", "null", "~") else text


def without_comment(line):
    """Up to a # that stands in no quotes."""
    quote = ""
    for i, c in enumerate(line):
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c == "#" and (i == 0 or line[i - 1].isspace()):
            return line[:i]
    return line


def lines_of(path):
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as why:
        raise Fault(f"{path}: {getattr(why, 'strerror', None) or why}")
    for number, line in enumerate(text.splitlines(), 1):
        line = without_comment(line).rstrip()
        if line.strip():
            yield number, line


def read_yaml(path):
    """Mappings by indentation: a tree of dicts, and the line of each dotted key."""
    tree, lines = {}, {}
    levels = [(-1, tree, "")]
    for number, line in lines_of(path):
        indent = len(line) - len(line.lstrip(" "))
        key, colon, value = line.strip().partition(":")
        if not colon or line.strip().startswith("- ") or "\t" in line:
            raise Fault(f"{path}:{number}: not 'key: value'")
        while levels[-1][0] >= indent:
            levels.pop()
        _, parent, prefix = levels[-1]
        key = key.strip("\"'")
        if key in parent:
            raise Fault(f"{path}:{number}: {prefix + key} stands there twice")
        lines[prefix + key] = number
        parent[key] = scalar(value)
        if not value.strip():
            parent[key] = {}
            levels.append((indent, parent[key], prefix + key + "."))
    return tree, lines


def read_toml(path):
    """Tables of scalars and lists of scalars: dotted key -> value, and -> line."""
    values, lines, table, pending = {}, {}, "", None
    for number, line in lines_of(path):
        if pending:
            pending = (pending[0], pending[1] + line.strip(), pending[2])
        elif re.match(r"\s*\[[\w.-]+\]$", line):
            table = line.strip()[1:-1] + "."
            continue
        else:
            key, equals, value = line.partition("=")
            if not equals:
                raise Fault(f"{path}:{number}: not 'key = value'")
            pending = (table + key.strip(), value.strip(), number)
        if pending[1].startswith("[") and not pending[1].endswith("]"):
            continue
        if pending[0] in values:
            raise Fault(f"{path}:{number}: {pending[0]} stands there twice")
        values[pending[0]], lines[pending[0]] = scalar(pending[1]), pending[2]
        pending = None
    return values, lines


def get(tree, key):
    for part in key.split("."):
        tree = tree.get(part) if isinstance(tree, dict) else None
    return tree


TYPES = {"object": dict, "string": str, "integer": int, "number": (int, float), "array": list, "boolean": bool}


def check_schema(value, schema, key, say):
    """The keywords of JSON Schema that card.schema.json uses."""
    kind = schema.get("type")
    if kind and (not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind != "boolean")):
        say(key, f"{key} should be of type {kind}, not '{value}'")
        return
    if "enum" in schema and value not in schema["enum"]:
        say(key, f"{key} is '{value}', not one of {', '.join(map(str, schema['enum']))}")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        say(key, f"{key} is '{value}', which does not match {schema['pattern']}")
    if "minimum" in schema and value < schema["minimum"]:
        say(key, f"{key} is {value}, less than {schema['minimum']}")
    if kind == "object":
        prefix = key + "." if key else ""
        for name in schema.get("required", []):
            if name not in value:
                say(key, f"{prefix}{name} is missing")
        for name, item in value.items():
            if name in schema.get("properties", {}):
                check_schema(item, schema["properties"][name], prefix + name, say)
            elif schema.get("additionalProperties") is False:
                say(prefix + name, f"{prefix}{name} is no key of a card")


def compare(card, config, config_lines, config_path, say):
    """What both say."""
    for ours, theirs in SAME:
        want, got = get(card, ours), config.get(theirs)
        if theirs.startswith("training.mixed"):
            got = PRECISIONS.get(got, got)
        if want is not None and got is not None and want != got:
            say(ours, f"{ours} is {want}, but {config_path}:{config_lines[theirs]} says {theirs} = {got}")
        elif want is not None and got is None:
            say(ours, f"{ours} is {want}, but {config_path} has no {theirs}")

def check_gpus(card, say):
    """That the axes make up the GPUs, and these whole nodes."""
    sizes = [get(card, PLAN + axis) for axis in ("dp_replicate", "dp_shard", "tp", "pp", "cp")]
    gpus, each = (get(card, "workload.hardware.xpu_spec." + key) for key in ("total_count", "count_per_node"))
    product = 1
    for size in sizes:
        product *= size or 1
    if product != gpus:
        say("workload.hardware.xpu_spec.total_count", f"{gpus} GPUs, but dp_replicate x dp_shard x tp x pp x cp = {product}")
    if gpus % each:
        say("workload.hardware.xpu_spec.count_per_node", f"{gpus} GPUs are no whole number of nodes with {each}")


def values_for_shell(card):
    plan = {axis: get(card, PLAN + axis) or 1 for axis in ("dp_replicate", "dp_shard", "tp", "pp", "cp", "ep")}
    gpus, each = (get(card, "workload.hardware.xpu_spec." + key) for key in ("total_count", "count_per_node"))
    plan.update(gpus=gpus, nodes=max(1, gpus // each), steps=get(card, "workload.model.iteration"))
    return "".join(f"card_{key}={value}\n" for key, value in plan.items())


def check(card_path, config_path):
    """The card; faults are raised as one text."""
    faults = []
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "card.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    card, lines = read_yaml(card_path)
    config, config_lines = read_toml(config_path)

    def say(key, text):
        while key and key not in lines:
            key = key.rpartition(".")[0]
        faults.append(f"{card_path}:{lines.get(key, 1)}: {text}")

    check_schema(card, schema, "", say)
    if not faults:
        compare(card, config, config_lines, config_path, say)
    if not faults:
        check_gpus(card, say)
    if faults:
        raise Fault("\n".join(faults))
    return card


def main():
    arguments = sys.argv[1:]
    try:
        if len(arguments) == 2 and arguments[0] == "--packages":
            print("\n".join(read_toml(arguments[1])[0].get("project.dependencies", [])))
            return 0
        if len(arguments) < 2 or arguments[2:] not in ([], ["--values"]):
            print(__doc__, file=sys.stderr)
            return 2
        card = check(*arguments[:2])
        if arguments[2:]:
            print(values_for_shell(card), end="")
        return 0
    except Fault as fault:
        print(fault, file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
