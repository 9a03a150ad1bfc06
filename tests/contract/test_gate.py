"""The gate over every operation of a server: permission, limit, bad input, audit and cache.

The operations are those that a whole server has: every tool and endpoint of the engine, of
administrators and of packages. Each keeps its declaration, and does nothing but count its runs.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any
from xml.etree import ElementTree

import pytest
from pydantic import BaseModel

from stackroom.control.accounts.limits import RateLimiter
from stackroom.errors import (
    ExpectedError,
    ForbiddenError,
    NotFoundError,
    RateLimitedError,
    StorageError,
    UnknownToolError,
)
from stackroom.gate.answer import Answer, AnswerCache
from stackroom.gate.auditing import redacted
from stackroom.gate.gate import Gate
from stackroom.model.principal import (
    LOCAL_USER,
    Action,
    AuditEntry,
    Cost,
    Outcome,
    Principal,
    Quotas,
)
from stackroom.model.scope import Visibility
from stackroom.net.addresses import SECRET_NAME
from stackroom.serve.http.routes import ADMIN_OPERATIONS
from stackroom.tools.faces.rest import Door
from stackroom.tools.operation import (
    NOTED_WHOLE,
    AnyOperation,
    Call,
    Operation,
    RawParams,
    origin_of,
)
from stackroom.tools.toolbox import Toolbox
from support.libraries import copy_samples
from support.plain_tools import Done
from support.whole_server import WholeServer, open_whole

FOR_EVERY_CALLER = {
    "account/create_token",
    "account/list_tokens",
    "account/revoke_token",
    "media/file",
    "resources/read",
    "subsonic/download",
    "subsonic/getCoverArt",
    "subsonic/getOpenSubsonicExtensions",
    "subsonic/stream",
}
"""The operations that need no permission: they are about the caller alone, or look for it
themselves.
"""
GIVEN: dict[str, dict[str, Any]] = {
    "fetch": {"id": "anime/mal-1"},
    "similar": {"id": "anime/mal-1"},
    "get_anime_details": {"id": "mal-1"},
    "explain": {"id": "anime/mal-1", "arguments": {"query": "sea"}},
}
"""Parameters of the operations that a value of each type does not fit."""
KEEPS_ITS_OWN = {"map"}
"""Tools that say what they read, and keep what they made themselves."""
HIDDEN = "hunter22-hunter22"
WRONG: list[Any] = [HIDDEN, {"key": [HIDDEN]}, [[HIDDEN]], 1.5, True]
"""Values of which no parameter takes all; the bytes of a body are none of them."""
FOREIGN = ("Input should", "List should", "Value error", "None", "dictionary", "pydantic")
"""Words of the library that validates, which mean nothing to callers."""


def sample_of(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
    """Return a value that fits a schema."""
    if "$ref" in schema:
        return sample_of(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return sample_of(schema["anyOf"][0], definitions)
    match schema.get("type"):
        case "array":
            return [sample_of(schema["items"], definitions)]
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "object":
            return {}
        case _:
            return "x"


def values_for(name: str, params: type[BaseModel]) -> dict[str, Any]:
    """Return the parameters that an operation requires."""
    schema = params.model_json_schema()
    made = {
        one: sample_of(schema["properties"][one], schema.get("$defs", {}))
        for one in schema.get("required", [])
    }
    return {**made, **GIVEN.get(name, {})}


class Sink:
    """Implements `Observer`: remembers entries, and whether they were to be durable."""

    def __init__(self) -> None:
        self.entries: list[tuple[AuditEntry, bool]] = []

    def write(self, entry: AuditEntry, *, durable: bool) -> None:
        self.entries.append((entry, durable))


@dataclass(frozen=True, kw_only=True)
class Asked:
    """An operation as it is called: as a tool, or by its address or command."""

    operation: AnyOperation
    as_tool: str = ""
    params: type[BaseModel]
    given: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        return self.as_tool or self.operation.noted_as

    @property
    def values(self) -> dict[str, Any]:
        if self.given is not None:
            return dict(self.given)
        return values_for(self.operation.name, self.params)

    @property
    def is_noted(self) -> bool:
        return self.operation.faces.audit.is_noted


@dataclass(kw_only=True)
class Gated:
    """Every operation of a server behind a gate; none does anything but count."""

    toolbox: Toolbox = field(init=False)
    asked: list[Asked] = field(default_factory=list)
    sink: Sink = field(default_factory=Sink)
    runs: Counter[str] = field(default_factory=Counter)
    problem: Exception | None = None

    def entry(self, asked: Asked) -> AuditEntry | None:
        """Return the only entry of a call; None where its operation is declared to leave none."""
        entries, self.sink.entries = self.sink.entries, []
        assert len(entries) == asked.is_noted, (str(asked), entries)
        for _, is_durable in entries:
            assert is_durable is (asked.operation.cost_of(asked.values) is not Cost.READ), asked
        return entries[0][0] if entries else None

    def stub(self, operation: AnyOperation) -> AnyOperation:
        """Return an operation as it is declared, which only counts."""

        def run(call: Call, _params: Any) -> Done:
            self.runs[operation.name] += 1
            if self.problem:
                raise self.problem
            return Done()

        audit = replace(operation.faces.audit, count_of=NOTED_WHOLE.count_of)
        faces = replace(operation.faces, text=lambda _result: "done", audit=audit)
        return replace(operation, run=run, result=Done, faces=faces)

    def gate(self, **options: Any) -> Gate:
        self.runs.clear()
        self.sink.entries.clear()
        self.problem = None
        return Gate(self.toolbox, observers=[self.sink], **options)

    def call(
        self, gate: Gate, asked: Asked, principal: Principal = LOCAL_USER, **more: Any
    ) -> ExpectedError | None:
        """Call an operation, and return its error; None where it was done."""
        origin = origin_of(principal, via="rest")
        noun = "argument" if asked.as_tool else "field"
        raw = RawParams(
            values={**asked.values, **more}, noun=noun, shows_values=bool(asked.as_tool)
        )
        try:
            answer = gate.begin(asked.as_tool or asked.operation, origin, raw).finish()
        except ExpectedError as error:
            return error
        return answer.error if isinstance(answer, Answer) else None


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WholeServer]:
    with open_whole(copy_samples(tmp_path_factory.mktemp("server"))) as opened:
        yield opened


@pytest.fixture(scope="module")
def gated(server: WholeServer) -> Gated:
    """Every tool, endpoint and command of the server."""
    made = Gated()
    served = [replace(one, operation=made.stub(one.operation)) for one in server.tools.values()]
    catalogues = server.gate.toolbox_of(LOCAL_USER).catalogues
    made.toolbox = Toolbox(served, catalogues=catalogues)
    doors = [door.behind for door in server.endpoints if isinstance(door.behind, Operation)]
    plain = {one.noted_as: made.stub(one) for one in [*doors, *ADMIN_OPERATIONS]}
    made.asked = [
        *(Asked(operation=one.operation, as_tool=one.name, params=one.params) for one in served),
        *(Asked(operation=one, params=one.params) for one in plain.values()),
    ]
    return made


@pytest.mark.row("Z3")
def test_a_caller_without_the_permission_is_refused_and_one_with_it_alone_is_not(
    gated: Gated,
) -> None:
    gate, open_to_all = gated.gate(), set()
    for asked in gated.asked:
        needed = asked.operation.needs.any_of
        if not needed:
            open_to_all.add(str(asked))
            continue
        outsider = Principal(name="ada", actions=frozenset(Action) - set(needed))
        error = gated.call(gate, asked, outsider)
        entry = gated.sink.entries[0][0] if asked.is_noted else None
        assert entry is None or entry.outcome is Outcome.REFUSED, asked
        assert gated.runs.total() == 0, asked
        if asked.as_tool:
            nothing = gated.call(gate, replace(asked, as_tool="qqqq"), outsider)
            assert isinstance(error, UnknownToolError), asked
            assert not gated.sink.entries[0][1], "as quick for one that there is as for none"
            assert isinstance(nothing, UnknownToolError)
            words = (one.message.partition(" (did")[0] for one in (error, nothing))
            assert next(words).replace(asked.as_tool, "qqqq").startswith(next(words)[:14])
            assert asked.as_tool not in {one.name for one in gate.list_tools(outsider)}
        else:
            assert isinstance(error, ForbiddenError), asked
            assert all(action in error.message for action in needed), asked
        for action in needed:
            insider = Principal(name="ada", actions=frozenset({action}))
            assert gated.call(gate, asked, insider) is None, asked
        gated.sink.entries.clear()
        gated.runs.clear()
    assert open_to_all == FOR_EVERY_CALLER


@pytest.mark.row("Z12")
def test_a_call_counts_against_the_limit_of_its_cost_alone(gated: Gated) -> None:
    gate = gated.gate(limiter=RateLimiter())
    for number, asked in enumerate(gated.asked):
        cost, audit = asked.operation.cost_of(asked.values), asked.operation.faces.audit
        for quota in Cost:
            quotas = Quotas(**{**dict.fromkeys(map(str, Cost), 9), str(quota): 0})
            caller = replace(LOCAL_USER, name=f"user {number} {quota}", quotas=quotas)
            error = gated.call(gate, asked, caller)
            is_limited = quota is cost and audit.is_limited
            assert (error.code if error else None) == ("rate_limited" if is_limited else None), (
                asked,
                quota,
            )
            if is_limited and asked.is_noted:
                assert gated.sink.entries[-1][0].outcome is Outcome.LIMITED
    for asked in gated.asked:
        if asked.operation.faces.audit.is_limited:
            once = replace(LOCAL_USER, name=str(asked), quotas=Quotas(read=1, write=1, sql=1))
            assert gated.call(gate, asked, once, pasword="x") is not None
            error = gated.call(gate, asked, once)
            assert isinstance(error, RateLimitedError), "bad input counts too"


@pytest.mark.row("Z13")
def test_bad_input_names_its_field_and_nothing_of_it_is_noted(gated: Gated) -> None:
    gate = gated.gate()
    for asked in gated.asked:
        noun = "argument" if asked.as_tool else "field"
        error = gated.call(gate, asked, pasword=HIDDEN)
        assert error is not None, asked
        assert error.code == "invalid_input", asked
        assert f"unknown {noun} 'pasword'" in error.message, asked
        known = [one.alias or name for name, one in asked.params.model_fields.items()]
        assert all(name in error.message for name in known), asked
        assert HIDDEN not in error.message
        entry = gated.entry(asked)
        if entry is not None:
            assert (entry.outcome, entry.error_code) == (Outcome.ERROR, "invalid_input"), asked
            assert list(entry.parameters) == ["problem"], asked
            assert HIDDEN not in repr(entry), asked
        for name, value in product(known, WRONG):
            error = gated.call(gate, asked, **{name: value})
            if error is not None and name != "content":
                assert error.code == "invalid_input", (asked, name)
                assert f"'{name}" in error.message, (asked, error.message)
                assert not [word for word in FOREIGN if word in error.message], error.message
                assert asked.as_tool or HIDDEN not in error.message, asked
                assert HIDDEN not in repr(gated.entry(asked)), (asked, name)
            gated.sink.entries.clear()
        for name in [
            one.alias or name
            for name, one in asked.params.model_fields.items()
            if one.is_required()
        ]:
            lacking = {one: value for one, value in asked.values.items() if one != name}
            error = gated.call(gate, replace(asked, given=lacking))
            gated.sink.entries.clear()
            assert error is not None, asked
            assert f"'{name}' is missing" in error.message, asked


@pytest.mark.row("Z14")
def test_null_for_what_may_be_left_out_is_as_leaving_it_out(gated: Gated) -> None:
    gate = gated.gate()
    for asked in gated.asked:
        names = {one.alias or name for name, one in asked.params.model_fields.items()}
        nulls = dict.fromkeys(names - asked.values.keys())
        assert gated.call(gate, asked, **nulls) is None, asked


@pytest.mark.row("Z13")
@pytest.mark.parametrize(
    ("problem", "outcome"),
    [
        (None, Outcome.OK),
        (NotFoundError("there is none"), Outcome.ERROR),
        (ForbiddenError("not this one"), Outcome.REFUSED),
        (StorageError("the disk is away"), Outcome.ERROR),
        (KeyError("a bug"), Outcome.FAILED),
    ],
)
def test_a_call_has_one_entry_with_who_what_and_what_became_of_it_and_no_secret(
    gated: Gated, problem: Exception | None, outcome: Outcome
) -> None:
    gate, hidden = gated.gate(), set[str]()
    gated.problem = problem
    for asked in gated.asked:
        face, is_tool = asked.operation.faces.audit, bool(asked.as_tool)
        texts = {
            name: HIDDEN
            for name, schema in asked.params.model_json_schema().get("properties", {}).items()
            if "string" in str(schema) and SECRET_NAME.search(name)
        }
        hidden |= texts.keys()
        with suppress(KeyError):
            gated.call(gate, asked, LOCAL_USER, **texts)
        entry = gated.entry(asked)
        if entry is None:
            continue
        assert (entry.principal, entry.via, entry.outcome) == ("local", "rest", outcome), asked
        assert entry.operation == ("tools/call" if is_tool else asked.operation.noted_as)
        given = asked.params.model_validate({**asked.values, **texts}) if face.target else None
        target = asked.as_tool or (str(getattr(given, face.target)) if given else "")
        assert entry.target == redacted(target), asked
        noted = {**asked.values, **texts} if is_tool or face.notes_parameters else {}
        assert entry.parameters.keys() == noted.keys() - {"" if is_tool else face.target}, asked
        assert HIDDEN not in repr(entry), asked
    assert "password" in hidden


@pytest.mark.row("T5")
@pytest.mark.row("Z3")
def test_a_read_that_says_what_it_reads_is_answered_once_for_callers_who_see_the_same(
    gated: Gated,
) -> None:
    gate = gated.gate(cache=AnswerCache(1000))
    kept = set()
    for asked in gated.asked:
        gated.runs.clear()
        for _ in range(2):
            gated.call(gate, asked)
            gated.call(gate, asked, replace(LOCAL_USER, name="bob"))
        is_kept = (
            bool(asked.as_tool and asked.operation.reads) and asked.as_tool not in KEEPS_ITS_OWN
        )
        assert gated.runs.total() == (1 if is_kept else 4), asked
        kept |= {asked.as_tool} if is_kept else set()
        for sees in (
            Visibility(hidden=frozenset({"anime"})),
            Visibility(only=frozenset({"anime", "music"})),
        ):
            caller = replace(LOCAL_USER, visibility=sees)
            for _ in range(2):
                gated.call(gate, asked, caller)
        assert gated.runs.total() == (3 if is_kept else 8), asked
        gated.sink.entries.clear()
        gated.problem = NotFoundError("there is none")
        for _ in range(2):
            gated.call(gate, asked, replace(LOCAL_USER, visibility=Visibility(only=frozenset())))
        assert gated.runs.total() == (5 if is_kept else 10), "a failure is not kept"
        gated.problem = None
    assert len(kept) > 20


def send(server: WholeServer, door: Door, headers: Mapping[str, str], **more: Any) -> Any:
    """Send a request to an endpoint with a value for each parameter."""
    path, values = door.path, dict(more)
    if isinstance(door.behind, Operation):
        values = values_for(door.behind.name, door.behind.params) | values
    for name in door.path_parameters:
        path = re.sub(rf"{{{name}(:path)?}}", str(values.pop(name, "x")), path)
    content: dict[str, Any] = {"params": values}
    if door.body is not None or door.method == "POST":
        content = {"json": values}
    if door.raw_body:
        content = {"params": values, "content": values.pop(door.raw_body)}
    server.notes.entries.clear()
    return server.client.request(door.method, path, headers=headers, **content)


def error_of(reply: Any, door: Door) -> Any:
    """Return the code of an error, in the form of its endpoint."""
    if door.rest.protocol is not None:
        return int(ElementTree.fromstring(reply.text)[0].get("code", 0))
    return reply.json()["error"]["code"]


@pytest.mark.row("Z2")
@pytest.mark.row("Z3")
def test_every_endpoint_refuses_strangers_and_callers_without_the_permission(
    server: WholeServer,
) -> None:
    nobody = server.headers_of("nobody")
    for door in server.endpoints:
        if door.needs.is_public:
            continue
        reply = send(server, door, {})
        is_own = door.rest.protocol is not None
        assert (reply.status_code, error_of(reply, door)) == (
            (200, 10) if is_own else (401, "unauthenticated")
        ), door.name
        if door.needs.any_of and not is_own:
            reply = send(server, door, nobody)
            assert (reply.status_code, error_of(reply, door)) == (403, "forbidden"), door.name
            for entry in server.notes.entries:
                assert (entry.principal, entry.operation) == ("nobody", door.name)
                assert entry.outcome is Outcome.REFUSED


@pytest.mark.row("Z13")
def test_every_endpoint_refuses_a_wrong_field_by_its_name_and_notes_no_value(
    server: WholeServer,
) -> None:
    headers, refused = server.headers_of("root", *Action), 0
    for door in server.endpoints:
        if door.body is None:
            continue
        fields = door.body.model_json_schema()["properties"].items()
        no_objects = [name for name, schema in fields if "object" not in str(schema)]
        for wrong in ({"pasword": HIDDEN}, *({name: {"x": HIDDEN}} for name in no_objects)):
            reply = send(server, door, headers, **wrong)
            (name,) = wrong
            assert (reply.status_code, error_of(reply, door)) == (400, "invalid_input"), door.name
            assert f"'{name}" in reply.text, (door.name, reply.text)
            assert HIDDEN not in reply.text + repr(server.notes.entries), door.name
            assert [one.operation for one in server.notes.entries] == [door.name]
        refused += 1
    assert refused > 10
