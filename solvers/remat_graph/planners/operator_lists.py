"""Operators by their rules in torch's partitioner: recomputable, fusible, dear, random, views.

Source: ``get_default_op_list`` in ``torch/_functorch/partitioners.py`` of PyTorch 2.13.0; that of
2.14.1 is the same. Names are those of overload packets: ``aten.add`` stands for
``aten.add.Tensor`` as well. PyTorch takes the pointwise operators from the tags of its operators;
here they are as 2.13.0 tags them. Operators on symbolic numbers are left out: sizes are known.
"""

from __future__ import annotations

GETITEM = "operator.getitem"
"""Name of what takes one result of an operator that has several."""

CONCATENATION = "aten.cat"

_POINTWISE = """
__ilshift__ __ixor__ __lshift__ __rshift__ __xor__ abs acos acos_ acosh acosh_ add add_ addcdiv
addcdiv_ addcmul addcmul_ angle asin asin_ asinh asinh_ atan atan2 atan2_ atan_ atanh atanh_
bitwise_and bitwise_and_ bitwise_left_shift bitwise_left_shift_ bitwise_not bitwise_not_
bitwise_or bitwise_or_ bitwise_right_shift bitwise_right_shift_ bitwise_xor bitwise_xor_ ceil
ceil_ celu celu_ clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ clone
conj_physical conj_physical_ copysign cos cos_ cosh cosh_ deg2rad deg2rad_ digamma digamma_ div
div_ elu elu_ eq equal erf erf_ erfc erfc_ erfinv erfinv_ exp exp2 exp2_ exp_ expm1 expm1_
float_power float_power_ floor floor_ fmax fmin fmod fmod_ frac frac_ frexp gcd ge gelu
gelu_backward gt hardshrink hardsigmoid hardsigmoid_ hardtanh hardtanh_ heaviside hypot hypot_ i0
i0_ igamma igamma_ igammac igammac_ isfinite isinf isnan isneginf isposinf lcm ldexp ldexp_ le
leaky_relu leaky_relu_ lerp lerp_ lgamma lgamma_ log log10 log10_ log1p log1p_ log2 log2_ log_
logaddexp logaddexp2 logical_and logical_and_ logical_not logical_not_ logical_or logical_or_
logical_xor logical_xor_ logit logit_ logit_backward lt masked_fill max maximum min minimum mish
mul mul_ mvlgamma mvlgamma_ nan_to_num nan_to_num_ native_dropout_backward ne neg neg_ nextafter
nextafter_ polygamma polygamma_ positive pow pow_ rad2deg rad2deg_ reciprocal reciprocal_ relu
relu6 relu_ remainder remainder_ round round_ rrelu rsqrt rsqrt_ rsub selu selu_ sgn sgn_ sigmoid
sigmoid_ sigmoid_backward sign sign_ signbit silu silu_ silu_backward sin sin_ sinc sinc_ sinh
sinh_ softplus softshrink special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0
special_bessel_y1 special_chebyshev_polynomial_t special_chebyshev_polynomial_u
special_chebyshev_polynomial_v special_chebyshev_polynomial_w special_entr special_erfcx
special_hermite_polynomial_h special_hermite_polynomial_he special_i0e special_i1 special_i1e
special_laguerre_polynomial_l special_legendre_polynomial_p special_log_ndtr
special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0
special_modified_bessel_k1 special_ndtri special_scaled_modified_bessel_k0
special_scaled_modified_bessel_k1 special_shifted_chebyshev_polynomial_t
special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v
special_shifted_chebyshev_polynomial_w special_spherical_bessel_j0 special_xlog1py special_zeta
sqrt sqrt_ square square_ sub sub_ tan tan_ tanh tanh_ tanh_backward threshold threshold_backward
true_divide trunc trunc_ where xlogy xlogy_
"""
_VIEWS = """
aten.alias aten.as_strided aten.expand aten.permute aten.select aten.slice aten.split aten.squeeze
aten.t aten.unsqueeze aten.view prims.broadcast_in_dim
"""
_OTHER_RECOMPUTABLE = """
aten.__and__ aten.__or__ aten._grad_sum_to_size aten._to_copy aten._unsafe_view aten.amax aten.any
aten.arange aten.argmax aten.broadcast_tensors aten.empty aten.empty_like aten.full aten.full_like
aten.gather aten.index aten.lift_fresh_copy aten.mean aten.new_zeros aten.ones aten.reshape
aten.scalar_tensor aten.std aten.sum aten.sum_to_size aten.to aten.triu aten.type_as aten.var
aten.var_mean aten.zeros aten.zeros_like prims._low_memory_max_pool_offsets_to_indices
prims.convert_element_type prims.div prims.iota prims.prepare_softmax_online prims.sum prims.var
"""
_COMPUTE_INTENSIVE = """
aten.mm aten.convolution aten.convolution_backward aten.bmm aten.addmm
aten._scaled_dot_product_flash_attention aten._scaled_dot_product_efficient_attention
aten._flash_attention_forward aten._efficient_attention_forward aten.upsample_bilinear2d
aten._scaled_mm
"""
_FUSED_ATTENTION = """
aten._scaled_dot_product_flash_attention aten._scaled_dot_product_flash_attention_for_cpu
aten._scaled_dot_product_efficient_attention aten._scaled_dot_product_cudnn_attention
aten._flash_attention_forward aten._efficient_attention_forward
"""

VIEWS = frozenset(_VIEWS.split())

RECOMPUTABLE = frozenset(
    {
        GETITEM,
        *(f"aten.{name}" for name in _POINTWISE.split()),
        *_OTHER_RECOMPUTABLE.split(),
        *VIEWS,
    }
)

RANDOM = frozenset({"aten.native_dropout", "aten.rand_like", "aten.randn_like"})

FUSIBLE = RECOMPUTABLE | RANDOM

COMPUTE_INTENSIVE = frozenset(_COMPUTE_INTENSIVE.split())

PRODUCTS = frozenset({"aten.mm", "aten.bmm", "aten.addmm", "aten.baddbmm", "aten._scaled_mm"})
"""Products of matrices."""

FUSED_ATTENTION = frozenset(_FUSED_ATTENTION.split())
"""Operators that compute the core of an attention as a whole."""

_NAMESPACES = ("aten", "prims")


def packet_name(operator_name: str) -> str:
    """Return the name without its overload: ``aten.mm`` for ``aten.mm.default``.

    Names of two parts have no overload, as ``operator.getitem``.
    """
    parts = operator_name.split(".")
    return ".".join(parts[:2]) if parts[0] in _NAMESPACES else operator_name
