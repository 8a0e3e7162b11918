"""Owns the SQL that writes each kind of change: one row is added or filled in; refuses to run it.

Each may name :conversation_id, :run_id, :seq and :at besides its own values.
"""

START_RUN = """
    INSERT INTO runs (id, conversation_id, prompt, started_at)
    VALUES (:run_id, :conversation_id, :prompt, :at)
"""
END_RUN = """
    UPDATE runs SET ended_at = :at, ended_as = :ended_as, reason = :reason,
        iterations = :iterations, usage = :usage
    WHERE id = :run_id AND conversation_id = :conversation_id AND ended_at IS NULL
"""
ADD_MESSAGE = """
    INSERT INTO messages (id, conversation_id, seq, run_id, role, blocks, stop_reason, usage, at)
    VALUES (:id, :conversation_id, :seq, :run_id, :role, :blocks, :stop_reason, :usage, :at)
"""
PROPOSE = """
    INSERT INTO tool_calls (
        key, conversation_id, run_id, message_id, ordinal, wire_id, name,
        proposed_at, proposed_input, broken, raw, opaque
    ) VALUES (
        :key, :conversation_id, :run_id, :message_id,
        (SELECT count(*) FROM tool_calls WHERE message_id = :message_id),
        :wire_id, :name, :at, :proposed_input, :broken, :raw, :opaque
    )
"""
JUDGE = """
    UPDATE tool_calls SET judged_at = :at, allowed = :allowed, decided_by = :decided_by, reason = :reason,
        rule = :rule, judged_input = :judged_input, waited = :waited
    WHERE key = :key AND conversation_id = :conversation_id AND judged_at IS NULL AND ended_at IS NULL
"""
START_CALL = """
    UPDATE tool_calls SET started_at = :at, executed_input = :executed_input, until = :until
    WHERE key = :key AND conversation_id = :conversation_id AND started_at IS NULL AND ended_at IS NULL
"""
END_CALL = """
    UPDATE tool_calls SET ended_at = :at, outcome = :outcome, seconds = :seconds,
        result = :result, preview = :preview
    WHERE key = :key AND conversation_id = :conversation_id AND ended_at IS NULL
"""
COMPACT = """
    INSERT INTO compactions
        (id, conversation_id, run_id, summary, covers, tokens_before, tokens_after, left_out, at)
    VALUES (:id, :conversation_id, :run_id, :summary, :covers, :tokens_before, :tokens_after, :left_out, :at)
"""
UNDO_COMPACTION = """
    UPDATE compactions SET undone_at = :at
    WHERE id = :id AND conversation_id = :conversation_id AND undone_at IS NULL
"""
