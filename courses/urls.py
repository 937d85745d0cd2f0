"""Addresses of accounts and courses."""

from django.urls import path

from courses.views import account, grades, student, teaching

COURSE = "courses/<slug:slug>/"
PERSON = f"{COURSE}roster/<int:enrolment_id>/"
RELEASE = f"{COURSE}releases/<int:release_id>/"
SCORES = f"{COURSE}gradebook/<int:enrolment_id>/"

urlpatterns = [
    path("account/", account.account, name="account"),
    path("account/sign-up/", account.sign_up, name="sign-up"),
    path("account/sign-in/", account.sign_in, name="sign-in"),
    path("account/sign-out/", account.sign_out, name="sign-out"),
    path("account/password/", account.password, name="password"),
    path("account/reset/", account.reset, name="reset"),
    path("account/link/<str:token>/", account.password_link, name="password-link"),
    path("account/export/", account.export, name="account-export"),
    path("account/delete/", account.delete, name="account-delete"),
    path("courses/", student.courses, name="courses"),
    path("courses/join/", student.join, name="join"),
    path("courses/new/", student.new_course, name="new-course"),
    path("courses/invitations/<int:enrolment_id>/", student.accept, name="accept"),
    path(COURSE, student.course, name="course"),
    path(f"{COURSE}settings/", teaching.settings, name="course-settings"),
    path(f"{COURSE}join-code/", teaching.renew_code, name="join-code"),
    path(f"{COURSE}as-student/", teaching.as_student, name="as-student"),
    path(f"{COURSE}as-student/<int:enrolment_id>/", teaching.as_student, name="as-one-student"),
    path(f"{COURSE}roster/", teaching.people, name="roster"),
    path(f"{COURSE}roster.csv", teaching.people_csv, name="roster-csv"),
    path(f"{PERSON}link/", teaching.person_link, name="person-link"),
    path(f"{PERSON}remove/", teaching.person_remove, name="person-remove"),
    path(f"{PERSON}role/", teaching.person_role, name="person-role"),
    path(f"{COURSE}releases/new/", teaching.new_release, name="new-release"),
    path(RELEASE, teaching.release, name="release"),
    path(f"{RELEASE}publish/", teaching.publish, name="publish"),
    path(f"{RELEASE}withdraw/", teaching.withdraw, name="withdraw"),
    path(f"{RELEASE}extensions/", teaching.extensions, name="extensions"),
    path(
        f"{RELEASE}extensions/<int:extension_id>/remove/",
        teaching.extension_remove,
        name="extension-remove",
    ),
    path(f"{COURSE}gradebook/", grades.gradebook, name="gradebook"),
    path(f"{COURSE}gradebook.csv", grades.gradebook_csv, name="gradebook-csv"),
    path(SCORES, grades.student, name="student-scores"),
    path(f"{SCORES}override/", grades.override, name="override"),
]
