-- A system prompt that depends on who asks.
local more = {
  expert = " Go into technical detail.",
  beginner = " Explain simply, and avoid jargon.",
}

function dynamic_prompt(request)
  local context = request.runtime.context or {}
  return "You are a helpful assistant." .. (more[context.role] or "")
end
