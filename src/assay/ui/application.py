"""The page as an ASGI application: which address shows what."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Event

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from assay.core.errors import InputError
from assay.ledger.places import LedgerPlace
from assay.ui.asking import Handler, answered, refused
from assay.ui.bundle_pages import BundlePages
from assay.ui.children import OWN, Children
from assay.ui.doctor_pages import DoctorPages
from assay.ui.guarding import Access, Guard
from assay.ui.ledger_pages import LedgerPages
from assay.ui.pages import ASSETS, asset
from assay.ui.shelf import Shelf
from assay.ui.study_pages import StudyPages


def app(
    folder: str | Path = ".",
    *,
    access: Access | None = None,
    ledger: LedgerPlace | None = None,
    command: Sequence[str] = OWN,
) -> Guard:
    """The page of a folder, behind its checks. Serve it on loopback only.

    `access`: by default a token that is drawn anew, and that `Access.token` has; `Access(token="")`
    asks for none. `ledger`: what its pages show, None for no ledger. `command`: what is started to
    extend a study or to look at a server, before its own words. InputError where `folder` is none.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InputError(f"{root} is no folder", next_step="name the folder of your bundles")
    access, shelf, children = access or Access(), Shelf(root), Children(command)
    pages, ending = LedgerPages(ledger, shelf), Event()
    bundles = BundlePages(shelf, children, access, pages, ending)
    studies, doctor = StudyPages(shelf), DoctorPages(shelf, children, access)
    made = Starlette(
        routes=[
            _shows("/", bundles.listed, access),
            _shows("/bundles/{bundle}", bundles.one, access),
            _shows("/bundles/{bundle}/report", bundles.report, access),
            Route("/bundles/{bundle}/events", bundles.events),
            _does("/bundles/{bundle}/stop", bundles.stop, access),
            _shows("/bundles/{bundle}/extend", bundles.ask_to_extend, access),
            _does("/bundles/{bundle}/extend", bundles.extend, access),
            _shows("/compare", bundles.compared, access),
            _shows("/studies", studies.listed, access),
            _shows("/studies/shipped/{study}", studies.one_shipped, access),
            _shows("/studies/of/{study}", studies.one_of_folder, access),
            _shows("/ledger", pages.searched, access),
            _shows("/ledger/history", pages.history, access),
            _shows("/doctor", doctor.listed, access),
            _does("/doctor", doctor.begin, access),
            _shows("/doctor/{diagnosis}", doctor.one, access),
            _shows("/doctor/{diagnosis}/alone", doctor.alone, access),
            Route("/static/{name}", _static),
        ],
        exception_handlers={HTTPException: refused},
    )
    return Guard(made, access, ending)


def _shows(address: str, handler: Handler, access: Access) -> BaseRoute:
    return Route(address, answered(handler, access))


def _does(address: str, handler: Handler, access: Access) -> BaseRoute:
    return Route(address, answered(handler, access), methods=["POST"])


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in ASSETS:
        raise HTTPException(404)
    return Response(asset(name), media_type=ASSETS[name])
