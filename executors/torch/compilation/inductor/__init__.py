"""Plans under Inductor: kernels that keep the order of the plan, and the memory of their code."""
