from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0002_fingerprint"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="mutant",
            field=models.CharField(
                blank=True,
                default="",
                help_text="wrong protocol, by its name in the engine; empty: the right one",
                max_length=40,
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="run",
            name="invariants",
            field=models.JSONField(default=list, help_text="names of those that are switched on"),
        ),
    ]
