#!/usr/bin/env python3
"""Makes archives, npm packages, a Homebrew formula and checksums from wheels, so that all of them hold the same program.

    packaging/pack.py --out dist --url https://example.org/releases/v0.1.0 dist/*.whl
"""

import argparse
import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"]

# Part of a wheel's tag: the target's name, npm's system and processor, and Homebrew's conditions.
TARGETS = [
    (r"manylinux.*_x86_64", "x86_64-unknown-linux-gnu", "linux", "x64", ("on_linux", "on_intel")),
    (r"manylinux.*_aarch64", "aarch64-unknown-linux-gnu", "linux", "arm64", ("on_linux", "on_arm")),
    (r"macosx.*_x86_64", "x86_64-apple-darwin", "darwin", "x64", ("on_macos", "on_intel")),
    (r"macosx.*_arm64", "aarch64-apple-darwin", "darwin", "arm64", ("on_macos", "on_arm")),
    (r"win_amd64", "x86_64-pc-windows-msvc", "win32", "x64", None),
]


def target_of(wheel):
    for tag, *target in TARGETS:
        if re.search(tag, wheel.name):
            return target
    sys.exit(f"{wheel}: no package is made for this platform")


def program(wheel):
    """The program's name and bytes."""
    with zipfile.ZipFile(wheel) as parts:
        for name in parts.namelist():
            if re.search(r"\.data/scripts/llrem(\.exe)?$", name):
                return Path(name).name, parts.read(name)
    sys.exit(f"{wheel}: the wheel has no program llrem")


def extras(wheels):
    """Completions and manual pages, from the first of the programs that runs here."""
    with tempfile.TemporaryDirectory() as folder:
        for wheel in wheels:
            name, content = program(wheel)
            path = Path(folder, name)
            path.write_bytes(content)
            path.chmod(0o755)
            try:
                subprocess.run([path, "--version"], check=True, capture_output=True)
            except (OSError, subprocess.CalledProcessError):
                continue
            files = {}
            for shell, file in [("bash", "llrem.bash"), ("zsh", "_llrem"), ("fish", "llrem.fish"), ("powershell", "llrem.ps1")]:
                files[f"completions/{file}"] = subprocess.check_output([path, "completions", shell])
            files["man/llrem.1"] = subprocess.run([path, "man"], check=True, stdout=subprocess.PIPE).stdout
            return files
    sys.exit("none of the programs runs on this machine")


def archive(path, folder, files):
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as parts:
            for name, (content, _) in files.items():
                parts.writestr(f"{folder}/{name}", content)
        return
    with tarfile.open(path, "w:gz") as parts:
        for name, (content, mode) in files.items():
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size, entry.mode = len(content), mode
            parts.addfile(entry, io.BytesIO(content))


def npm_package(out, about, files):
    """A package as `npm pack` names it."""
    content = {"package.json": (json.dumps(about, indent=2).encode(), 0o644), **files}
    path = out / f"{about['name']}-{about['version']}.tgz"
    archive(path, "package", content)
    return path


def formula(version, url, archives):
    lines = [
        "class Llrem < Formula",
        '  desc "What coding agents did, cost and wasted"',
        f'  homepage "{url.split("/releases/")[0]}"',
        f'  version "{version}"',
        '  license any_of: ["MIT", "Apache-2.0"]',
    ]
    for system in ["on_macos", "on_linux"]:
        found = [(conditions[1], path) for conditions, path in archives if conditions and conditions[0] == system]
        if not found:
            continue
        lines += ["", f"  {system} do"]
        for processor, path in found:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            lines += [f"    {processor} do", f'      url "{url}/{path.name}"', f'      sha256 "{digest}"', "    end"]
        lines.append("  end")
    lines += [
        "",
        "  def install",
        '    bin.install "llrem"',
        '    man1.install Dir["man/*.1"]',
        '    bash_completion.install "completions/llrem.bash" => "llrem"',
        '    zsh_completion.install "completions/_llrem"',
        '    fish_completion.install "completions/llrem.fish"',
        "  end",
        "",
        "  test do",
        '    assert_match version.to_s, shell_output("#{bin}/llrem --version")',
        "  end",
        "end",
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", nargs="+", type=Path)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--url", required=True, help="where the archives will be")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    version = options.wheels[0].name.split("-")[1]
    documents = {name: ((ROOT / name).read_bytes(), 0o644) for name in DOCUMENTS}
    documents.update((name, (content, 0o644)) for name, content in extras(options.wheels).items())
    common = {"version": version, "license": "MIT OR Apache-2.0", "description": "What coding agents did, cost and wasted"}
    archives, made, platforms = [], [], {}
    for wheel in options.wheels:
        target, system, processor, conditions = target_of(wheel)
        name, content = program(wheel)
        suffix = ".zip" if system == "win32" else ".tar.gz"
        path = options.out / f"llrem-{target}{suffix}"
        archive(path, f"llrem-{target}", {name: (content, 0o755), **documents})
        archives.append((conditions, path))
        package = f"llrem-{system}-{processor}"
        about = {"name": package, **common, "os": [system], "cpu": [processor], "files": [name]}
        if system == "linux":
            about["libc"] = ["glibc"]
        made.append(npm_package(options.out, about, {name: (content, 0o755)}))
        platforms[package] = version
    chooser = {"name": "llrem", **common, "bin": {"llrem": "llrem.js"}, "optionalDependencies": platforms}
    script = (ROOT / "packaging/llrem.js").read_bytes()
    made.append(npm_package(options.out, chooser, {"llrem.js": (script, 0o755), "README.md": documents["README.md"]}))
    brew = options.out / "llrem.rb"
    brew.write_text(formula(version, options.url, archives))
    made += [path for _, path in archives] + [brew] + options.wheels
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in sorted(made, key=lambda path: path.name)]
    (options.out / "SHA256SUMS").write_text("\n".join(sums) + "\n")
    print("\n".join(sums))


main()
