"""--card and --resident in every command: the same answers as in what they leave, and more rows."""

from __future__ import annotations

import json

import pytest

from jettison.instances.catalog import save
from jettison.instances.remat_chain.chain import Chain, Stage
from tests.cli.terminal import Terminal

# On 2160 bytes of a card with 100 resident, 2060 are left: less than all that is saved.
CARD = "--card 2160B --resident 100B"


@pytest.fixture
def trained(terminal: Terminal) -> Terminal:
    """Terminal with a chain that has weights of 40 bytes, and as many of gradients."""
    chain = terminal.chain
    first, *others = chain.stages
    stages = (
        Stage(**{**{name: getattr(first, name) for name in _FIELDS}, "weight_bytes": 40}),
        *others,
    )
    save(Chain("trained", 50, stages), terminal.folder / "trained.json")
    return terminal


_FIELDS = ("name", "forward_ns", "backward_ns", "output_bytes", "saved_bytes")


def test_solve_takes_the_resident_bytes_off_the_card(terminal: Terminal) -> None:
    on_card = terminal.json(f"solve remat-chain chain.json {CARD}")
    in_memory = terminal.json("solve remat-chain chain.json --memory 2060B")
    assert on_card["memory_bytes"] == 2060
    assert (on_card["card_bytes"], on_card["resident_bytes"]) == (2160, 100)
    assert on_card["time_ns"] == in_memory["time_ns"]
    assert on_card["card_peak_bytes"] == in_memory["peak_bytes"] + 100
    assert in_memory["card_bytes"] is None
    printed = terminal.output(f"solve remat-chain chain.json {CARD}")
    assert "card              2.11 KiB (2160 bytes)\n" in printed
    assert "resident          100 bytes\n" in printed
    assert "for the plan      2.01 KiB\n" in printed
    assert "peak of the card" in printed


def test_recorded_bytes_are_taken_by_default_and_printed(trained: Terminal) -> None:
    printed = trained.output("solve remat-chain trained.json --card 2160B")
    assert "resident          80 bytes, as the instance records them" in printed
    found = trained.json("solve remat-chain trained.json --card 2160B")
    assert (found["resident_bytes"], found["resident_source"]) == (80, "instance")
    # One that records none says so, and once what to do about it.
    _, printed, err = trained.run("solve remat-chain chain.json --card 2160B")
    assert "0 bytes: the instance records none\n" in printed
    assert "note: small records no resident bytes" in err
    assert (printed + err).count("--resident") == 1
    _, printed, _ = trained.run(
        "solve training-chain trained.json --card 4kB --bandwidth 1GB/s --method fsdp"
    )
    assert "all that the instance has is planned" in printed


@pytest.mark.parametrize("problem", ["remat-chain chain.json", "remat-graph graph.json"])
def test_a_card_that_is_too_small_is_answered_with_the_least_one(
    terminal: Terminal, problem: str
) -> None:
    status, printed, _ = terminal.run(f"solve {problem} --card 101B --resident 100B --json")
    found = json.loads(printed)
    assert status == 3
    assert found["least_card_bytes"] == found["least_memory_bytes"] + 100
    _, printed, _ = terminal.run(f"solve {problem} --card 101B --resident 100B")
    assert f"{found['least_card_bytes']} bytes" in printed
    assert "least card" in printed
    _, printed, _ = terminal.run(f"bound {problem} --card 101B --resident 100B")
    assert "least card" in printed


def test_compare_has_a_row_for_each_card_and_each_number_of_resident_bytes(
    terminal: Terminal,
) -> None:
    line = "compare remat-chain chain.json --card 2160B,2.5kB --resident 100B,200B --methods rotor"
    rows = terminal.json(line)["results"]
    assert [(row["card_bytes"], row["memory_bytes"]) for row in rows] == [
        (2160, 2060),
        (2160, 1960),
        (2500, 2400),
        (2500, 2300),
    ]
    printed = terminal.output(line)
    assert printed.count("card peak") == 4
    assert "card 2.11 KiB less 100 B resident: 2.01 KiB" in printed.splitlines()
    wide = " ".join(terminal.output(f"{line} --wide").split())
    assert "on the card" in wide
    assert "2.11 KiB 100 B 2.01 KiB rotor" in wide


