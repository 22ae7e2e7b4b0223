"""Commits of a repository in their order, and what is refused."""

import pytest
from planted.repository import planted

from assay.bisection.history import Repository
from assay.core.errors import InputError


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    return planted(tmp_path_factory.mktemp("history") / "repository", 6, 3, 0.5)


def test_commits_come_oldest_first_with_both_ends(repository):
    first, last = repository.commits[0], repository.commits[-1]
    nodes = Repository(repository.folder).between(first, last)
    assert [node.name for node in nodes] == repository.commits
    assert nodes[0].short == first[:10]
    assert all(node.title for node in nodes)


def test_a_path_keeps_what_touches_it_and_the_ends(repository):
    first, last = repository.commits[0], repository.commits[-1]
    nodes = Repository(repository.folder).between(first, last, ["work.h"])
    names = [node.name for node in nodes]
    assert names[0] == first
    assert names[-1] == last
    assert repository.guilty in names
    assert names == [name for name in repository.commits if name in names]


def test_ends_in_the_wrong_order_are_refused(repository):
    with pytest.raises(InputError, match="not among the first parents"):
        Repository(repository.folder).between(repository.commits[-1], repository.commits[0])


@pytest.mark.parametrize("name", ["nothing", "--all", "HEAD~99"])
def test_what_is_no_commit_is_refused(repository, name):
    with pytest.raises(InputError, match=r"no commit|no name"):
        Repository(repository.folder).commit(name)


def test_a_folder_that_is_no_repository_is_refused(tmp_path):
    with pytest.raises(InputError, match="repository"):
        Repository(tmp_path).commit("HEAD")
