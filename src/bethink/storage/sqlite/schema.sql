-- The database as it is today. `migrations/` leads here from every older one; a test builds it both ways and compares.
-- Times are microseconds since 1970, UTC. Bodies are JSON and the whole truth about a row; the columns beside them are what
-- queries need. `application_id` and `user_version` say that the file is ours and which schema it has.

-- A namespace's path is its segments, each followed by U+001F, which no segment may hold: a prefix of whole segments is then a
-- prefix of the text. The totals are of its own units.
CREATE TABLE namespaces (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    path     TEXT NOT NULL UNIQUE,
    units    INTEGER NOT NULL DEFAULT 0,
    length   INTEGER NOT NULL DEFAULT 0, -- terms in them
    revision INTEGER NOT NULL            -- grows with every change of its records, see meta
) STRICT;

-- An append writes to a thread's messages and leaves its row alone: tip, count and updated_at are those up to which it is settled,
-- the messages beyond (its tail) have no unit yet, and `settled` says whether there are any. See tail.py, and `thread_state`.
CREATE TABLE threads (
    id                INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace         INTEGER NOT NULL REFERENCES namespaces (id),
    thread_id         TEXT NOT NULL,
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL,
    tip               INTEGER NOT NULL DEFAULT 0,
    count             INTEGER NOT NULL DEFAULT 0,
    folded_through    INTEGER NOT NULL DEFAULT 0,
    extracted_through INTEGER NOT NULL DEFAULT 0,
    reflected_through INTEGER NOT NULL DEFAULT 0,
    settled           INTEGER NOT NULL,
    revision          INTEGER NOT NULL DEFAULT 0, -- grows with whatever happens to the thread's messages, marks and nodes but appends
    parent_thread     TEXT,
    parent_seq        INTEGER,
    metadata          BLOB NOT NULL,
    UNIQUE (namespace, thread_id)
) STRICT;

CREATE INDEX threads_unsettled ON threads (namespace) WHERE settled = 0;

-- Threads that may have messages that no insights have been drawn from.
CREATE INDEX threads_behind ON threads (namespace) WHERE extracted_through < tip OR settled = 0;

-- Threads that may have messages past what was reflected on: those whose session was not ended.
CREATE INDEX threads_not_ended ON threads (namespace, updated_at) WHERE reflected_through < tip OR settled = 0;

-- id is thread * 2^32 + seq: a thread lies together and in order, without a second index for it.
CREATE TABLE messages (
    id         INTEGER PRIMARY KEY,
    thread     INTEGER NOT NULL REFERENCES threads (id),
    seq        INTEGER NOT NULL,
    message_id TEXT NOT NULL,
    grp        INTEGER NOT NULL,
    role       TEXT NOT NULL,
    pinned     INTEGER NOT NULL,
    created_at INTEGER NOT NULL, -- when it was said
    added_at   INTEGER NOT NULL, -- when it was stored
    unit       INTEGER REFERENCES units (id),
    listed     INTEGER NOT NULL, -- whether messages_by_id has it
    body       BLOB NOT NULL, -- `canonical_json` without seq and group
    raw        BLOB,
    raw_format TEXT
) STRICT;

-- A message of a tail whose id was made for it is not listed yet: nobody else can have that id.
CREATE UNIQUE INDEX messages_by_id ON messages (message_id, thread) WHERE listed = 1;

-- Members of a group beyond its first, whose seq is the group's number.
CREATE INDEX messages_by_group ON messages (thread, grp) WHERE grp <> seq;

CREATE INDEX messages_pinned ON messages (thread, seq) WHERE pinned = 1;

