"""deploy/monitoring against a running server: every family that rules and dashboard name is served, promtool takes all expressions,
and docs/metrics.md lists what the server serves (`monitoring.py --write` writes the page anew).
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

from server import Cardea, expect, skip
from story import Story

story = Story("monitoring")

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
MONITORING = os.path.join(ROOT, "deploy", "monitoring")
PAGE = os.path.join(ROOT, "docs", "metrics.md")
OF_PROMETHEUS = {"up"}
HEAD = """# Metrics

`/metrics` serves these families in Prometheus' text format. Who reads them needs a role such as `system:monitoring`. Features that are
off have none: [webhooks](authorization.md), the [audit log](audit.md) and the [bridge](bridge.md) add theirs, which their pages name.
Families with kube-apiserver's names have its labels, so its dashboards work.

`deploy/monitoring` has alert rules for Prometheus (`alerts.yaml`) and a dashboard for Grafana (`dashboard.json`). Both expect a job with the name `cardea`:

```yaml
scrape_configs:
- job_name: cardea
  scheme: https
  authorization: {credentials_file: /etc/prometheus/cardea.token}
  tls_config: {ca_file: /etc/prometheus/cardea-ca.crt}
  static_configs: [{targets: ["127.0.0.1:6443"]}]
```

This page is generated from a running server: `tests/e2e/monitoring.py --write`.

| family | type | means |
|---|---|---|
"""


def served():
    """The families of a server that answered some requests: name -> (type, help)."""
    with Cardea() as server:
        server.request("GET", "/api/v1/pods")
        server.request("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        body = server.request("GET", "/metrics")[2]
        text = body if isinstance(body, str) else body.decode()
    helps = dict(re.findall(r"^# HELP (\S+) (.*)$", text, re.M))
    return text, {name: (kind, helps.get(name, "")) for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M)}


@story.shared
def metrics():
    return served()


def page(families):
    return HEAD + "".join(f"| `{name}` | {kind} | {text.replace('|', chr(92) + '|')} |\n" for name, (kind, text) in sorted(families.items()))


def expressions():
    with open(os.path.join(MONITORING, "alerts.yaml")) as file:
        for group in yaml.safe_load(file)["groups"]:
            for rule in group["rules"]:
                yield rule["alert"], rule["expr"]
    with open(os.path.join(MONITORING, "dashboard.json")) as file:
        for panel in json.load(file)["panels"]:
            for target in panel["targets"]:
                yield panel["title"], target["expr"].replace("$job", "cardea")


def promtool(*arguments):
    program = shutil.which("promtool") or skip("no promtool: it is in Debian's package prometheus")
    return subprocess.run([program, *arguments], capture_output=True, text=True, cwd=MONITORING)


@story.chapter
def every_family_of_rules_and_dashboard_is_served(metrics):
    families = set(metrics[1])
    known = families | {name + end for name, (kind, _) in metrics[1].items() if kind == "histogram" for end in ("_bucket", "_count", "_sum")} | OF_PROMETHEUS
    seen = 0
    for title, text in expressions():
        for name in re.findall(r"\b([a-z_:]+)\{", text):
            expect(name in known, f"{title}: the server has no {name}")
            seen += 1
    expect(seen >= 25, f"only {seen} families were found in the expressions")


@story.chapter
def promtool_takes_rules_and_dashboard():
    done = promtool("check", "rules", "alerts.yaml")
    expect(done.returncode == 0, done.stdout + done.stderr)
    done = promtool("test", "rules", "alerts_test.yaml")
    expect(done.returncode == 0, done.stdout + done.stderr)
    rules = {"groups": [{"name": "dashboard", "rules": [{"record": f"panel:{n}", "expr": text} for n, (_, text) in enumerate(expressions())]}]}
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(rules, file)
        file.flush()
        done = promtool("check", "rules", file.name)
    expect(done.returncode == 0, done.stdout + done.stderr)


@story.chapter
def promtool_can_read_what_is_served(metrics):
    program = shutil.which("promtool") or skip("no promtool: it is in Debian's package prometheus")
    done = subprocess.run([program, "check", "metrics"], input=metrics[0], capture_output=True, text=True)
    expect(done.returncode in (0, 3), done.stdout + done.stderr)  # 3: only matters of style, such as kube-apiserver's own names
    expect("error while linting" not in done.stderr, done.stderr)


@story.chapter
def the_page_is_current(metrics):
    with open(PAGE, encoding="utf-8") as file:
        expect(file.read() == page(metrics[1]), "docs/metrics.md is not what the server serves; tests/e2e/monitoring.py --write writes it")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        with open(PAGE, "w", encoding="utf-8") as out:
            out.write(page(served()[1]))
    else:
        story.main()
