"""Every argument of the public functions replaced by every hostile value."""

import pytest

from tests.test_hostile_arguments import MODULES, ended_otherwise


@pytest.mark.parametrize("name", MODULES)
def test_a_hostile_argument_gives_a_result_or_an_error_of_the_package(name):
    assert ended_otherwise(name, step=1) == []
