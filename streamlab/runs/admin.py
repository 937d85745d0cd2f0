"""For whoever runs the server: look, but do not edit, since a run is only what its log says."""

from typing import Any

from django.contrib import admin

from streamlab.runs.models import Lease, LogEntry, Run, ShareLink


class ReadOnly(admin.ModelAdmin):
    def has_add_permission(self, request: Any) -> bool:
        return False

    def has_change_permission(self, request: Any, obj: Any = None) -> bool:
        return False


@admin.register(Run)
class RunAdmin(ReadOnly):
    list_display = ("id", "title", "lab", "head", "position", "parent", "updated", "expires")
    list_filter = ("lab", "policy")
    search_fields = ("id", "title", "visitor")
    raw_id_fields = ("parent", "root", "user", "bundle")


@admin.register(LogEntry)
class LogEntryAdmin(ReadOnly):
    list_display = ("run", "index", "kind", "payload", "n")
    search_fields = ("run__id",)


@admin.register(Lease)
class LeaseAdmin(ReadOnly):
    list_display = ("run", "holder", "expires")


@admin.register(ShareLink)
class ShareLinkAdmin(ReadOnly):
    list_display = ("token", "run", "step", "created")
