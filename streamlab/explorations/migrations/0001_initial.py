import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import streamlab.runs.models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("runs", "0003_mutant_and_invariants"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Exploration",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=streamlab.runs.models.random_name,
                        editable=False,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("lab", models.SlugField(max_length=100)),
                ("parameters", models.JSONField(default=dict)),
                ("policy", models.CharField(max_length=32)),
                ("quantum", models.PositiveIntegerField(default=1)),
                (
                    "step",
                    models.PositiveIntegerField(default=0, help_text="where the search starts"),
                ),
                ("log", models.JSONField(default=list, help_text="the choices up to that step")),
                ("request", models.JSONField(help_text="engine.explore.request.Request in JSON")),
                ("visitor", models.CharField(max_length=32)),
                ("state", models.CharField(default="waiting", max_length=16)),
                (
                    "holder",
                    models.CharField(help_text="the server process that searches", max_length=100),
                ),
                (
                    "looked_at",
                    models.DateTimeField(
                        help_text="by a page that another server process serves", null=True
                    ),
                ),
                ("stop_wanted", models.BooleanField(default=False)),
                (
                    "counts",
                    models.JSONField(help_text="states, transitions, terminal, depth", null=True),
                ),
                ("seconds", models.FloatField(default=0, help_text="searched so far")),
                ("outcome", models.JSONField(null=True)),
                (
                    "error",
                    models.JSONField(help_text="sentence and mend, where it failed", null=True),
                ),
                ("created", models.DateTimeField(auto_now_add=True)),
                ("updated", models.DateTimeField(auto_now=True)),
                ("expires", models.DateTimeField(blank=True, help_text="null: kept", null=True)),
                (
                    "bundle",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="explorations",
                        to="runs.bundle",
                    ),
                ),
                (
                    "opened",
                    models.ForeignKey(
                        help_text="the trace as a run",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="runs.run",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="explorations",
                        to="runs.run",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["visitor", "lab", "-created"], name="exploration_visitor_90921a_idx"
                    ),
                    models.Index(fields=["expires"], name="exploration_expires_51c495_idx"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ("waiting", "running"))),
                        fields=("visitor",),
                        name="exploration_one_at_a_time",
                    )
                ],
            },
        ),
    ]
