"""A chunk that is longer than any body could be is noticed at its size, however the bytes arrive."""

import pytest

from pinakes.serve.http.chunk_sizes import ChunkSizes

pytestmark = pytest.mark.row("T6")

ABSURD = [b"FFFFFFFFFFFFFFFF\r\n", b"000000000fffffffff;a=b\r\n", b"3\r\nabc\r\n100000000\r\n"]
HARMLESS = [
    b"0\r\n\r\n",
    b"00000000000003\r\nabc\r\n0\r\n\r\n",
    b"FFFFFFFF\r\n",
    b"12\r\nFFFFFFFFFFFFFFFF\r\n\r\n0\r\nX: FFFFFFFFFFFFFFFF\r\n\r\nFFFFFFFFFFFFFFFF\r\n",
    b"",
    b"zz\r\n",
]


def in_pieces(data: bytes, size: int) -> bool:
    sizes = ChunkSizes()
    return any(sizes.is_absurd(data[at : at + size]) for at in range(0, len(data), size))


@pytest.mark.parametrize("size", [1, 2, 5, 1_000])
@pytest.mark.parametrize("data", ABSURD)
def test_a_size_beyond_all_is_noticed(data: bytes, size: int) -> None:
    assert in_pieces(data, size)


@pytest.mark.parametrize("size", [1, 2, 5, 1_000])
@pytest.mark.parametrize("data", HARMLESS)
def test_what_only_looks_like_a_size_is_none(data: bytes, size: int) -> None:
    assert not in_pieces(data, size)
