/* CASE(module): a unit test file each, sorted. */
CASE(arena)
CASE(value)
CASE(value_pack)
