"""Operators that draw random numbers, by the names that PyTorch gives them.

Source: the operators of PyTorch 2.13.0 with the tag ``nondeterministic_seeded`` (2.14.1 has the
same). The fused kernels of attention are among them, whether they drop anything or not.
"""

from __future__ import annotations

import re

from jettison.instances.remat_graph.graph import Node

_NAMES = """
_cudnn_attention_forward _cudnn_init_dropout_state _cudnn_rnn _efficient_attention_forward
_flash_attention_forward _fused_dropout _lstm_mps _sample_dirichlet
_scaled_dot_product_attention_math _scaled_dot_product_attention_math_for_mps
_scaled_dot_product_cudnn_attention _scaled_dot_product_efficient_attention
_scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_for_cpu
_scaled_dot_product_fused_attention_overrideable _standard_gamma _triton_scaled_dot_attention
alpha_dropout bernoulli binomial cauchy dropout exponential feature_alpha_dropout feature_dropout
geometric gru log_normal lstm miopen_rnn multinomial native_dropout normal normal_functional poisson
rand rand_like randint randint_like randn randn_like random randperm rnn_relu rnn_tanh rrelu
rrelu_with_noise rrelu_with_noise_functional scaled_dot_product_attention uniform
"""
_RANDOM = frozenset(_NAMES.split())


def draws_by_name(node: Node) -> bool:
    """Tell whether a node draws random numbers, by its operator or else by its name."""
    if node.operator_name is not None:
        packet = node.operator_name.split(".")[1:2]
        name = packet[0] if packet else node.operator_name
    else:
        name = re.sub(r"(_\d+)?(\..*)?$", "", node.name)
    return name.rstrip("_") in _RANDOM
