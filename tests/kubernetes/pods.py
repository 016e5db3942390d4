#!/usr/bin/python3
"""What a kubelet does with the manifests of examples/kubernetes, by Docker: for tests/kubernetes/run.sh.

    pods.py check FILE...             each field is one that Kubernetes has, and of its type
    pods.py start FILE FOLDER PREFIX  all pods; their names are PREFIX-POD, their network is PREFIX
    pods.py ready FILE PREFIX         ends with 0 when each pod's readiness probe does

FOLDER/secrets/NAME/KEY and FOLDER/configmaps/NAME/KEY are what is not in the manifests. What is mounted looks as a kubelet
has it: secrets and config maps are links into a folder ..data, and belong to root and to the pod's fsGroup. Network
policies, budgets and who may be scheduled where are not enforced."""
import os
import re
import subprocess
import sys
import urllib.request

import yaml
from kubernetes import client

KINDS = {"Deployment", "StatefulSet"}
IMAGES = {"registry.example.com/flotilla:latest": "flotilla"}


def documents(path):
    with open(path, encoding="utf-8") as file:
        return [document for document in yaml.safe_load_all(file) if document]


# --- check --------------------------------------------------------------------------------------


def check_scalar(value, kind, where):
    fits = {"str": str, "int": int, "bool": bool}.get(kind)
    if fits is not None and (not isinstance(value, fits) or (fits is int and isinstance(value, bool))):
        yield f"{where}: {value!r} is no {kind}"


def check(value, kind, where):
    """Yields what is wrong of value, which is to be of kind, in the words of Kubernetes' client for Python."""
    of = re.fullmatch(r"(list\[|dict\(str, )(.*)[\])]", kind)
    model = getattr(client, kind, None)
    if of is not None and of[1] == "list[":
        if not isinstance(value, list):
            yield f"{where}: no list"
            return
        for index, item in enumerate(value):
            yield from check(item, of[2], f"{where}[{index}]")
    elif of is not None:
        if not isinstance(value, dict):
            yield f"{where}: no map"
            return
        for key, item in value.items():
            yield from check(item, of[2], f"{where}.{key}")
    elif model is None or not hasattr(model, "openapi_types"):
        yield from check_scalar(value, kind, where)
    elif not isinstance(value, dict):
        yield f"{where}: no map"
    else:
        names = {theirs: ours for ours, theirs in model.attribute_map.items()}
        for key, item in value.items():
            if key not in names:
                yield f"{where}: there is no {key}"
            else:
                yield from check(item, model.openapi_types[names[key]], f"{where}.{key}")


def check_all(paths):
    wrong = []
    for document in (document for path in paths for document in documents(path)):
        version = document["apiVersion"].rsplit("/", 1)[-1].capitalize()
        wrong += check(document, version + document["kind"], f"{document['kind']} {document['metadata']['name']}")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


# --- pods ---------------------------------------------------------------------------------------


class Pod:
    """One pod of a workload: its name, labels and spec, and the folder of what is mounted."""

    def __init__(self, workload, index, folder):
        kind, name = workload["kind"], workload["metadata"]["name"]
        self.workload = workload["spec"]
        self.spec = workload["spec"]["template"]["spec"]
        self.labels = workload["spec"]["template"]["metadata"]["labels"]
        self.name = f"{name}-{index}" if kind == "StatefulSet" else f"{name}-x{index}"
        self.alias = f"{self.name}.{workload['spec']['serviceName']}" if kind == "StatefulSet" else None
        self.folder = folder
        self.security = self.spec.get("securityContext", {})

    def aliases(self, services):
        if self.alias is not None:
            yield self.alias
        for service in services:
            if service["spec"]["selector"].items() <= self.labels.items():
                yield service["metadata"]["name"]


def pods(path, folder=None):
    for workload in documents(path):
        if workload["kind"] in KINDS:
            for index in range(workload["spec"]["replicas"]):
                yield Pod(workload, index, folder)


def give(path, mode, group):
    os.chown(path, 0, group)
    os.chmod(path, mode)


def mount_files(there, target, mode, group):
    """As the kubelet writes secrets and config maps: a folder that a link names, and a link for each file."""
    inner = os.path.join(target, "..2026")
    os.makedirs(inner)
    for name in sorted(os.listdir(there)) if os.path.isdir(there) else []:
        path = os.path.join(inner, name)
        with open(os.path.join(there, name), "rb") as source, open(path, "wb") as copy:
            copy.write(source.read())
        give(path, mode, group)
        os.symlink(os.path.join("..data", name), os.path.join(target, name))
    os.symlink("..2026", os.path.join(target, "..data"))
    give(inner, 0o2755, group)
    give(target, 0o2755, group)


def volume(pod, named):
    target = os.path.join(pod.folder, "pods", pod.name, named["name"])
    group = pod.security.get("fsGroup", 0)
    for kind, key in (("secret", "secretName"), ("configMap", "name")):
        if kind in named:
            there = os.path.join(pod.folder, kind.lower() + "s", named[kind][key])
            if not os.path.isdir(there) and not named[kind].get("optional"):
                sys.exit(f"{pod.name} wants the {kind} {named[kind][key]}")
            mode = named[kind].get("defaultMode", 0o644)
            mount_files(there, target, mode | (0o440 if kind == "secret" else 0), group)
            return target
    os.makedirs(target, exist_ok=True)
    give(target, 0o2777, group)
    return target


