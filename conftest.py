"""For every test: examples do not vary from run to run, and a slow machine fails nothing."""

import signal
import threading

from hypothesis import HealthCheck, settings

settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")

# A run in the background may have been told to ignore Ctrl-C; what the tests start must not be.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
