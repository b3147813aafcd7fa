"""Any file and any words: an answer or one line of error, and never a file that is cut off."""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jettison.cli.main import main
from jettison.instances.core.json_file import read_json
from tests.fuzz.corpus_files import CORPUS
from tests.fuzz.limits import ended_in_time, examples
from tests.fuzz.mutations import changed_files

# What is done with which file; FILE is a changed one, OUT a file to write.
COMMANDS = {
    "show chain": ("chain.json", "show FILE"),
    "show sharded graph": ("sharded-graph.json", "show FILE --json"),
    "show strategy graph": ("strategy-graph.json", "show FILE"),
    "show multi-model": ("multi-model.json", "show FILE"),
    "solve remat-chain": ("chain.json", "solve remat-chain FILE --memory 60% -o OUT"),
    "solve remat-offload-chain": (
        "chain.json",
        "solve remat-offload-chain FILE --memory 60% --bandwidth 1GB/s -o OUT",
    ),
    "solve weight-offload": (
        "cycle.json",
        "solve weight-offload FILE --memory 60% --bandwidth 1GB/s -o OUT",
    ),
    "solve pipeline-chain": (
        "cycle.json",
        "solve pipeline-chain FILE --memory 1kB --devices 2 --microbatches 3 -o OUT",
    ),
    "solve remat-graph": ("graph.json", "solve remat-graph FILE --memory 80% -o OUT"),
    "solve remat-offload-graph": (
        "graph.json",
        "solve remat-offload-graph FILE --memory 80% --bandwidth 1GB/s -o OUT",
    ),
    "solve remat-arena": ("graph.json", "solve remat-arena FILE --memory 100% -o OUT"),
    "solve remat-sharding": ("sharded-graph.json", "solve remat-sharding FILE --memory 80% -o OUT"),
    "solve sharding": ("strategy-graph.json", "solve sharding FILE --memory 80% -o OUT"),
    "solve multi-model": ("multi-model.json", "solve multi-model FILE --memory 1kB -o OUT"),
    "bound with a schedule": (
        "graph.schedule.json",
        "bound remat-graph CORPUS/graph.json --memory 80% --method cut-bound --schedule FILE",
    ),
    "export": ("graph.json", "export remat-graph FILE --memory 80% --formulation frontier -o OUT"),
    "import dtr": ("dtr-step.log", "import dtr FILE -o OUT"),
    "import layer-graph": ("layer-graph.json", "import layer-graph FILE --kind chain -o OUT"),
    "import networkx": ("moccasin.json", "import networkx FILE -o OUT"),
    "import pipedream": ("residual.graph.txt", "import pipedream FILE -o OUT"),
    "import piper": ("piper.json", "import piper FILE -o OUT"),
    "import superscaler": (
        "tiny_mbs2_tp1_algo0.csv",
        "import superscaler FILE --layers 2 -o OUT",
    ),
    "import sailor": (
        "sailor-profile.json",
        "import sailor FILE --sizes CORPUS/sailor-sizes.json --batch 2 --model OPT-350 --device G "
        "-o OUT",
    ),
    "import torch-trace": (
        "torch-step.et.json",
        "import torch-trace CORPUS/torch-step.kineto.json -x FILE -o OUT",
    ),
    "import iopddl": ("contest.json", "import iopddl FILE -o OUT"),
    "verify": ("set/planted-m2-v100-s0-0.json", "verify FILE"),
    "sweep": ("study.toml", "sweep FILE --dry-run --workers 2"),
}
LIMITED = ("solve", "bound")
STATUSES = {0, 2, 3, 4, 5}


def run(words: list[str]) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    status: object = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), ended_in_time():
        try:
            main(words)
        except SystemExit as stop:
            status = stop.code
    return (status if isinstance(status, int) else 0), out.getvalue(), err.getvalue()


def check(status: int, out: str, errors: str, words: list[str]) -> None:
    """Check what a user sees of an end."""
    assert status in STATUSES, (words, errors)
    assert "Traceback" not in errors
    lines = errors.splitlines()
    complaints = [line for line in lines if line.startswith("error: ")]
    if status != 2:
        assert not complaints
    elif words[:1] == ["bound"] and not errors:
        # A schedule that can be read, and breaks a rule that is named.
        assert "invalid" in out
    elif not lines[0].startswith("Usage: "):
        assert len(complaints) == 1, errors
        assert lines[-1] == complaints[0]


def check_files(folder: Path, given: set[Path]) -> None:
    """Check that what was written is complete."""
    for path in set(folder.rglob("*")) - given:
        assert not path.name.startswith("."), path
        if path.suffix == ".json":
            assert read_json(path)["format"] == "jettison"


