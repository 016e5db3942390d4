/* CASE(module): a unit test file each, sorted. */
CASE(arena)
CASE(chat)
CASE(fault)
CASE(json)
CASE(value)
CASE(value_pack)
