/* CASE(module): an integration test file each, sorted. */
CASE(cli)
CASE(fleet)
CASE(model_worker)
CASE(model_worker_timeouts)
CASE(tool_worker)
CASE(wire)
CASE(workbench)
