"""The endpoints of uploaded tables: for administrators; on a server without accounts, for the local user."""

from functools import partial
from typing import Any

from stackroom.assembly.uploads import BeginBody, PieceParams, TableResult, TablesResult, Uploads
from stackroom.errors import ForbiddenError
from stackroom.model.principal import Action, Cost
from stackroom.tools.endpoint import Endpoint, EndpointRequest

PATH = "/v1/tables"
ONE = f"{PATH}/{{id}}"
REFUSALS = (404, 409)


def upload_endpoints(uploads: Uploads) -> list[Endpoint]:
    """Return the endpoints of a server's uploaded tables."""
    run = UploadEndpoints(uploads)
    declare = partial(Endpoint, tag="tables", action=Action.SERVER_ADMIN)
    one = partial(declare, path_parameters={"id": "of the table, as `POST /v1/tables` answers it"}, target="id")
    follow = partial(one, is_limited=False, is_audited=False, refusals=REFUSALS, result=TableResult)
    begin = partial(declare, body=BeginBody, result=TableResult, status=201, cost=Cost.WRITE, refusals=(409,))
    return [
        declare("GET", PATH, run.list_tables, result=TablesResult, is_limited=False, is_audited=False),
        begin("POST", PATH, run.begin_table, target="file"),
        follow("PUT", f"{ONE}/content", run.send_piece, takes_bytes=True, query=PieceParams),
        follow("GET", ONE, run.show_table),
        one("DELETE", ONE, run.discard_table, status=204, cost=Cost.WRITE, refusals=REFUSALS),
    ]


class UploadEndpoints:
    """Answers requests about uploaded tables."""

    def __init__(self, uploads: Uploads) -> None:
        self._uploads = uploads

    def list_tables(self, request: EndpointRequest[Any, Any]) -> TablesResult:
        """Tell what can be uploaded, and list the caller's tables."""
        return self._uploads.list_of(_owner(request))

    def begin_table(self, request: EndpointRequest[Any, BeginBody]) -> TableResult:
        """Announce a table; it is then sent in pieces."""
        return self._uploads.begin(_owner(request), file=request.body.file, size_bytes=request.body.size_bytes)

    def send_piece(self, request: EndpointRequest[PieceParams, bytes]) -> TableResult:
        """Take a piece of a table's file; after the last one the catalogue is built."""
        table_id = request.path["id"]
        return self._uploads.receive(_owner(request), table_id, request.body, offset=request.query.offset)

    def show_table(self, request: EndpointRequest[Any, Any]) -> TableResult:
        """Tell how far a table is."""
        return self._uploads.find_state(_owner(request), request.path["id"])

    def discard_table(self, request: EndpointRequest[Any, Any]) -> None:
        """Discard a table: stop its build, or remove the catalogue that was built of it."""
        self._uploads.discard(_owner(request), request.path["id"])


def _owner(request: EndpointRequest[Any, Any]) -> str:
    """Return whose tables a request is about; a credential for some catalogues makes no others."""
    if request.principal.visibility.only is not None:
        raise ForbiddenError("a token that is confined to catalogues cannot add tables: use one for all catalogues")
    return request.principal.name
