"""Archives of skills."""

import io
import tarfile


def write(path, files):
    """Writes the files, by relative path, to a `.tar.gz`."""
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            content = text.encode()
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
