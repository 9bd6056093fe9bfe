"""Assertions of the shipped suites say why they failed, as those of a test module do."""

import pytest

pytest.register_assert_rewrite("headway.testing.store_contract")
