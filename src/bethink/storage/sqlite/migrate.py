"""Opening a file: make the schema, bring an older one up to date, refuse what is not ours.

Any number of processes may do so at once: one has the write lock, the others wait for it and find the work done. An older
file is copied to `<file>.v<N>.bak` before it is changed.
"""

from __future__ import annotations

import os
import re
from importlib.resources import files
from pathlib import Path

from bethink.errors import SchemaError
from bethink.storage.sqlite.driver import Database
from bethink.storage.sqlite.queries import statements

__all__ = ["APPLICATION_ID", "SCHEMA_VERSION", "migrations", "prepare", "version_of"]

APPLICATION_ID = 0x6274_6E6B
"""In the file's header ("btnk"): says whose database it is."""

SCHEMA_VERSION = 1


def migrations() -> dict[int, str]:
    """The script that leads to each schema version from the one before."""
    scripts = files("bethink.storage.sqlite").joinpath("migrations").iterdir()
    numbered = {int(match[1]): script for script in scripts if (match := re.match(r"(\d{4})_\w+\.sql$", script.name))}
    return {number: numbered[number].read_text(encoding="utf-8") for number in sorted(numbered)}


def prepare(database: Database, path: str, *, target: int = SCHEMA_VERSION, scripts: dict[int, str] | None = None) -> None:
    """Make sure that the file has schema version `target`.

    Args:
        scripts: the migrations, when they are not the package's.

    Raises:
        SchemaError: the schema is newer than `target`, or the file is another program's.
    """
    if version_of(database, path, target) == target:
        return
    database.execute("BEGIN IMMEDIATE")
    try:
        version = version_of(database, path, target)
        if version == 0:
            database.script(statements("schema.sql") if scripts is None else "\n".join(scripts.values()))
        elif version < target:
            _back_up(path, version, database)
            for number, script in (scripts or migrations()).items():
                if number > version:
                    database.script(script)
        if version != target:
            database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            database.execute(f"PRAGMA user_version = {target}")
        database.execute("COMMIT")
    finally:
        if database.in_transaction():
            database.execute("ROLLBACK")


def version_of(database: Database, path: str, target: int = SCHEMA_VERSION) -> int:
    """Schema version of the file; 0 for an empty one. SchemaError if it is newer than `target`, or another program's."""
    # In this order: another process may make the schema meanwhile, and whoever sees a part of it then sees whose it is.
    tables = database.execute("SELECT count(*) FROM sqlite_schema")[0][0]
    version: int = database.execute("PRAGMA user_version")[0][0]
    application = database.execute("PRAGMA application_id")[0][0]
    name = Path(path).name
    if application != APPLICATION_ID:
        if application or version or tables:
            raise SchemaError(f"{name} is a database of another program — give bethink a file of its own")
        return 0
    if version > target:
        raise SchemaError(
            f"{name} has schema version {version}, and this bethink knows versions up to {target} "
            "— upgrade bethink to the version that wrote the file, or a later one"
        )
    return version


def _back_up(path: str, version: int, database: Database) -> None:
    """Copy the file as it was last committed. A copy that was broken off never has the final name."""
    backup = f"{path}.v{version}.bak"
    unfinished = f"{backup}.{os.getpid()}.tmp"
    database.copy_to(unfinished)
    Path(unfinished).replace(backup)
