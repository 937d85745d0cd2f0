"""Settings. Everything that may differ between machines comes from the environment or from .env.

Each name that is read here stands in .env.example and in docs/howto/settings.md; a test says so.
"""

from pathlib import Path

import environ

from streamlab.addresses import names_of_this_machine
from streamlab.secret_key import kept_secret_key

BASE_DIR = Path(__file__).resolve().parent.parent

env = environ.Env()
if (BASE_DIR / ".env").is_file():
    env.read_env(BASE_DIR / ".env")

# ---- this machine --------------------------------------------------------------------------------

DEBUG = env.bool("DEBUG", default=False)
VAR_DIR = (BASE_DIR / env.str("VAR_DIR", default="var")).resolve()
VAR_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)  # its database holds sessions
SECRET_KEY = env.str("SECRET_KEY", default="") or kept_secret_key(VAR_DIR / "secret_key")

# Where `manage.py up` listens. Any HOST but the loopback means "the whole network may come".
HOST = env.str("HOST", default="127.0.0.1")
PORT = env.int("PORT", default=0)  # 0: the next free one from 8000
ALLOWED_HOSTS = [*names_of_this_machine(HOST), *env.list("ALLOWED_HOSTS", default=[])]
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

# True behind a proxy that speaks TLS and sets X-Forwarded-Proto.
HTTPS = env.bool("HTTPS", default=False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_HSTS_SECONDS = 30 * 24 * 3600 if HTTPS else 0
# Browsers ignore this header on plain http, and complain in the console that they do.
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin" if HTTPS else None

# ---- applications --------------------------------------------------------------------------------

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "channels",
    "streamlab",
    "streamlab.runs",
    "streamlab.explorations",
    "labs",
    "courses",
]
if DEBUG:
    INSTALLED_APPS.insert(0, "daphne")  # gives `runserver` websockets

MIDDLEWARE = [
    "streamlab.middleware.security_headers",
    "streamlab.middleware.StaticFilesMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "streamlab.middleware.user_at_hand",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
X_FRAME_OPTIONS = "DENY"

ROOT_URLCONF = "streamlab.urls"
ASGI_APPLICATION = "streamlab.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
    }
]

# ---- data ----------------------------------------------------------------------------------------

DATABASES = {
    "default": env.db_url("DATABASE_URL", default=f"sqlite:///{VAR_DIR / 'db.sqlite3'}"),
}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # Writers queue up instead of failing, and readers never wait for them.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }

# Rare control messages between processes; never the stream of events.
REDIS_URL = env.str("REDIS_URL", default="")
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.core.RedisChannelLayer",
        "CONFIG": {"hosts": [REDIS_URL]},
    }
    if REDIS_URL
    else {"BACKEND": "channels.layers.InMemoryChannelLayer"}
}

# A session is a row only once something is kept in it: opening a page writes nothing.
SESSION_ENGINE = "django.contrib.sessions.backends.db"
SESSION_COOKIE_NAME = "streamlab_session"
SESSION_COOKIE_AGE = 180 * 24 * 3600
CSRF_COOKIE_NAME = "streamlab_csrf"

# ---- accounts ------------------------------------------------------------------------------------

LOGIN_URL = "sign-in"
SIGN_UP = env.bool("SIGN_UP", default=True)
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
# Hard to guess on graphics cards, and takes less time than PBKDF2 when a class signs in at once.
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.ScryptPasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]

# Without it no mail is sent: instructors and the operator hand out links instead.
EMAIL_URL = env.str("EMAIL_URL", default="")
if EMAIL_URL:
    vars().update(env.email_url("EMAIL_URL"))
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="streamlab@localhost")

# ---- limits of runs, each answered with a sentence when it is met --------------------------------

RUNS_LIVE_MAX = env.int("RUNS_LIVE_MAX", default=200)
RUN_STEPS_MAX = env.int("RUN_STEPS_MAX", default=200_000)
RUN_MEMORY_MAX = env.int("RUN_MEMORY_MAX", default=64 * 1024 * 1024)
RUN_IDLE_SECONDS = env.int("RUN_IDLE_SECONDS", default=600)
RUN_ANONYMOUS_DAYS = env.int("RUN_ANONYMOUS_DAYS", default=30)
# Per visitor and per run, never per address: a class shares one.
RUN_MESSAGES_PER_SECOND = env.int("RUN_MESSAGES_PER_SECOND", default=100)
RUN_MESSAGES_BURST = env.int("RUN_MESSAGES_BURST", default=300)

# Searches over all interleavings, each in a process of its own.
EXPLORATIONS_AT_ONCE = env.int("EXPLORATIONS_AT_ONCE", default=2)
EXPLORATIONS_WAITING_MAX = env.int("EXPLORATIONS_WAITING_MAX", default=50)
EXPLORATION_STATES_MAX = env.int("EXPLORATION_STATES_MAX", default=200_000)
EXPLORATION_DEPTH_MAX = env.int("EXPLORATION_DEPTH_MAX", default=1_000)
EXPLORATION_CPU_SECONDS = env.int("EXPLORATION_CPU_SECONDS", default=120)
EXPLORATION_MEMORY_MAX = env.int("EXPLORATION_MEMORY_MAX", default=1024 * 1024 * 1024)
EXPLORATION_ABANDONED_SECONDS = env.int("EXPLORATION_ABANDONED_SECONDS", default=60)

# ---- what the browser gets -----------------------------------------------------------------------

STATIC_URL = "static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "streamlab.finders.FontFinder",
]
STATIC_BUILD_DIR = VAR_DIR / "static-build"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "streamlab.storage.ModuleStorage"
    },
}
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = DEBUG

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True

# ---- what the operator reads ---------------------------------------------------------------------

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {"django": {"handlers": [], "level": "WARNING", "propagate": True}},
}
