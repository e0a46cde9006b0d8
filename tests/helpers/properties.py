"""Hypothesis's `given`, for properties that must also pass on a machine that is busy."""

from hypothesis import HealthCheck, given, settings

settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

__all__ = ("given",)
