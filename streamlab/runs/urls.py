"""Addresses of labs and runs."""

from django.urls import path

from streamlab.runs import compare_views, views

urlpatterns = [
    path("labs/<slug:slug>/", views.lab_page, name="lab"),
    path("labs/<slug:slug>/preview/", views.lab_preview, name="lab-preview"),
    path("labs/<slug:slug>/runs/", views.run_new, name="run-new"),
    path("labs/<slug:slug>/compare/", compare_views.compare_page, name="compare"),
    path(
        "labs/<slug:slug>/compare/summary/", compare_views.compare_summary, name="compare-summary"
    ),
    path("labs/<slug:slug>/compare/at/", compare_views.compare_at, name="compare-at"),
    path("runs/<str:run_id>/compare/", compare_views.compare_run, name="compare-run"),
    path("runs/<str:run_id>/", views.run_page, name="run"),
    path("runs/<str:run_id>/share/", views.run_share, name="run-share"),
    path("s/<str:token>/", views.shared_page, name="shared"),
    path("s/<str:token>/copy/", views.shared_copy, name="shared-copy"),
]
