-- Ends a run whose thread has become too long.
before_model = {
  can_jump_to = {"end"},
  run = function(state, runtime)
    if #state.messages < (runtime.settings.most or 100) then
      return nil
    end
    return {
      messages = {{role = "assistant", content = "This conversation is too long: please begin a new one."}},
      jump_to = "end",
    }
  end,
}
