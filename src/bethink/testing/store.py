"""`StoreContract`: every sentence of `bethink.storage.base` as a test. Every backend and every wrapper of one runs all of it.

    class TestMyStore(StoreContract):
        @pytest.fixture
        def store(self, tmp_path: Path) -> Iterator[Store]:
            with closing(MyStore(tmp_path / "memory.db")) as store:
                yield store

        def reopen(self, store: Store) -> Store:      # only where data outlives the handle
            return MyStore(store.path)

After each test `check()` must be empty.
"""

from __future__ import annotations

import pytest

_PARTS = (
    *("", "_checkpoints", "_threads", "_records", "_search", "_lookups", "_leases", "_forget", "_forget_forks", "_refine"),
    "_asked",
    "_claims",
    "_episodes",
    "_in_view",
    "_items",
    "_filters",
    "_marks",
    "_past",
    "_rewrite",
    "_spaces",
    "_states",
    "_tokens",
    "_usage",
    "_vectors",
)
# Before they are imported: so that a failing assert in them shows its values.
pytest.register_assert_rewrite(*(f"bethink.testing._contract{part}" for part in _PARTS))

from bethink.testing._contract_asked import AskedContract  # noqa: E402
from bethink.testing._contract_checkpoints import (  # noqa: E402
    CheckpointForkContract,
    ForgetCheckpointContract,
    PruneContract,
    SaveContract,
)
from bethink.testing._contract_claims import ClaimContract  # noqa: E402
from bethink.testing._contract_episodes import EpisodeContract  # noqa: E402
from bethink.testing._contract_filters import FilterContract, FilterFieldContract, FilterMetadataContract  # noqa: E402
from bethink.testing._contract_forget import ForgetManyContract, ForgetMessageContract, ForgetRecordContract  # noqa: E402
from bethink.testing._contract_forget_forks import ForgetForkContract  # noqa: E402
from bethink.testing._contract_in_view import InViewContract  # noqa: E402
from bethink.testing._contract_items import ForgetItemContract, ItemContract, ItemLifeContract, ItemSearchContract  # noqa: E402
from bethink.testing._contract_leases import LeaseContract  # noqa: E402
from bethink.testing._contract_lookups import EndingContract, LookupContract, RevisionContract, SpeakersContract  # noqa: E402
from bethink.testing._contract_marks import MarkContract  # noqa: E402
from bethink.testing._contract_neighbours import NeighboursContract  # noqa: E402
from bethink.testing._contract_past import (  # noqa: E402
    ChangeContract,
    PastContract,
    ProposalContract,
    VersionContract,
)
from bethink.testing._contract_records import RecordContract, ScanContract, WholeStoreContract  # noqa: E402
from bethink.testing._contract_refine import RefineContract  # noqa: E402
from bethink.testing._contract_rewrite import RewriteContract  # noqa: E402
from bethink.testing._contract_search import NamespaceContract, SearchContract  # noqa: E402
from bethink.testing._contract_spaces import SpaceContract  # noqa: E402
from bethink.testing._contract_states import ForgetStateContract, ForkStateContract, StateContract  # noqa: E402
from bethink.testing._contract_threads import AppendContract, FoldContract, ForkContract, ReadContract  # noqa: E402
from bethink.testing._contract_tokens import TokenContract  # noqa: E402
from bethink.testing._contract_usage import UsageContract  # noqa: E402
from bethink.testing._contract_vectors import VectorContract  # noqa: E402

__all__ = ["StoreContract"]


class StoreContract(
    AppendContract,
    ForkContract,
    ReadContract,
    FoldContract,
    RefineContract,
    LeaseContract,
    MarkContract,
    RecordContract,
    ScanContract,
    SearchContract,
    InViewContract,
    NeighboursContract,
    FilterContract,
    FilterFieldContract,
    FilterMetadataContract,
    NamespaceContract,
    VectorContract,
    SpaceContract,
    RevisionContract,
    EndingContract,
    SpeakersContract,
    LookupContract,
    ForgetMessageContract,
    ForgetRecordContract,
    ForgetForkContract,
    ForgetManyContract,
    SaveContract,
    PruneContract,
    CheckpointForkContract,
    ForgetCheckpointContract,
    EpisodeContract,
    ClaimContract,
    StateContract,
    ForgetStateContract,
    ForkStateContract,
    ItemContract,
    ItemLifeContract,
    ItemSearchContract,
    ForgetItemContract,
    RewriteContract,
    TokenContract,
    UsageContract,
    AskedContract,
    VersionContract,
    ChangeContract,
    PastContract,
    ProposalContract,
    WholeStoreContract,
):
    """Subclass it in a test module and define the fixture `store`; override `reopen` where a second handle is possible."""
