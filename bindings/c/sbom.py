"""Prints what a folder of a release has in it, and of what that was made, as CycloneDX.

    sbom.py FOLDER VERSION

The time is SOURCE_DATE_EPOCH, from the environment: the same files give the same text.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import uuid
from datetime import datetime, timezone
from pathlib import Path


def said_by(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def file(path: Path, name: str) -> dict[str, object]:
    content = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"type": "file", "name": name, "hashes": [{"alg": "SHA-256", "content": content}]}


def main() -> None:
    folder, version = Path(sys.argv[1]), sys.argv[2]
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    files = [file(path, str(path.relative_to(folder))) for path in paths]
    library = str(next(path for path in paths if path.name.startswith("libinturn.so.")))
    # What the library asks the loader for, and what its compilers and linker have left in it.
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", said_by("readelf", "--dynamic", library))
    made_by = re.findall(r"\[ *\w+\]  (.+)", said_by("readelf", "-p", ".comment", library))
    swift = said_by("swiftc", "--version").splitlines()[0]
    tools = [*made_by, swift]
    inturn = {
        "type": "library",
        "bom-ref": "inturn",
        "name": "inturn",
        "version": version,
        "licenses": [{"license": {"id": "MIT"}}],
    }
    # Its generic code is compiled into the library.
    standard_library = {
        "type": "library",
        "bom-ref": "swift",
        "name": "Swift standard library (embedded)",
        "version": re.findall(r"Swift version (\S+)", swift)[0],
        "licenses": [{"expression": "Apache-2.0 WITH Swift-exception"}],
    }
    system = [
        {"type": "library", "bom-ref": name, "name": name, "scope": "excluded"} for name in needed
    ]
    time = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), timezone.utc)
    identity = uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(files))
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{identity}",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "tools": {"components": [{"type": "application", "name": tool} for tool in tools]},
            "component": inturn,
        },
        "components": [*files, standard_library, *system],
        "dependencies": [{"ref": "inturn", "dependsOn": ["swift", *needed]}],
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
