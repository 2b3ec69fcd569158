"""Trials of a study of Optuna's, as rows to import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from belated import Study
from belated.cli.io.files import LineErrors
from belated.cli.io.rows import TrialRow
from belated.errors import Unavailable
from belated.record.events import Failed, Told

if TYPE_CHECKING:
    from belated.integrations.optuna.reading import OptunaStudy


def read_optuna_study(url: str, name: str) -> OptunaStudy:
    """The study of this name in Optuna's storage."""
    try:
        from belated.integrations.optuna.reading import read_study
    except ModuleNotFoundError:
        raise Unavailable('--optuna needs Optuna: pip install "belated[optuna]"') from None
    return read_study(url, name)


def list_optuna_rows(study: Study, theirs: OptunaStudy, errors: LineErrors) -> list[TrialRow]:
    """Their trials as rows; one that failed or was pruned ends as the silence of the study says."""
    from belated.integrations.optuna.trials import find_silent_end, read_end, to_seconds, was_added

    space, silent, rows = study.settings.space, find_silent_end(study.settings.silence), []
    for trial in theirs.trials:
        with errors.collect(trial.number):
            params = {name: value for name, value in trial.params.items() if name in space.names}
            space.encode_run(params)  # refuses what cannot have been run
            end = read_end(trial, silent)
            rows.append(
                TrialRow(
                    line=trial.number,
                    params=space.as_given(params),
                    context=None,
                    number=trial.number + 1,
                    asked_at=to_seconds(trial.datetime_start),
                    outcome=end.value if isinstance(end, Told) else None,
                    told_at=None if end is None or was_added(trial) else end.at,
                    failure=end.kind if isinstance(end, Failed) else None,
                )
            )
    return rows
