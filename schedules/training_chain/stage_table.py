"""Table of a training schedule: for each stage where its tensors are and how it is updated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.training_chain.event import StageTensor, TrainingEventKind
from jettison.schedules.training_chain.schedule import TrainingSchedule

if TYPE_CHECKING:
    import pandas as pd


def stage_table(chain: Chain, schedule: TrainingSchedule) -> pd.DataFrame:
    """Return a row for each stage.

    Columns: number and name of the stage; how often its forward operation runs in a step; transfers
    to and from the device in a step of activations, and of weights; and the place of the update and
    of the optimizer states.
    """
    import pandas as pd

    rows = []
    for number, stage in enumerate(chain, start=1):
        own = [event for event in schedule.events if event.stage == number]
        kinds = [event.kind for event in own]
        moved = {
            (kind, name): sum(event.kind is kind and event.tensor is name for event in own)
            for kind in (TrainingEventKind.OFFLOAD, TrainingEventKind.PREFETCH)
            for name in StageTensor
        }
        activations = StageTensor.SAVED, StageTensor.OUTPUT
        on_host = TrainingEventKind.HOST_UPDATE in kinds
        states_move = any(event.tensor is StageTensor.STATES for event in own)
        offload, prefetch = TrainingEventKind.OFFLOAD, TrainingEventKind.PREFETCH
        states = "host" if on_host or states_move else "device"
        rows.append(
            {
                "stage": number,
                "name": stage.name,
                "forwards": sum(kind.is_forward for kind in kinds),
                "activations_sent": sum(moved[offload, name] for name in activations),
                "activations_brought": sum(moved[prefetch, name] for name in activations),
                "weights_sent": moved[offload, StageTensor.WEIGHTS],
                "weights_brought": moved[prefetch, StageTensor.WEIGHTS],
                "update": ("host" if on_host else "device") if stage.is_trained else "none",
                "states": states if stage.optimizer_state_bytes else "none",
            }
        )
    return pd.DataFrame(rows)
