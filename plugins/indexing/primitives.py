"""The primitives of this family, whose rules refer to each other."""

from __future__ import annotations

from primax.extend import core

dynamic_slice_p = core.Primitive("dynamic_slice")
dynamic_update_slice_p = core.Primitive("dynamic_update_slice")
gather_p = core.Primitive("gather")
scatter_add_p = core.Primitive("scatter-add")
scatter_apply_p = core.Primitive("scatter-apply")
scatter_max_p = core.Primitive("scatter-max")
scatter_min_p = core.Primitive("scatter-min")
scatter_mul_p = core.Primitive("scatter-mul")
scatter_p = core.Primitive("scatter")
scatter_sub_p = core.Primitive("scatter-sub")
