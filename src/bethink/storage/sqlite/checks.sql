-- What must always hold, as statements that return a row for everything that does not.
-- The first line under a name says what is wrong with the rows found; each row is one text, which says where.

-- name: thread_without_namespace
-- is in a namespace that is not there
SELECT 'thread row ' || id FROM threads WHERE namespace NOT IN (SELECT id FROM namespaces);

-- name: record_without_namespace
-- is in a namespace that is not there
SELECT 'record row ' || id FROM records WHERE namespace NOT IN (SELECT id FROM namespaces);

-- name: item_without_row
-- is a version of an item that its key does not know
SELECT 'record row ' || r.id FROM records r WHERE r.kind = 'item' AND NOT EXISTS (
  SELECT 1 FROM items i WHERE i.record = r.id AND i.namespace = r.namespace);

-- name: item_not_one
-- has no current version, or one that is not its highest
SELECT 'the item with record row ' || max(record) FROM items GROUP BY namespace, key
HAVING sum(current) <> 1 OR max(version) <> max(version) FILTER (WHERE current = 1);

-- name: item_indexed_wrongly
-- is a former version and has a unit
SELECT 'record row ' || id FROM records WHERE kind = 'item' AND retired = 1 AND unit IS NOT NULL;

-- name: dropped_unit_there
-- is listed as gone and is there
SELECT 'unit ' || unit FROM dropped WHERE unit IN (SELECT id FROM units);

-- name: receipt_without_thread
-- is of a thread that is not there
SELECT 'receipt row ' || id FROM receipts c
WHERE NOT EXISTS (SELECT 1 FROM threads t WHERE t.namespace = c.namespace AND t.thread_id = c.thread_id);

-- name: usage_without_receipt
-- is of a receipt that is not there
SELECT 'usage row ' || receipt FROM usage WHERE receipt NOT IN (SELECT id FROM receipts);

-- name: version_without_record
-- is of a record that is not there
SELECT 'version row ' || id FROM versions WHERE record NOT IN (SELECT id FROM records);

-- name: change_without_namespace
-- is in a namespace that is not there
SELECT 'change row ' || id FROM changes WHERE namespace NOT IN (SELECT id FROM namespaces);

-- name: forgotten_without_namespace
-- is in a namespace that is not there
SELECT 'forgotten row ' || id FROM forgotten WHERE namespace NOT IN (SELECT id FROM namespaces);

-- name: model_call_without_thread
-- is of a thread that is not there
SELECT 'model call row ' || id FROM model_calls WHERE thread NOT IN (SELECT id FROM threads);

-- name: asked_without_thread
-- is of a thread that is not there
SELECT 'asked row ' || id FROM asked WHERE thread NOT IN (SELECT id FROM threads);

-- name: message_without_thread
-- is of a thread that is not there
SELECT 'message row ' || id FROM messages WHERE thread NOT IN (SELECT id FROM threads);

-- name: message_misplaced
-- has a number that is not its thread and seq
SELECT 'message row ' || id FROM messages WHERE id <> (thread << 32) + seq OR seq < 1 OR grp > seq;

-- name: message_beyond_tip
-- has a seq above the tip of its thread
SELECT 'message row ' || m.id FROM messages m JOIN threads t ON t.id = m.thread WHERE m.seq > t.tip AND t.settled;

-- name: thread_without_tail
-- has no messages beyond its tip, and says so
SELECT 'thread row ' || t.id FROM threads t WHERE NOT t.settled AND NOT EXISTS (
  SELECT 1 FROM messages m WHERE m.id > (t.id << 32) + t.tip AND m.id <= (t.id << 32) + 4294967295);

-- name: unit_in_tail
-- has a unit before its thread is settled
SELECT 'message row ' || m.id FROM messages m JOIN threads t ON t.id = m.thread WHERE m.seq > t.tip AND m.unit IS NOT NULL;

-- name: message_not_listed
-- cannot be found by its id although its thread is settled
SELECT 'message row ' || m.id FROM messages m JOIN threads t ON t.id = m.thread WHERE m.seq <= t.tip AND m.listed = 0;

-- name: message_id_twice
-- has the id of another message of its thread
SELECT 'message row ' || max(m.id) FROM threads t JOIN messages m ON m.id > (t.id << 32) AND m.id <= (t.id << 32) + 4294967295
WHERE t.settled = 0 GROUP BY t.id, m.message_id HAVING count(*) > 1;

-- name: thread_miscounted
-- counts other than the messages it holds
SELECT 'thread row ' || t.id FROM thread_state t
WHERE t.count <> (SELECT count(*) FROM messages m WHERE m.id BETWEEN (t.id << 32) AND (t.id << 32) + 4294967295);

-- name: cursor_beyond_tip
-- has a cursor above its tip
SELECT 'thread row ' || id FROM thread_state
WHERE max(folded_through, extracted_through, reflected_through) > tip OR min(folded_through, extracted_through, reflected_through) < 0;

