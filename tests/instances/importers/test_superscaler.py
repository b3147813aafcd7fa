from __future__ import annotations

from pathlib import Path

import pytest

import jettison as jt
from jettison.instances.core.errors import InputError
from jettison.instances.importers.superscaler import import_superscaler
from tests.cli.terminal import Terminal

# An embedding, a layer of three operators of attention and three of the MLP, a normalisation, the
# loss.
SAMPLE = Path(__file__).parent / "samples" / "tiny_mbs2_tp1_algo0.csv"
MIB = 2**20


def test_the_chain_is_worked_out_by_hand() -> None:
    chain = import_superscaler(SAMPLE, layers=2)
    # 0.001 MiB, to the nearest byte.
    assert (chain.name, chain.input_bytes) == ("tiny-b2", 1049)
    assert chain.backward_overhead_holds_gradient
    assert [stage.name for stage in chain] == [
        *("encoder-embedding", "enc attention 1", "enc MLP 1", "enc attention 2", "enc MLP 2"),
        *("final-layernorm", "gpt-post-process"),
    ]
    assert [
        (
            *(stage.forward_ns, stage.backward_ns, stage.weight_bytes / MIB),
            *(stage.output_bytes / MIB, stage.saved_bytes / MIB),
            *(stage.forward_overhead_bytes / MIB, stage.backward_overhead_bytes / MIB),
        )
        for stage in list(chain)[1:3]
    ] == [
        # Saved: 1 + 8 + 1.5. Everything kept: 9 + 4 reserved for the second, 10.5 + .5 for the
        # third, less 10.5: at most 2.5. Nothing but the output kept: the second has its input of 2,
        # 8 and 4 reserved, less input and output of the stage, 1 each: 12.
        (8_250, 15_500, 6, 1, 10.5, 12, 7),
        # Saved: 1 + 4. Of the second: 2 + 4 - 2. The third: 5 + 0 + .25 - 2.
        (10_000, 20_000, 8, 1, 5, 4, 5),
    ]


def test_what_is_saved_is_never_less_than_the_output() -> None:
    final = import_superscaler(SAMPLE, layers=1).stage(4)
    # 0.5 MiB gained, 1 MiB of output.
    assert (final.name, final.saved_bytes, final.output_bytes) == ("final-layernorm", MIB, MIB)


def test_the_loss_has_no_output() -> None:
    loss = import_superscaler(SAMPLE, layers=1).stage(5)
    assert (loss.output_bytes, loss.saved_bytes) == (0, 10 * MIB)
    # 10 kept and 5 reserved, beside its input of 1.
    assert loss.forward_overhead_bytes == 15 * MIB


def test_a_file_of_somebody_else_is_not_said_to_be_published() -> None:
    provenance = import_superscaler(SAMPLE, layers=2, device="B9").provenance
    assert (provenance.source, provenance.device, provenance.batch) == ("imported", "B9", 2)
    assert (provenance.repository, provenance.licence) == (None, None)
    note = provenance.note or ""
    assert "run alone and not in a step" in note
    assert "7 stages have 5 different measurements" in note


def test_the_share_of_one_device_is_told(tmp_path: Path) -> None:
    path = tmp_path / "tiny_mbs2_tp4_algo1.csv"
    path.write_bytes(SAMPLE.read_bytes())
    chain = import_superscaler(path, layers=1)
    assert chain.name == "tiny-b2-tp4"
    assert "communication is left out" in (chain.provenance.note or "")


@pytest.mark.parametrize("name", ["mine", "tiny_mbs0_tp1_algo0", "tiny_mbs2_tp0_algo0"])
def test_the_name_of_a_file_may_be_another(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.csv"
    path.write_bytes(SAMPLE.read_bytes())
    chain = import_superscaler(path, layers=1)
    assert (chain.name, chain.provenance.batch) == (name, None)


_ROW = "enc-MLP-GEMM-1,7.000,14.000,2.000,5.000,8.000,4.000,0.000,2.000"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("op_name,", "name,", "line 1: the header differs; write op_name,forward-compute"),
        (_ROW, _ROW + ",1", "line 7: 10 columns; give 9, as in line 1"),
        (_ROW, _ROW.replace("14", "-14"), "line 7: backward-compute: '-14.000' is not a number;"),
        (_ROW, _ROW.replace("8.000", ""), "line 7: weights: '' is not a number; write"),
        (
            _ROW,
            _ROW.replace("14.000", "10000000.000"),
            "line 7: backward-compute: 10000000.000 stands for a run that failed; profile",
        ),
        (_ROW, _ROW.replace("enc-MLP-GEMM-1", ""), "line 7: op_name: '' cannot be a name; write"),
        (_ROW, f"{_ROW}\n{_ROW}", "line 8: 'enc-MLP-GEMM-1' stands twice; give each operator"),
        (
            "enc-post-MLP-dropout,",
            "enc-post-MLP,",
            "line 3: the layer that begins here has no end; end it with enc-post-MLP-dropout",
        ),
        (
            "5.000,1.000,0.000,0.000,0.250",
            "5.000,3.000,0.000,0.000,0.250",
            "line 8: the layer writes 3145728 bytes and reads 1048576; a layer that repeats",
        ),
        (
            "0.001,1.000,",
            "0.001,0.500,",
            "line 2: it writes 524288 bytes, and enc-1st-layernorm reads 1048576; a stage reads",
        ),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = SAMPLE.read_text()
    assert text.count(old) == 1
    path = tmp_path / "tiny.csv"
    path.write_text(text.replace(old, new))
    with pytest.raises(InputError) as caught:
        import_superscaler(path, layers=2)
    assert f"{path}: {message}" in str(caught.value)


def test_a_table_without_operators_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tiny.csv"
    path.write_text(SAMPLE.read_text().splitlines()[0])
    with pytest.raises(InputError, match="line 2: there is no operator; give at least one"):
        import_superscaler(path)


def test_the_number_of_layers_is_asked_for_where_it_is_needed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="layers: the profile has one layer of each kind"):
        import_superscaler(SAMPLE)
    with pytest.raises(InputError, match="layers: 1001; write 1 to 1000"):
        import_superscaler(SAMPLE, layers=1001)
    text = SAMPLE.read_text().splitlines()
    path = tmp_path / "plain.csv"
    path.write_text("\n".join([text[0], text[1], text[-1]]))
    assert len(import_superscaler(path)) == 2
    with pytest.raises(InputError, match="layers: 3; leave it out: no layer of this profile"):
        import_superscaler(path, layers=3)


