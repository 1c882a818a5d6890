"""The images as the Containerfile builds them, without a registry: their sizes, and that they run.

The base is made of Debian packages here, in place of the one that is pulled for a release.
"""

from __future__ import annotations

import sys
from errno import EROFS

import pytest

from tests.deploy.containerfile import read
from tests.deploy.engine import BASE, ROOT, Engine, engine

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3_600)]
OVER_BASE_MB = 120
TARGETS = [
    name for name, stage in read(ROOT / "deploy/Containerfile").items() if stage.of("ENTRYPOINT")
]
WRITES = """
import os
try:
    open("/opt/tidegate/written", "w")
except OSError as error:
    print(os.getuid(), os.geteuid(), error.errno)
"""


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """An engine with the base."""
    made = engine(tmp_path_factory.mktemp("images"))
    made.base()
    return made


@pytest.mark.parametrize("target", TARGETS)
def test_an_image_is_small_and_runs_as_nonroot_on_a_read_only_root(
    images: Engine, target: str
) -> None:
    image = images.build(target)
    over_mb = images.megabytes(image) - images.megabytes(BASE)
    sys.stdout.write(f"{target}: {over_mb:.0f} MB over the base\n")
    assert over_mb <= OVER_BASE_MB
    helped = images.run(image, "--help")
    assert (helped.code, "usage" in helped.output.lower()) == (0, True), helped.output
    tried = images.run(image, entrypoint=["/opt/tidegate/bin/python", "-c", WRITES])
    assert (tried.code, tried.output.split()) == (0, ["65532", "65532", str(EROFS)]), tried.output
