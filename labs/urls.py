"""Addresses of questions and submissions."""

from django.urls import path

from labs import views

urlpatterns = [
    path("labs/<slug:slug>/questions/<slug:name>/", views.question_page, name="question"),
    path("labs/<slug:slug>/questions/<slug:name>/card/", views.card, name="question-card"),
    path("labs/<slug:slug>/questions/<slug:name>/begin/", views.begin, name="question-begin"),
    path("labs/<slug:slug>/questions/<slug:name>/answer/", views.answer, name="question-answer"),
    path("labs/<slug:slug>/questions/<slug:name>/judge/", views.judge, name="question-judge"),
    path("labs/<slug:slug>/questions/<slug:name>/hint/", views.hint, name="question-hint"),
    path("labs/<slug:slug>/questions/<slug:name>/run/", views.run, name="question-run"),
    path("labs/<slug:slug>/progress/", views.progress, name="progress"),
    path("submissions/<str:submission_id>/", views.submission, name="submission"),
    path("submissions/<str:submission_id>/run/", views.submission_run, name="submission-run"),
]
