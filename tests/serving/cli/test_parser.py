"""The command line: what is refused, in one line and with exit code 2; what help costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from serving.cli import main


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["sing"], "invalid choice: 'sing'"),
        (["serve", "--nonsense"], "unrecognized arguments: --nonsense"),
        (["serve", "--por", "1"], "unrecognized arguments"),
        (["serve", "--port", "65536"], "65536 is not a whole number from 0 to 65535"),
        (["serve", "--port", "x"], "'x' is not a whole number from 0 to 65535"),
        (["serve", "--threads", "0"], "0 is not a whole number from 1 on"),
        (["serve", "--threads", "-1"], "'-1' is not a whole number from 1 on"),
        (["serve", "--threads", "1.5"], "'1.5' is not a whole number"),
        (["serve", "--max-queue", "0"], "argument --max-queue: 0 is not"),
        (["serve", "--max-queued-tokens", "0"], "argument --max-queued-tokens: 0 is not"),
        (["serve", "--max-batch-tokens", "0"], "argument --max-batch-tokens: 0 is not"),
        (["serve", "--max-request-bytes", "0"], "argument --max-request-bytes: 0 is not"),
        (["serve", "--max-bundle-tasks", "0"], "argument --max-bundle-tasks: 0 is not"),
        (["serve", "--load-attempts", "0"], "argument --load-attempts: 0 is not"),
        (["serve", "--load-attempts", "9" * 19], "is not a whole number from 1 on"),
        (["serve", "--load-retry-seconds", "-1"], "'-1' is not a finite number from 0 on"),
        (["serve", "--load-retry-seconds", "nan"], "'nan' is not a finite number from 0 on"),
        (["serve", "--result-cache-entries", "-1"], "'-1' is not a whole number from 0 on"),
        (["serve", "--memory-budget", "0"], "'0' is not a finite number above 0"),
        (["serve", "--memory-budget", "inf"], "'inf' is not a finite number above 0"),
        (["serve", "--batching", "fast"], "invalid choice: 'fast'"),
        (["serve", "--log-level", "loud"], "invalid choice: 'loud'"),
        (["convert", "model"], "the following arguments are required: OUT"),
        (["fixture", "out", "--seed", "x"], "invalid int value: 'x'"),
        (["verify"], "the following arguments are required: MODEL"),
        (["golden"], "the following arguments are required: MODEL"),
    ],
)
def test_what_argparse_refuses(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert message in output.err
    assert output.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["serve", "a", "--models", "f.yaml"], "give MODELs or --models FILE, not both"),
        (["serve", "--models", "missing.yaml"], "missing.yaml cannot be read: No such file or directory"),
        (["serve", "--models", "f.yaml", "--revision", "a"], "--revision cannot go with --models FILE"),
        (["serve", "--models", "f.yaml", "--served-model-name", "a"], "--served-model-name cannot go with"),
        (["serve", "--models", "f.yaml", "--device", "cpu", "--profile", "exact"], "--device, --profile cannot go"),
        (["serve", "a", "b", "--revision", "c"], "--revision need exactly one MODEL, got 2"),
        (["serve", "--revision", "c"], "--revision need exactly one MODEL, got 0"),
        (["serve", "a", "b", "--served-model-name", "c"], "--served-model-name need exactly one MODEL, got 2"),
        (["serve", "a", "a"], "served names must differ, a comes twice"),
        (["serve", "a", "--profile", "max_speed"], "profile must be one of ['exact'], got 'max_speed'"),
        (["serve", "a", "--engine", "onnx"], "engine must be one of ['auto', 'jax'], got 'onnx'"),
        (["serve", "a", "--family", "omni"], "family must be one of ['task_heads', 'vela2', 'generator'], got 'omni'"),
        (["serve", "a", "--device", "gpu"], "'gpu' is no device; allowed are auto, cuda, cpu"),
        (["serve", " "], "model must not be blank"),
        (["serve", "nowhere"], "'nowhere' is no folder here, no built-in model and no hub repository"),
        (["serve", "acme/model"], "acme/model is not built in, so it needs a revision"),
        (["serve", "acme/model@main"], "revision 'main' of acme/model is not a commit"),
        (["serve", "acme/model@" + "a" * 40, "--revision", "b" * 40], "names revision " + "a" * 40),
        (["verify", "nowhere"], "'nowhere' is no folder here"),
        (["convert", "nowhere", "out"], "'nowhere' is no folder here"),
        (["fixture", "out", "--variant", "huge"], "unknown variant 'huge': choose one of"),
    ],
)
def test_what_the_commands_refuse(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("serving.cli.packages.prepare_environment", lambda **_: None)
    assert main(words) == 2
    output = capsys.readouterr()
    assert output.out == ""
    lines = output.err.splitlines()
    assert lines[-1].startswith("vela: ")
    assert message in lines[-1]
    assert "Traceback" not in output.err


def test_help_and_version_load_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from serving.cli import main\n"
        "try: main([sys.argv[1]])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "heavy = {'jax', 'numpy', 'rich', 'msgspec', 'yaml', 'blacksheep', 'huggingface_hub'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    for word in ("--help", "--version"):
        done = subprocess.run([sys.executable, "-c", script, word], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "vela" in done.stdout


@pytest.mark.parametrize("command", ["serve", "models", "devices", "plugins", "verify", "convert", "fixture"])
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"vela {command}" in capsys.readouterr().out


def test_an_interrupted_command_ends_quietly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("serving.cli.packages.list_models", interrupt)
    assert main(["models"]) == 130
    assert capsys.readouterr().err == ""