def test_verify_asks_whether_a_schedule_fits_on_a_card(terminal: Terminal) -> None:
    found = terminal.json("solve remat-chain chain.json --memory 2060B", "--output", "s.json")
    peak = found["peak_bytes"]
    verify = "verify s.json --instance chain.json"
    printed = terminal.output(f"{verify} --card {peak + 100}B --resident 100B")
    assert f"peak {peak} bytes, the limit {peak}" in printed
    assert "over the limit" in terminal.error(f"{verify} --card {peak + 99}B --resident 100B")


def test_verify_asks_so_of_a_schedule_that_says_what_it_was_made_for(trained: Terminal) -> None:
    line = "solve pipeline-chain trained.json --devices 2 --microbatches 2 --method equal-time"
    found = trained.json(f"{line} --card 5kB --resident 100B", "--output", "s.json")
    verify = "verify s.json --instance trained.json"
    assert "the limit 4900" in trained.output(verify)
    peak = found["peak_bytes"]
    assert f"the limit {peak}" in trained.output(f"{verify} --card {peak}B")
    assert "over the limit" in trained.error(f"{verify} --card {peak}B --resident 1B")


def test_a_certificate_is_compared_with_what_a_card_leaves(terminal: Terminal) -> None:
    terminal.output(f"bound remat-graph graph.json {CARD} --certificate c.gz --time-limit 5")
    verify = "verify c.gz --instance graph.json"
    assert "proved" in terminal.output(f"{verify} {CARD}")
    assert "is about 2060 bytes, and --card is 2160 bytes" in terminal.error(
        f"{verify} --card 2160B --resident 0B"
    )


def test_other_commands_take_a_card_too(terminal: Terminal) -> None:
    terminal.output(f"export remat-graph graph.json {CARD} -o m.mps.gz")
    assert (terminal.folder / "m.mps.gz").is_file()
    batch = "largest-batch vgg-16 --most 2 --time-limit 5 --method last-node"
    _, printed, _ = terminal.run(f"{batch} --card t4 --resident 13GiB --json")
    cards = {card["name"]: card for card in terminal.json("list cards")["cards"]}
    trial = json.loads(printed)["trials"][0]
    assert trial["card_bytes"] == cards["t4"]["usable_bytes"]
    assert trial["memory_bytes"] == cards["t4"]["usable_bytes"] - 13 * 2**30
    assert "--memory and --card are both" in terminal.error(f"{batch} --card t4 --memory 1GiB")
    line = "throughput remat-chain opt-350m-b1-a100-40 opt-350m-b2-a100-40 --method rotor"
    batches = terminal.json(f"{line} --card a100-40")["batches"]
    assert [row["resident_source"] for row in batches] == ["instance", "instance"]
    assert "h100-80" in terminal.output("list cards")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--memory 1kB --card 2kB", "card: --memory and --card are both given; write --memory"),
        ("--alpha 0.2 --card 2kB", "card: --alpha and --card are both given; write --memory 40%"),
        ("--memory 1kB --resident 1B", "resident: --resident 1B is taken off a card, and none is"),
        ("--card 2kB --resident 3kB", "resident: 2.93 KiB, and the card has 1.95 KiB; write at"),
        ("--card v100", "card: there is no card 'v100'; write v100-"),
        ("--card 50%", "card: '50%' is not an amount of memory; write the bytes of the card"),
    ],
)
def test_a_card_that_is_wrong_is_one_line_of_error(
    terminal: Terminal, words: str, message: str
) -> None:
    assert message in terminal.error(f"solve remat-chain chain.json {words}")
