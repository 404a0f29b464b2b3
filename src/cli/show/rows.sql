select
  seq, turn, timestamp, kind, role, model, response_id, text, thinking,
  null as tool, null as input, null as command, null as file_path, null as status, null as exit_code, null as output,
  null as output_bytes, null as duration_ms, null as child_session_id
from messages
where machine = $machine and agent = $agent and month = $month and session_id = $session and seq >= $at
union all
select
  seq, turn, started_at as timestamp, 'tool_call' as kind, null as role, null as model, response_id, null as text,
  null as thinking, name as tool, input, command, file_path, status, exit_code, output, output_bytes, duration_ms,
  child_session_id
from tool_calls
where machine = $machine and agent = $agent and month = $month and session_id = $session and seq >= $at
order by seq
