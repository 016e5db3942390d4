/* CASE(module): an integration test file each, sorted. */
CASE(tool_worker)
