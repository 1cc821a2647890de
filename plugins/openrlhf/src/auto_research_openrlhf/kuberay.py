"""A training as a RayJob for KubeRay: a template, which its authors have run on no cluster."""

from __future__ import annotations

from typing import Any

import yaml

from auto_research_openrlhf import release
from auto_research_openrlhf.config import Cluster, KubeRay
from auto_research_openrlhf.plan import Plan, folder_on_nodes
from auto_research_openrlhf.render import SCRIPT, environment
from auto_research_openrlhf.spec import FILE, VARIABLE

RAYJOB = "rayjob.yaml"


def rayjob(plan: Plan, job_id: str) -> str:
    """The RayJob as YAML, with a comment that says what to do first."""
    cluster, kuberay = plan.config.cluster, _kuberay(plan.config.cluster)
    folder = folder_on_nodes(plan.config, plan.storage)
    env = environment(cluster) | {"PYTHONPATH": folder, VARIABLE: f"{folder}{FILE}"}
    job: dict[str, Any] = {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": plan.spec.run, "namespace": kuberay.namespace},
        "spec": {
            "jobId": job_id,
            "entrypoint": f"bash {folder}{SCRIPT}",
            "shutdownAfterJobFinishes": True,
            "backoffLimit": 2,
            "runtimeEnvYAML": yaml.safe_dump({"env_vars": env}),
            "rayClusterSpec": {
                "rayVersion": release.RAY,
                "headGroupSpec": {
                    "rayStartParams": {"dashboard-host": "0.0.0.0"},
                    "template": {"spec": _pod(cluster, "ray-head")},
                },
                "workerGroupSpecs": _workers(cluster),
            },
        },
    }
    first = f"# First copy this run's folder `job` to {folder} on the claim.\n"
    text: str = yaml.dump(job, Dumper=_Dumper, sort_keys=False)
    return first + text


class _Dumper(yaml.SafeDumper):
    """Writes the YAML that stands in the YAML as a block, for people to read."""


def _text(dumper: _Dumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def _workers(cluster: Cluster) -> list[dict[str, Any]]:
    count = cluster.nodes - 1  # the head's node trains too
    if not count:
        return []
    group = {"groupName": "gpus", "replicas": count, "minReplicas": count, "maxReplicas": count}
    template = {"spec": _pod(cluster, "ray-worker")}
    return [{**group, "rayStartParams": {}, "template": template}]


def _pod(cluster: Cluster, name: str) -> dict[str, Any]:
    kuberay = _kuberay(cluster)
    amounts = {
        "cpu": str(kuberay.cpus),
        "memory": kuberay.memory,
        "nvidia.com/gpu": str(cluster.gpus_per_node),
    }
    container: dict[str, Any] = {
        "name": name,
        "image": kuberay.image,
        "resources": {"limits": dict(amounts), "requests": dict(amounts)},
        "env": [
            {"name": one, "valueFrom": {"secretKeyRef": {"name": kuberay.secret, "key": one}}}
            for one in cluster.secrets
        ],
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
    }
    # NCCL and Ray's object store want far more shared memory than a pod has by default.
    volumes: list[dict[str, Any]] = [{"name": "shm", "emptyDir": {"medium": "Memory"}}]
    if kuberay.claim:
        container["volumeMounts"].append({"name": "storage", "mountPath": kuberay.mount})
        claim = {"claimName": kuberay.claim}
        volumes.append({"name": "storage", "persistentVolumeClaim": claim})
    return {"containers": [container], "volumes": volumes}


def _kuberay(cluster: Cluster) -> KubeRay:
    if cluster.kuberay is None:
        raise ValueError("the config has no cluster.kuberay")
    return cluster.kuberay