-- name: lease_without_thread
-- is of a thread that is not there
SELECT 'lease of thread row ' || thread FROM leases WHERE thread NOT IN (SELECT id FROM threads);

-- name: lease_without_number
-- has a token below 1
SELECT 'lease of thread row ' || thread FROM leases WHERE token < 1;

-- name: attempt_without_node
-- is at the summary of a node that is not there
SELECT 'attempt at node ' || a.node_id || ' of thread row ' || a.thread FROM attempts a
WHERE NOT EXISTS (SELECT 1 FROM nodes o WHERE o.node_id = a.node_id AND o.thread = a.thread AND o.replaced = 0);

-- name: group_without_first
-- is in a group whose first message is not there
SELECT 'message row ' || m.id FROM messages m
WHERE m.grp <> m.seq AND NOT EXISTS (SELECT 1 FROM messages f WHERE f.id = (m.thread << 32) + m.grp);

-- name: call_without_group
-- is a call of a group that is not there
SELECT 'call of group ' || c.grp || ' in thread row ' || c.thread FROM calls c
WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE m.id = (c.thread << 32) + c.grp);

-- name: unit_of_message_astray
-- has a unit that is not there, stands for something else, or has another time
SELECT 'message row ' || m.id FROM messages m LEFT JOIN units u ON u.id = m.unit
WHERE m.unit IS NOT NULL AND (u.id IS NULL OR u.kind <> 'message' OR u.owner <> m.id OR u.at IS NOT m.created_at);

-- name: unit_of_record_astray
-- has a unit that is not there, stands for something else, or does not know whether it is current
SELECT 'record row ' || r.id FROM records r LEFT JOIN units u ON u.id = r.unit
WHERE r.unit IS NOT NULL AND (u.id IS NULL OR u.kind <> r.kind OR u.owner <> r.id OR u.retired <> r.retired);

-- name: unit_of_record_untimely
-- has a unit with another time
-- (A time is written with as few digits of a second as it needs.)
SELECT 'record row ' || id FROM (
  SELECT r.id, u.at, json_extract(CAST(r.body AS TEXT), CASE r.kind WHEN 'episode' THEN '$.ended_at' ELSE '$.recorded_at' END) AS recorded
  FROM records r JOIN units u ON u.id = r.unit
  WHERE json_valid(CAST(r.body AS TEXT)))
WHERE at IS NOT CAST(strftime('%s', substr(recorded, 1, 19)) AS INTEGER) * 1000000
  + CAST(substr(rtrim(substr(recorded, 21), 'Z') || '000000', 1, 6) AS INTEGER);

-- name: unit_without_owner
-- stands for something that is not there
SELECT 'unit ' || u.id FROM units u
WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE u.kind = 'message' AND m.id = u.owner AND m.unit = u.id)
  AND NOT EXISTS (SELECT 1 FROM records r WHERE u.kind <> 'message' AND r.id = u.owner AND r.unit = u.id);

-- name: totals_wrong
-- has totals that are not those of its units
SELECT 'namespace row ' || n.id FROM namespaces n
LEFT JOIN (SELECT namespace, count(*) AS units, sum(length) AS length FROM units GROUP BY namespace) s ON s.namespace = n.id
WHERE n.units <> coalesce(s.units, 0) OR n.length <> coalesce(s.length, 0);

-- name: space_not_one
-- are not one that is current and at most one that is filling
SELECT 'the spaces' FROM (SELECT count(*) FILTER (WHERE state = 'current') AS current, count(*) FILTER (WHERE state = 'filling') AS filling,
  count(*) FILTER (WHERE state NOT IN ('current', 'filling', 'leaving')) AS others FROM spaces)
WHERE current <> 1 OR filling > 1 OR others > 0;

-- name: space_without_embedder
-- is filled or leaves without having had an embedder, or has half of a fingerprint
SELECT 'space row ' || id FROM spaces
WHERE (fingerprint IS NULL) <> (dimension IS NULL) OR (fingerprint IS NULL AND state <> 'current')
  OR json_extract(CAST(fingerprint AS TEXT), '$.dimension') <> dimension;

-- name: partition_wrong
-- does not count the vectors of its space and namespace
SELECT 'partition of space ' || p.space || ' and namespace ' || p.namespace FROM partitions p
LEFT JOIN (SELECT space, namespace, count(*) AS embedded FROM vectors GROUP BY space, namespace) v
  ON v.space = p.space AND v.namespace = p.namespace
LEFT JOIN spaces s ON s.id = p.space LEFT JOIN namespaces n ON n.id = p.namespace
WHERE s.id IS NULL OR n.id IS NULL OR (p.embedded <> coalesce(v.embedded, 0) AND s.state <> 'leaving');