def volumes(pod):
    found = {named["name"]: volume(pod, named) for named in pod.spec.get("volumes", [])}
    for claim in pod.workload.get("volumeClaimTemplates", []):
        name = claim["metadata"]["name"]
        found[name] = os.path.join(pod.folder, "claims", f"{name}-{pod.name}")
        os.makedirs(found[name], exist_ok=True)
        give(found[name], 0o2775, pod.security.get("fsGroup", 0))
    return found


def data_of(pod, maps, reference):
    """The names and values of an envFrom's or a valueFrom's config map or secret."""
    kind = "secret" if "secretRef" in reference else "configmap"
    named = reference.get("secretRef") or reference.get("configMapRef") or reference["configMapKeyRef"]
    if named["name"] in maps and kind == "configmap":
        return maps[named["name"]]
    folder = os.path.join(pod.folder, kind + "s", named["name"])
    if not os.path.isdir(folder):
        if not named.get("optional"):
            sys.exit(f"{pod.name} wants the {kind} {named['name']}")
        return {}
    found = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            found[name] = file.read()
    return found


def environment(pod, container, maps):
    found = {}
    for reference in container.get("envFrom", []):
        found.update(data_of(pod, maps, reference))
    for entry in container.get("env", []):
        source = entry.get("valueFrom", {})
        if "configMapKeyRef" in source:
            found[entry["name"]] = data_of(pod, maps, source)[source["configMapKeyRef"]["key"]]
        elif "fieldRef" in source:
            assert source["fieldRef"]["fieldPath"] == "metadata.name"
            found[entry["name"]] = pod.name
        else:
            found[entry["name"]] = entry["value"]
    return found


def run(pod, container, mounted, maps, flags):
    security = container["securityContext"]
    env = environment(pod, container, maps)
    expand = lambda word: re.sub(r"\$\((\w+)\)", lambda name: env.get(name[1], name[0]), word)
    command = ["docker", "run", *flags, "--user", f"{pod.security['runAsUser']}:{pod.security['runAsGroup']}"]
    command += ["--group-add", str(pod.security["fsGroup"]), "--security-opt", "no-new-privileges"]
    command += [flag for cap in security["capabilities"]["drop"] for flag in ("--cap-drop", cap)]
    command += ["--read-only"] if security["readOnlyRootFilesystem"] else []
    for name, value in env.items():
        command += ["--env", f"{name}={value}"]
    for mount in container.get("volumeMounts", []):
        command += ["--volume", f"{mounted[mount['name']]}:{mount['mountPath']}" + (":ro" if mount.get("readOnly") else "")]
    words = container.get("command", [])
    command += ["--entrypoint", words[0]] if words else []
    command += [IMAGES.get(container["image"], container["image"])]
    command += [expand(word) for word in words[1:] + container.get("args", [])]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def start(path, folder, prefix):
    all_of = documents(path)
    services = [document for document in all_of if document["kind"] == "Service"]
    maps = {document["metadata"]["name"]: document["data"] for document in all_of if document["kind"] == "ConfigMap"}
    for pod in pods(path, folder):
        mounted = volumes(pod)
        for container in pod.spec.get("initContainers", []):
            run(pod, container, mounted, maps, ["--rm"])
        (container,) = pod.spec["containers"]
        flags = ["--detach", "--name", f"{prefix}-{pod.name}", "--hostname", pod.name, "--network", prefix]
        flags += ["--restart", "unless-stopped", "--memory", container["resources"]["limits"]["memory"].replace("i", "").lower()]
        flags += ["--stop-timeout", str(pod.spec.get("terminationGracePeriodSeconds", 30))]
        flags += [flag for alias in pod.aliases(services) for flag in ("--network-alias", alias)]
        run(pod, container, mounted, maps, flags)
        print(pod.name)
    return 0


# --- ready --------------------------------------------------------------------------------------


def address(name, prefix):
    form = "{{(index .NetworkSettings.Networks \"" + prefix + "\").IPAddress}}"
    return subprocess.run(["docker", "inspect", "-f", form, name], check=True, capture_output=True, text=True).stdout.strip()


def is_ready(pod, prefix):
    (container,) = pod.spec["containers"]
    probe = container["readinessProbe"]
    name = f"{prefix}-{pod.name}"
    if "exec" in probe:
        command = ["docker", "exec", name, *probe["exec"]["command"]]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    port = next(port["containerPort"] for port in container["ports"] if port["name"] == probe["httpGet"]["port"])
    try:
        with urllib.request.urlopen(f"http://{address(name, prefix)}:{port}{probe['httpGet']['path']}", timeout=5):
            return True
    except OSError:
        return False


def ready(path, prefix):
    missing = [pod.name for pod in pods(path) if not is_ready(pod, prefix)]
    if missing:
        print("not ready: " + " ".join(missing))
    return 1 if missing else 0


if __name__ == "__main__":
    what, rest = sys.argv[1], sys.argv[2:]
    sys.exit({"check": lambda *paths: check_all(paths), "start": start, "ready": ready}[what](*rest))
