"""Each client's file is where its documentation says, on every platform."""

from pathlib import Path

import pytest

from stackroom.cli.install import CLIENTS

pytestmark = pytest.mark.row("N17")

WHERE = {
    "claude-desktop": (
        ".config/Claude/claude_desktop_config.json",
        "Library/Application Support/Claude/claude_desktop_config.json",
        "AppData/Roaming/Claude/claude_desktop_config.json",
    ),
    "claude-code": (".claude.json",) * 3,
    "cursor": (".cursor/mcp.json",) * 3,
    "vscode": (
        ".config/Code/User/mcp.json",
        "Library/Application Support/Code/User/mcp.json",
        "AppData/Roaming/Code/User/mcp.json",
    ),
    "windsurf": (".codeium/windsurf/mcp_config.json",) * 3,
    "codex": (".codex/config.toml",) * 3,
    "gemini-cli": (".gemini/settings.json",) * 3,
    "zed": (
        ".config/zed/settings.json",
        ".config/zed/settings.json",
        "AppData/Roaming/Zed/settings.json",
    ),
    "goose": (
        ".config/goose/config.yaml",
        ".config/goose/config.yaml",
        "AppData/Roaming/Block/goose/config/config.yaml",
    ),
    "lm-studio": (".lmstudio/mcp.json",) * 3,
}
VARIABLES = (
    "APPDATA",
    "LOCALAPPDATA",
    "XDG_CONFIG_HOME",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GOOSE_PATH_ROOT",
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without any client."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(("number", "platform"), list(enumerate(("linux", "darwin", "win32"))))
def test_a_client_has_its_file_on_each_platform(
    client: str, number: int, platform: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    assert CLIENTS[client].path() == home / WHERE[client][number]


@pytest.mark.parametrize(
    ("client", "variable", "platform", "path"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", "linux", "x/.claude.json"),
        ("codex", "CODEX_HOME", "darwin", "x/config.toml"),
        ("goose", "GOOSE_PATH_ROOT", "win32", "x/config/config.yaml"),
        ("zed", "XDG_CONFIG_HOME", "linux", "x/zed/settings.json"),
        ("zed", "XDG_CONFIG_HOME", "darwin", ".config/zed/settings.json"),
        ("vscode", "APPDATA", "win32", "x/Code/User/mcp.json"),
    ],
)
def test_a_folder_that_the_environment_names_is_followed(
    client: str,
    variable: str,
    platform: str,
    path: str,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setenv(variable, str(home / "x"))
    assert CLIENTS[client].path() == home / path


def test_claude_desktop_as_a_package_of_windows_reads_its_own_folder(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    package = home / "AppData/Local/Packages/Claude_pzs8sxrjxfjjc"
    package.mkdir(parents=True)
    assert (
        CLIENTS["claude-desktop"].path()
        == package / "LocalCache/Roaming/Claude/claude_desktop_config.json"
    )


def test_lm_studio_is_found_where_it_says_it_is(home: Path) -> None:
    (home / ".cache/lm-studio").mkdir(parents=True)
    assert CLIENTS["lm-studio"].path() == home / ".cache/lm-studio/mcp.json"
    (home / ".lmstudio-home-pointer").write_text(f"{home / 'elsewhere'}\n")
    assert CLIENTS["lm-studio"].path() == home / "elsewhere/mcp.json"
