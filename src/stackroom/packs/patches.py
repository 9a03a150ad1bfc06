"""zstd: compressing the files of packs, and patches from one version of a file to the next.

A patch is an ordinary zstd frame of the new content that refers to the whole old content as its
prefix, as `zstd --patch-from` writes it. What comes out is checked by the manifest; a patch itself
is not trusted.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from stackroom.checksums import sha256_of
from stackroom.errors import StorageError
from stackroom.packs.manifest import SHORT, PackFile
from stackroom.zstd import zstd

LEVEL = 12
QUICK_LEVEL = 3  # the level of records that are compressed where they are installed
# with long-distance matching, higher levels take many times as long and save nothing
PATCH_LEVEL = 1
MOST_PATCHED_BYTES = 1 << 30
"""The largest sum of old and new content for which there are patches: both are held in memory."""
SMALLEST_BASE_BYTES = 8
PATCH_ENDING = ".patch"
CHUNK_BYTES = 1 << 20
SMALLEST_WINDOW_LOG, LARGEST_WINDOW_LOG = 10, 31

_Compress, _Decompress = zstd.CompressionParameter, zstd.DecompressionParameter


def patch_name(base: PackFile, target: PackFile) -> str:
    """Return the name of the patch from one version of a file to another."""
    stem = target.name.partition(".")[0]
    return f"{stem}-{base.content[:SHORT]}-{target.content[:SHORT]}{PATCH_ENDING}"


def can_be_patched(base: PackFile, target: PackFile) -> bool:
    """Tell whether two versions of a file differ, fit into memory, and are long enough for zstd."""
    is_bounded = (
        base.raw_bytes >= SMALLEST_BASE_BYTES
        and base.raw_bytes + target.raw_bytes <= MOST_PATCHED_BYTES
    )
    return is_bounded and base.content != target.content


def make_patch(old: bytes, new: bytes) -> bytes:
    """Return the patch from some content to another."""
    window_log = min(
        max((len(old) + len(new)).bit_length(), SMALLEST_WINDOW_LOG), LARGEST_WINDOW_LOG
    )
    options: dict[int, int] = {
        _Compress.compression_level: PATCH_LEVEL,
        _Compress.enable_long_distance_matching: 1,
        _Compress.window_log: window_log,
    }
    compressor = zstd.ZstdCompressor(
        options=options, zstd_dict=zstd.ZstdDict(old, is_raw=True).as_prefix
    )
    compressor.set_pledged_input_size(len(new))
    return compressor.compress(new, zstd.ZstdCompressor.FLUSH_FRAME)


def apply_patch(old: bytes, patch: bytes, target: PackFile) -> bytes:
    """Return the content that a patch makes of an old one; refuse any other than the manifest
    names.
    """
    options: dict[int, int] = {_Decompress.window_log_max: LARGEST_WINDOW_LOG}
    try:
        decompressor = zstd.ZstdDecompressor(
            zstd_dict=zstd.ZstdDict(old, is_raw=True).as_prefix, options=options
        )
        content = decompressor.decompress(patch, target.raw_bytes + 1)
    except zstd.ZstdError as error:
        raise StorageError(
            f"the patch to {target.name} is damaged: {error}; fetch it again"
        ) from error
    if hashlib.sha256(content).hexdigest() != target.content:
        raise StorageError(
            f"the patch to {target.name} does not make the content that the manifest names; fetch"
            " it again"
        )
    return content


def compress(content: bytes) -> bytes:
    """Compress some content quickly."""
    return zstd.compress(content, QUICK_LEVEL)


def check_file(path: Path, file: PackFile, *, is_shipped: bool) -> str | None:
    """Return what is wrong with a file; None if it is whole. One that is not shipped may be
    compressed anew.
    """
    try:
        if is_shipped and (sha256_of(path), path.stat().st_size) != (file.sha256, file.size_bytes):
            return f"{path} is damaged: its sha256 is not that of the manifest; fetch it again"
        digest, size_bytes = hashlib.sha256(), 0
        for chunk in iter_content(path, file):
            digest.update(chunk)
            size_bytes += len(chunk)
        if (digest.hexdigest(), size_bytes) != (file.content, file.raw_bytes):
            return f"{path} is damaged: its content is not that of the manifest; fetch it again"
    except OSError as error:
        return f"{path}: cannot be read: {error.strerror or error}; fetch it again"
    except StorageError as error:
        return error.message
    return None


def read_content(path: Path, file: PackFile) -> bytes:
    """Return the content of a file, which has to fit into memory."""
    return b"".join(iter_content(path, file))


def iter_content(path: Path, file: PackFile) -> Iterator[bytes]:
    """Yield the unpacked content of a file in parts; end with an error where there is more than
    there should be.
    """
    unpacked = 0
    try:
        with zstd.open(path) if file.is_compressed else path.open("rb") as stream:
            while chunk := stream.read(CHUNK_BYTES):
                unpacked += len(chunk)
                if unpacked > file.raw_bytes:
                    raise StorageError(
                        f"{path} is damaged: it unpacks to more than {file.raw_bytes:,} bytes;"
                        " fetch it again"
                    )
                yield chunk
    except (zstd.ZstdError, EOFError) as error:
        raise StorageError(f"{path} is damaged: {error}; fetch it again") from error
