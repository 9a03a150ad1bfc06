"""The endpoints of uploaded tables: for administrators; on a server without accounts, for the local user."""

from functools import partial
from typing import Any

from stackroom.assembly.tables.forms import (
    BeginBody,
    BuildBody,
    PieceParams,
    ProposalBody,
    ProposalResult,
    TableResult,
    TablesResult,
)
from stackroom.assembly.tables.tables import Tables
from stackroom.errors import ForbiddenError
from stackroom.model.principal import Action, Cost
from stackroom.tools.endpoint import Endpoint, EndpointRequest

PATH = "/v1/tables"
ONE = f"{PATH}/{{id}}"
REFUSALS = (404, 409)


def table_endpoints(tables: Tables) -> list[Endpoint]:
    """Return the endpoints of a server's uploaded tables."""
    run = TableEndpoints(tables)
    declare = partial(Endpoint, tag="tables", action=Action.SERVER_ADMIN)
    one = partial(declare, path_parameters={"id": "of the table, as `POST /v1/tables` answers it"}, target="id")
    follow = partial(one, is_limited=False, is_audited=False)
    return [
        declare("GET", PATH, run.list_tables, result=TablesResult, is_limited=False, is_audited=False),
        declare(
            "POST",
            PATH,
            run.begin_table,
            body=BeginBody,
            result=TableResult,
            status=201,
            target="file",
            cost=Cost.WRITE,
            refusals=(409,),
        ),
        follow(
            "PUT",
            f"{ONE}/content",
            run.send_piece,
            takes_bytes=True,
            query=PieceParams,
            result=TableResult,
            refusals=REFUSALS,
        ),
        follow("GET", ONE, run.show_table, result=TableResult, refusals=REFUSALS),
        follow("GET", f"{ONE}/proposal", run.show_proposal, result=ProposalResult, refusals=REFUSALS),
        follow(
            "PUT",
            f"{ONE}/proposal",
            run.change_proposal,
            body=ProposalBody,
            result=ProposalResult,
            refusals=REFUSALS,
        ),
        one(
            "POST",
            f"{ONE}/build",
            run.build_table,
            body=BuildBody,
            result=TableResult,
            status=202,
            cost=Cost.WRITE,
            refusals=REFUSALS,
        ),
        one("DELETE", ONE, run.discard_table, status=204, cost=Cost.WRITE, refusals=REFUSALS),
    ]


class TableEndpoints:
    """Answers requests about uploaded tables."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def list_tables(self, request: EndpointRequest[Any, Any]) -> TablesResult:
        """Tell what can be uploaded, and list the caller's tables."""
        return self._tables.list_of(_owner(request))

    def begin_table(self, request: EndpointRequest[Any, BeginBody]) -> TableResult:
        """Announce a table; it is then sent in pieces."""
        return self._tables.begin(_owner(request), file=request.body.file, size_bytes=request.body.size_bytes)

    def send_piece(self, request: EndpointRequest[PieceParams, bytes]) -> TableResult:
        """Take a piece of a table's file; after the last one it is read."""
        return self._tables.receive(*_of(request), request.body, offset=request.query.offset)

    def show_table(self, request: EndpointRequest[Any, Any]) -> TableResult:
        """Tell how far a table is."""
        return self._tables.find_state(*_of(request))

    def show_proposal(self, request: EndpointRequest[Any, Any]) -> ProposalResult:
        """Return the catalogue that is proposed for a table."""
        return self._tables.get_proposal(*_of(request))

    def change_proposal(self, request: EndpointRequest[Any, ProposalBody]) -> ProposalResult:
        """Change the catalogue that is proposed for a table."""
        return self._tables.change(*_of(request), request.body)

    def build_table(self, request: EndpointRequest[Any, BuildBody]) -> TableResult:
        """Begin to build the catalogue that is proposed for a table."""
        return self._tables.build(*_of(request), embed=request.body.embed)

    def discard_table(self, request: EndpointRequest[Any, Any]) -> None:
        """Discard a table: stop its build, or remove the catalogue that was built of it."""
        self._tables.discard(*_of(request))


def _of(request: EndpointRequest[Any, Any]) -> tuple[str, str]:
    return _owner(request), request.path["id"]


def _owner(request: EndpointRequest[Any, Any]) -> str:
    """Return whose tables a request is about; a credential for some catalogues makes no others."""
    if request.principal.visibility.only is not None:
        raise ForbiddenError("a token that is confined to catalogues cannot add tables: use one for all catalogues")
    return request.principal.name
