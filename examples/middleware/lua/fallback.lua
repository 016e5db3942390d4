-- Asks another model when the first one fails.
function wrap_model_call(request, handler)
  local ok, result = pcall(handler, request)
  if ok then
    return result
  end
  local runtime = request.runtime
  local model = runtime.settings.model
  runtime.note(string.format("%s failed (%s): asking %s", request.model, result.type, model))
  return handler(request:override{model = model})
end