@pytest.mark.parametrize("name", COMMANDS)
@examples(15)
@given(data=st.data())
def test_a_command_answers_or_refuses_a_changed_file(name: str, data: st.DataObject) -> None:
    source, line = COMMANDS[name]
    content = data.draw(changed_files(source, (CORPUS / source).read_bytes()))
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        file = folder / Path(source).name
        file.write_bytes(content)
        output = folder / ("out.mps" if name == "export" else "out.json")
        places = {
            "FILE": str(file),
            "OUT": str(output),
            "CORPUS/graph.json": f"{CORPUS}/graph.json",
            "CORPUS/sailor-sizes.json": f"{CORPUS}/sailor-sizes.json",
        }
        words = [places.get(word, word) for word in line.split()]
        if words[0] in LIMITED:
            words += ["--time-limit", "0.5"]
        status, out, errors = run(words)
        check(status, out, errors, words)
        check_files(folder, {file})
        if output.exists() and words[0] == "import":
            # Whatever is written can be read again.
            assert run(["show", str(output)])[0] == 0


WORDS = """
list show solve bound compare generate export import profile verify sweep instances methods
remat-chain remat-offload-chain weight-offload training-chain remat-graph remat-offload-graph
remat-sharding sharding multi-model pipeline-chain remat-arena
rotor exact pofo greedy three-partition layered-graph training-graph networkx pipedream iopddl
sailor superscaler piper layer-graph dtr torch-trace
--memory --alpha --bandwidth --transfers --models --method --json --time-limit --gap --threads
--seed --schedule -o --output --plot --formulation --format --dry-run --workers --scheduler
--retry-failed --groups --target --answer --nodes --network --help
--devices --microbatches --weight-copies --chunks
CHAIN GRAPH STUDY NOWHERE FOLDER
50% 4GiB 0B 400% 401% alpha=0.5 -1 0 1 0.1 1e400 nan inf 1GB/s 0B/s 12 fluid at-once yes no
json mps lp a=b =
"""


COMMAND = st.sampled_from(["solve", "bound", "compare", "export"])
PROBLEM = st.sampled_from(
    [
        "remat-chain",
        "remat-offload-chain",
        "weight-offload",
        "training-chain",
        "remat-graph",
        "remat-offload-graph",
        "remat-arena",
        "sharding",
        "multi-model",
        "pipeline-chain",
    ]
)
INSTANCE = st.sampled_from(["CHAIN", "GRAPH", "MODELS", "STUDY", "NOWHERE", "FOLDER", "no-such"])
OPTIONS = st.lists(
    st.tuples(
        st.sampled_from(
            ["--memory", "--alpha", "--bandwidth", "--transfers", "--models", "--method", "-o"]
        ),
        st.sampled_from(
            [
                "50%",
                "4GiB",
                "0B",
                "401%",
                "-1",
                "0",
                "1",
                "0.1",
                "1e400",
                "nan",
                "1GB/s",
                "0B/s",
                "fluid",
                "rotor",
                "pofo",
                "OUT",
                "NOWHERE",
            ]
        ),
    ).map(list),
    max_size=4,
).map(lambda pairs: [word for pair in pairs for word in pair])
LIKELY = st.builds(
    lambda command, problem, instance, options: [
        *(command, problem, instance, "--memory", "90%"),
        *options,
    ],
    COMMAND,
    PROBLEM,
    INSTANCE,
    OPTIONS,
)
ANY = st.lists(st.sampled_from(WORDS.split()) | st.text(max_size=5), max_size=7)


@examples(150)
@given(words=ANY | LIKELY)
def test_any_words_end_with_an_answer_or_with_one_line(words: list[str]) -> None:
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        for name in ("chain.json", "graph.json", "multi-model.json", "study.toml"):
            (folder / name).write_bytes((CORPUS / name).read_bytes())
        given_files = set(folder.rglob("*"))
        places = {
            "CHAIN": str(folder / "chain.json"),
            "GRAPH": str(folder / "graph.json"),
            "STUDY": str(folder / "study.toml"),
            "MODELS": str(folder / "multi-model.json"),
            "OUT": str(folder / "out.json"),
            "NOWHERE": str(folder / "nowhere" / "file.json"),
            "FOLDER": str(folder),
        }
        typed = [places.get(word, word) for word in words]
        # These run for as long as they are asked to, or measure.
        if words and words[0] in {"solve", "bound", "compare"}:
            typed += ["--time-limit", "0.5"]
        elif words and words[0] in {"sweep", "profile"}:
            typed += ["--help"]
        with contextlib.chdir(folder):
            status, out, errors = run(typed)
        check(status, out, errors, typed)
        check_files(folder, given_files)
