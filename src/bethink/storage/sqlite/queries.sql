-- Every statement of the SQLite store, by name. Parameters in the order of their question marks.
-- A scope is a range of paths, see `values.path_range`. Lists come as JSON text.

-- name: namespace_id
-- The number of a namespace.
SELECT id FROM namespaces WHERE path = ?;

-- name: add_namespace
INSERT OR IGNORE INTO namespaces (path, revision) VALUES (?, (SELECT value FROM meta WHERE key = 'revision'));

-- name: namespaces_in_scope
-- The namespaces of a scope with their totals, and what a space holds of each.
SELECT n.id, n.path, n.units, n.length, coalesce(p.embedded, 0), coalesce(p.changes, 0)
FROM namespaces n LEFT JOIN partitions p ON p.space = ? AND p.namespace = n.id WHERE n.path >= ? AND n.path < ? ORDER BY n.id;

-- name: path_by_id
SELECT path FROM namespaces WHERE id = ?;

-- name: add_to_totals
-- Count units in and out of a namespace.
UPDATE namespaces SET units = units + ?, length = length + ? WHERE id = ?;

-- name: count_vectors
-- Count vectors of a space in and out of a namespace, and changes.
INSERT INTO partitions (space, namespace, embedded, changes) VALUES (?, ?, ?, ?)
ON CONFLICT (space, namespace) DO UPDATE SET embedded = embedded + excluded.embedded, changes = changes + excluded.changes;

-- name: revision
-- Of the records of a namespace; one that has no row counts as changed with every other.
SELECT coalesce((SELECT revision FROM namespaces WHERE path = ?), (SELECT value FROM meta WHERE key = 'revision'));

-- name: next_revision
UPDATE meta SET value = value + 1 WHERE key = 'revision';

-- name: set_revision
UPDATE namespaces SET revision = (SELECT value FROM meta WHERE key = 'revision') WHERE id = ?;

-- name: find_thread
-- What an append needs to know of a thread.
SELECT t.id, t.namespace,
  CASE WHEN t.settled THEN t.tip ELSE (SELECT m.seq FROM messages m
    WHERE m.id BETWEEN (t.id << 32) AND (t.id << 32) + 4294967295 ORDER BY m.id DESC LIMIT 1) END, t.settled
FROM namespaces n JOIN threads t ON t.namespace = n.id WHERE n.path = ? AND t.thread_id = ?;

-- name: read_thread
-- A thread whole: its number and revision, then the columns of `thread_info`.
SELECT t.id, t.revision, n.path, t.thread_id, t.created_at, t.updated_at, t.tip, t.count, t.folded_through, t.extracted_through,
  t.reflected_through, t.parent_thread, t.parent_seq, t.metadata
FROM namespaces n JOIN thread_state t ON t.namespace = n.id WHERE n.path = ? AND t.thread_id = ?;

-- name: add_thread
INSERT INTO threads (namespace, thread_id, created_at, updated_at, tip, count, folded_through, extracted_through,
  reflected_through, parent_thread, parent_seq, metadata, settled)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: set_unsettled
-- The thread has a tail from now on.
UPDATE threads SET settled = 0 WHERE id = ?;

-- name: unsettled_threads
-- Threads of a scope that have a tail: number, namespace, and the tip up to which they are settled.
SELECT t.id, t.namespace, t.tip FROM namespaces n JOIN threads t INDEXED BY threads_unsettled ON t.namespace = n.id AND t.settled = 0
WHERE n.path >= ? AND n.path < ? ORDER BY t.id;

-- name: unsettled_thread
-- The same of one thread; no row if it is settled.
SELECT namespace, tip FROM threads WHERE id = ? AND settled = 0;

-- name: tail_numbers
-- The numbers of at most so many messages in the tails of a scope.
SELECT m.id FROM namespaces n JOIN threads t INDEXED BY threads_unsettled ON t.namespace = n.id AND t.settled = 0
  JOIN messages m ON m.id > (t.id << 32) + t.tip AND m.id <= (t.id << 32) + 4294967295
WHERE n.path >= ? AND n.path < ? LIMIT ?;

-- name: tail_messages
-- Some of them.
SELECT m.id, t.namespace, m.seq, m.message_id, m.created_at, m.body
FROM json_each(?) l CROSS JOIN messages m ON m.id = l.value JOIN threads t ON t.id = m.thread;

-- name: tail_of_thread
-- At most so many messages of a thread after a seq.
SELECT id, body FROM messages WHERE id > (?1 << 32) + ?2 AND id <= (?1 << 32) + 4294967295 ORDER BY id LIMIT ?3;

-- name: settle_message
UPDATE messages SET unit = ?, listed = 1 WHERE id = ?;

-- name: long_tail
-- Whether there are more than so many messages in the tail of a thread.
SELECT 1 FROM threads t JOIN messages m ON m.id > (t.id << 32) + t.tip AND m.id <= (t.id << 32) + 4294967295
WHERE t.id = ? AND t.settled = 0 LIMIT 1 OFFSET ?;

-- name: thread_number
SELECT id FROM threads WHERE namespace = ? AND thread_id = ?;

-- name: set_settled
-- So many messages more are settled, up to the message with a number.
UPDATE threads SET count = count + ?1, tip = ?2 - (id << 32),
  updated_at = (SELECT m.added_at FROM messages m WHERE m.id = ?2),
  settled = NOT EXISTS (SELECT 1 FROM messages m WHERE m.id > ?2 AND m.id <= (threads.id << 32) + 4294967295)
WHERE id = ?3;

-- name: known_messages
-- Messages of a thread by their ids, to tell a retry.
SELECT message_id, seq, grp, body, raw, raw_format FROM messages INDEXED BY messages_by_id
WHERE message_id IN (SELECT value FROM json_each(?)) AND thread = ? AND seq <= ? AND listed = 1;

-- name: known_unlisted
-- Those of thread ?2 that are not listed.
SELECT m.message_id, m.seq, m.grp, m.body, m.raw, m.raw_format
FROM threads t JOIN messages m ON m.id > (t.id << 32) + t.tip AND m.id <= (t.id << 32) + ?3
WHERE t.id = ?2 AND t.settled = 0 AND m.listed = 0 AND m.message_id IN (SELECT value FROM json_each(?1));

-- name: last_message
-- The newest message between two message numbers, inclusive.
SELECT seq, grp, body, raw, raw_format FROM messages WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1;

-- name: call_states
-- States of some calls, oldest first, of groups up to a seq.
SELECT call_id, grp, answered FROM calls
WHERE thread = ? AND call_id IN (SELECT value FROM json_each(?)) AND grp <= ? ORDER BY grp;

-- name: set_call
INSERT INTO calls (thread, call_id, grp, answered) VALUES (?, ?, ?, ?)
ON CONFLICT (thread, call_id, grp) DO UPDATE SET answered = excluded.answered;

