"""Getting the local model ready: complete, or absent."""

from pathlib import Path

import pytest

from stackroom.embed.weights import (
    MODEL_NAME,
    check_model,
    model_files,
    model_folder,
    multiplies_bytes,
    pull_model,
)
from stackroom.errors import ModelError, NotFoundError


@pytest.fixture
def wrong_source(tmp_path: Path) -> Path:
    source = tmp_path / "source"
    source.mkdir()
    (source / "model.safetensors").write_bytes(b"not the weights")
    (source / "tokenizer.json").write_text("{}")
    return source


@pytest.fixture
def complete(tmp_path: Path) -> Path:
    """A folder whose files have the right sizes; none takes room on the disk."""
    folder = model_folder(tmp_path / "models")
    folder.mkdir(parents=True)
    for name, size in model_files().items():
        with (folder / name).open("wb") as file:
            file.truncate(size or 10)
    return folder


def test_files_with_a_wrong_checksum_are_refused_and_leave_nothing_behind(
    tmp_path: Path, wrong_source: Path
) -> None:
    models = tmp_path / "models"
    with pytest.raises(
        ModelError, match=r"model\.safetensors: not the published file of all-MiniLM-L6-v2"
    ):
        pull_model(models, source=wrong_source)
    assert not models.exists()


def test_a_wrong_source_leaves_the_model_that_is_there(complete: Path, wrong_source: Path) -> None:
    with pytest.raises(ModelError):
        pull_model(complete.parent, source=wrong_source, force=True)
    assert check_model(complete) == []
    assert [path.name for path in complete.parent.iterdir()] == [MODEL_NAME]


def test_a_source_folder_that_lacks_a_file_is_refused_by_its_name(
    tmp_path: Path, wrong_source: Path
) -> None:
    (wrong_source / "tokenizer.json").unlink()
    with pytest.raises(NotFoundError, match=r"no tokenizer\.json in it"):
        pull_model(tmp_path / "models", source=wrong_source)


def test_a_model_that_is_not_there_is_told_with_the_command_that_gets_it(tmp_path: Path) -> None:
    (problem,) = check_model(tmp_path / MODEL_NAME)
    assert "is not installed" in problem
    assert "stackroom model pull" in problem


@pytest.mark.parametrize("name", list(model_files()))
def test_a_missing_file_is_named(complete: Path, name: str) -> None:
    (complete / name).unlink()
    (problem,) = check_model(complete)
    assert problem.startswith(f"{complete / name} is missing")


def test_a_cut_file_is_named_with_its_size(complete: Path) -> None:
    with (complete / "words.npy").open("r+b") as file:
        file.truncate(1000)
    (problem,) = check_model(complete)
    assert "words.npy has 1000 bytes, not 23441024" in problem
    assert "--force" in problem


@pytest.mark.parametrize(
    ("features", "is_fast"),
    [
        ("flags : fpu avx2 avx_vnni", True),
        ("flags : fpu avx512_vnni", True),
        ("Features : fp asimd asimddp", True),
        ("flags : fpu avx2", False),
        ("Features : fp asimd", False),
    ],
)
def test_8_bits_are_fast_where_the_processor_has_dot_products_of_bytes(
    tmp_path: Path, features: str, is_fast: bool
) -> None:
    (tmp_path / "cpuinfo").write_text(f"model name : Xeon\n{features}\n")
    assert multiplies_bytes(tmp_path / "cpuinfo") == is_fast
    assert multiplies_bytes(tmp_path / "missing")
