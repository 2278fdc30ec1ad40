"""The loop of all prototype methods: starts, half-steps, what fitted models share."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.kmeans._engine.prototype import PrototypeClusterer

__all__, __getattr__, __dir__ = attach(__name__)