-- name: add_unit
INSERT INTO units (id, namespace, kind, owner, retired, length, terms, speaker, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: add_message
INSERT INTO messages (id, thread, seq, message_id, grp, role, pinned, created_at, added_at, listed, body, raw, raw_format)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: group_cut
-- Whether a group of a thread lies on both sides of a seq.
SELECT 1 FROM messages WHERE thread = ?1 AND grp <> seq AND grp <= ?2 AND seq > ?2 LIMIT 1;

-- name: last_unit
-- The greatest unit number ever given.
SELECT max(coalesce((SELECT max(id) FROM units), 0), (SELECT value FROM meta WHERE key = 'last_unit'));

-- name: fork_units
-- Copies of the units of the messages between two numbers, for owners moved by ?3, numbered from ?4 + 1 in the same order.
INSERT INTO units (id, namespace, kind, owner, retired, length, terms, speaker, at)
SELECT ?4 + row_number() OVER (ORDER BY m.id), u.namespace, u.kind, u.owner + ?3, u.retired, u.length, u.terms, u.speaker, u.at
FROM messages m JOIN units u ON u.id = m.unit WHERE m.id BETWEEN ?1 AND ?2 ORDER BY m.id;

-- name: fork_messages
-- Copies of the messages between two numbers in thread ?4, moved by ?3. Their units are numbered from ?5 + 1 in the same order.
INSERT INTO messages (id, thread, seq, message_id, grp, role, pinned, created_at, added_at, unit, listed, body, raw, raw_format)
SELECT id + ?3, ?4, seq, message_id, grp, role, pinned, created_at, added_at,
  CASE WHEN unit IS NOT NULL THEN ?5 + count(unit) OVER (ORDER BY id) END, listed, body, raw, raw_format
FROM messages WHERE id BETWEEN ?1 AND ?2 ORDER BY id;

-- name: fork_vectors
-- The vectors of those copies, of the spaces in use.
INSERT INTO vectors (space, unit, namespace, kind, retired, code, data)
SELECT v.space, copy.unit, v.namespace, v.kind, v.retired, v.code, v.data
FROM messages m JOIN messages copy ON copy.id = m.id + ?3 JOIN vectors v ON v.unit = m.unit JOIN spaces s ON s.id = v.space
WHERE m.id BETWEEN ?1 AND ?2 AND s.state <> 'leaving' ORDER BY v.id;

-- name: fork_tokens
-- The vectors of their tokens.
INSERT INTO tokens (unit, space, data) SELECT copy.unit, v.space, v.data
FROM messages m JOIN messages copy ON copy.id = m.id + ?3 JOIN tokens v ON v.unit = m.unit
WHERE m.id BETWEEN ?1 AND ?2 ORDER BY m.id;

-- name: fork_calls
-- The calls of a thread in groups up to a seq, for another thread.
INSERT INTO calls (thread, call_id, grp, answered) SELECT ?3, call_id, grp, answered FROM calls WHERE thread = ?1 AND grp <= ?2;

-- name: messages_between
-- The newest messages between two numbers, exclusive, newest first.
SELECT seq, grp, body, raw, raw_format FROM messages WHERE id > ? AND id < ? ORDER BY id DESC LIMIT ?;

-- name: group_members
-- Every message of some groups: their first (?1 is the thread's first number minus one), and the others.
SELECT seq, grp, body, raw, raw_format FROM messages WHERE id IN (SELECT ?1 + value FROM json_each(?3)) AND grp = seq
UNION ALL
SELECT seq, grp, body, raw, raw_format FROM messages
WHERE thread = ?2 AND grp <> seq AND grp IN (SELECT value FROM json_each(?3));

-- name: pinned_messages
-- Those that are pinned now: of their own, unless they were given another tier, and those that were made permanent.
SELECT m.seq, m.grp, m.body, m.raw, m.raw_format FROM messages m WHERE m.thread = ?1 AND m.pinned = 1 AND (
  m.role IN ('system', 'developer') OR NOT EXISTS (SELECT 1 FROM tiers t WHERE t.message = m.id AND t.tier <> 'permanent'))
UNION ALL
SELECT m.seq, m.grp, m.body, m.raw, m.raw_format FROM tiers t CROSS JOIN messages m ON m.id = t.message AND m.pinned = 0
WHERE t.message BETWEEN (?1 << 32) AND (?1 << 32) + 4294967295 AND t.tier = 'permanent';

-- name: set_tier
INSERT INTO tiers (message, tier, at) VALUES (?, ?, ?)
ON CONFLICT (message) DO UPDATE SET tier = excluded.tier, at = excluded.at WHERE tier <> excluded.tier;

-- name: set_score
INSERT INTO scores (message, score, author, at) VALUES (?, ?, ?, ?)
ON CONFLICT (message) DO UPDATE SET score = excluded.score, author = excluded.author, at = excluded.at
WHERE (score, author) <> (excluded.score, excluded.author);

-- name: tiers_between
-- Of the messages between two numbers, inclusive.
SELECT message, tier, at FROM tiers WHERE message BETWEEN ? AND ? ORDER BY message;

-- name: scores_of_messages
SELECT s.message, s.score, s.author, s.at FROM json_each(?) l CROSS JOIN scores s ON s.message = l.value ORDER BY s.message;

-- name: fork_tiers
-- Copies of the tiers of the messages between two numbers, for messages moved by ?3.
INSERT INTO tiers (message, tier, at) SELECT message + ?3, tier, at FROM tiers WHERE message BETWEEN ?1 AND ?2;

-- name: fork_scores
INSERT INTO scores (message, score, author, at)
SELECT message + ?3, score, author, at FROM scores WHERE message BETWEEN ?1 AND ?2;

-- name: drop_tiers
DELETE FROM tiers WHERE message IN (SELECT value FROM json_each(?));

-- name: drop_scores
DELETE FROM scores WHERE message IN (SELECT value FROM json_each(?));

-- name: top_nodes
SELECT body FROM nodes WHERE thread = ? AND top = 1 ORDER BY first_seq, node_id;

-- name: nodes_of_thread
-- In the order in which they were folded.
SELECT id, body FROM nodes WHERE thread = ? ORDER BY id;

-- name: current_nodes
SELECT body FROM nodes WHERE thread = ? AND replaced = 0;

-- name: node_ids
SELECT node_id, replaced FROM nodes WHERE thread = ?;

-- name: find_node
SELECT id, top, body FROM nodes WHERE node_id = ? AND thread = ?;

-- name: nodes_naming
-- The nodes of a thread that name one, be it as themselves.
SELECT id, body FROM nodes WHERE thread = ? AND instr(body, CAST(? AS BLOB));

-- name: set_replaced
UPDATE nodes SET top = 0, replaced = 1, body = ? WHERE id = ?;

-- name: set_node_body
UPDATE nodes SET body = ? WHERE id = ?;

-- name: attempts_of_thread
SELECT body FROM attempts WHERE thread = ? ORDER BY node_id, model;

-- name: set_attempt
INSERT INTO attempts (thread, node_id, model, body) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (thread, node_id, model) DO UPDATE SET body = excluded.body;

-- name: drop_attempts
-- Those of nodes that are gone or were replaced.
DELETE FROM attempts WHERE thread = ?1 AND node_id NOT IN (SELECT node_id FROM nodes WHERE thread = ?1 AND replaced = 0);

-- name: fork_attempts
-- The attempts of a thread for another, as far as that has their nodes.
INSERT INTO attempts (thread, node_id, model, body) SELECT ?2, a.node_id, a.model, a.body FROM attempts a
WHERE a.thread = ?1 AND a.node_id IN (SELECT node_id FROM nodes WHERE thread = ?2 AND replaced = 0);

-- name: count_messages
-- How many messages there are between two numbers, inclusive.
SELECT count(*) FROM messages WHERE id BETWEEN ? AND ?;

-- name: add_node
INSERT INTO nodes (thread, node_id, first_seq, top, replaced, body) VALUES (?, ?, ?, ?, ?, ?);

-- name: set_node
UPDATE nodes SET first_seq = ?, top = ?, replaced = ?, body = ? WHERE id = ?;

-- name: drop_nodes
DELETE FROM nodes WHERE id IN (SELECT value FROM json_each(?));

-- name: make_children
-- These nodes of a thread are children from now on.
UPDATE nodes SET top = 0 WHERE thread = ? AND node_id IN (SELECT value FROM json_each(?));

-- name: set_folded
UPDATE threads SET folded_through = ?, revision = revision + 1 WHERE id = ?;

-- name: touch_thread
-- Something other than an append has happened to it.
UPDATE threads SET revision = revision + 1 WHERE id = ?;

-- name: cursors
-- A thread's number, and through where it is extracted and reflected.
SELECT t.id, t.extracted_through, t.reflected_through
FROM namespaces n JOIN threads t ON t.namespace = n.id WHERE n.path = ? AND t.thread_id = ?;

-- name: set_extracted
UPDATE threads SET extracted_through = ? WHERE id = ?;

-- name: set_reflected
UPDATE threads SET reflected_through = ? WHERE id = ?;

-- name: message_numbers
-- The numbers of the messages of a scope that have one of some ids: those that are listed, and those in tails that are not.
SELECT m.id FROM messages m INDEXED BY messages_by_id JOIN threads t ON t.id = m.thread JOIN namespaces n ON n.id = t.namespace
WHERE m.message_id IN (SELECT value FROM json_each(?1)) AND m.listed = 1 AND n.path >= ?2 AND n.path < ?3
UNION ALL
SELECT m.id FROM namespaces n JOIN threads t INDEXED BY threads_unsettled ON t.namespace = n.id AND t.settled = 0
  JOIN messages m ON m.id > (t.id << 32) + t.tip AND m.id <= (t.id << 32) + 4294967295
WHERE n.path >= ?2 AND n.path < ?3 AND m.listed = 0 AND m.message_id IN (SELECT value FROM json_each(?1));

-- name: get_messages
-- Messages by their numbers.
SELECT n.path, t.thread_id, m.seq, m.grp, m.body, m.raw, m.raw_format
FROM messages m JOIN threads t ON t.id = m.thread JOIN namespaces n ON n.id = t.namespace
WHERE m.id IN (SELECT value FROM json_each(?)) ORDER BY m.id;

-- name: get_records
SELECT n.path, r.body FROM records r JOIN namespaces n ON n.id = r.namespace
WHERE r.record_id IN (SELECT value FROM json_each(?)) AND n.path >= ? AND n.path < ? ORDER BY r.id;

-- name: records_ending
-- Those whose id ends so, of 8 characters or more.
SELECT r.id, r.record_id, n.path, r.body FROM namespaces n CROSS JOIN records r INDEXED BY records_by_ending
ON r.namespace = n.id AND substr(r.record_id, -8) = substr(?1, -8)
WHERE n.path >= ?2 AND n.path < ?3 AND substr(r.record_id, -length(?1)) = ?1;

-- name: records_ending_briefly
-- The same of an ending that is shorter: goes through the index, and reads the rows that it finds.
SELECT r.id, r.record_id, n.path, r.body FROM namespaces n CROSS JOIN records r INDEXED BY records_by_ending
ON r.namespace = n.id
WHERE n.path >= ?2 AND n.path < ?3 AND ?1 <> '' AND substr(substr(r.record_id, -8), -length(?1)) = ?1;

-- name: get_nodes
SELECT o.body FROM nodes o JOIN threads t ON t.id = o.thread JOIN namespaces n ON n.id = t.namespace
WHERE o.node_id IN (SELECT value FROM json_each(?1)) AND n.path >= ?2 AND n.path < ?3 AND (?4 IS NULL OR t.thread_id = ?4)
ORDER BY t.id, o.id;

-- name: get_receipts
SELECT c.body FROM receipts c JOIN namespaces n ON n.id = c.namespace
WHERE c.receipt_id IN (SELECT value FROM json_each(?)) AND n.path >= ? AND n.path < ? ORDER BY c.id;

-- name: find_message
-- The number of a message by namespace, thread and id.
SELECT m.id FROM threads t JOIN messages m INDEXED BY messages_by_id ON m.thread = t.id AND m.listed = 1
WHERE t.namespace = ?1 AND t.thread_id = ?2 AND m.message_id = ?3
UNION ALL
SELECT m.id FROM threads t JOIN messages m ON m.id > (t.id << 32) + t.tip AND m.id <= (t.id << 32) + 4294967295
WHERE t.namespace = ?1 AND t.thread_id = ?2 AND t.settled = 0 AND m.listed = 0 AND m.message_id = ?3;

-- name: find_record
SELECT id, unit, body FROM records WHERE record_id = ? AND namespace = ?;

-- name: add_record
-- What is written has the revision that its namespace is given at the end of the transaction, or one before that and after the last.
INSERT INTO records (namespace, record_id, kind, retired, superseded_by, thread_id, pinned, body, changed)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, (SELECT value + 1 FROM meta WHERE key = 'revision'));

-- name: set_record
UPDATE records SET retired = ?, superseded_by = ?, pinned = ?, body = ?,
    changed = (SELECT value + 1 FROM meta WHERE key = 'revision')
WHERE id = ?;

-- name: set_record_unit
UPDATE records SET unit = ? WHERE id = ?;

-- name: add_source
INSERT OR IGNORE INTO sources (message, record) VALUES (?, ?);

-- name: find_item
-- The current version of a key, expired or not: number, unit and body.
SELECT r.id, r.unit, r.body FROM namespaces n CROSS JOIN items i ON i.namespace = n.id CROSS JOIN records r ON r.id = i.record
WHERE n.path = ? AND i.key = ? AND i.current = 1;

-- name: find_record_at
SELECT 1 FROM records WHERE record_id = ? AND namespace = (SELECT id FROM namespaces WHERE path = ?);

-- name: add_item
INSERT INTO items (namespace, key, version, record, current, expires_at) VALUES (?, ?, ?, ?, 1, ?);

-- name: retire_item
UPDATE items SET current = 0 WHERE record = ?;

-- name: refresh_item
UPDATE items SET expires_at = ? WHERE record = ?;

-- name: versions_of_key
-- Numbers and units of all versions of a key.
SELECT r.id, r.unit FROM items i JOIN records r ON r.id = i.record WHERE i.namespace = ? AND i.key = ? ORDER BY i.version;

-- name: versions_beyond
-- Likewise of the former ones, without so many of the newest.
SELECT r.id, r.unit FROM items i JOIN records r ON r.id = i.record
WHERE i.namespace = ? AND i.key = ? AND i.current = 0 ORDER BY i.version DESC LIMIT -1 OFFSET ?;

-- name: drop_items
DELETE FROM items WHERE record IN (SELECT value FROM json_each(?));

-- name: list_items
-- The items of a scope that are alive at ?3; filters.py writes :record.
SELECT n.path, r.body FROM namespaces n CROSS JOIN items i ON i.namespace = n.id CROSS JOIN records r ON r.id = i.record
WHERE n.path >= ?1 AND n.path < ?2 AND i.current = 1 AND (i.expires_at IS NULL OR i.expires_at > ?3)
  AND :record ORDER BY r.id DESC LIMIT ? OFFSET ?;

-- name: list_items_here
-- Those of one namespace: as many as are wanted are read.
SELECT n.path, r.body FROM namespaces n CROSS JOIN items i ON i.namespace = n.id CROSS JOIN records r ON r.id = i.record
WHERE n.id = (SELECT id FROM namespaces WHERE path >= ?1 AND path < ?2) AND i.current = 1 AND (i.expires_at IS NULL OR i.expires_at > ?3)
  AND :record ORDER BY i.record DESC LIMIT ? OFFSET ?;

-- name: list_items_of_keys
-- Those of a list of keys.
SELECT n.path, r.body FROM json_each(?4) l CROSS JOIN namespaces n CROSS JOIN items i ON i.namespace = n.id AND i.key = l.value
CROSS JOIN records r ON r.id = i.record
WHERE n.path >= ?1 AND n.path < ?2 AND i.current = 1 AND (i.expires_at IS NULL OR i.expires_at > ?3)
  AND :record ORDER BY r.id DESC LIMIT ? OFFSET ?;

-- name: list_items_of_ids
-- Those of a list of ids of versions.
SELECT n.path, r.body FROM json_each(?4) l CROSS JOIN records r ON r.record_id = l.value CROSS JOIN items i ON i.record = r.id
CROSS JOIN namespaces n ON n.id = i.namespace
WHERE n.path >= ?1 AND n.path < ?2 AND i.current = 1 AND (i.expires_at IS NULL OR i.expires_at > ?3)
  AND :record ORDER BY r.id DESC LIMIT ? OFFSET ?;

-- name: list_versions
-- All versions, which are alive themselves, of a list of keys.
SELECT n.path, r.body FROM json_each(?4) l CROSS JOIN namespaces n CROSS JOIN items c ON c.namespace = n.id AND c.key = l.value
CROSS JOIN items i ON i.namespace = c.namespace AND i.key = c.key CROSS JOIN records r ON r.id = i.record
WHERE n.path >= ?1 AND n.path < ?2 AND c.current = 1 AND (c.expires_at IS NULL OR c.expires_at > ?3)
  AND (i.expires_at IS NULL OR i.expires_at > ?3) ORDER BY r.id DESC LIMIT ? OFFSET ?;

-- name: item_namespaces
SELECT n.path FROM namespaces n WHERE n.path >= ?1 AND n.path < ?2 AND EXISTS (
  SELECT 1 FROM items i WHERE i.namespace = n.id AND i.current = 1 AND (i.expires_at IS NULL OR i.expires_at > ?3));

-- name: expired_items
-- As `records_in_scope`: versions that have expired by ?3, and all of a key whose current one has.
SELECT DISTINCT r.id, r.namespace, r.unit, r.body FROM namespaces n CROSS JOIN items g ON g.namespace = n.id
CROSS JOIN items i ON i.namespace = g.namespace AND i.key = g.key AND (g.current = 1 OR i.version = g.version)
JOIN records r ON r.id = i.record
WHERE g.expires_at <= ?3 AND n.path >= ?1 AND n.path < ?2 ORDER BY r.id;

-- name: has_expired
SELECT EXISTS (SELECT 1 FROM namespaces n CROSS JOIN items i ON i.namespace = n.id AND i.expires_at <= ?3
WHERE n.path >= ?1 AND n.path < ?2);

-- name: with_other_versions
-- As `records_in_scope`: the records of a list of numbers, and all versions of the items among them.
SELECT DISTINCT r.id, r.namespace, r.unit, r.body FROM items g
CROSS JOIN items i ON i.namespace = g.namespace AND i.key = g.key JOIN records r ON r.id = i.record
WHERE g.record IN (SELECT value FROM json_each(?)) ORDER BY r.id;

-- name: all_items
SELECT i.record, i.namespace, i.key, i.version, i.current, i.expires_at, r.body FROM items i LEFT JOIN records r ON r.id = i.record
ORDER BY i.record;

-- name: note_dropped
INSERT INTO dropped (unit) VALUES (?);

-- name: last_dropped
SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'dropped';

-- name: dropped_after
SELECT unit FROM dropped WHERE id > ? AND id <= ?;

-- name: shorten_dropped
DELETE FROM dropped WHERE id <= ?;

-- name: find_receipt
SELECT id FROM receipts WHERE receipt_id = ? AND namespace = ?;

-- name: add_usage
INSERT OR IGNORE INTO usage (receipt, body) VALUES (?, ?);

-- name: add_model_call
-- Nothing, where the thread is not there.
INSERT INTO model_calls (thread, body) SELECT id, ?3 FROM threads WHERE namespace = ?1 AND thread_id = ?2;

-- name: add_receipt
INSERT INTO receipts (namespace, receipt_id, thread_id, created_at, body) VALUES (?, ?, ?, ?, ?);

-- name: meta
SELECT value FROM meta WHERE key = ?;

-- name: fill_log
-- Something large, to be rolled back: see log.py.
INSERT INTO meta (key, value) VALUES ('room', zeroblob(?));

-- name: owe_erasure
-- Note that deleted bytes are to be cleaned from the file.
UPDATE meta SET value = value + 1 WHERE key = 'erasures_due';

-- name: new_units
-- Units after a number, with what each place of a unit needs.
SELECT id, namespace, kind, retired, length, terms FROM units WHERE id > ? ORDER BY id;

-- name: new_pending
-- Of those, each waits in the spaces in use that hold no vector of it.
INSERT INTO pending (space, unit, namespace) SELECT s.id, u.id, u.namespace FROM spaces s CROSS JOIN units u
WHERE s.state <> 'leaving' AND u.id > ? AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.unit = u.id AND v.space = s.id);

