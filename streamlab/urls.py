"""Every address of the site."""

from django.urls import include, path

from streamlab.pages import views

urlpatterns = [
    path("", views.home, name="home"),
    path("glossary/", views.glossary, name="glossary"),
    path("about/", views.about, name="about"),
    path("", include("courses.urls")),
    path("", include("streamlab.runs.urls")),
    path("", include("labs.urls")),
    path("", include("streamlab.explorations.urls")),
]
