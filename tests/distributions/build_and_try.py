"""Build the source distribution and the wheel, look into both, install each, and try it.

Run by `make wheel-test`. Each is installed into an empty environment, and tried in a temporary
folder that has the tests and not the sources. What was built stays in ``dist/``. With files as
arguments, those are looked into and tried, and nothing is built.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# What a package cannot work without, and the endings of all that a wheel may have.
NEEDED = (
    "jettison/__init__.py",
    "jettison/py.typed",
    "jettison/instances/data/index.json",
    "jettison/instances/schemas/chain.schema.json",
    "jettison/schedules/schemas/chain-schedule.schema.json",
    "jettison/solvers/_kernels.pyi",
    "jettison/torch/__init__.py",
)
ROOMS = {
    "__init__.py",
    "py.typed",
    "certificates",
    "cli",
    "formulations",
    "instances",
    "schedules",
    "solvers",
    "studies",
    "torch",
}
LICENCES = (".dist-info/licenses/LICENSE", ".dist-info/licenses/NOTICE")
SOURCES = (
    "CMakeLists.txt",
    "LICENSE",
    "NOTICE",
    "README.md",
    "jettison.py.in",
    "solvers/_native/core/kernels.cpp",
)


def main() -> None:
    """Build, look, install and try."""
    given = [Path(name).resolve() for name in sys.argv[1:]]
    for built in given or build():
        if built.suffix == ".whl":
            check_wheel(built)
        else:
            check_source(built)
        with tempfile.TemporaryDirectory() as folder:
            try_installed(built, Path(folder))


def build() -> list[Path]:
    """Build the source distribution and, from it, the wheel."""
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    run([sys.executable, "-m", "build", "--outdir", str(ROOT / "dist"), str(ROOT)])
    return [*(ROOT / "dist").glob("*.whl"), *(ROOT / "dist").glob("*.tar.gz")]


def check_wheel(wheel: Path) -> None:
    """Check that a wheel has all of the package, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    package = {name for name in names if ".dist-info/" not in name}
    wrong = sorted(
        name
        for name in package
        if not name.startswith("jettison/")
        or name.split("/")[1] not in ROOMS
        or "_native" in name
        or Path(name).name.startswith("test_")
        or name.endswith((".ipynb", ".cpp", ".hpp", ".pyc"))
    )
    missing = [name for name in (*NEEDED, *packaged_files()) if name not in names]
    # The licences of the measurements that are bundled travel with them.
    missing += [name for name in LICENCES if not any(found.endswith(name) for found in names)]
    kernels = [name for name in package if name.startswith("jettison/solvers/_kernels.c")]
    if wrong or missing or len(kernels) != 1:
        sys.exit(f"{wheel.name}: too much: {wrong}; missing: {missing}; kernels: {kernels}")
    print(f"{wheel.name}: {len(names)} files, {wheel.stat().st_size / 2**20:.2f} MiB")


def packaged_files() -> list[str]:
    """Return where the tracked files of the rooms stand in a wheel."""
    mapped = {room: room for room in ROOMS - {"torch"}} | {"executors/torch": "torch"}
    tracked = subprocess.run(
        ["git", "ls-files", *mapped],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return [
        f"jettison/{name.replace('executors/torch', 'torch', 1)}"
        for name in tracked
        if "_native/" not in name
    ]


def check_source(source: Path) -> None:
    """Check that a source distribution has all that a build needs, and nothing that was built."""
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    missing = [name for name in (*SOURCES, "tests/conftest.py") if name not in names]
    wrong = sorted(name for name in names if name.endswith((".so", ".pyc")) or "_build/" in name)
    if missing or wrong:
        sys.exit(f"{source.name}: missing: {missing}; was built: {wrong}")
    print(f"{source.name}: {len(names)} files, {source.stat().st_size / 2**20:.2f} MiB")


def try_installed(built: Path, folder: Path) -> None:
    """Install what was built into an empty environment, and try it where no sources are."""
    started = time.perf_counter()
    venv.create(folder / "environment", with_pip=True)
    python = folder / "environment" / "bin" / "python"
    run([str(python), "-m", "pip", "install", "--quiet", f"jettison[test] @ {built.as_uri()}"])
    installed = time.perf_counter()
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    run([str(python), "tests/distributions/installed_package.py"], cwd=folder)
    print(
        f"{built.name}: installed in {installed - started:.0f} s, "
        f"tried in {time.perf_counter() - installed:.0f} s"
    )


def run(command: list[str], cwd: Path = ROOT) -> None:
    """Run a command that has to succeed."""
    print("$", " ".join(command), flush=True)
    subprocess.run(command, cwd=cwd, check=True)


if __name__ == "__main__":
    main()