-- name: new_vectors
-- How many vectors of them each space holds, by namespace.
SELECT space, namespace, count(*) FROM vectors WHERE unit > ? GROUP BY space, namespace ORDER BY space, namespace;

-- name: new_terms
-- The terms of the units of a scope after a number.
SELECT u.terms FROM units u JOIN namespaces n ON n.id = u.namespace WHERE u.id > ? AND n.path >= ? AND n.path < ?;

-- name: index_unit
INSERT INTO lexicon
  (rowid, message, note, insight, summary, episode, retired_note, retired_insight, retired_summary, retired_episode, item)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: unindex_unit
-- The lexicon holds no texts, so it is told what was in the row.
INSERT INTO lexicon
  (lexicon, rowid, message, note, insight, summary, episode, retired_note, retired_insight, retired_summary, retired_episode, item)
VALUES ('delete', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: optimize_lexicon
-- Rewrite it as one segment; see `erase`.
INSERT INTO lexicon (lexicon) VALUES ('optimize');

-- name: count_lexicon_pages
-- Of all segments: what comes before is about the index as a whole.
SELECT count(*) FROM lexicon_data WHERE id > 10;

-- name: empty_lexicon
INSERT INTO lexicon (lexicon) VALUES ('delete-all');

-- name: all_units
SELECT id, namespace, kind, retired, terms FROM units ORDER BY id;

-- name: pass_through_lexicon
-- A row of one word that belongs to no namespace, in and out again: leaves a segment that says that it is gone.
INSERT INTO lexicon (rowid, message) VALUES (0, '-');

-- name: pass_out_of_lexicon
INSERT INTO lexicon (lexicon, rowid, message) VALUES ('delete', 0, '-');

-- name: units_by_id
SELECT id, namespace, kind, retired, length, terms FROM units WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id;

-- name: vectors_of_units
-- How many vectors of some units each space holds, by namespace.
SELECT space, namespace, count(*) FROM vectors WHERE unit IN (SELECT value FROM json_each(?))
GROUP BY space, namespace ORDER BY space, namespace;

-- name: drop_units
DELETE FROM units WHERE id IN (SELECT value FROM json_each(?));

-- name: retire_unit
UPDATE units SET retired = ? WHERE id = ?;

-- name: retire_vector
-- In each space under a new number, by which memory learns of it.
INSERT OR REPLACE INTO vectors (space, unit, namespace, kind, retired, code, data)
SELECT space, unit, namespace, kind, ?, code, data FROM vectors WHERE unit = ? ORDER BY space;

-- name: drop_vectors
DELETE FROM vectors WHERE unit IN (SELECT value FROM json_each(?));

-- name: unit_in_scope
-- A unit of a scope, and whether it has a vector of a space.
SELECT u.namespace, u.kind, u.retired, v.id IS NOT NULL
FROM units u JOIN namespaces n ON n.id = u.namespace LEFT JOIN vectors v ON v.unit = u.id AND v.space = ?
WHERE u.id = ? AND n.path >= ? AND n.path < ?;

-- name: drop_vector
DELETE FROM vectors WHERE space = ? AND unit = ?;

-- name: add_vector
INSERT INTO vectors (space, unit, namespace, kind, retired, code, data) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: add_token_space
INSERT OR IGNORE INTO token_spaces (fingerprint, dimension) VALUES (?, ?);

-- name: token_space
SELECT id FROM token_spaces WHERE fingerprint = ?;

-- name: add_tokens
-- Of a unit of a scope, in place of those that it has.
INSERT OR REPLACE INTO tokens (unit, space, data)
SELECT u.id, ?4, ?5 FROM units u JOIN namespaces n ON n.id = u.namespace WHERE u.id = ?1 AND n.path >= ?2 AND n.path < ?3;

-- name: drop_tokens
DELETE FROM tokens WHERE unit IN (SELECT value FROM json_each(?));

-- name: tokens_of
-- Those of a list of ascending units.
SELECT v.unit, v.data FROM json_each(?) l CROSS JOIN tokens v ON v.unit = l.value WHERE v.space = ?;

-- name: vectors_after
-- The vectors of a space and a namespace with numbers above one that is known.
SELECT id, unit, kind, retired, data FROM vectors WHERE space = ? AND namespace = ? AND id > ? ORDER BY id LIMIT ?;

-- name: codes_after
-- The same with the codes instead: answered from the index alone.
SELECT id, unit, kind, retired, code FROM vectors WHERE space = ? AND namespace = ? AND id > ? ORDER BY id LIMIT ?;

-- name: vectors_by_number
-- Those of a list of ascending numbers.
SELECT v.id, v.data FROM json_each(?) l CROSS JOIN vectors v ON v.id = l.value;

-- name: forgotten
-- How many forgets there have been.
SELECT value FROM meta WHERE key = 'erasures_due';

-- name: vector_states
-- All vectors of a space and a namespace by number, without the vectors themselves: answered from the index alone.
SELECT id, unit, kind, retired FROM vectors WHERE space = ? AND namespace = ? ORDER BY id;

-- name: match_best
-- The best rows of the lexicon for a query in FTS5's language. (`ORDER BY rank` says the same and takes a fifth longer.)
SELECT rowid FROM lexicon WHERE lexicon MATCH ? ORDER BY bm25(lexicon) LIMIT ?;

-- name: match_best_but
-- The same, without some units. (`+` keeps SQLite from asking FTS5 once for each of them.)
SELECT rowid FROM lexicon WHERE lexicon MATCH ? AND +rowid NOT IN (SELECT value FROM json_each(?))
ORDER BY bm25(lexicon) LIMIT ?;

-- name: match_best_of
-- The same, of a list of namespaces.
SELECT lexicon.rowid FROM lexicon CROSS JOIN units u ON u.id = lexicon.rowid
WHERE lexicon MATCH ? AND +lexicon.rowid NOT IN (SELECT value FROM json_each(?)) AND u.namespace IN (SELECT value FROM json_each(?))
ORDER BY bm25(lexicon) LIMIT ?;

-- name: match_best_passing
-- The same, and of units that pass a filter: filters.py writes its conditions, bound as all else, for :message and :record.
SELECT lexicon.rowid FROM lexicon CROSS JOIN units u ON u.id = lexicon.rowid
WHERE lexicon MATCH ? AND +lexicon.rowid NOT IN (SELECT value FROM json_each(?)) AND u.namespace IN (SELECT value FROM json_each(?))
AND CASE u.kind
  WHEN 'message' THEN (SELECT :message FROM messages m JOIN threads t ON t.id = m.thread WHERE m.id = u.owner)
  ELSE (SELECT :record FROM records r WHERE r.id = u.owner) END
ORDER BY bm25(lexicon) LIMIT ?;

-- name: match_best_within
-- As `match_best`, of a list of units.
SELECT rowid FROM lexicon WHERE lexicon MATCH ? AND +rowid IN (SELECT value FROM json_each(?))
ORDER BY bm25(lexicon) LIMIT ?;

-- name: units_passing
-- Those of a list of units that pass a filter.
SELECT u.id FROM json_each(?) l CROSS JOIN units u ON u.id = l.value WHERE CASE u.kind
  WHEN 'message' THEN (SELECT :message FROM messages m JOIN threads t ON t.id = m.thread WHERE m.id = u.owner)
  ELSE (SELECT :record FROM records r WHERE r.id = u.owner) END;

-- name: messages_passing
-- Those of a list of numbers of messages.
SELECT m.id FROM json_each(?) l CROSS JOIN messages m ON m.id = l.value CROSS JOIN threads t ON t.id = m.thread WHERE :message;

-- name: count_within
-- How many units of a scope are of a span of time, counted up to a limit: answered from the index alone.
SELECT count(*) FROM (SELECT 1 FROM namespaces n CROSS JOIN units u INDEXED BY units_by_time ON u.namespace = n.id
WHERE n.path >= ? AND n.path < ? AND u.at BETWEEN ? AND ? LIMIT ?);

-- name: all_passing_within
-- The units of a scope and a span of time that pass a filter.
SELECT u.id FROM namespaces n CROSS JOIN units u INDEXED BY units_by_time ON u.namespace = n.id
WHERE n.path >= ? AND n.path < ? AND u.at BETWEEN ? AND ? AND CASE u.kind
  WHEN 'message' THEN (SELECT :message FROM messages m JOIN threads t ON t.id = m.thread WHERE m.id = u.owner)
  ELSE (SELECT :record FROM records r WHERE r.id = u.owner) END;

-- name: all_passing
-- All units of a scope that do. (CROSS JOIN: a thread's messages lie together.)
SELECT m.unit FROM namespaces n CROSS JOIN threads t ON t.namespace = n.id
  CROSS JOIN messages m ON m.id > (t.id << 32) AND m.id <= (t.id << 32) + 4294967295
WHERE n.path >= ? AND n.path < ? AND m.unit IS NOT NULL AND :message
UNION ALL
SELECT r.unit FROM namespaces n CROSS JOIN records r ON r.namespace = n.id
WHERE n.path >= ? AND n.path < ? AND r.unit IS NOT NULL AND :record;

-- name: thread_in_view
-- The number of a thread of a namespace, and whether it is the only one there.
SELECT t.id, NOT EXISTS (SELECT 1 FROM threads o WHERE o.namespace = t.namespace AND o.id <> t.id)
FROM threads t WHERE t.namespace = ? AND t.thread_id = ?;

-- name: copies_in_view
-- Number and unit of the messages of other threads of namespace ?1 that have the id of a message of thread ?2 in a list of ranges of
-- numbers (?3): first the listed ones, then those in tails that are not.
SELECT copy.id, copy.unit
FROM json_each(?3) s
  CROSS JOIN messages m ON m.id BETWEEN json_extract(s.value, '$[0]') AND json_extract(s.value, '$[1]')
  CROSS JOIN messages copy INDEXED BY messages_by_id
    ON copy.message_id = m.message_id AND copy.listed = 1 AND copy.thread <> m.thread
  CROSS JOIN threads o ON o.id = copy.thread AND o.namespace = ?1
UNION ALL
SELECT copy.id, NULL
FROM threads o INDEXED BY threads_unsettled
  CROSS JOIN messages copy ON copy.id > (o.id << 32) + o.tip AND copy.id <= (o.id << 32) + 4294967295 AND copy.listed = 0
  CROSS JOIN messages m INDEXED BY messages_by_id ON m.message_id = copy.message_id AND m.thread = ?2 AND m.listed = 1
WHERE o.namespace = ?1 AND o.settled = 0 AND o.id <> ?2
  AND EXISTS (SELECT 1 FROM json_each(?3) s WHERE m.id BETWEEN json_extract(s.value, '$[0]') AND json_extract(s.value, '$[1]'));

-- name: units_in_view
-- The units of the messages in a list of ranges of numbers.
SELECT m.unit FROM json_each(?) s
  CROSS JOIN messages m ON m.id BETWEEN json_extract(s.value, '$[0]') AND json_extract(s.value, '$[1]')
WHERE m.unit IS NOT NULL;

-- name: records_in_view
-- The units of the records of a namespace in a list of ids.
SELECT unit FROM records WHERE namespace = ? AND unit IS NOT NULL AND record_id IN (SELECT value FROM json_each(?));

-- name: holding
-- In how many units each of a list of the lexicon's terms occurs; none has no row.
SELECT term, doc FROM json_each(?) l CROSS JOIN lexicon_terms ON term = l.value;

-- name: holding_of
-- The same of terms without the number of a namespace (?1), in the namespaces of a list (?2) together. (A term ends before "#", which
-- "$" comes after.)
SELECT l.value, sum(v.doc) FROM json_each(?1) l CROSS JOIN lexicon_terms v ON v.term >= l.value || '#' AND v.term < l.value || '$'
WHERE CAST(substr(v.term, length(l.value) + 2) AS INTEGER) IN (SELECT value FROM json_each(?2)) GROUP BY l.value;

-- name: units_holding
-- The units after a number that match a query in FTS5's language, ascending.
SELECT json_group_array(rowid) FROM lexicon WHERE lexicon MATCH ? AND rowid > ?;

-- name: match_any
-- Whether a query in FTS5's language matches anything.
SELECT 1 FROM lexicon WHERE lexicon MATCH ? LIMIT 1;

-- name: unit_rows
-- Units, and whose they are. (CROSS JOIN: one look-up for each of the list, in this order.)
SELECT u.id, u.length, u.terms, u.namespace, u.kind, u.owner, u.retired
FROM json_each(?) l CROSS JOIN units u ON u.id = l.value;

-- name: candidate_messages
-- What ranking needs to know of messages by their numbers beside their units.
SELECT m.id, m.seq, m.message_id, m.created_at, m.body FROM json_each(?) l CROSS JOIN messages m ON m.id = l.value;

-- name: candidate_records
-- The same of records.
SELECT r.id, r.thread_id, r.record_id, r.body FROM json_each(?) l CROSS JOIN records r ON r.id = l.value;

-- name: candidate_neighbours
-- Both of messages by their numbers, those that have a unit.
SELECT u.id, u.length, u.terms, u.namespace, u.kind, m.id, m.seq, m.message_id, m.created_at, m.body
FROM json_each(?) l CROSS JOIN messages m ON m.id = l.value CROSS JOIN units u ON u.id = m.unit;

-- name: thread_ids
-- Of threads by their numbers.
SELECT id, thread_id FROM threads WHERE id IN (SELECT value FROM json_each(?));

-- name: speakers
-- Names in the namespaces of a scope, found by stepping through the index from each name to the next.
WITH RECURSIVE named (namespace, speaker) AS (
  SELECT id, (SELECT min(u.speaker) FROM units u WHERE u.namespace = n.id AND u.speaker IS NOT NULL)
  FROM namespaces n WHERE n.path >= ? AND n.path < ?
  UNION ALL
  SELECT namespace, (SELECT min(u.speaker) FROM units u WHERE u.namespace = named.namespace AND u.speaker > named.speaker)
  FROM named WHERE speaker IS NOT NULL)
SELECT DISTINCT speaker FROM named WHERE speaker IS NOT NULL ORDER BY speaker;

-- name: terms_of_units
-- Length and terms of some units.
SELECT id, length, terms FROM units WHERE id IN (SELECT value FROM json_each(?));

-- name: scan_threads
-- Threads of a scope after a number; ?5 is a thread id or null.
SELECT t.id, n.path, t.thread_id, t.created_at, t.updated_at, t.tip, t.count, t.folded_through, t.extracted_through,
  t.reflected_through, t.parent_thread, t.parent_seq, t.metadata
FROM thread_state t JOIN namespaces n ON n.id = t.namespace
WHERE t.id > ?1 AND t.id < ?2 AND n.path >= ?3 AND n.path < ?4 AND (?5 IS NULL OR t.thread_id = ?5)
ORDER BY t.id {order} LIMIT ?6;

-- name: scan_threads_behind
-- The same, of those with messages past their extracted cursor: only these are looked at.
SELECT t.id, n.path, t.thread_id, t.created_at, t.updated_at, t.tip, t.count, t.folded_through, t.extracted_through,
  t.reflected_through, t.parent_thread, t.parent_seq, t.metadata
FROM namespaces n JOIN threads r INDEXED BY threads_behind ON r.namespace = n.id AND (r.extracted_through < r.tip OR r.settled = 0)
  CROSS JOIN thread_state t ON t.id = r.id
WHERE t.id > ?1 AND t.id < ?2 AND n.path >= ?3 AND n.path < ?4 AND (?5 IS NULL OR t.thread_id = ?5)
  AND EXISTS (SELECT 1 FROM messages m WHERE m.id > (t.id << 32) + t.extracted_through AND m.id <= (t.id << 32) + 4294967295)
ORDER BY t.id {order} LIMIT ?6;

-- name: scan_threads_due
-- Of those that are not ended: threads without a new message since ?6, or with ?7 seqs past their reflected cursor; either may be
-- null. A tail makes a thread younger and longer than its row says, never older.
SELECT t.id, n.path, t.thread_id, t.created_at, t.updated_at, t.tip, t.count, t.folded_through, t.extracted_through,
  t.reflected_through, t.parent_thread, t.parent_seq, t.metadata
FROM namespaces n CROSS JOIN threads r INDEXED BY threads_not_ended
    ON r.namespace = n.id AND (r.reflected_through < r.tip OR r.settled = 0)
  CROSS JOIN thread_state t ON t.id = r.id
WHERE t.id > ?1 AND t.id < ?2 AND n.path >= ?3 AND n.path < ?4 AND (?5 IS NULL OR t.thread_id = ?5)
  AND (?7 IS NOT NULL OR r.updated_at <= ?6)
  AND (t.updated_at <= ?6 OR t.tip - t.reflected_through >= ?7)
  AND EXISTS (SELECT 1 FROM messages m WHERE m.id > (t.id << 32) + t.reflected_through AND m.id <= (t.id << 32) + 4294967295)
ORDER BY t.id {order} LIMIT ?8;

-- name: scan_messages
SELECT m.id, n.path, t.thread_id, m.seq, m.grp, m.body, m.raw, m.raw_format
FROM messages m JOIN threads t ON t.id = m.thread JOIN namespaces n ON n.id = t.namespace
WHERE m.id > ?1 AND m.id < ?2 AND n.path >= ?3 AND n.path < ?4 AND (?5 IS NULL OR t.thread_id = ?5)
ORDER BY m.id {order} LIMIT ?6;

-- name: scan_records
-- ?6 is 1 for current ones only, ?7 a list of kinds, or null for all but items.
SELECT r.id, n.path, r.body FROM records r JOIN namespaces n ON n.id = r.namespace
WHERE r.id > ?1 AND r.id < ?2 AND n.path >= ?3 AND n.path < ?4 AND (?5 IS NULL OR r.thread_id = ?5)
  AND (NOT ?6 OR r.retired = 0)
  AND CASE WHEN ?7 IS NULL THEN r.kind <> 'item' ELSE r.kind IN (SELECT value FROM json_each(?7)) END
ORDER BY r.id {order} LIMIT ?8;

-- name: scan_records_of_kind
-- As `scan_records`, of one kind (?7) in one namespace (?3): no other record is looked at.
SELECT r.id, ?3, r.body FROM records r
WHERE r.namespace = (SELECT id FROM namespaces WHERE path = ?3) AND r.kind = ?7 AND r.id > ?1 AND r.id < ?2 AND ?4 IS NOT NULL
  AND (?5 IS NULL OR r.thread_id = ?5) AND (NOT ?6 OR r.retired = 0)
ORDER BY r.id {order} LIMIT ?8;

-- name: scan_records_of_thread
-- The same of those that are about one thread, found by an index of their own.
SELECT r.id, ?3, r.body FROM records r INDEXED BY records_of_thread
WHERE r.namespace = (SELECT id FROM namespaces WHERE path = ?3) AND r.thread_id = ?5 AND r.kind = ?7 AND r.id > ?1 AND r.id < ?2
  AND ?4 IS NOT NULL AND (NOT ?6 OR r.retired = 0)
ORDER BY r.id {order} LIMIT ?8;

-- name: scan_records_by_id
-- Current ones of one kind (?2) in one namespace (?1) between two ids, in their order.
SELECT r.record_id, r.body FROM records r INDEXED BY records_current
WHERE r.namespace = (SELECT id FROM namespaces WHERE path = ?1) AND r.kind = ?2 AND r.retired = 0 AND r.record_id > ?3
  AND r.record_id < ?4
ORDER BY r.record_id {order} LIMIT ?5;

-- name: versions_of_kind
-- The numbers of the records of a kind (?2) in one namespace (?1), and when each was written last. Read from the index alone.
SELECT id, changed FROM records INDEXED BY records_by_kind
WHERE namespace = (SELECT id FROM namespaces WHERE path = ?1) AND kind = ?2 AND id > ?3 AND id < ?4 ORDER BY id LIMIT ?5;

-- name: records_by_number
SELECT id, changed, body FROM records WHERE id IN (SELECT value FROM json_each(?));

-- name: scan_pinned_records
-- As `scan_records`, of the pinned ones: few, found by an index of their own.
SELECT r.id, n.path, r.body FROM namespaces n CROSS JOIN records r ON r.namespace = n.id
WHERE r.pinned = 1 AND r.id > ?1 AND r.id < ?2 AND n.path >= ?3 AND n.path < ?4 AND (?5 IS NULL OR r.thread_id = ?5)
  AND (NOT ?6 OR r.retired = 0)
  AND CASE WHEN ?7 IS NULL THEN r.kind <> 'item' ELSE r.kind IN (SELECT value FROM json_each(?7)) END
ORDER BY r.id {order} LIMIT ?8;

-- name: scan_receipts
SELECT c.id, c.body FROM receipts c JOIN namespaces n ON n.id = c.namespace
WHERE c.id > ?1 AND c.id < ?2 AND n.path >= ?3 AND n.path < ?4 AND (?5 IS NULL OR c.thread_id = ?5)
ORDER BY c.id {order} LIMIT ?6;

-- name: scan_usage
SELECT u.receipt, u.body FROM usage u JOIN receipts c ON c.id = u.receipt JOIN namespaces n ON n.id = c.namespace
WHERE u.receipt > ?1 AND u.receipt < ?2 AND n.path >= ?3 AND n.path < ?4 AND (?5 IS NULL OR c.thread_id = ?5)
ORDER BY u.receipt {order} LIMIT ?6;

-- name: scan_usage_of_thread
-- As `scan_usage`, of thread ?5 of the one namespace (?3): no other receipt is looked at.
SELECT c.id, u.body FROM receipts c JOIN usage u ON u.receipt = c.id
WHERE c.namespace = (SELECT id FROM namespaces WHERE path = ?3) AND c.thread_id = ?5
  AND c.id > ?1 AND c.id < ?2 AND ?4 IS NOT NULL
ORDER BY c.id {order} LIMIT ?6;

-- name: scan_asked
SELECT a.id, a.body FROM asked a JOIN threads t ON t.id = a.thread JOIN namespaces n ON n.id = t.namespace
WHERE a.id > ?1 AND a.id < ?2 AND n.path >= ?3 AND n.path < ?4 AND (?5 IS NULL OR t.thread_id = ?5)
ORDER BY a.id {order} LIMIT ?6;

-- name: scan_asked_of_thread
-- As `scan_asked`, of thread ?5 of the one namespace (?3): no other thread is looked at.
SELECT a.id, a.body FROM asked a
WHERE a.thread = (SELECT t.id FROM threads t JOIN namespaces n ON n.id = t.namespace WHERE n.path = ?3 AND t.thread_id = ?5)
  AND a.id > ?1 AND a.id < ?2 AND ?4 IS NOT NULL
ORDER BY a.id {order} LIMIT ?6;

-- name: find_asked
SELECT body FROM asked WHERE thread = ? AND step = ? AND first = ?;

-- name: set_asked
INSERT INTO asked (thread, step, first, body) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (thread, step, first) DO UPDATE SET body = excluded.body;

-- name: asked_of_thread
SELECT body FROM asked WHERE thread = ? AND first <= ? ORDER BY id;

-- name: scan_model_calls
SELECT m.id, m.body FROM model_calls m JOIN threads t ON t.id = m.thread JOIN namespaces n ON n.id = t.namespace
WHERE m.id > ?1 AND m.id < ?2 AND n.path >= ?3 AND n.path < ?4 AND (?5 IS NULL OR t.thread_id = ?5)
ORDER BY m.id {order} LIMIT ?6;

-- name: scan_model_calls_of_thread
-- As `scan_model_calls`, of thread ?5 of the one namespace (?3): no other call is looked at.
SELECT m.id, m.body FROM model_calls m
WHERE m.thread = (SELECT t.id FROM threads t JOIN namespaces n ON n.id = t.namespace WHERE n.path = ?3 AND t.thread_id = ?5)
  AND m.id > ?1 AND m.id < ?2 AND ?4 IS NOT NULL
ORDER BY m.id {order} LIMIT ?6;

-- name: scan_checkpoints
-- Without their states: SQLite knows the length of a blob without reading it.
SELECT c.id, n.path, t.thread_id, c.checkpoint_id, c.seq, c.parent_id, c.label, c.format, c.created_at, c.digest,
  length(s.data), c.view, c.metadata
FROM checkpoints c JOIN threads t ON t.id = c.thread JOIN namespaces n ON n.id = t.namespace LEFT JOIN states s ON s.id = c.state
WHERE c.id > ?1 AND c.id < ?2 AND n.path >= ?3 AND n.path < ?4 AND (?5 IS NULL OR t.thread_id = ?5)
ORDER BY c.id {order} LIMIT ?6;

-- name: scan_checkpoints_of_thread
-- As `scan_checkpoints`, of thread ?5 of the one namespace (?3): no other checkpoint is looked at.
SELECT c.id, n.path, t.thread_id, c.checkpoint_id, c.seq, c.parent_id, c.label, c.format, c.created_at, c.digest,
  length(s.data), c.view, c.metadata
FROM checkpoints c JOIN threads t ON t.id = c.thread JOIN namespaces n ON n.id = t.namespace LEFT JOIN states s ON s.id = c.state
WHERE c.thread = (SELECT o.id FROM threads o JOIN namespaces m ON m.id = o.namespace WHERE m.path = ?3 AND o.thread_id = ?5)
  AND c.id > ?1 AND c.id < ?2 AND ?4 IS NOT NULL
ORDER BY c.id {order} LIMIT ?6;

-- name: get_checkpoints
-- Some by id, with their states; ?4 is a thread id or null.
SELECT n.path, t.thread_id, c.checkpoint_id, c.seq, c.parent_id, c.label, c.format, c.created_at, c.digest,
  length(s.data), c.view, c.metadata, s.data
FROM checkpoints c JOIN threads t ON t.id = c.thread JOIN namespaces n ON n.id = t.namespace LEFT JOIN states s ON s.id = c.state
WHERE c.checkpoint_id IN (SELECT value FROM json_each(?1)) AND n.path >= ?2 AND n.path < ?3 AND (?4 IS NULL OR t.thread_id = ?4)
ORDER BY c.id;

-- name: find_checkpoint
-- One of a thread, in the columns of `get_checkpoints`.
SELECT n.path, t.thread_id, c.checkpoint_id, c.seq, c.parent_id, c.label, c.format, c.created_at, c.digest,
  length(s.data), c.view, c.metadata, s.data
FROM checkpoints c JOIN threads t ON t.id = c.thread JOIN namespaces n ON n.id = t.namespace LEFT JOIN states s ON s.id = c.state
WHERE c.checkpoint_id = ? AND c.thread = ?;

-- name: find_checkpoint_head
SELECT id, seq FROM checkpoints WHERE checkpoint_id = ? AND thread = ?;

-- name: newest_checkpoint
SELECT checkpoint_id FROM checkpoints WHERE thread = ? ORDER BY id DESC LIMIT 1;

-- name: checkpoint_heads
SELECT id, checkpoint_id, parent_id, seq FROM checkpoints WHERE thread = ? ORDER BY id;

-- name: add_state
INSERT INTO states (data) VALUES (?);

-- name: add_checkpoint
INSERT INTO checkpoints (thread, checkpoint_id, seq, parent_id, label, format, created_at, digest, view, metadata, state)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: fork_checkpoint
-- A copy in thread ?1, of the same state, with parent ?2, of number ?3.
INSERT INTO checkpoints (thread, checkpoint_id, seq, parent_id, label, format, created_at, digest, view, metadata, state)
SELECT ?1, checkpoint_id, seq, ?2, label, format, created_at, digest, view, metadata, state FROM checkpoints WHERE id = ?3;

-- name: set_checkpoint_parent
UPDATE checkpoints SET parent_id = ? WHERE id = ?;

-- name: states_of_checkpoints
SELECT DISTINCT state FROM checkpoints WHERE id IN (SELECT value FROM json_each(?));

-- name: drop_checkpoints
DELETE FROM checkpoints WHERE id IN (SELECT value FROM json_each(?));

-- name: drop_states
-- Those that no checkpoint has any more.
DELETE FROM states WHERE id IN (SELECT value FROM json_each(?))
  AND NOT EXISTS (SELECT 1 FROM checkpoints c WHERE c.state = states.id);

-- name: count_checkpoints
SELECT count(*) FROM checkpoints c JOIN threads t ON t.id = c.thread JOIN namespaces n ON n.id = t.namespace
WHERE n.path >= ? AND n.path < ?;

-- name: all_checkpoints
SELECT id FROM checkpoints ORDER BY id;

-- name: checkpoint_by_number
-- Likewise in the columns of `get_checkpoints`.
SELECT n.path, t.thread_id, c.checkpoint_id, c.seq, c.parent_id, c.label, c.format, c.created_at, c.digest,
  length(s.data), c.view, c.metadata, s.data
FROM checkpoints c JOIN threads t ON t.id = c.thread JOIN namespaces n ON n.id = t.namespace LEFT JOIN states s ON s.id = c.state
WHERE c.id = ?;

-- name: scan_pending
-- Units without a vector of space ?5, with the body of what they stand for. (CROSS JOIN: from the few that wait to their units, not
-- the other way round.)
SELECT p.unit, u.kind, coalesce((SELECT m.body FROM messages m WHERE u.kind = 'message' AND m.id = u.owner),
  (SELECT r.body FROM records r WHERE u.kind <> 'message' AND r.id = u.owner))
FROM pending p CROSS JOIN units u ON u.id = p.unit CROSS JOIN namespaces n ON n.id = p.namespace
WHERE p.space = ?5 AND p.unit > ?1 AND p.unit < ?2 AND n.path >= ?3 AND n.path < ?4
ORDER BY p.unit {order} LIMIT ?6;

-- name: scan_pending_of_namespace
-- The same of one namespace alone: those of others that wait are not read.
SELECT p.unit, u.kind, coalesce((SELECT m.body FROM messages m WHERE u.kind = 'message' AND m.id = u.owner),
  (SELECT r.body FROM records r WHERE u.kind <> 'message' AND r.id = u.owner))
FROM pending p INDEXED BY pending_by_namespace CROSS JOIN units u ON u.id = p.unit
WHERE p.space = ?5 AND p.namespace = (SELECT id FROM namespaces WHERE path = ?3) AND p.unit > ?1 AND p.unit < ?2 AND ?4 IS NOT NULL
ORDER BY p.unit {order} LIMIT ?6;

-- name: scan_without_tokens
-- Units that have no tokens of a space, with the body of what they stand for.
SELECT u.id, u.kind, coalesce((SELECT m.body FROM messages m WHERE u.kind = 'message' AND m.id = u.owner),
  (SELECT r.body FROM records r WHERE u.kind <> 'message' AND r.id = u.owner))
FROM units u CROSS JOIN namespaces n ON n.id = u.namespace
WHERE u.id > ?1 AND u.id < ?2 AND n.path >= ?3 AND n.path < ?4
  AND NOT EXISTS (SELECT 1 FROM tokens t JOIN token_spaces s ON s.id = t.space WHERE t.unit = u.id AND s.fingerprint = ?5)
ORDER BY u.id {order} LIMIT ?6;

-- name: count_threads
SELECT count(*), coalesce(sum(t.count), 0) FROM thread_state t JOIN namespaces n ON n.id = t.namespace WHERE n.path >= ? AND n.path < ?;

-- name: count_nodes
SELECT count(*) FROM nodes o JOIN threads t ON t.id = o.thread JOIN namespaces n ON n.id = t.namespace
WHERE o.replaced = 0 AND n.path >= ? AND n.path < ?;

-- name: count_attempts
SELECT count(*) FROM attempts a JOIN threads t ON t.id = a.thread JOIN namespaces n ON n.id = t.namespace
WHERE n.path >= ? AND n.path < ?;

-- name: count_records
SELECT r.kind, count(*), sum(r.retired) FROM records r JOIN namespaces n ON n.id = r.namespace
WHERE n.path >= ? AND n.path < ? GROUP BY r.kind ORDER BY r.kind;

-- name: count_receipts
SELECT count(*) FROM receipts c JOIN namespaces n ON n.id = c.namespace WHERE n.path >= ? AND n.path < ?;

-- name: count_namespaces
-- Namespaces with a thread or a record.
SELECT count(*) FROM namespaces n WHERE n.path >= ? AND n.path < ?
  AND (EXISTS (SELECT 1 FROM threads t WHERE t.namespace = n.id) OR EXISTS (SELECT 1 FROM records r WHERE r.namespace = n.id));

-- name: threads_in_scope
-- ?3 is a thread id or null.
SELECT t.id, t.namespace, t.thread_id FROM threads t JOIN namespaces n ON n.id = t.namespace
WHERE n.path >= ?1 AND n.path < ?2 AND (?3 IS NULL OR t.thread_id = ?3) ORDER BY t.id;

-- name: groups_with
-- The groups that hold one of some messages, which are given by their numbers.
SELECT DISTINCT t.id, t.namespace, t.thread_id, m.grp FROM messages m JOIN threads t ON t.id = m.thread
WHERE m.id IN (SELECT value FROM json_each(?)) ORDER BY t.id, m.grp;

-- name: members_of_groups
-- Seq, id and unit of every message of some groups; parameters as for `group_members`.
SELECT seq, message_id, unit FROM messages WHERE id IN (SELECT ?1 + value FROM json_each(?3)) AND grp = seq
UNION ALL
SELECT seq, message_id, unit FROM messages WHERE thread = ?2 AND grp <> seq AND grp IN (SELECT value FROM json_each(?3));

-- name: members_of_thread
SELECT seq, message_id, unit FROM messages WHERE id BETWEEN ? AND ?;

-- name: homes_of_messages
-- Of the messages between two numbers, inclusive, those that other threads of namespace ?3 hold too: id, and of the first such
-- thread its id and the copy's number. (Beside a min() SQLite takes the other columns from the row that has it.)
WITH copies (message_id, thread_id, id, original) AS (
  SELECT copy.message_id, t.thread_id, copy.id, m.id
  FROM messages m JOIN messages copy INDEXED BY messages_by_id
    ON copy.message_id = m.message_id AND copy.thread <> m.thread AND copy.listed = 1 AND copy.body = m.body
  JOIN threads t ON t.id = copy.thread
  WHERE m.id BETWEEN ?1 AND ?2 AND t.namespace = ?3
  UNION ALL
  SELECT copy.message_id, t.thread_id, copy.id, m.id
  FROM threads t JOIN messages copy ON copy.id > (t.id << 32) + t.tip AND copy.id <= (t.id << 32) + 4294967295
  JOIN messages m INDEXED BY messages_by_id
    ON m.message_id = copy.message_id AND m.thread = ?1 >> 32 AND m.listed = 1 AND m.body = copy.body
  WHERE t.namespace = ?3 AND t.settled = 0 AND copy.listed = 0 AND copy.thread <> m.thread)
SELECT message_id, thread_id, min(id) FROM copies GROUP BY original;

-- name: nodes_held_elsewhere
-- The nodes of a thread that other threads of namespace ?2 have too, each with a copy.
SELECT o.body, copy.body FROM nodes o JOIN nodes copy ON copy.node_id = o.node_id AND copy.thread <> o.thread
JOIN threads t ON t.id = copy.thread WHERE o.thread = ?1 AND t.namespace = ?2;

-- name: drop_messages
DELETE FROM messages WHERE id IN (SELECT value FROM json_each(?));

-- name: drop_calls
-- The calls of some groups of a thread.
DELETE FROM calls WHERE thread = ? AND grp IN (SELECT value FROM json_each(?));

-- name: drop_calls_of_thread
DELETE FROM calls WHERE thread = ?;

-- name: groups_of
-- Which groups some messages are in.
SELECT DISTINCT grp FROM messages WHERE id IN (SELECT value FROM json_each(?));

-- name: drop_thread
DELETE FROM threads WHERE id = ?;

-- name: thread_with_lease
-- The number of a thread, and its last lease for a purpose: all null if it has had none.
SELECT t.id, l.token, l.holder, l.expires_at
FROM namespaces n JOIN threads t ON t.namespace = n.id LEFT JOIN leases l ON l.thread = t.id AND l.purpose = ?
WHERE n.path = ? AND t.thread_id = ?;

-- name: set_lease
INSERT INTO leases (thread, token, holder, expires_at, purpose) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (thread, purpose) DO UPDATE SET token = excluded.token, holder = excluded.holder, expires_at = excluded.expires_at;

-- name: drop_lease
DELETE FROM leases WHERE thread = ?;

-- name: shorten_thread
UPDATE threads SET count = count - ?, revision = revision + 1 WHERE id = ?;

-- name: records_resting_on
-- Records that rest on one of some messages.
SELECT id, namespace, unit, body FROM records
WHERE id IN (SELECT record FROM sources WHERE message IN (SELECT value FROM json_each(?))) ORDER BY id;

-- name: records_about_thread
-- Summaries of a thread, its episodes, and its state.
SELECT id, namespace, unit, body FROM records WHERE namespace = ? AND thread_id = ? ORDER BY id;

-- name: state_of_thread
SELECT body FROM records WHERE namespace = ? AND thread_id = ? AND kind = 'state' ORDER BY id;

-- name: records_in_scope
-- ?3 is a record id or null.
SELECT r.id, r.namespace, r.unit, r.body FROM records r JOIN namespaces n ON n.id = r.namespace
WHERE n.path >= ?1 AND n.path < ?2 AND (?3 IS NULL OR r.record_id = ?3) ORDER BY r.id;

-- name: drop_records
DELETE FROM records WHERE id IN (SELECT value FROM json_each(?));

-- name: drop_sources_of_records
DELETE FROM sources WHERE record IN (SELECT value FROM json_each(?));

-- name: drop_sources_in_messages
DELETE FROM sources WHERE message IN (SELECT value FROM json_each(?));

-- name: superseded_by
-- Records of a namespace that name one of some others as their successor.
SELECT id, unit, body FROM records WHERE namespace = ? AND superseded_by IN (SELECT value FROM json_each(?)) ORDER BY id;

-- name: standing
-- What holds a place of a namespace that nothing took the place of: insights, current or not; summaries of threads; current
-- notes that say something on a board.
SELECT body FROM records WHERE namespace = ? AND superseded_by IS NULL
AND (kind IN ('insight', 'summary') OR (kind = 'note' AND retired = 0 AND json_extract(CAST(body AS TEXT), '$.claim') IS NOT NULL)) ORDER BY id;

-- name: receipts_of_namespace
SELECT id, body FROM receipts WHERE namespace = ? ORDER BY id;

-- name: drop_usage
DELETE FROM usage WHERE receipt IN (SELECT value FROM json_each(?));

-- name: drop_model_calls
DELETE FROM model_calls WHERE thread = ?;

-- name: drop_asked
DELETE FROM asked WHERE thread = ?;

-- name: drop_receipts
DELETE FROM receipts WHERE id IN (SELECT value FROM json_each(?));

-- name: drop_empty_namespaces
-- Those between two paths that hold nothing.
DELETE FROM namespaces WHERE path >= ? AND path < ?
  AND NOT EXISTS (SELECT 1 FROM threads t WHERE t.namespace = namespaces.id)
  AND NOT EXISTS (SELECT 1 FROM records r WHERE r.namespace = namespaces.id)
  AND NOT EXISTS (SELECT 1 FROM receipts c WHERE c.namespace = namespaces.id);

-- name: finish_erasures
UPDATE meta SET value = max(value, ?) WHERE key = 'erasures_done';

-- name: drop_partitions_astray
-- Those of namespaces that are gone.
DELETE FROM partitions WHERE namespace NOT IN (SELECT id FROM namespaces);

-- name: spaces_in_use
-- The current space, then the one being filled.
SELECT id, fingerprint, dimension, state FROM spaces WHERE state <> 'leaving' ORDER BY state;

-- name: add_space
INSERT INTO spaces (fingerprint, dimension, state) VALUES (?, ?, 'filling');

-- name: bind_space
UPDATE spaces SET fingerprint = ?, dimension = ? WHERE id = ?;

-- name: set_space_state
UPDATE spaces SET state = ? WHERE id = ?;

-- name: fill_pending
-- Every unit waits in a space.
INSERT INTO pending (space, unit, namespace) SELECT ?, id, namespace FROM units ORDER BY id;

-- name: count_pending
-- How many units wait in a space, counted up to a limit.
SELECT count(*) FROM (SELECT 1 FROM pending WHERE space = ? LIMIT ?);

-- name: vectors_in_space
SELECT coalesce(sum(embedded), 0) FROM partitions WHERE space = ?;

-- name: space_leaving
SELECT id FROM spaces WHERE state = 'leaving' ORDER BY id LIMIT 1;

-- name: sweep_vectors
-- Some vectors of a space: numbers come from the index, which holds them together.
DELETE FROM vectors WHERE id IN (SELECT id FROM vectors INDEXED BY vectors_by_space WHERE space = ? LIMIT ?);

-- name: sweep_pending
DELETE FROM pending WHERE space = ?1 AND unit IN (SELECT unit FROM pending WHERE space = ?1 ORDER BY unit LIMIT ?2);

-- name: any_of_space
-- Whether a space has vectors, or units that wait.
SELECT 1 FROM vectors INDEXED BY vectors_by_space WHERE space = ?1 UNION ALL SELECT 1 FROM pending WHERE space = ?1 LIMIT 1;

-- name: drop_partitions_of_space
DELETE FROM partitions WHERE space = ?;

-- name: drop_space
DELETE FROM spaces WHERE id = ?;

-- name: all_threads
SELECT id, thread_id FROM threads ORDER BY id;

-- name: messages_of_thread
SELECT m.seq, m.grp, m.message_id, m.pinned, m.body, m.raw, m.raw_format, m.unit, u.speaker
FROM messages m LEFT JOIN units u ON u.id = m.unit
WHERE m.id BETWEEN (?1 << 32) AND (?1 << 32) + 4294967295 ORDER BY m.id;

-- name: calls_of_thread
SELECT call_id, answered FROM calls WHERE thread = ? ORDER BY call_id, grp;

-- name: nodes_with_top
SELECT id, top, replaced, body FROM nodes WHERE thread = ? ORDER BY id;

-- name: all_records
SELECT id, namespace, record_id, kind, retired, superseded_by, thread_id, pinned, body FROM records ORDER BY id;

-- name: sources_of_record
SELECT message FROM sources WHERE record = ?;

-- name: all_receipts
SELECT id, receipt_id, thread_id, body FROM receipts ORDER BY id;

-- name: all_usage
SELECT u.receipt, c.receipt_id, c.thread_id, u.body FROM usage u JOIN receipts c ON c.id = u.receipt ORDER BY u.receipt;

-- name: all_model_calls
SELECT m.id, t.thread_id, m.body FROM model_calls m JOIN threads t ON t.id = m.thread ORDER BY m.id;

-- name: all_asked
SELECT a.id, t.thread_id, a.step, a.first, a.body FROM asked a JOIN threads t ON t.id = a.thread ORDER BY a.id;

-- name: any_vector
SELECT 1 FROM vectors LIMIT 1;

-- name: vectors_with_codes
-- All vectors with numbers above one, with their codes, and the dimension of their space.
SELECT v.id, v.data, v.code, s.dimension FROM vectors v LEFT JOIN spaces s ON s.id = v.space WHERE v.id > ? ORDER BY v.id LIMIT ?;

-- name: check_lexicon
INSERT INTO lexicon (lexicon) VALUES ('integrity-check');

-- name: live_bytes
-- Whether something that is stored holds these bytes.
SELECT 1 FROM messages WHERE instr(body, ?1) OR instr(raw, ?1) OR instr(CAST(message_id AS BLOB), ?1)
UNION ALL SELECT 1 FROM records WHERE instr(body, ?1)
UNION ALL SELECT 1 FROM items WHERE instr(CAST(key AS BLOB), ?1)
UNION ALL SELECT 1 FROM nodes WHERE instr(body, ?1)
UNION ALL SELECT 1 FROM attempts WHERE instr(body, ?1)
UNION ALL SELECT 1 FROM receipts WHERE instr(body, ?1)
UNION ALL SELECT 1 FROM usage WHERE instr(body, ?1)
UNION ALL SELECT 1 FROM model_calls WHERE instr(body, ?1)
UNION ALL SELECT 1 FROM asked WHERE instr(body, ?1)
UNION ALL SELECT 1 FROM checkpoints WHERE instr(view, ?1) OR instr(metadata, ?1) OR instr(CAST(label AS BLOB), ?1)
  OR instr(CAST(checkpoint_id AS BLOB), ?1) OR instr(CAST(parent_id AS BLOB), ?1) OR instr(CAST(format AS BLOB), ?1)
UNION ALL SELECT 1 FROM states WHERE instr(data, ?1)
UNION ALL SELECT 1 FROM units WHERE instr(CAST(terms AS BLOB), ?1)
UNION ALL SELECT 1 FROM threads WHERE instr(CAST(thread_id AS BLOB), ?1) OR instr(metadata, ?1)
UNION ALL SELECT 1 FROM calls WHERE instr(CAST(call_id AS BLOB), ?1)
UNION ALL SELECT 1 FROM leases WHERE instr(CAST(holder AS BLOB), ?1)
UNION ALL SELECT 1 FROM tiers WHERE instr(CAST(tier AS BLOB), ?1)
UNION ALL SELECT 1 FROM scores WHERE instr(CAST(author AS BLOB), ?1)
UNION ALL SELECT 1 FROM namespaces WHERE instr(CAST(path AS BLOB), ?1)
UNION ALL SELECT 1 FROM meta WHERE instr(CAST(value AS BLOB), ?1)
UNION ALL SELECT 1 FROM token_spaces WHERE instr(CAST(fingerprint AS BLOB), ?1)
UNION ALL SELECT 1 FROM spaces WHERE instr(fingerprint, ?1)
UNION ALL SELECT 1 FROM sqlite_schema WHERE instr(CAST(sql AS BLOB), ?1)
LIMIT 1;

-- name: add_pending
INSERT INTO pending (space, unit, namespace) VALUES (?, ?, ?);

-- name: drop_pending
-- In every space.
DELETE FROM pending WHERE space IN (SELECT id FROM spaces) AND unit IN (SELECT value FROM json_each(?));

-- name: drop_pending_unit
DELETE FROM pending WHERE space = ? AND unit = ?;

-- name: remember_unit
-- This unit number was used, if only by a unit that has been removed.
UPDATE meta SET value = max(value, ?) WHERE key = 'last_unit';

-- name: count_units
-- Units of all namespaces.
SELECT coalesce(sum(units), 0) FROM namespaces;

-- name: add_version
INSERT INTO versions (record, until, body) VALUES (?, ?, ?);

-- name: add_change
INSERT INTO changes (namespace, at, body) VALUES (?, ?, ?);

-- name: add_forgotten
INSERT INTO forgotten (namespace, at, messages, records) VALUES (?, ?, ?, ?);

-- name: drop_versions
-- Those of some records.
DELETE FROM versions WHERE record IN (SELECT value FROM json_each(?));

-- name: drop_changes_astray
-- Those of namespaces that are gone.
DELETE FROM changes WHERE namespace NOT IN (SELECT id FROM namespaces);

-- name: drop_forgotten_astray
DELETE FROM forgotten WHERE namespace NOT IN (SELECT id FROM namespaces);

-- name: scan_versions
-- ?5 is a time or null, ?6 a record id or null.
SELECT v.id, n.path, r.record_id, v.body FROM versions v JOIN records r ON r.id = v.record JOIN namespaces n ON n.id = r.namespace
WHERE v.id > ?1 AND v.id < ?2 AND n.path >= ?3 AND n.path < ?4 AND (?5 IS NULL OR v.until > ?5)
  AND (?6 IS NULL OR r.record_id = ?6)
ORDER BY v.id {order} LIMIT ?7;

-- name: scan_versions_of_record
-- As `scan_versions`, of one record: no other is looked at.
SELECT v.id, n.path, r.record_id, v.body
FROM records r JOIN namespaces n ON n.id = r.namespace JOIN versions v INDEXED BY versions_by_record ON v.record = r.id
WHERE v.id > ?1 AND v.id < ?2 AND n.path >= ?3 AND n.path < ?4 AND (?5 IS NULL OR v.until > ?5) AND r.record_id = ?6
ORDER BY v.id {order} LIMIT ?7;

-- name: scan_changes
SELECT c.id, c.body FROM changes c JOIN namespaces n ON n.id = c.namespace
WHERE c.id > ?1 AND c.id < ?2 AND n.path >= ?3 AND n.path < ?4 AND (?5 IS NULL OR c.at > ?5)
ORDER BY c.id {order} LIMIT ?6;

-- name: scan_forgotten
SELECT f.id, f.at, f.messages, f.records FROM forgotten f JOIN namespaces n ON n.id = f.namespace
WHERE f.id > ?1 AND f.id < ?2 AND n.path >= ?3 AND n.path < ?4 AND (?5 IS NULL OR f.at > ?5)
ORDER BY f.id {order} LIMIT ?6;

-- name: scan_messages_stored_by
-- As `scan_messages`, those stored by a time (?6). A fork's were there once the fork was.
SELECT m.id, n.path, t.thread_id, m.seq, m.grp, m.body, m.raw, m.raw_format
FROM messages m JOIN threads t ON t.id = m.thread JOIN namespaces n ON n.id = t.namespace
WHERE m.id > ?1 AND m.id < ?2 AND n.path >= ?3 AND n.path < ?4 AND (?5 IS NULL OR t.thread_id = ?5)
  AND m.added_at <= ?6 AND t.created_at <= ?6
ORDER BY m.id {order} LIMIT ?7;

-- name: last_stored_by
-- As `scan_messages_stored_by` of one thread in one namespace, in the thread's order: the newest is looked up at its end.
SELECT m.id, ?3, t.thread_id, m.seq, m.grp, m.body, m.raw, m.raw_format
FROM threads t CROSS JOIN messages m ON m.id BETWEEN (t.id << 32) AND (t.id << 32) + 4294967295
WHERE t.namespace = (SELECT id FROM namespaces WHERE path = ?3) AND t.thread_id = ?5 AND m.id > ?1 AND m.id < ?2
  AND ?4 IS NOT NULL AND m.added_at <= ?6 AND t.created_at <= ?6
ORDER BY m.id {order} LIMIT ?7;

-- name: records_by_place
-- Numbers and units of records, by a list of pairs of path and record id.
SELECT r.id, r.unit FROM json_each(?) l CROSS JOIN namespaces n ON n.path = json_extract(l.value, '$[0]')
  CROSS JOIN records r ON r.record_id = json_extract(l.value, '$[1]') AND r.namespace = n.id;

-- name: units_stored_by
-- Units and lengths of the messages of a scope that were stored by ?3, and their number where they wait for a vector of space ?4.
SELECT u.id, u.length, p.unit FROM namespaces n CROSS JOIN threads t ON t.namespace = n.id
  CROSS JOIN messages m ON m.id > (t.id << 32) AND m.id <= (t.id << 32) + 4294967295
  CROSS JOIN units u ON u.id = m.unit LEFT JOIN pending p ON p.space = ?4 AND p.unit = u.id
WHERE n.path >= ?1 AND n.path < ?2 AND t.created_at <= ?3 AND m.added_at <= ?3;

-- name: units_with_lengths
-- The same of a list of units.
SELECT u.id, u.length, p.unit FROM json_each(?1) l CROSS JOIN units u ON u.id = l.value
  LEFT JOIN pending p ON p.space = ?2 AND p.unit = u.id;

-- name: messages_stored_by
-- Those of a list of numbers of messages that were stored by ?2.
SELECT m.id FROM json_each(?1) l CROSS JOIN messages m ON m.id = l.value CROSS JOIN threads t ON t.id = m.thread
WHERE m.added_at <= ?2 AND t.created_at <= ?2;

-- name: match_all
-- Every row of the lexicon that a query in FTS5's language finds.
SELECT rowid FROM lexicon WHERE lexicon MATCH ?;

-- name: speakers_by
-- The names of those that have spoken by a time (?3).
SELECT DISTINCT u.speaker FROM namespaces n CROSS JOIN units u INDEXED BY units_by_speaker ON u.namespace = n.id
  CROSS JOIN messages m ON m.id = u.owner CROSS JOIN threads t ON t.id = m.thread
WHERE n.path >= ?1 AND n.path < ?2 AND u.speaker IS NOT NULL AND m.added_at <= ?3 AND t.created_at <= ?3 ORDER BY u.speaker;

-- name: drop_source
-- Of record ?1 in namespace ?2: message ?4 of thread ?3.
DELETE FROM sources WHERE record = ?1 AND message IN (SELECT m.id FROM threads t CROSS JOIN messages m
  ON m.id > (t.id << 32) AND m.id <= (t.id << 32) + 4294967295 WHERE t.namespace = ?2 AND t.thread_id = ?3 AND m.message_id = ?4);

-- name: all_versions
SELECT id, until, body FROM versions ORDER BY id;

-- name: all_changes
SELECT id, at, body FROM changes ORDER BY id;

-- name: rewrite_threads
-- Threads of a scope after a number, as `rewrite` reads them.
SELECT t.id, t.namespace, t.thread_id, t.metadata FROM threads t JOIN namespaces n ON n.id = t.namespace
WHERE t.id > ?1 AND n.path >= ?2 AND n.path < ?3 ORDER BY t.id LIMIT ?4;

-- name: set_thread_metadata
UPDATE threads SET metadata = ?, revision = revision + 1 WHERE id = ?;

-- name: rewrite_messages
-- Messages of a scope after a number, likewise.
SELECT m.id, m.thread, t.namespace, t.thread_id, m.message_id, m.body, m.raw, m.raw_format
FROM messages m JOIN threads t ON t.id = m.thread JOIN namespaces n ON n.id = t.namespace
WHERE m.id > ?1 AND n.path >= ?2 AND n.path < ?3 ORDER BY m.id LIMIT ?4;

-- name: units_of_messages
SELECT id, unit FROM messages WHERE id IN (SELECT value FROM json_each(?)) AND unit IS NOT NULL;

-- name: set_message_body
UPDATE messages SET body = ?, raw = ?, unit = ? WHERE id = ?;

-- name: rewrite_nodes
SELECT d.id, d.thread, t.namespace, d.body FROM nodes d JOIN threads t ON t.id = d.thread JOIN namespaces n ON n.id = t.namespace
WHERE d.id > ?1 AND n.path >= ?2 AND n.path < ?3 ORDER BY d.id LIMIT ?4;

-- name: rewrite_records
SELECT r.id, r.namespace, r.unit, r.body FROM records r JOIN namespaces n ON n.id = r.namespace
WHERE r.id > ?1 AND n.path >= ?2 AND n.path < ?3 ORDER BY r.id LIMIT ?4;

-- name: rewrite_checkpoints
SELECT c.id, c.thread, c.checkpoint_id, c.label, c.format, c.view, c.metadata, c.state, s.data
FROM checkpoints c JOIN threads t ON t.id = c.thread JOIN namespaces n ON n.id = t.namespace JOIN states s ON s.id = c.state
WHERE c.id > ?1 AND n.path >= ?2 AND n.path < ?3 ORDER BY c.id LIMIT ?4;

-- name: set_checkpoint
UPDATE checkpoints SET label = ?, view = ?, metadata = ? WHERE id = ?;

-- name: set_state
UPDATE states SET data = ? WHERE id = ?;

-- name: set_digests_of_state
UPDATE checkpoints SET digest = ? WHERE state = ?;
