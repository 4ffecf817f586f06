"""Files for Docker, Compose, Helm and Kubernetes: their configurations are valid, and what they name exists."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from evenkeel_lab.cli import cli
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.settings_check import settings_warnings
from litellm_evenkeel.settings import settings

DEPLOY = Path(__file__).parents[2] / "deploy"
COMPOSE = DEPLOY / "compose"
METRICS = "/metrics"
KUBERNETES = ("1.30", "1.37")


def documents(path: Path) -> list[Any]:
    return list(yaml.safe_load_all(path.read_text()))


def proxy_configurations() -> dict[str, dict[str, Any]]:
    (values,) = documents(DEPLOY / "helm" / "values.yaml")
    (compose,) = documents(COMPOSE / "proxy.yaml")
    return {"helm": values["proxy_config"], "compose": compose}


@pytest.mark.parametrize("path", sorted(DEPLOY.rglob("*.y*ml")), ids=lambda path: str(path.relative_to(DEPLOY)))
def test_every_file_is_yaml(path: Path) -> None:
    assert all(isinstance(document, dict) for document in documents(path))


@pytest.mark.parametrize("name", ["helm", "compose"])
def test_a_proxys_configuration_is_valid(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    config = proxy_configurations()[name]
    text = re.sub(r"os\.environ/REDIS_URL", "redis://127.0.0.1:6379", yaml.safe_dump(config))
    resolved = yaml.safe_load(text)
    own = settings(resolved["evenkeel"], environ={})
    for deployment in resolved["model_list"]:
        DeploymentSpec.from_litellm(deployment, own.rotation.accounts)
    assert not list(settings_warnings(own.rotation.accounts, resolved["model_list"], "accounts"))
    proxy = import_module("litellm_evenkeel.proxy")
    for callback in resolved["litellm_settings"]["callbacks"]:
        module, _, attribute = callback.rpartition(".")
        assert module == proxy.__name__
        assert attribute in proxy.CALLBACKS
    accounts = {deployment["model_info"]["account"] for deployment in resolved["model_list"]}
    assert resolved["router_settings"]["num_retries"] >= len(accounts) - 1


def test_doctor_finds_no_error_in_the_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = (COMPOSE / "proxy.yaml").read_text()
    path = tmp_path / "proxy.yaml"
    path.write_text(config)
    for name in ("KEY_A", "KEY_B"):
        monkeypatch.setenv(name, f"key of {name}")
    monkeypatch.setenv("LITELLM_MASTER_KEY", "sk-a-long-random-key")
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1")
    monkeypatch.setenv("DATABASE_URL", "postgresql://litellm:secret@127.0.0.1:1/litellm")
    cli(["doctor", "--config", str(path), "--json"])
    findings = yaml.safe_load(capsys.readouterr().out)["findings"]
    checks = {"config", "callbacks", "settings", "retries", "accounts", "rotation", "routing", "master key"}
    assert not [each for each in findings if each["check"] in checks and each["level"] in {"error", "warning"}]


def test_compose_mounts_what_exists_and_names_all_variables() -> None:
    (compose,) = documents(COMPOSE / "compose.yaml")
    variables = set()
    for service in compose["services"].values():
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            assert source in compose["volumes"] or (COMPOSE / source).resolve().exists(), source
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:")
        context = service.get("build", {}).get("context")
        assert context is None or (COMPOSE / context / "Dockerfile").is_file()
        assert set(service.get("depends_on", ())) <= set(compose["services"])
    text = (COMPOSE / "compose.yaml").read_text()
    variables = set(re.findall(r"\$\{(\w+):\?", text))
    example = set(re.findall(r"^(\w+)=", (COMPOSE / ".env.example").read_text(), re.MULTILINE))
    assert variables == example


def test_compose_follows_the_specification() -> None:
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    checked = subprocess.run([*check, COMPOSE / "compose.yaml"], check=False, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("version", KUBERNETES)
def test_manifests_follow_the_schema_of_kubernetes(version: str) -> None:
    for document in documents(DEPLOY / "kubernetes" / "proxy.yaml"):
        kubernetes_validate.validate(document, version, strict=True)


def test_prometheus_and_grafana_read_the_files_of_the_wheel() -> None:
    (prometheus,) = documents(COMPOSE / "prometheus.yml")
    (rules,) = prometheus["rule_files"]
    monitoring = DEPLOY.parent / "plugin" / "litellm_evenkeel" / "monitoring"
    assert (monitoring / os.path.basename(rules)).is_file()  # noqa: PTH119 - a path in a container
    (job,) = prometheus["scrape_configs"]
    assert job["static_configs"][0]["targets"] == ["proxy:4000"]


def test_pods_keep_the_metrics_of_their_workers_in_memory() -> None:
    (values,) = documents(DEPLOY / "helm" / "values.yaml")
    deployment, service = documents(DEPLOY / "kubernetes" / "proxy.yaml")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    environment = {entry["name"]: entry["value"] for entry in container["env"]}
    for variables, mounts, volumes in (
        (values["envVars"], values["volumeMounts"], values["volumes"]),
        (environment, container["volumeMounts"], pod["volumes"]),
    ):
        assert variables["PROMETHEUS_MULTIPROC_DIR"] == METRICS
        (name,) = [mount["name"] for mount in mounts if mount["mountPath"] == METRICS]
        (volume,) = [volume for volume in volumes if volume["name"] == name]
        assert volume["emptyDir"]["medium"] == "Memory"
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    assert deployment["spec"]["selector"]["matchLabels"].items() <= labels.items()
    (monitor,) = documents(DEPLOY / "kubernetes" / "monitoring.yaml")
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert monitor["spec"]["endpoints"][0]["port"] == service["spec"]["ports"][0]["name"]
