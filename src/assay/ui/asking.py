"""A request as pages take it, and how their errors become pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from assay.core.errors import AlteredError, AssayError, InputError
from assay.core.unforeseen import unforeseen
from assay.ui.guarding import Access
from assay.ui.pages import page

FORM_BYTES = 16_384


@dataclass(frozen=True)
class AskedPage:
    """What is asked for: names in the path, the query and, of a form, its fields; a text each."""

    names: Mapping[str, str]
    query: Mapping[str, str]
    fields: Mapping[str, str]


Handler = Callable[[AskedPage], Response]


def answered(handler: Handler, access: Access) -> Callable[[Request], Awaitable[Response]]:
    """The handler, run in a thread, with every error turned into a page."""

    async def answer(request: Request) -> Response:
        fields = await _fields(request) if request.method == "POST" else {}
        if request.method == "POST" and not access.is_form(fields.get("form", "")):
            raise HTTPException(403, "this form is from another start of the page: load it again")
        names = {name: str(value) for name, value in request.path_params.items()}
        asked = AskedPage(names, dict(request.query_params), fields)
        try:
            return await run_in_threadpool(handler, asked)
        except AssayError as error:
            return problem(error.message, error.next_step, _status(error))
        except Exception as error:  # whatever a damaged file can lead to
            return problem(*unforeseen(error), 500)

    return answer


async def refused(request: Request, error: Exception) -> Response:
    """The page of an error that the framework found: an address that is none, a form too large."""
    assert isinstance(error, HTTPException), "it is registered for these"
    return problem(f"{error.status_code}: {error.detail}", "", error.status_code)


def problem(message: str, next_step: str, status: int) -> Response:
    """A page that says what went wrong, and what to do."""
    return page("problem.html", status, here="", message=message, next_step=next_step)


def _status(error: AssayError) -> int:
    if isinstance(error, InputError):
        return 400
    return 409 if isinstance(error, AlteredError) else 500


async def _fields(request: Request) -> dict[str, str]:
    """The fields of a form as browsers send it."""
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > FORM_BYTES:
            raise HTTPException(413, "this form is too large")
    try:
        return dict(parse_qsl(data.decode("ascii"), keep_blank_values=True))
    except ValueError as error:
        raise HTTPException(400, "this is no form") from error
