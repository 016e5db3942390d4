-- Counts the model calls of a thread, and ends runs when there were enough.
before_model = {
  can_jump_to = {"end"},
  run = function(state, runtime)
    if state.tracked_calls < (runtime.settings.most or 10) then
      return nil
    end
    return {
      messages = {{role = "assistant", content = "I have been asked often enough."}},
      jump_to = "end",
    }
  end,
}

function after_model(state, runtime)
  return {tracked_calls = 1}
end
