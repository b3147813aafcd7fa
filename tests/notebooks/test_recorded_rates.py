"""The recorded sweep over assumed devices is whole, of today's code, and contradicts nothing."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from jettison.instances.core.memory import Amount
from jettison.instances.generators.fused_networks.device import (
    LINK_BYTES_PER_S,
    MEMORY_BYTES_PER_NS,
    TILE_FLOPS_PER_NS,
    AssumedDevice,
)
from jettison.instances.generators.fused_networks.networks import FUSED_NETWORKS, fused_network
from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with

TABLE = Path(__file__).parents[2] / "notebooks" / "_recorded" / "mu_two_rates.csv"
DEVICE = ["network", "batch", "rate", "link_quarters"]
# Eight models in the memory of so many.
HELD = [1, 1.5, 1.75, 1.95, 2, 4]
METHODS = ["hfta", "mu-two", "mu-two-both-ways"]


@pytest.fixture
def table() -> pd.DataFrame:
    return pd.read_csv(TABLE)


def test_there_is_one_row_for_each_network_batch_device_and_memory(table: pd.DataFrame) -> None:
    assert not table.duplicated([*DEVICE, "held"]).any()
    assert set(table["network"]) == set(FUSED_NETWORKS)
    assert table["held"].isna().sum() == 6 * 2 * 2 * 3
    held = table[table["held"].notna()]
    assert (held.groupby(DEVICE)["held"].apply(list).map(lambda found: found == HELD)).all()
    # An eighth, a 16th and a 32nd of the batches: 24, 8, 8, 64, 128 and 1024.
    assert len(held) == (2 + 1 + 1 + 3 + 3 + 3) * 2 * 6


def test_every_row_says_what_it_is_about_and_fits_in_its_memory(table: pd.DataFrame) -> None:
    assert not table[["instance_sha256", "memory_bytes", "versions", "bound"]].isna().any(axis=None)
    for method in METHODS:
        assert (table[method].isna() == table[f"{method} peak_bytes"].isna()).all()
        peaks = table[f"{method} peak_bytes"].dropna()
        assert (peaks <= table.loc[peaks.index, "memory_bytes"]).all()


def test_no_schedule_is_faster_than_what_is_possible(table: pd.DataFrame) -> None:
    for method in METHODS:
        found = table[method].dropna()
        assert (found >= table.loc[found.index, "bound"]).all()
    on_device = table[table["held"].isna()]
    assert (on_device.groupby(DEVICE[:3])["bound"].nunique() == 1).all()


def test_a_factor_of_three_is_possible_in_memory_for_less_than_two_models_only(
    table: pd.DataFrame,
) -> None:
    on_device = table[table["held"].isna()]
    assert (on_device["hfta"] < 1.36 * on_device["bound"]).all()
    is_open = table[table["hfta"] >= 3 * table["bound"]]
    assert set(is_open["network"]) == {"mobilenet"}
    assert is_open["held"].between(1.5, 1.99).all()
    assert len(is_open) == 2


@pytest.mark.parametrize("network", ["mobilenet", "dlrm"])
@pytest.mark.parametrize("rate", [1, 8])
def test_what_was_recorded_is_what_hfta_takes_today_within_its_memory(
    network: str, rate: int, table: pd.DataFrame
) -> None:
    device = AssumedDevice(
        "a device of the sweep",
        tile_flops_per_ns=rate * TILE_FLOPS_PER_NS,
        memory_bytes_per_ns=rate * MEMORY_BYTES_PER_NS,
        link_bytes_per_s=LINK_BYTES_PER_S,
    )
    batch = FUSED_NETWORKS[network].batch // 8
    problem = MultiModelTraining(fused_network(network, batch, 8, device), "5GiB")
    found = solve_with(problem, "hfta", SolveOptions(time_limit_s=None))
    assert found.replay is not None
    assert found.replay.valid
    row = table.query(
        "network == @network and batch == @batch and rate == @rate and link_quarters == 4"
    )
    assert row["hfta"].tolist() == [found.time_ns]
    assert row["hfta peak_bytes"].tolist() == [found.replay.peak_bytes]
    assert row["instance_sha256"].tolist() == [problem.instance.sha256]


@pytest.mark.parametrize(("rate", "possible"), [(1, 1.96), (8, 2.13)])
def test_in_the_memory_of_one_model_twice_is_possible(rate: int, possible: float) -> None:
    # The most that was found where HFTA trains Mobilenets one by one; no factor of three.
    device = AssumedDevice(
        "the fastest link of the sweep",
        tile_flops_per_ns=rate * TILE_FLOPS_PER_NS,
        memory_bytes_per_ns=rate * MEMORY_BYTES_PER_NS,
        link_bytes_per_s=4 * LINK_BYTES_PER_S,
    )
    models = fused_network("mobilenet", 8, 8, device)
    problem = MultiModelTraining(models, Amount(models.sub_array(1).store_all_peak_bytes))
    options = SolveOptions(time_limit_s=None)
    hfta = solve_with(problem, "hfta", options)
    bound = solve_with(problem, "bound", options)
    assert hfta.time_ns is not None
    assert bound.lower_bound_ns is not None
    assert round(hfta.time_ns / bound.lower_bound_ns, 2) == possible
