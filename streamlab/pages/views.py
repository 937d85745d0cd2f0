"""Pages that read and write nothing of a visitor's."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import mark_safe

from engine.errors import StreamLabError
from labs import markdown
from labs.catalog import catalog
from labs.networks import scripted
from labs.spec import LabSpec
from streamlab.pages.network_sketch import NetworkSketch, network_sketch
from streamlab.pages.sketch import Sketch, sketch
from streamlab.runs.recordings import graph_factory


def home(request: HttpRequest) -> HttpResponse:
    """The labs; staff is also told which are broken, and why."""
    found = catalog()
    labs = [(lab, sketch_of(lab)) for lab in found.labs]
    broken = found.problems if request.user.is_staff else ()
    return render(request, "pages/home.html", {"labs": labs, "broken": broken})


def sketch_of(lab: LabSpec) -> Sketch | NetworkSketch | None:
    """None where the job or the network cannot be built: the lab's own page says why."""
    values = lab.parameter_values({})
    try:
        if lab.kind == "network":
            return network_sketch(scripted(lab, values))
        return sketch(graph_factory(lab, values)())
    except StreamLabError:
        return None


def glossary(request: HttpRequest) -> HttpResponse:
    text = (settings.BASE_DIR / "docs" / "glossary.md").read_text(encoding="utf-8")
    body = mark_safe(markdown.render(text))  # cleaned by nh3
    return render(request, "pages/glossary.html", {"body": body})


def about(request: HttpRequest) -> HttpResponse:
    return render(request, "pages/about.html")
