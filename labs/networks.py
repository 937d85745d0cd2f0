"""The network of a lab: its text, read and checked. Unlike labs/spec.py this module knows the engine."""

from collections.abc import Callable, Mapping

from engine.checkpointing.chandy_lamport import ChandyLamport
from engine.checkpointing.network_text import check_script
from engine.checkpointing.process_network import ProcessNetwork
from engine.checkpointing.space_time import SpaceTime
from engine.checkpointing.wrong_snapshots import AS_PUBLISHED, PROTOCOLS
from engine.errors import InvalidJob
from engine.processes.recording import NetworkRecording
from labs.problems import LabInvalid, Problem
from labs.spec import LabSpec, Parameter
from labs.toml_lines import line_of

MOST_SCRIPTED = 200  # steps of a script that a small picture shows
PROTOCOL = "protocol"  # the parameter that chooses one; its choices are names of PROTOCOLS


def read_lab_network(lab: LabSpec, values: Mapping[str, int]) -> ProcessNetwork:
    """The network of a lab with these parameters. Raises InvalidJob with the line."""
    text = lab.network_path.read_text(encoding="utf-8")
    numbers = {name: value for name, value in values.items() if name != PROTOCOL}
    return check_script(text, lab.network_path.name, numbers)


def protocols_of(lab: LabSpec) -> tuple[str, ...]:
    """The names of the protocols that a run of the lab may follow."""
    for parameter in lab.parameters:
        if parameter.name == PROTOCOL:
            return tuple(parameter.choices)
    return (AS_PUBLISHED,)


def values_under(lab: LabSpec, values: Mapping[str, int], protocol: str) -> dict[str, int]:
    """These parameters, with one of the protocols of `protocols_of`."""
    for parameter in lab.parameters:
        if parameter.name == PROTOCOL:
            place = parameter.choices.index(protocol)
            return {**values, PROTOCOL: parameter.minimum + place}
    return dict(values)


def protocol_of(lab: LabSpec, values: Mapping[str, int]) -> str:
    """The name of the protocol that the processes follow."""
    for parameter in lab.parameters:
        if parameter.name == PROTOCOL:
            return parameter.choices[values[PROTOCOL] - parameter.minimum]
    return AS_PUBLISHED


def system_of(lab: LabSpec, values: Mapping[str, int]) -> Callable[[], ChandyLamport]:
    """What makes the network anew, for each run of it. Raises InvalidJob."""
    network = read_lab_network(lab, values)
    make = PROTOCOLS[protocol_of(lab, values)]
    return lambda: make(network)


def scripted(lab: LabSpec, values: Mapping[str, int]) -> SpaceTime:
    """The run of a lab's script, as a space-time diagram. Raises InvalidJob."""
    recording = NetworkRecording(system_of(lab, values))
    recording.step(MOST_SCRIPTED)
    return recording.diagram()


def check_network(lab: LabSpec) -> None:
    """Raises LabInvalid where the network of a lab cannot be run with its smallest, default and largest parameters."""
    if lab.kind != "network":
        return
    problems = [problem for parameter in lab.parameters for problem in _protocols(lab, parameter)]
    if problems:
        raise LabInvalid(problems)
    for pick in ("default", "minimum", "maximum"):
        values = {parameter.name: getattr(parameter, pick) for parameter in lab.parameters}
        try:
            read_lab_network(lab, values)
        except InvalidJob as error:
            line = error.place.rpartition("line ")[2]
            number = int(line) if line.isdecimal() else None
            shown = {name: value for name, value in values.items() if name != PROTOCOL}
            told = f" (with {shown})" if shown and pick != "default" else ""
            raise LabInvalid(
                [
                    Problem(
                        f"lab-network-{error.code.replace('_', '-')}",
                        f"{error.sentence}{told}",
                        lab.network_path,
                        number,
                        error.mend,
                    )
                ]
            ) from None


def _protocols(lab: LabSpec, parameter: Parameter) -> list[Problem]:
    if parameter.name != PROTOCOL:
        return []
    toml = lab.folder / "lab.toml"
    text = toml.read_text(encoding="utf-8")
    place = line_of(text, ("parameters", lab.parameters.index(parameter), "choices"))
    unknown = [name for name in parameter.choices if name not in PROTOCOLS]
    if parameter.choices and not unknown:
        return []
    sentence = (
        f"There is no protocol {unknown[0]!r}."
        if unknown
        else "The protocols to choose from are missing."
    )
    mend = f"choices holds names of these: {', '.join(PROTOCOLS)}."
    return [Problem("lab-network-protocol", sentence, toml, place, mend)]
