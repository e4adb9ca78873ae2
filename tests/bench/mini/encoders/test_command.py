"""Options of the command."""

import pytest

from bench.mini.command import main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["judge", "--model", "pii", "--cases", "f"], "are for the decision model, not for pii"),
        (["export", "x", "--model", "pii", "--name", "y"], "are for the decision model, not for pii"),
        (["train", "--model", "other"], "invalid choice: 'other'"),
    ],
)
def test_options_of_another_model_are_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert message in capsys.readouterr().err
