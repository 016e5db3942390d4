-- Tells a run's watchers what goes to the model and what comes back.
function before_model(state, runtime)
  runtime.note(string.format("asking the model: %d messages", #state.messages))
end

function after_model(state, runtime)
  local message = state.messages[#state.messages]
  runtime.note(string.format('the model says "%s" and calls %d tools',
    message.content, #(message.tool_calls or {})))
end
