"""Named kernels: similarities of items worked out from features, or given."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.distance._kernels.named_kernels import (
        FEATURE_KERNELS,
        MAX_TABLE,
        TABLE_KERNELS,
        ItemKernel,
        KernelMaker,
        given_kernel,
        refuse_large_table,
    )

__all__, __getattr__, __dir__ = attach(__name__)
