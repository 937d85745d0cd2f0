"""Pages that read and write nothing of a visitor's."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import mark_safe

from labs import markdown
from labs.catalog import catalog


def home(request: HttpRequest) -> HttpResponse:
    return render(request, "pages/home.html", {"labs": catalog().labs})


def glossary(request: HttpRequest) -> HttpResponse:
    text = (settings.BASE_DIR / "docs" / "glossary.md").read_text(encoding="utf-8")
    body = mark_safe(markdown.render(text))  # cleaned by nh3
    return render(request, "pages/glossary.html", {"body": body})


def about(request: HttpRequest) -> HttpResponse:
    return render(request, "pages/about.html")
