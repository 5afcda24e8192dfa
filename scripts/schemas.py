#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""JSON Schemas of what commands print (share/schemas/NAME.json), against the results that tests have left.

    scripts/schemas.py --learn FOLDER [--anew]   adds what the results have and a schema lacks; --anew: forgets the rest
    scripts/schemas.py --check FOLDER            names each key or type that a schema lacks; status 1 when there is one
    scripts/schemas.py --strict SCHEMA           prints the schema with unknown keys refused

A result is a file that begins with its "schema", as the commands write it. Schemas are learned rather than written, so
that no key is listed by hand beside the code that writes it; what is published accepts unknown keys, because later
versions add some, and any value may be null, because that is what is not known. `make schemas` renews them.
"""
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "share", "schemas")
DIALECT = "https://json-schema.org/draft/2020-12/schema"
BEGINS = re.compile(rb'\s*\[?\s*\{\s*"schema":\t"specter\.')  # as cJSON prints it: what tests write is no result

# Objects whose keys are data, by the ends of their paths.
MAPS = (".launches.classes", ".coverage.untimed_ops", ".metrics[].details", ".settings", ".export", ".environment", ".env",
        ".variables")
TYPES = {str: "string", bool: "boolean", int: "number", float: "number", dict: "object", list: "array"}


def add_type(schema, name):
    types = schema.setdefault("type", ["null"])
    if name not in types and "const" not in schema:
        schema["type"] = sorted(types + [name], key=lambda t: (t == "null", t))
        return True
    return False


def learn(schema, value, path, report):
    """Adds to `schema` what `value` has beyond it, and reports each such place."""
    if value is None:
        return
    if add_type(schema, TYPES[type(value)]):
        report(path, TYPES[type(value)])
    if isinstance(value, list):
        for item in value:
            learn(schema.setdefault("items", {}), item, path + "[]", report)
    elif isinstance(value, dict):
        learn_object(schema, value, path, report)


def learn_object(schema, value, path, report):
    if path.endswith(MAPS):
        for inner in value.values():
            learn(schema.setdefault("additionalProperties", {}), inner, path + ".*", report)
        return
    known = "properties" in schema
    properties = schema.setdefault("properties", {})
    for key, inner in value.items():
        if key not in properties:
            properties[key] = {}
            report(f"{path}.{key}", "unknown")
        learn(properties[key], inner, f"{path}.{key}", report)
    required = set(schema.get("required", [])) & set(value) if known else set(value)
    if known and required != set(schema.get("required", [])):
        report(path, "without " + ", ".join(sorted(set(schema["required"]) - required)))
    schema["required"] = sorted(required)


def variant(result):
    """(name of the file, the one of its schemas): a result of a kind has a schema of its own."""
    name = re.match(r"specter\.(\w+)/\d+$", result["schema"])[1]
    return name, result.get("kind", "")


def results_below(folder):
    for base, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(base, name)
            with open(path, "rb") as file:
                if not BEGINS.match(file.read(64)):
                    continue
            try:
                with open(path, encoding="utf-8") as file:
                    document = json.load(file)
            except ValueError:
                continue  # a test has put something else into it
            for result in document if isinstance(document, list) else [document]:
                yield path, result


def read_schemas(anew):
    """{name: {kind: schema}} as they lie in FOLDER."""
    schemas = {}
    for file in [] if anew or not os.path.isdir(FOLDER) else sorted(os.listdir(FOLDER)):
        with open(os.path.join(FOLDER, file), encoding="utf-8") as opened:
            document = json.load(opened)
        schemas[file[:-5]] = {one.get("title", ""): one for one in document.get("anyOf", [document])}
    return schemas


def of_kind(schemas, result):
    name, kind = variant(result)
    kinds = schemas.setdefault(name, {})
    title = f"specter {name} {kind}".strip()
    if title not in kinds:
        kinds[title] = {"title": title}
    return kinds[title]


def write(schemas):
    os.makedirs(FOLDER, exist_ok=True)
    for name, kinds in schemas.items():
        for schema in kinds.values():
            schema["type"] = "object"
        if len(kinds) == 1:
            document = {"$schema": DIALECT, **list(kinds.values())[0]}
        else:
            document = {"$schema": DIALECT, "title": f"specter {name}", "anyOf": [kinds[k] for k in sorted(kinds)]}
        with open(os.path.join(FOLDER, name + ".json"), "w", encoding="utf-8") as file:
            json.dump(ordered(document), file, indent=1, ensure_ascii=False)
            file.write("\n")


def ordered(schema):
    """Properties by name, so that a schema does not depend on the order of the results."""
    if isinstance(schema, list):
        return [ordered(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: {k: ordered(inner[k]) for k in sorted(inner)} if key == "properties" else ordered(inner)
            for key, inner in schema.items()}


def strict(schema):
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(inner) for key, inner in schema.items()}
    if "properties" in made and not isinstance(made["properties"].get("type"), str):
        made.setdefault("additionalProperties", False)
    return made


def main():
    words = sys.argv[1:]
    if words[:1] == ["--strict"] and len(words) == 2:
        with open(words[1], encoding="utf-8") as file:
            json.dump(strict(json.load(file)), sys.stdout)
        return 0
    if words[:1] not in (["--learn"], ["--check"]) or len(words) not in (2, 3):
        sys.exit(__doc__)
    schemas, missing, count = read_schemas("--anew" in words), {}, 0
    for path, result in results_below(words[1]):
        if result["schema"].startswith("specter.profiles/"):
            continue  # from tables: specter help --schema profiles
        count += 1
        name, kind = variant(result)
        schema = of_kind(schemas, result)
        schema["type"] = ["object", "null"]
        where = os.path.relpath(path, words[1])
        learn(schema, result, f"{name}{' ' if kind else ''}{kind}",
              lambda place, what, where=where: missing.setdefault((place, what), where))
        schema["properties"]["schema"] = {"type": ["string"], "const": result["schema"]}
        if kind:
            schema["properties"]["kind"] = {"type": ["string"], "const": kind}
    if words[0] == "--learn":
        write(schemas)
    for (place, what), where in missing.items():
        print(f"{where}: {place}: {what}")
    if words[0] == "--check" and missing:
        print("share/schemas lacks this: `make schemas` adds it")
    print(f"{count} results", file=sys.stderr)
    return 1 if words[0] == "--check" and missing else 0


sys.exit(main())