-- name: vector_without_partition
-- is counted nowhere
SELECT 'vector row ' || v.id FROM vectors v
WHERE NOT EXISTS (SELECT 1 FROM partitions p WHERE p.space = v.space AND p.namespace = v.namespace);

-- name: vector_astray
-- has no unit or no space, or differs from its unit in namespace, kind or state
SELECT 'vector row ' || v.id FROM vectors v LEFT JOIN units u ON u.id = v.unit
WHERE u.id IS NULL OR u.namespace <> v.namespace OR u.kind <> v.kind OR u.retired <> v.retired
  OR v.space NOT IN (SELECT id FROM spaces WHERE fingerprint IS NOT NULL);

-- name: tokens_astray
-- has no unit or no space, or is not as long as whole vectors are
SELECT 'tokens of unit ' || t.unit FROM tokens t LEFT JOIN token_spaces s ON s.id = t.space
WHERE s.id IS NULL OR length(t.data) % (s.dimension / 2) <> 0 OR NOT EXISTS (SELECT 1 FROM units u WHERE u.id = t.unit);

-- name: unit_neither_pending_nor_embedded
-- has no vector of a space in use and does not wait for one, or both
SELECT 'unit ' || u.id || ' in space ' || s.id FROM spaces s CROSS JOIN units u
WHERE s.state <> 'leaving' AND EXISTS (SELECT 1 FROM vectors v WHERE v.unit = u.id AND v.space = s.id)
  = EXISTS (SELECT 1 FROM pending p WHERE p.space = s.id AND p.unit = u.id);

-- name: pending_astray
-- waits for a vector and is not there
SELECT 'unit ' || p.unit FROM pending p LEFT JOIN units u ON u.id = p.unit
WHERE u.id IS NULL OR u.namespace <> p.namespace OR p.space NOT IN (SELECT id FROM spaces);

-- name: unit_not_in_lexicon
-- cannot be found by its words
SELECT 'unit ' || id FROM units WHERE id NOT IN (SELECT id FROM lexicon_docsize);

-- name: lexicon_without_unit
-- is in the full-text index and nowhere else
SELECT 'unit ' || id FROM lexicon_docsize WHERE id NOT IN (SELECT id FROM units);

-- name: source_astray
-- rests on a message that is not there
SELECT 'record row ' || record FROM sources
WHERE message NOT IN (SELECT id FROM messages) OR record NOT IN (SELECT id FROM records);

-- name: tier_without_message
-- is a tier of a message that is not there, or is none
SELECT 'tier of message row ' || message FROM tiers
WHERE message NOT IN (SELECT id FROM messages) OR tier NOT IN ('permanent', 'long_term', 'working', 'ephemeral');

-- name: score_without_message
-- is a score of a message that is not there, or is none
SELECT 'score of message row ' || message FROM scores
WHERE message NOT IN (SELECT id FROM messages) OR score NOT BETWEEN 1 AND 10;

-- name: state_without_thread
-- is of the state of a thread, or an episode of one, that is not there
SELECT 'record row ' || r.id FROM records r
WHERE (r.kind = 'state' OR (r.kind = 'episode' AND r.thread_id IS NOT NULL))
  AND NOT EXISTS (SELECT 1 FROM threads t WHERE t.namespace = r.namespace AND t.thread_id = r.thread_id);

-- name: checkpoint_without_thread
-- is of a thread that is not there
SELECT 'checkpoint row ' || id FROM checkpoints WHERE thread NOT IN (SELECT id FROM threads);

-- name: checkpoint_beyond_tip
-- has a seq that its thread has not reached
SELECT 'checkpoint row ' || c.id FROM checkpoints c JOIN thread_state t ON t.id = c.thread WHERE c.seq > t.tip OR c.seq < 0;

-- name: checkpoint_without_parent
-- names a parent that its thread does not have
SELECT 'checkpoint row ' || c.id FROM checkpoints c WHERE c.parent_id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM checkpoints p WHERE p.checkpoint_id = c.parent_id AND p.thread = c.thread);

-- name: checkpoint_without_state
-- has a state that is not there
SELECT 'checkpoint row ' || id FROM checkpoints WHERE state NOT IN (SELECT id FROM states);

-- name: state_without_checkpoint
-- is the state of no checkpoint
SELECT 'state row ' || id FROM states WHERE NOT EXISTS (SELECT 1 FROM checkpoints c WHERE c.state = states.id);

-- name: successor_missing
-- is superseded by a record that is not there
SELECT 'record row ' || r.id FROM records r WHERE r.superseded_by IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM records s WHERE s.namespace = r.namespace AND s.record_id = r.superseded_by);

-- name: current_and_superseded
-- is current and superseded
SELECT 'record row ' || id FROM records WHERE superseded_by IS NOT NULL AND retired = 0;

-- name: erasure_unfinished
-- may still hold bytes that were forgotten
SELECT 'the file' FROM meta WHERE key = 'erasures_due' AND value > (SELECT value FROM meta WHERE key = 'erasures_done');