-- Tiers that messages were given after they were stored, in place of their own, and how much they matter by whose judgement.
CREATE TABLE tiers (
    message INTEGER PRIMARY KEY REFERENCES messages (id),
    tier    TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;

CREATE TABLE scores (
    message INTEGER PRIMARY KEY REFERENCES messages (id),
    score   INTEGER NOT NULL, -- 1 to 10
    author  TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;

-- Threads as they are: their rows, and what their tails add.
CREATE VIEW thread_state (id, namespace, thread_id, created_at, updated_at, tip, count, folded_through, extracted_through,
  reflected_through, parent_thread, parent_seq, metadata, settled, revision) AS
SELECT t.id, t.namespace, t.thread_id, t.created_at, coalesce(m.added_at, t.updated_at), coalesce(m.seq, t.tip),
  t.count + coalesce(m.seq - t.tip, 0), t.folded_through, t.extracted_through, t.reflected_through, t.parent_thread, t.parent_seq,
  t.metadata, t.settled, t.revision
FROM threads t LEFT JOIN messages m ON t.settled = 0 AND m.id = (
  SELECT l.id FROM messages l WHERE l.id BETWEEN (t.id << 32) AND (t.id << 32) + 4294967295 ORDER BY l.id DESC LIMIT 1);

-- A call id may come back once it is answered; the greatest group has the newest state.
CREATE TABLE calls (
    thread   INTEGER NOT NULL REFERENCES threads (id),
    call_id  TEXT NOT NULL,
    grp      INTEGER NOT NULL,
    answered INTEGER NOT NULL,
    PRIMARY KEY (thread, call_id, grp)
) STRICT, WITHOUT ROWID;

CREATE TABLE nodes (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    thread    INTEGER NOT NULL REFERENCES threads (id),
    node_id   TEXT NOT NULL,
    first_seq INTEGER NOT NULL,
    top       INTEGER NOT NULL, -- 1 unless it is a child of another, or was replaced
    replaced  INTEGER NOT NULL, -- by a model's; kept for the receipts that name it
    body      BLOB NOT NULL,
    UNIQUE (node_id, thread)
) STRICT;

CREATE INDEX nodes_by_thread ON nodes (thread, top, first_seq);

-- The last time that each model was asked for the summary of a node.
CREATE TABLE attempts (
    thread  INTEGER NOT NULL REFERENCES threads (id),
    node_id TEXT NOT NULL,
    model   TEXT NOT NULL,
    body    BLOB NOT NULL,
    PRIMARY KEY (thread, node_id, model)
) STRICT, WITHOUT ROWID;

-- The last lease of each thread that has had one, for each purpose; `holder` is '' when it was given back. Apart from `threads`, so that taking a turn
-- writes one small row.
CREATE TABLE leases (
    thread     INTEGER NOT NULL REFERENCES threads (id),
    purpose    TEXT NOT NULL, -- turn, reflection
    token      INTEGER NOT NULL, -- grows
    holder     TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (thread, purpose)
) STRICT, WITHOUT ROWID;

CREATE TABLE records (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace     INTEGER NOT NULL REFERENCES namespaces (id),
    record_id     TEXT NOT NULL,
    kind          TEXT NOT NULL,
    retired       INTEGER NOT NULL,
    superseded_by TEXT,
    thread_id     TEXT, -- of a summary, an episode, or an entry of a thread's state
    pinned        INTEGER NOT NULL,
    unit          INTEGER REFERENCES units (id),
    body          BLOB NOT NULL,
    changed       INTEGER NOT NULL, -- the revision of its namespace when it was written last, see histories.py
    UNIQUE (record_id, namespace)
) STRICT;

CREATE INDEX records_by_kind ON records (namespace, kind, id, changed);

CREATE INDEX records_current ON records (namespace, kind, record_id) WHERE retired = 0;

CREATE INDEX records_by_ending ON records (namespace, substr(record_id, -8));

CREATE INDEX records_superseded ON records (namespace, superseded_by) WHERE superseded_by IS NOT NULL;

CREATE INDEX records_of_thread ON records (namespace, thread_id) WHERE thread_id IS NOT NULL;

CREATE INDEX records_pinned ON records (namespace) WHERE pinned = 1;

-- Which messages a record rests on. What each of them says stays in the record's body.
CREATE TABLE sources (
    message INTEGER NOT NULL REFERENCES messages (id),
    record  INTEGER NOT NULL REFERENCES records (id),
    PRIMARY KEY (message, record)
) STRICT, WITHOUT ROWID;

CREATE INDEX sources_by_record ON sources (record);

-- What a record was until each of its changes, see storage/base/past.py.
CREATE TABLE versions (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    record INTEGER NOT NULL REFERENCES records (id),
    until  INTEGER NOT NULL,
    body   BLOB NOT NULL
) STRICT;

CREATE INDEX versions_by_record ON versions (record);

CREATE INDEX versions_by_time ON versions (until);

-- What was stored together: ids alone.
CREATE TABLE changes (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace INTEGER NOT NULL REFERENCES namespaces (id),
    at        INTEGER NOT NULL,
    body      BLOB NOT NULL
) STRICT;

CREATE INDEX changes_by_namespace ON changes (namespace);

-- How much each forget took from a namespace: numbers alone.
CREATE TABLE forgotten (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace INTEGER NOT NULL REFERENCES namespaces (id),
    at        INTEGER NOT NULL,
    messages  INTEGER NOT NULL,
    records   INTEGER NOT NULL
) STRICT;

CREATE INDEX forgotten_by_namespace ON forgotten (namespace);

-- Versions of items, which are records: where a key stands and how long. A key has one that is current, its highest. (Apart from
-- `records`, since only these are looked up by a key and end by themselves.)
CREATE TABLE items (
    namespace  INTEGER NOT NULL REFERENCES namespaces (id),
    key        TEXT NOT NULL,
    version    INTEGER NOT NULL,
    record     INTEGER NOT NULL UNIQUE REFERENCES records (id),
    current    INTEGER NOT NULL,
    expires_at INTEGER,
    PRIMARY KEY (namespace, key, version)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX items_current ON items (namespace, key) WHERE current = 1;

CREATE INDEX items_by_put ON items (namespace, record) WHERE current = 1;

CREATE INDEX items_expiring ON items (namespace, expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE receipts (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace  INTEGER NOT NULL REFERENCES namespaces (id),
    receipt_id TEXT NOT NULL,
    thread_id  TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    body       BLOB NOT NULL, -- JSON, deflated
    UNIQUE (receipt_id, namespace)
) STRICT;

CREATE INDEX receipts_by_thread ON receipts (namespace, thread_id);

-- What a context took: numbers alone. Apart from `receipts`, so that adding them up reads no receipt.
CREATE TABLE usage (
    receipt INTEGER PRIMARY KEY REFERENCES receipts (id),
    body    BLOB NOT NULL
) STRICT;

-- Calls of a language model: numbers alone.
CREATE TABLE model_calls (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    thread INTEGER NOT NULL REFERENCES threads (id),
    body   BLOB NOT NULL
) STRICT;

CREATE INDEX model_calls_by_thread ON model_calls (thread);

-- What came of asking a model for a step of long-term memory, by the messages that it was about. Numbers and names alone.
CREATE TABLE asked (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    thread INTEGER NOT NULL REFERENCES threads (id),
    step   TEXT NOT NULL, -- extract, reconcile, importance, reflect
    first  INTEGER NOT NULL, -- seq
    body   BLOB NOT NULL,
    UNIQUE (thread, step, first)
) STRICT;

-- A thread's checkpoints in the order of their ids, each with the one it followed from. A fork's copies share the states.
CREATE TABLE checkpoints (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    thread        INTEGER NOT NULL REFERENCES threads (id),
    checkpoint_id TEXT NOT NULL,
    seq           INTEGER NOT NULL,
    parent_id     TEXT,
    label         TEXT NOT NULL,
    format        TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    digest        TEXT NOT NULL, -- SHA-256 of the state
    view          BLOB NOT NULL,
    metadata      BLOB NOT NULL,
    state         INTEGER NOT NULL REFERENCES states (id),
    UNIQUE (checkpoint_id, thread)
) STRICT;

CREATE INDEX checkpoints_by_thread ON checkpoints (thread);

CREATE INDEX checkpoints_by_state ON checkpoints (state);

-- Bytes of agents' states, as they were given.
CREATE TABLE states (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    data BLOB NOT NULL
) STRICT;

-- What search can find: a message or a record. Numbers are never used again, so a vector that comes late cannot meet another text;
-- meta.last_unit remembers the greatest that was removed. Every unit is in the lexicon, in the totals of its namespace and, for each
-- space in use that holds no vector of it, in `pending`.
CREATE TABLE units (
    id        INTEGER PRIMARY KEY,
    namespace INTEGER NOT NULL REFERENCES namespaces (id),
    kind      TEXT NOT NULL,
    owner     INTEGER NOT NULL, -- messages.id or records.id
    retired   INTEGER NOT NULL DEFAULT 0,
    length    INTEGER NOT NULL,
    terms     TEXT NOT NULL,
    speaker   TEXT, -- the name under which a message was said
    at        INTEGER NOT NULL -- when that was, or when a record was made
) STRICT;

CREATE INDEX units_by_speaker ON units (namespace, speaker) WHERE speaker IS NOT NULL;

CREATE INDEX units_by_time ON units (namespace, at);

-- Units that went with versions of items since the last forget, see postings.py. The newest few thousand.
CREATE TABLE dropped (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    unit INTEGER NOT NULL
) STRICT;

-- Vector spaces, see spaces.py. One is current; it has no fingerprint until an embedder is bound. One may be filling, to take its
-- place. Those that are leaving are of no use any more: their vectors are removed by and by, and then they are. Numbers are never
-- used again, so what memory holds of a space cannot be taken for another's.
CREATE TABLE spaces (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    fingerprint BLOB, -- JSON
    dimension   INTEGER,
    state       TEXT NOT NULL -- current, filling, leaving
) STRICT;

CREATE UNIQUE INDEX spaces_in_use ON spaces (state) WHERE state <> 'leaving';

INSERT INTO spaces (state) VALUES ('current');

-- What a space holds of a namespace. `changes` grows when a vector goes or gets another number, see dense.py; other processes
-- watch it.
CREATE TABLE partitions (
    space     INTEGER NOT NULL REFERENCES spaces (id),
    namespace INTEGER NOT NULL REFERENCES namespaces (id),
    embedded  INTEGER NOT NULL, -- vectors
    changes   INTEGER NOT NULL,
    PRIMARY KEY (space, namespace)
) STRICT, WITHOUT ROWID;

-- Units that wait for their vector of a space.
CREATE TABLE pending (
    space     INTEGER NOT NULL REFERENCES spaces (id),
    unit      INTEGER NOT NULL REFERENCES units (id),
    namespace INTEGER NOT NULL,
    PRIMARY KEY (space, unit)
) STRICT, WITHOUT ROWID;

CREATE INDEX pending_by_namespace ON pending (space, namespace);

CREATE TABLE vectors (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    space     INTEGER NOT NULL REFERENCES spaces (id),
    unit      INTEGER NOT NULL REFERENCES units (id),
    namespace INTEGER NOT NULL,
    kind      TEXT NOT NULL,
    retired   INTEGER NOT NULL,
    code      BLOB NOT NULL, -- four bits a component, see codes.py
    data      BLOB NOT NULL, -- float32, little-endian
    UNIQUE (unit, space)
) STRICT;

CREATE INDEX vectors_by_space ON vectors (space, namespace, id, unit, kind, retired, code);

-- Vectors of the tokens of a unit, of whichever space they came last; see tokens.py. Apart from `vectors`, since few have them.
CREATE TABLE token_spaces (
    id          INTEGER PRIMARY KEY,
    dimension   INTEGER NOT NULL,
    fingerprint TEXT NOT NULL UNIQUE -- JSON
) STRICT;

CREATE TABLE tokens (
    unit  INTEGER PRIMARY KEY REFERENCES units (id),
    space INTEGER NOT NULL REFERENCES token_spaces (id),
    data  BLOB NOT NULL -- 4 bits for each component, token after token
) STRICT;

-- Each term stands there with the number of its namespace, as in "bee#12", so that a search reads nothing of other namespaces. The
-- column is the unit's kind, or that of retired ones. Every printable ASCII character is part of a term, so what stands between two
-- spaces is one token.
CREATE VIRTUAL TABLE lexicon USING fts5 (
    message,
    note,
    insight,
    summary,
    episode,
    retired_note,
    retired_insight,
    retired_summary,
    retired_episode,
    item,
    content = '',
    tokenize = "ascii tokenchars '!""#$%&''()*+,-./:;<=>?@[\]^_`{|}~'"
);

-- The lexicon's terms, and how many units hold each.
CREATE VIRTUAL TABLE lexicon_terms USING fts5vocab (lexicon, row);

-- last_unit (see units), erasures_due and erasures_done (how many forgets
-- have left deleted bytes in the file, and of how many it has been cleaned), revision (the last one given to a namespace: also one
-- whose row went and came back never has the same twice).
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (key, value) VALUES ('last_unit', 0), ('erasures_due', 0), ('erasures_done', 0),
  ('revision', 0);
