-- Hides long numbers from the model, and signs what it says.
local function hide(digits)
  return #digits >= 12 and "[number]" or digits
end

function wrap_model_call(request, handler)
  local messages = request.messages
  for _, message in ipairs(messages) do
    if message.type == "human" and type(message.content) == "string" then
      message.content = message.content:gsub("%d+", hide)
    end
  end
  local response = handler(request:override{messages = messages})
  response.message.content = response.text .. (request.runtime.settings.signature or "")
  return response
end
