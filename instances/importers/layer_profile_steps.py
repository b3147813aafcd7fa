r"""Training steps from a layer profile: as a graph, or as a chain cut at articulation points.

**Inputs.** A layer that reads nothing, and may be an input as its importer says, is an input of the
step. Its tensor is in memory from the start to the end, and its time (loading data) is not
part of the step.

**Output.** Of the layers that nothing reads, the output is the one to which most layers lead. A
layer that does not lead to the output is run, and its value is freed at once; no gradient reaches
it, so that it has no backward operation. The loss reads the output and takes no time.

**Backward.** The backward operation of a layer reads the values of its inputs, its own value, and
the backward operations of all that read it. It writes the gradients of its inputs, all of them at
once; inputs of the step have none. In the graph, gradients that meet at a layer are held side by
side until its backward operation reads them: a framework that adds them in place needs less.

**Memory.** Nothing is known of in-place operations, views or workspaces: every layer has an
output of its own, of the size in the profile. Parameters and their gradients are not part of the
memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from jettison.instances.importers.layer_profile import Profile
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.remat_graph.graph import Graph, Node


def graph_of(profile: Profile) -> Graph:
    """Return a profile as a graph: forward operations, then backward ones in reverse.

    Nodes are called after their layer, ``node2 Linear`` and ``node2 Linear backward``; the first
    backward operation is ``loss backward``, whose value is the gradient of the output. The bytes
    of the inputs are part of every workspace. :math:`O(n + |E|)`.
    """
    nodes = [
        Node(
            name=layer.name,
            duration_ns=layer.forward_ns,
            output_bytes=layer.output_bytes,
            inputs=tuple(profile.layers[source].name for source in profile.inputs[identifier]),
            workspace_bytes=profile.input_bytes,
        )
        for identifier, layer in profile.layers.items()
    ]
    output = [identifier for identifier in profile.layers if identifier in profile.live][-1]
    loss = Node(
        name="loss backward",
        duration_ns=0,
        output_bytes=profile.layers[output].output_bytes,
        inputs=(profile.layers[output].name,),
        workspace_bytes=profile.input_bytes,
        backward=True,
    )
    nodes.append(loss)
    for identifier, layer in reversed(profile.layers.items()):
        if identifier not in profile.live:
            continue
        values = [*profile.inputs[identifier], identifier]
        readers = [user for user in profile.users[identifier] if user in profile.live]
        gradients = [f"{profile.layers[user].name} backward" for user in readers]
        nodes.append(
            Node(
                name=f"{layer.name} backward",
                duration_ns=layer.backward_ns,
                output_bytes=profile.total_bytes(profile.inputs[identifier]),
                inputs=(
                    *(profile.layers[value].name for value in values),
                    *(gradients or [loss.name]),
                ),
                workspace_bytes=profile.input_bytes,
                backward=True,
            )
        )
    return Graph(name=profile.name, nodes=tuple(nodes), provenance=profile.provenance)


def chain_of(profile: Profile) -> Chain:
    r"""Return a profile as a chain: one stage per articulation point, and a loss without cost.

    A stage ends with a layer that alone, of all layers up to it, is read by later ones; inputs of
    the step do not count, since they are in memory anyway. The stage is called after that layer,
    whose output is :math:`a`; :math:`\bar a` holds the outputs of all its layers that have a
    backward operation; times and parameters are summed. The overheads are what the layers of the
    stage need at most beyond that: in the forward operation, values between them; in the backward
    one, gradients between them, here added in place. The gradient of the input of the step is
    counted, as in every chain. :math:`O(n^2)`.
    """
    stages: list[Stage] = []
    gradient_bytes = 0
    for block in _blocks(profile):
        saved = [identifier for identifier in block if identifier in profile.live]
        last = profile.layers[saved[-1]]
        saved_bytes = profile.total_bytes(saved)
        backward_peak = _backward_peak_bytes(profile, saved)
        stages.append(
            Stage(
                name=last.name,
                forward_ns=sum(profile.layers[identifier].forward_ns for identifier in block),
                backward_ns=sum(profile.layers[identifier].backward_ns for identifier in saved),
                output_bytes=last.output_bytes,
                saved_bytes=saved_bytes,
                # The overhead of saving the output only is enough for saving everything.
                forward_overhead_bytes=_forward_peak_bytes(profile, block, saved[-1])
                - last.output_bytes,
                backward_overhead_bytes=max(
                    0, backward_peak - saved_bytes - last.output_bytes - gradient_bytes
                ),
                weight_bytes=sum(profile.layers[identifier].weight_bytes for identifier in block),
            )
        )
        gradient_bytes = last.output_bytes
    loss = Stage(name="loss", forward_ns=0, backward_ns=0, output_bytes=0, saved_bytes=0)
    return Chain(
        name=profile.name,
        input_bytes=profile.input_bytes,
        stages=(*stages, loss),
        provenance=profile.provenance,
    )


def _blocks(profile: Profile) -> Iterator[list[str]]:
    """Yield the layers of each stage, in order; the last live layer is the articulation point."""
    place = {identifier: position for position, identifier in enumerate(profile.layers)}
    block: list[str] = []
    ended = False
    # The place of the last layer that reads anything before the current layer.
    reach = 0
    for position, identifier in enumerate(profile.layers):
        if identifier in profile.live:
            if ended:
                yield block
                block = []
            ended = reach <= position
            readers = [place[user] for user in profile.users[identifier] if user in profile.live]
            reach = max([reach, *readers])
        block.append(identifier)
    yield block


def _forward_peak_bytes(profile: Profile, block: list[str], kept: str) -> int:
    """Return the peak of the outputs of the block if all but one are freed after their last use."""
    inside = set(block)
    waiting = {
        identifier: sum(user in inside for user in profile.users[identifier]) + (identifier == kept)
        for identifier in block
    }
    stored = peak = 0
    for identifier in block:
        stored += profile.layers[identifier].output_bytes
        peak = max(peak, stored)
        for source in profile.inputs[identifier]:
            if source in inside:
                waiting[source] -= 1
        read = [identifier, *(name for name in profile.inputs[identifier] if name in inside)]
        stored -= profile.total_bytes(name for name in read if waiting[name] == 0)
    return peak


def _backward_peak_bytes(profile: Profile, block: list[str]) -> int:
    """Return the peak of values and gradients while the block runs backwards.

    A gradient exists from the first backward operation that adds to it until the one of its own
    layer has read it; that one frees the value of the layer, too.
    """
    values = profile.total_bytes(block)
    gradients = {block[-1]}
    peak = 0
    for identifier in reversed(block):
        gradients.update(profile.inputs[identifier])
        peak = max(peak, values + profile.total_bytes(gradients))
        gradients.discard(identifier)
        values -= profile.layers[identifier].output_bytes
    return peak
