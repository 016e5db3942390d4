-- Asks the model again when a call failed, after longer and longer pauses.
function wrap_model_call(request, handler)
  local runtime = request.runtime
  local attempts = runtime.settings.attempts or 3
  local pause_ms = runtime.settings.pause_ms or 1000
  for attempt = 1, attempts do
    local ok, result = pcall(handler, request)
    if ok then
      return result
    end
    if not result.retryable or attempt == attempts then
      error(result)
    end
    runtime.note(string.format("attempt %d failed: %s", attempt, result.type))
    runtime.sleep(pause_ms)
    pause_ms = pause_ms * 2
  end
end
