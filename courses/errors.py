"""Every refusal of accounts and courses: code, sentence, place, mend. The table in docs/howto/courses.md is generated from it."""

from streamlab.refusals import Refusal, Refused

CATALOGUE: dict[str, Refusal] = {
    "not_found": Refusal(
        "There is nothing at this address for you.",
        "Check the address, or sign in with another account.",
        status=404,
    ),
    "wrong_sign_in": Refusal(
        "Name and password do not belong together.",
        "Try again, or ask for a link that sets a new password.",
    ),
    "too_many_tries": Refusal(
        "There were too many tries in a short time.",
        "Wait a minute and try again.",
        status=429,
    ),
    "name_taken": Refusal(
        "This sign-in name is taken.",
        "Choose another one.",
    ),
    "bad_name": Refusal(
        "A sign-in name has 2 to 64 of the characters a-z, 0-9 and . _ @ + -, and begins with a letter or a digit.",
        "Choose a name of that form.",
    ),
    "bad_display_name": Refusal(
        "A name has 1 to 100 characters, on one line and without control characters.",
        "Write it as it should be shown.",
    ),
    "sign_up_closed": Refusal(
        "This server takes no sign-ups: accounts come from the roster of a course.",
        "Ask your instructor for a link.",
        status=403,
    ),
    "dead_link": Refusal(
        "This link has been used, has expired, or was replaced by a newer one.",
        "Ask for a new link.",
        status=404,
    ),
    "no_link_for": Refusal(
        "A link can be made for students who have joined this course and teach nowhere.",
        "Others get one from the operator: manage.py passwordlink NAME.",
        status=403,
    ),
    "unknown_join_code": Refusal(
        "No course can be joined with this code.",
        "Check it against what your instructor gave out; codes are renewed now and then.",
    ),
    "last_instructor": Refusal(
        "{course} would be left without an instructor.",
        "Make somebody else an instructor of it first.",
        status=409,
    ),
    "bad_roster": Refusal(
        "The roster was not taken: {sentence}",
        "Mend the file and upload it again; nothing has been changed.",
    ),
    "unknown_lab": Refusal(
        "There is no lab named {lab} here that could be released.",
        "Choose one from the list.",
    ),
    "released_already": Refusal(
        "This course has released {lab} already.",
        "Change that release.",
        status=409,
    ),
    "bad_dates": Refusal(
        "{earlier} must not be later than {later}.",
        "Change one of the two dates.",
    ),
    "bad_policy": Refusal(
        "{name} must be a whole number from {least} to {most}.",
        "Change the late policy.",
    ),
    "bad_points": Refusal(
        "Points lie between 0 and {most}, with at most two digits after the point.",
        "Change the points.",
    ),
    "reason_missing": Refusal(
        "An override needs a reason of 1 to 300 characters, which the student can read.",
        "Write one.",
    ),
    "not_a_student": Refusal(
        "Only students of this course can have this.",
        "Choose somebody from the roster who is a student.",
    ),
    "backup_unreadable": Refusal(
        "{file} is no whole backup of StreamLab: {sentence}",
        "Choose another file.",
    ),
    "backup_newer": Refusal(
        "{file} was made by a newer StreamLab: this one does not know {unknown}.",
        "Update StreamLab first, then restore.",
    ),
    "backup_elsewhere": Refusal(
        "Only SQLite is backed up and restored here; this database is {vendor}.",
        "Use pg_dump and pg_restore for PostgreSQL.",
    ),
}


class CourseError(Refused):
    """A refusal of accounts and courses."""

    catalogue = CATALOGUE

    def __str__(self) -> str:
        where = f" ({self.place})" if self.place else ""
        return f"{self.sentence}{where} {self.mend}"