def test_the_command_writes_a_chain(terminal: Terminal) -> None:
    words = ("import", "superscaler", str(SAMPLE), "--layers", "3")
    assert terminal.run(*words, "-o", "out.json")[0] == 0
    chain = jt.load(terminal.folder / "out.json")
    assert chain.sha256 == import_superscaler(SAMPLE, layers=3).sha256


def test_a_published_profile_has_the_optimum_that_was_found_by_hand(shared_data: Path) -> None:
    folder = shared_data / "superscaler" / "profiled-time"
    chain = import_superscaler(folder / "gpt_1_3B_mbs1_tp1_algo0.csv")
    # 24 layers of two stages, the embedding, the normalisation, the loss.
    assert (chain.name, len(chain)) == ("gpt3-1.3b-b1-v100", 24 * 2 + 3)
    assert chain.base_time_ns == 379_328_198
    provenance = chain.provenance
    assert (provenance.repository, provenance.licence) == ("microsoft/SuperScaler", "MIT")
    assert (provenance.device, provenance.dtype, provenance.batch) == ("V100-32", "float16", 1)
    problem = jt.RematChain(chain, "50%")
    assert jt.solve(problem, method="rotor-exact").time_ns == 432_837_346
    bound = jt.bound(problem, method="cut-bound").bound
    assert bound is not None
    assert (bound.time_ns, bound.valid_for) == (432_837_346, jt.ScheduleClass.ALL)


@pytest.mark.parametrize(
    ("size", "weights_mib"),
    # Of the embedding, of each layer (in 350M: 6 + 2 + 8 + 8), and of the loss.
    [("350M", 104 + 24 * 24 + 100), ("13B", 520 + 40 * 600 + 500)],
)
def test_published_profiles_have_the_weights_of_all_layers(
    shared_data: Path, size: str, weights_mib: int
) -> None:
    folder = shared_data / "superscaler" / "profiled-time"
    chain = import_superscaler(folder / f"gpt_{size}_mbs1_tp1_algo0.csv")
    assert sum(stage.weight_bytes for stage in chain) == weights_mib * MIB


def test_the_decoder_carries_the_output_of_the_encoder(shared_data: Path) -> None:
    folder = shared_data / "superscaler" / "profiled-time"
    chain = import_superscaler(folder / "t5_770M_mbs1_tp1_algo0.csv")
    outputs = {stage.name: stage.output_bytes for stage in chain}
    # 4 MiB of the encoder and 1 MiB of the decoder; the loss reads the latter alone.
    assert outputs["enc MLP 24"] == 4 * MIB
    assert outputs["dec attention-2 24"] == 5 * MIB
    assert outputs["dec-final-layernorm"] == MIB
    assert len(chain) == 1 + 2 * 24 + 1 + 1 + 3 * 24 + 2


def test_every_published_profile_on_one_device_is_read(shared_data: Path) -> None:
    folder = shared_data / "superscaler" / "profiled-time"
    read = 0
    for path in sorted(folder.glob("*_tp1_algo0.csv")):
        known = "scale-layer" not in path.name
        chain = import_superscaler(path, layers=None if known else 24)
        assert (chain.provenance.licence == "MIT") == known, path
        read += 1
    assert read >= 55


def test_a_layer_that_does_not_write_what_it_reads_is_not_repeated(shared_data: Path) -> None:
    folder = shared_data / "superscaler" / "profiled-time"
    with pytest.raises(InputError, match="give a profile of algo0"):
        import_superscaler(folder / "gpt_1_3B_mbs1_tp2_algo1.csv", layers=24)
    assert import_superscaler(folder / "gpt_1_3B_mbs1_tp2_algo0.csv", layers=24).base_time_ns > 0


def test_operators_that_sailor_measured_have_the_same_form(shared_data: Path) -> None:
    folder = shared_data / "sailor" / "operators" / "A100-40" / "profiled-data-fp16"
    chain = import_superscaler(
        folder / "GPT-Neo-2.7_mbs1_tp1_algo0.csv", layers=32, device="A100-40"
    )
    assert (chain.name, len(chain)) == ("gpt-neo-2.7-b1", 67)
    assert chain.provenance.device == "A100-40"
