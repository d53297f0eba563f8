"""For testing what is built on bethink, and every backend of it. Needs pytest and hypothesis where noted.

    doubles      FrozenClock, HashEmbedder, ScriptedModel ...  nothing beyond bethink
    strategies   messages(), histories(), texts() ...          hypothesis
    store        StoreContract: the storage contract, a test a sentence      pytest
    stateful     StoreMachine: random use, compared with the reference       hypothesis

Import from the module that has the name, so that each brings only what it needs:

    from bethink.testing.store import StoreContract

    class TestMyStore(StoreContract):
        @pytest.fixture
        def store(self, tmp_path):
            with closing(MyStore(tmp_path / "memory.db")) as store:
                yield store
"""
