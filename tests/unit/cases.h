/* CASE(module): a unit test file each, sorted. */
CASE(arena)
CASE(fault)
CASE(value)
CASE(value_pack)
