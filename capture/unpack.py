"""Unpacking: tar archives that nobody has to trust. Nothing is written, and no link leads, outside of the target.

The standard library's own filter for this came with 3.11.4; Debian 12 has 3.11.2.
"""

import os
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

__all__ = ["MOST_BYTES", "MOST_MEMBERS", "unpack"]

MOST_MEMBERS = 50_000
MOST_BYTES = 1024**3


def unpack(archive: Path, target: Path, wanted: Callable[[str], bool] = lambda _: True) -> None:
    """Unpack the wanted members of an archive into a folder, or raise `tarfile.TarError` at the first that cannot be.

    Regular files, folders and links that stay inside are what an archive may hold; owners and most rights are not kept.
    """
    target.mkdir(parents=True, exist_ok=True)
    root = target.resolve()
    with tarfile.open(archive) as opened:
        for member in _limited(opened):
            if wanted(member.name):
                try:
                    _place(opened, member, root)
                except (FileExistsError, NotADirectoryError, IsADirectoryError, ValueError) as error:
                    raise tarfile.TarError(f"{member.name!a} is in the way of another member, or no name") from error


def _limited(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    size = 0
    for count, member in enumerate(archive, start=1):
        size += member.size
        if count > MOST_MEMBERS or size > MOST_BYTES:
            raise tarfile.TarError(f"more than {MOST_MEMBERS} members or {MOST_BYTES} bytes")
        yield member


def _place(archive: tarfile.TarFile, member: tarfile.TarInfo, root: Path) -> None:
    path = _inside(root, member.name)
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() or path.exists():
        raise tarfile.TarError(f"{member.name!a} stands twice")
    if member.isreg():
        _write(archive, member, path)
    elif member.issym():
        _inside(root, str(PurePosixPath(member.name).parent / member.linkname))
        path.symlink_to(member.linkname)
    elif member.islnk():
        shutil.copyfile(_inside(root, member.linkname), path)
    else:
        raise tarfile.TarError(f"{member.name!a} is neither file, folder nor link")


def _inside(root: Path, name: str) -> Path:
    """Return the path of a name below the root; one that leads outside, by itself or through a link, is refused."""
    path = root / os.path.normpath(name)
    if PurePosixPath(name).is_absolute() or not path.is_relative_to(root) or not path.parent.resolve().is_relative_to(root):
        raise tarfile.TarError(f"{name!a} leads out of the archive")
    return path


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    source = archive.extractfile(member)
    if source is None:
        raise tarfile.TarError(f"{member.name!a} has no content")
    with source, path.open("xb") as file:
        shutil.copyfileobj(source, file)
    path.chmod(0o755 if member.mode & 0o100 else 0o644)
