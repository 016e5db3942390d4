-- Tells how long each call of the model and of a tool took.
local function timed(request, handler, name)
  local runtime = request.runtime
  local began = runtime.now_ms()
  local ok, result = pcall(handler, request)
  runtime.note(name, "took", runtime.now_ms() - began, "ms")
  if not ok then
    error(result)
  end
  return result
end

function wrap_model_call(request, handler)
  return timed(request, handler, request.model)
end

function wrap_tool_call(request, handler)
  return timed(request, handler, request.tool_call.name)
end
