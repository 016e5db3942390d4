/* CASE(module): an integration test file each, sorted. */
