# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Keep the results of tests that passed, until something they could depend on changes.

What booting machines takes is minutes, and most second runs follow a change
that they know nothing of.  The key is the content of the whole checkout but for
what only people read: a name that is left out by mistake costs a run, and none
is left out by guessing what a test looks at.
"""

import hashlib
import json
import os
import subprocess

from ktap import FAILED, Result

READ_BY_PEOPLE = ("Documentation/", "README.md")


def key(top):
    """Digest of the checkout; None where git does not tell what belongs to it."""
    listed = subprocess.run(["git", "-c", f"safe.directory={top}", "ls-files", "-z", "--cached",
                             "--others", "--exclude-standard"], cwd=top, capture_output=True,
                            check=False)
    if listed.returncode:
        return None
    digest = hashlib.sha256()
    for name in sorted(set(filter(None, listed.stdout.split(b"\0")))):
        if name.decode(errors="replace").startswith(READ_BY_PEOPLE):
            continue
        path = os.path.join(os.fsencode(top), name)
        if os.path.islink(path):
            content = os.fsencode(os.readlink(path))
        elif os.path.isfile(path):
            with open(path, "rb") as file:
                content = file.read()
            content = (b"x" if os.access(path, os.X_OK) else b"-") + content
        else:
            continue  # was removed, or is a repository of its own
        digest.update(b"%d %b %d " % (len(name), name, len(content)))
        digest.update(content)
    return digest.hexdigest()


def load(file, wanted):
    """The results that were kept under this key, or None."""
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        if wanted and kept["key"] == wanted:
            return [Result(*result) for result in kept["results"]]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def save(file, used, results):
    """Keep them when none failed; forget what was kept otherwise."""
    file.unlink(missing_ok=True)
    if not used or any(result.status == FAILED for result in results):
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.write_text(json.dumps({"key": used, "results": results}), encoding="utf-8")
    new.replace(file)
