"""Pages of `assay doctor`: diagnoses of the folder, and a form that looks at a server now."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from assay.api import default_folder
from assay.core.errors import InputError
from assay.report.html.diagnosis import diagnosis_html
from assay.ui.asking import AskedPage
from assay.ui.children import Children
from assay.ui.guarding import Access
from assay.ui.pages import framed, page
from assay.ui.shelf import Shelf

SECONDS = range(1, 601)
SUBJECT = "doctor"
STANDS_OUT = 1
"""The exit code of a diagnosis in which something does."""


class DoctorPages:
    """Pages of the diagnoses of a folder."""

    def __init__(self, shelf: Shelf, children: Children, access: Access) -> None:
        self.shelf, self.children, self.access = shelf, children, access

    def listed(self, asked: AskedPage) -> Response:
        """Diagnoses of the folder, the form, and what became of the last look."""
        files = self.shelf.contents().diagnoses
        return page(
            "doctor.html",
            here="/doctor",
            root=str(self.shelf.root),
            found=[(name, self.shelf.shown(path)) for name, path in files.items()],
            form=self.access.form,
            is_running=self.children.is_running(SUBJECT),
            complaint=self.children.complaint(SUBJECT),
        )

    def one(self, asked: AskedPage) -> Response:
        """A diagnosis in the frame of the page."""
        name = asked.names["diagnosis"]
        found = self.shelf.diagnosis(name)
        return page("diagnosed.html", here="/doctor", name=name, subject=found.subject.name)

    def alone(self, asked: AskedPage) -> Response:
        """A diagnosis as `assay doctor --html` writes it."""
        return framed(diagnosis_html(self.shelf.diagnosis(asked.names["diagnosis"])))

    def begin(self, asked: AskedPage) -> Response:
        """Look at a server: starts `assay doctor`, whose answer is a new file of the folder."""
        server, seconds = asked.fields.get("server", "").strip(), asked.fields.get("seconds", "")
        if not server:
            raise InputError("no server is named", next_step="give its PID or its name")
        if not seconds.isascii() or not seconds.isdigit() or int(seconds[:9]) not in SECONDS:
            raise InputError("look for 1 to 600 seconds", next_step="go back and give a number")
        out = self.shelf.root / f"{default_folder(f'doctor-{server}').name}.json"
        words = ["doctor", "--json", "--for", f"{seconds}s", "--", server]
        self.children.start(SUBJECT, words, out, fine=(0, STANDS_OUT))
        return RedirectResponse("/doctor", 303)
