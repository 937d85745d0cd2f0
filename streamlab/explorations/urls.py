"""Addresses of explorations."""

from django.urls import path

from streamlab.explorations import views

urlpatterns = [
    path("explorations/", views.explorations, name="explorations"),
    path("explorations/<str:exploration_id>/run/", views.exploration_open, name="exploration-open"),
]
