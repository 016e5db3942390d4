/* CASE(module): a unit test file each, sorted. */
