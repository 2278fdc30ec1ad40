"""Constraints from labels, frames, matrices, files and chance."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.constraints._reading.frames import build_frame, frame_columns
    from coterie.constraints._reading.inputs import (
        Ids,
        check_range,
        is_missing,
        is_unknown,
        read_pairs,
        whole_number,
    )
    from coterie.constraints._reading.loads import read_loads
    from coterie.constraints._reading.sample import as_generator, known_labels

__all__, __getattr__, __dir__ = attach(__name__)
