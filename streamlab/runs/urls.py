"""Addresses of the lab pages and their runs."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
