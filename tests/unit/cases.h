/* CASE(module): a unit test file each, sorted. */
CASE(arena)
CASE(chat)
CASE(fault)
CASE(fiber)
CASE(json)
CASE(loop)
CASE(value)
CASE(value_pack)
