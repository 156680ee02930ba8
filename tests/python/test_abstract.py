"""fsspec's own tests of what every file system of it does."""
import uuid

import fsspec.tests.abstract as abstract
import pytest

from mercutio.filesystem import MercutioFileSystem


class Fixtures(abstract.AbstractFixtures):
    @pytest.fixture(scope="class")
    def fs(self):
        return MercutioFileSystem()

    @pytest.fixture
    def fs_path(self, fs):
        path = f"here/data/{uuid.uuid4().hex}"
        fs.mkdir(path)
        return path


class TestCopy(abstract.AbstractCopyTests, Fixtures):
    pass


class TestGet(abstract.AbstractGetTests, Fixtures):
    pass


class TestPut(abstract.AbstractPutTests, Fixtures):
    pass


class TestOpen(abstract.AbstractOpenTests, Fixtures):
    pass


class TestPipe(abstract.AbstractPipeTests, Fixtures):
    pass
