"""Static files under names that hold their digest, so that browsers may keep them for ever."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class ModuleStorage(CompressedManifestStaticFilesStorage):
    """Also rewrites the imports between ES modules: `import "./store.js"` finds the digest's name.

    Only static imports and exports with a literal path are rewritten, in comments too.
    """

    support_js_module_import_aggregation = True
