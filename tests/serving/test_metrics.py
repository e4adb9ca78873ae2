"""Series of the metrics: all there before traffic, none made by clients."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from serving.metrics import Metrics, ModelInfo
from serving.scheduler import Events, Forward

ENDPOINTS = ["/v1/classify", "/v1/embeddings"]
INFO = ModelInfo(model="m", revision=None, family="task_heads", engine="jax", accelerator="cpu", device="cpu")

COUNTERS = {
    "requests": {"endpoint", "status"},
    "questions": {"type", "outcome"},
    "input_tokens": set(),
    "deadline_dropped_questions": set(),
    "result_cache": {"model", "outcome"},
    "compiles": {"model"},
    "bucket_tokens": {"model", "length"},
    "padding_tokens": {"model", "length"},
}
HISTOGRAMS = {
    "request_duration_seconds": ("latency", {"endpoint"}),
    "queue_duration_seconds": ("latency", set()),
    "forward_duration_seconds": ("latency", set()),
    "batch_rows": ("rows", set()),
    "batch_tokens": ("tokens", set()),
    "bundle_tasks": ("rows", set()),
}
GAUGES = {
    "queue_depth": set(),
    "ready": set(),
    "model_memory_bytes": {"model"},
    "model_info": {"model", "revision", "family", "engine", "accelerator", "device", "profile"},
}
BUCKETS = {
    "latency": [0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12],
    "rows": [1, 2, 4, 8, 16, 32, 64, 128, 256],
    "tokens": [64, 256, 1024, 4096, 16384, 65536, 262144],
}


@pytest.fixture
def metrics() -> Metrics:
    made = Metrics(ENDPOINTS)
    made.watch(depth=lambda: 3, ready=lambda: True)
    made.add_model("m")
    return made


@pytest.fixture
def work(metrics: Metrics) -> Events:
    return metrics.observe_model("m", (16, 32), lambda: 0)


def series(metrics: Metrics) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(metrics.render().decode())
        for sample in family.samples
    }


@pytest.mark.usefixtures("work")
def test_every_metric_is_there_and_no_other(metrics: Metrics) -> None:
    metrics.model_loaded(INFO, 5)
    families = {family.name: family for family in text_string_to_metric_families(metrics.render().decode())}
    kinds = {name.removeprefix("vllm_srun_"): family.type for name, family in families.items()}
    assert kinds == (
        dict.fromkeys(COUNTERS, "counter") | dict.fromkeys(HISTOGRAMS, "histogram") | dict.fromkeys(GAUGES, "gauge")
    )
    for name, labels in (COUNTERS | GAUGES | {name: labels for name, (_, labels) in HISTOGRAMS.items()}).items():
        samples = families[f"vllm_srun_{name}"].samples
        assert samples, f"{name} has no series"
        assert all(set(sample.labels) - {"le"} == labels for sample in samples)
    for name, (kind, _) in HISTOGRAMS.items():
        bounds = {float(each.labels["le"]) for each in families[f"vllm_srun_{name}"].samples if "le" in each.labels}
        assert sorted(bounds)[:-1] == BUCKETS[kind]


@pytest.mark.usefixtures("work")
def test_all_counters_stand_at_zero_before_traffic(metrics: Metrics) -> None:
    values = series(metrics)
    watched = {"vllm_srun_queue_depth", "vllm_srun_ready"}
    assert {value for (name, _), value in values.items() if name not in watched} == {0.0}
    requests = [labels for name, labels in values if name == "vllm_srun_requests_total"]
    assert frozenset({("endpoint", "/v1/classify"), ("status", "200")}) in requests
    assert frozenset({("endpoint", "/v1/classify"), ("status", "499")}) in requests


def test_no_client_makes_a_series(metrics: Metrics) -> None:
    metrics.model_loaded(INFO, 5, ["choice", "noul"])
    before = set(series(metrics))
    for number in range(200):
        metrics.request_done(f"/v1/unknown/{number}", 404, 0.1)
        metrics.request_done("/v1/classify", 200, 0.1)
        metrics.answered(3, [(f"type-{number}", "answered"), ("choice", "answered")])
    assert set(series(metrics)) == before
    values = series(metrics)
    other = frozenset({("type", "other"), ("outcome", "answered")})
    assert values["vllm_srun_questions_total", other] == 200
    assert values["vllm_srun_input_tokens_total", frozenset()] == 600


def test_work_is_counted(metrics: Metrics, work: Events) -> None:
    work.job_started(0.5)
    work.forward_done(Forward(0.25, rows=3, tokens=100, length=32, padding=28))
    work.rows_expired(2)
    metrics.cache_looked_up("m", 4, 5)
    values = series(metrics)
    assert values["vllm_srun_queue_duration_seconds_sum", frozenset()] == 0.5
    assert values["vllm_srun_forward_duration_seconds_sum", frozenset()] == 0.25
    assert values["vllm_srun_batch_rows_bucket", frozenset({("le", "2.0")})] == 0
    assert values["vllm_srun_batch_rows_bucket", frozenset({("le", "4.0")})] == 1
    assert values["vllm_srun_batch_tokens_sum", frozenset()] == 100
    for length, tokens, padding in [("16", 0, 0), ("32", 100, 28)]:
        labels = frozenset({("model", "m"), ("length", length)})
        assert values["vllm_srun_bucket_tokens_total", labels] == tokens
        assert values["vllm_srun_padding_tokens_total", labels] == padding
    assert values["vllm_srun_deadline_dropped_questions_total", frozenset()] == 2
    assert values["vllm_srun_result_cache_total", frozenset({("model", "m"), ("outcome", "hit")})] == 4
    assert values["vllm_srun_result_cache_total", frozenset({("model", "m"), ("outcome", "miss")})] == 5
    assert values["vllm_srun_queue_depth", frozenset()] == 3
    assert values["vllm_srun_ready", frozenset()] == 1


def test_a_loaded_model_tells_what_it_is(metrics: Metrics) -> None:
    metrics.model_loaded(INFO, 5)
    text = metrics.render().decode()
    assert (
        'vllm_srun_model_info{accelerator="cpu",device="cpu",engine="jax",family="task_heads",model="m",'
        'profile="exact",revision="local"} 1.0' in text
    )
    assert 'vllm_srun_model_memory_bytes{model="m"} 5.0' in text


def test_compiles_are_asked_for_at_every_scrape(metrics: Metrics) -> None:
    compiles = iter((3, 5))
    metrics.observe_model("m", (16,), lambda: next(compiles))
    name = ("vllm_srun_compiles_total", frozenset({("model", "m")}))
    assert [series(metrics)[name], series(metrics)[name]] == [3, 5]
