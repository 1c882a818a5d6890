"""``resources``: what requests are charged as."""

from __future__ import annotations

from tidegate.errors import SettingsError
from tidegate.model.policy import Transformation
from tidegate.model.texts import NAME_MAX, is_label_key
from tidegate.service.config.configuration_file import DeviceClassSection, ResourcesSection
from tidegate.service.config.gates import is_open

CLASSES_MAX, MAPPINGS_MAX = 8, 16
_WHERE = "resources.deviceClassMappings"


def device_classes(resources: ResourcesSection) -> dict[str, str]:
    """Return the resource that each device class is charged as.

    Raises:
        SettingsError: a class is in two mappings, a name is none, or there are too many.
    """
    mappings, classes = resources.device_class_mappings, dict[str, str]()
    if len(mappings) > MAPPINGS_MAX:
        raise SettingsError(f"{_WHERE}: at most {MAPPINGS_MAX}.")
    if len({mapping.name for mapping in mappings}) < len(mappings):
        raise SettingsError(f"{_WHERE}: each name at most once.")
    for mapping in mappings:
        _check_mapping(mapping)
        for name in mapping.device_class_names:
            if classes.setdefault(name, mapping.name) != mapping.name:
                raise SettingsError(f"{_WHERE}: {name} is in two mappings.")
    return classes


def _check_mapping(mapping: DeviceClassSection) -> None:
    names = mapping.device_class_names
    if mapping.sources:
        raise SettingsError(f"{_WHERE}: sources are not supported.")
    if not 1 <= len(set(names)) == len(names) <= CLASSES_MAX:
        raise SettingsError(
            f"{_WHERE}: {mapping.name} has 1 to {CLASSES_MAX} deviceClassNames, each once."
        )
    for name in (mapping.name, *names):
        if len(name) > NAME_MAX or not is_label_key(name):
            raise SettingsError(f"{_WHERE}: {name[:80]!r} is no name such as example.com/gpu.")


def transformations(resources: ResourcesSection) -> tuple[Transformation, ...]:
    """Return what requests become.

    Raises:
        SettingsError: a resource has two transformations.
    """
    inputs = [transformation.input for transformation in resources.transformations]
    if len(set(inputs)) < len(inputs):
        raise SettingsError("resources.transformations: each input at most once.")
    return tuple(
        Transformation(
            input=transformation.input,
            strategy=transformation.strategy,
            multiply_by=transformation.multiply_by,
            outputs={name: str(quantity) for name, quantity in transformation.outputs.items()},
        )
        for transformation in resources.transformations
    )


def ignores_undeclared(resources: ResourcesSection, gates: dict[str, bool]) -> bool:
    """Return whether requests of resources without quota are not charged.

    As in Kueue the strategy is neither heeded nor checked while its gate is closed.

    Raises:
        SettingsError: some are excluded by their prefixes, too.
    """
    if not is_open(gates, "QuotaCheckStrategy"):
        return False
    ignores = resources.quota_check_strategy == "IgnoreUndeclared"
    if ignores and resources.exclude_resource_prefixes:
        raise SettingsError(
            "resources.quotaCheckStrategy: IgnoreUndeclared goes without excludeResourcePrefixes."
        )
    return ignores
