"""What pages ask for. Every field is named: nothing else of a request is taken."""

from fractions import Fraction
from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password

from courses.late import LABELS, MOST, LatePolicy
from courses.models import Enrolment, Release

PASSWORD_MAX = 200


def new_password_field(label: str = "Password") -> forms.CharField:
    return forms.CharField(
        label=label,
        max_length=PASSWORD_MAX,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="At least 8 characters, not only digits, and none of the common ones.",
    )


def old_password_field(label: str) -> forms.CharField:
    return forms.CharField(
        label=label,
        max_length=PASSWORD_MAX,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )


def login_field(**kwargs: Any) -> forms.CharField:
    attributes = {"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"}
    return forms.CharField(
        label="Sign-in name", max_length=64, widget=forms.TextInput(attrs=attributes), **kwargs
    )


class SignInForm(forms.Form):
    login = login_field()
    password = old_password_field("Password")


class SignUpForm(forms.Form):
    login = login_field(help_text="2 to 64 of a-z, 0-9 and . _ @ + -")
    name = forms.CharField(
        label="Your name",
        max_length=100,
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
        help_text="As instructors of your courses shall read it.",
    )
    email = forms.EmailField(
        label="E-mail",
        required=False,
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
        help_text="Only needed if you want a link by mail when you have forgotten the password.",
    )
    password = new_password_field()


class AccountForm(forms.Form):
    name = forms.CharField(label="Your name", max_length=100)
    email = forms.EmailField(label="E-mail", required=False, max_length=254)


class NewPasswordForm(forms.Form):
    password = new_password_field("New password")


class PasswordForm(forms.Form):
    old = old_password_field("Present password")
    new = new_password_field("New password")

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_old(self) -> str:
        old: str = self.cleaned_data["old"]
        if not self.user.check_password(old):
            raise forms.ValidationError("This is not your password.")
        return old

    def clean_new(self) -> str:
        new: str = self.cleaned_data["new"]
        validate_password(new, self.user)
        return new


class DeleteForm(forms.Form):
    old = old_password_field("Your password")

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_old(self) -> str:
        old: str = self.cleaned_data["old"]
        if not self.user.check_password(old):
            raise forms.ValidationError("This is not your password.")
        return old


class ResetForm(forms.Form):
    login = login_field()


class JoinForm(forms.Form):
    code = forms.CharField(
        label="Join code",
        max_length=40,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "characters"}),
    )


class CourseForm(forms.Form):
    title = forms.CharField(max_length=120)
    time_zone = forms.ChoiceField(
        label="Time zone",
        choices=lambda: [(name, name) for name in sorted(available_timezones())],
        help_text="All dates of the course are in it.",
    )


class CourseSettingsForm(CourseForm):
    joinable = forms.BooleanField(label="Can be joined with the join code", required=False)


class RosterForm(forms.Form):
    file = forms.FileField(
        label="CSV file",
        help_text="Columns login, name and, if you like, email. UTF-8, at most 1 MB.",
        widget=forms.FileInput(attrs={"accept": ".csv,text/csv"}),
    )


class MemberForm(forms.Form):
    role = forms.ChoiceField(choices=Enrolment.Role.choices)


class Moment(forms.DateTimeField):
    """A date and time in the zone that is active: the course's."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("required", False)
        widget = forms.DateTimeInput(format="%Y-%m-%dT%H:%M", attrs={"type": "datetime-local"})
        super().__init__(widget=widget, **kwargs)


def percent(name: str, **kwargs: Any) -> forms.IntegerField:
    return forms.IntegerField(label=LABELS[name], min_value=0, max_value=MOST[name], **kwargs)


class ReleaseForm(forms.Form):
    opens = Moment(label="Opens", help_text="Empty: at once.")
    due = Moment(label="Due", help_text="Empty: never late.")
    closes = Moment(label="Closes", help_text="Empty: late work is taken for ever.")
    grace_minutes = percent("grace_minutes", initial=0)
    at_once = percent("at_once", initial=0)
    per_day = percent("per_day", initial=0)
    at_most = percent("at_most", initial=100)
    feedback = forms.ChoiceField(label="Feedback shows", choices=Release.Feedback.choices)
    feedback_from = Moment(label="Feedback from", help_text="Empty: at once.")

    def fields_of_release(self) -> dict[str, Any]:
        """Raises CourseError bad_policy."""
        values = dict(self.cleaned_data)
        policy = LatePolicy(**{name: values.pop(name) for name in MOST})
        values.pop("lab", None)
        return {**values, "policy": policy}

    @staticmethod
    def values_of(release: Release) -> dict[str, Any]:
        names = ("opens", "due", "closes", "feedback", "feedback_from")
        own = {name: getattr(release, name) for name in names}
        return {**own, **LatePolicy.of(release.late_policy).as_data()}


class NewReleaseForm(ReleaseForm):
    lab = forms.ChoiceField()
    field_order = ["lab"]

    def __init__(self, *args: Any, labs: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["lab"] = forms.ChoiceField(label="Lab", choices=labs)
        self.order_fields(["lab"])


class ExtensionForm(forms.Form):
    student = forms.ChoiceField()
    due = Moment(label="New due date", required=True)
    closes = Moment(label="New closing", help_text="Empty: as before, but not before the due date.")
    reason = forms.CharField(max_length=300, required=False, help_text="The student can read it.")

    def __init__(self, *args: Any, students: list[tuple[int, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["student"] = forms.ChoiceField(label="Student", choices=students)
        self.order_fields(["student"])


class OverrideForm(forms.Form):
    release = forms.IntegerField(widget=forms.HiddenInput)
    points = forms.DecimalField(
        required=False,
        min_value=0,
        max_value=1_000_000,
        decimal_places=2,
        help_text="Empty: what was earned counts again.",
    )
    reason = forms.CharField(max_length=300, help_text="The student can read it.")

    def fraction(self) -> Fraction | None:
        points = self.cleaned_data["points"]
        return None if points is None else Fraction(points)
